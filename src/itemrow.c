/*
 * itemrow.c
 *		Turning an item into a row of a container.
 *
 * A value keeps its kind: a JSON string goes into a column of type text, uuid, date
 * and the like, a number into a numeric one, true and false into a boolean
 * one, and all of them, null and undefined into one of type jsonb.  Anything else would make two
 * partition keys of Cosmos DB one, or move one to another place.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "compat.h"
#include "extract.h"
#include "fidelity.h"
#include "itemid.h"
#include "itemrow.h"
#include "key.h"
#include "path.h"
#include "sql.h"
#include "systemproperties.h"

/* Beyond this a binary64 can't hold every whole number. */
#define MAX_EXACT			9007199254740992.0

/*
 * The shape
 */

static int
add_column(ItemShape *shape, Relation rel, AttrNumber attnum)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
	ItemColumn *column = &shape->columns[shape->ncolumns];

	column->name = pstrdup(NameStr(att->attname));
	column->attnum = attnum;
	column->declared = att->atttypid;
	column->typmod = att->atttypmod;
	column->type = getBaseTypeAndTypmod(att->atttypid, &column->typmod);
	getTypeInputInfo(column->type, &column->input, &column->typioparam);
	if (column->typmod < 0 || find_typmod_coercion_function(column->type, &column->coercion) != COERCION_PATH_FUNC)
		column->coercion = InvalidOid;
	return shape->ncolumns++;
}

static bool
is_integer_type(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
is_string_type(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == NAMEOID;
}

/* The column of a name, if it is none of the shape already. */
static AttrNumber
free_column(const ItemShape *shape, Relation rel, const char *name)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(rel), name);

	for (int i = 0; i < shape->ncolumns; i++)
		if (shape->columns[i].attnum == attnum)
			return InvalidAttrNumber;
	return attnum > 0 && !TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attgenerated ? attnum : InvalidAttrNumber;
}

static Oid
base_type(Relation rel, AttrNumber attnum)
{
	return attnum == InvalidAttrNumber ? InvalidOid : getBaseType(TupleDescAttr(RelationGetDescr(rel), attnum - 1)->atttypid);
}

/* The column for documents: "doc", or the only other one of type jsonb. */
static AttrNumber
document_column(const ItemShape *shape, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);
	AttrNumber	column = free_column(shape, rel, "doc");
	int			n = 0;

	if (base_type(rel, column) == JSONBOID)
		return column;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped || base_type(rel, free_column(shape, rel, NameStr(att->attname))) != JSONBOID)
			continue;
		column = att->attnum;
		n++;
	}
	if (n != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("container \"%s\" has no column for documents", RelationGetRelationName(rel)),
				 errdetail(n == 0 ? "It has no column of type jsonb besides those of its key." :
						   "It has several columns of type jsonb, and none of them is called \"doc\"."),
				 n == 0 ? errhint("ALTER TABLE %s ADD COLUMN doc jsonb", QualifiedName(RelationGetRelid(rel))) : 0));
	return column;
}

/* The system properties that are no part of the key. */
static int
stripped_properties(const ItemShape *shape)
{
	int			stripped = ALL_SYSTEM_PROPERTIES;

	for (int i = 0; i < shape->container->levels; i++)
	{
		const char *name = strVal(linitial(shape->names[i]));
		int			property = SystemProperty(name, strlen(name));

		if (property >= 0)
			stripped &= ~(1 << property);
	}
	return stripped;
}

/* Find the columns of the id and the time. */
static void
find_other_columns(ItemShape *shape, Relation rel)
{
	AttrNumber	ts;

	for (int level = 0; level < shape->container->levels; level++)
		if (list_length(shape->names[level]) == 1 && strcmp(strVal(linitial(shape->names[level])), "id") == 0)
			shape->id = level;
	if (shape->id < 0 && free_column(shape, rel, "id") != InvalidAttrNumber)
		shape->id = add_column(shape, rel, free_column(shape, rel, "id"));
	if (shape->id >= 0 && shape->columns[shape->id].type == JSONBOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of container \"%s\" is of type jsonb, but an id is a string",
						shape->columns[shape->id].name, RelationGetRelationName(rel)),
				 errhint("Make it a column of type text.")));

	ts = free_column(shape, rel, "ts");
	if (base_type(rel, ts) == TIMESTAMPTZOID)
	{
		shape->ts = add_column(shape, rel, ts);
		shape->ts_default = (Expr *) build_column_default(rel, ts);
	}
}

