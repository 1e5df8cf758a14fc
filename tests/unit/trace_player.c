/* SPDX-License-Identifier: MIT */
/*
 * player: the order of the specification, ties included, against the heap written down
 * word for word, and against the order in which the reference dumps the vectors.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>

#include "trace/ovni/player.h"
#include "trace/ovni/trace.h"
#include "trace_kit.h"

/* ---- the specification, word for word (emulator.md 6) ---- */

struct node {
	int64_t clock;
	size_t stream;
};

struct heap {
	struct node node[512]; /* from 1 */
	size_t n;
};

static void swap(struct node *a, struct node *b)
{
	struct node t = *a;

	*a = *b;
	*b = t;
}

static void plain_insert(struct heap *h, int64_t clock, size_t stream)
{
	size_t k = ++h->n;

	h->node[k] = (struct node){clock, stream};
	while (k > 1 && h->node[k].clock < h->node[k / 2].clock) {
		swap(&h->node[k], &h->node[k / 2]);
		k /= 2;
	}
}

static struct node plain_remove(struct heap *h)
{
	struct node root = h->node[1];
	size_t k = 1;

	h->node[1] = h->node[h->n--];
	for (;;) {
		size_t best = k;

		if (2 * k <= h->n && h->node[2 * k].clock < h->node[best].clock)
			best = 2 * k;
		if (2 * k + 1 <= h->n && h->node[2 * k + 1].clock < h->node[best].clock)
			best = 2 * k + 1;
		if (best == k)
			return root;
		swap(&h->node[k], &h->node[best]);
		k = best;
	}
}

/* ---- random traces ---- */

#define STREAMS_MAX 300

static struct stream streams[STREAMS_MAX];
static struct kit_bytes bytes[STREAMS_MAX];
static struct clock_fix fixes[STREAMS_MAX];
static int64_t clocks[STREAMS_MAX][64];
static size_t counts[STREAMS_MAX];

/* Streams of up to 63 events whose clocks grow by less than `step`; with `jumps` they
 * fall now and then. */
static void make(size_t nstreams, int64_t step, bool jumps)
{
	for (size_t i = 0; i < nstreams; i++) {
		int64_t clock = (int64_t)kit_random((uint64_t)step + 3);

		counts[i] = kit_random(8) ? kit_random(64) : 0;
		fixes[i].offset = (int64_t)kit_random(7) - 3;
		bytes[i].size = 0;
		kit_header(&bytes[i]);
		if (clock + fixes[i].offset < 0)
			clock -= fixes[i].offset;
		for (size_t k = 0; k < counts[i]; k++) {
			clocks[i][k] = clock;
			kit_event(&bytes[i], "OB.", clock, &k, kit_random(2) ? 8 : 0);
			clock += (int64_t)kit_random((uint64_t)step);
			if (jumps && kit_random(9) == 0)
				clock -= (int64_t)kit_random(20);
		}
		kit_stream(&streams[i], &bytes[i], "s");
	}
}

/* Plays them, and the same by the plain heap; both must agree on every event. */
static void compare(size_t nstreams, const struct clock_fix *fix, bool unordered)
{
	static struct heap heap;
	struct player player;
	size_t at[STREAMS_MAX] = {0}, last = SIZE_MAX, events = 0, total = 0;

	heap.n = 0;
	for (size_t i = 0; i < nstreams; i++) {
		total += counts[i];
		if (counts[i])
			plain_insert(&heap, clocks[i][at[i]++] + (fix ? fix[i].offset : 0), i);
	}
	assert_int_equal(player_open(&player, streams, nstreams, fix, unordered), 0);
	for (;; events++) {
		struct node want;
		int more = player_step(&player);

		if (last != SIZE_MAX && at[last] < counts[last]) {
			plain_insert(&heap, clocks[last][at[last]] + (fix ? fix[last].offset : 0),
				     last);
			at[last]++;
		}
		assert_int_equal(more, heap.n > 0);
		if (!more)
			break;
		want = plain_remove(&heap);
		assert_true(player.clock == want.clock);
		assert_int_equal(player.current, want.stream);
		assert_true(streams[player.current].ev.clock +
				    (fix ? fix[player.current].offset : 0) ==
			    want.clock);
		last = want.stream;
	}
	assert_int_equal(events, total);
	assert_int_equal(player_step(&player), 0); /* and stays at the end */
	player_close(&player);
}

