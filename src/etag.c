/*
 * etag.c
 *		Etags: a value for each write of an item, in the order of change.
 */
#include "postgres.h"

#include <ctype.h>

#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "etag.h"

#define TRANSACTION_BITS	44
#define MAX_TRANSACTION		((UINT64CONST(1) << TRANSACTION_BITS) - 1)

/* The bits that the two halves of an etag share: 12 of the transaction are in the first one. */
#define FIRST_BITS			12
#define SECOND_BITS			(TRANSACTION_BITS - FIRST_BITS)

uint64
EtagSystem(void)
{
	/* seconds, microseconds, and 12 bits of the number of the process, which add nothing */
	return GetSystemIdentifier() >> 12;
}

static void
set_etag_bytes(uint64 system, uint64 transaction, uint32 counter, pg_uuid_t *etag)
{
	uint64		first = system << FIRST_BITS | transaction >> SECOND_BITS;
	uint64		second = transaction << SECOND_BITS | counter;

	first = pg_hton64(first);
	second = pg_hton64(second);
	memcpy(etag->data, &first, sizeof(first));
	memcpy(etag->data + sizeof(first), &second, sizeof(second));
}

static uint64
half(const pg_uuid_t *etag, int n)
{
	uint64		word;

	memcpy(&word, etag->data + n * sizeof(word), sizeof(word));
	return pg_ntoh64(word);
}

void
EtagNext(pg_uuid_t *etag)
{
	static uint64 system = 0;
	static uint64 last = 0;
	static uint32 counter = 0;
	uint64		transaction = U64FromFullTransactionId(GetTopFullTransactionId());

	if (system == 0)
		system = EtagSystem();
	if (transaction != last)
	{
		last = transaction;
		counter = 0;
	}
	else if (++counter == 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a transaction cannot write more than 4294967296 items")));
	set_etag_bytes(system, transaction, counter, etag);
}

uint64
EtagTransactionOf(const pg_uuid_t *etag)
{
	return (half(etag, 0) << SECOND_BITS & MAX_TRANSACTION) | half(etag, 1) >> SECOND_BITS;
}

void
EtagLowest(uint64 system, uint64 transaction, pg_uuid_t *etag)
{
	set_etag_bytes(system, transaction, 0, etag);
}

int
EtagCompare(const pg_uuid_t *a, const pg_uuid_t *b)
{
	return memcmp(a->data, b->data, UUID_LEN);
}

void
EtagText(const pg_uuid_t *etag, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < UUID_LEN; i++)
	{
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*text++ = '-';
		*text++ = digits[etag->data[i] >> 4];
		*text++ = digits[etag->data[i] & 15];
	}
	*text = '\0';
}

bool
EtagParse(const char *text, int length, pg_uuid_t *etag)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	int			digits = 0;

	if (length != ETAG_TEXT_LENGTH)
		return false;
	memset(etag, 0, sizeof(*etag));
	for (int i = 0; i < length; i++)
	{
		unsigned char c = text[i];

		if ((form[i] == '-') ? c != '-' : !isxdigit(c))
			return false;
		if (form[i] == '-')
			continue;
		etag->data[digits / 2] = etag->data[digits / 2] << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
		digits++;
	}
	return true;
}

/* Whether the trigger that fills the column is on a table, and fires. */
static bool
has_trigger(Relation rel)
{
	TriggerDesc *triggers = rel->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
		if (strcmp(triggers->triggers[i].tgname, ETAG_TRIGGER) == 0)
			return triggers->triggers[i].tgenabled == TRIGGER_FIRES_ALWAYS || triggers->triggers[i].tgenabled == TRIGGER_FIRES_ON_ORIGIN;
	return false;
}

AttrNumber
EtagColumn(Relation rel)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(rel), ETAG_COLUMN);

	if (attnum <= 0 || !has_trigger(rel) || get_atttype(RelationGetRelid(rel), attnum) != UUIDOID)
		return InvalidAttrNumber;
	return attnum;
}

/* next_etag() returns uuid */
PG_FUNCTION_INFO_V1(next_etag);
Datum
next_etag(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *etag = palloc(sizeof(pg_uuid_t));

	(void) fcinfo;
	EtagNext(etag);
	PG_RETURN_UUID_P(etag);
}
