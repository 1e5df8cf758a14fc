/* SPDX-License-Identifier: MIT */
/*
 * record_run: the record command: takes a run from a simulator while it goes on.
 *
 * In: the messages of a writer (loom_channel.h), on a Unix socket that accepts one simulator; out:
 * the files of the run, with the bytes that the writer would have written itself. Invariants:
 * memory does not depend on the run; after each message the trace file is whole, with a header that
 * counts its records; if the run is cut, its statistics end after the last snapshot, and declare
 * the counts of the last message that had them. Specification: loom.md 13.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/loom/run/loom_command.h"
#include "trace/base/log.h"
#include "trace/base/status.h"
#include "trace/base/text.h"
#include "trace/loom/write/loom_channel.h"
#include "trace/loom/write/run_output.h"
#include "trace/loom/write/run_stats_write.h"

struct recorder {
	const char *run, *socket;
	int from; /* the connection */
	int trace, perf;
	struct channel_hello hello;
	struct loom_account account; /* the last known one */
	uint64_t records;	     /* in the trace file */
	uint64_t first_cycle, last_cycle;
	uint64_t text, whole; /* bytes of the statistics, and up to the last whole piece */
	uint64_t pieces;
	bool ended; /* the writer has closed the run */
};

/* ---- signals ---- */

static volatile sig_atomic_t open_socket = -1; /* the one that the recorder waits for */
static volatile sig_atomic_t stopped;

/* Ends the input: what has arrived is still read, and the run is completed as a cut one. */
static void stop(int number)
{
	int saved = errno;

	stopped = number;
	if (open_socket >= 0)
		shutdown(open_socket, SHUT_RD);
	errno = saved;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = stop};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* ---- the socket ---- */

/* True if no process listens at the socket `name`: its recorder was killed. */
static bool is_stale(const struct sockaddr_un *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;
	bool stale = !lstat(name->sun_path, &st) && S_ISSOCK(st.st_mode) && fd >= 0 &&
		     connect(fd, (const struct sockaddr *)name, sizeof(*name)) &&
		     errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return stale;
}

