/* SPDX-License-Identifier: MIT */
/*
 * recode: copies an archive with another compression and encoding of its data files.
 *
 * In: an archive of any version that is read; out: an archive with the same names, grammars and
 * elements. The other files stay as they are, but for the configuration in the main file and the
 * offsets of chunks in thread.pallas. Chunks keep their elements; a chunk that durations and
 * exclusive durations share stays shared. Invariant: the main file is written last, so an
 * incomplete copy cannot be opened (rule R19). Specification: pallas.md 4, 7 to 9.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/pallas/pallas_command.h"
#include "trace/base/log.h"
#include "trace/base/status.h"
#include "trace/base/text.h"
#include "trace/pallas/read/expand.h"
#include "trace/pallas/write/vector_writer.h"

struct recode {
	const struct pallas_options *o;
	struct pallas_trace trace;
	struct pallas_loader *loader;
	int fd; /* directory of the copy */
	uint32_t compression, encoding;
	/* of the present thread */
	const struct pallas_thread *thread;
	uint8_t *bytes; /* thread.pallas */
	struct data_file *data;
	size_t reserved; /* bytes of the memory budget for its largest chunk, if that is large */
};

/* Reads a file of the archive, for free(). */
static int file_get(struct recode *r, const char *path, uint8_t **bytes, size_t *size)
{
	char *shown = xasprintf("%s/%s", r->trace.path, path);
	size_t left = r->trace.budget > r->trace.used ? r->trace.budget - r->trace.used : 0;
	int err = shown ? pallas_file_read(r->trace.fd, path, shown, left, bytes, size) : -ENOMEM;

	free(shown);
	return err;
}

static int file_put(struct recode *r, const char *path, const uint8_t *bytes, size_t size)
{
	struct pallas_out out;
	int err = pallas_out_create(&out, r->fd, path, r->o->to);

	if (err) {
		free(out.shown);
		return err;
	}
	pallas_out_put(&out, bytes, size);
	return pallas_out_close(&out);
}

static int folder_make(struct recode *r, const char *path)
{
	int err;

	if (mkdirat(r->fd, path, 0755) == 0)
		return 0;
	err = -errno;
	log_error("cannot create '%s/%s': %s", r->o->to, path, strerror(-err));
	return err;
}

/* Where thread.pallas has the offset of sub-array i. */
static uint8_t *offset_of(const struct recode *r, const struct pallas_vector *v, uint64_t i)
{
	size_t size = v->kind == VECTOR_DURATIONS ? 40 : 32;

	return r->bytes + (v->subs - r->thread->grammar.bytes) + (i + 1) * size - 8;
}

/* Takes the memory for a chunk of n elements from the budget. */
static int reserve(struct recode *r, uint64_t n)
{
	size_t others = r->trace.used - r->reserved;
	size_t left = r->trace.budget > others ? r->trace.budget - others : 0;

	if (n > left / CHUNK_ELEMENT_BYTES || n > INT32_MAX) {
		log_error("%s/%s: a sub-array of %llu elements needs more than the %zu bytes that "
			  "the memory budget leaves; give more with --memory",
			  r->trace.path, r->thread->path, (unsigned long long)n, left);
		return -ENOMEM;
	}
	if (n * CHUNK_ELEMENT_BYTES > r->reserved)
		r->reserved = n * CHUNK_ELEMENT_BYTES;
	r->trace.used = others + r->reserved;
	return 0;
}

/* Writes one sub-array, from the position of `walk` on, to a new chunk. */
static int chunk_copy(struct recode *r, struct pallas_walk *walk, const struct pallas_sub *sub,
		      uint64_t *offset)
{
	struct series s = {0};
	size_t held = 0;
	uint64_t value;
	int err = 0;

	if (sub->n > CHUNK_ELEMENTS_MAX) {
		err = reserve(r, sub->n);
		if (err)
			return err;
	}
	for (uint64_t i = 0; !err && i < sub->n; i++) {
		err = pallas_walk_next(walk, &value);
		if (!err)
			err = series_add(&s, value, &held);
	}
	*offset = PALLAS_INVALID;
	if (!err)
		err = series_flush(&s, walk->vector->kind, r->data, offset, &held);
	series_free(&s);
	return err;
}

/* Copies a vector; `like` has the chunks that it may share, or is NULL. */
static int vector_copy(struct recode *r, const struct pallas_vector *v,
		       const struct pallas_vector *like)
{
	struct pallas_walk walk;
	int err = 0;

	pallas_walk_init(&walk, r->loader, r->thread, v);
	for (uint64_t i = 0, n = 0; !err && i < v->nsubs; i++) {
		struct pallas_sub sub = pallas_vector_sub(v, i);
		bool shared = like && i < like->nsubs &&
			      pallas_vector_sub(like, i).offset == sub.offset &&
			      pallas_vector_sub(like, i).n == sub.n;
		uint64_t offset;

		if (shared) {
			memcpy(offset_of(r, v, i), offset_of(r, like, i), 8);
		} else {
			pallas_walk_skip(&walk, n);
			err = chunk_copy(r, &walk, &sub, &offset);
			memcpy(offset_of(r, v, i), &offset, 8);
		}
		n += sub.n;
	}
	pallas_walk_fini(&walk);
	return err;
}

