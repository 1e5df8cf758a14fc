/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/base/array.h"
#include "trace/pallas/write/archive_writer.h"

/* Rows of a table, with a text or a number as the key. */
struct name {
	char *text;
	uint32_t a, b; /* region: its string; attribute: its string and type */
};

struct table {
	struct name *rows;
	uint32_t n, room;
	uint32_t *slots; /* twice `room` */
};

struct location {
	uint32_t id, name, parent;
};

struct entry {
	char *key, *value;
};

struct part {
	struct location *locations;
	size_t nlocations, location_room;
	struct entry *metadata;
	size_t nmetadata, metadata_room;
};

struct archive_writer {
	char *path;
	int fd;
	struct thread_writer_options options;
	struct table strings, regions, attributes;
	struct part main, archive; /* the locations of `main` are the location groups */
	uint32_t narchives, nthreads;
};

static void part_free(struct part *p)
{
	for (size_t i = 0; i < p->nmetadata; i++) {
		free(p->metadata[i].key);
		free(p->metadata[i].value);
	}
	free(p->metadata);
	free(p->locations);
	*p = (struct part){0};
}

static void table_free(struct table *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->rows[i].text);
	free(t->rows);
	free(t->slots);
}

struct archive_writer *archive_writer_new(const char *path,
					  const struct thread_writer_options *options)
{
	struct archive_writer *w = calloc(1, sizeof(*w));

	if (!w || !(w->path = strdup(path))) {
		log_no_memory("while writing %s", path);
		free(w);
		return NULL;
	}
	w->fd = -1;
	w->options = *options;
	if (mkdir(path, 0755) < 0) {
		log_error("%s: cannot create: %s", path, strerror(errno));
		archive_writer_free(w);
		return NULL;
	}
	w->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->fd < 0) {
		log_error("%s: cannot open: %s", path, strerror(errno));
		archive_writer_free(w);
		return NULL;
	}
	return w;
}

void archive_writer_free(struct archive_writer *w)
{
	if (!w)
		return;
	table_free(&w->strings);
	table_free(&w->regions);
	table_free(&w->attributes);
	part_free(&w->main);
	part_free(&w->archive);
	if (w->fd >= 0)
		close(w->fd);
	free(w->path);
	free(w);
}

/* ---- names ---- */

