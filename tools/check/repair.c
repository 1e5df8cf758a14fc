/* SPDX-License-Identifier: MIT */
/* repair: see repair.h. */
#include "tools/check/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/check/repair_stats.h"
#include "tools/lib/mapped_stream.h"
#include "tools/lib/replace_file.h"
#include "trace/base/array.h"
#include "trace/base/build_info.h"
#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/ovni/job_file.h"
#include "trace/ovni/stack_file.h"
#include "trace/ovni/stats_file.h"
#include "trace/ovni/trace.h"
#include "trace/ovni/write_lock.h"
#include "trace/states/open_regions.h"
#include "trace/states/state_walk.h"

#define CPUS_MOST 65536 /* greater indices are damage */

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

struct repair {
	const char *path, *out; /* out: a new directory; NULL: in place */
	struct repair_counts counts;
	struct trace trace;
	struct part *parts;
	size_t n;
	int64_t first; /* clock of the trace */
	int32_t highest_cpu;
	int out_fd;
};

/* ---- reading ---- */

/* Applies an event that is kept. */
static int keep_event(struct repair *w, struct part *p, const struct mapped_stream *stream)
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

static int read_events(struct repair *w, struct part *p)
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

static int load_stream(struct repair *w, struct part *p, size_t i)
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
	if (!*p->owner.loom || p->owner.pid <= 0 || p->owner.tid <= 0) {
		log_error("%s: its metadata has no loom, process or thread", p->path);
		return -EINVAL;
	}
	return read_events(w, p);
}

/* A trace that is being written is not repaired: it is not broken, and would change meanwhile. */
static int lock(const struct repair *w)
{
	int err = write_lock_acquire(w->trace.fd, w->trace.path,
				     w->out ? WRITE_LOCK_READER : WRITE_LOCK_WRITER,
				     "a trace that is being written cannot be repaired");

	if (err && err != -EBUSY) {
		write_lock_missing(w->trace.path, err);
		err = 0;
	}
	return err;
}

