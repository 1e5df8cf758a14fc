/* SPDX-License-Identifier: MIT */
/*
 * export: converts an ovni trace into a Pallas archive.
 *
 *   process                location group and archive; loom and pid in its metadata
 *   stream                 location, thread; its stream.json in the metadata of the archive
 *   pair of the catalogue  ENTER and LEAVE of a region with the label of the pair
 *   OM[ OM] of a value     ENTER and LEAVE of a region with the label of the mark
 *   OHp ... OHr            ENTER and LEAVE of the region "Off the CPU: sleeping", and so on
 *   other event            GENERIC, a string with its MCV and meaning
 *   arguments              attribute list of the occurrence, one value each
 *   message of MPI         MPI_SEND, MPI_RECV, ... in the regions of its calls (mpi_records.h)
 *
 * In: the streams, one after the other, with the clocks that the table of the trace corrects; out:
 * the archive. Invariant: each ovni event is one Pallas event, between THREAD_BEGIN and THREAD_END
 * of its thread; and each region or string has its line in the mapping, so the import restores
 * every event, and leaves the records of MPI out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/event_map.h"
#include "tools/pallas/mpi_records.h"
#include "tools/pallas/pallas_command.h"
#include "trace/ovni/trace.h"
#include "trace/base/status.h"
#include "trace/catalog/catalog.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/off_cpu.h"
#include "trace/pallas/write/archive_writer.h"
#include "trace/base/build_info.h"
#include "trace/messages/mpi_calls.h"

enum role {
	ROLE_POINT,
	ROLE_ENTER,
	ROLE_LEAVE,
	ROLE_MARK_ENTER,
	ROLE_MARK_LEAVE,
	ROLE_OFF,
	ROLE_ON
};

/* The conversion of one MCV. */
struct kind {
	uint32_t mcv;
	enum role role;
	const struct signature *sig;
	uint32_t enter;		 /* of ROLE_ENTER and ROLE_LEAVE: the MCV that enters */
	uint32_t leave;		 /* the one that leaves */
	uint32_t region, string; /* PALLAS_NONE before their first use */
	uint32_t counters;	 /* the string of jumbo events with counters; as they are */
	uint32_t attributes[SIGNATURE_ARGS_MAX];
};

struct export
{
	const struct pallas_options *o;
	struct source source;
	struct archive_writer *w;
	struct text_stream lines; /* of the mapping */
	char **labels;		  /* titles of types and labels of values of marks */
	uint32_t nlabels;
	struct hash label_of;  /* value (of a title: 0, which no mark has), type */
	struct hash region_of; /* value, type, MCV that enters */
	struct event_map *map; /* MCV -> index in kinds + 1 */
	struct kind *kinds;
	size_t nkinds;
	struct hash jumbo_of;	 /* MCV and data of jumbo events: their strings */
	struct hash jumbo_taken; /* strings of jumbo events */
	uint32_t bytes8, bytes1; /* attributes for undeclared payload */
	int64_t start;
	uint64_t events;
	struct mpi_records mpi;
	uint64_t nmpi; /* records of MPI that are written */
	/* the present thread */
	struct thread_writer *t;
	uint32_t thread;
	uint32_t off_region;	/* the open region off the CPU, PALLAS_NONE for none */
	const struct json *hwc; /* its hardware counters, or NULL */
	const struct mpi_record *next_mpi, *last_mpi; /* not written yet */
	uint32_t call;				      /* number of the last call of MPI */
	uint32_t counters[PALLAS_LIST_VALUES]; /* their attributes; PALLAS_NONE before their use */
};

static int no_memory(struct export *x)
{
	return log_no_memory("while converting %s", x->o->from);
}

/* ---- kinds ---- */

static uint32_t mcv_of(const char *text)
{
	return MCV(text[0], text[1], text[2]);
}

/* Finds the role of an MCV, and both events of its pair. */
static enum role pair_role(uint32_t mcv, uint32_t *enter, uint32_t *leave)
{
	const struct catalog_event *entry = catalog_find(mcv, NULL);

