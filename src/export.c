/*
 * export.c
 *		The items of an export as rows.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "itemreader.h"

#define PRINTED_BYTES		1000	/* of a faulty item */

/* The row of an item: file, line, byte_offset, item, fault, reason, text. */
static void
put_item(ReturnSetInfo *result, const CosmosItem *item)
{
	bool		sound = item->fault == ITEM_SOUND;
	Datum		values[7];
	bool		nulls[7] = {false, false, false, !sound, sound, sound, sound};

	values[0] = CStringGetTextDatum(item->file);
	values[1] = Int64GetDatum(item->line);
	values[2] = Int64GetDatum(item->offset);
	values[3] = JsonbPGetDatum(item->doc);
	if (!sound)
	{
		values[4] = CStringGetTextDatum(ItemFaultName(item->fault));
		values[5] = CStringGetTextDatum(item->reason);
		values[6] = CStringGetTextDatum(ItemPrintable(item, PRINTED_BYTES));
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/*
 * read_export(source text) returns setof (file text, line bigint, byte_offset bigint, item jsonb,
 * fault text, reason text, text text)
 */
PG_FUNCTION_INFO_V1(read_export);
Datum
read_export(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "partitionkey row", ALLOCSET_DEFAULT_SIZES);
	ItemReader *reader;
	CosmosItem	item;

	InitMaterializedSRF(fcinfo, 0);
	reader = ItemReaderOpen(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	while (ItemReaderNext(reader, &item))
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		put_item(result, &item);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	ItemReaderClose(reader);
	return (Datum) 0;
}
