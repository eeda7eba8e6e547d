/*
 * definition.c
 *		The definition of a Cosmos DB container: reading it, and giving it back.
 *
 * What is read here is checked as strictly as Cosmos DB does, and everything
 * that nothing is made of is noted, so that the user can be told.  The registry
 * keeps the container's own part of the definition, with kind and version
 * spelled out, and without what the service sets.
 */
#include "postgres.h"

#include <ctype.h>

#include "fmgr.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "definition.h"
#include "epk.h"
#include "key.h"
#include "member.h"
#include "path.h"
#include "ttl.h"

/* Members of a container that become something here. */
static const char *const container_members[] = {"defaultTtl", "id", "indexingPolicy", "partitionKey", "uniqueKeyPolicy", NULL};
static const char *const key_members[] = {"kind", "paths", "systemKey", "version", NULL};

/* What a definition may be wrapped in, from the outside: ARM, az, the answers of REST. */
static const char *const wrappers[] = {"properties", "resource", "value", "DocumentCollections"};

static bool
is_one_of(const char *name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

/* How a partition key with these paths (char *) is written, as a hint. */
static char *
key_hint(List *paths)
{
	StringInfoData hint;
	ListCell   *cell;

	if (paths == NIL)
		paths = list_make1("/tenantId");
	initStringInfo(&hint);
	appendStringInfoString(&hint, "Write \"partitionKey\": {\"paths\": [");
	foreach(cell, paths)
	{
		if (foreach_current_index(cell) > 0)
			appendStringInfoString(&hint, ", ");
		escape_json(&hint, lfirst(cell));
	}
	appendStringInfo(&hint, "], \"kind\": \"%s\", \"version\": 2}.", list_length(paths) == 1 ? "Hash" : "MultiHash");
	return hint.data;
}

static void
definition_error(char *message, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg_internal("%s", message),
			 detail ? errdetail_internal("%s", detail) : 0,
			 errhint("%s", hint)));
}

static char *
joined(List *names)
{
	StringInfoData list;
	ListCell   *cell;

	initStringInfo(&list);
	foreach(cell, names)
		appendStringInfo(&list, "%s%s", foreach_current_index(cell) > 0 ? ", " : "", (char *) lfirst(cell));
	return list.data;
}

/* Find what an object wraps; gives the member's name, or NULL. */
static const char *
wrapped(const JsonbValue *object, JsonbValue *inner)
{
	for (size_t i = 0; i < lengthof(wrappers); i++)
		if (MemberFind(object, wrappers[i], inner) && (MemberIsObject(inner) || MemberIsArray(inner)))
			return wrappers[i];
	return NULL;
}

