/* SPDX-License-Identifier: MIT */
/*
 * trace: which directories are streams, in which order, links and cycles of them; and
 * twenty thousand streams with a thousand descriptors.
 */
#include <errno.h>
#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "trace/ovni/player.h"
#include "trace/ovni/trace.h"
#include "trace_kit.h"

static const char meta[] = "{\"version\": 3}";

/* Makes `path` with all its parents; ends in '/': a directory, else a file with `meta`. */
static void make(const char *path)
{
	char part[1024];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		mkdirat(kit_dir, part, 0755);
	}
	if (path[strlen(path) - 1] != '/')
		kit_file(path, meta, strlen(meta));
}

static void make_link(const char *target, const char *path)
{
	assert_int_equal(symlinkat(target, kit_dir, path), 0);
}

/* Opens FOLDER/`path` and compares the found streams with the list `want`, ended by NULL. */
static void check(const char *path, const char *const *want)
{
	struct trace trace;
	char full[256];
	size_t n = 0;

	snprintf(full, sizeof(full), "%s/%s", kit_folder, path);
	assert_int_equal(trace_open(&trace, full), 0);
	for (; want[n]; n++) {
		if (n == trace.nstreams)
			fail_msg("'%s' was not found", want[n]);
		assert_string_equal(trace.streams[n], want[n]);
	}
	if (n < trace.nstreams)
		fail_msg("'%s' was found", trace.streams[n]);
	trace_close(&trace);
}

static void streams_are_found_at_any_depth_in_the_order_of_bytes(void **state)
{
	static const char *const files[] = {
		"a/loom.b/proc.1/thread.2/stream.json",
		"a/loom.b/proc.1/thread.10/stream.json",
		"a/loom.b/proc.1/stream.json",
		"a/loom.b/proc-1/stream.json", /* '-' comes before '/' in strcmp() */
		"a/loom.a/1/2/3/4/5/6/7/8/9/stream.json",
		"a/Loom/stream.json",
		"a/\xc3\xa1/stream.json", /* bytes are unsigned: last */
		"a/z/stream.json",
		"a/.hidden/stream.json",
		/* not streams */
		"a/other/stream.json.bak",
		"a/other/STREAM.JSON",
		"a/other/stream.obs",
		"a/empty/",
	};
	static const char *const want[] = {
		".hidden",
		"Loom",
		"loom.a/1/2/3/4/5/6/7/8/9",
		"loom.b/proc-1",
		"loom.b/proc.1",
		"loom.b/proc.1/thread.10",
		"loom.b/proc.1/thread.2",
		"z",
		"\xc3\xa1",
		NULL,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++)
		make(files[i]);
	check("a", want);
	check("a///", want);
}

static void the_directory_itself_may_be_a_stream(void **state)
{
	static const char *const both[] = {"", "inner", NULL}, *const one[] = {"", NULL},
				 *const none[] = {NULL};

	(void)state;
	make("self/stream.json");
	make("self/inner/stream.json");
	check("self", both);
	check("self/inner/", one);
	make("nothing/");
	check("nothing", none);
}

/* Opens FOLDER/`path`, which must be refused with that message. */
static void check_refused(const char *path, int want, const char *said)
{
	struct trace trace;
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", kit_folder, path);
	kit_listen();
	assert_int_equal(trace_open(&trace, full), want);
	kit_one_line_with(kit_heard(), said);
}

static void no_link_is_followed(void **state)
{
	static const char *const want[] = {"real", NULL};

	(void)state;
	make("links/trace/real/stream.json");
	make("links/outside/stream.json");
	/* entries that are no streams and hold none have no effect */
	make_link("nowhere", "links/trace/dangling");
	make_link("self", "links/trace/self");
	make_link("two", "links/trace/one");
	make_link("one", "links/trace/two");
	make_link("../../outside/stream.json", "links/trace/real/stream.jsonx");
	check("links/trace", want);
	/* a directory, even one of the trace, or the trace itself */
	make_link("../outside", "links/trace/out");
	check_refused("links/trace", -ELOOP, "links/trace/out: a symbolic link");
	unlinkat(kit_dir, "links/trace/out", 0);
	make_link("..", "links/trace/real/up");
	check_refused("links/trace", -ELOOP, "links/trace/real/up: a symbolic link");
	unlinkat(kit_dir, "links/trace/real/up", 0);
	/* the metadata, wherever it leads */
	make("links/trace/file/");
	make_link("../../outside/stream.json", "links/trace/file/stream.json");
	check_refused("links/trace", -ELOOP, "links/trace/file/stream.json: a symbolic link");
	unlinkat(kit_dir, "links/trace/file/stream.json", 0);
	make_link("nowhere", "links/trace/file/stream.json");
	check_refused("links/trace", -ELOOP, "links/trace/file/stream.json: a symbolic link");
	unlinkat(kit_dir, "links/trace/file/stream.json", 0);
	check("links/trace", want);
	/* the user may name a link to the trace */
	make_link("links/trace", "named");
	check("named", want);
}

