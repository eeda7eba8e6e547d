/*
 * enablefeed.c
 *		Giving a container what its change feed needs: the column etag, the
 *		trigger that fills it, and an index.
 *
 * Rows that are there already get their etags by a default of the column, for which PostgreSQL
 * writes the table anew: an UPDATE would leave a dead version of each row, and fire the triggers of users.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "compat.h"
#include "enablefeed.h"
#include "etag.h"
#include "itemrow.h"
#include "privileges.h"
#include "registry.h"
#include "sql.h"

void
FeedCreateTrigger(Oid relid)
{
	SqlExecute("CREATE TRIGGER " ETAG_TRIGGER " BEFORE INSERT OR UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION partitionkey.set_etag()",
			   QualifiedName(relid));
	/* What a subscription applies is a change here as well. */
	SqlExecute("ALTER TABLE %s ENABLE ALWAYS TRIGGER " ETAG_TRIGGER, QualifiedName(relid));
}

void
FeedCreateIndex(Oid relid)
{
	SqlExecute("CREATE INDEX ON %s (" ETAG_COLUMN ")", QualifiedName(relid));
}

/* Refuse a column of that name which is something else; whether it is there. */
static bool
has_column(const Container *container)
{
	AttrNumber	attnum = get_attnum(container->relid, ETAG_COLUMN);
	const char *table = QualifiedName(container->relid);

	if (ContainerLevel(container, ETAG_COLUMN) >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_COLUMN),
				 errmsg("column \"%s\" of container \"%s\" is part of its key", ETAG_COLUMN, get_rel_name(container->relid)),
				 errdetail("The change feed keeps the etags of items in a column of that name."),
				 errhint("ALTER TABLE %s RENAME COLUMN %s TO ...", table, ETAG_COLUMN)));
	if (attnum == InvalidAttrNumber)
		return false;
	if (get_atttype(container->relid, attnum) != UUIDOID || get_attgenerated(container->relid, attnum))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_COLUMN),
				 errmsg("container \"%s\" has a column \"%s\" already, which is %s", get_rel_name(container->relid), ETAG_COLUMN,
						get_atttype(container->relid, attnum) == UUIDOID ? "generated" :
						psprintf("of type %s", format_type_be(get_atttype(container->relid, attnum)))),
				 errdetail("The change feed keeps the etags of items in a column of that name, of type uuid."),
				 errhint("ALTER TABLE %s RENAME COLUMN %s TO ...", table, ETAG_COLUMN)));
	return true;
}

/*
 * The trigger of our name; refuse one that is another.  It must fire always on the container and on all partitions: a
 * restore of data alone, or DISABLE TRIGGER, may have switched it there.
 */
static bool
has_trigger(Oid relid, bool *always)
{
	bool		found = SqlCount("SELECT count(*) FROM pg_trigger WHERE tgrelid = %u AND tgname = '" ETAG_TRIGGER "'", relid) > 0;

	if (found && SqlCount("SELECT count(*) FROM pg_trigger WHERE tgrelid = %u AND tgname = '" ETAG_TRIGGER "'"
						  " AND tgfoid = 'partitionkey.set_etag()'::regprocedure AND tgtype = %d AND tgqual IS NULL AND tgattr = ''", relid,
						  TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE | TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("container \"%s\" has another trigger \"%s\"", get_rel_name(relid), ETAG_TRIGGER),
				 errhint("DROP TRIGGER %s ON %s, and try again.", ETAG_TRIGGER, QualifiedName(relid))));
	*always = found && SqlCount("SELECT count(*) FROM pg_partition_tree(%u) JOIN pg_trigger ON tgrelid = relid"
								" WHERE tgname = '" ETAG_TRIGGER "' AND tgenabled <> 'A'", relid) == 0;
	return found;
}

static bool
has_index(Oid relid)
{
	return SqlCount("SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam"
					" WHERE i.indrelid = %u AND a.amname = 'btree' AND i.indisvalid AND i.indpred IS NULL"
					" AND pg_get_indexdef(i.indexrelid, 1, false) = '" ETAG_COLUMN "'", relid) > 0;
}

/*
 * Give rows without an etag one; whether there were any.  Triggers and other code of the table's owner run
 * on the way, so it is done with his rights, and past row security that is forced on him.
 */
static bool
fill_column(Oid relid)
{
	SqlActing	acting = SqlBeginAs(RelationOwner(relid));
	const char *table = QualifiedName(relid);
	bool		missing = SqlCount("SELECT count(*) FROM (SELECT FROM %s WHERE " ETAG_COLUMN " IS NULL LIMIT 1) x", table) > 0;

	if (missing)
		SqlExecute("UPDATE %s SET " ETAG_COLUMN " = NULL WHERE " ETAG_COLUMN " IS NULL", table);
	SqlEndAs(acting);
	return missing;
}

/*
 * Make what is missing; whether anything was.  A column that is there already is kept with its
 * values, as after a restore; rows without one get it.
 */
static bool
make_parts(const Container *container)
{
	Oid			relid = container->relid;
	bool		column = has_column(container);
	bool		always;
	bool		trigger = has_trigger(relid, &always);
	bool		index = has_index(relid);
	bool		filled;

	if (!column)
	{
		SqlExecute("ALTER TABLE %s ADD COLUMN " ETAG_COLUMN " uuid DEFAULT partitionkey.next_etag()", QualifiedName(relid));
		SqlExecute("ALTER TABLE %s ALTER COLUMN " ETAG_COLUMN " DROP DEFAULT", QualifiedName(relid));
	}
	if (!trigger)
		FeedCreateTrigger(relid);
	else if (!always)
		SqlExecute("ALTER TABLE %s ENABLE ALWAYS TRIGGER " ETAG_TRIGGER, QualifiedName(relid));
	if (!index)
		FeedCreateIndex(relid);
	filled = column && fill_column(relid);
	return !column || !always || !index || filled;
}

/* enable_change_feed(container regclass) returns void */
PG_FUNCTION_INFO_V1(enable_change_feed);
Datum
enable_change_feed(PG_FUNCTION_ARGS)
{
	Container  *container;
	Relation	rel;
	int			nestlevel;

	SqlRequireArgument(fcinfo, 0, "container");
	PreventCommandIfReadOnly("enable_change_feed()");
	RequireOwner(PG_GETARG_OID(0));
	/* Who enables it at the same time looks when this is done. */
	LockRelationOid(PG_GETARG_OID(0), ShareUpdateExclusiveLock);
	container = ContainerLookup(PG_GETARG_OID(0), false);
	rel = table_open(container->relid, AccessShareLock);
	(void) ItemShapeFind(rel, container, NULL, false, true);
	table_close(rel, AccessShareLock);
	SPI_connect();
	nestlevel = SqlBegin();
	if (!make_parts(container))
		ereport(NOTICE,
				(errmsg("container \"%s\" has a change feed already", get_rel_name(container->relid))));
	SqlEnd(nestlevel);
	SPI_finish();
	PG_RETURN_VOID();
}
