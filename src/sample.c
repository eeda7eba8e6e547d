/*
 * sample.c
 *		Taking a sample of a table's rows.
 *
 * A large table is read by TABLESAMPLE, which takes whole pages.  If more rows come
 * than the sample holds (of a view, or since the statistics were wrong), each that
 * comes takes the place of another by chance, so that all have had the same
 * chance in the end.  The chance is the same each time: equal data gives equal advice.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/memutils.h"

#include "key.h"
#include "percent.h"
#include "rows.h"
#include "sample.h"
#include "timelike.h"

/* Values of a path that are remembered. */
#define MAX_TEXTS			500

/* A string of more bytes is no name or identifier, but a text. */
#define MAX_PLAIN_BYTES		100

typedef struct SampledText
{
	uint64		position;		/* the hash key */
	char		text[SAMPLE_TEXT + 1];
} SampledText;

typedef struct Taking
{
	Sample	   *sample;
	int64		seen;			/* rows that came */
	pg_prng_state chance;
	Datum	   *documents;		/* of the row, by column: jsonb values as they are read */
	bool	   *detoasted;
	int			ncolumns;
} Taking;

static uint8
string_value(const Component *c)
{
	if (TimeLikeText(c->data, c->len) && c->len <= MAX_PLAIN_BYTES)
		return VALUE_TIME;
	return (KeyValueTooLong(c) ? VALUE_LONG : VALUE_PRESENT) | (c->len > MAX_PLAIN_BYTES ? VALUE_WORDY : VALUE_PRESENT);
}

static uint8
value_of(const Component *c, bool scalar)
{
	if (!scalar)
		return VALUE_NOT_SCALAR;
	switch (c->type)
	{
		case COMPONENT_UNDEFINED:
			return VALUE_UNDEFINED;
		case COMPONENT_NULL:
			return VALUE_NULL;
		case COMPONENT_STRING:
			return string_value(c);
		case COMPONENT_NUMBER:
			return TimeLikeNumber(c->number) ? VALUE_TIME : c->number != rint(c->number) ? VALUE_FRACTION : VALUE_PRESENT;
		default:
			return VALUE_PRESENT;
	}
}

/* A component as JSON, cut if it is long. */
static char *
component_text(const Component *c)
{
	StringInfoData text;
	char	   *string;
	int			len;

	switch (c->type)
	{
		case COMPONENT_UNDEFINED:
			return "{}";
		case COMPONENT_NULL:
			return "null";
		case COMPONENT_FALSE:
			return "false";
		case COMPONENT_TRUE:
			return "true";
		case COMPONENT_NUMBER:
			return DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(c->number)));
		default:
			break;
	}
	len = c->len <= SAMPLE_TEXT / 2 ? (int) c->len : pg_encoding_mbcliplen(PG_UTF8, c->data, c->len, SAMPLE_TEXT / 2 - 3);
	string = psprintf("%.*s%s", len, c->data, len < (int) c->len ? "..." : "");
	if (GetDatabaseEncoding() != PG_SQL_ASCII)
		string = pg_any_to_server(string, strlen(string), PG_UTF8);
	initStringInfo(&text);
	escape_json(&text, string);
	return text.data;
}

static void
remember_text(SamplePath *path, uint64 position, const Component *c)
{
	SampledText *entry;
	bool		found;

	if (hash_get_num_entries(path->texts) >= MAX_TEXTS)
		return;
	entry = hash_search(path->texts, &position, HASH_ENTER, &found);
	if (!found)
	{
		char	   *text = component_text(c);

		strlcpy(entry->text, text, pg_mbcliplen(text, strlen(text), SAMPLE_TEXT) + 1);
	}
}

const char *
SampleText(const SamplePath *path, uint64 position)
{
	SampledText *entry = hash_search(path->texts, &position, HASH_FIND, NULL);

	return entry == NULL ? NULL : entry->text;
}

