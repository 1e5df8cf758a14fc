/* SPDX-License-Identifier: MIT */
/* resolve: see resolve.h. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/probes/binaries.h"
#include "user/elf/instruction.h"
#include "user/elf/unwind.h"
#include "user/probes/resolve.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "user/probes/argument_types.h"
#include "user/probes/site_value.h"
#include "user/probes/usdt_argument.h"

#define WHY_MAX 512

struct sites_own {
	struct binaries binaries;
	struct label *labels; /* nlabels of them */
	size_t nlabels;
};

/* A site while sites are collected. */
struct draft {
	struct site site;
	const struct binary *binary;
	const struct function *function; /* of the site, or around it; NULL: none */
	const struct usdt_probe *probe;	 /* of the site; NULL: none */
	bool glob;			 /* named by a glob */
};

struct resolving {
	struct sites *sites;
	const struct requests *requests;
	const struct resolve_scope *scope;
	struct draft *drafts;
	size_t count;
	size_t before;	   /* number of drafts before the current request */
	char why[WHY_MAX]; /* the error of the current request */
	int err;	   /* its error */
	bool obstacle;	   /* a named function was left out */

	/* The candidates of the last request: API files ask for many functions of one file. */
	const struct request *located; /* NULL: none yet */
	struct binary_candidates candidates;
	char *trouble;
	int located_err;
};

/* Sets the error of the current request. The first error counts. */
__attribute__((format(printf, 3, 4))) static void complain(struct resolving *r, int err,
							   const char *format, ...)
{
	va_list args;

	if (r->why[0])
		return;
	r->err = err;
	va_start(args, format);
	vsnprintf(r->why, sizeof(r->why), format, args);
	va_end(args);
}

/* ---- drafts ---- */

static int add_draft(struct resolving *r, const struct request *request,
		     const struct binary *binary, const struct draft *proto)
{
	struct draft *added = ARRAY_ADD(r->drafts, r->count);
	struct site *site;

	if (!added)
		return -ENOMEM;
	*added = *proto;
	added->binary = binary;
	site = &added->site;
	site->path = binary->attach;
	site->binary = binary->name;
	site->device = binary->file.device;
	site->inode = binary->file.inode;
	site->request = (uint32_t)(request - r->requests->list);
	site->unwinds = binary->unwinds;
	return 0;
}

/* ---- functions ---- */

/* Checks that an instruction begins at `offset`: a breakpoint in the middle of one changes the
 * program. `name`: of the function. */
static bool check_boundary(struct resolving *r, const struct binary *binary, const char *name,
			   uint64_t begin, uint64_t offset)
{
	enum boundary boundary = BOUNDARY_UNKNOWN;
	uint64_t distance = offset - begin;
	uint8_t *code;

	if (!distance)
		return true;
	code = elf_file_read(&binary->file, begin, distance);
	if (code)
		boundary = instruction_boundary(code, distance);
	free(code);
	if (boundary == BOUNDARY_NO)
		complain(r, -EINVAL, "%s: no instruction begins at %s+0x%llx", binary->name, name,
			 (unsigned long long)distance);
	else if (boundary == BOUNDARY_UNKNOWN)
		complain(r, -EINVAL,
			 "%s: the instructions of %s cannot be followed to +0x%llx, and a probe in "
			 "the middle of one would change the program",
			 binary->name, name, (unsigned long long)distance);
	return boundary == BOUNDARY_YES;
}

static int add_function(struct resolving *r, const struct request *request,
			const struct binary *binary, const struct function *f, bool glob)
{
	struct draft draft = {.function = f, .glob = glob};

	draft.site = (struct site){
		.kind = SITE_FUNCTION, .offset = f->offset, .size = f->size, .symbol = f->name};
	memcpy(draft.site.values, request->values, sizeof(draft.site.values));
	if (request->has_offset) {
		if (f->size ? request->offset >= f->size : request->offset > 0) {
			complain(r, -ENOENT, "%s: '%s' has %llu bytes, so there is no byte +0x%llx",
				 binary->name, f->name, (unsigned long long)f->size,
				 (unsigned long long)request->offset);
			return 0;
		}
		draft.site.kind = SITE_POINT;
		draft.site.offset += request->offset;
		draft.site.size = 0;
		if (!check_boundary(r, binary, f->name, f->offset, draft.site.offset))
			return 0;
	} else if (function_obstacle(f->kind)) {
		if (glob)
			r->sites->skipped++;
		else if (!r->why[0])
			r->obstacle = true;
		complain(r, -EINVAL, "%s: '%s' %s%s%s%s", binary->name, f->name,
			 function_obstacle(f->kind),
			 f->kind == FUNCTION_IFUNC ? "" : " (as a point in time: ",
			 f->kind == FUNCTION_IFUNC ? "" : f->name,
			 f->kind == FUNCTION_IFUNC ? "" : "+0)");
		return 0;
	}
	return add_draft(r, request, binary, &draft);
}

