/* SPDX-License-Identifier: MIT */
/*
 * import: converts a Pallas archive into an ovni v3 trace.
 *
 * In: an archive; out: a trace with all of its events. An exported archive restores its trace: each
 * event has its MCV, payload and clock, each stream its metadata and path (pallas_command.h).
 *
 * In any other archive, each process becomes a process of the loom "pallas", and each thread a
 * stream that runs on the virtual CPU from its first to its last event. Properly nested ENTER and
 * LEAVE become a stack mark (type 0, Function), all other events the value of a single mark (type
 * 1, Event) with the text of the event as its label.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ovni/whole.h"
#include "tools/pallas/pallas_command.h"
#include "trace/base/status.h"
#include "trace/ovni/event.h"
#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/text.h"
#include "trace/pallas/read/expand.h"
#include "trace/ovni/stream.h"
#include "trace/base/build_info.h"

#define BUFFER_BYTES (1u << 20)
#define STACK_MAX    512 /* values of a stack mark */
#define LABEL_MAX    511

enum { FUNCTION, EVENT }; /* types of marks of other archives */

/* An event of the mapping: its three characters and the start of its payload. */
struct mapped_event {
	uint32_t mcv;
	uint8_t *payload;
	size_t size;
	bool jumbo;
};

/* The conversion of an event entry, and the position in its attribute lists. */
struct plan {
	uint32_t as;	      /* exported archive: index in mapped; HASH_NONE: not written */
	bool begins, ends;    /* other archive: begins or ends a call */
	int64_t value, alone; /* other archive: value of the stack mark, of the single mark */
	const uint8_t *at;    /* next attribute list */
	struct pallas_list list;
	bool has_list;
};

struct import {
	const struct pallas_options *o;
	struct pallas_trace trace;
	struct mapped_event *mapped;
	uint32_t nmapped;
	struct hash mapped_of; /* record, reference */
	bool ours;
	int64_t start; /* clock of time 0; of another archive: the first event so far */
	int fd;	       /* directory of the new trace */
	uint64_t events;
	struct whole whole;
	struct json *first; /* metadata of the first stream, written at the end */
	char *first_path;
	struct json *labels[2]; /* in `first`, by type of mark */
	int64_t nlabels[2];
	/* of the present thread */
	struct pallas_thread *thread;
	struct plan *plans;
	char *path; /* of the stream */
	struct bytes out;
	int64_t stack[STACK_MAX];
	size_t depth;
};

static int flush(struct import *m)
{
	int err = m->out.size ? stream_append(m->fd, m->path, m->out.data, m->out.size) : 0;

	m->out.size = 0;
	if (err)
		log_error("cannot write '%s/%s': %s", m->o->to, m->path, strerror(-err));
	return err;
}

static int put(struct import *m, uint32_t mcv, int64_t clock, const void *payload, size_t size)
{
	uint8_t *at = bytes_more(&m->out, EVENT_SIZE_MAX);

	if (!at)
		return -ENOMEM;
	m->out.size -= EVENT_SIZE_MAX - event_encode(at, mcv, clock, payload, size);
	return m->out.size < BUFFER_BYTES ? 0 : flush(m);
}

/* Writes a jumbo event: the data are those of the mapping, then the values of `list`. */
static int put_jumbo(struct import *m, const struct mapped_event *as, int64_t clock,
		     struct pallas_list list)
{
	uint8_t *at = bytes_more(&m->out, EVENT_HEADER_SIZE + 4);
	struct pallas_list sizes = list;
	struct pallas_value v;
	size_t size = as->size;
	int got;

	if (!at)
		return -ENOMEM;
	while ((got = pallas_value_next(&sizes, &v)) == 1)
		size += v.size;
	if (got < 0)
		return got;
	event_encode_jumbo(at, as->mcv, clock, (uint32_t)size);
	bytes_put(&m->out, as->payload, as->size);
	while (pallas_value_next(&list, &v) == 1)
		bytes_put(&m->out, v.bytes, v.size);
	if (m->out.failed)
		return -ENOMEM;
	return m->out.size < BUFFER_BYTES ? 0 : flush(m);
}

