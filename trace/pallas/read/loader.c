/* SPDX-License-Identifier: MIT */
/*
 * loader: walks vectors forward; loads their chunks on demand and unloads them.
 *
 * In: descriptions of vectors (thread_grammar.h); out: one element after the other. All walks of a
 * trace share one loader. A walk has at most its present chunk. Above the budget, the loader
 * unloads the oldest chunk, and loads it again when its walk needs it. Invariant: memory stays
 * below the budget for any archive. Specification: pallas.md 8, 9, 13, 22.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "trace/base/files/input.h"
#include "trace/base/log.h"
#include "trace/pallas/pallas_file.h"
#include "trace/pallas/read/expand.h"
#include "trace/pallas/read/lossy.h"

#define SHARE_LEAST 64 /* elements */

struct data_file {
	const struct pallas_thread *thread; /* NULL: not open */
	int fd;
	uint64_t size;
};

struct pallas_loader {
	struct pallas_trace *trace;
	TAILQ_HEAD(, pallas_walk) loaded; /* walks with a chunk, oldest first */
	size_t bytes;			  /* of all loaded chunks */
	size_t walks;			  /* number of walks that may hold a chunk */
	ZSTD_DCtx *zstd;
	uint8_t *raw; /* buffer for a compressed chunk */
	size_t raw_room;
	uint64_t *decoded; /* buffer for a whole decoded chunk */
	size_t room;	   /* elements at decoded */
	struct pallas_load_stats stats;
	struct data_file files[2]; /* the last ones: sequences, events */
};

/* Prepares for a lossy compression, and warns once. */
static int lossy_start(struct pallas_trace *trace)
{
	int err = 0;

	if (!pallas_lossy(trace) || trace->approximate)
		return 0;
	if (trace->compression == PALLAS_COMPRESSION_SZ) {
		log_error("%s: its times are compressed with SZ, which this program cannot decode; "
			  "info and stats without --from and --to need no times",
			  trace->path);
		return -EPROTONOSUPPORT;
	}
	if (trace->encoding != PALLAS_ENCODING_NONE) {
		log_error("%s: encoding %s with the lossy compression %s is not known", trace->path,
			  pallas_encoding_names[trace->encoding],
			  pallas_compression_names[trace->compression]);
		return -EPROTONOSUPPORT;
	}
	if (trace->compression == PALLAS_COMPRESSION_ZFP)
		err = zfp_load(trace->path);
	if (err)
		return err;
	log_warn("%s: times are approximate: the compression %s of the archive loses information",
		 trace->path, pallas_compression_names[trace->compression]);
	trace->approximate = true;
	return 0;
}

struct pallas_loader *pallas_loader_new(struct pallas_trace *trace)
{
	bool zstd = trace->compression == PALLAS_COMPRESSION_ZSTD ||
		    trace->compression == PALLAS_COMPRESSION_ZSTD_HISTOGRAM;
	struct pallas_loader *l;

	if (lossy_start(trace))
		return NULL;
	l = calloc(1, sizeof(*l));
	if (l && zstd)
		l->zstd = ZSTD_createDCtx();
	if (!l || (zstd && !l->zstd)) {
		log_no_memory("while reading %s", trace->path);
		free(l);
		return NULL;
	}
	l->trace = trace;
	TAILQ_INIT(&l->loaded);
	return l;
}

void pallas_loader_free(struct pallas_loader *loader)
{
	if (!loader)
		return;
	for (unsigned i = 0; i < 2; i++) {
		if (loader->files[i].thread)
			close(loader->files[i].fd);
	}
	ZSTD_freeDCtx(loader->zstd);
	free(loader->raw);
	free(loader->decoded);
	free(loader);
}

struct pallas_load_stats pallas_loader_stats(const struct pallas_loader *loader)
{
	return loader->stats;
}

void pallas_walk_init(struct pallas_walk *w, struct pallas_loader *loader,
		      const struct pallas_thread *thread, const struct pallas_vector *vector)
{
	*w = (struct pallas_walk){.vector = vector, .thread = thread, .loader = loader};
	loader->walks++;
}

