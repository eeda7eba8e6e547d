/*
 * routing.h
 *		How a statement's conditions choose among the partitions of a container.
 */
#ifndef PARTITIONKEY_ROUTING_H
#define PARTITIONKEY_ROUTING_H

#include "postgres.h"

#include "nodes/nodes.h"
#include "nodes/pg_list.h"

#include "registry.h"

typedef enum RoutingKind
{
	ROUTING_SINGLE,				/* one full key */
	ROUTING_KEYS,				/* several full keys */
	ROUTING_PREFIX,				/* the first level, but not all */
	ROUTING_FAN_OUT				/* not the first level */
} RoutingKind;

#define ROUTING_KINDS	(ROUTING_FAN_OUT + 1)

/* What has to be known of a container to judge conditions. */
typedef struct RoutingKey
{
	const Container *container;
	AttrNumber	attnums[MAX_LEVELS];	/* of its key columns */
	Oid			families[MAX_LEVELS];	/* operator families by which they divide */
	Oid			collations[MAX_LEVELS];
	int			children;		/* partitions of its root */
} RoutingKey;

typedef struct Routing
{
	RoutingKind kind;
	int			leading;		/* number of levels bound from the first on */
	bool		bound[MAX_LEVELS];
	int			values[MAX_LEVELS]; /* to how many values; 0 if that isn't known */
	bool		late[MAX_LEVELS];	/* not known to the planner */
	bool		dependent[MAX_LEVELS];	/* by a sub-select or join */
	bool		array[MAX_LEVELS];	/* by the elements of a parameter, for which a plan is made when they are known */
} Routing;

extern RoutingKey *RoutingKeyOf(const Container *container);

/* The same from a cache, NULL for a relation that is no container; valid until the catalogs are read again. */
extern const RoutingKey *RoutingKeyCached(Oid relid);

/* The name as in SQL. */
extern const char *RoutingName(RoutingKind kind);

/*
 * Judge what a read binds (BoundExpression *); those that are joined don't
 * count.  For one that is being executed an array counts only if the plan was
 * made for its elements.
 */
extern Routing RoutingOf(const RoutingKey *key, List *bound, bool executed);

/*
 * Correct a routing by how many partitions of the root are left, for how the
 * conditions look is not all: others than equalities may choose, and what
 * would be chosen later is not unless the plan does it.
 */
extern void RoutingSettle(const RoutingKey *key, Routing *routing, int children, bool plan_chooses);

/*
 * Why the first level that is not bound isn't, by the conditions on the rows
 * alone and those of joins, and what to write instead (*hint, may be NULL), in
 * such a command.
 */
extern char *RoutingReason(const RoutingKey *key, const Routing *routing, CmdType command,
						   List *conditions, List *joins, char **hint);

#endif							/* PARTITIONKEY_ROUTING_H */
