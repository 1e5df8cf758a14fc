/* SPDX-License-Identifier: MIT */
/*
 * session_command: `ovni-bpf session start|run|status|save|stop|list`, for options.h.
 *
 * In: the command line; out: a session in the background (start) or in the foreground for a service
 * manager (run); or a request to a running session, and its answer on standard output, as text or
 * JSON (--json).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "user/cli/options.h"
#include "user/control/control.h"
#include "user/host/daemon.h"
#include "trace/base/cli.h"
#include "trace/base/json.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "user/host/privilege.h"
#include "user/host/proc_info.h"
#include "user/session/session.h"
#include "user/stats/live_report.h"

#define ANSWER_MAX 65536
#define LOOK_MS	   10 /* between looks at the lock of a session */
#define ANSWER_S   5  /* then it is examined whether the session can answer */

/* The answers and files of a session may be those of another user: their texts are escaped. */

/* ---- requests ---- */

/* A session that is stopped accepts as many connections as its queue holds; then connect() waits.
 */
static int connect_to(const struct session_dir *dir)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval limit = {.tv_sec = ANSWER_S};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/control", dir->fd);
	if (!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) &&
	    !connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* Reports a session that does not answer. A save or a stop may take long; a status never does, nor
 * does a stopped process answer (SIGSTOP, a debugger). True if waiting is of no use. */
static bool gives_up(const struct session_dir *dir, enum control_request request, pid_t pid)
{
	char state = process_state((uint32_t)pid);

	if (state == 'T' || state == 't')
		log_error("session %s does not answer: its process %d is stopped (kill -CONT %d "
			  "continues it)",
			  dir->name, pid, pid);
	else if (request == CONTROL_STATUS)
		log_error("session %s gave no answer for %d s: its process %d is busy, or hangs",
			  dir->name, ANSWER_S, pid);
	else
		return false;
	return true;
}

/* Waits for the answer. False after one message. */
static bool wait_for_answer(const struct session_dir *dir, enum control_request request, int fd,
			    pid_t pid)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	int n;

	for (;;) {
		n = poll(&wait, 1, ANSWER_S * 1000);
		if (n > 0)
			return true;
		if (!n && gives_up(dir, request, pid))
			return false;
	}
}

/* Sends a request. Returns the answer, for json_free(), and stores the process of the session; or
 * NULL after one message. */
static struct json *request_answer(const struct session_dir *dir, enum control_request request,
				   pid_t *pid)
{
	struct json *answer = NULL;
	char *text = malloc(ANSWER_MAX), line[16];
	int fd = connect_to(dir), len;
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	size_t used = 0;
	ssize_t n;

	if (fd >= 0)
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
	*pid = peer.pid;
	if (fd == -EAGAIN) {
		log_error("session %s does not answer: too many requests wait (it is stopped, or "
			  "hangs)",
			  dir->name);
		goto out;
	}
	if (fd < 0 || !text) {
		log_error("cannot reach session %s: %s", dir->name,
			  strerror(fd < 0 ? -fd : ENOMEM));
		goto out;
	}
	len = snprintf(line, sizeof(line), "%s\n", control_request_names[request]);
	if (send(fd, line, (size_t)len, MSG_NOSIGNAL) == len) {
		if (!wait_for_answer(dir, request, fd, peer.pid))
			goto out;
		do {
			n = read(fd, text + used, ANSWER_MAX - used);
			used += n > 0 ? (size_t)n : 0;
		} while ((n > 0 && used < ANSWER_MAX) || (n < 0 && errno == EINTR));
	}
	if (used)
		answer = json_parse(text, used, dir->name);
	else
		log_error("session %s gave no answer: it was killed, or belongs to another user",
			  dir->name);
out:
	if (fd >= 0)
		close(fd);
	free(text);
	return answer;
}

/* Finds a running session; false after one message. */
static bool find_running(struct session_dir *dir, const char *name)
{
	int err = session_dir_find(dir, name);
	enum session_state state = session_dir_state(dir);

	if (err && err != -ENOENT)
		return false;
	if (state == SESSION_RUNNING)
		return true;
	if (state == SESSION_NONE)
		log_error("no session %s (see ovni-bpf session list)", name);
	else if (state == SESSION_ENDED)
		log_error("session %s has ended (ovni-bpf session stop %s prints its messages)",
			  name, name);
	else
		log_error("session %s is dead: it was killed (ovni-bpf session stop %s prints its "
			  "messages)",
			  name, name);
	return false;
}

/* ---- status, save, list ---- */

