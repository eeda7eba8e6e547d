/*
 * inspect.c
 *		What is in an export, for people: inspect_export.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "inspection.h"
#include "key.h"
#include "properties.h"

#define SHOWN_BYTES			200

static const char *const type_names[] = {"string", "number", "boolean", "null", "object", "array"};

typedef enum Column
{
	COLUMN_KIND,
	COLUMN_NAME,
	COLUMN_ITEMS,
	COLUMN_SHARE,
	COLUMN_TYPES,
	COLUMN_NULLS,
	COLUMN_UNDEFINED,
	COLUMN_DISTINCT,
	COLUMN_LARGEST_SHARE,
	COLUMN_LARGEST_KEY,
	COLUMN_KEY_TYPES,
	COLUMN_NOTE,
	COLUMNS
} Column;

typedef struct Row
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS];
} Row;

static void
set(Row *row, Column column, Datum value)
{
	row->values[column] = value;
	row->nulls[column] = false;
}

static void
set_text(Row *row, Column column, const char *text)
{
	if (text != NULL && *text != '\0')
		set(row, column, CStringGetTextDatum(text));
}

/* Begin a row about some of the items. */
static Row
start_row(const Inspection *in, const char *kind, const char *name, int64 items)
{
	Row			row;

	memset(row.nulls, true, sizeof(row.nulls));
	set_text(&row, COLUMN_KIND, kind);
	set_text(&row, COLUMN_NAME, name);
	set(&row, COLUMN_ITEMS, Int64GetDatum(items));
	if (in->items > 0)
		set(&row, COLUMN_SHARE, Float8GetDatum((double) items / in->items));
	return row;
}

static void
put_row(ReturnSetInfo *result, Row *row)
{
	tuplestore_putvalues(result->setResult, result->setDesc, row->values, row->nulls);
}

static void
put_counts(const Inspection *in, ReturnSetInfo *result, const char *source, const ItemReader *reader)
{
	Row			row = start_row(in, "items", source, in->items);
	ListCell   *cell;

	set_text(&row, COLUMN_NOTE, psprintf("%d file%s, " INT64_FORMAT " bytes", ItemReaderFiles(reader),
										 ItemReaderFiles(reader) == 1 ? "" : "s", ItemReaderTotal(reader)));
	put_row(result, &row);
	foreach(cell, in->formats)
	{
		Count	   *format = lfirst(cell);

		row = start_row(in, "format", format->name, format->items);
		set_text(&row, COLUMN_NOTE, psprintf(INT64_FORMAT " file%s", format->files, format->files == 1 ? "" : "s"));
		put_row(result, &row);
	}
}

static void
put_fault(const Inspection *in, ReturnSetInfo *result, const char *name, const Count *count)
{
	Row			row;

	if (count->items == 0)
		return;
	row = start_row(in, "fault", name, count->items);
	set_text(&row, COLUMN_NOTE, count->first);
	put_row(result, &row);
}

/* "string 290, number 5", the most frequent first. */
static char *
types_text(const Values *values)
{
	StringInfoData text;
	bool		told[VALUE_TYPES] = {false};

	initStringInfo(&text);
	for (int n = 0; n < VALUE_TYPES; n++)
	{
		int			next = -1;

		for (int i = 0; i < VALUE_TYPES; i++)
			if (!told[i] && (next < 0 || values->types[i] > values->types[next]))
				next = i;
		told[next] = true;
		if (values->types[next] > 0)
			appendStringInfo(&text, "%s%s " INT64_FORMAT, n > 0 ? ", " : "", type_names[next], values->types[next]);
	}
	return text.data;
}

static int64
count_present(const Values *values)
{
	int64		items = 0;

	for (int i = 0; i < VALUE_TYPES; i++)
		items += values->types[i];
	return items;
}

/* The type that a column of these keys should have: jsonb if no other one can keep all apart; NULL if there are none. */
static const char *
key_type(const Values *values, int64 undefined)
{
	int64		strings = values->types[TYPE_STRING];
	int64		numbers = values->types[TYPE_NUMBER];
	int64		booleans = values->types[TYPE_BOOLEAN];
	int			kinds = (strings > 0) + (numbers > 0) + (booleans > 0);

	if (kinds + values->types[TYPE_NULL] == 0)
		return NULL;
	if (kinds > 1 || values->types[TYPE_NULL] + undefined > 0)
		return "jsonb";
	return strings > 0 ? "text" : numbers > 0 ? "double precision" : "boolean";
}