static void the_order_is_that_of_the_plain_heap(void **state)
{
	/* steps: 1 are all ties, 2 and 3 mostly, 1000 hardly any */
	static const int64_t steps[] = {1, 2, 3, 10, 1000};

	(void)state;
	for (size_t round = 0; round < 400; round++) {
		size_t nstreams = 1 + kit_random(round < 200 ? 20 : STREAMS_MAX);

		make(nstreams, steps[round % COUNT(steps)], false);
		compare(nstreams, round % 2 ? fixes : NULL, false);
	}
	/* every number of streams in which the shape of the heap changes */
	for (size_t nstreams = 1; nstreams <= 70; nstreams++) {
		make(nstreams, 2, false);
		compare(nstreams, NULL, false);
	}
}

static void unordered_streams_keep_to_the_same_heap(void **state)
{
	(void)state;
	log_setup("test", LOG_ERROR); /* a warning for each jump */
	for (size_t round = 0; round < 200; round++) {
		size_t nstreams = 1 + kit_random(40);

		make(nstreams, (int64_t)(1 + round % 5), true);
		compare(nstreams, NULL, true);
	}
	log_setup("test", LOG_DEBUG);
}

/* ---- the order of another player ---- */

struct follower {
	struct play_order *order;
	const struct clock_fix *fixes;
	size_t nstreams, most; /* events, after which it leaves */
	size_t events;
	uint64_t sum; /* of all streams, clocks and payloads, in their order */
	int end;
};

static struct stream second_streams[STREAMS_MAX];

static uint64_t add_event(uint64_t sum, const struct player *player)
{
	const struct event *ev = &player->streams[player->current].ev;

	return sum * 1000003 + player->current * 31 + (uint64_t)player->clock * 7 +
	       (ev->payload_size ? ev->payload[0] + 1 : 0);
}

static void *follow(void *arg)
{
	struct follower *f = arg;
	struct player player;

	f->end = player_follow(&player, second_streams, f->nstreams, f->fixes, f->order);
	if (f->end == 0) {
		while (f->events < f->most && (f->end = player_step(&player)) > 0) {
			f->sum = add_event(f->sum, &player);
			f->events++;
		}
		if (f->end == 0)
			f->end = player_step(&player); /* 0 again, without waiting */
		player_close(&player);
	}
	play_order_leave(f->order);
	return NULL;
}

/* Plays the streams, and follows in another thread. The events of the first player and their sum
 * go to *events and *sum. */
static void play_both(struct follower *f, size_t *events, uint64_t *sum)
{
	struct player player;
	pthread_t thread;

	*events = *sum = 0;
	for (size_t i = 0; i < f->nstreams; i++)
		kit_stream(&second_streams[i], &bytes[i], "s");
	f->order = play_order_new();
	assert_non_null(f->order);
	assert_int_equal(pthread_create(&thread, NULL, follow, f), 0);
	assert_int_equal(player_open(&player, streams, f->nstreams, f->fixes, false), 0);
	while (player_step(&player) > 0) {
		play_order_put(f->order, player.current);
		*sum = add_event(*sum, &player);
		++*events;
	}
	play_order_end(f->order, 0);
	play_order_end(f->order, -EIO); /* more often is no harm */
	player_close(&player);
	pthread_join(thread, NULL);
	play_order_free(f->order);
}

/* Streams of `count` events each, in turn. */
static void make_long(size_t nstreams, size_t count)
{
	for (size_t i = 0; i < nstreams; i++) {
		bytes[i].size = 0;
		kit_header(&bytes[i]);
		for (size_t k = 0; k < count; k++)
			kit_event(&bytes[i], "OB.", (int64_t)(k * nstreams + i), &k, 8);
		kit_stream(&streams[i], &bytes[i], "s");
	}
}

