/* SPDX-License-Identifier: MIT */
#include "tools/cut/clock_offsets.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/ovni/clock_fix.h"
#include "trace/ovni/job_file.h"
#include "trace/ovni/stream.h"
#include "trace/ovni/trace.h"

static bool is_kept(const struct clock_table *table, unsigned line)
{
	if (line == 1) /* the head */
		return true;
	for (size_t i = 0; i < table->n; i++)
		if (table->rows[i].line == line)
			return table->rows[i].used;
	return false;
}

int copy_clock_offsets(const struct source *source, const uint64_t *written, int out_fd,
		       const char *out)
{
	struct clock_table table;
	char *text = NULL, *at;
	size_t size;
	int err = clock_table_load(&table, source->trace.fd, CLOCK_OFFSETS_FILE, true, true);

	if (err || !table.n)
		goto out;
	for (size_t i = 0; i < source->trace.nstreams; i++)
		if (written[i])
			(void)clock_table_find(&table, source->owners[i].loom);
	text = json_read(source->trace.fd, CLOCK_OFFSETS_FILE, &size);
	if (!text) {
		err = -EIO;
		goto out;
	}
	at = text;
	for (unsigned line = 1; !err && at < text + size; line++) {
		char *end = memchr(at, '\n', (size_t)(text + size - at));
		char *next = end ? end + 1 : text + size;

		if (is_kept(&table, line))
			err = stream_append_text(out_fd, CLOCK_OFFSETS_FILE, at,
						 (size_t)(next - at));
		at = next;
	}
	if (err)
		log_error("cannot write '%s/" CLOCK_OFFSETS_FILE "': %s", out, strerror(-err));
	else
		err = job_copy_points(source->trace.fd, out_fd);
out:
	free(text);
	clock_table_fini(&table);
	return err;
}