static void complain_about_name(struct resolving *r, const struct request *request,
				struct binary *binary, bool glob)
{
	const char *nearest;

	if (!binary->functions.count) {
		complain(r, -ENOENT,
			 "%s: '%s' cannot be found, as the file is stripped and has no debug file: "
			 "give an address (BIN:0x...), or install its debug symbols",
			 binary->name, request->name);
		return;
	}
	nearest = glob || request->optional ? NULL
					    : functions_nearest(&binary->functions, request->name);
	complain(r, -ENOENT, "%s has no function %s'%s'%s%s%s%s", binary->name, glob ? "like " : "",
		 request->name, nearest ? "; did you mean '" : "", nearest ? nearest : "",
		 nearest ? "'?" : "",
		 binary->functions.stripped
			 ? "; it is stripped, so that only those that it exports are known"
			 : "");
}

static int find_functions(struct resolving *r, const struct request *request, struct binary *binary)
{
	struct functions *functions = &binary->functions;
	uint32_t *found;
	size_t count;
	bool glob;
	int err = functions_find(functions, request->name, &found, &count, &glob);

	if (err)
		return err;
	if (!count)
		complain_about_name(r, request, binary, glob || strpbrk(request->name, "*?["));
	if (count > RESOLVE_GLOB_MAX) {
		complain(r, -E2BIG,
			 "%s: %zu functions match, of which %d can be probed at once: "
			 "choose fewer",
			 binary->name, count, RESOLVE_GLOB_MAX);
		count = 0;
	}
	for (size_t i = 0; i < count; i++) {
		err = add_function(r, request, binary, &functions->list[found[i]], glob);
		if (err)
			break;
	}
	free(found);
	return err;
}

/* The function around an address: by the symbols, else by the unwind tables. */
struct around {
	const struct function *function; /* NULL: it has no name */
	uint64_t begin, size;		 /* offset in the file; bytes, 0: not known */
	bool known, called;
};

static struct around find_around(const struct binary *binary, uint64_t address, uint64_t offset)
{
	struct around a = {.function = functions_at(&binary->functions, offset)};
	struct unwind_frame frame;
	uint64_t left;

	if (a.function) {
		a.begin = a.function->offset;
		a.size = a.function->size;
		a.known = true;
		a.called = !function_obstacle(a.function->kind);
		return a;
	}
	if (unwind_frame_at(&binary->file, address, &frame) &&
	    elf_file_offset(&binary->file, frame.begin, PF_X, &a.begin, &left)) {
		a.size = frame.size < left ? frame.size : left;
		a.known = true;
		a.called = frame.begin != binary->file.entry;
	}
	return a;
}

static int find_address(struct resolving *r, const struct request *request, struct binary *binary)
{
	struct draft draft = {.site = {.kind = SITE_POINT}};
	struct around around;
	uint64_t left;

	memcpy(draft.site.values, request->values, sizeof(draft.site.values));
	if (!elf_file_offset(&binary->file, request->offset, PF_X, &draft.site.offset, &left)) {
		complain(r, -ENOENT, "%s has no code at the address 0x%llx", binary->name,
			 (unsigned long long)request->offset);
		return 0;
	}
	if (!instruction_may_begin(request->offset)) {
		complain(r, -EINVAL,
			 "%s: no instruction begins at 0x%llx: its address is no multiple of 4",
			 binary->name, (unsigned long long)request->offset);
		return 0;
	}
	around = find_around(binary, request->offset, draft.site.offset);
	draft.function = around.function;
	if (around.known && around.called && around.begin == draft.site.offset) {
		draft.site.kind = SITE_FUNCTION;
		draft.site.size = around.size;
		draft.site.symbol = around.function ? around.function->name : NULL;
	} else if (request->value.source) {
		complain(r, -EINVAL,
			 "%s: no function is known to begin at 0x%llx, so there is no argument and "
			 "no return value",
			 binary->name, (unsigned long long)request->offset);
		return 0;
	} else if (!around.known) {
		log_warn("%s: no function is known around 0x%llx: if no instruction begins there, "
			 "the probe changes the program",
			 binary->name, (unsigned long long)request->offset);
	} else if (!check_boundary(r, binary,
				   around.function ? around.function->name : "the function",
				   around.begin, draft.site.offset)) {
		return 0;
	}
	return add_draft(r, request, binary, &draft);
}

