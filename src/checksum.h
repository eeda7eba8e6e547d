/*
 * checksum.h
 *		Checksums of documents: equal for what Cosmos DB takes for the same.
 *
 * The order of members and blanks don't count, since jsonb has neither; and a number is
 * the binary64 that it is nearest to.  For comparing within a server, not to be kept.
 */
#ifndef PARTITIONKEY_CHECKSUM_H
#define PARTITIONKEY_CHECKSUM_H

#include "utils/jsonb.h"

typedef struct Checksum
{
	uint64		whole;
	uint64		without_id;		/* of the document without its id */
} Checksum;

/* The checksum of a document without some of its system properties, one bit for each. */
extern Checksum ChecksumOf(Jsonb *doc, int stripped);

#endif							/* PARTITIONKEY_CHECKSUM_H */
