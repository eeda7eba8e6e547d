/*
 * puid.h
 *		PUIDs, partitioned unique identifiers, and their families.
 *
 * A PUID is stored as the 16 bytes of the UUID that it looks like.  Its first
 * 20 bits are its family, which is an unsigned number of five hex digits.
 */
#ifndef PARTITIONKEY_PUID_H
#define PARTITIONKEY_PUID_H

#include "postgres.h"

#include "utils/uuid.h"

#define FAMILY_DIGITS		5
#define FAMILY_BITS			(4 * FAMILY_DIGITS)
#define FAMILY_MAX			((1 << FAMILY_BITS) - 1)

/* Which of the two types a type is, if any. */
typedef enum PuidType
{
	PUID_NEITHER,
	PUID_ITSELF,
	PUID_FAMILY
} PuidType;

extern PuidType PuidTypeOf(Oid typid);

/* The OIDs of the types. */
extern Oid	PuidTypeOid(void);
extern Oid	PuidFamilyTypeOid(void);

static inline uint32
PuidFamily(const pg_uuid_t *puid)
{
	return puid->data[0] << 12 | puid->data[1] << 4 | puid->data[2] >> 4;
}

/* Write a family's five digits, without a terminator. */
extern void PuidFamilyDigits(uint32 family, char *digits);

/* The lowest PUID that a family can have, palloc'd. */
extern pg_uuid_t *PuidFamilyMin(uint32 family);

/* A PUID's text in the current memory context. */
extern char *PuidText(const pg_uuid_t *puid);

#endif							/* PARTITIONKEY_PUID_H */