static void a_second_player_follows_the_first_one(void **state)
{
	size_t events;
	uint64_t sum;

	(void)state;
	for (size_t round = 0; round < 200; round++) {
		struct follower f = {.fixes = round % 2 ? fixes : NULL,
				     .nstreams = kit_random(STREAMS_MAX),
				     .most = SIZE_MAX};

		make(f.nstreams, round % 3 ? 10 : 1, false);
		play_both(&f, &events, &sum);
		assert_int_equal(f.end, 0);
		assert_int_equal(f.events, events);
		assert_true(f.sum == sum);
	}
	/* all blocks, several times; the last one is full, or has one event more or less */
	for (size_t more = 0; more < 3; more++) {
		struct follower f = {.nstreams = 1, .most = SIZE_MAX};

		make_long(1, 3 * PLAY_BLOCKS * PLAY_BLOCK - 1 + more);
		play_both(&f, &events, &sum);
		assert_int_equal(f.end, 0);
		assert_int_equal(f.events, 3 * PLAY_BLOCKS * PLAY_BLOCK - 1 + more);
		assert_true(f.sum == sum);
	}
}

static void a_second_player_that_leaves_does_not_hold_up_the_first_one(void **state)
{
	static const size_t most[] = {0, 1, PLAY_BLOCK, PLAY_BLOCK + 1};
	size_t events;
	uint64_t sum;

	(void)state;
	make_long(2, 2 * PLAY_BLOCKS * PLAY_BLOCK);
	for (size_t i = 0; i < COUNT(most); i++) {
		struct follower f = {.nstreams = 2, .most = most[i]};

		for (size_t k = 0; k < 2; k++)
			kit_stream(&streams[k], &bytes[k], "s");
		play_both(&f, &events, &sum);
		assert_int_equal(events, 4 * PLAY_BLOCKS * PLAY_BLOCK);
		assert_int_equal(f.events, most[i]);
	}
}

/* ---- ends and faults ---- */

/* One stream after the other from a list of clocks; INT64_MIN ends a stream. */
static size_t make_streams(const int64_t *list, size_t n)
{
	size_t nstreams = 0;

	for (size_t i = 0; i < n; nstreams++) {
		bytes[nstreams].size = 0;
		kit_header(&bytes[nstreams]);
		for (; i < n && list[i] != INT64_MIN; i++)
			kit_event(&bytes[nstreams], "OB.", list[i], NULL, 0);
		i++;
		kit_stream(&streams[nstreams], &bytes[nstreams], nstreams ? "second" : "");
	}
	return nstreams;
}

#define END INT64_MIN

static void no_streams_and_empty_streams_play_nothing(void **state)
{
	static const int64_t empty[] = {END, END, END};
	struct player player;

	(void)state;
	assert_int_equal(player_open(&player, streams, 0, NULL, false), 0);
	assert_int_equal(player_gate(&player), 0);
	assert_int_equal(player_step(&player), 0);
	assert_int_equal(player_step(&player), 0);
	player_close(&player);
	assert_int_equal(make_streams(empty, COUNT(empty)), 3);
	assert_int_equal(player_open(&player, streams, 3, NULL, false), 0);
	assert_int_equal(player_gate(&player), 0);
	assert_int_equal(player_step(&player), 0);
	player_close(&player);
}

static void the_highest_clock_is_a_clock(void **state)
{
	static const int64_t list[] = {INT64_MAX, INT64_MAX, END, 5,	    INT64_MAX,
				       END,	  INT64_MAX, END, INT64_MAX};
	struct player player;
	size_t n = make_streams(list, COUNT(list)), events = 0;

	(void)state;
	assert_int_equal(player_open(&player, streams, n, NULL, false), 0);
	while (player_step(&player) > 0)
		events++;
	assert_int_equal(events, 6);
	player_close(&player);
}

