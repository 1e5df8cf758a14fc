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

#include "trace/base/array.h"
#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
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

/* Keys that only statistics have, in quotes. */
static const char *const stats_keys[] = {
	"\"schema\"",	    "\"nodePerf\"",	 "\"totalCycles\"",
	"\"total_cycles\"", "\"kernel_cycles\"", "\"config_load\"",
};

static bool is_stats_key(const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < COUNT(stats_keys); i++) {
		if (strlen(stats_keys[i]) == len + 2 && !strncmp(stats_keys[i] + 1, key, len))
			return true;
	}
	return false;
}

/* Classifies damaged JSON by its first bytes. */
static enum loom_content damaged_content(const char *text)
{
	if (strstr(text, "\"trace_kind\"") || strstr(text, "\"event_kind\""))
		return LOOM_TRACE;
	for (size_t i = 0; i < COUNT(stats_keys); i++) {
		if (strstr(text, stats_keys[i]))
			return LOOM_STATISTICS;
	}
	return *text == '[' || strstr(text, "\"events\"") ? LOOM_TRACE : LOOM_OTHER;
}

/*
 * Classifies JSON: a trace has a trace_kind or a list of events, or is a bare list; statistics have
 * a known key in any position. `text` has the first bytes, for a document that is damaged before
 * that.
 */
static enum loom_content json_content(struct tokens *t, const char *text)
{
	struct token v;
	const char *key;
	int more;

	if (!tokens_value(t, &v))
		return damaged_content(text);
	if (v.type != TOKEN_OBJECT)
		return LOOM_TRACE;
	while ((more = tokens_key(t, &key)) > 0) {
		if (is_stats_key(key))
			return LOOM_STATISTICS;
		if (!strcmp(key, "trace_kind"))
			return LOOM_TRACE;
		if (strcmp(key, "events") != 0) {
			if (!tokens_skip(t))
				return damaged_content(text);
			continue;
		}
		if (!tokens_value(t, &v))
			return damaged_content(text);
		if (v.type == TOKEN_ARRAY)
			return LOOM_TRACE;
		if (v.type == TOKEN_OBJECT && !tokens_leave(t))
			return damaged_content(text);
	}
	return more < 0 ? damaged_content(text) : LOOM_OTHER;
}

static enum loom_content json_file(int dirfd, const char *path, const char *text)
{
	enum loom_content content = damaged_content(text);
	struct tokens t;
	struct inflow in;

	if (inflow_open(&in, dirfd, path, INPUT_EVENTS_MAX) == 0) {
		tokens_init(&t, &in);
		content = json_content(&t, text);
	}
	inflow_close(&in);
	return content;
}

/* True for statistics in text: lines "key: value", with known keys among the first lines. */
static bool is_text_stat(const char *text)
{
	static const char *const starts[] = {
		"success:", "termination:", "total_cycles:", "[node_perf]"};

	for (size_t i = 0; i < COUNT(starts); i++) {
		if (!strncmp(text, starts[i], strlen(starts[i])))
			return true;
	}
	return strstr(text, "\ntotal_cycles:") != NULL;
}

/* True for records without a header, if the reader finds their size. */
static bool are_records(int dirfd, const char *path)
{
	struct loom_violations findings = {.report = loom_violation_ignore};
	struct run_reader r;
	bool found = run_reader_open(&r, dirfd, path, NULL, &findings) == 0 &&
		     (r.form == LOOM_PACKED38 || r.form == LOOM_NATURAL48);

	run_reader_close(&r);
	return found;
}

enum loom_content loom_content_of(int dirfd, const char *path)
{
	char text[SNIFFED + 1];
	const char *solid;
	ssize_t n;
	int fd = input_open(dirfd, path, INPUT_EVENTS_MAX, NULL);

	if (fd < 0)
		return LOOM_OTHER;
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

/* The candidates for the trace, or for the statistics. */
struct candidates {
	char **paths;
	size_t n;
};

static void candidates_free(struct candidates *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->paths[i]);
	free(c->paths);
}

/* Adds the path, which it takes over. Returns 0 or -ENOMEM. */
static int add(struct candidates *c, char *path)
{
	char **to = ARRAY_ADD(c->paths, c->n);

	if (!to) {
		free(path);
		return -ENOMEM;
	}
	*to = path;
	return 0;
}

