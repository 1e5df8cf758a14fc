/* SPDX-License-Identifier: MIT */
/* prv: rows, types, times and headers as text (see prv.h). */
#include "emu/paraver/prv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#define HEADER_MAX 96

void prv_row_init(struct prv_row *row, uint32_t number)
{
	memset(row, 0, sizeof(*row));
	row->len = (uint8_t)snprintf(row->text, sizeof(row->text), "2:0:1:1:%" PRIu32, number);
}

void prv_type_init(struct prv_type *type, uint32_t number)
{
	memset(type, 0, sizeof(*type));
	type->len = (uint8_t)snprintf(type->text, sizeof(type->text), ":%" PRIu32 ":", number);
	type->number = number;
}

#define TAIL 100000000 /* ns in eight digits */

void prv_time_init(struct prv_time *time)
{
	memset(time, 0, sizeof(*time));
	time->head[0] = ':';
	time->head_len = 1;
	time->shown = -1;
}

void prv_time_show(struct prv_time *time)
{
	int64_t low = time->now - time->base;

	time->shown = time->now;
	if (__builtin_expect(low >= TAIL, 0)) {
		int64_t high = time->now / TAIL;

		time->base = high * TAIL;
		low = time->now - time->base;
		time->head_len = (uint8_t)(digits_put(time->head + 1, high) - time->head);
	}
	if (__builtin_expect(time->base == 0, 0)) { /* the head has no digits: no leading zeros */
		time->tail_len = (uint8_t)digits_word(&time->tail, (uint32_t)low);
		return;
	}
	time->tail = digits_spread8((uint32_t)low) | DIGITS_ASCII;
	time->tail_len = 8;
}

void prv_value_large(struct prv_value *text, int64_t value)
{
	uint64_t low, end = '\n';
	char memory[32] = {0};
	unsigned n;

	if ((uint64_t)value >= 10000000000000000) { /* more than 16 digits, or negative */
		char *at = digits_put(memory, value);

		*at = '\n';
		text->len = (unsigned)(at + 1 - memory);
		memset(at + 1, 0, (size_t)(memory + sizeof(memory) - at - 1));
		memcpy(text->words, memory, sizeof(text->words));
		return;
	}
	if (value < TAIL) {
		n = digits_word(&text->words[0], (uint32_t)value);
		text->words[1] = end; /* for eight digits */
		text->len = n + 1;
		if (n < 8)
			text->words[0] |= end << (8 * n);
		return;
	}
	n = digits_word(&text->words[0], (uint32_t)(value / TAIL));
	low = digits_spread8((uint32_t)(value % TAIL)) | DIGITS_ASCII;
	text->len = n + 9;
	if (n == 8) {
		text->words[1] = low;
		text->words[2] = end;
		return;
	}
	text->words[0] |= low << (8 * n);
	text->words[1] = low >> (64 - 8 * n) | end << (8 * n);
	text->words[2] = 0;
}

/* #Paraver (19/01/38 at 03:14):DURATION_ns:0:1:1(ROWS:1); the length depends on ROWS alone */
static int put_header(struct prv *prv, int64_t duration)
{
	char line[HEADER_MAX];
	int n = snprintf(line, sizeof(line),
			 "#Paraver (19/01/38 at 03:14):%020" PRId64 "_ns:0:1:1(%" PRIu32 ":1)\n",
			 duration, prv->nrows);

	return out_header(prv->out, line, (size_t)n);
}

int prv_open(struct prv *prv, struct out *out, uint32_t nrows)
{
	memset(prv, 0, sizeof(*prv));
	prv->out = out;
	prv->nrows = nrows;
	return put_header(prv, 0);
}

static void use_buffer(struct prv *prv, char *buffer)
{
	prv->buffer = prv->at = prv->begin = buffer;
	prv->limit = buffer + OUT_BUFFER_BYTES;
}

int prv_start(struct prv *prv, size_t event_bytes)
{
	char *buffer = out_buffer(prv->out, OUT_BUFFER_BYTES + event_bytes);

	if (!buffer)
		return -ENOMEM;
	use_buffer(prv, buffer);
	return 0;
}

int prv_flush(struct prv *prv)
{
	char *buffer = prv->buffer;
	int err = out_put(prv->out, (size_t)(prv->at - buffer), &buffer);

	use_buffer(prv, buffer);
	return err;
}

int prv_close(struct prv *prv, int64_t duration)
{
	int err, closed;

	if (!prv->out)
		return 0;
	err = prv->buffer ? prv_flush(prv) : 0;
	if (err)
		goto out;
	err = duration ? put_header(prv, duration) : 0;
out:
	closed = out_close(prv->out);
	prv->out = NULL;
	return err ? err : closed;
}

void prv_arrow(struct prv *prv, const struct prv_row *from, int64_t sent, const struct prv_row *to,
	       int64_t received, int64_t size, int tag)
{
	char *at = prv->at;

	/* the text of a row, "2:0:1:1:17", has the object after its first character: ":0:1:1:17" */
	*at++ = '3';
	memcpy(at, from->text + 1, 22);
	at += from->len - 1;
	for (int i = 0; i < 2; i++) { /* logical and physical time are equal */
		*at++ = ':';
		at = digits_put(at, sent);
	}
	memcpy(at, to->text + 1, 22);
	at += to->len - 1;
	for (int i = 0; i < 2; i++) {
		*at++ = ':';
		at = digits_put(at, received);
	}
	*at++ = ':';
	at = digits_put(at, size);
	*at++ = ':';
	at = digits_put(at, tag);
	*at++ = '\n';
	prv->at = at;
}
