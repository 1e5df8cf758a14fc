/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/text.h"
#include "trace/pallas/read/archive.h"
#include "trace/pallas/cursor.h"
#include "trace/pallas/pallas_file.h"

const char *const pallas_compression_names[PALLAS_COMPRESSION_COUNT] = {
	"None", "ZSTD", "Histogram", "SZ", "ZFP", "ZSTD_Histogram",
};

const char *const pallas_encoding_names[PALLAS_ENCODING_COUNT] = {
	"None",
	"Masking",
	"LeadingZeroes",
};

int pallas_by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Reads a table whose rows are `size` bytes in the file as in memory, without pointers. */
static void *rows_read(struct cursor *c, size_t *count, size_t size, const char *what)
{
	size_t n = cursor_count(c, size, what);
	const uint8_t *bytes = cursor_bytes(c, n * size, what);
	void *rows = cursor_rows(c, n, size);

	if (!rows)
		return NULL;
	memcpy(rows, bytes, n * size);
	qsort(rows, n, size, pallas_by_id);
	*count = n;
	return rows;
}

static void strings_read(struct pallas_definitions *defs, struct cursor *c)
{
	size_t n = cursor_count(c, 9, "strings");

	defs->strings = cursor_rows(c, n, sizeof(*defs->strings));
	if (!defs->strings)
		return;
	for (size_t i = 0; i < n; i++) {
		struct pallas_string *s = &defs->strings[i];
		uint32_t len;

		s->ref = cursor_u32(c, "a string");
		len = cursor_u32(c, "a string");
		if (len < 1 || len > INT32_MAX)
			cursor_fail(c, "string %u has the length %d, which must be 1 or more",
				    s->ref, (int)len);
		s->text = (const char *)cursor_bytes(c, len, "a string");
		if (s->text && s->text[len - 1] != '\0')
			cursor_fail(c, "string %u does not end with a NUL", s->ref);
		if (c->err)
			return;
	}
	qsort(defs->strings, n, sizeof(*defs->strings), pallas_by_id);
	defs->nstrings = n;
}

static void groups_read(struct pallas_definitions *defs, struct cursor *c)
{
	bool old = c->version < 17; /* no type and paradigm, members of 8 bytes */
	size_t n = cursor_count(c, old ? 12 : 20, "groups");

	defs->groups = cursor_rows(c, n, sizeof(*defs->groups));
	if (!defs->groups)
		return;
	for (size_t i = 0; i < n; i++) {
		struct pallas_group *g = &defs->groups[i];
		uint8_t *members;

		g->ref = cursor_u32(c, "a group");
		g->name = cursor_u32(c, "a group");
		g->type = old ? 0 : cursor_u32(c, "a group");
		g->paradigm = old ? 0 : cursor_u32(c, "a group");
		g->nmembers = cursor_u32(c, "a group");
		members = cursor_bytes(c, (old ? 8 : 4) * (size_t)g->nmembers,
				       "the members of a group");
		if (c->err)
			return;
		for (size_t k = 0; old && k < g->nmembers; k++)
			memmove(members + 4 * k, members + 8 * k, 4);
		g->members = members;
	}
	qsort(defs->groups, n, sizeof(*defs->groups), pallas_by_id);
	defs->ngroups = n;
}

static struct pallas_location *locations_read(struct cursor *c, size_t *n, const char *what)
{
	struct pallas_location *rows = rows_read(c, n, sizeof(*rows), what);

	for (size_t i = 1; i < *n; i++) {
		if (rows[i].id == rows[i - 1].id)
			cursor_fail(c, "two %s have the id %u", what, rows[i].id);
	}
	return rows;
}

static const char *text_read(struct cursor *c)
{
	size_t n = cursor_count(c, 1, "bytes of metadata");
	const char *text = (const char *)cursor_bytes(c, n, "metadata");

	if (text && (n == 0 || text[n - 1] != '\0'))
		cursor_fail(c, "a text of the metadata does not end with a NUL");
	return text;
}

static void metadata_read(struct pallas_part *part, struct cursor *c)
{
	size_t n;

	if (c->version < 17) { /* not described */
		n = cursor_count(c, 1, "bytes of metadata");
		(void)cursor_bytes(c, n + 8, "metadata");
		return;
	}
	n = cursor_count(c, 18, "metadata entries");
	part->metadata = cursor_rows(c, n, sizeof(*part->metadata));
	if (!part->metadata)
		return;
	for (size_t i = 0; i < n; i++) {
		part->metadata[i].key = text_read(c);
		part->metadata[i].value = text_read(c);
		if (c->err)
			return;
	}
	part->nmetadata = n;
}

