/*
 * epk.h
 *		Cosmos DB's effective partition keys (EPK): the byte strings that order
 *		items and choose the physical partition there.
 *
 * Written from the description of the official SDKs' behaviour: kind Hash
 * version 1 (variable length), kind Hash version 2 (16 bytes for the whole
 * key), kind MultiHash (16 bytes a component).
 */
#ifndef PARTITIONKEY_EPK_H
#define PARTITIONKEY_EPK_H

#include "key.h"

/* The exclusive end of the space. */
#define EPK_INFINITY		"FF"

/* The two top bits of an EPK are off. */
#define EPK_WORD_MASK		UINT64CONST(0x3fffffffffffffff)

/*
 * The two words of MurmurHash3 over a component as version 2 and MultiHash
 * hash it.  The EPK is h2 then h1, big endian, less the two top bits of h2.
 */
extern void EpkHashComponent(const Component *c, uint64 *h1, uint64 *h2);

/*
 * The EPK of a key in hex, under a definition's kind and version.  Errors 22023
 * and 0A000 for those, and 22003 for a number out of range.
 */
extern char *EpkHex(const char *kind, int version, const Key *key);

#endif							/* PARTITIONKEY_EPK_H */
