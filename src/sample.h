/*
 * sample.h
 *		The rows of a table as positions: what is needed of them to judge keys.
 *
 * All rows of a table up to SAMPLE_ROWS, else so many by chance.  Of each row there
 * is, for each path, the position of the value and what kind of value it is.
 */
#ifndef PARTITIONKEY_SAMPLE_H
#define PARTITIONKEY_SAMPLE_H

#include "utils/hsearch.h"
#include "utils/rel.h"

#include "extract.h"
#include "position.h"

#define SAMPLE_ROWS			200000

/* Bytes of a value's JSON that are remembered. */
#define SAMPLE_TEXT			80

/* What a value is. */
#define VALUE_KIND			0x03	/* mask of the four kinds */
#define VALUE_PRESENT		0x00
#define VALUE_NULL			0x01
#define VALUE_UNDEFINED		0x02
#define VALUE_NOT_SCALAR	0x03
#define VALUE_TIME			0x04	/* looks like a date or time */
#define VALUE_FRACTION		0x08	/* a number that is not whole */
#define VALUE_LONG			0x10	/* a string that is too long for a key */
#define VALUE_WORDY			0x20	/* a string so long that it is hardly a name */

typedef struct SamplePath
{
	Extract    *extract;
	uint64	   *positions;		/* of each row */
	uint8	   *values;			/* of each row, VALUE_* */
	HTAB	   *texts;			/* some values, as SampleText gives them */
} SamplePath;

typedef struct Sample
{
	PositionHash hash;
	int			npaths;
	SamplePath *paths;
	int			nrows;			/* in the sample */
	int64	   *bytes;			/* of each row */
	double		rows;			/* in the table; an estimate unless complete */
	bool		complete;		/* all rows are in the sample */
} Sample;

/*
 * Fill a sample whose hash is set by the values that paths (Extract *) lead
 * to.  A table that is too large is sampled, with a NOTICE.  Needs SPI.
 */
extern void SampleTake(Sample *sample, Relation rel, List *extracts);

/* A value with this position, as JSON, if it is among those remembered; else NULL. */
extern const char *SampleText(const SamplePath *path, uint64 position);

#endif							/* PARTITIONKEY_SAMPLE_H */
