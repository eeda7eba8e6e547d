#!/usr/bin/python3
"""Golden values for effective partition keys (EPK), hash positions, keys with buckets, and simulated containers.

A reference implementation that shares no code with src/. It works out the values that the regression tests golden_epk,
golden_position, golden_bucket and golden_simulate demand of the extension. A released EPK, position or key never changes, so a difference
found by these tests is a fault in the extension, not a reason to generate anew.

Run it from the project's root; positions and buckets need the package python3-xxhash.

    test/golden/generate.py                  writes sql/golden_epk.sql and the other sql/golden_*.sql
    test/golden/generate.py check FILE.tsv   compares itself with known EPKs: a header line, then one line per value with
                                             kind, version, key (JSON array) and EPK

After adding a case: generate, run the tests, see in results/ that only counts changed, copy the outputs to expected/.
"""

import datetime
import hashlib
import itertools
import json
import struct
import sys

MASK32 = 2**32 - 1
MASK64 = 2**64 - 1
UNDEFINED = object()


# ---------------------------------------------------------------------------------------------------------------------
# Murmur3, the two public variants that Cosmos uses, seed 0
# ---------------------------------------------------------------------------------------------------------------------

def rotate_left(x, bits, width):
    return (x << bits | x >> (width - bits)) & (2**width - 1)


def murmur3_x86_32(data):
    def scramble(k):
        return rotate_left(k * 0xCC9E2D51 & MASK32, 15, 32) * 0x1B873593 & MASK32

    h = 0
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        h ^= scramble(int.from_bytes(data[i:i + 4], "little"))
        h = (rotate_left(h, 13, 32) * 5 + 0xE6546B64) & MASK32
    h ^= scramble(int.from_bytes(data[whole:], "little"))
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK32
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK32
    return h ^ h >> 16


