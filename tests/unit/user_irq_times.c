/* SPDX-License-Identifier: MIT */
/* irq_times: the time of interrupts of each run, in the event after it; kinds of handlers in words.
 */
#include "bpf/state.h"
#include "timeline_records.h"
#include "trace/ovni/irq_time.h"
#include "user/config/irq_names.h"
#include "user/config/window_edge.h"

static void interrupts(unsigned cpu, uint64_t clock, struct who who, uint64_t first, uint64_t ns)
{
	struct record_interrupts r = {
		.head = {.clock = clock, .kind = RECORD_INTERRUPTS, .id = who.id},
		.first = first,
		.ns = ns};

	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

/* The events OHr and OHe of a stream, with the ns in those that have 4 bytes. */
static void assert_irqs(const char *path, const char *wanted)
{
	const struct kit_stream *s = kit_find(path);
	char text[256] = "";
	size_t n = 0;

	assert_non_null(s);
	for (size_t at = 0; at < s->size;) {
		const uint8_t *ev = s->events + at;
		size_t size = ev[0] & 15 ? (ev[0] & 15) + 1u : 0;

		at += EVENT_HEADER_SIZE + size;
		if (memcmp(ev + 1, "OHr", 3) != 0 && memcmp(ev + 1, "OHe", 3) != 0)
			continue;
		if (size == 4)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%c%lld ", ev[3],
					      (long long)irq_time_decode(get_u32(ev + 12)));
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%c%s ", ev[3],
					      size ? "?" : "");
	}
	assert_string_equal(text, wanted);
}

static void the_event_after_a_run_has_its_interrupts(void **state)
{
	(void)state;
	open_kit(a);
	interrupts(0, 1200, a, 1100, 30);
	give(0, 1200, a, OFF_CPU_SLEEPING, b);
	give(0, 1300, b, OFF_CPU_SLEEPING, a);
	give(0, 1400, a, OFF_CPU_PREEMPTED, b); /* nothing in this run */
	interrupts(0, 1500, b, 1450, 7);
	interrupts(0, 1500, b, 1460, 5); /* a snapshot in the run, too */
	give(0, 1500, b, OFF_CPU_SLEEPING, a);
	interrupts(0, 1600, a, 1510, 9);
	exits(0, 1600, a, 0);
	give(0, 1610, a, OFF_CPU_DEAD, idle);
	close_kit(2000, 0);
	assert_irqs("loom.node/proc.10/thread.20", "r30 r e9 ");
	assert_irqs("loom.node/proc.10/thread.30", "r r12 e ");
}

/* A run that began before the window has the share of its time in it; one that ends after it, too.
 */
static void a_run_that_the_window_cuts_has_its_share(void **state)
{
	(void)state;
	open_kit(a);
	interrupts(0, 1400, a, 600, 80); /* half of it before T0, of 1000 */
	give(0, 1400, a, OFF_CPU_SLEEPING, b);
	timeline_stop(kit.timeline, 2000);
	interrupts(0, 2400, b, 1600, 40);
	interrupts(0, 2500, b, 2410, 40);
	interrupts(1, 2500, other, 1410, 40); /* no task of ours */
	close_kit(2000, 0);
	assert_irqs("loom.node/proc.10/thread.20", "r40 e ");
	assert_irqs("loom.node/proc.10/thread.30", "e20 ");
}

/* No run has more than its length, and after a loss there is no space. */
static void a_run_has_at_most_its_length(void **state)
{
	struct record_lost lost = rec_lost(1350, 1320, 1);

	(void)state;
	open_kit(a);
	interrupts(0, 1200, a, 1150, 999);
	give(0, 1200, a, OFF_CPU_SLEEPING, b);
	give(0, 1300, b, OFF_CPU_SLEEPING, a);
	interrupts(0, 1310, a, 1305, 2);
	assert_int_equal(kit_give(&kit, 0, &lost), 0);
	give(0, 1400, a, OFF_CPU_SLEEPING, b);
	give(0, 1500, b, OFF_CPU_SLEEPING, a);
	close_kit(2000, 0);
	assert_irqs("loom.node/proc.10/thread.20", "r50 r2 e ");
}

