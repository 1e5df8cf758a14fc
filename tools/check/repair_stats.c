/* SPDX-License-Identifier: MIT */
#include "tools/check/repair_stats.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/build_info.h"
#include "trace/base/files/input.h"
#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/ovni/stats_file.h"
#include "trace/ovni/write_lock.h"

#define LINE_SIZE     (1 << 16) /* of a line; ours have less than 4 KiB */
#define LINE_ENDS     "},\n"
#define INTERVAL_TEXT ", \"interval\": "

/* What the run has more than its live threads belongs to threads that have ended. */
static const enum stats_key sums[] = {
	STATS_THREADS,	   STATS_TOTAL_NS,	     STATS_ACTIVE_NS,
	STATS_RUNNABLE_NS, STATS_THROTTLED_NS,	     STATS_BLOCKED_NS,
	STATS_UNKNOWN_NS,  STATS_SWITCHES_VOLUNTARY, STATS_SWITCHES_PREEMPTED,
	STATS_WAKEUPS,	   STATS_MIGRATIONS,	     STATS_CALLS,
};
#define NSUMS (sizeof(sums) / sizeof(sums[0]))

/* The lines of one moment: the run, its CPUs, its live threads. */
struct snapshot {
	off_t from, to;	      /* bytes of the file */
	uint64_t rest[NSUMS]; /* the run less its threads */
	uint64_t window_ns, clock, cpus;
	uint64_t cpu_lines;
};

struct repair {
	const char *path, *mode;
	FILE *in, *out;
	char line[LINE_SIZE];
	struct snapshot last, current; /* the last whole one; the one that is being read */
	uint64_t count;		       /* of whole ones */
};

bool repair_stats_is_for(const char *path)
{
	static const char name[] = STATS_FILE STATS_PART;
	size_t len = strlen(path), tail = strlen(name);

	return len >= tail && !strcmp(path + len - tail, name);
}

static uint64_t number(const struct json *line, enum stats_key key)
{
	uint64_t value = 0;

	json_u64(json_key(line, stats_keys[key]), &value);
	return value;
}

/* The snapshot that was read is whole if it has all its CPUs; missing threads count as ended. */
static void take(struct repair *r)
{
	if (!r->current.cpus || r->current.cpu_lines != r->current.cpus)
		return;
	r->last = r->current;
	r->count++;
}

static void read_run(struct repair *r, const struct json *line, off_t from)
{
	take(r);
	r->current = (struct snapshot){
		.from = from,
		.window_ns = number(line, STATS_WINDOW_NS),
		.cpus = number(line, STATS_CPUS),
	};
	json_u64(json_key(line, "clock"), &r->current.clock);
	for (size_t i = 0; i < NSUMS; i++)
		r->current.rest[i] = number(line, sums[i]);
}

static void read_thread(struct repair *r, const struct json *line)
{
	for (size_t i = 0; i < NSUMS; i++) {
		uint64_t of_thread = sums[i] == STATS_THREADS ? 1 : number(line, sums[i]);

		r->current.rest[i] -=
			of_thread < r->current.rest[i] ? of_thread : r->current.rest[i];
	}
}

/* Reads one line. 1; 0 at the end, also at a torn line; -errno after one message. */
static int read_line(struct repair *r)
{
	off_t from = ftello(r->in);
	struct json *line;
	const char *scope;
	size_t size;

	if (!fgets(r->line, sizeof(r->line), r->in))
		return 0;
	size = strlen(r->line);
	if (size < strlen(LINE_ENDS) || strcmp(r->line + size - strlen(LINE_ENDS), LINE_ENDS) ||
	    strncmp(r->line, STATS_LINE_BEGINS, strlen(STATS_LINE_BEGINS)))
		return 0;
	line = json_parse(r->line, size - 2, r->path);
	if (!line)
		return -EBADMSG;
	scope = json_string(json_key(line, "scope"));
	if (scope && !strcmp(scope, "run"))
		read_run(r, line, from);
	else if (scope && !strcmp(scope, "thread"))
		read_thread(r, line);
	else if (scope && !strcmp(scope, "cpu"))
		r->current.cpu_lines++;
	r->current.to = ftello(r->in);
	json_free(line);
	return 1;
}

