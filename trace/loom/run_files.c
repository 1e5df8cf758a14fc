/* SPDX-License-Identifier: MIT */
#include "trace/loom/run_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/loom/run_reader.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SNIFFED	     8192 /* bytes */

/* Ends of file names after the name of the run (loom.md 1); longest first. */
static const char *const trace_ends[] = {
	".runtime.trace", ".gem5.trace", ".trace.json", ".trace.bin",
	".sim.trace",	  ".trace",	 ".bin",
};
static const char *const stats_ends[] = {
	".accel.stat.json", ".runtime.stat", ".perf.json", ".gem5.stat",
	".sim.stat",	    ".stat.json",    ".stat.txt",  ".stat",
};

/* Pairs of ends of a trace and its statistics, best first. */
static const struct {
	const char *trace, *perf;
} partners[] = {
	{".runtime.trace", ".runtime.stat"}, {".sim.trace", ".sim.stat"},
	{".gem5.trace", ".accel.stat.json"}, {".gem5.trace", ".gem5.stat"},
	{".trace.json", ".stat.json"},	     {".trace.json", ".stat.txt"},
	{".trace.bin", ".perf.json"},	     {".trace", ".stat"},
};

/*
 * Returns the length of the end of a name that is in the list, or 0. A name may be only an end,
 * without the dot.
 */
static size_t end_of(const char *name, const char *const *ends, size_t n)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < n; i++) {
		size_t tail = strlen(ends[i]);

		if (len > tail && !strcmp(name + len - tail, ends[i]))
			return tail;
		if (!strcmp(name, ends[i] + 1))
			return len;
	}
	return 0;
}

size_t run_files_stem(const char *name)
{
	size_t len = strlen(name), tail = end_of(name, trace_ends, COUNT(trace_ends));

	if (tail == 0)
		tail = end_of(name, stats_ends, COUNT(stats_ends));
	return tail < len ? len - tail : len;
}

/* True if the files are the trace and the statistics of one run. */
static bool same_run(const char *trace, const char *perf)
{
	size_t stem = strlen(trace) - end_of(trace, trace_ends, COUNT(trace_ends));

	return stem == strlen(perf) - end_of(perf, stats_ends, COUNT(stats_ends)) &&
	       !strncmp(trace, perf, stem);
}

/* Rank of a pair, lower is better; COUNT(partners) if its ends are not in the table. */
static size_t rank(const char *trace, const char *perf)
{
	const char *trace_end =
		trace + strlen(trace) - end_of(trace, trace_ends, COUNT(trace_ends));
	const char *stats_end = perf + strlen(perf) - end_of(perf, stats_ends, COUNT(stats_ends));
	size_t i = 0;

	while (i < COUNT(partners) &&
	       (strcmp(trace_end, partners[i].trace + (*trace_end != '.')) != 0 ||
		strcmp(stats_end, partners[i].perf + (*stats_end != '.')) != 0))
		i++;
	return i;
}

/* ---- content ---- */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Classifies damaged JSON by its first bytes. */
static enum loom_content json_sniffed(const char *text)
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

/*
 * Classifies JSON: a trace has a trace_kind or a list of events, or is a bare list; statistics have
 * a known key in any position. Returns -1 if the document is damaged before that.
 */
static int json_content(struct tokens *t)
{
	static const char *const of_perf[] = {"schema",	      "nodePerf",      "totalCycles",
					      "total_cycles", "kernel_cycles", "config_load"};
	struct token v;
	const char *key;
	int more = -1;

	if (!tokens_value(t, &v))
		return -1;
	if (v.type != TOKEN_OBJECT)
		return LOOM_TRACE;
	while ((more = tokens_key(t, &key)) > 0) {
		for (size_t i = 0; i < COUNT(of_perf); i++) {
			if (!strcmp(key, of_perf[i]))
				return LOOM_STATISTICS;
		}
		if (!strcmp(key, "trace_kind"))
			return LOOM_TRACE;
		if (strcmp(key, "events") != 0) {
			if (!tokens_skip(t))
				return -1;
			continue;
		}
		if (!tokens_value(t, &v))
			return -1;
		if (v.type == TOKEN_ARRAY)
			return LOOM_TRACE;
		if (v.type == TOKEN_OBJECT && !tokens_leave(t))
			return -1;
	}
	return more < 0 ? -1 : LOOM_OTHER;
}

