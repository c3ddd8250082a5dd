/*
 * mk_compat.h
 *		The differences between PostgreSQL 15 and 18: each is a wrapper with the
 *		newest signature.  No other file asks for the version.
 */
#ifndef MK_COMPAT_H
#define MK_COMPAT_H

#include "access/genam.h"
#include "access/nbtree.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_namespace_d.h"
#include "catalog/pg_tablespace_d.h"
#include "commands/defrem.h"
#include "common/jsonapi.h"
#include "executor/executor.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/sinvaladt.h"
#include "utils/acl.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM < 150000
#error "minikafka needs PostgreSQL 15 or later"
#endif

static inline IndexScanDesc
mk_index_beginscan(Relation heap, Relation index, Snapshot snapshot, int nkeys,
				   int norderbys)
{
#if PG_VERSION_NUM >= 180000
	return index_beginscan(heap, index, snapshot, NULL, nkeys, norderbys);
#else
	return index_beginscan(heap, index, snapshot, nkeys, norderbys);
#endif
}

static inline List *
mk_ExecInsertIndexTuples(ResultRelInfo *rri, TupleTableSlot *slot,
						 EState *estate)
{
#if PG_VERSION_NUM >= 160000
	return ExecInsertIndexTuples(rri, slot, estate, false, false, NULL, NIL,
								 false);
#else
	return ExecInsertIndexTuples(rri, slot, estate, false, false, NULL, NIL);
#endif
}

static inline AclResult
mk_namespace_aclcheck(Oid namespace, Oid role, AclMode mode)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(NamespaceRelationId, namespace, role, mode);
#else
	return pg_namespace_aclcheck(namespace, role, mode);
#endif
}

/* Raises 42501 unless the member may SET ROLE to that role. */
static inline void
mk_check_can_set_role(Oid member, Oid role)
{
#if PG_VERSION_NUM >= 160000
	check_can_set_role(member, role);
#else
	check_is_member_of_role(member, role);
#endif
}

static inline AclResult
mk_tablespace_aclcheck(Oid tablespace, Oid role, AclMode mode)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(TableSpaceRelationId, tablespace, role, mode);
#else
	return pg_tablespace_aclcheck(tablespace, role, mode);
#endif
}

/*
 * How many objects DROP TABLE locks for the NOT NULL columns of a record: from
 * 18 on each of them has a constraint.
 */
#if PG_VERSION_NUM >= 180000
#define MK_NOT_NULL_LOCKS 3
#else
#define MK_NOT_NULL_LOCKS 0
#endif

/* Makes an index as CREATE INDEX does, without checking the user's rights. */
static inline Oid
mk_DefineIndex(Oid relid, IndexStmt *statement)
{
#if PG_VERSION_NUM >= 160000
	return DefineIndex(relid, statement, InvalidOid, InvalidOid, InvalidOid, -1,
					   false, false, true, false, false)
		.objectId;
#else
	return DefineIndex(relid, statement, InvalidOid, InvalidOid, InvalidOid,
					   false, false, true, false, false)
		.objectId;
#endif
}

/* The backend of a virtual transaction that is in progress, otherwise NULL. */
static inline PGPROC *
mk_vxid_get_proc(VirtualTransactionId vxid)
{
	PGPROC *proc;

#if PG_VERSION_NUM >= 170000
	proc = ProcNumberGetProc(vxid.procNumber);
#define MK_PROC_LXID(proc) ((proc)->vxid.lxid)
#else
	proc = BackendIdGetProc(vxid.backendId);
#define MK_PROC_LXID(proc) ((proc)->lxid)
#endif
	if (proc == NULL || MK_PROC_LXID(proc) != vxid.localTransactionId)
		return NULL;
	return proc;
#undef MK_PROC_LXID
}

/*
 * The transaction id of a virtual transaction, and the process id of its backend;
 * InvalidTransactionId, or 0, if it has none or has ended.
 */
static inline TransactionId
mk_vxid_get_xid(VirtualTransactionId vxid)
{
	PGPROC *proc = mk_vxid_get_proc(vxid);
	TransactionId xid;

	if (proc == NULL)
		return InvalidTransactionId;
	xid = *((volatile TransactionId *) &proc->xid);
	pg_read_barrier();
	/* what was read may be that of the next one */
	return mk_vxid_get_proc(vxid) == NULL ? InvalidTransactionId : xid;
}

static inline int
mk_vxid_get_pid(VirtualTransactionId vxid)
{
	PGPROC *proc = mk_vxid_get_proc(vxid);
	int pid = proc != NULL ? *((volatile int *) &proc->pid) : 0;

	pg_read_barrier();
	return mk_vxid_get_proc(vxid) == NULL ? 0 : pid;
}

/*
 * Takes a session-level lock if it is free; raises no error if there is no
 * room for it.
 */
static inline LockAcquireResult
mk_lock_session_try(const LOCKTAG *tag, LOCKMODE mode)
{
#if PG_VERSION_NUM >= 180000
	return LockAcquireExtended(tag, mode, true, true, false, NULL, false);
#else
	return LockAcquireExtended(tag, mode, true, true, false, NULL);
#endif
}

/* Whether a CHECK constraint is enforced: from 18 on it may be NOT ENFORCED. */
static inline bool
mk_constraint_is_enforced(Form_pg_constraint form)
{
#if PG_VERSION_NUM >= 180000
	return form->conenforced;
#else
	return true;
#endif
}

static inline bool
mk_lock_held_by_me(const LOCKTAG *tag, LOCKMODE mode)
{
#if PG_VERSION_NUM >= 170000
	return LockHeldByMe(tag, mode, false);
#else
	return LockHeldByMe(tag, mode);
#endif
}

static inline bool
mk_check_is_enforced(const ConstrCheck *check)
{
#if PG_VERSION_NUM >= 180000
	return check->ccenforced;
#else
	return true;
#endif
}

/* A lexer that also checks the escapes in strings. */
static inline JsonLexContext *
mk_json_lex_context(char *json, int length, int encoding)
{
#if PG_VERSION_NUM >= 170000
	return makeJsonLexContextCstringLen(NULL, json, length, encoding, true);
#else
	return makeJsonLexContextCstringLen(json, length, encoding, true);
#endif
}

/*
 * The wait event that pg_stat_activity shows while a process waits: of this
 * name, or up to 16 one for all extensions.  *event keeps it, and is 0 at
 * first.
 */
static inline uint32
mk_wait_event(const char *name, uint32 *event)
{
	if (*event == 0)
	{
#if PG_VERSION_NUM >= 170000
		*event = WaitEventExtensionNew(name);
#else
		*event = PG_WAIT_EXTENSION;
#endif
	}
	return *event;
}

/* The number of a relation's file, which is another one when it is rewritten. */
static inline uint32
mk_relation_file(Relation rel)
{
#if PG_VERSION_NUM >= 160000
	return rel->rd_locator.relNumber;
#else
	return rel->rd_node.relNode;
#endif
}

/* The last leaf of a btree, locked for reading; InvalidBuffer if it has none. */
static inline Buffer
mk_bt_last_leaf(Relation index)
{
#if PG_VERSION_NUM >= 170000
	return _bt_get_endpoint(index, 0, true);
#else
	return _bt_get_endpoint(index, 0, true, NULL);
#endif
}

/* The number of this process, below MaxBackends. */
static inline int
mk_proc_number(void)
{
#if PG_VERSION_NUM >= 170000
	return MyProcNumber;
#else
	return MyProc->pgprocno;
#endif
}

#endif /* MK_COMPAT_H */
