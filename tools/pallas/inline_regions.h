/* SPDX-License-Identifier: MIT */
/*
 * inline_regions: durations of regions, of which some calls are in no sequence of the archive.
 *
 * The writer leaves blocks that do not repeat inline, and says in the metadata of the archive what
 * their region amounts to, a line per region (ns; all calls of the thread, inline or not):
 *
 *   REGION CALLS INLINED MIN MAX SUM EXCL_MIN EXCL_MAX EXCL_SUM
 */
#ifndef TOOLS_PALLAS_INLINE_REGIONS_H
#define TOOLS_PALLAS_INLINE_REGIONS_H

#include <stddef.h>

#include "trace/pallas/write/thread_writer.h"

/* The text; the caller frees. NULL without memory. */
char *pallas_summary_text(const struct region_summary *regions, size_t n);

/* Reads it: *n rows that the caller frees; NULL if it is damaged or without memory. */
struct region_summary *pallas_summary_parse(const char *text, size_t *n);

#endif
