/*
 * familyop.c
 *		What the planner knows about "puid <@ puid_family".
 *
 * - In a btree index on the PUID it is a range, from family_min(family) to
 *   family_max(family).
 * - "family @> puid" becomes "puid <@ family", so that it is enough to know
 *   that one.
 * - A constant family's share of the rows is looked up in the statistics, where
 *   a large family has many entries.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "compat.h"
#include "puid.h"

static Expr *
make_operator(Oid operator, Node *left, Node *right)
{
	Expr	   *clause = make_opclause(operator, BOOLOID, false, (Expr *) left, (Expr *) right,
									   InvalidOid, InvalidOid);

	set_opfuncid((OpExpr *) clause);
	return clause;
}

/* The OID of family_min or family_max, whatever the user may see. */
static Oid
bound_function(const char *name)
{
	Oid			argtype = PuidFamilyTypeOid();

	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum(name),
						   PointerGetDatum(buildoidvector(&argtype, 1)),
						   ObjectIdGetDatum(get_namespace_oid("partitionkey", false)));
}

/* The call of family_min or family_max, folded if the family is a constant. */
static Node *
bound(PlannerInfo *root, const char *name, Node *family, Oid puid_type)
{
	FuncExpr   *call = makeFuncExpr(bound_function(name), puid_type, list_make1(copyObject(family)),
									InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);

	return eval_const_expressions(root, (Node *) call);
}

/*
 * The range of a family.  If the family is known, its end is where the next one
 * begins: PostgreSQL estimates a range by both of its ends if the operators are
 * >= and <, while <= has an estimator for families that are not known yet.
 */
static List *
family_range(SupportRequestIndexCondition *request, Node *puid, Node *family)
{
	Oid			type = exprType(puid);
	Oid			ge = get_opfamily_member(request->opfamily, type, type, BTGreaterEqualStrategyNumber);
	Oid			le = get_opfamily_member(request->opfamily, type, type, BTLessEqualStrategyNumber);
	Oid			lt = get_opfamily_member(request->opfamily, type, type, BTLessStrategyNumber);
	Node	   *max;
	List	   *range;

	if (!OidIsValid(ge) || !OidIsValid(le) || !OidIsValid(lt))
		return NIL;
	range = list_make1(make_operator(ge, copyObject(puid), bound(request->root, "family_min", family, type)));
	max = bound(request->root, "family_max", family, type);
	if (!IsA(max, Const) || ((Const *) max)->constisnull)
		return lappend(range, make_operator(le, copyObject(puid), max));

	/* The last family has no next one, and needs no end. */
	if (PuidFamily(DatumGetUUIDP(((Const *) max)->constvalue)) == FAMILY_MAX)
		return range;
	((Const *) max)->constvalue = UUIDPGetDatum(PuidFamilyMin(PuidFamily(DatumGetUUIDP(((Const *) max)->constvalue)) + 1));
	return lappend(range, make_operator(lt, copyObject(puid), max));
}

/*
 * For the operator only: there PostgreSQL makes sure that the family does not
 * change from row to row.  For a call of the function it does not.
 */
static List *
index_condition(SupportRequestIndexCondition *request)
{
	List	   *args;

	if (!is_opclause(request->node) || request->indexarg != 0)
		return NIL;
	args = ((OpExpr *) request->node)->args;
	request->lossy = false;
	return family_range(request, linitial(args), lsecond(args));
}

/* Support function of puid_in_family. */
PG_FUNCTION_INFO_V1(puid_in_family_support);
Datum
puid_in_family_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestIndexCondition))
		PG_RETURN_POINTER(index_condition((SupportRequestIndexCondition *) request));
	PG_RETURN_POINTER(NULL);
}

/* Support function of puid_family_contains. */
PG_FUNCTION_INFO_V1(puid_family_contains_support);
Datum
puid_family_contains_support(PG_FUNCTION_ARGS)
{
	SupportRequestSimplify *request = (SupportRequestSimplify *) PG_GETARG_POINTER(0);
	List	   *args;
	List	   *name;

	if (!IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	args = request->fcall->args;
	name = list_make2(makeString("pg_catalog"), makeString("<@"));
	PG_RETURN_POINTER(make_operator(OpernameGetOprid(name, exprType(lsecond(args)), exprType(linitial(args))),
									lsecond(args), linitial(args)));
}

/* The share of rows in a constant family, by those of its PUIDs in the statistics; -1 if it isn't known. */
static double
known_share(PlannerInfo *root, Oid operator, List *args, int varRelid)
{
	VariableStatData puid;
	Node	   *family;
	bool		puid_on_left;
	double		share = -1;

	if (!get_restriction_variable(root, args, varRelid, &puid, &family, &puid_on_left))
		return -1;
	if (IsA(family, Const) && !((Const *) family)->constisnull)
	{
		Datum		value = ((Const *) family)->constvalue;
		FmgrInfo	in_family;
		int			entries;
		double		common;
		double		nulls = 0;
		double		histogram;

		fmgr_info(get_opcode(operator), &in_family);
		share = mcv_selectivity(&puid, &in_family, InvalidOid, value, puid_on_left, &common);
		histogram = histogram_selectivity(&puid, &in_family, InvalidOid, value, puid_on_left, 10, 1, &entries);
		if (HeapTupleIsValid(puid.statsTuple))
			nulls = ((Form_pg_statistic) GETSTRUCT(puid.statsTuple))->stanullfrac;
		if (histogram > 0)
			share += histogram * (1 - nulls - common);
	}
	ReleaseVariableStats(puid);
	return share;
}

/* Restriction estimator: as for =, but a family may be more than one PUID. */
PG_FUNCTION_INFO_V1(puid_family_sel);
Datum
puid_family_sel(PG_FUNCTION_ARGS)
{
	double		one = DatumGetFloat8(eqsel(fcinfo));
	double		share = known_share((PlannerInfo *) PG_GETARG_POINTER(0), PG_GETARG_OID(1),
									(List *) PG_GETARG_POINTER(2), PG_GETARG_INT32(3));

	PG_RETURN_FLOAT8(Min(Max(one, share), 1));
}

/*
 * Restriction estimator of <=: "puid <= family_max(family)" stands for being in
 * a family that is not known yet, which has a small share.
 */
PG_FUNCTION_INFO_V1(puid_lesel);
Datum
puid_lesel(PG_FUNCTION_ARGS)
{
	VariableStatData puid;
	Node	   *other;
	bool		puid_on_left;
	double		share = -1;

	if (get_restriction_variable((PlannerInfo *) PG_GETARG_POINTER(0), (List *) PG_GETARG_POINTER(2),
								 PG_GETARG_INT32(3), &puid, &other, &puid_on_left))
	{
		bool		isdefault;

		if (puid_on_left && IsA(other, FuncExpr) && ((FuncExpr *) other)->funcid == bound_function("family_max"))
			share = 1 / get_variable_numdistinct(&puid, &isdefault);
		ReleaseVariableStats(puid);
	}
	if (share < 0)
		return scalarlesel(fcinfo);
	PG_RETURN_FLOAT8(share);
}
