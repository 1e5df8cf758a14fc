/* SPDX-License-Identifier: MIT */
/*
 * ovni-convert: traces of version 1 to version 3, and old events to those of today.
 *
 *   loom.L/proc.P/metadata.json + thread.T   ──►   loom.L/proc.P/thread.T/stream.{json,obs}
 *
 * In: a trace of version 1 (or, to mend its events, of version 3); out: a new trace of version
 * 3. Events are copied byte for byte. Those that no model of today knows are listed; they are
 * left out only if asked, and old task events are given their body only if asked.
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
#include "tools/lib/usage.h"
#include "tools/convert/v1.h"
#include "trace/catalog/catalog.h"
#include "trace/ovni/guard.h"
#include "trace/base/log.h"
#include "trace/ovni/trace.h"

#define PIECE_BYTES (1 << 20)

struct options {
	const char *path, *out;
	bool drop_unknown, modernise;
};

struct convert {
	const struct options *options;
	int from_fd, out_fd;
	struct event_map *unknown; /* how often each was met */
	uint64_t streams, events, dropped, modernised, backwards;
};

/* One stream on its way: what was checked but not written yet. */
struct piece {
	struct convert *convert;
	const char *path;
	uint8_t *bytes;
	size_t size, room;
};

static const struct argp_option argp_options[] = {
	{"output", 'o', "DIR", 0, "Where to (TRACE.v3); it must not exist", 0},
	{"drop-unknown", 'd', NULL, 0, "Leave out events that no model of today knows", 0},
	{"modernise", 'm', NULL, 0, "Give task events of nosv with 4 bytes of payload the body 0",
	 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'o':
		options->out = arg;
		return 0;
	case 'd':
		options->drop_unknown = true;
		return 0;
	case 'm':
		options->modernise = true;
		return 0;
	default:
		return usage_trace(key, arg, state, &options->path);
	}
}

/* ---- events ---- */

