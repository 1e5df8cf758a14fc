/* SPDX-License-Identifier: MIT */
/*
 * stream, reading: headers, every way in which a stream can end, files that change while
 * they are read, and files that cannot be mapped.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "trace/base/array.h"
#include "trace/ovni/guard.h"
#include "trace_kit.h"

/* The results of stream_step() for bytes after the header, and its end. */
static const struct {
	const char *name;
	uint8_t bytes[48];
	size_t size;
	unsigned events; /* before the end */
	int end;	 /* of the last step */
	const char *said;
} endings[] = {
	{"nothing", {0}, 0, 0, 0, NULL},
	{"one_event", {0, 'O', 'H', 'e', 1}, 12, 1, 0, NULL},
	{"one_byte", {0}, 1, 0, -EBADMSG, "stream ends inside an event at byte 8"},
	{"header_cut_short", {0, 'O', 'H', 'e', 1}, 11, 0, -EBADMSG, "inside an event at byte 8"},
	{"second_event_cut_short",
	 {0,   'O', 'H', 'e', 1, 0, 0, 0, 0, 0, 0, 0, 3, 'O',
	  'A', 's', 1,	 0,   0, 0, 0, 0, 0, 0, 1, 2, 3},
	 27,
	 1,
	 -EBADMSG,
	 "inside an event at byte 20"},
	{"whole_jumbo",
	 {0x13, 'V', 'Y', 'c', 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 'a', 'b', 0},
	 19,
	 1,
	 0,
	 NULL},
	{"empty_jumbo", {0x13, 'V', 'Y', 'c', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 16, 1, 0, NULL},
	{"jumbo_length_cut_short",
	 {0x13, 'V', 'Y', 'c', 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0},
	 15,
	 0,
	 -EBADMSG,
	 "inside an event at byte 8"},
	{"jumbo_data_cut_short",
	 {0x13, 'V', 'Y', 'c', 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 'a', 'b'},
	 18,
	 0,
	 -EBADMSG,
	 "inside an event at byte 8"},
	{"jumbo_that_claims_2_gib",
	 {0x13, 'V', 'Y', 'c', 1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 'a', 'b'},
	 18,
	 0,
	 -EBADMSG,
	 "inside an event at byte 8"},
	{"jumbo_too_large",
	 {0x13, 'V', 'Y', 'c', 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 'a', 'b'},
	 18,
	 0,
	 -EFBIG,
	 "jumbo event of more than 2147483647 bytes at byte 8"},
	{"event_of_zeros", {0}, 12, 0, -EBADMSG, "only zeros instead of an event at byte 8"},
	{"zeros_behind_an_event",
	 {0, 'O', 'H', 'e', 1},
	 24,
	 1,
	 -EBADMSG,
	 "only zeros instead of an event at byte 20"},
	{"event_without_a_model", {0, 0, 1}, 12, 1, 0, NULL},
};

static void write_stream(const char *path, const struct kit_bytes *b)
{
	char name[64];

	mkdirat(kit_dir, path, 0755);
	snprintf(name, sizeof(name), "%s/" STREAM_DATA, path);
	kit_file(name, b->data, b->size);
}

/* Fills the places for mapped files, so that the next stream is read by windows. */
static struct guard *fillers[32000];

static void no_more_maps(void)
{
	static const char byte;

	for (size_t i = 0; i < COUNT(fillers); i++) {
		fillers[i] = guard_add(&byte, 0);
		assert_non_null(fillers[i]);
	}
}

static void maps_again(void)
{
	for (size_t i = 0; i < COUNT(fillers); i++)
		guard_remove(fillers[i]);
	assert_int_equal(guard_count(), 0);
}

enum access { WINDOWS, MAPPED, LOADED };
static const char *const accesses[] = {"window", "mapped", "loaded"};

/* A file of a page or more is not loaded: PAD events come first. */
#define PAD 400

/* Writes the stream "s" with an ending. Returns its events before that. */
static unsigned write_ending(size_t i, enum access access)
{
	unsigned pad = access == LOADED ? 0 : PAD;
	struct kit_bytes b = {0};

	kit_header(&b);
	for (unsigned n = 0; n < pad; n++)
		kit_event(&b, "OB.", 1, NULL, 0);
	memcpy(kit_room(&b, sizeof(endings[i].bytes)), endings[i].bytes, endings[i].size);
	b.size += endings[i].size;
	write_stream("s", &b);
	free(b.data);
	return pad;
}

static void check_ending(size_t i, enum access access)
{
	unsigned events = 0, pad = write_ending(i, access);
	struct stream s;
	int more;

	print_message("  %s, %s\n", endings[i].name, accesses[access]);
	assert_int_equal(stream_open(&s, kit_dir, "s"), 0);
	assert_int_equal(s.guard != NULL, access == MAPPED);
	assert_int_equal(s.loaded, access == LOADED && endings[i].size);
	while ((more = stream_step(&s)) > 0)
		events++;
	assert_int_equal(more, endings[i].end);
	assert_int_equal(events, pad + endings[i].events);
	/* the same again */
	assert_int_equal(stream_step(&s), endings[i].end);
	assert_int_equal(s.error, endings[i].end);
	if (endings[i].said) {
		const char *byte = strstr(endings[i].said, " at byte ");
		char said[128];

		snprintf(said, sizeof(said), "%.*s at byte %ld", (int)(byte - endings[i].said),
			 endings[i].said, atol(byte + 9) + 12L * pad);
		kit_listen();
		stream_report(&s);
		kit_one_line_with(kit_heard(), said);
	}
	/* and from the start */
	stream_rewind(&s);
	assert_int_equal(s.ev.size, 0);
	for (events = 0; stream_step(&s) > 0;)
		events++;
	assert_int_equal(events, pad + endings[i].events);
	stream_close(&s);
}

static void streams_end_as_they_do_mapped_or_not(void **state)
{
	(void)state;
	for (enum access access = WINDOWS; access <= LOADED; access++) {
		if (access == WINDOWS)
			no_more_maps();
		for (size_t i = 0; i < COUNT(endings); i++)
			check_ending(i, access);
		if (access == WINDOWS)
			maps_again();
	}
}

static const struct {
	const char *name;
	const char *bytes;
	size_t size;
	int want;
	const char *said;
} headers[] = {
	{"good", "ovni\1\0\0\0", 8, 0, NULL},
	{"nothing", "", 0, -EBADMSG,
	 "h/stream.obs: shorter than the header of a stream (0 of 8 bytes)"},
	{"seven_bytes", "ovni\1\0\0", 7, -EBADMSG, "shorter than the header"},
	{"other_magic", "ovnj\1\0\0\0", 8, -EBADMSG, "h/stream.obs: not a stream"},
	{"version_0", "ovni\0\0\0\0", 8, -EPROTONOSUPPORT, "version 0 of the stream format"},
	{"version_2", "ovni\2\0\0\0", 8, -EPROTONOSUPPORT, "version 2 of the stream format"},
	{"version_in_the_other_byte_order", "ovni\0\0\0\1", 8, -EPROTONOSUPPORT,
	 "version 16777216"},
};

static void headers_are_checked(void **state)
{
	struct stream s;

	(void)state;
	kit_mkdir("h");
	for (size_t i = 0; i < COUNT(headers); i++) {
		print_message("  %s\n", headers[i].name);
		kit_file("h/" STREAM_DATA, headers[i].bytes, headers[i].size);
		kit_listen();
		assert_int_equal(stream_open(&s, kit_dir, "h"), headers[i].want);
		if (headers[i].said)
			kit_one_line_with(kit_heard(), headers[i].said);
		else
			assert_string_equal(kit_heard(), "");
		stream_close(&s);
	}
}

static void paths_that_are_no_files_are_refused(void **state)
{
	struct stream s;

	(void)state;
	kit_mkdir("none");
	kit_listen();
	assert_int_equal(stream_open(&s, kit_dir, "none"), -ENOENT);
	kit_one_line_with(kit_heard(), "cannot open 'none/stream.obs': No such file");
	kit_mkdir("none/" STREAM_DATA);
	kit_listen();
	assert_int_equal(stream_open(&s, kit_dir, "none"), -EISDIR);
	kit_one_line_with(kit_heard(), "not a regular file");
	kit_mkdir("pipe");
	assert_int_equal(mkfifoat(kit_dir, "pipe/" STREAM_DATA, 0644), 0);
	kit_listen();
	assert_int_equal(stream_open(&s, kit_dir, "pipe"), -EINVAL);
	kit_one_line_with(kit_heard(), "not a regular file");
	stream_close(&s);
}

static void a_stream_without_write_permission_is_read(void **state)
{
	struct kit_bytes b = {0};
	struct stream s;

	(void)state;
	kit_header(&b);
	kit_event(&b, "OHe", 5, NULL, 0);
	write_stream("ro", &b);
	assert_int_equal(fchmodat(kit_dir, "ro/" STREAM_DATA, 0444, 0), 0);
	assert_int_equal(fchmodat(kit_dir, "ro", 0555, 0), 0);
	assert_int_equal(stream_open(&s, kit_dir, "ro"), 0);
	assert_int_equal(stream_step(&s), 1);
	assert_int_equal(s.ev.clock, 5);
	assert_int_equal(stream_offset(&s), 8);
	stream_close(&s);
	assert_int_equal(fchmodat(kit_dir, "ro", 0755, 0), 0);
	free(b.data);
}

/* Events of all sizes, so that they cross the borders of windows and parts everywhere, with
 * jumbo events larger than a window and than a part. */
static void make_mixed(struct kit_bytes *b, size_t bytes)
{
	static uint8_t data[3 << 20];
	uint64_t n = 0;

	kit_header(b);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 31);
	while (b->size < bytes) {
		uint64_t kind = kit_random(1000);

		n++;
		if (kind == 0)
			kit_jumbo(b, "VYc", (int64_t)n, data, (uint32_t)kit_random(sizeof(data)));
		else if (kind < 20)
			kit_jumbo(b, "VYc", (int64_t)n, data, (uint32_t)kit_random(20000));
		else
			kit_event(b, "OB.", (int64_t)n, data, kind % 16 ? kind % 16 + 1 : 0);
	}
}

