/*
 * partitionkey--1.0.sql
 *		The install script.  CREATE EXTENSION makes the schema partitionkey.
 */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION partitionkey" to load this file. \quit

-- A schema that was there before may hold traps of its owner.
DO $$
BEGIN
	IF NOT (SELECT r.rolsuper FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner
			WHERE n.nspname = 'partitionkey') THEN
		RAISE EXCEPTION 'schema "partitionkey" belongs to a role that is no superuser'
			USING ERRCODE = 'insufficient_privilege', HINT = 'Drop the schema; CREATE EXTENSION makes it anew.';
	END IF;
END $$;

-- Every table owner can use the extension on his own tables.
GRANT USAGE ON SCHEMA partitionkey TO PUBLIC;

----------------------------------------------------------------------------
-- Operator classes
--
-- For each type and hash: two support functions, and an operator class over the
-- built-in operators.  Types whose values equal one another share a family.
----------------------------------------------------------------------------

-- Hash xxhash

CREATE FUNCTION text_xxhash(text) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_xxhash(text) IS
	'support function of text_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION text_xxhash_extended(text, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_xxhash_extended(text, int8) IS
	'support function of text_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION name_xxhash(name) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION name_xxhash(name) IS
	'support function of name_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION name_xxhash_extended(name, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION name_xxhash_extended(name, int8) IS
	'support function of name_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION uuid_xxhash(uuid) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uuid_xxhash(uuid) IS
	'support function of uuid_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION uuid_xxhash_extended(uuid, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uuid_xxhash_extended(uuid, int8) IS
	'support function of uuid_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION int2_xxhash(int2) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION int2_xxhash(int2) IS
	'support function of int2_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION int2_xxhash_extended(int2, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION int2_xxhash_extended(int2, int8) IS
	'support function of int2_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION int4_xxhash(int4) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION int4_xxhash(int4) IS
	'support function of int4_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION int4_xxhash_extended(int4, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION int4_xxhash_extended(int4, int8) IS
	'support function of int4_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION int8_xxhash(int8) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION int8_xxhash(int8) IS
	'support function of int8_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION int8_xxhash_extended(int8, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION int8_xxhash_extended(int8, int8) IS
	'support function of int8_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION numeric_xxhash(numeric) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION numeric_xxhash(numeric) IS
	'support function of numeric_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION numeric_xxhash_extended(numeric, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION numeric_xxhash_extended(numeric, int8) IS
	'support function of numeric_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION float4_xxhash(float4) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION float4_xxhash(float4) IS
	'support function of float4_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION float4_xxhash_extended(float4, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION float4_xxhash_extended(float4, int8) IS
	'support function of float4_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION float8_xxhash(float8) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION float8_xxhash(float8) IS
	'support function of float8_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION float8_xxhash_extended(float8, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION float8_xxhash_extended(float8, int8) IS
	'support function of float8_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION bool_xxhash(bool) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bool_xxhash(bool) IS
	'support function of bool_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION bool_xxhash_extended(bool, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bool_xxhash_extended(bool, int8) IS
	'support function of bool_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION date_xxhash(date) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION date_xxhash(date) IS
	'support function of date_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION date_xxhash_extended(date, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION date_xxhash_extended(date, int8) IS
	'support function of date_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION timestamp_xxhash(timestamp) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION timestamp_xxhash(timestamp) IS
	'support function of timestamp_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION timestamp_xxhash_extended(timestamp, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION timestamp_xxhash_extended(timestamp, int8) IS
	'support function of timestamp_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION timestamptz_xxhash(timestamptz) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION timestamptz_xxhash(timestamptz) IS
	'support function of timestamptz_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION timestamptz_xxhash_extended(timestamptz, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION timestamptz_xxhash_extended(timestamptz, int8) IS
	'support function of timestamptz_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION jsonb_xxhash(jsonb) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION jsonb_xxhash(jsonb) IS
	'support function of jsonb_xxhash_ops: 32 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION jsonb_xxhash_extended(jsonb, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION jsonb_xxhash_extended(jsonb, int8) IS
	'support function of jsonb_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';

CREATE OPERATOR FAMILY text_xxhash_ops USING hash;
COMMENT ON OPERATOR FAMILY text_xxhash_ops USING hash IS
	'partition keys of types text, name by XXH3';
CREATE OPERATOR CLASS text_xxhash_ops FOR TYPE text USING hash FAMILY text_xxhash_ops AS
	OPERATOR 1 pg_catalog.= (text, text),
	FUNCTION 1 text_xxhash(text),
	FUNCTION 2 text_xxhash_extended(text, int8);
CREATE OPERATOR CLASS name_xxhash_ops FOR TYPE name USING hash FAMILY text_xxhash_ops AS
	OPERATOR 1 pg_catalog.= (name, name),
	FUNCTION 1 name_xxhash(name),
	FUNCTION 2 name_xxhash_extended(name, int8);
CREATE OPERATOR CLASS varchar_xxhash_ops FOR TYPE text USING hash FAMILY text_xxhash_ops AS STORAGE text;
ALTER OPERATOR FAMILY text_xxhash_ops USING hash ADD
	OPERATOR 1 pg_catalog.= (text, name),
	OPERATOR 1 pg_catalog.= (name, text);
COMMENT ON OPERATOR CLASS text_xxhash_ops USING hash IS
	'partition key of type text by XXH3';
COMMENT ON OPERATOR CLASS name_xxhash_ops USING hash IS
	'partition key of type name by XXH3';
COMMENT ON OPERATOR CLASS varchar_xxhash_ops USING hash IS
	'partition key of type varchar by XXH3';
CREATE OPERATOR CLASS uuid_xxhash_ops FOR TYPE uuid USING hash AS
	OPERATOR 1 pg_catalog.= (uuid, uuid),
	FUNCTION 1 uuid_xxhash(uuid),
	FUNCTION 2 uuid_xxhash_extended(uuid, int8);
COMMENT ON OPERATOR CLASS uuid_xxhash_ops USING hash IS
	'partition key of type uuid by XXH3';
COMMENT ON OPERATOR FAMILY uuid_xxhash_ops USING hash IS
	'partition keys of type uuid by XXH3';
CREATE OPERATOR FAMILY integer_xxhash_ops USING hash;
COMMENT ON OPERATOR FAMILY integer_xxhash_ops USING hash IS
	'partition keys of types int2, int4, int8 by XXH3';
CREATE OPERATOR CLASS int2_xxhash_ops FOR TYPE int2 USING hash FAMILY integer_xxhash_ops AS
	OPERATOR 1 pg_catalog.= (int2, int2),
	FUNCTION 1 int2_xxhash(int2),
	FUNCTION 2 int2_xxhash_extended(int2, int8);
CREATE OPERATOR CLASS int4_xxhash_ops FOR TYPE int4 USING hash FAMILY integer_xxhash_ops AS
	OPERATOR 1 pg_catalog.= (int4, int4),
	FUNCTION 1 int4_xxhash(int4),
	FUNCTION 2 int4_xxhash_extended(int4, int8);
CREATE OPERATOR CLASS int8_xxhash_ops FOR TYPE int8 USING hash FAMILY integer_xxhash_ops AS
	OPERATOR 1 pg_catalog.= (int8, int8),
	FUNCTION 1 int8_xxhash(int8),
	FUNCTION 2 int8_xxhash_extended(int8, int8);
ALTER OPERATOR FAMILY integer_xxhash_ops USING hash ADD
	OPERATOR 1 pg_catalog.= (int2, int4),
	OPERATOR 1 pg_catalog.= (int2, int8),
	OPERATOR 1 pg_catalog.= (int4, int2),
	OPERATOR 1 pg_catalog.= (int4, int8),
	OPERATOR 1 pg_catalog.= (int8, int2),
	OPERATOR 1 pg_catalog.= (int8, int4);
COMMENT ON OPERATOR CLASS int2_xxhash_ops USING hash IS
	'partition key of type int2 by XXH3';
COMMENT ON OPERATOR CLASS int4_xxhash_ops USING hash IS
	'partition key of type int4 by XXH3';
COMMENT ON OPERATOR CLASS int8_xxhash_ops USING hash IS
	'partition key of type int8 by XXH3';
CREATE OPERATOR CLASS numeric_xxhash_ops FOR TYPE numeric USING hash AS
	OPERATOR 1 pg_catalog.= (numeric, numeric),
	FUNCTION 1 numeric_xxhash(numeric),
	FUNCTION 2 numeric_xxhash_extended(numeric, int8);
COMMENT ON OPERATOR CLASS numeric_xxhash_ops USING hash IS
	'partition key of type numeric by XXH3';
COMMENT ON OPERATOR FAMILY numeric_xxhash_ops USING hash IS
	'partition keys of type numeric by XXH3';
CREATE OPERATOR FAMILY float_xxhash_ops USING hash;
COMMENT ON OPERATOR FAMILY float_xxhash_ops USING hash IS
	'partition keys of types float4, float8 by XXH3';
CREATE OPERATOR CLASS float4_xxhash_ops FOR TYPE float4 USING hash FAMILY float_xxhash_ops AS
	OPERATOR 1 pg_catalog.= (float4, float4),
	FUNCTION 1 float4_xxhash(float4),
	FUNCTION 2 float4_xxhash_extended(float4, int8);
CREATE OPERATOR CLASS float8_xxhash_ops FOR TYPE float8 USING hash FAMILY float_xxhash_ops AS
	OPERATOR 1 pg_catalog.= (float8, float8),
	FUNCTION 1 float8_xxhash(float8),
	FUNCTION 2 float8_xxhash_extended(float8, int8);
