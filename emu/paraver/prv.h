/* SPDX-License-Identifier: MIT */
/*
 * prv: writes the lines of one .prv file.
 *
 *   2:0:1:1:ROW:TIME:TYPE:VALUE
 *   └── row ──┘└time─┘└type┘          each part is prepared as text
 *
 * In: rows, types and values, in the order of their touches; out: bytes in a buffer that goes to
 * the file in large pieces. Invariant: a refused event writes nothing. prv_begin() makes room for
 * all lines of one event, which stay in the buffer until it ends; prv_undo() removes them.
 * Specification: prv.md 1.
 */
#ifndef EMU_PARAVER_PRV_H
#define EMU_PARAVER_PRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "trace/base/digits.h"
#include "emu/paraver/out.h"

#define PRV_LINE_MAX  80 /* bytes of a line, with the excess of copies of fixed length */
#define PRV_ARROW_MAX 192

struct prv_row { /* "2:0:1:1:17" */
	char text[23];
	uint8_t len;
};

struct prv_type { /* ":200:" */
	char text[15];
	uint8_t len;
	uint32_t number;
};

/* A copy of fixed length takes one or two moves, and the bytes after the text do not matter. */
_Static_assert(sizeof(struct prv_row) >= 24 && offsetof(struct prv_row, text) == 0, "copied");
_Static_assert(sizeof(struct prv_type) >= 16 && offsetof(struct prv_type, text) == 0, "copied");

/*
 * ":12345" in two parts, for the time `now`: the head has the digits that change every tenth of a
 * second, the tail the last eight digits. The tail is one 64-bit word, copied to the line at once:
 * reading back bytes that were just written in pieces would be slow.
 */
struct prv_time {
	char head[16];
	uint64_t tail;
	uint8_t head_len, tail_len;
	int64_t now;   /* ns since the first event */
	int64_t shown; /* time in head and tail, ns; -1: none */
	int64_t base;  /* time in the head alone, ns */
};

struct prv {
	char *at;    /* end of the lines so far */
	char *begin; /* start of the lines of the present event */
	char *buffer;
	char *limit; /* above it, the buffer has no room for one more event */
	struct out *out;
	uint32_t nrows;
};

void prv_row_init(struct prv_row *row, uint32_t number);
void prv_type_init(struct prv_type *type, uint32_t number);
void prv_time_init(struct prv_time *time);

/*
 * Takes the open file `out` and writes the header, with duration 0. Returns 0, or -errno after a
 * message; prv_close() must follow in both cases.
 */
int prv_open(struct prv *prv, struct out *out, uint32_t nrows) __attribute__((warn_unused_result));

/*
 * Allocates the buffer before the first line, with room for the `event_bytes` of one event. Returns
 * 0, or -ENOMEM after a message.
 */
int prv_start(struct prv *prv, size_t event_bytes) __attribute__((warn_unused_result));

/*
 * Writes the rest of the buffer and the header with the duration in ns, and closes the file.
 * Returns 0, or -errno after a message.
 */
int prv_close(struct prv *prv, int64_t duration) __attribute__((warn_unused_result));

/* Writes the full buffer. Returns 0, or -errno after a message. */
int prv_flush(struct prv *prv) __attribute__((warn_unused_result));

static inline int prv_begin(struct prv *prv)
{
	if (__builtin_expect(prv->at > prv->limit, 0)) {
		int err = prv_flush(prv);

		if (err)
			return err;
	}
	prv->begin = prv->at;
	return 0;
}

static inline void prv_undo(struct prv *prv)
{
	prv->at = prv->begin;
}

/* Updates head and tail to time->now. */
void prv_time_show(struct prv_time *time);

/*
 * A value and the end of its line, as text in words: one value often goes to two rows, of a thread
 * and of its CPU.
 */
struct prv_value {
	uint64_t words[3];
	unsigned len;
};

void prv_value_large(struct prv_value *text, int64_t value);
static inline void prv_value_make(struct prv_value *text, int64_t value)
{
	text->words[1] = text->words[2] = 0;
	if ((uint64_t)value < 10) {
		text->words[0] = (uint64_t)('0' + value) | '\n' << 8;
		text->len = 2;
	} else if ((uint64_t)value < 10000000) {
		unsigned n = digits_word(&text->words[0], (uint32_t)value);

		text->words[0] |= (uint64_t)'\n' << (8 * n);
		text->len = n + 1;
	} else {
		prv_value_large(text, value);
	}
}

/* Writes row and time, the common part of the lines of one event and row. Returns their end. */
static inline char *prv_start_line(struct prv *prv, const struct prv_row *row,
				   struct prv_time *time)
{
	char *at = prv->at;

	if (__builtin_expect(time->shown != time->now, 0))
		prv_time_show(time);
	memcpy(at, row, 24);
	at += row->len;
	memcpy(at, time->head, 16);
	at += time->head_len;
	memcpy(at, &time->tail, 8);
	return at + time->tail_len;
}

static inline void prv_line(struct prv *prv, const struct prv_row *row, struct prv_time *time,
			    const struct prv_type *type, int64_t value)
{
	char *at = prv_start_line(prv, row, time);

	memcpy(at, type, 16);
	at = digits_put(at + type->len, value);
	*at = '\n';
	prv->at = at + 1;
}

/* Adds a type and a value to the last line, which must be of the same event and row. */
static inline void prv_more(struct prv *prv, const struct prv_type *type, int64_t value)
{
	char *at = prv->at - 1; /* the end of the line */

	memcpy(at, type, 16);
	at = digits_put(at + type->len, value);
	*at = '\n';
	prv->at = at + 1;
}

/* Adds to the last line if it has *begun, else begins one. */
static inline void prv_pair(struct prv *prv, const struct prv_row *row, struct prv_time *time,
			    const struct prv_type *type, int64_t value, bool *begun)
{
	if (*begun)
		prv_more(prv, type, value);
	else
		prv_line(prv, row, time, type, value);
	*begun = true;
}

/* prv_line() with a prepared value. */
static inline void prv_put(struct prv *prv, const struct prv_row *row, struct prv_time *time,
			   const struct prv_type *type, const struct prv_value *value)
{
	char *at = prv_start_line(prv, row, time);

	memcpy(at, type, 16);
	at += type->len;
	memcpy(at, &value->words[0], 8);
	if (value->len > 8)
		memcpy(at + 8, &value->words[1], 16);
	prv->at = at + value->len;
}

/*
 * Writes a communication record from the row `from` at the time `sent` to the row `to` at the time
 * `received` (ns since the first event).
 */
void prv_arrow(struct prv *prv, const struct prv_row *from, int64_t sent, const struct prv_row *to,
	       int64_t received, int64_t size, int tag);

#endif
