/* SPDX-License-Identifier: MIT */
/*
 * offsets: reads the table of clock offsets, one row per host.
 *
 *   rank       hostname             offset_median        offset_mean          offset_std
 *   0          node1                0                    0.000000             0.000000
 *
 * In: the file; out: loom->offset, in ns, of all looms of the listed hosts.
 * Specification: emulator.md 5.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/system/system.h"
#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/ovni/trace.h"

#define BLANKS " \t\v\f\r\n"

/* Applies the offset of a host to all its looms, if no line before has given one. */
static int apply(struct system *sys, const char *host, size_t length, double offset,
		 const char *path, unsigned line)
{
	bool found = false;

	for (uint32_t i = 0; i < sys->nlooms; i++) {
		struct loom *loom = &sys->looms[i];

		/* the host of a loom: its name up to the first dot */
		if (strcspn(loom->name, ".") != length || memcmp(loom->name, host, length))
			continue;
		if (loom->has_offset) {
			log_error("%s: line %u: the host '%.*s' is listed twice", path, line,
				  (int)length, host);
			return -EINVAL;
		}
		found = loom->has_offset = true;
		loom->offset = (int64_t)offset;
	}
	if (found)
		return 0;
	log_error("%s: line %u: no loom of the trace is on the host '%.*s'", path, line,
		  (int)length, host);
	return -EINVAL;
}

static int parse_row(struct system *sys, const char *text, const char *path, unsigned line)
{
	int host = 0, host_end = 0, end = 0;
	double median;

	/* mean and deviation are required but not used */
	(void)sscanf(text, "%*d %n%*s%n %lf %*f %*f%n", &host, &host_end, &median, &end);
	if (!end) {
		log_error("%s: line %u: not a row of rank, host and three numbers", path, line);
		return -EINVAL;
	}
	if (!isfinite(median) || fabs(median) >= 9e18) {
		log_error("%s: line %u: the offset is out of range: it is in nanoseconds", path,
			  line);
		return -EINVAL;
	}
	return apply(sys, text + host, (size_t)(host_end - host), median, path, line);
}

int offsets_parse(struct system *sys, FILE *file, const char *path)
{
	char *text = NULL;
	size_t room = 0;
	unsigned line = 0, rows = 0;
	int err;

	while ((errno = 0, getline(&text, &room, file)) > 0) {
		if (++line == 1 || text[0] == '\n' || !text[0])
			continue;
		if (!text[strspn(text, BLANKS)])
			break;
		err = parse_row(sys, text, path, line);
		if (err)
			goto out;
		rows++;
	}
	err = -errno;
	if (err) {
		log_error("cannot read the clock offsets '%s': %s", path, strerror(-err));
		goto out;
	}
	if (!rows) {
		log_error(line ? "%s: no row after the line of titles"
			       : "%s: the file is empty: a table of clock offsets begins with a "
				 "line of titles",
			  path);
		err = -EINVAL;
	}
out:
	free(text);
	return err;
}

/* The looms that have a clock of their own: the parts of an accelerator are in that of a machine.
 */
static uint32_t count_machines(const struct system *sys)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < sys->nlooms; i++)
		n += !loom_is_accelerator(sys->looms[i].name);
	return n;
}

int offsets_load(struct system *sys, int dir_fd, const char *path, bool optional)
{
	int err, fd = input_open(dir_fd, path, INPUT_TEXT_MAX, NULL);
	uint32_t machines = count_machines(sys);
	FILE *file = NULL;

	if (fd == -ENOENT && optional) {
		if (machines > 1)
			log_warn("%u looms without a table of clock offsets: treating their clocks "
				 "as equal (ovni-sync writes the table)",
				 machines);
		return 0;
	}
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		err = fd < 0 ? fd : -errno;
		log_error("cannot read the clock offsets '%s': %s", path,
			  input_why(err, INPUT_TEXT_MAX));
		goto out;
	}
	err = offsets_parse(sys, file, path);
out:
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return err;
}
