/* SPDX-License-Identifier: MIT */
/*
 * ovni-dump: all the events of a trace as text.
 *
 *    100000352  OHp  loom.node1.0/proc.10/thread.11  pauses the execution
 *   CLOCK       MCV  STREAM                          TEXT
 *
 * In: a trace; out: one line per event in the order of their raw clocks (ties as the heap
 * of the player leaves them), or stream by stream. The first three columns and all of
 * -x are those of the reference; TEXT is ours. A stream that ends inside an event is
 * printed up to there, and then the dump ends with status 1.
 * Specification: tools.md 1.
 */
#include <stdlib.h>
#include <unistd.h>

#include "tools/dump/event_text.h"
#include "tools/lib/filter.h"
#include "tools/lib/printer.h"
#include "trace/ovni/trace_input.h"
#include "trace/base/digits.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/ovni/player.h"

struct options {
	const char *path;
	bool raw, by_stream, json;
	struct filter filter;
};

struct dump {
	struct options options;
	struct source source;
	struct printer out;
	struct event_text *event_text;
	uint64_t clock_high; /* clock / 10^8 of the last line, 0 at the start, and its digits */
	size_t clock_digits;
	char clock_text[DIGITS_SIZE];
	bool filtered, printable;
	struct column *columns; /* of each stream: what stands between MCV and TEXT */
};

/* "  loom.node1.0/proc.10/thread.11  ", of which most lines are made. */
struct column {
	char *text;
	size_t size;
};

#define TO(member) offsetof(struct options, member)

