/*
 * murmur3.h
 *		MurmurHash3, the two variants that Cosmos DB hashes partition keys with.
 *
 * Source of the algorithm: Austin Appleby's MurmurHash3, in the public domain.
 * Both read blocks as little endian on every machine; the seed is always 0.
 */
#ifndef PARTITIONKEY_MURMUR3_H
#define PARTITIONKEY_MURMUR3_H

#include "c.h"

extern uint32 murmur3_x86_32(const uint8 *data, size_t len);

/* The 128 bits come as two words, h1 being the first eight bytes of the result. */
extern void murmur3_x64_128(const uint8 *data, size_t len, uint64 *h1, uint64 *h2);

#endif							/* PARTITIONKEY_MURMUR3_H */
