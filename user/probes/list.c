/* SPDX-License-Identifier: MIT */
/* list: see list.h. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/probes/binaries.h"
#include "user/elf/instruction.h"
#include "user/probes/list.h"
#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define CODE_BYTES 48 /* of the beginning of a function */

/* The reason why there is no pair, in a word. */
static const char *const kind_words[] = {
	[FUNCTION_CALLED] = "",
	[FUNCTION_IFUNC] = "no pair: IFUNC",
	[FUNCTION_PART] = "no pair: is jumped to",
	[FUNCTION_START] = "no pair: start of the program",
	[FUNCTION_FRAME] = "no pair: uses its return address",
};

/* The shown part of a file. */
struct shown {
	uint32_t *functions; /* indices */
	size_t nfunctions;
	const char *glob; /* of the USDT probes */
	size_t nprobes;
};

/* Does the name of the probe, or provider:name, match? */
static bool is_shown(const struct shown *s, const struct usdt_probe *p)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s:%s", p->provider, p->name);
	return !fnmatch(s->glob, p->name, 0) || !fnmatch(s->glob, whole, 0);
}

static const char *display_name(const struct function *f)
{
	return f->full ? f->full : f->name;
}

static void print_escaped(const char *text)
{
	fputs(text_shown(text), stdout);
}

/* The other names of the function, after the shown one. */
static const struct function *next_alias(const struct functions *functions,
					 const struct function *of, const struct function *after)
{
	const struct function *end = functions->list + functions->count, *f = after;

	/* the names of one function are neighbours */
	if (!f) {
		f = of;
		while (f > functions->list && f[-1].offset == of->offset)
			f--;
	} else {
		f++;
	}
	for (; f < end && f->offset == of->offset; f++)
		if (f != of)
			return f;
	return NULL;
}

/* The cost of a probe (instruction.h), in a word: at the entry of a function, or at a point. */
static const char *cost_of(const struct binary *binary, uint64_t offset, uint64_t size, bool entry)
{
	static const char *const words[] = {[SPOT_FAST] = "fast",
					    [SPOT_NOP5] = "fast",
					    [SPOT_SLOW] = "slow",
					    [SPOT_UNSAFE] = "unsafe",
					    [SPOT_REFUSED] = "never"};
	uint64_t bytes = size && size < CODE_BYTES ? size : CODE_BYTES;
	uint8_t *code = elf_file_read(&binary->file, offset, bytes);
	struct spot spot;

	if (!code)
		return "";
	spot = entry ? instruction_entry(code, bytes, 0) : instruction_point(code, bytes);
	free(code);
	return spot.kind < sizeof(words) / sizeof(words[0]) ? words[spot.kind] : "";
}

/* ---- text ---- */

static void print_function(const struct binary *binary, const struct function *f)
{
	const struct functions *functions = &binary->functions;
	const struct function *alias = NULL;

	printf("%12llx %10llx %8llu %-5s ", (unsigned long long)f->address,
	       (unsigned long long)f->offset, (unsigned long long)f->size,
	       f->kind == FUNCTION_CALLED ? cost_of(binary, f->offset, f->size, true) : "-");
	print_escaped(display_name(f));
	if (f->old_version)
		printf("@%s", f->version);
	while ((alias = next_alias(functions, f, alias))) {
		fputs(" = ", stdout);
		print_escaped(display_name(alias));
	}
	if (f->kind != FUNCTION_CALLED)
		printf("  (%s)", kind_words[f->kind]);
	putchar('\n');
}

static void print_probe(const struct binary *binary, const struct usdt_probe *p)
{
	printf("%12llx %10llx %8s %-5s ", (unsigned long long)p->address,
	       (unsigned long long)p->offset, p->semaphore ? "yes" : "",
	       cost_of(binary, p->offset, 0, false));
	print_escaped(p->provider);
	putchar(':');
	print_escaped(p->name);
	fputs("  ", stdout);
	print_escaped(p->arguments);
	putchar('\n');
}

static void print_file(const struct binary *binary, const struct shown *s)
{
	const struct functions *functions = &binary->functions;

	fputs("# ", stdout);
	print_escaped(binary->name);
	if (functions->debug_file) {
		fputs(", names from ", stdout);
		print_escaped(functions->debug_file);
	}
	if (functions->stripped)
		fputs(", stripped: only exported functions are known", stdout);
	putchar('\n');
	if (s->nfunctions)
		printf("%12s %10s %8s %-5s %s\n", "address", "offset", "size", "probe", "function");
	for (size_t i = 0; i < s->nfunctions; i++)
		print_function(binary, &functions->list[s->functions[i]]);
	if (s->nprobes)
		printf("%12s %10s %8s %-5s %s\n", "address", "offset", "counted", "probe",
		       "USDT probe");
	for (size_t i = 0; i < binary->usdt.count; i++)
		if (is_shown(s, &binary->usdt.list[i]))
			print_probe(binary, &binary->usdt.list[i]);
}

/* ---- JSON ---- */

static void put_names(struct json *node, const struct function *f)
{
	json_put_string(node, "name", f->name);
	json_put_string(node, "demangled", f->full);
	json_put_string(node, "version", f->version);
}