def murmur3_x64_128(data):
    """Returns the two 64-bit halves h1, h2."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F

    def scramble1(k):
        return rotate_left(k * c1 & MASK64, 31, 64) * c2 & MASK64

    def scramble2(k):
        return rotate_left(k * c2 & MASK64, 33, 64) * c1 & MASK64

    def finish(h):
        h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & MASK64
        h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & MASK64
        return h ^ h >> 33

    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for i in range(0, whole, 16):
        k1, k2 = struct.unpack("<QQ", data[i:i + 16])
        h1 ^= scramble1(k1)
        h1 = ((rotate_left(h1, 27, 64) + h2) * 5 + 0x52DCE729) & MASK64
        h2 ^= scramble2(k2)
        h2 = ((rotate_left(h2, 31, 64) + h1) * 5 + 0x38495AB5) & MASK64
    k1, k2 = struct.unpack("<QQ", data[whole:].ljust(16, b"\0"))
    h1 ^= scramble1(k1) ^ len(data)
    h2 ^= scramble2(k2) ^ len(data)
    h1 = (h1 + h2) & MASK64
    h2 = (h2 + h1) & MASK64
    h1, h2 = finish(h1), finish(h2)
    h1 = (h1 + h2) & MASK64
    h2 = (h2 + h1) & MASK64
    return h1, h2


# ---------------------------------------------------------------------------------------------------------------------
# Components: None, False, True, UNDEFINED, float or str
# ---------------------------------------------------------------------------------------------------------------------

def type_and_value(component):
    """Returns the type byte and the value bytes, for a string without the suffix."""
    if component is UNDEFINED:
        return 0x00, b""
    if component is None:
        return 0x01, b""
    if component is False:
        return 0x02, b""
    if component is True:
        return 0x03, b""
    if isinstance(component, float):
        if component != component:
            return 0x05, (0x7FF8000000000000).to_bytes(8, "little")     # one NaN
        return 0x05, struct.pack("<d", component + 0.0)                 # + 0.0 makes 0 of -0
    return 0x08, component.encode("utf-8")


def hashed_bytes(component, string_suffix):
    kind, value = type_and_value(component)
    return bytes([kind]) + value + (string_suffix if kind == 0x08 else b"")


def ordered_bytes(component):
    """Returns the encoding whose byte order is the order of the values, the tail of a V1 key."""
    kind, value = type_and_value(component)
    if kind == 0x05:
        return bytes([kind]) + ordered_number(int.from_bytes(value, "little"))
    if kind == 0x08:
        short = len(value) <= 100
        return bytes([kind]) + bytes(b + 1 for b in value[:101]) + (b"\0" if short else b"")
    return bytes([kind])


def ordered_number(bits):
    """Writes the bits of a double in value order: 8 bits, then 7 a byte, the lowest bit saying that more follow."""
    u = bits ^ 2**63 if bits < 2**63 else 2**64 - bits
    out = bytearray([u >> 56])
    u = u << 8 & MASK64
    while True:
        rest = u << 7 & MASK64
        out.append(u >> 56 & 0xFE | (rest != 0))
        u = rest
        if u == 0:
            return bytes(out)


def cut(component):
    """Cuts a string to 100 UTF-16 units; half a surrogate pair becomes U+FFFD."""
    if not isinstance(component, str):
        return component
    return component.encode("utf-16-le")[:200].decode("utf-16-le", "replace")


# ---------------------------------------------------------------------------------------------------------------------
# Effective partition keys
# ---------------------------------------------------------------------------------------------------------------------

def hash128(data):
    h1, h2 = murmur3_x64_128(data)
    epk = bytearray(h2.to_bytes(8, "big") + h1.to_bytes(8, "big"))
    epk[0] &= 0x3F
    return bytes(epk)


def epk_v1(components):
    components = [cut(c) for c in components]
    h = murmur3_x86_32(b"".join(hashed_bytes(c, b"\x00") for c in components))
    return ordered_bytes(float(h)) + b"".join(ordered_bytes(c) for c in components)


def epk_v2(components):
    return hash128(b"".join(hashed_bytes(c, b"\xFF") for c in components))


def epk_multihash(components):
    return b"".join(hash128(hashed_bytes(c, b"\xFF")) for c in components)


V1, V2, MULTIHASH = ("Hash", 1), ("Hash", 2), ("MultiHash", 2)
ALGORITHMS = {V1: epk_v1, V2: epk_v2, MULTIHASH: epk_multihash}


def effective_partition_key(definition, components):
    """Returns the EPK in hex. Components may also be "Infinity" in place of the list."""
    if components == "Infinity":
        return "FF"
    if components == []:
        return ""
    return ALGORITHMS[definition](components).hex().upper()


# ---------------------------------------------------------------------------------------------------------------------
# Positions
# ---------------------------------------------------------------------------------------------------------------------

def position_xxhash(component):
    import xxhash
    kind, value = type_and_value(component)
    return xxhash.xxh3_64_intdigest(value, seed=kind)


def position_cosmos(component):
    """Returns the first 64 of the 126 bits of the V2 EPK."""
    return int.from_bytes(epk_v2([component]), "big") << 2 >> 64 & MASK64


POSITIONS = {"xxhash": position_xxhash, "cosmos": position_cosmos}


# ---------------------------------------------------------------------------------------------------------------------
# Cases: a value or key together with the SQL that writes it
# ---------------------------------------------------------------------------------------------------------------------

def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def from_json(text):
    """Reads JSON: every number a double, {} undefined."""
    return json.loads(text, parse_int=float, parse_float=float, object_hook=lambda _: UNDEFINED)


def json_key(text):
    return quoted(text), from_json(text)


def repeated(*runs):
    """Returns SQL and value of a string made of (text, count) runs."""
    sql = " || ".join(quoted(text) if count == 1 else f"repeat({quoted(text)}, {count})" for text, count in runs)
    return sql, "".join(text * count for text, count in runs)


ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def alphabet(length):
    """Returns SQL and value of a string of that length whose blocks all differ."""
    times = -(-length // 26)
    return f"left(repeat('{ALPHABET}', {times}), {length})", (ALPHABET * times)[:length]


def built_key(*strings):
    """Makes a key of strings given as SQL and value."""
    return f"jsonb_build_array({', '.join(sql for sql, _ in strings)})", [value for _, value in strings]


def run_key(*runs):
    return built_key(repeated(*runs))


def json_arrays(components, levels):
    return [json_key(f"[{', '.join(c)}]") for c in itertools.product(components, repeat=levels)]


CYRILLIC, CJK, EMOJI = "я", "電", "😀"
SINGLES = ["null", "{}", "true", "false", '""']

# Heading, definitions, keys.
EPK_CASES = [
    ("The ends of the key space: the empty key and the exclusive maximum", [V1, V2, MULTIHASH], [
        json_key('[]'), json_key('"Infinity"')]),

    ("Published values: strings, version 1", [V1], [
        *(json_key(f'["{s}"]') for s in [
            "a", "A", "ab", "abc", "abcdefg", "abcdefgh", "abcdefghijklmn", "abcdefghijklmno", "abcdefghijklmnop"]),
        *(run_key(("x", n)) for n in [30, 31, 32, 255, 256, 2046, 2047, 2048, 4096]),
        *(json_key(f'["{s}"]') for s in [
            " ", r"\t\n\r", r"\u0001", r"\u007f", r"\u0080", r"\u00ff", r"\u0100", r"\u07ff", r"\u0800", r"\uffff",
            r"\ufffd", r"\u00e9", r"e\u0301", r"\u00f1and\u00fa", r"stra\u00dfe", r"\u041f\u0440\u0438\u0432\u0435\u0442",
            r"\u7535\u8111", r"\u3053\u306b\u3061\u308f", r"\u4f60\u597d", r"\ud83d\ude00", r"\ud83d\ude00\ud83d\ude00",
            r"\ud83d\udc69\u200d\ud83d\udc69\u200d\ud83d\udc67", r"\ud800\udf48", r"\udbff\udfff", "/", r"\\", r"\"", "'",
            "a/b", "null", "true", "1", "1.0", "{}", "[]", "Infinity", "NaN", "-0", "seattle", "Seattle", "tenant-1",
            "00aa00aa-bb11-cc22-dd33-44ee44ee44ee"]),
        run_key((CJK, 33)), run_key((EMOJI, 25))]),

    ("Published values: strings, version 2", [V2], [
        run_key((CJK, 34)), run_key((EMOJI, 26)), run_key((CYRILLIC, 50)), *(run_key(("z", n)) for n in [99, 100, 101])]),

    ("Published values: other kinds, version 1", [V1], [
        json_key(f"[{v}]") for v in [
            "1", "42", "100", "127", "128", "255", "256", "1000", "65535", "65536", "2147483647", "2147483648", "4294967295",
            "4294967296", "9007199254740991", "9007199254740992", "9007199254740994", "9223372036854775808",
            "18446744073709551616", "-9007199254740992", "1e+21", "1e+22", "1e+23", "1e+100", "1e+308", "1e-300", "5e-324",
            "2.2250738585072014e-308", "0.1", "0.5", "0.3333333333333333", "3.141592653589793", "-0.1", "123456.789",
            "1.7976931348623157e+308", "null", "true", "false", "{}"]]),

    ("Published values: numbers and several components, version 2", [V2], [
        *(json_key(k) for k in [
            '[2]', '[3]', '[10]', '[-1]', '["t",null]', '["t",{}]', '["t",""]', '["",""]', '["","",""]', '[{},{}]',
            '[{},{},{}]', '[null,null]', '["tenant","user"]', '["tenant","user","session"]', '["tenant",1,true]', '[1,2,3]',
            '[1.5,"x",false]', '["a","bc"]', '["ab","c"]', r'["\u7535\u8111","\ud83d\ude00",0]']),
        built_key(*(repeated((c, 2048)) for c in "xyz"))]),

    ("One component of every kind", [V1, V2, MULTIHASH], json_arrays(SINGLES, 1)),
    ("Two components of every kind", [V1, V2, MULTIHASH], json_arrays(SINGLES, 2)),
    ("Three components", [V1, V2, MULTIHASH], [
        json_key(k) for k in [
            '[null, null, null]', '[{}, {}, {}]', '[true, true, true]', '[false, false, false]', '["", "", ""]',
            '[null, {}, true]', '[{}, true, false]', '[true, false, ""]', '[false, "", null]', '["", null, {}]',
            '["t1", null, null]', '["t1", {}, {}]', '["t1", "u1", null]', '["t1", "u1", {}]', '["t1", "u1", ""]',
            '["t1", "u1", 1]', '["t1", "u1", "s1"]', '["t1", 0.5, true]', '[1, -1, 0.5]', '[{}, 0, "x"]']]),

    ("Keys of the documentation; case, blanks and spelling count", [V1, V2, MULTIHASH], [
        json_key(k) for k in [
            '["redmond"]', '["t1"]', '["t1","u1"]', '["Contoso"]', '["contoso"]', '["Contoso "]', r'["\u00c5"]',
            r'["A\u030a"]', r'["\u212b"]', '["1"]', '["null"]', '["{}"]', '["Infinity"]', '["a", "bc"]', '["ab", "c"]']]),

    ("Numbers: every number is a double", [V1, V2, MULTIHASH], [
        json_key(f"[{v}]") for v in [
            "0", "-0.0", "1", "1.0", "1e0", "-1", "2", "-2", "0.5", "-0.5", "1e308", "-1e308", "5e-324", "-5e-324",
            "1.7976931348623157e308", "-1.7976931348623157e308", "2.2250738585072009e-308",
            "9007199254740992", "9007199254740993", "9007199254740993.0000000000000000001", "-9007199254740993",
            "9223372036854775806", "9223372036854775807", "-9223372036854775808", "4503599627370497.5", "0.1",
            "0.1000000000000000055511151231257827021181583404541015625", "123456.789"]]),

    ("Every length about the hash block sizes of 4 and 16 bytes", [V1, V2], [
        built_key(alphabet(n)) for n in range(1, 50)]),
    ("Long strings", [V1, V2, MULTIHASH], [
        *(built_key(alphabet(n)) for n in [15, 16, 17, 31, 32, 99, 100, 101, 102, 255, 256, 2048, 3000]),
        built_key(alphabet(15), alphabet(16), alphabet(17)),
        built_key(alphabet(99), alphabet(100), alphabet(101)),
        built_key(alphabet(3000), alphabet(2048), alphabet(256))]),

    ("Version 1 cuts a string to 100 UTF-16 units and appends at most 101 bytes of it", [V1, V2, MULTIHASH], [
        *(run_key(("a", n)) for n in [99, 100, 101, 102]),
        *(run_key((CYRILLIC, n)) for n in [50, 51, 100, 101]),
        run_key(("a", 1), (CYRILLIC, 50)), run_key(("a", 1), (CYRILLIC, 49)),
        *(run_key((CJK, n)) for n in [33, 34, 100, 101]),
        run_key(("a", 1), (CJK, 33)), run_key(("a", 2), (CJK, 33)),
        built_key(repeated((CYRILLIC, 101)), repeated((CJK, 101)), repeated((EMOJI, 51)))]),
    ("Version 1 cuts at a surrogate pair, and inside one", [V1, V2, MULTIHASH], [
        *(run_key((EMOJI, n)) for n in [25, 26, 49, 50, 51, 100]),
        run_key(("a", 1), (EMOJI, 49)), run_key(("a", 1), (EMOJI, 50)), run_key(("a", 1), (EMOJI, 60)),
        run_key(("a", 98), (EMOJI, 1)), run_key(("a", 98), (EMOJI, 2)),
        run_key(("a", 99), (EMOJI, 1)), run_key(("a", 99), (EMOJI, 1), ("b", 1)), run_key(("a", 100), (EMOJI, 1)),
        run_key((CYRILLIC, 99), (EMOJI, 1)), run_key((CJK, 99), (EMOJI, 1)), run_key((CJK, 98), (EMOJI, 1)),
        built_key(repeated(("a", 99), (EMOJI, 1)), repeated(("b", 99), (EMOJI, 1)))]),
]

# Prefix, levels.
RANGE_CASES = [
    *(('[]', levels) for levels in [1, 2, 3]),
    *(('["t1"]', levels) for levels in [1, 2, 3]),
    *(('["t1", "u1"]', levels) for levels in [2, 3]),
    ('["t1", "u1", "s1"]', 3),
    *((key, 3) for key in ['[null]', '[{}]', '[true]', '[false]', '[""]', '[0]', '["t1", {}]', '[{}, null]', '[1, 2, 3]']),
]


def typed(sql_type, text, component):
    return f"{quoted(text)}::{sql_type}", component


def strings(sql_type, *texts):
    return [typed(sql_type, text, text) for text in texts]


def as_text(sql_type, pairs):
    return [typed(sql_type, literal, hashed) for literal, hashed in pairs]


def numbers(sql_type, *texts):
    return [typed(sql_type, text, float(text)) for text in texts]


def float4s(*texts):
    return [typed("float4", text, struct.unpack("<f", struct.pack("<f", float(text)))[0]) for text in texts]


# Heading, values.
POSITION_CASES = [
    ("Strings", [
        *strings("text", "abc", "ABC", "abc ", "a", "redmond", "1", "true", "null", "{}", "'", "\\", "Contoso", "contoso",
                 "é", "Привет", "電脳", "😀", "👩\u200d👩\u200d👧"),
        *strings("varchar", "", "abc", "abc ", "Привет"),
        *strings("varchar(5)", "abc"),
        *strings("name", "", "abc", "pg_class", "Привет"),
        typed("uuid", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "f47ac10b-58cc-4372-a567-0e02b2c3d479"),
        typed("uuid", "00AA00AA-BB11-CC22-DD33-44EE44EE44EE", "00aa00aa-bb11-cc22-dd33-44ee44ee44ee"),
        typed("uuid", "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000")]),

    ("Strings: the lengths at which a hash changes its way", [
        typed("text", "", ""),
        *(alphabet(n) for n in [
            1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65, 96, 97, 127, 128, 129, 160, 239, 240, 241, 256, 257, 512,
            1023, 1024, 1025, 1088, 2048, 2049, 3000])]),

    ("Integers", [
        *numbers("int2", "0", "1", "-1", "32767", "-32768"),
        *numbers("int4", "0", "1", "-1", "42", "2147483647", "-2147483648"),
        *numbers("int8", "0", "1", "-1", "4294967296", "9007199254740991", "9007199254740992", "9007199254740993",
                 "9007199254740995", "-9007199254740993", "9223372036854775806", "9223372036854775807",
                 "-9223372036854775808")]),

    ("Floating point", [
        *float4s("0", "-0", "1", "0.5", "0.1", "16777217", "3.4028235e38", "1e-45", "NaN", "Infinity", "-Infinity"),
        *numbers("float8", "0", "-0", "1", "-1", "0.5", "0.1", "1e308", "5e-324", "1.7976931348623157e308",
                 "9007199254740993", "NaN", "Infinity", "-Infinity"),
        ("'Infinity'::float8 - 'Infinity'::float8", float("nan"))]),

    ("Numeric: the nearest double", [
        *numbers("numeric", "0", "1", "1.0", "1.000000000000000000000000", "-1", "0.5", "0.1", "0.10", "1e308", "-1e308",
                 "9007199254740993", "9007199254740993.0000000000000000001", "9223372036854775807",
                 "0.1000000000000000055511151231257827021181583404541015625", "1.7976931348623157e308",
                 "1.7976931348623158e308", "1.7976931348623159e308", "1e400", "-1e400", "5e-324",
                 "2.4703282292062328e-324", "2.4703282292062327e-324", "1e-400", "-1e-400",
                 "NaN", "Infinity", "-Infinity")]),

    ("Booleans", [typed("boolean", "true", True), typed("boolean", "false", False)]),

    ("Dates: ISO 8601 text", as_text("date", [
        ("2024-02-29", "2024-02-29"), ("1970-01-01", "1970-01-01"), ("2000-01-01", "2000-01-01"),
        ("0001-01-01", "0001-01-01"), ("0987-06-05", "0987-06-05"), ("9999-12-31", "9999-12-31"),
        ("10000-01-01", "10000-01-01"), ("5874897-12-31", "5874897-12-31"),
        ("0044-03-15 BC", "0044-03-15 BC"), ("0001-12-31 BC", "0001-12-31 BC"), ("4713-01-01 BC", "4713-01-01 BC"),
        ("infinity", "infinity"), ("-infinity", "-infinity")])),

    ("Timestamps: ISO 8601 text, trailing zeros of the fraction trimmed", as_text("timestamp", [
        ("2024-02-29 12:34:56", "2024-02-29T12:34:56"), ("2000-01-01 00:00:00", "2000-01-01T00:00:00"),
        ("2024-02-29 12:34:56.7", "2024-02-29T12:34:56.7"), ("2024-02-29 12:34:56.120", "2024-02-29T12:34:56.12"),
        ("2024-02-29 12:34:56.123456", "2024-02-29T12:34:56.123456"),
        ("2024-02-29 12:34:56.000001", "2024-02-29T12:34:56.000001"),
        ("2024-02-29 12:34:56.000010", "2024-02-29T12:34:56.00001"),
        ("2024-12-31 24:00:00", "2025-01-01T00:00:00"), ("1969-12-31 23:59:59.999999", "1969-12-31T23:59:59.999999"),
        ("0001-01-01 00:00:00", "0001-01-01T00:00:00"), ("9999-12-31 23:59:59.999999", "9999-12-31T23:59:59.999999"),
        ("10000-01-01 00:00:00", "10000-01-01T00:00:00"), ("0044-03-15 12:00:00 BC", "0044-03-15T12:00:00 BC"),
        ("infinity", "infinity"), ("-infinity", "-infinity")])),

    ("Timestamps with time zone: the same in UTC, whatever the session's time zone", as_text("timestamptz", [
        ("2024-02-29 12:34:56+00", "2024-02-29T12:34:56Z"), ("2024-02-29 18:04:56+05:30", "2024-02-29T12:34:56Z"),
        ("2024-02-29 12:34:56.7+00", "2024-02-29T12:34:56.7Z"),
        ("2024-02-29 12:34:56.123456-08", "2024-02-29T20:34:56.123456Z"),
        ("2024-01-01 00:00:00+14", "2023-12-31T10:00:00Z"), ("2024-07-01 23:00:00-07", "2024-07-02T06:00:00Z"),
        ("1970-01-01 00:00:00+00", "1970-01-01T00:00:00Z"), ("1969-12-31 23:59:59.5+00", "1969-12-31T23:59:59.5Z"),
        ("0001-01-01 00:00:00+00", "0001-01-01T00:00:00Z"), ("10000-01-01 00:00:00+00", "10000-01-01T00:00:00Z"),
        ("infinity", "infinity"), ("-infinity", "-infinity")])),

    ("JSON scalars as what they are, {} as undefined", [
        typed("jsonb", text, from_json(text)) for text in [
            'null', '{}', 'true', 'false', '""', '"abc"', '"1"', '"null"', '"{}"', r'"\u00e9"', r'"\ud83d\ude00"', r'"\\"',
            '"f47ac10b-58cc-4372-a567-0e02b2c3d479"', '0', '-0.0', '1', '1.0', '1e0', '-1', '0.5', '0.1', '1e308', '5e-324',
            '9007199254740993', '9223372036854775807']]),
]


PUIDS = ["a2720172_54d7_43d0_9e9a_fb9fcc4a7c4e", "00000000_0000_4000_8000_000000000000",
         "FFFFFfff_ffff_4fff_bfff_ffffffffffff", "0001f0aa_54d7_43d0_9e9a_fb9fcc4a7c4e"]
POSITION_CASES += [
    ("PUIDs as the text of their family", [
        typed("partitionkey.puid", text, text[:5].lower()) for text in PUIDS]),
    ("families of PUIDs as their text", [
        typed("partitionkey.puid_family", text[:5], text[:5].lower()) for text in PUIDS]),
]

SUFFIX_IDS = ["", "a", "WVWZZZ1KZ8W123456", "order-1", "order-2", "A2720172", "42", "Ångström", "電気", "😀", "it's \\", " "]
SUFFIX_BUCKETS = [1, 2, 7, 10, 400, 100000]


def xxh3(data):
    import xxhash
    return xxhash.xxh3_64_intdigest(data)


DIGESTS = {
    "md5": lambda data: int(hashlib.md5(data).hexdigest(), 16),
    "sha256": lambda data: int(hashlib.sha256(data).hexdigest(), 16),
    "xxhash": xxh3,
}

MOMENTS = ["2025-01-28T12:30:00+00:00", "2025-01-28T12:30:59.999999+00:00", "2025-01-28T23:59:59.999999+02:00",
           "2025-01-28T00:00:00+00:00", "2000-01-01T00:00:00+00:00", "2000-12-31T23:59:59.999999+00:00",
           "2001-01-01T00:00:00+00:00", "1969-07-20T20:17:40+00:00", "1900-02-28T23:30:00+00:00", "2024-02-29T06:07:08+00:00",
           "9999-12-31T23:59:59+00:00", "0001-01-02T03:04:05+00:00"]
WIDTHS = {  # in seconds, with how much of the beginning a key has to name
    "1 second": (1, "%H%M%S"), "90 seconds": (90, "%H%M%S"), "1 minute": (60, "%H%M"), "15 minutes": (900, "%H%M"),
    "1 hour": (3600, "%H"), "6 hours": (21600, "%H"), "25 hours": (90000, "%H"), "1 day": (86400, ""), "24 hours": (86400, ""),
    "1 day 12 hours": (129600, "%H"), "7 days": (604800, ""), "30 days": (2592000, ""),
}
ORIGIN = datetime.datetime(2001, 1, 1, tzinfo=datetime.timezone.utc)


def time_bucket_key(base, moment, width):
    """None if the bucket begins before the year 1."""
    seconds, precision = WIDTHS[width]
    buckets = (datetime.datetime.fromisoformat(moment) - ORIGIN) // datetime.timedelta(seconds=seconds)
    try:
        start = ORIGIN + buckets * datetime.timedelta(seconds=seconds)
    except OverflowError:
        return None
    return f"{base}_{start.year:04}{start:%m%d}{start.strftime(precision) if precision else ''}"


# ---------------------------------------------------------------------------------------------------------------------
# The regression tests
# ---------------------------------------------------------------------------------------------------------------------

BANNER = "-- Generated by test/golden/generate.py, which works the values out independently of the extension.\n"


def insert(table, heading, rows):
    return f"\n-- {heading}\nINSERT INTO {table} VALUES\n" + ",\n".join(f"  ({row})" for row in rows) + ";\n"


def epk_sql():
    out = BANNER + """-- Effective partition keys as Azure Cosmos DB computes them.
