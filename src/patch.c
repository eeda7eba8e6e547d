/*
 * patch.c
 *		Changing parts of an item by the operations of Cosmos DB's partial document update.
 *
 * The item is unpacked into a tree of values once, all operations change the tree, and it is packed
 * again at the end.  The members of an object stay in jsonb's own order, in which they are searched.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "member.h"
#include "patch.h"
#include "path.h"
#include "status.h"
#include "systemproperties.h"

typedef enum PatchKind
{
	PATCH_ADD,
	PATCH_SET,
	PATCH_REPLACE,
	PATCH_REMOVE,
	PATCH_INCREMENT,
	PATCH_MOVE
} PatchKind;

static const struct
{
	const char *name;
	PatchKind	kind;
}			kinds[] = {
	{"add", PATCH_ADD},
	{"set", PATCH_SET},
	{"replace", PATCH_REPLACE},
	{"remove", PATCH_REMOVE},
	{"incr", PATCH_INCREMENT},
	{"increment", PATCH_INCREMENT},
	{"move", PATCH_MOVE}
};

typedef struct JsonPointer
{
	char	   *text;			/* as given; NULL if there is none */
	List	   *names;			/* char * */
} JsonPointer;

typedef struct PatchOperation
{
	int			number;			/* from 1 */
	char	   *name;			/* of the kind, as given; NULL while it isn't known */
	PatchKind	kind;
	JsonPointer path;
	JsonPointer from;
	JsonbValue	value;
} PatchOperation;

/* A place in the tree, where a value is or can be put. */
typedef struct Place
{
	JsonbValue *parent;			/* an array or an object */
	int			index;			/* of the element or member */
	bool		exists;
} Place;

/*
 * Errors
 */

static void
patch_error(char *message, const char *hint)
{
	ereport(ERROR,
			(StatusCode(COSMOS_BAD_REQUEST),
			 errmsg_internal("%s", message),
			 StatusDetail(COSMOS_BAD_REQUEST, "%s", ""),
			 hint ? errhint("%s", hint) : 0));
}

/* An error of an operation: operation 2, move "/a" to "/b": there is no "/a". */
static void
operation_error(const PatchOperation *operation, char *problem, const char *hint)
{
	StringInfoData message;

	initStringInfo(&message);
	appendStringInfo(&message, "operation %d", operation->number);
	if (operation->name != NULL)
		appendStringInfo(&message, ", %s", operation->name);
	if (operation->from.text != NULL)
		appendStringInfo(&message, " \"%s\"", operation->from.text);
	if (operation->path.text != NULL)
		appendStringInfo(&message, "%s \"%s\"", operation->from.text ? " to" : "", operation->path.text);
	appendStringInfo(&message, ": %s", problem);
	patch_error(message.data, hint);
}

/*
 * Reading operations
 */

/* A name of a pointer, in which ~1 is a slash and ~0 a tilde; NULL if a tilde is followed by anything else. */
static char *
unescape(const char *name, int length)
{
	char	   *result = palloc(length + 1);
	char	   *to = result;

	for (const char *end = name + length; name < end; name++)
	{
		if (*name != '~')
			*to++ = *name;
		else if (name[1] == '0' || name[1] == '1')
			*to++ = *++name == '0' ? '~' : '/';
		else
			return NULL;
	}
	*to = '\0';
	return result;
}

/* Read a JSON pointer to a part of an item. */
static void
read_pointer(PatchOperation *operation, const JsonbValue *object, const char *member, JsonPointer *pointer)
{
	JsonbValue	value;
	const char *name;

	if (!MemberFind(object, member, &value))
		operation_error(operation, psprintf("it has no %s", member), NULL);
	if (value.type != jbvString)
		operation_error(operation, psprintf("its %s is %s, not a string", member, MemberKind(&value)), NULL);
	pointer->text = MemberCString(&value);
	if (*pointer->text == '\0')
		operation_error(operation, psprintf("its %s is empty", member), "A patch changes parts of an item. Replace the item to change all of it.");
	if (*pointer->text != '/')
		operation_error(operation, psprintf("its %s does not begin with a slash", member),
						psprintf("Write \"/%s\".", pointer->text));
	name = pointer->text;
	while (*name == '/')
	{
		int			length = strcspn(++name, "/");
		char	   *unescaped = unescape(name, length);

		if (unescaped == NULL)
			operation_error(operation, psprintf("its %s has a tilde without 0 or 1 behind it", member),
							"In a name write ~ as ~0, and / as ~1.");
		pointer->names = lappend(pointer->names, unescaped);
		name += length;
	}
}

