/* SPDX-License-Identifier: MIT */
/* apis: see apis.h. */
#include "user/apis/apis.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/probes/request.h"
#include "user/probes/resolve.h"
#include "trace/base/log.h"

#define LISTED_MAX 1500 /* bytes of names that are listed as missing */

static int no_memory(void)
{
	log_error("--api: out of memory");
	return -ENOMEM;
}

/* ---- the files ---- */

/* Types of marks mean the same in all API files. */
static int check_marks(const struct apis *apis, const struct api *api)
{
	for (const struct api *other = apis->list; other < api; other++) {
		for (int type = 1; type <= API_MARK_MAX; type++) {
			const struct api_mark *theirs = &other->marks[type];
			const struct api_mark *mark = &api->marks[type];

			if (!theirs->title || !mark->title ||
			    (theirs->single == mark->single && !strcmp(theirs->title, mark->title)))
				continue;
			log_error("%s: line %u: the mark %d is declared otherwise in %s, line %u: "
				  "give one of them another type",
				  api->path, mark->line, type, other->path, theirs->line);
			return -EEXIST;
		}
	}
	return 0;
}

int apis_load(struct apis *apis, const char *const *names, size_t count)
{
	int err = 0;

	*apis = (struct apis){.list = calloc(count + 1, sizeof(*apis->list)), .names = names};
	if (!apis->list)
		return no_memory();
	for (size_t i = 0; i < count && !err; i++) {
		err = api_file_load(&apis->list[i], names[i]);
		if (err)
			break;
		apis->count++;
		err = check_marks(apis, &apis->list[i]);
	}
	if (err)
		apis_free(apis);
	return err;
}

void apis_free(struct apis *apis)
{
	for (size_t i = 0; i < apis->count; i++)
		api_file_free(&apis->list[i]);
	free(apis->list);
	free(apis->origins);
	*apis = (struct apis){0};
}

static const struct api_function *function_at(const struct apis *apis,
					      const struct api_origin *origin)
{
	return &apis->list[origin->api].parts[origin->part].functions[origin->function];
}

/* The origin of the request `index`, or NULL: not from an API file. */
static const struct api_origin *origin_of(const struct apis *apis, uint32_t index)
{
	return index >= apis->first && index - apis->first < apis->norigins
		       ? &apis->origins[index - apis->first]
		       : NULL;
}

/* ---- the programs ---- */

struct program {
	uint32_t pid; /* its executable; 0: */
	char *path;   /* this file */
	dev_t device;
	ino_t inode;
};

struct programs {
	struct program *list;
	size_t count;
};

static bool is_program(int fd, struct stat *st)
{
	char magic[4];

	return !fstat(fd, st) && S_ISREG(st->st_mode) && (st->st_mode & 0111) &&
	       pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, "\177ELF", sizeof(magic));
}

/* Adds the program at `path`, which of the process `pid` is a link to it, unless it is there, or
 * is none. */
static int add_program(struct programs *programs, const char *path, uint32_t pid)
{
	struct program *program = &programs->list[programs->count];
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	bool fine = fd >= 0 && is_program(fd, &st);

	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < programs->count && fine; i++)
		fine = programs->list[i].device != st.st_dev ||
		       programs->list[i].inode != st.st_ino;
	if (!fine)
		return 0;
	*program = (struct program){.pid = pid, .device = st.st_dev, .inode = st.st_ino};
	if (!pid && asprintf(&program->path, "%s%s", strchr(path, '/') ? "" : "./", path) < 0) {
		program->path = NULL;
		return no_memory();
	}
	programs->count++;
	return 0;
}

static void programs_free(struct programs *programs)
{
	for (size_t i = 0; i < programs->count; i++)
		free(programs->list[i].path);
	free(programs->list);
}

static int find_programs(struct programs *programs, const struct resolve_scope *scope)
{
	char **command = scope->command;
	size_t n = scope->npids;
	int err = 0;

	for (char **arg = command; arg && *arg; arg++)
		n++;
	*programs = (struct programs){.list = calloc(n + 1, sizeof(*programs->list))};
	if (!programs->list)
		return no_memory();
	for (size_t i = 0; i < scope->npids && !err; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%u/exe", scope->proc, scope->pids[i]);
		err = add_program(programs, path, scope->pids[i]);
	}
	if (command && *command && !strchr(*command, '/')) {
		/* the resolver looks for it in $PATH */
		programs->list[0].path = strdup(*command++);
		if (!programs->list[0].path)
			err = no_memory();
		else
			programs->count++;
	}
	for (; command && *command && !err; command++)
		err = add_program(programs, *command, 0);
	if (err)
		programs_free(programs);
	return err;
}

/* ---- requests ---- */

