/* SPDX-License-Identifier: MIT */
/*
 * ovni-dump: the events of a trace as text.
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
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/lib/filter.h"
#include "tools/lib/printer.h"
#include "tools/lib/table.h"
#include "trace/base/cli.h"
#include "trace/base/digits.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/catalog/catalog.h"
#include "trace/ovni/player.h"
#include "trace/ovni/stack_file.h"
#include "trace/ovni/trace.h"
#include "trace/states/intervals.h"
#include "trace/states/sleep_call.h"

#define OWNER_END   8  /* bytes of OHw and KCI up to the owner of a lock, */
#define STACK_END   16 /* and with the number of a stack */
#define STACK_SHOWN 3

struct options {
	const char *path;
	bool raw, by_stream, json;
	struct filter filter;
};

#define SENTENCE 256 /* most are shorter; the others are written twice */

/*
 * The texts of earlier events: a few CPUs, threads and reasons come again and again. One place
 * for each of 2048 hashes of an event without its clock: 256 KiB, which the second level
 * cache holds.
 */
#define MEMORY_BITS 11
#define REMEMBERED  102 /* bytes; longer sentences are not kept */

struct remembered {
	uint64_t payload[2]; /* zeros behind its end */
	uint32_t mcv;
	uint8_t size;	/* of the payload */
	uint8_t length; /* of the text; 0: the place is free */
	char text[REMEMBERED];
};
_Static_assert(sizeof(struct remembered) == 128, "two cache lines");

struct event_text { /* remembers the explained events */
	struct remembered memory[1 << MEMORY_BITS];
};

struct dump {
	struct options options;
	struct source source;
	struct printer out;
	struct event_text event_text;
	uint64_t clock_high; /* clock / 10^8 of the last line, 0 at the start, and its digits */
	size_t clock_digits;
	char clock_text[DIGITS_SIZE];
	bool filtered;
	enum call_machine *machines; /* of each stream */
	struct stack_table stacks;
	struct column *columns; /* of each stream: the text between MCV and TEXT */
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
	 "only events from this clock on, in ns; "
	 "+TIME counts from the first event and takes ns, us, ms, s; "
	 "03:12:05 is a time of day, in the local time of the recording"},
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

/* ---- the text of an event ---- */

static const char hex[] = "0123456789abcdef";

static void put_bytes(struct printer *out, const uint8_t *bytes, size_t size)
{
	char *at = printer_room(out, 3 * size);

	if (!at)
		return;
	for (size_t i = 0; i < size; i++) {
		*at++ = ':';
		*at++ = hex[bytes[i] >> 4];
		*at++ = hex[bytes[i] & 15];
	}
	printer_upto(out, at);
}

/* The payload as -x shows it: a colon and two hexadecimal digits for each byte, the length word of
 * a jumbo event included. */
static void put_raw(struct printer *out, const struct event *ev)
{
	if (ev->jumbo)
		put_bytes(out, (const uint8_t *)&ev->payload_size, sizeof(ev->payload_size));
	put_bytes(out, ev->payload, ev->payload_size);
}

/* How many bytes of the payload the declaration covers, from the first one on. */
static size_t covered(const struct signature *sig, const struct event *ev)
{
	size_t n = 0, len;

	if (!sig || sig->jumbo != ev->jumbo)
		return 0;
	for (unsigned i = 0; i < sig->nargs; i++) {
		const struct arg *arg = &sig->args[i];

		if (arg->type == ARG_STR)
			n = signature_str(sig, ev, i, &len) ? arg->offset + len + 1 : n;
		else if (arg->many)
			n = arg->offset + arg->size * signature_count(sig, ev, i);
		else if (arg->offset + arg->size <= ev->payload_size)
			n = arg->offset + arg->size;
	}
	return n;
}

