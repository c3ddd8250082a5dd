/*
 * mk_share_receipt.c
 *		Receipts: texts that name a delivery of a record of a share group.
 */
#include "postgres.h"

#include "mk_share_receipt.h"

void
mk_share_receipt_format(const MkShareReceipt *r, char *buffer)
{
	snprintf(buffer, MK_RECEIPT_SIZE,
			 "%d.%d.%d.%d." INT64_FORMAT ".%c" INT64_FORMAT, r->key.group_no,
			 r->key.era, r->key.topic_id, r->key.partition, r->offset, r->kind,
			 r->number);
}

int64
mk_share_receipt_token(const MkShareReceipt *r)
{
	return ((int64) r->key.era << 32) | Min(r->number, (int64) PG_UINT32_MAX);
}

/* Reads a number of at most "most", and moves behind it. */
static bool
mk_receipt_number(const char **text, int64 most, int64 *number)
{
	const char *c = *text;

	*number = 0;
	if (*c < '0' || *c > '9')
		return false;
	for (; *c >= '0' && *c <= '9'; c++)
	{
		int digit = *c - '0';

		if (*number > (most - digit) / 10)
			return false;
		*number = *number * 10 + digit;
	}
	*text = c;
	return true;
}

/* The same, with a dot behind it. */
static bool
mk_receipt_field(const char **text, int64 most, int64 *number)
{
	return mk_receipt_number(text, most, number) && *(*text)++ == '.';
}

void
mk_share_receipt_parse(const char *text, MkShareReceipt *r)
{
	const char *c = text;
	int64 group_no;
	int64 era;
	int64 topic_id;
	int64 partition;
	bool valid = mk_receipt_field(&c, PG_INT32_MAX, &group_no) &&
		mk_receipt_field(&c, PG_INT32_MAX, &era) &&
		mk_receipt_field(&c, PG_INT32_MAX, &topic_id) &&
		mk_receipt_field(&c, PG_INT32_MAX, &partition) &&
		mk_receipt_field(&c, PG_INT64_MAX, &r->offset);

	if (valid)
	{
		r->kind = (MkReceiptKind) *c;
		valid =
			(r->kind == MK_RECEIPT_TRANSACTION || r->kind == MK_RECEIPT_LOCK ||
			 r->kind == MK_RECEIPT_OPERATOR || r->kind == MK_RECEIPT_PARKED);
		c++;
	}
	if (!valid || !mk_receipt_number(&c, PG_INT64_MAX, &r->number) ||
		*c != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("argument \"receipt\" is not a receipt"),
				 errhint("Pass the receipt that minikafka.acquire() returned "
						 "with the record.")));
	r->key.group_no = (int32) group_no;
	r->key.era = (int32) era;
	r->key.topic_id = (int32) topic_id;
	r->key.partition = (int32) partition;
}
