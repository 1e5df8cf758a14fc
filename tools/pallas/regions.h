/* SPDX-License-Identifier: MIT */
/*
 * regions: the regions and strings of an archive that stand for events of a trace.
 *
 * In: an MCV, a pair of them, or a pair with the value that tells it apart (a mark, the reason to
 * leave the CPU); out: the string or region of it, defined when it is first asked for, and a line
 * of the mapping that lets the import find the events again (region_map.h).
 * Invariant: each region that is defined has its line.
 */
#ifndef TOOLS_PALLAS_REGIONS_H
#define TOOLS_PALLAS_REGIONS_H

#include <stddef.h>
#include <stdint.h>

#include "tools/pallas/mark_labels.h"
#include "trace/base/array.h"
#include "trace/base/hash.h"

struct archive_writer;
struct region_variant;

struct regions { /* zeroed, with the writer */
	struct archive_writer *w;
	struct mark_labels labels;
	struct bytes lines; /* of the mapping */
	struct region_variant *variants;
	size_t nvariants;
	struct hash variant_of; /* value, type, MCV */
};

void regions_free(struct regions *r);

/* Adds to the lines: text, and bytes in hexadecimal ("-" for none). */
void regions_line(struct regions *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void regions_hex(struct regions *r, const uint8_t *at, size_t size);

/* The string of an event that is a point. These three return PALLAS_NONE without memory. */
uint32_t regions_point(struct regions *r, uint32_t mcv);
/* The region of a pair of the catalog. */
uint32_t regions_pair(struct regions *r, uint32_t enter, uint32_t leave);
/* The region of OM[ with a type and value, or of OHp with a reason (-1: none is told). */
uint32_t regions_variant(struct regions *r, uint32_t mcv, int64_t value, int32_t type);

#endif