/* ---- the mapping of exported archives ---- */

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parses the MCV and payload of an event, the next two words of `line`. */
static int parse_event(char **line, struct mapped_event *ev)
{
	const char *mcv = strsep(line, " "), *hex = strsep(line, " ");
	size_t n = hex ? strlen(hex) : 0;
	char *end;

	if (n == 0 || strlen(mcv) != 6)
		return -EBADMSG;
	ev->mcv = (uint32_t)strtoul(mcv, &end, 16);
	if (*end)
		return -EBADMSG;
	if (strcmp(hex, "-") == 0)
		return 0;
	if (n % 2)
		return -EBADMSG;
	ev->payload = malloc(n / 2);
	if (!ev->payload)
		return -ENOMEM;
	for (size_t i = 0; i < n; i += 2) {
		if (digit(hex[i]) < 0 || digit(hex[i + 1]) < 0)
			return -EBADMSG;
		ev->payload[ev->size++] = (uint8_t)(digit(hex[i]) << 4 | digit(hex[i + 1]));
	}
	return 0;
}

/* Adds the event for a record with a reference. Returns 0, -EBADMSG or -ENOMEM. */
static int map_event(struct import *m, uint32_t record, uint32_t ref, char **line)
{
	uint32_t *at = hash_at(&m->mapped_of, (struct hash_key){.a = record, .b = ref});
	struct mapped_event *ev = at ? ARRAY_ADD(m->mapped, m->nmapped) : NULL;

	if (!ev)
		return -ENOMEM;
	*ev = (struct mapped_event){0};
	*at = (uint32_t)(ev - m->mapped);
	return parse_event(line, ev);
}

static int map_line(struct import *m, char *line)
{
	const char *kind = strsep(&line, " "), *number = strsep(&line, " ");
	uint32_t ref;
	char *end;
	int err;

	if (!number || !*number)
		return -EBADMSG;
	ref = (uint32_t)strtoul(number, &end, 10);
	if (*end)
		return -EBADMSG;
	if (strcmp(kind, "R") == 0) {
		err = map_event(m, PALLAS_ENTER, ref, &line);
		return err ? err : map_event(m, PALLAS_LEAVE, ref, &line);
	}
	if (strcmp(kind, "S") != 0)
		return -EBADMSG;
	err = map_event(m, PALLAS_GENERIC, ref, &line);
	if (err)
		return err;
	if (!line)
		return -EBADMSG;
	m->mapped[m->nmapped - 1].jumbo = *line == '+';
	return 0;
}

static int map_parse(struct import *m, const char *text)
{
	char *copy = strdup(text), *rest = copy, *line;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	while ((line = strsep(&rest, "\n"))) {
		err = *line ? map_line(m, line) : 0;
		if (err)
			break;
	}
	free(copy);
	if (err == -EBADMSG)
		log_error("%s/%s: its mapping of events is damaged", m->trace.path, m->trace.main);
	return err;
}

/* ---- exported archives ---- */

static int no_mapping(const struct import *m, const struct pallas_event *e)
{
	log_error("%s/%s: event %u is not in the mapping that the archive has of its events",
		  m->trace.path, m->thread->path, e->id);
	return -EBADMSG;
}

static int plan_ours(struct import *m, const struct pallas_event *e, struct plan *p)
{
	p->as = HASH_NONE;
	/* what the export has added */
	if (e->record == PALLAS_THREAD_BEGIN || e->record == PALLAS_THREAD_END ||
	    (e->record >= PALLAS_MPI_SEND && e->record <= PALLAS_MPI_COLLECTIVE_END))
		return 0;
	if (e->payload_size >= 4)
		p->as = hash_get(&m->mapped_of,
				 (struct hash_key){.a = e->record, .b = get_u32(e->payload)});
	return p->as == HASH_NONE ? no_mapping(m, e) : 0;
}

/* Goes to the next attribute list. */
static int next_list(const struct pallas_event *e, struct plan *p)
{
	int got = pallas_list_next(e, &p->at, &p->list);

	p->has_list = got == 1;
	return got < 0 ? got : 0;
}

static int damaged_lists(const struct import *m, const struct pallas_event *e)
{
	log_error("%s/%s: event %u: its attribute lists are damaged", m->trace.path,
		  m->thread->path, e->id);
	return -EBADMSG;
}

