/* SPDX-License-Identifier: MIT */
/*
 * stream, writing, and beneath: whole events or none on a disk that is full, and no link
 * that leads out of the trace, with openat2() and without.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "trace/base/files/beneath.h"
#include "trace_kit.h"

static struct json *meta_of(int tid)
{
	struct json *meta = json_new_object();

	assert_non_null(json_put_int(meta, "version", 3));
	assert_non_null(json_put_int(meta, "ovni.tid", tid));
	return meta;
}

static void a_stream_is_created_filled_and_described(void **state)
{
	static const char path[] = "loom.n1/proc.5/thread.7";
	uint8_t events[2 * EVENT_SIZE_MAX];
	struct json *meta = meta_of(7), *read;
	struct stream s;
	struct stat st;
	size_t size;

	(void)state;
	assert_int_equal(stream_create(kit_dir, path, meta), 0);
	assert_int_equal(kit_size("loom.n1/proc.5/thread.7/stream.obs"), 8);
	assert_int_equal(stream_create(kit_dir, path, meta), -EEXIST);
	size = event_encode(events, MCV('O', 'H', 'x'), 10, "\1\0\0\0", 4);
	assert_int_equal(stream_append(kit_dir, path, events, size), 0);
	size = event_encode(events, MCV('O', 'H', 'e'), 20, NULL, 0);
	assert_int_equal(stream_append(kit_dir, path, events, size), 0);
	assert_int_equal(stream_append(kit_dir, path, events, 0), 0);

	read = json_load(kit_dir, "loom.n1/proc.5/thread.7/stream.json");
	assert_int_equal(json_int(json_get(read, "ovni.tid")), 7);
	assert_null(json_get(read, "ovni.finished"));
	json_free(read);
	json_put_int(meta, "ovni.finished", 1);
	assert_int_equal(stream_describe(kit_dir, path, meta), 0);
	read = json_load(kit_dir, "loom.n1/proc.5/thread.7/stream.json");
	assert_int_equal(json_int(json_get(read, "ovni.finished")), 1);
	json_free(read);
	assert_int_equal(kit_size("loom.n1/proc.5/thread.7/stream.json.new"), -1);

	assert_int_equal(fstatat(kit_dir, "loom.n1/proc.5", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	assert_int_equal(fstatat(kit_dir, "loom.n1/proc.5/thread.7/stream.obs", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0644);

	assert_int_equal(stream_open(&s, kit_dir, path), 0);
	assert_int_equal(stream_step(&s), 1);
	assert_int_equal(event_mcv(&s.ev), MCV('O', 'H', 'x'));
	assert_int_equal(stream_step(&s), 1);
	assert_int_equal(event_mcv(&s.ev), MCV('O', 'H', 'e'));
	assert_int_equal(stream_step(&s), 0);
	stream_close(&s);
	json_free(meta);
}

static void the_trace_itself_can_be_the_stream(void **state)
{
	struct json *meta = meta_of(1);
	int dir;

	(void)state;
	kit_mkdir("self");
	dir = openat(kit_dir, "self", O_RDONLY | O_DIRECTORY);
	assert_int_equal(stream_create(dir, "", meta), 0);
	assert_int_equal(stream_append(dir, "", "", 0), 0);
	assert_int_equal(stream_describe(dir, "", meta), 0);
	assert_int_equal(kit_size("self/stream.obs"), 8);
	close(dir);
	json_free(meta);
}

static void files_of_a_killed_program_are_replaced(void **state)
{
	struct json *meta = meta_of(2);

	(void)state;
	assert_int_equal(stream_create(kit_dir, "left", meta), 0);
	kit_file("left/stream.json.new", "half", 4);
	assert_int_equal(stream_describe(kit_dir, "left", meta), 0);
	assert_int_equal(kit_size("left/stream.json.new"), -1);
	/* a stream.obs alone is somebody's, too */
	kit_mkdir("half");
	kit_file("half/stream.obs", "data", 4);
	assert_int_equal(stream_create(kit_dir, "half", meta), -EEXIST);
	assert_int_equal(kit_size("half/stream.obs"), 4);
	assert_int_equal(kit_size("half/stream.json"), -1);
	json_free(meta);
}