static void clocks_that_go_backwards_are_an_error(void **state)
{
	static const int64_t list[] = {10, 20, 19, 30, END, 15, 25};
	struct player player;
	size_t n = make_streams(list, COUNT(list));

	(void)state;
	assert_int_equal(player_open(&player, streams, n, NULL, false), 0);
	for (int i = 0; i < 3; i++) /* 10, 15, 20 */
		assert_int_equal(player_step(&player), 1);
	assert_int_equal(player.clock, 20);
	kit_listen();
	assert_int_equal(player_step(&player), -EINVAL);
	kit_one_line_with(kit_heard(), ".: clock goes backwards from 20 to 19 at byte 32");
	assert_int_equal(player.failed, 0);
	assert_int_equal(player.clock, 20); /* the last good event still arrives */
	/* the rest continues without it */
	player_drop(&player);
	assert_int_equal(player_step(&player), 1);
	assert_int_equal(player.clock, 25);
	assert_int_equal(player_step(&player), 0);
	player_close(&player);

	/* or is accepted, with a warning */
	make_streams(list, COUNT(list));
	assert_int_equal(player_open(&player, streams, n, NULL, true), 0);
	kit_listen();
	for (int i = 0; i < 6; i++)
		assert_int_equal(player_step(&player), 1);
	kit_one_line_with(kit_heard(), "warning: .: clock goes backwards from 20 to 19 at byte 32");
	assert_int_equal(player.backwards, 1);
	assert_int_equal(player_step(&player), 0);
	player_close(&player);
}

static void a_first_clock_below_zero_is_an_error(void **state)
{
	static const int64_t list[] = {3, END, -1};
	static const struct clock_fix offset[] = {{0}, {1}}, back[] = {{0}, {-2}};
	static const int64_t low[] = {1, END, 1};
	struct player player;

	(void)state;
	make_streams(list, COUNT(list));
	kit_listen();
	assert_int_equal(player_open(&player, streams, 2, NULL, false), -EINVAL);
	kit_one_line_with(kit_heard(), "second: the first event has the negative clock -1");
	assert_int_equal(player.failed, 1);
	/* the corrected clock counts */
	make_streams(list, COUNT(list));
	assert_int_equal(player_open(&player, streams, 2, offset, false), 0);
	player_close(&player);
	make_streams(low, COUNT(low));
	kit_listen();
	assert_int_equal(player_open(&player, streams, 2, back, false), -EINVAL);
	kit_one_line_with(kit_heard(), "negative clock -1");
	/* raw clocks may be anything */
	make_streams(list, COUNT(list));
	assert_int_equal(player_open(&player, streams, 2, NULL, true), 0);
	assert_int_equal(player_step(&player), 1);
	assert_int_equal(player.clock, -1);
	player_close(&player);
}

static void a_clock_beyond_its_range_is_an_error(void **state)
{
	static const int64_t list[] = {INT64_MAX - 1, INT64_MAX};
	static const struct clock_fix offset[] = {{1}};
	struct player player;

	(void)state;
	make_streams(list, COUNT(list));
	assert_int_equal(player_open(&player, streams, 1, offset, false), 0);
	assert_int_equal(player_step(&player), 1);
	assert_true(player.clock == INT64_MAX);
	kit_listen();
	assert_int_equal(player_step(&player), -EOVERFLOW);
	kit_one_line_with(kit_heard(), "out of range with the offset 1");
	player_close(&player);
}

static void an_incomplete_event_is_an_error_when_it_is_reached(void **state)
{
	static const int64_t list[] = {10, 40, END, 20, 30};
	struct player player;

	(void)state;
	make_streams(list, COUNT(list));
	/* cut the second event of the first stream: found when the first has been played */
	bytes[0].size -= 1;
	kit_stream(&streams[0], &bytes[0], "");
	assert_int_equal(player_open(&player, streams, 2, NULL, false), 0);
	assert_int_equal(player_step(&player), 1);
	kit_listen();
	assert_int_equal(player_step(&player), -EBADMSG);
	kit_one_line_with(kit_heard(), ".: stream ends inside an event at byte 20");
	assert_int_equal(player.failed, 0);
	player_close(&player);
	/* the first event: found at once */
	make_streams(list, COUNT(list));
	bytes[1].size = STREAM_HEADER_SIZE + 5;
	kit_stream(&streams[1], &bytes[1], "second");
	kit_listen();
	assert_int_equal(player_open(&player, streams, 2, NULL, false), -EBADMSG);
	kit_one_line_with(kit_heard(), "second: stream ends inside an event at byte 8");
	assert_int_equal(player.failed, 1);
}

