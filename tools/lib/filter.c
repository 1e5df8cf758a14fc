/* SPDX-License-Identifier: MIT */
#include "tools/lib/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "tools/lib/wall_clock.h"

/* ---- moments ---- */

/* ns of a unit; 0: there is no such unit. */
static int64_t unit_ns(const char *name)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"", 1}, {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].name, name))
			return units[i].ns;
	return 0;
}

/* Two digits below `limit`, at *at, which is moved behind them. */
static bool take_digits(const char **at, int64_t limit, int64_t *value)
{
	const char *text = *at;

	if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
		return false;
	*value = (text[0] - '0') * 10 + text[1] - '0';
	*at += 2;
	return *value < limit;
}

/* "03:12:05", "03:12:05.250" */
static bool parse_daytime(const char *text, int64_t *day_ns)
{
	int64_t hours, minutes, seconds, unit = 1000000000;

	if (!take_digits(&text, 24, &hours) || *text++ != ':' ||
	    !take_digits(&text, 60, &minutes) || *text++ != ':' ||
	    !take_digits(&text, 60, &seconds))
		return false;
	*day_ns = ((hours * 60 + minutes) * 60 + seconds) * unit;
	if (*text == '.' && text[1])
		for (text++; *text >= '0' && *text <= '9' && unit > 1; text++)
			*day_ns += (*text - '0') * (unit /= 10);
	return !*text;
}

int moment_option(const struct cli_option *option, const char *text, void *to)
{
	static const long double two_to_63 = 9223372036854775808.0L;
	struct moment *moment = to;
	const char *number = text + (*text == '+');
	long double value;
	char *end;

	if (strchr(text, ':')) {
		*moment = (struct moment){.given = true, .daytime = true};
		if (parse_daytime(text, &moment->ns))
			return 0;
		return cli_refuse(option, text,
				  "a time of day has hours, minutes and seconds, as in 03:12:05 or "
				  "03:12:05.250");
	}
	errno = 0;
	value = strtold(number, &end); /* 64 bits of mantissa: any clock is exact */
	if (end == number || errno || !isfinite(value) || !unit_ns(end))
		goto wrong;
	value *= unit_ns(end);
	if (value < -two_to_63 || value >= two_to_63)
		goto wrong;
	*moment = (struct moment){
		.given = true, .relative = *text == '+', .ns = (int64_t)llroundl(value)};
	return 0;
wrong:
	return cli_refuse(option, text,
			  "not a clock in ns, the time since the first event, as in +1.5s, or a "
			  "time of day, as in 03:12:05");
}

/* The clock of a time of day. */
static int find_daytime(const struct moment *moment, const struct trace *trace, int64_t *clock)
{
	struct wall_clock wall = {0};
	int err = trace ? wall_clock_read(&wall, trace, NULL) : 0;

	if (err)
		return err;
	if (!wall.known) {
		log_error("%s: the trace has no time of day: give a clock in ns, or "
			  "the time since the first event, as in +1.5s",
			  trace ? trace->path : "a new trace");
		return -EINVAL;
	}
	err = wall_clock_find(&wall, moment->ns, clock);
	if (err) {
		log_error("%s: the recording lasts more than a day, and has this time of day more "
			  "than once: give the time since the first event, as in +1.5s",
			  trace->path);
		return err;
	}
	if (wall.step_ns)
		log_warn("%s: the clock of the machine was set by %+.6f s during the recording: "
			 "times of day count from its begin",
			 trace->path, (double)wall.step_ns / 1e9);
	return 0;
}

int moment_clock(const struct moment *moment, const struct trace *trace, int64_t start,
		 int64_t *clock)
{
	if (moment->daytime)
		return find_daytime(moment, trace, clock);
	*clock = moment->ns;
	if (moment->relative && __builtin_add_overflow(start, moment->ns, clock))
		*clock = moment->ns < 0 ? INT64_MIN : INT64_MAX;
	return 0;
}

/* ---- the selection ---- */

int filter_add_pattern(const struct cli_option *option, const char *text, void *to)
{
	struct filter *f = to;
	const char **pattern;

	if (!*text || (strlen(text) > 3 && !strchr(text, '*')))
		return cli_refuse(option, text, "an event has three characters, as in OHx or OH*");
	pattern = ARRAY_ADD(f->patterns, f->npatterns);
	if (!pattern)
		return log_no_memory("for the filters");
	*pattern = text;
	return 0;
}

int filter_add_loom(const struct cli_option *option, const char *text, void *to)
{
	struct filter *f = to;
	const char **loom = ARRAY_ADD(f->looms, f->nlooms);

	return loom ? cli_text(option, text, loom) : log_no_memory("for the filters");
}

int filter_add_comm(const struct cli_option *option, const char *text, void *to)
{
	struct filter *f = to;
	const char **comm = ARRAY_ADD(f->comms, f->ncomms);

	return comm ? cli_text(option, text, comm) : log_no_memory("for the filters");
}

static int add_id(const struct cli_option *option, const char *text, int64_t **ids, size_t *n)
{
	uint64_t number;
	int64_t *id;
	int err = cli_number(option, text, &number);

	if (err)
		return err;
	if (number > INT32_MAX)
		return cli_refuse(option, text, "the largest number is %d", INT32_MAX);
	id = ARRAY_ADD(*ids, *n);
	if (!id)
		return log_no_memory("for the filters");
	*id = (int64_t)number;
	return 0;
}

int filter_add_tid(const struct cli_option *option, const char *text, void *to)
{
	struct filter *f = to;

	return add_id(option, text, &f->tids, &f->ntids);
}

