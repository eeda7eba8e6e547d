/*
 * path.h
 *		Partition key paths: "/tenant_id", "/address/city"; and those of
 *		indexing policies: "/price/?", "/tags/[]/?".
 */
#ifndef PARTITIONKEY_PATH_H
#define PARTITIONKEY_PATH_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

/*
 * Take a path apart into the names of its segments (char *, palloc'd).
 *
 *		path    = 1*( "/" segment ) [ "/" ]
 *		segment = name up to the next "/", blanks around it trimmed
 *				| '"' text '"' | "'" text "'"
 *
 * A quoted text may hold slashes, blanks and the other quote; a quote after a
 * backslash does not end it, and the backslash stays part of the name.  Errors
 * are 42601 or 0A000 and say which of the rules was broken.
 */
extern List *PathSegments(const char *path);

/* Whether names (char *) are the same, or begin with others. */
extern bool PathNamesEqual(const List *a, const List *b);
extern bool PathStartsWith(const List *names, const List *prefix);

/*
 * A path of an indexing policy: as above, with array steps "[]", and a wildcard
 * at the end, "?" for the value there or "*" for all that is below.
 */
typedef struct IndexPath
{
	const char *text;			/* as given */
	List	   *names;			/* char *, up to the first array step */
	bool		in_array;		/* has an array step */
	bool		in_element;		/* and names behind that */
	bool		below;			/* ends in "*" */
	bool		ends;			/* ends in "?" */
} IndexPath;

/* Errors are 42601. */
extern IndexPath *IndexPathParse(const char *path);

/*
 * Find the column of a table that a path names: the column of exactly that
 * name, else of the name folded as SQL folds an unquoted one.  Errors: 42703
 * with the nearest name, 0A000 for a path with several segments.
 */
extern AttrNumber PathColumn(Relation rel, const char *path);

/* The column of exactly that name, else of the name folded; InvalidAttrNumber if there is none. */
extern AttrNumber PathNamedColumn(Relation rel, const char *name);

/* Error 42703 with the nearest name, for a path whose first segment names no column. */
extern void PathNoColumn(Relation rel, const char *path, const char *name);

/* A property's name as a segment, "/name" or "/\"na/me\"", or NULL if no path can name it. */
extern char *PathSegment(const char *name);

/* The paths (char *) of a list "/tenant_id, /user_id".  A comma in a quoted segment does not end one. */
extern List *PathsOfList(const char *list);

#endif							/* PARTITIONKEY_PATH_H */