/* The streams of the second player are others: they end early, or their clocks fall. */
static void a_stream_that_changes_under_a_second_player_is_an_error(void **state)
{
	static const int64_t list[] = {10, 30, END, 20, 40}, shorter[] = {10, 30, END, 20},
			     earlier[] = {10, 30, END, 5, 40};
	const struct {
		const int64_t *list;
		size_t n;
		int events;
	} cases[] = {{shorter, COUNT(shorter), 3}, {earlier, COUNT(earlier), 1}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct play_order *order = play_order_new();
		struct player player;

		make_streams(list, COUNT(list));
		assert_int_equal(player_open(&player, streams, 2, NULL, false), 0);
		while (player_step(&player) > 0)
			play_order_put(order, player.current);
		play_order_end(order, 0);
		player_close(&player);
		make_streams(cases[i].list, cases[i].n);
		assert_int_equal(player_follow(&player, streams, 2, NULL, order), 0);
		for (int k = 0; k < cases[i].events; k++)
			assert_int_equal(player_step(&player), 1);
		kit_listen();
		assert_int_equal(player_step(&player), -EIO);
		kit_one_line_with(kit_heard(), "second: the stream has changed");
		assert_int_equal(player.failed, 1);
		player_close(&player);
		play_order_free(order);
	}
}

/* The first player gives up, and the second one must not take that for the end. */
static void a_first_player_that_fails_is_an_error_of_the_second_one(void **state)
{
	static const int64_t list[] = {10, 30};
	static const int errors[] = {-EIO, -ENOMEM};

	(void)state;
	for (size_t i = 0; i < COUNT(errors); i++) {
		struct play_order *order = play_order_new();
		struct player player;

		make_streams(list, COUNT(list));
		assert_int_equal(player_follow(&player, streams, 1, NULL, order), 0);
		play_order_put(order, 0);
		play_order_end(order, errors[i]);
		assert_int_equal(player_step(&player), 1);
		kit_listen();
		assert_int_equal(player_step(&player), errors[i]);
		if (errors[i] == -EIO)
			kit_one_line_with(kit_heard(), "changed during the reading");
		player_close(&player);
		play_order_free(order);
	}
}

static const struct {
	int64_t first, second, offset; /* of the second */
	int want;
} gates[] = {
	{0, 3600000000000, 0, 0},   {0, 3600000000001, 0, -ERANGE},
	{3600000000000, 0, 0, 0},   {3600000000001, 0, 0, -ERANGE},
	{0, 3600000000001, -1, 0},  {0, 3600000000000, 1, -ERANGE},
	{0, INT64_MAX, 0, -ERANGE},
};

static void streams_that_start_an_hour_apart_do_not_pass_the_gate(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(gates); i++) {
		/* the stream without events between them has no part in it */
		int64_t list[] = {gates[i].first, END, END, gates[i].second};
		struct clock_fix offset[] = {{0}, {INT64_MAX}, {gates[i].offset}};
		struct player player;

		make_streams(list, COUNT(list));
		assert_int_equal(player_open(&player, streams, 3, offset, false), 0);
		kit_listen();
		assert_int_equal(player_gate(&player), gates[i].want);
		if (gates[i].want)
			kit_one_line_with(kit_heard(),
					  "second: starts more than an hour away from .");
		else
			assert_string_equal(kit_heard(), "");
		player_close(&player);
	}
}

/* ---- the vectors ---- */

