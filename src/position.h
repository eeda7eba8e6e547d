/*
 * position.h
 *		A component's place in the hash space, and how PostgreSQL's hash
 *		partitioning is made to cut that space into contiguous ranges.
 *
 * For a hash partition key of one column PostgreSQL takes the row's hash,
 *
 *		row hash = support function + 0x49a0f4dd15e5a8e3    (hash_combine64)
 *
 * modulo the partition's modulus.  Our support functions give the bits of the
 * position in reverse order, less that constant.  So for modulus 2^k the
 * remainder is the first k bits of the position, reversed, and a partition
 * holds exactly the positions of one range of width 2^(64-k).  Doubling the
 * modulus cuts that range in the middle.
 */
#ifndef PARTITIONKEY_POSITION_H
#define PARTITIONKEY_POSITION_H

#include "port/pg_bswap.h"

#include "component.h"

typedef enum PositionHash
{
	HASH_XXHASH,				/* XXH3, for new tables */
	HASH_COSMOS					/* Cosmos DB's own, for data that comes from there */
} PositionHash;

/* Find a hash by its SQL name; an unknown name is an error. */
extern PositionHash PositionHashFromName(const char *name);
extern const char *PositionHashName(PositionHash hash);

/* A component's position.  Frozen: stored rows lie where it says. */
extern uint64 Position(PositionHash hash, const Component *c);

/* The bits of a word in reverse order; its own inverse. */
static inline uint64
ReverseBits(uint64 v)
{
	v = ((v >> 1) & UINT64CONST(0x5555555555555555)) | ((v & UINT64CONST(0x5555555555555555)) << 1);
	v = ((v >> 2) & UINT64CONST(0x3333333333333333)) | ((v & UINT64CONST(0x3333333333333333)) << 2);
	v = ((v >> 4) & UINT64CONST(0x0f0f0f0f0f0f0f0f)) | ((v & UINT64CONST(0x0f0f0f0f0f0f0f0f)) << 4);
	return pg_bswap64(v);
}

/*
 * The hash that PostgreSQL takes modulo the modulus to route a row with this
 * position at a node divided by its column.
 */
static inline uint64
RowHash(uint64 position)
{
	return ReverseBits(position);
}

#endif							/* PARTITIONKEY_POSITION_H */