static void print_number(const char *name, double value)
{
	char text[32];

	if (!strcmp(name, "bytes"))
		summary_bytes(text, sizeof(text), (uint64_t)value);
	else if (!strcmp(name, "fullest_ring"))
		snprintf(text, sizeof(text), "%.1f %%", 100 * value);
	else
		snprintf(text, sizeof(text), "%.*f", strcmp(name, "seconds") ? 0 : 3, value);
	printf("%-13s %s\n", name, text);
}

static void print_text(const struct json *answer)
{
	for (const struct json *node = json_first(answer); node; node = json_next(node)) {
		if (json_string(node))
			printf("%-13s %s\n", text_shown(json_name(node)),
			       text_shown(json_string(node)));
		else if (json_is_number(node))
			print_number(text_shown(json_name(node)), json_number(node));
	}
}

static void print_json(const struct json *document)
{
	char *text = json_text(document);

	if (text)
		fputs(text, stdout);
	else
		log_lack("while printing the answer");
	free(text);
}

/* Adds the name, the state and the other facts in the directory of a session. */
static void put_session(struct json *line, const struct session_dir *dir)
{
	struct json *info = session_dir_info(dir);
	char text[32];
	int status = 0;

	session_dir_status(dir, &status);
	json_put_string(line, "session", dir->name);
	json_put_string(line, "state",
			session_state_name(session_dir_state(dir), status, text, sizeof(text)));
	json_put_int(line, "pid", json_int(json_get(info, "pid")));
	json_put_string(line, "output", json_string(json_get(info, "output")) ?: "");
	json_free(info);
}

/* A session that does not run is shown as in the list, after the message. */
static int status_of(const char *name, bool as_json)
{
	struct json *answer = NULL;
	struct session_dir dir;
	bool running = find_running(&dir, name);
	pid_t pid;

	if (running) {
		answer = request_answer(&dir, CONTROL_STATUS, &pid);
	} else if (session_dir_state(&dir) != SESSION_NONE) {
		answer = json_new_object();
		put_session(answer, &dir);
	}
	session_dir_close(&dir);
	if (!answer)
		return STATUS_FAILED;
	if (as_json)
		print_json(answer);
	else
		print_text(answer);
	json_free(answer);
	return running ? STATUS_COMPLETE : STATUS_FAILED;
}

static int save(const char *name)
{
	struct json *answer = NULL;
	const char *error, *trace;
	struct session_dir dir;
	pid_t pid;

	if (find_running(&dir, name))
		answer = request_answer(&dir, CONTROL_SAVE, &pid);
	session_dir_close(&dir);
	if (!answer)
		return STATUS_FAILED;
	error = json_string(json_get(answer, "error"));
	trace = json_string(json_get(answer, "trace"));
	if (trace)
		printf("%s\n", text_shown(trace));
	else
		log_error("%s: %s", name, error ? error : "the session has ended");
	json_free(answer);
	return trace ? STATUS_COMPLETE : STATUS_FAILED;
}

static int put_line(void *arg, const struct session_dir *dir)
{
	put_session(json_put_object(arg, NULL), dir);
	return 0;
}

static int list(bool as_json)
{
	struct json *doc = json_new_object(), *lines = json_put_array(doc, "sessions");
	int err = session_dir_list(put_line, lines);

	if (as_json) {
		print_json(doc);
	} else {
		if (json_first(lines))
			printf("%-16s %-12s %8s  %s\n", "session", "state", "pid", "output");
		for (const struct json *line = json_first(lines); line; line = json_next(line))
			printf("%-16s %-12s %8lld  %s\n", json_string(json_get(line, "session")),
			       json_string(json_get(line, "state")),
			       (long long)json_int(json_get(line, "pid")),
			       text_shown(json_string(json_get(line, "output"))));
	}
	json_free(doc);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}

/* ---- stop ---- */

/* Waits until the session ends, which releases the lock. False after one message if its process
 * `pid` (0: not known) is stopped before. */
static bool wait_for_end(const struct session_dir *dir, pid_t pid)
{
	const struct timespec step = {.tv_nsec = LOOK_MS * 1000000};
	int lock = openat(dir->fd, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC), looks = 0;
	bool ended = true;

	while (ended && lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) &&
	       (errno == EWOULDBLOCK || errno == EINTR)) {
		nanosleep(&step, NULL);
		if (++looks % (ANSWER_S * 1000 / LOOK_MS) == 0)
			ended = !gives_up(dir, CONTROL_STOP, pid);
	}
	if (lock >= 0)
		close(lock);
	return ended;
}

static void print_log(const struct session_dir *dir)
{
	char *text = session_dir_read(dir, "log"), *rest = NULL;

	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		fprintf(stderr, "%s\n", text_shown(line));
	free(text);
}

