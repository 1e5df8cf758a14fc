/* SPDX-License-Identifier: MIT */
/* debugfile: see debugfile.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "user/elf/debugfile.h"
#include "user/elf/minidebug.h"
#include "user/elf/notes.h"
#include "trace/base/text.h"
#include "trace/base/log.h"

#define BUILD_ID_MAX 64
#define CHUNK	     (1u << 20)
#define CHECKSUM_MAX (8ull << 30) /* bytes of a file that are worth reading for it */

struct build_id {
	uint8_t bytes[BUILD_ID_MAX];
	size_t size; /* 0: there is none */
};

static bool take_build_id(const struct note *note, void *id_)
{
	struct build_id *id = id_;

	if (note->type != NT_GNU_BUILD_ID || strcmp(note->name, "GNU") ||
	    note->size > BUILD_ID_MAX || note->size < 2)
		return true;
	memcpy(id->bytes, note->bytes, note->size);
	id->size = note->size;
	return false;
}

static bool checksum_is(const struct image *image, uint32_t wanted)
{
	uint64_t at = 0, size;
	uLong sum = crc32(0, NULL, 0);

	if (image->size > CHECKSUM_MAX)
		return false;

	for (; at < image->size; at += size) {
		void *bytes;

		size = image->size - at < CHUNK ? image->size - at : CHUNK;
		bytes = image_read(image, at, size);
		if (!bytes)
			return false;
		sum = crc32(sum, bytes, (uInt)size);
		free(bytes);
	}
	return sum == wanted;
}

struct search {
	struct image *debug;
	const struct image *image;
	const char *root;
	struct build_id id;
	bool has_sum;
	uint32_t sum;
	char **found;
};

/* Takes the path, also if it is NULL (no memory). */
static bool try(struct search *s, char *path)
{
	struct build_id id = {.size = 0};
	int err;

	if (!path || image_open(s->debug, s->root, path, &err)) {
		free(path);
		return false;
	}
	notes_walk(s->debug, take_build_id, &id);
	if (s->debug->inode == s->image->inode && s->debug->device == s->image->device)
		goto no;
	if (id.size && s->id.size) {
		if (id.size != s->id.size || memcmp(id.bytes, s->id.bytes, id.size))
			goto other;
	} else if (!s->has_sum || !checksum_is(s->debug, s->sum)) {
		goto other;
	}
	*s->found = path;
	return true;
other:
	log_debug("%s is not of this build: not used", path);
no:
	image_close(s->debug);
	free(path);
	return false;
}

static bool by_build_id(struct search *s)
{
	char digits[2 * BUILD_ID_MAX + 1];

	if (!s->id.size)
		return false;
	for (size_t i = 0; i < s->id.size; i++)
		snprintf(digits + 2 * i, 3, "%02x", s->id.bytes[i]);
	return try(s, xasprintf("/usr/lib/debug/.build-id/%.2s/%s.debug", digits, digits + 2));
}

/* The folder of the file, without a '/' at its end. In our own root links are followed first. */
static char *folder_of(const struct search *s, const char *path)
{
	char own[32], real[4096];
	const char *slash;
	ssize_t n;

	if (!*s->root) {
		snprintf(own, sizeof(own), "/proc/self/fd/%d", s->image->fd);
		n = readlink(own, real, sizeof(real) - 1);
		if (n > 0) {
			real[n] = '\0';
			path = real;
		}
	}
	slash = strrchr(path, '/');
	return slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
}

/* Looks for the file `name` in the places for what belongs to the folder. */
static bool try_places(struct search *s, const char *folder, const char *name)
{
	return try(s, xasprintf("%s/%s", folder, name)) ||
	       try(s, xasprintf("%s/.debug/%s", folder, name)) ||
	       try(s, xasprintf("/usr/lib/debug%s/%s", folder, name)) ||
	       /* where / and /usr are one, either may be meant */
	       (!strncmp(folder, "/usr/", 5) &&
		try(s, xasprintf("/usr/lib/debug%s/%s", folder + 4, name)));
}

static bool by_link(struct search *s, const char *path)
{
	const Elf64_Shdr *section = image_section(s->image, ".gnu_debuglink", SHT_PROGBITS);
	char *name, *folder;
	bool found = false;
	size_t length, sum;

	if (!section || section->sh_size > 4096)
		return false;
	name = image_read(s->image, section->sh_offset, section->sh_size);
	folder = folder_of(s, path);
	length = name ? strlen(name) : 0;
	sum = (length + 4) & ~(size_t)3; /* after the name and its NUL, at the next word */
	if (folder && length && !strchr(name, '/') && sum + sizeof(s->sum) <= section->sh_size) {
		memcpy(&s->sum, name + sum, sizeof(s->sum));
		s->has_sum = true;
		found = try_places(s, folder, name);
	}
	free(name);
	free(folder);
	return found;
}

bool debugfile_open(struct image *debug, const struct image *image, const char *root,
		    const char *path, char **found)
{
	struct search s = {.debug = debug, .image = image, .root = root, .found = found};

	notes_walk(image, take_build_id, &s.id);
	*found = NULL;
	return by_build_id(&s) || by_link(&s, path) || minidebug_open(debug, image);
}
