/* SPDX-License-Identifier: MIT */
/* control: names of sessions, and a server that nobody can put out of step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "trace/base/json.h"
#include "trace/base/log.h"
#include "user/control/control.h"

static char dir[64];

static int setup(void **state)
{
	struct control *control = calloc(1, sizeof(*control));

	log_setup("test", LOG_ERROR);
	snprintf(dir, sizeof(dir), "/tmp/ovni-control-XXXXXX");
	assert_non_null(mkdtemp(dir));
	control->ready_fd = -1;
	control->dir = (struct session_dir){.base = -1, .lock = -1};
	snprintf(control->dir.name, sizeof(control->dir.name), "test");
	control->dir.path = strdup(dir);
	control->dir.owner = geteuid();
	control->dir.fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(control->dir.fd >= 0);
	assert_int_equal(control_begin(control, "/out", (char *[]){(char *)"ovni-bpf", NULL}), 0);
	*state = control;
	return 0;
}

static int teardown(void **state)
{
	struct control *control = *state;

	control_end(control, 0);
	session_dir_remove(&control->dir);
	session_dir_close(&control->dir);
	rmdir(dir);
	free(control);
	return 0;
}

static int dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", dir);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* The received bytes, to the end of the connection; the server has answered, or hung up. */
static void expect_answer(int fd, const char *part)
{
	char text[4096];
	size_t used = 0;
	ssize_t n;

	while ((n = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	if (part)
		assert_non_null(strstr(text, part));
	else
		assert_int_equal(used, 0);
	close(fd);
}

static void names_of_sessions(void **state)
{
	static const char *const good[] = {"a", "night", "db-1", "a.b_c@d", "2026"};
	static const char *const bad[] = {"",	 "/",	"a/b",	     "..", ".a",  "-a",
					  "a b", "a\n", "n\303\266", "_a", "a\\b"};
	char longest[SESSION_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_null(session_dir_check_name(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_non_null(session_dir_check_name(bad[i]));
	memset(longest, 'a', sizeof(longest));
	longest[SESSION_NAME_MAX + 1] = '\0';
	assert_non_null(session_dir_check_name(longest));
	longest[SESSION_NAME_MAX] = '\0';
	assert_null(session_dir_check_name(longest));
}

static void a_status_is_answered_at_once_and_a_save_later(void **state)
{
	struct control *control = *state;
	struct json *status = control_status(control);
	unsigned client;
	int saver, asker;

	assert_int_equal(control_next(control, &client), CONTROL_NONE);
	saver = dial();
	say(saver, "save\n");
	assert_int_equal(control_next(control, &client), CONTROL_SAVE);
	asker = dial();
	say(asker, "sta");
	assert_int_equal(control_next(control, &client), CONTROL_NONE);
	say(asker, "tus\n");
	assert_int_equal(control_next(control, &client), CONTROL_STATUS);
	json_put_int(status, "records", 77);
	control_send(control, client, status);
	expect_answer(asker, "\"records\": 77");
	control_saved(control, "/out/0001");
	expect_answer(saver, "/out/0001");
	assert_int_equal(control_next(control, &client), CONTROL_NONE);
}

static void invalid_requests_end_the_connection(void **state)
{
	static const char *const nonsense[] = {
		"\n",
		"STATUS\n",
		"status \n",
		"status\nstop\n",
		"stop",
		"stopp\n",
		"0123456789012345678901234567890123456789",
	};
	struct control *control = *state;
	unsigned client;

	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		int fd = dial();

		say(fd, nonsense[i]);
		shutdown(fd, SHUT_WR);
		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(control_next(control, &client), CONTROL_NONE);
		expect_answer(fd, NULL);
	}
}

static void too_many_do_not_keep_others_out_for_good(void **state)
{
	struct control *control = *state;
	unsigned client;
	int fds[40], fd;

	for (size_t i = 0; i < 40; i++) {
		fds[i] = dial();
		assert_int_equal(control_next(control, &client), CONTROL_NONE);
	}
	for (size_t i = 0; i < 40; i++)
		close(fds[i]);
	assert_int_equal(control_next(control, &client), CONTROL_NONE);
	fd = dial();
	say(fd, "status\n");
	assert_int_equal(control_next(control, &client), CONTROL_STATUS);
	control_send(control, client, control_status(control));
	expect_answer(fd, "\"running\"");
}

/* A client that has gone gets no answer. */
static void a_closed_client_gets_no_answer(void **state)
{
	struct control *control = *state;
	unsigned client;
	int fd = dial();

	say(fd, "save\n");
	assert_int_equal(control_next(control, &client), CONTROL_SAVE);
	close(fd);
	control_saved(control, "/out/0001");
	fd = dial();
	say(fd, "save\n");
	assert_int_equal(control_next(control, &client), CONTROL_SAVE);
	close(fd);
	assert_int_equal(control_next(control, &client), CONTROL_NONE);
	control_saved(control, "/out/0002");
}

static void all_waiting_clients_get_the_end(void **state)
{
	struct control *control = *state;
	int stopper = dial(), saver = dial(), late = dial(), status = -1;
	unsigned client;

	say(stopper, "stop\n");
	assert_int_equal(control_next(control, &client), CONTROL_STOP);
	say(saver, "save\n");
	assert_int_equal(control_next(control, &client), CONTROL_SAVE);
	say(late, "status\n");
	control_end(control, 3);
	expect_answer(stopper, "\"state\": \"ended (3)\"");
	expect_answer(saver, "\"status\": 3");
	expect_answer(late, "\"status\": 3");
	assert_true(session_dir_status(&control->dir, &status));
	assert_int_equal(status, 3);
	assert_int_equal(faccessat(control->dir.fd, "control", F_OK, 0), -1);
}

static void a_recording_without_a_name_has_none_of_this(void **state)
{
	unsigned client;

	(void)state;
	assert_int_equal(control_begin(NULL, "/out", NULL), 0);
	assert_int_equal(control_fd(NULL), -1);
	assert_int_equal(control_next(NULL, &client), CONTROL_NONE);
	control_ready(NULL);
	control_saved(NULL, "/out");
	control_end(NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_sessions),
		cmocka_unit_test_setup_teardown(a_status_is_answered_at_once_and_a_save_later,
						setup, teardown),
		cmocka_unit_test_setup_teardown(invalid_requests_end_the_connection, setup,
						teardown),
		cmocka_unit_test_setup_teardown(too_many_do_not_keep_others_out_for_good, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_closed_client_gets_no_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(all_waiting_clients_get_the_end, setup, teardown),
		cmocka_unit_test(a_recording_without_a_name_has_none_of_this),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
