/* SPDX-License-Identifier: MIT */
/* libraries: see libraries.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/elf/elf_child.h"
#include "user/elf/elf_file.h"
#include "user/elf/elf_section.h"
#include "user/elf/libraries.h"
#include "trace/base/text.h"
#include "user/host/open_in_root.h"

#define LOADED_MAX  4096
#define FOLDERS_MAX 256 /* of one list */
#define NEEDED_MAX  1024
#define CACHE_MAX   (64u << 20) /* bytes of ld.so.cache */

#if defined(__x86_64__)
#define MULTIARCH   "x86_64-linux-gnu"
#define CACHE_FLAGS 0x0303 /* FLAG_ELF_LIBC6 | FLAG_X8664_LIB64 */
#else
#define MULTIARCH   "aarch64-linux-gnu"
#define CACHE_FLAGS 0x0a03 /* FLAG_ELF_LIBC6 | FLAG_AARCH64_LIB64 */
#endif

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

/* Reads it whole, with a NUL at the end. A file that is no cache is ignored. 0 or -ENOMEM. */
static int read_cache(struct libraries *l)
{
	int fd = open_regular(l->root, "/etc/ld.so.cache"), err = 0;
	struct cache_header header;
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(header) || st.st_size > CACHE_MAX)
		goto out;
	l->cache = malloc((size_t)st.st_size + 1);
	if (!l->cache) {
		err = -ENOMEM;
		goto out;
	}
	n = pread(fd, l->cache, (size_t)st.st_size, 0);
	if (n < (ssize_t)sizeof(header))
		goto out;
	memcpy(&header, l->cache, sizeof(header));
	if (memcmp(header.magic, CACHE_MAGIC, sizeof(header.magic)) ||
	    header.count > ((size_t)n - sizeof(header)) / sizeof(struct cache_entry))
		goto out;
	l->cache[n] = '\0';
	l->cache_size = (size_t)n;
	l->cache_count = header.count;
out:
	close(fd);
	return err;
}

/* The name and the path of an entry for this machine; false: it is for another one. */
static bool cache_entry(const struct libraries *l, size_t index, const char **name,
			const char **path)
{
	struct cache_entry entry;

	memcpy(&entry, l->cache + sizeof(struct cache_header) + index * sizeof(entry),
	       sizeof(entry));
	if (entry.flags != CACHE_FLAGS || entry.name >= l->cache_size ||
	    entry.path >= l->cache_size)
		return false;
	*name = l->cache + entry.name;
	*path = l->cache + entry.path;
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

int libraries_open(struct libraries *l, const char *root, const char *path, const char *preload)
{
	int err = -ENOMEM;

	*l = (struct libraries){.root = root};
	if (path && *path && !(l->path = strdup(path)))
		goto fail;
	if (preload && *preload && !(l->preload = strdup(preload)))
		goto fail;
	err = read_cache(l);
	if (err)
		goto fail;
	return 0;
fail:
	libraries_close(l);
	return err;
}

void libraries_close(struct libraries *l)
{
	free(l->cache);
	free(l->path);
	free(l->preload);
	*l = (struct libraries){.root = ""};
}

/* ---- the dynamic section ---- */

struct dynamic {
	struct elf_answer answer; /* has the strings */
	const char *rpath;	  /* NULL: none */
	const char *runpath;	  /* NULL: none */
	const char **needed;
	size_t nneeded;
};

/* Answers the tag and the string of each entry. */
static void answer_dynamic(struct elf_answer *answer, void *fd)
{
	Elf *elf = elf_section_begin(*(const int *)fd);
	GElf_Shdr header;
	Elf_Scn *section = elf_section_next(elf, NULL, SHT_DYNAMIC, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Dyn entry;

	for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
		const char *text;

		if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH &&
		    entry.d_tag != DT_RUNPATH)
			continue;
		text = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
		if (!text || !*text)
			continue;
		elf_answer_put(answer, &entry.d_tag, sizeof(entry.d_tag));
		elf_answer_put_string(answer, text);
	}
	elf_end(elf);
}

static void dynamic_free(struct dynamic *dynamic)
{
	elf_answer_free(&dynamic->answer);
	free(dynamic->needed);
	*dynamic = (struct dynamic){0};
}

