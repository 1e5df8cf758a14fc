/* SPDX-License-Identifier: MIT */
#include "trace/loom/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/log.h"
#include "trace/loom/reader.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SNIFFED	     8192 /* bytes */

/* What follows the name of the run in the names of its files (loom.md 1); longest first. */
static const char *const trace_ends[] = {
	".runtime.trace", ".gem5.trace", ".trace.json", ".trace.bin",
	".sim.trace",	  ".trace",	 ".bin",
};
static const char *const perf_ends[] = {
	".accel.stat.json", ".runtime.stat", ".perf.json", ".gem5.stat",
	".sim.stat",	    ".stat.json",    ".stat.txt",  ".stat",
};

static size_t stem(const char *name, const char *const *ends, size_t n)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < n; i++) {
		size_t tail = strlen(ends[i]);

		if (len > tail && !strcmp(name + len - tail, ends[i]))
			return len - tail;
	}
	return 0;
}

size_t loom_run_stem(const char *name)
{
	size_t len = stem(name, trace_ends, COUNT(trace_ends));

	if (len == 0)
		len = stem(name, perf_ends, COUNT(perf_ends));
	return len ? len : strlen(name);
}

/* ---- content ---- */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* JSON: traces tell a trace_kind, or are bare arrays of events; all else may be statistics. */
static enum loom_content json_content(const char *text)
{
	static const char *const of_trace[] = {"\"trace_kind\"", "\"event_kind\""};
	static const char *const of_perf[] = {"\"schema\"", "\"nodePerf\"", "\"totalCycles\"",
					      "\"total_cycles\"", "\"config_load\""};

	for (size_t i = 0; i < COUNT(of_trace); i++) {
		if (strstr(text, of_trace[i]))
			return LOOM_TRACE;
	}
	for (size_t i = 0; i < COUNT(of_perf); i++) {
		if (strstr(text, of_perf[i]))
			return LOOM_STATISTICS;
	}
	return *text == '[' || strstr(text, "\"events\"") ? LOOM_TRACE : LOOM_OTHER;
}

/* Statistics as text are lines "key: value", and these are among the first. */
static bool is_text_stat(const char *text)
{
	return begins(text, "success:") || begins(text, "termination:") ||
	       begins(text, "total_cycles:") || strstr(text, "\ntotal_cycles:") ||
	       begins(text, "[node_perf]");
}

/* Records without a header: only what the reader would take without being told. */
static bool are_records(int dirfd, const char *path)
{
	struct loom_findings findings = {.report = loom_report_nothing};
	struct loom_reader *r = malloc(sizeof(*r));
	bool found = false;

	if (r && loom_reader_open(r, dirfd, path, NULL, &findings) == 0)
		found = r->form == LOOM_PACKED38 || r->form == LOOM_NATURAL48;
	if (r)
		loom_reader_close(r);
	free(r);
	return found;
}

enum loom_content loom_content_of(int dirfd, const char *path)
{
	char text[SNIFFED + 1];
	const char *solid;
	struct stat st;
	ssize_t n;
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return LOOM_OTHER;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return LOOM_OTHER;
	}
	n = pread(fd, text, SNIFFED, 0);
	close(fd);
	if (n < 0)
		return LOOM_OTHER;
	text[n] = '\0';
	if (n >= 4 && !memcmp(text, LOOM_MAGIC, 4))
		return LOOM_TRACE;
	solid = text + strspn(text, " \t\r\n");
	if (*solid == '{' || *solid == '[')
		return json_content(solid);
	if (is_text_stat(solid))
		return LOOM_STATISTICS;
	return are_records(dirfd, path) ? LOOM_RECORDS : LOOM_OTHER;
}

/* ---- the run ---- */

static int no_memory(const char *arg)
{
	log_error("%s: no memory", arg);
	return -ENOMEM;
}

/* What a directory holds: paths of both kinds. */
struct folder {
	char **paths;
	size_t n, room;
};

static int folder_add(struct folder *f, char *path)
{
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 8;
		char **paths = reallocarray(f->paths, room, sizeof(*paths));

		if (!paths)
			return -ENOMEM;
		f->paths = paths;
		f->room = room;
	}
	f->paths[f->n++] = path;
	return 0;
}

static void folder_free(struct folder *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->paths[i]);
	free(f->paths);
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int sort_content(const char *dir, const char *name, struct folder *traces,
			struct folder *perfs)
{
	enum loom_content content;
	char *path;
	int err;

	if (asprintf(&path, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name) < 0)
		return -ENOMEM;
	content = loom_content_of(AT_FDCWD, path);
	if (content == LOOM_OTHER) {
		free(path);
		return 0;
	}
	err = folder_add(content == LOOM_STATISTICS ? perfs : traces, path);
	if (err)
		free(path);
	return err;
}

static int read_folder(const char *dir, struct folder *traces, struct folder *perfs)
{
	const struct dirent *entry;
	DIR *d = opendir(dir);
	int err = 0;

	if (!d) {
		err = -errno;
		log_error("%s: cannot open: %s", dir, strerror(-err));
		return err;
	}
	while (!err && (entry = readdir(d)) != NULL) {
		if (entry->d_name[0] != '.')
			err = sort_content(dir, entry->d_name, traces, perfs);
	}
	closedir(d);
	return err ? no_memory(dir) : 0;
}

