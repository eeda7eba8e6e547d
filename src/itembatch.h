/*
 * itembatch.h
 *		Writing rows of items to a container, a batch at a time.
 *
 * A batch goes in as by COPY.  If a row is refused, the batch is undone and done
 * over so that only the rows that are really refused are left out.
 */
#ifndef PARTITIONKEY_ITEMBATCH_H
#define PARTITIONKEY_ITEMBATCH_H

#include "itemrow.h"

/* What to do with an item whose key and id are there already. */
typedef enum OnConflict
{
	CONFLICT_QUARANTINE,
	CONFLICT_SKIP,
	CONFLICT_REPLACE,
	CONFLICT_ERROR
} OnConflict;

/* Read one of the names of these; error 22023. */
extern OnConflict OnConflictFromName(const char *name);
extern const char *OnConflictName(OnConflict on_conflict);

/* What has become of a row. */
typedef enum RowOutcome
{
	ROW_LOADED,
	ROW_REPLACED,
	ROW_SKIPPED,
	ROW_REFUSED
} RowOutcome;

typedef struct ItemBatch ItemBatch;

/* Told of each row of a batch; the problem is that of a refused one, else NULL. */
typedef void (*RowReport) (ItemRow *row, RowOutcome outcome, const ItemProblem *problem, void *state);

/*
 * Prepare to write.  Errors: 42P10 if items are to be skipped or replaced and
 * the container has no unique index for that, 42501; those of key expressions.
 * Needs SPI.
 */
extern ItemBatch *ItemBatchNew(const ItemShape *shape, OnConflict on_conflict);

/* Write rows (ItemRow *), and report all of them.  Needs SPI. */
extern void ItemBatchWrite(ItemBatch *batch, ItemRow **rows, int n, RowReport report, void *state);

/* Whether duplicates can be found at all. */
extern bool ItemBatchIsUnique(const ItemBatch *batch);

#endif							/* PARTITIONKEY_ITEMBATCH_H */