/* A column of the row; a document is fetched once, however many paths lead into it. */
static Datum
column_value(Taking *taking, TupleTableSlot *slot, const Extract *extract, bool *isnull)
{
	Datum		value = slot_getattr(slot, extract->column + 1, isnull);

	if (*isnull || extract->type != JSONBOID)
		return value;
	if (!taking->detoasted[extract->column])
		taking->documents[extract->column] = PointerGetDatum(PG_DETOAST_DATUM(value));
	taking->detoasted[extract->column] = true;
	return taking->documents[extract->column];
}

/* Where a row goes in the sample, or -1 if it doesn't. */
static int
place_of_row(Taking *taking)
{
	uint64		place;

	taking->seen++;
	if (taking->sample->nrows < SAMPLE_ROWS)
		return taking->sample->nrows++;
	place = pg_prng_uint64_range(&taking->chance, 0, taking->seen - 1);
	return place < SAMPLE_ROWS ? (int) place : -1;
}

static void
take_row(TupleTableSlot *slot, void *state)
{
	Taking	   *taking = state;
	Sample	   *sample = taking->sample;
	int			row = place_of_row(taking);

	if (row < 0)
		return;
	sample->bytes[row] = RowBytes(slot);
	memset(taking->detoasted, 0, sizeof(bool) * taking->ncolumns);
	for (int i = 0; i < sample->npaths; i++)
	{
		SamplePath *path = &sample->paths[i];
		Component	c;
		bool		isnull;
		Datum		value = column_value(taking, slot, path->extract, &isnull);
		bool		scalar = ExtractComponent(path->extract, value, isnull, &c);

		path->positions[row] = Position(sample->hash, &c);
		path->values[row] = value_of(&c, scalar);
		remember_text(path, path->positions[row], &c);
	}
}

static void
prepare(Sample *sample, List *extracts)
{
	HASHCTL		control = {.keysize = sizeof(uint64), .entrysize = sizeof(SampledText), .hcxt = CurrentMemoryContext};
	ListCell   *cell;

	sample->npaths = 0;
	sample->nrows = 0;
	sample->bytes = palloc(sizeof(int64) * SAMPLE_ROWS);
	sample->paths = palloc(sizeof(SamplePath) * list_length(extracts));
	foreach(cell, extracts)
	{
		SamplePath *path = &sample->paths[sample->npaths++];

		path->extract = lfirst(cell);
		path->positions = palloc(sizeof(uint64) * SAMPLE_ROWS);
		path->values = palloc(sizeof(uint8) * SAMPLE_ROWS);
		path->texts = hash_create("partitionkey values", MAX_TEXTS, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
}

void
SampleTake(Sample *sample, Relation rel, List *extracts)
{
	int			ncolumns = RelationGetNumberOfAttributes(rel);
	Taking		taking = {
		.sample = sample,
		.ncolumns = ncolumns,
		.documents = palloc(sizeof(Datum) * (ncolumns + 1)),
		.detoasted = palloc(sizeof(bool) * (ncolumns + 1))
	};
	RowsPlan	plan = RowsPlanSample(rel, SAMPLE_ROWS);

	pg_prng_seed(&taking.chance, 0);
	prepare(sample, extracts);
	RowsRead(rel, plan.clause, take_row, &taking);
	/* Leaves of a container are read at the same places, so that what came tells less than their statistics. */
	sample->rows = Max(taking.seen, rint(plan.rows > 0 ? plan.rows : taking.seen / plan.fraction));
	sample->complete = plan.fraction == 1 && taking.seen == sample->nrows;
	/* A share is off by at most so much in 19 of 20 samples. */
	if (!sample->complete)
		ereport(NOTICE,
				(errmsg("looked at %d of about %.0f rows", sample->nrows, sample->rows),
				 errdetail("Shares may be off by %s of all rows, and by more if rows that are stored together are alike.",
						   Percent(0.98 / sqrt(Max(sample->nrows, 1))))));
}
