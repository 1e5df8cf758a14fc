/* SPDX-License-Identifier: MIT */
/* session_command: see session_command.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "user/cli/session_command.h"
#include "user/control/control.h"
#include "user/host/daemon.h"
#include "trace/base/json.h"
#include "trace/base/log.h"
#include "user/host/privilege.h"
#include "user/session/session.h"
#include "user/stats/live_report.h"

#define ANSWER_MAX 65536

/* ---- questions ---- */

static int connect_to(const struct place *place)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/control", place->fd);
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* The answer to a request, for json_free(); NULL after one message. Waits as long as it takes. */
static struct json *ask(const struct place *place, enum ask request)
{
	struct json *answer = NULL;
	char *text = malloc(ANSWER_MAX), line[16];
	int fd = connect_to(place), len;
	size_t used = 0;
	ssize_t n;

	if (fd < 0 || !text) {
		log_error("the session %s does not answer: %s", place->name,
			  strerror(fd < 0 ? -fd : ENOMEM));
		goto out;
	}
	len = snprintf(line, sizeof(line), "%s\n", ask_names[request]);
	if (send(fd, line, (size_t)len, MSG_NOSIGNAL) == len) {
		do {
			n = read(fd, text + used, ANSWER_MAX - used);
			used += n > 0 ? (size_t)n : 0;
		} while ((n > 0 && used < ANSWER_MAX) || (n < 0 && errno == EINTR));
	}
	if (used)
		answer = json_parse(text, used, place->name);
	else
		log_error("the session %s has hung up: you may not control it, or it has died",
			  place->name);
out:
	if (fd >= 0)
		close(fd);
	free(text);
	return answer;
}

/* Finds a session that runs, or says why not. */
static bool find_running(struct place *place, const char *name)
{
	int err = place_find(place, name);
	enum place_state state = place_state(place);

	if (err && err != -ENOENT)
		return false;
	if (state == PLACE_RUNNING)
		return true;
	if (state == PLACE_NONE)
		log_error("there is no session %s (ovni-bpf session list shows those there are)",
			  name);
	else if (state == PLACE_ENDED)
		log_error("the session %s has ended (ovni-bpf session stop %s shows how)", name,
			  name);
	else
		log_error("the session %s has died without a word: was it killed? (ovni-bpf "
			  "session stop %s shows the rest)",
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
			printf("%-13s %s\n", json_name(node), json_string(node));
		else if (json_is_number(node))
			print_number(json_name(node), json_number(node));
	}
}

static int status_of(const char *name, bool as_json)
{
	struct json *answer = NULL;
	struct place place;
	char *text;

	if (find_running(&place, name))
		answer = ask(&place, ASK_STATUS);
	place_close(&place);
	if (!answer)
		return STATUS_FAILED;
	if (as_json) {
		text = json_text(answer);
		fputs(text ? text : "", stdout);
		free(text);
	} else {
		print_text(answer);
	}
	json_free(answer);
	return STATUS_COMPLETE;
}

static int save(const char *name)
{
	struct json *answer = NULL;
	const char *error, *trace;
	struct place place;

	if (find_running(&place, name))
		answer = ask(&place, ASK_SAVE);
	place_close(&place);
	if (!answer)
		return STATUS_FAILED;
	error = json_string(json_get(answer, "error"));
	trace = json_string(json_get(answer, "trace"));
	if (trace)
		printf("%s\n", trace);
	else
		log_error("%s: %s", name, error ? error : "the session has ended");
	json_free(answer);
	return trace ? STATUS_COMPLETE : STATUS_FAILED;
}

static const char *state_name(const struct place *place, char *text, size_t size)
{
	int status = 0;

	switch (place_state(place)) {
	case PLACE_RUNNING:
		return "running";
	case PLACE_ENDED:
		place_status(place, &status);
		snprintf(text, size, "ended (%d)", status);
		return text;
	default:
		return "dead";
	}
}

static int put_line(void *arg, const struct place *place)
{
	struct json *list = arg, *info = place_info(place), *line = json_put_object(list, NULL);
	char text[32];

	json_put_string(line, "session", place->name);
	json_put_string(line, "state", state_name(place, text, sizeof(text)));
	json_put_int(line, "pid", json_int(json_get(info, "pid")));
	json_put_string(line, "output", json_string(json_get(info, "output")) ?: "");
	json_free(info);
	return 0;
}

static int list(bool as_json)
{
	struct json *doc = json_new_object(), *lines = json_put_array(doc, "sessions");
	int err = place_list(put_line, lines);
	char *text;

	if (as_json) {
		text = json_text(doc);
		fputs(text ? text : "", stdout);
		free(text);
	} else {
		if (json_first(lines))
			printf("%-16s %-12s %8s  %s\n", "session", "state", "pid", "output");
		for (const struct json *line = json_first(lines); line; line = json_next(line))
			printf("%-16s %-12s %8lld  %s\n", json_string(json_get(line, "session")),
			       json_string(json_get(line, "state")),
			       (long long)json_int(json_get(line, "pid")),
			       json_string(json_get(line, "output")));
	}
	json_free(doc);
	return err ? STATUS_FAILED : STATUS_COMPLETE;
}

/* ---- stop ---- */

