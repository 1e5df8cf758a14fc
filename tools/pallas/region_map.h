/* SPDX-License-Identifier: MIT */
/*
 * region_map: maps the regions and strings of an exported archive to events of the ovni trace.
 *
 * The export writes a line for each into the metadata of the main file, under PALLAS_KEY_MAP:
 *
 *   R 3 4f4d5b 01000000000000000000000 4f4d5d ...   region 3: enter and leave, with the start of
 *   S 7 4f4877 - .                                  string 7: a single event;     the payload
 *   S 9 565963 01000000 +                           the same, a jumbo event
 *
 * MCV and payload are hexadecimal, "-" is empty. The payload of an event is the bytes in its line,
 * then the values in the attribute list of the occurrence. Times in the archive are clocks minus
 * PALLAS_KEY_CLOCK. In: that text; out: tables for the import, which needs no other data.
 */
#ifndef TOOLS_PALLAS_REGION_MAP_H
#define TOOLS_PALLAS_REGION_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PALLAS_KEY_MAP	  "ovni.map"	   /* main file */
#define PALLAS_KEY_CLOCK  "ovni.clock"	   /* main file: ns, decimal */
#define PALLAS_KEY_TOOL	  "ovni.tool"	   /* main file: name and version of the converter */
#define PALLAS_KEY_LOOM	  "ovni.loom"	   /* archive: name of the loom */
#define PALLAS_KEY_PID	  "ovni.pid"	   /* archive */
#define PALLAS_KEY_PATH	  "ovni.path.%u"   /* archive: of the stream of a location */
#define PALLAS_KEY_STREAM "ovni.stream.%u" /* archive: its stream.json */
#define PALLAS_KEY_SUMMARY                                                                         \
	"ovni.summary.%u" /* archive: regions of a location, see inline_regions.h */

/* One event: its three characters and the start of its payload. */
struct mapped_event {
	uint32_t mcv; /* 0: none */
	uint8_t *payload;
	size_t size;
};

struct mapped_region {
	struct mapped_event enter, leave;
};

struct mapped_string {
	struct mapped_event point;
	bool jumbo;
};

struct pallas_mapping {
	struct mapped_region *regions; /* by reference */
	struct mapped_string *strings; /* by reference */
	size_t nregions, nstrings;
};

/* Reads the value of PALLAS_KEY_MAP. Returns 0, -EBADMSG, or -ENOMEM, without a message. */
int pallas_mapping_parse(struct pallas_mapping *map, const char *text);
void pallas_mapping_free(struct pallas_mapping *map);

#endif
