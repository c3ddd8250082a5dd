/*
 * mk_guc.h
 *		The settings of the extension.
 */
#ifndef MK_GUC_H
#define MK_GUC_H

/* minikafka.clock_offset, in seconds: added to the clock, for tests */
extern double mk_guc_clock_offset;

/* minikafka.producer_expiry, in seconds */
extern int mk_guc_producer_expiry;

/* minikafka.offsets_retention, in seconds */
extern int mk_guc_offsets_retention;

/* minikafka.inbox_retention, in seconds */
extern int mk_guc_inbox_retention;

/* minikafka.database: names, separated by commas; and how often, in seconds */
extern char *mk_guc_database;
extern int mk_guc_maintenance_interval;

/*
 * Sets a setting up to the end of the nest level (NewGUCNestLevel,
 * AtEOXact_GUC).
 */
extern void mk_guc_set(const char *name, const char *value);

/* The same for the search_path that code run as another role must have. */
extern void mk_guc_restrict_search_path(void);

/* The same for how values look as text. */
extern void mk_guc_set_text_format(void);

/* To be called once, in _PG_init. */
extern void mk_guc_init(void);

#endif /* MK_GUC_H */
