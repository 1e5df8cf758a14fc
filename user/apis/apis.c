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
#include "user/probes/site_value.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define LISTED_MAX 1500 /* bytes of names that are listed as missing */

static int no_memory(void)
{
	return log_no_memory("for --api");
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
	int err;

	*apis = (struct apis){.list = calloc(count + 1, sizeof(*apis->list)), .names = names};
	if (!apis->list)
		return no_memory();
	for (size_t i = 0; i < count; i++) {
		err = api_file_load(&apis->list[i], names[i]);
		if (err)
			goto fail;
		apis->count++;
		err = check_marks(apis, &apis->list[i]);
		if (err)
			goto fail;
	}
	return 0;
fail:
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

static void programs_free(struct programs *programs)
{
	for (size_t i = 0; i < programs->count; i++)
		free(programs->list[i].path);
	free(programs->list);
}

static bool is_program(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char magic[4];
	bool result = fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode) && (st->st_mode & 0111) &&
		      pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
		      !memcmp(magic, "\177ELF", sizeof(magic));

	if (fd >= 0)
		close(fd);
	return result;
}

/* Takes the path. */
static int add_program(struct programs *programs, struct program program)
{
	struct program *added = NULL;

	if (program.pid || program.path)
		added = ARRAY_ADD(programs->list, programs->count);
	if (!added) {
		free(program.path);
		return no_memory();
	}
	*added = program;
	return 0;
}

/* Adds the file at `path`, the executable of `pid`, or (0) an argument of the command, unless it is
 * there or is no program. */
static int add_file(struct programs *programs, const char *path, uint32_t pid)
{
	struct program program = {.pid = pid};
	struct stat st;

	if (!is_program(path, &st))
		return 0;
	for (size_t i = 0; i < programs->count; i++)
		if (programs->list[i].device == st.st_dev && programs->list[i].inode == st.st_ino)
			return 0;
	program.device = st.st_dev;
	program.inode = st.st_ino;
	if (!pid)
		program.path = xasprintf("%s%s", strchr(path, '/') ? "" : "./", path);
	return add_program(programs, program);
}

static int find_programs(struct programs *programs, const struct resolve_scope *scope)
{
	char **command = scope->command, path[64];
	int err;

	for (size_t i = 0; i < scope->npids; i++) {
		snprintf(path, sizeof(path), "%s/%u/exe", scope->proc, scope->pids[i]);
		err = add_file(programs, path, scope->pids[i]);
		if (err)
			return err;
	}
	if (command && *command && !strchr(*command, '/')) {
		/* the resolver looks for it in $PATH */
		err = add_program(programs, (struct program){.path = strdup(*command++)});
		if (err)
			return err;
	}
	for (; command && *command; command++) {
		err = add_file(programs, *command, 0);
		if (err)
			return err;
	}
	return 0;
}

/* ---- requests ---- */

static int add_request(struct apis *apis, struct api_origin origin, const char *binary,
		       uint32_t pid, struct requests *requests)
{
	struct request request = {
		.kind = REQUEST_FUNCTION,
		.pid = pid,
		.binary = (char *)binary,
		.name = origin.symbol->text,
		.optional = true,
	};
	struct api_origin *added = ARRAY_ADD(apis->origins, apis->norigins);

	memcpy(request.values, origin.symbol->function->values, sizeof(request.values));

	if (!added || requests_add(requests, &request))
		return no_memory();
	*added = origin;
	return 0;
}

/* All symbols of a part in one file: side by side, so that the resolver looks for it once. */
static int add_file_requests(struct apis *apis, uint32_t api, const struct api_part *part,
			     const char *binary, uint32_t pid, struct requests *requests)
{
	int err;

	for (size_t i = 0; i < part->nsymbols; i++) {
		err = add_request(apis, (struct api_origin){api, &part->symbols[i]}, binary, pid,
				  requests);
		if (err)
			return err;
	}
	return 0;
}

static int add_part_requests(struct apis *apis, uint32_t api, const struct api_part *part,
			     const struct programs *programs, struct requests *requests)
{
	int err;

	for (size_t i = 0; i < part->nlibraries; i++) {
		err = add_file_requests(apis, api, part, part->libraries[i], 0, requests);
		if (err)
			return err;
	}
	for (size_t i = 0; part->program && i < programs->count; i++) {
		const struct program *program = &programs->list[i];

		err = add_file_requests(apis, api, part, program->path, program->pid, requests);
		if (err)
			return err;
	}
	return 0;
}

int apis_add_requests(struct apis *apis, const struct resolve_scope *scope,
		      struct requests *requests)
{
	struct programs programs = {0};
	int err;

	apis->first = (uint32_t)requests->count;
	if (!apis->count)
		return 0;
	err = find_programs(&programs, scope);
	if (err)
		goto out;
	for (uint32_t api = 0; api < apis->count; api++) {
		for (size_t part = 0; part < apis->list[api].nparts; part++) {
			err = add_part_requests(apis, api, &apis->list[api].parts[part], &programs,
						requests);
			if (err)
				goto out;
		}
	}
out:
	programs_free(&programs);
	return err;
}

/* ---- sites ---- */

/* Is there a site in the same file for a symbol of the same function that goes before? */
static bool is_second(const struct apis *apis, const struct sites *sites, size_t index)
{
	const struct site *site = &sites->list[index];
	const struct api_origin *origin = origin_of(apis, site->request);

	if (!origin || !origin->symbol->function->first)
		return false;
	for (size_t i = 0; i < sites->count; i++) {
		const struct site *other = &sites->list[i];
		const struct api_origin *better = origin_of(apis, other->request);

		if (better && other->device == site->device && other->inode == site->inode &&
		    better->symbol->function == origin->symbol->function &&
		    better->symbol < origin->symbol)
			return true;
	}
	return false;
}