static void explain_anew(struct printer *out, const struct event *ev)
{
	const struct signature *sig = NULL;
	char *at = printer_room(out, SENTENCE);
	struct block_request request;
	size_t n;

	if (!at)
		return;
	n = catalog_explain(ev, at, SENTENCE);
	if (n >= SENTENCE) {
		at = printer_room(out, n + 1);
		if (!at)
			return;
		n = catalog_explain(ev, at, n + 1);
	}
	out->len += n;
	if (!ev->payload_size)
		return;
	(void)catalog_find(event_mcv(ev), &sig);
	n = covered(sig, ev);
	if (sleep_call_of(ev).call != CALL_UNKNOWN)
		n = ev->payload_size; /* put_call() has the rest */
	if (sleep_lock_owner(ev) != LOCK_OWNER_UNKNOWN && n < OWNER_END)
		n = OWNER_END; /* put_owner() has it */
	if (sleep_stack(ev))
		n = STACK_END; /* put_stack() has it */
	if (sleep_device_us(ev) || interval_irq_ns(ev) || interval_request(ev, &request))
		n = ev->payload_size; /* put_request() and put_irq_time() have it */
	if (n < ev->payload_size) {
		printer_bytes(out, " +", 2);
		put_bytes(out, ev->payload + n, ev->payload_size - n);
	}
}

/* Appends the explanation; an event that no model knows is UNKNOWN and its bytes. */
static void explain(struct event_text *event_text, struct printer *out, const struct event *ev)
{
	uint64_t payload[2] = {0, 0}, hash;
	uint32_t mcv = event_mcv(ev);
	struct remembered *place;
	size_t before, n;
	char *at;

	if (ev->jumbo || ev->payload_size > sizeof(payload)) {
		explain_anew(out, ev);
		return;
	}
	if (ev->payload_size)
		memcpy(payload, ev->payload, ev->payload_size);
	hash = ((payload[0] ^ mcv) * 0x9e3779b97f4a7c15u + payload[1]) * 0xff51afd7ed558ccdu;
	place = &event_text->memory[hash >> (64 - MEMORY_BITS)];
	if (place->length && place->mcv == mcv && place->size == ev->payload_size &&
	    place->payload[0] == payload[0] && place->payload[1] == payload[1]) {
		at = printer_room(out, sizeof(place->text));
		if (!at)
			return;
		memcpy(at, place->text, sizeof(place->text)); /* a fixed size: a few wide moves */
		out->len += place->length;
		return;
	}
	/* room for the longest first, so that the text stays where it was written */
	if (!printer_room(out, 2 * SENTENCE))
		return;
	before = out->len;
	explain_anew(out, ev);
	n = out->len - before;
	if (out->len < before || n == 0 || n > sizeof(place->text))
		return;
	place->mcv = mcv;
	place->size = (uint8_t)ev->payload_size;
	memcpy(place->payload, payload, sizeof(payload));
	place->length = (uint8_t)n;
	memcpy(place->text, out->buf + before, n);
}

static void put_integer(struct printer *out, const struct arg *arg, int64_t value)
{
	if (arg->type == ARG_U64)
		printer_format(out, "\"%llu\"", (unsigned long long)value);
	else if (arg->type == ARG_I64)
		printer_format(out, "\"%lld\"", (long long)value);
	else
		printer_format(out, "%lld", (long long)value);
}

static void put_values(struct printer *out, const struct signature *sig, const struct event *ev,
		       unsigned i)
{
	size_t n = signature_count(sig, ev, i);
	int64_t value;

	printer_text(out, sig->args[i].many ? "[" : "");
	for (size_t k = 0; k < n && signature_nth(sig, ev, i, k, &value); k++) {
		printer_text(out, k ? "," : "");
		put_integer(out, &sig->args[i], value);
	}
	printer_text(out, sig->args[i].many ? "]" : "");
}

/* Appends the arguments as a JSON object: {"cpu":3,"tag":"18446744073709551615"}; 64-bit values are
 * strings, an argument with any number of values is an array. False if no model knows the event. */
static bool put_json_arguments(struct printer *out, const struct event *ev)
{
	const struct signature *sig = NULL;
	const struct catalog_event *entry = catalog_find(event_mcv(ev), &sig);
	const char *comma = "";

	printer_bytes(out, "{", 1);
	for (unsigned i = 0; entry && sig && i < sig->nargs; i++) {
		const struct arg *arg = &sig->args[i];
		size_t size = 0;
		const char *text = arg->type == ARG_STR ? signature_str(sig, ev, i, &size) : NULL;

		if (arg->type == ARG_STR ? !text : !arg->many && !signature_count(sig, ev, i))
			continue; /* the payload is too short for it */
		printer_text(out, comma);
		comma = ",";
		printer_json_string(out, arg->name, strlen(arg->name));
		printer_bytes(out, ":", 1);
		if (text)
			printer_json_string(out, text, size);
		else
			put_values(out, sig, ev, i);
	}
	printer_bytes(out, "}", 1);
	return entry != NULL;
}