CREATE TEMP TABLE golden (kind text, version int, key jsonb, epk text);
"""
    for heading, definitions, keys in EPK_CASES:
        out += insert("golden", heading, [
            f"'{definition[0]}', {definition[1]}, {sql}, '{effective_partition_key(definition, components)}'"
            for definition in definitions for sql, components in keys])
    out += """
-- No row may differ.
SELECT kind, version, left(key::text, 60) AS key,
       partitionkey.effective_partition_key(key, kind, version) AS got, epk AS expected
FROM golden
WHERE partitionkey.effective_partition_key(key, kind, version) IS DISTINCT FROM epk;
SELECT kind, version, count(*) FROM golden GROUP BY 1, 2 ORDER BY 1, 2;

-- Kind and version have defaults.
SELECT partitionkey.effective_partition_key('["redmond"]');
SELECT partitionkey.effective_partition_key('["t1", "u1"]');

-- The range of EPKs that begin with a prefix.
CREATE TEMP TABLE golden_range (prefix jsonb, levels int, min_inclusive text, max_exclusive text);
"""
    rows = []
    for prefix, levels in RANGE_CASES:
        low = effective_partition_key(MULTIHASH, from_json(prefix))
        rows.append(f"{quoted(prefix)}, {levels}, '{low}', '{low}FF'")
    out += insert("golden_range", "From the EPK of the prefix to below the same followed by FF", rows)
    out += """