/* Listens at a socket that only this user may connect to. Returns a descriptor or -errno. */
static int listen_at(const char *path)
{
	struct sockaddr_un name;
	mode_t mask;
	int fd, err = channel_address(&name, path);

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	mask = umask(0077);
	err = bind(fd, (struct sockaddr *)&name, sizeof(name)) ? -errno : 0;
	if (err == -EADDRINUSE && is_stale(&name) && !unlink(path))
		err = bind(fd, (struct sockaddr *)&name, sizeof(name)) ? -errno : 0;
	umask(mask);
	if (!err && listen(fd, 1))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Waits for the simulator; the socket is gone afterwards. Returns 0, or an error after a message.
 */
static int wait_for_simulator(struct recorder *r)
{
	int fd = listen_at(r->socket), err = 0;

	if (fd < 0) {
		log_error("cannot listen at '%s': %s", r->socket, strerror(-fd));
		return fd;
	}
	open_socket = fd;
	log_info("waiting for a simulator with OVNI_LOOM=channel=%s", r->socket);
	while (!stopped && r->from < 0) {
		r->from = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (r->from < 0 && errno != EINTR && errno != ECONNABORTED)
			break;
	}
	open_socket = r->from;
	if (r->from < 0) {
		err = stopped ? -EINTR : -errno;
		log_error("'%s': no simulator came: %s", r->socket,
			  stopped ? "the recorder was stopped" : strerror(-err));
	}
	unlink(r->socket);
	close(fd);
	return err;
}

/* ---- the files ---- */

static int cannot_write(const struct recorder *r, int err)
{
	log_error("cannot write the run '%s': %s", r->run, strerror(-err));
	return err;
}

static const char *text_suffix(const struct recorder *r)
{
	return r->hello.statistics == LOOM_STATISTICS_LEGACY ? LOOM_LEGACY_SUFFIX
							     : LOOM_PERF_SUFFIX;
}

/* Creates the files of the run, and removes those of an earlier one. Returns 0 or -errno. */
static int create_files(struct recorder *r)
{
	bool full = r->hello.mode == LOOM_FULL;
	bool legacy = r->hello.statistics == LOOM_STATISTICS_LEGACY;
	int err = full ? 0 : run_output_forget(r->run, LOOM_TRACE_SUFFIX);

	if (!err && legacy)
		err = run_output_forget(r->run, LOOM_PERF_SUFFIX);
	if (err)
		return err;
	if (full)
		r->trace = run_output_create(r->run, LOOM_TRACE_SUFFIX);
	if (full && r->trace < 0)
		return r->trace;
	if (full && r->hello.as == LOOM_AS_LTRC) {
		err = run_output_header(r->trace, 0);
		if (!err && lseek(r->trace, LOOM_HEADER_SIZE, SEEK_SET) < 0)
			err = -errno;
	}
	r->perf = err ? -1 : run_output_create(r->run, text_suffix(r));
	return err ? err : r->perf < 0 ? r->perf : 0;
}

static int take_records(struct recorder *r, const struct channel_message *m)
{
	size_t size = channel_record_size(r->hello.as);
	uint64_t head = r->hello.as == LOOM_AS_LTRC ? LOOM_HEADER_SIZE : 0;
	struct loom_record record;
	int err;

	if (r->trace < 0 || !m->size || m->size % size)
		return -EBADMSG;
	err = run_output_write(r->trace, m->bytes, m->size);
	if (err) {
		/* the file may end inside a record */
		if (ftruncate(r->trace, (off_t)(head + r->records * size)))
			log_warn("'%s': cannot cut the trace: %s", r->run, strerror(errno));
		return err;
	}
	if (!r->records) {
		loom_decode(&record, m->bytes, r->hello.as == LOOM_AS_NATURAL48);
		r->first_cycle = record.cycle;
	}
	loom_decode(&record, m->bytes + m->size - size, r->hello.as == LOOM_AS_NATURAL48);
	r->last_cycle = record.cycle;
	r->records += m->size / size;
	return head ? run_output_header(r->trace, r->records) : 0;
}

static int take_text(struct recorder *r, const struct channel_message *m)
{
	int err = run_output_write(r->perf, m->bytes, m->size);

	if (!err)
		r->text += m->size;
	return err;
}

/* Completes the statistics of a cut run: after its last snapshot, with the counts so far. */
static int complete_text(struct recorder *r)
{
	struct loom_account a = r->account;
	FILE *out;
	int err;

	if (!r->pieces || r->hello.statistics == LOOM_STATISTICS_LEGACY) {
		log_warn("'%s': no statistics: the run was cut before they came", r->run);
		return run_output_forget(r->run, text_suffix(r));
	}
	if (ftruncate(r->perf, (off_t)r->whole) || lseek(r->perf, (off_t)r->whole, SEEK_SET) < 0)
		return -errno;
	out = fdopen(r->perf, "w");
	if (!out)
		return -ENOMEM;
	r->perf = -1;
	a.written = r->records;
	a.seen = a.written + a.filtered + a.sampled_out + a.dropped;
	err = run_stats_write_cut(out, r->pieces > 1, &a, r->first_cycle,
				  r->records ? loom_cycle_after(r->last_cycle, 1) : 0);
	if (fclose(out) && !err)
		err = -errno;
	return err;
}

static int close_file(int *fd)
{
	int err = *fd >= 0 && close(*fd) ? -errno : 0;

	*fd = -1;
	return err;
}

/* ---- the run ---- */

/* Takes one message. Returns 0, -EBADMSG for what no writer sends, or -errno of the disk. */
static int take(struct recorder *r, const struct channel_message *m)
{
	switch (m->kind) {
	case CHANNEL_RECORDS:
		return take_records(r, m);
	case CHANNEL_TEXT:
		return take_text(r, m);
	case CHANNEL_WHOLE:
		r->whole = r->text;
		r->pieces++;
		return 0;
	case CHANNEL_COUNTS:
		return channel_parse_counts(m, &r->account) ? 0 : -EBADMSG;
	case CHANNEL_END:
		r->ended = channel_parse_counts(m, &r->account) && r->account.written == r->records;
		return r->ended ? 0 : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

static int take_hello(struct recorder *r, struct channel_message *m)
{
	int got = channel_receive(r->from, m), err;

	if (got < 0)
		return got;
	if (!got || !channel_parse_hello(m, &r->hello))
		return -EBADMSG;
	err = create_files(r);
	if (err) {
		channel_answer(r->from, err);
		return cannot_write(r, err);
	}
	channel_answer(r->from, 0); /* a writer that is gone shows in the next message */
	return 0;
}

/* Takes messages up to the end. Returns 0, also without one (r->ended), or -errno after a message.
 */
static int take_all(struct recorder *r, struct channel_message *m)
{
	int got = 1, err = 0;

	while (!r->ended && !err && (got = channel_receive(r->from, m)) > 0)
		err = take(r, m);
	if (got < 0)
		err = got;
	if (err == -EBADMSG) {
		log_error("'%s': a message that no writer of this version sends, after %" PRIu64
			  " records: is the simulator linked with a newer libovni-loom?",
			  r->socket, r->records);
		return err;
	}
	return err ? cannot_write(r, err) : 0;
}

static int finish(struct recorder *r, int err)
{
	int failed;

	if (!r->ended && (failed = complete_text(r)) != 0 && !err)
		err = cannot_write(r, failed);
	failed = close_file(&r->trace);
	if (!failed)
		failed = close_file(&r->perf);
	if (failed && !err)
		err = cannot_write(r, failed);
	/* only now does the simulator know that the files are complete */
	channel_answer(r->from, err);
	return err;
}

static int record(struct recorder *r, struct channel_message *m)
{
	int err = wait_for_simulator(r);

	if (err)
		return err;
	err = take_hello(r, m);
	if (err == -EBADMSG)
		log_error("'%s': no writer of libovni-loom, or one of another version", r->socket);
	if (err)
		return err;
	return finish(r, take_all(r, m));
}

int loom_record(struct loom_options *o)
{
	struct recorder r = {
		.run = o->output, .socket = o->run, .from = -1, .trace = -1, .perf = -1};
	struct channel_message m = {.bytes = malloc(CHANNEL_MOST)};
	int err = m.bytes ? 0 : log_no_memory("for messages of the simulator");

	catch_signals();
	if (!err)
		err = record(&r, &m);
	open_socket = -1;
	if (r.from >= 0)
		close(r.from);
	close_file(&r.trace);
	close_file(&r.perf);
	free(m.bytes);
	if (err)
		return STATUS_FAILED;
	log_info("'%s': %" PRIu64 " %s", r.run, r.records, plural(r.records, "record", "records"));
	if (!r.ended)
		log_warn("'%s' is incomplete: %s before the end of the run: counters and the "
			 "records after these are missing",
			 r.run, stopped ? "the recorder was stopped" : "the simulator ended");
	else if (r.account.dropped)
		log_warn("'%s' is incomplete: the simulator dropped %" PRIu64 " %s", r.run,
			 r.account.dropped, plural(r.account.dropped, "record", "records"));
	return r.ended && !r.account.dropped ? STATUS_COMPLETE : STATUS_LOST;
}
