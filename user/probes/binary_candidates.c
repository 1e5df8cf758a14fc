/* SPDX-License-Identifier: MIT */
/* binary_candidates: see binary_candidates.h. */
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

#include "user/elf/elf_file.h"
#include "user/host/open_in_root.h"
#include "user/elf/libraries.h"
#include "user/probes/binary_candidates.h"
#include "user/host/proc_maps.h"
#include "trace/base/text.h"

#define SCRIPTS_MAX 4 /* that run each other; the kernel has the same limit */

struct search {
	struct binary_candidates *candidates;
	const struct request *request;
	const struct resolve_scope *scope;
};

/* ---- candidates ---- */

static void candidate_free(struct binary_candidate *candidate)
{
	free(candidate->path);
	free(candidate->spare);
	free(candidate->name);
	free(candidate->root);
}

void binary_candidates_free(struct binary_candidates *candidates)
{
	for (size_t i = 0; i < candidates->count; i++)
		candidate_free(&candidates->list[i]);
	free(candidates->list);
	*candidates = (struct binary_candidates){0};
}

/* Takes the strings of `candidate`; spare may be NULL, the others are not if there was memory. */
static int take_candidate(struct search *s, struct binary_candidate *candidate)
{
	struct binary_candidates *candidates = s->candidates;
	size_t n = candidates->count;
	struct binary_candidate *grown = candidates->list;

	if (!(n & (n - 1)))
		grown = realloc(grown, (n ? 2 * n : 1) * sizeof(*grown));
	if (grown)
		candidates->list = grown;
	if (!grown || !candidate->path || !candidate->name || !candidate->root) {
		candidate_free(candidate);
		return -ENOMEM;
	}
	grown[candidates->count++] = *candidate;
	return 0;
}

/* A path, unchanged. */
static int add_path(struct search *s, const char *root, const char *path)
{
	struct binary_candidate candidate = {
		.path = strdup(path), .name = strdup(path), .root = strdup(root)};

	return take_candidate(s, &candidate);
}

/* ---- names ---- */

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Does the request mean a file of this name? libm stands for libm.so and libm.so.6, libm.so for
 * libm.so.6. */
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

/* Compares device and inode of a file of /proc with our own. A file that cannot be examined counts
 * as the same. */
static bool is_ours(struct search *s, uint32_t pid, const char *name)
{
	char *own = xasprintf("%s/self/%s", s->scope->proc, name);
	char *theirs = xasprintf("%s/%u/%s", s->scope->proc, pid, name);
	struct stat a, b;
	bool ours = !own || !theirs || stat(own, &a) || stat(theirs, &b) ||
		    (a.st_dev == b.st_dev && a.st_ino == b.st_ino);

	free(own);
	free(theirs);
	return ours;
}

/* The root of a process: "" if it sees the same files as we do. */
static char *root_of(struct search *s, uint32_t pid)
{
	if (is_ours(s, pid, "ns/mnt") && is_ours(s, pid, "root"))
		return strdup("");
	return xasprintf("%s/%u/root", s->scope->proc, pid);
}

/* Has another process the same file mapped? */
static bool is_known(const struct binary_candidates *candidates, const struct mapping *m,
		     const char *root)
{
	for (size_t i = 0; i < candidates->count; i++) {
		const struct binary_candidate *p = &candidates->list[i];

		if (p->expected && p->inode == m->inode && p->device == m->device &&
		    !strcmp(p->name, m->path) && (!*p->root) == !*root)
			return true;
	}
	return false;
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
		struct binary_candidate candidate = {.expected = true,
						     .deleted = m->deleted,
						     .device = m->device,
						     .inode = m->inode};

		if (!is_meant(s->request->binary, file_name(m->path)) ||
		    is_known(s->candidates, m, root))
			continue;
		candidate.path = strdup(m->path);
		candidate.spare =
			xasprintf("%s/%u/map_files/%llx-%llx", s->scope->proc, pid,
				  (unsigned long long)m->start, (unsigned long long)m->end);
		candidate.name = strdup(m->path);
		candidate.root = strdup(root);
		err = take_candidate(s, &candidate);
	}
	if (!root)
		err = -ENOMEM;
	free(root);
	mappings_free(&mappings);
	return err;
}

