/*
 * mk_guc.c
 *		The settings of the extension.
 */
#include "postgres.h"

#include <limits.h>

#include "datatype/timestamp.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "mk_guc.h"

double mk_guc_clock_offset = 0.0;
int mk_guc_producer_expiry = 7 * SECS_PER_DAY;
int mk_guc_offsets_retention = 7 * SECS_PER_DAY;
int mk_guc_inbox_retention = 30 * SECS_PER_DAY;
char *mk_guc_database = NULL;
int mk_guc_maintenance_interval = 60;

/* The check hook of a setting that is a list of names. */
static bool
mk_check_list(char **value, void **extra, GucSource source)
{
	List *names;

	if (SplitGUCList(pstrdup(*value), ',', &names))
		return true;
	GUC_check_errdetail("List syntax is invalid.");
	return false;
}

void
mk_guc_init(void)
{
	DefineCustomRealVariable(
		"minikafka.clock_offset",
		"Shifts the extension's clock, so that tests need not wait.", NULL,
		&mk_guc_clock_offset, 0.0, -1e9, 1e9, PGC_SUSET,
		GUC_UNIT_S | GUC_NOT_IN_SAMPLE, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"minikafka.producer_expiry",
		"How long the last sequences of a producer are remembered.",
		"It counts for each partition from the last record that the producer "
		"has sent there.",
		&mk_guc_producer_expiry, 7 * SECS_PER_DAY, 1, INT_MAX, PGC_SUSET,
		GUC_UNIT_S, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"minikafka.offsets_retention",
		"How long the committed offsets of a group without members are kept.",
		"It counts from the last commit, or from when the last member left.",
		&mk_guc_offsets_retention, 7 * SECS_PER_DAY, 1, INT_MAX, PGC_SUSET,
		GUC_UNIT_S, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"minikafka.inbox_retention",
		"How long the events that inbox_accept() has accepted are remembered.",
		NULL, &mk_guc_inbox_retention, 30 * SECS_PER_DAY, 1, INT_MAX, PGC_SUSET,
		GUC_UNIT_S, NULL, NULL, NULL);
	DefineCustomStringVariable(
		"minikafka.database",
		"The databases in which the maintenance worker runs.",
		"A list of names, separated by commas.  The library must be in "
		"\"shared_preload_libraries\".",
		&mk_guc_database, "", PGC_SIGHUP, GUC_LIST_INPUT, mk_check_list, NULL,
		NULL);
	DefineCustomIntVariable("minikafka.maintenance_interval",
							"How often the maintenance worker does a pass.",
							NULL, &mk_guc_maintenance_interval, 60, 1,
							INT_MAX / 1000, PGC_SIGHUP, GUC_UNIT_S, NULL, NULL,
							NULL);
	MarkGUCPrefixReserved("minikafka");
}

void
mk_guc_set(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

void
mk_guc_restrict_search_path(void)
{
	mk_guc_set("search_path", "pg_catalog, pg_temp");
}

void
mk_guc_set_text_format(void)
{
	mk_guc_set("datestyle", "ISO, YMD");
	mk_guc_set("intervalstyle", "postgres");
	mk_guc_set("timezone", "UTC");
	mk_guc_set("bytea_output", "hex");
	mk_guc_set("extra_float_digits", "1");
	mk_guc_restrict_search_path();
}