/* All is empty for a static or a damaged file. 0 or -ENOMEM. */
static int dynamic_read(struct dynamic *dynamic, const struct elf_file *file)
{
	int fd = file->fd, err;
	const char *text;
	GElf_Sxword tag;

	*dynamic = (struct dynamic){.needed = calloc(NEEDED_MAX, sizeof(*dynamic->needed))};
	if (!dynamic->needed)
		return -ENOMEM;
	err = elf_child_run(answer_dynamic, &fd, &dynamic->answer);
	if (err)
		return err == -ENOMEM ? err : 0;
	while (elf_answer_take(&dynamic->answer, &tag, sizeof(tag)) &&
	       (text = elf_answer_take_string(&dynamic->answer))) {
		if (tag == DT_RPATH)
			dynamic->rpath = text;
		else if (tag == DT_RUNPATH)
			dynamic->runpath = text;
		else if (dynamic->nneeded < NEEDED_MAX)
			dynamic->needed[dynamic->nneeded++] = text;
	}
	return 0;
}

/* ---- the search for one library ---- */

/* A file of the program, and the one that needs it. */
struct loaded {
	char *path, *name; /* name: as the other file asks for it; NULL: the program */
	struct dynamic dynamic;
	const struct loaded *by;
	dev_t device;
	ino_t inode;
};

struct loading {
	const struct libraries *libraries;
	struct loaded **list;
	size_t count;
};

/* A part of a RUNPATH, with the folder of `origin` for $ORIGIN. */
static char *expand(const char *part, size_t length, const char *origin)
{
	static const char *const tokens[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = strrchr(origin, '/');

	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		const char *at = memmem(part, length, tokens[i], strlen(tokens[i])), *rest;

		if (!at)
			continue;
		rest = at + strlen(tokens[i]);
		return xasprintf("%.*s%.*s%.*s", (int)(at - part), part,
				 slash ? (int)(slash - origin) : 1, slash ? origin : ".",
				 (int)(part + length - rest), rest);
	}
	return strndup(part, length);
}

/* Is it a library of this machine? */
static bool opens(const struct libraries *l, struct elf_file *file, const char *path)
{
	int err;

	return !elf_file_open(file, l->root, path, &err);
}

/* Calls `visit` for each folder of a list with ':' or ';' in between, until it returns not 0. */
static int each_folder(const char *list, const char *origin,
		       int (*visit)(const char *folder, void *arg), void *arg)
{
	const char *end;
	char *folder;
	int result;

	for (unsigned n = 0; list && n < FOLDERS_MAX; n++, list = *end ? end + 1 : NULL) {
		end = list + strcspn(list, ":;");
		/* an empty part is the current folder */
		folder = end == list ? strdup(".") : expand(list, (size_t)(end - list), origin);
		result = folder ? visit(folder, arg) : -ENOMEM;
		free(folder);
		if (result)
			return result;
	}
	return 0;
}

/* The folders that `by` (NULL: no file) and the environment name, in order, and last the folders
 * that the dynamic linker always searches; the cache is between them. */
static int each_named_folder(const struct libraries *l, const struct loaded *by,
			     int (*visit)(const char *folder, void *arg), void *arg)
{
	int result;

	for (const struct loaded *f = by; f && !by->dynamic.runpath; f = f->by) {
		if (f->dynamic.runpath)
			continue;
		result = each_folder(f->dynamic.rpath, f->path, visit, arg);
		if (result)
			return result;
	}
	result = each_folder(l->path, by ? by->path : "./", visit, arg);
	if (result || !by)
		return result;
	return each_folder(by->dynamic.runpath, by->path, visit, arg);
}

static int each_usual_folder(int (*visit)(const char *folder, void *arg), void *arg)
{
	return each_folder("/lib/" MULTIARCH ":/usr/lib/" MULTIARCH
			   ":/lib64:/usr/lib64:/lib:/usr/lib",
			   "/", visit, arg);
}

struct finding {
	const struct libraries *libraries;
	const char *name;
	struct elf_file *file;
	char **path;
};

/* 1: found, open in *file, *path is the caller's; 0: not; or -ENOMEM. */
static int find_in(const char *folder, void *finding_)
{
	struct finding *f = finding_;

	*f->path = xasprintf("%s/%s", folder, f->name);
	if (!*f->path)
		return -ENOMEM;
	if (opens(f->libraries, f->file, *f->path))
		return 1;
	free(*f->path);
	return 0;
}