static void put_function(struct json *array, const struct binary *binary, const struct function *f)
{
	struct json *node = json_put_object(array, NULL), *aliases = NULL;
	const struct function *alias = NULL;

	put_names(node, f);
	json_put_int(node, "address", (int64_t)f->address);
	json_put_int(node, "offset", (int64_t)f->offset);
	json_put_int(node, "size", (int64_t)f->size);
	json_put_bool(node, "pair", f->kind == FUNCTION_CALLED);
	if (f->kind == FUNCTION_CALLED)
		json_put_string(node, "cost", cost_of(binary, f->offset, f->size, true));
	json_put_string(node, "why", function_obstacle(f->kind));
	while ((alias = next_alias(&binary->functions, f, alias))) {
		if (!aliases)
			aliases = json_put_array(node, "aliases");
		put_names(json_put_object(aliases, NULL), alias);
	}
}

static void put_probe(struct json *array, const struct binary *binary, const struct usdt_probe *p)
{
	struct json *node = json_put_object(array, NULL);

	json_put_string(node, "provider", p->provider);
	json_put_string(node, "name", p->name);
	json_put_int(node, "address", (int64_t)p->address);
	json_put_int(node, "offset", (int64_t)p->offset);
	if (p->semaphore)
		json_put_int(node, "semaphore", (int64_t)p->semaphore);
	json_put_string(node, "cost", cost_of(binary, p->offset, 0, false));
	json_put_string(node, "arguments", p->arguments);
}

static void put_file(struct json *files, const struct binary *binary, const struct shown *s)
{
	const struct functions *functions = &binary->functions;
	struct json *node = json_put_object(files, NULL), *array;

	json_put_string(node, "file", binary->name);
	json_put_bool(node, "stripped", functions->stripped);
	json_put_string(node, "debug_file", functions->debug_file);
	array = json_put_array(node, "functions");
	for (size_t i = 0; i < s->nfunctions; i++)
		put_function(array, binary, &functions->list[s->functions[i]]);
	array = json_put_array(node, "usdt");
	for (size_t i = 0; i < binary->usdt.count; i++)
		if (is_shown(s, &binary->usdt.list[i]))
			put_probe(array, binary, &binary->usdt.list[i]);
}

/* ---- all files ---- */

struct listing {
	struct json *files; /* NULL: as text */
	size_t shown;
};

static int show(struct listing *l, struct binary *binary, const char *name)
{
	struct shown s = {.glob = name};
	bool glob;
	int err = functions_demangle(&binary->functions);

	if (err)
		return err;
	err = functions_find(&binary->functions, name, &s.functions, &s.nfunctions, &glob);
	if (err)
		return err;
	for (size_t i = 0; i < binary->usdt.count; i++)
		s.nprobes += is_shown(&s, &binary->usdt.list[i]);
	if (l->files)
		put_file(l->files, binary, &s);
	else if (s.nfunctions || s.nprobes || !strcmp(name, "*"))
		print_file(binary, &s);
	l->shown += s.nfunctions + s.nprobes;
	free(s.functions);
	return err;
}

static int show_all(struct listing *l, struct binaries *binaries,
		    struct binary_candidates *candidates, const struct request *request)
{
	int err;

	for (size_t i = 0; i < candidates->count; i++) {
		struct binary_candidate *candidate = &candidates->list[i];
		size_t before = binaries->count;

		err = binaries_open(binaries, candidate);
		if (candidate->wrong)
			log_error("--list %s: %s %s", request->text, candidate->name,
				  candidate->wrong);
		if (err)
			return err;
		if (binaries->count == before)
			continue; /* another of its names was listed */
		err = show(l, candidate->binary, request->name);
		if (err)
			return err;
	}
	if (l->shown)
		return 0;
	if (log_lacks_memory())
		return -ENOMEM;
	if (!strcmp(request->name, "*"))
		return 0;
	log_error("--list %s: no name matches '%s'", request->text, request->name);
	return -ENOENT;
}

static int finish(const struct json *root)
{
	char *text;

	if (root) {
		text = json_text(root);
		if (!text)
			return -ENOMEM;
		fputs(text, stdout);
		free(text);
	}
	return flush_stdout();
}

int list_run(const struct request *request, const struct resolve_scope *scope, bool json)
{
	struct json *root = json ? json_new_object() : NULL;
	struct listing listing = {.files = json ? json_put_array(root, "files") : NULL};
	struct binaries binaries = {0};
	struct binary_candidates candidates = {0};
	char *why = NULL;
	int err = -ENOMEM;

	if (json && !listing.files)
		goto out;
	err = binary_candidates_find(&candidates, request, scope, &why);
	if (why)
		log_error("--list %s: %s", request->text, why);
	free(why);
	if (err)
		goto out;
	err = show_all(&listing, &binaries, &candidates, request);
	if (err)
		goto out;
	err = finish(root);
out:
	if (err == -ENOMEM)
		log_no_memory("for --list");
	binary_candidates_free(&candidates);
	binaries_free(&binaries);
	json_free(root);
	return err;
}