/* Processes that end meanwhile, or that we may not examine, do not count. */
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

/* The target of a link of /proc, for the caller to free. NULL: errno. */
static char *read_link(const char *path)
{
	char name[4096];
	ssize_t n = readlink(path, name, sizeof(name) - 1);

	if (n < 0)
		return NULL;
	name[n] = '\0';
	return strdup(name);
}

/* ---- in PATH ---- */

static bool is_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && (st.st_mode & 0111);
}

/* The program that `name` runs, for the caller to free; NULL: there is none. */
static char *find_program(const char *name)
{
	const char *at = getenv("PATH"), *end;
	char *path;

	if (strchr(name, '/'))
		return is_executable(name) ? strdup(name) : NULL;
	if (!at || !*at)
		at = "/usr/local/bin:/usr/bin:/bin";
	for (;; at = end + 1) {
		end = strchrnul(at, ':');
		/* an empty part is the current folder */
		path = xasprintf("%.*s%s%s", (int)(end - at), at, end == at ? "./" : "/", name);
		if (!path || is_executable(path))
			return path;
		free(path);
		if (!*end)
			return NULL;
	}
}

static int find_in_path(struct search *s)
{
	char *path = find_program(s->request->binary);
	int err = path ? add_path(s, "", path) : 0;

	free(path);
	return err;
}

/* ---- libraries ---- */

struct visiting {
	struct search *s;
	const char *root;
};

static int visit_library(const char *name, const char *path, void *visiting_)
{
	struct visiting *v = visiting_;

	if (!is_meant(v->s->request->binary, name) &&
	    !is_meant(v->s->request->binary, file_name(path)))
		return 0;
	return add_path(v->s, v->root, path);
}

/* The libraries that dlopen() in `program` could load by the name of the request. */
static int find_loadable(struct search *s, const struct libraries *libraries, const char *program)
{
	const char *binary = s->request->binary;
	struct visiting v = {.s = s, .root = libraries->root};
	bool short_name = !strncmp(binary, "lib", 3) && !strstr(binary, ".so");
	bool no_version = strlen(binary) > 3 && !strcmp(binary + strlen(binary) - 3, ".so");
	char *glob;
	int err;

	if (!strstr(binary, ".so") && !short_name)
		return 0;
	err = libraries_named(libraries, program, binary, visit_library, &v);
	if (err || s->candidates->count || !(short_name || no_version))
		return err;
	glob = xasprintf("%s%s", binary, short_name ? ".so*" : ".*");
	err = glob ? libraries_named(libraries, program, glob, visit_library, &v) : -ENOMEM;
	free(glob);
	return err;
}

/* The words after "#!" of a script, for the caller to free; NULL: it is none. */
static char *read_interpreter(const char *path)
{
	int fd = open_regular("", path);
	char line[256];
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = pread(fd, line, sizeof(line) - 1, 0);
	close(fd);
	if (n < 2 || memcmp(line, "#!", 2) != 0)
		return NULL;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return strdup(line + 2);
}

static int find_by_word(struct search *s, const struct libraries *libraries, const char *word,
			unsigned depth);

/* The first line of a script names its programs: `#!/usr/bin/env python3` is two. */
static int find_by_script(struct search *s, const struct libraries *libraries, const char *path,
			  unsigned depth)
{
	char *words = depth < SCRIPTS_MAX ? read_interpreter(path) : NULL, *rest = NULL;
	int err = 0;

	for (char *word = words ? strtok_r(words, " \t\r", &rest) : NULL;
	     word && !err && !s->candidates->count; word = strtok_r(NULL, " \t\r", &rest))
		if (*word != '-')
			err = find_by_word(s, libraries, word, depth + 1);
	free(words);
	return err;
}