int apis_choose(const struct apis *apis, struct sites *sites)
{
	uint32_t *moved = calloc(sites->count + 1, sizeof(*moved)); /* new index + 1; 0: removed */
	uint32_t count = 0;
	size_t ndoubles = 0;

	if (!moved)
		return no_memory();
	for (size_t i = 0; i < sites->count; i++)
		if (!is_second(apis, sites, i))
			moved[i] = ++count;
	for (size_t i = 0; i < sites->count; i++)
		if (moved[i])
			sites->list[moved[i] - 1] = sites->list[i];
	sites->count = count;
	for (size_t i = 0; i < sites->ndoubles; i++) {
		struct resolve_double d = sites->doubles[i];

		if (!moved[d.site])
			continue;
		d.site = moved[d.site] - 1;
		sites->doubles[ndoubles++] = d;
	}
	sites->ndoubles = ndoubles;
	free(moved);
	return 0;
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

static struct action action_of(const struct api_origin *origin, const struct site *site)
{
	struct action action = origin->symbol->function->action;

	label(&action.during, site);
	for (unsigned j = 0; j < action.nentry; j++)
		if (action.entry[j].kind != STEP_VALUE)
			label(&action.entry[j].effect, site);
	for (unsigned j = 0; j < action.nreturn; j++)
		if (action.at_return[j].kind != STEP_VALUE)
			label(&action.at_return[j].effect, site);
	return action;
}

/* How many functions of which files get their meaning from which API file. Sites are sorted by
 * file. */
static void log_files(const struct apis *apis, const struct sites *sites)
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
		*action = action_of(origin, &sites->list[i]);
		/* its own request has brought its values */
		action_bind(action, &sites->list[i]);
	}
	log_files(apis, sites);
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

/* The action of the request at the site. 0 or -errno after a message. */
static int find_meaning(const struct apis *apis, const struct requests *requests, uint32_t index,
			struct site site, size_t place, struct actions *actions,
			struct action *action)
{
	const struct api_origin *origin = origin_of(apis, index);
	struct action kept = actions->list[place];
	int err;

	if (origin) {
		*action = action_of(origin, &site);
		return 0;
	}
	memcpy(site.values, requests->list[index].values, sizeof(site.values));
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
		struct site joined = *site;
		struct action more;
		int err;

		d->joined = is_alias(apis, sites, i);
		if (d->joined)
			continue;
		err = find_meaning(apis, requests, d->request, *site, d->site, actions, &more);
		if (err)
			return err;
		d->joined =
			action_bind(&more, &joined) && action_join(&actions->list[d->site], &more);
		if (!d->joined)
			continue;
		for (unsigned k = 0; k < site_values_count(joined.values); k++) {
			if (joined.values[k].bytes)
				continue;
			joined.values[k].bytes = sizeof(uint64_t);
			joined.values[k].is_signed = true;
		}
		memcpy(site->values, joined.values, sizeof(site->values));
	}
	return 0;
}

/* ---- missing names, and functions with another meaning ---- */

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

/* Lists the names of a function that were not found. found[i]: its symbol i was. */
static void list_function(const struct api_function *f, const bool *found, struct listing *l)
{
	for (size_t begin = 0, end; begin < f->nsymbols; begin = end) {
		bool any = false;

		for (end = begin; end < f->nsymbols; end++) {
			if (!f->first && f->symbols[end].name != f->symbols[begin].name)
				break;
			any |= found[end];
		}
		l->found += any;
		if (!any && !strpbrk(f->symbols[begin].text, "*?["))
			list(l, f->symbols[begin].text);
	}
}

/* A part none of whose symbols was found has no files here, which is not reported. */
static void list_part(const struct api *api, const struct api_part *part, const bool *found,
		      struct listing *l)
{
	if (!memchr(found + (part->symbols - api->symbols), true, part->nsymbols))
		return;
	for (size_t i = 0; i < part->nfunctions; i++)
		list_function(&part->functions[i],
			      found + (part->functions[i].symbols - api->symbols), l);
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
	for (size_t i = 0; i < apis->norigins; i++)
		if (apis->origins[i].api == api && !missing[i])
			found[apis->origins[i].symbol - apis->list[api].symbols] = true;
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

	if (!found) {
		log_lack("while listing the names that --api %s did not find", name);
		return;
	}
	for (size_t i = 0; i < apis->list[api].nparts; i++)
		list_part(&apis->list[api], &apis->list[api].parts[i], found, &missing);
	free(found);
	list_doubles(apis, api, sites, &doubles);
	if (!missing.found)
		log_warn("--api %s: found none of its functions in the recorded programs and "
			 "libraries",
			 name);
	else if (missing.missing)
		log_info("--api %s: %zu of %zu names %s not found: %s%s", name, missing.missing,
			 missing.found + missing.missing, plural(missing.missing, "was", "were"),
			 missing.names, missing.unlisted ? ", and more" : "");
	if (doubles.missing)
		log_info("--api %s: %zu of its functions %s the meaning that -u or another API "
			 "file gives %s: %s%s",
			 name, doubles.missing, plural(doubles.missing, "keeps", "keep"),
			 plural(doubles.missing, "it", "them"), doubles.names,
			 doubles.unlisted ? ", and more" : "");
}

void apis_report(const struct apis *apis, const struct sites *sites)
{
	for (uint32_t api = 0; api < apis->count; api++)
		report_api(apis, api, sites);
}
