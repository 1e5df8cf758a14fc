/* SPDX-License-Identifier: MIT */
/* proc_maps: see proc_maps.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "user/host/proc_maps.h"
#include "trace/base/array.h"
#include "trace/base/text.h"

static const char deleted[] = " (deleted)";

static int add(struct mappings *mappings, const struct mapping *mapping)
{
	char *path = strdup(mapping->path);
	struct mapping *added = path ? ARRAY_ADD(mappings->list, mappings->count) : NULL;

	if (!added) {
		free(path);
		return -ENOMEM;
	}
	*added = *mapping;
	added->path = path;
	return 0;
}

static bool is_there(const struct mappings *mappings, const struct mapping *mapping)
{
	for (size_t i = 0; i < mappings->count; i++) {
		const struct mapping *m = &mappings->list[i];

		if (m->inode == mapping->inode && m->device == mapping->device &&
		    !strcmp(m->path, mapping->path))
			return true;
	}
	return false;
}

/* The kernel writes a newline in a path as \012, and changes nothing else. */
static void restore_newlines(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		if (!strncmp(from, "\\012", 4)) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* One line; true if it is code of a file. */
static bool parse(struct mapping *mapping, char *line)
{
	unsigned long long start, end, inode;
	unsigned major, minor;
	char permissions[5];
	size_t length;
	int n = 0;

	if (sscanf(line, "%llx-%llx %4s %*x %x:%x %llu %n", &start, &end, permissions, &major,
		   &minor, &inode, &n) < 6 ||
	    !n || permissions[2] != 'x' || line[n] != '/')
		return false;
	*mapping = (struct mapping){.path = line + n,
				    .start = start,
				    .end = end,
				    .device = makedev(major, minor),
				    .inode = (ino_t)inode};
	length = strcspn(mapping->path, "\n");
	mapping->path[length] = '\0';
	if (length > strlen(deleted) &&
	    !strcmp(mapping->path + length - strlen(deleted), deleted)) {
		mapping->path[length - strlen(deleted)] = '\0';
		mapping->deleted = true;
	}
	restore_newlines(mapping->path);
	return true;
}

int mappings_read(struct mappings *mappings, const char *proc, uint32_t pid)
{
	struct mapping mapping;
	char *path, *line = NULL;
	size_t room = 0;
	FILE *file;
	int err = 0;

	*mappings = (struct mappings){0};
	path = xasprintf("%s/%u/maps", proc, pid);
	if (!path)
		return -ENOMEM;
	file = fopen(path, "re");
	free(path);
	if (!file)
		return -errno;
	errno = 0;
	while (getline(&line, &room, file) > 0) {
		if (parse(&mapping, line) && !is_there(mappings, &mapping))
			err = add(mappings, &mapping);
		if (err)
			goto out;
	}
	/* the lines of others can be opened, but not be read */
	if (ferror(file))
		err = errno ? -errno : -EIO;
out:
	free(line);
	fclose(file);
	if (err)
		mappings_free(mappings);
	return err;
}

void mappings_free(struct mappings *mappings)
{
	for (size_t i = 0; i < mappings->count; i++)
		free(mappings->list[i].path);
	free(mappings->list);
	*mappings = (struct mappings){0};
}
