/* SPDX-License-Identifier: MIT */
/*
 * From the text of an API file to the events in the streams of threads. The checker of
 * timeline_kit.h checks every stream.
 */
#include "timeline_kit.h"

#include "user/timeline/probe_events.h"
#include "user/apis/api_file.h"

#define T0    1000
#define STACK 7

static const char text[] =
	"{\"api\": 1, \"title\": \"t\", \"marks\": {\"7\": {\"title\": \"a\", \"chan_type\": "
	"\"stack\"},"
	"\"8\": {\"title\": \"b\", \"chan_type\": \"single\"}},"
	"\"parts\": [{\"program\": true, \"functions\": ["
	"{\"symbols\": \"send\", \"during\": \"MS[\"},"
	"{\"symbols\": \"lock\", \"during\": \"PIa\", \"return\": [{\"begin\": \"PI[\"}]},"
	"{\"symbols\": \"unlock\", \"entry\": [{\"end\": \"PI[\"}], \"during\": \"PIr\"},"
	"{\"symbols\": \"next\", \"entry\": [{\"end\": \"PWc\"}],"
	" \"return\": [{\"begin\": \"PWc\", \"if\": \"true\"}]},"
	"{\"symbols\": \"try\", \"return\": [{\"begin\": {\"mark\": 7, \"label\": \"held\"}, "
	"\"if\": "
	"\"zero\"}]},"
	"{\"symbols\": \"phase\", \"entry\": [{\"set\": {\"mark\": 8, \"label\": \"x\"}}]},"
	"{\"symbols\": \"receive\", \"during\": \"MR[\"}]}]}";
enum { SEND, LOCK, UNLOCK, NEXT, TRY, PHASE, RECEIVE, NSITES };

static const struct who a = {1, 11, 10};
static struct kit kit;
static struct api api;
static struct actions actions;
static struct site sites[NSITES];
static struct calls_plan plan = {.actions = &actions, .sites = sites};

static int setup(void **state)
{
	(void)state;
	assert_int_equal(api_file_parse(&api, text, strlen(text), "test"), 0);
	assert_int_equal(actions_new(&actions, NSITES), 0);
	for (int type = 1; type <= API_MARK_MAX; type++)
		if (api.marks[type].title)
			assert_int_equal(actions_type(&actions, type, api.marks[type].title,
						      api.marks[type].single),
					 0);
	for (size_t i = 0; i < NSITES; i++) {
		sites[i] = (struct site){.kind = SITE_FUNCTION,
					 .label = api.parts[0].functions[i].symbols[0].text};
		actions.list[i] = api.parts[0].functions[i].action;
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	actions_free(&actions);
	api_file_free(&api);
	return 0;
}

static void give(const void *record)
{
	assert_int_equal(kit_give(&kit, 0, record), 0);
}

static void open_kit(void)
{
	struct record_snapshot r = rec_snapshot(T0, SNAPSHOT_START, a);

	assert_int_equal(actions_finish(&actions), 0);
	kit_open(&kit, "0", (struct timeline_options){.t0 = T0, .calls = &plan});
	give(&r);
}

static void close_kit(uint64_t t1)
{
	kit_close(&kit, t1);
	assert_int_equal(kit.err, 0);
	kit_check((int)kit.indices);
}

static void probe(uint64_t clock, unsigned flags, uint32_t site, uint64_t call, int64_t value)
{
	struct record_probe r = {
		.head = {.clock = clock, .kind = RECORD_PROBE, .flags = (__u8)flags, .id = a.id},
		.site = site,
		.stack = STACK,
		.sp = 9000 - 10 * call,
		.call = call,
		.value = value,
		.tid = a.tid,
		.pid = a.pid,
	};

	give(&r);
}

static void enter(uint64_t clock, uint32_t site, uint64_t call)
{
	probe(clock, PROBE_ENTRY, site, call, 0);
}

static void leave(uint64_t clock, uint32_t site, uint64_t call)
{
	probe(clock, PROBE_RETURN, site, call, 0);
}

static void returns(uint64_t clock, uint32_t site, uint64_t call, int64_t value)
{
	probe(clock, PROBE_RETURN | PROBE_VALUE, site, call, value);
}

static void a_wait_is_followed_by_its_cause(void **state)
{
	(void)state;
	open_kit();
	enter(1100, LOCK, 1);
	leave(1200, LOCK, 1);
	enter(1300, UNLOCK, 2);
	leave(1400, UNLOCK, 2);
	/* a state that has not begun does not end */
	enter(1500, UNLOCK, 3);
	leave(1600, UNLOCK, 3);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 PIa\n"
		      "1200 PIA\n"
		      "1200 PI[\n"
		      "1300 PI]\n"
		      "1300 PIr\n"
		      "1400 PIR\n"
		      "1500 PIr\n"
		      "1600 PIR\n"
		      "2000 OHe\n");
}

static void a_truth_is_eight_bits_and_a_number_32(void **state)
{
	(void)state;
	open_kit();
	enter(1100, NEXT, 1);
	returns(1110, NEXT, 1, 0x7fff00000001); /* true */
	enter(1200, NEXT, 2);
	returns(1210, NEXT, 2,
		0x7fffffffff00); /* false, with garbage in the upper bits of the register */
	enter(1300, TRY, 3);
	returns(1310, TRY, 3, 0x7fff00000000); /* zero */
	enter(1400, TRY, 4);
	returns(1410, TRY, 4, 0x100); /* not zero */
	enter(1500, NEXT, 5);
	leave(1510, NEXT, 5); /* not known: as if not */
	assert_int_equal(timeline_calls(kit.timeline)->counts.valueless, 1);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1110 PWc\n"
		      "1200 PWC\n"
		      "1310 OM[ 1 7\n"
		      "2000 OM] 1 7\n"
		      "2000 OHe\n");
}

