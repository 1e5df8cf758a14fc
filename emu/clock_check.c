/* SPDX-License-Identifier: MIT */
/*
 * clock_check: collectives of MPI that contradict the corrected clocks of the nodes.
 *
 *   rank 0, n1  ──┌ MPI_Barrier      ┐─────   leaves
 *   rank 1, n2  ────────────────────────┌     enters later: the clocks differ by more than the gap
 *
 * In: the calls of MPI in the order of corrected clocks; out: one warning with the number of
 * contradictions beyond the bounds of the clocks, and the largest. A call counts as one of all
 * ranks if its communicator is MPI_COMM_WORLD or a copy of it, or the trace has no communicators,
 * while all ranks of the job are there from MPI_Init on, call the same sequence of synchronising
 * collectives, and no rank leaves one before another rank of its own node, whose clock is the same,
 * enters it: else nothing is said. Invariant: memory follows the collectives that some ranks have
 * left and others not entered, at most OPEN_MOST. Specification: job.md 4.4.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/emulation.h"
#include "trace/base/array.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/catalog/catalog.h"
#include "trace/messages/mpi_calls.h"

#define OPEN_MOST (1u << 20) /* instances */
#define NO_THREAD UINT32_MAX

struct instance {
	int32_t function;
	uint32_t entered;	/* ranks */
	uint32_t left_by, late; /* processes: the first that left, the worst that entered later */
	int64_t left, gap;	/* clock; ns beyond the bounds, 0: none */
};

struct rank_calls {
	uint64_t next;	 /* number of its next collective */
	uint32_t thread; /* that is in one, or NO_THREAD */
	bool init, in;
};

struct clock_check {
	uint32_t nranks;
	struct rank_calls *ranks; /* by process */
	uint64_t *node_left;	  /* collectives that a rank of the loom has left, at most */
	struct instance *open;	  /* from number `first` on */
	uint64_t first, nopen;
	uint32_t room;
	uint64_t complete, contradictions, given_up;
	struct instance worst;
};

void clock_check_metadata(struct emulator *emu, const struct json *meta)
{
	const struct json *nranks = json_get(meta, "bpf.nranks"), *at;

	if (!json_is_number(nranks))
		nranks = json_get(meta, "ovni.nranks");
	if (json_is_number(nranks))
		emu->ranks_expected = json_int(nranks);
	at = json_first(json_get(meta, "bpf.session.account"));
	for (; at; at = json_next(at)) {
		uint64_t sampled;

		emu->calls_dropped |= json_u64(json_get(at, "probe.sampled"), &sampled) && sampled;
	}
	emu->communicators |= mpi_calls_declare_communicators(meta);
}

/* Whether all ranks of one job are there, on several nodes. */
static bool is_whole_job(const struct emulator *emu, uint32_t *nranks)
{
	const struct process *first = NULL;
	bool several = false;

	*nranks = 0;
	for (uint32_t i = 0; i < emu->sys.nprocesses; i++) {
		const struct process *p = &emu->sys.processes[i];

		if (p->shown_rank < 0)
			continue;
		if (first && p->app_id != first->app_id)
			return false;
		first = first ?: p;
		several |= p->loom != first->loom;
		++*nranks;
	}
	return several && *nranks == emu->ranks_expected && !emu->calls_dropped &&
	       !emu->whole.lost && !emu->ndamaged;
}

int clock_check_prepare(struct emulator *emu)
{
	struct clock_check *c;
	uint32_t nranks;

	if (emu->opt->compat || emu->part || !is_whole_job(emu, &nranks))
		return 0;
	c = emu->clock_check = calloc(1, sizeof(*c));
	if (!c)
		return log_no_memory("for the collectives");
	c->nranks = nranks;
	c->ranks = calloc(emu->sys.nprocesses + 1, sizeof(*c->ranks));
	c->node_left = calloc(emu->sys.nlooms + 1, sizeof(*c->node_left));
	if (!c->ranks || !c->node_left)
		return log_no_memory("for the collectives");
	return 0;
}

void clock_check_fini(struct emulator *emu)
{
	struct clock_check *c = emu->clock_check;

	if (c) {
		free(c->ranks);
		free(c->node_left);
		free(c->open);
	}
	free(c);
	emu->clock_check = NULL;
}

/* The instance with this number. NULL: it is given up, or, after a message, there is no memory. */
static struct instance *instance(struct clock_check *c, uint64_t number, int *err)
{
	if (number < c->first)
		return NULL;
	while (number - c->first >= c->nopen) {
		struct instance *added;

		if (c->nopen == OPEN_MOST) {
			uint64_t gone = OPEN_MOST / 2;

			memmove(c->open, c->open + gone, (c->nopen - gone) * sizeof(*c->open));
			c->first += gone;
			c->nopen -= gone;
			c->given_up += gone;
		}
		added = stack_more(c->open, c->nopen, &c->room, sizeof(*added));
		if (!added) {
			*err = log_no_memory("for the collectives");
			return NULL;
		}
		c->open = added;
		c->open[c->nopen++] = (struct instance){.function = -1, .left = INT64_MAX};
	}
	return &c->open[number - c->first];
}

