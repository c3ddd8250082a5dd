/*
 * mk_ddl.c
 *		Running DDL from C.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class_d.h"
#include "commands/tablespace.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "mk_ddl.h"
#include "mk_guc.h"

/*
 * Runs a statement as the given user.  The statement runs as part of another
 * one, so it fires no event triggers: an event trigger must not fail a commit
 * that needs a segment, and must not run as another role.
 *
 * After an error, the abort of the transaction or subtransaction restores the
 * user and the settings.
 */
static void
mk_ddl_run(Oid user, int security, Oid tablespace, const char *sql)
{
	Oid save_user;
	int save_security;
	int nestlevel;
	ListCell *lc;

	GetUserIdAndSecContext(&save_user, &save_security);
	nestlevel = NewGUCNestLevel();
	mk_guc_restrict_search_path();
	mk_guc_set("default_table_access_method", "heap");
	mk_guc_set("default_tablespace",
			   OidIsValid(tablespace) ? get_tablespace_name(tablespace) : "");
	SetUserIdAndSecContext(
		user, save_security | SECURITY_LOCAL_USERID_CHANGE | security);

	PushActiveSnapshot(GetTransactionSnapshot());
	foreach (lc, pg_parse_query(sql))
	{
		RawStmt *raw = lfirst_node(RawStmt, lc);
		PlannedStmt *statement = makeNode(PlannedStmt);

		statement->commandType = CMD_UTILITY;
		statement->utilityStmt = raw->stmt;
		statement->stmt_location = raw->stmt_location;
		statement->stmt_len = raw->stmt_len;
		ProcessUtility(statement, sql, false, PROCESS_UTILITY_SUBCOMMAND, NULL,
					   NULL, None_Receiver, NULL);
		CommandCounterIncrement();
	}
	PopActiveSnapshot();

	SetUserIdAndSecContext(save_user, save_security);
	AtEOXact_GUC(true, nestlevel);
}

static char *
mk_ddl_format(const char *format, va_list args) pg_attribute_printf(1, 0);

static char *
mk_ddl_format(const char *format, va_list args)
{
	StringInfoData sql;
	int needed;

	initStringInfo(&sql);
	for (;;)
	{
		va_list copy;

		va_copy(copy, args);
		needed = appendStringInfoVA(&sql, format, copy);
		va_end(copy);
		if (needed == 0)
			return sql.data;
		enlargeStringInfo(&sql, needed);
	}
}

void
mk_ddl_as_superuser(Oid tablespace, const char *format, ...)
{
	va_list args;
	char *sql;

	va_start(args, format);
	sql = mk_ddl_format(format, args);
	va_end(args);
	mk_ddl_run(BOOTSTRAP_SUPERUSERID, 0, tablespace, sql);
}

void
mk_ddl_as_owner(Oid owner, const char *format, ...)
{
	va_list args;
	char *sql;

	va_start(args, format);
	sql = mk_ddl_format(format, args);
	va_end(args);
	mk_ddl_run(owner, SECURITY_RESTRICTED_OPERATION, InvalidOid, sql);
}

char *
mk_ddl_name(Oid relid)
{
	char *name = get_rel_name(relid);

	if (name == NULL)
		elog(ERROR, "cache lookup failed for relation %u", relid);
	return quote_qualified_identifier(
		get_namespace_name(get_rel_namespace(relid)), name);
}

void
mk_ddl_drop_table(Oid relid, bool cascade)
{
	const ObjectAddress table = {RelationRelationId, relid, 0};

	performDeletion(&table, cascade ? DROP_CASCADE : DROP_RESTRICT, 0);
	CommandCounterIncrement();
}