/* ---- USDT probes ---- */

/* The location of the requested argument at this site of the probe. */
static const char *find_argument(const struct request *request, const struct binary *binary,
				 const struct usdt_probe *probe, struct site_value *value)
{
	struct usdt_symbol symbol;
	uint64_t address;
	const char *wrong = usdt_argument(probe->arguments, request->value.number, ELF_FILE_MACHINE,
					  value, &symbol);

	value->number = request->value.number;
	if (wrong || !symbol.name[0])
		return wrong;
	if (usdt_symbol(&binary->file, symbol.name, &address))
		return "it lies at a symbol that the file does not have (any more)";
	value->constant = (int64_t)(address + (uint64_t)symbol.offset - probe->address);
	return NULL;
}

static int add_probe(struct resolving *r, const struct request *request,
		     const struct binary *binary, const struct usdt_probe *probe)
{
	struct draft draft = {.probe = probe,
			      .glob = strpbrk(request->name, "*?[") ||
				      strpbrk(request->provider, "*?[")};
	const char *wrong = NULL;

	draft.site = (struct site){
		.kind = SITE_POINT, .offset = probe->offset, .semaphore = probe->semaphore};
	if (request->value.source)
		wrong = find_argument(request, binary, probe, &draft.site.value);
	if (wrong) {
		complain(r, -EINVAL, "%s: %s:%s has at 0x%llx the arguments '%s': of arg%u, %s",
			 binary->name, probe->provider, probe->name,
			 (unsigned long long)probe->address, probe->arguments,
			 request->value.number, wrong);
		r->obstacle = true;
		return 0;
	}
	return add_draft(r, request, binary, &draft);
}

static int find_probes(struct resolving *r, const struct request *request,
		       const struct binary *binary)
{
	const struct usdt_probes *probes = &binary->usdt;
	size_t matching = 0;
	int err;

	for (size_t i = 0; i < probes->count; i++) {
		const struct usdt_probe *p = &probes->list[i];

		if (fnmatch(request->provider, p->provider, 0) ||
		    fnmatch(request->name, p->name, 0))
			continue;
		matching++;
		err = add_probe(r, request, binary, p);
		if (err)
			return err;
	}
	if (!matching)
		complain(r, -ENOENT, "%s has no %sprobe %s:%s (see --list)", binary->name,
			 probes->count ? "" : "USDT probes, so no ", request->provider,
			 request->name);
	return 0;
}

/* ---- one request ---- */

static int find_in(struct resolving *r, const struct request *request, struct binary *binary)
{
	switch (request->kind) {
	case REQUEST_FUNCTION:
		return find_functions(r, request, binary);
	case REQUEST_ADDRESS:
		return find_address(r, request, binary);
	case REQUEST_USDT:
		return find_probes(r, request, binary);
	}
	return 0;
}

static bool same_file(const struct request *a, const struct request *b)
{
	return a->pid == b->pid && a->kind == b->kind &&
	       (a->binary ? b->binary && !strcmp(a->binary, b->binary) : !b->binary);
}

static void forget_candidates(struct resolving *r)
{
	binary_candidates_free(&r->candidates);
	free(r->trouble);
	r->trouble = NULL;
	r->located = NULL;
}