-- No row may differ.
SELECT g.prefix, g.levels, r.*, g.min_inclusive AS expected_min, g.max_exclusive AS expected_max
FROM golden_range g, partitionkey.epk_range(g.prefix, g.levels) r
WHERE (r.min_inclusive, r.max_exclusive) IS DISTINCT FROM (g.min_inclusive, g.max_exclusive);
SELECT count(*) FROM golden_range;

-- Every key lies in the range of each of its prefixes, the empty one and itself included; no row may be outside.
SELECT left(g.key::text, 60) AS key, prefix
FROM golden g, generate_series(0, 3) n,
     jsonb_path_query_array(g.key, '$[0 to $last]', jsonb_build_object('last', n - 1)) prefix,
     partitionkey.epk_range(prefix, 3) r
WHERE g.kind = 'MultiHash' AND jsonb_typeof(g.key) = 'array'
  AND (r.min_inclusive <= g.epk COLLATE "C" AND g.epk COLLATE "C" < r.max_exclusive) IS NOT TRUE;
"""
    return out


def position_sql():
    out = BANNER + """-- Positions: where a value lies in the hash space. A released position never changes.
CREATE TEMP TABLE golden (hash text, value_literal text, position_expected text, got text);
"""
    for hash_name, position in POSITIONS.items():
        for heading, values in POSITION_CASES:
            out += insert("golden", f"{hash_name}: {heading}", [
                f"'{hash_name}', $${sql}$$, '{position(component):016X}', partitionkey.hash_position({sql}, '{hash_name}')"
                for sql, component in values])
    out += """
