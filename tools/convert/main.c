/* SPDX-License-Identifier: MIT */
/*
 * ovni-convert: traces of version 1 to version 3, and old events to present ones.
 *
 *   loom.L/proc.P/metadata.json + thread.T   ──►   loom.L/proc.P/thread.T/stream.{json,obs}
 *
 * A file thread.T has events, with or without the 8-byte header; metadata.json must keep all rules.
 * In: a trace of version 1 (or of version 3, to change its events); out: a new trace of version 3.
 * Events are copied byte for byte. Unknown events are listed, and left out on request; old task
 * events get a body on request.
 * Specification: tools.md 8.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/lib/event_map.h"
#include "tools/lib/mapped_stream.h"
#include "tools/lib/replace_file.h"
#include "trace/base/array.h"
#include "trace/base/build_info.h"
#include "trace/base/cli.h"
#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/catalog/catalog.h"
#include "trace/ovni/job_file.h"
#include "trace/ovni/stack_file.h"
#include "trace/ovni/trace.h"

#define PIECE_BYTES (1 << 20)

struct options {
	const char *path, *out;
	bool drop_unknown, modernise;
};

struct convert {
	const struct options *options;
	int from_fd, out_fd;
	struct event_map *unknown; /* count of each */
	struct whole whole;	   /* of the trace that is converted */
	uint64_t recorded;	   /* events written to streams of a recorder */
	bool marked, counted; /* a stream has the mark, and a session the numbers, of the trace */
	uint64_t streams, events, dropped, modernised, backwards;
};

/* Checked events of one stream that are not written yet. */
struct piece {
	struct convert *convert;
	const char *path;
	struct bytes bytes;
};

#define TO(member) offsetof(struct options, member)

static const struct cli_option cli_options[] = {
	{"output", 'o', "DIR", cli_text, TO(out), "new directory of the trace (TRACE.v3)"},
	{"drop-unknown", 'd', NULL, cli_flag, TO(drop_unknown),
	 "leave out events that no present model knows"},
	{"modernise", 'm', NULL, cli_flag, TO(modernise),
	 "give task events of nosv with 4 bytes of payload the body 0"},
	{0},
};

static const struct cli cli = {
	.name = "ovni-convert",
	.operands = "TRACE",
	.about = "Convert an ovni trace of version 1 to version 3.",
	.options = cli_options,
	.notes = "Examples:\n"
		 "  # byte for byte\n"
		 "  ovni-convert -o new old\n\n"
		 "  # accepted by ovni-emu\n"
		 "  ovni-convert --drop-unknown --modernise old",
};

#define METADATA     "metadata.json"
#define META_VERSION 1

struct v1_process {
	char *loom, *path; /* path: "loom.LOOM/proc.PID" */
	int32_t pid;
	int64_t app_id, rank, nranks; /* rank: -1 if there is none */
	struct json *meta;
	const struct json *cpus; /* in meta, NULL if it does not declare them */
};

struct v1_thread {
	uint32_t process; /* index */
	int32_t tid;
	char *path; /* "loom.LOOM/proc.PID/thread.TID" */
};

struct v1 {
	int fd; /* of the trace */
	struct v1_process *processes;
	struct v1_thread *threads;
	size_t nprocesses, nthreads;
};

/* ---- directories of version 1 ---- */

/* Calls `take` with each name in the directory `path` that starts with `prefix`, in order. Returns
 * 0, the first other result of `take`, or -errno after one message. */
static int each_name(int fd, const char *path, const char *prefix,
		     int (*take)(void *arg, const char *path, const char *name), void *arg)
{
	struct dirent **list;
	int dir = input_open_directory(fd, path), n = -1, result = dir;

	if (dir >= 0) {
		n = scandirat(dir, ".", &list, NULL, alphasort);
		result = n < 0 ? -errno : 0;
		close(dir);
	}
	if (n < 0) {
		log_error("cannot read the directory '%s': %s", path, input_why(result, 0));
		return result;
	}
	for (int i = 0; i < n; i++) {
		if (strncmp(list[i]->d_name, prefix, strlen(prefix)))
			continue;
		result = take(arg, path, list[i]->d_name);
		if (result)
			break;
	}
	for (int i = 0; i < n; i++)
		free(list[i]);
	free(list);
	return result;
}

/* The positive number after the prefix of `name`, or 0. */
static int32_t number_of(const char *name, size_t prefix)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(name + prefix, &end, 10);
	if (errno || end == name + prefix || *end || v <= 0 || v > INT32_MAX || name[prefix] == '+')
		return 0;
	return (int32_t)v;
}

