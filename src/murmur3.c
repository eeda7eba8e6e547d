/*
 * murmur3.c
 *		MurmurHash3 x86_32 and x64_128 with seed 0; see murmur3.h.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"

#include "murmur3.h"

static inline uint64
rotate_left64(uint64 x, int n)
{
	return (x << n) | (x >> (64 - n));
}

/* Read a little-endian word from any address. */
static inline uint32
read32(const uint8 *p)
{
	uint32		v;

	memcpy(&v, p, sizeof(v));
#ifdef WORDS_BIGENDIAN
	v = pg_bswap32(v);
#endif
	return v;
}

static inline uint64
read64(const uint8 *p)
{
	uint64		v;

	memcpy(&v, p, sizeof(v));
#ifdef WORDS_BIGENDIAN
	v = pg_bswap64(v);
#endif
	return v;
}

static inline uint32
mix32(uint32 k)
{
	return pg_rotate_left32(k * 0xcc9e2d51, 15) * 0x1b873593;
}

uint32
murmur3_x86_32(const uint8 *data, size_t len)
{
	uint32		h = 0;
	const uint8 *tail = data + (len & ~(size_t) 3);

	for (const uint8 *p = data; p < tail; p += 4)
		h = pg_rotate_left32(h ^ mix32(read32(p)), 13) * 5 + 0xe6546b64;

	if (len & 3)
	{
		uint8		last[4] = {0};

		memcpy(last, tail, len & 3);
		h ^= mix32(read32(last));
	}

	h ^= (uint32) len;
	h = (h ^ (h >> 16)) * 0x85ebca6b;
	h = (h ^ (h >> 13)) * 0xc2b2ae35;
	return h ^ (h >> 16);
}

static inline uint64
mix64_1(uint64 k)
{
	return rotate_left64(k * UINT64CONST(0x87c37b91114253d5), 31) * UINT64CONST(0x4cf5ad432745937f);
}

static inline uint64
mix64_2(uint64 k)
{
	return rotate_left64(k * UINT64CONST(0x4cf5ad432745937f), 33) * UINT64CONST(0x87c37b91114253d5);
}

static inline uint64
final64(uint64 k)
{
	k = (k ^ (k >> 33)) * UINT64CONST(0xff51afd7ed558ccd);
	k = (k ^ (k >> 33)) * UINT64CONST(0xc4ceb9fe1a85ec53);
	return k ^ (k >> 33);
}

void
murmur3_x64_128(const uint8 *data, size_t len, uint64 *h1, uint64 *h2)
{
	uint64		a = 0;
	uint64		b = 0;
	const uint8 *tail = data + (len & ~(size_t) 15);

	for (const uint8 *p = data; p < tail; p += 16)
	{
		a = rotate_left64(a ^ mix64_1(read64(p)), 27);
		a = (a + b) * 5 + 0x52dce729;
		b = rotate_left64(b ^ mix64_2(read64(p + 8)), 31);
		b = (b + a) * 5 + 0x38495ab5;
	}

	if (len & 15)
	{
		uint8		last[16] = {0};

		/* An absent word mixes to 0, so it need not be told apart. */
		memcpy(last, tail, len & 15);
		a ^= mix64_1(read64(last));
		b ^= mix64_2(read64(last + 8));
	}

	a ^= len;
	b ^= len;
	a += b;
	b += a;
	a = final64(a);
	b = final64(b);
	a += b;
	b += a;
	*h1 = a;
	*h2 = b;
}