/* Writes an event: the payload is the start in the mapping, then the values of the occurrence. */
static int put_ours(struct import *m, const struct pallas_expand *x, struct plan *p)
{
	const struct pallas_event *e = &m->thread->grammar.events[x->event];
	const struct mapped_event *as = &m->mapped[p->as];
	int64_t clock = (int64_t)(x->time + (uint64_t)m->start);
	uint8_t payload[EVENT_PAYLOAD_MAX];
	struct pallas_value v;
	bool has_list;
	size_t size;
	int err, got;

	if (p->as == HASH_NONE)
		return 0;
	m->events++;
	has_list = p->has_list && (uint64_t)p->list.occurrence == x->seen[x->event] - 1;
	if (as->jumbo) {
		err = put_jumbo(m, as, clock, has_list ? p->list : (struct pallas_list){0});
		if (!err && has_list)
			err = next_list(e, p);
		return err == -EBADMSG ? damaged_lists(m, e) : err;
	}
	size = as->size;
	if (size > EVENT_PAYLOAD_MAX)
		return no_mapping(m, e);
	if (size)
		memcpy(payload, as->payload, size);
	if (has_list) {
		while ((got = pallas_value_next(&p->list, &v)) == 1) {
			if (v.size > EVENT_PAYLOAD_MAX - size)
				return no_mapping(m, e);
			memcpy(payload + size, v.bytes, v.size);
			size += v.size;
		}
		err = got < 0 ? got : next_list(e, p);
		if (err)
			return damaged_lists(m, e);
	}
	if (size == 1) {
		log_error("%s/%s: event %u: a payload of one byte does not exist in ovni",
			  m->trace.path, m->thread->path, e->id);
		return -EBADMSG;
	}
	return put(m, as->mcv, clock, payload, size);
}

/* ---- other archives ---- */

static int64_t label_of(struct import *m, unsigned type, const char *text)
{
	char cut[LABEL_MAX + 1], number[24];
	const struct json *row;

	snprintf(cut, sizeof(cut), "%s", *text ? text : "(no name)");
	/* a linear search: texts are few (regions and event entries), with one look-up per thread
	 */
	for (row = json_first(m->labels[type]); row; row = json_next(row)) {
		if (strcmp(json_string(row), cut) == 0)
			return strtoll(json_name(row), NULL, 10);
	}
	snprintf(number, sizeof(number), "%" PRId64, ++m->nlabels[type]);
	return json_add_string(m->labels[type], number, cut) ? m->nlabels[type] : -1;
}

static int plan_foreign(struct import *m, uint32_t place, struct plan *p)
{
	const struct pallas_event *e = &m->thread->grammar.events[place];
	size_t size = pallas_event_text(&m->trace, m->thread, place, NULL, 0) + 1;
	char *text = malloc(size);
	const char *region;

	if (!text)
		return -ENOMEM;
	pallas_event_text(&m->trace, m->thread, place, text, size);
	p->alone = label_of(m, EVENT, text);
	free(text);
	p->begins = e->record == PALLAS_ENTER && e->payload_size >= 4;
	p->ends = e->record == PALLAS_LEAVE && e->payload_size >= 4;
	p->value = 1;
	if (p->begins || p->ends) {
		region = pallas_region(&m->trace, m->thread->archive, get_u32(e->payload));
		p->value = label_of(m, FUNCTION, region ? region : "?");
	}
	return p->alone < 0 || p->value < 0 ? -ENOMEM : 0;
}

static int put_mark(struct import *m, char what, int64_t clock, int64_t value, int32_t type)
{
	uint8_t payload[12];

	memcpy(payload, &value, 8);
	memcpy(payload + 8, &type, 4);
	return put(m, MCV('O', 'M', what), clock, payload, sizeof(payload));
}

static int put_foreign(struct import *m, const struct pallas_expand *x, const struct plan *p)
{
	int64_t clock = (int64_t)x->time;

	m->events++;
	if (x->time > INT64_MAX) {
		log_error("%s/%s: the time %" PRIu64 " does not fit into a clock of ovni",
			  m->trace.path, m->thread->path, x->time);
		return -ERANGE;
	}
	if (p->begins && m->depth < STACK_MAX) {
		m->stack[m->depth++] = p->value;
		return put_mark(m, '[', clock, p->value, FUNCTION);
	}
	if (p->ends && m->depth && m->stack[m->depth - 1] == p->value) {
		m->depth--;
		return put_mark(m, ']', clock, p->value, FUNCTION);
	}
	return put_mark(m, '=', clock, p->alone, EVENT);
}

/* Declares both types of marks in the metadata of the first stream. */
static void declare_marks(struct import *m, struct json *meta)
{
	m->labels[FUNCTION] = json_put_object(meta, "ovni.mark.0.labels");
	m->labels[EVENT] = json_put_object(meta, "ovni.mark.1.labels");
	json_put_string(meta, "ovni.mark.0.title", "Function");
	json_put_string(meta, "ovni.mark.0.chan_type", "stack");
	json_put_string(meta, "ovni.mark.1.title", "Event");
	json_put_string(meta, "ovni.mark.1.chan_type", "single");
}

static struct json *foreign_metadata(struct import *m)
{
	struct json *meta = json_new_object(), *cpu;