/* ---- lines ---- */

static int make_columns(struct dump *d)
{
	const struct trace *trace = &d->source.trace;

	d->columns = calloc(trace->nstreams + 1, sizeof(*d->columns));
	if (!d->columns)
		goto nomem;
	for (size_t i = 0; i < trace->nstreams; i++) {
		struct column *column = &d->columns[i];

		column->text = xasprintf("  %s  ", text_shown(trace->streams[i]));
		if (!column->text)
			goto nomem;
		column->size = strlen(column->text);
	}
	return 0;
nomem:
	return log_no_memory("while reading %s", d->options.path);
}

/* The three characters of an event, escaped if one of them is not printable: at most 12 bytes. */
static inline char *put_mcv(char *at, const struct event *ev)
{
	const char mcv[3] = {(char)ev->model, (char)ev->category, (char)ev->value};
	bool plain = true;

	for (int i = 0; i < 3; i++)
		plain = plain && mcv[i] >= 0x20 && mcv[i] < 0x7f;
	if (__builtin_expect(!plain, 0))
		return at + text_escape(at, 13, mcv, sizeof(mcv));
	memcpy(at, mcv, sizeof(mcv));
	return at + sizeof(mcv);
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

/* The call in which a thread sleeps from this event on; for free(), NULL: not known. */
static char *call_text(const struct dump *d, uint32_t stream, const struct event *ev)
{
	struct sleep_call call = sleep_call_of(ev);

	if (call.call == CALL_UNKNOWN)
		return NULL;
	return sleep_call_text(&call, d->machines[stream], &d->source.owners[stream], ev->clock,
			       ev->clock, true);
}

static void put_call(struct dump *d, uint32_t stream, const struct event *ev)
{
	char *text = call_text(d, stream, ev);

	if (!text)
		return;
	printer_text(&d->out, ", in ");
	printer_text(&d->out, text);
	free(text);
}

static void put_owner(struct dump *d, const struct event *ev)
{
	int32_t owner = sleep_lock_owner(ev);

	if (owner > 0)
		printer_format(&d->out, ", slept on a lock of thread %d", owner);
	else if (owner == LOCK_OWNER_NONE)
		printer_text(&d->out, ", slept on an object without an owner");
}

/* The number of a stack, and its innermost functions. */
static void put_stack(struct dump *d, const struct event *ev)
{
	uint32_t number = sleep_stack(ev);
	const struct stack_line *line = number ? stack_table_find(&d->stacks, number) : NULL,
				*waker;
	char *text;

	if (!number)
		return;
	printer_format(&d->out, ", stack %u", number);
	if (!line) {
		printer_text(&d->out, " (not known)");
		return;
	}
	text = stack_line_text(line, STACK_SHOWN);
	printer_format(&d->out, " (%s)", text ? text : "?");
	free(text);
	waker = stack_line_waker(&d->stacks, line);
	if (!waker)
		return;
	text = stack_line_text(waker, STACK_SHOWN);
	printer_format(&d->out, ", woken by stack %u (%s)", waker->number, text ? text : "?");
	free(text);
}

/* The request that ended a sleep, or its time at the device. */
static void put_request(struct dump *d, const struct event *ev)
{
	struct block_request request;

	if (sleep_device_us(ev))
		printer_format(&d->out, ", at the device for %u us", sleep_device_us(ev));
	if (interval_request(ev, &request))
		printer_format(&d->out,
			       ", after a %s of %" PRIu64 "%s bytes at sector %" PRIu64
			       " of device %u:%u",
			       request.write ? "write" : "read", request.sectors * 512,
			       request.sectors == REQUEST_SECTORS_MOST ? " or more" : "",
			       request.sector, request.major, request.minor);
}

static void put_irq_time(struct dump *d, const struct event *ev)
{
	char text[DURATION_TEXT];

	if (!interval_irq_ns(ev))
		return;
	duration_words(text, interval_irq_ns(ev));
	printer_format(&d->out, ", interrupts took %s from its last run", text);
}

static inline void print_line(struct dump *d, uint32_t stream, const struct event *ev)
{
	const struct column *column = &d->columns[stream];
	char *at = printer_room(&d->out, 10 + DIGITS_SIZE + 16 + column->size);

	if (!at)
		return;
	at = put_clock(d, at, ev->clock);
	at[0] = ' ';
	at[1] = ' ';
	at = put_mcv(at + 2, ev);
	memcpy(at, column->text, column->size);
	printer_upto(&d->out, at + column->size);
	if (d->options.raw) {
		put_raw(&d->out, ev);
	} else {
		explain(&d->event_text, &d->out, ev);
		if (ev->payload_size > 6) {
			put_call(d, stream, ev);
			put_owner(d, ev);
			put_stack(d, ev);
			put_request(d, ev);
		}
		put_irq_time(d, ev);
	}
	printer_bytes(&d->out, "\n", 1);
}

static void print_json(struct dump *d, uint32_t stream, const struct event *ev)
{
	const char mcv[3] = {(char)ev->model, (char)ev->category, (char)ev->value};
	const char *path = d->source.trace.streams[stream];
	struct printer *out = &d->out;
	struct block_request request;
	char *call = call_text(d, stream, ev);

	printer_format(out, "{\"clock\":\"%lld\",\"mcv\":", (long long)ev->clock);
	printer_json_string(out, mcv, sizeof(mcv));
	printer_text(out, ",\"stream\":");
	printer_json_string(out, path, strlen(path));
	printer_format(out, ",\"jumbo\":%s,\"payload\":\"", ev->jumbo ? "true" : "false");
	for (uint32_t i = 0; i < ev->payload_size; i++)
		printer_format(out, "%02x", ev->payload[i]);
	printer_text(out, "\"");
	if (call) {
		printer_text(out, ",\"call\":");
		printer_json_string(out, call, strlen(call));
		free(call);
	}
	if (sleep_lock_owner(ev) != LOCK_OWNER_UNKNOWN)
		printer_format(out, ",\"lock_owner\":%d", sleep_lock_owner(ev));
	if (sleep_stack(ev))
		printer_format(out, ",\"stack\":%u", sleep_stack(ev));
	if (sleep_device_us(ev))
		printer_format(out, ",\"device_us\":%u", sleep_device_us(ev));
	if (interval_request(ev, &request))
		printer_format(out,
			       ",\"device\":\"%u:%u\",\"sector\":%" PRIu64 ",\"sectors\":%" PRIu64
			       ",\"write\":%s",
			       request.major, request.minor, request.sector, request.sectors,
			       request.write ? "true" : "false");
	if (interval_irq_ns(ev))
		printer_format(out, ",\"interrupts\":%" PRId64, interval_irq_ns(ev));
	printer_text(out, ",\"args\":");
	printer_text(out,
		     put_json_arguments(out, ev) ? ",\"known\":true}\n" : ",\"known\":false}\n");
}

static inline void print(struct dump *d, uint32_t stream, const struct event *ev)
{
	if (d->filtered && !filter_event(&d->options.filter, stream, ev))
		return;
	if (__builtin_expect(d->options.json, 0))
		print_json(d, stream, ev);
	else
		print_line(d, stream, ev);
}

static int dump_by_clock(struct dump *d)
{
	struct source *source = &d->source;
	struct player player;
	int err = player_open(&player, source->streams, source->trace.nstreams, NULL, true);

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
	enum status status;
	int err;

	if (!d) {
		log_no_memory("while starting");
		return STATUS_FAILED;
	}
	d->options.path = cli_parse(&cli, argc, argv, &d->options)[0];
	printer_open(&d->out, STDOUT_FILENO);
	err = source_open(&d->source, d->options.path);
	if (err)
		goto out;
	err = make_columns(d);
	if (err)
		goto out;
	d->machines = sleep_machines(&d->source);
	if (!d->machines) {
		err = -ENOMEM;
		goto out;
	}
	err = filter_start(&d->options.filter, &d->source, &d->filtered);
	if (err)
		goto out;
	err = stack_table_load(&d->stacks, d->source.trace.fd, d->options.path);
	if (err)
		goto out;
	err = d->options.by_stream ? dump_by_stream(d) : dump_by_clock(d);
out:
	if (printer_close(&d->out) < 0)
		err = -EIO;
	for (size_t i = 0; d->columns && i < d->source.trace.nstreams; i++)
		free(d->columns[i].text);
	free(d->columns);
	free(d->machines);
	stack_table_free(&d->stacks);
	filter_free(&d->options.filter);
	status = err ? STATUS_FAILED : whole_report(&d->source.whole, d->options.path);
	source_close(&d->source);
	free(d);
	return status;
}