/* One word of a command: the command, or a program that it will run. */
static int find_by_word(struct search *s, const struct libraries *libraries, const char *word,
			unsigned depth)
{
	struct visiting v = {.s = s, .root = ""};
	char *path = find_program(word);
	struct elf_file file;
	int err = 0;

	if (path && !elf_file_open(&file, "", path, &err)) {
		elf_file_close(&file);
		if (is_meant(s->request->binary, file_name(path)))
			err = add_path(s, "", path);
		else
			err = libraries_needed(libraries, path, visit_library, &v);
	} else {
		err = path ? find_by_script(s, libraries, path, depth) : 0;
	}
	free(path);
	return err;
}

/* The libraries that the command, and the programs among its arguments (mpirun ./solver), need. */
static int find_for_command(struct search *s, const struct libraries *libraries)
{
	char **command = s->scope->command;
	char *program = NULL;
	int err = 0;

	for (size_t i = 0; command[i] && !err && !s->candidates->count; i++)
		if (i == 0 || (command[i][0] != '-' && !strchr(command[i], '=')))
			err = find_by_word(s, libraries, command[i], 0);
	if (!err && !s->candidates->count && command[0]) {
		program = find_program(command[0]);
		err = find_loadable(s, libraries, program);
	}
	free(program);
	return err;
}

/* A variable of the environment of a process, for the caller to free; NULL: not set. */
static char *variable_of(struct search *s, uint32_t pid, const char *name)
{
	char *path = xasprintf("%s/%u/environ", s->scope->proc, pid), *line = NULL, *value = NULL;
	FILE *file = path ? fopen(path, "re") : NULL;
	size_t room = 0, length = strlen(name);

	while (file && !value && getdelim(&line, &room, '\0', file) > 0)
		if (!strncmp(line, name, length) && line[length] == '=')
			value = strdup(line + length + 1);
	free(line);
	free(path);
	if (file)
		fclose(file);
	return value;
}

/* The libraries that a process could still load. */
static int find_for_process(struct search *s, uint32_t pid)
{
	char *root = root_of(s, pid), *path = variable_of(s, pid, "LD_LIBRARY_PATH");
	char *exe = xasprintf("%s/%u/exe", s->scope->proc, pid);
	char *program = exe ? read_link(exe) : NULL;
	struct libraries libraries;
	int err = root ? libraries_open(&libraries, root, path, NULL) : -ENOMEM;

	if (!err) {
		err = find_loadable(s, &libraries, program);
		libraries_close(&libraries);
	}
	free(program);
	free(exe);
	free(path);
	free(root);
	return err;
}

static int find_elsewhere(struct search *s)
{
	struct libraries libraries;
	int err = libraries_open(&libraries, s->scope->root, getenv("LD_LIBRARY_PATH"),
				 getenv("LD_PRELOAD"));

	if (err)
		return err;
	if (s->scope->command && !s->request->pid)
		err = find_for_command(s, &libraries);
	else
		err = find_loadable(s, &libraries, NULL);
	libraries_close(&libraries);
	if (!err && !s->candidates->count)
		err = find_in_path(s);
	return err;
}

/* ---- all ---- */

static const char *process_trouble(int err)
{
	if (err == -ENOENT || err == -ESRCH)
		return "does not exist";
	if (err == -EACCES || err == -EPERM)
		return "belongs to another user: reading its mapped files needs its owner's "
		       "rights, or CAP_SYS_PTRACE";
	return strerror(-err);
}

