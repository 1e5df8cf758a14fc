/* SPDX-License-Identifier: MIT */
#include "user/timeline/lock_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/json.h"
#include "trace/base/text.h"
#include "user/host/clock.h"
#include "user/host/proc_info.h"
#include "user/host/proc_maps.h"
#include "user/host/read_file.h"
#include "user/writer/writer.h"

#define SECOND	   1000000000ull
#define SLOTS	   128 /* of the addresses that a thread has slept on */
#define ASKED_MAX  256 /* readings of a thread */
#define STACKS_MAX 64  /* threads whose stack may have the address */

struct lock_name {
	uint64_t address, from; /* clock of the reading, ns */
	char *text;		/* NULL: it has none */
};

struct lock_cache { /* the writer's thread's */
	struct lock_name *list;
	size_t n;
};

struct lock_names {
	/* The draining thread's. */
	uint64_t asked[SLOTS]; /* 0: none */
	unsigned nasked;
	uint32_t program;

	/* The writer's thread's: all with a text. */
	struct lock_name *list;
	size_t n;
};

struct reading {
	struct lock_names *names;
	struct lock_cache **cache;
	struct lock_files *files;
	const char *proc;
	uint32_t pid;
	uint64_t address;
};

/* ---- a variable of a file ---- */

/* The symbols of an open file, which are read once; NULL: there are none. */
static const struct data_symbols *symbols_of(struct lock_files *files, const struct elf_file *file,
					     const char *root, const char *path)
{
	struct lock_file *at = NULL;

	for (size_t i = 0; i < files->n; i++) {
		at = &files->list[i];
		if (at->inode == file->inode && at->device == file->device &&
		    at->size == file->size)
			return &at->symbols;
	}
	if (files->n == LOCK_NAMES_FILES || file->size > LOCK_NAMES_FILE)
		return NULL;
	at = &files->list[files->n++];
	*at = (struct lock_file){.device = file->device, .inode = file->inode, .size = file->size};
	/* a file that cannot be read has no symbols, and is not read again */
	if (data_symbols_read(&at->symbols, file, root, path))
		at->symbols = (struct data_symbols){0};
	return &at->symbols;
}

/* "pool.lock", "pool+0x10", "libfoo.so.1+0x2040"; NULL: not known. */
static char *variable_text(struct lock_files *files, const struct reading *r,
			   const struct mapping *m)
{
	const char *base = strrchr(m->path, '/') + 1;
	const struct data_symbols *symbols;
	char *root = NULL, *text = NULL;
	struct elf_file file;
	uint64_t at;
	int err;

	if (!m->deleted)
		root = xasprintf("%s/%" PRIu32 "/root", r->proc, r->pid);
	if (!root)
		return NULL;
	if (elf_file_open(&file, root, m->path, &err))
		goto out;
	if (file.inode != m->inode ||
	    !elf_file_mapped(&file, m->offset, r->address - m->start, &at))
		goto close;
	symbols = symbols_of(files, &file, root, m->path);
	text = symbols ? data_symbols_text(symbols, at) : NULL;
	if (!text)
		text = xasprintf("%s+0x%" PRIx64, base, at);
close:
	elf_file_close(&file);
out:
	free(root);
	return text;
}

/* The stack pointer of a thread that sleeps in the kernel: the last word but one. 0: not known. */
static uint64_t stack_pointer(const struct reading *r, const char *tid)
{
	char *path = xasprintf("%s/%" PRIu32 "/task/%s/syscall", r->proc, r->pid, tid);
	char line[256] = "", *last;

	if (path)
		read_line(path, line, sizeof(line));
	free(path);
	last = strrchr(line, ' ');
	if (!last)
		return 0;
	*last = '\0';
	last = strrchr(line, ' ');
	return last ? strtoull(last, NULL, 16) : 0;
}

/* Does the word at the address have this tid? */
static bool has_tid(const struct reading *r, const char *tid)
{
	char *path = xasprintf("%s/%" PRIu32 "/mem", r->proc, r->pid);
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	uint32_t word = 0;
	bool has = fd >= 0 &&
		   pread(fd, &word, sizeof(word), (off_t)r->address) == (ssize_t)sizeof(word) &&
		   word == strtoul(tid, NULL, 10);

	if (fd >= 0)
		close(fd);
	free(path);
	return has;
}

/*
 * "stack of thread 1204 0x7f1000"; NULL: the nameless memory is no stack of a thread that sleeps.
 * "end of a thread 0x7f1000": there pthread_join() of glibc waits for the kernel to clear the tid
 * of the thread whose stack this is; later threads have the same memory, so it has no number.
 */
static char *stack_text(const struct reading *r, const struct mapping *m)
{
	char *path = xasprintf("%s/%" PRIu32 "/task", r->proc, r->pid), *text = NULL;
	DIR *dir = path ? opendir(path) : NULL;
	struct dirent *entry;

	for (int n = 0; dir && !text && n < STACKS_MAX && (entry = readdir(dir)); n++) {
		uint64_t at = *entry->d_name == '.' ? 0 : stack_pointer(r, entry->d_name);

		if (at < m->start || at >= m->end)
			continue;
		if (has_tid(r, entry->d_name))
			text = xasprintf("end of a thread 0x%" PRIx64, r->address);
		else
			text = xasprintf("stack of thread %s 0x%" PRIx64, entry->d_name,
					 r->address);
	}
	if (dir)
		closedir(dir);
	free(path);
	return text;
}