/* Examines a file that the user did not name. One with the name of a trace or of statistics that
 * cannot be opened, or is empty, is an error: without it the run would look whole. Returns 0, or
 * -errno after a message. */
static int examine(const char *path, enum loom_content *content)
{
	const char *name = basename(path);
	int fd = input_open(INPUT_BESIDE, path, INPUT_EVENTS_MAX, NULL);
	bool named = end_of(name, trace_ends, COUNT(trace_ends)) ||
		     end_of(name, stats_ends, COUNT(stats_ends));
	struct stat st;

	*content = LOOM_OTHER;
	if (fd == -ENOENT || fd == -EISDIR || /* as the trace made from a run may be called */
	    (fd < 0 && !named))
		return 0;
	if (fd < 0) {
		log_error("cannot open '%s': %s", path, input_why(fd, INPUT_EVENTS_MAX));
		return fd;
	}
	if (named && !fstat(fd, &st) && !st.st_size) {
		log_error("'%s' is empty: write the run again, or remove the file", path);
		close(fd);
		return -EBADMSG;
	}
	close(fd);
	*content = loom_content_of(INPUT_BESIDE, path);
	if (*content == LOOM_OTHER && end_of(name, stats_ends, COUNT(stats_ends)))
		*content = LOOM_STATISTICS; /* damaged: they may declare losses */
	return 0;
}

