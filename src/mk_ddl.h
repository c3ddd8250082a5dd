/*
 * mk_ddl.h
 *		Running DDL from C.
 */
#ifndef MK_DDL_H
#define MK_DDL_H

/*
 * Runs one DDL statement, formatted as by printf.  Identifiers in it must be
 * quoted with quote_identifier, and every name must have its schema.
 *
 * mk_ddl_as_superuser runs the statement as the bootstrap superuser, for what
 * no role may do in the extension's schemas.  Such a statement must not run
 * user code.  mk_ddl_as_owner runs the statement as the given role in a
 * security-restricted operation, for everything else.
 *
 * New tables are heaps in tablespace "tablespace" (InvalidOid: that of the
 * database), whatever the session's settings are.
 */
extern void mk_ddl_as_superuser(Oid tablespace, const char *format, ...)
	pg_attribute_printf(2, 3);
extern void
mk_ddl_as_owner(Oid owner, const char *format, ...) pg_attribute_printf(2, 3);

/* The name of a relation with its schema, quoted for a statement; palloc'd. */
extern char *mk_ddl_name(Oid relid);

/* Drops a table, and if "cascade" what depends on it.  Checks no rights. */
extern void mk_ddl_drop_table(Oid relid, bool cascade);

#endif /* MK_DDL_H */
