/* SPDX-License-Identifier: MIT */
/* libraries: see libraries.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/elf/dynamic.h"
#include "user/elf/elf_file.h"
#include "user/host/open_in_root.h"
#include "user/elf/libraries.h"
#include "trace/base/text.h"

#define LOADED_MAX  4096
#define FOLDERS_MAX 256 /* of one list: more are no list of folders */
#define INCLUDE_MAX 16	/* depth of ld.so.conf */

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#define PLATFORM  "x86_64"
#else
#define MULTIARCH "aarch64-linux-gnu"
#define PLATFORM  "aarch64"
#endif

/* ---- the folders of the system ---- */

static int add_folder(struct libraries *l, const char *folder, size_t length)
{
	char **grown;

	while (length > 1 && folder[length - 1] == '/')
		length--;
	for (size_t i = 0; i < l->count; i++)
		if (strlen(l->folders[i]) == length && !strncmp(l->folders[i], folder, length))
			return 0;
	grown = realloc(l->folders, (l->count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	l->folders = grown;
	grown[l->count] = strndup(folder, length);
	return grown[l->count++] ? 0 : -ENOMEM;
}

static int read_conf(struct libraries *l, const char *path, unsigned depth);

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

/* "include /etc/ld.so.conf.d/<glob>": relative to the folder of the file that has it. */
static int include(struct libraries *l, const char *from, const char *pattern, unsigned depth)
{
	const char *slash = strrchr(from, '/');
	char *whole, *folder, **names, *path;
	size_t count;
	int err;

	if (*pattern == '/')
		whole = strdup(pattern);
	else
		whole = xasprintf("%.*s/%s", (int)(slash - from), from, pattern);
	if (!whole)
		return -ENOMEM;
	folder = strndup(whole, (size_t)(strrchr(whole, '/') - whole) + 1);
	err = folder ? names_in(l->root, folder, strrchr(whole, '/') + 1, &names, &count) : -ENOMEM;
	if (folder) {
		for (size_t i = 0; i < count && !err; i++) {
			path = xasprintf("%s%s", folder, names[i]);
			err = path ? read_conf(l, path, depth + 1) : -ENOMEM;
			free(path);
		}
		free_names(names, count);
	}
	free(folder);
	free(whole);
	return err;
}

static int read_conf(struct libraries *l, const char *path, unsigned depth)
{
	int fd = depth < INCLUDE_MAX ? open_regular(l->root, path) : -ELOOP, err = 0;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;

	if (!file && fd >= 0)
		close(fd);
	while (file && !err && getline(&line, &room, file) > 0) {
		size_t length = strcspn(line, "#\n");
		char *at = line;

		line[length] = '\0';
		at += strspn(at, " \t");
		at[strcspn(at, "\r")] = '\0';
		if (!strncmp(at, "include", 7) && (at[7] == ' ' || at[7] == '\t')) {
			at += 7;
			at += strspn(at, " \t");
			at[strcspn(at, " \t")] = '\0';
			if (*at)
				err = include(l, path, at, depth);
		} else if (*at == '/') {
			err = add_folder(l, at, strcspn(at, " \t=:,"));
		}
	}
	free(line);
	if (file)
		fclose(file);
	return err;
}

int libraries_open(struct libraries *l, const char *root, const char *path, const char *preload)
{
	static const char *const always[] = {
		"/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib64", "/usr/lib64", "/lib",
		"/usr/lib"};
	int err;

	*l = (struct libraries){.root = root};
	if (path && *path && !(l->path = strdup(path)))
		return -ENOMEM;
	if (preload && *preload && !(l->preload = strdup(preload))) {
		libraries_close(l);
		return -ENOMEM;
	}
	err = read_conf(l, "/etc/ld.so.conf", 0);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]) && !err; i++)
		err = add_folder(l, always[i], strlen(always[i]));
	if (err)
		libraries_close(l);
	return err;
}

void libraries_close(struct libraries *l)
{
	free_names(l->folders, l->count);
	free(l->path);
	free(l->preload);
	*l = (struct libraries){.root = ""};
}

/* ---- looking for one library ---- */

