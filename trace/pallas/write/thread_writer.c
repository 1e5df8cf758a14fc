/* SPDX-License-Identifier: MIT */
/*
 * thread_writer: the events of one thread in, its grammar and its data files out.
 *
 * The writer builds the grammar event by event. Open blocks are frames on a stack; a frame has the
 * tokens of its block, which fold when they repeat:
 *
 *   E0 (S1 S1) (S1 S1)   ->   E0 L(S1 x 4)        a loop grows
 *   A B | A B            ->   L([A B] x 2)        at most THREAD_PATTERN tokens per pattern
 *   [E1 E2]              ->   S1                  a closed block, known or large enough
 *
 * Each token has its first and last time and its time in blocks, so no data are read back. A block
 * that is too small for a sequence (some 280 bytes) stays inline, as tokens of its parent; calls
 * without an order share tokens in pairs. Statistics of such calls are kept per region (struct
 * region_summary). Work per event is bounded; memory is bounded by THREAD_HELD plus the size of the
 * grammar. Invariant: the output obeys the rules R1 to R3 and R10 to R18.
 * Specification: pallas.md 7, 12, 15, 16.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/pallas/write/grammar_builder.h"
#include "trace/pallas/pallas_file.h"

struct thread_writer *thread_writer_new(int dirfd, const char *path, const char *shown,
					uint32_t archive, uint32_t thread,
					const struct thread_writer_options *options)
{
	struct thread_writer *w = calloc(1, sizeof(*w));

	if (!w) {
		log_no_memory("while writing %s", shown);
		return NULL;
	}
	w->dirfd = w->scratch_fd = -1;
	w->archive = archive;
	w->thread = thread;
	w->whole_blocks = options->whole_blocks;
	w->shown = strdup(shown);
	if (!w->shown || grammar_builder_init(w)) {
		log_no_memory("while writing %s", shown);
		goto fail;
	}
	if (mkdirat(dirfd, path, 0755) < 0) {
		log_error("cannot create '%s': %s", shown, strerror(errno));
		goto fail;
	}
	w->dirfd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->dirfd < 0) {
		log_error("cannot open '%s': %s", shown, strerror(errno));
		goto fail;
	}
	w->event_data = data_file_new(w->dirfd, PALLAS_EVENT_DATA, shown, options->compression,
				      options->encoding, options->level);
	w->sequence_data = data_file_new(w->dirfd, PALLAS_SEQ_DATA, shown, options->compression,
					 options->encoding, options->level);
	if (!w->event_data || !w->sequence_data)
		goto fail;
	return w;
fail:
	thread_writer_free(w);
	return NULL;
}

void thread_writer_free(struct thread_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->nevents; i++) {
		bytes_free(&w->events[i].attributes);
		bytes_free(&w->events[i].spills);
		series_free(&w->events[i].times);
	}
	free(w->events);
	hash_free(&w->event_of);
	grammar_builder_fini(w);
	(void)data_file_close(w->event_data);
	(void)data_file_close(w->sequence_data);
	if (w->dirfd >= 0)
		close(w->dirfd);
	if (w->scratch_fd >= 0)
		close(w->scratch_fd);
	free(w->regions);
	free(w->shown);
	free(w);
}

/* Reports a lack of memory once. Returns `err`. */
static int fail(struct thread_writer *w, int err)
{
	if (!w->failed && err == -ENOMEM)
		log_no_memory("while writing %s", w->shown);
	w->failed = true;
	return err;
}

/* ---- the scratch file ---- */

