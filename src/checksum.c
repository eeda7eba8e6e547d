/*
 * checksum.c
 *		Checksums of documents.
 *
 * Each member has one, over its name and what is in it, in the order in which jsonb
 * has that, which is always the same.  The sum of the members' is hashed once more,
 * so that members of different documents can't be exchanged when documents' are added.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "checksum.h"
#include "position.h"
#include "systemproperties.h"

/* Take a token of a document into a checksum. */
static uint64
add_token(uint64 sum, JsonbIteratorToken token, const JsonbValue *value)
{
	Component	c;

	sum = hash_combine64(sum, token);
	if (token == WJB_KEY || token == WJB_VALUE || token == WJB_ELEM)
	{
		(void) ComponentSetJsonbValue(&c, value);
		sum = hash_combine64(sum, Position(HASH_XXHASH, &c));
	}
	return sum;
}

static uint64
mix(uint64 sum)
{
	return hash_bytes_extended((unsigned char *) &sum, sizeof(sum), 0);
}

static bool
is_stripped(int stripped, const JsonbValue *name)
{
	int			property = SystemProperty(name->val.string.val, name->val.string.len);

	return property >= 0 && (stripped & (1 << property)) != 0;
}

Checksum
ChecksumOf(Jsonb *doc, int stripped)
{
	Checksum	checksum = {0, 0};
	JsonbIterator *iterator = JsonbIteratorInit(&doc->root);
	JsonbIteratorToken token;
	JsonbValue	value;
	int			depth = 0;
	uint64		member = 0;
	bool		counts = true;	/* the member is no system property that is left out */
	bool		is_id = false;

	while ((token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE)
	{
		if (token == WJB_KEY && depth == 1)
		{
			counts = !is_stripped(stripped, &value);
			is_id = value.val.string.len == 2 && memcmp(value.val.string.val, "id", 2) == 0;
			member = 0;
		}
		if (token == WJB_BEGIN_OBJECT || token == WJB_BEGIN_ARRAY)
			depth++;
		else if (token == WJB_END_OBJECT || token == WJB_END_ARRAY)
			depth--;
		member = add_token(member, token, &value);

		/* The member ends with its value, or with the bracket that closes it. */
		if (depth == 1 && counts && token != WJB_KEY && token != WJB_BEGIN_OBJECT && token != WJB_BEGIN_ARRAY)
		{
			checksum.whole += mix(member);
			checksum.without_id += is_id ? 0 : mix(member);
		}
	}
	checksum.whole = mix(checksum.whole);
	checksum.without_id = mix(checksum.without_id);
	return checksum;
}
