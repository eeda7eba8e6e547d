/*
 * itemrepair.h
 *		Where a broken item ends, as far as brackets and quotes tell.
 *
 * Brackets go on being counted from the fault on, as if those were there that are missing:
 * a bracket closes all that is open within its own, and is passed over if it closes nothing;
 * a member ends an array, and an object ends the one before if that has no name for it.  A quote
 * begins a string only behind a bracket, a comma or a colon, and only if the next quote is
 * followed by one.  The item ends before an object outside of all brackets, if that begins like an
 * item, and those behind it don't turn out to be in an array of the item; or with
 * the array that the item is in.
 *
 * Neighbours that were taken for elements of an array whose end is missing are known by
 * beginning with the same names as the item, or by being many.
 */
#ifndef PARTITIONKEY_ITEMREPAIR_H
#define PARTITIONKEY_ITEMREPAIR_H

#include "itemend.h"
#include "itemscan.h"

/* Whether a name or what is left of one is ahead, rather than a value: so an object has lost its beginning, or goes on. */
extern bool ItemBeginsMember(ExportBuffer *buffer, int ahead);

/* Whether a quote is ahead that begins no string, by what follows: so a value has lost its beginning. */
extern bool ItemIsTorn(ExportBuffer *buffer, int ahead);

/* Whether a bracket ahead ends the array that items are in, by what comes behind it. */
extern bool ItemEndsArray(const ItemEnd *end, ExportBuffer *buffer, int ahead);

/*
 * Whether an item that the scan has gone through so far has taken items for elements.  Where they
 * begin become breaks, before those that are known.  at_end: behind this the array of the items ends.
 */
extern bool ItemFindBreaks(ItemEnd *end, ExportBuffer *buffer, ItemScan *scan, bool at_end);

/* Whether the next break is so many bytes ahead. */
static inline bool
ItemIsBreak(const ItemEnd *end, const ExportBuffer *buffer, int ahead)
{
	return end->nbreaks > 0 && buffer->passed + ahead == end->breaks[0];
}

/* Let the item end before the next break. */
extern void ItemEndAtBreak(ItemEnd *end, ExportBuffer *buffer);

/* Go on from where the scan has found the item broken, and set its length. */
extern void ItemRepair(ItemEnd *end, ExportBuffer *buffer, ItemScan *scan);

#endif							/* PARTITIONKEY_ITEMREPAIR_H */
