/*
 * quarantine.h
 *		The table that keeps faulty items: an ordinary table of the user's.
 */
#ifndef PARTITIONKEY_QUARANTINE_H
#define PARTITIONKEY_QUARANTINE_H

#include "executor/spi.h"

#include "itemrow.h"

typedef struct Quarantine
{
	Oid			container;
	bool		named;			/* by the user */
	bool		nameable;		/* he could do so */
	char	   *schema;
	char	   *name;
	char	   *qualified;		/* both, quoted */
	SPIPlanPtr	insert;			/* of the current transaction, or NULL */
} Quarantine;

/*
 * The table of a container: of a name, which may have a schema, or NULL for
 * <container>_quarantine in the container's schema.  It need not exist yet.  Errors of a table that has not
 * the columns of a quarantine, or that the user may not write to; nameable says whether the user could give another name.  Needs SPI.
 */
extern Quarantine *QuarantineFind(Oid container, const char *name, bool nameable);

/* Put an item in, and make the table if there is none.  Errors if it can't be made.  Needs SPI. */
extern void QuarantinePut(Quarantine *quarantine, const CosmosItem *item, const ItemProblem *problem);

/* To be called before a transaction ends. */
extern void QuarantineEnd(Quarantine *quarantine);

#endif							/* PARTITIONKEY_QUARANTINE_H */
