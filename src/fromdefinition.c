/*
 * fromdefinition.c
 *		Making a container from its definition in Cosmos DB, or giving one its definition.
 *
 * The table has a column for each partition key path, the id, the whole item as
 * doc, ts, the time of the last change, and etag, by which changes are followed.  All of it is made with the
 * caller's rights, in one transaction.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/heap.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/scansup.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "compat.h"
#include "conversion.h"
#include "definition.h"
#include "enablefeed.h"
#include "etag.h"
#include "exportfile.h"
#include "indexingpolicy.h"
#include "itemsview.h"
#include "layout.h"
#include "path.h"
#include "privileges.h"
#include "settings.h"
#include "sql.h"
#include "ttl.h"

/* What a key column may be, and how else that is called. */
static const struct
{
	const char *name;
	const char *alias;
	Oid			typid;
}			key_types[] = {
	{"text", "string", TEXTOID},
	{"double precision", "float8", FLOAT8OID},
	{"boolean", "bool", BOOLOID},
	{"jsonb", "jsonb", JSONBOID}
};

typedef struct Making
{
	Definition	definition;
	Container	container;
	Oid			types[MAX_LEVELS];	/* of the key columns */
	Layout		layout;
	List	   *indexes;		/* PolicyIndex * */
	Oid			namespace;
	char	   *name;			/* of the table */
	char	   *qualified_name;
} Making;

/* Whether a path is the item's id, which has its column anyway. */
static bool
is_id(const char *path)
{
	return PathNamesEqual(PathSegments(path), list_make1("id"));
}

static Oid
key_type(char *name, const char *path)
{
	for (size_t i = 0; name != NULL && i < lengthof(key_types); i++)
		if (pg_strcasecmp(name, key_types[i].name) == 0 || pg_strcasecmp(name, key_types[i].alias) == 0)
		{
			if (is_id(path) && key_types[i].typid != TEXTOID)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("key type \"%s\" is not for the path /id", name),
						 errdetail("The id of an item is a string."),
						 errhint("Use text.")));
			return key_types[i].typid;
		}
	if (name != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key type \"%s\" is unknown", name),
				 errhint("A key is text, double precision (as every number in Cosmos DB is), boolean, or jsonb (for mixed types, null and undefined).")));
	return TEXTOID;
}

/* Read the argument key_types: one for each path, text by default. */
static void
read_key_types(Making *m, ArrayType *array)
{
	Datum	   *elements = NULL;
	bool	   *nulls = NULL;
	int			n = 0;

	if (array != NULL)
	{
		deconstruct_array_builtin(array, TEXTOID, &elements, &nulls, &n);
		if (n != m->container.levels || ARR_NDIM(array) != 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("key_types has %d elements, but the number of partition key paths is %d", n, m->container.levels),
					 errhint("Give one for each path, such as '{text}' or '{text,jsonb}', or leave it out for text.")));
	}
	for (int i = 0; i < m->container.levels; i++)
		m->types[i] = key_type(n == 0 || nulls[i] ? NULL : TextDatumGetCString(elements[i]), m->container.paths[i]);
}

/* A property's name as SQL folds it, shortened as a name of a column may be. */
static char *
folded(char *name)
{
	return downcase_truncate_identifier(name, strlen(name), false);
}

/* The names of a path's segments, joined. */
static char *
joined_segments(const char *path)
{
	StringInfoData name;
	ListCell   *cell;

	initStringInfo(&name);
	foreach(cell, PathSegments(path))
		appendStringInfo(&name, "%s%s", name.len > 0 ? "_" : "", (char *) lfirst(cell));
	return name.data;
}

/* Whether a name is that of a column that every such table has, or of one of the key columns before. */
static bool
is_taken(const Container *container, int levels, const char *name)
{
	for (int i = 0; i < levels; i++)
		if (strcmp(container->columns[i], name) == 0)
			return true;
	return strcmp(name, "id") == 0 || strcmp(name, "doc") == 0 || strcmp(name, "ts") == 0 || strcmp(name, ETAG_COLUMN) == 0 ||
		SystemAttributeByName(name) != NULL;
}

/* Whether another path ends in the same name. */
static bool
is_shared(const Container *container, int level, const char *name)
{
	for (int i = 0; i < container->levels; i++)
		if (i != level && strcmp(folded(llast(PathSegments(container->paths[i]))), name) == 0)
			return true;
	return false;
}

/* The column of a path: its last segment, or all of them if that name is another's. */
static char *
key_column(const Container *container, int level)
{
	const char *path = container->paths[level];
	char	   *name = folded(llast(PathSegments(path)));

	if (is_id(path))
		return "id";
	if (is_taken(container, level, name) || is_shared(container, level, name))
	{
		char	   *base = joined_segments(path);

		name = folded(base);
		for (int i = 1; is_taken(container, level, name); i++)
			name = makeObjectName(folded(base), NULL, i == 1 ? "key" : psprintf("key%d", i));
	}
	return name;
}

