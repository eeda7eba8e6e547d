/*
 * bucket.c
 *		Keys that end in a bucket: electronics_7, device-123_2025012812.
 *
 * A bucket spreads one hot value over several keys, by a digest of an id or at
 * random, or keeps what belongs together in time together.  For each there is
 * a function for the reader, which gives all the keys to look for.
 *
 * Buckets of time are counted in UTC from an origin, a Monday, so that those of
 * 7 days are the weeks of ISO 8601.  A key names the beginning of its bucket,
 * as precisely as the width needs it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "common/md5.h"
#include "common/pg_prng.h"
#include "common/sha2.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "compat.h"
#include "component.h"

/* A reader names all buckets in one array. */
#define MAX_BUCKETS			100000

/* As many are written out in a plan, for a base that is not known yet. */
#define MAX_ELEMENTS		100

/* The longest bucket: the time to the second, YYYYMMDDHHMMSS. */
#define MAX_BUCKET_LENGTH	14

/* The longest digest. */
#define MAX_DIGEST_LENGTH	PG_SHA256_DIGEST_LENGTH

/* 2001-01-01 00:00:00 UTC, in microseconds since PostgreSQL's epoch, 2000-01-01. */
#define ORIGIN				(INT64CONST(366) * USECS_PER_DAY)

#define MAX_YEAR			9999

static int
check_buckets(int buckets)
{
	if (buckets < 1 || buckets > MAX_BUCKETS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of buckets %d is not between 1 and %d", buckets, MAX_BUCKETS)));
	return buckets;
}

/* What would not fit into an array of so many keys is refused before it takes up memory. */
static void
check_size(const text *base, int64 keys)
{
	/* A key has a header, a bucket after its base, and may be padded. */
	if (((int64) VARSIZE_ANY_EXHDR(base) + VARHDRSZ + 1 + MAX_BUCKET_LENGTH + ALIGNOF_INT) * keys > (int64) MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("base of the key is too long: %zu bytes", (size_t) VARSIZE_ANY_EXHDR(base)),
				 errdetail("A partition key has at most 2048 bytes.")));
}

/* base_bucket */
static text *
make_key(const text *base, const char *bucket, int bucket_len)
{
	int			base_len = VARSIZE_ANY_EXHDR(base);
	text	   *key = palloc(VARHDRSZ + base_len + 1 + bucket_len);
	char	   *p = VARDATA(key);

	SET_VARSIZE(key, VARHDRSZ + base_len + 1 + bucket_len);
	memcpy(p, VARDATA_ANY(base), base_len);
	p[base_len] = '_';
	memcpy(p + base_len + 1, bucket, bucket_len);
	return key;
}

static text *
suffixed(const text *base, int bucket)
{
	char		digits[MAX_BUCKET_LENGTH + 1];

	return make_key(base, digits, pg_ltoa(bucket, digits));
}

static int
digest_md5(const char *data, size_t len, uint8 *digest)
{
	const char *error = NULL;

	if (!pg_md5_binary(data, len, digest, &error))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compute an MD5 digest: %s", error),
				 errhint("Use algorithm sha256 or xxhash.")));
	return MD5_DIGEST_LENGTH;
}

static int
digest_sha256(const char *data, size_t len, uint8 *digest)
{
	bytea	   *input = (bytea *) cstring_to_text_with_len(data, len);
	bytea	   *output = DatumGetByteaPP(DirectFunctionCall1(sha256_bytea, PointerGetDatum(input)));

	memcpy(digest, VARDATA_ANY(output), PG_SHA256_DIGEST_LENGTH);
	return PG_SHA256_DIGEST_LENGTH;
}

static int
digest_xxhash(const char *data, size_t len, uint8 *digest)
{
	XXH64_canonical_t canonical;

	XXH64_canonicalFromHash(&canonical, XXH3_64bits(data, len));
	memcpy(digest, canonical.digest, sizeof(canonical.digest));
	return sizeof(canonical.digest);
}

typedef struct Algorithm
{
	const char *name;
	/* Compute the digest of bytes, and give its length. */
	int			(*digest) (const char *data, size_t len, uint8 *digest);
} Algorithm;

static const Algorithm algorithms[] = {
	{"md5", digest_md5},
	{"sha256", digest_sha256},
	{"xxhash", digest_xxhash}
};

static const Algorithm *
find_algorithm(const text *name)
{
	for (int i = 0; i < (int) lengthof(algorithms); i++)
		if (strlen(algorithms[i].name) == VARSIZE_ANY_EXHDR(name) &&
			memcmp(algorithms[i].name, VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)) == 0)
			return &algorithms[i];
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown algorithm \"%s\"", text_to_cstring(name)),
			 errhint("The algorithms are \"md5\", \"sha256\" and \"xxhash\".")));
}