static void check_mixed(struct stream *s, const struct kit_bytes *b)
{
	const uint8_t *at = b->data + STREAM_HEADER_SIZE, *end = b->data + b->size;
	uint64_t n = 0;
	int more;

	while ((more = stream_step(s)) > 0) {
		struct event want = {0};
		ssize_t size = event_decode(&want, at, end);

		assert_true(size > 0);
		n++;
		assert_true(s->ev.clock == (int64_t)n && want.clock == (int64_t)n);
		assert_true(stream_offset(s) == (uint64_t)(at - b->data));
		assert_int_equal(s->ev.size, size);
		assert_int_equal(s->ev.payload_size, want.payload_size);
		assert_int_equal(s->ev.jumbo, want.jumbo);
		assert_memory_equal(s->ev.payload, want.payload, want.payload_size);
		at += size;
	}
	assert_int_equal(more, 0);
	assert_ptr_equal(at, end);
}

static void every_event_is_seen_once_mapped_or_not(void **state)
{
	struct kit_bytes b = {0};
	struct stream s;

	(void)state;
	make_mixed(&b, 24 << 20);
	write_stream("mixed", &b);
	for (int mapped = 0; mapped < 2; mapped++) {
		if (!mapped)
			no_more_maps();
		assert_int_equal(stream_open(&s, kit_dir, "mixed"), 0);
		assert_int_equal(s.guard != NULL, mapped);
		check_mixed(&s, &b);
		stream_rewind(&s);
		check_mixed(&s, &b);
		stream_close(&s);
		if (!mapped)
			maps_again();
	}
	free(b.data);
}