/* Compares the first three columns of a dump with the player's events. */
static size_t compare_dump(const char *folder, FILE *dump)
{
	struct trace trace;
	struct player player;
	struct stream *all;
	size_t events = 0, room = 0;
	char *line = NULL;

	if (trace_open(&trace, folder) < 0)
		return 0;
	all = streams_new(trace.nstreams);
	assert_non_null(all);
	for (size_t i = 0; i < trace.nstreams; i++)
		assert_int_equal(stream_open(&all[i], trace.fd, trace.streams[i]), 0);
	assert_int_equal(player_open(&player, all, trace.nstreams, NULL, true), 0);
	while (getline(&line, &room, dump) > 0) {
		const struct event *ev;
		char want[4300];
		int more = player_step(&player);

		if (more <= 0)
			fail_msg("%s: ends before: %s", folder, line);
		ev = &all[player.current].ev;
		snprintf(want, sizeof(want), "%10lld  %c%c%c  %s  ", (long long)ev->clock,
			 ev->model, ev->category, ev->value, trace.streams[player.current]);
		if (strncmp(line, want, strlen(want)))
			fail_msg("%s: got '%s', the reference: '%s'", folder, want, line);
		events++;
	}
	assert_true(player_step(&player) <= 0);
	free(line);
	player_close(&player);
	streams_free(all, trace.nstreams);
	trace_close(&trace);
	return events;
}

static void the_order_is_that_of_the_reference(void **state)
{
	const char *conformance = getenv("CONFORMANCE");
	size_t events = 0, cases = 0, ties = 0;
	const struct dirent *entry;
	char path[4096], folder[4096];
	DIR *dir;

	(void)state;
	if (!conformance)
		conformance = "build/vectors";
	snprintf(path, sizeof(path), "%s/emu", conformance);
	dir = opendir(path);
	if (!dir)
		fail_msg("cannot open the conformance vectors in %s", path);
	log_setup("test", LOG_ERROR);
	while ((entry = readdir(dir))) {
		size_t n;
		FILE *dump;

		snprintf(folder, sizeof(folder), "%s/emu/%s/trace", conformance, entry->d_name);
		snprintf(path, sizeof(path), "%s/emu/%s/expected/dump.txt", conformance,
			 entry->d_name);
		if (access(folder, F_OK) < 0) /* there are packed ones */
			continue;
		dump = fopen(path, "r");
		if (!dump)
			continue;
		n = compare_dump(folder, dump);
		fclose(dump);
		events += n;
		cases += n > 0;
		if (!strcmp(entry->d_name, "syn-player-ties"))
			ties = n;
	}
	closedir(dir);
	log_setup("test", LOG_DEBUG);
	print_message("  %zu events of %zu vectors, %zu of them ties\n", events, cases, ties);
	assert_true(cases > 50 && ties > 100);
}

static int free_bytes(void **state)
{
	for (size_t i = 0; i < STREAMS_MAX; i++)
		free(bytes[i].data);
	return kit_close(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_is_that_of_the_plain_heap),
		cmocka_unit_test(unordered_streams_keep_to_the_same_heap),
		cmocka_unit_test(a_second_player_follows_the_first_one),
		cmocka_unit_test(a_second_player_that_leaves_does_not_hold_up_the_first_one),
		cmocka_unit_test(a_first_player_that_fails_is_an_error_of_the_second_one),
		cmocka_unit_test(a_stream_that_changes_under_a_second_player_is_an_error),
		cmocka_unit_test(no_streams_and_empty_streams_play_nothing),
		cmocka_unit_test(the_highest_clock_is_a_clock),
		cmocka_unit_test(clocks_that_go_backwards_are_an_error),
		cmocka_unit_test(a_first_clock_below_zero_is_an_error),
		cmocka_unit_test(a_clock_beyond_its_range_is_an_error),
		cmocka_unit_test(an_incomplete_event_is_an_error_when_it_is_reached),
		cmocka_unit_test(streams_that_start_an_hour_apart_do_not_pass_the_gate),
		cmocka_unit_test(the_order_is_that_of_the_reference),
	};
	return cmocka_run_group_tests(tests, kit_open, free_bytes);
}
