/* SPDX-License-Identifier: MIT */
/* regions: strings and regions of an export (see regions.h). */
#include "tools/pallas/regions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/off_cpu.h"
#include "trace/catalog/catalog.h"
#include "trace/pallas/write/archive_writer.h"

/* A region of a mark, or of a reason to leave the CPU. */
struct region_variant {
	uint32_t mcv;
	int32_t type;
	int64_t value;
	uint32_t region;
};

void regions_free(struct regions *r)
{
	mark_labels_free(&r->labels);
	bytes_free(&r->lines);
	free(r->variants);
	hash_free(&r->variant_of);
}

void regions_line(struct regions *r, const char *fmt, ...)
{
	va_list args;
	char text[128];
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	bytes_put(&r->lines, text, (size_t)n);
}

void regions_hex(struct regions *r, const uint8_t *at, size_t size)
{
	static const char digits[] = "0123456789abcdef";

	if (!size)
		bytes_put(&r->lines, "-", 1);
	for (size_t i = 0; i < size; i++) {
		bytes_u8(&r->lines, (uint8_t)digits[at[i] >> 4]);
		bytes_u8(&r->lines, (uint8_t)digits[at[i] & 15]);
	}
}

static void region_line(struct regions *r, uint32_t ref, uint32_t enter, uint32_t leave,
			const uint8_t *payload, size_t enter_size, size_t leave_size)
{
	regions_line(r, "R %u %06x ", ref, enter);
	regions_hex(r, payload, enter_size);
	regions_line(r, " %06x ", leave);
	regions_hex(r, payload, leave_size);
	regions_line(r, "\n");
}

/* The sentence of an event up to its first argument. */
static void plain_english(const struct catalog_event *entry, char *out, size_t size)
{
	size_t n = entry ? strcspn(entry->english, "[%") : 0;

	while (n && entry->english[n - 1] == ' ')
		n--;
	snprintf(out, size, "%.*s", (int)n, entry ? entry->english : "");
}

/* "OHw warms up: is about to run"; an unprintable MCV is "#4f4801". */
uint32_t regions_point(struct regions *r, uint32_t mcv)
{
	char text[256], english[200];
	uint32_t ref;
	bool printable = true;

	for (int shift = 16; shift >= 0; shift -= 8)
		printable =
			printable && (mcv >> shift & 0xff) > ' ' && (mcv >> shift & 0xff) < 0x7f;
	plain_english(catalog_find(mcv, NULL), english, sizeof(english));
	if (printable)
		snprintf(text, sizeof(text), "%c%c%c%s%s", (char)(mcv >> 16), (char)(mcv >> 8),
			 (char)mcv, *english ? " " : "", english);
	else
		snprintf(text, sizeof(text), "#%06x", mcv);
	ref = archive_writer_string(r->w, text);
	regions_line(r, "S %u %06x - .\n", ref, mcv);
	return ref;
}

/* The region of a pair in the catalogue. */
uint32_t regions_pair(struct regions *r, uint32_t enter, uint32_t leave)
{
	const struct catalog_event *entry = catalog_find(enter, NULL);
	char name[200];
	uint32_t ref;

	if (entry && entry->label)
		snprintf(name, sizeof(name), "%s", entry->label);
	else
		plain_english(entry, name, sizeof(name));
	ref = archive_writer_region(r->w, name);
	if (ref != PALLAS_NONE)
		region_line(r, ref, enter, leave, NULL, 0, 0);
	return ref;
}

static uint32_t new_variant(struct regions *r, const struct region_variant *v)
{
	char name[600];
	uint8_t payload[12];
	uint32_t ref;

	if (v->mcv == MCV('O', 'H', 'p')) {
		uint16_t why = (uint16_t)v->value;

		snprintf(name, sizeof(name), "Off the CPU%s%s", v->value < 0 ? "" : ": ",
			 v->value < 0		    ? ""
			 : v->value < OFF_CPU_COUNT ? off_cpu_label(v->value)
						    : "other");
		ref = archive_writer_region(r->w, name);
		memcpy(payload, &why, 2);
		if (ref != PALLAS_NONE)
			region_line(r, ref, v->mcv, MCV('O', 'H', 'r'), payload,
				    v->value < 0 ? 0 : 2, 0);
		return ref;
	}
	if (mark_label(&r->labels, v->type, v->value))
		snprintf(name, sizeof(name), "%s", mark_label(&r->labels, v->type, v->value));
	else
		snprintf(name, sizeof(name), "%s %" PRId64,
			 mark_label(&r->labels, v->type, 0) ? mark_label(&r->labels, v->type, 0)
							    : "Mark",
			 v->value);
	ref = archive_writer_region(r->w, name);
	memcpy(payload, &v->value, 8);
	memcpy(payload + 8, &v->type, 4);
	if (ref != PALLAS_NONE)
		region_line(r, ref, MCV('O', 'M', '['), MCV('O', 'M', ']'), payload, 12, 12);
	return ref;
}

uint32_t regions_variant(struct regions *r, uint32_t mcv, int64_t value, int32_t type)
{
	struct region_variant v = {.mcv = mcv, .type = type, .value = value}, *added;
	uint32_t *at =
		hash_at(&r->variant_of, (struct hash_key){(uint64_t)value, (uint32_t)type, mcv});

	if (!at)
		return PALLAS_NONE;
	if (*at != HASH_NONE)
		return r->variants[*at].region;
	v.region = new_variant(r, &v);
	if (v.region == PALLAS_NONE)
		return PALLAS_NONE;
	added = ARRAY_ADD(r->variants, r->nvariants);
	if (!added)
		return PALLAS_NONE;
	*added = v;
	*at = (uint32_t)(added - r->variants);
	return v.region;
}
