/* SPDX-License-Identifier: MIT */
/* locate: see locate.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "locate.h"
#include "mappings.h"

struct search {
	struct places *places;
	const struct request *request;
	const struct resolve_scope *scope;
};

/* ---- places ---- */

static void place_free(struct place *place)
{
	free(place->path);
	free(place->spare);
	free(place->name);
	free(place->root);
}

void places_free(struct places *places)
{
	for (size_t i = 0; i < places->count; i++)
		place_free(&places->list[i]);
	free(places->list);
	*places = (struct places){0};
}

/* Takes the strings of `place`; spare may be NULL, the others are not if there was memory. */
static int take_place(struct search *s, struct place *place)
{
	struct places *places = s->places;
	size_t n = places->count;
	struct place *grown = places->list;

	if (!(n & (n - 1)))
		grown = realloc(grown, (n ? 2 * n : 1) * sizeof(*grown));
	if (grown)
		places->list = grown;
	if (!grown || !place->path || !place->name || !place->root) {
		place_free(place);
		return -ENOMEM;
	}
	grown[places->count++] = *place;
	return 0;
}

static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *format, ...)
{
	char *out;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&out, format, args);
	va_end(args);
	return n < 0 ? NULL : out;
}

/* A path as it is. */
static int add_path(struct search *s, const char *path)
{
	struct place place = {.path = strdup(path), .name = strdup(path), .root = strdup("")};

	return take_place(s, &place);
}

/* ---- names ---- */

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Is a file of this name meant? libm stands for libm.so and libm.so.6, libm.so for libm.so.6. */
static bool is_meant(const char *binary, const char *name)
{
	size_t length = strlen(binary);

	if (!fnmatch(binary, name, 0))
		return true;
	if (strncmp(binary, "lib", 3) || strncmp(name, binary, length))
		return false;
	return !strncmp(name + length, ".so", 3) ||
	       (length > 3 && !strcmp(binary + length - 3, ".so") && name[length] == '.');
}

/* ---- mapped by processes ---- */

/* What stands before the paths of a process: nothing, if its root is ours. */
static char *root_of(struct search *s, uint32_t pid)
{
	char *root = text("%s/%u/root", s->scope->proc, pid);
	struct stat ours, theirs;

	if (root && !stat("/", &ours) && !stat(root, &theirs) && ours.st_dev == theirs.st_dev &&
	    ours.st_ino == theirs.st_ino)
		root[0] = '\0';
	return root;
}

static int find_mapped(struct search *s, uint32_t pid)
{
	struct mappings mappings;
	char *root;
	int err = mappings_read(&mappings, s->scope->proc, pid);

	if (err)
		return err;
	root = root_of(s, pid);
	for (size_t i = 0; i < mappings.count && root && !err; i++) {
		const struct mapping *m = &mappings.list[i];
		struct place place = {.expected = true,
				      .deleted = m->deleted,
				      .device = m->device,
				      .inode = m->inode};

		if (!is_meant(s->request->binary, file_name(m->path)))
			continue;
		place.path = text("%s%s", root, m->path);
		place.spare = text("%s/%u/map_files/%llx-%llx", s->scope->proc, pid,
				   (unsigned long long)m->start, (unsigned long long)m->end);
		place.name = strdup(m->path);
		place.root = strdup(root);
		err = take_place(s, &place);
	}
	if (!root)
		err = -ENOMEM;
	free(root);
	mappings_free(&mappings);
	return err;
}

/* Those that end meanwhile, or may not be looked at, do not count. */
static int find_anywhere(struct search *s)
{
	DIR *dir = opendir(s->scope->proc);
	struct dirent *entry;
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		err = find_mapped(s, (uint32_t)strtoul(entry->d_name, NULL, 10));
		if (err != -ENOMEM)
			err = 0;
	}
	if (dir)
		closedir(dir);
	return err;
}

/* ---- in the places of the system ---- */