/* The last part of "account/database/name". */
static char *
last_part(char *name)
{
	char	   *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

/*
 * Go in to the container's own part.  On the way note the members around it,
 * and the name that ARM and az give.
 */
static JsonbValue
unwrap(Definition *definition, JsonbValue value, char **name)
{
	const char *prefix = "";

	for (;;)
	{
		JsonbValue	inner;
		JsonbValue	own_name;
		const char *wrapper = NULL;
		ListCell   *cell;

		if (MemberIsArray(&value))
		{
			List	   *elements = MemberElements(&value);

			if (list_length(elements) != 1)
				definition_error(psprintf("definition is an array of %d, not one container", list_length(elements)), NULL,
								 "Pass one element, for example definition -> 0.");
			value = *(JsonbValue *) linitial(elements);
			continue;
		}
		if (!MemberIsObject(&value))
			MemberKindError("definition", &value, "a JSON object",
							"Pass the container's definition, such as '{\"id\": \"orders\", \"partitionKey\": {\"paths\": [\"/tenantId\"], \"kind\": \"Hash\", \"version\": 2}}'.");
		if (MemberFind(&value, "partitionKey", &inner) || (wrapper = wrapped(&value, &inner)) == NULL)
			return value;

		foreach(cell, MemberNames(&value))
			if (strcmp(lfirst(cell), wrapper) != 0)
				definition->around = lappend(definition->around, psprintf("%s%s", prefix, (char *) lfirst(cell)));
		if (MemberFind(&value, "name", &own_name) && own_name.type == jbvString)
			*name = last_part(MemberCString(&own_name));
		prefix = psprintf("%s%s.", prefix, wrapper);
		value = inner;
	}
}

/* Read the paths as strings, whatever they are. */
static List *
read_paths(const JsonbValue *key)
{
	JsonbValue	paths;
	List	   *list = NIL;
	ListCell   *cell;

	if (!MemberFind(key, "paths", &paths))
		definition_error("partitionKey has no paths", NULL, key_hint(NIL));
	if (!MemberIsArray(&paths))
		MemberKindError("partitionKey.paths", &paths, "an array",
						key_hint(paths.type == jbvString ? list_make1(MemberCString(&paths)) : NIL));
	foreach(cell, MemberElements(&paths))
	{
		JsonbValue *path = lfirst(cell);

		if (path->type != jbvString)
			MemberKindError(psprintf("partitionKey.paths[%d]", foreach_current_index(cell)), path, "a string", key_hint(NIL));
		list = lappend(list, MemberCString(path));
	}
	if (list == NIL)
		definition_error("partitionKey.paths is empty", NULL, key_hint(NIL));
	return list;
}

/* Check the paths, and take them over. */
static void
set_paths(Definition *definition, List *paths)
{
	ListCell   *cell;

	if (list_length(paths) > MAX_LEVELS)
		definition_error(psprintf("partitionKey has %d paths", list_length(paths)),
						 psprintf("A hierarchical partition key has at most %d, in Cosmos DB too.", MAX_LEVELS),
						 key_hint(list_copy_head(paths, MAX_LEVELS)));
	foreach(cell, paths)
	{
		char	   *path = lfirst(cell);
		List	   *segments = PathSegments(path);

		for (int i = 0; i < definition->levels; i++)
			if (PathNamesEqual(PathSegments(definition->paths[i]), segments))
				definition_error(psprintf("partitionKey has the path %s twice", path), NULL, "Give each path once.");
		definition->paths[definition->levels++] = path;
	}
}

/* Read the kind, which has to suit the number of paths. */
static void
set_kind(Definition *definition, const JsonbValue *key, List *paths)
{
	JsonbValue	kind;

	definition->kind = "Hash";
	if (MemberFind(key, "kind", &kind))
	{
		if (kind.type != jbvString)
			MemberKindError("partitionKey.kind", &kind, "a string", key_hint(paths));
		definition->kind = MemberCString(&kind);
	}
	if (strcmp(definition->kind, "Range") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("partitionKey.kind is \"Range\", a legacy without a hash"),
				 errhint("%s", key_hint(paths))));
	if (strcmp(definition->kind, "Hash") != 0 && strcmp(definition->kind, "MultiHash") != 0)
		definition_error(psprintf("partitionKey.kind \"%s\" is unknown", definition->kind),
						 "The kinds are \"Hash\", for one path, and \"MultiHash\", for a hierarchical key.", key_hint(paths));
	if (strcmp(definition->kind, "Hash") == 0 && list_length(paths) > 1)
		definition_error(psprintf("partitionKey has %d paths, but its kind is \"Hash\"", list_length(paths)),
						 "Several paths are of kind \"MultiHash\".", key_hint(paths));
}

/* Read the version, which has to suit the kind.  None is 1, but for MultiHash, which has no version 1. */
static void
set_version(Definition *definition, const JsonbValue *key, List *paths)
{
	bool		multi = strcmp(definition->kind, "MultiHash") == 0;
	JsonbValue	version;

	definition->version = multi ? 2 : 1;
	definition->has_version = MemberFind(key, "version", &version);
	if (definition->has_version)
	{
		double		number;

		if (version.type != jbvNumeric)
			MemberKindError("partitionKey.version", &version, "a number", key_hint(paths));
		number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(version.val.numeric)));
		if (number != 1 && number != 2)
			definition_error(psprintf("partitionKey.version %s is unknown",
									  DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(version.val.numeric)))),
							 "The versions are 1 and 2.", key_hint(paths));
		definition->version = (int) number;
	}
	if (multi && definition->version == 1)
		definition_error("partitionKey has kind \"MultiHash\" and version 1",
						 "Kind \"MultiHash\" has version 2 alone.", key_hint(paths));
}

