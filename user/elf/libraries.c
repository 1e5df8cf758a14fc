/* SPDX-License-Identifier: MIT */
/* libraries: see libraries.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/elf/elf_child.h"
#include "user/elf/elf_file.h"
#include "user/elf/libraries.h"
#include "trace/base/array.h"
#include "trace/base/text.h"
#include "user/host/read_file.h"

#define LIBRARIES_MAX 4096
#define FOLDERS_MAX   256 /* of one list */
#define NEEDED_MAX    1024
#define CACHE_MAX     (64u << 20) /* bytes of ld.so.cache */

#if defined(__x86_64__)
#define MULTIARCH   "x86_64-linux-gnu"
#define CACHE_FLAGS 0x0303 /* FLAG_ELF_LIBC6 | FLAG_X8664_LIB64 */
#else
#define MULTIARCH   "aarch64-linux-gnu"
#define CACHE_FLAGS 0x0a03 /* FLAG_ELF_LIBC6 | FLAG_AARCH64_LIB64 */
#endif

static const char usual_folders[] =
	"/lib/" MULTIARCH ":/usr/lib/" MULTIARCH ":/lib64:/usr/lib64:/lib:/usr/lib";

/* ---- /etc/ld.so.cache ---- */

#define CACHE_MAGIC "glibc-ld.so.cache1.1"

/* The format of glibc 2.2 and later; strings by their offset in the file. */
struct cache_header {
	char magic[sizeof(CACHE_MAGIC) - 1];
	uint32_t count, strings_size;
	uint8_t flags, padding[3];
	uint32_t extensions, unused[3];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path, os_version;
	uint64_t hwcap;
};

struct cache {
	char *bytes; /* the file, with a NUL at the end; NULL: none */
	size_t size, count;
};

/* Reads it whole. A file that is no cache counts as an empty one. 0 or -ENOMEM. */
static int read_cache(struct cache *cache, const char *root)
{
	int fd = open_regular(root, "/etc/ld.so.cache"), err = 0;
	struct cache_header header;
	struct stat st;
	ssize_t n;

	*cache = (struct cache){0};
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(header) || st.st_size > CACHE_MAX)
		goto out;
	cache->bytes = malloc((size_t)st.st_size + 1);
	if (!cache->bytes) {
		err = -ENOMEM;
		goto out;
	}
	n = pread(fd, cache->bytes, (size_t)st.st_size, 0);
	if (n < (ssize_t)sizeof(header))
		goto out;
	memcpy(&header, cache->bytes, sizeof(header));
	if (memcmp(header.magic, CACHE_MAGIC, sizeof(header.magic)) ||
	    header.count > ((size_t)n - sizeof(header)) / sizeof(struct cache_entry))
		goto out;
	cache->bytes[n] = '\0';
	cache->size = (size_t)n;
	cache->count = header.count;
out:
	close(fd);
	return err;
}

/* The name and the path of an entry; false: it is for another machine. */
static bool read_entry(const struct cache *cache, size_t index, const char **name,
		       const char **path)
{
	struct cache_entry entry;

	memcpy(&entry, cache->bytes + sizeof(struct cache_header) + index * sizeof(entry),
	       sizeof(entry));
	if (entry.flags != CACHE_FLAGS || entry.name >= cache->size || entry.path >= cache->size)
		return false;
	*name = cache->bytes + entry.name;
	*path = cache->bytes + entry.path;
	return true;
}

static bool cpu_has(const char *level)
{
#if defined(__x86_64__)
	if (!strcmp(level, "x86-64-v4"))
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
		       __builtin_cpu_supports("avx512vl");
	if (!strcmp(level, "x86-64-v3"))
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
		       __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
	return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
#else
	(void)level;
	return false;
#endif
}

/* The level of the CPU that a library like /lib/glibc-hwcaps/x86-64-v3/libm.so.6 is made for: 3; 0:
 * for all CPUs; -1: not for this one. */
static int cpu_level(const char *path)
{
	static const char folder[] = "/glibc-hwcaps/";
	const char *at = strstr(path, folder);
	char level[16];

	if (!at)
		return 0;
	at += sizeof(folder) - 1;
	snprintf(level, sizeof(level), "%.*s", (int)strcspn(at, "/"), at);
	return cpu_has(level) ? level[strlen(level) - 1] - '0' : -1;
}

