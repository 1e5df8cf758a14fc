/* SPDX-License-Identifier: MIT */
#include "tools/check/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/lib/mapped_stream.h"
#include "tools/lib/replace_file.h"
#include "trace/ovni/trace.h"
#include "trace/states/open_regions.h"
#include "trace/states/state_walk.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/build_info.h"
#include "trace/base/text.h"

#define COPY_BYTES (1 << 20)
#define CPUS_MOST  65536 /* greater indices are damage */

struct part { /* one stream */
	const char *path;
	struct json *meta; /* NULL: unreadable, left out */
	struct owner owner;
	struct open_regions regions; /* at the end of the kept events */
	size_t size, kept;	     /* bytes of the file, and of its kept part */
	uint64_t events;
	int64_t first, last; /* clocks */
	bool repair;
	int64_t closed_at;  /* clock of its last event, if the repair closes it */
	uint64_t models[4]; /* a bit for each model of its events */
	struct bytes added; /* events that close it */
	uint64_t added_events, dropped;
};

struct work {
	struct repair *repair;
	struct trace trace;
	struct part *parts;
	size_t n;
	int64_t first; /* clock of the trace */
	int32_t highest_cpu;
	int out_fd;
};

/* ---- reading ---- */

/* Applies an event that is kept. */
static int keep_event(struct work *w, struct part *p, const struct mapped_stream *stream)
{
	const struct event *ev = &stream->ev;
	int32_t cpu;

	if (open_regions_step(&p->regions, ev) == FAULT_NOMEM)
		return -ENOMEM;
	if (!p->events++)
		p->first = ev->clock;
	p->last = ev->clock;
	p->models[ev->model >> 6] |= 1ull << (ev->model & 63);
	p->kept = (size_t)(stream->at - stream->base);
	cpu = p->regions.thread.cpu;
	if (cpu > w->highest_cpu && cpu < CPUS_MOST)
		w->highest_cpu = cpu;
	return 0;
}

static int read_events(struct work *w, struct part *p)
{
	struct mapped_stream stream;
	int err = mapped_stream_open(&stream, w->trace.fd, p->path);

	if (err == -EBADMSG) { /* shorter than its header: no event was written */
		p->repair = true;
		return 0;
	}
	if (err)
		return err;
	p->size = stream.size;
	if (memcmp(stream.base, STREAM_MAGIC, 4)) {
		log_error("%s: " STREAM_DATA " is not a stream", p->path);
		err = -EBADMSG;
		goto out;
	}
	p->kept = STREAM_HEADER_SIZE;
	while (mapped_stream_step(&stream) > 0) {
		/* after a crash of the machine a file may end in bytes that were never written */
		if (!p->owner.finished && !catalog_find(event_mcv(&stream.ev), NULL))
			break;
		err = keep_event(w, p, &stream);
		if (err)
			goto out;
	}
	p->repair = p->kept != p->size || !p->owner.finished;
out:
	mapped_stream_close(&stream);
	return err;
}

static int load_stream(struct work *w, struct part *p, size_t i)
{
	int err;

	p->path = w->trace.streams[i];
	p->regions.thread.cpu = CPU_NONE;
	p->meta = trace_metadata(&w->trace, i);
	if (!p->meta)
		return -EINVAL;
	err = owner_init(&p->owner, p->meta);
	if (err)
		return err;
	if (!p->owner.loom || p->owner.pid <= 0 || p->owner.tid <= 0) {
		log_error("%s: its metadata has no loom, process or thread", p->path);
		return -EINVAL;
	}
	return read_events(w, p);
}

static int load(struct work *w)
{
	int err = trace_open(&w->trace, w->repair->trace);

	if (err)
		return err;
	w->n = w->trace.nstreams;
	w->parts = calloc(w->n + 1, sizeof(*w->parts));
	if (!w->parts)
		return -ENOMEM;
	w->first = INT64_MAX;
	for (size_t i = 0; i < w->n; i++) {
		struct part *p = &w->parts[i];

		err = load_stream(w, p, i);
		if (err == -ENOMEM)
			return err;
		if (err) {
			log_warn("%s: left out, since it cannot be read", p->path);
			json_free(p->meta);
			p->meta = NULL;
			w->repair->left_out++;
			continue;
		}
		if (p->events && p->first < w->first)
			w->first = p->first;
	}
	if (w->first == INT64_MAX)
		w->first = 0;
	return 0;
}

/* ---- closing ---- */

static int add_event(void *arg, uint32_t mcv, const void *payload, size_t size)
{
	struct part *p = arg;
	uint8_t event[EVENT_SIZE_MAX];

	bytes_put(&p->added, event, event_encode(event, mcv, p->last, payload, size));
	if (p->added.failed)
		return -ENOMEM;
	p->added_events++;
	p->models[(mcv >> 16) >> 6] |= 1ull << (mcv >> 16 & 63);
	return 0;
}

