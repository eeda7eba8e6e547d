/*
 * cast.h
 *		Casts between a key column and what it is compared with.
 */
#ifndef PARTITIONKEY_CAST_H
#define PARTITIONKEY_CAST_H

#include "postgres.h"

#include "nodes/primnodes.h"

/* How a comparison in another type relates to one in the column's own. */
typedef enum CastFit
{
	CAST_SAME,					/* the value, cast to the column's type, meets the same rows */
	CAST_WHOLE,					/* if it is a whole number; the column is equal to no other */
	CAST_DAY,					/* if it is the start of a day; the column is equal to no other */
	CAST_MANY					/* several values of the column give the same */
} CastFit;

/* The casts around an expression. */
typedef struct Cast
{
	Oid			type;			/* of the outermost that was written, else of the outermost; invalid if there is none */
	bool		implicit;		/* none was written */
	CastFit		fit;
	bool		nothing;		/* in Cosmos DB, which has one type of numbers, and strings for uuids and times, it would be none */
} Cast;

/* What is within the casts of an expression, or itself. */
extern Node *CastStrip(Node *expr, Cast *cast);

/* How an equality of a column with a value of another type relates to one in the column's type. */
extern CastFit CastFitOfValue(Oid column, Oid value);

/* What to write instead of a comparison in another type: of a column, by its name and type, with a value or an array. */
extern char *CastHint(const char *column, Oid type, CastFit fit, Oid other, Node *value);

#endif							/* PARTITIONKEY_CAST_H */