static int find_in_cache(const struct finding *f)
{
	const struct libraries *l = f->libraries;
	const char *name, *path, *best = NULL;

	for (size_t i = 0; i < l->cache_count; i++)
		if (cache_entry(l, i, &name, &path) && !strcmp(name, f->name) &&
		    cpu_level(path) > (best ? cpu_level(best) : -1))
			best = path;
	if (!best || !opens(l, f->file, best))
		return 0;
	*f->path = strdup(best);
	if (*f->path)
		return 1;
	elf_file_close(f->file);
	return -ENOMEM;
}

static int find(const struct libraries *l, const struct loaded *by, const char *name,
		struct elf_file *file, char **path)
{
	struct finding f = {.libraries = l, .name = name, .file = file, .path = path};
	int result;

	if (!strchr(name, '/')) {
		result = each_named_folder(l, by, find_in, &f);
		if (!result)
			result = find_in_cache(&f);
		return result ? result : each_usual_folder(find_in, &f);
	}
	*path = expand(name, strlen(name), by->path);
	if (!*path)
		return -ENOMEM;
	if (opens(l, file, *path))
		return 1;
	free(*path);
	return 0;
}

/* ---- the names in a folder ---- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder that match, sorted; the list and they are the caller's to free. */
static int names_in(const char *root, const char *folder, const char *glob, char ***names,
		    size_t *count)
{
	int fd = open_in_root(root, folder, O_RDONLY | O_DIRECTORY), err = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	*names = NULL;
	*count = 0;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (!err && (entry = readdir(dir))) {
		char **grown;

		if (entry->d_name[0] == '.' || fnmatch(glob, entry->d_name, 0))
			continue;
		grown = realloc(*names, (*count + 1) * sizeof(*grown));
		if (grown) {
			*names = grown;
			grown[*count] = strdup(entry->d_name);
		}
		if (grown && grown[*count])
			(*count)++;
		else
			err = -ENOMEM;
	}
	closedir(dir);
	if (*count)
		qsort(*names, *count, sizeof(**names), compare_names);
	return err;
}

static void free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

/* ---- all libraries that a program needs ---- */

static void loaded_free(struct loaded *file)
{
	dynamic_free(&file->dynamic);
	free(file->path);
	free(file->name);
	free(file);
}

static void loading_free(struct loading *loading)
{
	for (size_t i = 0; i < loading->count; i++)
		loaded_free(loading->list[i]);
	free(loading->list);
}

static bool is_loaded(const struct loading *loading, const struct elf_file *file)
{
	for (size_t i = 0; i < loading->count; i++)
		if (loading->list[i]->inode == file->inode &&
		    loading->list[i]->device == file->device)
			return true;
	return false;
}

/* Takes the file and the path. -E2BIG: there are too many. */
static int load(struct loading *loading, struct elf_file *file, char *path, const char *name,
		const struct loaded *by)
{
	struct loaded **grown, *loaded = NULL;
	int err = 0;

	if (is_loaded(loading, file))
		goto out;
	err = -E2BIG;
	if (loading->count == LOADED_MAX)
		goto out;
	err = -ENOMEM;
	grown = realloc(loading->list, (loading->count + 1) * sizeof(struct loaded *));
	if (!grown)
		goto out;
	loading->list = grown;
	loaded = calloc(1, sizeof(*loaded));
	if (!loaded || (name && !(loaded->name = strdup(name))))
		goto out;
	err = dynamic_read(&loaded->dynamic, file);
	if (err)
		goto out;
	loaded->path = path;
	loaded->by = by;
	loaded->device = file->device;
	loaded->inode = file->inode;
	grown[loading->count++] = loaded;
	elf_file_close(file);
	return 0;
out:
	if (loaded)
		loaded_free(loaded);
	free(path);
	elf_file_close(file);
	return err;
}

static int load_named(struct loading *loading, const char *name, const struct loaded *by)
{
	struct elf_file file;
	char *path;
	int err;

	for (size_t i = 0; i < loading->count; i++)
		if (loading->list[i]->name && !strcmp(loading->list[i]->name, name))
			return 0;
	err = find(loading->libraries, by, name, &file, &path);
	return err > 0 ? load(loading, &file, path, name, by) : err;
}

/* The name of the dynamic linker itself, as the program has it, for the caller to free. */
static char *read_linker(const struct elf_file *program)
{
	for (size_t i = 0; i < program->nsegments; i++) {
		const Elf64_Phdr *s = &program->segments[i];

		if (s->p_type == PT_INTERP && s->p_filesz <= 4096)
			return elf_file_read(program, s->p_offset, s->p_filesz);
	}
	return NULL;
}