/* Whether a process of the loom has its metadata: 1, 0 or -errno. */
static int process_has_metadata(void *arg, const char *loom, const char *name)
{
	const int *fd = arg;
	char *meta = xasprintf("%s/%s/" METADATA, loom, name);
	struct stat st; /* a link counts: it is refused when it is read */
	int found = -ENOMEM;

	if (meta)
		found = fstatat(*fd, meta, &st, AT_SYMLINK_NOFOLLOW) == 0;
	free(meta);
	return found;
}

static int loom_has_metadata(void *arg, const char *path, const char *name)
{
	const int *fd = arg;
	struct stat st;

	(void)path;
	if (fstatat(*fd, name, &st, 0) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	return each_name(*fd, name, "proc.", process_has_metadata, arg);
}

/* Whether the directory has the layout of version 1 (a loom.* with a proc.* with a metadata.json):
 * 1, 0 or -errno. */
static int v1_looks_like(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), found;

	if (fd < 0)
		return -errno;
	found = each_name(fd, ".", "loom.", loom_has_metadata, &fd);
	close(fd);
	return found;
}

/* ---- metadata of version 1 ---- */

/* Reports a rule that the metadata breaks. */
static int refuse(const struct v1_process *p, const char *what)
{
	log_error("%s/" METADATA ": %s", p->path, what);
	return -EINVAL;
}

/* Checks that each index from 0 to N - 1 occurs once, and that the system's numbers are not
 * negative and differ. */
static int check_cpus(const struct v1_process *p)
{
	size_t n = json_count(p->cpus);

	if (!json_is_array(p->cpus) || n == 0)
		return refuse(p, "cpus must be an array of at least one CPU");
	for (const struct json *a = json_first(p->cpus); a; a = json_next(a)) {
		int64_t index = json_int(json_key(a, "index")),
			phyid = json_int(json_key(a, "phyid"));

		if (!json_is_number(json_key(a, "index")) || !json_is_number(json_key(a, "phyid")))
			return refuse(p, "each of cpus must have an index and a phyid");
		if (index < 0 || (size_t)index >= n || phyid < 0)
			return refuse(
				p,
				"the index of a CPU must be from 0 to N-1, its phyid not below 0");
		for (const struct json *b = json_next(a); b; b = json_next(b))
			if (json_int(json_key(b, "index")) == index ||
			    json_int(json_key(b, "phyid")) == phyid)
				return refuse(p, "two CPUs have the same index or phyid");
	}
	return 0;
}

static int check_process(struct v1_process *p)
{
	const struct json *rank = json_key(p->meta, "rank"), *nranks = json_key(p->meta, "nranks");

	if (!json_is_object(p->meta))
		return refuse(p, "it is not an object");
	if (json_int(json_key(p->meta, "version")) != META_VERSION)
		return refuse(p, "version must be 1");
	p->app_id = json_int(json_key(p->meta, "app_id"));
	if (p->app_id <= 0 || p->app_id > INT32_MAX)
		return refuse(p, "app_id must be a positive number");
	p->rank = -1;
	if (rank) {
		p->rank = json_int(rank);
		p->nranks = json_int(nranks);
		if (!json_is_number(rank) || p->rank < 0 || p->nranks <= p->rank ||
		    p->nranks > INT32_MAX)
			return refuse(p, "rank and nranks must be numbers, 0 <= rank < nranks");
	}
	p->cpus = json_key(p->meta, "cpus");
	return p->cpus ? check_cpus(p) : 0;
}

/* Exactly one process of a loom declares the CPUs; all or none of them have ranks. */
static int check_looms(const struct v1 *v1)
{
	for (size_t i = 0; i < v1->nprocesses; i++) {
		const struct v1_process *p = &v1->processes[i];
		size_t declared = 0;

		for (size_t k = 0; k < v1->nprocesses; k++) {
			const struct v1_process *q = &v1->processes[k];

			if (strcmp(p->loom, q->loom))
				continue;
			declared += q->cpus != NULL;
			if ((p->rank < 0) != (q->rank < 0)) {
				log_error("loom.%s: process %d has a rank and process %d has none",
					  p->loom, p->rank < 0 ? q->pid : p->pid,
					  p->rank < 0 ? p->pid : q->pid);
				return -EINVAL;
			}
		}
		if (declared != 1) {
			log_error(
				"loom.%s: %zu of its processes declare the CPUs; exactly one must",
				p->loom, declared);
			return -EINVAL;
		}
	}
	return 0;
}