/* A condition looks at what the function returns. */
static bool looks_at_return(const struct action *action)
{
	for (unsigned i = 0; i < action->nreturn; i++)
		if (action->at_return[i].when != WHEN_ALWAYS)
			return true;
	return false;
}

static int ask(struct apis *apis, const struct api_origin *origin, const char *binary, uint32_t pid,
	       struct requests *requests)
{
	const struct api_function *function = function_at(apis, origin);
	const struct request request = {
		.kind = REQUEST_FUNCTION,
		.pid = pid,
		.binary = (char *)binary,
		.name = (char *)function->symbols[origin->symbol].text,
		.value.source = looks_at_return(&function->action) ? SITE_RETURN : SITE_NOTHING,
		.optional = true,
	};
	size_t n = apis->norigins;

	if (!(n & (n - 1))) {
		struct api_origin *grown = realloc(apis->origins, (n ? 2 * n : 1) * sizeof(*grown));

		if (!grown)
			return no_memory();
		apis->origins = grown;
	}
	if (requests_add(requests, &request))
		return no_memory();
	apis->origins[apis->norigins++] = *origin;
	return 0;
}

/* All symbols of a part in one file: side by side, so that the resolver looks for it once. */
static int ask_file(struct apis *apis, struct api_origin at, const char *binary, uint32_t pid,
		    struct requests *requests)
{
	const struct api_part *part = &apis->list[at.api].parts[at.part];
	int err = 0;

	for (at.function = 0; at.function < part->nfunctions; at.function++) {
		size_t nsymbols = part->functions[at.function].nsymbols;

		for (at.symbol = 0; at.symbol < nsymbols && !err; at.symbol++, at.number++)
			err = ask(apis, &at, binary, pid, requests);
	}
	return err;
}

static int ask_part(struct apis *apis, const struct api_origin *at, const struct programs *programs,
		    struct requests *requests)
{
	const struct api_part *part = &apis->list[at->api].parts[at->part];
	int err = 0;

	for (size_t i = 0; i < part->nlibraries && !err; i++)
		err = ask_file(apis, *at, part->libraries[i], 0, requests);
	for (size_t i = 0; part->program && i < programs->count && !err; i++)
		err = ask_file(apis, *at, programs->list[i].path, programs->list[i].pid, requests);
	return err;
}

int apis_ask(struct apis *apis, const struct resolve_scope *scope, struct requests *requests)
{
	struct api_origin at = {0};
	struct programs programs;
	int err;

	apis->first = (uint32_t)requests->count;
	if (!apis->count)
		return 0;
	err = find_programs(&programs, scope);
	if (err)
		return err;
	for (at.api = 0; at.api < apis->count && !err; at.api++) {
		const struct api *api = &apis->list[at.api];

		at.number = 0;
		for (at.part = 0; at.part < api->nparts && !err; at.part++) {
			const struct api_part *part = &api->parts[at.part];

			err = ask_part(apis, &at, &programs, requests);
			for (size_t i = 0; i < part->nfunctions; i++)
				at.number += (uint32_t)part->functions[i].nsymbols;
		}
	}
	programs_free(&programs);
	return err;
}

/* ---- sites ---- */

static bool same_function(const struct api_origin *a, const struct api_origin *b)
{
	return a->api == b->api && a->part == b->part && a->function == b->function;
}

/* Is there a site in the same file for a symbol of the same function that goes before? */
static bool is_second(const struct apis *apis, const struct sites *sites, size_t index)
{
	const struct site *site = &sites->list[index];
	const struct api_origin *origin = origin_of(apis, site->request);

	if (!origin || !function_at(apis, origin)->first)
		return false;
	for (size_t i = 0; i < sites->count; i++) {
		const struct site *other = &sites->list[i];
		const struct api_origin *better = origin_of(apis, other->request);

		if (better && other->device == site->device && other->inode == site->inode &&
		    same_function(better, origin) && better->symbol < origin->symbol)
			return true;
	}
	return false;
}

/* Sites have other indices, since some are out: those of the doubles follow. */
static void move_doubles(struct sites *sites, const bool *out)
{
	uint32_t *places = calloc(sites->count + 1, sizeof(*places)), place = 0;
	size_t n = 0;

	for (size_t i = 0; places && i < sites->count; i++) {
		places[i] = place;
		place += !out[i];
	}
	for (size_t i = 0; i < sites->ndoubles; i++) {
		struct resolve_double *d = &sites->doubles[i];

		if (!places || out[d->site])
			continue;
		d->site = places[d->site];
		sites->doubles[n++] = *d;
	}
	sites->ndoubles = n;
	free(places);
}

