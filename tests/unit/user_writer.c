/* SPDX-License-Identifier: MIT */
/* writer: order, the bound of its queue, the first error, full disks; real files and false ones. */
#include "timeline_kit.h"

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/ovni/trace.h"

/* ---- a disk that can be held, and that notes all calls ---- */

static sem_t turnstile; /* one post for each call that may pass */
static bool held;
static atomic_uint came; /* calls so far, with the one that waits */

static void pass(void)
{
	came++;
	if (held)
		sem_wait(&turnstile);
}

static int held_create(int fd, const char *path, const struct json *meta)
{
	pass();
	return kit_create(fd, path, meta);
}

static int held_append(int fd, const char *path, const void *events, size_t size)
{
	pass();
	return kit_append(fd, path, events, size);
}

static int held_describe(int fd, const char *path, const struct json *meta)
{
	pass();
	return kit_describe(fd, path, meta);
}

static int held_store(int fd, const char *path, const struct json *meta, const void *events,
		      size_t size)
{
	pass();
	return kit_store(fd, path, meta, events, size);
}

static const struct writer_files held_files = {held_create, held_append, held_describe, held_store};

static void let_pass(unsigned n)
{
	while (n--)
		sem_post(&turnstile);
}

static struct writer *start(size_t queue_bytes, uint64_t max_bytes)
{
	const struct writer_options options = {.trace_fd = -1,
					       .queue_bytes = queue_bytes,
					       .max_bytes = max_bytes,
					       .files = &held_files};
	struct writer *writer;

	kit_forget();
	sem_init(&turnstile, 0, 0);
	held = false;
	writer = writer_start(&options);
	assert_non_null(writer);
	return writer;
}

/* ---- parts ---- */

static unsigned metas, drops; /* how many were built and freed */

static struct json *build(void *arg)
{
	struct json *doc = json_new_object();

	metas++;
	json_put_int(doc, "version", 3);
	json_put_string(doc, "text", arg);
	if (strstr(arg, "finished"))
		json_put_int(doc, "ovni.finished", 1);
	return doc;
}

static void drop(void *arg)
{
	(void)arg;
	drops++;
}

static uint8_t *copy(const void *bytes, size_t size)
{
	uint8_t *to = malloc(size);

	return memcpy(to, bytes, size);
}

/* `text` of the description; NULL: none. */
static int put(struct writer *writer, const char *path, bool create, const char *bytes,
	       const char *text)
{
	struct writer_request part = {
		.path = path,
		.create = create,
		.events = bytes ? copy(bytes, strlen(bytes)) : NULL,
		.size = bytes ? strlen(bytes) : 0,
	};

	if (text) {
		part.meta = build;
		part.drop = drop;
		part.arg = (void *)(uintptr_t)text;
	}
	return writer_put(writer, &part);
}

static void assert_file(const char *path, const char *bytes, const char *text)
{
	struct kit_stream *s = kit_find(path);

	assert_non_null(s);
	assert_int_equal(s->size, strlen(bytes));
	assert_memory_equal(s->events, bytes, s->size);
	assert_non_null(strstr(s->meta, text));
}

/* ---- tests ---- */

