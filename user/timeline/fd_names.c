/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/json.h"
#include "user/host/clock.h"
#include "user/host/proc_info.h"
#include "user/timeline/fd_names.h"
#include "user/writer/writer.h"

#define SECOND 1000000000ull

struct fd_name {
	char *text;
	uint64_t from, to; /* clocks of the first and the last reading, ns */
	unsigned fd;
};

struct fd_names {
	/* The draining thread's. */
	uint64_t *asked; /* by descriptor: clock of the last request; 0: none */
	size_t nasked;

	/* The writer's thread's. */
	struct fd_name *list; /* in the order of the first readings */
	size_t n;
	uint64_t more;
	_Atomic bool refused; /* the descriptors of this process are not the user's to see */
};

struct reading {
	struct fd_names *names;
	const char *proc;
	uint32_t pid;
	unsigned fd;
};

static void keep(struct fd_names *names, unsigned fd, const char *text, uint64_t clock)
{
	struct fd_name *last = NULL, *added;
	char *copy;

	for (size_t i = 0; i < names->n; i++)
		if (names->list[i].fd == fd)
			last = &names->list[i];
	if (last && !strcmp(last->text, text)) {
		last->to = clock;
		return;
	}
	if (names->n == FD_NAMES_MAX) {
		names->more++;
		return;
	}
	copy = strdup(text);
	added = copy ? ARRAY_ADD(names->list, names->n) : NULL;
	if (!added) {
		free(copy); /* without memory the descriptor has no name */
		return;
	}
	*added = (struct fd_name){.text = copy, .from = clock, .to = clock, .fd = fd};
}

static void read_name(void *arg)
{
	struct reading *reading = arg;
	char path[256], text[FD_NAMES_SIZE + 1];
	int dir;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%u/fd", reading->proc, reading->pid);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		goto out;
	snprintf(path, sizeof(path), "%u", reading->fd);
	n = readlinkat(dir, path, text, sizeof(text) - 1);
	if ((n < 0 && (errno == EACCES || errno == EPERM)) || !process_is_users(dir)) {
		atomic_store(&reading->names->refused, true);
	} else if (n > 0) {
		text[n] = '\0';
		keep(reading->names, reading->fd, text, clock_now());
	}
	close(dir);
out:
	free(reading);
}

void fd_names_sleep(struct fd_names **names, struct fd_readings *readings, struct writer *writer,
		    const char *proc, uint32_t pid, uint64_t fd, uint64_t clock)
{
	struct reading *reading;
	uint64_t *asked;

	if (!proc || fd >= FD_NAMES_FD_MAX)
		return;
	if (!*names)
		*names = calloc(1, sizeof(**names));
	if (!*names || atomic_load_explicit(&(*names)->refused, memory_order_relaxed))
		return;
	if (fd >= (*names)->nasked) {
		asked = pages_more((*names)->asked, &(*names)->nasked, fd);
		if (!asked)
			return;
		(*names)->asked = asked;
	}
	asked = &(*names)->asked[fd];
	if (*asked && clock < *asked + SECOND)
		return;
	if (readings->second != clock / SECOND)
		*readings = (struct fd_readings){.second = clock / SECOND};
	if (readings->count == FD_NAMES_SECOND)
		return;
	reading = malloc(sizeof(*reading));
	if (!reading)
		return;
	*reading = (struct reading){*names, proc, pid, (unsigned)fd};
	if (writer_run(writer, read_name, reading)) {
		free(reading);
		return;
	}
	*asked = clock;
	readings->count++;
}

void fd_names_put(const struct fd_names *names, struct json *bpf)
{
	struct json *list;

	if (!names || !names->n)
		return;
	list = json_put_array(bpf, "fds");
	for (size_t i = 0; i < names->n; i++) {
		struct json *node = json_put_object(list, NULL);

		json_put_int(node, "fd", names->list[i].fd);
		json_put_string(node, "name", names->list[i].text);
		json_put_u64(node, "from", clock_in_trace(names->list[i].from));
		json_put_u64(node, "to", clock_in_trace(names->list[i].to));
	}
	if (names->more)
		json_put_u64(bpf, "fds_more", names->more);
}

void fd_names_free(struct fd_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->n; i++)
		free(names->list[i].text);
	free(names->list);
	free(names->asked);
	free(names);
}
