/*
 * mk_ddl.h
 *		Running DDL from C.
 */
#ifndef MK_DDL_H
#define MK_DDL_H

/*
 * Runs one DDL statement, built as by printf: identifiers in it must have gone
 * through quote_identifier, and it must name every schema.
 *
 * mk_ddl_as_superuser runs it as the bootstrap superuser, for what no role
 * may do by itself in the extension's schemas; it must be such as runs no
 * code of a user.  mk_ddl_as_owner runs it as the given role in a
 * security-restricted operation, for all else.
 *
 * New tables are heaps in tablespace "tablespace" (InvalidOid: the
 * database's), whatever the session's settings are.
 */
extern void mk_ddl_as_superuser(Oid tablespace, const char *format, ...)
	pg_attribute_printf(2, 3);
extern void
mk_ddl_as_owner(Oid owner, const char *format, ...) pg_attribute_printf(2, 3);

/* The name of a relation with its schema, as it is to stand in a statement. */
extern char *mk_ddl_name(Oid relid);

/* Drops a table, with what depends on it if "cascade"; without any check. */
extern void mk_ddl_drop_table(Oid relid, bool cascade);

#endif /* MK_DDL_H */