static int try_path(struct search *s, const char *dir, size_t length, const char *name)
{
	struct stat st;
	char *path;
	int err = 0;

	/* an empty part of PATH is the current folder */
	if (asprintf(&path, "%.*s%s%s", (int)length, dir, length ? "/" : "./", name) < 0)
		return -ENOMEM;
	if (!stat(path, &st) && S_ISREG(st.st_mode) && (st.st_mode & 0111))
		err = add_path(s, path);
	free(path);
	return err;
}

static int find_in_path(struct search *s)
{
	const char *at = getenv("PATH"), *end;
	int err = 0;

	if (!at || !*at)
		at = "/usr/local/bin:/usr/bin:/bin";
	for (; !err && !s->places->count; at = end + 1) {
		end = strchrnul(at, ':');
		err = try_path(s, at, (size_t)(end - at), s->request->binary);
		if (!*end)
			break;
	}
	return err;
}

/* ---- all ---- */

static const char *process_trouble(int err)
{
	return err == -ENOENT || err == -ESRCH ? "does not exist"
	       : err == -EACCES || err == -EPERM
		       ? "belongs to somebody else: to read what it has mapped takes its owner's "
			 "rights, or CAP_SYS_PTRACE"
		       : strerror(-err);
}

/* In the words of whoever has to say it; without memory there are none. */
static int trouble(int err, char **why, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int trouble(int err, char **why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (err == -ENOMEM || vasprintf(why, format, args) < 0) {
		*why = NULL;
		err = -ENOMEM;
	}
	va_end(args);
	return err;
}

static int find_executable(struct search *s)
{
	uint32_t pid = s->request->pid;
	struct place place = {.path = text("%s/%u/exe", s->scope->proc, pid),
			      .root = root_of(s, pid)};
	char name[4096];
	ssize_t n = place.path ? readlink(place.path, name, sizeof(name) - 1) : 0;
	int err = n < 0 ? -errno : 0;

	/* the link leads to the file itself, whatever its name means by now */
	if (err) {
		place_free(&place);
		return err;
	}
	name[n] = '\0';
	place.name = strdup(name);
	return take_place(s, &place);
}

static int find_path(struct search *s)
{
	uint32_t pid = s->request->pid;
	struct place place = {0};

	if (!pid)
		return add_path(s, s->request->binary);
	if (s->request->binary[0] == '/')
		place.root = root_of(s, pid);
	else /* where the process is */
		place.root = text("%s/%u/cwd/", s->scope->proc, pid);
	if (place.root)
		place.path = text("%s%s", place.root, s->request->binary);
	place.name = strdup(s->request->binary);
	return take_place(s, &place);
}

static int find_name(struct search *s, char **why)
{
	const struct resolve_scope *scope = s->scope;
	const struct request *r = s->request;
	const uint32_t *pids = r->pid ? &r->pid : scope->pids;
	size_t npids = r->pid ? 1 : scope->npids;
	int err = 0;

	for (size_t i = 0; i < npids; i++) {
		err = find_mapped(s, pids[i]);
		if (err)
			return trouble(err, why, "process %u %s", pids[i], process_trouble(err));
	}
	if (!s->places->count && scope->all)
		err = find_anywhere(s);
	if (!s->places->count && !err)
		err = find_in_path(s);
	if (err)
		return err;
	if (s->places->count)
		return 0;
	return trouble(-ENOENT, why, "%s", "not found");
}

int locate(struct places *places, const struct request *request, const struct resolve_scope *scope,
	   char **why)
{
	struct search s = {.places = places, .request = request, .scope = scope};
	int err;

	*places = (struct places){0};
	*why = NULL;
	if (!request->binary) {
		err = find_executable(&s);
		if (err)
			err = trouble(err, why, "process %u %s", request->pid,
				      process_trouble(err));
	} else if (strchr(request->binary, '/')) {
		err = find_path(&s);
	} else {
		err = find_name(&s, why);
	}
	if (err)
		places_free(places);
	return err;
}