/* The remainder of a big number, given as bytes from the most significant on. */
static int
remainder_of_digest(const uint8 *digest, int len, int buckets)
{
	uint64		remainder = 0;

	for (int i = 0; i < len; i++)
		remainder = (remainder << 8 | digest[i]) % buckets;
	return remainder;
}

/* hash_suffix(base text, id text, buckets int, algorithm text) returns text */
PG_FUNCTION_INFO_V1(hash_suffix);
Datum
hash_suffix(PG_FUNCTION_ARGS)
{
	text	   *base = PG_GETARG_TEXT_PP(0);
	text	   *id = PG_GETARG_TEXT_PP(1);
	int			buckets = check_buckets(PG_GETARG_INT32(2));
	const Algorithm *algorithm = find_algorithm(PG_GETARG_TEXT_PP(3));
	uint8		digest[MAX_DIGEST_LENGTH];
	int			len;
	Component	utf8;			/* so that others get the same */

	check_size(base, 1);
	ComponentSetString(&utf8, VARDATA_ANY(id), VARSIZE_ANY_EXHDR(id));
	len = algorithm->digest(utf8.data, utf8.len, digest);
	PG_RETURN_TEXT_P(suffixed(base, remainder_of_digest(digest, len, buckets)));
}

/* random_suffix(base text, buckets int) returns text */
PG_FUNCTION_INFO_V1(random_suffix);
Datum
random_suffix(PG_FUNCTION_ARGS)
{
	text	   *base = PG_GETARG_TEXT_PP(0);
	int			buckets = check_buckets(PG_GETARG_INT32(1));

	check_size(base, 1);
	PG_RETURN_TEXT_P(suffixed(base, pg_prng_uint64_range(&pg_global_prng_state, 0, buckets - 1)));
}

/*
 * suffix_keys(base text, buckets int) returns text[]
 *
 * A null base gives null keys, as hash_suffix does.
 */
PG_FUNCTION_INFO_V1(suffix_keys);
Datum
suffix_keys(PG_FUNCTION_ARGS)
{
	text	   *base = PG_ARGISNULL(0) ? NULL : PG_GETARG_TEXT_PP(0);
	int			buckets;
	Datum	   *keys;
	bool	   *nulls;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	buckets = check_buckets(PG_GETARG_INT32(1));
	if (base != NULL)
		check_size(base, buckets);
	keys = palloc0(sizeof(Datum) * buckets);
	nulls = palloc(sizeof(bool) * buckets);
	for (int i = 0; i < buckets; i++)
	{
		CHECK_FOR_INTERRUPTS();
		nulls[i] = base == NULL;
		if (base != NULL)
			keys[i] = PointerGetDatum(suffixed(base, i));
	}
	PG_RETURN_ARRAYTYPE_P(construct_md_array(keys, nulls, 1, &buckets, (int[]) {1}, TEXTOID, -1, false, TYPALIGN_INT));
}

/* The expression "base || '_i'". */
static Expr *
suffixed_expression(Node *base, int i, Oid collation)
{
	Const	   *suffix = makeConst(TEXTOID, -1, collation, -1, CStringGetTextDatum(psprintf("_%d", i)), false, false);

	return (Expr *) makeFuncExpr(F_TEXTCAT, TEXTOID, list_make2(copyObject(base), suffix),
								 collation, collation, COERCE_EXPLICIT_CALL);
}

/* Whether an expression may be evaluated several times, by the measure that PostgreSQL inlines functions by. */
static bool
can_repeat(PlannerInfo *root, Node *expression)
{
	QualCost	cost;

	if (contain_volatile_functions(expression) || contain_subplans(expression))
		return false;
	cost_qual_eval_node(&cost, expression, root);
	return cost.startup + cost.per_tuple <= 10 * cpu_operator_cost;
}

/*
 * Support function of suffix_keys.  PostgreSQL prunes "pk = ANY (array)" while
 * it runs only if it sees the elements, so where the base is not yet known they
 * are written out: ARRAY[base || '_0', base || '_1', ...].
 */
PG_FUNCTION_INFO_V1(suffix_keys_support);
Datum
suffix_keys_support(PG_FUNCTION_ARGS)
{
	SupportRequestSimplify *request = (SupportRequestSimplify *) PG_GETARG_POINTER(0);
	Node	   *base;
	Const	   *buckets;
	ArrayExpr  *array;

	if (!IsA(request, SupportRequestSimplify))
		PG_RETURN_POINTER(NULL);
	base = linitial(request->fcall->args);
	buckets = lsecond(request->fcall->args);
	if (!IsA(buckets, Const) || buckets->constisnull ||
		DatumGetInt32(buckets->constvalue) < 1 || DatumGetInt32(buckets->constvalue) > MAX_ELEMENTS ||
		!can_repeat(request->root, base))
		PG_RETURN_POINTER(NULL);

	array = makeNode(ArrayExpr);
	array->array_typeid = TEXTARRAYOID;
	array->array_collid = request->fcall->funccollid;
	array->element_typeid = TEXTOID;
	array->location = -1;
	for (int i = 0; i < DatumGetInt32(buckets->constvalue); i++)
		array->elements = lappend(array->elements, suffixed_expression(base, i, request->fcall->funccollid));
	PG_RETURN_POINTER(array);
}