	*enter = *leave = mcv;
	if (mcv == MCV('O', 'M', '['))
		return ROLE_MARK_ENTER;
	if (mcv == MCV('O', 'M', ']'))
		return ROLE_MARK_LEAVE;
	if (mcv == MCV('O', 'H', 'p'))
		return ROLE_OFF;
	if (mcv == MCV('O', 'H', 'r'))
		return ROLE_ON;
	if (!entry)
		return ROLE_POINT;
	if (entry->leaves[0]) {
		*leave = mcv_of(entry->leaves);
		return ROLE_ENTER;
	}
	for (const struct catalog_model *m = catalog_models; m->name; m++) {
		for (size_t i = 0; i < m->nevents; i++) {
			const struct catalog_event *e = &m->events[i];

			if (e->leaves[0] && mcv_of(e->leaves) == mcv) {
				*enter = mcv_of(e->signature);
				return ROLE_LEAVE;
			}
		}
	}
	return ROLE_POINT;
}

static struct kind *kind_of(struct export *x, uint32_t mcv)
{
	uint64_t *word = event_map_word(x->map, mcv);
	struct kind *k;

	if (!word)
		return NULL;
	if (*word)
		return &x->kinds[*word - 1];
	k = ARRAY_ADD(x->kinds, x->nkinds);
	if (!k)
		return NULL;
	*k = (struct kind){
		.mcv = mcv, .region = PALLAS_NONE, .string = PALLAS_NONE, .counters = PALLAS_NONE};
	memset(k->attributes, 0xff, sizeof(k->attributes));
	catalog_find(mcv, &k->sig);
	k->role = pair_role(mcv, &k->enter, &k->leave);
	*word = x->nkinds;
	return k;
}

/* ---- names ---- */

/* Adds the labels of marks in the metadata of a stream. */
static int label_add(struct export *x, int32_t type, int64_t value, const char *text)
{
	uint32_t *at;
	char **added;

	if (!text)
		return 0;
	at = hash_at(&x->label_of, (struct hash_key){(uint64_t)value, (uint32_t)type, 0});
	if (!at)
		return -ENOMEM;
	if (*at != HASH_NONE)
		return 0;
	added = ARRAY_ADD(x->labels, x->nlabels);
	if (!added)
		return -ENOMEM;
	*at = (uint32_t)(added - x->labels);
	*added = strdup(text);
	return *added ? 0 : -ENOMEM;
}

static int labels_add(struct export *x, const struct json *meta)
{
	const struct json *type, *label;

	for (type = json_first(json_get(meta, "ovni.mark")); type; type = json_next(type)) {
		int32_t number = (int32_t)strtol(json_name(type), NULL, 10);

		if (label_add(x, number, 0, json_string(json_key(type, "title"))))
			return -ENOMEM;
		for (label = json_first(json_key(type, "labels")); label; label = json_next(label))
			if (label_add(x, number, strtoll(json_name(label), NULL, 10),
				      json_string(label)))
				return -ENOMEM;
	}
	return 0;
}

/* The label of a value, or the title of a type (value 0), or NULL. */
static const char *label_of(const struct export *x, int32_t type, int64_t value)
{
	uint32_t at = hash_get(&x->label_of, (struct hash_key){(uint64_t)value, (uint32_t)type, 0});

	return at == HASH_NONE ? NULL : x->labels[at];
}

/* Writes bytes in hexadecimal, "-" for none. */
static void put_hex(FILE *out, const uint8_t *at, size_t size)
{
	if (!size)
		fputc('-', out);
	for (size_t i = 0; i < size; i++)
		fprintf(out, "%02x", at[i]);
}

/* The sentence of an event up to its first argument. */
static void plain_english(const struct catalog_event *entry, char *out, size_t size)
{
	size_t n = entry ? strcspn(entry->english, "[%") : 0;

	while (n && strchr(" :", entry->english[n - 1]))
		n--;
	snprintf(out, size, "%.*s", (int)n, entry ? entry->english : "");
}

/* "OHw warms up: is about to run"; an unprintable MCV is "#4f4801". */
static uint32_t kind_string(struct export *x, struct kind *k)
{
	char text[256], english[200];
	bool printable = true;

	if (k->string != PALLAS_NONE)
		return k->string;
	for (int shift = 16; shift >= 0; shift -= 8)
		printable = printable && (k->mcv >> shift & 0xff) > ' ' &&
			    (k->mcv >> shift & 0xff) < 0x7f;
	plain_english(catalog_find(k->mcv, NULL), english, sizeof(english));
	if (printable)
		snprintf(text, sizeof(text), "%c%c%c%s%s", (char)(k->mcv >> 16),
			 (char)(k->mcv >> 8), (char)k->mcv, *english ? " " : "", english);
	else
		snprintf(text, sizeof(text), "#%06x", k->mcv);
	k->string = archive_writer_string(x->w, text);
	fprintf(x->lines.out, "S %u %06x - .\n", k->string, k->mcv);
	return k->string;
}