static enum loom_content json_file(int dirfd, const char *path, const char *text)
{
	struct inflow in;
	struct tokens *t = malloc(sizeof(*t));
	int content = -1;

	if (t && inflow_open(&in, dirfd, path) == 0) {
		tokens_init(t, &in);
		content = json_content(t);
	}
	if (t)
		inflow_close(&in);
	free(t);
	return content < 0 ? json_sniffed(text) : (enum loom_content)content;
}

/* True for statistics in text: lines "key: value", with known keys among the first lines. */
static bool is_text_stat(const char *text)
{
	return begins(text, "success:") || begins(text, "termination:") ||
	       begins(text, "total_cycles:") || strstr(text, "\ntotal_cycles:") ||
	       begins(text, "[node_perf]");
}

/* True for records without a header, if the reader finds their size. */
static bool are_records(int dirfd, const char *path)
{
	struct loom_violations findings = {.report = loom_violation_ignore};
	struct run_reader *r = malloc(sizeof(*r));
	bool found = false;

	if (r && run_reader_open(r, dirfd, path, NULL, &findings) == 0)
		found = r->form == LOOM_PACKED38 || r->form == LOOM_NATURAL48;
	if (r)
		run_reader_close(r);
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
	if ((*solid == '{' || *solid == '[') && (solid + 1 == text + n || solid[1]))
		return json_file(dirfd, path, solid);
	if (is_text_stat(solid))
		return LOOM_STATISTICS;
	return are_records(dirfd, path) ? LOOM_RECORDS : LOOM_OTHER;
}

/* ---- the run ---- */

static int no_memory(const char *arg)
{
	log_no_memory("while reading %s", arg);
	return -ENOMEM;
}

/* The traces and statistics in a directory. */
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
	if (err)
		goto out;
	while ((entry = readdir(d)) != NULL) {
		if (entry->d_name[0] != '.')
			err = sort_content(dir, entry->d_name, traces, perfs);
		if (err)
			goto out;
	}
out:
	closedir(d);
	return err ? no_memory(dir) : 0;
}

/*
 * Finds the file in `f` that belongs to `like`: to a trace, or with `is_perf` to statistics, of
 * that name; to any file if `like` is NULL. Returns its index, -1 for none, -2 for several.
 */
static int choose(const struct folder *f, const char *like, bool is_perf)
{
	size_t best = COUNT(partners), n = 0;
	int which = -1;

	for (size_t i = 0; like && i < f->n; i++) {
		const char *trace = is_perf ? base(f->paths[i]) : base(like);
		const char *perf = is_perf ? base(like) : base(f->paths[i]);

		if (!same_run(trace, perf))
			continue;
		if (n++ == 0 || rank(trace, perf) < best)
			which = (int)i;
		if (rank(trace, perf) < best)
			best = rank(trace, perf);
	}
	if (n > 0)
		return n == 1 || best < COUNT(partners) ? which : -2;
	return f->n > 1 ? -2 : (int)f->n - 1;
}

static char *take(struct folder *f, int which)
{
	char *path = f->paths[which];

	f->paths[which] = NULL;
	return path;
}

/* Chooses the statistics of run->trace. Returns 0, or -EINVAL after a message. */
static int choose_perf(struct run_files *run, const char *where, struct folder *perfs)
{
	int which = perfs->paths ? choose(perfs, run->trace, false) : -1;

	if (which == -2) {
		log_error(
			"%s: %zu statistics files, among them %s and %s, which may be of the run: "
			"name one with --perf",
			where, perfs->n, base(perfs->paths[0]), base(perfs->paths[1]));
		return -EINVAL;
	}
	if (which >= 0)
		run->perf = take(perfs, which);
	return 0;
}

