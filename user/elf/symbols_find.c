/* SPDX-License-Identifier: MIT */
/* symbols_find: functions by name, glob, place or likeness; see symbols.h. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "user/elf/demangle.h"
#include "user/elf/symbols.h"

static bool equal_but_blanks(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (*a == ' ')
			a++;
		while (*b == ' ')
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

/* "f@V" and "f@@V" as well as "f". */
static bool has_name(const struct function *f, const char *name, size_t length, const char *version)
{
	if (strncmp(f->name, name, length) || f->name[length])
		return false;
	if (!version)
		return true;
	if (!f->version)
		return false;
	if (version[1] == '@')
		return !f->old_version && !strcmp(f->version, version + 2);
	return !strcmp(f->version, version + 1);
}

static bool is_exactly(const struct function *f, const char *name)
{
	char whole[DEMANGLE_MAX];

	if (!f->plain)
		return false;
	if (equal_but_blanks(f->plain, name) || (f->full && equal_but_blanks(f->full, name)))
		return true;
	/* with the type that it returns: only if the rest is there, since this is slow */
	return f->full && strstr(name, f->plain) && demangle(whole, f->name, DEMANGLE_WHOLE) &&
	       equal_but_blanks(whole, name);
}

static bool is_like(const struct function *f, const char *glob)
{
	return !fnmatch(glob, f->name, 0) || (f->plain && !fnmatch(glob, f->plain, 0)) ||
	       (f->full && !fnmatch(glob, f->full, 0));
}

struct found {
	uint32_t *list;
	size_t count;
};

/* One for each place; they come in the order of the list. */
static void choose(const struct functions *functions, struct found *found, size_t i)
{
	const struct function *f = functions->list;

	if (!found->count || f[found->list[found->count - 1]].offset != f[i].offset)
		found->list[found->count++] = (uint32_t)i;
}

static void find_by_name(const struct functions *functions, struct found *found, const char *name)
{
	const char *version = strchr(name, '@');
	size_t length = version && version != name ? (size_t)(version - name) : strlen(name);
	size_t low = 0, high = functions->count, middle;

	if (version == name)
		version = NULL;
	while (low < high) {
		const char *at;
		int order;

		middle = low + (high - low) / 2;
		at = functions->list[functions->by_name[middle]].name;
		order = strncmp(at, name, length);
		if (!order && at[length])
			order = 1;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < functions->count; low++) {
		const struct function *f = &functions->list[functions->by_name[low]];

		if (strncmp(f->name, name, length) || f->name[length])
			break;
		if (has_name(f, name, length, version))
			choose(functions, found, functions->by_name[low]);
	}
}

int functions_find(struct functions *functions, const char *name, uint32_t **list, size_t *count,
		   bool *glob)
{
	struct found found = {0};
	int err;

	*list = NULL;
	*count = 0;
	*glob = false;
	if (!functions->count)
		return 0;
	found.list = malloc(functions->count * sizeof(*found.list));
	if (!found.list)
		return -ENOMEM;
	find_by_name(functions, &found, name);
	if (!found.count) {
		err = functions_demangle(functions);
		if (err) {
			free(found.list);
			return err;
		}
		for (size_t i = 0; i < functions->count; i++)
			if (is_exactly(&functions->list[i], name))
				choose(functions, &found, i);
	}
	*glob = !found.count && strpbrk(name, "*?[\\");
	for (size_t i = 0; *glob && i < functions->count; i++)
		if (is_like(&functions->list[i], name))
			choose(functions, &found, i);
	*list = found.list;
	*count = found.count;
	return 0;
}

const struct function *functions_at(const struct functions *functions, uint64_t offset)
{
	size_t low = 0, high = functions->count, middle, from;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (functions->list[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	/* the last that begins at or before it, and of its names the first; those without a
	 * size count at their beginning alone */
	while (low) {
		const struct function *f;

		from = low - 1;
		while (from && functions->list[from - 1].offset == functions->list[low - 1].offset)
			from--;
		f = &functions->list[from];
		if (offset == f->offset || offset - f->offset < f->size)
			return f;
		if (f->size)
			return NULL;
		low = from;
	}
	return NULL;
}

/* ---- did you mean ---- */

#define NEAREST_MAX 64 /* bytes of names that are compared */

/* How many signs must be changed, added, left out or swapped to come from one to the other,
 * letters' case apart; above `most` it need not be exact. */
static size_t distance(const char *a, const char *b, size_t most)
{
	size_t na = strlen(a), nb = strlen(b), rows[3][NEAREST_MAX + 1];

	if (na > NEAREST_MAX || nb > NEAREST_MAX || (na > nb ? na - nb : nb - na) > most)
		return most + 1;
	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		const size_t *last = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
		size_t *row = rows[i % 3];
		int x = tolower((unsigned char)a[i - 1]);

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			int y = tolower((unsigned char)b[j - 1]);

			row[j] = last[j - 1] + (x != y);
			if (last[j] + 1 < row[j])
				row[j] = last[j] + 1;
			if (row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
			    y == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
	}
	return rows[na % 3][nb];
}

const char *functions_nearest(struct functions *functions, const char *name)
{
	size_t most = (strlen(name) + 2) / 3 + 1, d; /* fewer changes than this */
	const char *nearest = NULL;

	if (functions_demangle(functions))
		return NULL;
	for (size_t i = 0; i < functions->count && most; i++) {
		const struct function *f = &functions->list[i];
		const char *candidates[] = {f->name, f->plain};

		for (size_t k = 0; k < 2; k++) {
			if (!candidates[k])
				continue;
			d = distance(name, candidates[k], most - 1);
			if (d < most) {
				most = d;
				nearest = candidates[k];
			}
		}
	}
	return nearest;
}
