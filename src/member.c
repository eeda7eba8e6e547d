/*
 * member.c
 *		Members of JSON objects, with errors that name them.
 */
#include "postgres.h"

#include "key.h"
#include "member.h"

JsonbValue
MemberRoot(Jsonb *json)
{
	JsonbValue	value;

	if (!JsonbExtractScalar(&json->root, &value))
	{
		value.type = jbvBinary;
		value.val.binary.data = &json->root;
		value.val.binary.len = VARSIZE_ANY_EXHDR(json);
	}
	return value;
}

bool
MemberIsObject(const JsonbValue *value)
{
	return value->type == jbvBinary && JsonContainerIsObject(value->val.binary.data);
}

bool
MemberIsArray(const JsonbValue *value)
{
	return value->type == jbvBinary && JsonContainerIsArray(value->val.binary.data);
}

const char *
MemberKind(const JsonbValue *value)
{
	/* {} stands for undefined in keys alone */
	return MemberIsObject(value) ? "an object" : KeyValueKind(value);
}

bool
MemberFind(const JsonbValue *object, const char *name, JsonbValue *value)
{
	return getKeyJsonValueFromContainer(object->val.binary.data, name, strlen(name), value) != NULL &&
		value->type != jbvNull;
}

static int
compare_names(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

List *
MemberNames(const JsonbValue *object)
{
	JsonbIterator *iterator = JsonbIteratorInit(object->val.binary.data);
	JsonbIteratorToken token;
	JsonbValue	value;
	List	   *names = NIL;
	char	   *name = NULL;

	while ((token = JsonbIteratorNext(&iterator, &value, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			name = MemberCString(&value);
		else if (token == WJB_VALUE && value.type != jbvNull)
			names = lappend(names, name);
	}
	list_sort(names, compare_names);
	return names;
}

List *
MemberElements(const JsonbValue *array)
{
	List	   *elements = NIL;

	for (uint32 i = 0; i < JsonContainerSize(array->val.binary.data); i++)
		elements = lappend(elements, getIthJsonbValueFromContainer(array->val.binary.data, i));
	return elements;
}

char *
MemberCString(const JsonbValue *string)
{
	return pnstrdup(string->val.string.val, string->val.string.len);
}

void
MemberKindError(const char *member, const JsonbValue *value, const char *wanted, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s is %s, not %s", member, MemberKind(value), wanted),
			 errhint("%s", hint)));
}