/* Names the region of a pair. A mark has a type and value, OHp a reason as value (-1: none). */
static void region_name(const struct export *x, uint32_t enter, int64_t value, int32_t type,
			char *name, size_t size)
{
	const struct catalog_event *entry = catalog_find(enter, NULL);
	const char *label = label_of(x, type, value), *title = label_of(x, type, 0);

	if (enter == MCV('O', 'H', 'p')) {
		label = value < OFF_CPU_COUNT ? off_cpu_label((unsigned)value) : "other";
		if (value < 0)
			snprintf(name, size, "Off the CPU");
		else
			snprintf(name, size, "Off the CPU: %s", label);
	} else if (enter == MCV('O', 'M', '[')) {
		if (label)
			snprintf(name, size, "%s", label);
		else
			snprintf(name, size, "%s %" PRId64, title ? title : "Mark", value);
	} else if (entry && entry->label) {
		snprintf(name, size, "%s", entry->label);
	} else {
		plain_english(entry, name, size);
	}
}

/*
 * The region of a pair with a value, defined at its first use with its line in the mapping; the
 * line has the first bytes of both payloads, which no attribute list repeats. PALLAS_NONE out of
 * memory.
 */
static uint32_t region_of(struct export *x, uint32_t enter, uint32_t leave, int64_t value,
			  int32_t type)
{
	struct hash_key key = {(uint64_t)value, (uint32_t)type, enter};
	uint32_t *at = hash_at(&x->region_of, key);
	size_t enter_size = 0, leave_size = 0;
	uint8_t payload[12];
	char name[600];

	if (!at)
		return PALLAS_NONE;
	if (*at != HASH_NONE)
		return *at;
	memcpy(payload, &value, 8);
	memcpy(payload + 8, &type, 4);
	if (enter == MCV('O', 'M', '['))
		enter_size = leave_size = 12;
	else if (enter == MCV('O', 'H', 'p') && value >= 0)
		enter_size = 2;
	region_name(x, enter, value, type, name, sizeof(name));
	*at = archive_writer_region(x->w, name);
	if (*at == PALLAS_NONE)
		return PALLAS_NONE;
	fprintf(x->lines.out, "R %u %06x ", *at, enter);
	put_hex(x->lines.out, payload, enter_size);
	fprintf(x->lines.out, " %06x ", leave);
	put_hex(x->lines.out, payload, leave_size);
	fputc('\n', x->lines.out);
	return *at;
}

/* ---- values ---- */

static const uint8_t value_types[] = {
	[ARG_U8] = PALLAS_TYPE_U8,   [ARG_I8] = PALLAS_TYPE_I8,	  [ARG_U16] = PALLAS_TYPE_U16,
	[ARG_I16] = PALLAS_TYPE_I16, [ARG_U32] = PALLAS_TYPE_U32, [ARG_I32] = PALLAS_TYPE_I32,
	[ARG_U64] = PALLAS_TYPE_U64, [ARG_I64] = PALLAS_TYPE_I64,
};

struct values {
	uint8_t bytes[EVENT_PAYLOAD_MAX * (PALLAS_VALUE_HEADER + 1)];
	size_t size;
	uint8_t n;
};

static void value_put(struct values *v, uint32_t attribute, const uint8_t *at, size_t size)
{
	uint16_t whole = (uint16_t)(PALLAS_VALUE_HEADER + size);

	memcpy(v->bytes + v->size, &whole, 2);
	memcpy(v->bytes + v->size + 2, &attribute, 4);
	memcpy(v->bytes + v->size + PALLAS_VALUE_HEADER, at, size);
	v->size += whole;
	v->n++;
}

