/* SPDX-License-Identifier: MIT */
#include "user/elf/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "trace/base/text.h"
#include "user/elf/elf_child.h"

#define BUILD_ID_MAX 64

/* ---- in the child ---- */

bool debug_part_in(Elf *elf, enum debug_part part)
{
	GElf_Shdr header;

	/* .zdebug_info: compressed, of old compilers */
	return part == DEBUG_SYMBOLS ? elf_section_next(elf, NULL, SHT_SYMTAB, &header) != NULL
				     : elf_section_named(elf, ".debug_info", &header) ||
					       elf_section_named(elf, ".zdebug_info", &header);
}

/* Answers the build id in hexadecimal digits and the name in .gnu_debuglink, "" for none; nothing
 * for a file that has the part. */
static void read_link(struct bytes *answer, Elf *elf, void *part)
{
	char digits[2 * BUILD_ID_MAX + 1] = "";
	const char *link;
	const void *id = NULL;
	GElf_Word crc;
	ssize_t size;

	if (!elf || debug_part_in(elf, *(const enum debug_part *)part))
		return;
	size = dwelf_elf_gnu_build_id(elf, &id);
	for (ssize_t i = 0; i < size && size <= BUILD_ID_MAX; i++)
		snprintf(digits + 2 * i, 3, "%02x", ((const uint8_t *)id)[i]);
	link = dwelf_elf_gnu_debuglink(elf, &crc);
	elf_answer_put_string(answer, digits);
	elf_answer_put_string(answer, link ? link : "");
}

static bool belongs(Elf *main, Elf *debug)
{
	const void *main_id, *debug_id;
	ssize_t main_size = dwelf_elf_gnu_build_id(main, &main_id);
	ssize_t debug_size = dwelf_elf_gnu_build_id(debug, &debug_id);
	GElf_Word crc;
	size_t size;
	char *raw;

	if (main_size > 0 && debug_size > 0)
		return main_size == debug_size && !memcmp(main_id, debug_id, (size_t)main_size);
	if (!dwelf_elf_gnu_debuglink(main, &crc))
		return false;
	raw = elf_rawfile(debug, &size);
	return raw && crc32_z(0, (const Bytef *)raw, size) == crc;
}

int debug_files_choose(const struct debug_files *files, Elf *main)
{
	for (size_t i = 0; i < files->count; i++) {
		Elf *debug = elf_section_begin(files->fds[i]);
		bool found = debug && belongs(main, debug);

		elf_end(debug);
		if (found)
			return (int)i;
	}
	return -1;
}

/* ---- in the recorder ---- */

struct search {
	struct debug_files *files;
	const struct elf_file *file;
	const char *root;
};

/* Takes the path. A file that cannot be opened, or is the stripped file itself, is no candidate. */
static int try(struct search *s, char *path)
{
	struct elf_file debug = {.fd = -1};
	bool same;
	int err;

	if (!path)
		return -ENOMEM;
	if (s->files->count == DEBUG_FILES_MAX || elf_file_open(&debug, s->root, path, &err)) {
		free(path);
		return 0;
	}
	same = debug.inode == s->file->inode && debug.device == s->file->device;
	if (same) {
		free(path);
	} else {
		s->files->fds[s->files->count] = debug.fd;
		s->files->paths[s->files->count++] = path;
		debug.fd = -1;
	}
	elf_file_close(&debug);
	return 0;
}

/* The folder of the file, without a '/' at its end. In our own root links are followed first. */
static char *folder_of(const struct search *s, const char *path)
{
	char own[32], real[4096];
	const char *slash;
	ssize_t n;

	if (!*s->root) {
		snprintf(own, sizeof(own), "/proc/self/fd/%d", s->file->fd);
		n = readlink(own, real, sizeof(real) - 1);
		if (n > 0) {
			real[n] = '\0';
			path = real;
		}
	}
	slash = strrchr(path, '/');
	return slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
}

static int try_link(struct search *s, const char *path, const char *link)
{
	char *folder = folder_of(s, path);
	int err;

	if (!folder)
		return -ENOMEM;
	err = try(s, xasprintf("%s/%s", folder, link));
	if (err)
		goto out;
	err = try(s, xasprintf("%s/.debug/%s", folder, link));
	if (err)
		goto out;
	err = try(s, xasprintf("/usr/lib/debug%s/%s", folder, link));
	if (err)
		goto out;
	/* where / and /usr are one, either may be meant */
	if (!strncmp(folder, "/usr/", 5))
		err = try(s, xasprintf("/usr/lib/debug%s/%s", folder + 4, link));
out:
	free(folder);
	return err;
}

void debug_files_close(struct debug_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		if (files->fds[i] >= 0)
			close(files->fds[i]);
		free(files->paths[i]);
	}
	files->count = 0;
}

int debug_files_open(struct debug_files *files, enum debug_part part, const struct elf_file *file,
		     const char *root, const char *path)
{
	struct search s = {.files = files, .file = file, .root = root};
	const char *build_id, *link;
	struct elf_answer answer;
	int err;

	*files = (struct debug_files){0};
	err = elf_child_run(file->fd, read_link, &part, &answer);
	if (err)
		return err;
	build_id = elf_answer_get_string(&answer);
	link = elf_answer_get_string(&answer);
	if (!link)
		goto out;
	if (*build_id && strspn(build_id, "0123456789abcdef") == strlen(build_id)) {
		err = try(&s, xasprintf("/usr/lib/debug/.build-id/%.2s/%s.debug", build_id,
					build_id + 2));
		if (err)
			goto out;
	}
	if (*link && !strchr(link, '/'))
		err = try_link(&s, path, link);
out:
	elf_answer_free(&answer);
	if (err)
		debug_files_close(files);
	return err;
}
