/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/log.h"
#include "trace/pallas/chunk.h"
#include "trace/pallas/loader.h"

/* Descriptors of data files that stay open: the last ones used. */
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
	size_t bytes; /* of all loaded chunks */
	struct pallas_load_stats stats;
	struct open_file files[LOADER_FILES];
	unsigned next_file; /* to be replaced */
};

struct pallas_loader *pallas_loader_new(struct pallas_trace *trace)
{
	struct pallas_loader *l = calloc(1, sizeof(*l));

	if (l)
		l->reader = pallas_chunk_reader_new(trace->compression, trace->encoding);
	if (!l || !l->reader) {
		log_error("%s: no memory to read it", trace->path);
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
	pallas_chunk_reader_free(loader->reader);
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
}

/* Takes the chunk of a walk away; the walk keeps its place. */
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
	if (w->loader)
		unload(w);
	*w = (struct pallas_walk){0};
}

static bool is_event_vector(const struct pallas_walk *w)
{
	const struct pallas_grammar *g = &w->thread->grammar;

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

/* Unloads the oldest chunks until `bytes` more fit into the budget. */
static int make_room(struct pallas_loader *l, struct pallas_walk *w, uint64_t bytes)
{
	size_t fixed = l->trace->used + pallas_chunk_reader_memory(l->reader);
	size_t most = l->trace->budget > fixed ? l->trace->budget - fixed : 0;

	if (bytes > most) {
		log_error(
			"%s/%s/%s: a chunk of %llu bytes does not fit into the %zu that the memory "
			"budget leaves; give more with --memory",
			l->trace->path, w->thread->path, data_name(w), (unsigned long long)bytes,
			most);
		return -ENOMEM;
	}
	while (l->bytes > most - bytes) {
		unload(l->oldest);
		l->stats.unloaded++;
	}
	return 0;
}

int pallas_walk_load(struct pallas_walk *w)
{
	struct pallas_loader *l = w->loader;
	const struct open_file *file = NULL;
	const char *why = NULL;
	struct pallas_sub sub;
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
	err = make_room(l, w, 8 * sub.n);
	if (err)
		return err;
	err = file_of(w, &file);
	if (err)
		return err;
	w->chunk = malloc(8 * sub.n);
	if (!w->chunk)
		return walk_fail(w, -ENOMEM, "no memory");
	err = pallas_chunk_read(l->reader, file->fd, file->size, sub.offset, w->chunk,
				(size_t)sub.n, &why);
	if (!err && w->vector->kind == VECTOR_TIMES &&
	    (w->chunk[0] != sub.min || w->chunk[sub.n - 1] != sub.max)) {
		err = -EBADMSG;
		why = "its first or last element is not the one that thread.pallas states";
	}
	if (err) {
		free(w->chunk);
		w->chunk = NULL;
		return walk_fail(w, err, why);
	}
	w->chunk_bytes = 8 * sub.n;
	w->data = w->chunk + w->behind;
	w->left = sub.n - w->behind;
	w->older = l->newest;
	if (l->newest)
		l->newest->newer = w;
	else
		l->oldest = w;
	l->newest = w;
	l->bytes += w->chunk_bytes;
	l->stats.loaded++;
	if (l->stats.peak_bytes < l->trace->used + l->bytes + pallas_chunk_reader_memory(l->reader))
		l->stats.peak_bytes =
			l->trace->used + l->bytes + pallas_chunk_reader_memory(l->reader);
	return 0;
}