/* A loaded file is one to stream_share(), too, and its end is that at stream_open(). */
static void a_small_file_is_read_once(void **state)
{
	struct kit_bytes b = {0};
	struct stream s, twice;

	(void)state;
	make_mixed(&b, STREAM_HEADER_SIZE);
	for (int64_t n = 1; b.size < 4000; n++)
		kit_event(&b, "OB.", n, NULL, 0);
	write_stream("small", &b);
	assert_int_equal(stream_open(&s, kit_dir, "small"), 0);
	assert_true(s.loaded);
	unlinkat(kit_dir, "small/" STREAM_DATA, 0);
	assert_int_equal(stream_step(&s), 1);
	assert_int_equal(stream_share(&twice, &s), 0);
	check_mixed(&twice, &b);
	stream_close(&twice);
	stream_rewind(&s);
	check_mixed(&s, &b);
	stream_close(&s);
	free(b.data);
}

static void a_zeroed_stream_has_no_events(void **state)
{
	struct stream s = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(stream_step(&s), 0);
		stream_rewind(&s);
	}
	stream_close(&s);
}

/* The second one begins in the middle of the first, and its end does not unmap the file. */
static void a_stream_is_read_twice_from_one_mapping(void **state)
{
	struct kit_bytes b = {0};
	struct stream s;

	(void)state;
	make_mixed(&b, 1 << 20);
	write_stream("mixed", &b);
	for (int mapped = 0; mapped < 2; mapped++) {
		struct stream *twice = streams_new(2);

		assert_non_null(twice);
		if (!mapped)
			no_more_maps();
		assert_int_equal(stream_open(&s, kit_dir, "mixed"), 0);
		assert_int_equal(stream_step(&s), 1);
		for (size_t i = 0; i < 2; i++) {
			assert_int_equal(stream_share(&twice[i], &s), 0);
			assert_int_equal(twice[i].shared, mapped);
			assert_int_equal(twice[i].base == s.base, mapped);
			check_mixed(&twice[i], &b);
			streams_release(twice, 2);
		}
		stream_close(&twice[0]);
		streams_free(twice, 2);
		stream_rewind(&s);
		check_mixed(&s, &b);
		stream_close(&s);
		if (!mapped)
			maps_again();
		assert_int_equal(guard_count(), 0);
	}
	free(b.data);
}

