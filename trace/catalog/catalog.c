/* SPDX-License-Identifier: MIT */
#include "trace/catalog/catalog.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "trace/catalog/index.h"
#include "trace/catalog/tables.h"
#include "trace/base/log.h"

#define ENTRIES_MAX 640
#define BUCKETS	    2048 /* a power of two, at least twice as many */

static const struct catalog_model none;

const struct catalog_model *const catalog_models[] = {
	&catalog_nanos6, &catalog_nodes, &catalog_kernel, &catalog_mpi, &catalog_ovni,
	&catalog_openmp, &catalog_tampi, &catalog_nosv,	  &none,
};

static struct entry entries[ENTRIES_MAX];
static size_t nentries;
static uint16_t buckets[BUCKETS]; /* place in entries + 1; 0: free */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static size_t bucket_of(uint32_t mcv)
{
	return (mcv * 2654435761u) >> 16 & (BUCKETS - 1);
}

static struct entry *find(uint32_t mcv)
{
	size_t i = bucket_of(mcv);

	while (buckets[i]) {
		struct entry *entry = &entries[buckets[i] - 1];

		if (entry->sig.mcv == mcv)
			return entry;
		i = (i + 1) & (BUCKETS - 1);
	}
	return NULL;
}

/* The tables are part of the program: a mistake in one is found by the first test. */
static void add(const struct catalog_model *model, const struct catalog_event *event)
{
	struct entry *entry = &entries[nentries];
	size_t i;

	if (nentries == ENTRIES_MAX || signature_parse(&entry->sig, event->signature) < 0 ||
	    (entry->event = event, !explain_parse(entry)) ||
	    (char)(entry->sig.mcv >> 16) != model->character || find(entry->sig.mcv)) {
		log_error("catalogue: bad entry '%s' in model %s", event->signature, model->name);
		abort();
	}
	for (i = bucket_of(entry->sig.mcv); buckets[i]; i = (i + 1) & (BUCKETS - 1))
		;
	buckets[i] = (uint16_t)++nentries;
}

static void build(void)
{
	for (const struct catalog_model *const *m = catalog_models; (*m)->name; m++)
		for (size_t i = 0; i < (*m)->nevents; i++)
			add(*m, &(*m)->events[i]);
}

const struct entry *index_find(uint32_t mcv)
{
	const struct entry *entry;

	pthread_once(&once, build);
	entry = find(mcv);
	return entry ? entry : find((mcv & ~0xffu) | '.');
}

const struct catalog_event *catalog_find(uint32_t mcv, const struct signature **sig)
{
	const struct entry *entry = index_find(mcv);

	if (!entry)
		return NULL;
	if (sig)
		*sig = &entry->sig;
	return entry->event;
}

const struct catalog_model *catalog_model(char character)
{
	for (const struct catalog_model *const *m = catalog_models; (*m)->name; m++)
		if ((*m)->character == character)
			return *m;
	return NULL;
}

const struct catalog_model *catalog_model_by_name(const char *name)
{
	for (const struct catalog_model *const *m = catalog_models; (*m)->name; m++)
		if (!strcmp((*m)->name, name))
			return *m;
	return NULL;
}
