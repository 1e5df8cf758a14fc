/* SPDX-License-Identifier: MIT */
/* api: see api.h. */
#include "user/apis/api.h"

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
	log_error("--map: no memory");
	return -ENOMEM;
}

/* ---- the maps ---- */

/* Types of marks mean the same in all maps. */
static int check_marks(const struct maps *maps, const struct map *map)
{
	for (const struct map *other = maps->list; other < map; other++) {
		for (size_t i = 0; i < other->nmarks * map->nmarks; i++) {
			const struct map_mark *theirs = &other->marks[i / map->nmarks];
			const struct map_mark *mark = &map->marks[i % map->nmarks];

			if (theirs->type != mark->type ||
			    (theirs->single == mark->single && !strcmp(theirs->title, mark->title)))
				continue;
			log_error("%s: line %u: the mark %d is declared otherwise in %s, line %u: "
				  "give one of them another type",
				  map->path, mark->line, mark->type, other->path, theirs->line);
			return -EEXIST;
		}
	}
	return 0;
}

int maps_load(struct maps *maps, const char *const *names, size_t count)
{
	int err = 0;

	*maps = (struct maps){.list = calloc(count + 1, sizeof(*maps->list)), .names = names};
	if (!maps->list)
		return no_memory();
	for (size_t i = 0; i < count && !err; i++) {
		err = map_load(&maps->list[i], names[i]);
		if (err)
			break;
		maps->count++;
		err = check_marks(maps, &maps->list[i]);
	}
	if (err)
		maps_free(maps);
	return err;
}

void maps_free(struct maps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		map_free(&maps->list[i]);
	free(maps->list);
	free(maps->origins);
	*maps = (struct maps){0};
}

static const struct map_function *function_at(const struct maps *maps,
					      const struct map_origin *origin)
{
	return &maps->list[origin->map].parts[origin->part].functions[origin->function];
}