static int close_part(struct work *w, struct part *p)
{
	static const struct __attribute__((packed)) {
		int32_t cpu, creator;
		uint64_t tag;
	} begin = {CPU_VIRTUAL, -1, 0};
	struct sched_state *thread = &p->regions.thread;
	int err = 0;

	if (!p->events)
		p->last = w->first;
	if (thread->state == THREAD_STATE_UNKNOWN) {
		/* a stream must end with a dead thread: one that never ran begins first */
		err = add_event(p, MCV('O', 'H', 'x'), &begin, sizeof(begin));
		thread->state = THREAD_STATE_RUNNING;
		thread->cpu = CPU_VIRTUAL;
	}
	if (!err && (thread->state != THREAD_STATE_DEAD || thread->out))
		err = open_regions_close(&p->regions, add_event, p);
	p->closed_at = p->last;
	return err;
}

/* ---- metadata ---- */

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static void put_cpus(struct work *w, struct part *p)
{
	struct json *list = json_put_array(p->meta, "ovni.loom_cpus");

	for (int32_t i = 0; i <= w->highest_cpu; i++) {
		struct json *cpu = json_put_object(list, NULL);

		json_put_int(cpu, "index", i);
		json_put_int(cpu, "phyid", i);
	}
	json_put_bool(p->meta, "bpf.recovered.cpus_invented", true);
}

/* Adds the metadata that a program writes at its end: CPUs of the loom, application of the process.
 */
static void complete(struct work *w, struct part *p)
{
	bool cpus = false, app = false;

	for (size_t k = 0; k < w->n; k++) {
		struct part *q = &w->parts[k];

		if (!q->meta || !same_text(q->owner.loom, p->owner.loom))
			continue;
		cpus |= json_count(json_get(q->meta, "ovni.loom_cpus")) > 0;
		app |= q->owner.pid == p->owner.pid && q->owner.app_id > 0;
	}
	if (!cpus)
		put_cpus(w, p);
	if (!app) {
		json_put_int(p->meta, "ovni.app_id", 1);
		p->owner.app_id = 1;
	}
}

static void complete_metadata(struct work *w, struct part *p)
{
	const struct json *require = json_get(p->meta, "ovni.require");

	complete(w, p);
	for (const struct catalog_model *m = catalog_models; m->name; m++) {
		uint8_t c = (uint8_t)m->character;
		char key[64];

		if (!(p->models[c >> 6] >> (c & 63) & 1) || json_key(require, m->name))
			continue;
		snprintf(key, sizeof(key), "ovni.require.%s", m->name);
		json_put_string(p->meta, key, m->version);
	}
	if (!json_is_string(json_get(p->meta, "ovni.lib.version")))
		json_put_string(p->meta, "ovni.lib.version", "unknown");
	if (!json_is_string(json_get(p->meta, "ovni.lib.commit")))
		json_put_string(p->meta, "ovni.lib.commit", "unknown");
	json_put_string(p->meta, "bpf.recovered.by", version_string);
	json_put_u64(p->meta, "bpf.recovered.added", p->added_events);
	json_put_u64(p->meta, "bpf.recovered.dropped", p->dropped);
	json_put_u64(p->meta, "bpf.recovered.cut_bytes", p->size - p->kept);
	json_put_string(p->meta, "bpf.recovered.note",
			"closed after a crash; later events are missing");
	json_put_int(p->meta, "ovni.finished", 1);
}

/* ---- writing ---- */

struct sink {
	const struct work *work;
	const struct part *part;
	struct replacement replacement;
	bool in_place;
};

static int sink_put(struct sink *sink, const uint8_t *bytes, size_t size)
{
	if (sink->in_place)
		return write_all(sink->replacement.fd, bytes, size);
	while (size) {
		size_t n = size < COPY_BYTES ? size : COPY_BYTES;
		/* a piece may end inside an event: the stream is not finished before the last one
		 */
		int err = stream_append(sink->work->out_fd, sink->part->path, bytes, n);

		if (err)
			return err;
		bytes += n;
		size -= n;
	}
	return 0;
}

/* True for an OAr to a thread that the repair closes before it: the emulator refuses it. */
static bool moves_the_dead(const struct work *w, const struct part *p, const struct event *ev)
{
	if (event_mcv(ev) != MCV('O', 'A', 'r') || ev->payload_size < 8)
		return false;
	for (size_t i = 0; i < w->n; i++) {
		const struct part *q = &w->parts[i];

		if (q->meta && q->repair && q->owner.tid == get_i32(ev->payload + 4) &&
		    same_text(q->owner.loom, p->owner.loom))
			return ev->clock >= q->closed_at;
	}
	return false;
}