ItemShape *
ItemShapeFind(Relation rel, const Container *container, char *const *keys, bool generate_ids, bool keep_system)
{
	ItemShape  *shape = palloc0(sizeof(ItemShape));

	shape->container = container;
	shape->id = shape->ts = -1;
	shape->generate_ids = generate_ids;
	for (int i = 0; i < container->levels; i++)
	{
		add_column(shape, rel, get_attnum(container->relid, container->columns[i]));
		shape->names[i] = ExtractNames(container->paths[i]);
		shape->keys[i] = keys == NULL || keys[i] == NULL ? NULL : pstrdup(keys[i]);
	}
	find_other_columns(shape, rel);
	shape->doc = add_column(shape, rel, document_column(shape, rel));
	shape->stripped = keep_system ? 0 : stripped_properties(shape);
	return shape;
}

bool
ItemShapeFits(const ItemShape *shape, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);

	for (int i = 0; i < shape->ncolumns; i++)
	{
		const ItemColumn *column = &shape->columns[i];
		Form_pg_attribute att;
		int32		typmod;

		if (column->attnum > desc->natts)
			return false;
		att = TupleDescAttr(desc, column->attnum - 1);
		typmod = att->atttypmod;
		if (att->attisdropped || att->attgenerated || att->atttypid != column->declared ||
			getBaseTypeAndTypmod(att->atttypid, &typmod) != column->type || typmod != column->typmod ||
			strcmp(NameStr(att->attname), column->name) != 0)
			return false;
	}
	return true;
}

char *
ItemShapeColumns(const ItemShape *shape)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < shape->ncolumns; i++)
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "", quote_identifier(shape->columns[i].name));
	return list.data;
}

char *
ItemShapeExpired(const ItemShape *shape, int32 default_ttl, const char *alias)
{
	return psprintf("partitionkey.item_expired(%s.%s, %s.%s, %d)", alias, quote_identifier(shape->columns[shape->doc].name),
					alias, quote_identifier(shape->columns[shape->ts].name), default_ttl);
}

/*
 * Values
 */

static bool
set_problem(ItemProblem *problem, const char *reason, const char *path, char *detail)
{
	problem->reason = reason;
	problem->path = path;
	problem->detail = detail;
	return false;
}

/*
 * A value of a column's type from its text, fitted to the type modifier; false and
 * the problem if it is not valid, or is another one by then.  Errors are caught without a subtransaction: the input
 * functions of the types that can be keys, and those that fit a value to a length, only compute a value.
 */
static bool
input_value(const ItemColumn *column, const char *path, char *text, Datum *value, ItemProblem *problem)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool valid = true;

	PG_TRY();
	{
		const char *loss;

		*value = OidInputFunctionCall(column->input, text, column->typioparam, -1);
		if (OidIsValid(column->coercion))
			*value = OidFunctionCall3(column->coercion, *value, Int32GetDatum(column->typmod), BoolGetDatum(false));
		loss = FidelityLoss(column->type, text, *value);
		if (loss != NULL)
			valid = set_problem(problem, "key not exact", path,
								psprintf("%s %s column \"%s\" of type %s", path, loss, column->name,
										 format_type_with_typemod(column->type, column->typmod)));
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_DATA_EXCEPTION)
			PG_RE_THROW();
		FlushErrorState();
		if (error->sqlerrcode == ERRCODE_STRING_DATA_RIGHT_TRUNCATION)
			valid = set_problem(problem, "key too long", path, error->message);
		else
			valid = set_problem(problem, "key of another type", path, error->message);
	}
	PG_END_TRY();
	return valid;
}

static bool
numeric_equals(Numeric a, Numeric b)
{
	return DatumGetBool(DirectFunctionCall2(numeric_eq, NumericGetDatum(a), NumericGetDatum(b)));
}