static const struct cli_option cli_options[] = {
	{"raw", 'x', NULL, cli_flag, TO(raw),
	 "print payloads as hexadecimal bytes instead of text"},
	{"by-stream", 's', NULL, cli_flag, TO(by_stream),
	 "one stream after the other, instead of by clock"},
	{"json", 'j', NULL, cli_flag, TO(json),
	 "one JSON object per line; 64-bit numbers are strings"},
	{"mcv", 0, "PATTERN", filter_add_pattern, TO(filter),
	 "only events whose three characters match: ? is any one, * any rest ('OH*')"},
	{"tid", 0, "TID", filter_add_tid, TO(filter), "only events of threads with this id"},
	{"pid", 0, "PID", filter_add_pid, TO(filter), "only events of processes with this id"},
	{"loom", 0, "LOOM", filter_add_loom, TO(filter), "only events of this loom"},
	{"from", 0, "TIME", moment_option, TO(filter.from),
	 "only events from this clock on, in ns; +TIME counts from the first event and takes ns, "
	 "us, ms, s"},
	{"to", 0, "TIME", moment_option, TO(filter.to), "only events up to this clock, included"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-dump",
	.operands = "TRACE",
	.about = "Print the events of an ovni trace, or of one stream, as text: the clock in ns, "
		 "the event, the stream, and its meaning.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # all events, in the order of time\n"
		 "  ovni-dump trace | less\n\n"
		 "  # the states of one thread\n"
		 "  ovni-dump --mcv 'OH*' --tid 1204 trace\n\n"
		 "  # half a second of the trace\n"
		 "  ovni-dump --from +1s --to +1.5s trace\n\n"
		 "  # the bytes of the payloads\n"
		 "  ovni-dump -x trace",
};

static int make_columns(struct dump *d)
{
	const struct trace *trace = &d->source.trace;

	d->columns = calloc(trace->nstreams + 1, sizeof(*d->columns));
	if (!d->columns)
		return -ENOMEM;
	for (size_t i = 0; i < trace->nstreams; i++) {
		struct column *column = &d->columns[i];
		int n = asprintf(&column->text, "  %s  ", trace->streams[i]);

		if (n < 0) {
			column->text = NULL;
			return -ENOMEM;
		}
		column->size = (size_t)n;
		for (int k = 0; d->printable && k < n; k++)
			if ((uint8_t)column->text[k] < 0x20 || column->text[k] == 0x7f)
				column->text[k] = '?';
	}
	return 0;
}

static inline char shown(const struct dump *d, uint8_t c)
{
	return __builtin_expect(d->printable && (c < 0x20 || c >= 0x7f), 0) ? '?' : (char)c;
}

/* A clock, right aligned in 10 columns. The first digits are kept from one call to the next. */
static inline char *put_clock(struct dump *d, char *at, int64_t clock)
{
	uint64_t high = (uint64_t)clock / 100000000;
	char text[DIGITS_SIZE];
	size_t n;

	if (__builtin_expect(clock < 1000000000, 0)) {
		n = (size_t)(digits_put(text, clock) - text);
		memset(at, ' ', 10);
		at += n < 10 ? 10 - n : 0;
		memcpy(at, text, n);
		return at + n;
	}
	if (high != d->clock_high) {
		d->clock_high = high;
		d->clock_digits =
			(size_t)(digits_put(d->clock_text, (int64_t)high) - d->clock_text);
	}
	memcpy(at, d->clock_text, 16); /* a fixed size is two moves */
	digits_put8(at + d->clock_digits, (uint32_t)((uint64_t)clock % 100000000));
	return at + d->clock_digits + 8;
}

static inline void print_line(struct dump *d, uint32_t who, const struct event *ev)
{
	const struct column *column = &d->columns[who];
	char *at = printer_room(&d->out, 10 + DIGITS_SIZE + 8 + column->size);

	if (!at)
		return;
	at = put_clock(d, at, ev->clock);
	at[0] = ' ';
	at[1] = ' ';
	at[2] = shown(d, ev->model);
	at[3] = shown(d, ev->category);
	at[4] = shown(d, ev->value);
	at += 5;
	memcpy(at, column->text, column->size);
	printer_upto(&d->out, at + column->size);
	if (d->options.raw)
		event_text_raw(&d->out, ev);
	else
		event_text_put(d->event_text, &d->out, ev);
	printer_bytes(&d->out, "\n", 1);
}

static void print_json(struct dump *d, uint32_t who, const struct event *ev)
{
	const char mcv[3] = {(char)ev->model, (char)ev->category, (char)ev->value};
	const char *path = d->source.trace.streams[who];
	struct printer *out = &d->out;

	printer_format(out, "{\"clock\":\"%lld\",\"mcv\":", (long long)ev->clock);
	printer_json_string(out, mcv, sizeof(mcv));
	printer_text(out, ",\"stream\":");
	printer_json_string(out, path, strlen(path));
	printer_format(out, ",\"jumbo\":%s,\"payload\":\"", ev->jumbo ? "true" : "false");
	for (uint32_t i = 0; i < ev->payload_size; i++)
		printer_format(out, "%02x", ev->payload[i]);
	printer_text(out, "\",\"args\":");
	printer_text(out, event_text_json(out, ev) ? ",\"known\":true}\n" : ",\"known\":false}\n");
}

static inline void print(struct dump *d, uint32_t who, const struct event *ev)
{
	if (d->filtered && !filter_event(&d->options.filter, who, ev))
		return;
	if (__builtin_expect(d->options.json, 0))
		print_json(d, who, ev);
	else
		print_line(d, who, ev);
}

static int dump_by_clock(struct dump *d)
{
	struct source *source = &d->source;
	struct player player;
	int err;

	err = player_open(&player, source->streams, source->trace.nstreams, NULL, true);
	if (err < 0)
		return err;
	while ((err = player_step(&player)) > 0 && !d->out.error)
		print(d, player.current, &source->streams[player.current].ev);
	if (player.backwards)
		log_warn("%s: %llu clocks are lower than the one before them in their stream; "
			 "ovni-sort can put them in order",
			 d->source.trace.path, (unsigned long long)player.backwards);
	player_close(&player);
	return err < 0 ? err : 0;
}

/* Every stream is shown, also those after one that is damaged. */
static int dump_by_stream(struct dump *d)
{
	int worst = 0;

	for (size_t i = 0; i < d->source.trace.nstreams; i++) {
		struct stream *stream = &d->source.streams[i];
		int err;

		stream_rewind(stream);
		while ((err = stream_step(stream)) > 0 && !d->out.error)
			print(d, (uint32_t)i, &stream->ev);
		if (err < 0) {
			stream_report(stream);
			worst = err;
		}
	}
	return worst;
}

int main(int argc, char **argv)
{
	struct dump *d = calloc(1, sizeof(*d));
	int err = -ENOMEM;

	if (!d) {
		log_no_memory("while starting");
		return STATUS_FAILED;
	}
	d->options.path = cli_parse(&cli, argc, argv, &d->options)[0];
	d->printable = isatty(STDOUT_FILENO);
	d->event_text = event_text_new();
	if (!d->event_text || printer_open(&d->out, STDOUT_FILENO) < 0) {
		log_no_memory("while starting");
		return STATUS_FAILED;
	}
	err = source_open(&d->source, d->options.path);
	if (!err && (err = make_columns(d)) < 0)
		log_no_memory("while reading %s", d->options.path);
	if (!err)
		err = filter_start(&d->options.filter, &d->source, &d->filtered);
	if (!err)
		err = d->options.by_stream ? dump_by_stream(d) : dump_by_clock(d);
	if (printer_close(&d->out) < 0)
		err = -EIO;
	for (size_t i = 0; d->columns && i < d->source.trace.nstreams; i++)
		free(d->columns[i].text);
	free(d->columns);
	free(d->event_text);
	filter_free(&d->options.filter);
	source_close(&d->source);
	free(d);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
