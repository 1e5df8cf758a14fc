/* SPDX-License-Identifier: MIT */
/*
 * findings on messages of MPI: of each rank the sender for which it waited longest, and the
 * receiver. In: the events of a recording with --api mpi-messages; out: findings. Invariant: the
 * times are those of `ovni-report messages`. Specification: event-mapping.md, "MPI messages".
 */
#include "trace/analysis/findings_rules.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/messages/messages.h"

#define NO_PAIR SIZE_MAX

int findings_begin_messages(struct findings *f)
{
	struct findings_state *s = f->state;
	int err;

	if (!s->with_messages)
		return 0;
	s->messages = calloc(1, sizeof(*s->messages));
	if (!s->messages)
		return -ENOMEM;
	err = messages_init(s->messages, f->source);
	s->messages->first = f->first;
	s->messages->last = f->last;
	return err;
}

void findings_end_messages(struct findings *f)
{
	if (f->state->messages)
		messages_fini(f->state->messages);
	free(f->state->messages);
	f->state->messages = NULL;
}

/* For each process the pair with its longest waits: as a receiver, or as a sender. */
static int add_waits(struct findings *f, enum finding_kind kind)
{
	const struct messages *m = f->state->messages;
	bool receives = kind == FINDING_LATE_SENDER;
	size_t *longest = calloc(f->nprocesses + 1, sizeof(*longest));
	int err = 0;

	if (!longest)
		return -ENOMEM;
	for (size_t p = 0; p < f->nprocesses; p++)
		longest[p] = NO_PAIR;
	for (size_t i = 0; i < m->npairs; i++) {
		const struct message_pair *pair = &m->pairs[i];
		uint32_t stream = receives ? pair->to_stream : pair->from_stream;
		size_t *at = &longest[f->threads[stream].process];

		if (*at == NO_PAIR || message_pair_wait(pair, receives)->ns >
					      message_pair_wait(&m->pairs[*at], receives)->ns)
			*at = i;
	}
	for (uint32_t p = 0; p < f->nprocesses && !err; p++) {
		const struct message_pair *pair =
			longest[p] == NO_PAIR ? NULL : &m->pairs[longest[p]];
		const struct message_wait *wait = pair ? message_pair_wait(pair, receives) : NULL;
		struct finding *finding;

		if (!wait || !findings_worth(f, wait->ns))
			continue;
		finding = findings_add(f, kind, wait->ns, findings_process(f, p));
		if (!finding) {
			err = -ENOMEM;
			break;
		}
		finding->by = findings_process(
			f, f->threads[receives ? pair->from_stream : pair->to_stream].process);
		finding_put(finding, NUMBER_TIME, wait->ns);
		finding_put(finding, NUMBER_COUNT, (int64_t)wait->count);
		finding_put(finding, NUMBER_MOST, wait->longest);
		finding_put(finding, NUMBER_MOST_AT,
			    clock_sum(clock_distance(f->start, wait->at), wait->longest));
	}
	free(longest);
	return err;
}

int findings_of_messages(struct findings *f)
{
	int err;

	if (!f->state->messages)
		return 0;
	err = messages_finish(f->state->messages);
	if (!err)
		err = add_waits(f, FINDING_LATE_SENDER);
	return err ? err : add_waits(f, FINDING_LATE_RECEIVER);
}