/* Writes the payload from byte `at` on as values: declared arguments, then the rest. */
static int put_values(struct export *x, struct kind *k, uint32_t entry, const struct event *ev,
		      size_t at)
{
	struct values v = {.size = 0};

	for (unsigned i = 0; k->sig && i < k->sig->nargs; i++) {
		const struct arg *arg = &k->sig->args[i];

		if (arg->offset < at)
			continue;
		if (arg->offset != at || arg->type == ARG_STR || at + arg->size > ev->payload_size)
			break;
		if (k->attributes[i] == PALLAS_NONE)
			k->attributes[i] =
				archive_writer_attribute(x->w, arg->name, value_types[arg->type]);
		if (k->attributes[i] == PALLAS_NONE)
			return no_memory(x);
		value_put(&v, k->attributes[i], ev->payload + at, arg->size);
		at += arg->size;
	}
	for (; at + 8 <= ev->payload_size; at += 8)
		value_put(&v, x->bytes8, ev->payload + at, 8);
	for (; at < ev->payload_size; at++)
		value_put(&v, x->bytes1, ev->payload + at, 1);
	return v.n ? thread_writer_values(x->t, entry, v.n, v.bytes, v.size) : 0;
}

/* ---- events ---- */

/*
 * The string of a jumbo event, one for each content, of which there are few: "VYc+ creates the task
 * type 1 labelled solve"; the bytes in hexadecimal if there is no such sentence, or if another
 * content has it.
 */
static uint32_t jumbo_string(struct export *x, const struct kind *k, const struct event *ev)
{
	struct hash_key key = hash_key_of(ev->payload, ev->payload_size);
	char english[400], mcv[8];
	uint32_t ref = PALLAS_NONE, *at, *taken;
	struct text_stream hex;
	char *text;

	key.c ^= k->mcv;
	at = hash_at(&x->jumbo_of, key);
	if (!at || *at != HASH_NONE)
		return at ? *at : PALLAS_NONE;
	snprintf(mcv, sizeof(mcv), "%c%c%c", ev->model, ev->category, ev->value);
	if (k->sig && k->sig->jumbo &&
	    catalog_explain(ev, english, sizeof(english)) < sizeof(english)) {
		text = xasprintf("%s+ %s", mcv, english);
		ref = text ? archive_writer_string(x->w, text) : PALLAS_NONE;
		free(text);
	}
	taken = ref == PALLAS_NONE ? NULL : hash_at(&x->jumbo_taken, (struct hash_key){.a = ref});
	if (!taken || *taken != HASH_NONE) {
		if (!text_stream_open(&hex))
			return PALLAS_NONE;
		fprintf(hex.out, "jumbo %06x ", k->mcv);
		put_hex(hex.out, ev->payload, ev->payload_size);
		text = text_stream_close(&hex);
		ref = text ? archive_writer_string(x->w, text) : PALLAS_NONE;
		free(text);
		taken = ref == PALLAS_NONE ? NULL
					   : hash_at(&x->jumbo_taken, (struct hash_key){.a = ref});
	}
	if (!taken)
		return PALLAS_NONE;
	*at = *taken = ref;
	fprintf(x->lines.out, "S %u %06x ", ref, k->mcv);
	put_hex(x->lines.out, ev->payload, ev->payload_size);
	fputs(" +\n", x->lines.out);
	return ref;
}

/* ---- counters ---- */

/* True if the data of a jumbo event are values of counters, which fit into an attribute list. */
static bool has_counters(const struct kind *k, const struct event *ev)
{
	return ev->jumbo && k->sig && k->sig->jumbo && k->sig->nargs == 1 && k->sig->args[0].many &&
	       k->sig->args[0].type == ARG_I64 && ev->payload_size && ev->payload_size % 8 == 0 &&
	       ev->payload_size / 8 <= PALLAS_LIST_VALUES;
}

static uint32_t counters_string(struct export *x, struct kind *k, const struct event *ev)
{
	char text[256], english[200];

	if (k->counters != PALLAS_NONE)
		return k->counters;
	plain_english(catalog_find(k->mcv, NULL), english, sizeof(english));
	snprintf(text, sizeof(text), "%c%c%c+ %s", ev->model, ev->category, ev->value, english);
	k->counters = archive_writer_string(x->w, text);
	fprintf(x->lines.out, "S %u %06x - +\n", k->counters, k->mcv);
	return k->counters;
}