/* Reads the common end of both kinds of file: definitions, groups, locations, metadata. */
static int part_read(struct pallas_part *part, struct cursor *c)
{
	struct pallas_definitions *defs = &part->defs;

	strings_read(defs, c);
	defs->regions = rows_read(c, &defs->nregions, sizeof(*defs->regions), "regions");
	defs->attributes =
		rows_read(c, &defs->nattributes, sizeof(*defs->attributes), "attributes");
	groups_read(defs, c);
	defs->comms = rows_read(c, &defs->ncomms, sizeof(*defs->comms), "communicators");
	part->groups = locations_read(c, &part->ngroups, "location groups");
	part->locations = locations_read(c, &part->nlocations, "locations");
	metadata_read(part, c);
	if (c->err)
		return c->err;
	if (cursor_left(c))
		log_warn("%s: %zu bytes after the last section are not understood", c->path,
			 cursor_left(c));
	return 0;
}

static void part_free(struct pallas_part *part)
{
	free(part->defs.strings);
	free(part->defs.regions);
	free(part->defs.attributes);
	free(part->defs.groups);
	free(part->defs.comms);
	free(part->groups);
	free(part->locations);
	free(part->metadata);
	free(part->bytes);
}

/* Reads a file below the trace. The caller frees *shown, its name in messages. */
static int file_read(struct pallas_trace *trace, const char *path, char **shown, uint8_t **bytes,
		     size_t *size)
{
	size_t most = trace->budget > trace->used ? trace->budget - trace->used : 0;
	bool named = trace->main_named && path == trace->main;
	int err;

	*shown = xasprintf("%s/%s", trace->path, path);
	if (!*shown)
		return -ENOMEM;
	err = pallas_file_read(named ? AT_FDCWD : trace->fd, named ? *shown : path, *shown, most,
			       bytes, size);
	if (err)
		return err;
	trace->bytes_read += *size;
	trace->files_read++;
	return 0;
}

/* Reads a file into part->bytes, and counts the memory of it and its tables. */
static int part_load(struct pallas_trace *trace, struct pallas_part *part, const char *path,
		     char **shown, struct cursor *c)
{
	size_t size;
	int err = file_read(trace, path, shown, &part->bytes, &size);

	if (err)
		return err;
	trace->used += 3 * size; /* the file, and rows of at most twice its size */
	cursor_init(c, part->bytes, size, *shown, trace->version);
	return 0;
}

/* Refuses a configuration that this program does not read. */
static int configuration_check(const struct pallas_trace *trace, const char *shown)
{
	if (trace->compression >= PALLAS_COMPRESSION_COUNT) {
		log_error("%s: compression %u is not known", shown, trace->compression);
		return -EPROTONOSUPPORT;
	}
	if (trace->encoding > PALLAS_ENCODING_MASKING) {
		log_error("%s: encoding %u (%s) is not known", shown, trace->encoding,
			  trace->encoding < PALLAS_ENCODING_COUNT
				  ? pallas_encoding_names[trace->encoding]
				  : "?");
		return -EPROTONOSUPPORT;
	}
	return 0;
}

static int main_read(struct pallas_trace *trace)
{
	struct cursor c;
	char *shown;
	int err = part_load(trace, &trace->part, trace->main, &shown, &c);

	if (err)
		goto out;
	trace->version = cursor_u8(&c, "the version");
	c.version = trace->version;
	if (!c.err && (trace->version < PALLAS_ABI_MIN || trace->version > PALLAS_ABI)) {
		log_error("%s: ABI version %u: this program reads versions %u to %u", shown,
			  trace->version, PALLAS_ABI_MIN, PALLAS_ABI);
		err = -EPROTONOSUPPORT;
		goto out;
	}
	trace->compression = cursor_u32(&c, "the configuration");
	trace->encoding = cursor_u32(&c, "the configuration");
	trace->zstd_level = cursor_u64(&c, "the configuration");
	trace->loop_finding = cursor_u32(&c, "the configuration");
	trace->max_loop = cursor_u64(&c, "the configuration");
	(void)cursor_u32(&c, "the configuration"); /* the storage of timestamps */
	err = c.err ? c.err : configuration_check(trace, shown);
	if (err)
		goto out;
	err = part_read(&trace->part, &c);
out:
	free(shown);
	return err;
}