/* Unloads the chunk of a walk, which keeps its position. */
static void unload(struct pallas_walk *w)
{
	if (!w->chunk)
		return;
	TAILQ_REMOVE(&w->loader->loaded, w, loaded);
	w->loader->bytes -= w->chunk_bytes;
	free(w->chunk);
	w->chunk = NULL;
	w->left = 0;
}

void pallas_walk_skip(struct pallas_walk *w, uint64_t n)
{
	uint64_t sub = 0, here, end = w->behind + w->left, begin;

	for (; sub < w->vector->nsubs; sub++, n -= here) {
		here = pallas_vector_sub(w->vector, sub).n;
		if (n < here)
			break;
	}
	begin = end - w->chunk_bytes / 8;
	if (w->chunk && sub == w->sub && n >= begin && n < end) {
		w->data = w->chunk + (n - begin);
		w->left = end - n;
	} else {
		unload(w);
	}
	w->sub = sub;
	w->behind = n;
}

void pallas_walk_fini(struct pallas_walk *w)
{
	if (!w->loader)
		return;
	unload(w);
	w->loader->walks--;
	*w = (struct pallas_walk){0};
}

static bool is_event_vector(const struct pallas_walk *w)
{
	const struct thread_grammar *g = &w->thread->grammar;

	return (const char *)w->vector >= (const char *)g->events &&
	       (const char *)w->vector < (const char *)(g->events + g->nevents);
}

static const char *data_name(const struct pallas_walk *w)
{
	return is_event_vector(w) ? PALLAS_EVENT_DATA : PALLAS_SEQ_DATA;
}

static int walk_fail(const struct pallas_walk *w, int err, const char *why)
{
	log_error("%s/%s/%s: sub-array %llu of a vector: %s", w->loader->trace->path,
		  w->thread->path, data_name(w), (unsigned long long)w->sub, why);
	return err;
}

/* ---- memory ---- */

/* Bytes held beside the chunks: names, grammars, and the buffers. */
static size_t fixed_bytes(const struct pallas_loader *l)
{
	return l->trace->used + (l->zstd ? ZSTD_sizeof_DCtx(l->zstd) : 0) + l->raw_room +
	       l->room * sizeof(*l->decoded);
}

/* Bytes that the budget leaves for chunks. */
static size_t room_for_chunks(const struct pallas_loader *l)
{
	size_t fixed = fixed_bytes(l);

	return l->trace->budget > fixed ? l->trace->budget - fixed : 0;
}

/* Unloads the oldest chunks until `bytes` more fit into `most`. */
static int make_room(struct pallas_walk *w, uint64_t bytes, size_t most)
{
	struct pallas_loader *l = w->loader;

	if (bytes > most) {
		log_error("%s/%s/%s: a chunk of %llu bytes does not fit into the %zu that the "
			  "memory budget leaves; give more with --memory",
			  l->trace->path, w->thread->path, data_name(w), (unsigned long long)bytes,
			  most);
		return -ENOMEM;
	}
	while (!TAILQ_EMPTY(&l->loaded) && l->bytes > most - bytes) {
		unload(TAILQ_FIRST(&l->loaded));
		l->stats.unloaded++;
	}
	return 0;
}

/* Grows the buffer to n elements. */
static int decode_room(struct pallas_walk *w, uint64_t n)
{
	struct pallas_loader *l = w->loader;
	int err;

	if (n <= l->room)
		return 0;
	err = make_room(w, 8 * n, room_for_chunks(l) + l->room * sizeof(*l->decoded));
	if (err)
		return err;
	free(l->decoded);
	l->room = 0;
	l->decoded = malloc(8 * n);
	if (!l->decoded)
		return walk_fail(w, -ENOMEM, "out of memory");
	l->room = n;
	return 0;
}

/*
 * Keeps the decoded elements from the position of the walk on, or the share of one walk if the
 * budget is too small for all of them: a chunk is then decoded several times, but walks do not
 * unload the chunks of one another all the time.
 */