static void a_function_of_the_model_inside_itself_is_written_once(void **state)
{
	(void)state;
	open_kit();
	/* mpi_send_() calls MPI_Send(), and a collective calls another function */
	enter(1100, SEND, 1);
	enter(1200, SEND, 2);
	leave(1300, SEND, 2);
	enter(1400, RECEIVE, 3);
	enter(1500, SEND, 4);
	leave(1600, SEND, 4);
	leave(1700, RECEIVE, 3);
	leave(1800, SEND, 1);
	assert_int_equal(timeline_calls(kit.timeline)->counts.stacks.equal, 1);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 MS[\n"
		      "1400 MR[\n"
		      "1500 MS[\n"
		      "1600 MS]\n"
		      "1700 MR]\n"
		      "1800 MS]\n"
		      "2000 OHe\n");
	assert_non_null(strstr(kit_stream(10, 11)->meta, "\"mpi\": \"1.0.0\""));
	assert_null(strstr(kit_stream(10, 11)->meta, "\"openmp\""));
}

static void a_single_mark_is_set(void **state)
{
	(void)state;
	open_kit();
	enter(1100, PHASE, 1);
	enter(1200, PHASE, 2);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 OM= 1 8\n"
		      "1200 OM= 1 8\n"
		      "2000 OHe\n");
	assert_non_null(strstr(kit_stream(10, 11)->meta, "\"single\""));
}

/* ---- more than one meaning ---- */

static void meanings_that_share_no_stack_go_together(void **state)
{
	struct action both = actions.list[SEND];

	(void)state;
	assert_true(action_join(&both, &actions.list[LOCK]));
	assert_true(action_join(&both, &actions.list[PHASE]));
	assert_int_equal(both.nalso, 1);
	/* the same model, the same type of marks */
	assert_false(action_join(&both, &actions.list[RECEIVE]));
	assert_false(action_join(&both, &actions.list[UNLOCK]));
	assert_false(action_join(&both, &actions.list[PHASE]));
	actions.list[SEND] = both;
	open_kit();
	enter(1100, SEND, 1);
	leave(1200, SEND, 1);
	close_kit(2000);
	assert_stream(10, 11,
		      "1000 OHx 0 -1 0\n"
		      "1100 OM= 1 8\n"
		      "1100 MS[\n"
		      "1100 PIa\n"
		      "1200 PIA\n"
		      "1200 MS]\n"
		      "1200 PI[\n"
		      "2000 PI]\n"
		      "2000 OHe\n");
}

static void lasting_states_can_come_from_the_second_alone(void **state)
{
	struct action both = actions.list[PHASE];

	(void)state;
	assert_true(action_join(&both, &actions.list[SEND]));
	assert_true(both.has_during);
	assert_int_equal(both.nalso, 0);
	assert_int_equal(both.during.enter, MCV('M', 'S', '['));
}

static void there_is_room_for_so_many(void **state)
{
	struct action many = {0}, one = {.has_during = true};
	unsigned n = 0;

	(void)state;
	for (int32_t type = 1; type < 10; type++) {
		one.during = (struct effect){.enter = MARK_PUSH, .leave = MARK_POP, .type = type};
		n += action_join(&many, &one);
	}
	assert_int_equal(n, ACTION_ALSO_MAX + 1);
	many = (struct action){0};
	one = (struct action){.nentry = 1, .entry[0] = {.kind = STEP_SET}};
	n = 0;
	for (int32_t type = 1; type < 10; type++) {
		one.entry[0].effect = (struct effect){.enter = MARK_SET, .type = type};
		n += action_join(&many, &one);
	}
	assert_int_equal(n, ACTION_STEPS_MAX);
}

static void an_equal_value_is_written_once(void **state)
{
	struct step value = {
		.kind = STEP_VALUE, .effect = {.enter = MARK_SET, .type = 64}, .index = 2};
	struct action call = {.nentry = 1, .entry[0] = value, .has_during = true},
		      more = {.nentry = 2, .entry = {value, value}, .has_during = true};

	(void)state;
	call.during = (struct effect){.enter = MCV('M', 'C', 'b'), .leave = MCV('M', 'C', 'B')};
	more.during = (struct effect){.enter = MARK_PUSH, .leave = MARK_POP, .type = 56};
	more.entry[1].effect.type = 62;
	assert_true(action_join(&call, &more));
	assert_int_equal(call.nentry, 2);
	assert_int_equal(call.entry[1].effect.type, 62);
	assert_int_equal(call.nalso, 1);
	/* another value of the same type */
	more = (struct action){.nentry = 1, .entry[0] = value};
	more.entry[0].index = 3;
	assert_false(action_join(&call, &more));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_wait_is_followed_by_its_cause),
		T(a_truth_is_eight_bits_and_a_number_32),
		T(a_function_of_the_model_inside_itself_is_written_once),
		T(a_single_mark_is_set),
		T(meanings_that_share_no_stack_go_together),
		T(lasting_states_can_come_from_the_second_alone),
		T(an_equal_value_is_written_once),
		T(there_is_room_for_so_many),
	};

	return cmocka_run_group_tests_name("apis_events", tests, NULL, NULL);
}
