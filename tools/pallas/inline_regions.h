/* SPDX-License-Identifier: MIT */
/*
 * inline_regions: durations of regions with calls outside the sequences of an archive.
 *
 * The writer leaves blocks that do not repeat inline, without durations. In and out: a text in the
 * metadata of the archive, with one line per region (ns; all calls of the thread, inline or not):
 *
 *   REGION CALLS INLINED MIN MAX SUM EXCL_MIN EXCL_MAX EXCL_SUM
 */
#ifndef TOOLS_PALLAS_INLINE_REGIONS_H
#define TOOLS_PALLAS_INLINE_REGIONS_H

#include <stddef.h>

#include "trace/pallas/write/thread_writer.h"

/* Returns the text, which the caller frees; NULL out of memory. */
char *pallas_summary_text(const struct region_summary *regions, size_t n);

/* Parses the text into *n rows, which the caller frees; NULL if it is malformed or out of memory.
 */
struct region_summary *pallas_summary_parse(const char *text, size_t *n);

#endif
