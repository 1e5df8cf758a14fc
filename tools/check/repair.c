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
#include "trace/ovni/trace_input.h"
#include "trace/states/open_regions.h"
#include "trace/states/state_walk.h"
#include "trace/base/log.h"
#include "trace/base/build_info.h"

#define COPY_BYTES (1 << 20)
#define CPUS_MOST  65536 /* indices above are no CPUs but damage */

struct part { /* one stream */
	const char *path;
	struct json *meta; /* NULL: unreadable, left out */
	struct owner owner;
	struct open_regions regions; /* as it stands at the end of what can be kept */
	size_t size, kept;	     /* bytes of the file, and of what stays */
	uint64_t events;
	int64_t first, last; /* clocks */
	bool mend;
	int64_t closed_at;  /* clock of its last event, if it is closed here */
	uint64_t models[4]; /* a bit for each character that its events have */
	uint8_t *added;	    /* events that close it */
	size_t added_size;
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

/* ---- looking ---- */

static int look(struct work *w, struct part *p)
{
	struct mapped_stream image;
	int err = mapped_stream_open(&image, w->trace.fd, p->path);

	if (err == -EBADMSG) { /* shorter than its header: nothing was written yet */
		p->mend = true;
		return 0;
	}
	if (err)
		return err;
	p->size = image.size;
	if (memcmp(image.base, STREAM_MAGIC, 4)) {
		log_error("%s: its " STREAM_DATA " is not a stream", p->path);
		mapped_stream_close(&image);
		return -EBADMSG;
	}
	p->kept = STREAM_HEADER_SIZE;
	while (mapped_stream_step(&image) > 0) {
		enum event_fault result;

		/* after a crash of the machine a file may end in what was never written */
		if (!p->owner.finished && !catalog_find(event_mcv(&image.ev), NULL))
			break;
		result = open_regions_step(&p->regions, &image.ev);
		if (result == FAULT_NOMEM) {
			err = -ENOMEM;
			break;
		}
		if (!p->events++)
			p->first = image.ev.clock;
		p->last = image.ev.clock;
		p->models[image.ev.model >> 6] |= 1ull << (image.ev.model & 63);
		p->kept = (size_t)(image.at - image.base);
		if (p->regions.thread.cpu > w->highest_cpu && p->regions.thread.cpu < CPUS_MOST)
			w->highest_cpu = p->regions.thread.cpu;
	}
	p->mend = p->kept != p->size || !p->owner.finished;
	mapped_stream_close(&image);
	return err;
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

		p->path = w->trace.streams[i];
		p->regions.thread.cpu = CPU_NONE;
		p->meta = trace_metadata(&w->trace, i);
		err = p->meta ? owner_init(&p->owner, p->meta) : -EINVAL;
		if (!err && (!p->owner.loom || p->owner.pid <= 0 || p->owner.tid <= 0)) {
			log_error("%s: its metadata does not tell whose stream it is", p->path);
			err = -EINVAL;
		}
		if (!err)
			err = look(w, p);
		if (err == -ENOMEM)
			return err;
		if (err) {
			log_warn("%s: nothing of it can be saved; it is left out", p->path);
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
	uint8_t *grown = realloc(p->added, p->added_size + EVENT_SIZE_MAX);

	if (!grown)
		return -ENOMEM;
	p->added = grown;
	p->added_size += event_encode(p->added + p->added_size, mcv, p->last, payload, size);
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
	int err = 0;

	if (!p->events)
		p->last = w->first;
	if (p->regions.thread.state == THREAD_STATE_UNKNOWN) {
		/* a thread that never ran: a stream must end dead, and dead is only who lived */
		err = add_event(p, MCV('O', 'H', 'x'), &begin, sizeof(begin));
		p->regions.thread.state = THREAD_STATE_RUNNING;
		p->regions.thread.cpu = CPU_VIRTUAL;
	}
	if (!err && (p->regions.thread.state != THREAD_STATE_DEAD || p->regions.thread.out))
		err = open_regions_close(&p->regions, add_event, p);
	p->closed_at = p->last;
	return err;
}

/* ---- metadata ---- */

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static bool put_cpus(struct work *w, struct part *p)
{
	struct json *list = json_put_array(p->meta, "ovni.loom_cpus");
	bool ok = list;

	for (int32_t i = 0; ok && i <= w->highest_cpu; i++) {
		struct json *cpu = json_put_object(list, NULL);

		ok = cpu && json_put_int(cpu, "index", i) && json_put_int(cpu, "phyid", i);
	}
	return ok && json_put_bool(p->meta, "bpf.recovered.cpus_invented", true);
}

/* What only the end of a program writes: the CPUs of a loom, the application of a process. */
static bool complete(struct work *w, size_t i)
{
	struct part *p = &w->parts[i];
	bool cpus = false, app = false, ok = true;

	for (size_t k = 0; k < w->n; k++) {
		struct part *q = &w->parts[k];

		if (!q->meta || !same_text(q->owner.loom, p->owner.loom))
			continue;
		cpus |= json_count(json_get(q->meta, "ovni.loom_cpus")) > 0;
		app |= q->owner.pid == p->owner.pid && q->owner.app_id > 0;
	}
	if (!cpus)
		ok = put_cpus(w, p);
	if (!app) {
		ok = ok && json_put_int(p->meta, "ovni.app_id", 1);
		p->owner.app_id = 1;
	}
	return ok;
}

static bool describe(struct work *w, size_t i)
{
	struct part *p = &w->parts[i];
	const struct json *require = json_get(p->meta, "ovni.require");
	bool ok = complete(w, i);

	for (const struct catalog_model *const *m = catalog_models; ok && (*m)->name; m++) {
		uint8_t c = (uint8_t)(*m)->character;
		char key[64];

		if (!(p->models[c >> 6] >> (c & 63) & 1) || json_key(require, (*m)->name))
			continue;
		snprintf(key, sizeof(key), "ovni.require.%s", (*m)->name);
		ok = json_put_string(p->meta, key, (*m)->version);
	}
	if (!json_is_string(json_get(p->meta, "ovni.lib.version")))
		ok = ok && json_put_string(p->meta, "ovni.lib.version", "unknown");
	if (!json_is_string(json_get(p->meta, "ovni.lib.commit")))
		ok = ok && json_put_string(p->meta, "ovni.lib.commit", "unknown");
	return ok && json_put_string(p->meta, "bpf.recovered.by", version_string) &&
	       json_put_u64(p->meta, "bpf.recovered.added", p->added_events) &&
	       json_put_u64(p->meta, "bpf.recovered.dropped", p->dropped) &&
	       json_put_u64(p->meta, "bpf.recovered.cut_bytes", p->size - p->kept) &&
	       json_put_string(p->meta, "bpf.recovered.note",
			       "closed after a crash; what came later is not in it") &&
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
	int err = 0;

	if (sink->in_place)
		return write_all(sink->replacement.fd, bytes, size);
	while (size && !err) {
		size_t n = size < COPY_BYTES ? size : COPY_BYTES;

		/* pieces need not be whole events here: all of it or nothing is kept */
		err = stream_append(sink->work->out_fd, sink->part->path, bytes, n);
		bytes += n;
		size -= n;
	}
	return err;
}

/* True for an OAr to a thread that a repair has closed by then: the emulator refuses it. */
static bool moves_the_dead(const struct work *w, const struct part *p, const struct event *ev)
{
	if (event_mcv(ev) != MCV('O', 'A', 'r') || ev->payload_size < 8)
		return false;
	for (size_t i = 0; i < w->n; i++) {
		const struct part *q = &w->parts[i];

		if (q->meta && q->mend && q->owner.tid == get_i32(ev->payload + 4) &&
		    same_text(q->owner.loom, p->owner.loom))
			return ev->clock >= q->closed_at;
	}
	return false;
}

static int copy_events(struct sink *sink, struct part *p, bool count_only)
{
	struct mapped_stream image;
	size_t from = STREAM_HEADER_SIZE;
	int err = 0;

	if (p->kept <= STREAM_HEADER_SIZE)
		return 0;
	err = mapped_stream_open(&image, sink->work->trace.fd, p->path);
	if (err)
		return err;
	while (!err && (size_t)(image.at - image.base) < p->kept &&
	       mapped_stream_step(&image) > 0) {
		if (!moves_the_dead(sink->work, p, &image.ev))
			continue;
		if (count_only)
			p->dropped++;
		else
			err = sink_put(sink, image.base + from,
				       mapped_stream_offset(&image) - from);
		from = (size_t)(image.at - image.base);
	}
	if (!err && !count_only)
		err = sink_put(sink, image.base + from, p->kept - from);
	if (!err && !mapped_stream_sound(&image))
		err = -EIO;
	mapped_stream_close(&image);
	return err;
}

static int write_part(struct work *w, struct part *p)
{
	static const uint32_t version = STREAM_VERSION;
	struct sink sink = {.work = w, .part = p, .in_place = !w->repair->out};
	uint8_t header[STREAM_HEADER_SIZE] = STREAM_MAGIC;
	int err;

	memcpy(header + strlen(STREAM_MAGIC), &version, sizeof(version));
	if (sink.in_place) {
		if (!p->mend)
			return 0;
		err = replace_file_start(&sink.replacement, w->trace.fd, p->path, STREAM_DATA);
		err = err ? err : sink_put(&sink, header, sizeof(header));
	} else {
		err = stream_create(w->out_fd, p->path, p->meta);
	}
	if (!err)
		err = copy_events(&sink, p, false);
	if (!err && p->added_size)
		err = sink_put(&sink, p->added, p->added_size);
	if (sink.in_place && !err)
		err = replace_file_finish(&sink.replacement, false);
	replace_file_abandon(&sink.replacement);
	/* last of all: only now is it finished */
	if (!err && sink.in_place)
		err = stream_describe(w->trace.fd, p->path, p->meta);
	if (err)
		log_error("%s: cannot write the mended stream: %s", p->path, strerror(-err));
	return err;
}

static int write_all_parts(struct work *w)
{
	int err = 0;

	if (w->repair->out) {
		if (mkdir(w->repair->out, 0777) < 0) {
			err = -errno;
			log_error("%s: cannot make it: %s", w->repair->out, strerror(-err));
			return err;
		}
		w->out_fd = open(w->repair->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = w->out_fd < 0 ? -errno : copy_offsets(w->trace.fd, w->out_fd);
	}
	for (size_t i = 0; i < w->n && !err; i++)
		if (w->parts[i].meta)
			err = write_part(w, &w->parts[i]);
	return err;
}

static int mend(struct work *w)
{
	struct sink nowhere = {.work = w};
	int err = 0;

	for (size_t i = 0; i < w->n && !err; i++)
		if (w->parts[i].meta && w->parts[i].mend)
			err = close_part(w, &w->parts[i]);
	for (size_t i = 0; i < w->n && !err; i++) {
		struct part *p = &w->parts[i];

		if (!p->meta)
			continue;
		err = copy_events(&nowhere, p, true);
		p->mend |= p->dropped > 0;
		w->repair->streams++;
		if (!p->mend || err)
			continue;
		if (!describe(w, i))
			err = -ENOMEM;
		w->repair->mended++;
		w->repair->bytes_cut += p->size - p->kept;
		w->repair->events_added += p->added_events;
		w->repair->events_dropped += p->dropped;
		log_info("%s: %llu events kept, %zu bytes cut, %llu events added to close it",
			 p->path, (unsigned long long)(p->events - p->dropped), p->size - p->kept,
			 (unsigned long long)p->added_events);
	}
	return err;
}

int repair_run(struct repair *repair)
{
	struct work w = {.repair = repair, .out_fd = -1, .trace.fd = -1};
	int err = load(&w);

	if (!err)
		err = mend(&w);
	if (err == -ENOMEM)
		log_error("%s: no memory to mend it", repair->trace);
	if (!err)
		err = write_all_parts(&w);
	for (size_t i = 0; w.parts && i < w.n; i++) {
		json_free(w.parts[i].meta);
		owner_fini(&w.parts[i].owner);
		open_regions_fini(&w.parts[i].regions);
		free(w.parts[i].added);
	}
	free(w.parts);
	if (w.out_fd >= 0)
		close(w.out_fd);
	trace_close(&w.trace);
	return err;
}
