/*
 * mk_ddl.c
 *		Running DDL from C.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "commands/tablespace.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "mk_ddl.h"
#include "mk_guc.h"

/*
 * An error leaves the user and the settings to the abort of the transaction
 * or subtransaction, which restores both.
 */
static void
mk_ddl_run(Oid user, int security, Oid tablespace, const char *sql)
{
	Oid save_user;
	int save_security;
	int nestlevel;
	int result;

	GetUserIdAndSecContext(&save_user, &save_security);
	nestlevel = NewGUCNestLevel();
	mk_guc_restrict_search_path();
	mk_guc_set("default_table_access_method", "heap");
	mk_guc_set("default_tablespace",
			   OidIsValid(tablespace) ? get_tablespace_name(tablespace) : "");
	SetUserIdAndSecContext(
		user, save_security | SECURITY_LOCAL_USERID_CHANGE | security);

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	result = SPI_execute(sql, false, 0);
	if (result != SPI_OK_UTILITY)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	SPI_finish();

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