static int scratch_open(struct thread_writer *w)
{
	static const char name[] = ".scratch";

	w->scratch_fd =
		openat(w->dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (w->scratch_fd < 0 || unlinkat(w->dirfd, name, 0) < 0)
		return -errno;
	return 0;
}

int thread_writer_spill(struct thread_writer *w, const void *data, size_t size, struct bytes *parts)
{
	struct scratch_part *last = NULL;
	const char *from = data;
	int err = w->scratch_fd < 0 ? scratch_open(w) : 0;

	if (err)
		goto out;
	if (parts->size)
		last = (struct scratch_part *)(parts->data + parts->size) - 1;
	if (last && last->at + last->n == w->scratch_size)
		last->n += size;
	else
		bytes_put(parts, &(struct scratch_part){w->scratch_size, size}, sizeof(*last));
	if (parts->failed) {
		err = -ENOMEM;
		goto out;
	}
	while (size) {
		ssize_t n = pwrite(w->scratch_fd, from, size, (off_t)w->scratch_size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err = -errno;
			goto out;
		}
		from += n;
		size -= (size_t)n;
		w->scratch_size += (uint64_t)n;
	}
out:
	if (err)
		log_error("cannot write a scratch file for '%s': %s", w->shown, strerror(-err));
	return err;
}

/* Copies parts of the scratch file to thread.pallas. With times > 0 they are tokens: counts their
 * loops. */
static int put_spills(struct thread_writer *w, struct pallas_out *out, const struct bytes *parts,
		      uint64_t times)
{
	const struct scratch_part *part = (const struct scratch_part *)parts->data;
	size_t n = parts->size / sizeof(*part);
	uint32_t copy[4096];
	int err;

	for (size_t i = 0; i < n; i++) {
		for (uint64_t at = 0; at < part[i].n; at += sizeof(copy)) {
			uint64_t left = part[i].n - at;
			size_t size = left < sizeof(copy) ? (size_t)left : sizeof(copy);

			err = pallas_file_at(w->scratch_fd, copy, size, part[i].at + at);
			if (err) {
				log_error("cannot read the scratch file of '%s': %s", w->shown,
					  strerror(-err));
				return err;
			}
			if (times)
				loops_count(w, copy, size / 4, times);
			pallas_out_put(out, copy, size);
		}
	}
	return 0;
}

/* ---- events ---- */

/* The entry with a payload, added if it is new. */
static uint32_t find_entry(struct thread_writer *w, struct hash_key key, uint32_t record,
			   uint32_t ref, const void *payload, uint8_t size)
{
	const struct pallas_record_spec *spec = pallas_record_spec(record);
	uint32_t *at = hash_at(&w->event_of, key);
	struct region_summary *region;
	struct event_entry *e;

	if (!at)
		return PALLAS_NONE;
	if (*at != HASH_NONE)
		return *at;
	e = w->nevents < PALLAS_ID_MAX ? ARRAY_ADD(w->events, w->nevents) : NULL;
	if (!e)
		return PALLAS_NONE;
	*e = (struct event_entry){
		.record = record,
		.ref = ref,
		.size = size,
		.region = PALLAS_NONE,
		.kind = spec ? spec->kind : PALLAS_SINGLE,
		.closes = spec ? spec->closes : 0,
	};
	memcpy(e->payload, payload, size);
	if (record == PALLAS_ENTER && ref != PALLAS_NONE) {
		region = ARRAY_ADD(w->regions, w->nregions);
		if (!region) {
			w->nevents--;
			return PALLAS_NONE;
		}
		*region = (struct region_summary){.region = ref};
		e->region = (uint32_t)(region - w->regions);
	}
	*at = (uint32_t)(e - w->events);
	return *at;
}

uint32_t thread_writer_entry(struct thread_writer *w, uint32_t record, uint32_t ref)
{
	return find_entry(w, (struct hash_key){.a = record, .b = ref}, record, ref, &ref,
			  ref == PALLAS_NONE ? 0 : sizeof(ref));
}

uint32_t thread_writer_record(struct thread_writer *w, uint32_t record, const void *payload,
			      size_t size)
{
	struct hash_key key = hash_key_of(payload, size);

	if (size > THREAD_PAYLOAD)
		return PALLAS_NONE;
	key.c = record; /* 0 in the keys of references */
	return find_entry(w, key, record, PALLAS_NONE, payload, (uint8_t)size);
}

/* Bytes of attribute lists in memory, before they go to the scratch file. */
#define ATTRIBUTES_HELD (8u << 20)

static int attributes_spill(struct thread_writer *w)
{
	for (size_t i = 0; i < w->nevents; i++) {
		struct event_entry *e = &w->events[i];
		int err;

		if (e->attributes.size == 0)
			continue;
		err = thread_writer_spill(w, e->attributes.data, e->attributes.size, &e->spills);
		if (err)
			return fail(w, err);
		e->spilled += e->attributes.size;
		bytes_free(&e->attributes);
	}
	w->held_attributes = 0;
	return 0;
}

int thread_writer_values(struct thread_writer *w, uint32_t entry, uint8_t nvalues,
			 const void *values, size_t size)
{
	struct event_entry *e = &w->events[entry];
	uint64_t occurrence = e->times.total + e->times.n - 1;
	uint16_t whole = (uint16_t)(PALLAS_LIST_HEADER + size);

	if (size > UINT16_MAX - PALLAS_LIST_HEADER || nvalues > PALLAS_LIST_VALUES ||
	    occurrence > INT32_MAX)
		return -E2BIG;
	bytes_u32(&e->attributes, (uint32_t)occurrence);
	bytes_put(&e->attributes, &whole, 2);
	bytes_u8(&e->attributes, nvalues);
	bytes_put(&e->attributes, values, size);
	if (e->attributes.failed)
		return fail(w, -ENOMEM);
	w->held_attributes += whole;
	return w->held_attributes > ATTRIBUTES_HELD ? attributes_spill(w) : 0;
}

static int times_flush(struct thread_writer *w, struct event_entry *e)
{
	uint64_t offset = PALLAS_INVALID;

	return series_flush(&e->times, VECTOR_TIMES, w->event_data, &offset, &w->held);
}

/* Writes the elements in memory of vectors with at least `least` of them. */
static int flush_vectors(struct thread_writer *w, uint32_t least)
{
	int err;

	for (size_t i = 0; i < w->nevents; i++) {
		err = w->events[i].times.n >= least ? times_flush(w, &w->events[i]) : 0;
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < w->nsequences; i++) {
		struct sequence *s = &w->sequences[i];

		err = s->durations.n >= least ? sequence_flush(w, s) : 0;
		if (err)
			return err;
	}
	return 0;
}

/* Writes elements in memory: vectors with many elements first, so that sub-arrays stay large. */
static int flush_elements(struct thread_writer *w)
{
	for (uint32_t least = 4096; least && w->held > THREAD_HELD / 2; least /= 16) {
		int err = flush_vectors(w, least);

		if (err)
			return err;
	}
	return 0;
}

int thread_writer_event(struct thread_writer *w, uint32_t entry, uint64_t time)
{
	struct event_entry *e = &w->events[entry];
	int err;

	if (__builtin_expect(w->total_events && time < w->last_time, 0)) {
		log_error("%s: event %llu is %llu ns earlier than the one before", w->shown,
			  (unsigned long long)w->total_events,
			  (unsigned long long)(w->last_time - time));
		return fail(w, -EINVAL);
	}
	if (w->total_events++ == 0)
		w->first_time = time;
	w->last_time = time;
	err = series_add(&e->times, time, &w->held);
	if (err)
		goto out;
	err = e->times.n == CHUNK_ELEMENTS_MAX ? times_flush(w, e) : 0;
	if (err)
		goto out;
	err = __builtin_expect(w->held > THREAD_HELD, 0) ? flush_elements(w) : 0;
	if (err)
		goto out;
	err = grammar_builder_event(w, entry, time);
out:
	return err ? fail(w, err) : 0;
}

const struct region_summary *thread_writer_regions(const struct thread_writer *w, size_t *n,
						   uint64_t *inlined)
{
	*n = w->nregions;
	*inlined = w->inlined;
	return w->regions;
}

/* ---- thread.pallas ---- */

static void put_map(struct pallas_out *out, size_t n)
{
	pallas_out_u64(out, n);
	for (uint32_t i = 0; i < n; i++)
		pallas_out_u32(out, i);
}

static int put_events(struct thread_writer *w, struct pallas_out *out)
{
	for (size_t i = 0; i < w->nevents; i++) {
		const struct event_entry *e = &w->events[i];
		uint8_t size = 5 + e->size;
		int err;

		pallas_out_u32(out, e->record);
		pallas_out_put(out, &size, 1);
		pallas_out_put(out, e->payload, e->size);
		pallas_out_u64(out, e->spilled + e->attributes.size);
		err = put_spills(w, out, &e->spills, 0);
		if (err)
			return err;
		pallas_out_put(out, e->attributes.data, e->attributes.size);
		series_describe(&e->times, VECTOR_TIMES, out);
	}
	put_map(out, w->nevents);
	return 0;
}

static int put_sequences(struct thread_writer *w, struct pallas_out *out)
{
	for (uint32_t i = 0; i < w->nsequences; i++) {
		const struct sequence *s = &w->sequences[i];
		int err;

		pallas_out_u32(out, s->type);
		pallas_out_u64(out, s->spilled + s->ntokens);
		err = put_spills(w, out, &s->spills, s->count);
		if (err)
			return err;
		loops_count(w, s->tokens, s->ntokens, s->count);
		pallas_out_put(out, s->tokens, 4 * (size_t)s->ntokens);
		series_describe(&s->durations, VECTOR_DURATIONS, out);
		series_describe(&s->exclusive, VECTOR_DURATIONS, out);
		series_describe(&s->starts, VECTOR_TIMES, out);
	}
	put_map(out, w->nsequences);
	return 0;
}

static void put_loops(const struct thread_writer *w, struct pallas_out *out)
{
	for (uint32_t i = 0; i < w->nloops; i++) {
		pallas_out_u32(out, pallas_token(TOKEN_SEQUENCE, w->loops[i].sequence));
		pallas_out_u32(out, w->loops[i].iterations);
		pallas_out_u64(out, w->loops[i].occurrences);
	}
	put_map(out, w->nloops);
}

static int put_thread(struct thread_writer *w)
{
	struct pallas_out out;
	int closed, err = pallas_out_create(&out, w->dirfd, PALLAS_THREAD, w->shown);

	if (err)
		return err;
	pallas_out_u32(&out, w->thread);
	pallas_out_u32(&out, w->archive);
	pallas_out_u64(&out, w->nevents);
	pallas_out_u64(&out, w->nsequences);
	pallas_out_u64(&out, w->nloops);
	pallas_out_u32(&out, 0); /* the root */
	pallas_out_u64(&out, w->first_time);
	err = put_events(w, &out);
	if (err)
		goto out;
	err = put_sequences(w, &out);
	if (err)
		goto out;
	put_loops(w, &out);
out:
	closed = pallas_out_close(&out);
	return err ? err : closed;
}

int thread_writer_finish(struct thread_writer *w)
{
	int err;

	if (w->total_events == 0) {
		log_error("%s: an archive cannot have a thread without events", w->shown);
		return -EINVAL;
	}
	err = grammar_builder_finish(w);
	if (err)
		goto out;
	for (size_t i = 0; i < w->nevents; i++) {
		if (w->events[i].times.total + w->events[i].times.n == 0) {
			log_error("%s: event entry %zu has no occurrence", w->shown, i);
			err = -EINVAL;
			goto out;
		}
	}
	err = flush_vectors(w, 0);
	if (err)
		goto out;
	err = data_file_close(w->event_data);
	w->event_data = NULL;
	if (err)
		goto out;
	err = data_file_close(w->sequence_data);
	w->sequence_data = NULL;
	if (err)
		goto out;
	err = put_thread(w);
out:
	return err ? fail(w, err) : 0;
}