/* ---- a trace of version 1 ---- */

/* A thread of the last process. */
static int convert_thread(void *arg, const char *path, const char *name)
{
	struct v1 *v1 = arg;
	struct v1_thread *t = ARRAY_ADD(v1->threads, v1->nthreads);

	if (!t)
		return -ENOMEM;
	*t = (struct v1_thread){.process = (uint32_t)(v1->nprocesses - 1),
				.tid = number_of(name, strlen("thread."))};
	if (!t->tid) {
		log_error("%s/%s: the name must be thread. and a positive number", path, name);
		return -EINVAL;
	}
	t->path = xasprintf("%s/%s", path, name);
	return t->path ? 0 : -ENOMEM;
}

static int convert_process(void *arg, const char *loom, const char *name)
{
	struct v1 *v1 = arg;
	struct v1_process *p = ARRAY_ADD(v1->processes, v1->nprocesses);
	char *meta;
	int err;

	if (!p)
		return -ENOMEM;
	*p = (struct v1_process){.pid = number_of(name, strlen("proc."))};
	p->loom = strdup(loom + strlen("loom."));
	p->path = xasprintf("%s/%s", loom, name);
	if (!p->loom || !p->path)
		return -ENOMEM;
	if (!p->pid) {
		log_error("%s: the name must be proc. and a positive number", p->path);
		return -EINVAL;
	}
	meta = xasprintf("%s/" METADATA, p->path);
	if (!meta)
		return -ENOMEM;
	p->meta = json_load(v1->fd, meta);
	free(meta);
	err = p->meta ? check_process(p) : -EINVAL;
	return err ? err : each_name(v1->fd, p->path, "thread.", convert_thread, v1);
}

static int convert_loom(void *arg, const char *path, const char *name)
{
	struct v1 *v1 = arg;

	(void)path;
	return each_name(v1->fd, name, "proc.", convert_process, v1);
}

/* Opens and checks. Returns 0, or -errno after one message. v1_close() must follow. */
static int v1_open(struct v1 *v1, const char *path)
{
	int err;

	memset(v1, 0, sizeof(*v1));
	v1->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (v1->fd < 0) {
		err = -errno;
		log_error("cannot open '%s': %s", path, strerror(-err));
		return err;
	}
	err = each_name(v1->fd, ".", "loom.", convert_loom, v1);
	return err ? err : check_looms(v1);
}

static void v1_close(struct v1 *v1)
{
	for (size_t i = 0; i < v1->nprocesses; i++) {
		free(v1->processes[i].loom);
		free(v1->processes[i].path);
		json_free(v1->processes[i].meta);
	}
	for (size_t i = 0; i < v1->nthreads; i++)
		free(v1->threads[i].path);
	free(v1->processes);
	free(v1->threads);
	if (v1->fd >= 0)
		close(v1->fd);
	memset(v1, 0, sizeof(*v1));
	v1->fd = -1;
}

/* ---- metadata of version 3 ---- */

/* The stream.json of version 3 of a thread, without the models that its events need. The caller
 * frees it. */
static struct json *v1_describe(const struct v1 *v1, const struct v1_thread *thread)
{
	const struct v1_process *p = &v1->processes[thread->process];
	struct json *doc = json_new_object(), *cpus;

	json_put_int(doc, "version", 3);
	json_put_string(doc, "ovni.lib.version", version_string);
	json_put_string(doc, "ovni.lib.commit", "converted from version 1");
	json_put_string(doc, "ovni.part", "thread");
	json_put_int(doc, "ovni.tid", thread->tid);
	json_put_int(doc, "ovni.pid", p->pid);
	json_put_string(doc, "ovni.loom", p->loom);
	json_put_int(doc, "ovni.app_id", p->app_id);
	if (p->rank >= 0) {
		json_put_int(doc, "ovni.rank", p->rank);
		json_put_int(doc, "ovni.nranks", p->nranks);
	}
	cpus = p->cpus ? json_put_array(doc, "ovni.loom_cpus") : NULL;
	for (const struct json *node = json_first(p->cpus); node; node = json_next(node)) {
		struct json *cpu = json_put_object(cpus, NULL);

		json_put_int(cpu, "index", json_int(json_key(node, "index")));
		json_put_int(cpu, "phyid", json_int(json_key(node, "phyid")));
	}
	json_put_object(doc, "ovni.require");
	json_put_int(doc, "ovni.finished", 1);
	return doc;
}