/* kB of a line of /proc/self/status. */
static long memory(const char *key)
{
	FILE *in = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	assert_non_null(in);
	while (fgets(line, sizeof(line), in))
		if (!strncmp(line, key, strlen(key)))
			kb = strtol(line + strlen(key), NULL, 10);
	fclose(in);
	return kb;
}

static void read_space_is_released(void **state)
{
	const size_t events = 3000000; /* 36 MB */
	struct kit_bytes b = {0};
	struct stream s[8];
	long before, peak = 0;
	char name[8];

	(void)state;
	kit_header(&b);
	for (size_t i = 0; i < events; i++)
		kit_event(&b, "OB.", (int64_t)i, NULL, 0);
	for (unsigned i = 0; i < COUNT(s); i++) {
		snprintf(name, sizeof(name), "big%u", i);
		write_stream(name, &b);
		assert_int_equal(stream_open(&s[i], kit_dir, name), 0);
	}
	free(b.data);
	before = memory("RssFile:");
	for (size_t n = 0; n < events; n++) {
		for (unsigned i = 0; i < COUNT(s); i++)
			assert_true(stream_step(&s[i]) == 1);
		if (n % 50000 == 0) {
			long now = memory("RssFile:");

			peak = now > peak ? now : peak;
		}
	}
	for (unsigned i = 0; i < COUNT(s); i++) {
		assert_int_equal(stream_step(&s[i]), 0);
		stream_close(&s[i]);
	}
	print_message("  288 MB of streams: at most %ld kB of them in memory\n", peak - before);
	assert_true(before >= 0 && peak - before < 64 * 1024);
}

static void a_mapped_file_that_shrinks_ends_in_an_error(void **state)
{
	/* at a page, inside one, inside the first one, to nothing */
	static const off_t sizes[] = {64 * 4096, 64 * 4096 + 100, 500, 0};
	struct kit_bytes b = {0};
	unsigned touched = 0;

	(void)state;
	kit_header(&b);
	for (int i = 0; i < 100000; i++)
		kit_event(&b, "OAs", i, &i, 4);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		struct stream s;
		int more, fd, steps = 0;

		write_stream("shrinks", &b);
		assert_int_equal(stream_open(&s, kit_dir, "shrinks"), 0);
		for (int k = 0; k < 10; k++)
			assert_int_equal(stream_step(&s), 1);
		fd = openat(kit_dir, "shrinks/" STREAM_DATA, O_WRONLY);
		assert_int_equal(ftruncate(fd, sizes[i]), 0);
		close(fd);
		while ((more = stream_step(&s)) > 0) {
			/* payloads are touched, too */
			if (s.ev.payload_size)
				touched += s.ev.payload[s.ev.payload_size - 1];
			steps++;
		}
		assert_int_equal(more, -EIO);
		assert_true(steps <= sizes[i] / 16 + 1);
		kit_listen();
		stream_report(&s);
		kit_one_line_with(kit_heard(),
				  "shrinks: the stream has shrunk or cannot be read at byte");
		assert_int_equal(stream_step(&s), -EIO);
		stream_close(&s);
	}
	free(b.data);
	print_message("  sum of the last bytes: %u\n", touched);
}

static void a_file_read_by_windows_that_changes_ends_in_an_error(void **state)
{
	static const struct {
		const char *name;
		bool replaced;
		int want;
		const char *said;
	} changes[] = {
		{"shrunk", false, -EIO, "shrunk"},
		{"replaced", true, -ESTALE, "another file replaced the stream"},
	};
	struct kit_bytes b = {0};

	(void)state;
	kit_header(&b);
	for (int i = 0; i < 100000; i++)
		kit_event(&b, "OAs", i, &i, 4);
	no_more_maps();
	for (size_t i = 0; i < COUNT(changes); i++) {
		struct stream s;
		int more, fd;

		print_message("  %s\n", changes[i].name);
		write_stream("windows", &b);
		assert_int_equal(stream_open(&s, kit_dir, "windows"), 0);
		for (int k = 0; k < 10; k++)
			assert_int_equal(stream_step(&s), 1);
		if (changes[i].replaced) {
			kit_file("windows/new", b.data, b.size);
			assert_int_equal(
				renameat(kit_dir, "windows/new", kit_dir, "windows/" STREAM_DATA),
				0);
		} else {
			fd = openat(kit_dir, "windows/" STREAM_DATA, O_WRONLY);
			assert_int_equal(ftruncate(fd, 5000), 0);
			close(fd);
		}
		while ((more = stream_step(&s)) > 0)
			;
		assert_int_equal(more, changes[i].want);
		kit_listen();
		stream_report(&s);
		kit_one_line_with(kit_heard(), changes[i].said);
		stream_close(&s);
	}
	maps_again();
	free(b.data);
}

