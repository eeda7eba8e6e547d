/*
 * indexingpolicy.c
 *		Indexing policies and unique key policies as indexes.
 *
 *		"/price/?"				btree ((doc -> 'price'))
 *		"*" below "/address"	gin ((doc -> 'address') jsonb_path_ops)
 *		"/tags/[]/?"			gin ((doc -> 'tags') jsonb_path_ops)
 *		"*" at the root			gin (doc jsonb_path_ops), where asked for
 *		composite index			btree (tenantid, (doc -> 'price') DESC)
 *		unique key				unique (key columns, (NULLIF(doc -> 'email', 'null')))
 *		any policy but none		btree (id)
 *
 * Properties that are columns (the key, id, and _ts) are indexed as such.
 * What is excluded below a "*" is left out of its index.  As in Cosmos DB the
 * more precise path wins, and of two that are equal the excluded one does.
 */
#include "postgres.h"

#include "parser/scansup.h"
#include "utils/builtins.h"

#include "indexingpolicy.h"
#include "member.h"
#include "path.h"

typedef struct Plan
{
	Definition *definition;
	const Container *container;
	List	   *excluded;		/* IndexPath * */
	List	   *indexes;		/* PolicyIndex * */
} Plan;

static void
add_idle(Plan *plan, char *member)
{
	plan->definition->idle = lappend(plan->definition->idle, member);
}

static void
add_index(Plan *plan, PolicyIndex index)
{
	ListCell   *cell;

	foreach(cell, plan->indexes)
	{
		PolicyIndex *other = lfirst(cell);

		if (other->unique == index.unique && strcmp(other->columns, index.columns) == 0)
			return;
	}
	plan->indexes = lappend(plan->indexes, memcpy(palloc(sizeof(index)), &index, sizeof(index)));
}

/* The column that a property is kept in; NULL if it is in the document. */
static const char *
column_of(const Container *container, List *names)
{
	for (int i = 0; i < container->levels; i++)
		if (PathNamesEqual(PathSegments(container->paths[i]), names))
			return container->columns[i];
	if (list_length(names) != 1)
		return NULL;
	if (strcmp(linitial(names), "id") == 0)
		return "id";
	return strcmp(linitial(names), "_ts") == 0 ? "ts" : NULL;
}

/* A property in the document: doc -> 'address' -> 'city'. */
static char *
document_property(List *names)
{
	StringInfoData expression;
	ListCell   *cell;

	initStringInfo(&expression);
	appendStringInfoString(&expression, "doc");
	foreach(cell, names)
		appendStringInfo(&expression, " -> %s", quote_literal_cstr(lfirst(cell)));
	return expression.data;
}

/* A property as a column of an index. */
static char *
index_column(const Container *container, List *names)
{
	const char *column = column_of(container, names);

	return column ? pstrdup(quote_identifier(column)) : psprintf("(%s)", document_property(names));
}

/* Append a property, or its column, to what an index is named after. */
static char *
add_label(const Container *container, char *label, List *names)
{
	const char *column = column_of(container, names);
	char	   *property = names == NIL ? "doc" : llast(names);

	if (column == NULL)
		column = downcase_identifier(property, strlen(property), false, false);
	return label ? psprintf("%s_%s", label, column) : pstrdup(column);
}

/* Whether a path is a property that the service keeps, and no document here has. */
static bool
is_service_path(const IndexPath *path)
{
	static const char *const properties[] = {"_rid", "_self", "_etag", "_attachments", "_lsn"};

	for (size_t i = 0; i < lengthof(properties); i++)
		if (list_length(path->names) == 1 && strcmp(linitial(path->names), properties[i]) == 0)
			return true;
	return false;
}

/* Read an entry's path, and note what else it has. */
static IndexPath *
entry_path(Plan *plan, const char *list, const JsonbValue *entry, const char *also)
{
	JsonbValue	value;
	IndexPath  *path;
	ListCell   *cell;

	if (!MemberIsObject(entry) || !MemberFind(entry, "path", &value) || value.type != jbvString)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s has an entry without a path", list),
				 errhint("An entry is an object such as {\"path\": \"/name/?\"}.")));
	path = IndexPathParse(MemberCString(&value));
	foreach(cell, MemberNames(entry))
		if (strcmp(lfirst(cell), "path") != 0 && (also == NULL || strcmp(lfirst(cell), also) != 0))
			add_idle(plan, psprintf("%s of %s \"%s\"", (char *) lfirst(cell), list, path->text));
	return path;
}

