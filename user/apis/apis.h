/* SPDX-License-Identifier: MIT */
/*
 * apis: the API files of a session: from the functions they name to the written events.
 *
 * In: the names of --api, and the recorded programs; out: optional requests for the resolver, one
 * for each symbol and kind of file; then the actions of the sites found; at the end, a report of
 * the names not found. Where an API file and another request name the same function, the resolver
 * chooses one (resolve.h): a name before a glob, then the earlier one; the others join it as far as
 * they do not contradict it.
 * Invariant: a type of marks means the same in all API files of a session.
 * Specification: event-mapping.md "Library APIs".
 */
#ifndef USER_APIS_API_H
#define USER_APIS_API_H

#include <stddef.h>
#include <stdint.h>

#include "user/apis/api_file.h"

struct requests;
struct resolve_scope;
struct sites;

/* The origin of a request. */
struct api_origin {
	uint32_t api; /* index */
	const struct api_symbol *symbol;
};

struct apis {
	struct api *list;	  /* count of them, in the order of the command line */
	const char *const *names; /* as given */
	size_t count;
	struct api_origin *origins; /* of the requests from `first` on: norigins of them */
	size_t norigins;
	uint32_t first;
};

/* Reads the API files; `names` must outlive them. 0; or -errno after one message, with nothing to
 * free. Actions keep pointing to strings of the files. */
int apis_load(struct apis *apis, const char *const *names, size_t count)
	__attribute__((warn_unused_result));

/* Appends the requests of the API files. The recorded programs are the executables of the processes
 * in the scope, the command, and the programs among its arguments: the solver of `mpirun ./solver`.
 * 0, or -ENOMEM after one message. */
int apis_add_requests(struct apis *apis, const struct resolve_scope *scope,
		      struct requests *requests) __attribute__((warn_unused_result));

/* Removes the sites of a name for which the same file has a better one ("first"). Call it before
 * sites get their numbers. 0, or -ENOMEM after one message. */
int apis_choose(const struct apis *apis, struct sites *sites) __attribute__((warn_unused_result));

/* Declares the marks of the API files, and sets the actions of their sites, which actions_new()
 * has allocated. 0, or -errno after one message. */
int apis_act(const struct apis *apis, const struct sites *sites, struct actions *actions)
	__attribute__((warn_unused_result));

/* Gives a site that several API files or -u name all meanings that are compatible: they share no
 * stack and read the same value. Call it when all sites have their actions. 0, or -errno after one
 * message. */
int apis_join(const struct apis *apis, const struct requests *requests, struct sites *sites,
	      struct actions *actions) __attribute__((warn_unused_result));

/* Does the site come from an API file? */
bool apis_mean(const struct apis *apis, const struct site *site);

/* Reports once the names not found: an API file none of whose libraries is there, or the names that
 * no library has; and the functions whose meaning comes from another request. */
void apis_report(const struct apis *apis, const struct sites *sites);

void apis_free(struct apis *apis); /* also of a zeroed struct */

#endif
