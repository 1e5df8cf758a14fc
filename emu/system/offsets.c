/* SPDX-License-Identifier: MIT */
/*
 * offsets: reads the table of clock offsets, one row per host.
 *
 *   rank       hostname             offset_median        offset_mean          offset_std
 *   0          node1                0                    0.000000             0.000000
 *
 * A row may have four more columns, of two measurements: begin, end, offset_end, bound.
 * In: the file; out: loom->clock of all looms of the listed hosts.
 * Specification: emulator.md 5; job.md 4.4.
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

/* Applies the correction of a host to all its looms, if no line before has given one. */
static int apply(struct system *sys, const char *host, size_t length, const struct clock_fix *fix,
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
		loom->clock = *fix;
	}
	if (found)
		return 0;
	log_error("%s: line %u: no loom of the trace is on the host '%.*s'", path, line,
		  (int)length, host);
	return -EINVAL;
}

/* The hosts of which the clock was measured once: their number, and the first of them. */
struct once {
	unsigned hosts;
	char first[64];
};

/* Columns 6 to 9 of a row: the first and the last measurement. Returns 1 if there is only one, and
 * so no drift; 0, also for any other number of columns; or -EINVAL after a message. */
static int parse_drift(const char *columns, struct clock_fix *fix, const char *path, unsigned line)
{
	long long begin, end, offset_end, bound;
	__int128 drift, length;
	int used = 0;

	errno = 0;
	if (sscanf(columns, " %lld %lld %lld %lld%n", &begin, &end, &offset_end, &bound, &used) !=
		    4 ||
	    errno || columns[used + (int)strspn(columns + used, BLANKS)])
		return 0;
	/* the host to whose clock all others are compared has no drift */
	if (begin >= end)
		return fix->offset || offset_end;
	drift = (__int128)offset_end - fix->offset;
	length = (__int128)end - begin;
	if ((drift < 0 ? -drift : drift) * 1000000 > length * CLOCK_DRIFT_MOST ||
	    length > INT64_MAX) {
		log_error("%s: line %u: the clock drifts by more than %d ppm between the two "
			  "measurements: one of them is wrong",
			  path, line, CLOCK_DRIFT_MOST);
		return -EINVAL;
	}
	fix->drift = (int64_t)drift;
	fix->begin = begin;
	fix->length = (int64_t)length;
	return 0;
}

static int parse_row(struct system *sys, const char *text, const char *path, unsigned line,
		     bool drift, struct once *once)
{
	int host = 0, host_end = 0, end = 0, err;
	struct clock_fix fix = {0};
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
	fix.offset = (int64_t)median;
	err = drift ? parse_drift(text + end, &fix, path, line) : 0;
	if (err > 0 && !once->hosts++)
		snprintf(once->first, sizeof(once->first), "%.*s", host_end - host, text + host);
	return err < 0 ? err : apply(sys, text + host, (size_t)(host_end - host), &fix, path, line);
}

int offsets_parse(struct system *sys, FILE *file, const char *path, bool drift)
{
	char *text = NULL;
	size_t room = 0;
	unsigned line = 0, rows = 0;
	struct once once = {0};
	int err;

	while ((errno = 0, getline(&text, &room, file)) > 0) {
		if (++line == 1 || text[0] == '\n' || !text[0])
			continue;
		if (!text[strspn(text, BLANKS)])
			break;
		err = parse_row(sys, text, path, line, drift, &once);
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
	if (once.hosts == 1)
		log_warn("%s: drift not corrected: %s, whose clock was measured once (ovni-sync "
			 "--append, also after the job)",
			 path, once.first);
	else if (once.hosts)
		log_warn("%s: drift not corrected: %s and %u more, whose clocks were measured once "
			 "(ovni-sync --append, also after the job)",
			 path, once.first, once.hosts - 1);
out:
	free(text);
	return err;
}

/* The number of looms without those of accelerators, which use the clock of their machine. */
static uint32_t count_machines(const struct system *sys)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < sys->nlooms; i++)
		n += !loom_is_accelerator(sys->looms[i].name);
	return n;
}

int offsets_load(struct system *sys, int dir_fd, const char *path, bool optional, bool drift)
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
	err = offsets_parse(sys, file, path, drift);
out:
	if (file)
		fclose(file);
	else if (fd >= 0)
		close(fd);
	return err;
}