static void
read_kind(PatchOperation *operation, const JsonbValue *object)
{
	JsonbValue	op;
	char	   *name;

	if (!MemberFind(object, "op", &op))
		operation_error(operation, "it has no op", "Write for example {\"op\": \"set\", \"path\": \"/price\", \"value\": 10}.");
	if (op.type != jbvString)
		operation_error(operation, psprintf("its op is %s, not a string", MemberKind(&op)), NULL);
	name = MemberCString(&op);
	for (size_t i = 0; i < lengthof(kinds); i++)
		if (strcmp(name, kinds[i].name) == 0)
		{
			operation->kind = kinds[i].kind;
			operation->name = name;
			return;
		}
	operation_error(operation, psprintf("op \"%s\" is unknown", name),
					"It is \"add\", \"set\", \"replace\", \"remove\", \"incr\" or \"move\".");
}

static PatchOperation *
read_operation(int number, const JsonbValue *object)
{
	PatchOperation *operation = palloc0(sizeof(PatchOperation));

	operation->number = number;
	if (!MemberIsObject(object))
		operation_error(operation, psprintf("it is %s, not an object", MemberKind(object)), NULL);
	read_kind(operation, object);
	if (operation->kind == PATCH_MOVE)
		read_pointer(operation, object, "from", &operation->from);
	read_pointer(operation, object, "path", &operation->path);
	if (operation->kind == PATCH_MOVE || operation->kind == PATCH_REMOVE)
		return operation;
	/* null is a value here */
	if (getKeyJsonValueFromContainer(object->val.binary.data, "value", 5, &operation->value) == NULL)
		operation_error(operation, "it has no value", NULL);
	if (operation->kind == PATCH_INCREMENT && operation->value.type != jbvNumeric)
		operation_error(operation, psprintf("its value is %s, not a number", MemberKind(&operation->value)), NULL);
	return operation;
}

/* The array of operations, which may be in an object. */
static JsonbValue
find_operations(Jsonb *json)
{
	JsonbValue	value = MemberRoot(json);
	JsonbValue	operations;
	ListCell   *cell;

	if (MemberIsArray(&value))
		return value;
	if (!MemberIsObject(&value))
		patch_error(psprintf("the patch is %s, not an array of operations", MemberKind(&value)),
					"Write for example [{\"op\": \"set\", \"path\": \"/price\", \"value\": 10}].");
	foreach(cell, MemberNames(&value))
	{
		if (strcmp(lfirst(cell), "condition") == 0)
			patch_error("the patch has a condition, which is not read",
						"Give the condition to partitionkey.patch_item, as a jsonpath.");
		if (strcmp(lfirst(cell), "operations") != 0)
			patch_error(psprintf("member \"%s\" of the patch is unknown", (char *) lfirst(cell)),
						"Write {\"operations\": [..]}, or the array alone.");
	}
	if (!MemberFind(&value, "operations", &operations))
		patch_error("the patch has no operations", "Write {\"operations\": [..]}, or the array alone.");
	if (!MemberIsArray(&operations))
		patch_error(psprintf("operations of the patch are %s, not an array", MemberKind(&operations)), NULL);
	return operations;
}

/* Read all operations (PatchOperation *). */
static List *
read_operations(Jsonb *json)
{
	JsonbValue	array = find_operations(json);
	int			n = JsonContainerSize(array.val.binary.data);
	List	   *operations = NIL;
	ListCell   *cell;

	if (n == 0)
		patch_error("the patch has no operations", NULL);
	if (n > MAX_PATCH_OPERATIONS)
		patch_error(psprintf("the patch has %d operations, more than %d", n, MAX_PATCH_OPERATIONS),
					"Divide it, or replace the item.");
	foreach(cell, MemberElements(&array))
		operations = lappend(operations, read_operation(foreach_current_index(cell) + 1, lfirst(cell)));
	return operations;
}

/*
 * What can't be changed
 */

