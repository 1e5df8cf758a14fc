/* SPDX-License-Identifier: MIT */
#include "tools/lib/metadata_subset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"

#define LEVELS_MAX 32 /* of nested metadata; deeper levels are left out */

static int copy_into(struct json *to, const char *key, const struct json *from, int level);

/* Copies the members or elements of `from` that `to` does not have. */
static int copy_children(struct json *to, const struct json *from, int level)
{
	for (const struct json *node = json_first(from); node; node = json_next(node)) {
		const char *name = json_is_array(from) ? NULL : json_name(node);
		const struct json *there = name ? json_key(to, name) : NULL;
		int err = 0;

		if (name && strchr(name, '.'))
			continue; /* no key of a specification has a dot */
		if (there && json_is_object(there) && json_is_object(node))
			err = copy_children((struct json *)there, node, level + 1);
		else if (!there)
			err = copy_into(to, name, node, level + 1);
		if (err)
			return err;
	}
	return 0;
}

static int copy_into(struct json *to, const char *key, const struct json *from, int level)
{
	struct json *node = NULL;

	if (level > LEVELS_MAX)
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
		return 0; /* null has no value */
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
	return *a->loom && !strcmp(a->loom, b->loom);
}

/* Adds the CPUs that `to` does not have; their physical number identifies them. */
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

static int add_paths(struct json *to, const struct json *from, const char *const *paths)
{
	for (; *paths; paths++) {
		int err = metadata_add(to, from, *paths);

		if (err)
			return err;
	}
	return 0;
}

/* Adds the metadata of the omitted stream `from`, if stream i is the first kept one of the same
 * trace, loom or process. */
static int take_over(const struct source *source, const bool *kept, size_t i, size_t omitted,
		     struct json *to, const struct json *from)
{
	static const char *const of_process[] = {
		"ovni.app_id", "ovni.rank",  "ovni.nranks", "bpf.executable",
		"bpf.command", "bpf.parent", NULL};
	static const char *const of_trace[] = {"ovni.mark",   "ovni.require", "nosv.hwc",
					       "bpf.session", "bpf.names",    NULL};
	const struct owner *owners = source->owners;
	bool trace = true, loom = same_loom(&owners[i], &owners[omitted]);
	bool process = loom && owners[i].pid == owners[omitted].pid;
	int err;

	for (size_t k = 0; k < i; k++) {
		if (!kept[k])
			continue;
		trace = false;
		if (same_loom(&owners[k], &owners[omitted])) {
			loom = false;
			process = process && owners[k].pid != owners[omitted].pid;
		}
	}
	err = trace ? add_paths(to, from, of_trace) : 0;
	if (err)
		return err;
	err = loom ? add_cpus(to, from) : 0;
	if (err)
		return err;
	return process ? add_paths(to, from, of_process) : 0;
}

/* Whether stream i is the first kept one of its process: only such a one takes metadata over. */
static bool first_of_process(const struct source *source, const bool *kept, size_t i)
{
	const struct owner *owner = &source->owners[i];

	for (size_t k = 0; k < i; k++)
		if (kept[k] && source->owners[k].pid == owner->pid &&
		    same_loom(&source->owners[k], owner))
			return false;
	return true;
}

struct json *metadata_subset(const struct source *source, const bool *kept, size_t i)
{
	struct json *meta = trace_metadata(&source->trace, i);
	int err;

	if (!meta || !first_of_process(source, kept, i))
		return meta;
	for (size_t k = 0; k < source->trace.nstreams; k++) {
		struct json *omitted;

		if (kept[k])
			continue;
		omitted = trace_metadata(&source->trace, k);
		err = omitted ? take_over(source, kept, i, k, meta, omitted) : -EINVAL;
		json_free(omitted);
		if (err)
			goto fail;
	}
	return meta;
fail:
	if (err == -ENOMEM)
		log_no_memory("while reading %s", source->trace.streams[i]);
	json_free(meta);
	return NULL;
}