/* Tell the user of a name that he would not expect. */
static void
tell_column(const Container *container, int level)
{
	char	   *property = llast(PathSegments(container->paths[level]));

	if (strcmp(container->columns[level], downcase_identifier(property, strlen(property), false, false)) != 0)
		ereport(NOTICE,
				(errmsg("the column of partition key path \"%s\" is called \"%s\"",
						container->paths[level], container->columns[level])));
}

/* The container that a definition describes, but for the table. */
static void
describe_container(Container *container, const Definition *definition)
{
	container->hash = HASH_COSMOS;
	container->levels = definition->levels;
	memcpy(container->paths, definition->paths, sizeof(container->paths));
	for (int i = 0; i < container->levels; i++)
		container->columns[i] = key_column(container, i);
}

/* Read the argument name as SQL reads the name of a table. */
static RangeVar *
table_named(text *name)
{
	char	   *given = text_to_cstring(name);
	List	   *parts;
	List	   *names = NIL;
	ListCell   *cell;

	CheckNameLengths(given);
	if (!SplitIdentifierString(pstrdup(given), '.', &parts) || parts == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("\"%s\" is not the name of a table", given),
				 errhint("A name that is not of letters, digits and underscores alone is written in double quotes: %s",
						 quote_literal_cstr(psprintf("\"%s\"", given)))));
	foreach(cell, parts)
		names = lappend(names, makeString(lfirst(cell)));
	return makeRangeVarFromNameList(names);
}

/* The table for a container with this id. */
static RangeVar *
table_of_id(const char *id)
{
	if (id == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("definition has no id"),
				 errhint("Name the container: name => 'orders'.")));
	if (strlen(id) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("id \"%s\" is too long for the name of a table", id),
				 errhint("Name the container: name => 'orders'.")));
	return makeRangeVar(NULL, DefinitionTableName(id), -1);
}

/* Find out what the table is called, and whether it can be made there. */
static void
choose_name(Making *m, RangeVar *table)
{
	Oid			existing;

	m->namespace = RangeVarGetAndCheckCreationNamespace(table, NoLock, &existing);
	if (OidIsValid(existing))
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_TABLE),
				 errmsg("relation \"%s\" already exists", table->relname),
				 errhint("Give the container another name: name => '...'.")));
	if (isAnyTempNamespace(m->namespace))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a container cannot be a temporary table"),
				 errhint("Name another schema than pg_temp.")));
	m->name = table->relname;
	m->qualified_name = quote_qualified_identifier(get_namespace_name(m->namespace), m->name);
}

static void
create_table(Making *m)
{
	Container  *container = &m->container;
	bool		id_in_key = ContainerLevel(container, "id") >= 0;
	StringInfoData columns;

	initStringInfo(&columns);
	for (int i = 0; i < container->levels; i++)
		appendStringInfo(&columns, "%s %s NOT NULL, ", quote_identifier(container->columns[i]), format_type_be(m->types[i]));
	if (!id_in_key)
		appendStringInfoString(&columns, "id text NOT NULL, ");
	SqlExecute("CREATE TABLE %s (%sdoc jsonb NOT NULL, ts timestamptz, " ETAG_COLUMN " uuid, PRIMARY KEY (%s%s)) PARTITION BY HASH (%s %s)",
			   m->qualified_name, columns.data, ContainerColumnList(container), id_in_key ? "" : ", id",
			   quote_identifier(container->columns[0]), LayoutTypeOperatorClass(m->types[0], container->hash));
	container->relid = get_relname_relid(m->name, m->namespace);
	FeedCreateTrigger(container->relid);
	FeedCreateIndex(container->relid);
}

static char *
index_command(const Making *m, const PolicyIndex *index)
{
	char	   *name = ChooseRelationName(m->name, index->label, index->unique ? "key" : "idx", m->namespace, false);

	return psprintf("CREATE %sINDEX %s ON %s USING %s (%s)%s", index->unique ? "UNIQUE " : "", quote_identifier(name),
					m->qualified_name, index->method, index->columns, index->unique ? " NULLS NOT DISTINCT" : "");
}

/* Make the indexes; gives the command for one that was not asked for, or NULL. */
static char *
create_indexes(const Making *m)
{
	char	   *not_made = NULL;
	ListCell   *cell;

	foreach(cell, m->indexes)
	{
		PolicyIndex *index = lfirst(cell);

		if (index->all_paths && !SettingIndexAllPaths)
			not_made = index_command(m, index);
		else
			SqlExecute("%s", index_command(m, index));
	}
	return not_made;
}