ALTER OPERATOR FAMILY float_xxhash_ops USING hash ADD
	OPERATOR 1 pg_catalog.= (float4, float8),
	OPERATOR 1 pg_catalog.= (float8, float4);
COMMENT ON OPERATOR CLASS float4_xxhash_ops USING hash IS
	'partition key of type float4 by XXH3';
COMMENT ON OPERATOR CLASS float8_xxhash_ops USING hash IS
	'partition key of type float8 by XXH3';
CREATE OPERATOR CLASS bool_xxhash_ops FOR TYPE bool USING hash AS
	OPERATOR 1 pg_catalog.= (bool, bool),
	FUNCTION 1 bool_xxhash(bool),
	FUNCTION 2 bool_xxhash_extended(bool, int8);
COMMENT ON OPERATOR CLASS bool_xxhash_ops USING hash IS
	'partition key of type bool by XXH3';
COMMENT ON OPERATOR FAMILY bool_xxhash_ops USING hash IS
	'partition keys of type bool by XXH3';
CREATE OPERATOR CLASS date_xxhash_ops FOR TYPE date USING hash AS
	OPERATOR 1 pg_catalog.= (date, date),
	FUNCTION 1 date_xxhash(date),
	FUNCTION 2 date_xxhash_extended(date, int8);
COMMENT ON OPERATOR CLASS date_xxhash_ops USING hash IS
	'partition key of type date by XXH3';
COMMENT ON OPERATOR FAMILY date_xxhash_ops USING hash IS
	'partition keys of type date by XXH3';
CREATE OPERATOR CLASS timestamp_xxhash_ops FOR TYPE timestamp USING hash AS
	OPERATOR 1 pg_catalog.= (timestamp, timestamp),
	FUNCTION 1 timestamp_xxhash(timestamp),
	FUNCTION 2 timestamp_xxhash_extended(timestamp, int8);
COMMENT ON OPERATOR CLASS timestamp_xxhash_ops USING hash IS
	'partition key of type timestamp by XXH3';
COMMENT ON OPERATOR FAMILY timestamp_xxhash_ops USING hash IS
	'partition keys of type timestamp by XXH3';
CREATE OPERATOR CLASS timestamptz_xxhash_ops FOR TYPE timestamptz USING hash AS
	OPERATOR 1 pg_catalog.= (timestamptz, timestamptz),
	FUNCTION 1 timestamptz_xxhash(timestamptz),
	FUNCTION 2 timestamptz_xxhash_extended(timestamptz, int8);
COMMENT ON OPERATOR CLASS timestamptz_xxhash_ops USING hash IS
	'partition key of type timestamptz by XXH3';
COMMENT ON OPERATOR FAMILY timestamptz_xxhash_ops USING hash IS
	'partition keys of type timestamptz by XXH3';
CREATE OPERATOR CLASS jsonb_xxhash_ops FOR TYPE jsonb USING hash AS
	OPERATOR 1 pg_catalog.= (jsonb, jsonb),
	FUNCTION 1 jsonb_xxhash(jsonb),
	FUNCTION 2 jsonb_xxhash_extended(jsonb, int8);
COMMENT ON OPERATOR CLASS jsonb_xxhash_ops USING hash IS
	'partition key of type jsonb by XXH3';
COMMENT ON OPERATOR FAMILY jsonb_xxhash_ops USING hash IS
	'partition keys of type jsonb by XXH3';

-- Hash cosmos

CREATE FUNCTION text_cosmos(text) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_cosmos(text) IS
	'support function of text_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION text_cosmos_extended(text, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION text_cosmos_extended(text, int8) IS
	'support function of text_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION name_cosmos(name) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION name_cosmos(name) IS
	'support function of name_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION name_cosmos_extended(name, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION name_cosmos_extended(name, int8) IS
	'support function of name_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION uuid_cosmos(uuid) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uuid_cosmos(uuid) IS
	'support function of uuid_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION uuid_cosmos_extended(uuid, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION uuid_cosmos_extended(uuid, int8) IS
	'support function of uuid_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION int2_cosmos(int2) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION int2_cosmos(int2) IS
	'support function of int2_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION int2_cosmos_extended(int2, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION int2_cosmos_extended(int2, int8) IS
	'support function of int2_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION int4_cosmos(int4) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION int4_cosmos(int4) IS
	'support function of int4_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION int4_cosmos_extended(int4, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION int4_cosmos_extended(int4, int8) IS
	'support function of int4_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION int8_cosmos(int8) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION int8_cosmos(int8) IS
	'support function of int8_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION int8_cosmos_extended(int8, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION int8_cosmos_extended(int8, int8) IS
	'support function of int8_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION numeric_cosmos(numeric) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION numeric_cosmos(numeric) IS
	'support function of numeric_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION numeric_cosmos_extended(numeric, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION numeric_cosmos_extended(numeric, int8) IS
	'support function of numeric_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION float4_cosmos(float4) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION float4_cosmos(float4) IS
	'support function of float4_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION float4_cosmos_extended(float4, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION float4_cosmos_extended(float4, int8) IS
	'support function of float4_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION float8_cosmos(float8) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION float8_cosmos(float8) IS
	'support function of float8_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION float8_cosmos_extended(float8, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION float8_cosmos_extended(float8, int8) IS
	'support function of float8_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION bool_cosmos(bool) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bool_cosmos(bool) IS
	'support function of bool_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION bool_cosmos_extended(bool, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bool_cosmos_extended(bool, int8) IS
	'support function of bool_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION date_cosmos(date) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION date_cosmos(date) IS
	'support function of date_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION date_cosmos_extended(date, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION date_cosmos_extended(date, int8) IS
	'support function of date_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION timestamp_cosmos(timestamp) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION timestamp_cosmos(timestamp) IS
	'support function of timestamp_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION timestamp_cosmos_extended(timestamp, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION timestamp_cosmos_extended(timestamp, int8) IS
	'support function of timestamp_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION timestamptz_cosmos(timestamptz) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION timestamptz_cosmos(timestamptz) IS
	'support function of timestamptz_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION timestamptz_cosmos_extended(timestamptz, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION timestamptz_cosmos_extended(timestamptz, int8) IS
	'support function of timestamptz_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION jsonb_cosmos(jsonb) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION jsonb_cosmos(jsonb) IS
	'support function of jsonb_cosmos_ops: 32 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION jsonb_cosmos_extended(jsonb, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION jsonb_cosmos_extended(jsonb, int8) IS
	'support function of jsonb_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';

CREATE OPERATOR FAMILY text_cosmos_ops USING hash;
COMMENT ON OPERATOR FAMILY text_cosmos_ops USING hash IS
	'partition keys of types text, name by Cosmos DB''s version 2 hash';
CREATE OPERATOR CLASS text_cosmos_ops FOR TYPE text USING hash FAMILY text_cosmos_ops AS
	OPERATOR 1 pg_catalog.= (text, text),
	FUNCTION 1 text_cosmos(text),
	FUNCTION 2 text_cosmos_extended(text, int8);
CREATE OPERATOR CLASS name_cosmos_ops FOR TYPE name USING hash FAMILY text_cosmos_ops AS
	OPERATOR 1 pg_catalog.= (name, name),
	FUNCTION 1 name_cosmos(name),
	FUNCTION 2 name_cosmos_extended(name, int8);
CREATE OPERATOR CLASS varchar_cosmos_ops FOR TYPE text USING hash FAMILY text_cosmos_ops AS STORAGE text;
ALTER OPERATOR FAMILY text_cosmos_ops USING hash ADD
	OPERATOR 1 pg_catalog.= (text, name),
	OPERATOR 1 pg_catalog.= (name, text);
COMMENT ON OPERATOR CLASS text_cosmos_ops USING hash IS
	'partition key of type text by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR CLASS name_cosmos_ops USING hash IS
	'partition key of type name by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR CLASS varchar_cosmos_ops USING hash IS
	'partition key of type varchar by Cosmos DB''s version 2 hash';
CREATE OPERATOR CLASS uuid_cosmos_ops FOR TYPE uuid USING hash AS
	OPERATOR 1 pg_catalog.= (uuid, uuid),
	FUNCTION 1 uuid_cosmos(uuid),
	FUNCTION 2 uuid_cosmos_extended(uuid, int8);
COMMENT ON OPERATOR CLASS uuid_cosmos_ops USING hash IS
	'partition key of type uuid by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR FAMILY uuid_cosmos_ops USING hash IS
	'partition keys of type uuid by Cosmos DB''s version 2 hash';
CREATE OPERATOR FAMILY integer_cosmos_ops USING hash;
COMMENT ON OPERATOR FAMILY integer_cosmos_ops USING hash IS
	'partition keys of types int2, int4, int8 by Cosmos DB''s version 2 hash';
CREATE OPERATOR CLASS int2_cosmos_ops FOR TYPE int2 USING hash FAMILY integer_cosmos_ops AS
	OPERATOR 1 pg_catalog.= (int2, int2),
	FUNCTION 1 int2_cosmos(int2),
	FUNCTION 2 int2_cosmos_extended(int2, int8);
CREATE OPERATOR CLASS int4_cosmos_ops FOR TYPE int4 USING hash FAMILY integer_cosmos_ops AS
	OPERATOR 1 pg_catalog.= (int4, int4),
	FUNCTION 1 int4_cosmos(int4),
	FUNCTION 2 int4_cosmos_extended(int4, int8);
CREATE OPERATOR CLASS int8_cosmos_ops FOR TYPE int8 USING hash FAMILY integer_cosmos_ops AS
	OPERATOR 1 pg_catalog.= (int8, int8),
	FUNCTION 1 int8_cosmos(int8),
	FUNCTION 2 int8_cosmos_extended(int8, int8);