/* The attribute of a counter of the present thread: its name in the metadata, or its number. */
static uint32_t counter_attribute(struct export *x, size_t i)
{
	char number[24];
	const char *name;

	if (x->counters[i] != PALLAS_NONE)
		return x->counters[i];
	snprintf(number, sizeof(number), "%zu", i);
	name = json_string(json_key(json_key(x->hwc, number), "name"));
	x->counters[i] = archive_writer_attribute(x->w, name ? name : number, PALLAS_TYPE_I64);
	return x->counters[i];
}

static int put_counters(struct export *x, uint32_t entry, const struct event *ev)
{
	uint8_t bytes[PALLAS_LIST_VALUES * (PALLAS_VALUE_HEADER + 8)];
	struct values v = {.size = 0};
	size_t size = 0, n = ev->payload_size / 8;

	for (size_t i = 0; i < n; i++) {
		uint32_t attribute = counter_attribute(x, i);

		if (attribute == PALLAS_NONE)
			return no_memory(x);
		v.size = v.n = 0;
		value_put(&v, attribute, ev->payload + 8 * i, 8);
		memcpy(bytes + size, v.bytes, v.size);
		size += v.size;
	}
	return thread_writer_values(x->t, entry, (uint8_t)n, bytes, size);
}

static uint64_t time_of(const struct export *x, int64_t clock)
{
	return (uint64_t)clock - (uint64_t)x->start;
}

static int put_event(struct export *x, const struct event *ev)
{
	struct kind *k = kind_of(x, event_mcv(ev));
	uint32_t record = PALLAS_GENERIC, ref = PALLAS_NONE, entry;
	size_t covered = 0; /* bytes of the payload that are part of the region */
	bool counters = false;
	enum role role;
	int err;

	if (!k)
		return no_memory(x);
	role = ev->jumbo ? ROLE_POINT : k->role;
	if ((role == ROLE_MARK_ENTER || role == ROLE_MARK_LEAVE) && ev->payload_size != 12)
		role = ROLE_POINT;
	if ((role == ROLE_OFF && x->off_region != PALLAS_NONE) ||
	    (role == ROLE_ON && x->off_region == PALLAS_NONE))
		role = ROLE_POINT;
	switch (role) {
	case ROLE_MARK_ENTER:
	case ROLE_MARK_LEAVE:
		record = role == ROLE_MARK_ENTER ? PALLAS_ENTER : PALLAS_LEAVE;
		ref = region_of(x, MCV('O', 'M', '['), MCV('O', 'M', ']'), get_i64(ev->payload),
				get_i32(ev->payload + 8));
		covered = 12;
		break;
	case ROLE_OFF:
		covered = ev->payload_size >= 2 ? 2 : 0;
		ref = region_of(x, k->mcv, MCV('O', 'H', 'r'), covered ? get_u16(ev->payload) : -1,
				0);
		x->off_region = ref;
		record = PALLAS_ENTER;
		break;
	case ROLE_ON:
		ref = x->off_region;
		x->off_region = PALLAS_NONE;
		record = PALLAS_LEAVE;
		break;
	case ROLE_ENTER:
	case ROLE_LEAVE:
		if (k->region == PALLAS_NONE)
			k->region = region_of(x, k->enter, k->leave, 0, 0);
		ref = k->region;
		record = role == ROLE_ENTER ? PALLAS_ENTER : PALLAS_LEAVE;
		break;
	case ROLE_POINT:
		counters = has_counters(k, ev);
		if (counters)
			ref = counters_string(x, k, ev);
		else
			ref = ev->jumbo ? jumbo_string(x, k, ev) : kind_string(x, k);
		covered = ev->jumbo ? ev->payload_size : 0;
		break;
	}
	if (ref == PALLAS_NONE)
		return no_memory(x);
	entry = thread_writer_entry(x->t, record, ref);
	if (entry == PALLAS_NONE)
		return no_memory(x);
	err = thread_writer_event(x->t, entry, time_of(x, ev->clock));
	if (err)
		return err;
	if (counters)
		err = put_counters(x, entry, ev);
	else if (covered < ev->payload_size)
		err = put_values(x, k, entry, ev, covered);
	return err;
}

