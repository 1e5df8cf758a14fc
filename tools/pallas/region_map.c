/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pallas/region_map.h"

#define REFERENCE_MAX (1u << 26) /* limit for references */

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the length of the word at *at, which ends at a blank or a newline, and advances *at. */
static size_t word(const char **at, const char **start)
{
	while (**at == ' ')
		++*at;
	*start = *at;
	while (**at && **at != ' ' && **at != '\n')
		++*at;
	return (size_t)(*at - *start);
}

static int parse_number(const char **at, uint32_t *out)
{
	const char *start;
	size_t n = word(at, &start);
	uint64_t v = 0;

	if (n == 0 || n > 9)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		if (start[i] < '0' || start[i] > '9')
			return -EBADMSG;
		v = 10 * v + (uint64_t)(start[i] - '0');
	}
	*out = (uint32_t)v;
	return v < REFERENCE_MAX ? 0 : -EBADMSG;
}

static int parse_event(const char **at, struct mapped_event *ev)
{
	const char *start;
	size_t n = word(at, &start);

	if (n != 6)
		return -EBADMSG;
	ev->mcv = 0;
	for (size_t i = 0; i < 6; i++) {
		if (digit(start[i]) < 0)
			return -EBADMSG;
		ev->mcv = ev->mcv << 4 | (uint32_t)digit(start[i]);
	}
	n = word(at, &start);
	free(ev->payload);
	ev->payload = NULL;
	ev->size = 0;
	if (n == 1 && *start == '-')
		return 0;
	if (n % 2)
		return -EBADMSG;
	ev->payload = malloc(n / 2 + 1);
	if (!ev->payload)
		return -ENOMEM;
	for (size_t i = 0; i < n; i += 2) {
		if (digit(start[i]) < 0 || digit(start[i + 1]) < 0)
			return -EBADMSG;
		ev->payload[ev->size++] = (uint8_t)(digit(start[i]) << 4 | digit(start[i + 1]));
	}
	return 0;
}

/* Grows a table to row `ref`. */
static int reach(void *table, size_t *n, uint32_t ref, size_t size)
{
	char **rows = table, *more;
	size_t room = 64;

	if (ref < *n)
		return 0;
	while (room <= ref)
		room *= 2;
	more = realloc(*rows, room * size);
	if (!more)
		return -ENOMEM;
	memset(more + *n * size, 0, (room - *n) * size);
	*rows = more;
	*n = room;
	return 0;
}

static int parse_line(struct pallas_mapping *map, const char **at)
{
	const char *start;
	size_t n = word(at, &start);
	uint32_t ref;
	int err;

	if (n != 1)
		return -EBADMSG;
	err = parse_number(at, &ref);
	if (err)
		return err;
	if (*start == 'R') {
		err = reach(&map->regions, &map->nregions, ref, sizeof(*map->regions));
		if (err)
			return err;
		err = parse_event(at, &map->regions[ref].enter);
		return err ? err : parse_event(at, &map->regions[ref].leave);
	}
	if (*start != 'S')
		return -EBADMSG;
	err = reach(&map->strings, &map->nstrings, ref, sizeof(*map->strings));
	if (err)
		return err;
	err = parse_event(at, &map->strings[ref].point);
	if (err)
		return err;
	if (word(at, &start) != 1)
		return -EBADMSG;
	map->strings[ref].jumbo = *start == '+';
	return 0;
}

int pallas_mapping_parse(struct pallas_mapping *map, const char *text)
{
	int err;

	*map = (struct pallas_mapping){0};
	while (*text) {
		err = parse_line(map, &text);
		if (err)
			goto fail;
		if (*text && *text != '\n') {
			err = -EBADMSG;
			goto fail;
		}
		text += *text == '\n';
	}
	return 0;
fail:
	pallas_mapping_free(map);
	return err;
}

void pallas_mapping_free(struct pallas_mapping *map)
{
	for (size_t i = 0; i < map->nregions; i++) {
		free(map->regions[i].enter.payload);
		free(map->regions[i].leave.payload);
	}
	for (size_t i = 0; i < map->nstrings; i++)
		free(map->strings[i].point.payload);
	free(map->regions);
	free(map->strings);
	*map = (struct pallas_mapping){0};
}
