/*
 * etag.h
 *		Etags: a value for each write of an item, in the order of change.
 *
 * An etag is 128 bits, kept in a column etag of type uuid, whose order is that of the bytes:
 *
 *		52 bits		the system: when the cluster was made, as its identifier has it
 *		44 bits		the transaction that wrote, all 64 bits of its number but the highest, which are 0
 *		32 bits		a counter within that transaction
 *
 * So no two writes of a cluster have the same etag, and those of a transaction are in
 * the order in which it made them.  Transactions are in the order in which they began to write.
 */
#ifndef PARTITIONKEY_ETAG_H
#define PARTITIONKEY_ETAG_H

#include "postgres.h"

#include "access/transam.h"
#include "utils/rel.h"
#include "utils/uuid.h"

#define ETAG_COLUMN			"etag"
#define ETAG_TRIGGER		"partitionkey_etag"

/* This cluster. */
extern uint64 EtagSystem(void);

/* A new etag, of the current transaction. */
extern void EtagNext(pg_uuid_t *etag);

/* The transaction of an etag. */
extern uint64 EtagTransactionOf(const pg_uuid_t *etag);

/* The lowest etag of a system and a transaction. */
extern void EtagLowest(uint64 system, uint64 transaction, pg_uuid_t *etag);

/* Whether one is before, like or behind another: < 0, 0, > 0. */
extern int	EtagCompare(const pg_uuid_t *a, const pg_uuid_t *b);

/* As text; the buffer takes ETAG_TEXT_LENGTH bytes and a NUL. */
#define ETAG_TEXT_LENGTH	36
extern void EtagText(const pg_uuid_t *etag, char *text);

/* Read it; false if the text is none. */
extern bool EtagParse(const char *text, int length, pg_uuid_t *etag);

/* The column of a container with a change feed, which the trigger fills; InvalidAttrNumber if there is none. */
extern AttrNumber EtagColumn(Relation rel);

#endif							/* PARTITIONKEY_ETAG_H */