static void parts_of_a_stream_are_written_in_order(void **state)
{
	struct writer *writer = start(0, 0);

	(void)state;
	metas = drops = 0;
	assert_int_equal(put(writer, "one", true, "ab", "begins"), 0);
	assert_int_equal(put(writer, "two", true, "xyz", "finished at once"), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(put(writer, "one", false, (char[]){(char)('0' + i), '\0'}, NULL),
				 0);
	assert_int_equal(put(writer, "one", false, "z", "finished later"), 0);
	assert_int_equal(writer_sync(writer), 0);
	assert_file("one", "ab0123456789z", "finished later");
	assert_file("two", "xyz", "finished at once");
	assert_int_equal(kit_find("one")->described, 2);
	assert_int_equal(kit_find("two")->described, 1);
	assert_int_equal(writer_bytes(writer), 16);
	assert_int_equal(writer_queued(writer), 0);
	assert_int_equal(metas, 3);
	assert_int_equal(drops, 3);
	assert_int_equal(writer_finish(writer), 0);
}

static void three_thousand_new_streams_do_not_wait_for_the_disk(void **state)
{
	struct writer *writer = start(0, 0);

	(void)state;
	held = true; /* the disk does nothing at all until all have been given */
	for (int i = 0; i < 3000; i++) {
		char path[32];

		snprintf(path, sizeof(path), "stream %d", i);
		assert_int_equal(put(writer, path, true, "0123456789", "finished"), 0);
	}
	assert_int_equal(kit_disk.n, 0);
	assert_true(writer_queued(writer) > 30000);
	let_pass(3000);
	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(kit_disk.n, 3000);
}

static int discard(int fd, const char *path, const void *events, size_t size)
{
	(void)fd;
	(void)path;
	(void)events;
	(void)size;
	pass();
	return 0;
}

static long resident(void) /* bytes */
{
	char text[64] = "";
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char *end;

	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	strtol(text, &end, 10);
	return strtol(end, NULL, 10) * sysconf(_SC_PAGESIZE);
}

/* The allocators of the sanitizers and of valgrind do. */
static bool keeps_freed_memory(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

#ifdef __SANITIZE_ADDRESS__
	return true;
#endif
	return preloaded && strstr(preloaded, "vgpreload");
}

/* Between its buffers are others, of streams that go on. */
static void the_memory_of_a_long_queue_is_given_back(void **state)
{
	const struct writer_files files = {held_create, discard, held_describe, held_store};
	const struct writer_options options = {.trace_fd = -1, .files = &files};
	enum { PARTS = 2000, BYTES = 16384 };
	struct writer *writer;
	void *others[PARTS];
	long before, queued, after;

	(void)state;
	sem_init(&turnstile, 0, 0);
	held = true; /* a slow disk */
	writer = writer_start(&options);
	before = resident();
	for (int i = 0; i < PARTS; i++) {
		struct writer_request part = {
			.path = "one", .events = malloc(BYTES), .size = BYTES};

		memset(part.events, 'x', BYTES);
		others[i] = malloc(64);
		assert_int_equal(writer_put(writer, &part), 0);
	}
	queued = resident() - before;
	let_pass(PARTS);
	assert_int_equal(writer_sync(writer), 0);
	after = resident() - before;
	print_message("%ld bytes while %d are queued, %ld behind that\n", queued, PARTS * BYTES,
		      after);
	if (!keeps_freed_memory()) {
		assert_true(queued > PARTS * BYTES * 3l / 4);
		assert_true(after < PARTS * BYTES / 3l);
	}
	assert_int_equal(writer_finish(writer), 0);
	for (int i = 0; i < PARTS; i++)
		free(others[i]);
}

struct giver {
	struct writer *writer;
	unsigned n;
	_Atomic unsigned given;
	_Atomic size_t most; /* that was ever queued */
};

static void *give_all(void *arg)
{
	struct giver *g = arg;
	char big[1001];

	memset(big, 'x', 1000);
	big[1000] = '\0';
	for (unsigned i = 0; i < g->n; i++) {
		size_t queued;

		put(g->writer, "s", !i, big, i ? NULL : "begins");
		g->given++;
		queued = writer_queued(g->writer);
		if (queued > g->most)
			g->most = queued;
	}
	return NULL;
}

static void a_full_queue_makes_callers_wait(void **state)
{
	struct writer *writer = start(10000, 0);
	struct giver g = {.writer = writer, .n = 100};
	pthread_t thread;

	(void)state;
	held = true;
	assert_int_equal(pthread_create(&thread, NULL, give_all, &g), 0);
	while (g.given < 5)
		sched_yield();
	usleep(20000);
	assert_true(g.given < 15);
	let_pass(1000);
	pthread_join(thread, NULL);
	assert_int_equal(writer_finish(writer), 0);
	assert_true(g.most <= 10000);
	assert_int_equal(kit_find("s")->size, 100 * 1000);
}

static void a_part_larger_than_the_queue_passes_alone(void **state)
{
	struct writer *writer = start(10, 0);

	(void)state;
	assert_int_equal(put(writer, "s", true, "more than ten bytes", "finished"), 0);
	assert_int_equal(put(writer, "t", true, "more than ten bytes", "finished"), 0);
	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(kit_disk.n, 2);
}

static void the_limit_of_size_is_no_error(void **state)
{
	struct writer *writer = start(0, 10);

	(void)state;
	held = true;
	put(writer, "s", true, "12345", "begins");
	assert_false(writer_full(writer));
	put(writer, "s", false, "67890", NULL);
	assert_true(writer_full(writer));
	assert_int_equal(put(writer, "s", false, "the end", "finished"), 0);
	let_pass(10);
	assert_int_equal(writer_finish(writer), 0);
	assert_file("s", "1234567890the end", "finished");
}

static char order[16];
static _Atomic unsigned noted;
static char job_a[] = "a", job_b[] = "b", job_c[] = "c", job_job[] = "job";

static void note(void *arg)
{
	size_t used = strlen(order);

	snprintf(order + used, sizeof(order) - used, "%s", (const char *)arg);
	noted++;
}

static void jobs_are_done_first_and_in_order(void **state)
{
	struct writer *writer = start(0, 0);

	(void)state;
	held = true;
	came = 0;
	order[0] = '\0';
	put(writer, "s", true, "1", "begins");
	put(writer, "s", false, "2", NULL);
	assert_int_equal(writer_run(writer, note, job_a), 0);
	assert_int_equal(writer_run(writer, note, job_b), 0);
	let_pass(2); /* the first part, which the thread may have begun */
	while (noted < 2 || came < 3)
		usleep(1000); /* the disk holds the second part */
	assert_string_equal(order, "ab");
	assert_file("s", "1", "begins");
	let_pass(10);
	assert_int_equal(writer_sync(writer), 0);
	assert_int_equal(writer_run(writer, note, job_c), 0);
	assert_int_equal(writer_finish(writer), 0);
	assert_string_equal(order, "abc");
}

/* Any call fails: the error is kept and reported once, nothing is tried after it, earlier files are
 * whole, and all requests are freed. */
static void after_the_first_error_nothing_is_written(void **state)
{
	static const int errors[] = {-ENOSPC, -EIO, -EDQUOT, -ENOENT, -EROFS};
	static const char *const stages[] = {"", "", "ab", "abcd", "abcd"};

	(void)state;
	for (unsigned long n = 1; n <= 5; n++) {
		struct writer *writer = start(0, 0);
		struct kit_stream *s;
		int err = errors[n - 1];

		metas = drops = 0;
		order[0] = '\0';
		held = true;
		kit_disk.fail_at = n;
		kit_disk.fail_with = err;
		put(writer, "s", true, "ab", "begins");	 /* calls 1 and 2 */
		put(writer, "s", false, "cd", NULL);	 /* 3 */
		put(writer, "s", false, NULL, "second"); /* 4 */
		put(writer, "t", true, "x", "finished"); /* 5 */
		put(writer, "s", false, "ef", NULL);	 /* 6: never */
		let_pass(10);
		assert_int_equal(writer_sync(writer), err);
		assert_int_equal(writer_sync(writer), err);
		assert_int_equal(put(writer, "s", false, "gh", "third"), err);
		assert_int_equal(writer_run(writer, note, job_job), 0);
		assert_int_equal(kit_disk.calls, n);
		assert_int_equal(writer_finish(writer), err);
		assert_string_equal(order, "job");
		assert_int_equal(drops, 4);
		s = kit_find("s");
		assert_int_equal(!s, n == 1);
		if (s) {
			assert_int_equal(s->size, strlen(stages[n - 1]));
			assert_memory_equal(s->events, stages[n - 1], s->size);
		}
		assert_null(kit_find("t"));
	}
}

static struct json *no_memory(void *arg)
{
	(void)arg;
	return NULL;
}

static void an_early_error_stops_all_writing(void **state)
{
	struct writer *writer = start(0, 0);

	(void)state;
	assert_int_equal(put(writer, "t", true, "AB", "v1"), 0);
	assert_int_equal(writer_sync(writer), 0);
	writer_abandon(writer, -ENOMEM);
	writer_abandon(writer, -EIO);
	assert_int_equal(put(writer, "t", false, NULL, "v2 finished"), -ENOMEM);
	assert_int_equal(writer_finish(writer), -ENOMEM);
	assert_file("t", "AB", "v1");
}

static void a_description_without_memory_is_an_error(void **state)
{
	struct writer *writer = start(0, 0);
	struct writer_request part = {
		.path = "s", .create = true, .meta = no_memory, .drop = drop, .arg = &part};

	(void)state;
	assert_int_equal(writer_put(writer, &part), 0);
	assert_int_equal(writer_finish(writer), -ENOMEM);
	assert_int_equal(kit_disk.n, 0);
}

/* Requests arrive while the error happens: callers that wait for space return. */
static void an_error_ends_all_waits(void **state)
{
	struct writer *writer = start(3000, 0);
	struct giver g = {.writer = writer, .n = 100};
	pthread_t thread;

	(void)state;
	kit_disk.fail_at = 2;
	kit_disk.fail_with = -EIO;
	held = true;
	assert_int_equal(pthread_create(&thread, NULL, give_all, &g), 0);
	while (g.given < 1)
		sched_yield();
	let_pass(1000);
	pthread_join(thread, NULL);
	assert_int_equal(g.given, 100);
	assert_int_equal(writer_finish(writer), -EIO);
}

/* ---- real files ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

#define EVENT_BYTES 28 /* of one event, in the tests with real files */

static char fill_begins[] = "begins";

/* Fills real streams until the disk refuses. Returns the writer's error. */
static int fill(int fd, unsigned streams, unsigned rounds)
{
	const struct writer_options options = {.trace_fd = fd};
	struct writer *writer = writer_start(&options);
	uint8_t events[100 * EVENT_BYTES];
	int err = 0;

	assert_non_null(writer);
	for (unsigned round = 0; round < rounds && !err; round++) {
		for (unsigned i = 0; i < streams && !err; i++) {
			struct writer_request part = {.create = !round, .size = sizeof(events)};
			char path[64];

			for (size_t e = 0; e < 100; e++)
				event_encode(events + e * EVENT_BYTES, MCV('O', 'H', 'x'),
					     (int64_t)(round * 100 + e), (uint8_t[16]){0}, 16);
			snprintf(path, sizeof(path), "loom.x/proc.1/thread.%u", i);
			part.path = path;
			part.events = copy(events, sizeof(events));
			if (!round) {
				part.meta = build;
				part.arg = fill_begins;
			}
			err = writer_put(writer, &part);
		}
	}
	return writer_finish(writer);
}

/* Every stream that is there has whole events, from the first one on without a gap. */
static void assert_whole_events(const char *dir, unsigned rounds)
{
	struct trace trace;
	uint64_t events = 0;

	assert_int_equal(trace_open(&trace, dir), 0);
	assert_true(trace.nstreams > 0);
	for (size_t i = 0; i < trace.nstreams; i++) {
		struct stream stream = {0};
		int64_t n = 0;
		int more;

		assert_int_equal(stream_open(&stream, trace.fd, trace.streams[i]), 0);
		while ((more = stream_step(&stream)) == 1)
			assert_int_equal(stream.ev.clock, n++);
		assert_int_equal(more, 0);
		events += (uint64_t)n;
		stream_close(&stream);
	}
	assert_true(events > 0);
	assert_true(events < trace.nstreams * rounds * 100);
	trace_close(&trace);
}

static void a_limit_on_file_sizes_leaves_whole_events(void **state)
{
	char dir[] = "writer.XXXXXX";
	struct rlimit before, limit;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 10000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(fill(fd, 3, 20), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_whole_events(dir, 20);
	close(fd);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* In a process and a mount namespace of its own. 77: may not mount. */
static void on_a_small_disk(const char *dir)
{
	int fd;

	if (unshare(CLONE_NEWNS) || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=200k"))
		_exit(77);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fill(fd, 5, 100) != -ENOSPC)
		_exit(1);
	assert_whole_events(dir, 100);
	_exit(0);
}

static void a_full_disk_leaves_whole_events(void **state)
{
	char dir[] = "writer.XXXXXX";
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fflush(NULL);
	pid = fork();
	if (!pid)
		on_a_small_disk(dir);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	rmdir(dir);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_directory_that_vanishes_is_an_error(void **state)
{
	char dir[] = "writer.XXXXXX";
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(fill(fd, 1, 1), -ENOENT);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_a_stream_are_written_in_order),
		cmocka_unit_test(three_thousand_new_streams_do_not_wait_for_the_disk),
		cmocka_unit_test(the_memory_of_a_long_queue_is_given_back),
		cmocka_unit_test(a_full_queue_makes_callers_wait),
		cmocka_unit_test(a_part_larger_than_the_queue_passes_alone),
		cmocka_unit_test(the_limit_of_size_is_no_error),
		cmocka_unit_test(jobs_are_done_first_and_in_order),
		cmocka_unit_test(after_the_first_error_nothing_is_written),
		cmocka_unit_test(an_early_error_stops_all_writing),
		cmocka_unit_test(a_description_without_memory_is_an_error),
		cmocka_unit_test(an_error_ends_all_waits),
		cmocka_unit_test(a_limit_on_file_sizes_leaves_whole_events),
		cmocka_unit_test(a_full_disk_leaves_whole_events),
		cmocka_unit_test(a_directory_that_vanishes_is_an_error),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	kit_forget();
	return failed;
}