static int find_candidates(struct resolving *r, const struct request *request)
{
	if (!r->located || !same_file(r->located, request)) {
		forget_candidates(r);
		r->located_err =
			binary_candidates_find(&r->candidates, request, r->scope, &r->trouble);
		r->located = request;
	}
	if (r->trouble)
		complain(r, r->located_err, "%s", r->trouble);
	return r->located_err;
}

static int find_request(struct resolving *r, const struct request *request)
{
	size_t visit = (size_t)(request - r->requests->list) + 1;
	int err = find_candidates(r, request);

	if (err)
		return err == -ENOMEM ? err : 0;
	for (size_t i = 0; i < r->candidates.count; i++) {
		struct binary_candidate *candidate = &r->candidates.list[i];
		struct binary *binary;

		err = binaries_open(&r->sites->own->binaries, candidate);
		if (candidate->wrong) {
			complain(r, err, "%s %s", candidate->name, candidate->wrong);
			continue;
		}
		if (err)
			return err;
		binary = candidate->binary;
		if (binary->visited == visit)
			continue; /* another name has led to it */
		binary->visited = visit;
		err = find_in(r, request, binary);
		if (err)
			return err;
	}
	return 0;
}

static int note_missing(struct resolving *r, size_t request)
{
	char *why = strdup(r->why);
	struct resolve_missing *added =
		why ? ARRAY_ADD(r->sites->missing, r->sites->nmissing) : NULL;

	if (!added) {
		free(why);
		return -ENOMEM;
	}
	*added = (struct resolve_missing){.request = (uint32_t)request, .why = why};
	return 0;
}

static int resolve_one(struct resolving *r, size_t i)
{
	const struct request *request = &r->requests->list[i];
	int err;

	r->before = r->count;
	r->why[0] = '\0';
	r->obstacle = false;
	err = find_request(r, request);
	if (err)
		return err;
	if (r->count > r->before) {
		if (r->obstacle && !request->optional)
			log_warn("left out: %s", r->why);
		return 0;
	}
	if (request->optional)
		return note_missing(r, i);
	log_error("%s %s: %s", request->kind == REQUEST_USDT ? "--usdt" : "-u", request->text,
		  r->why);
	return r->err;
}

/* ---- all of them ---- */

static int compare_drafts(const void *a, const void *b)
{
	const struct draft *x = a, *y = b;

	if (x->binary != y->binary)
		return x->binary->number < y->binary->number ? -1 : 1;
	if (x->site.offset != y->site.offset)
		return x->site.offset < y->site.offset ? -1 : 1;
	if (x->site.kind != y->site.kind)
		return x->site.kind < y->site.kind ? -1 : 1;
	if (x->glob != y->glob)
		return x->glob ? 1 : -1;
	return x->site.request < y->site.request ? -1 : x->site.request > y->site.request;
}

/* Adds the values of another request of -u for the same function. False: nothing is added, since it
 * asks for nothing more or is a point; or not all have a place. */
static bool join_values(struct site *into, const struct site *more)
{
	unsigned n = site_values_count(more->values);

	if (into->kind != SITE_FUNCTION || !n)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (site_values_add(into->values, &more->values[i]) < 0)
			return false;
	return true;
}

/* Keeps one site for each position, and warns of a name that is another name of the same function.
 */
static int merge_drafts(struct resolving *r)
{
	const struct request *list = r->requests->list;
	struct resolve_double *doubles = calloc(r->count + 1, sizeof(*doubles));
	size_t kept = 0;

	r->sites->doubles = doubles;
	if (!doubles)
		return -ENOMEM;

	if (r->count)
		qsort(r->drafts, r->count, sizeof(*r->drafts), compare_drafts);
	for (size_t i = 0; i < r->count; i++) {
		struct draft *d = &r->drafts[i], *last = kept ? &r->drafts[kept - 1] : NULL;

		if (last && last->binary == d->binary && last->site.offset == d->site.offset &&
		    last->site.kind == d->site.kind) {
			if (!d->glob && !list[d->site.request].optional &&
			    (list[last->site.request].optional ||
			     !join_values(&last->site, &d->site)))
				log_warn("%s and %s are the same site: only the first counts",
					 list[last->site.request].text, list[d->site.request].text);
			doubles[r->sites->ndoubles++] =
				(struct resolve_double){.request = d->site.request,
							.winner = last->site.request,
							.site = (uint32_t)(kept - 1)};
			continue;
		}
		r->drafts[kept++] = *d;
	}
	r->count = kept;
	return 0;
}

