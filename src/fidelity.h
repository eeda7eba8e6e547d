/*
 * fidelity.h
 *		Whether a column keeps what it is given.
 */
#ifndef PARTITIONKEY_FIDELITY_H
#define PARTITIONKEY_FIDELITY_H

#include "postgres.h"

/*
 * What is lost when a text becomes a value of a type, as words between the two: "has digits that are lost in".
 * NULL if nothing is.  Raises errors of input functions.
 */
extern const char *FidelityLoss(Oid type, const char *text, Datum value);

#endif							/* PARTITIONKEY_FIDELITY_H */
