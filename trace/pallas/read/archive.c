/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/pallas/read/archive.h"
#include "trace/pallas/cursor.h"
#include "trace/pallas/pallas_file.h"
#include "trace/pallas/pallas_record.h"

const char *const pallas_compression_names[PALLAS_COMPRESSION_COUNT] = {
	"None", "ZSTD", "Histogram", "SZ", "ZFP", "ZSTD_Histogram",
};

const char *const pallas_encoding_names[PALLAS_ENCODING_COUNT] = {
	"None",
	"Masking",
	"LeadingZeroes",
};

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Reads location groups or locations: both have 12 bytes: id, name, parent. */
static int places_read(struct pallas_location **rows, size_t *count, struct cursor *c,
		       const char *what)
{
	size_t n = cursor_count(c, 12, what);

	if (c->bad)
		return -EBADMSG;
	*rows = calloc(n ? n : 1, sizeof(**rows));
	if (!*rows)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		(*rows)[i].id = cursor_u32(c, what);
		(*rows)[i].name = cursor_u32(c, what);
		(*rows)[i].parent = cursor_u32(c, what);
	}
	*count = n;
	qsort(*rows, n, sizeof(**rows), by_id);
	for (size_t i = 1; i < n; i++) {
		if ((*rows)[i].id == (*rows)[i - 1].id)
			return cursor_fail(c, "two %s have the id %u", what, (*rows)[i].id);
	}
	return 0;
}

static const char *text_read(struct cursor *c)
{
	size_t n = cursor_count(c, 1, "bytes of metadata");
	const char *text = (const char *)cursor_bytes(c, n, "metadata");

	if (text && (n == 0 || text[n - 1] != '\0'))
		cursor_fail(c, "a text of the metadata does not end with a NUL");
	return c->bad ? NULL : text;
}

static int metadata_read(struct pallas_part *part, struct cursor *c)
{
	size_t n = cursor_count(c, 18, "metadata entries");

	if (c->bad)
		return -EBADMSG;
	part->metadata = calloc(n ? n : 1, sizeof(*part->metadata));
	if (!part->metadata)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++, part->nmetadata++) {
		part->metadata[i].key = text_read(c);
		part->metadata[i].value = text_read(c);
		if (c->bad)
			return -EBADMSG;
	}
	return 0;
}

/* Reads the common end of both kinds of file: definitions, groups, locations, metadata. */
static int part_read(struct pallas_part *part, struct cursor *c)
{
	int err = pallas_definitions_read(&part->defs, c);

	if (err)
		return err;
	err = places_read(&part->groups, &part->ngroups, c, "location groups");
	if (err)
		return err;
	err = places_read(&part->locations, &part->nlocations, c, "locations");
	if (err)
		return err;
	err = metadata_read(part, c);
	if (err)
		return err;
	if (cursor_left(c))
		log_warn("%s: %zu bytes after the last section are not understood", c->path,
			 cursor_left(c));
	return err;
}

static void part_free(struct pallas_part *part)
{
	pallas_definitions_free(&part->defs);
	free(part->groups);
	free(part->locations);
	free(part->metadata);
	free(part->bytes);
}

/* Reads a file into part->bytes and counts its memory and that of its tables. */
static int part_load(struct pallas_trace *trace, struct pallas_part *part, const char *path,
		     const char *shown, struct cursor *c)
{
	size_t size, most = trace->budget > trace->used ? trace->budget - trace->used : 0;
	int err = pallas_file_read(trace->fd, path, shown, most, &part->bytes, &size);

	if (err)
		return err;
	trace->used += 3 * size; /* the file, and rows of at most twice its size */
	cursor_init(c, part->bytes, size, shown);
	return 0;
}