/* ---- links ---- */

/* In the folder: `outside` is where nothing may be written. */
static void lay_traps(void)
{
	static const char *const bpf[][2] = {
		{"../outside", "trace/link"},
		{"real", "trace/inside"}, /* stays below, and is still refused */
		{"../../outside/victim", "trace/obs/stream.obs"},
		{"../../outside/stream.json", "trace/json/stream.json"},
		{"../../outside/new", "trace/new/stream.json.new"},
	};

	kit_mkdir("outside");
	kit_file("outside/victim", "ovni\1\0\0\0", 8);
	kit_mkdir("trace");
	kit_mkdir("trace/real");
	kit_mkdir("trace/obs");
	kit_mkdir("trace/json");
	kit_mkdir("trace/new");
	kit_mkdir("trace/hard");
	for (size_t i = 0; i < COUNT(bpf); i++)
		assert_int_equal(symlinkat(bpf[i][0], kit_dir, bpf[i][1]), 0);
	assert_int_equal(linkat(kit_dir, "outside/victim", kit_dir, "trace/hard/stream.obs", 0), 0);
}

static void remove_all(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", kit_folder, name);
	assert_int_equal(nftw(path, kit_remove, 64, FTW_DEPTH | FTW_PHYS), 0);
}

static bool is_refused(int err)
{
	return err == -ELOOP || err == -ENOTDIR || err == -EXDEV || err == -EPERM;
}

/* Returns 0 if everything is right, else the line of the first mistake. */
#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			return __LINE__;                                                           \
	} while (0)

static int spring_traps(int dir)
{
	struct json *meta = meta_of(3);
	int fd;

	/* on the way */
	MUST(is_refused(stream_create(dir, "link/s", meta)));
	MUST(is_refused(stream_create(dir, "inside/s", meta)));
	MUST(is_refused(stream_create(dir, "link", meta)));
	MUST(is_refused(stream_append(dir, "link", "x", 1)));
	MUST(is_refused(stream_describe(dir, "link", meta)));
	MUST(is_refused(stream_describe(dir, "inside", meta)));
	/* out of it */
	MUST(is_refused(stream_create(dir, "../outside/s", meta)));
	MUST(is_refused(stream_create(dir, "real/../../outside/s", meta)));
	MUST(is_refused(stream_append(dir, "../outside", "x", 1)));
	MUST(is_refused(stream_describe(dir, "..", meta)));
	MUST(is_refused(stream_create(dir, "/", meta)));
	MUST(is_refused(stream_describe(dir, "/tmp", meta)));
	/* at the end */
	MUST(is_refused(stream_append(dir, "obs", "x", 1)));
	MUST(is_refused(stream_append(dir, "hard", "x", 1)));
	MUST(stream_create(dir, "obs", meta) == -EEXIST);
	MUST(stream_create(dir, "json", meta) == -EEXIST);
	/* a link under the temporary name is removed, not its target */
	MUST(stream_create(dir, "new", meta) == 0);
	/* the link itself is replaced, not its target */
	MUST(stream_describe(dir, "json", meta) == 0);
	/* and a right one works */
	MUST(stream_create(dir, "real/./a//b", meta) == 0);
	MUST(stream_append(dir, "real/a/b", "x", 1) == 0);
	fd = beneath_open(dir, "real", O_RDONLY | O_DIRECTORY, 0);
	MUST(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	close(fd);
	MUST(beneath_open(dir, "real/missing", O_RDONLY, 0) == -ENOENT);
	MUST(beneath_open(dir, "missing/more", O_RDONLY, 0) == -ENOENT);
	fd = beneath_open(dir, "real/file", O_WRONLY | O_CREAT | O_EXCL, 0600);
	MUST(fd >= 0);
	close(fd);
	MUST(beneath_open(dir, "real/file", O_WRONLY | O_CREAT | O_EXCL, 0600) == -EEXIST);
	json_free(meta);

	MUST(kit_size("outside/victim") == 8);
	MUST(kit_size("outside/stream.json") == -1);
	MUST(kit_size("outside/new") == -1);
	MUST(kit_size("outside/s") == -1);
	MUST(kit_size("trace/real/s") == -1);
	MUST(kit_size("trace/real/a/b/stream.obs") == 9);
	return 0;
}

static void forbid_openat2(int err)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = COUNT(filter), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
		_exit(255);
}