static void
check_pointer(const PatchOperation *operation, const JsonPointer *pointer, const Container *container)
{
	const char *first = linitial(pointer->names);

	if (strcmp(first, "id") == 0)
		operation_error(operation, "the id can't be changed", "partitionkey.replace_item gives an item another id.");
	if (SystemProperty(first, strlen(first)) >= 0)
		operation_error(operation, psprintf("\"/%s\" is a system property, which can't be changed", first), NULL);
	for (int i = 0; container != NULL && i < container->levels; i++)
	{
		List	   *key = PathSegments(container->paths[i]);

		if (PathStartsWith(pointer->names, key) || PathStartsWith(key, pointer->names))
			operation_error(operation, psprintf("the partition key can't be changed, which has the path %s", container->paths[i]),
							"partitionkey.move_item moves an item to another key.");
	}
}

void
PatchCheck(Jsonb *json, const Container *container)
{
	ListCell   *cell;

	foreach(cell, read_operations(json))
	{
		const PatchOperation *operation = lfirst(cell);

		if (operation->kind == PATCH_MOVE)
			check_pointer(operation, &operation->from, container);
		check_pointer(operation, &operation->path, container);
	}
}

/*
 * The tree
 */

static void
unpack_array(JsonbValue *array, JsonbIterator *iterator, int n)
{
	JsonbValue	value;
	int			i = 0;

	array->type = jbvArray;
	array->val.array.rawScalar = false;
	array->val.array.nElems = n;
	array->val.array.elems = palloc(sizeof(JsonbValue) * Max(n, 1));
	while (JsonbIteratorNext(&iterator, &value, true) == WJB_ELEM)
		array->val.array.elems[i++] = value;
}

static void
unpack_object(JsonbValue *object, JsonbIterator *iterator, int n)
{
	JsonbValue	value;
	int			i = 0;

	object->type = jbvObject;
	object->val.object.nPairs = n;
	object->val.object.pairs = palloc0(sizeof(JsonbPair) * Max(n, 1));
	while (JsonbIteratorNext(&iterator, &value, true) == WJB_KEY)
	{
		object->val.object.pairs[i].key = value;
		(void) JsonbIteratorNext(&iterator, &object->val.object.pairs[i++].value, true);
	}
}

/* Make a tree of a value.  Strings and numbers stay where they are. */
static void
unpack(JsonbValue *value)
{
	JsonbIterator *iterator;
	JsonbValue	begin;

	if (value->type != jbvBinary)
		return;
	check_stack_depth();
	iterator = JsonbIteratorInit(value->val.binary.data);
	if (JsonbIteratorNext(&iterator, &begin, true) == WJB_BEGIN_ARRAY)
	{
		unpack_array(value, iterator, begin.val.array.nElems);
		for (int i = 0; i < value->val.array.nElems; i++)
			unpack(&value->val.array.elems[i]);
	}
	else
	{
		unpack_object(value, iterator, begin.val.object.nPairs);
		for (int i = 0; i < value->val.object.nPairs; i++)
			unpack(&value->val.object.pairs[i].value);
	}
}

static const char *
kind_of(const JsonbValue *value)
{
	if (value->type == jbvObject)
		return "an object";
	return value->type == jbvArray ? "an array" : MemberKind(value);
}

static JsonbValue *
value_at(const Place *place)
{
	return place->parent->type == jbvObject ? &place->parent->val.object.pairs[place->index].value :
		&place->parent->val.array.elems[place->index];
}

/* jsonb's order of names: short ones come first. */
static int
compare_names(const JsonbValue *key, const char *name, int length)
{
	if (key->val.string.len != length)
		return key->val.string.len < length ? -1 : 1;
	return memcmp(key->val.string.val, name, length);
}

static Place
member_place(JsonbValue *object, const char *name)
{
	Place		place = {.parent = object};
	int			length = strlen(name);
	int			end = object->val.object.nPairs;

	while (place.index < end && !place.exists)
	{
		int			middle = place.index + (end - place.index) / 2;
		int			order = compare_names(&object->val.object.pairs[middle].key, name, length);

		if (order > 0)
			end = middle;
		else
			place.index = order < 0 ? middle + 1 : middle;
		place.exists = order == 0;
	}
	return place;
}

