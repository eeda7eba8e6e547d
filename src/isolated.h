/*
 * isolated.h
 *		Keys that isolate_key has given partitions of their own.
 */
#ifndef PARTITIONKEY_ISOLATED_H
#define PARTITIONKEY_ISOLATED_H

#include "nodes/pg_list.h"
#include "utils/jsonb.h"

#include "registry.h"

/* Remember a key, or forget some (Jsonb *).  The caller has checked that the user owns the container. */
extern void IsolatedRemember(const Container *container, Jsonb *key);
extern void IsolatedForget(const Container *container, List *keys);

/* The keys (Jsonb *) that a merge of two leaves would join with others. */
extern List *IsolatedBetween(const Container *container, Oid a, Oid b);

#endif							/* PARTITIONKEY_ISOLATED_H */
