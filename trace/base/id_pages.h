/* SPDX-License-Identifier: MIT */
/*
 * id_pages: pages of an array with an element for each task id, without hashing.
 *
 * The kernel side counts ids up and never gives one twice. In: the number of a page, which is the
 * id divided by the elements of a page; out: the page. A page is freed with its last task, a group
 * of pages with its last page.
 * Invariant: memory follows the tasks that live, also if they are few among millions that have
 * ended: at most a page and a group for each of them, and 8 bytes for ID_GROUP pages of ids.
 */
#ifndef TRACE_BASE_ID_PAGES_H
#define TRACE_BASE_ID_PAGES_H

#include <stddef.h>
#include <stdlib.h>

#include "trace/base/array.h"

#define ID_GROUP 512 /* pages in a group */

struct id_group {
	unsigned used;
	void *pages[ID_GROUP];
};

struct id_pages { /* zeroed: empty */
	struct id_group **groups;
	size_t ngroups;
};

/* The page, or NULL if there is none. */
static inline void *id_page(const struct id_pages *pages, size_t number)
{
	size_t group = number / ID_GROUP;

	if (__builtin_expect(group >= pages->ngroups || !pages->groups[group], 0))
		return NULL;
	return pages->groups[group]->pages[number % ID_GROUP];
}

/* The page, made of zeroed `bytes` if there is none. NULL without memory. */
static inline void *id_page_make(struct id_pages *pages, size_t number, size_t bytes)
{
	size_t at = number / ID_GROUP;
	struct id_group **groups = pages_more(pages->groups, &pages->ngroups, at), *group;
	void *page;

	if (!groups)
		return NULL;
	pages->groups = groups;
	page = id_page(pages, number);
	if (page)
		return page;
	group = groups[at] ? groups[at] : calloc(1, sizeof(*group));
	page = group ? calloc(1, bytes) : NULL;
	if (!page) {
		if (!groups[at])
			free(group);
		return NULL;
	}
	groups[at] = group;
	group->used++;
	group->pages[number % ID_GROUP] = page;
	return page;
}

/* Frees a page that exists. */
static inline void id_page_free(struct id_pages *pages, size_t number)
{
	struct id_group *group = pages->groups[number / ID_GROUP];

	free(group->pages[number % ID_GROUP]);
	group->pages[number % ID_GROUP] = NULL;
	if (--group->used)
		return;
	free(group);
	pages->groups[number / ID_GROUP] = NULL;
}

/* The first page from *number on, which becomes its number; NULL: there is none. */
static inline void *id_page_next(const struct id_pages *pages, size_t *number)
{
	for (size_t at = *number / ID_GROUP; at < pages->ngroups; at++) {
		size_t i = at == *number / ID_GROUP ? *number % ID_GROUP : 0;

		for (; pages->groups[at] && i < ID_GROUP; i++) {
			if (!pages->groups[at]->pages[i])
				continue;
			*number = at * ID_GROUP + i;
			return pages->groups[at]->pages[i];
		}
	}
	return NULL;
}

/* Frees all pages. */
static inline void id_pages_free(struct id_pages *pages)
{
	size_t number = 0;

	while (id_page_next(pages, &number))
		id_page_free(pages, number);
	free(pages->groups);
	*pages = (struct id_pages){0};
}

#endif