/*
 * Make the table with its partitions.  The partitions come last, so that each
 * is made with its indexes.  Gives the command for an index that was not made.
 * Needs SPI.
 */
static char *
make_tables(Making *m)
{
	char	   *tablespace = GetConfigOptionByName("default_tablespace", NULL, false);
	int			nestlevel = SqlBegin();
	char	   *not_made;

	/* the only one of those settings that concerns tables that are new */
	(void) set_config_option("default_tablespace", tablespace, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	create_table(m);
	not_made = create_indexes(m);
	LayoutCreate(&m->container, m->name, &m->layout, "", "");
	ConversionGuardLeaves(&m->container);
	SqlEnd(nestlevel);
	return not_made;
}

/* Append what has no effect to a notice's detail. */
static void
append_members(StringInfo detail, const char *what, List *members)
{
	ListCell   *cell;

	if (members == NIL)
		return;
	appendStringInfo(detail, "%s%s", detail->len > 0 ? "\n" : "", what);
	foreach(cell, members)
		appendStringInfo(detail, "%s%s", foreach_current_index(cell) > 0 ? ", " : "", (char *) lfirst(cell));
	appendStringInfoChar(detail, '.');
}

/* Tell of everything in the definition that has no effect. */
static void
tell_idle_members(Making *m, char *not_made)
{
	Definition *definition = &m->definition;
	StringInfoData detail;

	if (not_made)
		definition->idle = lappend(definition->idle, "indexingPolicy.includedPaths \"/*\"");
	initStringInfo(&detail);
	append_members(&detail, "", definition->idle);
	append_members(&detail, "Set by the service, and not needed: ", definition->service);
	append_members(&detail, "Around the container: ", definition->around);
	if (detail.len > 0)
		ereport(NOTICE,
				(errmsg("members of the definition have no effect on container \"%s\"", m->name),
				 errdetail_internal("%s", detail.data),
				 not_made ? errhint("For an index on all properties, once the items are loaded: %s", not_made) : 0));
}

/* Tell how the partition key is understood, where the definition leaves that open. */
static void
tell_key(const Making *m, bool types_given)
{
	const Definition *definition = &m->definition;

	if (definition->version == 1)
		ereport(NOTICE,
				(errmsg("container \"%s\" has partition key version 1%s", m->name,
						definition->has_version ? "" : ", since its definition tells none"),
				 errdetail("Its effective partition keys are those of version 1, see partitionkey.epk_of. Its rows are placed by the hash cosmos, which is that of version 2.")));
	else if (!definition->has_version)
		ereport(NOTICE,
				(errmsg("container \"%s\" has partition key version 2, the only one of kind MultiHash", m->name)));
	if (definition->system_key)
		ereport(NOTICE,
				(errmsg("the partition key of container \"%s\" was added by Cosmos DB (systemKey)", m->name),
				 errdetail("Items from before that have no value for it."),
				 types_given ? 0 : errhint("To load them, use key_types => '{jsonb}'; their key is {}, undefined.")));
}

/* Tell that items can expire, which nothing here does behind the user's back. */
static void
tell_ttl(const Making *m)
{
	const Definition *definition = &m->definition;

	if (definition->has_ttl)
		ereport(NOTICE,
				(definition->ttl == TTL_NEVER ? errmsg("items of container \"%s\" that have a ttl expire", m->name) :
				 errmsg_plural("items of container \"%s\" expire after %d second", "items of container \"%s\" expire after %d seconds",
							   definition->ttl, m->name, definition->ttl),
				 errdetail("The functions for items don't see them any more, but they are in the table until they are deleted."),
				 errhint("Call partitionkey.delete_expired from time to time.")));
}

/* Make the view that takes items from the client, unless its name is taken. */
static void
make_items_view(const Making *m)
{
	char	   *name = ItemsViewName(m->container.relid);

	if (OidIsValid(get_relname_relid(name, m->namespace)))
	{
		ereport(NOTICE,
				(errmsg("container \"%s\" has no items view, since relation \"%s\" exists already", m->name, name),
				 errhint("Rename that, and make the view with partitionkey.create_items_view.")));
		return;
	}
	CommandCounterIncrement();
	SPI_connect();
	(void) ItemsViewCreate(m->container.relid, CONFLICT_QUARANTINE);
	SPI_finish();
}

/*
 * create_container_from_definition(definition jsonb, name text, key_types text[],
 * partitions int[]) returns regclass
 */
PG_FUNCTION_INFO_V1(create_container_from_definition);
Datum
create_container_from_definition(PG_FUNCTION_ARGS)
{
	Making		m = {0};

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("definition must not be null")));
	PreventCommandIfReadOnly("create_container_from_definition()");
	DefinitionRead(&m.definition, PG_GETARG_JSONB_P(0));
	choose_name(&m, PG_ARGISNULL(1) ? table_of_id(m.definition.id) : table_named(PG_GETARG_TEXT_PP(1)));
	describe_container(&m.container, &m.definition);
	for (int i = 0; i < m.container.levels; i++)
		tell_column(&m.container, i);
	read_key_types(&m, PG_ARGISNULL(2) ? NULL : PG_GETARG_ARRAYTYPE_P(2));
	m.indexes = PolicyIndexes(&m.definition, &m.container);
	LayoutFromDatum(&m.layout, PG_GETARG_DATUM(3), PG_ARGISNULL(3), m.container.levels);
	/* a leaf, its TOAST table with an index, the primary key, the index on etags, and the others */
	LayoutCheckLocks(&m.layout, 5 + list_length(m.indexes));

	SPI_connect();
	tell_idle_members(&m, make_tables(&m));
	tell_key(&m, !PG_ARGISNULL(2));
	tell_ttl(&m);
	SPI_finish();
	RegistryInsert(&m.container, m.definition.json);
	make_items_view(&m);
	PG_RETURN_OID(m.container.relid);
}