/* ---- events ---- */

static int flush(struct piece *piece)
{
	struct bytes *bytes = &piece->bytes;
	int err = 0;

	if (bytes->size)
		err = stream_append(piece->convert->out_fd, piece->path, bytes->data, bytes->size);
	if (err)
		log_error("cannot write '%s': %s", piece->path, strerror(-err));
	bytes->size = 0;
	return err;
}

static int put(struct piece *piece, const void *bytes, size_t size)
{
	int err = 0;

	if (piece->bytes.size + size > PIECE_BYTES)
		err = flush(piece);
	if (err)
		return err;
	bytes_put(&piece->bytes, bytes, size);
	return piece->bytes.failed ? -ENOMEM : 0;
}

/* Events of a task body (execute, pause, resume, end) from before nosv had bodies. */
static bool lacks_body(const struct event *ev)
{
	return ev->model == 'V' && ev->category == 'T' && !ev->jumbo && ev->payload_size == 4 &&
	       (ev->value == 'x' || ev->value == 'p' || ev->value == 'r' || ev->value == 'e');
}

static int put_event(struct piece *piece, const uint8_t *at, const struct event *ev)
{
	struct convert *c = piece->convert;
	uint8_t modern[EVENT_HEADER_SIZE + 8];

	if (!catalog_find(event_mcv(ev), NULL)) {
		uint64_t *count = event_map_word(c->unknown, event_mcv(ev));

		if (count)
			++*count;
		if (c->options->drop_unknown) {
			c->dropped++;
			return 0;
		}
	}
	if (c->options->modernise && lacks_body(ev)) {
		memcpy(modern, at, EVENT_HEADER_SIZE + 4);
		memset(modern + EVENT_HEADER_SIZE + 4, 0, 4);
		modern[0] = (uint8_t)((modern[0] & 0xf0) | 7);
		c->modernised++;
		return put(piece, modern, sizeof(modern));
	}
	return put(piece, at, ev->size);
}

/* Copies all events at [at, end); sets a bit of `models` for each model of them. *ended: there are
 * events, and the thread does not execute at the end. */
static int copy_events(struct convert *c, const char *path, const uint8_t *start, const uint8_t *at,
		       const uint8_t *end, uint64_t models[4], bool *ended)
{
	struct piece piece = {.convert = c, .path = path};
	struct event ev;
	int64_t last = INT64_MIN;
	bool executes = false;
	ssize_t n;
	int err;

	while ((n = event_decode(&ev, at, end)) > 0 && !event_is_zeros(at)) {
		models[ev.model >> 6] |= 1ull << (ev.model & 63);
		if (ev.clock < last)
			c->backwards++;
		last = ev.clock;
		if (ev.model == 'O' && ev.category == 'H' && (ev.value == 'x' || ev.value == 'e'))
			executes = ev.value == 'x';
		c->events++;
		err = put_event(&piece, at, &ev);
		if (err)
			goto out;
		at += n;
	}
	if (at != end) {
		log_error("%s: no whole event at byte %zu; a conversion would lose the rest", path,
			  (size_t)(at - start));
		err = -EBADMSG;
		goto out;
	}
	*ended = last != INT64_MIN && !executes;
	err = flush(&piece);
out:
	bytes_free(&piece.bytes);
	return err;
}

/* ---- files ---- */

/* The byte after the header of a stream, which a file of version 1 may have. */
static int after_header(const struct mapped_stream *file, const char *path, size_t *start)
{
	*start = 0;
	if (file->size < 4 || memcmp(file->base, STREAM_MAGIC, 4))
		return 0; /* no event begins like a header */
	if (file->size < STREAM_HEADER_SIZE || get_u32(file->base + 4) != STREAM_VERSION) {
		log_error("%s: its header is cut or has another version than %d", path,
			  STREAM_VERSION);
		return -EBADMSG;
	}
	*start = STREAM_HEADER_SIZE;
	return 0;
}

static int copy_file(struct convert *c, const char *path, const char *data,
		     const struct mapped_stream *file, size_t start, uint64_t models[4],
		     bool *ended)
{
	int err;

	*ended = false;
	if (!file->size)
		return 0;
	if (file->size < start)
		start = file->size;
	err = copy_events(c, path, file->base, file->base + start, file->base + file->size, models,
			  ended);
	if (err)
		return err;
	if (!mapped_stream_sound(file)) {
		log_error("%s: the file became shorter while it was read", data);
		return -EIO;
	}
	return 0;
}