static int put_frame(struct export *x, uint32_t record, int64_t clock)
{
	uint32_t entry = thread_writer_entry(x->t, record, PALLAS_NONE);

	if (entry == PALLAS_NONE)
		return no_memory(x);
	return thread_writer_event(x->t, entry, time_of(x, clock));
}

/* Writes the records of MPI at the begin or the end of the present call. */
static int put_mpi(struct export *x, bool at_end, int64_t clock)
{
	for (; x->next_mpi < x->last_mpi; x->next_mpi++) {
		const struct mpi_record *r = x->next_mpi;
		uint32_t entry;
		int err;

		if (r->call != x->call || r->at_end != at_end)
			break;
		entry = thread_writer_record(x->t, r->record, r->payload, r->size);
		if (entry == PALLAS_NONE)
			return no_memory(x);
		err = thread_writer_event(x->t, entry, time_of(x, clock));
		if (err)
			return err;
		x->nmpi++;
	}
	return 0;
}

/* An event, and the records of MPI after the begin and before the end of a call. */
static int put_with_mpi(struct export *x, const struct event *ev)
{
	char call = mpi_call_event(ev);
	int err = call == ']' ? put_mpi(x, true, ev->clock) : 0;

	if (!err)
		err = put_event(x, ev);
	if (err || call != '[')
		return err;
	x->call++;
	return put_mpi(x, false, ev->clock);
}

/* --calls leaves out the events of the scheduler, which do not repeat as the program does. */
static bool left_out(const struct export *x, const struct event *ev)
{
	return x->o->calls && (ev->model == 'K' || (ev->model == 'O' && ev->category != 'M'));
}

/* Writes all events of a stream between THREAD_BEGIN and THREAD_END. */
static int put_events(struct export *x, size_t i)
{
	struct stream *stream = &x->source.streams[i];
	int64_t last = x->start;
	int got, err;

	stream_rewind(stream);
	got = stream_step(stream);
	if (got == 1)
		last = trace_clock(&x->source.trace, i, stream->ev.clock);
	err = put_frame(x, PALLAS_THREAD_BEGIN, last);
	if (err)
		return err;
	for (; got == 1; got = stream_step(stream)) {
		struct event ev = stream->ev;

		ev.clock = trace_clock(&x->source.trace, i, ev.clock);
		if (ev.clock < last) {
			log_error("%s: byte %" PRIu64 ": the clock goes back by %" PRId64
				  " ns; put the events in order with ovni-sort first",
				  stream->path, stream_offset(stream),
				  clock_distance(ev.clock, last));
			return -EINVAL;
		}
		last = ev.clock;
		if (left_out(x, &ev))
			continue;
		err = put_with_mpi(x, &ev);
		if (err)
			return err;
		x->events++;
	}
	if (got < 0) {
		stream_report(stream);
		return got;
	}
	return put_frame(x, PALLAS_THREAD_END, last);
}

static int put_metadata(struct export *x, const char *key_format, uint32_t id, const char *value)
{
	char key[64];

	snprintf(key, sizeof(key), key_format, id); // NOLINT: one of the formats of the mapping
	return archive_writer_metadata(x->w, key, value);
}

/* Adds a text as metadata, and frees it. */
static int put_text(struct export *x, const char *key_format, struct text_stream *stream)
{
	char *text = text_stream_close(stream);
	int err = text ? put_metadata(x, key_format, x->thread, text) : no_memory(x);

	free(text);
	return err;
}

/* Adds the durations of all calls if blocks of the thread stayed inline. */
static int put_summary(struct export *x, const struct region_summary *regions, size_t n)
{
	struct text_stream lines;

	if (!text_stream_open(&lines))
		return no_memory(x);
	for (size_t i = 0; i < n; i++) {
		const struct region_summary *r = &regions[i];

		if (r->calls)
			fprintf(lines.out,
				"%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
				" %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				r->region, r->calls, r->inlined, r->min, r->max, r->sum,
				r->excl_min, r->excl_max, r->excl_sum);
	}
	return put_text(x, PALLAS_KEY_SUMMARY, &lines);
}

/* Adds the times of recursive regions. */
static int put_outer(struct export *x, const struct region_summary *regions, size_t n)
{
	struct text_stream lines;

	if (!text_stream_open(&lines))
		return no_memory(x);
	for (size_t i = 0; i < n; i++) {
		if (regions[i].outer_sum != regions[i].sum)
			fprintf(lines.out, "%u %" PRIu64 "\n", regions[i].region,
				regions[i].outer_sum);
	}
	return put_text(x, PALLAS_KEY_OUTER, &lines);
}

