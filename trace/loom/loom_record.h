/* SPDX-License-Identifier: MIT */
/*
 * loom_record: decodes and encodes one event of a Loom co-simulation.
 *
 * In: 38 packed bytes, or 48 bytes with the alignment of 64-bit machines; out: struct loom_record;
 * and the reverse. All numbers are little-endian. Invariant: decoding and encoding keep all bytes
 * except the padding of the 48 bytes.
 * Specification: loom.md 2 (layouts), 4 (meaning).
 */
#ifndef TRACE_LOOM_LOOM_RECORD_H
#define TRACE_LOOM_LOOM_RECORD_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum loom_kind {
	LOOM_NODE_FIRE = 0,
	LOOM_NODE_STALL_IN = 1,
	LOOM_NODE_STALL_OUT = 2,
	LOOM_ROUTE_USE = 3,
	LOOM_CONFIG_WRITE = 4,
	LOOM_INVOCATION_START = 5,
	LOOM_INVOCATION_DONE = 6,
	LOOM_DEVICE_ERROR = 7,
	LOOM_KINDS = 8,		 /* first extension; the producer defines their meaning */
	LOOM_KIND_UNNAMED = 255, /* JSON: any other name */
};

enum loom_phase { LOOM_NO_PHASE, LOOM_EVALUATE, LOOM_COMMIT }; /* only in JSON */

struct loom_record {
	uint64_t cycle;
	uint64_t invocation_id;
	uint32_t epoch_id;
	uint32_t hw_node_id; /* unique in a core; 0 for kinds 4 to 6, which have no node */
	uint32_t arg0, arg1;
	uint16_t core_id;
	uint16_t flags;
	uint8_t event_kind; /* enum loom_kind, or an extension */
	uint8_t lane;
	uint8_t phase; /* enum loom_phase */
};

#define LOOM_CORES 65536 /* highest core_id + 1 */

/* ---- LTRC: 16 bytes of header, then records of 38 bytes ---- */

#define LOOM_MAGIC	 "LTRC"
#define LOOM_VERSION	 1
#define LOOM_HEADER_SIZE 16

#define LOOM_PACKED_SIZE  38
#define LOOM_NATURAL_SIZE 48

/* The offsets of loom.md 2.2: packed, natural. */
#define LOOM_FIELDS(FIELD)                                                                         \
	FIELD(64, cycle, 0, 0)                                                                     \
	FIELD(32, epoch_id, 8, 8)                                                                  \
	FIELD(64, invocation_id, 12, 16)                                                           \
	FIELD(16, core_id, 20, 24)                                                                 \
	FIELD(32, hw_node_id, 22, 28)                                                              \
	FIELD(8, event_kind, 26, 32)                                                               \
	FIELD(8, lane, 27, 33)                                                                     \
	FIELD(16, flags, 28, 34)                                                                   \
	FIELD(32, arg0, 30, 36)                                                                    \
	FIELD(32, arg1, 34, 40)

static inline size_t loom_offset(bool is_natural, size_t packed, size_t natural)
{
	return is_natural ? natural : packed;
}

static inline uint8_t loom_swap8(uint8_t v)
{
	return v;
}

#define loom_swap16 htole16 /* its own inverse */
#define loom_swap32 htole32
#define loom_swap64 htole64

#define LOOM_GET(bits, name, packed, natural)                                                      \
	do {                                                                                       \
		uint##bits##_t v;                                                                  \
		memcpy(&v, at + loom_offset(is_natural, packed, natural), sizeof(v));              \
		r->name = loom_swap##bits(v);                                                      \
	} while (0);
#define LOOM_PUT(bits, name, packed, natural)                                                      \
	do {                                                                                       \
		uint##bits##_t v = loom_swap##bits(r->name);                                       \
		memcpy(at + loom_offset(is_natural, packed, natural), &v, sizeof(v));              \
	} while (0);

/* Decodes LOOM_PACKED_SIZE or LOOM_NATURAL_SIZE bytes. */
static inline void loom_decode(struct loom_record *r, const uint8_t *at, bool is_natural)
{
	LOOM_FIELDS(LOOM_GET)
	r->phase = LOOM_NO_PHASE;
}

/* Encodes as many bytes; the padding of the natural layout is zero. */
static inline void loom_encode(const struct loom_record *r, uint8_t *at, bool is_natural)
{
	if (is_natural)
		memset(at, 0, LOOM_NATURAL_SIZE);
	LOOM_FIELDS(LOOM_PUT)
}

/* True if the padding of a record in natural layout is zero. */
bool loom_padding_is_zero(const uint8_t *at);

/* True for the kinds of a node (0 to 3), false for those of the session. */
static inline bool loom_is_of_node(uint8_t kind)
{
	return kind <= LOOM_ROUTE_USE;
}

/* ---- duration ---- */

/* Cycles of a record of a node: in the statistics (`record_style`), not in the trace (loom.md 4.3).
 */
enum loom_style {
	LOOM_STYLE_CYCLE, /* its own cycle */
	LOOM_STYLE_EDGE,  /* until the next record of the node, or the end of the invocation */
	LOOM_STYLE_SPAN,  /* kinds 0 to 2: for arg0 + 2^32 * arg1 cycles; ROUTE_USE: its own */
	LOOM_STYLES
};

static const char *const loom_style_names[LOOM_STYLES]
	__attribute__((unused)) = {"cycle", "edge", "span"};

/* Number of cycles of a record of kind 0 to 2 in style `span`. */
static inline uint64_t loom_record_span(const struct loom_record *r)
{
	return r->event_kind <= LOOM_NODE_STALL_OUT ? (uint64_t)r->arg1 << 32 | r->arg0 : 1;
}

static inline void loom_record_set_span(struct loom_record *r, uint64_t cycles)
{
	r->arg0 = (uint32_t)cycles;
	r->arg1 = (uint32_t)(cycles >> 32);
}

/* The cycle `cycles` after a cycle, at most the highest one. */
static inline uint64_t loom_cycle_after(uint64_t cycle, uint64_t cycles)
{
	return cycle + cycles < cycle ? UINT64_MAX : cycle + cycles;
}

/* ---- names ---- */

/* "NODE_FIRE", or "EXT_9" written into `room`: the name in loom-perf files and listings. */
const char *loom_kind_name(uint8_t kind, char room[8]);
/* "node_fire", or "unknown": the name in JSON traces. */
const char *loom_kind_json_name(uint8_t kind);
/* Parses either name, or EXT_n, in any case of letters. Returns false for other text. */
bool loom_kind_parse(const char *name, size_t len, uint8_t *kind);

/* The meaning of an error code of DEVICE_ERROR; NULL for 0 and for unassigned codes. */
const char *loom_error_name(uint32_t code);
/* True for the reserved codes of the specification (16 to 255). */
bool loom_error_reserved(uint32_t code);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
