/* SPDX-License-Identifier: MIT */
/*
 * ovni-top: how often each event is in a trace.
 *
 *   OHp       2001
 *   OHr       2001
 *
 * In: a trace; out: one line for each MCV (thread, CPU), most frequent first. Streams are
 * counted one after the other, since a sum needs no order; only when one of them ends inside
 * an event is the trace walked again by clock, because only events before
 * the damage count then.
 * Specification: tools.md 2.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/lib/event_map.h"
#include "tools/lib/printer.h"
#include "trace/ovni/trace.h"
#include "trace/states/state_walk.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/player.h"

enum by { BY_MCV, BY_THREAD, BY_CPU };

struct options {
	const char *path;
	enum by by;
	bool json;
};

struct row { /* one line of the answer */
	uint64_t count;
	uint32_t mcv;
	const struct owner *owner; /* of the thread, or of some thread of the loom */
	const char *stream;
	int64_t cpu;
};

struct cpu_count { /* of one loom and CPU; an array sorted by nothing: there are few */
	const struct owner *owner;
	int64_t cpu;
	uint64_t count;
};

struct top {
	struct options options;
	struct source source;
	struct event_map *events;
	uint64_t *threads; /* events of each stream */
	struct cpu_count *cpus;
	size_t ncpus;
	struct row *rows;
	size_t nrows;
};

#define TO(member) offsetof(struct options, member)

static const char *const keys[] = {"mcv", "thread", "cpu", NULL}; /* enum by */

