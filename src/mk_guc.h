/*
 * mk_guc.h
 *		The settings of the extension.
 */
#ifndef MK_GUC_H
#define MK_GUC_H

/* minikafka.clock_offset, in seconds: is added to the clock, for tests */
extern double mk_guc_clock_offset;

/* minikafka.producer_expiry, in seconds */
extern int mk_guc_producer_expiry;

/* minikafka.offsets_retention, in seconds */
extern int mk_guc_offsets_retention;

/* minikafka.inbox_retention, in seconds */
extern int mk_guc_inbox_retention;

/* minikafka.database: names, separated by commas */
extern char *mk_guc_database;

/* minikafka.maintenance_interval, in seconds */
extern int mk_guc_maintenance_interval;

/*
 * Sets a setting until the end of the GUC nest level: the caller has called
 * NewGUCNestLevel, and calls AtEOXact_GUC.
 */
extern void mk_guc_set(const char *name, const char *value);

/* The same for search_path, as code that runs as another role must have it. */
extern void mk_guc_restrict_search_path(void);

/* The same for the settings that decide how values look as text. */
extern void mk_guc_set_text_format(void);

/* To be called once, in _PG_init. */
extern void mk_guc_init(void);

#endif /* MK_GUC_H */