/* Writes one stream, which is not finished until describe(). With `v1` the file is one of version
 * 1, and the models of its events go to its metadata. */
static int write_stream(struct convert *c, const char *path, const char *data, bool v1,
			struct json *meta)
{
	uint64_t models[4] = {['O' >> 6] = 1ull << ('O' & 63)}; /* required without events, too */
	struct mapped_stream file;
	size_t start = STREAM_HEADER_SIZE;
	int64_t finished = json_int(json_get(meta, "ovni.finished"));
	bool ended;
	int err = mapped_file_open(&file, c->from_fd, data);

	if (err)
		goto out;
	if (v1)
		err = after_header(&file, data, &start);
	if (err)
		goto out;
	json_put_int(meta, "ovni.finished", 0);
	err = stream_create(c->out_fd, path, meta);
	if (err) {
		log_error("cannot create the stream '%s': %s", path, strerror(-err));
		goto out;
	}
	err = copy_file(c, path, data, &file, start, models, &ended);
	if (err)
		goto out;
	json_put_int(meta, "ovni.finished", finished);
	if (v1) {
		catalog_require(meta, models);
		c->whole.streams++;
		c->whole.unfinished += !ended;
	}
out:
	mapped_stream_close(&file);
	c->streams += !err;
	return err;
}

/* Writes the metadata of a stream that has all of its events. The first one has the mark of an
 * incomplete trace, so the whole trace was read before. */
static int describe(struct convert *c, const char *path, struct json *meta)
{
	struct whole rest = c->whole;
	bool counted = json_is_object(json_get(meta, "bpf.session.counts"));
	int err;

	rest.lost = 0; /* its session has that */
	whole_leave_files(meta);
	if (!c->marked) {
		whole_mark(meta, &rest);
		whole_count_stacks(meta, c->out_fd);
	}
	c->marked = true;
	if (counted) { /* other sessions get the numbers of no stream */
		json_put_u64(meta, "bpf.session.streams", c->counted ? 0 : c->whole.recorded);
		json_put_u64(meta, "bpf.session.counts.events", c->counted ? 0 : c->recorded);
	}
	c->counted |= counted;
	err = whole_describe(meta, c->out_fd, path);
	if (err)
		goto out;
	err = stream_describe(c->out_fd, path, meta);
out:
	if (err)
		log_error("cannot write the metadata '%s': %s", path, strerror(-err));
	return err;
}

/* Version 1 does not say whether a stream is complete; a thread that executes at the end, or has no
 * event, was killed. */
static int convert_v1(struct convert *c)
{
	struct json **metas = NULL;
	struct v1 v1;
	int err = v1_open(&v1, c->options->path);

	if (err)
		goto out;
	metas = calloc(v1.nthreads + 1, sizeof(struct json *));
	if (!metas) {
		err = -ENOMEM;
		goto out;
	}
	c->from_fd = v1.fd;
	for (size_t i = 0; i < v1.nthreads; i++) {
		const char *path = v1.threads[i].path;

		metas[i] = v1_describe(&v1, &v1.threads[i]);
		err = write_stream(c, path, path, true, metas[i]);
		if (err)
			goto out;
	}
	for (size_t i = 0; i < v1.nthreads; i++) {
		err = describe(c, v1.threads[i].path, metas[i]);
		if (err)
			goto out;
	}
out:
	for (size_t i = 0; metas && i < v1.nthreads; i++)
		json_free(metas[i]);
	free(metas);
	v1_close(&v1);
	return err;
}

static int convert_v3_stream(struct convert *c, const struct trace *trace, size_t i)
{
	const char *path = trace->streams[i];
	struct json *meta = trace_metadata(trace, i);
	struct stream stream = {0};
	uint64_t before = c->events - c->dropped;
	char *data = NULL;
	int err;

	if (!meta)
		return -EINVAL;
	err = stream_open(&stream, trace->fd, path);
	if (!err)
		whole_take(&c->whole, trace->fd, path, meta, &stream, false);
	stream_close(&stream); /* its header is checked */
	if (err)
		goto out;
	data = xasprintf("%s%s" STREAM_DATA, path, *path ? "/" : "");
	err = data ? write_stream(c, path, data, false, meta) : -ENOMEM;
	if (json_get(meta, "bpf.events"))
		c->recorded += c->events - c->dropped - before;
out:
	free(data);
	json_free(meta);
	return err;
}