/* The path of the library for this CPU, or NULL. */
static const char *find_in_cache(const struct cache *cache, const char *wanted)
{
	const char *name, *path, *best = NULL;

	for (size_t i = 0; i < cache->count; i++)
		if (read_entry(cache, i, &name, &path) && !strcmp(name, wanted) &&
		    cpu_level(path) > (best ? cpu_level(best) : -1))
			best = path;
	return best;
}

int libraries_cached(const char *root, library_visit visit, void *arg)
{
	const char *name, *path, *last = "";
	struct cache cache;
	int err = read_cache(&cache, root);

	for (size_t i = 0; i < cache.count; i++) {
		/* entries of one name are neighbours */
		if (!read_entry(&cache, i, &name, &path) || !strcmp(name, last))
			continue;
		last = name;
		path = find_in_cache(&cache, name);
		err = path ? visit(name, path, arg) : 0;
		if (err)
			break;
	}
	free(cache.bytes);
	return err;
}

/* ---- the search for one library ---- */

/* A file of the program. */
struct library {
	char *name; /* as another file asks for it; NULL: the program */
	char *path;
	const struct library *loader; /* the file that needs it; NULL: of the program */
	dev_t device;
	ino_t inode;
	struct elf_answer dynamic;   /* then the names of DT_NEEDED */
	const char *rpath, *runpath; /* "": none */
};

struct search {
	const char *root;
	struct cache cache;
	struct library **list;
	size_t count;
};

/* Answers DT_RPATH, DT_RUNPATH and all names of DT_NEEDED. */
static void answer_dynamic(struct bytes *answer, Elf *elf, void *arg)
{
	int rpath_at = 0, runpath_at = 0, needed_at = 0;
	const char *rpath = elf_section_dynamic(elf, DT_RPATH, &rpath_at);
	const char *runpath = elf_section_dynamic(elf, DT_RUNPATH, &runpath_at), *name;

	(void)arg;
	elf_answer_put_string(answer, rpath ? rpath : "");
	elf_answer_put_string(answer, runpath ? runpath : "");
	while ((name = elf_section_dynamic(elf, DT_NEEDED, &needed_at)))
		elf_answer_put_string(answer, name);
}

/* A path of a list, with the folder of `origin` for $ORIGIN. */
static char *expand(const char *part, size_t length, const char *origin)
{
	static const char *const tokens[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = strrchr(origin, '/');
	int folder = slash ? (int)(slash - origin) : 1;

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		const char *at = memmem(part, length, tokens[i], strlen(tokens[i])), *rest;

		if (!at)
			continue;
		rest = at + strlen(tokens[i]);
		return xasprintf("%.*s%.*s%.*s", (int)(at - part), part, folder,
				 slash ? origin : ".", (int)(part + length - rest), rest);
	}
	return strndup(part, length);
}

/* Opens a library at a path, which it takes. 1: open, *path is the caller's; 0: no library of this
 * machine; or -ENOMEM. */
static int open_path(const struct search *s, char *candidate, struct elf_file *file, char **path)
{
	int err;

	if (!candidate)
		return -ENOMEM;
	*path = candidate;
	if (!elf_file_open(file, s->root, candidate, &err))
		return 1;
	free(candidate);
	return 0;
}

/* Opens a library in the first folder that has it, of a list with ':' or ';' in between. As
 * open_path(). */
static int open_in(const struct search *s, const char *folders, const char *origin,
		   const char *name, struct elf_file *file, char **path)
{
	const char *end;
	char *folder;
	int result;

	for (unsigned n = 0; folders && n < FOLDERS_MAX; n++) {
		end = folders + strcspn(folders, ":;");
		/* an empty part is the current folder */
		folder = end == folders ? strdup(".")
					: expand(folders, (size_t)(end - folders), origin);
		result = folder ? open_path(s, xasprintf("%s/%s", folder, name), file, path)
				: -ENOMEM;
		free(folder);
		if (result)
			return result;
		folders = *end ? end + 1 : NULL;
	}
	return 0;
}

