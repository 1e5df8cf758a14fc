/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ovni/event.h"
#include "trace/base/log.h"
#include "trace/pallas/attributes.h"
#include "trace/pallas/write/grammar_builder.h"
#include "trace/pallas/pallas_file.h"
#include "trace/pallas/pallas_record.h"

struct thread_writer *thread_writer_new(int dirfd, const char *path, const char *shown,
					uint32_t archive, uint32_t thread,
					const struct thread_writer_options *options)
{
	struct thread_writer *w = calloc(1, sizeof(*w));
	char *name = NULL;

	if (!w) {
		log_no_memory("while writing %s", shown);
		return NULL;
	}
	w->dirfd = w->scratch.fd = -1;
	w->archive = archive;
	w->thread = thread;
	w->whole_blocks = options->whole_blocks;
	w->shown = strdup(shown);
	if (!w->shown || grammar_builder_init(w)) {
		log_no_memory("while writing %s", shown);
		goto fail;
	}
	if (mkdirat(dirfd, path, 0755) < 0) {
		log_error("%s: cannot create: %s", shown, strerror(errno));
		goto fail;
	}
	w->dirfd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->dirfd < 0) {
		log_error("%s: cannot open: %s", shown, strerror(errno));
		goto fail;
	}
	if (asprintf(&name, "%s/%s", shown, PALLAS_EVENT_DATA) < 0)
		goto no_memory;
	w->event_data = chunk_writer_new(w->dirfd, PALLAS_EVENT_DATA, name, options->compression,
					 options->encoding, options->level);
	free(name);
	if (asprintf(&name, "%s/%s", shown, PALLAS_SEQ_DATA) < 0)
		goto no_memory;
	w->sequence_data = chunk_writer_new(w->dirfd, PALLAS_SEQ_DATA, name, options->compression,
					    options->encoding, options->level);
	free(name);
	if (!w->event_data || !w->sequence_data)
		goto fail;
	return w;
no_memory:
	log_no_memory("while writing %s", shown);
fail:
	thread_writer_free(w);
	return NULL;
}

void thread_writer_free(struct thread_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->nevents; i++) {
		free(w->events[i].payload);
		bytes_free(&w->events[i].attributes);
		bytes_free(&w->events[i].attribute_spills);
		pallas_series_free(&w->events[i].times, &w->held);
	}
	free(w->events);
	free(w->event_table);
	grammar_builder_fini(w);
	(void)chunk_writer_close(w->event_data);
	(void)chunk_writer_close(w->sequence_data);
	if (w->dirfd >= 0)
		close(w->dirfd);
	pallas_scratch_close(&w->scratch);
	free(w->regions);
	free(w->shown);
	free(w);
}

int archive_writer_fail(struct thread_writer *w, int err)
{
	if (!w->failed && err == -ENOMEM)
		log_no_memory("while writing %s", w->shown);
	w->failed = true;
	return err;
}

/* ---- events ---- */

static uint64_t event_hash(uint32_t record, const void *payload, size_t size)
{
	const uint8_t *at = payload;
	uint64_t h = hash_step(hash_step(0, record), size), part;

	for (; size >= 8; size -= 8, at += 8) {
		memcpy(&part, at, 8);
		h = hash_step(h, part);
	}
	part = 0;
	if (size)
		memcpy(&part, at, size);
	return hash_step(h, part);
}

static int events_grow(struct thread_writer *w)
{
	size_t room = w->event_room ? 2 * w->event_room : 64;
	struct event_entry *events = realloc(w->events, room * sizeof(*events));
	uint32_t *table;

	if (!events)
		return -ENOMEM;
	w->events = events;
	table = malloc(2 * room * sizeof(*table));
	if (!table)
		return -ENOMEM;
	memset(table, 0xff, 2 * room * sizeof(*table));
	for (uint32_t i = 0; i < w->nevents; i++) {
		size_t slot = w->events[i].hash & (2 * room - 1);

		while (table[slot] != PALLAS_NONE)
			slot = (slot + 1) & (2 * room - 1);
		table[slot] = i;
	}
	free(w->event_table);
	w->event_table = table;
	w->event_room = room;
	return 0;
}

/* Finds or adds the summary of the region of an ENTER event. */
static int region_of(struct thread_writer *w, struct event_entry *e)
{
	uint32_t region = get_u32(e->payload);
	struct region_summary *r;

	for (size_t i = w->nregions; i-- > 0 && i + 64 > w->nregions;) {
		if (w->regions[i].region == region) {
			e->region = (uint32_t)i;
			return 0;
		}
	}
	if (w->nregions == w->region_room) {
		size_t room = w->region_room ? 2 * w->region_room : 16;

		r = realloc(w->regions, room * sizeof(*r));
		if (!r)
			return -ENOMEM;
		w->regions = r;
		w->region_room = room;
	}
	w->regions[w->nregions] = (struct region_summary){.region = region};
	e->region = (uint32_t)w->nregions++;
	return 0;
}