static int keep(struct pallas_walk *w, uint64_t left)
{
	struct pallas_loader *l = w->loader;
	size_t most = room_for_chunks(l), share = most / 8 / l->walks;
	int err;

	if (share < SHARE_LEAST)
		share = SHARE_LEAST;
	if (l->bytes + 8 * left > most && left > share)
		left = share;
	err = make_room(w, 8 * left, most);
	if (err)
		return err;
	w->chunk = malloc(8 * left);
	if (!w->chunk)
		return walk_fail(w, -ENOMEM, "out of memory");
	memcpy(w->chunk, l->decoded + w->behind, 8 * left);
	w->chunk_bytes = 8 * left;
	w->data = w->chunk;
	w->left = left;
	TAILQ_INSERT_TAIL(&l->loaded, w, loaded);
	l->bytes += w->chunk_bytes;
	return 0;
}

/* ---- chunks ---- */

static int file_of(struct pallas_walk *w, const struct data_file **out)
{
	struct data_file *f = &w->loader->files[is_event_vector(w)];
	char path[96];

	*out = f;
	if (f->thread == w->thread)
		return 0;
	if (f->thread)
		close(f->fd);
	f->thread = NULL;
	snprintf(path, sizeof(path), "%s/%s", w->thread->path, data_name(w));
	f->fd = input_open(w->loader->trace->fd, path, INPUT_EVENTS_MAX, &f->size);
	if (f->fd < 0)
		return walk_fail(w, f->fd, input_why(f->fd, INPUT_EVENTS_MAX));
	f->thread = w->thread;
	w->loader->trace->files_read++;
	return 0;
}

/* Reads from a data file, and counts the bytes. */
static int data_read(struct pallas_loader *l, int fd, void *out, size_t size, uint64_t offset)
{
	int err = pallas_file_at(fd, out, size, offset);

	if (!err)
		l->trace->bytes_read += size;
	return err;
}

/* Expands n elements of w bytes at the start of out to 8 bytes each. */
static void unmask(uint64_t *out, size_t n, size_t w)
{
	const uint8_t *bytes = (const uint8_t *)out;

	for (size_t i = n; i-- > 0;) {
		uint64_t v = 0;

		memcpy(&v, bytes + i * w, w);
		out[i] = v;
	}
}

/* Bytes of an element if `size` encoded bytes have n elements, else 0; of a histogram 8. */
static size_t width(const struct pallas_trace *trace, uint64_t size, uint64_t n)
{
	if (pallas_lossy(trace))
		return size == HISTOGRAM_BYTES(n) ? 8 : 0;
	if (size == 8 * n)
		return 8;
	if (trace->encoding != PALLAS_ENCODING_MASKING || size % n || size / n > 7)
		return 0;
	return (size_t)(size / n);
}

/* Grows the buffer for compressed chunks to `size` bytes. */
static int raw_room(struct pallas_loader *l, uint64_t size)
{
	if (size <= l->raw_room)
		return 0;
	free(l->raw);
	l->raw_room = 0;
	l->raw = malloc((size_t)size);
	if (!l->raw)
		return -ENOMEM;
	l->raw_room = (size_t)size;
	return 0;
}

/* Reads `size` bytes of a zstd frame that has n elements. Returns their width, or -errno with the
 * reason in *why. */
static int frame_read(struct pallas_loader *l, int fd, uint64_t size, uint64_t offset, uint64_t n,
		      const char **why)
{
	uint64_t content;
	size_t got, w;
	int err;

	/* Incompressible data grows by little: more than that is no frame of ours. */
	*why = "the zstd frame is larger than its contents";
	if (size > ZSTD_compressBound(8 * n) + 4096)
		return -EBADMSG;
	*why = "out of memory";
	err = raw_room(l, size);
	if (err)
		return err;
	err = data_read(l, fd, l->raw, (size_t)size, offset);
	*why = strerror(-err);
	if (err)
		return err;
	content = ZSTD_getFrameContentSize(l->raw, (size_t)size);
	*why = "the zstd frame is damaged or does not say its content size";
	if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR)
		return -EBADMSG;
	*why = "the size of the zstd frame does not fit its number of elements";
	w = width(l->trace, content, n);
	if (!w)
		return -EBADMSG;
	got = ZSTD_decompressDCtx(l->zstd, l->decoded, (size_t)content, l->raw, (size_t)size);
	*why = "the zstd frame is damaged";
	return ZSTD_isError(got) || got != content ? -EBADMSG : (int)w;
}