/* The elements of a member that is an array, if it is there. */
static List *
member_array(const JsonbValue *object, const char *name, const char *full_name)
{
	JsonbValue	array;

	if (!MemberFind(object, name, &array))
		return NIL;
	if (!MemberIsArray(&array))
		MemberKindError(full_name, &array, "an array", "Write [] around what it holds.");
	return MemberElements(&array);
}

/* Whether the service would index a path of the old form for points and polygons alone. */
static bool
is_spatial(const JsonbValue *entry)
{
	List	   *kinds = member_array(entry, "indexes", "indexes of indexingPolicy.includedPaths");
	ListCell   *cell;

	foreach(cell, kinds)
	{
		JsonbValue	kind;

		if (!MemberIsObject(lfirst(cell)) || !MemberFind(lfirst(cell), "kind", &kind) || kind.type != jbvString ||
			strcmp(MemberCString(&kind), "Spatial") != 0)
			return false;
	}
	return kinds != NIL;
}

static bool
is_excluded(const Plan *plan, const IndexPath *path)
{
	ListCell   *cell;

	foreach(cell, plan->excluded)
	{
		IndexPath  *other = lfirst(cell);

		if (PathNamesEqual(path->names, other->names) && path->below == other->below &&
			path->in_array == other->in_array &&
			(!(path->in_element || other->in_element) || strcmp(path->text, other->text) == 0))
			return true;
	}
	return false;
}

/* A document, or a property of it, without what is excluded below it. */
static char *
property_without_excluded(const Plan *plan, List *names)
{
	StringInfoData expression;
	ListCell   *cell;

	initStringInfo(&expression);
	appendStringInfoString(&expression, document_property(names));
	foreach(cell, plan->excluded)
	{
		IndexPath  *path = lfirst(cell);

		if (path->in_element || list_length(path->names) <= list_length(names) || !PathStartsWith(path->names, names))
			continue;
		appendStringInfoString(&expression, " #- ARRAY[");
		for (int i = list_length(names); i < list_length(path->names); i++)
			appendStringInfo(&expression, "%s%s", i > list_length(names) ? ", " : "", quote_literal_cstr(list_nth(path->names, i)));
		appendStringInfoChar(&expression, ']');
	}
	return expression.data;
}

/* An included path. */
static void
plan_included(Plan *plan, const JsonbValue *entry)
{
	IndexPath  *path = entry_path(plan, "indexingPolicy.includedPaths", entry, NULL);
	PolicyIndex index = {.label = add_label(plan->container, NULL, path->names)};

	if (is_spatial(entry))
		return;
	if (is_excluded(plan, path) || is_service_path(path) || (path->names == NIL && !path->below))
	{
		add_idle(plan, psprintf("indexingPolicy.includedPaths \"%s\"", path->text));
		return;
	}
	if (path->below || path->in_array)
	{
		index.method = "gin";
		index.all_paths = path->names == NIL;
		index.columns = property_without_excluded(plan, path->names);
		if (strcmp(index.columns, "doc") != 0)
			index.columns = psprintf("(%s)", index.columns);
		index.columns = psprintf("%s jsonb_path_ops", index.columns);
	}
	else
	{
		index.method = "btree";
		index.columns = index_column(plan->container, path->names);
		/* the primary key begins with it */
		if (strcmp(index.columns, quote_identifier(plan->container->columns[0])) == 0)
			return;
	}
	add_index(plan, index);
}

/* The direction of an entry of a composite index. */
static const char *
direction(const JsonbValue *entry)
{
	JsonbValue	order;

	if (!MemberFind(entry, "order", &order))
		return "";
	if (order.type == jbvString && strcmp(MemberCString(&order), "ascending") == 0)
		return "";
	if (order.type == jbvString && strcmp(MemberCString(&order), "descending") == 0)
		return " DESC";
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("indexingPolicy.compositeIndexes has an unknown order"),
			 errhint("Write \"ascending\" or \"descending\".")));
}