/* The beginning of a pointer, with its first names, for messages. */
static char *
beginning(const JsonPointer *pointer, int names)
{
	const char *end = pointer->text;

	while (names-- > 0)
		end += 1 + strcspn(end + 1, "/");
	return pnstrdup(pointer->text, end - pointer->text);
}

/* An index as it may be written, or -1. */
static int
read_index(const char *name)
{
	int			index = 0;

	if (*name == '\0' || strspn(name, "0123456789") != strlen(name) || (name[0] == '0' && name[1] != '\0'))
		return -1;
	for (; *name != '\0'; name++)
		index = Min(index, PG_INT32_MAX / 10 - 1) * 10 + (*name - '0');
	return index;
}

/* The place of an element; "-" is the one behind the last. */
static Place
element_place(const PatchOperation *operation, const JsonPointer *pointer, int depth, JsonbValue *array)
{
	const char *name = list_nth(pointer->names, depth);
	int			n = array->val.array.nElems;
	Place		place = {.parent = array, .index = strcmp(name, "-") == 0 ? n : read_index(name)};

	if (place.index < 0)
		operation_error(operation, psprintf("\"%s\" is an array, and \"%s\" is no index", beginning(pointer, depth), name),
						"An index is a number from 0 on, or - for the place behind the last element.");
	if (place.index > n)
		operation_error(operation, psprintf("\"%s\" is an array of %d elements, which has no place %s", beginning(pointer, depth), n, name),
						NULL);
	place.exists = place.index < n;
	return place;
}

/* The place of a pointer's name in what the names before it lead to. */
static Place
place_in(const PatchOperation *operation, const JsonPointer *pointer, int depth, JsonbValue *parent)
{
	if (parent->type == jbvObject)
		return member_place(parent, list_nth(pointer->names, depth));
	if (parent->type != jbvArray)
		operation_error(operation, psprintf("\"%s\" is %s, which has no parts", beginning(pointer, depth), kind_of(parent)), NULL);
	return element_place(operation, pointer, depth, parent);
}

/* The place that a pointer leads to.  All but the last name must be there. */
static Place
find_place(const PatchOperation *operation, const JsonPointer *pointer, JsonbValue *root)
{
	int			last = list_length(pointer->names) - 1;
	JsonbValue *parent = root;

	for (int depth = 0; depth < last; depth++)
	{
		Place		place = place_in(operation, pointer, depth, parent);

		if (!place.exists)
			operation_error(operation, psprintf("there is no \"%s\"", beginning(pointer, depth + 1)),
							"What a path leads through has to be there.");
		parent = value_at(&place);
	}
	return place_in(operation, pointer, last, parent);
}

/* The same, and there has to be a value. */
static Place
find_value(const PatchOperation *operation, const JsonPointer *pointer, JsonbValue *root)
{
	Place		place = find_place(operation, pointer, root);

	if (!place.exists)
		operation_error(operation, psprintf("there is no \"%s\"", pointer->text),
						operation->kind == PATCH_REPLACE ? "With \"set\" a value is put there whether there is one or not." : NULL);
	return place;
}

/* Make room for another value at a place. */
static void
insert_value(const Place *place, const char *name, const JsonbValue *value)
{
	if (place->parent->type == jbvArray)
	{
		int			n = place->parent->val.array.nElems++;
		JsonbValue *elements = repalloc(place->parent->val.array.elems, sizeof(JsonbValue) * (n + 1));

		memmove(elements + place->index + 1, elements + place->index, sizeof(JsonbValue) * (n - place->index));
		place->parent->val.array.elems = elements;
	}
	else
	{
		int			n = place->parent->val.object.nPairs++;
		JsonbPair  *pairs = repalloc(place->parent->val.object.pairs, sizeof(JsonbPair) * (n + 1));
		JsonbValue *key = &pairs[place->index].key;

		memmove(pairs + place->index + 1, pairs + place->index, sizeof(JsonbPair) * (n - place->index));
		place->parent->val.object.pairs = pairs;
		key->type = jbvString;
		key->val.string.val = unconstify(char *, name);
		key->val.string.len = strlen(name);
	}
	*value_at(place) = *value;
}