void apis_choose(const struct apis *apis, struct sites *sites)
{
	bool *out = calloc(sites->count + 1, sizeof(*out));
	size_t n = 0;

	if (!out)
		return;
	for (size_t i = 0; i < sites->count; i++)
		out[i] = is_second(apis, sites, i);
	move_doubles(sites, out);
	for (size_t i = 0; i < sites->count; i++)
		if (!out[i])
			sites->list[n++] = sites->list[i];
	sites->count = n;
	free(out);
}

bool apis_mean(const struct apis *apis, const struct site *site)
{
	return origin_of(apis, site->request) != NULL;
}

static void label(struct effect *effect, const struct site *site)
{
	if (!effect->label && (effect->enter == MARK_PUSH || effect->enter == MARK_SET))
		effect->label = site->label;
}

static struct action action_of(const struct apis *apis, const struct api_origin *origin,
			       const struct site *site)
{
	struct action action = function_at(apis, origin)->action;

	label(&action.during, site);
	for (unsigned j = 0; j < action.nentry; j++)
		label(&action.entry[j].effect, site);
	for (unsigned j = 0; j < action.nreturn; j++)
		label(&action.at_return[j].effect, site);
	return action;
}

/* How many functions of which files get their meaning from which API file. Sites are sorted by
 * file. */
static void tell_files(const struct apis *apis, const struct sites *sites)
{
	for (uint32_t api = 0; api < apis->count; api++) {
		for (size_t i = 0, next; i < sites->count; i = next) {
			const struct site *site = &sites->list[i];
			size_t n = 0;

			for (next = i; next < sites->count; next++) {
				const struct site *other = &sites->list[next];
				const struct api_origin *origin = origin_of(apis, other->request);

				if (other->device != site->device || other->inode != site->inode)
					break;
				n += origin && origin->api == api;
			}
			if (n)
				log_debug("--api %s: %zu functions of %s", apis->names[api], n,
					  site->binary);
		}
	}
}

int apis_act(const struct apis *apis, const struct sites *sites, struct actions *actions)
{
	for (size_t i = 0; i < apis->count; i++) {
		for (int type = 1; type <= API_MARK_MAX; type++) {
			const struct api_mark *mark = &apis->list[i].marks[type];
			int err = 0;

			if (mark->title)
				err = actions_type(actions, type, mark->title, mark->single);
			if (!err)
				continue;
			log_error("%s: line %u: the mark %d is in use", apis->list[i].path,
				  mark->line, type);
			return err;
		}
	}
	for (size_t i = 0; i < sites->count; i++) {
		const struct api_origin *origin = origin_of(apis, sites->list[i].request);
		struct action *action = &actions->list[i];

		if (!origin)
			continue;
		*action = action_of(apis, origin, &sites->list[i]);
	}
	tell_files(apis, sites);
	return 0;
}

/* ---- more than one meaning ---- */

/* Is it another name of the same API file for this site, already handled? */
static bool is_alias(const struct apis *apis, const struct sites *sites, size_t index)
{
	const struct resolve_double *d = &sites->doubles[index];
	const struct api_origin *origin = origin_of(apis, d->request);
	const struct api_origin *winner = origin_of(apis, d->winner);

	if (!origin)
		return !winner; /* two of -u: the resolver has said so */
	if (winner && winner->api == origin->api)
		return true;
	for (size_t i = 0; i < index; i++) {
		const struct resolve_double *before = &sites->doubles[i];
		const struct api_origin *other = origin_of(apis, before->request);

		if (before->site == d->site && other && other->api == origin->api)
			return true;
	}
	return false;
}

/* What the request means at the site, with the value that it wants. 0 or -errno after a message. */
static int meaning(const struct apis *apis, const struct requests *requests, uint32_t index,
		   struct site site, size_t place, struct actions *actions, struct action *action,
		   struct site_value *value)
{
	const struct api_origin *origin = origin_of(apis, index);
	struct action kept = actions->list[place];
	int err;

	*value = requests->list[index].value;
	if (value->source && !value->bytes) {
		value->bytes = sizeof(uint64_t);
		value->is_signed = true;
	}
	if (origin) {
		*action = action_of(apis, origin, &site);
		return 0;
	}
	site.value = *value;
	err = actions_of_site(actions, place, &site);
	*action = actions->list[place];
	actions->list[place] = kept;
	return err;
}

int apis_join(const struct apis *apis, const struct requests *requests, struct sites *sites,
	      struct actions *actions)
{
	for (size_t i = 0; i < sites->ndoubles; i++) {
		struct resolve_double *d = &sites->doubles[i];
		struct site *site = &sites->list[d->site];
		struct site_value value;
		struct action more;
		int err;

		d->joined = is_alias(apis, sites, i);
		if (d->joined)
			continue;
		err = meaning(apis, requests, d->request, *site, d->site, actions, &more, &value);
		if (err)
			return err;
		/* a record brings one value */
		if (value.source && site->value.source &&
		    (value.source != site->value.source || value.number != site->value.number))
			continue;
		d->joined = action_join(&actions->list[d->site], &more);
		if (d->joined && !site->value.source)
			site->value = value;
	}
	return 0;
}

