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
#include "trace/base/hash.h"
#include "trace/base/text.h"
#include "trace/pallas/pallas_file.h"
#include "trace/pallas/write/grammar_builder.h"

struct attribute {
	uint32_t name, type;
};

struct location {
	uint32_t id, name, parent;
};

struct entry {
	char *key, *value;
};

struct part {
	struct location *locations;
	size_t nlocations;
	struct entry *metadata;
	size_t nmetadata;
};

struct archive_writer {
	char *path;
	int fd;
	struct thread_writer_options options;
	char **strings;
	uint32_t nstrings;
	struct hash string_of; /* hash of the text, number of the texts with it before */
	uint32_t *regions;     /* their names */
	uint32_t nregions;
	struct attribute *attributes;
	uint32_t nattributes;
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
		log_error("cannot create '%s': %s", path, strerror(errno));
		archive_writer_free(w);
		return NULL;
	}
	w->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->fd < 0) {
		log_error("cannot open '%s': %s", path, strerror(errno));
		archive_writer_free(w);
		return NULL;
	}
	return w;
}

void archive_writer_free(struct archive_writer *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->nstrings; i++)
		free(w->strings[i]);
	free(w->strings);
	hash_free(&w->string_of);
	free(w->regions);
	free(w->attributes);
	part_free(&w->main);
	part_free(&w->archive);
	if (w->fd >= 0)
		close(w->fd);
	free(w->path);
	free(w);
}

/* ---- names ---- */

static uint64_t text_hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3u;
	return h;
}

uint32_t archive_writer_string(struct archive_writer *w, const char *text)
{
	struct hash_key key = {.a = text_hash(text)};
	uint32_t *at;
	char **added;

	for (;; key.b++) {
		at = hash_at(&w->string_of, key);
		if (!at)
			return PALLAS_NONE;
		if (*at == HASH_NONE)
			break;
		if (strcmp(w->strings[*at], text) == 0)
			return *at;
	}
	added = ARRAY_ADD(w->strings, w->nstrings);
	if (!added)
		return PALLAS_NONE;
	*added = strdup(text);
	if (!*added) {
		w->nstrings--;
		return PALLAS_NONE;
	}
	*at = (uint32_t)(added - w->strings);
	return *at;
}

uint32_t archive_writer_region(struct archive_writer *w, const char *name)
{
	uint32_t string = archive_writer_string(w, name);
	uint32_t *added = string == PALLAS_NONE ? NULL : ARRAY_ADD(w->regions, w->nregions);

	if (!added)
		return PALLAS_NONE;
	*added = string;
	return (uint32_t)(added - w->regions);
}

uint32_t archive_writer_attribute(struct archive_writer *w, const char *name, uint8_t type)
{
	uint32_t string = archive_writer_string(w, name);
	struct attribute *added;

	for (uint32_t i = 0; i < w->nattributes; i++) {
		if (w->attributes[i].name == string && w->attributes[i].type == type)
			return i;
	}
	added = string == PALLAS_NONE ? NULL : ARRAY_ADD(w->attributes, w->nattributes);
	if (!added)
		return PALLAS_NONE;
	*added = (struct attribute){string, type};
	return (uint32_t)(added - w->attributes);
}

/* ---- files ---- */

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

static void put_text(struct pallas_out *out, const char *text)
{
	pallas_out_u64(out, strlen(text) + 1);
	pallas_out_put(out, text, strlen(text) + 1);
}

static void put_locations(struct pallas_out *out, const struct part *p)
{
	pallas_out_u64(out, p->nlocations);
	for (size_t i = 0; i < p->nlocations; i++) {
		pallas_out_u32(out, p->locations[i].id);
		pallas_out_u32(out, p->locations[i].name);
		pallas_out_u32(out, p->locations[i].parent);
	}
}