static int load(struct repair *w)
{
	int err = trace_open(&w->trace, w->path);

	if (err)
		return err;
	err = lock(w);
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
			w->counts.left_out++;
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

static int close_part(struct repair *w, struct part *p)
{
	static const struct __attribute__((packed)) {
		int32_t cpu, creator;
		uint64_t tag;
	} begin = {CPU_VIRTUAL, -1, 0};
	struct sched_state *thread = &p->regions.thread;
	int err;

	if (!p->events)
		p->last = w->first;
	p->closed_at = p->last;
	if (thread->state == THREAD_STATE_UNKNOWN) {
		/* a stream must end with a dead thread: one that never ran begins first */
		err = add_event(p, MCV('O', 'H', 'x'), &begin, sizeof(begin));
		if (err)
			return err;
		thread->state = THREAD_STATE_RUNNING;
		thread->cpu = CPU_VIRTUAL;
	}
	if (thread->state == THREAD_STATE_DEAD && !thread->out)
		return 0;
	return open_regions_close(&p->regions, add_event, p);
}

/* ---- metadata ---- */

static void put_cpus(struct repair *w, struct part *p)
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
static void complete(struct repair *w, struct part *p)
{
	bool cpus = false, app = false;

	for (size_t k = 0; k < w->n; k++) {
		struct part *q = &w->parts[k];

		if (!q->meta || strcmp(q->owner.loom, p->owner.loom))
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

static void complete_metadata(struct repair *w, struct part *p)
{
	complete(w, p);
	catalog_require(p->meta, p->models);
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
	const struct repair *work;
	const struct part *part;
	struct replacement replacement;
	bool in_place;
};

static int sink_put(struct sink *sink, const uint8_t *bytes, size_t size)
{
	if (sink->in_place)
		return write_all(sink->replacement.fd, bytes, size);
	return stream_append(sink->work->out_fd, sink->part->path, bytes, size);
}

/* True for an OAr to a thread that the repair closes before it: the emulator refuses it. */
static bool moves_the_dead(const struct repair *w, const struct part *p, const struct event *ev)
{
	if (event_mcv(ev) != MCV('O', 'A', 'r') || ev->payload_size < 8)
		return false;
	for (size_t i = 0; i < w->n; i++) {
		const struct part *q = &w->parts[i];

		if (q->meta && q->repair && q->owner.tid == get_i32(ev->payload + 4) &&
		    !strcmp(q->owner.loom, p->owner.loom))
			return ev->clock >= q->closed_at;
	}
	return false;
}

/* Copies the kept events, without events that move a closed thread, or only counts these. */
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
	if (err)
		goto out;
	if (!mapped_stream_sound(&stream))
		err = -EIO;
out:
	mapped_stream_close(&stream);
	return err;
}

static int put_stream(struct sink *sink, struct part *p)
{
	static const uint32_t version = STREAM_VERSION;
	const struct repair *w = sink->work;
	uint8_t header[STREAM_HEADER_SIZE] = STREAM_MAGIC;
	struct json *begin;
	int err;

	if (sink->in_place) {
		memcpy(header + strlen(STREAM_MAGIC), &version, sizeof(version));
		err = replace_file_start(&sink->replacement, w->trace.fd, p->path, STREAM_DATA);
		if (err)
			return err;
		err = sink_put(sink, header, sizeof(header));
	} else {
		begin = json_new_object(); /* not finished, until describe_all() */
		json_put_int(begin, "version", 3);
		err = stream_create(w->out_fd, p->path, begin);
		json_free(begin);
	}
	if (err)
		return err;
	err = copy_events(sink, p, false);
	if (err || !p->added.size)
		return err;
	return sink_put(sink, p->added.data, p->added.size);
}

static int write_part(struct repair *w, struct part *p)
{
	struct sink sink = {.work = w, .part = p, .in_place = !w->out};
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
		log_error("cannot write the repaired stream '%s': %s", p->path, strerror(-err));
	return err;
}

static int create_output(struct repair *w)
{
	int err;

	if (!w->out)
		return 0;
	w->out_fd = output_create(w->out);
	if (w->out_fd < 0)
		return w->out_fd;
	err = copy_beside(w->trace.fd, w->out_fd, "clock-offsets.txt", INPUT_TEXT_MAX);
	err = err ? err : job_copy_points(w->trace.fd, w->out_fd);
	err = err ? err : copy_beside(w->trace.fd, w->out_fd, STACK_FILE, INPUT_TEXT_MAX);
	return err ? err : copy_beside(w->trace.fd, w->out_fd, STATS_FILE, INPUT_STATS_MAX);
}

/* A killed recorder leaves the snapshots of --interval instead of stats.json. */
static int put_stats(struct repair *w)
{
	static const char part[] = STATS_FILE STATS_PART;
	int fd = w->trace.fd, err;

	if (!faccessat(fd, STATS_FILE, F_OK, AT_SYMLINK_NOFOLLOW) ||
	    faccessat(fd, part, F_OK, AT_SYMLINK_NOFOLLOW))
		return 0;
	err = repair_stats(fd, part, w->out ? w->out_fd : fd, STATS_FILE, "full");
	if (err == -ENODATA)
		log_warn("%s: no whole snapshot: there is no " STATS_FILE, part);
	if (err == -ENODATA)
		err = 0;
	if (!err && !w->out)
		unlinkat(fd, part, 0);
	return err;
}

/* The copy lacks the streams that are left out, which nothing else in it may show. */
static void mark_left_out(struct repair *w)
{
	struct part *p = w->parts;
	char text[WHOLE_TEXT];
	const char *other;

	while (p < w->parts + w->n && !p->meta)
		p++;
	if (!w->out || !w->counts.left_out || p == w->parts + w->n)
		return;
	other = json_string(json_get(p->meta, WHOLE_KEY));
	snprintf(text, sizeof(text), "%llu stream%s could not be read%s%s",
		 (unsigned long long)w->counts.left_out, plural(w->counts.left_out, "", "s"),
		 other ? "; " : "", other ? other : "");
	json_put_string(p->meta, WHOLE_KEY, text);
}

/* Finishes the streams of the copy, once it has all of them: a killed repair leaves no trace that
 * looks whole. */
static int describe_all(struct repair *w)
{
	for (size_t i = 0; w->out && i < w->n; i++) {
		const struct part *p = &w->parts[i];
		int err = p->meta ? stream_describe(w->out_fd, p->path, p->meta) : 0;

		if (err) {
			log_error("cannot write the metadata '%s': %s", p->path, strerror(-err));
			return err;
		}
	}
	return 0;
}

static int write_all_parts(struct repair *w)
{
	int err = create_output(w);

	if (err)
		return err;
	mark_left_out(w);
	for (size_t i = 0; i < w->n; i++) {
		if (!w->parts[i].meta)
			continue;
		err = write_part(w, &w->parts[i]);
		if (err)
			return err;
	}
	err = put_stats(w);
	return err ? err : describe_all(w);
}

/* Closes one stream, once all closing clocks are known. */
static int repair_part(struct repair *w, struct part *p)
{
	struct sink nowhere = {.work = w};
	uint64_t kept;
	int err = copy_events(&nowhere, p, true);

	if (err)
		return err;
	w->counts.streams++;
	p->repair |= p->dropped > 0;
	if (!p->repair)
		return 0;
	complete_metadata(w, p);
	w->counts.repaired++;
	w->counts.bytes_cut += p->size - p->kept;
	w->counts.events_added += p->added_events;
	w->counts.events_dropped += p->dropped;
	kept = p->events - p->dropped;
	log_info("%s: %llu event%s kept, %zu byte%s cut, %llu event%s added to close it", p->path,
		 (unsigned long long)kept, plural(kept, "", "s"), p->size - p->kept,
		 plural(p->size - p->kept, "", "s"), (unsigned long long)p->added_events,
		 plural(p->added_events, "", "s"));
	return 0;
}

static int repair_streams(struct repair *w)
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

int repair_trace(const char *path, const char *out, struct repair_counts *counts)
{
	struct repair w = {.path = path, .out = out, .out_fd = -1, .trace.fd = -1};
	int err = load(&w);

	if (err)
		goto out;
	err = repair_streams(&w);
	if (err)
		goto out;
	err = write_all_parts(&w);
out:
	if (err == -ENOMEM)
		log_no_memory("while repairing %s", path);
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
	*counts = w.counts;
	return err;
}
