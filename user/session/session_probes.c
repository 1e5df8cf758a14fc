/* SPDX-License-Identifier: MIT */
/* session_probes: see session_probes.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/probes/attach.h"
#include "user/session/session_probes.h"
#include "user/config/config.h"
#include "trace/base/log.h"

/*
 * Where probes are put: with a target whose children are not followed only into its processes, so
 * that no other has any cost; else wherever the file is mapped, and the programs ask who it is.
 */
static void choose_scope(const struct options *o, struct attach_options *attach)
{
	if (o->follow || o->all || o->threads || o->command)
		return;
	attach->pids = o->pids;
	attach->npids = o->npids;
}

static int no_memory(void)
{
	log_no_memory("for the probes");
	return -ENOMEM;
}

static int make_actions(struct probes *probes)
{
	int err;

	if (actions_new(&probes->actions, probes->sites.count))
		return no_memory();
	/* The APIs first: their marks have the types that they declare, those of values any other.
	 */
	err = apis_act(&probes->apis, &probes->sites, &probes->actions);
	for (size_t i = 0; i < probes->sites.count && !err; i++)
		if (!apis_mean(&probes->apis, &probes->sites.list[i]))
			err = actions_of_site(&probes->actions, i, &probes->sites.list[i]);
	if (!err)
		err = apis_join(&probes->apis, &probes->requests, &probes->sites, &probes->actions);
	if (err)
		return err;
	return actions_finish(&probes->actions) ? no_memory() : 0;
}

static int ask(struct probes *probes, const struct options *o, const struct resolve_scope *scope)
{
	int err = apis_load(&probes->apis, o->apis, o->napis);

	for (size_t i = 0; i < o->probes->count && !err; i++) {
		if (requests_add(&probes->requests, &o->probes->list[i]))
			err = no_memory();
	}
	return err ? err : apis_ask(&probes->apis, scope, &probes->requests);
}

int probes_open(struct probes *probes, const struct options *o)
{
	const struct resolve_scope scope = {
		.pids = o->pids,
		.npids = o->npids,
		.command = o->command,
		.all = o->all,
		.proc = "/proc",
		.root = "",
	};
	struct attach_options attach = {
		.kind = o->attach,
		.unsafe_nop5 = o->unsafe_nop5,
		.unsafe_returns = o->unsafe_returns,
		.no_returns = o->no_returns,
	};
	int err = ask(probes, o, &scope);

	if (!err && probes->requests.count)
		err = resolve_sites(&probes->sites, &probes->requests, &scope);
	if (err)
		return err;
	apis_choose(&probes->apis, &probes->sites);
	if (!probes->sites.count)
		return 0;
	err = make_actions(probes);
	if (err)
		return err;
	choose_scope(o, &attach);
	probes->attach =
		attach_plan(probes->sites.list, probes->sites.count, &probes->actions, &attach);
	if (!probes->attach)
		return -EINVAL;
	probes->calls = (struct calls_plan){
		.actions = &probes->actions,
		.sites = probes->sites.list,
		.sampled = o->max_rate || o->one_of > 1,
	};
	probes->sum = calls_new(&probes->calls);
	if (!probes->sum)
		log_no_memory("for the probes");
	return probes->sum ? 0 : -ENOMEM;
}

void probes_close(struct probes *probes)
{
	attach_free(probes->attach);
	calls_free(probes->sum);
	actions_free(&probes->actions);
	resolve_free(&probes->sites);
	requests_free(&probes->requests);
	apis_free(&probes->apis);
	memset(probes, 0, sizeof(*probes));
}
