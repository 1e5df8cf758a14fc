/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "trace/pallas/definitions.h"

/* Every row of a table starts with its reference. */
static int by_ref(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Allocates n rows. Returns 0, -EBADMSG for a bad cursor, or -ENOMEM. */
static int rows_alloc(const struct cursor *c, void *table, size_t n, size_t size)
{
	void **rows = table;

	if (c->bad)
		return -EBADMSG;
	*rows = calloc(n ? n : 1, size);
	return *rows ? 0 : -ENOMEM;
}

static int read_strings(struct pallas_definitions *defs, struct cursor *c)
{
	size_t n = cursor_count(c, 9, "strings");
	int err = rows_alloc(c, &defs->strings, n, sizeof(*defs->strings));

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		struct pallas_string *s = &defs->strings[i];
		uint32_t len;

		s->ref = cursor_u32(c, "a string");
		len = cursor_u32(c, "a string");
		if (!c->bad && (len < 1 || len > INT32_MAX))
			return cursor_fail(c,
					   "string %u has the length %d, which must be 1 or more",
					   s->ref, (int)len);
		s->text = (const char *)cursor_bytes(c, len, "a string");
		if (!s->text)
			return -EBADMSG;
		if (s->text[len - 1] != '\0')
			return cursor_fail(c, "string %u does not end with a NUL", s->ref);
		defs->nstrings++;
	}
	return err;
}

static int read_regions(struct pallas_definitions *defs, struct cursor *c)
{
	size_t n = cursor_count(c, 8, "regions");
	int err = rows_alloc(c, &defs->regions, n, sizeof(*defs->regions));

	if (err)
		return err;
	for (size_t i = 0; i < n; i++, defs->nregions++) {
		defs->regions[i].ref = cursor_u32(c, "a region");
		defs->regions[i].name = cursor_u32(c, "a region");
	}
	return err;
}

static int read_attributes(struct pallas_definitions *defs, struct cursor *c)
{
	size_t n = cursor_count(c, 16, "attributes");
	int err = rows_alloc(c, &defs->attributes, n, sizeof(*defs->attributes));

	if (err)
		return err;
	for (size_t i = 0; i < n; i++, defs->nattributes++) {
		struct pallas_attribute *a = &defs->attributes[i];

		a->ref = cursor_u32(c, "an attribute");
		a->name = cursor_u32(c, "an attribute");
		a->description = cursor_u32(c, "an attribute");
		a->type = cursor_u8(c, "an attribute");
		(void)cursor_bytes(c, 3, "an attribute");
	}
	return err;
}

static int read_groups(struct pallas_definitions *defs, struct cursor *c)
{
	size_t n = cursor_count(c, 20, "groups");
	int err = rows_alloc(c, &defs->groups, n, sizeof(*defs->groups));

	if (err)
		return err;
	for (size_t i = 0; i < n; i++, defs->ngroups++) {
		struct pallas_group *g = &defs->groups[i];

		g->ref = cursor_u32(c, "a group");
		g->name = cursor_u32(c, "a group");
		g->type = cursor_u32(c, "a group");
		g->paradigm = cursor_u32(c, "a group");
		g->nmembers = cursor_u32(c, "a group");
		if (cursor_check(c, g->nmembers, 4, "group members") != g->nmembers)
			return -EBADMSG;
		g->members = cursor_bytes(c, 4 * (size_t)g->nmembers, "a group");
	}
	return err;
}

static int read_comms(struct pallas_definitions *defs, struct cursor *c)
{
	size_t n = cursor_count(c, 16, "communicators");
	int err = rows_alloc(c, &defs->comms, n, sizeof(*defs->comms));

	if (err)
		return err;
	for (size_t i = 0; i < n; i++, defs->ncomms++) {
		struct pallas_comm *m = &defs->comms[i];

		m->ref = cursor_u32(c, "a communicator");
		m->name = cursor_u32(c, "a communicator");
		m->group = cursor_u32(c, "a communicator");
		m->parent = cursor_u32(c, "a communicator");
	}
	return err;
}

int pallas_definitions_read(struct pallas_definitions *defs, struct cursor *c)
{
	int err;

	*defs = (struct pallas_definitions){0};
	err = read_strings(defs, c);
	if (err)
		goto out;
	err = read_regions(defs, c);
	if (err)
		goto out;
	err = read_attributes(defs, c);
	if (err)
		goto out;
	err = read_groups(defs, c);
	if (err)
		goto out;
	err = read_comms(defs, c);
	if (err)
		goto out;
	if (c->bad)
		err = -EBADMSG;
out:
	if (err)
		return err;
	qsort(defs->strings, defs->nstrings, sizeof(*defs->strings), by_ref);
	qsort(defs->regions, defs->nregions, sizeof(*defs->regions), by_ref);
	qsort(defs->attributes, defs->nattributes, sizeof(*defs->attributes), by_ref);
	qsort(defs->groups, defs->ngroups, sizeof(*defs->groups), by_ref);
	qsort(defs->comms, defs->ncomms, sizeof(*defs->comms), by_ref);
	return 0;
}

void pallas_definitions_free(struct pallas_definitions *defs)
{
	free(defs->strings);
	free(defs->regions);
	free(defs->attributes);
	free(defs->groups);
	free(defs->comms);
	*defs = (struct pallas_definitions){0};
}

const char *pallas_definitions_string(const struct pallas_definitions *defs, uint32_t ref)
{
	const struct pallas_string *s =
		bsearch(&ref, defs->strings, defs->nstrings, sizeof(*defs->strings), by_ref);

	return s ? s->text : NULL;
}

const struct pallas_region *pallas_definitions_region(const struct pallas_definitions *defs,
						      uint32_t ref)
{
	return bsearch(&ref, defs->regions, defs->nregions, sizeof(*defs->regions), by_ref);
}

const struct pallas_attribute *pallas_definitions_attribute(const struct pallas_definitions *defs,
							    uint32_t ref)
{
	return bsearch(&ref, defs->attributes, defs->nattributes, sizeof(*defs->attributes),
		       by_ref);
}
