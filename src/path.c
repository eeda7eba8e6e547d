/*
 * path.c
 *		Parsing partition key paths and finding their columns.
 *
 * The grammar is that of the Java and JavaScript SDKs, less what a partition
 * key path must not hold: wildcards and array steps.
 */
#include "postgres.h"

#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#include "path.h"

static void
path_error(const char *path, const char *problem, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("partition key path \"%s\" %s", path, problem),
			 hint ? errhint("%s", hint) : 0));
}

/* Read a quoted segment that starts at *p, and move *p behind it. */
static char *
quoted_segment(const char *path, const char **p)
{
	const char *start = *p + 1;
	const char *end = start;

	while (*end != '\0' && !(*end == **p && end[-1] != '\\'))
		end++;
	if (*end == '\0')
		path_error(path, "has a quote that is not closed", NULL);
	*p = end + 1;
	if (**p != '/' && **p != '\0')
		path_error(path, "goes on behind a closing quote", "A quoted name fills its whole segment.");
	return pnstrdup(start, end - start);
}

/* Read a plain segment that starts at *p, without the blanks around it, and move *p behind it. */
static char *
plain_segment(const char **p)
{
	const char *start = *p;
	const char *end;

	*p += strcspn(*p, "/");
	end = *p;
	while (start < end && scanner_isspace(*start))
		start++;
	while (end > start && scanner_isspace(end[-1]))
		end--;
	return pnstrdup(start, end - start);
}

List *
PathSegments(const char *path)
{
	List	   *segments = NIL;
	const char *p = path;

	if (*path == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("partition key path is empty"),
				 errhint("A path is a slash and a name, such as \"/tenant_id\".")));
	if (*path != '/')
		path_error(path, "does not start with a slash", psprintf("Write \"/%s\".", path));
	if (strcmp(path, "/") == 0)
		path_error(path, "names nothing", "A path is a slash and a name, such as \"/tenant_id\".");

	while (*p == '/')
	{
		char	   *segment;
		bool		quoted;

		p++;
		if (*p == '\0')
			break;				/* one slash at the end is skipped */
		quoted = *p == '"' || *p == '\'';
		segment = quoted ? quoted_segment(path, &p) : plain_segment(&p);
		if (*segment == '\0')
			path_error(path, "has an empty segment", "Write each name once after a single slash.");
		if (!quoted && (strcmp(segment, "*") == 0 || strcmp(segment, "?") == 0))
			path_error(path, "has a wildcard", "A partition key path names one property; wildcards belong to indexing policies.");
		if (!quoted && strcmp(segment, "[]") == 0)
			path_error(path, "goes through an array", "A partition key can't be taken from an array.");
		segments = lappend(segments, segment);
	}
	return segments;
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