ALTER OPERATOR FAMILY integer_cosmos_ops USING hash ADD
	OPERATOR 1 pg_catalog.= (int2, int4),
	OPERATOR 1 pg_catalog.= (int2, int8),
	OPERATOR 1 pg_catalog.= (int4, int2),
	OPERATOR 1 pg_catalog.= (int4, int8),
	OPERATOR 1 pg_catalog.= (int8, int2),
	OPERATOR 1 pg_catalog.= (int8, int4);
COMMENT ON OPERATOR CLASS int2_cosmos_ops USING hash IS
	'partition key of type int2 by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR CLASS int4_cosmos_ops USING hash IS
	'partition key of type int4 by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR CLASS int8_cosmos_ops USING hash IS
	'partition key of type int8 by Cosmos DB''s version 2 hash';
CREATE OPERATOR CLASS numeric_cosmos_ops FOR TYPE numeric USING hash AS
	OPERATOR 1 pg_catalog.= (numeric, numeric),
	FUNCTION 1 numeric_cosmos(numeric),
	FUNCTION 2 numeric_cosmos_extended(numeric, int8);
COMMENT ON OPERATOR CLASS numeric_cosmos_ops USING hash IS
	'partition key of type numeric by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR FAMILY numeric_cosmos_ops USING hash IS
	'partition keys of type numeric by Cosmos DB''s version 2 hash';
CREATE OPERATOR FAMILY float_cosmos_ops USING hash;
COMMENT ON OPERATOR FAMILY float_cosmos_ops USING hash IS
	'partition keys of types float4, float8 by Cosmos DB''s version 2 hash';
CREATE OPERATOR CLASS float4_cosmos_ops FOR TYPE float4 USING hash FAMILY float_cosmos_ops AS
	OPERATOR 1 pg_catalog.= (float4, float4),
	FUNCTION 1 float4_cosmos(float4),
	FUNCTION 2 float4_cosmos_extended(float4, int8);
CREATE OPERATOR CLASS float8_cosmos_ops FOR TYPE float8 USING hash FAMILY float_cosmos_ops AS
	OPERATOR 1 pg_catalog.= (float8, float8),
	FUNCTION 1 float8_cosmos(float8),
	FUNCTION 2 float8_cosmos_extended(float8, int8);
ALTER OPERATOR FAMILY float_cosmos_ops USING hash ADD
	OPERATOR 1 pg_catalog.= (float4, float8),
	OPERATOR 1 pg_catalog.= (float8, float4);
COMMENT ON OPERATOR CLASS float4_cosmos_ops USING hash IS
	'partition key of type float4 by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR CLASS float8_cosmos_ops USING hash IS
	'partition key of type float8 by Cosmos DB''s version 2 hash';
CREATE OPERATOR CLASS bool_cosmos_ops FOR TYPE bool USING hash AS
	OPERATOR 1 pg_catalog.= (bool, bool),
	FUNCTION 1 bool_cosmos(bool),
	FUNCTION 2 bool_cosmos_extended(bool, int8);
COMMENT ON OPERATOR CLASS bool_cosmos_ops USING hash IS
	'partition key of type bool by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR FAMILY bool_cosmos_ops USING hash IS
	'partition keys of type bool by Cosmos DB''s version 2 hash';
CREATE OPERATOR CLASS date_cosmos_ops FOR TYPE date USING hash AS
	OPERATOR 1 pg_catalog.= (date, date),
	FUNCTION 1 date_cosmos(date),
	FUNCTION 2 date_cosmos_extended(date, int8);
COMMENT ON OPERATOR CLASS date_cosmos_ops USING hash IS
	'partition key of type date by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR FAMILY date_cosmos_ops USING hash IS
	'partition keys of type date by Cosmos DB''s version 2 hash';
CREATE OPERATOR CLASS timestamp_cosmos_ops FOR TYPE timestamp USING hash AS
	OPERATOR 1 pg_catalog.= (timestamp, timestamp),
	FUNCTION 1 timestamp_cosmos(timestamp),
	FUNCTION 2 timestamp_cosmos_extended(timestamp, int8);
COMMENT ON OPERATOR CLASS timestamp_cosmos_ops USING hash IS
	'partition key of type timestamp by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR FAMILY timestamp_cosmos_ops USING hash IS
	'partition keys of type timestamp by Cosmos DB''s version 2 hash';
CREATE OPERATOR CLASS timestamptz_cosmos_ops FOR TYPE timestamptz USING hash AS
	OPERATOR 1 pg_catalog.= (timestamptz, timestamptz),
	FUNCTION 1 timestamptz_cosmos(timestamptz),
	FUNCTION 2 timestamptz_cosmos_extended(timestamptz, int8);
COMMENT ON OPERATOR CLASS timestamptz_cosmos_ops USING hash IS
	'partition key of type timestamptz by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR FAMILY timestamptz_cosmos_ops USING hash IS
	'partition keys of type timestamptz by Cosmos DB''s version 2 hash';
CREATE OPERATOR CLASS jsonb_cosmos_ops FOR TYPE jsonb USING hash AS
	OPERATOR 1 pg_catalog.= (jsonb, jsonb),
	FUNCTION 1 jsonb_cosmos(jsonb),
	FUNCTION 2 jsonb_cosmos_extended(jsonb, int8);
COMMENT ON OPERATOR CLASS jsonb_cosmos_ops USING hash IS
	'partition key of type jsonb by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR FAMILY jsonb_cosmos_ops USING hash IS
	'partition keys of type jsonb by Cosmos DB''s version 2 hash';

CREATE FUNCTION hash_position(value "any", hash text DEFAULT 'xxhash') RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hash_position("any", text) IS
	'a key value''s place in the hash space (hash xxhash or cosmos), as 16 hex digits';

----------------------------------------------------------------------------
-- PUIDs
--
-- The bytes of a PUID are ordered as its text is, so the built-in functions for
-- uuid compare, sort, hash and transmit PUIDs, and those for integers families.
--
-- The operators, and min and max, are in pg_catalog, where everybody finds them
-- whatever his search_path.
----------------------------------------------------------------------------

CREATE TYPE puid;
CREATE FUNCTION puid_in(cstring) RETURNS puid
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_in(cstring) IS
	'input of puid';
CREATE FUNCTION puid_out(puid) RETURNS cstring
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_out(puid) IS
	'output of puid';
CREATE FUNCTION puid_recv(internal) RETURNS puid
	AS 'uuid_recv' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_recv(internal) IS
	'binary input of puid';
CREATE FUNCTION puid_send(puid) RETURNS bytea
	AS 'uuid_send' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_send(puid) IS
	'binary output of puid';
CREATE TYPE puid (INPUT = puid_in, OUTPUT = puid_out, RECEIVE = puid_recv, SEND = puid_send, LIKE = uuid);
COMMENT ON TYPE puid IS
	'partitioned unique identifier: a UUID written with underscores, whose first five digits are its family';

CREATE TYPE puid_family;
CREATE FUNCTION puid_family_in(cstring) RETURNS puid_family
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_in(cstring) IS
	'input of puid_family';
CREATE FUNCTION puid_family_out(puid_family) RETURNS cstring
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_out(puid_family) IS
	'output of puid_family';
CREATE FUNCTION puid_family_recv(internal) RETURNS puid_family
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_recv(internal) IS
	'binary input of puid_family';
CREATE FUNCTION puid_family_send(puid_family) RETURNS bytea
	AS 'int4send' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_send(puid_family) IS
	'binary output of puid_family';
CREATE TYPE puid_family (INPUT = puid_family_in, OUTPUT = puid_family_out, RECEIVE = puid_family_recv, SEND = puid_family_send, LIKE = int4);
COMMENT ON TYPE puid_family IS 'a family of PUIDs: five hexadecimal digits';

CREATE CAST (uuid AS puid) WITHOUT FUNCTION;
COMMENT ON CAST (uuid AS puid) IS 'the same bytes';
CREATE CAST (puid AS uuid) WITHOUT FUNCTION;
COMMENT ON CAST (puid AS uuid) IS 'the same bytes';

-- Making PUIDs

CREATE FUNCTION puid() RETURNS puid
	AS 'MODULE_PATHNAME', 'puid_head' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION puid() IS
	'a new PUID, the head of a family';
CREATE FUNCTION puid(parent puid) RETURNS puid
	AS 'MODULE_PATHNAME', 'puid_child' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid(puid) IS
	'a new PUID of the family of another one';
CREATE FUNCTION puid(family puid_family) RETURNS puid
	AS 'MODULE_PATHNAME', 'puid_member' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid(puid_family) IS
	'a new PUID of a given family';
CREATE FUNCTION family(puid) RETURNS puid_family
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION family(puid) IS
	'the family of a PUID: its first five digits';
CREATE FUNCTION family_min(puid_family) RETURNS puid
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION family_min(puid_family) IS
	'the lowest PUID that a family can have';
CREATE FUNCTION family_max(puid_family) RETURNS puid
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION family_max(puid_family) IS
	'the highest PUID that a family can have';
CREATE CAST (puid AS puid_family) WITH FUNCTION family(puid);
COMMENT ON CAST (puid AS puid_family) IS 'the first five digits';

-- Comparing

CREATE FUNCTION puid_lt(puid, puid) RETURNS bool
	AS 'uuid_lt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_lt(puid, puid) IS
	'implementation of < operator';
CREATE FUNCTION puid_le(puid, puid) RETURNS bool
	AS 'uuid_le' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_le(puid, puid) IS
	'implementation of <= operator';
CREATE FUNCTION puid_eq(puid, puid) RETURNS bool
	AS 'uuid_eq' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_eq(puid, puid) IS
	'implementation of = operator';