static int data_begin(struct recode *r, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", r->thread->path, name);
	r->data = data_file_new(r->fd, path, r->o->to, r->compression, r->encoding, r->o->level);
	return r->data ? 0 : -EIO;
}

static int data_end(struct recode *r, int err)
{
	int failed = data_file_close(r->data);

	r->data = NULL;
	r->trace.used -= r->reserved;
	r->reserved = 0;
	return err ? err : failed;
}

static int vectors_copy(struct recode *r)
{
	const struct thread_grammar *g = &r->thread->grammar;
	int err = data_begin(r, PALLAS_EVENT_DATA);

	for (size_t i = 0; !err && i < g->nevents; i++)
		err = vector_copy(r, &g->events[i].times, NULL);
	err = data_end(r, err);
	if (!err)
		err = data_begin(r, PALLAS_SEQ_DATA);
	for (size_t i = 0; !err && i < g->nsequences; i++) {
		const struct pallas_sequence *s = &g->sequences[i];

		err = vector_copy(r, &s->durations, NULL);
		if (!err)
			err = vector_copy(r, &s->exclusive, &s->durations);
		if (!err)
			err = vector_copy(r, &s->starts, NULL);
	}
	return data_end(r, err);
}

static int thread_copy(struct recode *r, struct pallas_thread *t)
{
	char path[128];
	size_t size;
	int err;

	r->thread = t;
	err = pallas_thread_load(&r->trace, t);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/" PALLAS_THREAD, t->path);
	err = file_get(r, path, &r->bytes, &size);
	if (err)
		goto out;
	err = folder_make(r, t->path);
	if (err)
		goto out;
	err = vectors_copy(r);
	if (!err)
		err = file_put(r, path, r->bytes, size);
out:
	free(r->bytes);
	r->bytes = NULL;
	pallas_thread_unload(&r->trace, t);
	return err;
}

static int archives_copy(struct recode *r)
{
	char path[64];

	for (size_t i = 0; i < r->trace.narchives; i++) {
		uint8_t *bytes = NULL;
		size_t size;
		int err;

		snprintf(path, sizeof(path), "archive_%u", r->trace.archives[i].id);
		err = folder_make(r, path);
		if (err)
			return err;
		snprintf(path, sizeof(path), "archive_%u/" PALLAS_ARCHIVE, r->trace.archives[i].id);
		err = file_get(r, path, &bytes, &size);
		if (!err)
			err = file_put(r, path, bytes, size);
		free(bytes);
		if (err)
			return err;
	}
	return 0;
}

/* Copies the main file, with the new configuration: after the version, two u32 and a u64. */
static int main_copy(struct recode *r)
{
	uint64_t level = r->o->level > 0 ? (uint64_t)r->o->level : 0;
	uint8_t *bytes = NULL;
	size_t size;
	int err = file_get(r, r->trace.main, &bytes, &size);

	if (!err && size < 17)
		err = -EBADMSG; /* another file than pallas_open() has read */
	if (err == -EBADMSG)
		log_error("%s/%s: the file has changed", r->trace.path, r->trace.main);
	if (!err) {
		memcpy(bytes + 1, &r->compression, 4);
		memcpy(bytes + 5, &r->encoding, 4);
		memcpy(bytes + 9, &level, 8);
		err = file_put(r, r->trace.main, bytes, size);
	}
	free(bytes);
	return err;
}

static int start(struct recode *r)
{
	int err;

	if (pallas_lossy(&r->trace)) {
		log_error("%s: the compression %s keeps only approximate times, which a copy would "
			  "show as "
			  "exact",
			  r->trace.path, pallas_compression_names[r->trace.compression]);
		return -EPROTONOSUPPORT;
	}
	r->loader = pallas_loader_new(&r->trace);
	if (!r->loader)
		return -ENOMEM;
	if (mkdir(r->o->to, 0755) < 0) {
		err = -errno;
		log_error("cannot create '%s': %s", r->o->to, strerror(-err));
		return err;
	}
	r->fd = open(r->o->to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r->fd >= 0)
		return 0;
	err = -errno;
	log_error("cannot open '%s': %s", r->o->to, strerror(-err));
	return err;
}

int pallas_recode(const struct pallas_options *o)
{
	struct recode r = {
		.o = o,
		.fd = -1,
		.compression = o->level < 0 ? PALLAS_COMPRESSION_NONE : PALLAS_COMPRESSION_ZSTD,
		.encoding = o->masking ? PALLAS_ENCODING_MASKING : PALLAS_ENCODING_NONE,
	};
	int err = pallas_open(&r.trace, o->from, o->memory);

	if (err)
		return STATUS_FAILED;
	err = start(&r);
	if (!err)
		err = archives_copy(&r);
	for (size_t i = 0; !err && i < r.trace.nthreads; i++)
		err = thread_copy(&r, &r.trace.threads[i]);
	if (!err)
		err = main_copy(&r);
	if (r.fd >= 0)
		close(r.fd);
	pallas_loader_free(r.loader);
	pallas_close(&r.trace);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}
