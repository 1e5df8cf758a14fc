/* SPDX-License-Identifier: MIT */
/* binaries: see binaries.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/text.h"
#include "user/elf/elf_child.h"
#include "user/elf/libraries.h"
#include "user/elf/unwind.h"
#include "user/host/read_file.h"
#include "user/host/proc_maps.h"
#include "user/probes/binaries.h"

#define SCRIPTS_MAX 4 /* that run each other; the kernel has the same limit */

struct search {
	struct binary_candidates *candidates;
	const struct request *request;
	const struct resolve_scope *scope;
	const char *root; /* of the visited libraries */
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

/* Takes the strings of `candidate`: all but spare are necessary, and NULL without memory. */
static int add_candidate(struct search *s, struct binary_candidate *candidate)
{
	struct binary_candidate *added = NULL;

	if (candidate->path && candidate->name && candidate->root)
		added = ARRAY_ADD(s->candidates->list, s->candidates->count);
	if (!added) {
		candidate_free(candidate);
		return -ENOMEM;
	}
	*added = *candidate;
	return 0;
}

/* A path, unchanged. */
static int add_path(struct search *s, const char *root, const char *path)
{
	struct binary_candidate candidate = {
		.path = strdup(path), .name = strdup(path), .root = strdup(root)};

	return add_candidate(s, &candidate);
}

/* ---- names ---- */

/* True if the request includes a file of this name: libm includes libm.so and libm.so.6, libm.so
 * includes libm.so.6. */
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
	if (!root)
		err = -ENOMEM;
	for (size_t i = 0; root && i < mappings.count; i++) {
		const struct mapping *m = &mappings.list[i];
		struct binary_candidate candidate = {.expected = true,
						     .deleted = m->deleted,
						     .device = m->device,
						     .inode = m->inode};

		if (!is_meant(s->request->binary, basename(m->path)) ||
		    is_known(s->candidates, m, root))
			continue;
		candidate.path = strdup(m->path);
		candidate.spare =
			xasprintf("%s/%u/map_files/%llx-%llx", s->scope->proc, pid,
				  (unsigned long long)m->start, (unsigned long long)m->end);
		candidate.name = strdup(m->path);
		candidate.root = strdup(root);
		err = add_candidate(s, &candidate);
		if (err)
			break;
	}
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

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		err = find_mapped(s, (uint32_t)strtoul(entry->d_name, NULL, 10));
		if (err == -ENOMEM)
			break;
		err = 0;
	}
	closedir(dir);
	return err;
}

