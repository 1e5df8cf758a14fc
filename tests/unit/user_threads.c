/* SPDX-License-Identifier: MIT */
/* threads: tasks and their pages, streams and their buffers, many threads, a long day. */
#include "timeline_kit.h"

#include <malloc.h>

#define T0 1000

static struct kit kit;

static void give(unsigned cpu, uint64_t clock, struct who prev, unsigned why, struct who next)
{
	struct record_switch r = rec_switch(clock, prev, why, next);

	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

static struct who thread_of(uint32_t id, uint32_t pid)
{
	return (struct who){id, id + 100, pid};
}

static void open_kit(void)
{
	kit_open(&kit, "0", (struct timeline_options){.t0 = T0});
}

static struct json *meta_of(uint32_t pid, uint32_t tid)
{
	struct kit_stream *s = kit_stream(pid, tid);

	assert_non_null(s);
	return json_parse(s->meta, strlen(s->meta), s->path);
}

static bool finished(uint32_t pid, uint32_t tid)
{
	struct json *meta = meta_of(pid, tid);
	bool is = json_int(json_get(meta, "ovni.finished")) == 1;

	json_free(meta);
	return is;
}

static bool tells(uint32_t pid, uint32_t tid, const char *key)
{
	struct json *meta = meta_of(pid, tid);
	bool is = json_get(meta, key) != NULL;

	json_free(meta);
	return is;
}

static unsigned pages(void)
{
	unsigned n = 0;

	for (size_t number = 0; id_page_next(&kit.threads->pages, &number); number++)
		n++;
	return n;
}

static void a_page_goes_when_its_tasks_are_dead(void **state)
{
	uint64_t clock = 2000;

	(void)state;
	open_kit();
	for (uint32_t id = 1; id < 10 * TASKS_PAGE; id++, clock += 10) {
		give(0, clock, idle, 0, thread_of(id, 100));
		give(0, clock + 5, thread_of(id, 100),
		     id % TASKS_PAGE ? OFF_CPU_DEAD : OFF_CPU_SLEEPING, idle);
	}
	assert_int_equal(kit.threads->known, 9);
	assert_int_equal(threads_streams(kit.threads), 10 * TASKS_PAGE - 1);
	assert_int_equal(pages(), 9);
	for (uint32_t id = TASKS_PAGE; id < 10 * TASKS_PAGE; id += TASKS_PAGE, clock += 10) {
		give(0, clock, idle, 0, thread_of(id, 100));
		give(0, clock + 5, thread_of(id, 100), OFF_CPU_DEAD, idle);
	}
	assert_int_equal(kit.threads->known, 0);
	assert_int_equal(pages(), 0);
	kit_close(&kit, clock);
	kit_check(1);
	assert_int_equal(kit.err, 0);
}

static void an_id_may_be_as_large_as_it_likes(void **state)
{
	const struct who far = {50000000, 5, 5};

	(void)state;
	open_kit();
	give(0, 2000, idle, 0, far);
	give(0, 2100, far, OFF_CPU_DEAD, idle);
	kit_close(&kit, 3000);
	assert_stream(5, 5, "2001 OHx 0 -1 0\n2100 OHe\n");
}

/* A thread that lived for a short time costs one visit of the disk. */
static void a_stream_that_ends_soon_is_stored_in_one_go(void **state)
{
	(void)state;
	open_kit();
	give(0, 2000, idle, 0, thread_of(1, 100));
	give(0, 2100, thread_of(1, 100), OFF_CPU_SLEEPING, thread_of(2, 100));
	give(0, 2200, thread_of(2, 100), OFF_CPU_DEAD, thread_of(1, 100));
	assert_int_equal(writer_sync(kit.writer), 0);
	/* and the first stream of the session, which every other one wants to be there */
	assert_int_equal(kit_disk.n, 2);
	assert_int_equal(kit_disk.calls, 2);
	assert_true(finished(100, 102));
	kit_close(&kit, 3000);
	kit_check(1);
	assert_int_equal(kit_stream(100, 102)->described, 1);
}

/* When the recorder is killed at any moment, its trace lists the CPUs and does not look complete.
 * */
static void the_first_stream_is_there_first_and_finished_last(void **state)
{
	(void)state;
	open_kit();
	give(0, 2000, idle, 0, thread_of(1, 100));
	give(0, 2100, thread_of(1, 100), OFF_CPU_SLEEPING, thread_of(2, 100));
	give(0, 2200, thread_of(2, 100), OFF_CPU_DEAD, thread_of(1, 100));
	assert_int_equal(writer_sync(kit.writer), 0);
	assert_true(finished(100, 102));
	assert_false(finished(100, 101));
	assert_true(tells(100, 101, "ovni.loom_cpus"));
	give(0, 2300, thread_of(1, 100), OFF_CPU_DEAD, idle);
	assert_int_equal(writer_sync(kit.writer), 0);
	assert_false(finished(100, 101));
	assert_false(tells(100, 101, "bpf.session.counts"));
	kit_close(&kit, 3000);
	kit_check(2);
	assert_true(finished(100, 101));
	assert_true(tells(100, 101, "bpf.session.counts"));
}

static void buffers_are_handed_over_when_they_are_full(void **state)
{
	const struct who a = thread_of(1, 100), b = thread_of(2, 100);
	uint64_t clock = 2000;
	struct kit_stream *s;

	(void)state;
	open_kit();
	give(0, clock, idle, 0, a);
	for (int i = 0; i < 2000; i++) {
		give(0, clock += 10, a, OFF_CPU_SLEEPING, b);
		give(0, clock += 10, b, OFF_CPU_SLEEPING, a);
	}
	assert_int_equal(writer_sync(kit.writer), 0);
	s = kit_stream(100, 102);
	assert_non_null(s);
	/* 46 bytes for each turn: five buffers of 16 KiB, each full but for the last event */
	assert_in_range(s->size, 5 * (16 * 1024 - TASK_ROOM), 5 * 16 * 1024);
	assert_int_equal(s->described, 1);
	assert_false(finished(100, 102));
	kit_close(&kit, clock);
	kit_check(1);
	assert_int_equal(s->described, 2);
	assert_true(finished(100, 102));
}

static void flushing_writes_all_events(void **state)
{
	(void)state;
	open_kit();
	give(0, 2000, idle, 0, thread_of(1, 100));
	give(0, 2100, thread_of(1, 100), OFF_CPU_SLEEPING, thread_of(2, 100));
	assert_int_equal(threads_flush(kit.threads), 0);
	assert_int_equal(threads_flush(kit.threads), 0);
	assert_int_equal(writer_sync(kit.writer), 0);
	assert_stream(100, 101, "2001 OHx 0 -1 0\n2100 OHp 1 102\n");
	assert_stream(100, 102, "2101 OHx 0 -1 0\n");
	assert_false(finished(100, 101));
	assert_int_equal(kit_disk.calls, 4);
	give(0, 2200, thread_of(2, 100), OFF_CPU_DEAD, thread_of(1, 100));
	kit_close(&kit, 3000);
	kit_check(1);
	assert_stream(100, 102, "2101 OHx 0 -1 0\n2200 OHe\n");
}

/* A reader must never take a growing stream for complete. */
static void a_growing_stream_is_not_finished(void **state)
{
	const struct who again = {3, 102, 100};

	(void)state;
	open_kit();
	give(0, 2000, idle, 0, thread_of(1, 100));
	give(0, 2100, thread_of(1, 100), OFF_CPU_SLEEPING, thread_of(2, 100));
	give(0, 2200, thread_of(2, 100), OFF_CPU_DEAD, again);
	assert_int_equal(writer_sync(kit.writer), 0);
	assert_true(finished(100, 102));
	give(0, 2300, again, OFF_CPU_SLEEPING, idle);
	assert_int_equal(threads_flush(kit.threads), 0);
	assert_int_equal(writer_sync(kit.writer), 0);
	assert_false(finished(100, 102));
	assert_int_equal(kit_stream(100, 102)->described, 2);
	kit_close(&kit, 3000);
	kit_check(1);
	assert_true(finished(100, 102));
}

static void marks_are_declared_as_soon_as_they_are_written(void **state)
{
	struct record_lost lost = rec_lost(2200, 2150, 3);
	struct json *meta;

	(void)state;
	open_kit();
	give(0, 2000, idle, 0, thread_of(1, 100));
	assert_int_equal(threads_flush(kit.threads), 0);
	assert_int_equal(kit_give(&kit, 0, &lost), 0);
	give(0, 2300, thread_of(1, 100), OFF_CPU_SLEEPING, idle);
	assert_int_equal(threads_flush(kit.threads), 0);
	assert_int_equal(writer_sync(kit.writer), 0);
	meta = meta_of(100, 101);
	assert_true(json_is_object(json_get(meta, "ovni.mark.92")));
	json_free(meta);
	kit_close(&kit, 3000);
	kit_check(1);
}

static void a_host_name_fits_into_a_path(void **state)
{
	static const struct {
		const char *host, *loom;
	} cases[] = {{"a/b", "a-b"},
		     {"", "localhost"},
		     {NULL, "localhost"},
		     {"n1.cluster", "n1.cluster"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char path[64];
		struct json *meta;

		open_kit();
		threads_free(kit.threads);
		timeline_free(kit.timeline);
		kit.info.loom = cases[i].host;
		kit.threads = threads_new(kit.writer, &kit.info, &kit.topology);
		kit.timeline = timeline_new(&(struct timeline_options){.t0 = T0}, kit.threads,
					    &kit.topology);
		give(0, 2000, idle, 0, thread_of(1, 100));
		kit_close(&kit, 3000);
		assert_int_equal(kit.err, 0);
		snprintf(path, sizeof(path), "loom.%s/proc.100/thread.101", cases[i].loom);
		assert_string_equal(kit_disk.all[0].path, path);
		meta = json_parse(kit_disk.all[0].meta, strlen(kit_disk.all[0].meta), path);
		assert_string_equal(json_string(json_get(meta, "ovni.loom")), cases[i].loom);
		json_free(meta);
	}
}

/* All alive at once, some events each. */
static void twenty_thousand_threads(void **state)
{
	const uint32_t n = 20000;
	uint64_t clock = 2000;
	size_t before, bytes;

	(void)state;
	open_kit();
	before = mallinfo2().uordblks;
	for (int turn = 0; turn < 3; turn++) {
		for (uint32_t id = 1; id <= n; id++) {
			struct who who = thread_of(id, 1 + id / 100),
				   next = thread_of(id + 1, 1 + (id + 1) / 100);

			if (id == 1)
				give(0, clock += 10, idle, 0, who);
			give(0, clock += 10, who, OFF_CPU_SLEEPING, id == n ? idle : next);
		}
	}
	assert_int_equal(kit.threads->known, n);
	bytes = mallinfo2().uordblks - before;
	print_message("  %zu bytes for each thread\n", bytes / n);
	if (before) /* 0 with the allocator of a sanitizer */
		assert_in_range(bytes / n, 100, 1024);
	kit_close(&kit, clock);
	assert_int_equal(kit.err, 0);
	assert_int_equal(kit.counts.repairs, 0);
	assert_int_equal(kit_disk.n, n);
	kit_check(1);
}

/* ---- a day ---- */

static int no_create(int fd, const char *path, const struct json *meta)
{
	(void)fd;
	(void)path;
	(void)meta;
	return 0;
}

static int no_append(int fd, const char *path, const void *events, size_t size)
{
	(void)fd;
	(void)path;
	(void)events;
	(void)size;
	return 0;
}

static int no_store(int fd, const char *path, const struct json *meta, const void *events,
		    size_t size)
{
	(void)events;
	(void)size;
	return no_create(fd, path, meta);
}

static const struct writer_files no_files = {no_create, no_append, no_create, no_store};

static size_t in_use(void)
{
	struct mallinfo2 info;

	assert_int_equal(writer_sync(kit.writer), 0);
	info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

/* Threads that stay, each among 5,000 that have ended. */
static void a_thread_that_stays_needs_little(void **state)
{
	const size_t stays = 200, bytes = 8192;
	uint32_t id = 0, last = 0;
	size_t before, most;

	(void)state;
	open_kit();
	before = in_use();
	for (size_t i = 0; i < stays * 5000; i++) {
		struct task *task = threads_task(kit.threads, ++last);

		assert_non_null(task);
		threads_use(kit.threads, task, last, last, last);
		if (i % 5000)
			threads_release(kit.threads, task);
	}
	most = before + stays * bytes;
	print_message("  %zu bytes, at most %zu\n", in_use(), most);
	assert_true(in_use() <= most);
	assert_int_equal(kit.threads->known, stays);
	for (size_t i = 0; i < stays; i++)
		assert_int_equal(threads_next(kit.threads, &id)->id, i * 5000 + 1);
	assert_null(threads_next(kit.threads, &id));
	kit_close(&kit, 2000);
}

/*
 * 24 hours on a machine that starts three short-lived processes every two seconds, with
 * tids up to 4000 used again and again, beside two threads that work all the time.
 */
static void a_day_in_flat_memory(void **state)
{
	const uint64_t second = 1000000000, day = 24 * 3600;
	const struct who a = {1, 5001, 5001}, b = {2, 5002, 5001};
	struct writer_options options = {.trace_fd = -1, .files = &no_files};
	size_t early = 0, late = 0;
	uint32_t id = 2;

	(void)state;
	open_kit();
	threads_free(kit.threads);
	timeline_free(kit.timeline);
	assert_int_equal(writer_finish(kit.writer), 0);
	kit.writer = writer_start(&options);
	kit.threads = threads_new(kit.writer, &kit.info, &kit.topology);
	kit.timeline =
		timeline_new(&(struct timeline_options){.t0 = T0}, kit.threads, &kit.topology);
	for (uint64_t s = 1; s < day; s++) {
		uint64_t clock = s * second;

		give(0, clock, idle, 0, a);
		for (int i = 0; i < 10; i++) {
			give(0, clock += 1000, a, OFF_CPU_SLEEPING, b);
			give(0, clock += 1000, b, OFF_CPU_PREEMPTED, a);
		}
		for (uint32_t child = s % 2; child < 2; child++) {
			uint32_t tid = 1 + ++id % 4000;
			struct who who = {id, tid, tid};
			struct record_task birth = rec_birth(clock += 1000, a, who);
			struct record_exit end;

			assert_int_equal(kit_give(&kit, 0, &birth), 0);
			give(0, clock += 1000, a, OFF_CPU_SLEEPING, who);
			end = rec_exit(clock += 1000, who, 0);
			assert_int_equal(kit_give(&kit, 0, &end), 0);
			give(0, clock += 1000, who, OFF_CPU_DEAD, a);
		}
		give(0, clock + 1000, a, OFF_CPU_SLEEPING, idle);
		if (s == day / 12)
			early = in_use();
	}
	late = in_use();
	print_message("  %zu bytes after two hours, %zu after a day\n", early, late);
	assert_true(late <= early + 64 * 1024);
	assert_true(late < 8 * 1024 * 1024);
	kit_close(&kit, day * second);
	assert_int_equal(kit.err, 0);
	assert_int_equal(kit.counts.repairs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_goes_when_its_tasks_are_dead),
		cmocka_unit_test(a_thread_that_stays_needs_little),
		cmocka_unit_test(an_id_may_be_as_large_as_it_likes),
		cmocka_unit_test(a_stream_that_ends_soon_is_stored_in_one_go),
		cmocka_unit_test(the_first_stream_is_there_first_and_finished_last),
		cmocka_unit_test(buffers_are_handed_over_when_they_are_full),
		cmocka_unit_test(flushing_writes_all_events),
		cmocka_unit_test(a_growing_stream_is_not_finished),
		cmocka_unit_test(marks_are_declared_as_soon_as_they_are_written),
		cmocka_unit_test(a_host_name_fits_into_a_path),
		cmocka_unit_test(twenty_thousand_threads),
		cmocka_unit_test(a_day_in_flat_memory),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	kit_forget();
	return failed;
}