/* Chooses the trace of run->perf, or the only trace. Returns 0, or -EINVAL after a message. */
static int choose_trace(struct run_files *run, const char *where, struct folder *traces)
{
	int which = traces->paths ? choose(traces, run->perf, true) : -1;

	if (which == -2) {
		log_error("%s: %zu traces, among them %s and %s: name one of them", where,
			  traces->n, base(traces->paths[0]), base(traces->paths[1]));
		return -EINVAL;
	}
	if (which >= 0)
		run->trace = take(traces, which);
	return 0;
}

static int find_in_folder(struct run_files *run, const char *dir, const char *perf)
{
	struct folder traces = {0}, perfs = {0};
	int err = read_folder(dir, &traces, &perfs);

	if (!err)
		err = choose_trace(run, dir, &traces);
	if (!err && !perf)
		err = choose_perf(run, dir, &perfs);
	folder_free(&traces);
	folder_free(&perfs);
	if (!err && !run->trace && !run->perf && (!perf || !strcmp(perf, "-"))) {
		log_error("%s: no trace and no statistics of Loom in this directory", dir);
		err = -ENOENT;
	}
	return err;
}

/* Lists the files with the first `stem` bytes of `path`: statistics, or traces. */
static int siblings(struct folder *f, const char *path, size_t stem, bool statistics)
{
	const char *const *ends = statistics ? stats_ends : trace_ends;
	size_t n = statistics ? COUNT(stats_ends) : COUNT(trace_ends);
	bool only_end = base(path) == path + stem; /* trace.json, stat.json */

	for (size_t i = 0; i < n; i++) {
		enum loom_content content;
		char *other;

		if (asprintf(&other, "%.*s%s", (int)stem, path, ends[i] + only_end) < 0)
			return no_memory(path);
		content = strcmp(other, path) != 0 ? loom_content_of(AT_FDCWD, other) : LOOM_OTHER;
		if (content == LOOM_OTHER || (content == LOOM_STATISTICS) != statistics)
			free(other);
		else if (folder_add(f, other) < 0) {
			free(other);
			return no_memory(path);
		}
	}
	return 0;
}

static int find_by_file(struct run_files *run, const char *path, const char *perf)
{
	bool statistics = loom_content_of(AT_FDCWD, path) == LOOM_STATISTICS;
	const char *const *ends = statistics ? stats_ends : trace_ends;
	size_t tail = end_of(base(path), ends, statistics ? COUNT(stats_ends) : COUNT(trace_ends));
	char **to = statistics ? &run->perf : &run->trace;
	struct folder others = {0};
	int err = 0;

	*to = strdup(path);
	if (!*to)
		return no_memory(path);
	if (tail == 0 || (!statistics && perf))
		return 0;
	err = siblings(&others, path, strlen(path) - tail, !statistics);
	if (err)
		goto out;
	err = statistics ? choose_trace(run, path, &others) : choose_perf(run, path, &others);
out:
	folder_free(&others);
	return err;
}

static int find_by_name(struct run_files *run, const char *arg, const char *perf)
{
	struct folder traces = {0}, perfs = {0};
	int err = 0;

	if (*base(arg)) {
		err = siblings(&traces, arg, strlen(arg), false);
		if (!err && !perf)
			err = siblings(&perfs, arg, strlen(arg), true);
		if (!err)
			err = choose_trace(run, arg, &traces);
		if (!err)
			err = choose_perf(run, arg, &perfs);
	}
	folder_free(&traces);
	folder_free(&perfs);
	if (err || run->trace || run->perf)
		return err;
	log_error("%s: no such file or directory, and no %s.trace.bin or the like", arg, arg);
	return -ENOENT;
}

int run_files_find(struct run_files *run, const char *arg, const char *perf)
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
	run->name = strndup(named, run_files_stem(named));
	return run->name ? 0 : no_memory(arg);
}

void run_files_free(struct run_files *run)
{
	free(run->name);
	free(run->trace);
	free(run->perf);
	memset(run, 0, sizeof(*run));
}
