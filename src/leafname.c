/*
 * leafname.c
 *		Names of leaves, and of what is named after them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_statistic_ext.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "leafname.h"
#include "sql.h"

char *
LeafLabel(const Leaf *leaf)
{
	StringInfoData label;

	initStringInfo(&label);
	appendStringInfoChar(&label, 'p');
	for (int level = 0; level < MAX_LEVELS; level++)
	{
		PositionRange range = leaf->ranges[level];
		int			digits = Max(1, (range.bits + 3) / 4);

		if (level > 0 && range.bits == 0)
			break;
		appendStringInfo(&label, "%s%0*llx", level == 0 ? "" : "_", digits, (unsigned long long) (range.min >> (64 - 4 * digits)));
	}
	return label.data;
}

char *
LeafFreeName(const char *base, const char *label, Oid schema)
{
	char	   *name = ChooseRelationName(base, NULL, label, schema, false);

	for (int n = 1; SearchSysCacheExists2(TYPENAMENSP, PointerGetDatum(name), ObjectIdGetDatum(schema)); n++)
		name = ChooseRelationName(base, NULL, psprintf("%s_%d", label, n), schema, false);
	return name;
}

/* What follows a table's name and "_" in the name of something that is named after it, or NULL. */
static const char *
rest_of_name(const char *name, const char *table)
{
	return strncmp(name, table, strlen(table)) == 0 && name[strlen(table)] == '_' ? name + strlen(table) + 1 : NULL;
}

static void
rename_statistics(Oid statistics, const char *old, const char *new)
{
	HeapTuple	tuple = SearchSysCache1(STATEXTOID, ObjectIdGetDatum(statistics));
	Form_pg_statistic_ext form = (Form_pg_statistic_ext) GETSTRUCT(tuple);
	const char *rest = rest_of_name(NameStr(form->stxname), old);
	char	   *name = rest != NULL ? makeObjectName(new, NULL, rest) : NULL;

	for (int n = 1; rest != NULL && SearchSysCacheExists2(STATEXTNAMENSP, PointerGetDatum(name), ObjectIdGetDatum(form->stxnamespace)); n++)
		name = makeObjectName(new, NULL, psprintf("%s%d", rest, n));
	if (rest != NULL)
		SqlExecute("ALTER STATISTICS %s RENAME TO %s",
				   quote_qualified_identifier(get_namespace_name(form->stxnamespace), NameStr(form->stxname)), quote_identifier(name));
	ReleaseSysCache(tuple);
}

void
LeafRename(Oid relid, const char *base, const char *label)
{
	Oid			schema = get_rel_namespace(relid);
	char	   *old = get_rel_name(relid);
	char	   *name = LeafFreeName(base, label, schema);
	Relation	rel = table_open(relid, NoLock);
	List	   *indexes = RelationGetIndexList(rel);
	List	   *statistics = RelationGetStatExtList(rel);
	ListCell   *cell;

	table_close(rel, NoLock);
	SqlExecute("ALTER TABLE %s RENAME TO %s", QualifiedName(relid), quote_identifier(name));
	foreach(cell, indexes)
	{
		const char *rest = rest_of_name(get_rel_name(lfirst_oid(cell)), old);

		if (rest != NULL)
			SqlExecute("ALTER INDEX %s RENAME TO %s", QualifiedName(lfirst_oid(cell)),
					   quote_identifier(ChooseRelationName(name, NULL, rest, schema, false)));
	}
	foreach(cell, statistics)
		rename_statistics(lfirst_oid(cell), old, name);
}