static void events_without_a_model_are_events(void **state)
{
	/* looks like a lost page, but is in the file */
	struct kit_bytes b = {0};
	struct stream s;
	unsigned events = 0;

	(void)state;
	kit_header(&b);
	memset(kit_room(&b, 120000), 0, 120000);
	for (size_t at = 0; at < 120000; at += 12)
		b.data[b.size + at + 2] = 1; /* zeros alone are no event */
	b.size += 120000;
	write_stream("zeros", &b);
	assert_int_equal(stream_open(&s, kit_dir, "zeros"), 0);
	while (stream_step(&s) > 0)
		events++;
	assert_int_equal(events, 10000);
	assert_int_equal(s.error, 0);
	stream_close(&s);
	free(b.data);
}

static bool is_mapped(const void *page)
{
	unsigned char in_core;

	return mincore((void *)page, 1, &in_core) == 0;
}

/* Streams of one to three pages, one without events, one closed already whose place is taken. */
static void many_streams_are_unmapped_and_nothing_else(void **state)
{
	enum { N = 12, EMPTY = 3, CLOSED = 7 };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct stream *streams = streams_new(N);
	const void *bases[N];
	struct kit_bytes b;
	void *taken;

	(void)state;
	assert_non_null(streams);
	for (size_t i = 0; i < N; i++) {
		/* whole pages: smaller files are loaded */
		size_t more = i == EMPTY ? 0 : page * (i == CLOSED ? 1 : i % 3 + 1) - 8;

		memset(&b, 0, sizeof(b));
		kit_header(&b);
		memset(kit_room(&b, more), 0, more);
		b.size += more;
		write_stream("one", &b);
		free(b.data);
		assert_int_equal(stream_open(&streams[i], kit_dir, "one"), 0);
		assert_true(i == EMPTY || streams[i].guard);
		assert_int_equal((uintptr_t)&streams[i] % ARRAY_LINE, 0);
		bases[i] = streams[i].base;
		unlinkat(kit_dir, "one/" STREAM_DATA, 0);
	}
	stream_close(&streams[CLOSED]);
	taken = mmap((void *)bases[CLOSED], page, PROT_READ,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	assert_ptr_equal(taken, bases[CLOSED]);
	streams_free(streams, N);
	assert_int_equal(guard_count(), 0);
	for (size_t i = 0; i < N; i++)
		if (bases[i])
			assert_int_equal(is_mapped(bases[i]), i == CLOSED);
	munmap(taken, page);
}

/* In a child: the effect of a SIGBUS outside of our ranges. */
static int foreign_sigbus(bool sent)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		int fd = memfd_create("foreign", 0);
		volatile char *page;
		static const char byte;

		signal(SIGBUS, SIG_DFL); /* it is the test framework's */
		guard_add(&byte, 1);
		if (sent) {
			raise(SIGBUS);
		} else {
			page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
			(void)page[0];
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void another_sigbus_has_its_previous_effect(void **state)
{
	(void)state;
	for (int sent = 0; sent < 2; sent++) {
		int status = foreign_sigbus(sent);

		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_end_as_they_do_mapped_or_not),
		cmocka_unit_test(headers_are_checked),
		cmocka_unit_test(paths_that_are_no_files_are_refused),
		cmocka_unit_test(a_stream_without_write_permission_is_read),
		cmocka_unit_test(every_event_is_seen_once_mapped_or_not),
		cmocka_unit_test(a_zeroed_stream_has_no_events),
		cmocka_unit_test(a_small_file_is_read_once),
		cmocka_unit_test(a_stream_is_read_twice_from_one_mapping),
		cmocka_unit_test(read_space_is_released),
		cmocka_unit_test(a_mapped_file_that_shrinks_ends_in_an_error),
		cmocka_unit_test(a_file_read_by_windows_that_changes_ends_in_an_error),
		cmocka_unit_test(events_without_a_model_are_events),
		cmocka_unit_test(many_streams_are_unmapped_and_nothing_else),
		cmocka_unit_test(another_sigbus_has_its_previous_effect),
	};
	return cmocka_run_group_tests(tests, kit_open, kit_close);
}
