/* SPDX-License-Identifier: MIT */
/* output: directories that are replaced, kept, and left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <dirent.h>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "user/sink/output_dir.h"
#include "user/sink/segment.h"
#include "trace/base/log.h"
#include "trace/ovni/stats_file.h"
#include "trace/ovni/trace.h"
#include "trace/ovni/write_lock.h"

static char folder[32];

/* flock() of this program, as of a file system that may have no locks. */
static int no_locks;

int flock(int fd, int operation)
{
	if (!no_locks)
		return (int)syscall(SYS_flock, fd, operation);
	errno = no_locks;
	return -1;
}

static char heard[1024]; /* the messages */

static void hear(void *to, enum log_level level, const char *text)
{
	size_t used = strlen(heard);

	(void)to;
	(void)level;
	snprintf(heard + used, sizeof(heard) - used, "%s\n", text);
}

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/ovni-output.XXXXXX");
	return !mkdtemp(folder) || chdir(folder);
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "chmod -R u+w %s; rm -rf %s", folder, folder);
	return chdir("/") || system(command);
}

static bool exists(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

static void put(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	assert_true(fd >= 0);
	close(fd);
}

/* A trace with one file, `name`, by which it is known again. */
static void make_trace(const char *dir, const char *name)
{
	char path[256];

	assert_int_equal(mkdir(dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/loom.n", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/loom.n/proc.1", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/loom.n/proc.1/%s", dir, name);
	put(path);
}

static int create(const char *path, bool chosen, bool force)
{
	struct output_dir output;
	int err = output_dir_create(&output, path, chosen, force);

	if (!err)
		assert_true(output.fd >= 0);
	output_dir_close(&output);
	return err;
}

static void a_new_folder_is_made(void **state)
{
	(void)state;
	assert_int_equal(create("a", true, false), 0);
	assert_true(exists("a"));
	assert_int_equal(create("b//", true, false), 0);
	assert_true(exists("b"));
	assert_int_equal(create("no/such/place", true, false), -ENOENT);
}

static void a_chosen_folder_that_exists_is_refused(void **state)
{
	(void)state;
	make_trace("a", "first");
	assert_int_equal(create("a", true, false), -EEXIST);
	assert_true(exists("a/loom.n/proc.1/first"));
}

static void a_chosen_trace_is_replaced_when_forced(void **state)
{
	(void)state;
	make_trace("a", "first");
	assert_int_equal(create("a", true, true), 0);
	assert_true(exists("a"));
	assert_false(exists("a/loom.n"));
	assert_false(exists("a.old"));
}

static void other_directories_are_never_replaced(void **state)
{
	(void)state;
	assert_int_equal(mkdir("a", 0755), 0);
	put("a/thesis");
	assert_int_equal(create("a", true, true), -EEXIST);
	assert_int_equal(create("a", false, false), -EEXIST);
	assert_true(exists("a/thesis"));
	put("file");
	assert_true(create("file", true, true) < 0);
	assert_true(exists("file"));
}

static void the_default_keeps_the_trace_before_it_and_no_other(void **state)
{
	(void)state;
	make_trace("ovni", "first");
	assert_int_equal(create("ovni", false, false), 0);
	assert_true(exists("ovni.old/loom.n/proc.1/first"));
	assert_int_equal(rmdir("ovni"), 0);
	make_trace("ovni", "second");
	assert_int_equal(create("ovni", false, false), 0);
	assert_true(exists("ovni.old/loom.n/proc.1/second"));
	assert_false(exists("ovni.old/loom.n/proc.1/first"));
}

static void an_old_folder_that_is_no_trace_is_left_alone(void **state)
{
	(void)state;
	make_trace("ovni", "first");
	assert_int_equal(mkdir("ovni.old", 0755), 0);
	put("ovni.old/thesis");
	assert_int_equal(create("ovni", false, false), -EEXIST);
	assert_true(exists("ovni.old/thesis"));
	assert_true(exists("ovni/loom.n/proc.1/first"));
}

static void no_link_is_followed(void **state)
{
	(void)state;
	make_trace("real", "first");
	assert_int_equal(symlink("real", "link"), 0);
	assert_true(create("link", true, false) < 0);
	assert_true(create("link", true, true) < 0);
	assert_true(create("link", false, false) < 0);
	assert_true(exists("real/loom.n/proc.1/first"));
	/* nor one in a removed directory */
	make_trace("a", "first");
	assert_int_equal(symlink("../../../real", "a/loom.n/proc.1/link"), 0);
	assert_int_equal(create("a", true, true), 0);
	assert_true(exists("real/loom.n/proc.1/first"));
}

static void an_abandoned_folder_gives_the_earlier_trace_its_place_back(void **state)
{
	struct output_dir output;

	(void)state;
	make_trace("ovni", "first");
	assert_int_equal(output_dir_create(&output, "ovni", false, false), 0);
	output_dir_abandon(&output);
	output_dir_close(&output);
	assert_true(exists("ovni/loom.n/proc.1/first"));
	assert_false(exists("ovni.old"));
	/* but not once something has been written */
	assert_int_equal(output_dir_create(&output, "ovni", false, false), 0);
	put("ovni/something");
	output_dir_abandon(&output);
	output_dir_close(&output);
	assert_true(exists("ovni/something"));
	assert_true(exists("ovni.old/loom.n/proc.1/first"));
}

static void put_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* It saw no thread, or was killed before there was one, or while it wrote its counters. */
static void a_recording_without_streams_is_ours(void **state)
{
	(void)state;
	assert_int_equal(mkdir("ovni", 0755), 0);
	assert_int_equal(mkdir("ovni/" SEGMENT_NEXT, 0755), 0);
	assert_int_equal(mkdir("ovni/0001", 0755), 0);
	put_text("ovni/" STATS_FILE, STATS_BEGINS ", and so on");
	put_text("ovni/" STATS_FILE STATS_PART, STATS_LINE_BEGINS "1");
	put_text("ovni/" STATS_FILE STATS_NEW, "");
	put_text("ovni/" STATS_FILE_OLD, STATS_BEGINS_OLD ", of an older version");
	assert_int_equal(create("ovni", false, false), 0);
	assert_true(exists("ovni.old/" SEGMENT_NEXT));
	assert_int_equal(create("ovni.old", true, true), 0);
	assert_false(exists("ovni.old/" SEGMENT_NEXT));

	/* but not with anything of others */
	put_text("ovni/" STATS_FILE, "mine");
	assert_int_equal(create("ovni", true, true), -EEXIST);
	put_text("ovni/" STATS_FILE, "");
	assert_int_equal(create("ovni", true, true), -EEXIST);
	assert_int_equal(unlink("ovni/" STATS_FILE), 0);
	assert_int_equal(mkdir("ovni/" SEGMENT_NEXT, 0755), 0);
	put("ovni/" SEGMENT_NEXT "/thesis");
	assert_int_equal(create("ovni", true, true), -EEXIST);
	assert_true(exists("ovni/" SEGMENT_NEXT "/thesis"));
}

static int create_file(bool chosen, bool force)
{
	struct output_dir output;
	int err = output_dir_create_file(&output, "run", chosen, force);

	if (!err) /* as at the end of a recording */
		assert_int_equal(unlink("run." STATS_FILE STATS_PART), 0);
	output_dir_close(&output);
	return err;
}

/* Else it would be in the way of the next one when that is over. */
static void unfinished_counters_make_way_at_the_beginning(void **state)
{
	static const char *const names[] = {"run." STATS_FILE STATS_PART,
					    "run." STATS_FILE STATS_NEW};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char old[64];

		snprintf(old, sizeof(old), "%s.old", names[i]);
		put_text(names[i], i ? STATS_BEGINS : STATS_LINE_BEGINS);
		assert_int_equal(create_file(true, false), -EEXIST);
		assert_true(exists(names[i]));
		assert_int_equal(create_file(false, false), 0);
		assert_false(exists(names[i]));
		assert_true(exists(old));
		put_text(names[i], "");
		assert_int_equal(create_file(true, true), 0);
		assert_false(exists(names[i]));
		put_text(names[i], "mine");
		assert_int_equal(create_file(true, true), -EEXIST);
		assert_int_equal(create_file(false, false), -EEXIST);
		assert_true(exists(names[i]));
		assert_int_equal(unlink(names[i]), 0);
	}
}

/* A process that writes the trace (or the counters) `path` until it is killed. */
static pid_t start_writer(const char *path, bool file)
{
	struct output_dir output;
	int ready[2], err;
	char byte = 1;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		err = file ? output_dir_create_file(&output, path, true, false)
			   : output_dir_create(&output, path, true, false);
		if (!err && write(ready[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void kill_writer(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Each way to ask for the trace ends with the name of the process that writes it. */
static void refused_by(pid_t pid, const char *path)
{
	char name[32], says[128];

	snprintf(name, sizeof(name), "%s", program_invocation_short_name);
	name[15] = '\0'; /* as the kernel cuts it */
	snprintf(says, sizeof(says), "%s is in use by %s (pid %d): wait for its end", path, name,
		 pid);
	for (unsigned way = 0; way < 3; way++) {
		heard[0] = '\0';
		assert_int_equal(create(path, way != 0, way == 2), -EBUSY);
		if (!strstr(heard, says) || strchr(heard, '\n') != heard + strlen(heard) - 1)
			fail_msg("heard '%s' instead of '%s'", heard, says);
	}
}

static void a_trace_that_is_being_written_is_left_alone(void **state)
{
	pid_t pid = start_writer("a", false);

	(void)state;
	log_divert(hear, NULL);
	assert_int_equal(mkdir("a/loom.n", 0755), 0);
	refused_by(pid, "a");
	/* not its name, but the directory is locked */
	assert_int_equal(rename("a", "b"), 0);
	refused_by(pid, "b");
	make_trace("a", "second");
	assert_int_equal(rename("b", "a.old"), 0);
	assert_int_equal(create("a", false, false), -EBUSY);
	assert_true(exists("a/loom.n/proc.1/second"));
	assert_true(exists("a.old/loom.n"));
	/* that process is gone, however it has ended, and so is its lock */
	kill_writer(pid);
	assert_int_equal(create("a", false, false), 0);
	assert_true(exists("a.old/loom.n/proc.1/second"));
	log_divert(NULL, NULL);
}

static void counters_that_are_being_written_are_left_alone(void **state)
{
	pid_t pid = start_writer("run", true);
	char says[64];

	(void)state;
	log_divert(hear, NULL);
	snprintf(says, sizeof(says), "(pid %d): wait for its end", pid);
	for (unsigned way = 0; way < 3; way++) {
		heard[0] = '\0';
		assert_int_equal(create_file(way != 0, way == 2), -EBUSY);
		assert_non_null(strstr(heard, "run." STATS_FILE " is in use by "));
		assert_non_null(strstr(heard, says));
	}
	kill_writer(pid);
	assert_int_equal(create_file(true, false), -EEXIST); /* its remains, without a lock */
	assert_int_equal(create_file(false, false), 0);
	log_divert(NULL, NULL);
}

/* The lock of a directory lasts from its first moment to output_dir_release(), or ..._close(). */
static void the_lock_ends_with_the_output(void **state)
{
	struct output_dir output;

	(void)state;
	log_divert(hear, NULL);
	assert_int_equal(output_dir_create(&output, "a", true, false), 0);
	assert_int_equal(create("a", true, true), -EBUSY);
	output_dir_release(&output);
	assert_int_equal(create("a", true, true), 0);
	output_dir_close(&output);
	assert_int_equal(output_dir_create(&output, "b", true, false), 0);
	output_dir_close(&output);
	assert_int_equal(create("b", true, true), 0);
	log_divert(NULL, NULL);
}

static void a_file_system_without_locks_is_reported_once(void **state)
{
	struct output_dir output;

	(void)state;
	log_divert(hear, NULL);
	make_trace("a", "first");
	heard[0] = '\0';
	no_locks = ENOLCK;
	assert_int_equal(output_dir_create(&output, "a", true, true), 0);
	no_locks = 0;
	assert_true(exists("a"));
	assert_string_equal(heard, "a cannot be locked: No locks available (nothing keeps a second "
				   "recorder from writing there)\n");
	output_dir_close(&output);
	log_divert(NULL, NULL);
}

/* Readers share a lock, which keeps writers out. */
static void readers_keep_writers_out_and_not_each_other(void **state)
{
	int one, two;

	(void)state;
	log_divert(hear, NULL);
	assert_int_equal(mkdir("a", 0755), 0);
	one = open("a", O_RDONLY | O_DIRECTORY);
	two = open("a", O_RDONLY | O_DIRECTORY);
	assert_int_equal(write_lock_acquire(one, "a", WRITE_LOCK_READER, ""), 0);
	assert_int_equal(write_lock_acquire(two, "a", WRITE_LOCK_READER, ""), 0);
	assert_int_equal(write_lock_acquire(two, "a", WRITE_LOCK_WRITER, ""), -EBUSY);
	write_lock_release(one);
	assert_int_equal(write_lock_acquire(two, "a", WRITE_LOCK_WRITER, ""), 0);
	assert_int_equal(write_lock_acquire(one, "a", WRITE_LOCK_READER, ""), -EBUSY);
	close(one);
	close(two);
	log_divert(NULL, NULL);
}

/* ---- killed in the middle of a removal ---- */

#define FILES 4

static void make_whole(const char *dir)
{
	char path[256];

	make_trace(dir, "0");
	for (unsigned i = 1; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/loom.n/proc.1/%u", dir, i);
		put(path);
	}
}

static unsigned files_of(const char *dir)
{
	unsigned n = 0;
	char path[256];

	for (unsigned i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/loom.n/proc.1/%u", dir, i);
		n += exists(path);
	}
	return n;
}

/* No trace of that name, a new one, or a whole one. */
static void none_or_whole(const char *dir, unsigned stop)
{
	char loom[256];

	snprintf(loom, sizeof(loom), "%s/loom.n", dir);
	if (exists(loom) && files_of(dir) != FILES)
		fail_msg("%s has %u of %u files after a kill at stop %u", dir, files_of(dir), FILES,
			 stop);
}

static unsigned rests(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	unsigned n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		n += trace_is_removed(entry->d_name);
	closedir(dir);
	return n;
}

/* Kills a process that does `work` when it enters or leaves its system calls for the `stop`-th
 * time. False if it has ended before. */
static bool killed_at(int (*work)(void), unsigned stop)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		raise(SIGSTOP);
		_exit(work() ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status)) {
		print_message("ptrace is not permitted here\n");
		skip();
	}
	for (unsigned n = 0; n < stop; n++) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), 0);
			return false;
		}
	}
	kill_writer(pid);
	return true;
}

static void clear(void)
{
	static const char *const names[] = {"a", "b", "ovni", "ovni.old", "s", "s.old"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (exists(names[i]))
			assert_int_equal(output_dir_remove(AT_FDCWD, names[i]), 0);
}

static int force_a(void)
{
	return create("a", true, true);
}

static int default_ovni(void)
{
	return create("ovni", false, false);
}

static int remove_0001(void)
{
	int fd = open("s", O_RDONLY | O_DIRECTORY), err;

	assert_true(fd >= 0);
	err = output_dir_remove(fd, "0001");
	close(fd);
	return err;
}

/* At each system call: no half trace under the name of one, and the next recorder removes the rest.
 */
static void a_kill_leaves_no_half_trace(void **state)
{
	unsigned stop, left = 0;
	bool killed;

	(void)state;
	for (stop = 1, killed = true; killed; stop++) {
		make_whole("a");
		killed = killed_at(force_a, stop);
		none_or_whole("a", stop);
		left += rests(".");
		assert_int_equal(create("b", true, false), 0);
		assert_int_equal(rests("."), 0);
		clear();
	}
	print_message("--force: %u kills, %u rests\n", stop - 2, left);
	assert_true(stop > 20 && left > 10);
	for (stop = 1, killed = true, left = 0; killed; stop++) {
		make_whole("ovni");
		make_whole("ovni.old");
		killed = killed_at(default_ovni, stop);
		none_or_whole("ovni", stop);
		none_or_whole("ovni.old", stop);
		assert_true(files_of("ovni") || files_of("ovni.old"));
		left += rests(".");
		assert_int_equal(create("b", true, false), 0);
		assert_int_equal(rests("."), 0);
		clear();
	}
	print_message("ovni.old: %u kills, %u rests\n", stop - 2, left);
	assert_true(stop > 20 && left > 10);
	for (stop = 1, killed = true, left = 0; killed; stop++) {
		assert_int_equal(mkdir("s", 0755), 0);
		make_whole("s/0001");
		make_whole("s/0002");
		killed = killed_at(remove_0001, stop);
		none_or_whole("s/0001", stop);
		assert_int_equal(files_of("s/0002"), FILES);
		left += rests("s");
		assert_int_equal(create("s", false, false), 0);
		assert_int_equal(rests("s.old"), 0);
		assert_int_equal(files_of("s.old/0002"), FILES);
		clear();
	}
	print_message("--keep: %u kills, %u rests\n", stop - 2, left);
	assert_true(stop > 20 && left > 10);
}

/* What an interrupted removal left in a directory does not make it a foreign one. A directory that
 * another process is removing is left to that process. */
static void rests_are_ours_and_left_to_the_process_that_removes_them(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(mkdir("s", 0755), 0);
	make_whole("s/" TRACE_REMOVED "1.0");
	make_whole(TRACE_REMOVED "1.0");
	fd = open(TRACE_REMOVED "1.0", O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(create("s", true, true), 0);
	assert_int_equal(rests("s"), 0);
	assert_int_equal(files_of(TRACE_REMOVED "1.0"), FILES);
	close(fd);
	assert_int_equal(create("s", true, true), 0);
	assert_int_equal(rests("."), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_new_folder_is_made),
		TEST(a_chosen_folder_that_exists_is_refused),
		TEST(a_chosen_trace_is_replaced_when_forced),
		TEST(other_directories_are_never_replaced),
		TEST(the_default_keeps_the_trace_before_it_and_no_other),
		TEST(an_old_folder_that_is_no_trace_is_left_alone),
		TEST(no_link_is_followed),
		TEST(a_recording_without_streams_is_ours),
		TEST(unfinished_counters_make_way_at_the_beginning),
		TEST(an_abandoned_folder_gives_the_earlier_trace_its_place_back),
		TEST(a_trace_that_is_being_written_is_left_alone),
		TEST(counters_that_are_being_written_are_left_alone),
		TEST(the_lock_ends_with_the_output),
		TEST(a_file_system_without_locks_is_reported_once),
		TEST(readers_keep_writers_out_and_not_each_other),
		TEST(a_kill_leaves_no_half_trace),
		TEST(rests_are_ours_and_left_to_the_process_that_removes_them),
	};

	log_setup("test", LOG_WARN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