static bool needs_type(const struct draft *d, const struct site_value *value)
{
	return (value->source == SITE_ARGUMENT || value->source == SITE_RETURN) && !value->follow &&
	       !value->bytes && d->function;
}

/* A value of unknown type is a whole register. */
static void give_type(struct site_value *value)
{
	if (!value->source || value->bytes)
		return;
	value->bytes = 8;
	value->is_signed = true;
}

/* Sets the size of values without one: by debug information, else a whole register. Drafts are
 * sorted by file. */
static int find_types(struct resolving *r)
{
	struct type_question *questions =
		calloc(r->count * SITE_VALUES_MAX + 1, sizeof(*questions));

	if (!questions)
		return -ENOMEM;
	for (size_t from = 0, to; from < r->count; from = to) {
		const struct binary *binary = r->drafts[from].binary;
		int debug_fd = binary->functions.debug_fd;
		size_t n = 0;

		for (to = from; to < r->count && r->drafts[to].binary == binary; to++) {
			struct draft *d = &r->drafts[to];

			for (unsigned i = 0; i < SITE_VALUES_MAX; i++)
				if (needs_type(d, &d->site.values[i]))
					questions[n++] = (struct type_question){
						.address = d->function->address,
						.value = &d->site.values[i]};
		}
		argument_types_find(debug_fd >= 0 ? debug_fd : binary->file.fd, questions, n);
	}
	free(questions);
	for (size_t i = 0; i < r->count; i++) {
		for (unsigned k = 0; k < SITE_VALUES_MAX; k++)
			give_type(&r->drafts[i].site.values[k]);
	}
	return 0;
}

/* ---- labels ---- */

/* The parts that make a label unique. A level is used only where labels are equal without it. */
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

/* Finds equal requests, in the order of their texts. True if there are any. */
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

static int make_sites(struct resolving *r)
{
	struct sites *sites = r->sites;
	struct label *labels = calloc(r->count + 1, sizeof(*labels));
	int err;

	sites->own->labels = labels;
	sites->list = calloc(r->count + 1, sizeof(*sites->list));
	if (!sites->list || !labels)
		return -ENOMEM;
	for (size_t i = 0; i < r->count; i++) {
		const struct draft *d = &r->drafts[i];

		sites->list[i] = d->site;
		labels[i] = (struct label){.binary = d->binary,
					   .function = d->function,
					   .probe = d->probe,
					   .site = &sites->list[i]};
	}
	sites->count = sites->own->nlabels = r->count;
	err = labels_make(labels, r->count);
	for (size_t i = 0; i < r->count; i++)
		sites->list[i].label = labels[i].text;
	return err;
}

int resolve_sites(struct sites *sites, const struct requests *requests,
		  const struct resolve_scope *scope)
{
	struct resolving r = {.sites = sites, .requests = requests, .scope = scope};
	int err = 0;

	*sites = (struct sites){.own = calloc(1, sizeof(*sites->own))};
	if (!sites->own) {
		err = -ENOMEM;
		goto out;
	}
	for (size_t i = 0; i < requests->count; i++) {
		err = resolve_one(&r, i);
		if (err)
			goto out;
	}
	err = merge_drafts(&r);
	if (err)
		goto out;
	err = find_types(&r);
	if (err)
		goto out;
	err = make_sites(&r);
out:
	forget_candidates(&r);
	free(r.drafts);
	if (err == -ENOMEM)
		log_no_memory("for the probed functions");
	if (err)
		resolve_free(sites);
	else if (sites->skipped)
		log_debug("functions that match, but cannot be probed in pairs: %zu",
			  sites->skipped);
	return err;
}

void resolve_free(struct sites *sites)
{
	for (size_t i = 0; i < sites->nmissing; i++)
		free(sites->missing[i].why);
	free(sites->missing);
	free(sites->doubles);
	free(sites->list);
	if (sites->own) {
		for (size_t i = 0; i < sites->own->nlabels; i++)
			free(sites->own->labels[i].text);
		free(sites->own->labels);
		binaries_free(&sites->own->binaries);
		free(sites->own);
	}
	*sites = (struct sites){0};
}