static void
plan_composite(Plan *plan, const JsonbValue *composite)
{
	PolicyIndex index = {.method = "btree"};
	StringInfoData columns;
	ListCell   *cell;

	if (!MemberIsArray(composite))
		MemberKindError("an entry of indexingPolicy.compositeIndexes", composite, "an array",
						"Write for example [[{\"path\": \"/name\", \"order\": \"ascending\"}, {\"path\": \"/age\", \"order\": \"descending\"}]].");
	initStringInfo(&columns);
	foreach(cell, MemberElements(composite))
	{
		IndexPath  *path = entry_path(plan, "indexingPolicy.compositeIndexes", lfirst(cell), "order");

		if (path->below || path->in_array || path->names == NIL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("indexingPolicy.compositeIndexes has the path \"%s\", which names no single value", path->text),
					 errhint("Write a path such as \"/name\".")));
		appendStringInfo(&columns, "%s%s%s", columns.len > 0 ? ", " : "",
						 index_column(plan->container, path->names), direction(lfirst(cell)));
		index.label = add_label(plan->container, index.label, path->names);
	}
	if (columns.len == 0)
	{
		add_idle(plan, "indexingPolicy.compositeIndexes [] (it has no paths)");
		return;
	}
	index.columns = columns.data;
	add_index(plan, index);
}

/* Whether a policy asks for indexes that follow what is written. */
static bool
indexes_documents(Plan *plan, const JsonbValue *policy)
{
	JsonbValue	value;
	char	   *mode;

	if (MemberFind(policy, "automatic", &value))
	{
		if (value.type != jbvBool)
			MemberKindError("indexingPolicy.automatic", &value, "a boolean", "Write true or false.");
		if (!value.val.boolean)
			return false;
	}
	if (!MemberFind(policy, "indexingMode", &value))
		return true;
	mode = value.type == jbvString ? MemberCString(&value) : "";
	if (strcmp(mode, "none") == 0)
		return false;
	if (strcmp(mode, "lazy") == 0)
		add_idle(plan, "indexingPolicy.indexingMode \"lazy\" (indexes are never behind)");
	else if (strcmp(mode, "consistent") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("indexingPolicy.indexingMode is unknown"),
				 errhint("Write \"consistent\" or \"none\".")));
	return true;
}

/* Read the excluded paths, which say what not to index. */
static void
read_excluded(Plan *plan, const JsonbValue *policy)
{
	ListCell   *cell;

	foreach(cell, member_array(policy, "excludedPaths", "indexingPolicy.excludedPaths"))
	{
		IndexPath  *path = entry_path(plan, "indexingPolicy.excludedPaths", lfirst(cell), NULL);

		if (is_service_path(path))
			continue;
		plan->excluded = lappend(plan->excluded, path);
		if (path->in_element)
			add_idle(plan, psprintf("indexingPolicy.excludedPaths \"%s\" (elements of arrays are indexed as a whole)", path->text));
	}
}

/* Whether it indexes at all. */
static bool
plan_policy(Plan *plan, const JsonbValue *policy)
{
	static const char *const known[] = {"automatic", "indexingMode", "includedPaths", "excludedPaths", "compositeIndexes"};
	bool		indexing = indexes_documents(plan, policy);
	ListCell   *cell;

	foreach(cell, MemberNames(policy))
	{
		bool		has_effect = false;

		for (size_t i = 0; i < lengthof(known); i++)
			has_effect |= strcmp(lfirst(cell), known[i]) == 0 && (indexing || i < 2);
		if (!has_effect)
			add_idle(plan, psprintf("indexingPolicy.%s", (char *) lfirst(cell)));
	}
	if (!indexing)
		return false;
	read_excluded(plan, policy);
	foreach(cell, member_array(policy, "includedPaths", "indexingPolicy.includedPaths"))
		plan_included(plan, lfirst(cell));
	foreach(cell, member_array(policy, "compositeIndexes", "indexingPolicy.compositeIndexes"))
		plan_composite(plan, lfirst(cell));
	return true;
}