static int report_end(const struct session_dir *dir)
{
	struct json *info = session_dir_info(dir);
	const char *output = json_string(json_get(info, "output"));
	int status = STATUS_FAILED;

	print_log(dir);
	if (!session_dir_status(dir, &status))
		log_error("session %s was killed: repair its trace with ovni-check --repair, below "
			  "%s",
			  dir->name, output ? output : "its output");
	json_free(info);
	return status;
}

static int stop(const char *name)
{
	struct json *answer = NULL;
	struct session_dir dir;
	int status = STATUS_FAILED, err = session_dir_find(&dir, name);
	enum session_state state = session_dir_state(&dir);
	pid_t pid;

	if (err == -ENOENT)
		goto none;
	if (err)
		goto out;
	if (state == SESSION_NONE) {
		session_dir_remove(&dir); /* left by a stop that could not remove it */
		goto none;
	}
	if (state == SESSION_RUNNING) {
		answer = request_answer(&dir, CONTROL_STOP, &pid);
		if (!answer)
			goto out; /* not ours: do not remove it */
		json_free(answer);
		if (!wait_for_end(&dir, pid))
			goto out;
	}
	status = report_end(&dir);
	privilege_resume(); /* root owns the directory of all sessions */
	session_dir_remove(&dir);
	goto out;
none:
	log_error("no session %s (see ovni-bpf session list)", name);
out:
	session_dir_close(&dir);
	return status;
}

/* ---- start ---- */

static char *absolute(const char *path)
{
	char *cwd = *path == '/' ? NULL : getcwd(NULL, 0), *whole = NULL;

	if (*path == '/')
		return strdup(path);
	if (!cwd || asprintf(&whole, "%s/%s", cwd, path) < 0)
		whole = NULL;
	free(cwd);
	return whole;
}

static int run(const struct options *o, struct control *control)
{
	enum status status = session_run(o, control);

	control_end(control, (int)status);
	session_dir_close(&control->dir);
	return (int)status;
}

/* In the calling process: the other process records, or its log says why not. */
static int report_start(struct session_dir *dir, const struct options *o, bool ready)
{
	struct json *info;
	int status = STATUS_FAILED;

	if (ready) {
		info = session_dir_info(dir);
		if (!o->quiet)
			printf("session %s: recording to %s (pid %lld)\n", dir->name, o->output,
			       (long long)json_int(json_get(info, "pid")));
		json_free(info);
		session_dir_close(dir);
		return STATUS_COMPLETE;
	}
	close(dir->lock); /* the other process holds its copy until it ends */
	dir->lock = -1;
	if (!wait_for_end(dir, 0))
		return status;
	print_log(dir);
	session_dir_status(dir, &status);
	session_dir_remove(dir);
	session_dir_close(dir);
	return status;
}

static int start(const char *name, struct options *o, bool background)
{
	struct control control = {.ready_fd = -1, .dir = {.base = -1, .fd = -1, .lock = -1}};
	struct session_dir *dir = &control.dir;
	struct identity caller;
	int log = -1, here, err = identity_of_caller(&caller);
	bool ready = false;

	if (err)
		goto failed;
	err = session_dir_make(dir, name, caller.uid, caller.gid);
	identity_free(&caller);
	if (err)
		goto failed;
	if (!background)
		return run(o, &control);
	log = session_dir_make_log(dir);
	here = log < 0 ? log : daemon_begin(log, &control.ready_fd, &ready);
	if (log >= 0)
		close(log);
	if (here >= 0)
		return here ? report_start(dir, o, ready) : run(o, &control);
	session_dir_remove(dir);
failed:
	session_dir_close(dir);
	return STATUS_FAILED;
}

/* `operands` are the name of the session and the options of a recording. */
static int parse_and_start(int argc, char **operands, char **argv, bool background)
{
	struct options options;
	enum status status;
	char *output = NULL, *on_trigger = NULL;
	int result = STATUS_FAILED;

	if (!options_parse(&options, argc, operands, &status))
		return status;
	options.argv = argv;
	if (options.list || options.dry_run) {
		log_error("a session takes neither --list nor --dry-run");
		result = STATUS_USAGE;
		goto out;
	}
	log_setup("ovni-bpf", options.quiet ? LOG_WARN : options.verbose ? LOG_DEBUG : LOG_INFO);
	output = absolute(options.output);
	if (options.on_trigger && strchr(options.on_trigger, '/'))
		on_trigger = absolute(options.on_trigger);
	if (!output || (options.on_trigger && strchr(options.on_trigger, '/') && !on_trigger)) {
		log_error("cannot find the current directory: give absolute paths with -o and "
			  "--on-trigger");
		goto out;
	}
	options.output = output;
	if (on_trigger)
		options.on_trigger = on_trigger;
	result = start(operands[0], &options, background);
out:
	options_free(&options);
	free(output);
	free(on_trigger);
	return result;
}

