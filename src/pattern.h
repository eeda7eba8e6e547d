/*
 * pattern.h
 *		Patterns that a key column is compared with.
 */
#ifndef PARTITIONKEY_PATTERN_H
#define PARTITIONKEY_PATTERN_H

#include "postgres.h"

#include "nodes/primnodes.h"

/* Whether a regular expression is what the parser makes of SIMILAR TO. */
extern bool PatternIsSimilarTo(Node *value);

/* The only string that a constant pattern matches, or NULL.  The kind is an operator or LIKE, ILIKE, SIMILAR TO. */
extern char *PatternOnlyMatch(const char *kind, Node *value);

#endif							/* PARTITIONKEY_PATTERN_H */