/*
 * create_container_from_definition(definition text, ..) returns regclass
 *
 * A string that is not told to be jsonb, as psql gives that of a file, may begin with the file's byte order mark.
 */
PG_FUNCTION_INFO_V1(create_container_from_definition_text);
Datum
create_container_from_definition_text(PG_FUNCTION_ARGS)
{
	char	   *json;

	if (!PG_ARGISNULL(0))
	{
		json = text_to_cstring(PG_GETARG_TEXT_PP(0));
		if (strncmp(json, UTF8_MARK, strlen(UTF8_MARK)) == 0)
			json += strlen(UTF8_MARK);
		fcinfo->args[0].value = DirectFunctionCall1(jsonb_in, CStringGetDatum(json));
	}
	return create_container_from_definition(fcinfo);
}

/*
 * A container that exists
 */

/*
 * Check that the paths of a definition are those of a container.  One that has no definition was made
 * of a table, and has its columns for paths: then these are to be the same.
 */
static void
check_paths(const Container *container, const Container *described, bool defined)
{
	if (described->levels != container->levels)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("definition has %d partition key paths, but container \"%s\" has %d",
						described->levels, get_rel_name(container->relid), container->levels)));
	for (int i = 0; i < container->levels; i++)
	{
		if (PathNamesEqual(PathSegments(described->paths[i]), PathSegments(container->paths[i])))
			continue;
		if (defined)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("definition has the partition key path \"%s\", but container \"%s\" has \"%s\"",
							described->paths[i], get_rel_name(container->relid), container->paths[i]),
					 errhint("The key of a container can't be changed. Make another one from the definition.")));
		if (strcmp(described->columns[i], container->columns[i]) != 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("partition key path \"%s\" of the definition has the column \"%s\", but container \"%s\" has \"%s\" there",
							described->paths[i], described->columns[i], get_rel_name(container->relid), container->columns[i]),
					 errhint("If that is the column for it: ALTER TABLE %s RENAME COLUMN %s TO %s", QualifiedName(container->relid),
							 quote_identifier(container->columns[i]), quote_identifier(described->columns[i]))));
	}
}

/* Check that items can be rows of a container. */
static void
check_columns(const Container *container)
{
	Relation	rel = table_open(container->relid, AccessShareLock);

	if (ItemShapeFind(rel, container, NULL, false, false)->id < 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("container \"%s\" has no column \"id\"", RelationGetRelationName(rel)),
				 errhint("ALTER TABLE %s ADD COLUMN id text", QualifiedName(container->relid))));
	table_close(rel, NoLock);
}

/*
 * set_container_definition(container regclass, definition jsonb) returns void
 *
 * What was made by other means, or came by a dump of the table alone, gets what
 * create_container_from_definition would have kept.  Indexes are not made: they may be there.
 */
PG_FUNCTION_INFO_V1(set_container_definition);
Datum
set_container_definition(PG_FUNCTION_ARGS)
{
	Container  *container;
	Container	described = {0};
	Definition	definition;

	PreventCommandIfReadOnly("set_container_definition()");
	RequireOwner(PG_GETARG_OID(0));
	LockRelationOid(PG_GETARG_OID(0), ShareUpdateExclusiveLock);
	container = ContainerLookup(PG_GETARG_OID(0), false);
	DefinitionRead(&definition, PG_GETARG_JSONB_P(1));
	describe_container(&described, &definition);
	check_paths(container, &described, RegistryDefinition(container) != NULL);
	memcpy(container->paths, described.paths, sizeof(container->paths));
	check_columns(container);
	RegistrySetDefinition(container, definition.json);
	PG_RETURN_VOID();
}
