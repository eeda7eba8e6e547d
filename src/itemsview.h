/*
 * itemsview.h
 *		The view <container>_items(doc), which takes items and shows them.
 */
#ifndef PARTITIONKEY_ITEMSVIEW_H
#define PARTITIONKEY_ITEMSVIEW_H

#include "postgres.h"

#include "itembatch.h"

/* A query for the views of a container (%u), which are known by their trigger, whatever they are called. */
#define ITEMS_VIEWS \
	"SELECT DISTINCT t.tgrelid FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_trigger t ON t.tgrelid = r.ev_class" \
	" JOIN pg_proc p ON p.oid = t.tgfoid" \
	" WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = %u" \
	" AND p.proname = 'items_view_insert' AND p.pronamespace = 'partitionkey'::regnamespace"

/* These views (OIDs).  Needs SPI and SqlBegin. */
extern List *ItemsViewsOf(Oid container);

/* The name that the view of a container gets. */
extern char *ItemsViewName(Oid container);

/*
 * Make the view of a container, in its schema, with the rights of the current
 * user, and give its OID; or change what it does with items that are there.  Error 42P07 if the
 * name is that of something else.  Needs SPI.
 */
extern Oid	ItemsViewCreate(Oid container, OnConflict on_conflict);

#endif							/* PARTITIONKEY_ITEMSVIEW_H */