	json_put_int(meta, "version", 3);
	json_put_string(meta, "ovni.lib.version", version_string);
	json_put_string(meta, "ovni.lib.commit", version_commit);
	json_put_string(meta, "ovni.part", "thread");
	json_put_int(meta, "ovni.tid", (int64_t)m->thread->id + 1);
	json_put_int(meta, "ovni.pid", (int64_t)m->thread->archive->id + 1);
	json_put_string(meta, "ovni.loom", "pallas");
	json_put_int(meta, "ovni.app_id", 1);
	json_put_string(meta, "ovni.require.ovni", "1.1.0");
	json_put_string(meta, "bpf.name", pallas_thread_name(&m->trace, m->thread));
	cpu = json_put_object(json_put_array(meta, "ovni.loom_cpus"), NULL);
	json_put_int(cpu, "index", 0);
	json_put_int(cpu, "phyid", 0);
	if (!m->first)
		declare_marks(m, meta);
	return meta;
}

/* ---- streams ---- */

static const char *thread_metadata(const struct import *m, const char *format)
{
	char key[64];

	snprintf(key, sizeof(key), format, m->thread->id); // NOLINT: a format of the mapping
	return pallas_metadata(&m->thread->archive->part, key);
}

/* Creates the stream of the present thread. Returns its metadata, or NULL after one message. */
static struct json *stream_begin(struct import *m)
{
	const char *path, *text;
	struct json *meta, *begin;
	int err;

	if (m->ours) {
		path = thread_metadata(m, PALLAS_KEY_PATH);
		text = thread_metadata(m, PALLAS_KEY_STREAM);
		if (!path || !text) {
			log_error("%s/%s: the archive does not name the stream of this thread",
				  m->trace.path, m->thread->path);
			return NULL;
		}
		m->path = strdup(path);
		meta = json_parse(text, strlen(text), path);
		if (!meta)
			return NULL;
		whole_leave_files(meta);
	} else {
		m->path = xasprintf("loom.pallas/proc.%u/thread.%u", m->thread->archive->id + 1,
				    m->thread->id + 1);
		meta = foreign_metadata(m);
	}
	if (m->ours)
		whole_take(&m->whole, m->fd, m->path ? m->path : "", meta, NULL, false);
	begin = json_new_object(); /* not finished */
	json_put_int(begin, "version", 3);
	err = m->path ? stream_create(m->fd, m->path, begin) : -ENOMEM;
	json_free(begin);
	if (!err)
		return meta;
	if (err == -ENOMEM)
		log_no_memory("while converting %s", m->o->from);
	else
		log_error("cannot create '%s/%s': %s", m->o->to, m->path, strerror(-err));
	json_free(meta);
	return NULL;
}

static int write_metadata(struct import *m, const char *path, const struct json *meta)
{
	int err = stream_describe(m->fd, path, meta);

	if (err && err != -ENOMEM)
		log_error("cannot write the metadata '%s/%s': %s", m->o->to, path, strerror(-err));
	return err;
}

static int put_all(struct import *m, struct pallas_expand *x)
{
	static const struct {
		int32_t cpu, creator;
		uint64_t tag;
	} execute = {-1, -1, 0};
	int64_t last =
		m->thread->grammar.total_events ? (int64_t)m->thread->grammar.first_time : m->start;
	int err, got;

	err = m->ours ? 0 : put(m, MCV('O', 'H', 'x'), last, &execute, sizeof(execute));
	if (err)
		return err;
	while ((got = pallas_expand_next(x)) != 0) {
		if (got < 0)
			return got;
		err = m->ours ? put_ours(m, x, &m->plans[x->event])
			      : put_foreign(m, x, &m->plans[x->event]);
		if (err)
			return err;
		last = (int64_t)x->time;
	}
	if (m->ours)
		return flush(m);
	while (m->depth) {
		err = put_mark(m, ']', last, m->stack[--m->depth], FUNCTION);
		if (err)
			return err;
	}
	err = put(m, MCV('O', 'H', 'e'), last, NULL, 0);
	return err ? err : flush(m);
}

static int plans_make(struct import *m)
{
	const struct thread_grammar *g = &m->thread->grammar;
	int err;

	m->plans = calloc(g->nevents + 1, sizeof(*m->plans));
	if (!m->plans)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->nevents; i++) {
		m->plans[i].at = g->events[i].attributes;
		err = m->ours ? plan_ours(m, &g->events[i], &m->plans[i])
			      : plan_foreign(m, i, &m->plans[i]);
		if (err)
			return err;
		if (next_list(&g->events[i], &m->plans[i]))
			return damaged_lists(m, &g->events[i]);
	}
	return 0;
}