static void
set_types(Row *row, const char **types, int n)
{
	Datum		values[MAX_LEVELS];

	for (int i = 0; i < n; i++)
	{
		if (types[i] == NULL)
			return;
		values[i] = CStringGetTextDatum(types[i]);
	}
	set(row, COLUMN_KEY_TYPES, PointerGetDatum(construct_array(values, n, TEXTOID, -1, false, TYPALIGN_INT)));
}

/* What is known about the values that can be keys. */
static void
set_tally(const Inspection *in, Row *row, Tally *tally, Jsonb *largest)
{
	if (tally->largest_count == 0)
		return;
	set(row, COLUMN_DISTINCT, Int64GetDatum(TallyDistinct(tally)));
	set(row, COLUMN_LARGEST_SHARE, Float8GetDatum((double) tally->largest_count / in->items));
	/* A long text would be in the way of all others. */
	if (largest != NULL && tally->largest_count > 1 && VARSIZE(largest) <= SHOWN_BYTES)
		set(row, COLUMN_LARGEST_KEY, JsonbPGetDatum(largest));
}

/* The columns that tell about values. */
static void
set_values(const Inspection *in, Row *row, Values *values, int64 undefined)
{
	const char *type = key_type(values, undefined);

	set_text(row, COLUMN_TYPES, types_text(values));
	set(row, COLUMN_NULLS, Int64GetDatum(values->types[TYPE_NULL]));
	set(row, COLUMN_UNDEFINED, Int64GetDatum(undefined));
	set_tally(in, row, &values->tally, values->largest);
	set_types(row, &type, 1);
}

/* Add a sentence to a note. */
static void
add_note(StringInfo note, char *text)
{
	appendStringInfo(note, "%s%s", note->len > 0 ? "; " : "", text);
}

static char *
several(int64 n, const char *what)
{
	return psprintf(INT64_FORMAT " %s%s", n, what, n == 1 ? "" : "s");
}

static void
note_estimate(StringInfo note, const Tally *tally)
{
	if (tally->estimated)
		add_note(note, "distinct_keys is an estimate, with an error of about 1 %");
}

static char *
path_note(const Inspection *in, AskedPath *path, List *known)
{
	StringInfoData note;
	double		missing = in->sound > 0 ? (double) path->undefined / in->sound : 0;
	int64		others = path->values.types[TYPE_OBJECT] + path->values.types[TYPE_ARRAY];
	int64		exact = TallyDistinct(&path->exact);
	int64		rounded = TallyDistinct(&path->rounded);

	initStringInfo(&note);
	if (missing > 0)
		add_note(&note, PropertiesMissing(path->path, missing, missing < 0.5 ? NIL : known));
	if (others > 0)
		add_note(&note, psprintf("%s with an object or array there, which can't be a key", several(others, "item")));
	if (path->too_large > 0)
		add_note(&note, psprintf("%s that no binary64 holds, which can't be a key", several(path->too_large, "number")));
	if (path->too_long > 0)
		add_note(&note, psprintf("%s over the limit of %d bytes", several(path->too_long, "value"), MAX_VALUE_BYTES));
	if (exact > rounded)
		add_note(&note, psprintf("%s from 2^53 on, which Cosmos DB takes for %s", several(exact, "number"), several(rounded, "key")));
	note_estimate(&note, &path->values.tally);
	return note.data;
}

static void
put_path(const Inspection *in, ReturnSetInfo *result, AskedPath *path, List *known)
{
	Row			row = start_row(in, "path", path->path, count_present(&path->values));

	set_values(in, &row, &path->values, path->undefined);
	/* Undefined is a key, too, written {} as in a key column of type jsonb. */
	if (path->values.tally.largest_count > 1 && path->values.largest == NULL)
		set(&row, COLUMN_LARGEST_KEY, DirectFunctionCall1(jsonb_in, CStringGetDatum("{}")));
	set_text(&row, COLUMN_NOTE, path_note(in, path, known));
	put_row(result, &row);
}