static int main_read(struct pallas_trace *trace, const char *shown)
{
	struct cursor c;
	int err = part_load(trace, &trace->part, trace->main, shown, &c);

	if (err)
		return err;
	trace->version = cursor_u8(&c, "the version");
	if (!c.bad && trace->version != PALLAS_ABI) {
		log_error("%s: ABI version %u: this program reads version %u alone", shown,
			  trace->version, PALLAS_ABI);
		return -EPROTONOSUPPORT;
	}
	trace->compression = cursor_u32(&c, "the configuration");
	trace->encoding = cursor_u32(&c, "the configuration");
	trace->zstd_level = cursor_u64(&c, "the configuration");
	trace->loop_finding = cursor_u32(&c, "the configuration");
	trace->max_loop = cursor_u64(&c, "the configuration");
	trace->timestamp_storage = cursor_u32(&c, "the configuration");
	if (c.bad)
		return -EBADMSG;
	if (trace->compression >= PALLAS_COMPRESSION_COUNT) {
		log_error("%s: compression %u is not known", shown, trace->compression);
		return -EPROTONOSUPPORT;
	}
	if (trace->compression > PALLAS_COMPRESSION_ZSTD) {
		log_error("%s: compression %s loses information and is not read", shown,
			  pallas_compression_names[trace->compression]);
		return -EPROTONOSUPPORT;
	}
	if (trace->encoding > PALLAS_ENCODING_MASKING) {
		log_error("%s: encoding %u (%s) is not known", shown, trace->encoding,
			  trace->encoding < PALLAS_ENCODING_COUNT
				  ? pallas_encoding_names[trace->encoding]
				  : "?");
		return -EPROTONOSUPPORT;
	}
	return part_read(&trace->part, &c);
}

static int archive_read(struct pallas_trace *trace, struct pallas_archive *a)
{
	char path[64], *shown;
	struct cursor c;
	uint32_t id;
	int err;

	snprintf(path, sizeof(path), "archive_%u/" PALLAS_ARCHIVE, a->id);
	if (asprintf(&shown, "%s/%s", trace->path, path) < 0)
		return -ENOMEM;
	err = part_load(trace, &a->part, path, shown, &c);
	if (err)
		goto out;
	id = cursor_u32(&c, "the archive");
	a->nthreads = cursor_u32(&c, "the archive");
	if (c.bad)
		err = -EBADMSG;
	else if (id != a->id)
		err = cursor_fail(&c, "the archive says that its id is %u", id);
	else
		err = part_read(&a->part, &c);
out:
	free(shown);
	return err;
}

static int thread_add(struct pallas_trace *trace, const struct pallas_archive *a,
		      const struct pallas_location *l)
{
	struct pallas_thread *t;

	if ((trace->nthreads & (trace->nthreads - 1)) == 0) {
		size_t room = trace->nthreads ? 2 * trace->nthreads : 1;

		t = realloc(trace->threads, room * sizeof(*t));
		if (!t)
			return -ENOMEM;
		trace->threads = t;
	}
	t = &trace->threads[trace->nthreads];
	*t = (struct pallas_thread){.archive = a, .id = l->id, .name = l->name};
	if (asprintf(&t->path, "archive_%u/thread_%u", a->id, l->id) < 0)
		return -ENOMEM;
	trace->nthreads++;
	return 0;
}

/* Adds the threads of an archive: its own locations, then its locations in the main file. */
static int threads_list(struct pallas_trace *trace, const struct pallas_archive *a)
{
	int err = 0;

	for (size_t i = 0; i < a->part.nlocations; i++) {
		err = thread_add(trace, a, &a->part.locations[i]);
		if (err)
			return err;
	}
	if (err)
		return err;
	for (size_t i = 0; i < trace->part.nlocations; i++) {
		if (trace->part.locations[i].parent == a->id)
			err = thread_add(trace, a, &trace->part.locations[i]);
		if (err)
			return err;
	}
	return err;
}