/* A recorder that removes a trace may be killed; parts of the trace are missing then. */
static void a_trace_that_is_being_removed_is_no_trace(void **state)
{
	static const char *const others[] = {"0002/loom.n/proc.1/thread.1", NULL};

	(void)state;
	make("s/" TRACE_REMOVED "7.0/loom.n/proc.1/thread.1/stream.json");
	make("s/0002/loom.n/proc.1/thread.1/stream.json");
	check("s/0002", (const char *const[]){"loom.n/proc.1/thread.1", NULL});
	check("s", others);
	check_refused("s/" TRACE_REMOVED "7.0", -EINVAL,
		      TRACE_REMOVED "7.0 is a trace that a recorder was removing: parts of it are "
				    "missing");
	check_refused("s/" TRACE_REMOVED "7.0///", -EINVAL, "parts of it are missing");
}

static void metadata_that_is_no_file_is_refused(void **state)
{
	(void)state;
	make("odd/a/stream.json/");
	check_refused("odd", -EINVAL, "odd/a/stream.json: not a regular file");
	unlinkat(kit_dir, "odd/a/stream.json", AT_REMOVEDIR);
	assert_int_equal(mkfifoat(kit_dir, "odd/a/stream.json", 0644), 0);
	check_refused("odd", -EINVAL, "odd/a/stream.json: not a regular file");
}

static void unreadable_input_is_an_error(void **state)
{
	struct trace trace;
	char path[256];

	(void)state;
	kit_listen();
	assert_int_equal(trace_open(&trace, "no/such/trace"), -ENOENT);
	kit_one_line_with(kit_heard(), "cannot open the trace directory 'no/such/trace': No such");
	kit_file("plain", "x", 1);
	snprintf(path, sizeof(path), "%s/plain", kit_folder);
	kit_listen();
	assert_int_equal(trace_open(&trace, path), -ENOTDIR);
	kit_one_line_with(kit_heard(), "plain': Not a directory");
	trace_close(&trace); /* after a failure, too */
}

static void a_directory_without_permission_is_an_error(void **state)
{
	struct trace trace;
	char path[256];
	int result;

	(void)state;
	if (geteuid() != 0)
		skip(); /* somebody else's directory is needed */
	make("secret/open/stream.json");
	make("secret/closed/stream.json");
	assert_int_equal(fchmod(kit_dir, 0755), 0);
	assert_int_equal(fchmodat(kit_dir, "secret/closed", 0700, 0), 0);
	snprintf(path, sizeof(path), "%s/secret", kit_folder);
	kit_listen();
	assert_int_equal(seteuid(65534), 0);
	result = trace_open(&trace, path);
	assert_int_equal(seteuid(0), 0);
	kit_one_line_with(kit_heard(), "secret/closed': Permission denied");
	assert_int_equal(result, -EACCES);
}

static void very_deep_directories_need_no_descriptors(void **state)
{
	struct trace trace;
	struct rlimit old, few;
	char path[256];
	int at = dup(kit_dir), next;

	(void)state;
	for (int i = 0; i < 1500; i++) {
		assert_int_equal(mkdirat(at, "d", 0755), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	next = openat(at, "stream.json", O_WRONLY | O_CREAT, 0644);
	close(next);
	close(at);
	getrlimit(RLIMIT_NOFILE, &old);
	few = (struct rlimit){64, old.rlim_max};
	setrlimit(RLIMIT_NOFILE, &few);
	snprintf(path, sizeof(path), "%s/d", kit_folder);
	assert_int_equal(trace_open(&trace, path), 0);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(trace.nstreams, 1);
	assert_int_equal(strlen(trace.streams[0]), 2 * 1499 - 1);
	trace_close(&trace);
}

static const struct {
	const char *text;
	const char *said; /* NULL: it is good */
} metadata[] = {
	{"{\"version\": 3}", NULL},
	{"{\"version\": 3.9, \"ovni\": {}}", NULL},
	{"{\"version\": 2}", "version 2 of the metadata, only 3 is known"},
	{"{\"version\": 4}", "version 4 of the metadata"},
	{"{\"version\": \"3\"}", "the number \"version\" is missing"},
	{"{}", "the number \"version\" is missing"},
	{"[3]", "the metadata must be a JSON object"},
	{"{\"version\": 3,}", "line 1, column 15: a comma"},
};

static void metadata_must_be_an_object_of_version_3(void **state)
{
	struct trace trace;
	char path[256];

	(void)state;
	make("meta/s/stream.json");
	snprintf(path, sizeof(path), "%s/meta", kit_folder);
	assert_int_equal(trace_open(&trace, path), 0);
	for (size_t i = 0; i < COUNT(metadata); i++) {
		struct json *doc;

		kit_file("meta/s/stream.json", metadata[i].text, strlen(metadata[i].text));
		kit_listen();
		doc = trace_metadata(&trace, 0);
		if (metadata[i].said) {
			kit_one_line_with(kit_heard(), metadata[i].said);
			assert_null(doc);
			assert_non_null(strstr(kit_words, "s/stream.json: "));
		} else {
			assert_string_equal(kit_heard(), "");
			assert_non_null(doc);
		}
		json_free(doc);
	}
	trace_close(&trace);
}

/* All analyses of a program see the same metadata, each file is read once. */
static void an_open_source_reads_its_metadata_once(void **state)
{
	static const char first[] = "{\"version\": 3, \"ovni\": {\"tid\": 7}}";
	struct source source;
	struct json *doc;
	char path[256];

	(void)state;
	make("once/s/stream.json");
	kit_file("once/s/stream.json", first, strlen(first));
	kit_file("once/s/stream.obs", "ovni\1\0\0\0", 8);
	snprintf(path, sizeof(path), "%s/once", kit_folder);
	assert_int_equal(source_open(&source, path), 0);
	kit_file("once/s/stream.json", "{", 1);
	doc = trace_metadata(&source.trace, 0);
	assert_int_equal(json_int(json_get(doc, "ovni.tid")), 7);
	json_free(doc);
	source_close(&source);
}

static void a_directory_may_be_read_in_many_pieces(void **state)
{
	const unsigned n = 400;
	struct trace trace;
	char path[512];

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "pieces/%0200u/stream.json", i);
		make(path);
	}
	snprintf(path, sizeof(path), "%s/pieces", kit_folder);
	assert_int_equal(trace_open(&trace, path), 0);
	assert_int_equal(trace.nstreams, n);
	for (unsigned i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%0200u", i);
		assert_string_equal(trace.streams[i], path);
	}
	trace_close(&trace);
}