static int read_snapshots(struct repair *r)
{
	int more;

	do {
		more = read_line(r);
		if (more < 0)
			return more;
	} while (more);
	take(r);
	return r->count ? 0 : -ENODATA;
}

static void put_frame(struct repair *r)
{
	const struct snapshot *s = &r->last;

	fprintf(r->out,
		STATS_BEGINS
		", \"version\": %d, \"producer\": \"%s\",\n"
		"  \"mode\": \"%s\", \"unit\": \"ns\",\n  \"clock\": {\"period_ps\": 1000},\n"
		"  \"recovered\": {\"snapshots\": %" PRIu64
		", \"note\": \"closed after a crash; later times, and all counts of events, are "
		"missing\"},\n"
		"  \"window\": {\"first_cycle\": %" PRIu64 ", \"end_cycle\": %" PRIu64
		", \"total_cycles\": %" PRIu64 ", \"cpus\": %" PRIu64 "},\n  \"unlisted\": {",
		STATS_VERSION, version_string, r->mode, r->count, s->clock - s->window_ns, s->clock,
		s->window_ns, s->cpus);
	for (size_t i = 0; i < NSUMS; i++)
		fprintf(r->out, "%s\"%s\": %" PRIu64, i ? ", " : "", stats_keys[sums[i]],
			s->rest[i]);
	fputs("},\n  \"snapshots\": [\n", r->out);
}

/* Copies the whole snapshots. */
static int put_snapshots(struct repair *r)
{
	if (fseeko(r->in, 0, SEEK_SET))
		return -errno;
	while (ftello(r->in) < r->last.to) {
		if (!fgets(r->line, sizeof(r->line), r->in))
			return -EIO;
		fputs(r->line, r->out);
	}
	return 0;
}

/* Writes the last whole snapshot once more, without its number: as the final statistics. */
static int put_end(struct repair *r)
{
	if (fseeko(r->in, r->last.from, SEEK_SET))
		return -errno;
	while (ftello(r->in) < r->last.to) {
		char *interval, *after;

		if (!fgets(r->line, sizeof(r->line), r->in))
			return -EIO;
		interval = strstr(r->line, INTERVAL_TEXT);
		if (!interval)
			return -EBADMSG;
		after = interval + strlen(INTERVAL_TEXT);
		after += strspn(after, "0123456789");
		memmove(interval, after, strlen(after) + 1);
		if (ftello(r->in) == r->last.to)
			r->line[strcspn(r->line, "\n") - 1] = '\0'; /* the last comma */
		fputs(r->line, r->out);
	}
	fputs("\n  ]\n}\n", r->out);
	return 0;
}

static int write_document(struct repair *r, int dir, const char *path)
{
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644), err;

	r->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!r->out) {
		err = -errno;
		log_error("cannot create '%s': %s", path, strerror(-err));
		if (fd >= 0)
			close(fd);
		return err;
	}
	put_frame(r);
	err = put_snapshots(r);
	if (!err)
		err = put_end(r);
	if ((ferror(r->out) | fclose(r->out)) && !err)
		err = errno ? -errno : -EIO;
	if (err) {
		log_error("cannot write '%s': %s", path, strerror(-err));
		unlinkat(dir, path, 0);
	}
	return err;
}

int repair_stats(int dir, const char *path, int out_dir, const char *out, const char *mode)
{
	static struct repair repair; /* has a large line */
	struct repair *r = &repair;
	int fd = input_open(dir, path, INPUT_STATS_MAX, NULL), err;

	*r = (struct repair){.path = path, .mode = mode};
	if (fd < 0) {
		log_error("cannot open '%s': %s", path, input_why(fd, INPUT_STATS_MAX));
		return fd;
	}
	err = write_lock_acquire(fd, path, WRITE_LOCK_READER,
				 "statistics that are being written cannot be repaired");
	if (err == -EBUSY)
		goto out;
	if (err)
		write_lock_missing(path, err);
	r->in = fdopen(fd, "r");
	if (!r->in) {
		err = log_no_memory("while reading %s", path);
		goto out;
	}
	fd = -1; /* the stream has it */
	err = read_snapshots(r);
	if (!err)
		err = write_document(r, out_dir, out);
	if (!err)
		log_info("%s: %" PRIu64 " snapshots recovered", out, r->count);
	fclose(r->in);
out:
	if (fd >= 0)
		close(fd);
	return err;
}