/* All digits of a large binary64, which is an integer. */
static Numeric
exact_integer(double number)
{
	return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(psprintf("%.0f", number)),
											   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

/*
 * A number as Cosmos DB takes it: the binary64 that is nearest, as the shortest
 * decimal.  Sets inexact if that is another number.
 */
static Numeric
binary64_number(Numeric number, bool *inexact)
{
	double		nearest = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(number)));
	Numeric		decimal;

	if (fabs(nearest) <= MAX_EXACT && nearest == rint(nearest))
		decimal = int64_to_numeric((int64) nearest);
	else
		decimal = KeyNumber(nearest);
	/* 2^63 is a binary64, though a shorter decimal is read as it, too */
	if (!numeric_equals(decimal, number) &&
		(fabs(nearest) < MAX_EXACT || !numeric_equals(exact_integer(nearest), number)))
		*inexact = true;
	return decimal;
}

static bool
is_out_of_range(Numeric number)
{
	return isinf(DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(number))));
}

/* The text from which a column's type reads a JSON scalar, or NULL if they are of different kinds. */
static char *
scalar_text(const ItemColumn *column, const JsonbValue *value)
{
	Numeric		number = value->type == jbvNumeric ? value->val.numeric : NULL;

	if (is_integer_type(column->type) && number != NULL)
	{
		/* 42.0 is 42, but no text of it is read as an integer */
		number = DatumGetNumeric(DirectFunctionCall2(numeric_trunc, NumericGetDatum(number), Int32GetDatum(0)));
		if (!numeric_equals(number, value->val.numeric))
			return NULL;
	}
	switch (column->type)
	{
		case BOOLOID:
			return value->type != jbvBool ? NULL : value->val.boolean ? "true" : "false";
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
			return number == NULL ? NULL : DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(number)));
		default:
			return value->type == jbvString ? pnstrdup(value->val.string.val, value->val.string.len) : NULL;
	}
}

/* A jsonb value for a key column: a number as Cosmos DB takes it, and {} for undefined. */
static Datum
jsonb_key(const JsonbValue *value, bool *inexact)
{
	JsonbValue	key;
	JsonbParseState *state = NULL;

	if (value == NULL)
	{
		pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
		return JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
	}
	key = *value;
	if (key.type == jbvNumeric)
		key.val.numeric = binary64_number(key.val.numeric, inexact);
	return JsonbPGetDatum(JsonbValueToJsonb(&key));
}

/* A text, which is by far the most frequent kind of key, needs no input function. */
static bool
is_plain_text(const ItemColumn *column, const JsonbValue *value)
{
	return value->type == jbvString && !OidIsValid(column->coercion) && (column->type == TEXTOID || column->type == VARCHAROID);
}

static char *
mismatch(const ItemColumn *column, const char *path, const char *kind)
{
	return psprintf("%s is %s, but column \"%s\" is of type %s", path, kind, column->name, format_type_be(column->declared));
}

/* What a column that is not of type jsonb makes of a scalar. */
static bool
convert_scalar(const ItemColumn *column, const char *path, const JsonbValue *value, Datum *result, ItemProblem *problem)
{
	char	   *text;

	if (is_plain_text(column, value))
	{
		*result = PointerGetDatum(cstring_to_text_with_len(value->val.string.val, value->val.string.len));
		return true;
	}
	text = scalar_text(column, value);
	if (text == NULL)
		return set_problem(problem, "key of another type", path,
						   mismatch(column, path, value->type == jbvNumeric && is_integer_type(column->type) ?
									"a fraction" : KeyValueKind(value)));
	if (column->type == NAMEOID && strlen(text) >= NAMEDATALEN)
		return set_problem(problem, "key too long", path, mismatch(column, path, psprintf("%zu bytes long", strlen(text))));
	return input_value(column, path, text, result, problem);
}

/* Null, or undefined, for a column that has no place for it. */
static bool
no_place(const ItemShape *shape, int level, bool is_null, ItemProblem *problem)
{
	const ItemColumn *column = &shape->columns[level];
	const char *path = shape->container->paths[level];
	char	   *what = is_null ? psprintf("%s is null", path) :
		shape->keys[level] ? psprintf("the expression for %s gives no value", path) : psprintf("the item has no %s", path);

	return set_problem(problem, is_null ? "key null" : "key undefined", path,
					   psprintf("%s, and column \"%s\" is of type %s; one of type jsonb holds %s", what, column->name,
								format_type_be(column->declared), is_null ? "null" : "undefined as {}"));
}