static void links_are_not_followed_with_openat2_and_without(void **state)
{
	static const struct {
		const char *name;
		int err; /* of openat2(); 0: it works */
	} kernels[] = {{"openat2", 0}, {"no_such_call", ENOSYS}, {"forbidden", EPERM}};

	(void)state;
	for (size_t i = 0; i < COUNT(kernels); i++) {
		int status, dir;
		pid_t child;

		print_message("  %s\n", kernels[i].name);
		lay_traps();
		dir = openat(kit_dir, "trace", O_RDONLY | O_DIRECTORY);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			int line;

			if (kernels[i].err) {
				forbid_openat2(kernels[i].err);
				if (syscall(SYS_openat2, 0, 0, 0, 0) != -1 ||
				    errno != kernels[i].err)
					_exit(254);
			}
			line = spring_traps(dir);
			if (line)
				fprintf(stderr, "line %d: not as it must be\n", line);
			_exit(line != 0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		close(dir);
		remove_all("trace");
		remove_all("outside");
	}
}

/* ---- no room ---- */

static void a_file_that_may_not_grow_is_cut_back(void **state)
{
	const rlim_t limit = 1 << 20;
	struct rlimit old, now;
	struct json *meta = meta_of(4);
	uint8_t *events = calloc(1, 300000);
	int err = 0;
	off_t size = 8;

	(void)state;
	assert_non_null(events);
	assert_int_equal(stream_create(kit_dir, "limit", meta), 0);
	getrlimit(RLIMIT_FSIZE, &old);
	now = (struct rlimit){limit, old.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &now);
	while ((err = stream_append(kit_dir, "limit", events, 300000)) == 0)
		size += 300000;
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(err, -EFBIG);
	assert_int_equal(size, 8 + 3 * 300000);
	assert_int_equal(kit_size("limit/stream.obs"), size);
	/* and it continues once there is space */
	assert_int_equal(stream_append(kit_dir, "limit", events, 300000), 0);
	assert_int_equal(kit_size("limit/stream.obs"), size + 300000);
	free(events);
	json_free(meta);
}

static off_t size_in(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -1 : st.st_size;
}

/* In a child with a disk of 256 KiB of its own. 0, a line, or 77 if it may not mount. */
static int fill_disk(void)
{
	struct json *meta = meta_of(5);
	uint8_t events[100000] = {0};
	char path[128];
	off_t size;
	int dir, err;

	snprintf(path, sizeof(path), "%s/disk", kit_folder);
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", path, "tmpfs", 0, "size=256k,nr_inodes=64") < 0)
		return 77;
	/* the old descriptor leads to the folder below the small disk */
	kit_dir = open(kit_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = openat(kit_dir, "disk", O_RDONLY | O_DIRECTORY);
	MUST(stream_create(dir, "a", meta) == 0);
	for (size = 8; (err = stream_append(dir, "a", events, sizeof(events))) == 0;) {
		size += sizeof(events);
		MUST(size < (1 << 20)); /* or this is not the small disk */
	}
	MUST(err == -ENOSPC);
	MUST(size == 8 + 2 * sizeof(events));
	MUST(size_in(dir, "a/stream.obs") == size);
	/* fill it to the last page: nothing is left behind of a stream that does not fit */
	while (stream_append(dir, "a", events, 4096) == 0)
		size += 4096;
	MUST(size_in(dir, "a/stream.obs") == size);
	MUST(stream_create(dir, "b", meta) == -ENOSPC);
	MUST(size_in(dir, "b/stream.obs") == -1);
	MUST(size_in(dir, "b/stream.json") == -1);
	MUST(size_in(dir, "b/stream.json.new") == -1);
	/* and the old description stays */
	json_put_int(meta, "ovni.finished", 1);
	MUST(stream_describe(dir, "a", meta) == -ENOSPC);
	MUST(size_in(dir, "a/stream.json.new") == -1);
	json_free(meta);
	meta = json_load(dir, "a/stream.json");
	MUST(meta && !json_get(meta, "ovni.finished"));
	json_free(meta);
	close(dir);
	return 0;
}

static void a_full_disk_leaves_whole_events_and_the_old_description(void **state)
{
	int status;
	pid_t child;

	(void)state;
	kit_mkdir("disk");
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int line = fill_disk();

		if (line && line != 77)
			fprintf(stderr, "line %d: not as it must be\n", line);
		_exit(line == 0 || line == 77 ? line : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("  no right to mount a small disk\n");
		skip();
	}
	assert_int_equal(status, 0);
}

/* An event of 64 MiB of zeros is written with all its bytes, and takes almost no disk space. */
static void long_zeros_become_holes(void **state)
{
	const size_t size = (64u << 20) + 5;
	struct json *meta = meta_of(7);
	uint8_t *event = calloc(1, size);
	struct stat st;
	uint8_t last;
	int fd;

	(void)state;
	assert_non_null(event);
	event[0] = event[size - 1] = 1;
	assert_int_equal(stream_create(kit_dir, "holes", meta), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(stream_append(kit_dir, "holes", event, size), 0);
	fd = openat(kit_dir, "holes/stream.obs", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, STREAM_HEADER_SIZE + 2 * size);
	assert_true(st.st_blocks * 512 <= 8 << 20);
	assert_int_equal(pread(fd, event, size, (off_t)(STREAM_HEADER_SIZE + size)), size);
	last = event[size - 1];
	assert_int_equal(event[0], 1);
	assert_int_equal(last, 1);
	for (size_t i = 1; i < size - 1; i++)
		last |= event[i];
	assert_int_equal(last, 1);
	close(fd);
	free(event);
	json_free(meta);
}

static void absent_members_are_not_written(void **state)
{
	struct json *meta = meta_of(6);
	char *long_path = malloc(5000);

	(void)state;
	assert_non_null(long_path);
	assert_int_equal(stream_append(kit_dir, "nowhere", "x", 1), -ENOENT);
	assert_int_equal(stream_describe(kit_dir, "nowhere", meta), -ENOENT);
	kit_file("plain", "x", 1);
	assert_int_equal(stream_create(kit_dir, "plain/s", meta), -ENOTDIR);
	kit_mkdir("folder");
	kit_mkdir("folder/stream.obs");
	assert_int_equal(stream_append(kit_dir, "folder", "x", 1), -EISDIR);
	kit_mkdir("fifo");
	assert_int_equal(mkfifoat(kit_dir, "fifo/stream.obs", 0644), 0);
	assert_int_equal(stream_append(kit_dir, "fifo", "x", 1), -ENXIO); /* and does not wait */
	memset(long_path, 'a', 4999);
	long_path[4999] = '\0';
	assert_int_equal(stream_append(kit_dir, long_path, "x", 1), -ENAMETOOLONG);
	assert_int_equal(stream_create(kit_dir, long_path, meta), -ENAMETOOLONG);
	free(long_path);
	json_free(meta);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_is_created_filled_and_described),
		cmocka_unit_test(the_trace_itself_can_be_the_stream),
		cmocka_unit_test(files_of_a_killed_program_are_replaced),
		cmocka_unit_test(links_are_not_followed_with_openat2_and_without),
		cmocka_unit_test(a_file_that_may_not_grow_is_cut_back),
		cmocka_unit_test(a_full_disk_leaves_whole_events_and_the_old_description),
		cmocka_unit_test(long_zeros_become_holes),
		cmocka_unit_test(absent_members_are_not_written),
	};
	return cmocka_run_group_tests(tests, kit_open, kit_close);
}
