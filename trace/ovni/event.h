/* SPDX-License-Identifier: MIT */
/*
 * event: decodes and encodes one ovni event.
 *
 *   0      1   2   3   4               12
 *   +------+---+---+---+---------------+----------------------------+
 *   | J  n | M | C | V | clock, ns     | payload                    |
 *   +------+---+---+---+---------------+----------------------------+
 *
 *   normal   J = 0   payload of 0 bytes (n = 0) or n + 1 bytes (2 to 16)
 *   jumbo    J = 1   payload is a 32-bit length L, then L bytes of data
 *
 * All integers have the byte order of the host. In: bytes of a stream; out: a struct event that
 * points into them. Invariant: the decoder does not read at or past `end`, and a decoded event is
 * completely inside [at, end).
 * Specification: emulator.md 3.3.
 */
#ifndef TRACE_OVNI_EVENT_H
#define TRACE_OVNI_EVENT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define STREAM_MAGIC	   "ovni"
#define STREAM_VERSION	   1
#define STREAM_HEADER_SIZE 8
#define EVENT_HEADER_SIZE  12
#define EVENT_PAYLOAD_MAX  16 /* of a normal event; the format has no payload of 1 byte */
#define EVENT_JUMBO_FLAG   0x10
#define EVENT_JUMBO_MAX	   INT32_MAX				   /* maximum of the data */
#define EVENT_SIZE_MAX	   (EVENT_HEADER_SIZE + EVENT_PAYLOAD_MAX) /* normal */

/* The three characters of an event as one number. */
#define MCV(m, c, v) ((uint32_t)(uint8_t)(m) << 16 | (uint32_t)(uint8_t)(c) << 8 | (uint8_t)(v))

struct event {
	int64_t clock;		/* ns, of the stream: without an offset */
	const uint8_t *payload; /* arguments; data of a jumbo event, after its length */
	uint32_t payload_size;	/* bytes at payload */
	uint32_t size;		/* bytes of the whole event, header included */
	uint8_t model, category, value;
	bool jumbo;
};

static inline uint32_t event_mcv(const struct event *ev)
{
	return MCV(ev->model, ev->category, ev->value);
}

/* Difference of two clocks in ns, clamped: a hostile trace may exceed the range. */
static inline int64_t clock_distance(int64_t from, int64_t to)
{
	int64_t ns;

	if (__builtin_sub_overflow(to, from, &ns))
		return to < from ? INT64_MIN : INT64_MAX;
	return ns;
}

/* Sum of two times in ns, clamped. */
static inline int64_t clock_sum(int64_t a, int64_t b)
{
	int64_t ns;

	if (__builtin_add_overflow(a, b, &ns))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* Unaligned reads; the caller checks the bounds. */
static inline uint32_t get_u32(const uint8_t *at)
{
	uint32_t v;
	memcpy(&v, at, sizeof(v));
	return v;
}

static inline int32_t get_i32(const uint8_t *at)
{
	return (int32_t)get_u32(at);
}

static inline uint64_t get_u64(const uint8_t *at)
{
	uint64_t v;
	memcpy(&v, at, sizeof(v));
	return v;
}

static inline int64_t get_i64(const uint8_t *at)
{
	return (int64_t)get_u64(at);
}

static inline uint16_t get_u16(const uint8_t *at)
{
	uint16_t v;
	memcpy(&v, at, sizeof(v));
	return v;
}

/* True if the header at `at`, EVENT_HEADER_SIZE bytes, is all zeros: no event has the model 0. A
 * file has them where it was never written, and a sparse file may have any number. */
static inline bool event_is_zeros(const uint8_t *at)
{
	return !get_u32(at) && !get_u64(at + 4);
}

/*
 * Decodes the event at [at, end) into *ev, which points into those bytes. Returns its size in
 * bytes, 0 if at == end, -EBADMSG for an incomplete event, -EFBIG for a jumbo event larger than
 * EVENT_JUMBO_MAX.
 */
static inline ssize_t event_decode(struct event *ev, const uint8_t *at, const uint8_t *end)
{
	size_t left = (size_t)(end - at), payload;
	uint8_t flags;

	if (left == 0)
		return 0;
	if (left < EVENT_HEADER_SIZE)
		return -EBADMSG;
	flags = at[0];
	ev->model = at[1];
	ev->category = at[2];
	ev->value = at[3];
	ev->clock = get_i64(at + 4);
	left -= EVENT_HEADER_SIZE;
	if (__builtin_expect(flags & EVENT_JUMBO_FLAG, 0)) {
		uint32_t data;

		if (left < sizeof(data))
			return -EBADMSG;
		data = get_u32(at + EVENT_HEADER_SIZE);
		if (data > EVENT_JUMBO_MAX)
			return -EFBIG;
		if (left - sizeof(data) < data)
			return -EBADMSG;
		ev->jumbo = true;
		ev->payload = at + EVENT_HEADER_SIZE + sizeof(data);
		ev->payload_size = data;
		ev->size = EVENT_HEADER_SIZE + (uint32_t)sizeof(data) + data;
		return (ssize_t)ev->size;
	}
	payload = (flags & 0x0f) ? (flags & 0x0fu) + 1 : 0;
	if (left < payload)
		return -EBADMSG;
	ev->jumbo = false;
	ev->payload = at + EVENT_HEADER_SIZE;
	ev->payload_size = (uint32_t)payload;
	ev->size = EVENT_HEADER_SIZE + (uint32_t)payload;
	return (ssize_t)ev->size;
}

/*
 * Writes a normal event to `out`, which has room for EVENT_SIZE_MAX bytes. `size` is 0 or 2 to 16:
 * the format has no payload of 1 byte. Returns the size of the event.
 */
static inline size_t event_encode(uint8_t *out, uint32_t mcv, int64_t clock, const void *payload,
				  size_t size)
{
	out[0] = size ? (uint8_t)(size - 1) : 0;
	out[1] = (uint8_t)(mcv >> 16);
	out[2] = (uint8_t)(mcv >> 8);
	out[3] = (uint8_t)mcv;
	memcpy(out + 4, &clock, sizeof(clock));
	if (size)
		memcpy(out + EVENT_HEADER_SIZE, payload, size);
	return EVENT_HEADER_SIZE + size;
}

/*
 * Writes the header and the length of a jumbo event with `size` bytes of data to `out`, which has
 * room for 16 bytes; the data must follow. Returns the number of written bytes.
 */
static inline size_t event_encode_jumbo(uint8_t *out, uint32_t mcv, int64_t clock, uint32_t size)
{
	event_encode(out, mcv, clock, &size, sizeof(size));
	out[0] |= EVENT_JUMBO_FLAG;
	return EVENT_HEADER_SIZE + sizeof(size);
}

#endif
