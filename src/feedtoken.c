/*
 * feedtoken.c
 *		Continuation tokens: where a reader of a change feed is.
 *
 * A token is, in base64 and in network byte order:
 *
 *		1 byte		version of this form
 *		1 byte		phase: 1 for local
 *		8 bytes		the system that made it
 *		4 bytes		the database's OID, and
 *		4 bytes		the container's, which are right on that system
 *		16 bytes	the position
 *		2 bytes		length of the container's qualified name, and the name, for other systems
 *		2 bytes		length of the scope as text, and the scope
 *		4 bytes		CRC of all that
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "common/base64.h"
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "port/pg_crc32c.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "etag.h"
#include "feedtoken.h"
#include "sql.h"

#define TOKEN_VERSION		1

/* What to do about a token that can't be read, as a hint. */
#define TOKEN_HINT	"Pass on the column continuation of the last row as it is; to begin anew, leave it out."

void
FeedTokenStart(Jsonb *scope, FeedToken *token)
{
	memset(token, 0, sizeof(*token));
	token->scope = scope;
}

void
FeedTokenPass(FeedToken *token, const pg_uuid_t *etag)
{
	token->position = *etag;
	for (int i = UUID_LEN - 1; i >= 0 && ++token->position.data[i] == 0; i--)
		;
}

static pg_crc32c
checksum(const char *data, int length)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, length);
	FIN_CRC32C(crc);
	return crc;
}

static char *
scope_text(Jsonb *scope)
{
	return scope == NULL ? pstrdup("") : JsonbToCString(NULL, &scope->root, VARSIZE(scope));
}

/* Send a text with its length, which is not in doubt: a scope has bounds, or the values of a key. */
static void
send_text(StringInfo buffer, const char *text)
{
	if (strlen(text) > PG_UINT16_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("scope of a change feed is too long"),
				 errdetail("It has %zu bytes as text; a continuation token holds %d.", strlen(text), PG_UINT16_MAX)));
	pq_sendint16(buffer, strlen(text));
	appendBinaryStringInfo(buffer, text, strlen(text));
}

/* Bytes in base64. */
static text *
encode(StringInfo buffer)
{
	int			length = pg_b64_enc_len(buffer->len);
	text	   *result = palloc(VARHDRSZ + length);

	length = pg_b64_encode((void *) buffer->data, buffer->len, VARDATA(result), length);
	SET_VARSIZE(result, VARHDRSZ + length);
	return result;
}

text *
FeedTokenWrite(const Container *container, const FeedToken *token)
{
	StringInfoData buffer;

	initStringInfo(&buffer);
	pq_sendint8(&buffer, TOKEN_VERSION);
	pq_sendint8(&buffer, token->local);
	pq_sendint64(&buffer, EtagSystem());
	pq_sendint32(&buffer, MyDatabaseId);
	pq_sendint32(&buffer, container->relid);
	appendBinaryStringInfo(&buffer, (const char *) token->position.data, UUID_LEN);
	send_text(&buffer, QualifiedName(container->relid));
	send_text(&buffer, scope_text(token->scope));
	pq_sendint32(&buffer, checksum(buffer.data, buffer.len));
	return encode(&buffer);
}

static void
refuse_damaged(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("continuation token is damaged"),
			 errhint(TOKEN_HINT)));
}

