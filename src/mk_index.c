/*
 * mk_index.c
 *		Indexes that the owner of a topic adds.
 *
 * CREATE INDEX on the table of a topic requires CREATE on the schema of its
 * segments too, which no role has.  So this file parses the statement and runs
 * it without that check.  Functions in its expressions run as the owner.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_tablespace.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "parser/parse_utilcmd.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "mk_compat.h"
#include "mk_ddl.h"
#include "mk_guc.h"
#include "mk_index.h"
#include "mk_topic.h"

/* The position of an error refers to our statement, not to the user's. */
static void
mk_index_error_callback(void *arg)
{
	int position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(arg);
	}
}

/* Parses the statement: one CREATE INDEX on the table of this name. */
static IndexStmt *
mk_index_parse(const char *name, const char *sql)
{
	List *statements = pg_parse_query(sql);
	Node *node = list_length(statements) == 1
		? linitial_node(RawStmt, statements)->stmt
		: NULL;
	IndexStmt *statement =
		node != NULL && IsA(node, IndexStmt) ? castNode(IndexStmt, node) : NULL;

	if (statement == NULL || statement->relation->catalogname != NULL ||
		strcmp(statement->relation->relname, name) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("invalid index definition"),
				 errhint("Give what follows the name of the table in CREATE "
						 "INDEX, such as \"(key)\".")));
	return statement;
}

/*
 * 42501 unless the user may create objects in the tablespace, if one is named.
 */
static void
mk_index_check_tablespace(const char *name)
{
	Oid tablespace;

	if (name == NULL)
		return;
	tablespace = get_tablespace_oid(name, false);
	if (tablespace != MyDatabaseTableSpace &&
		mk_tablespace_aclcheck(tablespace, GetUserId(), ACL_CREATE) !=
			ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for tablespace \"%s\"", name)));
}

char *
mk_index_create(const char *name, const char *definition)
{
	MkTopic *topic = mk_topic_lock_owned(name, false);
	Oid relid = topic->relid;
	char *sql =
		psprintf("CREATE INDEX ON %s %s", mk_ddl_name(relid), definition);
	ErrorContextCallback callback = {error_context_stack,
									 mk_index_error_callback, sql};
	IndexStmt *statement;
	Oid index;
	int nestlevel;

	error_context_stack = &callback;
	statement = mk_index_parse(name, sql);
	mk_index_check_tablespace(statement->tableSpace);

	/* lock all tables first, parents before children, as CREATE INDEX does */
	(void) find_all_inheritors(relid, ShareLock, NULL);
	nestlevel = NewGUCNestLevel();
	mk_guc_set("default_tablespace", "");
	index = mk_DefineIndex(relid, transformIndexStmt(relid, statement, sql));
	AtEOXact_GUC(false, nestlevel);
	error_context_stack = callback.previous;
	CommandCounterIncrement();
	return mk_ddl_name(index);
}
