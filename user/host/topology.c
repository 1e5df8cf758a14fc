/* SPDX-License-Identifier: MIT */
/* topology: see topology.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/host/read_file.h"
#include "user/host/topology.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define NUMBERS_MAX                                                                                \
	65536 /* a kernel has at most 8192 CPUs; a larger list is not one of CPUs                  \
	       */
#define LIST_MAX (256 * 1024)

/* Makes room for the number `cpu` in index_of. */
static int reach(struct topology *topology, unsigned cpu)
{
	unsigned size = topology->size ? topology->size : 64;
	int32_t *grown;

	if (cpu < topology->size)
		return 0;
	if (cpu >= NUMBERS_MAX)
		return -EINVAL;
	while (size <= cpu)
		size *= 2;
	grown = realloc(topology->index_of, size * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	for (unsigned i = topology->size; i < size; i++)
		grown[i] = -1;
	topology->index_of = grown;
	topology->size = size;
	return 0;
}

int32_t topology_index(struct topology *topology, unsigned cpu)
{
	unsigned *grown;

	if (reach(topology, cpu))
		return -1;
	if (topology->index_of[cpu] >= 0)
		return topology->index_of[cpu];
	grown = realloc(topology->phyid, (topology->ncpus + 1) * sizeof(*grown));
	if (!grown)
		return -1;
	topology->phyid = grown;
	topology->phyid[topology->ncpus] = cpu;
	topology->index_of[cpu] = (int32_t)topology->ncpus++;
	return topology->index_of[cpu];
}

/* Reads a number without sign or blank, and moves *at behind it. */
static int number(const char **at, unsigned *out)
{
	unsigned long n = 0;

	if (!isdigit((unsigned char)**at))
		return -EINVAL;
	for (; isdigit((unsigned char)**at); (*at)++) {
		n = n * 10 + (unsigned long)(**at - '0');
		if (n >= NUMBERS_MAX)
			return -EINVAL;
	}
	*out = (unsigned)n;
	return 0;
}

/* Marks each number of the list; they get their indices once all are known, since a list need not
 * ascend. */
static int mark(struct topology *topology, const char *at)
{
	unsigned first, last;
	int err;

	for (;;) {
		if (number(&at, &first))
			return -EINVAL;
		last = first;
		if (*at == '-') {
			at++;
			if (number(&at, &last) || last < first)
				return -EINVAL;
		}
		err = reach(topology, last);
		if (err)
			return err;
		for (unsigned cpu = first; cpu <= last; cpu++)
			topology->index_of[cpu] = 0;
		if (*at != ',')
			break;
		at++;
	}
	if (*at == '\n')
		at++;
	return *at ? -EINVAL : 0;
}

int topology_parse(struct topology *topology, const char *list)
{
	unsigned n = 0;
	int err;

	memset(topology, 0, sizeof(*topology));
	err = mark(topology, list);
	if (err)
		goto fail;
	for (unsigned cpu = 0; cpu < topology->size; cpu++)
		n += topology->index_of[cpu] == 0;
	topology->phyid = calloc(n, sizeof(*topology->phyid));
	if (!topology->phyid) {
		err = -ENOMEM;
		goto fail;
	}
	for (unsigned cpu = 0; cpu < topology->size; cpu++) {
		if (topology->index_of[cpu] < 0)
			continue;
		topology->index_of[cpu] = (int32_t)topology->ncpus;
		topology->phyid[topology->ncpus++] = cpu;
	}
	return 0;

fail:
	topology_free(topology);
	return err;
}

int topology_read(struct topology *topology, const char *sysfs)
{
	char *path = NULL, *text = NULL;
	size_t size;
	int err = 0;

	memset(topology, 0, sizeof(*topology));
	path = xasprintf("%s/devices/system/cpu/online", sysfs);
	if (!path)
		return log_no_memory("for the list of CPUs");
	text = read_file(AT_FDCWD, path, 0, LIST_MAX, &size);
	if (!text || size == LIST_MAX || memchr(text, '\0', size)) {
		err = text ? -EINVAL : -errno;
		log_error("%s: cannot read the CPUs that are online: %s; is sysfs mounted?", path,
			  strerror(-err));
		goto out;
	}
	err = topology_parse(topology, text);
	if (err == -ENOMEM)
		log_no_memory("for the list of CPUs");
	else if (err)
		log_error("%s: not a list of CPUs: '%.64s'", path, text);
out:
	free(text);
	free(path);
	return err;
}

int topology_copy(struct topology *copy, const struct topology *from)
{
	*copy = *from;
	copy->phyid = malloc((from->ncpus ? from->ncpus : 1) * sizeof(*copy->phyid));
	copy->index_of = malloc((from->size ? from->size : 1) * sizeof(*copy->index_of));
	if (!copy->phyid || !copy->index_of) {
		topology_free(copy);
		return -ENOMEM;
	}
	memcpy(copy->phyid, from->phyid, from->ncpus * sizeof(*copy->phyid));
	memcpy(copy->index_of, from->index_of, from->size * sizeof(*copy->index_of));
	return 0;
}

void topology_free(struct topology *topology)
{
	free(topology->phyid);
	free(topology->index_of);
	memset(topology, 0, sizeof(*topology));
}