/* ---- the command line ---- */

static const struct cli_option no_options[] = {{0}};
static const struct cli_option json_option[] = {
	{"json", 0, NULL, cli_flag, 0, "print JSON"},
	{0},
};

static const struct cli cli_start = {
	.name = "ovni-bpf session start",
	.operands = "NAME",
	.synopsis = "ovni-bpf session start NAME OPTION...",
	.about =
		"Record in the background. The options are those of a recording (ovni-bpf --help).",
	.options = no_options,
	.command = true,
};
static const struct cli cli_run = {
	.name = "ovni-bpf session run",
	.operands = "NAME",
	.synopsis = "ovni-bpf session run NAME OPTION...",
	.about = "Record in the foreground, for a service manager. The options are those of a "
		 "recording (ovni-bpf --help).",
	.options = no_options,
	.command = true,
};
static const struct cli cli_status = {
	.name = "ovni-bpf session status",
	.operands = "NAME",
	.about = "Print the state of a recording, and its recorded and lost events.",
	.options = json_option,
};
static const struct cli cli_save = {
	.name = "ovni-bpf session save",
	.operands = "NAME",
	.about = "Save the memory of --last, or begin a new trace with --rotate; print the trace.",
	.options = no_options,
};
static const struct cli cli_stop = {
	.name = "ovni-bpf session stop",
	.operands = "NAME",
	.about = "Stop a recording, print its messages, and return its exit status.",
	.options = no_options,
};
static const struct cli cli_list = {
	.name = "ovni-bpf session list",
	.about = "List all sessions.",
	.options = json_option,
};

/* In the order of the table below. */
enum command {
	COMMAND_START,
	COMMAND_STATUS,
	COMMAND_SAVE,
	COMMAND_STOP,
	COMMAND_LIST,
	COMMAND_RUN
};

static const struct cli *const commands[] = {&cli_start, &cli_status, &cli_save, &cli_stop,
					     &cli_list,	 &cli_run,    NULL};

static const struct cli_program program = {
	.name = "ovni-bpf session",
	.about = "Control recordings that have a name and outlive the terminal.",
	.commands = commands,
	.notes = "Examples:\n"
		 "  # a flight recorder of the whole machine\n"
		 "  sudo ovni-bpf session start night -a --last 30s\n"
		 "\n"
		 "  # save the last 30 seconds, then end\n"
		 "  sudo ovni-bpf session save night\n"
		 "  sudo ovni-bpf session stop night",
};

/* Sends requests to running sessions with the rights of the caller; through sudo, of the user who
 * called sudo. */
static int run_command(enum command command, char **operands, bool as_json)
{
	if (privilege_act_as_caller())
		return STATUS_FAILED;
	switch (command) {
	case COMMAND_STATUS:
		return status_of(operands[0], as_json);
	case COMMAND_SAVE:
		return save(operands[0]);
	case COMMAND_STOP:
		return stop(operands[0]);
	default:
		return list(as_json);
	}
}

int session_command(int argc, char **argv)
{
	char **words = calloc((size_t)argc + 1, sizeof(*words)), **operands;
	int n = argc - 1, command, result = STATUS_FAILED;
	bool as_json = false;
	const char *wrong;
	enum status status;

	if (!words) {
		log_lack("for the command line");
		return STATUS_FAILED;
	}
	memcpy(words, argv + 1, (size_t)n * sizeof(*words)); /* argv stays whole for the metadata */
	command = cli_command(&program, &n, words, &status);
	operands = command < 0 ? NULL : cli_read(commands[command], n, words, &as_json, &status);
	if (!operands) {
		result = (int)status;
		goto out;
	}
	wrong = command == COMMAND_LIST ? NULL : session_dir_check_name(operands[0]);
	if (wrong) {
		log_error("session '%.80s': %s", operands[0], wrong);
		result = STATUS_USAGE;
		goto out;
	}
	if (command == COMMAND_START || command == COMMAND_RUN)
		result = parse_and_start(n - (int)(operands - words), operands, argv,
					 command == COMMAND_START);
	else
		result = run_command((enum command)command, operands, as_json);
	if ((flush_stdout() || log_lacks_memory()) && !result)
		result = STATUS_FAILED;
out:
	free(words);
	return result;
}