/* Copies the kept events, without those that move a closed thread, or only counts the latter. */
static int copy_events(struct sink *sink, struct part *p, bool count_only)
{
	struct mapped_stream stream;
	size_t from = STREAM_HEADER_SIZE;
	int err;

	if (p->kept <= STREAM_HEADER_SIZE)
		return 0;
	err = mapped_stream_open(&stream, sink->work->trace.fd, p->path);
	if (err)
		return err;
	while ((size_t)(stream.at - stream.base) < p->kept && mapped_stream_step(&stream) > 0) {
		size_t at = mapped_stream_offset(&stream);

		if (!moves_the_dead(sink->work, p, &stream.ev))
			continue;
		if (count_only)
			p->dropped++;
		else
			err = sink_put(sink, stream.base + from, at - from);
		if (err)
			goto out;
		from = (size_t)(stream.at - stream.base);
	}
	if (!count_only)
		err = sink_put(sink, stream.base + from, p->kept - from);
	if (!err && !mapped_stream_sound(&stream))
		err = -EIO;
out:
	mapped_stream_close(&stream);
	return err;
}

static int put_stream(struct sink *sink, struct part *p)
{
	static const uint32_t version = STREAM_VERSION;
	const struct work *w = sink->work;
	uint8_t header[STREAM_HEADER_SIZE] = STREAM_MAGIC;
	int err;

	if (sink->in_place) {
		memcpy(header + strlen(STREAM_MAGIC), &version, sizeof(version));
		err = replace_file_start(&sink->replacement, w->trace.fd, p->path, STREAM_DATA);
		if (err)
			return err;
		err = sink_put(sink, header, sizeof(header));
	} else {
		err = stream_create(w->out_fd, p->path, p->meta);
	}
	if (err)
		return err;
	err = copy_events(sink, p, false);
	if (err || !p->added.size)
		return err;
	return sink_put(sink, p->added.data, p->added.size);
}

static int write_part(struct work *w, struct part *p)
{
	struct sink sink = {.work = w, .part = p, .in_place = !w->repair->out};
	int err;

	if (sink.in_place && !p->repair)
		return 0;
	err = put_stream(&sink, p);
	if (err || !sink.in_place)
		goto out;
	err = replace_file_finish(&sink.replacement, false);
	if (err)
		goto out;
	/* the metadata comes last, since it says that the stream is finished */
	err = stream_describe(w->trace.fd, p->path, p->meta);
out:
	replace_file_abandon(&sink.replacement);
	if (err)
		log_error("%s: cannot write the repaired stream: %s", p->path, strerror(-err));
	return err;
}

static int create_output(struct work *w)
{
	if (!w->repair->out)
		return 0;
	if (mkdir(w->repair->out, 0777) < 0) {
		int err = -errno;

		log_error("cannot create '%s': %s", w->repair->out, strerror(-err));
		return err;
	}
	w->out_fd = open(w->repair->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->out_fd < 0)
		return -errno;
	return copy_offsets(w->trace.fd, w->out_fd);
}

static int write_all_parts(struct work *w)
{
	int err = create_output(w);

	if (err)
		return err;
	for (size_t i = 0; i < w->n; i++) {
		if (!w->parts[i].meta)
			continue;
		err = write_part(w, &w->parts[i]);
		if (err)
			return err;
	}
	return 0;
}

/* Closes one stream, once all closing clocks are known. */
static int repair_part(struct work *w, struct part *p)
{
	struct sink nowhere = {.work = w};
	struct repair *repair = w->repair;
	uint64_t kept;
	int err = copy_events(&nowhere, p, true);

	if (err)
		return err;
	repair->streams++;
	p->repair |= p->dropped > 0;
	if (!p->repair)
		return 0;
	complete_metadata(w, p);
	repair->repaired++;
	repair->bytes_cut += p->size - p->kept;
	repair->events_added += p->added_events;
	repair->events_dropped += p->dropped;
	kept = p->events - p->dropped;
	log_info("%s: %llu event%s kept, %zu byte%s cut, %llu event%s added to close it", p->path,
		 (unsigned long long)kept, plural(kept, "", "s"), p->size - p->kept,
		 plural(p->size - p->kept, "", "s"), (unsigned long long)p->added_events,
		 plural(p->added_events, "", "s"));
	return 0;
}

static int repair_streams(struct work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		int err = 0;

		if (w->parts[i].meta && w->parts[i].repair)
			err = close_part(w, &w->parts[i]);
		if (err)
			return err;
	}
	for (size_t i = 0; i < w->n; i++) {
		int err = w->parts[i].meta ? repair_part(w, &w->parts[i]) : 0;

		if (err)
			return err;
	}
	return 0;
}

int repair_run(struct repair *repair)
{
	struct work w = {.repair = repair, .out_fd = -1, .trace.fd = -1};
	int err = load(&w);

	if (err)
		goto out;
	err = repair_streams(&w);
	if (err)
		goto out;
	err = write_all_parts(&w);
out:
	if (err == -ENOMEM)
		log_no_memory("while repairing %s", repair->trace);
	for (size_t i = 0; w.parts && i < w.n; i++) {
		json_free(w.parts[i].meta);
		owner_fini(&w.parts[i].owner);
		open_regions_fini(&w.parts[i].regions);
		bytes_free(&w.parts[i].added);
	}
	free(w.parts);
	if (w.out_fd >= 0)
		close(w.out_fd);
	trace_close(&w.trace);
	return err;
}