/* ---- what was not found, and what another has ---- */

/* Names of `api` that were not found, into `names`; *found and *missing count. */
struct listing {
	char names[LISTED_MAX];
	size_t used, found, missing, unlisted;
};

static void list(struct listing *l, const char *name)
{
	int n = snprintf(l->names + l->used, sizeof(l->names) - l->used, "%s%s",
			 l->used ? ", " : "", name);

	l->missing++;
	if (n < 0 || (size_t)n >= sizeof(l->names) - l->used) {
		l->names[l->used] = '\0';
		l->unlisted++;
		return;
	}
	l->used += (size_t)n;
}

/* Lists the names of a function that are nowhere. found[i]: there is its symbol i. */
static void list_function(const struct api_function *f, const bool *found, struct listing *l)
{
	for (size_t begin = 0, end; begin < f->nsymbols; begin = end) {
		bool there = false;

		for (end = begin; end < f->nsymbols; end++) {
			if (!f->first && f->symbols[end].name != f->symbols[begin].name)
				break;
			there |= found[end];
		}
		l->found += there;
		if (!there && !strpbrk(f->symbols[begin].text, "*?["))
			list(l, f->symbols[begin].text);
	}
}

/* Of a part of which nothing is there, its files are not: that is no lack. */
static size_t list_part(const struct api_part *part, const bool *found, struct listing *l)
{
	size_t n = 0;
	bool any = false;

	for (size_t i = 0; i < part->nfunctions; i++)
		for (size_t j = 0; j < part->functions[i].nsymbols; j++)
			any |= found[n++];
	n = 0;
	for (size_t i = 0; i < part->nfunctions; i++) {
		if (any)
			list_function(&part->functions[i], found + n, l);
		n += part->functions[i].nsymbols;
	}
	return n;
}

/* By symbol of the API file: was it found? The caller frees it; NULL: out of memory. */
static bool *found_symbols(const struct apis *apis, uint32_t api, const struct sites *sites)
{
	bool *found = calloc(apis->list[api].nsymbols + 1, sizeof(*found));
	bool *missing = calloc(apis->norigins + 1, sizeof(*missing));

	if (!found || !missing) {
		free(found);
		free(missing);
		return NULL;
	}
	for (size_t i = 0; i < sites->nmissing; i++)
		if (origin_of(apis, sites->missing[i].request))
			missing[sites->missing[i].request - apis->first] = true;
	for (size_t i = 0; apis->origins && i < apis->norigins; i++)
		if (apis->origins[i].api == api && !missing[i])
			found[apis->origins[i].number] = true;
	free(missing);
	return found;
}

/* Functions of the API file whose meaning comes from another request. */
static void list_doubles(const struct apis *apis, uint32_t api, const struct sites *sites,
			 struct listing *l)
{
	for (size_t i = 0; i < sites->ndoubles; i++) {
		const struct api_origin *loser = origin_of(apis, sites->doubles[i].request);

		if (loser && loser->api == api && !sites->doubles[i].joined)
			list(l, sites->list[sites->doubles[i].site].label);
	}
}

static void report_api(const struct apis *apis, uint32_t api, const struct sites *sites)
{
	bool *found = found_symbols(apis, api, sites);
	struct listing missing = {.used = 0}, doubles = {.used = 0};
	const char *name = apis->names[api];
	size_t n = 0;

	if (!found) {
		log_warn("--api %s: out of memory (while listing the names not found)", name);
		return;
	}
	for (size_t i = 0; i < apis->list[api].nparts; i++)
		n += list_part(&apis->list[api].parts[i], found + n, &missing);
	free(found);
	list_doubles(apis, api, sites, &doubles);
	if (!missing.found)
		log_warn("--api %s: found none of its functions in the recorded programs and "
			 "libraries",
			 name);
	else if (missing.missing)
		log_info("--api %s: %zu of %zu names were not found: %s%s", name, missing.missing,
			 missing.found + missing.missing, missing.names,
			 missing.unlisted ? ", and more" : "");
	if (doubles.missing)
		log_info("--api %s: %zu of its functions keep the meaning that -u or another API "
			 "file gives them: %s%s",
			 name, doubles.missing, doubles.names,
			 doubles.unlisted ? ", and more" : "");
}

void apis_report(const struct apis *apis, const struct sites *sites)
{
	for (uint32_t api = 0; api < apis->count; api++)
		report_api(apis, api, sites);
}