int filter_add_pid(const struct cli_option *option, const char *text, void *to)
{
	struct filter *f = to;

	return add_id(option, text, &f->pids, &f->npids);
}

static bool among(const int64_t *list, size_t n, int64_t v)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == v)
			return true;
	return n == 0;
}

static bool among_looms(const struct filter *f, const char *loom)
{
	for (size_t i = 0; i < f->nlooms; i++)
		if (!strcmp(f->looms[i], loom))
			return true;
	return f->nlooms == 0;
}

bool filter_ids(const struct filter *f, int64_t pid, int64_t tid)
{
	return among(f->tids, f->ntids, tid) && among(f->pids, f->npids, pid);
}

bool filter_name(const struct filter *f, const char *name)
{
	for (size_t i = 0; i < f->ncomms; i++)
		if (name && !fnmatch(f->comms[i], name, 0))
			return true;
	return f->ncomms == 0;
}

/* The options that choose threads select none: a mistake, more often than not. */
static void warn_of_none(struct filter *f, const struct source *source)
{
	const struct {
		const char *option;
		size_t n;
	} given[] = {{"--tid", f->ntids},
		     {"--pid", f->npids},
		     {"--comm", f->ncomms},
		     {"--ranks", f->ranks != NULL},
		     {"--loom", f->nlooms}};
	char options[64] = "";

	for (size_t i = 0; i < source->trace.nstreams; i++)
		if (f->streams[i])
			return;
	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
		if (given[i].n)
			snprintf(options + strlen(options), sizeof(options) - strlen(options),
				 "%s%s", *options ? " and " : "", given[i].option);
	if (!*options)
		return;
	log_warn("%s has no thread for %s (ovni-info lists its threads)", source->trace.path,
		 options);
	f->none = true;
}

void filter_check_part(const struct filter *f, const struct source *source, int64_t first,
		       int64_t last)
{
	if (f->first <= last && f->last >= first)
		return;
	log_warn("%s has no event in the part of --from and --to: it ends %.6f s after its first "
		 "event",
		 source->trace.path, (double)clock_distance(first, last) / 1e9);
}

/* One stream of a process has its rank. The streams of a process follow each other. */
static void choose_ranks(struct filter *f, const struct source *source)
{
	const struct owner *owners = source->owners;

	for (size_t i = 0, end; i < source->trace.nstreams; i = end) {
		int64_t rank = -1;

		for (end = i; end < source->trace.nstreams && owners[end].pid == owners[i].pid &&
			      !strcmp(owners[end].loom, owners[i].loom);
		     end++)
			if (owners[end].known_rank > rank)
				rank = owners[end].known_rank;
		for (size_t k = i; k < end; k++)
			f->streams[k] &= cli_ranks_have(f->ranks, rank);
	}
}

bool filter_has_threads(const struct filter *f)
{
	return f->nlooms || f->ncomms || f->ntids || f->npids || f->ranks;
}

int filter_choose(struct filter *f, const struct source *source)
{
	size_t n = source->trace.nstreams;

	f->streams = calloc(n + 1, sizeof(*f->streams));
	if (!f->streams)
		return log_no_memory("while filtering %zu streams", n);
	for (size_t i = 0; i < n; i++) {
		const struct owner *owner = &source->owners[i];

		f->streams[i] = filter_ids(f, owner->pid, owner->tid) &&
				among_looms(f, owner->loom) && filter_name(f, owner->name);
	}
	if (f->ranks)
		choose_ranks(f, source);
	return 0;
}

int filter_start(struct filter *f, const struct source *source, bool *active)
{
	int64_t start = 0;
	int err = f->streams ? 0 : filter_choose(f, source);

	if (err)
		return err;
	f->seen = calloc(1, sizeof(*f->seen));
	if (!f->seen)
		return log_no_memory("while filtering %zu streams", source->trace.nstreams);
	warn_of_none(f, source);
	if (f->from.relative || f->to.relative)
		(void)source_start(source, &start); /* without events nothing is compared */
	f->first = INT64_MIN;
	f->last = INT64_MAX;
	err = f->from.given ? moment_clock(&f->from, &source->trace, start, &f->first) : 0;
	if (err)
		return err;
	err = f->to.given ? moment_clock(&f->to, &source->trace, start, &f->last) : 0;
	if (err)
		return err;
	if (f->first > f->last) {
		log_error("%s: --from is later than --to", source->trace.path);
		return -EINVAL;
	}
	*active = f->npatterns || filter_has_threads(f) || f->from.given || f->to.given;
	return 0;
}

void filter_free(struct filter *f)
{
	free(f->patterns);
	free(f->looms);
	free(f->comms);
	free(f->tids);
	free(f->pids);
	free(f->streams);
	event_map_free(f->seen);
	memset(f, 0, sizeof(*f));
}

static bool matches(const char *pattern, uint32_t mcv)
{
	for (int shift = 16; shift >= 0; shift -= 8, pattern++) {
		if (*pattern == '*' && !pattern[1])
			return true;
		if (*pattern != '?' && (uint8_t)*pattern != (uint8_t)(mcv >> shift))
			return false;
	}
	return !*pattern || !strcmp(pattern, "*");
}

bool filter_mcv(struct filter *f, uint32_t mcv)
{
	uint64_t *word = event_map_word(f->seen, mcv);

	if (word && *word)
		return *word == 2;
	for (size_t i = 0; i < f->npatterns; i++) {
		if (matches(f->patterns[i], mcv)) {
			if (word)
				*word = 2;
			return true;
		}
	}
	if (word)
		*word = 1;
	return false;
}