/* All ranks have entered the oldest ones. */
static void close_complete(struct clock_check *c)
{
	uint64_t n = 0;

	while (n < c->nopen && c->open[n].entered == c->nranks) {
		c->complete++;
		c->contradictions += c->open[n].gap > 0;
		if (c->open[n].gap > c->worst.gap)
			c->worst = c->open[n];
		n++;
	}
	c->first += n;
	c->nopen -= n;
	if (n)
		memmove(c->open, c->open + n, c->nopen * sizeof(*c->open));
}

/* What the clocks of two nodes may differ by, ns. */
static int64_t bound_of(const struct loom *a, const struct loom *b)
{
	int64_t sum;

	return __builtin_add_overflow(a->clock_bound, b->clock_bound, &sum) ? INT64_MAX : sum;
}

/* Returns false if the calls are not collectives of all ranks. */
static bool enter(struct emulator *emu, struct thread *th, int32_t function, int64_t clock,
		  int *err)
{
	struct clock_check *c = emu->clock_check;
	const struct process *p = th->process;
	struct rank_calls *rank = &c->ranks[p->index];
	struct instance *one;

	if (rank->in || !rank->init || c->node_left[p->loom - emu->sys.looms] > rank->next)
		return false;
	rank->in = true;
	rank->thread = th->index;
	one = instance(c, rank->next, err);
	if (!one)
		return true;
	if (one->function >= 0 && one->function != function)
		return false;
	one->function = function;
	one->entered++;
	if (one->left != INT64_MAX) {
		const struct loom *left = emu->sys.processes[one->left_by].loom;
		int64_t gap = clock - one->left - bound_of(left, p->loom);

		if (gap > one->gap) {
			one->gap = gap;
			one->late = p->index;
		}
	}
	close_complete(c);
	return true;
}

static void leave(struct emulator *emu, struct thread *th)
{
	struct clock_check *c = emu->clock_check;
	const struct process *p = th->process;
	struct rank_calls *rank = &c->ranks[p->index];
	uint64_t number = rank->next, *node = &c->node_left[p->loom - emu->sys.looms];

	if (!rank->in || rank->thread != th->index)
		return;
	rank->in = false;
	rank->next++;
	*node = rank->next > *node ? rank->next : *node;
	if (number < c->first || c->open[number - c->first].left != INT64_MAX)
		return;
	c->open[number - c->first].left = emu->player.clock;
	c->open[number - c->first].left_by = p->index;
}

int clock_check_step(struct emulator *emu, struct thread *th, const struct action *action)
{
	bool collective = !emu->communicators && catalog_synchronises(action->value), all = true;
	bool begins = action->op == DO_PUSH && th->slots[action->channel].depth == 1;
	bool ends = action->op == DO_POP && th->slots[action->channel].depth == 0;
	int err = 0;

	if (th->process->shown_rank < 0)
		return 0;
	if (begins && catalog_is_mpi_init(action->value))
		emu->clock_check->ranks[th->process->index].init = true;
	else if (begins && collective)
		all = enter(emu, th, action->value, emu->player.clock, &err);
	else if (ends && collective)
		leave(emu, th);
	if (!all)
		clock_check_fini(emu);
	return err;
}

int clock_check_collective(void *arg, const struct collective_call *collective)
{
	struct emulator *emu = arg;
	struct thread *th = emu->sys.thread_of_stream[collective->stream];
	int err = 0;

	if (!emu->clock_check || !th || th->process->shown_rank < 0 || !collective->world ||
	    !collective_synchronises(collective->op))
		return 0;
	if (collective->over)
		leave(emu, th);
	else if (!enter(emu, th, (int32_t)collective->op, collective->entered, &err))
		clock_check_fini(emu);
	return err;
}

void clock_check_report(const struct emulator *emu)
{
	const struct clock_check *c = emu->clock_check;
	const struct process *left, *late;
	int64_t bound;

	if (c && c->given_up)
		log_warn("the clocks of the nodes are so far apart that %" PRIu64 " collectives of "
			 "MPI were not compared",
			 c->given_up);
	if (!c || !c->contradictions)
		return;
	left = &emu->sys.processes[c->worst.left_by];
	late = &emu->sys.processes[c->worst.late];
	bound = bound_of(left->loom, late->loom);
	log_warn("the clocks contradict %" PRIu64 " of %" PRIu64 " %s of all ranks: rank %" PRIi32
		 " on %s left one %.3f us before rank %" PRIi32 " on %s entered it, and %s",
		 c->contradictions, c->complete, plural(c->complete, "collective", "collectives"),
		 left->shown_rank, left->loom->name, (double)(c->worst.gap + bound) / 1e3,
		 late->shown_rank, late->loom->name,
		 emu->opt->clock == EMU_CLOCK_REALTIME
			 ? "CLOCK_REALTIME has no bound: measure the clocks (ovni-sync --append)"
		 : !emu->sys.clocks.n ? "there is no table of clock offsets (ovni-sync writes it)"
		 : bound ? "the table of clock offsets promises less: measure again, before "
			   "and after the job (ovni-sync --append)"
			 : "the table of clock offsets has no bound for them: measure again "
			   "(ovni-sync --append)");
}
