/* SPDX-License-Identifier: MIT */
/* The marks of priorities and of sets of CPUs (--why=prio). */
#include "timeline_records.h"

#include <sched.h>

#include "user/host/cpu_sets.h"

#define ALL_CPUS 3ull

static struct record_priority rec_priority(uint64_t clock, struct who who, uint16_t policy,
					   int32_t priority, uint64_t cpus)
{
	return (struct record_priority){
		.head = {.clock = clock, .kind = RECORD_PRIORITY, .id = who.id},
		.tid = who.tid,
		.pid = who.pid,
		.priority = priority,
		.normal = priority,
		.nice = priority < 100 ? 0 : priority - 120,
		.policy = policy,
		.words = 1,
		.cpus = {cpus},
	};
}

static void give_priority(unsigned cpu, uint64_t clock, struct who who, uint16_t policy,
			  int32_t priority, uint64_t cpus)
{
	struct record_priority r = rec_priority(clock, who, policy, priority, cpus);

	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

static void assert_label(uint32_t pid, uint32_t tid, const char *path, const char *want)
{
	const struct kit_stream *s = kit_stream(pid, tid);
	struct json *meta = json_parse(s->meta, strlen(s->meta), s->path);
	const char *got = json_string(json_get(meta, path));

	if (want)
		assert_string_equal(got, want);
	else
		assert_null(got);
	json_free(meta);
}

/* One mark where something has changed, after the OHr; none where nothing has. */
static void a_change_is_marked_once(void **state)
{
	(void)state;
	open_kit(leader);
	birth(0, 1010, leader, a);
	give(0, 1100, leader, OFF_CPU_SLEEPING, a);
	give_priority(0, 1105, a, SCHED_OTHER, 120, ALL_CPUS);
	give(0, 1200, a, OFF_CPU_SLEEPING, idle);
	give(0, 1300, idle, 0, a);
	give_priority(0, 1305, a, SCHED_OTHER, 120, ALL_CPUS);
	give(0, 1400, a, OFF_CPU_SLEEPING, idle);
	give(0, 1500, idle, 0, a);
	give_priority(0, 1505, a, SCHED_FIFO, 49, 1);
	give_priority(0, 1506, a, SCHED_FIFO, 49, ALL_CPUS);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1101 OHx 0 10 0\n1105 OM= 61 90\n1105 OM= 1 89\n1200 OHp 1 0\n"
		      "1301 OHw 0\n1301 OHr\n1400 OHp 1 0\n1501 OHw 0\n1501 OHr\n"
		      "1505 OM= 171 90\n1505 OM= 2 89\n1506 OM= 1 89\n2000 OHe\n");
	assert_label(10, 20, "ovni.mark.90.title", "Priority");
	assert_label(10, 20, "ovni.mark.90.labels.61", "SCHED_OTHER nice 0");
	assert_label(10, 20, "ovni.mark.90.labels.171", "SCHED_FIFO 50");
	assert_label(10, 20, "ovni.mark.90.labels.51", NULL);
	assert_label(10, 20, "ovni.mark.89.labels.1", "0-1");
	assert_label(10, 20, "ovni.mark.89.labels.2", "0");
	assert_label(10, 20, "ovni.mark.89.labels.256", NULL);
	assert_label(10, 10, "ovni.mark.90.title", NULL);
}

/* What the iterator has found stands at the OHx; CPUs that are not online do not count. */
static void what_was_known_before_the_window_is_marked_at_its_beginning(void **state)
{
	struct record_priority of_a = rec_priority(0, a, SCHED_OTHER, 130, ~0ull),
			       of_b = rec_priority(0, b, SCHED_FIFO, 49, 2),
			       of_nobody = rec_priority(0, d, SCHED_FIFO, 49, 2);

	(void)state;
	open_with((struct timeline_options){0});
	iterated(a, 1, 0, 0);
	iterated(b, 1, 0, 0);
	timeline_has_priority(kit.timeline, &of_a);
	timeline_has_priority(kit.timeline, &of_b);
	timeline_has_priority(kit.timeline, &of_nobody);
	snapshot(0, T0 - 1, a);
	snapshot(1, T0, idle);
	give_woken(1, 1500, idle, 0, b, 1400, 77);
	give_priority(1, 1501, b, SCHED_FIFO, 49, 2);
	close_kit(2000, 0);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1000 OM= 51 90\n1000 OM= 1 89\n2000 OHe\n");
	assert_stream(
		10, 30,
		"1000 OHx -1 -1 0\n1000 OM= 171 90\n1000 OM= 2 89\n1000 OHp 0 -1\n1400 OHw 77\n"
		"1501 OAs 1\n1501 OHr\n2000 OHe\n");
	assert_label(10, 20, "ovni.mark.89.labels.1", "0-1");
	assert_label(10, 30, "ovni.mark.89.labels.2", "1");
}

/* Before the window opens a record counts, and writes nothing. */
static void a_record_before_the_window_is_marked_at_t0(void **state)
{
	(void)state;
	open_with((struct timeline_options){0});
	give(0, 900, idle, 0, a);
	give_priority(0, 901, a, SCHED_OTHER, 120, ALL_CPUS);
	snapshot(0, T0 - 1, a);
	snapshot(1, T0, idle);
	give(0, 1200, a, OFF_CPU_SLEEPING, idle);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1000 OM= 61 90\n1000 OM= 1 89\n1200 OHp 1 0\n2000 OHw 0\n"
		      "2000 OAs -1\n2000 OHr\n2000 OHe\n");
}