/* The bytes of a token, of which its checksum is right and taken off. */
static void
decode(text *continuation, StringInfo buffer)
{
	int			length = VARSIZE_ANY_EXHDR(continuation);
	text	   *again;
	pg_crc32c	crc;

	initStringInfo(buffer);
	enlargeStringInfo(buffer, pg_b64_dec_len(length) + 1);
	buffer->len = pg_b64_decode(VARDATA_ANY(continuation), length, (void *) buffer->data, pg_b64_dec_len(length));
	if (buffer->len < (int) sizeof(uint32) + 1)
		refuse_damaged();
	/* some bits of the last character say nothing */
	again = encode(buffer);
	if ((int) VARSIZE(again) - VARHDRSZ != length || memcmp(VARDATA(again), VARDATA_ANY(continuation), length) != 0)
		refuse_damaged();
	buffer->cursor = buffer->len -= sizeof(uint32);
	memcpy(&crc, buffer->data + buffer->len, sizeof(crc));
	if (pg_ntoh32(crc) != checksum(buffer->data, buffer->len))
		refuse_damaged();
	buffer->cursor = 0;
	if (pq_getmsgbyte(buffer) != TOKEN_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("continuation token is of another version of the extension"),
				 errhint(TOKEN_HINT)));
}

/* The next bytes of a token. */
static const char *
get_bytes(StringInfo buffer, int length)
{
	if (buffer->len - buffer->cursor < length)
		refuse_damaged();
	return pq_getmsgbytes(buffer, length);
}

static uint32
get_int32(StringInfo buffer)
{
	uint32		value;

	memcpy(&value, get_bytes(buffer, sizeof(value)), sizeof(value));
	return pg_ntoh32(value);
}

static uint64
get_int64(StringInfo buffer)
{
	uint64		high = get_int32(buffer);

	return high << 32 | get_int32(buffer);
}

static char *
get_text(StringInfo buffer)
{
	uint16		length;
	const char *bytes;

	memcpy(&length, get_bytes(buffer, sizeof(length)), sizeof(length));
	length = pg_ntoh16(length);
	bytes = get_bytes(buffer, length);
	if (!pg_verifymbstr(bytes, length, true))
		refuse_damaged();
	return pnstrdup(bytes, length);
}

static void
check_container(const Container *container, bool same_system, Oid database, Oid relid, const char *name)
{
	char	   *own = QualifiedName(container->relid);

	if (same_system ? database != MyDatabaseId || relid != container->relid : strcmp(name, own) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("continuation token is of container %s, not %s", name, own),
				 same_system && strcmp(name, own) == 0 ? errdetail("It is one of the same name, in another database or from before.") : 0,
				 errhint(TOKEN_HINT)));
}

/* A database that was set back in time would hand out its transaction numbers, and so etags, a second time. */
static void
check_not_ahead(const FeedToken *token)
{
	uint64		next = U64FromFullTransactionId(ReadNextFullTransactionId());

	if (token->local && !RecoveryInProgress() && EtagTransactionOf(&token->position) > next)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("continuation token is ahead of this database"),
				 errdetail("It is from transaction " UINT64_FORMAT ", but the next one is " UINT64_FORMAT ": the database was set back in time.",
						   EtagTransactionOf(&token->position), next),
				 errhint("Begin anew, without a token.")));
}

void
FeedTokenRead(const Container *container, text *continuation, FeedToken *token)
{
	StringInfoData buffer;
	uint64		system;
	Oid			database;
	Oid			relid;
	char	   *name;
	char	   *scope;

	decode(continuation, &buffer);
	token->local = *get_bytes(&buffer, 1) != 0;
	system = get_int64(&buffer);
	database = get_int32(&buffer);
	relid = get_int32(&buffer);
	memcpy(token->position.data, get_bytes(&buffer, UUID_LEN), UUID_LEN);
	name = get_text(&buffer);
	scope = get_text(&buffer);
	if (buffer.cursor != buffer.len)
		refuse_damaged();
	check_container(container, system == EtagSystem(), database, relid, name);
	token->scope = *scope == '\0' ? NULL : DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(scope)));
	if (system != EtagSystem())
	{
		pg_uuid_t	lowest;

		/* What that system wrote comes in the order of etags among what others wrote; it may come twice, but nothing is left out. */
		EtagLowest(system, 0, &lowest);
		if (!token->local && EtagCompare(&lowest, &token->position) < 0)
			token->position = lowest;
		token->local = false;
	}
	check_not_ahead(token);
}
