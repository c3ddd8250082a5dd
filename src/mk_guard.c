/*
 * mk_guard.c
 *		Triggers: those that refuse direct writes to the tables of topics, and
 *		those of users that prevent our writes.
 *
 * Tools that rewrite a table while it is in use, such as pg_repack, record
 * changes with a row trigger.  Our changes would be lost, since they fire no
 * triggers.  pg_repack skips a table that already has a trigger with the name
 * of its own.  So our row trigger has that name, and so does a trigger without
 * any effect on the tables of the catalog.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_trigger_d.h"
#include "commands/trigger.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"

#include "mk_ddl.h"
#include "mk_guard.h"

#define MK_GUARD_WRITES \
	(TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE)

void
mk_guard_make(Oid relid, bool rows)
{
	const char *name = mk_ddl_name(relid);

	mk_ddl_as_superuser(InvalidOid,
						"CREATE TRIGGER minikafka_refuse_write "
						"BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s "
						"FOR EACH STATEMENT "
						"EXECUTE FUNCTION minikafka.refuse_write()",
						name);
	if (rows)
		mk_ddl_as_superuser(InvalidOid,
							"CREATE TRIGGER repack_trigger "
							"BEFORE INSERT OR UPDATE OR DELETE ON %s "
							"FOR EACH ROW "
							"EXECUTE FUNCTION minikafka.refuse_write()",
							name);
}

/* Whether the trigger calls minikafka.refuse_write(). */
static bool
mk_guard_is_ours(const Trigger *trigger)
{
	char *name = get_func_name(trigger->tgfoid);

	return name != NULL && strcmp(name, "refuse_write") == 0 &&
		get_func_namespace(trigger->tgfoid) ==
		get_namespace_oid("minikafka", true);
}

bool
mk_guard_is_on(Relation rel, bool rows)
{
	bool on_statements = false;
	bool on_rows = false;

	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers;
		 i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];

		if (trigger->tgqual != NULL || trigger->tgnattr > 0 ||
			(trigger->tgenabled != TRIGGER_FIRES_ON_ORIGIN &&
			 trigger->tgenabled != TRIGGER_FIRES_ALWAYS) ||
			!mk_guard_is_ours(trigger))
			continue;
		if (trigger->tgtype ==
			(TRIGGER_TYPE_BEFORE | MK_GUARD_WRITES | TRIGGER_TYPE_TRUNCATE))
			on_statements = true;
		if (trigger->tgtype ==
			(TRIGGER_TYPE_BEFORE | MK_GUARD_WRITES | TRIGGER_TYPE_ROW))
			on_rows = true;
	}
	return on_statements && (on_rows || !rows);
}

const char *
mk_guard_obstacle(Relation rel)
{
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers;
		 i++)
	{
		const Trigger *trigger = &rel->trigdesc->triggers[i];
		char *constraint;

		if (!TRIGGER_FOR_ROW(trigger->tgtype) ||
			trigger->tgenabled == TRIGGER_DISABLED || mk_guard_is_ours(trigger))
			continue;
		constraint = OidIsValid(trigger->tgconstraint)
			? get_constraint_name(trigger->tgconstraint)
			: NULL;
		return constraint != NULL
			? psprintf("Constraint \"%s\" needs triggers on its rows.",
					   constraint)
			: psprintf("It has the row trigger \"%s\".", trigger->tgname);
	}
	return NULL;
}

void
mk_guard_check_write(Relation rel)
{
	const TriggerDesc *triggers = rel->trigdesc;
	const char *obstacle;

	/* in most cases the summary in the relcache is enough */
	if (likely(triggers == NULL ||
			   !(triggers->trig_insert_before_row ||
				 triggers->trig_insert_after_row ||
				 triggers->trig_update_before_row ||
				 triggers->trig_update_after_row ||
				 triggers->trig_delete_before_row ||
				 triggers->trig_delete_after_row)))
		return;
	obstacle = mk_guard_obstacle(rel);
	if (obstacle != NULL)
		ereport(
			ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot write to table \"%s.%s\"",
					get_namespace_name(RelationGetNamespace(rel)),
					RelationGetRelationName(rel)),
			 errdetail("%s  Writes of minikafka fire no triggers.", obstacle),
			 errhint("Drop what was added to the table, or wait for the "
					 "tool that added it.")));
}