static uint64_t name_hash(const char *text, uint32_t a, uint32_t b)
{
	uint64_t h = 0xcbf29ce484222325u ^ a ^ (uint64_t)b << 32;

	for (; text && *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3u;
	return h ^ h >> 31;
}

static uint32_t *name_slot(const struct table *t, const char *text, uint32_t a, uint32_t b)
{
	size_t mask = 2 * (size_t)t->room - 1, slot = name_hash(text, a, b) & mask;

	while (t->slots[slot] != PALLAS_NONE) {
		const struct name *row = &t->rows[t->slots[slot]];

		if (row->a == a && row->b == b && (!text || strcmp(row->text, text) == 0))
			break;
		slot = (slot + 1) & mask;
	}
	return &t->slots[slot];
}

static int table_grow(struct table *t)
{
	uint32_t room = t->room ? 2 * t->room : 64;
	struct name *rows = realloc(t->rows, room * sizeof(*rows));
	uint32_t *slots;

	if (!rows)
		return -ENOMEM;
	t->rows = rows;
	slots = malloc(2 * (size_t)room * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, 2 * (size_t)room * sizeof(*slots));
	free(t->slots);
	t->slots = slots;
	t->room = room;
	for (uint32_t i = 0; i < t->n; i++)
		*name_slot(t, rows[i].text, rows[i].a, rows[i].b) = i;
	return 0;
}

/* The row with this key, added if it is new. */
static uint32_t intern(struct table *t, const char *text, uint32_t a, uint32_t b)
{
	uint32_t *slot;

	if (t->n == t->room && table_grow(t))
		return PALLAS_NONE;
	slot = name_slot(t, text, a, b);
	if (*slot != PALLAS_NONE)
		return *slot;
	t->rows[t->n] = (struct name){.a = a, .b = b};
	if (text && !(t->rows[t->n].text = strdup(text)))
		return PALLAS_NONE;
	*slot = t->n;
	return t->n++;
}

uint32_t archive_writer_string(struct archive_writer *w, const char *text)
{
	return intern(&w->strings, text, 0, 0);
}

uint32_t archive_writer_region(struct archive_writer *w, const char *name)
{
	uint32_t string = archive_writer_string(w, name);

	return string == PALLAS_NONE ? string : intern(&w->regions, NULL, string, 0);
}

uint32_t archive_writer_new_region(struct archive_writer *w, const char *name)
{
	uint32_t string = archive_writer_string(w, name);

	return string == PALLAS_NONE ? string : intern(&w->regions, NULL, string, w->regions.n + 1);
}

uint32_t archive_writer_attribute(struct archive_writer *w, const char *name, uint8_t type)
{
	uint32_t string = archive_writer_string(w, name);

	return string == PALLAS_NONE ? string : intern(&w->attributes, NULL, string, type);
}

/* ---- files ---- */

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

static void put_text(struct bytes *b, const char *text)
{
	bytes_u64(b, strlen(text) + 1);
	bytes_put(b, text, strlen(text) + 1);
}

static void put_locations(struct bytes *b, const struct part *p)
{
	bytes_u64(b, p->nlocations);
	for (size_t i = 0; i < p->nlocations; i++) {
		bytes_u32(b, p->locations[i].id);
		bytes_u32(b, p->locations[i].name);
		bytes_u32(b, p->locations[i].parent);
	}
}

static void put_metadata(struct bytes *b, struct part *p)
{
	if (p->nmetadata)
		qsort(p->metadata, p->nmetadata, sizeof(*p->metadata), by_key);
	bytes_u64(b, p->nmetadata);
	for (size_t i = 0; i < p->nmetadata; i++) {
		put_text(b, p->metadata[i].key);
		put_text(b, p->metadata[i].value);
	}
}

/* Writes `b` as a new file below the directory of the trace, and frees `b`. */
static int put_file(struct archive_writer *w, const char *path, struct bytes *b)
{
	int err = b->failed ? -ENOMEM : 0, fd = -1;
	size_t at = 0;

	if (err)
		goto out;
	fd = openat(w->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0) {
		err = -errno;
		goto out;
	}
	while (at < b->size) {
		ssize_t n = write(fd, b->data + at, b->size - at);

		if (n < 0 && errno != EINTR) {
			err = -errno;
			goto out;
		}
		at += n > 0 ? (size_t)n : 0;
	}
out:
	if (fd >= 0 && close(fd) < 0 && err == 0)
		err = -errno;
	if (err)
		log_error("%s/%s: cannot write: %s", w->path, path, strerror(-err));
	bytes_free(b);
	return err;
}

/* Ends the present archive, if there is one. The main file has all definitions. */
static int archive_close(struct archive_writer *w)
{
	struct bytes b = {0};
	char path[64];

	if (w->narchives == 0)
		return 0;
	snprintf(path, sizeof(path), "archive_%u/" PALLAS_ARCHIVE, w->narchives - 1);
	bytes_u32(&b, w->narchives - 1);
	bytes_u32(&b, (uint32_t)w->archive.nlocations);
	for (unsigned i = 0; i < 6; i++)
		bytes_u64(&b, 0); /* five tables of definitions, location groups */
	put_locations(&b, &w->archive);
	put_metadata(&b, &w->archive);
	part_free(&w->archive);
	return put_file(w, path, &b);
}

static int location_add(struct part *p, uint32_t id, uint32_t name, uint32_t parent)
{
	if (p->nlocations == p->location_room) {
		size_t room = p->location_room ? 2 * p->location_room : 16;
		struct location *rows = realloc(p->locations, room * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		p->locations = rows;
		p->location_room = room;
	}
	p->locations[p->nlocations++] = (struct location){id, name, parent};
	return 0;
}

uint32_t archive_writer_archive(struct archive_writer *w, const char *name)
{
	uint32_t string = archive_writer_string(w, name);
	char path[64];

	if (archive_close(w))
		return PALLAS_NONE;
	snprintf(path, sizeof(path), "archive_%u", w->narchives);
	if (mkdirat(w->fd, path, 0755) < 0) {
		log_error("%s/%s: cannot create: %s", w->path, path, strerror(errno));
		return PALLAS_NONE;
	}
	if (string == PALLAS_NONE || location_add(&w->main, w->narchives, string, PALLAS_NONE)) {
		log_no_memory("while writing %s", w->path);
		return PALLAS_NONE;
	}
	return w->narchives++;
}

struct thread_writer *archive_writer_thread(struct archive_writer *w, const char *name,
					    uint32_t *id)
{
	uint32_t string = archive_writer_string(w, name), archive = w->narchives - 1;
	struct thread_writer *t;
	char path[96], *shown;

	if (string == PALLAS_NONE || location_add(&w->archive, w->nthreads, string, archive)) {
		log_no_memory("while writing %s", w->path);
		return NULL;
	}
	snprintf(path, sizeof(path), "archive_%u/thread_%u", archive, w->nthreads);
	if (asprintf(&shown, "%s/%s", w->path, path) < 0) {
		log_no_memory("while writing %s", w->path);
		return NULL;
	}
	t = thread_writer_new(w->fd, path, shown, archive, w->nthreads, &w->options);
	free(shown);
	*id = w->nthreads++;
	return t;
}

static int metadata_add(struct archive_writer *w, struct part *p, const char *key,
			const char *value)
{
	struct entry *e = NULL;

	for (size_t i = p->nmetadata; i-- > 0;) {
		if (strcmp(p->metadata[i].key, key) == 0) {
			char *copy = strdup(value);

			if (!copy)
				goto fail;
			free(p->metadata[i].value);
			p->metadata[i].value = copy;
			return 0;
		}
	}
	if (p->nmetadata == p->metadata_room) {
		size_t room = p->metadata_room ? 2 * p->metadata_room : 16;

		e = realloc(p->metadata, room * sizeof(*e));
		if (!e)
			goto fail;
		p->metadata = e;
		p->metadata_room = room;
	}
	e = &p->metadata[p->nmetadata];
	e->key = strdup(key);
	e->value = strdup(value);
	if (e->key && e->value) {
		p->nmetadata++;
		return 0;
	}
	free(e->key);
	free(e->value);
fail:
	log_no_memory("while writing %s", w->path);
	return -ENOMEM;
}

int archive_writer_main_metadata(struct archive_writer *w, const char *key, const char *value)
{
	return metadata_add(w, &w->main, key, value);
}

int archive_writer_metadata(struct archive_writer *w, const char *key, const char *value)
{
	return metadata_add(w, &w->archive, key, value);
}

int archive_writer_finish(struct archive_writer *w)
{
	struct bytes b = {0};
	int err = archive_close(w);

	if (err)
		return err;
	bytes_u8(&b, PALLAS_ABI);
	bytes_u32(&b, w->options.compression);
	bytes_u32(&b, w->options.encoding);
	bytes_u64(&b, (uint64_t)w->options.level);
	bytes_u32(&b, 2); /* loop finding: truncated */
	bytes_u64(&b, THREAD_PATTERN);
	bytes_u32(&b, 1); /* "Delta" */
	bytes_u64(&b, w->strings.n);
	for (uint32_t i = 0; i < w->strings.n; i++) {
		uint32_t size = (uint32_t)strlen(w->strings.rows[i].text) + 1;

		bytes_u32(&b, i);
		bytes_u32(&b, size);
		bytes_put(&b, w->strings.rows[i].text, size);
	}
	bytes_u64(&b, w->regions.n);
	for (uint32_t i = 0; i < w->regions.n; i++) {
		bytes_u32(&b, i);
		bytes_u32(&b, w->regions.rows[i].a);
	}
	bytes_u64(&b, w->attributes.n);
	for (uint32_t i = 0; i < w->attributes.n; i++) {
		bytes_u32(&b, i);
		bytes_u32(&b, w->attributes.rows[i].a);
		bytes_u32(&b, w->attributes.rows[i].a);
		bytes_u32(&b, w->attributes.rows[i].b); /* type and padding */
	}
	bytes_u64(&b, 0); /* groups */
	bytes_u64(&b, 0); /* communicators */
	put_locations(&b, &w->main);
	bytes_u64(&b, 0); /* no locations: the archives have them */
	put_metadata(&b, &w->main);
	return put_file(w, PALLAS_MAIN, &b);
}