static int archive_read(struct pallas_trace *trace, struct pallas_archive *a)
{
	char path[64], *shown;
	struct cursor c;
	uint32_t id;
	int err;

	snprintf(path, sizeof(path), "archive_%u/" PALLAS_ARCHIVE, a->id);
	err = part_load(trace, &a->part, path, &shown, &c);
	if (err)
		goto out;
	id = cursor_u32(&c, "the archive");
	a->nthreads = cursor_u32(&c, "the archive");
	if (id != a->id)
		cursor_fail(&c, "the archive says that its id is %u", id);
	err = part_read(&a->part, &c);
out:
	free(shown);
	return err;
}

static int thread_add(struct pallas_trace *trace, const struct pallas_archive *a,
		      const struct pallas_location *l)
{
	struct pallas_thread *t = ARRAY_ADD(trace->threads, trace->nthreads);

	if (!t)
		return -ENOMEM;
	*t = (struct pallas_thread){.archive = a, .id = l->id, .name = l->name};
	t->path = xasprintf("archive_%u/thread_%u", a->id, l->id);
	return t->path ? 0 : -ENOMEM;
}

/* Adds the threads of an archive: its own locations, then its locations in the main file. */
static int threads_list(struct pallas_trace *trace, const struct pallas_archive *a)
{
	for (size_t i = 0; i < a->part.nlocations; i++) {
		if (thread_add(trace, a, &a->part.locations[i]))
			return -ENOMEM;
	}
	for (size_t i = 0; i < trace->part.nlocations; i++) {
		if (trace->part.locations[i].parent == a->id &&
		    thread_add(trace, a, &trace->part.locations[i]))
			return -ENOMEM;
	}
	return 0;
}

static int cannot_open(const char *path)
{
	int err = -errno;

	log_error("cannot open '%s': %s", path, strerror(-err));
	return err;
}

/* Finds the main file in a directory: PALLAS_MAIN, or the only *.pallas. */
static int search_main(struct pallas_trace *trace)
{
	DIR *dir = opendir(trace->path);
	const struct dirent *d;
	unsigned found = 0;

	if (!dir)
		return cannot_open(trace->path);
	while ((d = readdir(dir))) {
		size_t n = strlen(d->d_name);

		if (n <= 7 || strcmp(d->d_name + n - 7, ".pallas") != 0)
			continue;
		free(trace->main);
		trace->main = strdup(d->d_name);
		found++;
		if (strcmp(d->d_name, PALLAS_MAIN) == 0) {
			found = 1;
			break;
		}
	}
	closedir(dir);
	if (found == 1)
		return trace->main ? 0 : -ENOMEM;
	log_error(found ? "%s: more than one .pallas file: name the one to open"
			: "%s: no main file (*.pallas) in it",
		  trace->path);
	return -ENOENT;
}

/* Splits `path` into directory and main file. */
static int find_main(struct pallas_trace *trace, const char *path)
{
	struct stat st;
	const char *slash = strrchr(path, '/');

	if (stat(path, &st) < 0)
		return cannot_open(path);
	if (S_ISDIR(st.st_mode)) {
		trace->path = path_with_suffix(path, "");
		return trace->path ? search_main(trace) : -ENOMEM;
	}
	trace->main_named = true;
	if (!slash)
		trace->path = strdup(".");
	else
		trace->path = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	trace->main = strdup(slash ? slash + 1 : path);
	return trace->path && trace->main ? 0 : -ENOMEM;
}

/* Memory outside the counted bytes: pages of the program, and gaps of the allocator. */
static size_t reserve(size_t budget)
{
	size_t own = (3u << 20) + budget / 8;

	return own < budget / 2 ? own : budget / 2;
}

