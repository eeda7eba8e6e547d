/*
 * timelike.h
 *		Values that look like dates or times.
 */
#ifndef PARTITIONKEY_TIMELIKE_H
#define PARTITIONKEY_TIMELIKE_H

#include "postgres.h"

/*
 * Whether a text has a date in it: a year of this century or the last with a
 * month, a week or a quarter; or is a number of the kind below.
 */
extern bool TimeLikeText(const char *text, size_t len);

/* Whether a number is seconds or milliseconds since 1970, in this century, or a date such as 20250128. */
extern bool TimeLikeNumber(double number);

#endif							/* PARTITIONKEY_TIMELIKE_H */