/* The width of buckets in microseconds. */
static int64
get_width(const Interval *interval)
{
	int64		width;

	if (INTERVAL_NOT_FINITE(interval))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("width of time buckets must be finite")));
	if (interval->month != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("width of time buckets must not have months or years"),
				 errdetail("They are not of equal length."),
				 errhint("Use days, for example interval '30 days', or a text of the month with synthetic_key.")));
	if (pg_mul_s64_overflow(interval->day, USECS_PER_DAY, &width) ||
		pg_add_s64_overflow(width, interval->time, &width))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("width of time buckets is out of range")));
	if (width <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("width of time buckets must be greater than zero")));
	if (width % USECS_PER_SEC != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("width of time buckets must be whole seconds")));
	return width;
}

/* The beginning of the bucket that holds a moment; in a year of four digits. */
static TimestampTz
bucket_start(TimestampTz at, int64 width)
{
	int64		since;
	TimestampTz start;
	struct pg_tm tm;
	fsec_t		fsec;

	if (TIMESTAMP_NOT_FINITE(at))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("an infinite timestamp is in no time bucket")));
	since = (at - ORIGIN) % width;
	start = at - (since < 0 ? since + width : since);
	if (timestamp2tm(start, NULL, &tm, &fsec, NULL, NULL) != 0 || tm.tm_year < 1 || tm.tm_year > MAX_YEAR)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("time bucket is not within the years 1 to %d", MAX_YEAR)));
	return start;
}

static text *
bucket_key(const text *base, TimestampTz start, int64 width)
{
	struct pg_tm tm;
	fsec_t		fsec;
	char		bucket[64];
	int			len = width % USECS_PER_DAY == 0 ? 8 : width % USECS_PER_HOUR == 0 ? 10 : width % USECS_PER_MINUTE == 0 ? 12 : 14;

	(void) timestamp2tm(start, NULL, &tm, &fsec, NULL, NULL);
	snprintf(bucket, sizeof(bucket), "%04d%02d%02d%02d%02d%02d",
			 tm.tm_year, tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
	return make_key(base, bucket, len);
}

/* time_bucket_key(base text, at timestamptz, width interval) returns text */
PG_FUNCTION_INFO_V1(time_bucket_key);
Datum
time_bucket_key(PG_FUNCTION_ARGS)
{
	text	   *base = PG_GETARG_TEXT_PP(0);
	int64		width = get_width(PG_GETARG_INTERVAL_P(2));

	check_size(base, 1);
	PG_RETURN_TEXT_P(bucket_key(base, bucket_start(PG_GETARG_TIMESTAMPTZ(1), width), width));
}

/* time_bucket_keys(base text, from timestamptz, to timestamptz, width interval) returns text[] */
PG_FUNCTION_INFO_V1(time_bucket_keys);
Datum
time_bucket_keys(PG_FUNCTION_ARGS)
{
	text	   *base = PG_GETARG_TEXT_PP(0);
	int64		width = get_width(PG_GETARG_INTERVAL_P(3));
	TimestampTz first = bucket_start(PG_GETARG_TIMESTAMPTZ(1), width);
	TimestampTz last = bucket_start(PG_GETARG_TIMESTAMPTZ(2), width);
	int64		buckets;
	Datum	   *keys;

	if (PG_GETARG_TIMESTAMPTZ(1) > PG_GETARG_TIMESTAMPTZ(2))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("span of time ends before it begins"),
				 errhint("Give the earlier end first.")));
	buckets = (last - first) / width + 1;
	if (buckets > MAX_BUCKETS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("span of time has " INT64_FORMAT " buckets, which is over the limit of %d", buckets, MAX_BUCKETS),
				 errhint("Use a shorter span, or a greater width if the keys were made with one.")));
	check_size(base, buckets);
	keys = palloc(sizeof(Datum) * buckets);
	for (int64 i = 0; i < buckets; i++)
	{
		CHECK_FOR_INTERRUPTS();
		keys[i] = PointerGetDatum(bucket_key(base, first + i * width, width));
	}
	PG_RETURN_ARRAYTYPE_P(construct_array_builtin(keys, buckets, TEXTOID));
}
