/*
 * pattern.c
 *		Patterns that a key column is compared with.
 *
 * A pattern without wildcards is an equality.  The planner takes it for one where it
 * looks into an index, but not where it prunes.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "pattern.h"

#define SIMILAR_TO_BEGINS	"^(?:"
#define SIMILAR_TO_ENDS		")$"

/* A constant pattern, or NULL. */
static char *
pattern_text(Node *value)
{
	Const	   *constant = (Const *) value;

	if (value == NULL || !IsA(value, Const) || constant->constisnull || constant->consttype != TEXTOID)
		return NULL;
	return TextDatumGetCString(constant->constvalue);
}

/* What is between a beginning and an end, or NULL. */
static char *
between(const char *text, const char *begin, const char *end)
{
	size_t		len = strlen(text);

	if (len < strlen(begin) + strlen(end) || strncmp(text, begin, strlen(begin)) != 0 || strcmp(text + len - strlen(end), end) != 0)
		return NULL;
	return pnstrdup(text + strlen(begin), len - strlen(begin) - strlen(end));
}

bool
PatternIsSimilarTo(Node *value)
{
	char	   *text = pattern_text(value);

	return text != NULL && between(text, SIMILAR_TO_BEGINS, SIMILAR_TO_ENDS) != NULL;
}

/* Whether letters may be of either case. */
static bool
has_letters(const char *text)
{
	for (; *text != '\0'; text++)
		if (IS_HIGHBIT_SET(*text) || isalpha((unsigned char) *text))
			return true;
	return false;
}

char *
PatternOnlyMatch(const char *kind, Node *value)
{
	bool		like = strcmp(kind, "LIKE") == 0 || strcmp(kind, "ILIKE") == 0;
	char	   *text = pattern_text(value);

	if (text != NULL && strcmp(kind, "SIMILAR TO") == 0)
		text = between(text, SIMILAR_TO_BEGINS, SIMILAR_TO_ENDS);
	else if (text != NULL && !like)
		text = strcmp(kind, "^@") == 0 ? NULL : between(text, "^", "$");
	if (text == NULL || strpbrk(text, like ? "%_\\" : ".*+?()[]{}|^$\\") != NULL)
		return NULL;
	return (strcmp(kind, "ILIKE") == 0 || strcmp(kind, "~*") == 0) && has_letters(text) ? NULL : text;
}
