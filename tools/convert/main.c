/* SPDX-License-Identifier: MIT */
/*
 * ovni-convert: traces of version 1 to version 3, and old events to present ones.
 *
 *   loom.L/proc.P/metadata.json + thread.T   ──►   loom.L/proc.P/thread.T/stream.{json,obs}
 *
 * In: a trace of version 1 (or of version 3, to change its events); out: a new trace of version 3.
 * Events are copied byte for byte. Unknown events are listed, and left out on request; old task
 * events get a body on request.
 * Specification: tools.md 8.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/lib/event_map.h"
#include "tools/lib/replace_file.h"
#include "tools/convert/v1.h"
#include "trace/catalog/catalog.h"
#include "trace/ovni/guard.h"
#include "trace/base/cli.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
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
	uint64_t streams, events, dropped, modernised, backwards;
};

/* Checked events of one stream that are not written yet. */
struct piece {
	struct convert *convert;
	const char *path;
	uint8_t *bytes;
	size_t size, room;
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

/* ---- events ---- */

static int flush(struct piece *piece)
{
	int err;

	if (!piece->size)
		return 0;
	err = stream_append(piece->convert->out_fd, piece->path, piece->bytes, piece->size);
	if (err)
		log_error("%s: cannot write: %s", piece->path, strerror(-err));
	piece->size = 0;
	return err;
}

static int put(struct piece *piece, const void *bytes, size_t size)
{
	int err = 0;

	if (piece->size && piece->size + size > PIECE_BYTES)
		err = flush(piece);
	if (err)
		return err;
	if (size > piece->room) {
		size_t room = size > PIECE_BYTES ? size : PIECE_BYTES;
		uint8_t *grown = realloc(piece->bytes, room);

		if (!grown)
			return -ENOMEM;
		piece->bytes = grown;
		piece->room = room;
	}
	memcpy(piece->bytes + piece->size, bytes, size);
	piece->size += size;
	return 0;
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

/* Copies all events at [at, end); sets a bit of `models` for each model of them. */
static int copy_events(struct convert *c, const char *path, const uint8_t *start, const uint8_t *at,
		       const uint8_t *end, uint64_t models[4])
{
	struct piece piece = {.convert = c, .path = path};
	struct event ev;
	int64_t last = INT64_MIN;
	ssize_t n;
	int err;

	while ((n = event_decode(&ev, at, end)) > 0) {
		models[ev.model >> 6] |= 1ull << (ev.model & 63);
		if (ev.clock < last)
			c->backwards++;
		last = ev.clock;
		c->events++;
		err = put_event(&piece, at, &ev);
		if (err)
			goto out;
		at += n;
	}
	if (at != end) {
		log_error("%s: ends inside the event at byte %zu; a conversion would lose it", path,
			  (size_t)(at - start));
		err = -EBADMSG;
		goto out;
	}
	err = flush(&piece);
out:
	free(piece.bytes);
	return err;
}

/* ---- files ---- */

struct file {
	const uint8_t *base;
	size_t size;
	struct guard *guard;
};

static int map_fd(struct file *file, int fd)
{
	struct stat st;
	void *base;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (!st.st_size)
		return 0;
	base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	file->guard = guard_add(base, (size_t)st.st_size);
	if (!file->guard) {
		munmap(base, (size_t)st.st_size);
		return -ENOMEM;
	}
	file->base = base;
	file->size = (size_t)st.st_size;
	return 0;
}

static int map_file(struct file *file, int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int err = fd < 0 ? -errno : 0;

	memset(file, 0, sizeof(*file));
	if (!err)
		err = map_fd(file, fd);
	if (err)
		log_error("cannot read '%s': %s", path, strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

static void unmap_file(struct file *file)
{
	if (!file->base)
		return;
	guard_remove(file->guard);
	munmap((void *)file->base, file->size);
}

/* The byte after the header of a stream, which a file of version 1 may have. */
static int after_header(const struct file *file, const char *path, size_t *start)
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

static int require_models(struct json *meta, const uint64_t models[4])
{
	const struct json *require = json_get(meta, "ovni.require");

	for (const struct catalog_model *const *m = catalog_models; (*m)->name; m++) {
		uint8_t c = (uint8_t)(*m)->character;
		char key[64];

		if (c != 'O' && !(models[c >> 6] >> (c & 63) & 1))
			continue;
		snprintf(key, sizeof(key), "ovni.require.%s", (*m)->name);
		if (!json_key(require, (*m)->name) && !json_put_string(meta, key, (*m)->version))
			return -ENOMEM;
	}
	return 0;
}

static int copy_file(struct convert *c, const char *path, const char *data, const struct file *file,
		     size_t start, uint64_t models[4])
{
	int err;

	if (!file->size)
		return 0;
	if (file->size < start)
		start = file->size;
	err = copy_events(c, path, file->base, file->base + start, file->base + file->size, models);
	if (err)
		return err;
	if (guard_hit(file->guard)) {
		log_error("%s: the file became shorter while it was read", data);
		return -EIO;
	}
	return 0;
}

/* Writes one stream, and its metadata again at the end: only then it is finished, and its models
 * are known. With `v1` the file is one of version 1. */
static int write_stream(struct convert *c, const char *path, const char *data, bool v1,
			struct json *meta)
{
	uint64_t models[4] = {0};
	struct file file;
	size_t start = STREAM_HEADER_SIZE;
	bool finished = json_number(json_get(meta, "ovni.finished")) == 1;
	int err = map_file(&file, c->from_fd, data);

	if (err)
		goto out;
	if (v1)
		err = after_header(&file, data, &start);
	if (err)
		goto out;
	if (finished && !json_put_int(meta, "ovni.finished", 0)) {
		err = -ENOMEM;
		goto out;
	}
	err = stream_create(c->out_fd, path, meta);
	if (err) {
		log_error("cannot create the stream '%s': %s", path, strerror(-err));
		goto out;
	}
	err = copy_file(c, path, data, &file, start, models);
	if (err)
		goto out;
	if (v1)
		err = require_models(meta, models);
	if (!err && finished && !json_put_int(meta, "ovni.finished", 1))
		err = -ENOMEM;
	if (err)
		goto out;
	err = stream_describe(c->out_fd, path, meta);
out:
	unmap_file(&file);
	c->streams += !err;
	return err;
}

static int convert_v1(struct convert *c)
{
	struct v1 v1;
	int err = v1_open(&v1, c->options->path);

	if (err)
		goto out;
	c->from_fd = v1.fd;
	for (size_t i = 0; i < v1.nthreads; i++) {
		const char *path = v1.threads[i].path;
		struct json *meta = v1_describe(&v1, &v1.threads[i]);

		err = meta ? write_stream(c, path, path, true, meta) : -ENOMEM;
		json_free(meta);
		if (err)
			goto out;
	}
out:
	v1_close(&v1);
	return err;
}

static int convert_v3_stream(struct convert *c, const struct trace *trace, size_t i)
{
	const char *path = trace->streams[i];
	struct json *meta = trace_metadata(trace, i);
	struct stream stream = {0};
	char *data = NULL;
	int err;

	if (!meta)
		return -EINVAL;
	err = stream_open(&stream, trace->fd, path);
	stream_close(&stream); /* its header is checked */
	if (err)
		goto out;
	data = xasprintf("%s%s" STREAM_DATA, path, *path ? "/" : "");
	err = data ? write_stream(c, path, data, false, meta) : -ENOMEM;
out:
	free(data);
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
out:
	trace_close(&trace);
	return err;
}

/* Copies the offsets between the clocks of hosts, which belong to the trace. */
static int take_offsets(struct convert *c)
{
	int dir = open(c->options->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (dir < 0)
		return -errno;
	err = copy_offsets(dir, c->out_fd);
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
	if (mkdir(c->options->out, 0777) < 0) {
		err = -errno;
		log_error("cannot create '%s': %s", c->options->out, strerror(-err));
		return err;
	}
	c->out_fd = open(c->options->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->out_fd < 0)
		return -errno;
	err = old ? convert_v1(c) : convert_v3(c);
	if (err)
		goto out;
	err = take_offsets(c);
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
	char *out = NULL;
	int err;

	options.path = cli_parse(&cli, argc, argv, &options)[0];
	if (!options.out) {
		options.out = out = path_with_suffix(options.path, ".v3");
		if (!out) {
			log_lack("for the name of the output");
			return STATUS_FAILED;
		}
	}
	err = run(&convert);
	if (err == -ENOMEM)
		log_no_memory("while converting %s", options.path);
	event_map_free(convert.unknown);
	free(out);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