/* Splits `path` into directory and main file: PALLAS_MAIN, or the only *.pallas of a directory. */
static int find_main(struct pallas_trace *trace, const char *path)
{
	struct stat st;
	const char *slash;
	struct dirent *d;
	DIR *dir;
	int found = 0;

	if (stat(path, &st) < 0) {
		int err = -errno;

		log_error("%s: cannot open: %s", path, strerror(errno));
		return err;
	}
	if (!S_ISDIR(st.st_mode)) {
		slash = strrchr(path, '/');
		if (!slash)
			trace->path = strdup(".");
		else
			trace->path = strndup(path, slash == path ? 1 : (size_t)(slash - path));
		trace->main = strdup(slash ? slash + 1 : path);
		return trace->path && trace->main ? 0 : -ENOMEM;
	}
	trace->path = strdup(path);
	if (!trace->path)
		return -ENOMEM;
	for (size_t n = strlen(trace->path); n > 1 && trace->path[n - 1] == '/';)
		trace->path[--n] = '\0';
	dir = opendir(path);
	if (!dir) {
		int err = -errno;

		log_error("%s: cannot open: %s", path, strerror(errno));
		return err;
	}
	while ((d = readdir(dir))) {
		size_t n = strlen(d->d_name);
		bool exact = strcmp(d->d_name, PALLAS_MAIN) == 0;

		if (n <= 7 || strcmp(d->d_name + n - 7, ".pallas") != 0)
			continue;
		if (found++ && !exact)
			continue;
		free(trace->main);
		trace->main = strdup(d->d_name);
		if (exact) {
			found = 1;
			break;
		}
	}
	closedir(dir);
	if (found == 1)
		return trace->main ? 0 : -ENOMEM;
	log_error(found ? "%s: more than one .pallas file: name the one to open"
			: "%s: no main file (*.pallas) in it",
		  path);
	return -ENOENT;
}

/* Memory outside the counted bytes: pages of the program, and gaps of the allocator. */
static size_t reserve(size_t budget)
{
	size_t own = (3u << 20) + budget / 8;

	return own < budget / 2 ? own : budget / 2;
}

