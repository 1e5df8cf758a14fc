/* SPDX-License-Identifier: MIT */
/*
 * definitions: reads the five tables of names of a main file or an archive.
 *
 * In: the bytes of a definition block; out: tables sorted by reference, with strings that point
 * into those bytes. A look-up goes to the archive first, then to the main file; each step of a
 * chain (region, then its name) is a look-up of its own. Specification: pallas.md 5.
 */
#ifndef TRACE_PALLAS_DEFINITIONS_H
#define TRACE_PALLAS_DEFINITIONS_H

#include <stddef.h>
#include <stdint.h>

#include "trace/pallas/cursor.h"

struct pallas_string {
	uint32_t ref;
	const char *text; /* ended by NUL */
};

struct pallas_region {
	uint32_t ref, name;
};

struct pallas_attribute {
	uint32_t ref, name, description;
	uint8_t type; /* pallas.md 11 */
};

struct pallas_group {
	uint32_t ref, name, type, paradigm, nmembers;
	const uint8_t *members; /* nmembers x u32, not aligned */
};

struct pallas_comm {
	uint32_t ref, name, group, parent;
};

struct pallas_definitions {
	struct pallas_string *strings;
	size_t nstrings;
	struct pallas_region *regions;
	size_t nregions;
	struct pallas_attribute *attributes;
	size_t nattributes;
	struct pallas_group *groups;
	size_t ngroups;
	struct pallas_comm *comms;
	size_t ncomms;
};

/*
 * Reads a block; the tables point into the bytes of the cursor, which must outlive them. Returns 0,
 * -EBADMSG after one message, or -ENOMEM.
 */
int pallas_definitions_read(struct pallas_definitions *defs, struct cursor *c)
	__attribute__((warn_unused_result));
void pallas_definitions_free(struct pallas_definitions *defs); /* accepts a zeroed struct */

/* Look-ups in one table; NULL if it does not have the reference. */
const char *pallas_definitions_string(const struct pallas_definitions *defs, uint32_t ref);
const struct pallas_region *pallas_definitions_region(const struct pallas_definitions *defs,
						      uint32_t ref);
const struct pallas_attribute *pallas_definitions_attribute(const struct pallas_definitions *defs,
							    uint32_t ref);

#endif