static void
read_key(Definition *definition, const JsonbValue *container)
{
	JsonbValue	key;
	JsonbValue	system_key;
	List	   *paths;
	ListCell   *cell;

	if (!MemberFind(container, "partitionKey", &key))
		definition_error("definition has no partitionKey",
						 MemberNames(container) == NIL ? NULL : psprintf("It has %s.", joined(MemberNames(container))),
						 key_hint(NIL));
	if (!MemberIsObject(&key))
		MemberKindError("partitionKey", &key, "an object",
						key_hint(key.type == jbvString ? list_make1(MemberCString(&key)) : NIL));
	paths = read_paths(&key);
	set_paths(definition, paths);
	set_kind(definition, &key, paths);
	set_version(definition, &key, paths);
	if (MemberFind(&key, "systemKey", &system_key))
	{
		if (system_key.type != jbvBool)
			MemberKindError("partitionKey.systemKey", &system_key, "a boolean", key_hint(paths));
		definition->system_key = system_key.val.boolean;
	}
	foreach(cell, MemberNames(&key))
		if (!is_one_of(lfirst(cell), key_members))
			definition->idle = lappend(definition->idle, psprintf("partitionKey.%s", (char *) lfirst(cell)));
}

/* The id; a definition without one is called as what it was wrapped in. */
static void
read_id(Definition *definition, const JsonbValue *container, char *name)
{
	JsonbValue	id;
	ListCell   *cell;

	if (MemberFind(container, "id", &id))
	{
		if (id.type != jbvString)
			MemberKindError("id", &id, "a string", "Write for example \"id\": \"orders\".");
		definition->id = MemberCString(&id);
		if (*definition->id == '\0')
			definition_error("id is empty", NULL, "Write for example \"id\": \"orders\".");
		return;
	}
	definition->id = name;
	foreach(cell, definition->around)
		if (strcmp(lfirst(cell), "name") == 0)
			definition->around = foreach_delete_current(definition->around, cell);
}

/* Read a policy, which is an object if it is there. */
static JsonbValue
read_policy(const JsonbValue *container, const char *name)
{
	JsonbValue	policy;

	if (!MemberFind(container, name, &policy))
		policy.type = jbvNull;
	else if (!MemberIsObject(&policy))
		MemberKindError(name, &policy, "an object", "Leave it out, or give it as Cosmos DB does.");
	return policy;
}

/* The time to live, which is kept. */
static void
check_ttl(Definition *definition, const JsonbValue *container)
{
	JsonbValue	ttl;

	definition->has_ttl = MemberFind(container, "defaultTtl", &ttl);
	if (definition->has_ttl && !TtlRead(&ttl, &definition->ttl))
		TtlRequire("defaultTtl", &ttl);
}

/* An object with the members of two; those of the second win. */
static Datum
merged(Datum json, const char *members)
{
	return DirectFunctionCall2(jsonb_concat, json, DirectFunctionCall1(jsonb_in, CStringGetDatum(members)));
}

/* The id as the member of an object. */
static char *
id_member(const char *id)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"id\": ");
	escape_json(&json, id);
	appendStringInfoChar(&json, '}');
	return json.data;
}

/* The container's part of the definition as it is kept: what the service sets is left out, kind and version are told. */
static Jsonb *
kept(const Definition *definition, const JsonbValue *container)
{
	Datum		json = JsonbPGetDatum(JsonbValueToJsonb((JsonbValue *) container));
	JsonbValue	key;
	Datum		key_json;
	ListCell   *cell;

	foreach(cell, definition->service)
		json = DirectFunctionCall2(jsonb_delete, json, CStringGetTextDatum(lfirst(cell)));
	(void) MemberFind(container, "partitionKey", &key);
	key_json = merged(JsonbPGetDatum(JsonbValueToJsonb(&key)),
					  psprintf("{\"kind\": \"%s\", \"version\": %d}", definition->kind, definition->version));
	json = merged(json, psprintf("{\"partitionKey\": %s}", DatumGetCString(DirectFunctionCall1(jsonb_out, key_json))));
	if (definition->id != NULL) /* it may stand around the container only */
		json = merged(json, id_member(definition->id));
	return DatumGetJsonbP(JsonbStripNulls(json));
}