uint32_t thread_writer_entry(struct thread_writer *w, uint32_t record, const void *payload,
			     size_t size)
{
	uint64_t hash = event_hash(record, payload, size);
	const struct pallas_record_spec *spec = pallas_record_spec(record);
	struct event_entry *e;
	size_t slot;

	if (w->nevents == w->event_room && events_grow(w))
		return PALLAS_NONE;
	for (slot = hash & (2 * w->event_room - 1); w->event_table[slot] != PALLAS_NONE;
	     slot = (slot + 1) & (2 * w->event_room - 1)) {
		e = &w->events[w->event_table[slot]];
		if (e->hash == hash && e->record == record && e->size == size &&
		    (size == 0 || memcmp(e->payload, payload, size) == 0))
			return w->event_table[slot];
	}
	if (w->nevents >= PALLAS_ID_MAX || size > PALLAS_PAYLOAD_MAX)
		return PALLAS_NONE;
	e = &w->events[w->nevents];
	*e = (struct event_entry){.hash = hash, .record = record, .size = (uint8_t)size};
	e->kind = spec ? (uint8_t)spec->kind : PALLAS_SINGLE;
	e->closes = spec ? spec->closes : 0;
	e->region = PALLAS_NONE;
	e->payload = malloc(size ? size : 1);
	if (!e->payload)
		return PALLAS_NONE;
	if (size)
		memcpy(e->payload, payload, size);
	if (record == PALLAS_ENTER && size >= 4 && region_of(w, e)) {
		free(e->payload);
		return PALLAS_NONE;
	}
	w->event_table[slot] = (uint32_t)w->nevents;
	return (uint32_t)w->nevents++;
}

#define ATTRIBUTES_HELD                                                                            \
	(8u << 20) /* bytes of attribute lists in memory, before they go to the scratch file */

static int attributes_spill(struct thread_writer *w)
{
	for (size_t i = 0; i < w->nevents; i++) {
		struct event_entry *e = &w->events[i];
		int err;

		if (e->attributes.size == 0)
			continue;
		err = pallas_scratch_put(&w->scratch, w->dirfd, w->shown, e->attributes.data,
					 e->attributes.size, &e->attribute_spills);
		if (err)
			return archive_writer_fail(w, err);
		e->attributes_spilled += e->attributes.size;
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
		return archive_writer_fail(w, -ENOMEM);
	w->held_attributes += whole;
	return w->held_attributes > ATTRIBUTES_HELD ? attributes_spill(w) : 0;
}

static int times_flush(struct thread_writer *w, struct event_entry *e)
{
	return pallas_series_flush(&e->times, VECTOR_TIMES, w->event_data, NULL, &w->held);
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

		err = s->durations.n >= least ? pallas_sequence_flush(w, s) : 0;
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
		return archive_writer_fail(w, -EINVAL);
	}
	if (w->total_events++ == 0)
		w->first_time = time;
	w->last_time = time;
	err = pallas_series_add(&e->times, time, &w->held);
	if (err)
		goto failed;
	if (e->times.n == CHUNK_ELEMENTS_MAX) {
		err = times_flush(w, e);
		if (err)
			goto failed;
	}
	if (__builtin_expect(w->held > THREAD_HELD, 0)) {
		err = flush_elements(w);
		if (err)
			goto failed;
	}
	err = grammar_builder_event(w, entry, time);
	if (!err)
		return 0;
failed:
	return archive_writer_fail(w, err);
}

const struct region_summary *thread_writer_regions(const struct thread_writer *w, size_t *n)
{
	*n = w->inlined ? w->nregions : 0;
	return w->regions;
}

/* ---- thread.pallas ---- */

/* Writes `b` to the file if it has at least `least` bytes. */
static int drain(struct thread_writer *w, int fd, struct bytes *b, size_t least)
{
	size_t at = 0;

	if (b->failed)
		return -ENOMEM;
	if (b->size < least)
		return 0;
	while (at < b->size) {
		ssize_t n = write(fd, b->data + at, b->size - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int err = -errno;

			log_error("%s/%s: cannot write: %s", w->shown, PALLAS_THREAD,
				  strerror(-err));
			return err;
		}
		at += (size_t)n;
	}
	b->size = 0;
	return 0;
}

#define DRAIN_BYTES (256u << 10)

static void put_map(struct bytes *b, size_t n)
{
	bytes_u64(b, n);
	for (size_t i = 0; i < n; i++)
		bytes_u32(b, (uint32_t)i);
}

/* Copies parts of the scratch file; with times > 0 they are tokens, whose loops are counted. */
static int put_spills(struct thread_writer *w, int fd, struct bytes *b, const struct bytes *parts,
		      uint64_t times)
{
	const struct scratch_part *part;
	size_t n = scratch_parts(parts, &part);
	uint32_t copy[4096];
	int err;

	for (size_t i = 0; i < n; i++) {
		for (uint64_t at = 0; at < part[i].n; at += sizeof(copy)) {
			uint64_t left = part[i].n - at;
			size_t size = left < sizeof(copy) ? (size_t)left : sizeof(copy);

			err = pallas_file_at(w->scratch.fd, copy, size, part[i].at + at);
			if (err) {
				log_error("%s: cannot read the scratch file: %s", w->shown,
					  strerror(-err));
				return err;
			}
			if (times)
				pallas_loops_count(w, copy, size / 4, times);
			bytes_put(b, copy, size);
			err = drain(w, fd, b, DRAIN_BYTES);
			if (err)
				return err;
		}
	}
	return 0;
}

