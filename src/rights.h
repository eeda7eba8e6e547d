/*
 * rights.h
 *		What the owner of a container must be allowed to do for a change of its partitions.
 */
#ifndef PARTITIONKEY_RIGHTS_H
#define PARTITIONKEY_RIGHTS_H

#include "postgres.h"

#include "nodes/pg_list.h"

/*
 * Refuse to exchange leaves (OIDs) of a container, if its owner lacks a right for
 * it (ERRCODE_INSUFFICIENT_PRIVILEGE, with the GRANT that gives it).  Needs SPI.
 */
extern void RightsRequire(Oid container, Oid owner, List *leaves);

#endif							/* PARTITIONKEY_RIGHTS_H */
