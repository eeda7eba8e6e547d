/*
 * percent.h
 *		A share as people read it.
 */
#ifndef PARTITIONKEY_PERCENT_H
#define PARTITIONKEY_PERCENT_H

#include "postgres.h"

#include <math.h>

/* "99.9 %".  What is not all does not become 100 % by rounding, nor what is not nothing 0 %. */
static inline char *
Percent(double share)
{
	if (share <= 0 || share >= 1)
		return psprintf("%d %%", share >= 1 ? 100 : 0);
	if (share < 0.0005)
		return "less than 0.1 %";
	return psprintf("%.1f %%", Min(rint(share * 1000), 999) / 10);
}

#endif							/* PARTITIONKEY_PERCENT_H */