static int put_regions(struct export *x)
{
	uint64_t inlined;
	size_t n;
	const struct region_summary *regions = thread_writer_regions(x->t, &n, &inlined);
	int err = inlined ? put_summary(x, regions, n) : 0;

	return err ? err : put_outer(x, regions, n);
}

static int put_stream(struct export *x, size_t i)
{
	const struct owner *owner = &x->source.owners[i];
	struct json *meta = trace_metadata(&x->source.trace, i);
	char name[64], *text = meta ? json_text(meta) : NULL;
	int err;

	if (!text) {
		json_free(meta);
		return no_memory(x);
	}
	x->hwc = json_get(meta, "nosv.hwc");
	memset(x->counters, 0xff, sizeof(x->counters));
	snprintf(name, sizeof(name), "thread %" PRId64, owner->tid);
	x->off_region = PALLAS_NONE;
	x->call = 0;
	x->next_mpi = x->last_mpi = NULL;
	if (x->mpi.lists) {
		x->next_mpi = x->mpi.lists[i].records;
		x->last_mpi = x->next_mpi + x->mpi.lists[i].n;
	}
	x->t = archive_writer_thread(x->w, owner->name ? owner->name : name, &x->thread);
	err = x->t ? put_events(x, i) : -EIO;
	if (err)
		goto out;
	err = thread_writer_finish(x->t);
	if (err)
		goto out;
	err = put_metadata(x, PALLAS_KEY_PATH, x->thread, x->source.trace.streams[i]);
	if (err)
		goto out;
	err = put_metadata(x, PALLAS_KEY_STREAM, x->thread, text);
	if (err)
		goto out;
	err = put_regions(x);
out:
	free(text);
	json_free(meta);
	x->hwc = NULL;
	thread_writer_free(x->t);
	x->t = NULL;
	return err;
}

/* ---- processes ---- */

static bool same_process(const struct owner *a, const struct owner *b)
{
	return a->pid == b->pid && strcmp(a->loom, b->loom) == 0;
}

static int put_process(struct export *x, const struct owner *owner)
{
	const char *loom = owner->loom;
	char *name, pid[24];
	int err;

	if (asprintf(&name, "%s%spid %" PRId64, loom, *loom ? " " : "", owner->pid) < 0)
		return no_memory(x);
	err = archive_writer_archive(x->w, name) == PALLAS_NONE ? -EIO : 0;
	free(name);
	snprintf(pid, sizeof(pid), "%" PRId64, owner->pid);
	if (err)
		return err;
	err = archive_writer_metadata(x->w, PALLAS_KEY_LOOM, loom);
	if (err)
		return err;
	err = archive_writer_metadata(x->w, PALLAS_KEY_PID, pid);
	return err;
}

static int put_processes(struct export *x)
{
	size_t n = x->source.trace.nstreams;
	bool *done = calloc(n + 1, sizeof(*done));
	int err = done ? 0 : no_memory(x);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		if (done[i])
			continue;
		err = put_process(x, &x->source.owners[i]);
		if (err)
			goto out;
		for (size_t k = i; k < n; k++) {
			if (done[k] || !same_process(&x->source.owners[i], &x->source.owners[k]))
				continue;
			done[k] = true;
			err = put_stream(x, k);
			if (err)
				goto out;
		}
	}
out:
	free(done);
	return err;
}

static int put_main(struct export *x)
{
	char clock[24], tool[128], reasons[WHOLE_TEXT];
	char *mapping = text_stream_close(&x->lines);
	int err;

	snprintf(tool, sizeof(tool), "ovni-pallas %s (%s)", version_string, version_commit);
	snprintf(clock, sizeof(clock), "%" PRId64, x->start);
	if (!mapping)
		return no_memory(x);
	/* the mapping is for the import, which needs all events */
	err = x->o->calls ? 0 : archive_writer_main_metadata(x->w, PALLAS_KEY_MAP, mapping);
	free(mapping);
	if (err)
		return err;
	err = archive_writer_main_metadata(x->w, PALLAS_KEY_CLOCK, clock);
	if (err)
		return err;
	if (*whole_text(&x->source.whole, reasons)) {
		err = archive_writer_main_metadata(x->w, PALLAS_KEY_INCOMPLETE, reasons);
		if (err)
			return err;
	}
	err = archive_writer_main_metadata(x->w, PALLAS_KEY_TOOL, tool);
	return err ? err : archive_writer_finish(x->w);
}