void
DefinitionRead(Definition *definition, Jsonb *json)
{
	char	   *name = NULL;
	JsonbValue	container;
	ListCell   *cell;

	memset(definition, 0, sizeof(Definition));
	container = unwrap(definition, MemberRoot(json), &name);
	read_key(definition, &container);
	read_id(definition, &container, name);
	definition->indexing_policy = read_policy(&container, "indexingPolicy");
	definition->unique_key_policy = read_policy(&container, "uniqueKeyPolicy");
	check_ttl(definition, &container);
	foreach(cell, MemberNames(&container))
	{
		char	   *member = lfirst(cell);

		if (*member == '_' || strcmp(member, "statistics") == 0)
			definition->service = lappend(definition->service, member);
		else if (!is_one_of(member, container_members))
			definition->idle = lappend(definition->idle, member);
	}
	definition->json = kept(definition, &container);
}

char *
DefinitionTableName(const char *id)
{
	char	   *folded = downcase_identifier(id, strlen(id), false, false);

	for (const char *c = folded; *c != '\0'; c++)
		if (!(*c >= 'a' && *c <= 'z') && *c != '_' && (c == folded || !isdigit((unsigned char) *c)))
			return pstrdup(id);
	return folded;
}

/* The definition of a container that was not made from one: what it has to have. */
static Jsonb *
minimal_definition(const Container *container)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"partitionKey\": {\"paths\": [");
	for (int i = 0; i < container->levels; i++)
	{
		if (i > 0)
			appendStringInfoChar(&json, ',');
		escape_json(&json, container->paths[i]);
	}
	appendStringInfo(&json, "], \"kind\": \"%s\", \"version\": 2}}", container->levels == 1 ? "Hash" : "MultiHash");
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data)));
}

/* The id that a container has now: the one it was defined with, or the table's name if that is another by now. */
static char *
current_id(const Container *container, const JsonbValue *definition)
{
	char	   *table = get_rel_name(container->relid);
	JsonbValue	id;

	if (MemberFind(definition, "id", &id) && strcmp(DefinitionTableName(MemberCString(&id)), table) == 0)
		return MemberCString(&id);
	return table;
}

/* What the registry holds is true but for the id: the key can't be changed. */
Jsonb *
DefinitionOf(const Container *container)
{
	Jsonb	   *json = RegistryDefinition(container);
	JsonbValue	root;

	if (json == NULL)
		json = minimal_definition(container);
	root = MemberRoot(json);
	return DatumGetJsonbP(merged(JsonbPGetDatum(json), id_member(current_id(container, &root))));
}

/* container_definition(container regclass) returns jsonb */
PG_FUNCTION_INFO_V1(container_definition);
Datum
container_definition(PG_FUNCTION_ARGS)
{
	PG_RETURN_JSONB_P(DefinitionOf(ContainerLookup(PG_GETARG_OID(0), false)));
}

/*
 * epk_of(container regclass, key jsonb) returns text
 *
 * The EPK in Cosmos DB, by the kind and version of the definition there.
 */
PG_FUNCTION_INFO_V1(epk_of);
Datum
epk_of(PG_FUNCTION_ARGS)
{
	Container  *container = ContainerLookup(PG_GETARG_OID(0), false);
	Jsonb	   *json = RegistryDefinition(container);
	Definition	definition;
	Key			key;

	DefinitionRead(&definition, json ? json : minimal_definition(container));
	KeyFromJsonb(&key, PG_GETARG_JSONB_P(1));
	if (key.levels > container->levels)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key has %d components, but container \"%s\" takes at most %d",
						key.levels, get_rel_name(container->relid), container->levels)));
	PG_RETURN_TEXT_P(cstring_to_text(EpkHex(definition.kind, definition.version, &key)));
}
