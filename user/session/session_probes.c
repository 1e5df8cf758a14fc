/* SPDX-License-Identifier: MIT */
/* session_probes: see session_probes.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/probes/attach.h"
#include "bpf/state.h"
#include "user/session/session_probes.h"
#include "user/config/config.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define ROWS  20
#define NAMED 5 /* functions named in one line */

static int no_memory(void)
{
	return log_no_memory("for the probes");
}

static int make_actions(struct probes *probes)
{
	int err;

	if (actions_new(&probes->actions, probes->sites.count))
		return no_memory();
	/* The APIs first: their marks have the types that they declare, marks of values get other
	 * types. / */
	err = apis_act(&probes->apis, &probes->sites, &probes->actions);
	if (err)
		return err;
	for (size_t i = 0; i < probes->sites.count; i++) {
		if (apis_mean(&probes->apis, &probes->sites.list[i]))
			continue;
		err = actions_of_site(&probes->actions, i, &probes->sites.list[i]);
		if (err)
			return err;
	}
	err = apis_join(&probes->apis, &probes->requests, &probes->sites, &probes->actions);
	if (err)
		return err;
	return actions_finish(&probes->actions) ? no_memory() : 0;
}

static int add_requests(struct probes *probes, const struct options *o,
			const struct resolve_scope *scope)
{
	int err = apis_load(&probes->apis, o->apis, o->napis);

	if (err)
		return err;
	for (size_t i = 0; i < o->probes->count; i++)
		if (requests_add(&probes->requests, &o->probes->list[i]))
			return no_memory();
	return apis_add_requests(&probes->apis, scope, &probes->requests);
}

int probes_find(struct probes *probes, const struct options *o)
{
	const struct resolve_scope scope = {
		.pids = o->pids,
		.npids = o->npids,
		.command = o->command,
		.all = o->all,
		.proc = "/proc",
		.root = "",
	};
	int err = add_requests(probes, o, &scope);

	if (!err && probes->requests.count)
		err = resolve_sites(&probes->sites, &probes->requests, &scope);
	if (err)
		return err;
	err = apis_choose(&probes->apis, &probes->sites);
	if (err || !probes->sites.count)
		return err;
	return make_actions(probes);
}

int probes_plan(struct probes *probes, const struct options *o)
{
	if (!probes->sites.count)
		return 0;
	probes->attach = attach_plan(probes->sites.list, probes->sites.count, &probes->actions, o);
	if (!probes->attach)
		return -EINVAL;
	probes->calls = (struct calls_plan){
		.actions = &probes->actions,
		.sites = probes->sites.list,
		.sampled = o->max_rate || o->one_of > 1,
	};
	probes->sum = calls_new(&probes->calls);
	return probes->sum ? 0 : no_memory();
}

/* ---- the table of functions at the end of a recording ---- */

/*
 *   ovni-bpf:      calls    calls/s   in it [ms]   on CPU [ms]   off CPU [ms]  cost   function
 *   ovni-bpf:        400    18604.7       12.412        11.900          0.512   3 %   solve
 *
 * Times are sums over the outermost calls of all threads. The cost is the estimated time of the
 * probes of the function, as a share of the CPU time of the recorded threads.
 */
static int by_time(const void *x, const void *y, void *arg)
{
	const struct call_figures *figures = arg;
	const struct call_figures *a = &figures[*(const size_t *)x],
				  *b = &figures[*(const size_t *)y];

	if (a->wall_ns != b->wall_ns)
		return a->wall_ns < b->wall_ns ? 1 : -1;
	return (a->calls < b->calls) - (a->calls > b->calls);
}