CREATE FUNCTION puid_ne(puid, puid) RETURNS bool
	AS 'uuid_ne' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_ne(puid, puid) IS
	'implementation of <> operator';
CREATE FUNCTION puid_ge(puid, puid) RETURNS bool
	AS 'uuid_ge' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_ge(puid, puid) IS
	'implementation of >= operator';
CREATE FUNCTION puid_gt(puid, puid) RETURNS bool
	AS 'uuid_gt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_gt(puid, puid) IS
	'implementation of > operator';
CREATE FUNCTION puid_lesel(internal, oid, internal, int4) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_lesel(internal, oid, internal, int4) IS
	'restriction selectivity of <= of puid';
CREATE OPERATOR pg_catalog.< (LEFTARG = puid, RIGHTARG = puid, FUNCTION = puid_lt,
	COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=), RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR pg_catalog.< (puid, puid) IS 'less than';
CREATE OPERATOR pg_catalog.<= (LEFTARG = puid, RIGHTARG = puid, FUNCTION = puid_le,
	COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>), RESTRICT = puid_lesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR pg_catalog.<= (puid, puid) IS 'less than or equal';
CREATE OPERATOR pg_catalog.= (LEFTARG = puid, RIGHTARG = puid, FUNCTION = puid_eq,
	COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>), RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR pg_catalog.= (puid, puid) IS 'equal';
CREATE OPERATOR pg_catalog.<> (LEFTARG = puid, RIGHTARG = puid, FUNCTION = puid_ne,
	COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=), RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR pg_catalog.<> (puid, puid) IS 'not equal';
CREATE OPERATOR pg_catalog.>= (LEFTARG = puid, RIGHTARG = puid, FUNCTION = puid_ge,
	COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<), RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR pg_catalog.>= (puid, puid) IS 'greater than or equal';
CREATE OPERATOR pg_catalog.> (LEFTARG = puid, RIGHTARG = puid, FUNCTION = puid_gt,
	COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=), RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR pg_catalog.> (puid, puid) IS 'greater than';
CREATE FUNCTION puid_cmp(puid, puid) RETURNS int4
	AS 'uuid_cmp' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_cmp(puid, puid) IS
	'less-equal-greater';
CREATE FUNCTION puid_sortsupport(internal) RETURNS void
	AS 'uuid_sortsupport' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_sortsupport(internal) IS
	'sort support';
CREATE FUNCTION puid_hash(puid) RETURNS int4
	AS 'uuid_hash' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_hash(puid) IS
	'hash';
CREATE FUNCTION puid_hash_extended(puid, int8) RETURNS int8
	AS 'uuid_hash_extended' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_hash_extended(puid, int8) IS
	'hash';
CREATE OPERATOR CLASS puid_ops DEFAULT FOR TYPE puid USING btree AS
	OPERATOR 1 pg_catalog.<,
	OPERATOR 2 pg_catalog.<=,
	OPERATOR 3 pg_catalog.=,
	OPERATOR 4 pg_catalog.>=,
	OPERATOR 5 pg_catalog.>,
	FUNCTION 1 puid_cmp(puid, puid),
	FUNCTION 2 (puid, puid) puid_sortsupport(internal),
	FUNCTION 4 (puid, puid) pg_catalog.btequalimage(oid);
COMMENT ON OPERATOR CLASS puid_ops USING btree IS 'type puid in the order of its text';
COMMENT ON OPERATOR FAMILY puid_ops USING btree IS 'type puid in the order of its text';
CREATE OPERATOR CLASS puid_ops DEFAULT FOR TYPE puid USING hash AS
	OPERATOR 1 pg_catalog.=,
	FUNCTION 1 puid_hash(puid),
	FUNCTION 2 puid_hash_extended(puid, int8);
COMMENT ON OPERATOR CLASS puid_ops USING hash IS 'type puid by the whole value';
COMMENT ON OPERATOR FAMILY puid_ops USING hash IS 'type puid by the whole value';

CREATE FUNCTION puid_family_lt(puid_family, puid_family) RETURNS bool
	AS 'int4lt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_lt(puid_family, puid_family) IS
	'implementation of < operator';
CREATE FUNCTION puid_family_le(puid_family, puid_family) RETURNS bool
	AS 'int4le' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_le(puid_family, puid_family) IS
	'implementation of <= operator';
CREATE FUNCTION puid_family_eq(puid_family, puid_family) RETURNS bool
	AS 'int4eq' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_eq(puid_family, puid_family) IS
	'implementation of = operator';
CREATE FUNCTION puid_family_ne(puid_family, puid_family) RETURNS bool
	AS 'int4ne' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_ne(puid_family, puid_family) IS
	'implementation of <> operator';
CREATE FUNCTION puid_family_ge(puid_family, puid_family) RETURNS bool
	AS 'int4ge' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_ge(puid_family, puid_family) IS
	'implementation of >= operator';
CREATE FUNCTION puid_family_gt(puid_family, puid_family) RETURNS bool
	AS 'int4gt' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_gt(puid_family, puid_family) IS
	'implementation of > operator';