/* Its end is when it lets the lock go. */
static void wait_for_end(const struct place *place)
{
	int lock = openat(place->fd, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	while (lock >= 0 && flock(lock, LOCK_SH) && errno == EINTR)
		;
	if (lock >= 0)
		close(lock);
}

static void print_log(const struct place *place)
{
	char *text = place_read(place, "log");

	if (text)
		fputs(text, stderr);
	free(text);
}

static int tell_end(const struct place *place)
{
	struct json *info = place_info(place);
	const char *output = json_string(json_get(info, "output"));
	int status = STATUS_FAILED;

	print_log(place);
	if (!place_status(place, &status))
		log_error("the session %s has died without a word: was it killed? ovni-check "
			  "--repair mends what it was writing, below %s",
			  place->name, output ? output : "its output");
	json_free(info);
	return status;
}

static int stop(const char *name)
{
	struct json *answer = NULL;
	struct place place;
	int status = STATUS_FAILED, err = place_find(&place, name);

	if (err == -ENOENT || place_state(&place) == PLACE_NONE) {
		if (!err)
			place_remove(&place); /* the rest of one that a user has stopped */
		log_error("there is no session %s (ovni-bpf session list shows those there are)",
			  name);
	} else if (!err) {
		if (place_state(&place) == PLACE_RUNNING) {
			answer = ask(&place, ASK_STOP);
			if (!answer)
				goto out; /* not ours to remove */
			json_free(answer);
			wait_for_end(&place);
		}
		status = tell_end(&place);
		place_remove(&place);
	}
out:
	place_close(&place);
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
	place_close(&control->place);
	return (int)status;
}

/* In the process that called: the other one records, or has said in its log why not. */
static int tell_start(struct place *place, const struct options *o, bool ready)
{
	struct json *info;
	int status = STATUS_FAILED;

	if (ready) {
		info = place_info(place);
		if (!o->quiet)
			printf("session %s: recording to %s (pid %lld)\n", place->name, o->output,
			       (long long)json_int(json_get(info, "pid")));
		json_free(info);
		place_close(place);
		return STATUS_COMPLETE;
	}
	close(place->lock); /* the other one's copy of it goes with its end */
	place->lock = -1;
	wait_for_end(place);
	print_log(place);
	place_status(place, &status);
	place_remove(place);
	place_close(place);
	return status;
}

static int start(const char *name, struct options *o, bool background)
{
	struct control control = {.ready_fd = -1, .place = {.base = -1, .fd = -1, .lock = -1}};
	struct place *place = &control.place;
	struct identity caller;
	int log = -1, here, err = identity_of_caller(&caller);
	bool ready = false;

	if (!err)
		err = place_make(place, name, caller.uid, caller.gid);
	identity_free(&caller);
	if (err) {
		place_close(place);
		return STATUS_FAILED;
	}
	if (!background)
		return run(o, &control);
	log = place_make_log(place);
	here = log < 0 ? log : daemon_begin(log, &control.ready_fd, &ready);
	if (log >= 0)
		close(log);
	if (here < 0) {
		place_remove(place);
		place_close(place);
		return STATUS_FAILED;
	}
	return here ? tell_start(place, o, ready) : run(o, &control);
}

static int parse_and_start(int argc, char **argv, bool background)
{
	struct options options;
	enum status status;
	const char *name = argv[3];
	char *output;
	int result;

	argv[3] = argv[0];
	if (!options_parse(&options, argc - 3, argv + 3, &status))
		return status;
	argv[3] = (char *)name;
	options.argv = argv;
	if (options.list || options.dry_run) {
		log_error("--list and --dry-run do not go with a session");
		options_free(&options);
		return STATUS_USAGE;
	}
	log_setup("ovni-bpf", options.quiet ? LOG_WARN : options.verbose ? LOG_DEBUG : LOG_INFO);
	output = absolute(options.output);
	if (!output) {
		log_error("the current directory cannot be found: give an absolute path with -o");
		options_free(&options);
		return STATUS_FAILED;
	}
	options.output = output;
	result = start(name, &options, background);
	options_free(&options);
	free(output);
	return result;
}

/* ---- the command line ---- */

static const char usage[] =
	"Usage: ovni-bpf session start NAME OPTIONS...   record in the background\n"
	"       ovni-bpf session run NAME OPTIONS...     record in the foreground, for a service\n"
	"       ovni-bpf session status NAME [--json]    what it does now\n"
	"       ovni-bpf session save NAME               save what is kept, or begin a new trace\n"
	"       ovni-bpf session stop NAME               end it, and tell how it ended\n"
	"       ovni-bpf session list [--json]           all there are\n"
	"\n"
	"OPTIONS are those of a recording (ovni-bpf --help). save goes with --last and --rotate.\n";

static int misused(const char *why)
{
	log_error("session: %s (ovni-bpf session --help)", why);
	return STATUS_USAGE;
}

int client_run(int argc, char **argv)
{
	const char *verb = argc > 2 ? argv[2] : "", *name = argc > 3 ? argv[3] : NULL, *wrong;
	bool as_json = argc > 2 && !strcmp(argv[argc - 1], "--json");
	bool starts = !strcmp(verb, "start") || !strcmp(verb, "run");

	if (!strcmp(verb, "--help") || !strcmp(verb, "-?") || !strcmp(verb, "-h")) {
		fputs(usage, stdout);
		return STATUS_COMPLETE;
	}
	if (!strcmp(verb, "list"))
		return argc == 3 + as_json ? list(as_json) : misused("list takes no name");
	if (!starts && strcmp(verb, "status") && strcmp(verb, "save") && strcmp(verb, "stop"))
		return misused("start, run, status, save, stop or list is wanted");
	if (!name)
		return misused("the name of a session is wanted");
	wrong = place_check_name(name);
	if (wrong) {
		log_error("session %s '%.80s': %s", verb, name, wrong);
		return STATUS_USAGE;
	}
	if (starts)
		return parse_and_start(argc, argv, !strcmp(verb, "start"));
	if (argc != 4 + (as_json && !strcmp(verb, "status")))
		return misused("too many words");
	if (!strcmp(verb, "status"))
		return status_of(name, as_json);
	return !strcmp(verb, "save") ? save(name) : stop(name);
}
