/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/pallas/inline_regions.h"
#include "trace/base/array.h"

char *pallas_summary_text(const struct region_summary *regions, size_t n)
{
	struct bytes b = {0};
	char line[200];

	for (size_t i = 0; i < n; i++) {
		const struct region_summary *r = &regions[i];

		if (r->calls == 0)
			continue;
		bytes_put(&b, line,
			  (size_t)snprintf(line, sizeof(line),
					   "%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
					   " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
					   r->region, r->calls, r->inlined, r->min, r->max, r->sum,
					   r->excl_min, r->excl_max, r->excl_sum));
	}
	bytes_u8(&b, 0);
	if (b.failed) {
		bytes_free(&b);
		return NULL;
	}
	return (char *)b.data;
}

struct region_summary *pallas_summary_parse(const char *text, size_t *n)
{
	struct region_summary *rows = NULL;
	size_t room = 0;

	*n = 0;
	while (*text) {
		struct region_summary r;
		int used = 0;

		if (sscanf(text,
			   "%" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64 " %" SCNu64 " %" SCNu64 "\n%n",
			   &r.region, &r.calls, &r.inlined, &r.min, &r.max, &r.sum, &r.excl_min,
			   &r.excl_max, &r.excl_sum, &used) != 9 ||
		    used == 0)
			goto fail;
		text += used;
		if (*n == room) {
			struct region_summary *more;

			room = room ? 2 * room : 64;
			more = realloc(rows, room * sizeof(*rows));
			if (!more)
				goto fail;
			rows = more;
		}
		rows[(*n)++] = r;
	}
	return rows ? rows : calloc(1, sizeof(*rows));
fail:
	free(rows);
	*n = 0;
	return NULL;
}
