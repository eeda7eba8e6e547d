/*
 * itemresult.c
 *		An item as it is given to the reader: its document with the properties _etag and _ts.
 *
 * This is done for each item that is read, so the members are put into jsonb's binary format,
 * at the places that its order of names, by length and then by bytes, has for them.
 */
#include "postgres.h"

#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "etag.h"
#include "itemresult.h"
#include "objectwriter.h"

/* A member to be set. */
typedef struct Member
{
	const char *name;
	int			length;
	JEntry		kind;
	const char *value;
	uint32		value_length;
	int			place;			/* before this member of the document .. */
	bool		replaces;		/* .. or in its place */
} Member;

/* The order of names in an object. */
static int
compare_names(const char *a, int alength, const char *b, int blength)
{
	return alength != blength ? alength - blength : memcmp(a, b, alength);
}

/* Find a member's place among the names of an object. */
static void
find_place(Member *member, const JsonbContainer *object, int n)
{
	const char *names = (const char *) &object->children[2 * n];
	int			low = 0;
	int			high = n;

	member->replaces = false;
	while (low < high)
	{
		int			middle = (low + high) / 2;
		int			order = compare_names(names + getJsonbOffset(object, middle), getJsonbLength(object, middle),
										  member->name, member->length);

		if (order == 0)
		{
			member->replaces = true;
			low = middle;
			break;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	member->place = low;
}

/* Write the names of an object (which = 0), or the values (1), with the new ones, which are in their order. */
static void
write_half(ObjectWriter *writer, const JsonbContainer *source, int n, int which, const Member *members, int nmembers)
{
	const char *data = (const char *) &source->children[2 * n];
	uint32		offset = which == 0 ? 0 : getJsonbOffset(source, n);
	int			next = 0;

	for (int i = 0; i <= n; i++)
	{
		uint32		length = i < n ? getJsonbLength(source, which * n + i) : 0;
		bool		replaced = false;

		for (; next < nmembers && members[next].place == i; next++)
		{
			const Member *member = &members[next];

			if (which == 0)
				ObjectWriterAdd(writer, JENTRY_ISSTRING, member->name, 0, member->length);
			else
				ObjectWriterAdd(writer, member->kind, member->value, 0, member->value_length);
			replaced |= member->replaces;
		}
		if (i < n && !replaced)
			ObjectWriterAdd(writer, source->children[which * n + i], data, offset, length);
		offset += length;
	}
}

/* Set members, which are in the order of their names. */
static Jsonb *
set_members(Jsonb *doc, Member *members, int nmembers)
{
	const JsonbContainer *source = &doc->root;
	int			n = JsonContainerSize(source);
	int			total = n;
	Size		size = VARSIZE(doc);
	Jsonb	   *result;
	ObjectWriter writer;

	for (int i = 0; i < nmembers; i++)
	{
		find_place(&members[i], source, n);
		total += !members[i].replaces;
		/* two entries, and what aligns the value and the one behind it */
		size += 2 * sizeof(JEntry) + members[i].length + members[i].value_length + 2 * sizeof(int);
	}
	result = palloc(size);
	ObjectWriterStart(&writer, result, total);
	write_half(&writer, source, n, 0, members, nmembers);
	write_half(&writer, source, n, 1, members, nmembers);
	ObjectWriterEnd(&writer, result);
	return result;
}

Jsonb *
ItemResult(Jsonb *doc, bool has_etag, const pg_uuid_t *etag, bool has_ts, TimestampTz ts)
{
	Member		members[2];
	int			nmembers = 0;
	char		text[ETAG_TEXT_LENGTH + 1];

	if (!JB_ROOT_IS_OBJECT(doc))
		return doc;
	if (has_ts && !TIMESTAMP_NOT_FINITE(ts))
	{
		/* rounded down before the epochs are exchanged: far dates have no room for that in microseconds */
		int64		seconds = ts / USECS_PER_SEC - (ts % USECS_PER_SEC < 0) +
			(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
		Numeric		number = int64_to_numeric(seconds);

		members[nmembers++] = (Member) {.name = "_ts", .length = 3, .kind = JENTRY_ISNUMERIC,
			.value = (const char *) number, .value_length = VARSIZE(number)};
	}
	if (has_etag)
	{
		EtagText(etag, text);
		members[nmembers++] = (Member) {.name = "_etag", .length = 5, .kind = JENTRY_ISSTRING,
			.value = text, .value_length = ETAG_TEXT_LENGTH};
	}
	return nmembers == 0 ? doc : set_members(doc, members, nmembers);
}
