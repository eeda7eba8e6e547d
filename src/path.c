/*
 * path.c
 *		Parsing partition key paths and index paths, and finding columns.
 *
 * The grammar is that of the Java and JavaScript SDKs.  Wildcards and array
 * steps are for index paths alone.
 */
#include "postgres.h"

#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "path.h"

/* A path while it is taken apart. */
typedef struct PathScan
{
	const char *what;			/* "partition key path" or "index path" */
	const char *path;
	const char *next;			/* what is not read yet */
} PathScan;

typedef struct Segment
{
	char	   *name;
	bool		quoted;
} Segment;

static void
path_error(const PathScan *scan, const char *problem, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("%s \"%s\" %s", scan->what, scan->path, problem),
			 hint ? errhint("%s", hint) : 0));
}

/* Without the backslashes before quotes of the kind that is around a name. */
static char *
without_escapes(char *name, char quote)
{
	char	   *to = name;

	for (const char *from = name; *from != '\0'; from++)
	{
		if (from[0] == '\\' && from[1] == quote)
			from++;
		*to++ = *from;
	}
	*to = '\0';
	return name;
}

/* Read a quoted segment, and move behind it. */
static char *
quoted_segment(PathScan *scan)
{
	char		quote = *scan->next;
	const char *start = scan->next + 1;
	const char *end = start;

	while (*end != '\0' && !(*end == quote && end[-1] != '\\'))
		end++;
	if (*end == '\0')
		path_error(scan, "has a quote that is not closed", NULL);
	scan->next = end + 1;
	if (*scan->next != '/' && *scan->next != '\0')
		path_error(scan, "goes on behind a closing quote", "A quoted name fills its whole segment.");
	return without_escapes(pnstrdup(start, end - start), quote);
}

/* Read a plain segment without the blanks around it, and move behind it. */
static char *
plain_segment(PathScan *scan)
{
	const char *start = scan->next;
	const char *end;

	scan->next += strcspn(scan->next, "/");
	end = scan->next;
	while (start < end && scanner_isspace(*start))
		start++;
	while (end > start && scanner_isspace(end[-1]))
		end--;
	return pnstrdup(start, end - start);
}

/* Take a path apart into segments (Segment *). */
static List *
path_segments(PathScan *scan)
{
	List	   *segments = NIL;

	if (*scan->path == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("%s is empty", scan->what),
				 errhint("A path is a slash and a name, such as \"/tenant_id\".")));
	if (*scan->path != '/')
		path_error(scan, "does not start with a slash", psprintf("Write \"/%s\".", scan->path));
	if (strcmp(scan->path, "/") == 0)
		path_error(scan, "names nothing", "A path is a slash and a name, such as \"/tenant_id\".");

	while (*scan->next == '/')
	{
		Segment    *segment;

		scan->next++;
		if (*scan->next == '\0')
			break;				/* one slash at the end is skipped */
		segment = palloc(sizeof(Segment));
		segment->quoted = *scan->next == '"' || *scan->next == '\'';
		segment->name = segment->quoted ? quoted_segment(scan) : plain_segment(scan);
		if (*segment->name == '\0')
			path_error(scan, "has an empty segment", "Write each name once after a single slash.");
		segments = lappend(segments, segment);
	}
	return segments;
}

static bool
is_step(const Segment *segment, const char *step)
{
	return !segment->quoted && strcmp(segment->name, step) == 0;
}

List *
PathSegments(const char *path)
{
	PathScan	scan = {"partition key path", path, path};
	List	   *names = NIL;
	ListCell   *cell;

	foreach(cell, path_segments(&scan))
	{
		Segment    *segment = lfirst(cell);

		if (is_step(segment, "*") || is_step(segment, "?"))
			path_error(&scan, "has a wildcard", "A partition key path names one property; wildcards belong to indexing policies.");
		if (is_step(segment, "[]"))
			path_error(&scan, "goes through an array", "A partition key can't be taken from an array.");
		names = lappend(names, segment->name);
	}
	return names;
}

bool
PathStartsWith(const List *names, const List *prefix)
{
	ListCell   *a;
	ListCell   *b;

	forboth(a, names, b, prefix)
	{
		if (strcmp(lfirst(a), lfirst(b)) != 0)
			return false;
	}
	return list_length(names) >= list_length(prefix);
}

bool
PathNamesEqual(const List *a, const List *b)
{
	return list_length(a) == list_length(b) && PathStartsWith(a, b);
}

