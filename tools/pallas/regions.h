/* SPDX-License-Identifier: MIT */
/*
 * regions: the regions and strings of an archive for the events of a trace.
 *
 * In: an MCV, a pair of MCVs, or a pair with a value (a mark, the reason to leave the CPU); out:
 * its string or region, defined at the first use, and a line of the mapping for the import
 * (region_map.h). Invariant: each defined region has its line.
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

struct regions { /* the caller zeroes it and sets w */
	struct archive_writer *w;
	struct mark_labels labels;
	struct bytes lines; /* of the mapping */
	struct region_variant *variants;
	size_t nvariants;
	struct hash variant_of; /* value, type, MCV */
};

void regions_free(struct regions *r);

/* These append to the mapping: text, and bytes in hexadecimal ("-" for none). */
void regions_line(struct regions *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void regions_hex(struct regions *r, const uint8_t *at, size_t size);

/* The string of a single event. These three functions return PALLAS_NONE out of memory. */
uint32_t regions_point(struct regions *r, uint32_t mcv);
/* The region of a pair in the catalogue. */
uint32_t regions_pair(struct regions *r, uint32_t enter, uint32_t leave);
/* The region of OM[ with a type and value, or of OHp with a reason (-1: no reason). */
uint32_t regions_variant(struct regions *r, uint32_t mcv, int64_t value, int32_t type);

#endif
