/*
 * partitionkey.c
 *		Module start.
 *
 * Nothing has to be preloaded: the module is loaded when one of its functions
 * is first called, which is also when a partitioned table that uses its
 * operator classes is first opened.
 */
#include "postgres.h"

#include "fmgr.h"

PG_MODULE_MAGIC;