/* The only one with the name of the run `like` (any if NULL), or the only one there is: its index;
 * -1: none; -2: several. */
static int only(const struct folder *f, const char *like)
{
	int which = -1;

	for (size_t i = 0; like && i < f->n; i++) {
		const char *name = base(f->paths[i]);
		size_t len = loom_run_stem(name);

		if (len == loom_run_stem(base(like)) && !strncmp(name, base(like), len))
			which = which == -1 ? (int)i : -2;
	}
	if (which != -1)
		return which;
	if (like && f->n > 0)
		return f->n == 1 ? 0 : -2;
	return f->n == 1 ? 0 : f->n == 0 ? -1 : -2;
}

static char *take(struct folder *f, int which)
{
	char *path = f->paths[which];

	f->paths[which] = NULL;
	return path;
}

static int find_in_folder(struct loom_run *run, const char *dir, const char *perf)
{
	struct folder traces = {0}, perfs = {0};
	int err = read_folder(dir, &traces, &perfs), which;

	if (err)
		goto out;
	which = only(&traces, NULL);
	if (which == -2 && traces.n > 1) {
		log_error("%s: %zu traces, among them %s and %s: name one of them", dir, traces.n,
			  base(traces.paths[0]), base(traces.paths[1]));
		err = -EINVAL;
		goto out;
	}
	if (which >= 0 && traces.paths)
		run->trace = take(&traces, which);
	if (perf)
		goto out;
	which = only(&perfs, run->trace);
	if (which == -2) {
		log_error("%s: %zu statistics files, and none or several are named like the trace: "
			  "name "
			  "one with --perf",
			  dir, perfs.n);
		err = -EINVAL;
	} else if (which >= 0 && perfs.paths) {
		run->perf = take(&perfs, which);
	}
out:
	folder_free(&traces);
	folder_free(&perfs);
	if (!err && !run->trace && !run->perf && (!perf || !strcmp(perf, "-"))) {
		log_error("%s: no trace and no statistics of Loom in this directory", dir);
		err = -ENOENT;
	}
	return err;
}

/* The file that is named like the run `stem_len` bytes of `path`, and is what `want` says. */
static char *sibling(const char *path, size_t stem_len, const char *const *ends, size_t n,
		     bool statistics)
{
	size_t dir = (size_t)(base(path) - path);

	for (size_t i = 0; i < n; i++) {
		enum loom_content content;
		char *other;

		if (asprintf(&other, "%.*s%s", (int)(dir + stem_len), path, ends[i]) < 0)
			return NULL;
		content = strcmp(other, path) != 0 ? loom_content_of(AT_FDCWD, other) : LOOM_OTHER;
		if (content != LOOM_OTHER && (content == LOOM_STATISTICS) == statistics)
			return other;
		free(other);
	}
	return NULL;
}

static int find_by_file(struct loom_run *run, const char *path, const char *perf)
{
	bool statistics = loom_content_of(AT_FDCWD, path) == LOOM_STATISTICS;
	size_t len = loom_run_stem(base(path));
	char **to = statistics ? &run->perf : &run->trace;

	*to = strdup(path);
	if (!*to)
		return no_memory(path);
	if (len == strlen(base(path)))
		return 0;
	if (statistics)
		run->trace = sibling(path, len, trace_ends, COUNT(trace_ends), false);
	else if (!perf)
		run->perf = sibling(path, len, perf_ends, COUNT(perf_ends), true);
	return 0;
}

static int find_by_name(struct loom_run *run, const char *arg, const char *perf)
{
	size_t len = strlen(base(arg));

	run->trace = sibling(arg, len, trace_ends, COUNT(trace_ends), false);
	if (!perf)
		run->perf = sibling(arg, len, perf_ends, COUNT(perf_ends), true);
	if (run->trace || run->perf)
		return 0;
	log_error("%s: no such file or directory, and no %s.trace.bin or the like", arg, arg);
	return -ENOENT;
}

int loom_run_find(struct loom_run *run, const char *arg, const char *perf)
{
	const char *named;
	struct stat st;
	int err;

	memset(run, 0, sizeof(*run));
	if (!*arg) {
		log_error("the name of the run is empty");
		return -ENOENT;
	}
	if (stat(arg, &st) < 0)
		err = find_by_name(run, arg, perf);
	else if (S_ISDIR(st.st_mode))
		err = find_in_folder(run, arg, perf);
	else
		err = find_by_file(run, arg, perf);
	if (err)
		return err;
	if (perf && strcmp(perf, "-") != 0) {
		free(run->perf);
		run->perf = strdup(perf);
		if (!run->perf)
			return no_memory(arg);
	} else if (perf && run->trace) {
		free(run->perf);
		run->perf = NULL;
	}
	named = base(run->trace ? run->trace : run->perf);
	run->name = strndup(named, loom_run_stem(named));
	return run->name ? 0 : no_memory(arg);
}

void loom_run_free(struct loom_run *run)
{
	free(run->name);
	free(run->trace);
	free(run->perf);
	memset(run, 0, sizeof(*run));
}