/* The row of the key that the paths make together. */
static void
put_key(Inspection *in, ReturnSetInfo *result)
{
	StringInfoData name;
	StringInfoData note;
	const char *types[MAX_LEVELS];
	Row			row;

	if (in->npaths == 0 || in->npaths > MAX_LEVELS)
		return;
	initStringInfo(&name);
	initStringInfo(&note);
	for (int i = 0; i < in->npaths; i++)
	{
		appendStringInfo(&name, "%s%s", i > 0 ? "," : "", in->paths[i].path);
		types[i] = key_type(&in->paths[i].values, in->paths[i].undefined);
	}
	row = start_row(in, "key", name.data, in->keyed);
	set_tally(in, &row, &in->keys, in->largest_key);
	set_types(&row, types, in->npaths);
	note_estimate(&note, &in->keys);
	if (in->keyed_ids.estimated)
		add_note(&note, "items with the same key and id are not looked for, since there are many");
	else if (in->keyed_ids.added > TallyDistinct(&in->keyed_ids))
		add_note(&note, psprintf("%s with the key and id of another one",
								 several(in->keyed_ids.added - TallyDistinct(&in->keyed_ids), "item")));
	set_text(&row, COLUMN_NOTE, note.data);
	put_row(result, &row);
}

/* The members below a member, and below them. */
static List *
list_members(List *members, const Member *parent)
{
	for (Member *member = parent->first; member != NULL; member = member->next)
		members = list_members(lappend(members, member), member);
	return members;
}

static int
compare_members(const ListCell *a, const ListCell *b)
{
	const Member *x = lfirst(a);
	const Member *y = lfirst(b);

	if (x->system != y->system)
		return x->system - y->system;
	if (count_present(&x->values) != count_present(&y->values))
		return count_present(&x->values) > count_present(&y->values) ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* The paths that many items have, and that may have been meant by another one. */
static List *
known_paths(const Inspection *in, List *members)
{
	List	   *known = NIL;
	ListCell   *cell;

	foreach(cell, members)
	{
		Member	   *member = lfirst(cell);

		if (!member->system && member->values.tally.largest_count > 0 && count_present(&member->values) * 2 >= in->sound)
			known = lappend(known, member->path);
	}
	return known;
}

static void
put_property(const Inspection *in, ReturnSetInfo *result, Member *member)
{
	int64		items = count_present(&member->values);
	Row			row = start_row(in, member->system ? "system property" : "property", member->path, items);
	StringInfoData note;

	/* The properties of an object tell what it is. */
	if (member->first != NULL && items == member->values.types[TYPE_OBJECT])
		return;
	initStringInfo(&note);
	set_values(in, &row, &member->values, in->sound - items);
	note_estimate(&note, &member->values.tally);
	set_text(&row, COLUMN_NOTE, note.data);
	put_row(result, &row);
}

static void
put_rows(Inspection *in, ReturnSetInfo *result, const char *source, const ItemReader *reader)
{
	List	   *members = list_members(NIL, &in->root);
	ListCell   *cell;

	list_sort(members, compare_members);
	put_counts(in, result, source, reader);
	for (int i = 0; i < ITEM_FAULTS; i++)
		put_fault(in, result, ItemFaultName(i), &in->faults[i]);
	for (int i = 0; i < ID_FAULTS; i++)
		put_fault(in, result, IdFaultName(i), &in->ids[i]);
	put_key(in, result);
	for (int i = 0; i < in->npaths; i++)
		put_path(in, result, &in->paths[i], known_paths(in, members));
	foreach(cell, members)
		put_property(in, result, lfirst(cell));
	if (in->too_many)
		ereport(NOTICE,
				(errmsg("the items have more than %d properties, of which some are not listed", MAX_PROPERTIES)));
}

/*
 * inspect_export(source text, paths text[]) returns setof (kind text, name text, items bigint,
 * share float8, types text, nulls bigint, undefined bigint, distinct_keys bigint, largest_share float8,
 * largest_key jsonb, key_types text[], note text)
 */
PG_FUNCTION_INFO_V1(inspect_export);
Datum
inspect_export(PG_FUNCTION_ARGS)
{
	Inspection *in;
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "partitionkey inspection", ALLOCSET_DEFAULT_SIZES);
	char	   *source;
	ItemReader *reader;
	CosmosItem	item;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	in = InspectionStart(PG_ARGISNULL(1) ? NULL : PG_GETARG_ARRAYTYPE_P(1));
	source = text_to_cstring(PG_GETARG_TEXT_PP(0));
	reader = ItemReaderOpen(source);
	while (ItemReaderNext(reader, &item))
	{
		MemoryContext old = MemoryContextSwitchTo(scratch);

		InspectionCount(in, reader, &item);
		MemoryContextSwitchTo(old);
		MemoryContextReset(scratch);
	}
	put_rows(in, (ReturnSetInfo *) fcinfo->resultinfo, source, reader);
	ItemReaderClose(reader);
	return (Datum) 0;
}