static const struct cli_option cli_options[] = {
	{"by", 'b', NULL, cli_choice, TO(by), "what to count by (default: mcv)", .choices = keys},
	{"json", 'j', NULL, cli_flag, TO(json), "print a JSON array; counts are numbers"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-top",
	.operands = "TRACE",
	.about = "Count the events of an ovni trace, or of one stream.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # which events, most frequent first\n"
		 "  ovni-top trace\n\n"
		 "  # of which threads\n"
		 "  ovni-top --by thread trace\n\n"
		 "  # on which CPUs\n"
		 "  ovni-top --by cpu trace",
};

/* The hot loop: one look-up and one addition for each event. */
static int count_stream(struct event_map *map, struct stream *stream, uint64_t *total)
{
	uint64_t n = 0;
	int err;

	stream_rewind(stream);
	while ((err = stream_step(stream)) > 0) {
		uint64_t *count = event_map_word(map, event_mcv(&stream->ev));

		if (__builtin_expect(!count, 0))
			return -ENOMEM;
		++*count;
		n++;
	}
	*total = n;
	return err;
}

static int count_cpu(struct top *t, const struct owner *owner, int64_t cpu)
{
	struct cpu_count *grown;
	const char *loom = owner->loom;

	for (size_t i = 0; i < t->ncpus; i++) {
		if (t->cpus[i].cpu == cpu && !strcmp(t->cpus[i].owner->loom, loom)) {
			t->cpus[i].count++;
			if (i) { /* moves the ones in use to the front */
				struct cpu_count swap = t->cpus[i];

				t->cpus[i] = t->cpus[i - 1];
				t->cpus[i - 1] = swap;
			}
			return 0;
		}
	}
	grown = realloc(t->cpus, (t->ncpus + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	t->cpus = grown;
	t->cpus[t->ncpus++] = (struct cpu_count){owner, cpu, 1};
	return 0;
}

/*
 * An event belongs to the CPU that its thread has after it or, if it leaves it then, before it.
 */
static int count_by_clock(struct top *t)
{
	struct source *source = &t->source;
	struct state_walk where;
	struct player player;
	int err = state_walk_init(&where, source);

	if (err < 0)
		return err;
	err = player_open(&player, source->streams, source->trace.nstreams, NULL, true);
	if (err < 0)
		goto out;
	while ((err = player_step(&player)) > 0) {
		const struct event *ev = &source->streams[player.current].ev;
		uint64_t *count = event_map_word(t->events, event_mcv(ev));
		int64_t cpu = where.threads[player.current].cpu;

		state_walk_step(&where, player.current, ev);
		if (where.threads[player.current].cpu != CPU_NONE)
			cpu = where.threads[player.current].cpu;
		if (!count || (t->options.by == BY_CPU &&
			       count_cpu(t, &source->owners[player.current], cpu) < 0)) {
			err = log_no_memory("while reading %s", t->options.path);
			break;
		}
		++*count;
		t->threads[player.current]++;
	}
	player_close(&player);
out:
	state_walk_fini(&where);
	return err;
}

static int count(struct top *t)
{
	size_t n = t->source.trace.nstreams;
	int err = 0;

	t->threads = calloc(n + 1, sizeof(*t->threads));
	t->events = calloc(1, sizeof(*t->events));
	if (!t->threads || !t->events)
		goto nomem;
	if (t->options.by != BY_CPU) {
		for (size_t i = 0; i < n && err >= 0; i++)
			err = count_stream(t->events, &t->source.streams[i], &t->threads[i]);
		if (err == -ENOMEM)
			goto nomem;
		if (err >= 0)
			return 0;
		event_map_free(t->events);
		memset(t->threads, 0, n * sizeof(*t->threads));
		t->events = calloc(1, sizeof(*t->events));
		if (!t->events)
			goto nomem;
	}
	for (size_t i = 0; i < n; i++)
		stream_rewind(&t->source.streams[i]);
	return count_by_clock(t);
nomem:
	return log_no_memory("while reading %s", t->options.path);
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;
	int order = 0;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	if (a->mcv != b->mcv)
		return a->mcv < b->mcv ? -1 : 1;
	if (a->stream && b->stream)
		order = strcmp(a->stream, b->stream);
	if (!order && a->owner && b->owner)
		order = strcmp(a->owner->loom, b->owner->loom);
	return order ? order : a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static int make_rows(struct top *t)
{
	size_t room = 16;

	if (t->options.by == BY_MCV) {
		for (unsigned i = 0; i < 1 << 16; i++)
			room += t->events->leaf[i] ? 256 : 0;
	} else {
		room += t->options.by == BY_THREAD ? t->source.trace.nstreams : t->ncpus;
	}
	t->rows = calloc(room, sizeof(*t->rows));
	if (!t->rows)
		return log_no_memory("while reading %s", t->options.path);
	switch (t->options.by) {
	case BY_MCV:
		for (uint32_t i = 0; i < 1 << 16; i++)
			for (uint32_t j = 0; t->events->leaf[i] && j < 256; j++)
				if (t->events->leaf[i][j])
					t->rows[t->nrows++] = (struct row){
						.count = t->events->leaf[i][j], .mcv = i << 8 | j};
		break;
	case BY_THREAD:
		for (size_t i = 0; i < t->source.trace.nstreams; i++)
			t->rows[t->nrows++] = (struct row){.count = t->threads[i],
							   .owner = &t->source.owners[i],
							   .stream = t->source.trace.streams[i]};
		break;
	case BY_CPU:
		for (size_t i = 0; i < t->ncpus; i++)
			t->rows[t->nrows++] = (struct row){.count = t->cpus[i].count,
							   .owner = t->cpus[i].owner,
							   .cpu = t->cpus[i].cpu};
		break;
	}
	qsort(t->rows, t->nrows, sizeof(*t->rows), compare_rows);
	return 0;
}

static void print_cpu(struct printer *out, int64_t cpu)
{
	if (cpu >= 0)
		printer_format(out, "%lld", (long long)cpu);
	else
		printer_text(out, cpu == CPU_VIRTUAL ? "virtual" : "none");
}

static void print_row(const struct top *t, struct printer *out, const struct row *row)
{
	const char mcv[3] = {(char)(row->mcv >> 16), (char)(row->mcv >> 8), (char)row->mcv};

	switch (t->options.by) {
	case BY_MCV:
		printer_escaped(out, mcv, sizeof(mcv));
		printer_format(out, " %10llu\n", (unsigned long long)row->count);
		break;
	case BY_THREAD:
		printer_format(out, "%10llu  ", (unsigned long long)row->count);
		printer_escaped(out, row->stream, strlen(row->stream));
		if (row->owner->name) {
			printer_text(out, "  ");
			printer_escaped(out, row->owner->name, strlen(row->owner->name));
		}
		printer_text(out, "\n");
		break;
	case BY_CPU:
		printer_format(out, "%10llu  ", (unsigned long long)row->count);
		if (row->owner->loom)
			printer_escaped(out, row->owner->loom, strlen(row->owner->loom));
		printer_text(out, "  ");
		print_cpu(out, row->cpu);
		printer_text(out, "\n");
		break;
	}
}

static void print_json_row(const struct top *t, struct printer *out, const struct row *row)
{
	const char mcv[3] = {(char)(row->mcv >> 16), (char)(row->mcv >> 8), (char)row->mcv};

	printer_text(out, "{");
	if (t->options.by == BY_MCV) {
		printer_text(out, "\"mcv\":");
		printer_json_string(out, mcv, sizeof(mcv));
	} else {
		const struct owner *owner = row->owner;

		printer_text(out, "\"loom\":");
		printer_json_string(out, owner->loom, strlen(owner->loom));
		if (t->options.by == BY_CPU) {
			printer_text(out, ",\"cpu\":");
			printer_text(out, row->cpu >= 0 ? "" : "\"");
			print_cpu(out, row->cpu);
			printer_text(out, row->cpu >= 0 ? "" : "\"");
		} else {
			printer_format(out, ",\"pid\":%lld,\"tid\":%lld,\"stream\":",
				       (long long)owner->pid, (long long)owner->tid);
			printer_json_string(out, row->stream, strlen(row->stream));
		}
	}
	printer_format(out, ",\"count\":%llu}", (unsigned long long)row->count);
}

static int print(struct top *t)
{
	uint64_t total = 0;
	struct printer out;
	int err = make_rows(t);

	if (err)
		return err;
	printer_open(&out, STDOUT_FILENO);
	if (t->options.json)
		printer_text(&out, "[");
	for (size_t i = 0; i < t->nrows; i++) {
		total += t->rows[i].count;
		if (t->options.json) {
			printer_text(&out, i ? ",\n " : "\n ");
			print_json_row(t, &out, &t->rows[i]);
		} else {
			print_row(t, &out, &t->rows[i]);
		}
	}
	if (t->options.json)
		printer_text(&out, "\n]\n");
	log_info("%llu event%s in %zu stream%s", (unsigned long long)total, plural(total, "", "s"),
		 t->source.trace.nstreams, plural(t->source.trace.nstreams, "", "s"));
	return printer_close(&out);
}

int main(int argc, char **argv)
{
	struct top top = {0};
	enum status status;
	int err, printed;

	top.options.path = cli_parse(&cli, argc, argv, &top.options)[0];
	err = source_open(&top.source, top.options.path);
	if (err)
		goto out;
	err = count(&top);
	if (!top.events)
		goto out;
	printed = print(&top); /* also the events before the damage */
	err = err ? err : printed;
out:
	event_map_free(top.events);
	free(top.threads);
	free(top.cpus);
	free(top.rows);
	status = err ? STATUS_FAILED : whole_report(&top.source.whole, top.options.path);
	source_close(&top.source);
	return status;
}
