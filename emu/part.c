/* SPDX-License-Identifier: MIT */
/*
 * part: the looms, ranks and the window of time that are asked for (--looms, --ranks, --from,
 * --to).
 *
 *   stream.json of every stream ──► part_choose(): which streams are opened
 *   lines before --from ──► part_hold(): last value of each row and type ──► lines at --from
 *
 * In: the options and all metadata; out: the fate of each stream, time 0 of the whole trace, and
 * the lines of the part alone. So parts fit together: their times are those of the whole, and their
 * lines are the lines of the whole trace between --from and --to, after one line for each value at
 * --from. Invariant: a stream of which nothing is needed is not opened; its first clock is in its
 * metadata (bpf.first), or else its first event alone is read. Memory: nothing without the options;
 * with --from 32 bytes for each row and type. Specification: job.md 5.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/breakdown.h"
#include "emu/emulation.h"
#include "trace/base/array.h"
#include "trace/base/cli.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

struct stream_facts {
	char *loom;
	int64_t pid, rank;   /* -1: no rank */
	int64_t first, last; /* clocks of its node; INT64_MIN: not in the metadata */
	bool alone;	     /* no other thread needs its events */
};

struct held { /* the last value of a row and type */
	uint32_t row, type;
	int64_t value;
};

struct holding { /* of one .prv */
	struct hash at;
	struct held *held;
	size_t n;
	uint32_t room;
};

struct part {
	struct stream_facts *facts;		     /* of each stream */
	struct holding holdings[2 + BREAKDOWNS_MAX]; /* of thread.prv, cpu.prv, and others */
	bool shown;				     /* the lines at --from are written */
	bool goes_on;				     /* a stream begins after --to */
};

bool part_asked(const struct emu_options *opt)
{
	return opt->looms || opt->ranks || opt->from || opt->to;
}

/* ---- the streams ---- */

static int64_t read_clock(const struct json *node)
{
	uint64_t clock;

	return json_u64(node, &clock) && clock <= INT64_MAX ? (int64_t)clock : INT64_MIN;
}

/* True if no other thread needs what is in the stream: only a scheduler's events and calls of MPI,
 * which create no tasks or types, from one recorder. */
static bool is_alone(const struct json *meta)
{
	static const char *const names[] = {"ovni", "bpf", "mpi", "kernel"};
	const struct json *node = json_first(json_get(meta, "ovni.require"));

	if (json_is_object(json_get(meta, "merge")) || !json_get(meta, "bpf.events"))
		return false;
	for (; node; node = json_next(node)) {
		bool known = false;

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			known |= !strcmp(json_name(node), names[i]);
		if (!known)
			return false;
	}
	return true;
}

static int read_facts(struct emulator *emu, size_t i)
{
	struct stream_facts *facts = &emu->part->facts[i];
	struct json *meta = trace_metadata(&emu->trace, i);
	const struct json *rank = json_get(meta, "ovni.rank");
	const char *loom = json_string(json_get(meta, "ovni.loom"));

	if (!meta)
		return -EINVAL;
	if (!json_is_number(rank))
		rank = json_get(meta, "bpf.rank");
	facts->loom = strdup(loom ?: "");
	facts->pid = json_int(json_get(meta, "ovni.pid"));
	facts->rank = json_is_number(rank) ? json_int(rank) : -1;
	facts->first = read_clock(json_get(meta, "bpf.first"));
	facts->last = read_clock(json_get(meta, "bpf.last"));
	facts->alone = is_alone(meta);
	json_free(meta);
	return facts->loom ? 0 : log_no_memory("for %zu streams", emu->nstreams);
}

/* The threads of a process, which are neighbours, share its rank. */
static void share_ranks(struct part *part, size_t n)
{
	struct stream_facts *f = part->facts;

	for (size_t i = 1; i < n; i++)
		if (f[i].rank < 0 && f[i].pid == f[i - 1].pid && !strcmp(f[i].loom, f[i - 1].loom))
			f[i].rank = f[i - 1].rank;
	for (size_t i = n; i-- > 1;)
		if (f[i - 1].rank < 0 && f[i].pid == f[i - 1].pid &&
		    !strcmp(f[i].loom, f[i - 1].loom))
			f[i - 1].rank = f[i].rank;
}