/* The target of a link of /proc, for the caller to free. */
static int read_link(const char *path, char **target)
{
	char name[4096];
	ssize_t n = readlink(path, name, sizeof(name) - 1);

	if (n < 0)
		return -errno;
	*target = strndup(name, (size_t)n);
	return *target ? 0 : -ENOMEM;
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

static int visit_meant(const char *name, const char *path, void *search)
{
	struct search *s = search;

	if (!is_meant(s->request->binary, name) && !is_meant(s->request->binary, basename(path)))
		return 0;
	return add_path(s, s->root, path);
}

static int visit_named(const char *name, const char *path, void *search)
{
	struct search *s = search;

	return fnmatch(s->request->binary, name, 0) ? 0 : add_path(s, s->root, path);
}

/* The libraries of /etc/ld.so.cache with exactly this name, or else all that match the request. */
static int find_cached(struct search *s, const char *root)
{
	int err;

	s->root = root;
	err = libraries_cached(root, visit_named, s);
	if (err || s->candidates->count)
		return err;
	return libraries_cached(root, visit_meant, s);
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

static int find_by_word(struct search *s, const char *word, unsigned depth);

/* The first line of a script names its programs: `#!/usr/bin/env python3` is two. */
static int find_by_script(struct search *s, const char *path, unsigned depth)
{
	char *words, *rest = NULL;
	int err = 0;

	if (depth == SCRIPTS_MAX)
		return 0;
	words = read_interpreter(path);
	for (char *word = words ? strtok_r(words, " \t\r", &rest) : NULL; word;
	     word = strtok_r(NULL, " \t\r", &rest)) {
		if (*word == '-')
			continue;
		err = find_by_word(s, word, depth + 1);
		if (err || s->candidates->count)
			break;
	}
	free(words);
	return err;
}

/* One argument of a command: the command itself, or a program that it will run. */
static int find_by_word(struct search *s, const char *word, unsigned depth)
{
	char *path = find_program(word);
	struct elf_file file;
	int err = 0;

	if (!path)
		return 0;
	if (elf_file_open(&file, "", path, &err)) {
		err = find_by_script(s, path, depth);
		goto out;
	}
	elf_file_close(&file);
	s->root = "";
	if (is_meant(s->request->binary, basename(path)))
		err = add_path(s, "", path);
	else
		err = libraries_needed("", path, visit_meant, s);
out:
	free(path);
	return err;
}

/* The libraries that the command, and the programs among its arguments (mpirun ./solver), need. */
static int find_for_command(struct search *s)
{
	char **command = s->scope->command;
	int err;

	for (size_t i = 0; command[i]; i++) {
		if (i && (command[i][0] == '-' || strchr(command[i], '=')))
			continue;
		err = find_by_word(s, command[i], 0);
		if (err || s->candidates->count)
			return err;
	}
	return 0;
}

/* The libraries that a process could still load. */
static int find_for_process(struct search *s, uint32_t pid)
{
	char *root = root_of(s, pid);
	int err = root ? find_cached(s, root) : -ENOMEM;

	free(root);
	return err;
}

static int find_elsewhere(struct search *s)
{
	int err = 0;

	if (s->scope->command && !s->request->pid)
		err = find_for_command(s);
	if (err || s->candidates->count)
		return err;
	err = find_cached(s, s->scope->root);
	if (err || s->candidates->count)
		return err;
	return find_in_path(s);
}

/* ---- all ---- */

/* Sets *why to the sentence, NULL without memory. Returns the error. */
static int fail(int err, char **why, char *sentence)
{
	*why = sentence;
	return sentence ? err : -ENOMEM;
}

static int process_error(int err, char **why, uint32_t pid)
{
	const char *reason = strerror(-err);

	if (err == -ENOMEM)
		return err;
	if (err == -ENOENT || err == -ESRCH)
		reason = "does not exist";
	else if (err == -EACCES || err == -EPERM)
		reason = "belongs to another user: reading its mapped files needs its owner's "
			 "rights, or CAP_SYS_PTRACE";
	return fail(err, why, xasprintf("process %u %s", pid, reason));
}

static int find_executable(struct search *s)
{
	uint32_t pid = s->request->pid;
	struct binary_candidate candidate = {.path = xasprintf("%s/%u/exe", s->scope->proc, pid),
					     .root = root_of(s, pid),
					     .direct = true};
	int err = 0;

	if (candidate.path)
		err = read_link(candidate.path, &candidate.name);
	if (err) {
		candidate_free(&candidate);
		return err;
	}
	return add_candidate(s, &candidate);
}

/* A path below the root of a process, or from its current folder. */
static int find_path_of_process(struct search *s, uint32_t pid)
{
	const char *binary = s->request->binary;
	struct binary_candidate candidate = {.root = root_of(s, pid), .name = strdup(binary)};
	char *link = xasprintf("%s/%u/cwd", s->scope->proc, pid), *folder = NULL;
	int err = link ? read_link(link, &folder) : -ENOMEM;

	/* the folder of a process of another user cannot be read */
	if (binary[0] == '/' && err != -ENOENT && err != -ESRCH)
		err = 0;
	if (err)
		candidate_free(&candidate);
	else
		candidate.path =
			binary[0] == '/' ? strdup(binary) : xasprintf("%s/%s", folder, binary);
	free(link);
	free(folder);
	return err ? err : add_candidate(s, &candidate);
}

/* The sentence about a name that no file has. */
static char *not_found(const struct search *s)
{
	const struct resolve_scope *scope = s->scope;
	const struct request *r = s->request;
	const char *path = is_executable(r->binary)
				   ? "; a file in the current folder is written with "
				     "its path, as in ./app"
				   : "";

	if (r->pid)
		return xasprintf("process %u has no file '%s' mapped, nor is there such a library "
				 "that it could load%s",
				 r->pid, r->binary, path);
	if (scope->npids)
		return xasprintf("no recorded process has a file '%s' mapped, nor is there such a "
				 "library that it could load%s",
				 r->binary, path);
	if (scope->command)
		return xasprintf("'%s' is neither the command nor a library that it needs, nor is "
				 "it in the folders of libraries or in PATH%s",
				 r->binary, path);
	return xasprintf("there is no '%s'%s in the folders of libraries or in PATH%s", r->binary,
			 scope->all ? " that a process has mapped, nor" : "", path);
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
			return process_error(err, why, pids[i]);
	}
	for (size_t i = 0; i < npids && !s->candidates->count; i++) {
		err = find_for_process(s, pids[i]);
		if (err)
			return err;
	}
	err = !npids && scope->all ? find_anywhere(s) : 0;
	if (err)
		return err;
	if (!npids)
		err = find_elsewhere(s);
	if (err)
		return err;
	if (!s->candidates->count)
		return fail(-ENOENT, why, not_found(s));
	return 0;
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
		err = request->pid ? find_path_of_process(&s, request->pid)
				   : add_path(&s, "", request->binary);
	else
		err = find_name(&s, why);
	if (err && !*why && request->pid)
		err = process_error(err, why, request->pid);
	if (err)
		binary_candidates_free(candidates);
	return err;
}

/* ---- binaries ---- */

static struct binary *find_binary(const struct binaries *binaries, const struct elf_file *file)
{
	for (size_t i = 0; i < binaries->count; i++)
		if (binaries->list[i]->file.inode == file->inode &&
		    binaries->list[i]->file.device == file->device)
			return binaries->list[i];
	return NULL;
}

/* Opens the expected file: another one may have its name by now. */
static const char *open_candidate(struct elf_file *file, struct binary_candidate *candidate)
{
	const char *wrong = elf_file_open(file, candidate->direct ? "" : candidate->root,
					  candidate->path, &candidate->err);
	struct elf_file spare;
	int err;

	if (!candidate->expected || !candidate->spare ||
	    (!wrong && file->device == candidate->device && file->inode == candidate->inode))
		return wrong;
	if (!elf_file_open(&spare, "", candidate->spare, &err)) {
		elf_file_close(file);
		*file = spare;
		candidate->err = 0;
		return NULL;
	}
	/* some file systems show other numbers in /proc/PID/maps than in stat(): the name decides
	 */
	if (!candidate->deleted)
		return wrong;
	elf_file_close(file);
	candidate->err = -ESTALE;
	return "has been replaced or deleted since it was loaded (probing it nevertheless needs "
	       "CAP_SYS_ADMIN)";
}

static void binary_free(struct binary *binary)
{
	functions_free(&binary->functions);
	usdt_free(&binary->usdt);
	elf_file_close(&binary->file);
	free(binary->name);
	free(binary);
}

static int read_contents(struct binary *binary, const struct binary_candidate *candidate)
{
	int err =
		functions_read(&binary->functions, &binary->file, candidate->root, candidate->name);

	if (err)
		return err;
	err = usdt_read(&binary->usdt, &binary->file);
	if (err)
		return err;
	return unwind_throws(&binary->file, &binary->unwinds);
}

/* Takes the file. */
static int add_binary(struct binaries *binaries, struct elf_file *file,
		      const struct binary_candidate *candidate, struct binary **out)
{
	struct binary *binary = calloc(1, sizeof(*binary)), **added;
	int err;

	if (!binary) {
		elf_file_close(file);
		return -ENOMEM;
	}
	binary->file = *file;
	binary->functions.debug_fd = -1;
	binary->number = (unsigned)binaries->count;
	snprintf(binary->attach, sizeof(binary->attach), "/proc/self/fd/%d", file->fd);
	err = -ENOMEM;
	binary->name = strdup(candidate->name);
	if (!binary->name)
		goto fail;
	err = read_contents(binary, candidate);
	if (err)
		goto fail;
	err = -ENOMEM;
	added = ARRAY_ADD(binaries->list, binaries->count);
	if (!added)
		goto fail;
	*added = *out = binary;
	return 0;
fail:
	binary_free(binary);
	return err;
}

int binaries_open(struct binaries *binaries, struct binary_candidate *candidate)
{
	struct elf_file file;

	if (candidate->binary || candidate->err)
		return candidate->err;
	candidate->wrong = open_candidate(&file, candidate);
	if (candidate->wrong)
		return candidate->err;
	candidate->binary = find_binary(binaries, &file);
	if (candidate->binary) {
		elf_file_close(&file);
		return 0;
	}
	candidate->err = add_binary(binaries, &file, candidate, &candidate->binary);
	if (candidate->err)
		candidate->wrong = elf_child_error(candidate->err);
	return candidate->err;
}

void binaries_free(struct binaries *binaries)
{
	for (size_t i = 0; i < binaries->count; i++)
		binary_free(binaries->list[i]);
	free(binaries->list);
	*binaries = (struct binaries){0};
}
