/*
 * itemsview.h
 *		The view <container>_items(doc), which takes items and shows them.
 */
#ifndef PARTITIONKEY_ITEMSVIEW_H
#define PARTITIONKEY_ITEMSVIEW_H

#include "postgres.h"

#include "itembatch.h"

/*
 * Make the view of a container, in its schema, with the rights of the current
 * user, and give its OID.  Needs SPI.
 */
extern Oid	ItemsViewCreate(Oid container, OnConflict on_conflict);

#endif							/* PARTITIONKEY_ITEMSVIEW_H */