/* A file that has been loaded, and who has loaded it. */
struct loaded {
	char *path, *name; /* name: by which it was asked for; NULL: the program */
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

/* "$ORIGIN/../lib": the folder of the file that says it. */
static char *expand(const char *part, size_t length, const char *origin)
{
	static const struct {
		const char *name, *value;
	} tokens[] = {{"ORIGIN", NULL}, {"LIB", "lib/" MULTIARCH}, {"PLATFORM", PLATFORM}};
	const char *slash = strrchr(origin, '/');
	int folder = slash ? (int)(slash - origin) : 1;
	char *out = strdup(""), *grown;

	for (size_t at = 0; at < length && out;) {
		size_t n = 1;
		const char *value = NULL, *said;
		int value_length = 0;

		for (size_t i = 0; part[at] == '$' && i < 3 && !value; i++) {
			size_t name = strlen(tokens[i].name);
			bool braces = at + 1 < length && part[at + 1] == '{';
			size_t whole = 1 + name + 2 * braces;

			if (at + whole > length ||
			    strncmp(part + at + 1 + braces, tokens[i].name, name) ||
			    (braces && part[at + whole - 1] != '}'))
				continue;
			n = whole;
			said = tokens[i].value;
			value = said ? said : slash ? origin : ".";
			value_length = said ? (int)strlen(said) : folder;
		}
		if (value)
			grown = xasprintf("%s%.*s", out, value_length, value);
		else
			grown = xasprintf("%s%c", out, part[at]);
		free(out);
		out = grown;
		at += n;
	}
	return out;
}

/* Is there a library of this machine? */
static bool opens(const struct libraries *l, struct image *image, const char *path)
{
	int err;

	return !image_open(image, l->root, path, &err);
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

/* 1 found (open in *image, *path is the caller's), 0 not, or -ENOMEM. */
static int try_folder(const struct libraries *l, const char *folder, const char *name,
		      struct image *image, char **path)
{
	static const char *const levels[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2"};

	for (size_t i = 0; i <= 3; i++) {
		if (i < 3 && !cpu_has(levels[i]))
			continue;
		*path = i < 3 ? xasprintf("%s/glibc-hwcaps/%s/%s", folder, levels[i], name)
			      : xasprintf("%s/%s", folder, name);
		if (!*path)
			return -ENOMEM;
		if (opens(l, image, *path))
			return 1;
		free(*path);
	}
	return 0;
}

/* Calls `visit` with each folder of a list with ':' in between. */
static int each_folder(const char *list, const char *origin,
		       int (*visit)(const char *folder, void *arg), void *arg)
{
	const char *end;
	unsigned n = 0;
	char *folder;
	int result = 0;

	for (; list && !result && n < FOLDERS_MAX; n++, list = *end ? end + 1 : NULL) {
		end = list + strcspn(list, ":;");
		/* nothing between is the current folder */
		folder = end == list ? strdup(".") : expand(list, (size_t)(end - list), origin);
		result = folder ? visit(folder, arg) : -ENOMEM;
		free(folder);
	}
	return result;
}

/* The folders in which `by` has its libraries looked for, in order; NULL: nobody in particular. */
static int each_place(const struct libraries *l, const struct loaded *by,
		      int (*visit)(const char *folder, void *arg), void *arg)
{
	int result = 0;

	if (by && !by->dynamic.runpath)
		for (const struct loaded *f = by; f && !result; f = f->by)
			if (!f->dynamic.runpath)
				result = each_folder(f->dynamic.rpath, f->path, visit, arg);
	if (!result)
		result = each_folder(l->path, by ? by->path : "./", visit, arg);
	if (!result && by)
		result = each_folder(by->dynamic.runpath, by->path, visit, arg);
	for (size_t i = 0; i < l->count && !result; i++)
		result = visit(l->folders[i], arg);
	return result;
}

struct finding {
	const struct libraries *libraries;
	const char *name;
	struct image *image;
	char **path;
};

static int find_in(const char *folder, void *finding_)
{
	struct finding *f = finding_;

	return try_folder(f->libraries, folder, f->name, f->image, f->path);
}

/* As try_folder(), but anywhere. */
static int find(const struct libraries *l, const struct loaded *by, const char *name,
		struct image *image, char **path)
{
	struct finding f = {.libraries = l, .name = name, .image = image, .path = path};

	if (!strchr(name, '/'))
		return each_place(l, by, find_in, &f);
	*path = expand(name, strlen(name), by->path);
	if (!*path)
		return -ENOMEM;
	if (opens(l, image, *path))
		return 1;
	free(*path);
	return 0;
}

/* ---- all that a program needs ---- */

static void loaded_free(struct loaded *file)
{
	dynamic_free(&file->dynamic);
	free(file->path);
	free(file->name);
	free(file);
}

/* Takes the image and the path. */
static int load(struct loading *loading, struct image *image, char *path, const char *name,
		const struct loaded *by)
{
	struct loaded **grown, *file = calloc(1, sizeof(*file));
	int err = 0;

	for (size_t i = 0; i < loading->count && file; i++) {
		if (loading->list[i]->inode != image->inode ||
		    loading->list[i]->device != image->device)
			continue;
		free(file);
		free(path);
		image_close(image);
		return 0;
	}
	grown = realloc(loading->list, (loading->count + 1) * sizeof(struct loaded *));
	if (grown)
		loading->list = grown;
	if (!file || !grown || loading->count == LOADED_MAX) {
		err = file && grown ? -E2BIG : -ENOMEM;
		free(file);
		free(path);
		image_close(image);
		return err;
	}
	file->path = path;
	file->name = name ? strdup(name) : NULL;
	file->by = by;
	file->device = image->device;
	file->inode = image->inode;
	dynamic_read(&file->dynamic, image);
	grown[loading->count++] = file;
	image_close(image);
	return name && !file->name ? -ENOMEM : 0;
}

static int load_named(struct loading *loading, const char *name, const struct loaded *by)
{
	struct image image;
	char *path;
	int err;

	for (size_t i = 0; i < loading->count; i++)
		if (loading->list[i]->name && !strcmp(loading->list[i]->name, name))
			return 0;
	err = find(loading->libraries, by, name, &image, &path);
	return err > 0 ? load(loading, &image, path, name, by) : err;
}

/* The name of the dynamic linker itself, as the program has it, for the caller to free. */
static char *read_linker(const struct image *program)
{
	for (size_t i = 0; i < program->nsegments; i++) {
		const Elf64_Phdr *s = &program->segments[i];

		if (s->p_type == PT_INTERP && s->p_filesz <= 4096)
			return image_read(program, s->p_offset, s->p_filesz);
	}
	return NULL;
}

static int load_preloaded(struct loading *loading, const struct loaded *by)
{
	char *list = loading->libraries->preload ? strdup(loading->libraries->preload) : NULL;
	char *rest = NULL;
	int err = 0;

	for (char *name = list ? strtok_r(list, " :", &rest) : NULL; name && !err;
	     name = strtok_r(NULL, " :", &rest))
		err = load_named(loading, name, by);
	free(list);
	return err;
}

static int load_program(struct loading *loading, const char *program)
{
	char *path, *linker;
	struct image image;
	int err;

	if (!opens(loading->libraries, &image, program))
		return 0;
	linker = read_linker(&image);
	path = strdup(program);
	if (path)
		err = load(loading, &image, path, NULL, NULL);
	else
		err = -ENOMEM;
	if (!path)
		image_close(&image);
	if (!err)
		err = load_preloaded(loading, loading->list[0]);
	if (!err && linker && linker[0] == '/')
		err = load_named(loading, linker, loading->list[0]);
	free(linker);
	return err;
}

static int load_all(struct loading *loading, const char *program)
{
	int err = load_program(loading, program);

	/* the list grows meanwhile */
	for (size_t i = 0; i < loading->count && !err; i++) {
		const struct loaded *by = loading->list[i];

		for (size_t k = 0; k < by->dynamic.nneeded && !err; k++)
			err = load_named(loading, by->dynamic.needed[k], by);
	}
	return err == -E2BIG ? 0 : err;
}

int libraries_needed(const struct libraries *libraries, const char *program, library_visit visit,
		     void *arg)
{
	struct loading loading = {.libraries = libraries};
	int err = load_all(&loading, program);

	for (size_t i = 1; i < loading.count && !err; i++)
		err = visit(loading.list[i]->name, loading.list[i]->path, arg);
	for (size_t i = 0; i < loading.count; i++)
		loaded_free(loading.list[i]);
	free(loading.list);
	return err;
}

/* ---- what could be loaded later ---- */

struct naming {
	const struct libraries *libraries;
	const char *glob;
	library_visit visit;
	void *arg;
	bool any;
};

static int visit_folder(const char *folder, void *naming_)
{
	struct naming *n = naming_;
	char **names, *path;
	size_t count;
	int err = names_in(n->libraries->root, folder, n->glob, &names, &count);

	for (size_t i = 0; i < count && !err; i++) {
		struct image image;

		err = try_folder(n->libraries, folder, names[i], &image, &path);
		if (err <= 0)
			continue;
		image_close(&image);
		n->any = true;
		err = n->visit(names[i], path, n->arg);
		free(path);
	}
	free_names(names, count);
	/* the first folder that has any is the last */
	return err ? err : n->any;
}

int libraries_named(const struct libraries *libraries, const char *program, const char *glob,
		    library_visit visit, void *arg)
{
	struct loading loading = {.libraries = libraries};
	struct naming n = {.libraries = libraries, .glob = glob, .visit = visit, .arg = arg};
	int err = program ? load_program(&loading, program) : 0;

	if (!err)
		err = each_place(libraries, loading.count ? loading.list[0] : NULL, visit_folder,
				 &n);
	for (size_t i = 0; i < loading.count; i++)
		loaded_free(loading.list[i]);
	free(loading.list);
	return err > 0 && n.any ? 0 : err;
}