static int import_thread(struct import *m, struct pallas_thread *t)
{
	struct pallas_loader *loader = NULL;
	struct pallas_expand x = {0};
	struct json *meta = NULL;
	int err;

	m->thread = t;
	m->out.size = m->depth = 0;
	err = pallas_thread_load(&m->trace, t);
	if (err)
		goto out;
	if (!m->ours && t->grammar.total_events) {
		if (t->grammar.first_time < (uint64_t)m->start)
			m->start = (int64_t)t->grammar.first_time;
	} else if (!m->ours && !t->excluded) {
		t->excluded = true; /* for the second round */
		goto out;
	}
	loader = pallas_loader_new(&m->trace);
	err = loader ? pallas_expand_init(&x, loader, t) : -ENOMEM;
	if (err)
		goto out;
	meta = stream_begin(m);
	if (!meta) {
		err = -EIO;
		goto out;
	}
	if (!m->first) {
		/* finished last, as the trace is; of a foreign archive it gets the labels of all
		 * threads, too */
		m->first = meta;
		m->first_path = m->path;
	}
	err = plans_make(m);
	if (err)
		goto out;
	err = put_all(m, &x);
	if (err)
		goto out;
	if (!m->ours)
		json_put_int(meta, "ovni.finished", 1);
	if (meta != m->first)
		err = write_metadata(m, m->path, meta);
out:
	if (meta != m->first)
		json_free(meta);
	if (m->path != m->first_path)
		free(m->path);
	m->path = NULL;
	free(m->plans);
	m->plans = NULL;
	pallas_expand_fini(&x);
	pallas_loader_free(loader);
	pallas_thread_unload(&m->trace, t);
	return err;
}

static int prepare(struct import *m)
{
	const char *map = pallas_metadata(&m->trace.part, PALLAS_KEY_MAP);
	const char *clock = pallas_metadata(&m->trace.part, PALLAS_KEY_CLOCK);
	int err = 0;

	if (pallas_lossy(&m->trace)) {
		log_error("cannot import '%s': the compression %s keeps only approximate times, "
			  "without the order of the events",
			  m->trace.path, pallas_compression_names[m->trace.compression]);
		return -EPROTONOSUPPORT;
	}
	m->ours = map && clock;
	m->start = INT64_MAX;
	if (m->ours) {
		m->start = strtoll(clock, NULL, 10);
		err = map_parse(m, map);
		if (err)
			return err;
	}
	if (mkdir(m->o->to, 0755) < 0) {
		err = -errno;
		log_error("cannot create '%s': %s", m->o->to, strerror(-err));
		return err;
	}
	m->fd = open(m->o->to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (m->fd < 0) {
		err = -errno;
		log_error("cannot open '%s': %s", m->o->to, strerror(-err));
	}
	return err;
}

int pallas_import(const struct pallas_options *o)
{
	struct import m = {.o = o, .fd = -1};
	enum status status = STATUS_FAILED;
	const char *incomplete;
	int err = pallas_open(&m.trace, o->from, o->memory);

	if (err)
		return STATUS_FAILED;
	err = prepare(&m);
	if (err)
		goto out;
	for (size_t i = 0; i < m.trace.nthreads; i++) {
		err = import_thread(&m, &m.trace.threads[i]);
		if (err)
			goto out;
	}
	/* threads without events begin and end at the start of the archive */
	m.start = m.start == INT64_MAX ? 0 : m.start;
	for (size_t i = 0; i < m.trace.nthreads; i++) {
		err = m.trace.threads[i].excluded ? import_thread(&m, &m.trace.threads[i]) : 0;
		if (err)
			goto out;
	}
	err = m.first ? write_metadata(&m, m.first_path, m.first) : 0;
	if (err)
		goto out;
	log_info("%s: %" PRIu64 " event%s of %zu thread%s", o->to, m.events,
		 plural(m.events, "", "s"), m.trace.nthreads, plural(m.trace.nthreads, "", "s"));
	/* what the metadata of the streams do not say */
	incomplete = pallas_metadata(&m.trace.part, PALLAS_KEY_INCOMPLETE);
	if (incomplete && whole_is(&m.whole))
		snprintf(m.whole.made_from, sizeof(m.whole.made_from), "%s", incomplete);
	status = m.ours ? whole_report(&m.whole, o->from) : STATUS_COMPLETE;
out:
	if (err == -ENOMEM)
		log_no_memory("while converting %s", o->from);
	json_free(m.first);
	free(m.first_path);
	bytes_free(&m.out);
	for (uint32_t i = 0; i < m.nmapped; i++)
		free(m.mapped[i].payload);
	free(m.mapped);
	hash_free(&m.mapped_of);
	if (m.fd >= 0)
		close(m.fd);
	pallas_close(&m.trace);
	return status;
}