/* The id, which is looked up alone, too; unless the primary key begins with it. */
static void
plan_id(Plan *plan)
{
	if (strcmp(plan->container->columns[0], "id") != 0)
		add_index(plan, (PolicyIndex) {.method = "btree", .label = pstrdup("id"), .columns = pstrdup("id")});
}

/* Append a path of a unique key to its columns, which the key's are already. */
static void
append_unique(const Container *container, StringInfo columns, List *names)
{
	const char *column = column_of(container, names);

	if (column == NULL)
		appendStringInfo(columns, ", (NULLIF(%s, 'null'::jsonb))", document_property(names));
	else if (ContainerLevel(container, column) < 0)
		appendStringInfo(columns, ", %s", column);
}

/*
 * A unique key: within a logical partition, and a property that is missing is
 * like one that is null.  With the id in it, the primary key sees to it.
 */
static void
plan_unique(Plan *plan, const JsonbValue *key)
{
	const char *hint = "Write for example \"uniqueKeyPolicy\": {\"uniqueKeys\": [{\"paths\": [\"/email\"]}]}.";
	PolicyIndex index = {.unique = true, .method = "btree"};
	StringInfoData columns;
	StringInfoData given;
	List	   *paths;
	ListCell   *cell;
	bool		has_id = ContainerLevel(plan->container, "id") >= 0;

	if (!MemberIsObject(key))
		MemberKindError("an entry of uniqueKeyPolicy.uniqueKeys", key, "an object", hint);
	paths = member_array(key, "paths", "paths of uniqueKeyPolicy.uniqueKeys");
	if (paths == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("uniqueKeyPolicy.uniqueKeys has an entry without paths"),
				 errhint("%s", hint)));
	initStringInfo(&columns);
	initStringInfo(&given);
	appendStringInfoString(&columns, ContainerColumnList(plan->container));
	foreach(cell, paths)
	{
		JsonbValue *value = lfirst(cell);
		IndexPath  *path;

		if (value->type != jbvString)
			MemberKindError("a path of uniqueKeyPolicy.uniqueKeys", value, "a string", hint);
		path = IndexPathParse(MemberCString(value));
		if (path->below || path->ends || path->in_array)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("uniqueKeyPolicy.uniqueKeys has the path \"%s\", which names no single value", path->text),
					 errhint("Write a path such as \"/email\".")));
		append_unique(plan->container, &columns, path->names);
		appendStringInfo(&given, " \"%s\"", path->text);
		has_id |= PathNamesEqual(path->names, list_make1("id"));
		index.label = add_label(plan->container, index.label, path->names);
	}
	foreach(cell, MemberNames(key))
		if (strcmp(lfirst(cell), "paths") != 0)
			add_idle(plan, psprintf("uniqueKeyPolicy.uniqueKeys.%s", (char *) lfirst(cell)));
	index.columns = columns.data;
	if (has_id)
		add_idle(plan, psprintf("uniqueKeyPolicy.uniqueKeys%s (the primary key has the id already)", given.data));
	else
		add_index(plan, index);
}

static void
plan_unique_keys(Plan *plan, const JsonbValue *policy)
{
	ListCell   *cell;

	foreach(cell, MemberNames(policy))
		if (strcmp(lfirst(cell), "uniqueKeys") != 0)
			add_idle(plan, psprintf("uniqueKeyPolicy.%s", (char *) lfirst(cell)));
	foreach(cell, member_array(policy, "uniqueKeys", "uniqueKeyPolicy.uniqueKeys"))
		plan_unique(plan, lfirst(cell));
}

List *
PolicyIndexes(Definition *definition, const Container *container)
{
	Plan		plan = {.definition = definition, .container = container};

	if (definition->unique_key_policy.type != jbvNull)
		plan_unique_keys(&plan, &definition->unique_key_policy);
	if (definition->indexing_policy.type == jbvNull || plan_policy(&plan, &definition->indexing_policy))
		plan_id(&plan);
	return plan.indexes;
}
