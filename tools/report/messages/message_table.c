/* SPDX-License-Identifier: MIT */
/*
 * report messages: the point-to-point messages of MPI, by sender and receiver.
 *
 *   from  to  messages    bytes  receiver waited  longest        at  sender waited
 *      0   1         2      440        200.1 ms  200.1 ms  0.402311           0 ns
 *
 * The receiver waited: it was in its call, and the sender had not begun to send (late sender). The
 * sender waited: its call did not end before the receiver began to receive (late receiver).
 */
#include <errno.h>
#include <inttypes.h>

#include "tools/report/reports.h"
#include "trace/messages/messages.h"
#include "trace/base/text.h"

static const struct table_column columns[] = {
	{"application", "job", CELL_COUNT, 4, SHOW_DATA},
	{"from", "from", CELL_COUNT, 5},
	{"to", "to", CELL_COUNT, 5},
	{"from_node", "from node", CELL_TEXT, 10, SHOW_DATA},
	{"to_node", "to node", CELL_TEXT, 10, SHOW_DATA},
	{"messages", "messages", CELL_COUNT, 8},
	{"bytes", "bytes", CELL_COUNT, 12},
	{"late_senders", "late sends", CELL_COUNT, 10},
	{"receiver_waited", "receiver waited", CELL_DURATION, 15},
	{"longest", "longest", CELL_DURATION, 10},
	{"longest_at", "at", CELL_CLOCK, 10},
	{"late_receivers", "late receives", CELL_COUNT, 13},
	{"sender_waited", "sender waited", CELL_DURATION, 13},
	{"sender_longest", "longest", CELL_DURATION, 10},
	{"sender_longest_at", "at", CELL_CLOCK, 10},
};
#define NCOLUMNS (sizeof(columns) / sizeof(columns[0]))

static int init(struct report *report)
{
	struct messages *m = report->more;
	int err = messages_init(m, report->source);

	m->first = report->filter->first;
	m->last = report->filter->last;
	return err;
}

static int event(void *arg, const struct intervals *intervals, uint32_t stream,
		 const struct event *ev)
{
	struct report *report = arg;

	(void)intervals;
	return messages_step(report->more, stream, ev);
}

static int64_t clock_of(const struct report *report, const struct message_wait *wait)
{
	return report_clock(report->intervals, wait->count ? wait->at : CELL_UNKNOWN);
}

static int rows(struct report *report)
{
	struct messages *m = report->more;
	const struct owner *owners = report->source->owners;
	int err = messages_finish(m);

	for (size_t i = 0; i < m->npairs && !err; i++) {
		const struct message_pair *p = &m->pairs[i];
		union cell row[NCOLUMNS] = {
			{.number = p->app},
			{.number = p->from},
			{.number = p->to},
			{.text = strdup(owners[p->from_stream].loom)},
			{.text = strdup(owners[p->to_stream].loom)},
			{.number = (int64_t)p->messages},
			{.number = p->sized ? (int64_t)p->bytes : CELL_UNKNOWN},
			{.number = (int64_t)p->late_sender.count},
			{.number = p->late_sender.ns},
			{.number = p->late_sender.longest},
			{.number = clock_of(report, &p->late_sender)},
			{.number = (int64_t)p->late_receiver.count},
			{.number = p->late_receiver.ns},
			{.number = p->late_receiver.longest},
			{.number = clock_of(report, &p->late_receiver)},
		};

		if (!report->filter->streams[p->from_stream] &&
		    !report->filter->streams[p->to_stream]) {
			free(row[3].text);
			free(row[4].text);
			continue;
		}
		err = table_add(&report->table, row);
	}
	return err;
}

static void tell(const struct report *report, uint64_t count, const char *noun, const char *text)
{
	if (count)
		printer_format(report->table.out, "%" PRIu64 " %s%s %s\n", count, noun,
			       plural(count, "", "s"), text);
}

static void foot(const struct report *report)
{
	const struct messages *m = report->more;
	uint64_t unsized = 0;

	if (!m->any)
		printer_text(report->table.out,
			     "The trace has no point-to-point calls of MPI (ovni-bpf --api "
			     "mpi-messages records them).\n");
	for (size_t i = 0; i < m->npairs; i++)
		unsized += m->pairs[i].messages - m->pairs[i].sized;
	tell(report, unsized, "message", "of a derived datatype: their bytes are not known");
	tell(report, m->sends, "send", "without a receive in the trace");
	tell(report, m->receives, "receive", "without a send in the trace");
	tell(report, m->unknown_comm, "send or receive", "in a communicator that is not known");
	tell(report, m->unknown_source, "receive",
	     "from any source or with any tag, without a send in the trace");
	tell(report, m->in_order, "receive",
	     "from any source, without a status, while several had sent: matched in the order of "
	     "the sends");
	tell(report, m->cancelled, "cancellation",
	     "of which the trace does not tell whether it "
	     "came too late: matches after it may be wrong");
	tell(report, m->unsupported, "call",
	     "of persistent communication or of matched probes, "
	     "whose messages are not known: matches may be wrong");
	tell(report, m->incomplete, "call", "with values that could not be read");
}

static void release(struct report *report)
{
	messages_fini(report->more);
}

const struct report_kind report_messages = {
	.name = "messages",
	.columns = columns,
	.ncolumns = NCOLUMNS,
	.order = "receiver_waited",
	.all_looms = true,
	.more = sizeof(struct messages),
	.init = init,
	.listener = {.event = event},
	.rows = rows,
	.foot = foot,
	.free = release,
};