IndexPath *
IndexPathParse(const char *path)
{
	PathScan	scan = {"index path", path, path};
	IndexPath  *result = palloc0(sizeof(IndexPath));
	ListCell   *cell;

	result->text = path;
	foreach(cell, path_segments(&scan))
	{
		Segment    *segment = lfirst(cell);

		if (result->below || result->ends)
			path_error(&scan, "goes on behind a wildcard", "The wildcards \"?\" and \"*\" end a path.");
		if (is_step(segment, "*"))
			result->below = true;
		else if (is_step(segment, "?"))
			result->ends = true;
		else if (is_step(segment, "[]"))
			result->in_array = true;
		else if (result->in_array)
			result->in_element = true;
		else
			result->names = lappend(result->names, segment->name);
	}
	return result;
}

/* Find the live user column of this name, or InvalidAttrNumber. */
static AttrNumber
column_named(TupleDesc desc, const char *name)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && strcmp(NameStr(att->attname), name) == 0)
			return att->attnum;
	}
	return InvalidAttrNumber;
}

/* The column whose name is nearest to a name, if any is near enough to be meant. */
static const char *
nearest_column(TupleDesc desc, const char *name)
{
	const char *nearest = NULL;
	int			len = strlen(name);
	int			best = Max(3, len / 2) + 1;

	if (len >= NAMEDATALEN)
		return NULL;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		const char *column = NameStr(att->attname);
		int			distance;

		if (att->attisdropped)
			continue;
		distance = varstr_levenshtein_less_equal(name, len, column, strlen(column),
												 1, 1, 1, best - 1, true);
		if (distance < best)
		{
			best = distance;
			nearest = column;
		}
	}
	return nearest;
}

AttrNumber
PathNamedColumn(Relation rel, const char *name)
{
	AttrNumber	column = column_named(RelationGetDescr(rel), name);

	if (column == InvalidAttrNumber)
		column = column_named(RelationGetDescr(rel), downcase_identifier(name, strlen(name), false, false));
	return column;
}

void
PathNoColumn(Relation rel, const char *path, const char *name)
{
	const char *nearest = nearest_column(RelationGetDescr(rel), downcase_identifier(name, strlen(name), false, false));

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("partition key path \"%s\": table \"%s\" has no column \"%s\"",
					path, RelationGetRelationName(rel), name),
			 nearest ? errhint("Perhaps you meant \"/%s\".", nearest) :
			 errhint("A path names a column of the table.")));
}

AttrNumber
PathColumn(Relation rel, const char *path)
{
	List	   *segments = PathSegments(path);
	AttrNumber	column;

	if (list_length(segments) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("partition key path \"%s\" is nested", path),
				 errdetail("The keys of a table are its columns, which have no properties."),
				 errhint("Keep the value in a column of its own and name that column.")));
	column = PathNamedColumn(rel, linitial(segments));
	if (column == InvalidAttrNumber)
		PathNoColumn(rel, path, linitial(segments));
	return column;
}

/* Whether a name, written without quotes, is read as a segment of just that name. */
static bool
is_plain(const char *name)
{
	size_t		len = strlen(name);

	return strpbrk(name, "/,") == NULL && *name != '"' && *name != '\'' &&
		!scanner_isspace(*name) && !scanner_isspace(name[len - 1]) &&
		strcmp(name, "*") != 0 && strcmp(name, "?") != 0 && strcmp(name, "[]") != 0;
}

char *
PathSegment(const char *name)
{
	size_t		len = strlen(name);
	char		quote = strchr(name, '"') == NULL ? '"' : '\'';

	if (len == 0)
		return NULL;
	if (is_plain(name))
		return psprintf("/%s", name);
	/* A backslash at the end would keep the quote from closing. */
	if (strchr(name, quote) != NULL || name[len - 1] == '\\')
		return NULL;
	return psprintf("/%c%s%c", quote, name, quote);
}

List *
PathsOfList(const char *list)
{
	List	   *paths = NIL;
	const char *start = list;
	char		quote = '\0';

	for (const char *p = list;; p++)
	{
		if (*p == '\0' || (*p == ',' && quote == '\0'))
		{
			const char *end = p;

			while (start < end && scanner_isspace(*start))
				start++;
			while (end > start && scanner_isspace(end[-1]))
				end--;
			paths = lappend(paths, pnstrdup(start, end - start));
			start = p + 1;
			if (*p == '\0')
				return paths;
		}
		else if (quote == '\0' && p > list && p[-1] == '/' && (*p == '"' || *p == '\''))
			quote = *p;
		else if (*p == quote && p[-1] != '\\')
			quote = '\0';
	}
}