static int flush(struct piece *piece)
{
	int err = 0;

	if (piece->size)
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

/* Pausing, resuming, executing and ending took the task alone before nosv had bodies. */
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

/* Copies all events at [at, end); `models` gets a bit for each of their characters. */
static int copy_events(struct convert *c, const char *path, const uint8_t *start, const uint8_t *at,
		       const uint8_t *end, uint64_t models[4])
{
	struct piece piece = {.convert = c, .path = path};
	struct event ev;
	int64_t last = INT64_MIN;
	ssize_t n;
	int err = 0;

	while (!err && (n = event_decode(&ev, at, end)) > 0) {
		models[ev.model >> 6] |= 1ull << (ev.model & 63);
		if (ev.clock < last)
			c->backwards++;
		last = ev.clock;
		c->events++;
		err = put_event(&piece, at, &ev);
		at += n;
	}
	if (!err && at != end) {
		log_error("%s: ends inside the event at byte %zu; a conversion would lose it", path,
			  (size_t)(at - start));
		err = -EBADMSG;
	}
	if (!err)
		err = flush(&piece);
	free(piece.bytes);
	return err;
}

/* ---- files ---- */

struct file {
	const uint8_t *base;
	size_t size;
	struct guard *guard;
};

static int map_file(struct file *file, int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err = 0;
	struct stat st;

	memset(file, 0, sizeof(*file));
	if (fd < 0 || fstat(fd, &st) < 0) {
		err = -errno;
	} else if (!S_ISREG(st.st_mode)) {
		err = -EINVAL;
	} else if (st.st_size) {
		file->size = (size_t)st.st_size;
		file->base = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file->base == MAP_FAILED)
			err = -errno;
		else if (!(file->guard = guard_add(file->base, file->size)))
			err = -ENOMEM;
	}
	if (err)
		log_error("%s: cannot read it: %s", path, strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

static void unmap_file(struct file *file)
{
	if (!file->size || file->base == MAP_FAILED)
		return;
	guard_remove(file->guard);
	munmap((void *)file->base, file->size);
}

/* Of a file with the header of a stream, where its events start. */
static int after_header(const struct file *file, const char *path, size_t *start)
{
	*start = 0;
	if (file->size < 4 || memcmp(file->base, STREAM_MAGIC, 4))
		return 0; /* without: no event starts so */
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

/* Writes one stream. Its description comes once more when it is whole: only then is it finished,
 * and its models are known. */
static int write_stream(struct convert *c, const char *path, const char *data, bool bare,
			struct json *meta)
{
	uint64_t models[4] = {0};
	struct file file;
	size_t start = STREAM_HEADER_SIZE;
	bool finished = json_number(json_get(meta, "ovni.finished")) == 1;
	int err = map_file(&file, c->from_fd, data);

	if (!err && bare)
		err = after_header(&file, data, &start);
	if (!err && finished && !json_put_int(meta, "ovni.finished", 0))
		err = -ENOMEM;
	if (!err) {
		err = stream_create(c->out_fd, path, meta);
		if (err)
			log_error("%s: cannot create the stream: %s", path, strerror(-err));
	}
	if (!err && file.size < start)
		start = file.size;
	if (!err && file.size)
		err = copy_events(c, path, file.base, file.base + start, file.base + file.size,
				  models);
	if (!err && file.size && guard_hit(file.guard)) {
		log_error("%s: it has become shorter while it was read", data);
		err = -EIO;
	}
	unmap_file(&file);
	if (!err && bare)
		err = require_models(meta, models);
	if (!err && finished && !json_put_int(meta, "ovni.finished", 1))
		err = -ENOMEM;
	if (!err)
		err = stream_describe(c->out_fd, path, meta);
	c->streams += !err;
	return err;
}

static int convert_v1(struct convert *c)
{
	struct v1 v1;
	int err = v1_open(&v1, c->options->path);

	c->from_fd = v1.fd;
	for (size_t i = 0; i < v1.nthreads && !err; i++) {
		struct json *meta = v1_describe(&v1, &v1.threads[i]);

		err = meta ? write_stream(c, v1.threads[i].path, v1.threads[i].path, true, meta)
			   : -ENOMEM;
		json_free(meta);
	}
	v1_close(&v1);
	return err;
}

static int convert_v3(struct convert *c)
{
	struct trace trace;
	int err = trace_open(&trace, c->options->path);

	if (err)
		return err;
	c->from_fd = trace.fd;
	if (!trace.nstreams) {
		log_error("%s: no trace of version 1, and none of version 3", c->options->path);
		err = -ENOENT;
	} else if (!c->options->drop_unknown && !c->options->modernise) {
		log_error(
			"%s: it is of version 3 already; --drop-unknown and --modernise can change "
			"its events",
			c->options->path);
		err = -EINVAL;
	}
	for (size_t i = 0; i < trace.nstreams && !err; i++) {
		struct json *meta = trace_metadata(&trace, i);
		struct stream stream = {0};
		char *data = NULL;

		err = meta ? stream_open(&stream, trace.fd, trace.streams[i]) : -EINVAL;
		stream_close(&stream); /* its header is checked */
		if (!err && asprintf(&data, "%s%s" STREAM_DATA, trace.streams[i],
				     *trace.streams[i] ? "/" : "") < 0)
			err = -ENOMEM;
		if (!err)
			err = write_stream(c, trace.streams[i], data, false, meta);
		free(data);
		json_free(meta);
	}
	trace_close(&trace);
	return err;
}

/* The offsets between hosts belong to the trace. */
static int take_offsets(struct convert *c)
{
	int dir = open(c->options->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (dir < 0)
		return -errno;
	err = copy_offsets(dir, c->out_fd);
	close(dir);
	return err;
}

static void say(const struct convert *c)
{
	for (uint32_t i = 0; i < 1 << 16; i++) {
		for (uint32_t j = 0; c->unknown->leaf[i] && j < 256; j++) {
			uint32_t mcv = i << 8 | j;

			if (c->unknown->leaf[i][j])
				log_warn("%c%c%c: no model of today knows it; %llu %s",
					 (int)(mcv >> 16), (int)(mcv >> 8 & 0xff),
					 (int)(mcv & 0xff),
					 (unsigned long long)c->unknown->leaf[i][j],
					 c->options->drop_unknown
						 ? "left out"
						 : "kept, and ovni-emu will refuse them");
		}
	}
	if (c->backwards)
		log_warn("%llu clocks are lower than the one before them; ovni-sort can put them "
			 "in order",
			 (unsigned long long)c->backwards);
	log_info("%s: %llu streams, %llu events, %llu left out, %llu given a body", c->options->out,
		 (unsigned long long)c->streams, (unsigned long long)c->events,
		 (unsigned long long)c->dropped, (unsigned long long)c->modernised);
}

static int run(struct convert *c)
{
	int old = v1_looks_like(c->options->path), err;

	if (old < 0) {
		log_error("%s: cannot open the trace: %s", c->options->path, strerror(-old));
		return old;
	}
	c->unknown = calloc(1, sizeof(*c->unknown));
	if (!c->unknown)
		return -ENOMEM;
	if (mkdir(c->options->out, 0777) < 0) {
		err = -errno;
		log_error("%s: cannot make it: %s", c->options->out, strerror(-err));
		return err;
	}
	c->out_fd = open(c->options->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->out_fd < 0)
		return -errno;
	err = old ? convert_v1(c) : convert_v3(c);
	if (!err)
		err = take_offsets(c);
	if (!err)
		say(c);
	else if (err == -ENOMEM)
		log_error("%s: no memory to convert it", c->options->path);
	close(c->out_fd);
	return err;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		argp_options,
		parse,
		"TRACE",
		"Convert an ovni trace of version 1 to version 3.\v"
		"  ovni-convert -o new old                       # byte for byte\n"
		"  ovni-convert --drop-unknown --modernise old   # so that it emulates",
		NULL,
		NULL,
		NULL};
	struct options options = {0};
	struct convert convert = {.options = &options};
	char *out = NULL;
	int err;

	usage_parse(&argp, "ovni-convert", argc, argv, &options);
	if (!options.out) {
		options.out = out = usage_beside(options.path, ".v3");
		if (!out)
			return STATUS_FAILED;
	}
	err = run(&convert);
	event_map_free(convert.unknown);
	free(out);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