CREATE OPERATOR pg_catalog.< (LEFTARG = puid_family, RIGHTARG = puid_family, FUNCTION = puid_family_lt,
	COMMUTATOR = OPERATOR(pg_catalog.>), NEGATOR = OPERATOR(pg_catalog.>=), RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR pg_catalog.< (puid_family, puid_family) IS 'less than';
CREATE OPERATOR pg_catalog.<= (LEFTARG = puid_family, RIGHTARG = puid_family, FUNCTION = puid_family_le,
	COMMUTATOR = OPERATOR(pg_catalog.>=), NEGATOR = OPERATOR(pg_catalog.>), RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR pg_catalog.<= (puid_family, puid_family) IS 'less than or equal';
CREATE OPERATOR pg_catalog.= (LEFTARG = puid_family, RIGHTARG = puid_family, FUNCTION = puid_family_eq,
	COMMUTATOR = OPERATOR(pg_catalog.=), NEGATOR = OPERATOR(pg_catalog.<>), RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR pg_catalog.= (puid_family, puid_family) IS 'equal';
CREATE OPERATOR pg_catalog.<> (LEFTARG = puid_family, RIGHTARG = puid_family, FUNCTION = puid_family_ne,
	COMMUTATOR = OPERATOR(pg_catalog.<>), NEGATOR = OPERATOR(pg_catalog.=), RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR pg_catalog.<> (puid_family, puid_family) IS 'not equal';
CREATE OPERATOR pg_catalog.>= (LEFTARG = puid_family, RIGHTARG = puid_family, FUNCTION = puid_family_ge,
	COMMUTATOR = OPERATOR(pg_catalog.<=), NEGATOR = OPERATOR(pg_catalog.<), RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR pg_catalog.>= (puid_family, puid_family) IS 'greater than or equal';
CREATE OPERATOR pg_catalog.> (LEFTARG = puid_family, RIGHTARG = puid_family, FUNCTION = puid_family_gt,
	COMMUTATOR = OPERATOR(pg_catalog.<), NEGATOR = OPERATOR(pg_catalog.<=), RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR pg_catalog.> (puid_family, puid_family) IS 'greater than';
CREATE FUNCTION puid_family_cmp(puid_family, puid_family) RETURNS int4
	AS 'btint4cmp' LANGUAGE internal IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_cmp(puid_family, puid_family) IS
	'less-equal-greater';
CREATE FUNCTION puid_family_sortsupport(internal) RETURNS void
	AS 'btint4sortsupport' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_sortsupport(internal) IS
	'sort support';
CREATE FUNCTION puid_family_hash(puid_family) RETURNS int4
	AS 'hashint4' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_hash(puid_family) IS
	'hash';
CREATE FUNCTION puid_family_hash_extended(puid_family, int8) RETURNS int8
	AS 'hashint4extended' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_hash_extended(puid_family, int8) IS
	'hash';
CREATE OPERATOR CLASS puid_family_ops DEFAULT FOR TYPE puid_family USING btree AS
	OPERATOR 1 pg_catalog.<,
	OPERATOR 2 pg_catalog.<=,
	OPERATOR 3 pg_catalog.=,
	OPERATOR 4 pg_catalog.>=,
	OPERATOR 5 pg_catalog.>,
	FUNCTION 1 puid_family_cmp(puid_family, puid_family),
	FUNCTION 2 (puid_family, puid_family) puid_family_sortsupport(internal),
	FUNCTION 4 (puid_family, puid_family) pg_catalog.btequalimage(oid);
COMMENT ON OPERATOR CLASS puid_family_ops USING btree IS 'type puid_family in the order of its text';
COMMENT ON OPERATOR FAMILY puid_family_ops USING btree IS 'type puid_family in the order of its text';
CREATE OPERATOR CLASS puid_family_ops DEFAULT FOR TYPE puid_family USING hash AS
	OPERATOR 1 pg_catalog.=,
	FUNCTION 1 puid_family_hash(puid_family),
	FUNCTION 2 puid_family_hash_extended(puid_family, int8);
COMMENT ON OPERATOR CLASS puid_family_ops USING hash IS 'type puid_family by the whole value';
COMMENT ON OPERATOR FAMILY puid_family_ops USING hash IS 'type puid_family by the whole value';

CREATE FUNCTION puid_smaller(puid, puid) RETURNS puid
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_smaller(puid, puid) IS
	'smaller of two';
CREATE AGGREGATE pg_catalog.min(puid) (SFUNC = puid_smaller, STYPE = puid, COMBINEFUNC = puid_smaller, SORTOP = OPERATOR(pg_catalog.<), PARALLEL = SAFE);
COMMENT ON AGGREGATE pg_catalog.min(puid) IS 'minimum value of all puid input values';
CREATE FUNCTION puid_larger(puid, puid) RETURNS puid
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_larger(puid, puid) IS
	'larger of two';
CREATE AGGREGATE pg_catalog.max(puid) (SFUNC = puid_larger, STYPE = puid, COMBINEFUNC = puid_larger, SORTOP = OPERATOR(pg_catalog.>), PARALLEL = SAFE);
COMMENT ON AGGREGATE pg_catalog.max(puid) IS 'maximum value of all puid input values';
CREATE FUNCTION puid_family_smaller(puid_family, puid_family) RETURNS puid_family
	AS 'int4smaller' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_smaller(puid_family, puid_family) IS
	'smaller of two';
CREATE AGGREGATE pg_catalog.min(puid_family) (SFUNC = puid_family_smaller, STYPE = puid_family, COMBINEFUNC = puid_family_smaller, SORTOP = OPERATOR(pg_catalog.<), PARALLEL = SAFE);
COMMENT ON AGGREGATE pg_catalog.min(puid_family) IS 'minimum value of all puid_family input values';
CREATE FUNCTION puid_family_larger(puid_family, puid_family) RETURNS puid_family
	AS 'int4larger' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_larger(puid_family, puid_family) IS
	'larger of two';
CREATE AGGREGATE pg_catalog.max(puid_family) (SFUNC = puid_family_larger, STYPE = puid_family, COMBINEFUNC = puid_family_larger, SORTOP = OPERATOR(pg_catalog.>), PARALLEL = SAFE);
COMMENT ON AGGREGATE pg_catalog.max(puid_family) IS 'maximum value of all puid_family input values';

-- Being in a family

CREATE FUNCTION puid_in_family_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION puid_in_family_support(internal) IS
	'support function of puid_in_family: the range of a family in an index';
CREATE FUNCTION puid_family_contains_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION puid_family_contains_support(internal) IS
	'support function of puid_family_contains: turns it into puid_in_family';
CREATE FUNCTION puid_in_family(puid, puid_family) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE
	SUPPORT puid_in_family_support;
COMMENT ON FUNCTION puid_in_family(puid, puid_family) IS
	'implementation of <@ operator';
CREATE FUNCTION puid_family_contains(puid_family, puid) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE
	SUPPORT puid_family_contains_support;
COMMENT ON FUNCTION puid_family_contains(puid_family, puid) IS
	'implementation of @> operator';
CREATE FUNCTION puid_family_sel(internal, oid, internal, int4) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_sel(internal, oid, internal, int4) IS
	'restriction selectivity of <@ and @> of puid and puid_family';
-- Only <@ is marked as hashable.  PostgreSQL may turn EXISTS (SELECT ... WHERE family @> id) into a
-- join with distinct ids, if the operator that has the ids on its right is; but a family has many ids.
CREATE OPERATOR pg_catalog.<@ (LEFTARG = puid, RIGHTARG = puid_family, FUNCTION = puid_in_family,
	COMMUTATOR = OPERATOR(pg_catalog.@>), RESTRICT = puid_family_sel, JOIN = eqjoinsel, HASHES);
COMMENT ON OPERATOR pg_catalog.<@ (puid, puid_family) IS 'is in the family';
CREATE OPERATOR pg_catalog.@> (LEFTARG = puid_family, RIGHTARG = puid, FUNCTION = puid_family_contains,
	COMMUTATOR = OPERATOR(pg_catalog.<@), RESTRICT = puid_family_sel, JOIN = eqjoinsel);
COMMENT ON OPERATOR pg_catalog.@> (puid_family, puid) IS 'has as a member';

-- Hash joins on <@ take the hash of the family.  ~=~ is there to complete the operator family.
CREATE FUNCTION puid_same_family(puid, puid) RETURNS bool
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE;
COMMENT ON FUNCTION puid_same_family(puid, puid) IS
	'implementation of ~=~ operator';
CREATE OPERATOR ~=~ (LEFTARG = puid, RIGHTARG = puid, FUNCTION = puid_same_family,
	COMMUTATOR = OPERATOR(partitionkey.~=~), RESTRICT = eqsel, JOIN = eqjoinsel, HASHES);
COMMENT ON OPERATOR ~=~ (puid, puid) IS 'is of the same family';
CREATE FUNCTION puid_hash_family(puid) RETURNS int4
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_hash_family(puid) IS
	'hash of the family';
ALTER OPERATOR FAMILY puid_family_ops USING hash ADD
	OPERATOR 1 ~=~ (puid, puid),
	OPERATOR 1 pg_catalog.<@ (puid, puid_family),
	OPERATOR 1 pg_catalog.@> (puid_family, puid),
	FUNCTION 1 (puid, puid) puid_hash_family(puid);

-- As partition keys: a PUID's position is that of its family, and a family's that of its text.
--
-- These operator classes have the hash that partitioning takes, and not the one that hash joins and
-- hash tables take.  PostgreSQL is free to use any operator family that has the operator for those, and
-- PUIDs hashed by their family would collide there.

CREATE FUNCTION puid_xxhash_extended(puid, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_xxhash_extended(puid, int8) IS
	'support function of puid_family_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE FUNCTION puid_family_xxhash_extended(puid_family, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_xxhash_extended(puid_family, int8) IS
	'support function of family_xxhash_ops: 64 bits that hold the position (XXH3) in reverse order';
CREATE OPERATOR FAMILY puid_family_xxhash_ops USING hash;
COMMENT ON OPERATOR FAMILY puid_family_xxhash_ops USING hash IS
	'partition keys of types puid, puid_family by XXH3';
CREATE OPERATOR CLASS puid_family_xxhash_ops FOR TYPE puid USING hash FAMILY puid_family_xxhash_ops AS
	OPERATOR 1 pg_catalog.= (puid, puid),
	FUNCTION 2 puid_xxhash_extended(puid, int8);
CREATE OPERATOR CLASS family_xxhash_ops FOR TYPE puid_family USING hash FAMILY puid_family_xxhash_ops AS
	OPERATOR 1 pg_catalog.= (puid_family, puid_family),
	FUNCTION 2 puid_family_xxhash_extended(puid_family, int8);
ALTER OPERATOR FAMILY puid_family_xxhash_ops USING hash ADD
	OPERATOR 1 pg_catalog.<@ (puid, puid_family),
	OPERATOR 1 pg_catalog.@> (puid_family, puid);
COMMENT ON OPERATOR CLASS puid_family_xxhash_ops USING hash IS
	'partition key of type puid, placed by its family, by XXH3';
COMMENT ON OPERATOR CLASS family_xxhash_ops USING hash IS
	'partition key of type puid_family by XXH3';
CREATE FUNCTION puid_cosmos_extended(puid, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_cosmos_extended(puid, int8) IS
	'support function of puid_family_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE FUNCTION puid_family_cosmos_extended(puid_family, int8) RETURNS int8
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION puid_family_cosmos_extended(puid_family, int8) IS
	'support function of family_cosmos_ops: 64 bits that hold the position (Cosmos DB''s version 2 hash) in reverse order';
CREATE OPERATOR FAMILY puid_family_cosmos_ops USING hash;
COMMENT ON OPERATOR FAMILY puid_family_cosmos_ops USING hash IS
	'partition keys of types puid, puid_family by Cosmos DB''s version 2 hash';
CREATE OPERATOR CLASS puid_family_cosmos_ops FOR TYPE puid USING hash FAMILY puid_family_cosmos_ops AS
	OPERATOR 1 pg_catalog.= (puid, puid),
	FUNCTION 2 puid_cosmos_extended(puid, int8);
CREATE OPERATOR CLASS family_cosmos_ops FOR TYPE puid_family USING hash FAMILY puid_family_cosmos_ops AS
	OPERATOR 1 pg_catalog.= (puid_family, puid_family),
	FUNCTION 2 puid_family_cosmos_extended(puid_family, int8);
ALTER OPERATOR FAMILY puid_family_cosmos_ops USING hash ADD
	OPERATOR 1 pg_catalog.<@ (puid, puid_family),
	OPERATOR 1 pg_catalog.@> (puid_family, puid);
COMMENT ON OPERATOR CLASS puid_family_cosmos_ops USING hash IS
	'partition key of type puid, placed by its family, by Cosmos DB''s version 2 hash';
COMMENT ON OPERATOR CLASS family_cosmos_ops USING hash IS
	'partition key of type puid_family by Cosmos DB''s version 2 hash';

----------------------------------------------------------------------------
-- Synthetic keys
----------------------------------------------------------------------------

CREATE FUNCTION synthetic_key(VARIADIC parts "any") RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION synthetic_key("any") IS
	'parts joined by _, each in its canonical text';
CREATE FUNCTION synthetic_key_with(separator text, VARIADIC parts "any") RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION synthetic_key_with(text, "any") IS
	'parts joined by a separator, each in its canonical text';
CREATE FUNCTION synthetic_key_strict(separator text, VARIADIC parts "any") RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION synthetic_key_strict(text, "any") IS
	'parts joined by a separator that none of them holds, so that split_synthetic_key gives them back';
CREATE FUNCTION split_synthetic_key(key text, separator text DEFAULT '_') RETURNS text[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION split_synthetic_key(text, text) IS
	'the parts of a key that synthetic_key_strict made';

CREATE FUNCTION hash_suffix(base text, id text, buckets int DEFAULT 10, algorithm text DEFAULT 'md5') RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hash_suffix(text, text, int, text) IS
	'base_N, where N is the digest (md5, sha256 or xxhash) of an id modulo a number of buckets';
CREATE FUNCTION random_suffix(base text, buckets int DEFAULT 5) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION random_suffix(text, int) IS
	'base_N, where N is a random number below a number of buckets';
CREATE FUNCTION suffix_keys_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION suffix_keys_support(internal) IS
	'support function of suffix_keys: shows the planner the keys of a base that is not known yet';
CREATE FUNCTION suffix_keys(base text, buckets int) RETURNS text[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE
	SUPPORT suffix_keys_support;
COMMENT ON FUNCTION suffix_keys(text, int) IS
	'all keys that hash_suffix and random_suffix can give';

CREATE FUNCTION time_bucket_key(base text, at timestamptz, width interval DEFAULT '1 hour') RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION time_bucket_key(text, timestamptz, interval) IS
	'base_YYYYMMDDHH: the beginning, in UTC, of the time bucket that holds a moment';
CREATE FUNCTION time_bucket_keys(base text, "from" timestamptz, "to" timestamptz, width interval DEFAULT '1 hour') RETURNS text[]
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION time_bucket_keys(text, timestamptz, timestamptz, interval) IS
	'the keys of all time buckets that meet a span of time';

----------------------------------------------------------------------------
-- Effective partition keys
----------------------------------------------------------------------------

CREATE FUNCTION effective_partition_key(key jsonb, kind text DEFAULT 'MultiHash', version int DEFAULT 2) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION effective_partition_key(jsonb, text, int) IS
	'the effective partition key that Cosmos DB gives a key (kind Hash or MultiHash, version 1 or 2), in upper-case hex';

CREATE FUNCTION epk_range(prefix jsonb, levels int, OUT min_inclusive text, OUT max_exclusive text)
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION epk_range(jsonb, int) IS
	'the range of effective partition keys that all keys with a prefix have, for a hierarchical key of so many levels';

----------------------------------------------------------------------------
-- Containers
----------------------------------------------------------------------------

-- What PostgreSQL's catalogs don't hold; written by the functions below only.
CREATE TABLE registry (
	container regclass PRIMARY KEY,
	paths text[] NOT NULL,
	columns text[] NOT NULL,
	hash text NOT NULL,
	definition jsonb,
	partitions int[] NOT NULL,
	isolated jsonb NOT NULL DEFAULT '[]'
);
COMMENT ON TABLE registry IS 'containers: what PostgreSQL''s own catalogs don''t hold';
COMMENT ON COLUMN registry.container IS 'the partitioned table';
COMMENT ON COLUMN registry.paths IS 'partition key paths, as given';
COMMENT ON COLUMN registry.columns IS 'the key column of each path';
COMMENT ON COLUMN registry.hash IS 'xxhash or cosmos';
COMMENT ON COLUMN registry.definition IS 'the container''s definition in Cosmos DB, if it was made from one';
COMMENT ON COLUMN registry.partitions IS 'ranges of each path that the container was made with; maintain merges no further';
COMMENT ON COLUMN registry.isolated IS 'keys that have partitions of their own, which maintain keeps apart';
GRANT SELECT ON registry TO PUBLIC;
SELECT pg_catalog.pg_extension_config_dump('registry', '');

CREATE FUNCTION registry_on_drop() RETURNS event_trigger
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION registry_on_drop() IS
	'forgets dropped containers, and refuses to drop a key column';
CREATE EVENT TRIGGER partitionkey_on_drop ON sql_drop
	EXECUTE FUNCTION registry_on_drop();
COMMENT ON EVENT TRIGGER partitionkey_on_drop IS
	'forgets dropped containers, and refuses to drop a key column';

CREATE FUNCTION show_before_drop() RETURNS event_trigger
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION show_before_drop() IS
	'lets tables of operations on partitions be dropped with what they belong to';
CREATE EVENT TRIGGER partitionkey_before_drop ON ddl_command_start
	WHEN TAG IN ('DROP SCHEMA', 'DROP OWNED', 'DROP TYPE', 'DROP DOMAIN', 'DROP COLLATION', 'DROP EXTENSION', 'DROP ACCESS METHOD')
	EXECUTE FUNCTION show_before_drop();
-- also where session_replication_role is replica
ALTER EVENT TRIGGER partitionkey_before_drop ENABLE ALWAYS;
COMMENT ON EVENT TRIGGER partitionkey_before_drop IS
	'lets tables of operations on partitions be dropped with what they belong to';

CREATE FUNCTION registry_on_alter() RETURNS event_trigger
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION registry_on_alter() IS
	'follows the new name of a key column, and refuses to make it unfit for a key';
CREATE EVENT TRIGGER partitionkey_on_alter ON ddl_command_end WHEN TAG IN ('ALTER TABLE', 'ALTER VIEW', 'ALTER MATERIALIZED VIEW', 'ALTER FOREIGN TABLE')
	EXECUTE FUNCTION registry_on_alter();
COMMENT ON EVENT TRIGGER partitionkey_on_alter IS
	'follows the new name of a key column, and refuses to make it unfit for a key';

CREATE FUNCTION valid_key(VARIADIC "any") RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION valid_key("any") IS
	'true, or an error if a key value is longer than 2048 bytes or is a JSON array or object; the check constraint of containers';

CREATE FUNCTION create_container(relation regclass, paths text[], partitions int[] DEFAULT NULL, hash text DEFAULT NULL)
	RETURNS regclass
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION create_container(regclass, text[], int[], text) IS
	'makes an ordinary table or a partitioned table a container: divided by one to three partition key paths';

CREATE PROCEDURE drop_container(container regclass)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE drop_container(regclass) IS
	'drops a container partition by partition, with a commit after each';

CREATE FUNCTION partition_ranges(container regclass,
	OUT partition regclass, OUT min_inclusive text[], OUT max_exclusive text[])
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION partition_ranges(regclass) IS
	'the leaf partitions of a container in the order of the hash space, with the range of positions at each level';

CREATE FUNCTION partition_of(container regclass, key jsonb) RETURNS SETOF regclass
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION partition_of(regclass, jsonb) IS
	'the leaf partitions that can hold a key, or the keys with a prefix, written as a JSON array';

CREATE FUNCTION partitions_in_range(container regclass, min_inclusive text[], max_exclusive text[]) RETURNS SETOF regclass
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION partitions_in_range(regclass, text[], text[]) IS
	'the leaf partitions that have a part of a range of positions now, whatever partitions had it when it was noted';

CREATE FUNCTION verify(container regclass)
	RETURNS TABLE (partition regclass, items bigint, misplaced bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION verify(regclass) IS
	'counts the rows of each leaf partition, and those whose key belongs elsewhere';

CREATE VIEW containers AS
	SELECT r.container, r.paths, r.columns, r.hash,
		   (SELECT count(*) FROM partition_ranges(r.container)) AS physical_partitions
	FROM registry r
	WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = r.container);
COMMENT ON VIEW containers IS 'the containers of this database';
COMMENT ON COLUMN containers.container IS 'the partitioned table';
COMMENT ON COLUMN containers.paths IS 'partition key paths';
COMMENT ON COLUMN containers.columns IS 'the key column of each path';
COMMENT ON COLUMN containers.hash IS 'xxhash or cosmos';
COMMENT ON COLUMN containers.physical_partitions IS 'number of leaf partitions';
GRANT SELECT ON containers TO PUBLIC;

CREATE VIEW physical_partitions AS
	SELECT r.container, p.partition, p.min_inclusive, p.max_exclusive,
		   -- as the planner estimates: rows a page times pages, else what was counted since the start
		   CASE WHEN c.relpages > 0
				THEN c.reltuples * (pg_catalog.pg_relation_size(c.oid) / pg_catalog.current_setting('block_size')::int) / c.relpages
				ELSE pg_catalog.pg_stat_get_live_tuples(c.oid) END::bigint AS items,
		   pg_catalog.pg_total_relation_size(c.oid) AS bytes
	FROM registry r
	CROSS JOIN LATERAL partition_ranges(r.container) p
	JOIN pg_catalog.pg_class c ON c.oid = p.partition;
COMMENT ON VIEW physical_partitions IS 'the leaf partitions of all containers, with their ranges of the hash space';
COMMENT ON COLUMN physical_partitions.container IS 'the partitioned table';
COMMENT ON COLUMN physical_partitions.partition IS 'the leaf partition';
COMMENT ON COLUMN physical_partitions.min_inclusive IS
	'lowest position (for hash cosmos: effective partition key) at each level used, in hex; empty for the start of the space';
COMMENT ON COLUMN physical_partitions.max_exclusive IS
	'the position that ends the range at each level used, in hex; FF for the end of the space';
COMMENT ON COLUMN physical_partitions.items IS 'number of rows, as the server''s statistics estimate it';
COMMENT ON COLUMN physical_partitions.bytes IS 'size on disk, with indexes and TOAST';
GRANT SELECT ON physical_partitions TO PUBLIC;

----------------------------------------------------------------------------
-- Elasticity
----------------------------------------------------------------------------

-- Changes of the tree that are under way; written by the procedures below only.
CREATE TABLE operation (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	kind text NOT NULL,
	container regclass NOT NULL,
	partitions regclass[] NOT NULL,
	replaced oid[] NOT NULL,
	made oid[] NOT NULL,
	phase text NOT NULL,
	swapped boolean NOT NULL DEFAULT false,
	rows_copied bigint NOT NULL DEFAULT 0,
	rows_estimated bigint NOT NULL,
	started timestamptz NOT NULL DEFAULT clock_timestamp(),
	pid int NOT NULL,
	error text
);
COMMENT ON TABLE operation IS 'changes of containers'' trees that are under way, or that ended half-way';
COMMENT ON SEQUENCE operation_id_seq IS 'numbers of operations';

-- Written by applications' transactions, of which none waits for another.
CREATE TABLE gap (
	operation bigint NOT NULL,
	error text NOT NULL
);
-- Where all tables are published, too, rows can be deleted.
ALTER TABLE gap REPLICA IDENTITY FULL;
COMMENT ON TABLE gap IS 'changes of applications that an operation could not repeat, which ends it';

CREATE VIEW operations AS
	SELECT o.kind, o.container, o.partitions, o.phase, o.rows_copied, o.rows_estimated, o.started,
		   EXISTS (SELECT FROM pg_catalog.pg_locks l
				   WHERE l.locktype = 'object' AND l.classid = 'operation'::regclass AND l.objid = (o.id & 4294967295)::oid
				   AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
				   AND l.granted) AS running,
		   o.pid, o.error
	FROM operation o LEFT JOIN pg_catalog.pg_class c ON c.oid = o.container
	WHERE pg_catalog.pg_has_role(c.relowner, 'USAGE') OR c.oid IS NULL;
COMMENT ON VIEW operations IS 'changes of the trees of your containers that are under way, or that ended half-way';
COMMENT ON COLUMN operations.kind IS 'split, merge or isolate';
COMMENT ON COLUMN operations.container IS 'the container';
COMMENT ON COLUMN operations.partitions IS 'the partitions that are replaced';
COMMENT ON COLUMN operations.phase IS 'preparing, starting, copying, analyzing, waiting, swapping or dropping';
COMMENT ON COLUMN operations.rows_copied IS 'rows copied up to now';
COMMENT ON COLUMN operations.rows_estimated IS 'rows to copy, as the server''s statistics estimate it';
COMMENT ON COLUMN operations.started IS 'when it began';
COMMENT ON COLUMN operations.running IS 'whether a session works on it; if not, cleanup() removes what it left';
COMMENT ON COLUMN operations.pid IS 'the server process that works on it, or did';
COMMENT ON COLUMN operations.error IS 'why it failed';
GRANT SELECT ON operations TO PUBLIC;

CREATE FUNCTION dual_write() RETURNS trigger
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION dual_write() IS
	'repeats changes of a leaf partition in the tables that will take its place';

CREATE PROCEDURE split_partition(partition regclass, path text DEFAULT NULL)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE split_partition(regclass, text) IS
	'divides a leaf partition while it is in use: halves its range, or divides it by the next partition key path';

CREATE PROCEDURE merge_partitions(a regclass, b regclass)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE merge_partitions(regclass, regclass) IS
	'makes the two halves of a range one leaf partition, while they are in use';

CREATE PROCEDURE isolate_key(container regclass, key jsonb)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE isolate_key(regclass, jsonb) IS
	'gives a key, or all keys with a prefix, partitions of their own, while they are in use';

CREATE FUNCTION large_keys(container regclass,
	OUT key jsonb, OUT bytes bigint, OUT share float8, OUT relieved_by text)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT;
COMMENT ON FUNCTION large_keys(regclass) IS
	'keys, and prefixes that have not used their next level yet, above 80 % of partitionkey.logical_partition_limit';

CREATE PROCEDURE maintain(container regclass DEFAULT NULL)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE maintain(regclass) IS
	'divides partitions above partitionkey.physical_partition_limit, merges small ones, and cleans up; for one container or all of yours';

CREATE PROCEDURE cleanup(container regclass DEFAULT NULL)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE cleanup(regclass) IS
	'removes what operations that ended half-way left behind';

----------------------------------------------------------------------------
-- Insight: where data lies
----------------------------------------------------------------------------

CREATE FUNCTION logical_partitions(container regclass, levels int DEFAULT NULL, sample float8 DEFAULT NULL)
	RETURNS TABLE (key jsonb, items bigint, bytes bigint, share float8, partitions regclass[])
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE;
COMMENT ON FUNCTION logical_partitions(regclass, int, float8) IS
	'the keys of a container, or their first levels, by the number of their rows, with their stored size and the leaf partitions that hold them; counted, or estimated from a sample of so many per cent';

CREATE FUNCTION hot_partitions(container regclass, threshold float8 DEFAULT 0.2, sample float8 DEFAULT NULL)
	RETURNS TABLE (kind text, key jsonb, partitions regclass[], share float8, reason text, relieved_by text)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE;
COMMENT ON FUNCTION hot_partitions(regclass, float8, float8) IS
	'keys and their levels, and leaf partitions, that carry more than a share of the items, bytes, reads or writes, with the reason and what would relieve it';

CREATE FUNCTION partition_map(container regclass, sample float8 DEFAULT NULL)
	RETURNS TABLE (partition regclass, items bigint, bytes bigint, share float8, bar text, largest_key jsonb)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE;
COMMENT ON FUNCTION partition_map(regclass, float8) IS
	'what each leaf partition holds, in the order of the hash space, with a bar and its largest key';

CREATE FUNCTION diagram(container regclass, levels int DEFAULT NULL, threshold float8 DEFAULT 0.2, sample float8 DEFAULT NULL)
	RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE;
COMMENT ON FUNCTION diagram(regclass, int, float8, float8) IS
	'an SVG picture of the physical partitions of a container and of the logical partitions in them';

----------------------------------------------------------------------------
-- Choosing a key by the data
----------------------------------------------------------------------------

CREATE FUNCTION advise_key(relation regclass, candidates text[] DEFAULT NULL, queries text[] DEFAULT NULL, partitions int DEFAULT 8)
	RETURNS TABLE (candidate text, score float8, logical_partitions bigint, largest_share float8,
				   undefined_share float8, null_share float8, not_scalar_share float8, skew float8,
				   largest_bytes bigint, limit_share float8, single float8, prefix float8, fan_out float8, warnings text[])
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE COST 10000 ROWS 30;
COMMENT ON FUNCTION advise_key(regclass, text[], text[], int) IS
	'judges partition keys that a table could have by its rows and queries, the best first';

CREATE FUNCTION simulate_cosmos(relation regclass, paths text[], physical_partitions int DEFAULT 4)
	RETURNS TABLE (partition int, min_inclusive text, max_exclusive text, items bigint, bytes bigint, share float8)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE COST 10000 ROWS 4;
COMMENT ON FUNCTION simulate_cosmos(regclass, text[], int) IS
	'where the rows of a table would lie in Cosmos DB with these partition key paths: its even ranges of effective partition keys';

----------------------------------------------------------------------------
-- What a query touches
----------------------------------------------------------------------------

CREATE FUNCTION explain_query(query text)
	RETURNS TABLE (container regclass, routing text, levels_bound int, levels int, partitions_hit int, partitions_total int,
				   cosmos text, reason text, hint text)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT ROWS 1 COST 1000;
COMMENT ON FUNCTION explain_query(text) IS
	'what a statement touches: a row for each read of a container, with how its conditions choose partitions, and why not; the statement is planned, not run';

CREATE FUNCTION routing_counts(OUT container regclass, OUT statements bigint, OUT single bigint, OUT keys bigint, OUT prefix bigint,
	OUT fan_out bigint, OUT levels bigint[], OUT advice text, OUT since timestamptz)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION routing_counts() IS 'what the view routing_stats shows';

CREATE FUNCTION routing_stats_reset(container regclass DEFAULT NULL) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION routing_stats_reset(regclass) IS
	'begins to count anew in routing_stats: for one container, or all of the database';
REVOKE EXECUTE ON FUNCTION routing_stats_reset(regclass) FROM PUBLIC;

CREATE VIEW routing_stats AS
	SELECT container, statements, single, keys, prefix, fan_out, levels, advice, since FROM routing_counts();
COMMENT ON VIEW routing_stats IS
	'how many statements of each routing the containers of this database have met; needs shared_preload_libraries';
COMMENT ON COLUMN routing_stats.container IS 'the container';
COMMENT ON COLUMN routing_stats.statements IS 'statements that read it or inserted into it';
COMMENT ON COLUMN routing_stats.single IS 'those for one full key';
COMMENT ON COLUMN routing_stats.keys IS 'those for several full keys';
COMMENT ON COLUMN routing_stats.prefix IS 'those for the first level, but not all';
COMMENT ON COLUMN routing_stats.fan_out IS 'those without the first level';
COMMENT ON COLUMN routing_stats.levels IS 'for each partition key path, the statements that gave a value for it';
COMMENT ON COLUMN routing_stats.advice IS 'what the figures suggest';
COMMENT ON COLUMN routing_stats.since IS 'when counting began';
GRANT SELECT ON routing_stats TO PUBLIC;

----------------------------------------------------------------------------
-- Staging from Cosmos: definitions
----------------------------------------------------------------------------

CREATE FUNCTION create_container_from_definition(definition jsonb, name text DEFAULT NULL, key_types text[] DEFAULT NULL, partitions int[] DEFAULT NULL)
	RETURNS regclass
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION create_container_from_definition(jsonb, text, text[], int[]) IS
	'makes a container, with its table, from its definition in Cosmos DB';

CREATE FUNCTION create_container_from_definition(definition text, name text DEFAULT NULL, key_types text[] DEFAULT NULL, partitions int[] DEFAULT NULL)
	RETURNS regclass
	AS 'MODULE_PATHNAME', 'create_container_from_definition_text' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION create_container_from_definition(text, text, text[], int[]) IS
	'the same for a definition as text, which may begin with a byte order mark';

CREATE FUNCTION set_container_definition(container regclass, definition jsonb) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION set_container_definition(regclass, jsonb) IS
	'gives a container that exists its definition in Cosmos DB; no index is made';

CREATE FUNCTION container_definition(container regclass) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION container_definition(regclass) IS
	'the definition with which the container can be made in Cosmos DB';

CREATE FUNCTION epk_of(container regclass, key jsonb) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION epk_of(regclass, jsonb) IS
	'the effective partition key that Cosmos DB gives a key, by the kind and version of the container''s definition';

----------------------------------------------------------------------------
-- Coming from Cosmos: exports
----------------------------------------------------------------------------

CREATE FUNCTION read_export(source text)
	RETURNS TABLE (file text, line bigint, byte_offset bigint, item jsonb, fault text, reason text, text text)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL SAFE COST 10000 ROWS 10000;
COMMENT ON FUNCTION read_export(text) IS
	'the items of an export of Cosmos DB, a file or folder of the server, and what is wrong with those that can''t be read';

CREATE FUNCTION inspect_export(source text, paths text[] DEFAULT NULL)
	RETURNS TABLE (kind text, name text, items bigint, share float8, types text, nulls bigint, undefined bigint,
				   distinct_keys bigint, largest_share float8, largest_key jsonb, key_types text[], note text)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL SAFE COST 10000 ROWS 30;
COMMENT ON FUNCTION inspect_export(text, text[]) IS
	'what is in an export of Cosmos DB, a file or folder of the server: its format, faults and properties, and what keys the paths would make';

CREATE FUNCTION verify_import(container regclass, source text, keys text[] DEFAULT NULL, keep_system boolean DEFAULT false)
	RETURNS TABLE (key jsonb, source_items bigint, container_items bigint,
				   source_checksum text, container_checksum text, difference text, source_without_id bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE COST 10000 ROWS 10;
COMMENT ON FUNCTION verify_import(regclass, text, text[], boolean) IS
	'compares a container with an export: the logical partitions that differ, and the sum of all';

----------------------------------------------------------------------------
-- Coming from Cosmos: items in bulk
----------------------------------------------------------------------------

CREATE FUNCTION import_items(container regclass, source text, on_conflict text DEFAULT 'quarantine', generate_ids boolean DEFAULT false,
	keep_system boolean DEFAULT false, max_faults float8 DEFAULT 1, keys text[] DEFAULT NULL, quarantine text DEFAULT NULL,
	OUT read bigint, OUT loaded bigint, OUT replaced bigint, OUT skipped bigint, OUT quarantined bigint, OUT reasons jsonb,
	OUT seconds float8, OUT items_per_second float8)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE COST 1000000;
COMMENT ON FUNCTION import_items(regclass, text, text, boolean, boolean, float8, text[], text) IS
	'loads the items of a file or folder of the server into a container, all or nothing; faulty items go to a quarantine table';

CREATE PROCEDURE import_items_in_batches(container regclass, source text, on_conflict text DEFAULT 'quarantine', generate_ids boolean DEFAULT false,
	keep_system boolean DEFAULT false, max_faults float8 DEFAULT 1, keys text[] DEFAULT NULL, quarantine text DEFAULT NULL,
	batch_items int DEFAULT 10000,
	INOUT read bigint DEFAULT NULL, INOUT loaded bigint DEFAULT NULL, INOUT replaced bigint DEFAULT NULL, INOUT skipped bigint DEFAULT NULL,
	INOUT quarantined bigint DEFAULT NULL, INOUT reasons jsonb DEFAULT NULL, INOUT seconds float8 DEFAULT NULL,
	INOUT items_per_second float8 DEFAULT NULL)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE import_items_in_batches IS
	'as the function import_items, but each batch of items is committed, and remains if a later one fails';

CREATE FUNCTION item_replaces() RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION item_replaces() IS
	'true, and notes for item_replaced that a row is being replaced; import_items uses both in its statements';

CREATE FUNCTION item_replaced() RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION item_replaced() IS
	'whether the row that a statement of import_items gives back has replaced another one';

CREATE FUNCTION create_items_view(container regclass, on_conflict text DEFAULT 'quarantine') RETURNS regclass
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION create_items_view(regclass, text) IS
	'makes the view <container>_items(doc), which shows the items of a container as JSON, and loads those that are inserted into it';

CREATE FUNCTION items_view_insert() RETURNS trigger
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION items_view_insert() IS
	'the triggers by which a view that create_items_view has made loads items';

CREATE FUNCTION items_view_update() RETURNS trigger
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION items_view_update() IS
	'the trigger that refuses UPDATE of a view that create_items_view has made';

----------------------------------------------------------------------------
-- Etags and the change feed
----------------------------------------------------------------------------

CREATE FUNCTION next_etag() RETURNS uuid
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION next_etag() IS
	'a new etag, of the current transaction; for enable_change_feed';

CREATE FUNCTION set_etag() RETURNS trigger
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION set_etag() IS
	'the trigger that gives each row written its etag, and the time of the change';

CREATE FUNCTION enable_change_feed(container regclass) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION enable_change_feed(regclass) IS
	'gives a container a column etag, which orders changes, with the trigger that fills it and an index';

CREATE FUNCTION read_feed_ranges(container regclass) RETURNS SETOF jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION read_feed_ranges(regclass) IS
	'parts of the hash space for readers of the change feed, one for each physical partition; they stay valid when partitions change';

CREATE FUNCTION change_feed_start(container regclass, scope jsonb DEFAULT NULL) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE;
COMMENT ON FUNCTION change_feed_start(regclass, jsonb) IS
	'a continuation token for what changes from now on';

CREATE FUNCTION items_changed_since(container regclass, scope jsonb DEFAULT NULL, continuation text DEFAULT NULL, max_items integer DEFAULT 1000,
	OUT item jsonb, OUT continuation text)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE ROWS 1000;
COMMENT ON FUNCTION items_changed_since(regclass, jsonb, text, integer) IS
	'the change feed: items in the order of change, each in its latest version, with the token to go on behind it';

----------------------------------------------------------------------------
-- Items: operations
----------------------------------------------------------------------------

CREATE FUNCTION create_item(container regclass, doc jsonb, generate_id boolean DEFAULT false) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION create_item(regclass, jsonb, boolean) IS
	'writes a new item; an error if there is one with its key and id';

CREATE FUNCTION read_item(container regclass, id text, key jsonb) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION read_item(regclass, text, jsonb) IS
	'the item with an id and a key, with its _etag and _ts; an error if there is none';

CREATE FUNCTION upsert_item(container regclass, doc jsonb, if_match text DEFAULT NULL) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION upsert_item(regclass, jsonb, text) IS
	'writes an item in place of the one with its key and id, or a new one';

CREATE FUNCTION replace_item(container regclass, id text, key jsonb, doc jsonb, if_match text DEFAULT NULL) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION replace_item(regclass, text, jsonb, jsonb, text) IS
	'writes an item in place of the one with an id and a key; an error if there is none';

CREATE FUNCTION patch_item(container regclass, id text, key jsonb, operations jsonb, condition jsonpath DEFAULT NULL, if_match text DEFAULT NULL)
	RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION patch_item(regclass, text, jsonb, jsonb, jsonpath, text) IS
	'changes parts of the item with an id and a key, if it meets a condition';

CREATE FUNCTION delete_item(container regclass, id text, key jsonb, if_match text DEFAULT NULL) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION delete_item(regclass, text, jsonb, text) IS
	'deletes the item with an id and a key; an error if there is none';

CREATE FUNCTION move_item(container regclass, id text, from_key jsonb, to_key jsonb, if_match text DEFAULT NULL) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION move_item(regclass, text, jsonb, jsonb, text) IS
	'gives an item another partition key; an error if there is one with its id';

CREATE FUNCTION find_items(container regclass, id text) RETURNS TABLE (key jsonb, item jsonb)
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE COST 1000 ROWS 10;
COMMENT ON FUNCTION find_items(regclass, text) IS
	'all items with an id, with their keys; looks into all partitions';

CREATE FUNCTION as_item(doc jsonb, etag uuid, ts timestamptz) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION as_item(jsonb, uuid, timestamptz) IS
	'a document with the _etag and _ts of its row, as read_item gives it';

CREATE FUNCTION delete_partition(container regclass, key jsonb) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION delete_partition(regclass, jsonb) IS
	'deletes all items with a key, or with a prefix of one, and gives their number';

CREATE FUNCTION transactional_batch(container regclass, key jsonb, operations jsonb) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION transactional_batch(regclass, jsonb, jsonb) IS
	'does several operations on one logical partition, all or none, and gives the status of each';

----------------------------------------------------------------------------
-- Items: patching
----------------------------------------------------------------------------

CREATE FUNCTION patch_document(doc jsonb, operations jsonb) RETURNS jsonb
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION patch_document(jsonb, jsonb) IS
	'an item with parts changed by the operations of Cosmos DB''s partial document update';

----------------------------------------------------------------------------
-- Items: time to live
----------------------------------------------------------------------------

CREATE FUNCTION item_expired(doc jsonb, ts timestamptz, default_ttl int) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION item_expired(jsonb, timestamptz, int) IS
	'whether an item that was last changed at ts has expired by its ttl or the container''s default, when the statement began';

CREATE FUNCTION has_expired(container regclass, doc jsonb, ts timestamptz) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION has_expired(regclass, jsonb, timestamptz) IS
	'whether an item of a container that was last changed at ts has expired, when the statement began';

CREATE FUNCTION ttl_fault(doc jsonb) RETURNS text
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ttl_fault(jsonb) IS
	'the ttl of an item that never expires because its ttl is not valid, else NULL';

CREATE FUNCTION set_default_ttl(container regclass, seconds int) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION set_default_ttl(regclass, int) IS
	'changes the default time to live of a container: NULL for off, -1 for items that tell their own, or seconds';

CREATE FUNCTION delete_expired(container regclass, max_items bigint DEFAULT NULL) RETURNS bigint
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE COST 1000000;
COMMENT ON FUNCTION delete_expired(regclass, bigint) IS
	'deletes the items of a container that have expired, but those that other transactions hold, and gives their number';

CREATE PROCEDURE delete_expired_in_batches(container regclass, batch_items int DEFAULT 1000, INOUT deleted bigint DEFAULT NULL)
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON PROCEDURE delete_expired_in_batches IS
	'as the function delete_expired, but each batch of items is committed';
