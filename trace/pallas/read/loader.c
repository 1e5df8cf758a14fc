/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/pallas/read/chunk_reader.h"
#include "trace/pallas/read/loader.h"

/* Number of data files that stay open: the most recently used ones. */
#define LOADER_FILES 32

struct open_file {
	const struct pallas_thread *thread;
	bool events;
	int fd;
	uint64_t size;
};

struct pallas_loader {
	struct pallas_trace *trace;
	struct chunk_reader *reader;
	struct pallas_walk *oldest, *newest;
	size_t bytes;	   /* of all loaded chunks */
	size_t walks;	   /* number of walks that may hold a chunk */
	uint64_t *decoded; /* buffer for a whole decoded chunk */
	size_t room;	   /* elements at decoded */
	struct pallas_load_stats stats;
	struct open_file files[LOADER_FILES];
	unsigned next_file; /* index of the file to close next */
};

struct pallas_loader *pallas_loader_new(struct pallas_trace *trace)
{
	struct pallas_loader *l = calloc(1, sizeof(*l));

	if (l)
		l->reader = chunk_reader_new(trace->compression, trace->encoding);
	if (!l || !l->reader) {
		log_no_memory("while reading %s", trace->path);
		free(l);
		return NULL;
	}
	l->trace = trace;
	for (unsigned i = 0; i < LOADER_FILES; i++)
		l->files[i].fd = -1;
	return l;
}

void pallas_loader_free(struct pallas_loader *loader)
{
	if (!loader)
		return;
	for (unsigned i = 0; i < LOADER_FILES; i++) {
		if (loader->files[i].fd >= 0)
			close(loader->files[i].fd);
	}
	chunk_reader_free(loader->reader);
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
	struct pallas_loader *l = w->loader;

	if (!w->chunk)
		return;
	if (w->older)
		w->older->newer = w->newer;
	else
		l->oldest = w->newer;
	if (w->newer)
		w->newer->older = w->older;
	else
		l->newest = w->older;
	w->older = w->newer = NULL;
	free(w->chunk);
	l->bytes -= w->chunk_bytes;
	w->chunk = NULL;
	w->chunk_bytes = 0;
	w->data = NULL;
	w->left = 0;
}

void pallas_walk_fini(struct pallas_walk *w)
{
	if (w->loader) {
		unload(w);
		w->loader->walks--;
	}
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

static int file_of(struct pallas_walk *w, const struct open_file **out)
{
	struct pallas_loader *l = w->loader;
	bool events = is_event_vector(w);
	struct open_file *f;
	struct stat st;
	char path[96];
	int err;

	for (unsigned i = 0; i < LOADER_FILES; i++) {
		f = &l->files[i];
		if (f->fd >= 0 && f->thread == w->thread && f->events == events) {
			*out = f;
			return 0;
		}
	}
	f = &l->files[l->next_file];
	l->next_file = (l->next_file + 1) % LOADER_FILES;
	if (f->fd >= 0)
		close(f->fd);
	snprintf(path, sizeof(path), "%s/%s", w->thread->path, data_name(w));
	f->fd = openat(l->trace->fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (f->fd < 0 || fstat(f->fd, &st) < 0) {
		err = -errno;
		return walk_fail(w, err, strerror(-err));
	}
	if (!S_ISREG(st.st_mode))
		return walk_fail(w, -EINVAL, "not a regular file");
	f->thread = w->thread;
	f->events = events;
	f->size = (uint64_t)st.st_size;
	*out = f;
	return 0;
}

/* Limit for chunks in bytes: the budget without names, grammars and the buffers of the loader. */
static size_t room_for_chunks(const struct pallas_loader *l)
{
	size_t fixed =
		l->trace->used + chunk_reader_memory(l->reader) + l->room * sizeof(*l->decoded);

	return l->trace->budget > fixed ? l->trace->budget - fixed : 0;
}

static int no_room(const struct pallas_walk *w, uint64_t bytes, size_t most)
{
	log_error("%s/%s/%s: a chunk of %llu bytes does not fit into the %zu that the memory "
		  "budget leaves; give more with --memory",
		  w->loader->trace->path, w->thread->path, data_name(w), (unsigned long long)bytes,
		  most);
	return -ENOMEM;
}

/* Grows the buffer to n elements. */
static int decode_room(struct pallas_loader *l, const struct pallas_walk *w, uint64_t n)
{
	size_t most = room_for_chunks(l) + l->room * sizeof(*l->decoded);

	if (n <= l->room)
		return 0;
	if (n > most / sizeof(*l->decoded))
		return no_room(w, 8 * n, most);
	while (l->oldest && l->bytes > most - 8 * n) {
		unload(l->oldest);
		l->stats.unloaded++;
	}
	free(l->decoded);
	l->room = 0;
	l->decoded = malloc(8 * n);
	if (!l->decoded)
		return walk_fail(w, -ENOMEM, "out of memory");
	l->room = n;
	return 0;
}

/*
 * Keeps `left` decoded elements for the walk, or the share of one walk if the budget is too small
 * for all of them: a chunk is then decoded several times, but walks do not unload the chunks of one
 * another all the time. Unloads the oldest chunks first.
 */
#define KEEP_LEAST 64

static int keep(struct pallas_loader *l, struct pallas_walk *w, uint64_t left)
{
	size_t most = room_for_chunks(l), share;

	if (l->bytes + 8 * left > most) {
		share = most / 8 / (l->walks ? l->walks : 1);
		if (share < KEEP_LEAST)
			share = KEEP_LEAST;
		left = left < share ? left : share;
	}
	if (8 * left > most)
		return no_room(w, 8 * left, most);
	while (l->oldest && l->bytes > most - 8 * left) {
		unload(l->oldest);
		l->stats.unloaded++;
	}
	w->chunk = malloc(8 * left);
	if (!w->chunk)
		return walk_fail(w, -ENOMEM, "out of memory");
	memcpy(w->chunk, l->decoded + w->behind, 8 * left);
	w->chunk_bytes = 8 * left;
	w->data = w->chunk;
	w->left = left;
	return 0;
}

int pallas_walk_load(struct pallas_walk *w)
{
	struct pallas_loader *l = w->loader;
	const struct open_file *file = NULL;
	const char *why = NULL;
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
	err = decode_room(l, w, sub.n);
	if (err)
		return err;
	err = file_of(w, &file);
	if (err)
		return err;
	err = chunk_reader_read(l->reader, file->fd, file->size, sub.offset, l->decoded,
				(size_t)sub.n, &why);
	if (err)
		return walk_fail(w, err, why);
	if (w->vector->kind == VECTOR_TIMES &&
	    (l->decoded[0] != sub.min || l->decoded[sub.n - 1] != sub.max))
		return walk_fail(
			w, -EBADMSG,
			"its first or last element is not the one that thread.pallas states");
	err = keep(l, w, sub.n - w->behind);
	if (err)
		return err;
	w->older = l->newest;
	if (l->newest)
		l->newest->newer = w;
	else
		l->oldest = w;
	l->newest = w;
	l->bytes += w->chunk_bytes;
	l->stats.loaded++;
	held = l->trace->used + l->bytes + chunk_reader_memory(l->reader) +
	       l->room * sizeof(*l->decoded);
	l->stats.peak_bytes = held > l->stats.peak_bytes ? held : l->stats.peak_bytes;
	return 0;
}