/* Where the request `index` comes from, or NULL: not from a map. */
static const struct map_origin *origin_of(const struct maps *maps, uint32_t index)
{
	return index >= maps->first && index - maps->first < maps->norigins
		       ? &maps->origins[index - maps->first]
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

static int ask(struct maps *maps, const struct map_origin *origin, const char *binary, uint32_t pid,
	       struct requests *requests)
{
	const struct map_function *function = function_at(maps, origin);
	const struct request request = {
		.kind = REQUEST_FUNCTION,
		.pid = pid,
		.binary = (char *)binary,
		.name = (char *)function->symbols[origin->symbol].text,
		.value.source = looks_at_return(&function->action) ? SITE_RETURN : SITE_NOTHING,
		.optional = true,
	};
	size_t n = maps->norigins;

	if (!(n & (n - 1))) {
		struct map_origin *grown = realloc(maps->origins, (n ? 2 * n : 1) * sizeof(*grown));

		if (!grown)
			return no_memory();
		maps->origins = grown;
	}
	if (requests_add(requests, &request))
		return no_memory();
	maps->origins[maps->norigins++] = *origin;
	return 0;
}

/* All symbols of a part in one file: side by side, so that the resolver looks for it once. */
static int ask_file(struct maps *maps, struct map_origin at, const char *binary, uint32_t pid,
		    struct requests *requests)
{
	const struct map_part *part = &maps->list[at.map].parts[at.part];
	int err = 0;

	for (at.function = 0; at.function < part->nfunctions; at.function++) {
		size_t nsymbols = part->functions[at.function].nsymbols;

		for (at.symbol = 0; at.symbol < nsymbols && !err; at.symbol++, at.number++)
			err = ask(maps, &at, binary, pid, requests);
	}
	return err;
}

static int ask_part(struct maps *maps, const struct map_origin *at, const struct programs *programs,
		    struct requests *requests)
{
	const struct map_part *part = &maps->list[at->map].parts[at->part];
	int err = 0;

	for (size_t i = 0; i < part->nlibraries && !err; i++)
		err = ask_file(maps, *at, part->libraries[i], 0, requests);
	for (size_t i = 0; part->program && i < programs->count && !err; i++)
		err = ask_file(maps, *at, programs->list[i].path, programs->list[i].pid, requests);
	return err;
}

int maps_ask(struct maps *maps, const struct resolve_scope *scope, struct requests *requests)
{
	struct map_origin at = {0};
	struct programs programs;
	int err;

	maps->first = (uint32_t)requests->count;
	if (!maps->count)
		return 0;
	err = find_programs(&programs, scope);
	if (err)
		return err;
	for (at.map = 0; at.map < maps->count && !err; at.map++) {
		const struct map *map = &maps->list[at.map];

		at.number = 0;
		for (at.part = 0; at.part < map->nparts && !err; at.part++) {
			const struct map_part *part = &map->parts[at.part];

			err = ask_part(maps, &at, &programs, requests);
			for (size_t i = 0; i < part->nfunctions; i++)
				at.number += (uint32_t)part->functions[i].nsymbols;
		}
	}
	programs_free(&programs);
	return err;
}

/* ---- sites ---- */

static bool same_function(const struct map_origin *a, const struct map_origin *b)
{
	return a->map == b->map && a->part == b->part && a->function == b->function;
}

/* Is there a site in the same file for a symbol of the same function that goes before? */
static bool is_second(const struct maps *maps, const struct sites *sites, size_t index)
{
	const struct site *site = &sites->list[index];
	const struct map_origin *origin = origin_of(maps, site->request);

	if (!origin || !function_at(maps, origin)->first)
		return false;
	for (size_t i = 0; i < sites->count; i++) {
		const struct site *other = &sites->list[i];
		const struct map_origin *better = origin_of(maps, other->request);

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

void maps_choose(const struct maps *maps, struct sites *sites)
{
	bool *out = calloc(sites->count + 1, sizeof(*out));
	size_t n = 0;

	if (!out)
		return;
	for (size_t i = 0; i < sites->count; i++)
		out[i] = is_second(maps, sites, i);
	move_doubles(sites, out);
	for (size_t i = 0; i < sites->count; i++)
		if (!out[i])
			sites->list[n++] = sites->list[i];
	sites->count = n;
	free(out);
}

bool maps_mean(const struct maps *maps, const struct site *site)
{
	return origin_of(maps, site->request) != NULL;
}

static void label(struct effect *effect, const struct site *site)
{
	if (!effect->label && (effect->enter == MARK_PUSH || effect->enter == MARK_SET))
		effect->label = site->label;
}

static struct action action_of(const struct maps *maps, const struct map_origin *origin,
			       const struct site *site)
{
	struct action action = function_at(maps, origin)->action;

	label(&action.during, site);
	for (unsigned j = 0; j < action.nentry; j++)
		label(&action.entry[j].effect, site);
	for (unsigned j = 0; j < action.nreturn; j++)
		label(&action.at_return[j].effect, site);
	return action;
}

/* How many functions of which files have their meaning from which map. Sites are sorted by file. */
static void tell_files(const struct maps *maps, const struct sites *sites)
{
	for (uint32_t map = 0; map < maps->count; map++) {
		for (size_t i = 0, next; i < sites->count; i = next) {
			const struct site *site = &sites->list[i];
			size_t n = 0;

			for (next = i; next < sites->count; next++) {
				const struct site *other = &sites->list[next];
				const struct map_origin *origin = origin_of(maps, other->request);

				if (other->device != site->device || other->inode != site->inode)
					break;
				n += origin && origin->map == map;
			}
			if (n)
				log_debug("--map %s: %zu functions of %s", maps->names[map], n,
					  site->binary);
		}
	}
}

int maps_act(const struct maps *maps, const struct sites *sites, struct actions *actions)
{
	for (size_t i = 0; i < maps->count; i++) {
		for (size_t j = 0; j < maps->list[i].nmarks; j++) {
			const struct map_mark *mark = &maps->list[i].marks[j];
			int err = actions_type(actions, mark->type, mark->title, mark->single);

			if (err == -EEXIST)
				log_error("%s: line %u: the mark %d is in use", maps->list[i].path,
					  mark->line, mark->type);
			if (err)
				return err == -EEXIST ? err : no_memory();
		}
	}
	for (size_t i = 0; i < sites->count; i++) {
		const struct map_origin *origin = origin_of(maps, sites->list[i].request);
		struct action *action = &actions->list[i];

		if (!origin)
			continue;
		*action = action_of(maps, origin, &sites->list[i]);
	}
	tell_files(maps, sites);
	return 0;
}

/* ---- more than one meaning ---- */

/* Another name of the same map for this site, which has been looked at before. */
static bool is_alias(const struct maps *maps, const struct sites *sites, size_t index)
{
	const struct resolve_double *d = &sites->doubles[index];
	const struct map_origin *origin = origin_of(maps, d->request);
	const struct map_origin *winner = origin_of(maps, d->winner);

	if (!origin)
		return !winner; /* two of -u: the resolver has said so */
	if (winner && winner->map == origin->map)
		return true;
	for (size_t i = 0; i < index; i++) {
		const struct resolve_double *before = &sites->doubles[i];
		const struct map_origin *other = origin_of(maps, before->request);

		if (before->site == d->site && other && other->map == origin->map)
			return true;
	}
	return false;
}

/* What the request means at the site, with the value that it wants. 0 or -errno after a message. */
static int meaning(const struct maps *maps, const struct requests *requests, uint32_t index,
		   struct site site, size_t place, struct actions *actions, struct action *action,
		   struct site_value *value)
{
	const struct map_origin *origin = origin_of(maps, index);
	struct action kept = actions->list[place];
	int err;

	*value = requests->list[index].value;
	if (value->source && !value->bytes) {
		value->bytes = sizeof(uint64_t);
		value->is_signed = true;
	}
	if (origin) {
		*action = action_of(maps, origin, &site);
		return 0;
	}
	site.value = *value;
	err = actions_of_site(actions, place, &site);
	*action = actions->list[place];
	actions->list[place] = kept;
	return err;
}

int maps_join(const struct maps *maps, const struct requests *requests, struct sites *sites,
	      struct actions *actions)
{
	for (size_t i = 0; i < sites->ndoubles; i++) {
		struct resolve_double *d = &sites->doubles[i];
		struct site *site = &sites->list[d->site];
		struct site_value value;
		struct action more;
		int err;

		d->joined = is_alias(maps, sites, i);
		if (d->joined)
			continue;
		err = meaning(maps, requests, d->request, *site, d->site, actions, &more, &value);
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

/* Names of `map` that were not found, into `names`; *found and *missing count. */
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
static void list_function(const struct map_function *f, const bool *found, struct listing *l)
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
static size_t list_part(const struct map_part *part, const bool *found, struct listing *l)
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

/* By symbol of the map: is there something that it names? To be freed; NULL without memory. */
static bool *found_symbols(const struct maps *maps, uint32_t map, const struct sites *sites)
{
	bool *found = calloc(maps->list[map].nsymbols + 1, sizeof(*found));
	bool *missing = calloc(maps->norigins + 1, sizeof(*missing));

	if (!found || !missing) {
		free(found);
		free(missing);
		return NULL;
	}
	for (size_t i = 0; i < sites->nmissing; i++)
		if (origin_of(maps, sites->missing[i].request))
			missing[sites->missing[i].request - maps->first] = true;
	for (size_t i = 0; maps->origins && i < maps->norigins; i++)
		if (maps->origins[i].map == map && !missing[i])
			found[maps->origins[i].number] = true;
	free(missing);
	return found;
}

/* Functions of the map to which another request gives the meaning. */
static void list_doubles(const struct maps *maps, uint32_t map, const struct sites *sites,
			 struct listing *l)
{
	for (size_t i = 0; i < sites->ndoubles; i++) {
		const struct map_origin *loser = origin_of(maps, sites->doubles[i].request);

		if (loser && loser->map == map && !sites->doubles[i].joined)
			list(l, sites->list[sites->doubles[i].site].label);
	}
}

static void report_map(const struct maps *maps, uint32_t map, const struct sites *sites)
{
	bool *found = found_symbols(maps, map, sites);
	struct listing missing = {.used = 0}, doubles = {.used = 0};
	const char *name = maps->names[map];
	size_t n = 0;

	if (!found) {
		log_warn("--map %s: no memory to tell what was not found", name);
		return;
	}
	for (size_t i = 0; i < maps->list[map].nparts; i++)
		n += list_part(&maps->list[map].parts[i], found + n, &missing);
	free(found);
	list_doubles(maps, map, sites, &doubles);
	if (!missing.found)
		log_warn("--map %s: nothing of it was found: its libraries are not those that are "
			 "recorded",
			 name);
	else if (missing.missing)
		log_info("--map %s: %zu of %zu names were not found: %s%s", name, missing.missing,
			 missing.found + missing.missing, missing.names,
			 missing.unlisted ? ", and more" : "");
	if (doubles.missing)
		log_info("--map %s: %zu of its functions keep the meaning that -u or another map "
			 "gives them: %s%s",
			 name, doubles.missing, doubles.names,
			 doubles.unlisted ? ", and more" : "");
}

void maps_report(const struct maps *maps, const struct sites *sites)
{
	for (uint32_t map = 0; map < maps->count; map++)
		report_map(maps, map, sites);
}