static int describe_v3_stream(struct convert *c, const struct trace *trace, size_t i)
{
	struct json *meta = trace_metadata(trace, i);
	int err = meta ? describe(c, trace->streams[i], meta) : -EINVAL;

	json_free(meta);
	return err;
}

static int convert_v3(struct convert *c)
{
	const struct options *options = c->options;
	struct trace trace;
	int err = trace_open(&trace, options->path);

	if (err)
		return err;
	c->from_fd = trace.fd;
	if (!trace.nstreams) {
		log_error("%s: not a trace of version 1 or 3", options->path);
		err = -ENOENT;
		goto out;
	}
	if (!options->drop_unknown && !options->modernise) {
		log_error("%s: has version 3 already; --drop-unknown and --modernise can change "
			  "its events",
			  options->path);
		err = -EINVAL;
		goto out;
	}
	for (size_t i = 0; i < trace.nstreams; i++) {
		err = convert_v3_stream(c, &trace, i);
		if (err)
			goto out;
	}
	for (size_t i = 0; i < trace.nstreams; i++) {
		err = describe_v3_stream(c, &trace, i);
		if (err)
			goto out;
	}
out:
	trace_close(&trace);
	return err;
}

/* Copies the offsets between the clocks of hosts, and the stacks, which belong to the trace. */
static int copy_files(struct convert *c)
{
	int dir = open(c->options->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (dir < 0)
		return -errno;
	err = copy_beside(dir, c->out_fd, "clock-offsets.txt", INPUT_TEXT_MAX);
	err = err ? err : job_copy_points(dir, c->out_fd);
	err = err ? err : copy_beside(dir, c->out_fd, STACK_FILE, INPUT_TEXT_MAX);
	close(dir);
	return err;
}

static void report_unknown(const struct convert *c, uint32_t mcv, uint64_t count)
{
	const char *outcome = "kept; ovni-emu will refuse them";

	if (!count)
		return;
	if (c->options->drop_unknown)
		outcome = "left out";
	log_warn("%c%c%c: no present model knows this event; %llu %s", (int)(mcv >> 16),
		 (int)(mcv >> 8 & 0xff), (int)(mcv & 0xff), (unsigned long long)count, outcome);
}

static void report(const struct convert *c)
{
	for (uint32_t i = 0; i < 1 << 16; i++)
		for (uint32_t j = 0; c->unknown->leaf[i] && j < 256; j++)
			report_unknown(c, i << 8 | j, c->unknown->leaf[i][j]);
	if (c->backwards)
		log_warn("%llu event%s an earlier clock than the one before; ovni-sort can sort "
			 "them",
			 (unsigned long long)c->backwards, plural(c->backwards, " has", "s have"));
	log_info("%s: %llu stream%s, %llu event%s, %llu left out, %llu given a body",
		 c->options->out, (unsigned long long)c->streams, plural(c->streams, "", "s"),
		 (unsigned long long)c->events, plural(c->events, "", "s"),
		 (unsigned long long)c->dropped, (unsigned long long)c->modernised);
}

static int run(struct convert *c)
{
	int old = v1_looks_like(c->options->path), err;

	if (old < 0) {
		log_error("cannot open '%s': %s", c->options->path, strerror(-old));
		return old;
	}
	c->unknown = calloc(1, sizeof(*c->unknown));
	if (!c->unknown)
		return -ENOMEM;
	c->out_fd = output_create(c->options->out);
	if (c->out_fd < 0)
		return c->out_fd;
	err = copy_files(c); /* the metadata say how large they are */
	if (err)
		goto out;
	err = old ? convert_v1(c) : convert_v3(c);
	if (err)
		goto out;
	report(c);
out:
	close(c->out_fd);
	return err;
}

int main(int argc, char **argv)
{
	struct options options = {0};
	struct convert convert = {.options = &options};
	enum status status;
	char *out;
	int err;

	options.path = cli_parse(&cli, argc, argv, &options)[0];
	options.out = out = output_path(options.out, options.path, ".v3");
	if (!out)
		return STATUS_FAILED;
	err = run(&convert);
	if (err == -ENOMEM)
		log_no_memory("while converting %s", options.path);
	status = err ? STATUS_FAILED : STATUS_COMPLETE;
	if (!err && convert.whole.streams)
		status = whole_report(&convert.whole, options.path);
	event_map_free(convert.unknown);
	free(out);
	return status;
}