static void
put_value(const PatchOperation *operation, JsonbValue *root, const JsonbValue *value)
{
	Place		place = find_place(operation, &operation->path, root);
	bool		inserts = operation->kind != PATCH_SET && place.parent->type == jbvArray;

	if (place.exists && !inserts)
		*value_at(&place) = *value;
	else
		insert_value(&place, llast(operation->path.names), value);
}

static JsonbValue
take_value(const PatchOperation *operation, const JsonPointer *pointer, JsonbValue *root)
{
	Place		place = find_value(operation, pointer, root);
	JsonbValue	taken = *value_at(&place);

	if (place.parent->type == jbvArray)
	{
		JsonbValue *element = value_at(&place);

		memmove(element, element + 1, sizeof(JsonbValue) * (--place.parent->val.array.nElems - place.index));
	}
	else
	{
		JsonbPair  *pair = &place.parent->val.object.pairs[place.index];

		memmove(pair, pair + 1, sizeof(JsonbPair) * (--place.parent->val.object.nPairs - place.index));
	}
	return taken;
}

/*
 * Operations
 */

/* Refuse a number that Cosmos DB's binary64 can't be near to. */
static void
check_range(const PatchOperation *operation, const char *name, Numeric number)
{
	if (isinf(DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(number)))))
		operation_error(operation, psprintf("%s is out of range", name), "Numbers are up to about 1.8e308.");
}

/* Add to a number, exactly in decimal, or put the first one. */
static void
increment(const PatchOperation *operation, JsonbValue *root)
{
	Place		place = find_place(operation, &operation->path, root);
	JsonbValue	result = operation->value;
	Numeric		number;

	if (place.exists && value_at(&place)->type != jbvNumeric)
		operation_error(operation, psprintf("there is %s, not a number", kind_of(value_at(&place))), NULL);
	check_range(operation, "its value", result.val.numeric);
	if (place.exists)
	{
		number = value_at(&place)->val.numeric;
		check_range(operation, "the number", number);
		result.val.numeric = DatumGetNumeric(DirectFunctionCall2(numeric_add, NumericGetDatum(number), NumericGetDatum(result.val.numeric)));
		check_range(operation, "the sum", result.val.numeric);
	}
	result.val.numeric = DatumGetNumeric(DirectFunctionCall1(numeric_trim_scale, NumericGetDatum(result.val.numeric)));
	if (place.exists)
		*value_at(&place) = result;
	else
		insert_value(&place, llast(operation->path.names), &result);
}

static void
move(const PatchOperation *operation, JsonbValue *root)
{
	JsonbValue	value;

	if (list_length(operation->path.names) > list_length(operation->from.names) &&
		PathStartsWith(operation->path.names, operation->from.names))
		operation_error(operation, "a value can't be moved into itself", NULL);
	value = take_value(operation, &operation->from, root);
	put_value(operation, root, &value);
}

static void
apply(PatchOperation *operation, JsonbValue *root)
{
	Place		place;

	unpack(&operation->value);
	switch (operation->kind)
	{
		case PATCH_ADD:
		case PATCH_SET:
			put_value(operation, root, &operation->value);
			break;
		case PATCH_REPLACE:
			place = find_value(operation, &operation->path, root);
			*value_at(&place) = operation->value;
			break;
		case PATCH_REMOVE:
			(void) take_value(operation, &operation->path, root);
			break;
		case PATCH_INCREMENT:
			increment(operation, root);
			break;
		case PATCH_MOVE:
			move(operation, root);
	}
}

Jsonb *
PatchDocument(Jsonb *doc, Jsonb *json)
{
	List	   *operations = read_operations(json);
	JsonbValue	root = MemberRoot(doc);
	ListCell   *cell;

	if (!MemberIsObject(&root))
		patch_error(psprintf("what is to be patched is %s, not an object", MemberKind(&root)), NULL);
	unpack(&root);
	foreach(cell, operations)
		apply(lfirst(cell), &root);
	return JsonbValueToJsonb(&root);
}

/* patch_document(doc jsonb, operations jsonb) returns jsonb */
PG_FUNCTION_INFO_V1(patch_document);
Datum
patch_document(PG_FUNCTION_ARGS)
{
	Jsonb	   *operations = PG_GETARG_JSONB_P(1);

	PatchCheck(operations, NULL);
	PG_RETURN_JSONB_P(PatchDocument(PG_GETARG_JSONB_P(0), operations));
}
