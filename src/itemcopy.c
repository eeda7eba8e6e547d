/*
 * itemcopy.c
 *		Writing rows of items by COPY's own machinery.
 *
 * COPY reads binary format from a callback.  The fields are Datums as they are, and the
 * types' receive functions are replaced by one that takes them so: nothing is
 * parsed, or converted, twice.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "commands/copy.h"
#include "commands/copyfrom_internal.h"
#include "nodes/makefuncs.h"
#include "parser/parse_relation.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "itemcopy.h"

/* The rows that COPY is reading.  Its callback has no argument for them. */
typedef struct Feed
{
	const ItemShape *shape;
	ItemRow   **rows;
	int			n;
	int			next;			/* row to be written to the buffer; n for the end, n + 1 behind it */
	StringInfoData buffer;		/* what is to be handed out */
} Feed;

static Feed *feed = NULL;

static void
feed_int16(StringInfo buffer, int16 value)
{
	value = pg_hton16(value);
	appendBinaryStringInfo(buffer, (char *) &value, sizeof(value));
}

static void
feed_int32(StringInfo buffer, int32 value)
{
	value = pg_hton32(value);
	appendBinaryStringInfo(buffer, (char *) &value, sizeof(value));
}

static void
feed_header(StringInfo buffer)
{
	appendBinaryStringInfo(buffer, "PGCOPY\n\377\r\n\0", 11);
	feed_int32(buffer, 0);		/* flags */
	feed_int32(buffer, 0);		/* length of an extension */
}

static void
feed_row(StringInfo buffer, const ItemShape *shape, const ItemRow *row)
{
	feed_int16(buffer, shape->ncolumns);
	for (int i = 0; i < shape->ncolumns; i++)
	{
		if (row->nulls[i])
		{
			feed_int32(buffer, -1);
			continue;
		}
		feed_int32(buffer, sizeof(Datum));
		appendBinaryStringInfo(buffer, (const char *) &row->values[i], sizeof(Datum));
	}
}

/* COPY's data source: up to maxread bytes, 0 at the end. */
static int
feed_copy(void *to, int minread, int maxread)
{
	StringInfo	buffer = &feed->buffer;
	int			length;

	(void) minread;
	while (buffer->len - buffer->cursor < maxread && feed->next <= feed->n)
	{
		if (feed->next < feed->n)
			feed_row(buffer, feed->shape, feed->rows[feed->next]);
		else
			feed_int16(buffer, -1);
		feed->next++;
	}
	length = Min(maxread, buffer->len - buffer->cursor);
	memcpy(to, buffer->data + buffer->cursor, length);
	buffer->cursor += length;
	if (buffer->cursor == buffer->len)
		resetStringInfo(buffer);
	return length;
}

/* In place of a type's receive function: a field is a Datum. */
static Datum
receive_datum(PG_FUNCTION_ARGS)
{
	StringInfo	field = (StringInfo) PG_GETARG_POINTER(0);
	Datum		value;

	memcpy(&value, field->data, sizeof(Datum));
	field->cursor = field->len;
	return value;
}

/* The same for a domain, whose constraints have a say on NULL as well. */
static Datum
receive_domain(PG_FUNCTION_ARGS)
{
	bool		isnull = PG_GETARG_POINTER(0) == NULL;
	Datum		value = isnull ? (Datum) 0 : receive_datum(fcinfo);

	domain_check(value, isnull, PG_GETARG_OID(1), &fcinfo->flinfo->fn_extra, fcinfo->flinfo->fn_mcxt);
	fcinfo->isnull = isnull;
	return value;
}

static void
set_receive_functions(CopyFromState copy, const ItemShape *shape)
{
	for (int i = 0; i < shape->ncolumns; i++)
	{
		const ItemColumn *column = &shape->columns[i];
		FmgrInfo   *function = &copy->in_functions[column->attnum - 1];
		bool		is_domain = column->declared != column->type;

		function->fn_addr = is_domain ? receive_domain : receive_datum;
		function->fn_strict = !is_domain;
		copy->typioparams[column->attnum - 1] = column->declared;
	}
}

static List *
column_names(const ItemShape *shape)
{
	List	   *names = NIL;

	for (int i = 0; i < shape->ncolumns; i++)
		names = lappend(names, makeString(shape->columns[i].name));
	return names;
}

/* A range table of the container alone, with the privileges that are needed, which are checked. */
static ParseState *
range_table(Relation rel, const ItemShape *shape)
{
	ParseState *pstate = make_parsestate(NULL);
	ParseNamespaceItem *nsitem = addRangeTableEntryForRelation(pstate, rel, RowExclusiveLock, NULL, false, false);
	Bitmapset  *columns = NULL;

	for (int i = 0; i < shape->ncolumns; i++)
		columns = bms_add_member(columns, shape->columns[i].attnum - FirstLowInvalidHeapAttributeNumber);
	NamespaceItemPrivileges(nsitem)->requiredPerms = ACL_INSERT;
	NamespaceItemPrivileges(nsitem)->insertedCols = columns;
	CheckParsedPrivileges(pstate);
	return pstate;
}

static uint64
run_copy(const ItemShape *shape, Relation rel, ParseState *pstate)
{
	List	   *options = list_make1(makeDefElem("format", (Node *) makeString("binary"), -1));
	CopyFromState copy = BeginCopyFrom(pstate, rel, NULL, NULL, false, feed_copy, column_names(shape), options);
	uint64		processed;

	set_receive_functions(copy, shape);
	processed = CopyFrom(copy);
	EndCopyFrom(copy);
	return processed;
}

uint64
ItemCopy(const ItemShape *shape, Relation rel, ItemRow **rows, int n)
{
	ParseState *pstate = range_table(rel, shape);
	Feed	   *outer = feed;	/* a trigger of the container may load another one */
	Feed		mine = {.shape = shape,.rows = rows,.n = n};
	uint64		processed = 0;

	initStringInfo(&mine.buffer);
	feed_header(&mine.buffer);
	CommandCounterIncrement();
	PushActiveSnapshot(GetTransactionSnapshot());
	feed = &mine;
	PG_TRY();
	{
		processed = run_copy(shape, rel, pstate);
	}
	PG_FINALLY();
	{
		feed = outer;
	}
	PG_END_TRY();
	PopActiveSnapshot();
	free_parsestate(pstate);
	return processed;
}
