/*
 * extract.c
 *		Finding the value of a partition key path in a row or a document.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "extract.h"
#include "path.h"

/* The number of columns of type jsonb, and the last of them. */
static int
count_document_columns(Relation rel, AttrNumber *last)
{
	TupleDesc	desc = RelationGetDescr(rel);
	int			n = 0;

	*last = InvalidAttrNumber;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped || getBaseType(att->atttypid) != JSONBOID)
			continue;
		*last = att->attnum;
		n++;
	}
	return n;
}

AttrNumber
ExtractDocumentColumn(Relation rel)
{
	AttrNumber	column;

	return count_document_columns(rel, &column) == 1 ? column : InvalidAttrNumber;
}

bool
ExtractHasDocuments(Relation rel)
{
	AttrNumber	column;

	return count_document_columns(rel, &column) > 0;
}

/* Refuse a path whose first name is no column, and can't be a property since there is not just one jsonb column. */
static void
no_column(Relation rel, const char *path, const char *name)
{
	AttrNumber	column;

	if (count_document_columns(rel, &column) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("partition key path \"%s\": table \"%s\" has no column \"%s\"",
						path, RelationGetRelationName(rel), name),
				 errhint("For a property of a document name the jsonb column first, such as \"/%s%s\".",
						 NameStr(TupleDescAttr(RelationGetDescr(rel), column - 1)->attname), path)));
	PathNoColumn(rel, path, name);
}

int
ExtractColumnsBefore(TupleDesc desc, AttrNumber attnum)
{
	int			n = 0;

	for (int i = 0; i < attnum - 1; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			n++;
	return n;
}

/* Refuse a column whose values can't be hashed as keys, or that has no properties though the path goes on. */
static void
check_type(const Extract *extract, Form_pg_attribute att)
{
	if (ComponentTypeName(att->atttypid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("partition key path \"%s\": column \"%s\" is of type %s, which can't be a partition key",
						extract->path, NameStr(att->attname), format_type_be(att->atttypid)),
				 errhint("%s", ComponentTypeHint(att->atttypid))));
	if (extract->properties != NIL && getBaseType(att->atttypid) != JSONBOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("partition key path \"%s\": column \"%s\" is of type %s, which has no properties",
						extract->path, NameStr(att->attname), format_type_be(att->atttypid)),
				 errhint("Only a path into a jsonb column has more than one name.")));
}

/* Strings as nodes, which can be compared and copied. */
static List *
name_list(List *strings)
{
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, strings)
		names = lappend(names, makeString(lfirst(cell)));
	return names;
}

List *
ExtractNames(const char *path)
{
	return name_list(PathSegments(path));
}

Extract *
ExtractFind(Relation rel, const char *path)
{
	Extract    *extract = palloc0(sizeof(Extract));
	List	   *segments = PathSegments(path);
	Form_pg_attribute att;

	extract->path = pstrdup(path);
	extract->attnum = PathNamedColumn(rel, linitial(segments));
	if (extract->attnum != InvalidAttrNumber)
		extract->properties = name_list(list_delete_first(segments));
	else
	{
		extract->attnum = ExtractDocumentColumn(rel);
		extract->properties = name_list(segments);
	}
	if (extract->attnum == InvalidAttrNumber)
		no_column(rel, path, linitial(segments));

	att = TupleDescAttr(RelationGetDescr(rel), extract->attnum - 1);
	check_type(extract, att);
	extract->type = getBaseType(att->atttypid);
	extract->column = ExtractColumnsBefore(RelationGetDescr(rel), extract->attnum);
	return extract;
}

bool
ExtractValue(JsonbContainer *document, const List *names, JsonbValue *value)
{
	ListCell   *cell;

	value->type = jbvBinary;
	value->val.binary.data = document;
	foreach(cell, names)
	{
		const char *name = strVal(lfirst(cell));

		if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data) ||
			getKeyJsonValueFromContainer(value->val.binary.data, name, strlen(name), value) == NULL)
			return false;
	}
	return true;
}

bool
ExtractProperty(JsonbContainer *document, const List *names, Component *c)
{
	JsonbValue	value;

	c->type = COMPONENT_UNDEFINED;
	c->len = 0;
	if (!ExtractValue(document, names, &value))
		return true;
	/* {} stands for undefined in a key column, but in a document it is an object. */
	if (value.type == jbvBinary)
		return false;
	return ComponentSetJsonbValue(c, &value);
}

bool
ExtractComponent(const Extract *extract, Datum value, bool isnull, Component *c)
{
	if (isnull)
	{
		c->type = extract->properties == NIL ? COMPONENT_NULL : COMPONENT_UNDEFINED;
		c->len = 0;
		return true;
	}
	if (extract->properties == NIL)
		return ComponentSetDatum(c, extract->type, value);
	return ExtractProperty(&DatumGetJsonbP(value)->root, extract->properties, c);
}
