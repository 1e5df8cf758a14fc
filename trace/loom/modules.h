/* SPDX-License-Identifier: MIT */
/*
 * modules: names and kinds of the hardware nodes.
 *
 * In: the modules table of a JSON trace or of statistics, a mapping report, or lines of text; out:
 * the name and kind of a node. Memory follows the nodes. Invariants: entries stay in the order of
 * their additions; the first entry of a node is valid. Specification: loom.md 3, 5.3.
 */
#ifndef TRACE_LOOM_MODULES_H
#define TRACE_LOOM_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/base/hash.h"

/* Limits of the place of a node, in a mapping and in the metadata (loom.md 9.6). */
#define LOOM_PLACE_MOST 1000000 /* of a coordinate, in either direction */
#define LOOM_INPUTS	256	/* of a node */

struct inflow;
struct tokens;

#define LOOM_LINE_BYTES 4096

struct loom_module {
	uint32_t hw_node_id;
	uint16_t core_id;
	bool any_core; /* without a core: this node of every core */
	char *kind;    /* "fifo", or NULL; switches are spatial_sw and temporal_sw */
	char *name;    /* or NULL */
	char *component_name, *function_unit_name; /* NULL or not empty */
	int64_t boundary_ordinal;		   /* -1: none */
};

struct loom_modules {
	struct loom_module *list;
	size_t n;
	struct hash index_of; /* by node and core: the first entry */
};

/* Adds a copy of `m` and its texts. Returns 0 or -ENOMEM. */
int loom_modules_add(struct loom_modules *t, const struct loom_module *m)
	__attribute__((warn_unused_result));
/* The entry of a node, or NULL. Valid until the table changes. */
const struct loom_module *loom_modules_find(const struct loom_modules *t, uint16_t core,
					    uint32_t node);
void loom_modules_free(struct loom_modules *t);

/*
 * Reads the elements of a modules array after its bracket. Calls `other` for unknown keys, with
 * `arg` and the present module, and with a NULL key at the end of a module; `other` must read the
 * value. If it is NULL, unknown keys are skipped. Returns false after a mistake in `t`.
 */
typedef bool (*loom_module_fn)(void *arg, struct tokens *t, const char *key,
			       const struct loom_module *m);
bool loom_modules_read(struct loom_modules *table, struct tokens *t, loom_module_fn other,
		       void *arg);

/*
 * Reads the next line without its end and the blanks before it. Returns 1, 0 at the end of the
 * file, -EBADMSG at a NUL, or -E2BIG for a longer line.
 */
int loom_line_next(struct inflow *in, char line[LOOM_LINE_BYTES]);

/*
 * Adds the names in a file: a JSON document with modules, a mapping report with pairs of hwNode and
 * hwNodeName, or lines "CORE NODE NAME". Returns 0, or -errno after one message.
 */
int loom_modules_load(struct loom_modules *t, int dirfd, const char *path)
	__attribute__((warn_unused_result));

#endif
