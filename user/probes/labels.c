/* SPDX-License-Identifier: MIT */
/* labels: see labels.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/probes/labels.h"
#include "user/probes/resolve.h"
#include "trace/base/text.h"

/* The parts of a label that keep it apart; each level only for labels that are equal without it. */
enum level {
	LEVEL_NAME,	  /* ns::f */
	LEVEL_PARAMETERS, /* ns::f(int) */
	LEVEL_FILE,	  /* ns::f(int) (libx.so) */
	LEVEL_PATH,	  /* ns::f(int) (/usr/lib/libx.so) */
	LEVEL_ADDRESS,	  /* ns::f(int) (/usr/lib/libx.so 0x1139) */
	LEVEL_INODE,	  /* ... (/usr/lib/libx.so 0x1139 8:1234): of two containers */
	LEVEL_END,
};

struct entry {
	struct label *label;
	enum level level;
	bool alike; /* another site has the same text */
};

static uint64_t address_of(const struct label *label)
{
	uint64_t address = label->site->offset;

	elf_file_address(&label->binary->file, label->site->offset, PF_X, &address);
	return address;
}

/* The name without its file. */
static void write_name(const struct label *l, enum level level, char *out, size_t size)
{
	const struct function *f = l->function;
	char demangled[DEMANGLE_MAX];
	const char *name;
	size_t n;

	if (l->probe) {
		snprintf(out, size, "%s:%s", l->probe->provider, l->probe->name);
		return;
	}
	if (!f) {
		snprintf(out, size, "%s+0x%llx", basename(l->binary->name),
			 (unsigned long long)address_of(l));
		return;
	}
	name = f->name;
	if (demangle(demangled, name, level == LEVEL_NAME ? DEMANGLE_NAME : DEMANGLE_PARAMETERS))
		name = demangled;
	n = (size_t)snprintf(out, size, "%s%s%s", name, f->old_version ? "@" : "",
			     f->old_version ? f->version : "");
	if (l->site->kind == SITE_POINT && n < size)
		snprintf(out + n, size - n, "+0x%llx",
			 (unsigned long long)(l->site->offset - f->offset));
}

static void write_suffix(const struct label *l, enum level level, char *out, size_t size)
{
	char file[256];
	const char *name = level == LEVEL_FILE ? basename(l->binary->name) : l->binary->name;

	out[0] = '\0';
	if (level < LEVEL_FILE)
		return;
	/* the end of a long path differs most */
	if (strlen(name) > 63)
		name += strlen(name) - 63;
	text_escape(file, sizeof(file), name, strlen(name));
	if (level == LEVEL_INODE)
		snprintf(out, size, " (%s 0x%llx %llx:%llu)", file,
			 (unsigned long long)address_of(l),
			 (unsigned long long)l->binary->file.device,
			 (unsigned long long)l->binary->file.inode);
	else if (level == LEVEL_ADDRESS)
		snprintf(out, size, " (%s 0x%llx)", file, (unsigned long long)address_of(l));
	else
		snprintf(out, size, " (%s)", file);
}

static int write_label(struct entry *e)
{
	char name[DEMANGLE_MAX + 64], suffix[300], text[RESOLVE_LABEL_MAX + 1];

	write_name(e->label, e->level, name, sizeof(name));
	write_suffix(e->label, e->level, suffix, sizeof(suffix));
	text_escape(text, sizeof(text) - strlen(suffix), name, strlen(name));
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", suffix);
	free(e->label->text);
	e->label->text = strdup(text);
	return e->label->text ? 0 : -ENOMEM;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return strcmp(x->label->text, y->label->text);
}

/* May they have the same label? */
static bool same(const struct label *a, const struct label *b)
{
	return a->binary == b->binary &&
	       ((a->probe && b->probe) ||
		(a->site->offset == b->site->offset && a->site->kind == b->site->kind));
}

/* Finds those that are alike, in order of their texts. True if there are any. */
static bool find_alike(struct entry *entries, size_t count)
{
	bool any = false;

	qsort(entries, count, sizeof(*entries), compare);
	for (size_t from = 0, to; from < count; from = to) {
		bool alike = false;

		for (to = from + 1; to < count && !compare(&entries[from], &entries[to]); to++)
			alike = alike || !same(entries[from].label, entries[to].label);
		for (size_t i = from; i < to; i++)
			entries[i].alike = alike;
		any = any || alike;
	}
	return any;
}

int labels_make(struct label *labels, size_t count)
{
	struct entry *entries = calloc(count + 1, sizeof(*entries));
	int err = 0;

	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		entries[i] = (struct entry){.label = &labels[i], .alike = true};
	for (int level = LEVEL_NAME; level < LEVEL_END; level++) {
		for (size_t i = 0; i < count; i++) {
			if (!entries[i].alike)
				continue;
			entries[i].level = (enum level)level;
			err = write_label(&entries[i]);
			if (err)
				goto out;
		}
		if (!find_alike(entries, count))
			break;
	}
out:
	free(entries);
	return err;
}
