/* SPDX-License-Identifier: MIT */
/*
 * api: the runtime maps of a session: from what they name to what is written.
 *
 * In: the names of --map, and whose functions are meant; out: requests for the resolver, one for
 * each symbol and kind of file, none of which must be found; then, of the sites that were found,
 * the actions; at the end, what was not found. Where a map and another request mean the same
 * function, the resolver chooses one (resolve.h): a name before a glob, then what came first; the
 * others join it as far as they do not contradict it.
 * Invariant: a type of marks means the same in all maps of a session.
 * Specification: event-mapping.md "Runtime maps".
 */
#ifndef USER_APIS_API_H
#define USER_APIS_API_H

#include <stddef.h>
#include <stdint.h>

#include "user/apis/api_file.h"

struct requests;
struct resolve_scope;
struct sites;

/* Where a request comes from: indices into the maps. */
struct map_origin {
	uint32_t map, part, function, symbol;
	uint32_t number; /* of the symbol in the whole map */
};

struct maps {
	struct map *list;	  /* count of them, in the order of the command line */
	const char *const *names; /* as they were given */
	size_t count;
	struct map_origin *origins; /* of the requests from `first` on: norigins of them */
	size_t norigins;
	uint32_t first;
};

/* Reads the maps; `names` must outlive them. 0; or -errno after one message, and then there is
 * nothing to free. Actions keep pointing to strings of the maps. */
int maps_load(struct maps *maps, const char *const *names, size_t count)
	__attribute__((warn_unused_result));

/* Appends what the maps ask for. "The programs that are recorded" are those of the processes of
 * the scope and the command, and what of its arguments are programs, too: of `mpirun ./solver` the
 * solver is meant. 0, or -ENOMEM after one message. */
int maps_ask(struct maps *maps, const struct resolve_scope *scope, struct requests *requests)
	__attribute__((warn_unused_result));

/* Takes those sites out that stand for a name of which a better one is in the same file
 * ("first"). To be called before sites get their numbers. */
void maps_choose(const struct maps *maps, struct sites *sites);

/* Declares the marks of the maps, and gives the sites that come from them their actions, which
 * actions_new() has made. 0, or -errno after one message. */
int maps_act(const struct maps *maps, const struct sites *sites, struct actions *actions)
	__attribute__((warn_unused_result));

/* Gives sites that more than one of the maps and -u mean all the meanings that go together: those
 * that share no stack, and do not want different values. Once all sites have their actions. 0, or
 * -errno after one message. */
int maps_join(const struct maps *maps, const struct requests *requests, struct sites *sites,
	      struct actions *actions) __attribute__((warn_unused_result));

/* Does the site come from a map? */
bool maps_mean(const struct maps *maps, const struct site *site);

/* Says once what was not found: a map none of whose files is there, else the names that none of
 * them has; and the functions that are somebody else's. */
void maps_report(const struct maps *maps, const struct sites *sites);

void maps_free(struct maps *maps); /* also of a zeroed struct */

#endif