static int read_directory(const char *dir, struct candidates *traces, struct candidates *perfs)
{
	const char *slash = dir[strlen(dir) - 1] == '/' ? "" : "/";
	const struct dirent *entry;
	enum loom_content content;
	DIR *d = opendir(dir);
	char *path;
	int err = 0;

	if (!d) {
		err = -errno;
		log_error("cannot open '%s': %s", dir, strerror(-err));
		return err;
	}
	while ((entry = readdir(d)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		path = xasprintf("%s%s%s", dir, slash, entry->d_name);
		err = path ? examine(path, &content) : -ENOMEM;
		if (!err && content != LOOM_OTHER)
			err = add(content == LOOM_STATISTICS ? perfs : traces, path);
		else
			free(path);
		if (err)
			break;
	}
	closedir(d);
	return err;
}

/*
 * Finds the candidate that belongs to `like`: to a trace, or with `is_perf` to statistics, of that
 * name; to any file if `like` is NULL. Returns its index, -1 for none, -2 for several.
 */
static int find(const struct candidates *c, const char *like, bool is_perf)
{
	size_t best = COUNT(partners), n = 0;
	int which = -1;

	for (size_t i = 0; like && i < c->n; i++) {
		const char *trace = basename(is_perf ? c->paths[i] : like);
		const char *perf = basename(is_perf ? like : c->paths[i]);

		if (!same_run(trace, perf))
			continue;
		if (n++ == 0 || rank(trace, perf) < best)
			which = (int)i;
		if (rank(trace, perf) < best)
			best = rank(trace, perf);
	}
	if (n > 0)
		return n == 1 || best < COUNT(partners) ? which : -2;
	return c->n > 1 ? -2 : (int)c->n - 1;
}

/*
 * Sets run->trace, or with `statistics` run->perf, to the candidate that belongs to the other one.
 * Returns 0, with or without a result, or -EINVAL after a message.
 */
static int choose(struct run_files *run, const char *where, struct candidates *c, bool statistics)
{
	int which = find(c, statistics ? run->trace : run->perf, !statistics);

	if (which == -2) {
		log_error(statistics ? "%s: %zu statistics files, among them %s and %s, which may "
				       "be of the run: name one with --perf"
				     : "%s: %zu traces, among them %s and %s: name one of them",
			  where, c->n, basename(c->paths[0]), basename(c->paths[1]));
		return -EINVAL;
	}
	if (which >= 0) {
		*(statistics ? &run->perf : &run->trace) = c->paths[which];
		*(statistics ? &run->perf_at : &run->trace_at) = INPUT_BESIDE;
		c->paths[which] = NULL;
	}
	return 0;
}

/* Adds the files with the first `stem` bytes of `path`: statistics, or traces. */
static int add_siblings(struct candidates *c, const char *path, size_t stem, bool statistics)
{
	const char *const *ends = statistics ? stats_ends : trace_ends;
	size_t n = statistics ? COUNT(stats_ends) : COUNT(trace_ends);
	bool only_end = basename(path) == path + stem; /* trace.json, stat.json */
	int err;

	for (size_t i = 0; i < n; i++) {
		char *other = xasprintf("%.*s%s", (int)stem, path, ends[i] + only_end);
		enum loom_content content = LOOM_OTHER;

		if (!other)
			return -ENOMEM;
		err = strcmp(other, path) ? examine(other, &content) : 0;
		if (err) {
			free(other);
			return err;
		}
		if (content == LOOM_OTHER || (content == LOOM_STATISTICS) != statistics) {
			free(other);
			continue;
		}
		err = add(c, other);
		if (err)
			return err;
	}
	return 0;
}

/* Takes the file `path` as the trace or the statistics, and adds candidates for the other one. */
static int take_file(struct run_files *run, const char *path, const char *perf,
		     struct candidates *traces, struct candidates *perfs)
{
	bool statistics = loom_content_of(AT_FDCWD, path) == LOOM_STATISTICS;
	size_t tail = statistics ? end_of(basename(path), stats_ends, COUNT(stats_ends))
				 : end_of(basename(path), trace_ends, COUNT(trace_ends));
	char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	*(statistics ? &run->perf : &run->trace) = copy;
	if (tail == 0 || (!statistics && perf))
		return 0;
	return add_siblings(statistics ? traces : perfs, path, strlen(path) - tail, !statistics);
}

/* Fills in run->trace and run->perf; `perf` as for run_files_find(). */
static int find_files(struct run_files *run, const char *arg, const char *perf)
{
	struct candidates traces = {0}, perfs = {0};
	bool is_name, is_dir;
	struct stat st;
	int err = 0;

	is_name = stat(arg, &st) < 0;
	is_dir = !is_name && S_ISDIR(st.st_mode);
	if (is_dir)
		err = read_directory(arg, &traces, &perfs);
	else if (!is_name)
		err = take_file(run, arg, perf, &traces, &perfs);
	else if (*basename(arg))
		err = add_siblings(&traces, arg, strlen(arg), false);
	if (err)
		goto out;
	if (is_name && *basename(arg) && !perf)
		err = add_siblings(&perfs, arg, strlen(arg), true);
	if (err)
		goto out;
	err = run->trace ? 0 : choose(run, arg, &traces, false);
	if (err)
		goto out;
	err = run->perf || perf ? 0 : choose(run, arg, &perfs, true);
	if (err || run->trace || run->perf)
		goto out;
	if (is_name) {
		log_error("%s: no such file or directory, and no %s.trace.bin or the like", arg,
			  arg);
		err = -ENOENT;
	} else if (!perf || !strcmp(perf, "-")) {
		log_error("%s: no trace and no statistics of Loom in this directory", arg);
		err = -ENOENT;
	}
out:
	if (err == -ENOMEM)
		log_no_memory("while reading %s", arg);
	candidates_free(&traces);
	candidates_free(&perfs);
	return err;
}

int run_files_find(struct run_files *run, const char *arg, const char *perf)
{
	const char *named;
	int err;

	*run = (struct run_files){.trace_at = AT_FDCWD, .perf_at = AT_FDCWD};
	if (!*arg) {
		log_error("the name of the run is empty");
		return -ENOENT;
	}
	err = find_files(run, arg, perf);
	if (err)
		return err;
	if (perf && (run->trace || strcmp(perf, "-") != 0)) {
		free(run->perf);
		run->perf = strcmp(perf, "-") != 0 ? strdup(perf) : NULL;
		run->perf_at = AT_FDCWD;
		if (!run->perf && strcmp(perf, "-") != 0)
			return log_no_memory("while reading %s", arg);
	}
	named = basename(run->trace ? run->trace : run->perf);
	run->name = strndup(named, run_files_stem(named));
	return run->name ? 0 : log_no_memory("while reading %s", arg);
}

void run_files_free(struct run_files *run)
{
	free(run->name);
	free(run->trace);
	free(run->perf);
	memset(run, 0, sizeof(*run));
}