/* A policy that is not known here has no mark; another thread with the tid starts anew. */
static void each_owner_of_a_stream_has_its_own(void **state)
{
	const struct who again = {6, 20, 10};

	(void)state;
	open_kit(a);
	give_priority(0, 1100, a, SCHED_FIFO, 49, ALL_CPUS);
	give_priority(0, 1150, a, 33, 49, ALL_CPUS);
	give(0, 1200, a, OFF_CPU_DEAD, idle);
	give(0, 1203, idle, 0, again);
	give_priority(0, 1205, again, SCHED_FIFO, 49, ALL_CPUS);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1100 OM= 171 90\n1100 OM= 1 89\n1200 OHe\n"
		      "1204 OHx 0 -1 0\n1205 OM= 171 90\n1205 OM= 1 89\n2000 OHe\n");
}

/* The kernel model takes no mark between KCO and KCI. */
static void the_kernel_model_has_it_after_the_switch(void **state)
{
	(void)state;
	open_with((struct timeline_options){.kernel_model = true});
	snapshot(0, T0 - 10, a);
	snapshot(1, T0, idle);
	give(0, 1100, a, OFF_CPU_SLEEPING, idle);
	give(0, 1200, idle, 0, a);
	give_priority(0, 1205, a, SCHED_OTHER, 120, ALL_CPUS);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx -1 -1 0\n1100 KCO 1 0\n1201 KCI 0\n1205 OM= 61 90\n1205 OM= 1 89\n"
		      "2000 OHe\n");
}

/* A rotation: the next trace has it at its beginning, with the same numbers of sets. */
static void the_next_trace_begins_with_it(void **state)
{
	struct kit from;

	(void)state;
	open_kit(a);
	give_priority(0, 1100, a, SCHED_FIFO, 49, 1);
	give(0, 1200, a, OFF_CPU_SLEEPING, b);
	give_priority(0, 1205, b, SCHED_OTHER, 130, 2);
	from = kit;
	kit.timeline = NULL;
	open_with((struct timeline_options){0});
	assert_int_equal(timeline_carry_over(kit.timeline, from.timeline), 0);
	give(0, 1300, b, OFF_CPU_SLEEPING, a);
	give_priority(0, 1305, a, SCHED_FIFO, 49, ALL_CPUS);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx -1 -1 0\n1000 OM= 171 90\n1000 OM= 1 89\n1000 OHp 0 -1\n"
		      "1301 OHw 0\n1301 OAs 0\n1301 OHr\n1305 OM= 3 89\n2000 OHe\n");
	assert_label(10, 20, "ovni.mark.89.labels.1", "0");
	assert_label(10, 20, "ovni.mark.89.labels.3", "0-1");
	assert_label(10, 30, "ovni.mark.89.labels.2", "1");
	timeline_free(from.timeline);
	writer_finish(from.writer);
	threads_free(from.threads);
	topology_free(&from.topology);
}

/* Lists of CPUs as taskset prints them; one that does not fit ends in dots; a set too many has a
 * number without a list. */
static void sets_of_cpus_have_lists(void **state)
{
	struct record_priority r = rec_priority(1100, a, SCHED_OTHER, 120, 0);
	struct cpu_sets sets = {.n = CPU_SETS_MAX};
	char text[CPU_SETS_TEXT];

	(void)state;
	sets.cpus[0][0] = 0x8000000000000d01;
	sets.cpus[0][1] = 1;
	sets.cpus[0][15] = 1ull << 63;
	for (int i = 0; i < CPU_SETS_WORDS; i++)
		sets.cpus[1][i] = 0x5555555555555555;
	cpu_sets_text(&sets, 1, text);
	assert_string_equal(text, "0,8,10-11,63-64,1023");
	cpu_sets_text(&sets, 3, text);
	assert_string_equal(text, "none");
	cpu_sets_text(&sets, CPU_SETS_MAX + 1, text);
	assert_string_equal(text, "another set of CPUs");
	memset(text, 'x', sizeof(text));
	cpu_sets_text(&sets, 2, text);
	assert_non_null(memchr(text, 0, sizeof(text)));
	assert_ptr_equal(strstr(text, "0,2,4,6,"), text);
	assert_string_equal(text + strlen(text) - 4, ",...");
	open_kit(a);
	for (unsigned i = 0; i < CPU_SETS_MAX; i++)
		kit.threads->cpu_sets.cpus[i][9] = i + 1;
	kit.threads->cpu_sets.n = CPU_SETS_MAX;
	r.cpus[0] = 1;
	assert_int_equal(kit_give(&kit, 0, &r), 0);
	assert_int_equal(kit.threads->cpu_sets.n, CPU_SETS_MAX);
	close_kit(2000, 0);
	assert_stream(10, 20, "1000 OHx 0 -1 0\n1100 OM= 61 90\n1100 OM= 256 89\n2000 OHe\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_is_marked_once),
		cmocka_unit_test(what_was_known_before_the_window_is_marked_at_its_beginning),
		cmocka_unit_test(a_record_before_the_window_is_marked_at_t0),
		cmocka_unit_test(each_owner_of_a_stream_has_its_own),
		cmocka_unit_test(the_kernel_model_has_it_after_the_switch),
		cmocka_unit_test(the_next_trace_begins_with_it),
		cmocka_unit_test(sets_of_cpus_have_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