static void print_row(const struct probes *probes, size_t site, uint64_t window_ns)
{
	const struct call_figures *f = &probes->sum->figures[site];
	const struct site *of = &probes->sites.list[site];
	double rate = window_ns ? (double)f->calls * 1e9 / (double)window_ns : 0;
	double cost = (double)(f->calls * attach_cost_ns(probes->attach, site));
	double share = probes->sum->thread_ns ? cost / (double)probes->sum->thread_ns : 0;
	bool timed = of->kind == SITE_FUNCTION && probes->actions.list[site].has_during;

	if (timed)
		log_report("%10" PRIu64 " %10.1f %12.3f %12.3f %12.3f  %3.0f %%  %s", f->calls,
			   rate, (double)f->wall_ns / 1e6, (double)f->on_cpu_ns / 1e6,
			   (double)(f->wall_ns - f->on_cpu_ns) / 1e6, 100 * (share < 1 ? share : 1),
			   of->label);
	else
		log_report("%10" PRIu64 " %10.1f %12s %12s %12s  %3.0f %%  %s", f->calls, rate, "-",
			   "-", "-", 100 * (share < 1 ? share : 1), of->label);
}

static void print_table(const struct probes *probes, uint64_t window_ns, bool all)
{
	size_t n = 0, probed = 0, *order = calloc(probes->sites.count, sizeof(*order));

	if (!order)
		return;
	for (size_t i = 0; i < probes->sites.count; i++) {
		if (probes->sum->figures[i].calls)
			order[n++] = i;
		probed += probes->sum->figures[i].calls || !attach_is_refused(probes->attach, i);
	}
	qsort_r(order, n, sizeof(*order), by_time, probes->sum->figures);
	if (n)
		log_report("%10s %10s %12s %12s %12s  %5s  %s", "calls", "calls/s", "in it [ms]",
			   "on CPU [ms]", "off CPU [ms]", "cost", "function");
	for (size_t i = 0; i < n && (all || i < ROWS); i++)
		print_row(probes, order[i], window_ns);
	if (n > ROWS && !all)
		log_report("... and %zu more (-v shows all)", n - ROWS);
	if (n < probed)
		log_report("never called: %zu of %zu", probed - n, probed);
	free(order);
}

/* One line about calls or returns that the trace lacks; none if there are none. */
static void print_count(uint64_t count, const char *noun, const char *was, const char *were,
			const char *what)
{
	if (count)
		log_report("%" PRIu64 " %s%s%s%s", count, noun, plural(count, "", "s"),
			   plural(count, was, were), what);
}

/* Lists the called functions whose probes are single-stepped. */
static void print_slow(const struct probes *probes)
{
	char names[512] = "";
	size_t n = 0, at = 0;
	uint64_t hits = 0;

	for (size_t i = 0; i < probes->sites.count; i++) {
		const char *label = probes->sites.list[i].label;

		if (!probes->sum->figures[i].calls || !attach_is_slow(probes->attach, i))
			continue;
		hits += probes->sum->figures[i].calls;
		if (n++ < NAMED && at + strlen(label) + 4 < sizeof(names))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? ", " : "", label);
	}
	if (n)
		log_report("%zu probe%s single-stepped, some ten times slower than others "
			   "(%" PRIu64 " hit%s): %s%s",
			   n, plural(n, " is", "s are"), hits, plural(hits, "", "s"), names,
			   n > NAMED ? ", ..." : "");
}

void probes_report(const struct probes *probes, const struct probe_site *states, uint64_t window_ns,
		   bool all)
{
	const struct calls_counts *counts;
	uint64_t left = 0, left_out = 0;

	if (!probes->attach)
		return;
	counts = &probes->sum->counts;
	print_table(probes, window_ns, all);
	print_slow(probes);
	for (size_t i = 0; i < probes->sites.count; i++) {
		left += probes->sum->figures[i].left;
		left_out += states ? states[i].left_out : 0;
	}
	print_count(left, "call", "", "",
		    " ended without a return (longjmp, exception, exec, exit, end of the "
		    "recording, or more than 64 nested calls)");
	print_count(left_out, "call", " was", " were", " omitted (--max-rate, --sample-calls)");
	print_count(counts->unmatched, "return", " was", " were",
		    " dropped: the entry was not recorded");
	print_count(counts->valueless, "value", "", "", " could not be read");
	print_count(counts->stacks.too_deep, "state", " was", " were",
		    " omitted: the stack of a trace holds at most 512");
	print_count(counts->stacks.equal, "state", " was", " were",
		    " omitted: the model does not allow the same state twice in a row");
	print_count(counts->strays, "probe hit", "", "", " of unknown threads");
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