static int prepare(struct export *x)
{
	int err = source_open(&x->source, x->o->from);

	if (!err)
		err = source_correct_clocks(&x->source);
	if (err)
		return err;
	for (size_t i = 0; i < x->source.trace.nstreams; i++) {
		struct json *meta = trace_metadata(&x->source.trace, i);

		if (!meta)
			return -EINVAL;
		err = labels_add(x, meta);
		json_free(meta);
		if (err)
			return no_memory(x);
	}
	x->map = calloc(1, sizeof(*x->map));
	if (!x->map || !text_stream_open(&x->lines))
		return no_memory(x);
	if (!source_start(&x->source, &x->start))
		x->start = 0;
	return mpi_records_read(&x->mpi, &x->source);
}

/* What is in the archive, and which records of MPI are not. */
static void report(const struct export *x)
{
	const struct mpi_records *mpi = &x->mpi;

	log_info("%s: %" PRIu64 " event%s of %zu thread%s", x->o->to, x->events,
		 plural(x->events, "", "s"), x->source.trace.nstreams,
		 plural(x->source.trace.nstreams, "", "s"));
	if (x->nmpi)
		log_info("%s: %" PRIu64 " record%s of MPI", x->o->to, x->nmpi,
			 plural(x->nmpi, "", "s"));
	if (mpi->unsized)
		log_info("%" PRIu64 " message%s of a derived datatype %s no record: the bytes are "
			 "not known",
			 mpi->unsized, plural(mpi->unsized, "", "s"),
			 plural(mpi->unsized, "has", "have"));
	if (mpi->not_completed)
		log_info("%" PRIu64 " send%s no record of the end: the trace does not tell when it "
			 "was",
			 mpi->not_completed,
			 plural(mpi->not_completed, " or receive has", "s and receives have"));
	if (mpi->collectives)
		log_info("%" PRIu64 " call%s of collectives %s no record: the communicator, the "
			 "root or the bytes are not known",
			 mpi->collectives, plural(mpi->collectives, "", "s"),
			 plural(mpi->collectives, "has", "have"));
}

int pallas_export(const struct pallas_options *o)
{
	struct thread_writer_options options = {
		.compression = o->level < 0 ? PALLAS_COMPRESSION_NONE : PALLAS_COMPRESSION_ZSTD,
		.encoding = o->masking ? PALLAS_ENCODING_MASKING : PALLAS_ENCODING_NONE,
		.level = o->level < 0 ? 0 : o->level,
		.whole_blocks = o->blocks,
	};
	struct export x = {.o = o};
	enum status status;
	int err = prepare(&x);

	if (err)
		goto out;
	x.w = archive_writer_new(o->to, &options);
	err = x.w ? 0 : -EIO;
	if (err)
		goto out;
	x.bytes8 = archive_writer_attribute(x.w, "bytes", PALLAS_TYPE_U64);
	x.bytes1 = archive_writer_attribute(x.w, "byte", PALLAS_TYPE_U8);
	err = x.bytes8 == PALLAS_NONE || x.bytes1 == PALLAS_NONE ? no_memory(&x)
								 : put_processes(&x);
	if (err)
		goto out;
	err = put_main(&x);
	if (err)
		goto out;
	report(&x);
out:
	status = err ? STATUS_FAILED : whole_report(&x.source.whole, o->from);
	thread_writer_free(x.t);
	archive_writer_free(x.w);
	mpi_records_fini(&x.mpi);
	source_close(&x.source);
	free(text_stream_close(&x.lines));
	for (uint32_t i = 0; i < x.nlabels; i++)
		free(x.labels[i]);
	free(x.labels);
	hash_free(&x.label_of);
	hash_free(&x.region_of);
	hash_free(&x.jumbo_of);
	hash_free(&x.jumbo_taken);
	event_map_free(x.map);
	free(x.kinds);
	return status;
}