-- No row may differ.
SELECT * FROM golden WHERE got IS DISTINCT FROM position_expected;
SELECT hash, count(*) FROM golden GROUP BY 1 ORDER BY 1;

-- The default hash is xxhash.
SELECT partitionkey.hash_position('abc'::text) = partitionkey.hash_position('abc'::text, 'xxhash') AS same;

-- A value has one position whatever its type, and values of different kinds have different ones.
SELECT hash, count(DISTINCT one) AS ones, count(DISTINCT string) AS strings, count(DISTINCT uuid) AS uuids,
       count(DISTINCT day) AS days, count(DISTINCT kind) AS kinds
FROM (VALUES ('xxhash'), ('cosmos')) h(hash),
     LATERAL (SELECT * FROM ROWS FROM (
       unnest(ARRAY[
         partitionkey.hash_position(1::int2, hash), partitionkey.hash_position(1::int4, hash),
         partitionkey.hash_position(1::int8, hash), partitionkey.hash_position(1::float4, hash),
         partitionkey.hash_position(1::float8, hash), partitionkey.hash_position(1::numeric, hash),
         partitionkey.hash_position(1.00::numeric, hash), partitionkey.hash_position('1'::jsonb, hash)]),
       unnest(ARRAY[
         partitionkey.hash_position('abc'::text, hash), partitionkey.hash_position('abc'::varchar, hash),
         partitionkey.hash_position('abc'::name, hash), partitionkey.hash_position('"abc"'::jsonb, hash)]),
       unnest(ARRAY[
         partitionkey.hash_position('f47ac10b-58cc-4372-a567-0e02b2c3d479'::uuid, hash),
         partitionkey.hash_position('f47ac10b-58cc-4372-a567-0e02b2c3d479'::text, hash)]),
       unnest(ARRAY[
         partitionkey.hash_position('2024-02-29'::date, hash), partitionkey.hash_position('2024-02-29'::text, hash)]),
       unnest(ARRAY[
         partitionkey.hash_position('{}'::jsonb, hash), partitionkey.hash_position('null'::jsonb, hash),
         partitionkey.hash_position(false, hash), partitionkey.hash_position(true, hash),
         partitionkey.hash_position(0, hash), partitionkey.hash_position(1, hash),
         partitionkey.hash_position(''::text, hash), partitionkey.hash_position('1'::text, hash)])
     ) AS p(one, string, uuid, day, kind)) p
