/*
 * systemproperties.c
 *		Taking the properties that Cosmos DB adds out of an item.
 *
 * Nearly every exported item has them.  So they are taken out of jsonb's binary
 * format, which is that of the disk and doesn't change: to take an object apart and put it together
 * again takes as long as to parse it.
 */
#include "postgres.h"

#include "objectwriter.h"
#include "systemproperties.h"

const char *const SystemProperties[SYSTEM_PROPERTIES] = {"_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"};

int
SystemProperty(const char *name, int length)
{
	for (int i = 0; length > 0 && *name == '_' && i < SYSTEM_PROPERTIES; i++)
		if ((int) strlen(SystemProperties[i]) == length && memcmp(SystemProperties[i], name, length) == 0)
			return i;
	return -1;
}

/* The members of an object that are to be removed: a bool for each.  Gives their number. */
static int
find_members(const JsonbContainer *object, int n, int which, bool *removed)
{
	const char *data = (const char *) &object->children[2 * n];
	uint32		offset = 0;
	int			count = 0;

	for (int i = 0; i < n; i++)
	{
		uint32		length = getJsonbLength(object, i);
		int			property = SystemProperty(data + offset, length);

		removed[i] = property >= 0 && (which & (1 << property)) != 0;
		count += removed[i];
		offset += length;
	}
	return count;
}

Jsonb *
SystemPropertiesRemove(Jsonb *object, int which)
{
	const JsonbContainer *source = &object->root;
	int			n = JsonContainerSize(source);
	const char *data = (const char *) &source->children[2 * n];
	bool	   *removed = palloc(n + 1);
	int			kept = n - find_members(source, n, which, removed);
	Jsonb	   *result = palloc(VARSIZE(object));
	ObjectWriter writer;
	uint32		offset = 0;

	if (kept == n)
	{
		memcpy(result, object, VARSIZE(object));
		return result;
	}
	ObjectWriterStart(&writer, result, kept);
	for (int i = 0; i < 2 * n; i++)
	{
		uint32		length = getJsonbLength(source, i);

		if (!removed[i % n])
			ObjectWriterAdd(&writer, source->children[i], data, offset, length);
		offset += length;
	}
	ObjectWriterEnd(&writer, result);
	return result;
}