static void interrupt(uint64_t clock, struct who who, unsigned depth, unsigned kind, uint64_t begin,
		      uint64_t end)
{
	struct record_interrupt r = {.head = {.clock = clock,
					      .kind = RECORD_INTERRUPT,
					      .id = who.id,
					      .flags = (uint8_t)depth,
					      .why = (uint16_t)kind},
				     .begin = begin,
				     .end = end};

	assert_int_equal(kit_give(&kit, 0, &r), 0);
}

/* The marks of a stream of type 91: bracket, value, clock. */
static void assert_marks(const char *path, const char *wanted)
{
	const struct kit_stream *s = kit_find(path);
	char text[512] = "";
	size_t n = 0;

	assert_non_null(s);
	for (size_t at = 0; at < s->size;) {
		const uint8_t *ev = s->events + at;
		size_t size = ev[0] & 15 ? (ev[0] & 15) + 1u : 0;
		uint64_t clock;

		at += EVENT_HEADER_SIZE + size;
		if (memcmp(ev + 1, "OM", 2) != 0 || get_u32(ev + 20) != MARK_INTERRUPT)
			continue;
		memcpy(&clock, ev + 4, sizeof(clock));
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%c%u@%llu ", ev[3],
				      get_u32(ev + 12), (unsigned long long)clock);
	}
	assert_string_equal(text, wanted);
}

/* A handler that was interrupted comes before those in it, though it ends after them. */
static void long_handlers_are_nested_marks(void **state)
{
	(void)state;
	open_kit(a);
	interrupt(1190, a, 1, IRQ_LOCAL_TIMER, 1110, 1120);
	interrupt(1190, a, 2, IRQ_LINE, 1140, 1145);
	interrupt(1190, a, 1, IRQ_LOCAL_TIMER, 1130, 1150);
	interrupt(1190, a, 0, IRQ_SOFTIRQ + 3, 1100, 1180);
	interrupt(1195, a, 0, IRQ_WORK, 1182, 1192);
	give(0, 1200, a, OFF_CPU_SLEEPING, b);
	give(0, 1300, b, OFF_CPU_SLEEPING, a);
	close_kit(2000, 0);
	assert_marks("loom.node/proc.10/thread.20",
		     "[4@1100 [11@1110 ]11@1120 [11@1130 [17@1140 ]17@1145 ]11@1150 ]4@1180 "
		     "[12@1182 ]12@1192 ");
	assert_marks("loom.node/proc.10/thread.30", "");
	assert_non_null(strstr(kit_find("loom.node/proc.10/thread.20")->meta, "softirq NET_RX"));
	assert_null(strstr(kit_find("loom.node/proc.10/thread.30")->meta, "Interrupt"));
}

/* Of a handler that the window cuts, the part in it; none of a thread that does not run, of an
 * outermost one whose record is missing, and before what the thread has done since. */
static void long_handlers_lie_in_the_window_and_in_runs(void **state)
{
	(void)state;
	open_kit(a);
	interrupt(1050, a, 0, IRQ_WORK, 900, 1050);
	interrupt(1060, b, 0, IRQ_WORK, 1055, 1060); /* it does not run */
	interrupt(1100, a, 1, IRQ_LOCAL_TIMER, 1070, 1080);
	interrupt(1150, a, 0, IRQ_WORK, 1120, 1150);
	give(0, 1200, a, OFF_CPU_SLEEPING, b);
	interrupt(1250, b, 0, IRQ_WORK, 1150, 1190);
	interrupt(1250, b, 0, IRQ_DEVICES, 1190, 1240);
	timeline_stop(kit.timeline, 2000);
	interrupt(2100, b, 0, IRQ_WORK, 1900, 2100);
	interrupt(2300, b, 0, IRQ_WORK, 2200, 2300);
	close_kit(2000, 0);
	assert_marks("loom.node/proc.10/thread.20", "[12@1000 ]12@1050 [12@1120 ]12@1150 ");
	assert_marks("loom.node/proc.10/thread.30", "[16@1201 ]16@1240 [12@1900 ]12@2000 ");
	assert_int_equal(kit.counts.irq_marks, 4);
	assert_int_equal(kit.counts.irqs_left_out, 2);
}