int pallas_open(struct pallas_trace *trace, const char *path, size_t budget)
{
	char *shown = NULL;
	int err;

	budget = budget ? budget : PALLAS_BUDGET;
	*trace = (struct pallas_trace){.fd = -1, .budget = budget - reserve(budget)};
	err = find_main(trace, path);
	if (err)
		goto out;
	trace->fd = open(trace->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (trace->fd < 0) {
		err = -errno;
		log_error("%s: cannot open: %s", trace->path, strerror(errno));
		goto out;
	}
	if (asprintf(&shown, "%s/%s", trace->path, trace->main) < 0) {
		shown = NULL;
		err = -ENOMEM;
		goto out;
	}
	err = main_read(trace, shown);
	if (err)
		goto out;
	trace->archives = calloc(trace->part.ngroups + 1, sizeof(*trace->archives));
	if (!trace->archives) {
		err = -ENOMEM;
		goto out;
	}
	for (size_t i = 0; i < trace->part.ngroups; i++) {
		struct pallas_archive *a = &trace->archives[trace->narchives++];

		a->id = trace->part.groups[i].id;
		err = archive_read(trace, a);
		if (err)
			goto out;
		err = threads_list(trace, a);
		if (err)
			goto out;
	}
out:
	free(shown);
	if (err == -ENOMEM)
		log_no_memory("while opening %s", path);
	if (err)
		pallas_close(trace);
	return err;
}

void pallas_close(struct pallas_trace *trace)
{
	for (size_t i = 0; i < trace->nthreads; i++) {
		pallas_thread_unload(trace, &trace->threads[i]);
		free(trace->threads[i].path);
	}
	free(trace->threads);
	for (size_t i = 0; i < trace->narchives; i++)
		part_free(&trace->archives[i].part);
	free(trace->archives);
	part_free(&trace->part);
	free(trace->path);
	free(trace->main);
	if (trace->fd >= 0)
		close(trace->fd);
	*trace = (struct pallas_trace){.fd = -1};
}

int pallas_thread_load(struct pallas_trace *trace, struct pallas_thread *thread)
{
	char path[96], *shown;
	size_t most = trace->budget > trace->used ? trace->budget - trace->used : 0;
	int err;

	if (thread->loaded)
		return 0;
	snprintf(path, sizeof(path), "%s/" PALLAS_THREAD, thread->path);
	if (asprintf(&shown, "%s/%s", trace->path, path) < 0)
		return -ENOMEM;
	err = thread_grammar_load(&thread->grammar, trace->fd, path, shown, most);
	if (err)
		goto out;
	thread->loaded = true;
	trace->used += thread->grammar.memory;
out:
	free(shown);
	return err;
}

void pallas_thread_unload(struct pallas_trace *trace, struct pallas_thread *thread)
{
	if (!thread->loaded)
		return;
	trace->used -= thread->grammar.memory;
	thread_grammar_free(&thread->grammar);
	thread->loaded = false;
}

const char *pallas_string(const struct pallas_trace *trace, const struct pallas_archive *archive,
			  uint32_t ref)
{
	const char *text = archive ? pallas_definitions_string(&archive->part.defs, ref) : NULL;

	return text ? text : pallas_definitions_string(&trace->part.defs, ref);
}

const char *pallas_region(const struct pallas_trace *trace, const struct pallas_archive *archive,
			  uint32_t ref)
{
	const struct pallas_region *r = NULL;

	if (archive)
		r = pallas_definitions_region(&archive->part.defs, ref);
	if (!r)
		r = pallas_definitions_region(&trace->part.defs, ref);
	return r ? pallas_string(trace, archive, r->name) : NULL;
}

const char *pallas_group_name(const struct pallas_trace *trace, uint32_t id)
{
	const struct pallas_location *g = bsearch(&id, trace->part.groups, trace->part.ngroups,
						  sizeof(*trace->part.groups), by_id);
	const char *name = g ? pallas_string(trace, NULL, g->name) : NULL;

	return name ? name : "";
}

const char *pallas_thread_name(const struct pallas_trace *trace, const struct pallas_thread *thread)
{
	const char *name = pallas_string(trace, thread->archive, thread->name);

	return name ? name : "";
}

const char *pallas_metadata(const struct pallas_part *part, const char *key)
{
	for (size_t i = 0; i < part->nmetadata; i++) {
		if (strcmp(part->metadata[i].key, key) == 0)
			return part->metadata[i].value;
	}
	return NULL;
}

struct names {
	const struct pallas_trace *trace;
	const struct pallas_archive *archive;
};

static const char *find_name(const void *arg, char kind, uint32_t ref)
{
	const struct names *n = arg;

	return kind == 'r' ? pallas_region(n->trace, n->archive, ref)
			   : pallas_string(n->trace, n->archive, ref);
}

size_t pallas_event_text(const struct pallas_trace *trace, const struct pallas_thread *thread,
			 uint32_t place, char *out, size_t size)
{
	const struct pallas_event *e = &thread->grammar.events[place];
	struct names names = {trace, thread->archive};

	return pallas_record_text(out, size, e->record, e->payload, e->payload_size, find_name,
				  &names);
}

const char *pallas_sequence_name(const struct pallas_trace *trace,
				 const struct pallas_thread *thread, uint32_t place, char *out,
				 size_t size)
{
	const struct pallas_sequence *s = &thread->grammar.sequences[place];
	const struct pallas_event *e;
	const char *name;
	uint32_t token;

	if (s->ntokens == 0) {
		snprintf(out, size, "invalid");
		return out;
	}
	token = pallas_sequence_token(s, 0);
	if (token_type(token) == TOKEN_EVENT) {
		e = &thread->grammar.events[token_id(token)];
		if (e->record == PALLAS_ENTER && e->payload_size >= 4) {
			name = pallas_region(trace, thread->archive, get_u32(e->payload));
			snprintf(out, size, "%s", name ? name : "?");
			return out;
		}
		if (e->record == PALLAS_THREAD_BEGIN || e->record == PALLAS_THREAD_TEAM_BEGIN) {
			snprintf(out, size, "thread");
			return out;
		}
	}
	snprintf(out, size, "Sequence_%u", s->id);
	return out;
}
