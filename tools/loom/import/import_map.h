/* SPDX-License-Identifier: MIT */
/*
 * import_map: the places of the nodes of a run, and their connections, for pictures (--map).
 *
 * In: a sealed run and a file, of lines "CORE NODE X Y INPUT=NODE..." or the layout of upstream's
 * viewer; out: of each node its place, and the node that drives each of its inputs. Invariants: the
 * file is untrusted, so coordinates and inputs have limits, and memory follows the nodes and the
 * file. Specification: loom.md 9.6.
 */
#ifndef TOOLS_LOOM_IMPORT_IMPORT_MAP_H
#define TOOLS_LOOM_IMPORT_IMPORT_MAP_H

#include "tools/loom/run/run_survey.h"
#include "trace/base/hash.h"
#include "trace/loom/modules.h"

struct import_place {
	int32_t x, y; /* to the right, downwards; in units of the file */
	bool given;
	uint32_t inputs; /* the highest connected input + 1 */
};

struct import_map {
	struct import_place *places; /* by index in survey->nodes; NULL without a file */
	struct hash driver_of;	     /* index of the node, input -> index of the driving node */
};

/*
 * Reads the file. Names of `names` join components of upstream's layout with nodes. Entries of
 * other nodes are skipped. Returns 0, or -errno after one message; import_map_free() is allowed in
 * either case.
 */
int import_map_load(struct import_map *map, const char *path, const struct run_survey *survey,
		    const struct loom_modules *names) __attribute__((warn_unused_result));
void import_map_free(struct import_map *map);

/* The index of the node that drives an input of a node, or LOOM_NONE. */
static inline uint32_t import_map_driver(const struct import_map *map, uint32_t node,
					 uint32_t input)
{
	return hash_get(&map->driver_of, (struct hash_key){.a = node, .c = input});
}

#endif