GROUP BY hash
ORDER BY hash;

-- A cosmos position is the first 64 of the 126 bits of the version 2 effective partition key; no row may differ.
SELECT value, partitionkey.hash_position(value, 'cosmos') AS got, expected
FROM (VALUES ('{}'::jsonb), ('null'), ('false'), ('true'), ('0'), ('1'), ('-0.5'), ('""'), ('"redmond"')) v(value),
     LATERAL (SELECT ('x' || partitionkey.effective_partition_key(jsonb_build_array(value), 'Hash', 2))::bit(128)) e(epk),
     LATERAL (SELECT lpad(upper(to_hex(substring(epk FROM 3 FOR 64)::bit(64)::bigint)), 16, '0')) x(expected)
WHERE partitionkey.hash_position(value, 'cosmos') IS DISTINCT FROM expected;
"""
    return out


def bucket_sql():
    out = BANNER + """-- Keys with buckets. What a key was made of never changes.
CREATE TEMP TABLE golden (call text, expected text, got text);
"""
    for algorithm, digest in DIGESTS.items():
        out += insert("golden", f"hash_suffix by {algorithm}: int(digest, 16) % buckets", [
            f"$${quoted(id)}, {buckets}, {algorithm}$$, 'b_{digest(id.encode()) % buckets}', "
            f"partitionkey.hash_suffix('b', {quoted(id)}, {buckets}, '{algorithm}')"
            for id in SUFFIX_IDS for buckets in SUFFIX_BUCKETS])
    for width in WIDTHS:
        out += insert("golden", f"time_bucket_key by {width}", [
            f"'{moment}, {width}', '{expected}', partitionkey.time_bucket_key('d', '{moment}', '{width}')"
            for moment in MOMENTS for expected in [time_bucket_key("d", moment, width)] if expected])
    out += """
