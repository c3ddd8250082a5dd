/*
 * mk_share_receipt.h
 *		Receipts: texts that name a delivery of a record of a share group.
 *
 * GROUP.ERA.TOPIC.PARTITION.OFFSET.KIND and a number, such as 7.0.3.1.42.l5.  What
 * the number counts depends on the kind.
 */
#ifndef MK_SHARE_RECEIPT_H
#define MK_SHARE_RECEIPT_H

#include "mk_share_rows.h"

typedef enum MkReceiptKind
{
	MK_RECEIPT_TRANSACTION = 't', /* row of the delivery before it, 0: none */
	MK_RECEIPT_LOCK = 'l', /* acquisition */
	MK_RECEIPT_OPERATOR = 'o', /* row of the delivery */
	MK_RECEIPT_PARKED = 'p' /* slot of the key, which is parked */
} MkReceiptKind;

typedef struct MkShareReceipt
{
	MkShareKey key;
	int64 offset;
	MkReceiptKind kind;
	int64 number;
} MkShareReceipt;

/* Bytes of a receipt, with the NUL at its end, at most */
#define MK_RECEIPT_SIZE 128

/* Writes the receipt to the buffer of that size. */
extern void
mk_share_receipt_format(const MkShareReceipt *receipt, char *buffer);

/*
 * The fencing token of a receipt of kind "lock": greater than those of the former
 * acquisitions of the record, also in former eras.
 */
extern int64 mk_share_receipt_token(const MkShareReceipt *receipt);

/* 22023 for a text that is no receipt. */
extern void mk_share_receipt_parse(const char *text, MkShareReceipt *receipt);

#endif /* MK_SHARE_RECEIPT_H */
