/* SPDX-License-Identifier: MIT */
/* usdt: see usdt.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/elf/notes.h"
#include "user/elf/usdt.h"

#define NOTE_TYPE  3
#define PROBES_MAX 1000000

struct reading {
	struct usdt_probes *probes;
	const struct image *image;
	uint64_t base; /* address of .stapsdt.base; 0: not there */
	int err;
};

static void probe_free(struct usdt_probe *probe)
{
	free(probe->provider);
	free(probe->name);
	free(probe->arguments);
}

static void add(struct reading *r, struct usdt_probe *probe)
{
	struct usdt_probes *probes = r->probes;
	size_t n = probes->count;
	struct usdt_probe *grown = probes->list;

	if (!(n & (n - 1)))
		grown = realloc(grown, (n ? 2 * n : 1) * sizeof(*grown));
	if (grown)
		probes->list = grown;
	if (!grown || !probe->provider || !probe->name || !probe->arguments) {
		probe_free(probe);
		r->err = -ENOMEM;
		return;
	}
	grown[probes->count++] = *probe;
}

/*
 * Three addresses, then three strings. The second address is that of .stapsdt.base when the
 * program was linked: if it lies elsewhere now (prelink), all have moved with it.
 */
static bool visit(const struct note *note, void *r_)
{
	struct reading *r = r_;
	const char *at = (const char *)note->bytes, *end = at + note->size;
	uint64_t addresses[3], moved = 0, left;
	struct usdt_probe probe = {0};
	char **strings[] = {&probe.provider, &probe.name, &probe.arguments};
	const char *texts[3];

	if (note->type != NOTE_TYPE || strcmp(note->name, "stapsdt") ||
	    note->size < sizeof(addresses))
		return true;
	memcpy(addresses, at, sizeof(addresses));
	at += sizeof(addresses);
	for (size_t i = 0; i < 3; i++) {
		if (at > end)
			return true;
		texts[i] = at;
		at += strlen(at) + 1; /* a NUL follows the note */
	}
	if (!*texts[0] || !*texts[1])
		return true;
	if (r->base && addresses[1])
		moved = r->base - addresses[1];
	probe.address = addresses[0] + moved;
	if (!image_offset(r->image, probe.address, PF_X, &probe.offset, &left))
		return true;
	if (addresses[2] &&
	    !image_offset(r->image, addresses[2] + moved, PF_W, &probe.semaphore, &left))
		return true;
	for (size_t i = 0; i < 3; i++)
		*strings[i] = strdup(texts[i]);
	add(r, &probe);
	return !r->err && r->probes->count < PROBES_MAX;
}

static int compare(const void *a, const void *b)
{
	const struct usdt_probe *x = a, *y = b;
	int order = strcmp(x->provider, y->provider);

	if (!order)
		order = strcmp(x->name, y->name);
	if (order)
		return order;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

int usdt_read(struct usdt_probes *probes, const struct image *image)
{
	const Elf64_Shdr *base = image_section(image, ".stapsdt.base", SHT_NULL);
	struct reading r = {.probes = probes, .image = image, .base = base ? base->sh_addr : 0};

	*probes = (struct usdt_probes){0};
	notes_walk(image, visit, &r);
	if (r.err)
		usdt_free(probes);
	else if (probes->count)
		qsort(probes->list, probes->count, sizeof(*probes->list), compare);
	return r.err;
}

void usdt_free(struct usdt_probes *probes)
{
	for (size_t i = 0; i < probes->count; i++)
		probe_free(&probes->list[i]);
	free(probes->list);
	*probes = (struct usdt_probes){0};
}
