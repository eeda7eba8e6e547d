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
	definition jsonb
);
COMMENT ON TABLE registry IS 'containers: what PostgreSQL''s own catalogs don''t hold';
COMMENT ON COLUMN registry.container IS 'the partitioned table';
COMMENT ON COLUMN registry.paths IS 'partition key paths, as given';
COMMENT ON COLUMN registry.columns IS 'the key column of each path';
COMMENT ON COLUMN registry.hash IS 'xxhash or cosmos';
COMMENT ON COLUMN registry.definition IS 'the container''s definition in Cosmos DB, if it was made from one';
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
