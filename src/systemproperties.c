/*
 * systemproperties.c
 *		Taking the properties that Cosmos DB adds out of an item.
 *
 * Nearly every exported item has them.  So they are taken out of jsonb's binary
 * format, which is that of the disk and doesn't change: to take an object apart and put it together
 * again takes as long as to parse it.
 *
 * An object is a header with the number n of its members, an entry for each of
 * the n names and then for each of the n values, and their bytes in the same order.  An entry has
 * the kind of its bytes, and where they end: by their length or, for one in
 * JB_OFFSET_STRIDE, by its offset.  Numbers and what is nested are aligned, and padding counts as theirs.
 */
#include "postgres.h"

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

/* An object that is being written. */
typedef struct Target
{
	JsonbContainer *object;
	int			nentries;		/* written */
	char	   *data;			/* its bytes begin here */
	uint32		length;			/* of them, so far */
} Target;

/* Write an entry with its bytes. */
static void
add_entry(Target *target, JEntry entry, const char *data, uint32 offset, uint32 length)
{
	uint32		from = target->length;

	if (JBE_ISNUMERIC(entry) || JBE_ISCONTAINER(entry))
	{
		uint32		padding = INTALIGN(offset) - offset;

		offset += padding;
		length -= padding;
		while (target->length != INTALIGN(target->length))
			target->data[target->length++] = '\0';
	}
	memcpy(target->data + target->length, data + offset, length);
	target->length += length;
	if (target->nentries % JB_OFFSET_STRIDE == 0)
		target->object->children[target->nentries++] = (entry & JENTRY_TYPEMASK) | JENTRY_HAS_OFF | target->length;
	else
		target->object->children[target->nentries++] = (entry & JENTRY_TYPEMASK) | (target->length - from);
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
	Target		target = {.object = &result->root};
	uint32		offset = 0;

	if (kept == n)
	{
		memcpy(result, object, VARSIZE(object));
		return result;
	}
	result->root.header = kept | JB_FOBJECT;
	target.data = (char *) &result->root.children[2 * kept];
	for (int i = 0; i < 2 * n; i++)
	{
		uint32		length = getJsonbLength(source, i);

		if (!removed[i % n])
			add_entry(&target, source->children[i], data, offset, length);
		offset += length;
	}
	SET_VARSIZE(result, target.data + target.length - (char *) result);
	return result;
}