/* False: the memory of this process is not the user's to see. */
static bool is_users(const struct reading *r)
{
	char path[256];
	bool is;
	int dir;

	snprintf(path, sizeof(path), "%s/%" PRIu32, r->proc, r->pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	is = dir >= 0 && process_is_users(dir);
	if (dir >= 0)
		close(dir);
	return is;
}

/* The name of the address in the process, while that lives; NULL: it has none. */
static char *address_text(struct lock_files *files, const struct reading *r)
{
	struct mapping m;
	char *text = NULL;

	if (!is_users(r) || mapping_find(&m, r->proc, r->pid, r->address))
		return NULL;
	if (!strcmp(m.path, "[heap]"))
		text = xasprintf("heap 0x%" PRIx64, r->address);
	else if (!strcmp(m.path, "[stack]"))
		text = xasprintf("stack 0x%" PRIx64, r->address);
	else if (m.path[0] == '/' && m.shared)
		text = xasprintf("%s+0x%" PRIx64, m.path, r->address - m.start + m.offset);
	else if (m.path[0] == '/')
		text = variable_text(files, r, &m);
	else if (!*m.path && !m.shared)
		text = stack_text(r, &m);
	free(m.path);
	return text;
}

/* ---- the writer's thread ---- */

static void keep(struct lock_name **list, size_t *n, uint64_t address, const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	struct lock_name *added = !text || copy ? ARRAY_ADD(*list, *n) : NULL;

	if (added)
		*added = (struct lock_name){address, clock_now(), copy};
	else
		free(copy); /* without memory the futex has no name */
}

static bool has(const struct lock_names *names, uint64_t address, const char *text)
{
	for (size_t i = names->n; i-- > 0;)
		if (names->list[i].address == address)
			return !strcmp(names->list[i].text, text);
	return false;
}

static void read_name(void *arg)
{
	struct reading *r = arg;
	struct lock_cache *cache = *r->cache;
	const char *known = NULL;
	char *text = NULL;
	bool found = false;

	for (size_t i = 0; i < cache->n && !found; i++) {
		found = cache->list[i].address == r->address;
		known = cache->list[i].text;
	}
	if (!found) {
		known = text = address_text(r->files, r);
		if (cache->n < LOCK_NAMES_CACHED)
			keep(&cache->list, &cache->n, r->address, text);
	}
	if (known && r->names->n < LOCK_NAMES_MAX && !has(r->names, r->address, known))
		keep(&r->names->list, &r->names->n, r->address, known);
	free(text);
	free(r);
}

static void free_list(struct lock_name *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i].text);
	free(list);
}

void lock_cache_forget(struct lock_cache *cache)
{
	if (!cache)
		return;
	free_list(cache->list, cache->n);
	*cache = (struct lock_cache){0};
}

void lock_names_put(const struct lock_names *names, struct json *bpf)
{
	struct json *list;

	if (!names || !names->n)
		return;
	list = json_put_array(bpf, "futexes");
	for (size_t i = 0; i < names->n; i++) {
		struct json *node = json_put_object(list, NULL);

		json_put_u64(node, "address", names->list[i].address);
		json_put_u64(node, "from", clock_in_trace(names->list[i].from));
		json_put_string(node, "name", names->list[i].text);
	}
}

/* ---- the draining thread ---- */

void lock_names_sleep(struct lock_names **names, struct lock_cache **cache,
		      struct lock_readings *readings, struct writer *writer, const char *proc,
		      uint32_t pid, uint32_t program, uint64_t address, uint64_t clock)
{
	struct reading *reading;
	uint64_t *asked;

	if (!proc)
		return;
	if (!*names)
		*names = calloc(1, sizeof(**names));
	if (!*cache)
		*cache = calloc(1, sizeof(**cache));
	if (!*names || !*cache)
		return;
	if ((*names)->program != program) {
		memset((*names)->asked, 0, sizeof((*names)->asked));
		(*names)->nasked = 0;
		(*names)->program = program;
	}
	asked = &(*names)->asked[(address * 0x9e3779b97f4a7c15u >> 32) % SLOTS];
	if (*asked == address || (*names)->nasked == ASKED_MAX)
		return;
	if (readings->second != clock / SECOND) {
		readings->second = clock / SECOND;
		readings->count = 0;
	}
	if (readings->count == LOCK_NAMES_SECOND)
		return;
	reading = malloc(sizeof(*reading));
	if (!reading)
		return;
	*reading = (struct reading){*names, cache, &readings->files, proc, pid, address};
	if (writer_run(writer, read_name, reading)) {
		free(reading);
		return;
	}
	*asked = address;
	(*names)->nasked++;
	readings->count++;
}

void lock_names_free(struct lock_names *names)
{
	if (names)
		free_list(names->list, names->n);
	free(names);
}

void lock_cache_free(struct lock_cache *cache)
{
	lock_cache_forget(cache);
	free(cache);
}

void lock_readings_fini(struct lock_readings *readings)
{
	for (size_t i = 0; i < readings->files.n; i++)
		data_symbols_free(&readings->files.list[i].symbols);
}
