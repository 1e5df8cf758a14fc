/* SPDX-License-Identifier: MIT */
#include "tools/lib/metadata_subset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

#define DEEP 32 /* levels of metadata that make sense */

static int copy_into(struct json *to, const char *key, const struct json *from, int level);

/* Members or elements of `from` into `to`; those that are there already stay. */
static int copy_children(struct json *to, const struct json *from, int level)
{
	int err = 0;

	for (const struct json *node = json_first(from); node && !err; node = json_next(node)) {
		const char *name = json_is_array(from) ? NULL : json_name(node);
		const struct json *there = name ? json_key(to, name) : NULL;

		if (name && strchr(name, '.'))
			continue; /* no key of a specification has a dot */
		if (there && json_is_object(there) && json_is_object(node))
			err = copy_children((struct json *)there, node, level + 1);
		else if (!there)
			err = copy_into(to, name, node, level + 1);
	}
	return err;
}

static int copy_into(struct json *to, const char *key, const struct json *from, int level)
{
	struct json *node = NULL;

	if (level > DEEP)
		return 0;
	if (json_is_object(from) || json_is_array(from)) {
		node = json_is_object(from) ? json_put_object(to, key) : json_put_array(to, key);
		return node ? copy_children(node, from, level) : -ENOMEM;
	}
	if (json_is_string(from))
		node = json_put_string(to, key, json_string(from));
	else if (json_is_number(from))
		node = json_put_real(to, key, json_number(from));
	else if (json_is_bool(from))
		node = json_put_bool(to, key, json_bool(from));
	else
		return 0; /* null says nothing */
	return node ? 0 : -ENOMEM;
}

int metadata_add(struct json *to, const struct json *from, const char *path)
{
	const struct json *source = *path ? json_get(from, path) : from;
	const struct json *there = *path ? json_get(to, path) : to;

	if (!source)
		return 0;
	if (there && json_is_object(there) && json_is_object(source))
		return copy_children((struct json *)there, source, 0);
	if (there)
		return 0;
	return copy_into(to, path, source, 0);
}

static bool same_loom(const struct owner *a, const struct owner *b)
{
	return a->loom && b->loom && !strcmp(a->loom, b->loom);
}

/* CPUs are joined by the number that the system gives them. */
static int add_cpus(struct json *to, const struct json *from)
{
	const struct json *list = json_get(from, "ovni.loom_cpus");
	const struct json *there = json_get(to, "ovni.loom_cpus");

	if (!json_is_array(list))
		return 0;
	if (!json_is_array(there))
		there = json_put_array(to, "ovni.loom_cpus");
	for (const struct json *cpu = json_first(list); there && cpu; cpu = json_next(cpu)) {
		int64_t phyid = json_int(json_key(cpu, "phyid"));
		const struct json *known = json_first(there);
		struct json *new;

		while (known && json_int(json_key(known, "phyid")) != phyid)
			known = json_next(known);
		if (known)
			continue;
		new = json_put_object((struct json *)there, NULL);
		if (!new || !json_put_int(new, "index", json_int(json_key(cpu, "index"))) ||
		    !json_put_int(new, "phyid", phyid))
			return -ENOMEM;
	}
	return there ? 0 : -ENOMEM;
}

/* What the lost stream `from` says goes to `to` if that is the first one that can say it. */
static int take_over(const struct source *source, const bool *kept, size_t i, size_t lost,
		     struct json *to, const struct json *from)
{
	static const char *const of_process[] = {"ovni.app_id",	   "ovni.rank",	  "ovni.nranks",
						 "bpf.executable", "bpf.command", "bpf.parent"};
	static const char *const of_trace[] = {"ovni.mark", "ovni.require", "nosv.hwc",
					       "bpf.session", "bpf.names"};
	const struct owner *owners = source->owners;
	bool first = true, loom = same_loom(&owners[i], &owners[lost]), process, kin;
	int err = 0;

	process = loom && owners[i].pid == owners[lost].pid;
	kin = loom;
	for (size_t k = 0; k < i; k++) {
		if (!kept[k])
			continue;
		first = false;
		if (same_loom(&owners[k], &owners[lost])) {
			kin = false;
			process = process && owners[k].pid != owners[lost].pid;
		}
	}
	for (size_t k = 0; k < 5 && first && !err; k++)
		err = metadata_add(to, from, of_trace[k]);
	if (kin && !err)
		err = add_cpus(to, from);
	for (size_t k = 0; k < 6 && process && !err; k++)
		err = metadata_add(to, from, of_process[k]);
	return err;
}

struct json *metadata_subset(const struct source *source, const bool *kept, size_t i)
{
	struct json *meta = trace_metadata(&source->trace, i);
	bool heir = true;
	int err = 0;

	/* only the first stream of a process, which is also that of its loom or the trace */
	for (size_t k = 0; k < i && heir; k++)
		heir = !kept[k] || source->owners[k].pid != source->owners[i].pid ||
		       !same_loom(&source->owners[k], &source->owners[i]);
	for (size_t k = 0; meta && heir && k < source->trace.nstreams && !err; k++) {
		struct json *lost;

		if (kept[k])
			continue;
		lost = trace_metadata(&source->trace, k);
		err = lost ? take_over(source, kept, i, k, meta, lost) : -EINVAL;
		json_free(lost);
	}
	if (err == -ENOMEM)
		log_error("%s: no memory for its metadata", source->trace.streams[i]);
	if (err) {
		json_free(meta);
		return NULL;
	}
	return meta;
}