/* Opens the library that `loader` asks for by `name`. As open_path(). */
static int open_named(const struct search *s, const struct library *loader, const char *name,
		      struct elf_file *file, char **path)
{
	const char *cached;
	int result;

	if (strchr(name, '/'))
		return open_path(s, expand(name, strlen(name), loader->path), file, path);
	for (const struct library *l = loader; l && !*loader->runpath; l = l->loader) {
		if (*l->runpath || !*l->rpath)
			continue;
		result = open_in(s, l->rpath, l->path, name, file, path);
		if (result)
			return result;
	}
	result = open_in(s, getenv("LD_LIBRARY_PATH"), loader->path, name, file, path);
	if (result)
		return result;
	if (*loader->runpath) {
		result = open_in(s, loader->runpath, loader->path, name, file, path);
		if (result)
			return result;
	}
	cached = find_in_cache(&s->cache, name);
	result = cached ? open_path(s, strdup(cached), file, path) : 0;
	return result ? result : open_in(s, usual_folders, "/", name, file, path);
}

/* ---- all libraries that a program needs ---- */

static void library_free(struct library *l)
{
	elf_answer_free(&l->dynamic);
	free(l->path);
	free(l->name);
	free(l);
}

static bool is_loaded(const struct search *s, const struct elf_file *file)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i]->inode == file->inode && s->list[i]->device == file->device)
			return true;
	return false;
}

/* Adds an open file, unless it is there; takes the path. A damaged file needs nothing. */
static int add_library(struct search *s, const struct elf_file *file, char *path, const char *name,
		       const struct library *loader)
{
	struct library *l, **added;
	int err;

	if (is_loaded(s, file) || s->count == LIBRARIES_MAX) {
		free(path);
		return 0;
	}
	l = calloc(1, sizeof(*l));
	if (!l) {
		free(path);
		return -ENOMEM;
	}
	*l = (struct library){
		.path = path, .loader = loader, .device = file->device, .inode = file->inode};
	err = elf_child_run(file->fd, answer_dynamic, NULL, &l->dynamic);
	if (err == -ENOMEM)
		goto fail;
	l->rpath = elf_answer_get_string(&l->dynamic);
	l->runpath = elf_answer_get_string(&l->dynamic);
	if (!l->runpath)
		l->rpath = l->runpath = "";
	err = -ENOMEM;
	l->name = name ? strdup(name) : NULL;
	if (name && !l->name)
		goto fail;
	added = ARRAY_ADD(s->list, s->count);
	if (!added)
		goto fail;
	*added = l;
	return 0;
fail:
	library_free(l);
	return err;
}

static int load_needed(struct search *s, const char *name, const struct library *loader)
{
	struct elf_file file;
	char *path;
	int result;

	for (size_t i = 0; i < s->count; i++)
		if (s->list[i]->name && !strcmp(s->list[i]->name, name))
			return 0;
	result = open_named(s, loader, name, &file, &path);
	if (result <= 0)
		return result;
	result = add_library(s, &file, path, name, loader);
	elf_file_close(&file);
	return result;
}

static int load_all(struct search *s, const char *program)
{
	struct elf_file file;
	const char *name;
	char *path;
	int result = open_path(s, strdup(program), &file, &path);

	if (result <= 0)
		return result;
	result = add_library(s, &file, path, NULL, NULL);
	elf_file_close(&file);
	for (size_t i = 0; i < s->count && !result; i++) { /* the list grows meanwhile */
		struct library *loader = s->list[i];

		for (unsigned n = 0; n < NEEDED_MAX; n++) {
			name = elf_answer_get_string(&loader->dynamic);
			result = name ? load_needed(s, name, loader) : 0;
			if (!name || result)
				break;
		}
	}
	return result;
}

int libraries_needed(const char *root, const char *program, library_visit visit, void *arg)
{
	struct search s = {.root = root};
	int err = read_cache(&s.cache, root);

	if (err)
		goto out;
	err = load_all(&s, program);
	if (err)
		goto out;
	for (size_t i = 1; i < s.count; i++) {
		err = visit(s.list[i]->name, s.list[i]->path, arg);
		if (err)
			break;
	}
out:
	for (size_t i = 0; i < s.count; i++)
		library_free(s.list[i]);
	free(s.list);
	free(s.cache.bytes);
	return err;
}