int pallas_open(struct pallas_trace *trace, const char *path, size_t budget)
{
	int err;

	budget = budget ? budget : PALLAS_BUDGET;
	*trace = (struct pallas_trace){.fd = -1, .budget = budget - reserve(budget)};
	err = find_main(trace, path);
	if (err)
		goto out;
	trace->fd = open(trace->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (trace->fd < 0) {
		err = cannot_open(trace->path);
		goto out;
	}
	err = main_read(trace);
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
	uint8_t *bytes;
	size_t size;
	int err;

	if (thread->loaded)
		return 0;
	snprintf(path, sizeof(path), "%s/" PALLAS_THREAD, thread->path);
	err = file_read(trace, path, &shown, &bytes, &size);
	if (err)
		goto out;
	err = thread_grammar_parse(&thread->grammar, bytes, size, trace->version, shown);
	if (err)
		goto out;
	thread->loaded = true;
	trace->used += thread->grammar.memory;
out:
	free(shown);
	return err;
}

#define WHY_MOST 512

static void hear(void *to, enum log_level level, const char *text)
{
	(void)level;
	snprintf(to, WHY_MOST, "%s", text);
}

int pallas_thread_take(struct pallas_trace *trace, struct pallas_thread *thread)
{
	char why[WHY_MOST] = "";
	int err;

	if (thread->left_out || thread->excluded)
		return 1;
	log_divert(hear, why);
	err = pallas_thread_load(trace, thread);
	log_divert(NULL, NULL);
	if (!err)
		return 0;
	if (err == -ENOMEM || err == -EPROTONOSUPPORT) {
		log_error("%s", why);
		return err;
	}
	log_warn("%s; the thread is left out", why);
	thread->left_out = true;
	trace->left_out++;
	return 1;
}

void pallas_thread_unload(struct pallas_trace *trace, struct pallas_thread *thread)
{
	if (!thread->loaded)
		return;
	trace->used -= thread->grammar.memory;
	thread_grammar_free(&thread->grammar);
	thread->loaded = false;
}

#define FIND(table, n, ref) bsearch(&(ref), table, n, sizeof(*(table)), pallas_by_id)

const char *pallas_part_string(const struct pallas_part *part, uint32_t ref)
{
	const struct pallas_string *s = FIND(part->defs.strings, part->defs.nstrings, ref);

	return s ? s->text : NULL;
}

const char *pallas_string(const struct pallas_trace *trace, const struct pallas_archive *archive,
			  uint32_t ref)
{
	const char *text = archive ? pallas_part_string(&archive->part, ref) : NULL;

	return text ? text : pallas_part_string(&trace->part, ref);
}

const char *pallas_region(const struct pallas_trace *trace, const struct pallas_archive *archive,
			  uint32_t ref)
{
	const struct pallas_definitions *own = archive ? &archive->part.defs : NULL;
	const struct pallas_definitions *all = &trace->part.defs;
	const struct pallas_region *r = own ? FIND(own->regions, own->nregions, ref) : NULL;

	if (!r)
		r = FIND(all->regions, all->nregions, ref);
	return r ? pallas_string(trace, archive, r->name) : NULL;
}

const struct pallas_attribute *pallas_attribute(const struct pallas_trace *trace,
						const struct pallas_archive *archive, uint32_t ref)
{
	const struct pallas_definitions *own = &archive->part.defs, *all = &trace->part.defs;
	const struct pallas_attribute *found = FIND(own->attributes, own->nattributes, ref);

	return found ? found : FIND(all->attributes, all->nattributes, ref);
}

const char *pallas_group_name(const struct pallas_trace *trace, uint32_t id)
{
	const struct pallas_location *g = FIND(trace->part.groups, trace->part.ngroups, id);
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

/* Bytes of payload in the text of a record. */
static size_t text_bytes(const char *text)
{
	size_t n = 0;

	for (const char *p = text; (p = strchr(p, '%')); p++)
		n += p[1] == 'T' ? 0 : p[1] == 'U' || p[1] == '+' ? 8 : 4;
	return n;
}

/* Appends as snprintf() does; `len` may exceed `size`. */
#define put(...)                                                                                   \
	(len += (size_t)snprintf(len < size ? out + len : NULL, len < size ? size - len : 0,       \
				 __VA_ARGS__))

size_t pallas_event_text(const struct pallas_trace *trace, const struct pallas_thread *thread,
			 uint32_t place, char *out, size_t size)
{
	const struct pallas_event *e = &thread->grammar.events[place];
	const struct pallas_record_spec *spec = pallas_record_spec(e->record);
	const uint8_t *at = e->payload;
	const char *name;
	size_t len = 0;

	if (!spec || !spec->text || e->payload_size < text_bytes(spec->text))
		return put("{.record=%u, .size=%u}", e->record, e->payload_size + 5u);
	if (size)
		out[0] = '\0';
	for (const char *p = spec->text; *p; p++) {
		if (*p != '%') {
			put("%c", *p);
			continue;
		}
		switch (*++p) {
		case 'u':
			put("%u", get_u32(at));
			at += 4;
			break;
		case 'U':
			put("%llu", (unsigned long long)get_u64(at));
			at += 8;
			break;
		case 'T':
			put("%u", get_u32(e->payload + 8));
			break;
		case 'r':
			name = pallas_region(trace, thread->archive, get_u32(at));
			put("%u (%s)", get_u32(at), name ? name : "?");
			at += 4;
			break;
		case 's':
			name = pallas_string(trace, thread->archive, get_u32(at));
			put("%s", name ? name : "?");
			at += 4;
			break;
		case '+':
			at += 8;
			break;
		}
	}
	return len;
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
