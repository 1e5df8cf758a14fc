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

/* One line; false if it is none. *code: it can be executed. */
static bool parse(struct mapping *mapping, char *line, bool *code)
{
	unsigned long long start, end, offset, inode;
	unsigned major, minor;
	char permissions[5];
	size_t length;
	int n = 0;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, permissions, &offset,
		   &major, &minor, &inode, &n) < 7 ||
	    !n)
		return false;
	*code = permissions[2] == 'x';
	*mapping = (struct mapping){.path = line + n,
				    .start = start,
				    .end = end,
				    .device = makedev(major, minor),
				    .inode = (ino_t)inode,
				    .writable = permissions[1] == 'w',
				    .shared = permissions[3] == 's',
				    .offset = offset};
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

/* Opens the mappings of a process. 0 or -errno. */
static int open_maps(const char *proc, uint32_t pid, FILE **file)
{
	char *path = xasprintf("%s/%u/maps", proc, pid);

	if (!path)
		return -ENOMEM;
	*file = fopen(path, "re");
	free(path);
	if (!*file)
		return -errno;
	errno = 0;
	return 0;
}

static int read_code(struct mappings *mappings, const char *proc, uint32_t pid, bool files)
{
	struct mapping mapping;
	char *line = NULL;
	size_t room = 0;
	FILE *file;
	bool code;
	int err = open_maps(proc, pid, &file);

	*mappings = (struct mappings){0};
	if (err)
		return err;
	while (getline(&line, &room, file) > 0) {
		if (parse(&mapping, line, &code) && code &&
		    (!files || (mapping.path[0] == '/' && !is_there(mappings, &mapping))))
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

int mappings_read(struct mappings *mappings, const char *proc, uint32_t pid)
{
	return read_code(mappings, proc, pid, true);
}

int mappings_read_all(struct mappings *mappings, const char *proc, uint32_t pid)
{
	return read_code(mappings, proc, pid, false);
}

/* Goes on to the next line: keeps the mapping with its own path, or, if it continues the data of
 * the file before it, makes that longer. -ENOMEM: nothing is kept. */
static int take_line(struct mapping *last, const struct mapping *next)
{
	bool continues = !*next->path && !next->shared && last->path && last->path[0] == '/' &&
			 last->writable && !last->shared && last->end == next->start;

	if (continues) {
		last->end = next->end;
		return 0;
	}
	free(last->path);
	*last = *next;
	last->path = strdup(next->path);
	return last->path ? 0 : -ENOMEM;
}

int mapping_find(struct mapping *mapping, const char *proc, uint32_t pid, uint64_t address)
{
	struct mapping next;
	char *line = NULL;
	size_t room = 0;
	FILE *file;
	bool code;
	int err = open_maps(proc, pid, &file);

	*mapping = (struct mapping){0};
	if (err)
		return err;
	while (!err && getline(&line, &room, file) > 0) {
		if (parse(&next, line, &code))
			err = take_line(mapping, &next);
		if (!err && mapping->start <= address && address < mapping->end)
			goto out;
	}
	if (!err)
		err = ferror(file) && errno ? -errno : -ENOENT;
	free(mapping->path);
	*mapping = (struct mapping){0};
out:
	free(line);
	fclose(file);
	return err;
}

void mappings_free(struct mappings *mappings)
{
	for (size_t i = 0; i < mappings->count; i++)
		free(mappings->list[i].path);
	free(mappings->list);
	*mappings = (struct mappings){0};
}