static void long_times_are_coarse(void **state)
{
	static const uint64_t ns[] = {0, 1, 0x7fffffff, 0x80000000, 3000000000, 1ull << 40};

	(void)state;
	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		int64_t got = irq_time_decode(irq_time_encode(ns[i]));

		assert_true(got <= (int64_t)ns[i] && got > (int64_t)ns[i] - 1024);
		assert_true(ns[i] >= IRQ_TIME_COARSE || got == (int64_t)ns[i]);
	}
	assert_int_equal(irq_time_decode(irq_time_encode(UINT64_MAX)), 0x7fffffffll << 10);
}

static void kinds_have_names(void **state)
{
	static const char text[] = "            CPU0       CPU1\n"
				   "   4:          1          0   IO-APIC   4-edge      ttyS0\n"
				   "  24:      10000          0  PCI-MSIX-0000:00:02.0   0-edge  "
				   "virtio0-config, another\n"
				   "  25:\n"
				   " LOC:      12345      67890   Local timer interrupts\n";
	static const struct {
		unsigned kind;
		const char *name;
	} wanted[] = {{IRQ_SOFTIRQ + 3, "softirq NET_RX"},
		      {IRQ_LOCAL_TIMER, "local timer"},
		      {IRQ_CALL_FUNCTION_SINGLE, "call function single"},
		      {IRQ_RESCHEDULE, "reschedule"},
		      {IRQ_DEVICES, "other irqs"},
		      {IRQ_LINE + 4, "irq 4 ttyS0"},
		      {IRQ_LINE + 24, "irq 24 virtio0-config, another"},
		      {IRQ_LINE + 25, "irq 25"},
		      {IRQ_LINE + 5, "irq 5"},
		      {IRQ_LINE, "irq 0"}};

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		char *name = irq_name(wanted[i].kind, text);

		assert_string_equal(name, wanted[i].name);
		free(name);
	}
}

/* The handlers between two edges; nothing where an edge has none. */
static void a_cpu_has_the_handlers_of_its_window(void **state)
{
	struct irq_sum sums[2][2 * IRQ_KINDS] = {{{0, 0}}}, sum;
	struct window_edge begin = {.ncpus = 2, .irqs = sums[0]},
			   end = {.ncpus = 2, .irqs = sums[1]};

	(void)state;
	sums[0][IRQ_KINDS + IRQ_LOCAL_TIMER] = (struct irq_sum){100, 2};
	sums[1][IRQ_KINDS + IRQ_LOCAL_TIMER] = (struct irq_sum){150, 5};
	assert_true(window_edge_irq(&begin, &end, 1, IRQ_LOCAL_TIMER, &sum));
	assert_int_equal(sum.ns, 50);
	assert_int_equal(sum.times, 3);
	assert_false(window_edge_irq(&begin, &end, 2, 0, &sum));
	end.irqs = NULL;
	assert_false(window_edge_irq(&begin, &end, 1, IRQ_LOCAL_TIMER, &sum));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_event_after_a_run_has_its_interrupts),
		TEST(a_run_that_the_window_cuts_has_its_share),
		TEST(a_run_has_at_most_its_length),
		TEST(long_handlers_are_nested_marks),
		TEST(long_handlers_lie_in_the_window_and_in_runs),
		TEST(long_times_are_coarse),
		TEST(kinds_have_names),
		TEST(a_cpu_has_the_handlers_of_its_window),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