/* Whether Cosmos DB takes a value as part of a key. */
static bool
check_key(const char *path, const JsonbValue *value, ItemProblem *problem)
{
	Component	component;

	if (value->type == jbvBinary)
		return set_problem(problem, "key not a scalar", path,
						   psprintf("%s is %s", path, JsonContainerIsArray(value->val.binary.data) ? "an array" : "an object"));
	if (value->type == jbvNumeric && is_out_of_range(value->val.numeric))
		return set_problem(problem, "key out of range", path, psprintf("%s is a number that no binary64 holds", path));
	if (ComponentSetJsonbValue(&component, value) && KeyValueTooLong(&component))
		return set_problem(problem, "key too long", path,
						   psprintf("%s is %zu bytes long, over Cosmos DB's limit of %d", path, component.len, MAX_VALUE_BYTES));
	return true;
}

bool
ItemRowTakeKey(const ItemShape *shape, int level, const JsonbValue *value, ItemRow *row, ItemProblem *problem)
{
	const ItemColumn *column = &shape->columns[level];
	const char *path = shape->container->paths[level];

	row->undefined[level] = value == NULL;
	if (value != NULL && !check_key(path, value, problem))
		return false;
	if (column->type == JSONBOID)
	{
		row->values[level] = jsonb_key(value, &row->inexact);
		return true;
	}
	if (value == NULL || value->type == jbvNull)
		return no_place(shape, level, value != NULL, problem);
	if (value->type == jbvNumeric)
		(void) binary64_number(value->val.numeric, &row->inexact);
	return convert_scalar(column, path, value, &row->values[level], problem);
}

/* Take a level's value out of an item. */
static bool
make_key(const ItemShape *shape, int level, const CosmosItem *item, ItemRow *row, ItemProblem *problem)
{
	JsonbValue	value;
	bool		found = ExtractValue(&item->doc->root, shape->names[level], &value);

	row->looked[level] = true;
	return ItemRowTakeKey(shape, level, found ? &value : NULL, row, problem);
}

static Jsonb *
with_generated_id(Jsonb *doc)
{
	char	   *uuid = DatumGetCString(DirectFunctionCall1(uuid_out, DirectFunctionCall1(gen_random_uuid, (Datum) 0)));
	Datum		id = DirectFunctionCall1(jsonb_in, CStringGetDatum(psprintf("{\"id\": \"%s\"}", uuid)));

	/* it takes the place of one that is null */
	return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(doc), id));
}

bool
ItemRowTakeId(const ItemShape *shape, const JsonbValue *id, ItemRow *row, ItemProblem *problem)
{
	const ItemColumn *column = &shape->columns[shape->id];

	if (id->type == jbvBinary)
		return set_problem(problem, "id of another type", "/id", mismatch(column, "/id", KeyValueKind(id)));
	return convert_scalar(column, "/id", id, &row->values[shape->id], problem) ||
		set_problem(problem, "id of another type", "/id", problem->detail);
}

/* Find the item's id, or give it one. */
static bool
make_id(const ItemShape *shape, CosmosItem *item, ItemRow *row, ItemProblem *problem)
{
	const ItemColumn *column = &shape->columns[shape->id];
	JsonbValue	id;
	char	   *reason;
	IdFault		fault = ItemFindId(item->doc, &id, &reason);

	if (fault == ID_MISSING && shape->generate_ids)
	{
		item->doc = with_generated_id(item->doc);
		fault = ItemFindId(item->doc, &id, &reason);
	}
	/* a column of another type may hold an id that is no string */
	if (fault != ID_SOUND && (is_string_type(column->type) || (fault != ID_NUMERIC && fault != ID_NO_STRING)))
		return set_problem(problem, IdFaultName(fault), "/id", reason);
	/* one that is part of the key is found with that */
	return shape->id < shape->container->levels || ItemRowTakeId(shape, &id, row, problem);
}