/* The first item of a list that no stream has, after a message. */
static int check_list(const struct emulator *emu, const char *option, const char *list, bool ranks)
{
	const char *item;
	size_t size;

	while (cli_next_item(&list, &item, &size)) {
		uint64_t low = 0, high = 0;
		bool found = false;

		if (ranks)
			(void)cli_read_range(item, size, &low, &high);
		for (size_t i = 0; !found && i < emu->nstreams; i++) {
			const struct stream_facts *f = &emu->part->facts[i];

			found = ranks ? f->rank >= (int64_t)low && f->rank <= (int64_t)high
				      : strlen(f->loom) == size && !memcmp(f->loom, item, size);
		}
		if (found)
			continue;
		log_error("--%s: %s has no %s %.*s (ovni-info lists them)", option, emu->opt->trace,
			  ranks ? "rank" : "loom", (int)size, item);
		return -EINVAL;
	}
	return 0;
}

/* The corrected first clock of a stream whose events are not emulated; false: it has none. */
static bool first_clock(struct emulator *emu, size_t i, const struct clock_fix *fix, int64_t *clock)
{
	struct stream stream = {0};
	int64_t raw = emu->part->facts[i].first;

	if (raw == INT64_MIN) {
		if (stream_open(&stream, emu->trace.fd, emu->trace.streams[i]))
			return false;
		if (stream_step(&stream) > 0)
			raw = stream.ev.clock;
		stream_close(&stream);
	}
	return raw != INT64_MIN && clock_fix(fix, raw, clock);
}

/* Time 0 of the whole trace. */
static int find_start(struct emulator *emu, struct clock_table *table)
{
	int64_t start = INT64_MAX;

	for (size_t i = 0; i < emu->nstreams; i++) {
		const struct clock_row *row = clock_table_find(table, emu->part->facts[i].loom);
		struct clock_fix none = {0};
		int64_t clock;

		if (first_clock(emu, i, row ? &row->fix : &none, &clock) && clock >= 0 &&
		    clock < start)
			start = clock;
	}
	emu->first_clock = start == INT64_MAX ? 0 : start;
	emu->started = start != INT64_MAX;
	return clock_table_check(table, emu->opt->offsets ?: CLOCK_OFFSETS_FILE);
}

/* The time of a clock of stream i, ns since time 0; `missing` if it is not in the metadata. */
static int64_t time_of(struct emulator *emu, struct clock_table *table, size_t i, int64_t raw,
		       int64_t missing)
{
	const struct clock_row *row = clock_table_find(table, emu->part->facts[i].loom);
	int64_t clock = raw;

	if (raw == INT64_MIN || (row && !clock_fix(&row->fix, raw, &clock)) ||
	    __builtin_sub_overflow(clock, emu->first_clock, &clock))
		return missing;
	return clock;
}

static void choose(struct emulator *emu, struct clock_table *table, size_t i)
{
	const struct emu_options *opt = emu->opt;
	const struct stream_facts *f = &emu->part->facts[i];

	if ((opt->looms && !cli_list_has(opt->looms, f->loom)) ||
	    (opt->ranks && !cli_ranks_have(opt->ranks, f->rank))) {
		emu->fate[i] =
			opt->looms && !cli_list_has(opt->looms, f->loom) ? FATE_OUT : FATE_CPUS;
	} else if (opt->to && time_of(emu, table, i, f->first, 0) > opt->until) {
		emu->fate[i] = FATE_LATER;
		emu->part->goes_on = true;
	} else if (f->alone && time_of(emu, table, i, f->last, INT64_MAX) < opt->since) {
		emu->fate[i] = FATE_ENDED;
	}
}

int part_choose(struct emulator *emu)
{
	const struct emu_options *opt = emu->opt;
	struct clock_table table = {0};
	int err = 0;

	if (!part_asked(opt))
		return 0;
	emu->part = calloc(1, sizeof(*emu->part));
	emu->fate = calloc(emu->nstreams + 1, sizeof(*emu->fate));
	if (emu->part)
		emu->part->facts = calloc(emu->nstreams + 1, sizeof(*emu->part->facts));
	if (!emu->part || !emu->fate || !emu->part->facts)
		return log_no_memory("for %zu streams", emu->nstreams);
	for (size_t i = 0; !err && i < emu->nstreams; i++)
		err = read_facts(emu, i);
	if (err)
		return err;
	share_ranks(emu->part, emu->nstreams);
	err = check_list(emu, "looms", opt->looms, false);
	err = err ?: check_list(emu, "ranks", opt->ranks, true);
	err = err ?: emulator_load_clocks(emu, &table);
	err = err ?: find_start(emu, &table);
	for (size_t i = 0; !err && i < emu->nstreams; i++)
		choose(emu, &table, i);
	clock_table_fini(&table);
	return err;
}

