/* SPDX-License-Identifier: MIT */
#include "tools/view/anonymous.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

void anonymous_calls(struct source *source)
{
	for (size_t i = 0; i < source->trace.nstreams; i++) {
		struct owner *owner = &source->owners[i];

		for (size_t k = 0; k < owner->nfds; k++)
			free(owner->fds[k].name);
		for (size_t k = 0; k < owner->nfutexes; k++)
			free(owner->futexes[k].name);
		owner->nfds = owner->nfutexes = 0;
	}
}

/* Replaces a text, for free(). */
static int __attribute__((format(printf, 2, 3))) replace(char **text, const char *fmt, ...)
{
	char *new = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&new, fmt, args);
	va_end(args);
	if (n < 0)
		return -ENOMEM;
	free(*text);
	*text = new;
	return 0;
}

static bool of_recorder(const struct owner *owner)
{
	return owner->name &&
	       (!strcmp(owner->name, "ovni-bpf") || !strcmp(owner->name, "ovni-elf"));
}

/* The number of the loom of that name, from 0; they are sorted. */
static size_t find_loom(const struct actors *a, const char *name)
{
	size_t i = 0;

	while (i < a->nlooms && strcmp(a->looms[i], name) != 0)
		i++;
	return i;
}

/* The time by CPU has copies of the names of looms, and is still found by them. */
static int name_looms(struct source *source, struct actors *a, struct findings *f)
{
	int width = snprintf(NULL, 0, "%zu", a->nlooms); /* so that their order stays */
	int err = 0;

	for (size_t i = 0; i < f->cpus.ncpus && !err; i++)
		err = replace(&f->cpus.cpus[i].loom, "node %0*zu", width,
			      find_loom(a, f->cpus.cpus[i].loom) + 1);
	for (size_t i = 0; i < source->trace.nstreams && !err; i++) {
		struct owner *owner = &source->owners[i];
		uint32_t loom = a->loom_of[i];
		bool named = a->looms[loom] == owner->loom;

		err = replace(&owner->loom, "node %0*u", width, loom + 1);
		if (named && !err)
			a->looms[loom] = owner->loom;
	}
	return err;
}

/* The main thread of a process has the name of the process. */
static int name_threads(struct source *source, const struct actors *a)
{
	size_t n = source->trace.nstreams, nprocesses = 0;
	struct hash seen = {0};
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		struct owner *owner = &source->owners[i];
		uint32_t *at = hash_at(
			&seen, (struct hash_key){.a = (uint64_t)owner->pid, .b = a->loom_of[i]});

		if (!at) {
			err = -ENOMEM;
			break;
		}
		if (*at == HASH_NONE)
			*at = (uint32_t)++nprocesses;
		if (owner->cgroup)
			err = replace(&owner->cgroup, "a cgroup");
		if (err || of_recorder(owner) || owner->accelerator)
			continue;
		if (owner->tid == owner->pid)
			err = replace(&owner->name, "process %u", *at);
		else
			err = replace(&owner->name, "thread %zu", i + 1);
	}
	hash_free(&seen);
	return err;
}

static int name_findings(struct findings *f)
{
	int err = 0;

	for (size_t i = 0; i < f->n && !err; i++) {
		struct finding *finding = &f->list[i];

		if (finding->place)
			err = replace(&finding->place, "one function");
		if (!err && finding->irq && strncmp(finding->irq, "softirq ", 8) != 0)
			err = replace(&finding->irq, "one device");
	}
	return err;
}

/* Replaces a text that is there in its array. */
#define NEUTRAL(array, text) snprintf(array, sizeof(array), "%s", *(array) ? (text) : "")

int anonymous_names(struct source *source, struct collect *c, struct findings *f)
{
	struct whole *whole = &source->whole;
	int err = name_looms(source, &c->actors, f);

	if (!err)
		err = name_threads(source, &c->actors);
	if (!err)
		err = name_findings(f);
	tid_names_forget(&c->actors.names);
	for (size_t i = 0; i < c->details.ntexts && !err; i++)
		err = replace(&c->details.texts[i], "stack %zu", i + 1);
	NEUTRAL(whole->missing.first, "a thread");
	NEUTRAL(whole->changed.first, "a thread");
	NEUTRAL(whole->job, "a part of its job is missing");
	NEUTRAL(whole->made_from, "events were missing there");
	return err ? log_no_memory("for the names of the page") : 0;
}