void
ItemRowTakeTime(const ItemShape *shape, const Jsonb *doc, ItemRow *row)
{
	const ItemColumn *column = &shape->columns[shape->ts];
	JsonbValue	seconds;
	double		since;

	row->nulls[shape->ts] = true;
	if (getKeyJsonValueFromContainer(unconstify(JsonbContainer *, &doc->root), "_ts", 3, &seconds) != NULL &&
		seconds.type == jbvNumeric)
	{
		since = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(seconds.val.numeric)));
		/* up to the year 9999; what is beyond is no time */
		if (fabs(since) < 253402300800.0)
		{
			row->values[shape->ts] = DirectFunctionCall1(float8_timestamptz, Float8GetDatum(since));
			if (OidIsValid(column->coercion))
				row->values[shape->ts] = OidFunctionCall2(column->coercion, row->values[shape->ts], Int32GetDatum(column->typmod));
			row->nulls[shape->ts] = false;
			return;
		}
	}
	row->timeless = true;
}

bool
ItemRowMake(const ItemShape *shape, const CosmosItem *source, ItemRow *row, ItemProblem *problem)
{
	CosmosItem	item = *source;

	memset(row, 0, sizeof(ItemRow));
	row->item = item;
	row->item.doc = NULL;
	if (item.doc == NULL)
		return set_problem(problem, ItemFaultName(item.fault), NULL, pstrdup(item.reason));
	if (shape->id >= 0 && !make_id(shape, &item, row, problem))
		return false;
	for (int i = 0; i < shape->container->levels; i++)
	{
		if (shape->keys[i] != NULL)
			row->original = item.doc;
		else if (!make_key(shape, i, &item, row, problem))
			return false;
	}
	if (row->original != NULL)
	{
		row->original = palloc(VARSIZE(item.doc));
		memcpy(row->original, item.doc, VARSIZE(item.doc));
	}
	if (shape->ts >= 0)
		ItemRowTakeTime(shape, item.doc, row);
	row->values[shape->doc] = JsonbPGetDatum(SystemPropertiesRemove(item.doc, shape->stripped));
	return true;
}

bool
ItemRowMakePlace(const ItemShape *shape, const Key *key, const JsonbValue *id, ItemRow *row, ItemProblem *problem)
{
	memset(row, 0, sizeof(ItemRow));
	for (int i = 0; i < key->levels; i++)
		if (!ItemRowTakeKey(shape, i, key->values[i].type == jbvBinary ? NULL : &key->values[i], row, problem))
			return false;
	return id == NULL || shape->id < key->levels ||
		convert_scalar(&shape->columns[shape->id], "/id", id, &row->values[shape->id], problem);
}

bool
ItemRowsSamePlace(const ItemShape *shape, const ItemRow *a, const ItemRow *b, int columns)
{
	for (int i = 0; i < columns; i++)
	{
		TypeCacheEntry *type = lookup_type_cache(shape->columns[i].type, TYPECACHE_EQ_OPR_FINFO);

		if (!DatumGetBool(FunctionCall2Coll(&type->eq_opr_finfo, get_typcollation(shape->columns[i].type),
											a->values[i], b->values[i])))
			return false;
	}
	return true;
}

bool
ItemRowIsFault(int sqlerrcode)
{
	switch (ERRCODE_TO_CATEGORY(sqlerrcode))
	{
		case ERRCODE_DATA_EXCEPTION:
		case ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION:
		case ERRCODE_TRIGGERED_ACTION_EXCEPTION:
		case ERRCODE_PLPGSQL_ERROR:
		case ERRCODE_WITH_CHECK_OPTION_VIOLATION:
			return true;
		default:
			return sqlerrcode == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
	}
}

/* A row's value of a column for a message. */
static char *
printed_value(const ItemShape *shape, const ItemRow *row, int column)
{
	Oid			output;
	bool		varlena;

	if (row->nulls[column])
		return "null";
	getTypeOutputInfo(shape->columns[column].type, &output, &varlena);
	return OidOutputFunctionCall(output, row->values[column]);
}

char *
ItemRowName(const ItemShape *shape, const ItemRow *row)
{
	StringInfoData name;

	initStringInfo(&name);
	appendStringInfoString(&name, "key (");
	for (int i = 0; i < shape->container->levels; i++)
		appendStringInfo(&name, "%s%s", i > 0 ? ", " : "", printed_value(shape, row, i));
	appendStringInfoChar(&name, ')');
	if (shape->id >= shape->container->levels)
		appendStringInfo(&name, ", id \"%s\"", printed_value(shape, row, shape->id));
	return name.data;
}
