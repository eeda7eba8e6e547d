/*
 * member.h
 *		Members of JSON objects, with errors that name them.
 *
 * A member that is null counts as absent, since the command line tools of Azure
 * print all that could be there.
 */
#ifndef PARTITIONKEY_MEMBER_H
#define PARTITIONKEY_MEMBER_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/jsonb.h"

/* A JSON document as a value. */
extern JsonbValue MemberRoot(Jsonb *json);

/* What kind of value it is: "a string", "an object" ... */
extern const char *MemberKind(const JsonbValue *value);
extern bool MemberIsObject(const JsonbValue *value);
extern bool MemberIsArray(const JsonbValue *value);

/* Find a member of an object; false if it is absent or null. */
extern bool MemberFind(const JsonbValue *object, const char *name, JsonbValue *value);

/* The names of an object's members (char *), in alphabetical order. */
extern List *MemberNames(const JsonbValue *object);

/* The elements of an array (JsonbValue *). */
extern List *MemberElements(const JsonbValue *array);

/* A string as a C string. */
extern char *MemberCString(const JsonbValue *string);

/* An error (22023): a member, as the user would name it, is of another kind than the one wanted. */
extern void MemberKindError(const char *member, const JsonbValue *value, const char *wanted, const char *hint);

#endif							/* PARTITIONKEY_MEMBER_H */
