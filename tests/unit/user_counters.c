/* SPDX-License-Identifier: MIT */
/* The perf events of runs (--counters). */
#include "timeline_records.h"

#include "user/config/perf_events.h"

static struct counters two = {.n = 2, .list = {{"page-faults", 1, 2}, {"task-clock", 1, 1}}};

static void count(unsigned cpu, uint64_t since, uint64_t clock, struct who who, int64_t first,
		  int64_t second)
{
	struct record_counters r = {.head = {.clock = clock, .kind = RECORD_COUNTERS, .id = who.id},
				    .since = since,
				    .values = {first, second}};

	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

static void open_counting(struct timeline_options options)
{
	open_with(options);
	kit.info.counters = &two;
	snapshot(0, T0 - 10, a);
	snapshot(1, T0, idle);
}

/* The values of each VWC of a stream: "1200: 5 7\n". */
static void assert_values(struct who who, const char *want)
{
	const struct kit_stream *s = kit_stream(who.pid, who.tid);
	const uint8_t *at = s->events, *end = at + s->size;
	char got[512] = "";
	struct event ev;
	ssize_t n;

	for (; (n = event_decode(&ev, at, end)) > 0; at += n) {
		size_t used = strlen(got);

		if (event_mcv(&ev) != MCV('V', 'W', 'C'))
			continue;
		assert_true(ev.jumbo);
		assert_int_equal(ev.payload_size, 16);
		snprintf(got + used, sizeof(got) - used, "%" PRId64 ": %" PRId64 " %" PRId64 "\n",
			 ev.clock, get_i64(ev.payload), get_i64(ev.payload + 8));
	}
	assert_string_equal(got, want);
}

static void a_run_has_its_values_before_its_end(void **state)
{
	(void)state;
	open_counting((struct timeline_options){0});
	count(0, 1000, 1199, a, 5, 199);
	give(0, 1200, a, OFF_CPU_SLEEPING, idle);
	give(0, 1300, idle, 0, a);
	count(0, 1300, 1399, a, 0, COUNTER_UNKNOWN);
	give(0, 1400, a, OFF_CPU_DEAD, idle);
	close_kit(2000, 0);
	assert_stream(10, 20,
		      "1000 OHx 0 -1 0\n1199 VWC\n1200 OHp 1 0\n1301 OHw 0\n1301 OHr\n1399 VWC\n"
		      "1400 OHe\n");
	assert_values(a, "1199: 5 199\n1399: 0 -1\n");
}

/* The names are in each stream, with the model. */
static void each_stream_declares_the_counters(void **state)
{
	const struct kit_stream *s;
	struct json *meta;

	(void)state;
	open_counting((struct timeline_options){0});
	give(0, 1200, a, OFF_CPU_SLEEPING, b);
	close_kit(2000, 0);
	s = kit_stream(10, 30);
	meta = json_parse(s->meta, strlen(s->meta), s->path);
	assert_string_equal(json_string(json_get(meta, "nosv.hwc.0.name")), "page-faults");
	assert_string_equal(json_string(json_get(meta, "nosv.hwc.1.name")), "task-clock");
	assert_non_null(json_string(json_get(meta, "ovni.require.nosv")));
	assert_true(json_bool(json_get(meta, "bpf.counters")));
	json_free(meta);
}

/* The share by time of a run that the window cuts, at both ends; what is not known stays so. */
static void a_run_that_the_window_cuts_has_a_share(void **state)
{
	(void)state;
	open_counting((struct timeline_options){0});
	count(0, 800, 1200, a, 1000, -1); /* half of it in the window */
	give(0, 1201, a, OFF_CPU_SLEEPING, b);
	timeline_stop(kit.timeline, 1500);
	count(0, 1201, 2098, b, 897, 3 * 897); /* 299 of 897 */
	close_kit(1500, 0);
	assert_values(a, "1200: 500 -1\n");
	assert_values(b, "1500: 299 897\n");
}

/* No values for a thread that does not run here as far as the timeline knows, nor outside of the
 * window, nor of unknown tasks, nor with the kernel model. */
static void values_that_belong_nowhere_are_left_out(void **state)
{
	(void)state;
	open_counting((struct timeline_options){0});
	count(0, 700, 900, a, 5, 5);
	give(0, 1200, a, OFF_CPU_SLEEPING, idle);
	count(0, 1100, 1250, a, 5, 5);
	count(0, 1100, 1250, d, 5, 5);
	count(0, 1300, 1250, a, 5, 5);
	close_kit(2000, 0);
	assert_values(a, "");
	open_counting((struct timeline_options){.kernel_model = true});
	count(0, 1000, 1100, a, 5, 5);
	close_kit(2000, 0);
	assert_values(a, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_has_its_values_before_its_end),
		cmocka_unit_test(each_stream_declares_the_counters),
		cmocka_unit_test(a_run_that_the_window_cuts_has_a_share),
		cmocka_unit_test(values_that_belong_nowhere_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