static void put_metadata(struct pallas_out *out, struct part *p)
{
	if (p->nmetadata)
		qsort(p->metadata, p->nmetadata, sizeof(*p->metadata), by_key);
	pallas_out_u64(out, p->nmetadata);
	for (size_t i = 0; i < p->nmetadata; i++) {
		put_text(out, p->metadata[i].key);
		put_text(out, p->metadata[i].value);
	}
}

/* Ends the present archive, if there is one. The main file has all definitions. */
static int archive_close(struct archive_writer *w)
{
	struct pallas_out out;
	char path[64];
	int err;

	if (w->narchives == 0)
		return 0;
	snprintf(path, sizeof(path), "archive_%u/" PALLAS_ARCHIVE, w->narchives - 1);
	err = pallas_out_create(&out, w->fd, path, w->path);
	if (err)
		return err;
	pallas_out_u32(&out, w->narchives - 1);
	pallas_out_u32(&out, (uint32_t)w->archive.nlocations);
	for (unsigned i = 0; i < 6; i++)
		pallas_out_u64(&out, 0); /* five tables of definitions, location groups */
	put_locations(&out, &w->archive);
	put_metadata(&out, &w->archive);
	part_free(&w->archive);
	return pallas_out_close(&out);
}

static int location_add(struct part *p, uint32_t id, uint32_t name, uint32_t parent)
{
	struct location *added = ARRAY_ADD(p->locations, p->nlocations);

	if (!added)
		return -ENOMEM;
	*added = (struct location){id, name, parent};
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
		log_error("cannot create '%s/%s': %s", w->path, path, strerror(errno));
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
	char path[64], *shown;

	if (string == PALLAS_NONE || location_add(&w->archive, w->nthreads, string, archive)) {
		log_no_memory("while writing %s", w->path);
		return NULL;
	}
	snprintf(path, sizeof(path), "archive_%u/thread_%u", archive, w->nthreads);
	shown = xasprintf("%s/%s", w->path, path);
	if (!shown) {
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
	struct entry *added = ARRAY_ADD(p->metadata, p->nmetadata);

	if (added)
		*added = (struct entry){strdup(key), strdup(value)};
	if (!added || !added->key || !added->value)
		return log_no_memory("while writing %s", w->path);
	return 0;
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
	const uint8_t version = PALLAS_ABI;
	struct pallas_out out;
	int err = archive_close(w);

	if (err)
		return err;
	err = pallas_out_create(&out, w->fd, PALLAS_MAIN, w->path);
	if (err)
		return err;
	pallas_out_put(&out, &version, 1);
	pallas_out_u32(&out, w->options.compression);
	pallas_out_u32(&out, w->options.encoding);
	pallas_out_u64(&out, (uint64_t)w->options.level);
	pallas_out_u32(&out, 2); /* loop finding: truncated */
	pallas_out_u64(&out, THREAD_PATTERN);
	pallas_out_u32(&out, 1); /* "Delta" */
	pallas_out_u64(&out, w->nstrings);
	for (uint32_t i = 0; i < w->nstrings; i++) {
		uint32_t size = (uint32_t)strlen(w->strings[i]) + 1;

		pallas_out_u32(&out, i);
		pallas_out_u32(&out, size);
		pallas_out_put(&out, w->strings[i], size);
	}
	pallas_out_u64(&out, w->nregions);
	for (uint32_t i = 0; i < w->nregions; i++) {
		pallas_out_u32(&out, i);
		pallas_out_u32(&out, w->regions[i]);
	}
	pallas_out_u64(&out, w->nattributes);
	for (uint32_t i = 0; i < w->nattributes; i++) {
		pallas_out_u32(&out, i);
		pallas_out_u32(&out, w->attributes[i].name);
		pallas_out_u32(&out, w->attributes[i].name); /* the description */
		pallas_out_u32(&out, w->attributes[i].type); /* and padding */
	}
	pallas_out_u64(&out, 0); /* groups */
	pallas_out_u64(&out, 0); /* communicators */
	put_locations(&out, &w->main);
	pallas_out_u64(&out, 0); /* no locations: the archives have them */
	put_metadata(&out, &w->main);
	return pallas_out_close(&out);
}