/* Sets *why to the sentence; out of memory there is none. Returns the error. */
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
	struct binary_candidate candidate = {.path = xasprintf("%s/%u/exe", s->scope->proc, pid),
					     .root = root_of(s, pid),
					     .direct = true};
	int err = -ENOMEM;

	errno = ENOMEM;
	candidate.name = candidate.path ? read_link(candidate.path) : NULL;
	err = -errno;
	if (!candidate.name) {
		candidate_free(&candidate);
		return err;
	}
	return take_candidate(s, &candidate);
}

static int find_path(struct search *s)
{
	const char *binary = s->request->binary;
	uint32_t pid = s->request->pid;
	struct binary_candidate candidate = {0};
	char *link, *folder;
	int err;

	if (!pid)
		return add_path(s, "", binary);
	link = xasprintf("%s/%u", s->scope->proc, pid);
	err = link && access(link, F_OK) ? -errno : 0;
	free(link);
	if (err)
		return err;
	candidate.root = root_of(s, pid);
	if (binary[0] == '/') {
		candidate.path = strdup(binary);
	} else { /* from where the process is */
		link = xasprintf("%s/%u/cwd", s->scope->proc, pid);
		errno = ENOMEM;
		folder = link ? read_link(link) : NULL;
		free(link);
		if (!folder) {
			err = -errno;
			candidate_free(&candidate);
			return err;
		}
		candidate.path = xasprintf("%s/%s", folder, binary);
		free(folder);
	}
	candidate.name = strdup(binary);
	return take_candidate(s, &candidate);
}

static int not_found(struct search *s, char **why)
{
	const struct resolve_scope *scope = s->scope;
	const struct request *r = s->request;
	const char *path = is_executable(r->binary)
				   ? "; a file in the current folder is written with "
				     "its path, as in ./app"
				   : "";

	if (r->pid)
		return trouble(
			-ENOENT, why,
			"process %u has no file '%s' mapped, nor is there such a library that "
			"it could load%s",
			r->pid, r->binary, path);
	if (scope->npids)
		return trouble(-ENOENT, why,
			       "no recorded process has a file '%s' mapped, nor is there such a "
			       "library that it could load%s",
			       r->binary, path);
	if (scope->command)
		return trouble(-ENOENT, why,
			       "'%s' is neither the command nor a library that it needs, nor is it "
			       "in the folders of libraries or in PATH%s",
			       r->binary, path);
	return trouble(-ENOENT, why, "there is no '%s'%s in the folders of libraries or in PATH%s",
		       r->binary, scope->all ? " that a process has mapped, nor" : "", path);
}

static int find_name(struct search *s, char **why)
{
	const struct resolve_scope *scope = s->scope;
	const struct request *r = s->request;
	const uint32_t *pids = r->pid ? &r->pid : scope->pids;
	size_t npids = r->pid ? 1 : scope->npids;
	int err = 0;

	for (size_t i = 0; i < npids && !err; i++) {
		err = find_mapped(s, pids[i]);
		if (err)
			return trouble(err, why, "process %u %s", pids[i], process_trouble(err));
	}
	for (size_t i = 0; i < npids && !err && !s->candidates->count; i++)
		err = find_for_process(s, pids[i]);
	if (!npids && scope->all && !err)
		err = find_anywhere(s);
	if (!npids && !err)
		err = find_elsewhere(s);
	if (!err && !s->candidates->count)
		err = not_found(s, why);
	return err;
}

int binary_candidates_find(struct binary_candidates *candidates, const struct request *request,
			   const struct resolve_scope *scope, char **why)
{
	struct search s = {.candidates = candidates, .request = request, .scope = scope};
	int err;

	*candidates = (struct binary_candidates){0};
	*why = NULL;
	if (!request->binary)
		err = find_executable(&s);
	else if (strchr(request->binary, '/'))
		err = find_path(&s);
	else
		err = find_name(&s, why);
	if (err && !*why && request->pid)
		err = trouble(err, why, "process %u %s", request->pid, process_trouble(err));
	if (err)
		binary_candidates_free(candidates);
	return err;
}
