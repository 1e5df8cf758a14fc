/* SPDX-License-Identifier: MIT */
#include "tools/dump/event_text.h"

#include <stdlib.h>

#include "trace/catalog/catalog.h"

#define SENTENCE 256 /* most are shorter; the others are written twice */

/*
 * What was explained before: a few CPUs, threads and reasons come again and again. One place
 * for each of 2048 hashes of an event without its clock: 256 KiB, which the second level
 * cache holds.
 */
#define MEMORY_BITS 11
#define REMEMBERED  102 /* bytes; longer sentences are not kept */

struct remembered {
	uint64_t payload[2]; /* zeros behind its end */
	uint32_t mcv;
	uint8_t size;	/* of the payload */
	uint8_t length; /* of the text; 0: the place is free */
	char text[REMEMBERED];
};
_Static_assert(sizeof(struct remembered) == 128, "two cache lines");

struct event_text {
	struct remembered memory[1 << MEMORY_BITS];
};

static const char hex[] = "0123456789abcdef";

static void put_bytes(struct printer *out, const uint8_t *bytes, size_t size)
{
	char *at = printer_room(out, 3 * size);

	if (!at)
		return;
	for (size_t i = 0; i < size; i++) {
		*at++ = ':';
		*at++ = hex[bytes[i] >> 4];
		*at++ = hex[bytes[i] & 15];
	}
	printer_upto(out, at);
}

void event_text_raw(struct printer *out, const struct event *ev)
{
	if (ev->jumbo)
		put_bytes(out, (const uint8_t *)&ev->payload_size, sizeof(ev->payload_size));
	put_bytes(out, ev->payload, ev->payload_size);
}

/* How many bytes of the payload the declaration covers, from the first one on. */
static size_t covered(const struct signature *sig, const struct event *ev)
{
	size_t n = 0, len;

	if (!sig || sig->jumbo != ev->jumbo)
		return 0;
	for (unsigned i = 0; i < sig->nargs; i++) {
		const struct arg *arg = &sig->args[i];

		if (arg->type == ARG_STR)
			n = signature_str(sig, ev, i, &len) ? arg->offset + len + 1 : n;
		else if (arg->many)
			n = arg->offset + arg->size * signature_count(sig, ev, i);
		else if (arg->offset + arg->size <= ev->payload_size)
			n = arg->offset + arg->size;
	}
	return n;
}

struct event_text *event_text_new(void)
{
	return calloc(1, sizeof(struct event_text));
}

static void explain_anew(struct printer *out, const struct event *ev)
{
	const struct signature *sig = NULL;
	char *at = printer_room(out, SENTENCE);
	size_t n;

	if (!at)
		return;
	n = catalog_explain(ev, at, SENTENCE);
	if (n >= SENTENCE) {
		at = printer_room(out, n + 1);
		if (!at)
			return;
		n = catalog_explain(ev, at, n + 1);
	}
	out->len += n;
	if (!ev->payload_size)
		return;
	(void)catalog_find(event_mcv(ev), &sig);
	n = covered(sig, ev);
	if (n < ev->payload_size) {
		printer_bytes(out, " +", 2);
		put_bytes(out, ev->payload + n, ev->payload_size - n);
	}
}

void event_text_put(struct event_text *event_text, struct printer *out, const struct event *ev)
{
	uint64_t payload[2] = {0, 0}, hash;
	uint32_t mcv = event_mcv(ev);
	struct remembered *place;
	size_t before, n;
	char *at;

	if (ev->jumbo || ev->payload_size > sizeof(payload)) {
		explain_anew(out, ev);
		return;
	}
	if (ev->payload_size)
		memcpy(payload, ev->payload, ev->payload_size);
	hash = ((payload[0] ^ mcv) * 0x9e3779b97f4a7c15u + payload[1]) * 0xff51afd7ed558ccdu;
	place = &event_text->memory[hash >> (64 - MEMORY_BITS)];
	if (place->length && place->mcv == mcv && place->size == ev->payload_size &&
	    place->payload[0] == payload[0] && place->payload[1] == payload[1]) {
		at = printer_room(out, sizeof(place->text));
		if (!at)
			return;
		memcpy(at, place->text, sizeof(place->text)); /* a fixed size: a few wide moves */
		out->len += place->length;
		return;
	}
	/* room for the longest first, so that the text stays where it was written */
	if (!printer_room(out, 2 * SENTENCE))
		return;
	before = out->len;
	explain_anew(out, ev);
	n = out->len - before;
	if (out->len < before || n == 0 || n > sizeof(place->text))
		return;
	place->mcv = mcv;
	place->size = (uint8_t)ev->payload_size;
	memcpy(place->payload, payload, sizeof(payload));
	place->length = (uint8_t)n;
	memcpy(place->text, out->buf + before, n);
}

static void put_integer(struct printer *out, const struct arg *arg, int64_t value)
{
	if (arg->type == ARG_U64)
		printer_format(out, "\"%llu\"", (unsigned long long)value);
	else if (arg->type == ARG_I64)
		printer_format(out, "\"%lld\"", (long long)value);
	else
		printer_format(out, "%lld", (long long)value);
}

static void put_values(struct printer *out, const struct signature *sig, const struct event *ev,
		       unsigned i)
{
	size_t n = signature_count(sig, ev, i);
	int64_t value;

	printer_text(out, sig->args[i].many ? "[" : "");
	for (size_t k = 0; k < n && signature_nth(sig, ev, i, k, &value); k++) {
		printer_text(out, k ? "," : "");
		put_integer(out, &sig->args[i], value);
	}
	printer_text(out, sig->args[i].many ? "]" : "");
}

bool event_text_json(struct printer *out, const struct event *ev)
{
	const struct signature *sig = NULL;
	const struct catalog_event *entry = catalog_find(event_mcv(ev), &sig);
	const char *comma = "";

	printer_bytes(out, "{", 1);
	for (unsigned i = 0; entry && sig && i < sig->nargs; i++) {
		const struct arg *arg = &sig->args[i];
		size_t size = 0;
		const char *text = arg->type == ARG_STR ? signature_str(sig, ev, i, &size) : NULL;

		if (arg->type == ARG_STR ? !text : !arg->many && !signature_count(sig, ev, i))
			continue; /* the payload is too short for it */
		printer_text(out, comma);
		comma = ",";
		printer_json_string(out, arg->name, strlen(arg->name));
		printer_bytes(out, ":", 1);
		if (text)
			printer_json_string(out, text, size);
		else
			put_values(out, sig, ev, i);
	}
	printer_bytes(out, "}", 1);
	return entry != NULL;
}