static int load_preloaded(struct loading *loading, const struct loaded *by)
{
	const char *preload = loading->libraries->preload;
	char *list = strdup(preload ? preload : ""), *rest = NULL;
	int err = list ? 0 : -ENOMEM;

	for (char *name = list ? strtok_r(list, " :", &rest) : NULL; name;
	     name = strtok_r(NULL, " :", &rest)) {
		err = load_named(loading, name, by);
		if (err)
			break;
	}
	free(list);
	return err;
}

static int load_program(struct loading *loading, const char *program)
{
	char *path, *linker;
	struct elf_file file;
	int err = -ENOMEM;

	if (!opens(loading->libraries, &file, program))
		return 0;
	linker = read_linker(&file);
	path = strdup(program);
	if (!path) {
		elf_file_close(&file);
		goto out;
	}
	err = load(loading, &file, path, NULL, NULL);
	if (err)
		goto out;
	err = load_preloaded(loading, loading->list[0]);
	if (!err && linker && linker[0] == '/')
		err = load_named(loading, linker, loading->list[0]);
out:
	free(linker);
	return err;
}

static int load_all(struct loading *loading, const char *program)
{
	int err = load_program(loading, program);

	if (err)
		return err;
	for (size_t i = 0; i < loading->count; i++) { /* the list grows meanwhile */
		const struct loaded *by = loading->list[i];

		for (size_t k = 0; k < by->dynamic.nneeded; k++) {
			err = load_named(loading, by->dynamic.needed[k], by);
			if (err)
				return err;
		}
	}
	return 0;
}

int libraries_needed(const struct libraries *libraries, const char *program, library_visit visit,
		     void *arg)
{
	struct loading loading = {.libraries = libraries};
	int err = load_all(&loading, program);

	if (err && err != -E2BIG)
		goto out;
	err = 0;
	for (size_t i = 1; i < loading.count; i++) {
		err = visit(loading.list[i]->name, loading.list[i]->path, arg);
		if (err)
			break;
	}
out:
	loading_free(&loading);
	return err;
}

/* ---- libraries that a program could load later ---- */

struct naming {
	const struct libraries *libraries;
	const char *glob;
	library_visit visit;
	void *arg;
};

/* Visits a library by its name in a folder, or (NULL) in the cache. 1: found; 0: not; or -errno. */
static int visit_name(const struct naming *n, const char *folder, const char *name)
{
	struct elf_file file;
	char *path;
	struct finding f = {.libraries = n->libraries, .name = name, .file = &file, .path = &path};
	int result = folder ? find_in(folder, &f) : find_in_cache(&f), err;

	if (result <= 0)
		return result;
	elf_file_close(&file);
	err = n->visit(name, path, n->arg);
	free(path);
	return err ? err : 1;
}

/* The first folder that has any is the last. */
static int visit_folder(const char *folder, void *naming_)
{
	struct naming *n = naming_;
	char **names;
	size_t count;
	int found = 0, result = names_in(n->libraries->root, folder, n->glob, &names, &count);

	for (size_t i = 0; i < count && result >= 0; i++) {
		result = visit_name(n, folder, names[i]);
		found |= result > 0;
	}
	free_names(names, count);
	return result < 0 ? result : found;
}

static int visit_cache(const struct naming *n)
{
	const char *name, *path, *last = "";
	int found = 0, result;

	for (size_t i = 0; i < n->libraries->cache_count; i++) {
		/* entries of one name stand together */
		if (!cache_entry(n->libraries, i, &name, &path) || !strcmp(name, last) ||
		    fnmatch(n->glob, name, 0))
			continue;
		last = name;
		result = visit_name(n, NULL, name);
		if (result < 0)
			return result;
		found |= result;
	}
	return found;
}

int libraries_named(const struct libraries *libraries, const char *program, const char *glob,
		    library_visit visit, void *arg)
{
	struct loading loading = {.libraries = libraries};
	struct naming n = {.libraries = libraries, .glob = glob, .visit = visit, .arg = arg};
	int result = program ? load_program(&loading, program) : 0;

	if (result)
		goto out;
	result = each_named_folder(libraries, loading.count ? loading.list[0] : NULL, visit_folder,
				   &n);
	if (!result)
		result = visit_cache(&n);
	if (!result)
		result = each_usual_folder(visit_folder, &n);
out:
	loading_free(&loading);
	return result > 0 ? 0 : result;
}