static int put_events(struct thread_writer *w, int fd, struct bytes *b)
{
	int err = 0;

	for (size_t i = 0; i < w->nevents; i++) {
		struct event_entry *e = &w->events[i];

		bytes_u32(b, e->record);
		bytes_u8(b, (uint8_t)(5 + e->size));
		bytes_put(b, e->payload, e->size);
		bytes_u64(b, e->attributes_spilled + e->attributes.size);
		err = put_spills(w, fd, b, &e->attribute_spills, 0);
		if (err)
			return err;
		bytes_put(b, e->attributes.data, e->attributes.size);
		err = pallas_series_describe(&e->times, VECTOR_TIMES, b);
		if (err)
			return err;
		err = drain(w, fd, b, DRAIN_BYTES);
		if (err)
			goto out;
	}
out:
	put_map(b, w->nevents);
	return err;
}

static int put_tokens(struct thread_writer *w, int fd, struct bytes *b, const struct sequence *s)
{
	int err = put_spills(w, fd, b, &s->spills, s->count);

	pallas_loops_count(w, s->tokens, s->ntokens, s->count);
	bytes_put(b, s->tokens, 4 * (size_t)s->ntokens);
	return err;
}

static int put_sequences(struct thread_writer *w, int fd, struct bytes *b)
{
	int err = 0;

	for (uint32_t i = 0; i < w->nsequences; i++) {
		const struct sequence *s = &w->sequences[i];

		bytes_u32(b, s->type);
		bytes_u64(b, s->spilled + s->ntokens);
		err = put_tokens(w, fd, b, s);
		if (err)
			return err;
		err = pallas_series_describe(&s->durations, VECTOR_DURATIONS, b);
		if (err)
			return err;
		err = pallas_series_describe(s->same ? &s->durations : &s->exclusive,
					     VECTOR_DURATIONS, b);
		if (err)
			return err;
		err = pallas_series_describe(&s->starts, VECTOR_TIMES, b);
		if (err)
			return err;
		err = drain(w, fd, b, DRAIN_BYTES);
		if (err)
			goto out;
	}
out:
	put_map(b, w->nsequences);
	return err;
}

static void put_loops(struct thread_writer *w, struct bytes *b)
{
	for (uint32_t i = 0; i < w->nloops; i++) {
		bytes_u32(b, pallas_token(TOKEN_SEQUENCE, w->loops[i].sequence));
		bytes_u32(b, w->loops[i].iterations);
		bytes_u64(b, w->loops[i].occurrences);
	}
	put_map(b, w->nloops);
}

static int put_thread(struct thread_writer *w)
{
	struct bytes b = {0};
	int err, fd = openat(w->dirfd, PALLAS_THREAD,
			     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0) {
		err = -errno;
		log_error("%s/%s: cannot create: %s", w->shown, PALLAS_THREAD, strerror(-err));
		return err;
	}
	bytes_u32(&b, w->thread);
	bytes_u32(&b, w->archive);
	bytes_u64(&b, w->nevents);
	bytes_u64(&b, w->nsequences);
	bytes_u64(&b, w->nloops);
	bytes_u32(&b, 0);
	bytes_u64(&b, w->first_time);
	err = put_events(w, fd, &b);
	if (err)
		goto out;
	err = put_sequences(w, fd, &b);
	if (err)
		goto out;
	put_loops(w, &b);
	if (err)
		goto out;
	err = drain(w, fd, &b, 1);
out:
	bytes_free(&b);
	if (close(fd) < 0 && !err) {
		err = -errno;
		log_error("%s/%s: cannot write: %s", w->shown, PALLAS_THREAD, strerror(-err));
	}
	return err;
}

int thread_writer_finish(struct thread_writer *w)
{
	struct chunk_writer *files[2] = {w->event_data, w->sequence_data};
	int err;

	if (w->total_events == 0) {
		log_error("%s: an archive cannot have a thread without events", w->shown);
		return -EINVAL;
	}
	err = grammar_builder_finish(w);
	if (err)
		goto fail;
	for (size_t i = 0; i < w->nevents; i++) {
		if (w->events[i].times.total + w->events[i].times.n == 0) {
			log_error("%s: event entry %zu has no occurrence", w->shown, i);
			err = -EINVAL;
			goto fail;
		}
	}
	err = flush_vectors(w, 0);
	if (err)
		goto fail;
	w->event_data = w->sequence_data = NULL;
	for (unsigned i = 0; i < 2; i++)
		err = chunk_writer_close(files[i]) ?: err;
	if (err)
		goto fail;
	err = put_thread(w);
	if (err)
		goto fail;
	return 0;
fail:
	return archive_writer_fail(w, err);
}