/* Reads `size` bytes of zfp that have sub->n elements. Returns 0, or -errno with the reason. */
static int zfp_read(struct pallas_loader *l, int fd, uint64_t size, uint64_t offset,
		    const struct pallas_sub *sub, const char **why)
{
	size_t room = zfp_bytes(sub->n);
	int err;

	*why = "the zfp stream is larger than its contents";
	if (size > room)
		return -EBADMSG;
	*why = "out of memory";
	err = raw_room(l, room);
	if (err)
		return err;
	err = data_read(l, fd, l->raw, (size_t)size, offset);
	*why = strerror(-err);
	if (err)
		return err;
	memset(l->raw + size, 0, room - (size_t)size);
	err = zfp_decode(l->raw, l->decoded, sub);
	*why = err == -ENOMEM ? "out of memory" : "the zfp stream is damaged";
	return err;
}

/*
 * Decodes the chunk of a sub-array: u64 size of the rest, then 8 or w bytes per element, in a zstd
 * frame or as they are; or a lossy form. Sizes are checked before memory is allocated for them.
 */
static int chunk_read(struct pallas_walk *walk, const struct pallas_sub *sub)
{
	struct pallas_loader *l = walk->loader;
	uint64_t offset = sub->offset, n = sub->n;
	const struct data_file *file;
	const char *why = "the chunk is not inside the file";
	uint64_t size;
	int w, err = file_of(walk, &file);

	if (err)
		return err;
	if (file->size < 8 || offset > file->size - 8)
		return walk_fail(walk, -EBADMSG, why);
	err = data_read(l, file->fd, &size, 8, offset);
	if (err)
		return walk_fail(walk, err, strerror(-err));
	offset += 8;
	if (size > file->size - offset)
		return walk_fail(walk, -EBADMSG, why);
	if (l->trace->compression == PALLAS_COMPRESSION_ZFP) {
		w = 8;
		err = zfp_read(l, file->fd, size, offset, sub, &why);
		if (err)
			return walk_fail(walk, err, why);
	} else if (l->zstd) {
		w = frame_read(l, file->fd, size, offset, n, &why);
		if (w < 0)
			return walk_fail(walk, w, why);
	} else {
		w = (int)width(l->trace, size, n);
		if (!w)
			return walk_fail(
				walk, -EBADMSG,
				"the size of the chunk does not fit its number of elements");
		err = data_read(l, file->fd, l->decoded, (size_t)size, offset);
		if (err)
			return walk_fail(walk, err, strerror(-err));
	}
	if (w < 8)
		unmask(l->decoded, (size_t)n, (size_t)w);
	if (!pallas_lossy(l->trace))
		return 0;
	if (l->trace->compression != PALLAS_COMPRESSION_ZFP && histogram_decode(l->decoded, sub))
		return walk_fail(walk, -EBADMSG,
				 "the bounds of the histogram are not those that thread.pallas "
				 "states");
	lossy_fit(l->decoded, sub, walk->vector->kind);
	return 0;
}

int pallas_walk_load(struct pallas_walk *w)
{
	struct pallas_loader *l = w->loader;
	struct pallas_sub sub;
	size_t held;
	int err;

	for (;; w->sub++, w->behind = 0) {
		if (w->sub >= w->vector->nsubs)
			return walk_fail(w, -ENODATA, "the vector has no more elements");
		sub = pallas_vector_sub(w->vector, w->sub);
		if (w->behind < sub.n)
			break;
	}
	unload(w);
	if (sub.n > SIZE_MAX / 16)
		return walk_fail(w, -EBADMSG, "the sub-array is impossibly large");
	err = decode_room(w, sub.n + 3); /* with the bounds of a histogram */
	if (err)
		return err;
	err = chunk_read(w, &sub);
	if (err)
		return err;
	if (w->vector->kind == VECTOR_TIMES &&
	    (l->decoded[0] != sub.min || l->decoded[sub.n - 1] != sub.max))
		return walk_fail(
			w, -EBADMSG,
			"its first or last element is not the one that thread.pallas states");
	err = keep(w, sub.n - w->behind);
	if (err)
		return err;
	held = fixed_bytes(l) + l->bytes;
	l->stats.peak_bytes = held > l->stats.peak_bytes ? held : l->stats.peak_bytes;
	return 0;
}