-- No row may differ.
SELECT * FROM golden WHERE got IS DISTINCT FROM expected;
SELECT left(got, 1) AS base, count(*) FROM golden GROUP BY 1 ORDER BY 1;
"""
    return out


# ---------------------------------------------------------------------------------------------------------------------
# Simulated containers: the rows of a table in even ranges of EPKs
# ---------------------------------------------------------------------------------------------------------------------

SIMULATED_ITEMS = 3000
SIMULATED_TABLE = f"""CREATE TEMP TABLE simulated AS SELECT
  CASE WHEN i % 13 > 0 THEN 'tenant-' || i % 97 END AS tenant, i % 50 / 4.0 AS number, i % 3 = 0 AS flag,
  CASE WHEN i % 17 > 0 THEN (ARRAY['{{}}', '{{"v": null}}', '{{"v": true}}', '{{"v": false}}', '{{"v": ' || i || '.5}}',
    '{{"v": "é' || i || '"}}', '{{"v": {{"w": ' || i || '}}}}', '{{"v": [{{"w": 1}}]}}'])[i % 8 + 1]::jsonb END AS doc
FROM generate_series(1, {SIMULATED_ITEMS}) i;
"""


def simulated_value(i, path):
    """Returns the component of item i at a path; of a column NULL is null."""
    if path == "/tenant":
        return f"tenant-{i % 97}" if i % 13 else None
    if path == "/number":
        return i % 50 / 4
    if path == "/flag":
        return i % 3 == 0
    document = [{}, {"v": None}, {"v": True}, {"v": False}, {"v": i + 0.5}, {"v": f"é{i}"}, {"v": {"w": float(i)}},
                {"v": [{"w": 1.0}]}][i % 8] if i % 17 else {}
    for name in path.split("/")[2:]:
        document = document.get(name, UNDEFINED) if isinstance(document, dict) else UNDEFINED
    return UNDEFINED if isinstance(document, (dict, list)) else document


SIMULATED_KEYS = [["/tenant"], ["/number"], ["/flag"], ["/doc/v"], ["/doc/v/w"], ["/tenant", "/doc/v"],
                  ["/doc/v", "/flag", "/number"]]
SIMULATED_RANGES = [1, 2, 3, 4, 7, 16]


def simulated_ranges(key, n):
    """Yields the bounds of the even ranges in hex, and the number of items in each."""
    bounds = [b""] + [((2**126 - 1) // n * i).to_bytes(16, "big") for i in range(1, n)] + [b"\xff"]
    epks = [epk_multihash([simulated_value(i, path) for path in key]) for i in range(1, SIMULATED_ITEMS + 1)]
    for low, high in zip(bounds, bounds[1:]):
        yield low.hex().upper(), high.hex().upper(), sum(low <= epk < high for epk in epks)


def simulate_sql():
    out = BANNER + """-- Where items would lie in Cosmos DB. What is no scalar counts as undefined.