static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void twenty_thousand_streams_with_a_thousand_descriptors(void **state)
{
	const size_t n = 20000;
	struct stream *streams = streams_new(n);
	struct json *doc = json_new_object();
	uint8_t events[2 * EVENT_SIZE_MAX];
	struct rlimit old, few;
	struct trace trace;
	struct player player;
	unsigned before;
	size_t steps = 0;
	/* forty thousand files: in memory if possible */
	char top[128] = "/dev/shm/trace-kit.XXXXXX", path[256];
	int dir, more;

	(void)state;
	assert_non_null(streams);
	json_put_int(doc, "version", 3);
	if (!mkdtemp(top)) {
		snprintf(top, sizeof(top), "%s/many", kit_folder);
		kit_mkdir("many");
	}
	dir = open(top, O_RDONLY | O_DIRECTORY);
	getrlimit(RLIMIT_NOFILE, &old);
	few = (struct rlimit){1024, old.rlim_max};
	setrlimit(RLIMIT_NOFILE, &few);
	for (size_t i = 0; i < n; i++) {
		size_t size;

		snprintf(path, sizeof(path), "loom.n/proc.%zu/thread.%zu", i / 100, i);
		assert_int_equal(stream_create(dir, path, doc), 0);
		size = event_encode(events, MCV('O', 'H', 'x'), (int64_t)(i % 7), "\0\0\0\0", 4);
		size += event_encode(events + size, MCV('O', 'H', 'e'), (int64_t)n, NULL, 0);
		assert_int_equal(stream_append(dir, path, events, size), 0);
	}
	close(dir);
	before = open_descriptors();
	assert_int_equal(trace_open(&trace, top), 0);
	assert_int_equal(trace.nstreams, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(stream_open(&streams[i], trace.fd, trace.streams[i]), 0);
	assert_int_equal(open_descriptors(), before + 1);
	assert_int_equal(player_open(&player, streams, n, NULL, false), 0);
	while ((more = player_step(&player)) > 0)
		steps++;
	assert_int_equal(more, 0);
	assert_int_equal(steps, 2 * n);
	player_close(&player);
	streams_free(streams, n);
	trace_close(&trace);
	assert_int_equal(open_descriptors(), before);
	setrlimit(RLIMIT_NOFILE, &old);
	nftw(top, kit_remove, 64, FTW_DEPTH | FTW_PHYS);
	json_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_are_found_at_any_depth_in_the_order_of_bytes),
		cmocka_unit_test(the_directory_itself_may_be_a_stream),
		cmocka_unit_test(no_link_is_followed),
		cmocka_unit_test(a_trace_that_is_being_removed_is_no_trace),
		cmocka_unit_test(metadata_that_is_no_file_is_refused),
		cmocka_unit_test(unreadable_input_is_an_error),
		cmocka_unit_test(a_directory_without_permission_is_an_error),
		cmocka_unit_test(very_deep_directories_need_no_descriptors),
		cmocka_unit_test(a_directory_may_be_read_in_many_pieces),
		cmocka_unit_test(metadata_must_be_an_object_of_version_3),
		cmocka_unit_test(an_open_source_reads_its_metadata_once),
		cmocka_unit_test(twenty_thousand_streams_with_a_thousand_descriptors),
	};
	return cmocka_run_group_tests(tests, kit_open, kit_close);
}