/* ---- the values at --from ---- */

static struct prv *view(struct emulator *emu, size_t i)
{
	if (i < 2)
		return i ? &emu->cpu_prv : &emu->thread_prv;
	return &emu->breakdowns[i - 2]->prv;
}

static int keep(struct holding *h, uint32_t row, uint32_t type, int64_t value)
{
	uint32_t *at = hash_at(&h->at, (struct hash_key){.a = row, .b = type});

	if (at && *at == HASH_NONE) {
		struct held *grown = stack_more(h->held, h->n, &h->room, sizeof(*grown));

		if (grown) {
			h->held = grown;
			h->held[h->n] = (struct held){.row = row, .type = type};
			*at = (uint32_t)h->n++;
		} else {
			at = NULL;
		}
	}
	if (!at)
		return log_no_memory("for the values at --from");
	h->held[*at].value = value;
	return 0;
}

/* Takes the lines of the present event out of one .prv: "2:0:1:1:ROW:TIME:TYPE:VALUE:...". */
static int hold(struct holding *h, struct prv *prv)
{
	const char *at = prv->begin;
	int err = 0;

	while (!err && at < prv->at) {
		char *next = (char *)at + strlen("2:0:1:1:");
		uint32_t row;

		if (*at != '2') { /* a communication that ends before the part */
			at = (char *)memchr(at, '\n', (size_t)(prv->at - at)) + 1;
			continue;
		}
		row = (uint32_t)strtoul(next, &next, 10);
		(void)strtoll(next + 1, &next, 10);
		while (!err && *next == ':') {
			uint32_t type = (uint32_t)strtoul(next + 1, &next, 10);

			err = keep(h, row, type, strtoll(next + 1, &next, 10));
		}
		at = next + 1;
	}
	prv->at = prv->begin;
	return err;
}

int part_hold(struct emulator *emu)
{
	int err = 0;

	for (size_t i = 0; !err && i < 2 + emu->nbreakdowns; i++)
		err = hold(&emu->part->holdings[i], view(emu, i));
	return err;
}

static int by_row(const void *pa, const void *pb)
{
	const struct held *a = pa, *b = pb;

	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

static int show(struct holding *h, struct prv *prv, int64_t now)
{
	struct prv_time time;

	prv_time_init(&time);
	time.now = now;
	if (h->n)
		qsort(h->held, h->n, sizeof(*h->held), by_row);
	for (size_t i = 0; i < h->n; i++) {
		struct prv_row row;
		struct prv_type type;
		int err;

		if (!h->held[i].value)
			continue;
		err = prv_begin(prv);
		if (err)
			return err;
		prv_row_init(&row, h->held[i].row);
		prv_type_init(&type, h->held[i].type);
		prv_line(prv, &row, &time, &type, h->held[i].value);
	}
	return 0;
}

bool part_goes_on(const struct emulator *emu)
{
	return emu->part->goes_on;
}

/* A thread that had ended is dead, though its stream was not opened. */
static int hold_ended(struct emulator *emu)
{
	int err = 0;

	for (size_t i = 0; !err && i < emu->nstreams; i++)
		if (emu->fate[i] == FATE_ENDED && emu->sys.thread_of_stream[i])
			err = keep(&emu->part->holdings[0], emu->sys.thread_of_stream[i]->index + 1,
				   4, THREAD_STATE_DEAD);
	return err;
}

int part_show(struct emulator *emu)
{
	int err = 0;

	if (emu->part->shown || !emu->opt->from)
		return 0;
	emu->part->shown = true;
	err = hold_ended(emu);
	for (size_t i = 0; !err && i < 2 + emu->nbreakdowns; i++)
		err = show(&emu->part->holdings[i], view(emu, i), emu->opt->since);
	if (err)
		emu->output_failed = true;
	return err;
}

void part_fini(struct emulator *emu)
{
	struct part *part = emu->part;

	for (size_t i = 0; part && part->facts && i < emu->nstreams; i++)
		free(part->facts[i].loom);
	for (size_t i = 0; part && i < sizeof(part->holdings) / sizeof(part->holdings[0]); i++) {
		hash_free(&part->holdings[i].at);
		free(part->holdings[i].held);
	}
	if (part)
		free(part->facts);
	free(part);
	free(emu->fate);
}