SET client_min_messages = error;
CREATE TEMP TABLE golden (paths text[], n int, partition int, min_inclusive text, max_exclusive text, items bigint);
""" + SIMULATED_TABLE
    for key in SIMULATED_KEYS:
        paths = "{" + ",".join(key) + "}"
        out += insert("golden", paths, [
            f"'{paths}', {n}, {i}, '{low}', '{high}', {items}"
            for n in SIMULATED_RANGES for i, (low, high, items) in enumerate(simulated_ranges(key, n))])
    out += """
-- No row may differ, be missing or be too many.
SELECT * FROM golden
FULL JOIN (SELECT k.paths, k.n, s.* FROM (SELECT DISTINCT paths, n FROM golden) k,
             partitionkey.simulate_cosmos('simulated', k.paths, k.n) s) got
  USING (paths, n, partition, min_inclusive, max_exclusive, items)
WHERE golden.ctid IS NULL OR got.share IS DISTINCT FROM items / """ + f"{SIMULATED_ITEMS}.0::float8;" + """
SELECT count(*), sum(items) FROM golden;
"""
    return out


# ---------------------------------------------------------------------------------------------------------------------
# Commands
# ---------------------------------------------------------------------------------------------------------------------

def check(path):
    """Compares with the EPKs of a file; returns whether all agree."""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file][1:]
    different = 0
    for kind, version, key, expected in lines:
        got = effective_partition_key((kind, int(version)), from_json(key))
        if got != expected:
            different += 1
            print(f"{kind} {version} {key[:60]}: got {got}, expected {expected}")
    print(f"{len(lines) - different} agree, {different} differ")
    return different == 0


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "check":
        return 0 if check(arguments[1]) else 1
    if arguments:
        print(__doc__)
        return 2
    for path, text in [("sql/golden_epk.sql", epk_sql()), ("sql/golden_position.sql", position_sql()),
                       ("sql/golden_bucket.sql", bucket_sql()), ("sql/golden_simulate.sql", simulate_sql())]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
