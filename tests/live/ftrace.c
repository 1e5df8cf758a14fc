/* SPDX-License-Identifier: MIT */
/*
 * ftrace: an independent instrument, to compare the recorder with.
 *
 *   ftrace [-i] [-b MIB] FILE      records until SIGINT, SIGTERM or SIGHUP
 *
 * It records every scheduler switch and wake-up of the machine, or with -i every switch and
 * interrupt handler, with the kernel's own tracer, in a separate instance, prints "ready" on
 * standard output, and at the end decodes the raw ring buffers into FILE (ftrace.h). Nothing is
 * read meanwhile, so it does not disturb; a buffer that was too small is an error, never a hole.
 * The instance is removed however the program ends: a guard process waits for its end. tracefs is
 * mounted for this program alone.
 *
 * Status 0, 1 failed, 2 usage, 77 no tracefs here.
 * Format of the pages: Documentation/trace/ring-buffer-map.rst, events/header_event.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ftrace.h"

#define PAGE 4096

/* Offsets of an event's fields, from its `format` file. */
struct event_format {
	const char *path; /* below events/ */
	enum ftrace_kind kind;
	const char *fields[3]; /* names of a, b, state; NULL: none */
	unsigned id;
	unsigned offsets[3], sizes[3];
	enum ftrace_handler handler; /* of FTRACE_ENTER and FTRACE_LEAVE */
};

#define HANDLER(path, field, handler)                                                              \
	{path "_entry", FTRACE_ENTER, {field, NULL, NULL}, 0, {0}, {0}, handler},                  \
	{                                                                                          \
		path "_exit", FTRACE_LEAVE, {field, NULL, NULL}, 0, {0}, {0}, handler              \
	}

/* clang-format off */
static struct event_format formats[] = {
	{"sched/sched_switch", FTRACE_SWITCH, {"prev_pid", "next_pid", "prev_state"}, 0, {0}, {0}, 0},
	{"sched/sched_wakeup", FTRACE_WAKEUP, {"pid", "target_cpu", NULL}, 0, {0}, {0}, 0},
	{"sched/sched_waking", FTRACE_WAKING, {"pid", "target_cpu", NULL}, 0, {0}, {0}, 0},
	{"sched/sched_process_fork", FTRACE_FORK, {"parent_pid", "child_pid", NULL}, 0, {0}, {0}, 0},
	{"sched/sched_stat_runtime", FTRACE_RUNTIME, {"pid", "pid", "runtime"}, 0, {0}, {0}, 0},
	{"sched/sched_process_exec", FTRACE_EXEC, {"pid", "old_pid", NULL}, 0, {0}, {0}, 0},
#define NTASKS 6 /* with -i only the first of these, and the rest */
	HANDLER("irq/softirq", "vec", FTRACE_SOFTIRQ_VECTOR),
	HANDLER("irq/irq_handler", "irq", FTRACE_IRQ_LINE),
	HANDLER("irq_vectors/local_timer", "vector", FTRACE_LOCAL_TIMER),
	HANDLER("irq_vectors/irq_work", "vector", FTRACE_IRQ_WORK),
	HANDLER("irq_vectors/call_function", "vector", FTRACE_CALL_FUNCTION),
	HANDLER("irq_vectors/call_function_single", "vector", FTRACE_CALL_FUNCTION_SINGLE),
	HANDLER("irq_vectors/reschedule", "vector", FTRACE_RESCHEDULE),
};
/* clang-format on */
#define NFORMATS (sizeof(formats) / sizeof(formats[0]))

static bool handlers; /* -i */

static bool wanted(size_t format)
{
	return !format || handlers == (format >= NTASKS);
}

struct output {
	FILE *file;
	uint64_t nrecords;
	uint16_t cpu;
};

static char instance[64];

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
	va_list args;

	fputs("ftrace: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* ---- the instance ---- */

/* tracefs as a folder that only this program sees, or status 77. */
static int mount_tracefs(void)
{
	int context = fsopen("tracefs", FSOPEN_CLOEXEC);
	int fd = -1;

	if (context >= 0 && !fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		fd = fsmount(context, FSMOUNT_CLOEXEC, 0);
	if (fd < 0) {
		fprintf(stderr, "ftrace: cannot mount tracefs: %s\n", strerror(errno));
		exit(77);
	}
	close(context);
	return fd;
}

static int open_at(int dir, const char *path, int flags)
{
	int fd = openat(dir, path, flags | O_CLOEXEC);

	if (fd < 0)
		fail("cannot open %s: %s", path, strerror(errno));
	return fd;
}

static void put(int dir, const char *path, const char *value)
{
	int fd = open_at(dir, path, O_WRONLY | O_TRUNC);

	if (write(fd, value, strlen(value)) < 0)
		fail("cannot write '%s' to %s: %s", value, path, strerror(errno));
	close(fd);
}

/* The text of a small file; valid until the next call. */
static const char *get(int dir, const char *path)
{
	static char text[16384];
	size_t size = 0;
	ssize_t n;
	int fd = open_at(dir, path, O_RDONLY);

	while ((n = read(fd, text + size, sizeof(text) - 1 - size)) > 0)
		size += (size_t)n;
	if (n < 0)
		fail("cannot read %s: %s", path, strerror(errno));
	text[size] = 0;
	close(fd);
	return text;
}

/* A process that outlives this one for as long as it takes to remove the instance. */
static pid_t guard(int tracefs)
{
	int alive[2], i;
	char byte;
	pid_t pid;

	if (pipe2(alive, O_CLOEXEC))
		fail("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		fail("fork: %s", strerror(errno));
	if (pid > 0) {
		close(alive[0]);
		return pid; /* the other end closes when this process ends */
	}
	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	close(alive[1]);
	close(STDOUT_FILENO);
	while (read(alive[0], &byte, 1) < 0 && errno == EINTR)
		;
	for (i = 0; i < 500 && unlinkat(tracefs, instance, AT_REMOVEDIR) && errno == EBUSY; i++)
		usleep(10000);
	_exit(0);
}

static void read_format(int dir, struct event_format *format)
{
	char path[96], pattern[40];
	const char *text, *at;
	int i;

	snprintf(path, sizeof(path), "events/%s/format", format->path);
	text = get(dir, path);
	at = strstr(text, "ID: ");
	if (!at || sscanf(at, "ID: %u", &format->id) != 1)
		fail("%s has no ID", path);
	for (i = 0; i < 3 && format->fields[i]; i++) {
		snprintf(pattern, sizeof(pattern), " %s;", format->fields[i]);
		at = strstr(text, pattern);
		if (!at || sscanf(at + strlen(pattern), " offset:%u; size:%u;", &format->offsets[i],
				  &format->sizes[i]) != 2)
			fail("%s has no field '%s'", path, format->fields[i]);
	}
}

static void enable(int dir, unsigned mib)
{
	char text[96];
	size_t i;

	put(dir, "tracing_on", "0");
	put(dir, "trace_clock", "mono");
	put(dir, "options/overwrite", "0");
	snprintf(text, sizeof(text), "%u", mib * 1024);
	put(dir, "buffer_size_kb", text);
	for (i = 0; i < NFORMATS; i++) {
		if (!wanted(i))
			continue;
		read_format(dir, &formats[i]);
		snprintf(text, sizeof(text), "events/%s/enable", formats[i].path);
		put(dir, text, "1");
	}
	put(dir, "tracing_on", "1");
}

/* ---- the raw ring buffers ---- */

static uint32_t get_u32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static uint64_t get_u64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static void decode_event(struct output *out, uint64_t clock, const uint8_t *data, size_t size)
{
	struct ftrace_record record = {.clock = clock, .cpu = out->cpu};
	uint32_t values[3] = {0};
	struct event_format *format;
	uint16_t id;
	size_t i;
	int f;

	if (size < 8)
		fail("event of %zu bytes", size);
	memcpy(&id, data, sizeof(id));
	for (i = 0; i < NFORMATS && !(wanted(i) && formats[i].id == id); i++)
		;
	if (i == NFORMATS)
		return; /* the tracer's own notes */
	format = &formats[i];
	for (f = 0; f < 3 && format->fields[f]; f++) {
		if (format->offsets[f] + 4 > size)
			fail("%s of %zu bytes", format->path, size);
		values[f] = get_u32(data + format->offsets[f]);
	}
	record.kind = (uint8_t)format->kind;
	record.flags = data[2];
	record.current = (int32_t)get_u32(data + 4);
	record.a = (int32_t)values[0];
	record.b = format->fields[1] ? (int32_t)values[1] : (int32_t)format->handler;
	record.state = values[2];
	if (fwrite(&record, sizeof(record), 1, out->file) != 1)
		fail("cannot write the records: %s", strerror(errno));
	out->nrecords++;
}

/* One page: a time stamp, the bytes committed, then events with the time since the last. */
static void decode_page(struct output *out, const uint8_t *page)
{
	uint64_t clock = get_u64(page), commit = get_u64(page + 8);
	const uint8_t *at = page + 16, *end = at + (commit & 0xfffff);

	if (commit & (3u << 30))
		fail("CPU %u: events are missing; use a larger -b", out->cpu);
	if (end > page + PAGE)
		fail("CPU %u: a page of more than %d bytes", out->cpu, PAGE);
	while (at + 4 <= end) {
		uint32_t head = get_u32(at), type = head & 31, delta = head >> 5;
		size_t size = 0;

		at += 4;
		if (type == 29 && !delta)
			return; /* rest of the page is empty */
		if (type == 0 || type >= 29) {
			if (at + 4 > end)
				fail("CPU %u: an event is cut short", out->cpu);
			size = get_u32(at);
		}
		if (type == 30) { /* more time than fits in 27 bits */
			clock += ((uint64_t)size << 27) + delta;
			at += 4;
		} else if (type == 31) { /* the time itself, its top five bits as before */
			clock = (clock & 0xf800000000000000) | ((uint64_t)size << 27) | delta;
			at += 4;
		} else {
			clock += delta;
			if (type)
				size = type == 29 ? size : type * 4;
			if (size > (size_t)(end - at))
				fail("CPU %u: an event is cut short", out->cpu);
			if (type == 0)
				decode_event(out, clock, at + 4, size - 4);
			else if (type < 29)
				decode_event(out, clock, at, size);
			at += size;
		}
	}
}

static uint64_t stat_of(const char *stats, const char *name)
{
	const char *at = strstr(stats, name);

	if (!at)
		fail("per_cpu/stats has no '%s'", name);
	return strtoull(at + strlen(name), NULL, 10);
}

static void decode_cpu(int dir, struct output *out)
{
	char path[64];
	uint8_t page[PAGE];
	const char *stats;
	uint64_t lost;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", out->cpu);
	stats = get(dir, path);
	lost = stat_of(stats, "\noverrun:") + stat_of(stats, "commit overrun:") +
	       stat_of(stats, "dropped events:");
	if (lost)
		fail("CPU %u: %llu events had no room; use a larger -b", out->cpu,
		     (unsigned long long)lost);
	snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", out->cpu);
	fd = open_at(dir, path, O_RDONLY | O_NONBLOCK);
	while ((n = read(fd, page, sizeof(page))) > 0) {
		if (n < PAGE)
			memset(page + n, 0, (size_t)(PAGE - n));
		decode_page(out, page);
	}
	if (n < 0 && errno != EAGAIN)
		fail("%s: %s", path, strerror(errno));
	close(fd);
}

static void decode_all(int dir, const char *path)
{
	struct ftrace_header header = {.magic = FTRACE_MAGIC};
	struct output out = {.file = fopen(path, "we")};
	long cpu, ncpus = sysconf(_SC_NPROCESSORS_CONF);
	char name[32];

	if (!out.file || fwrite(&header, sizeof(header), 1, out.file) != 1)
		fail("cannot write %s: %s", path, strerror(errno));
	for (cpu = 0; cpu < ncpus; cpu++) {
		snprintf(name, sizeof(name), "per_cpu/cpu%ld", cpu);
		out.cpu = (uint16_t)cpu;
		if (!faccessat(dir, name, F_OK, 0))
			decode_cpu(dir, &out);
	}
	header.nrecords = out.nrecords;
	if (fseek(out.file, 0, SEEK_SET) || fwrite(&header, sizeof(header), 1, out.file) != 1 ||
	    fclose(out.file))
		fail("cannot write %s: %s", path, strerror(errno));
	printf("records=%llu\n", (unsigned long long)out.nrecords);
}

int main(int argc, char **argv)
{
	struct signalfd_siginfo info;
	int opt, tracefs, dir, signals;
	unsigned mib = 64;
	sigset_t stop;
	pid_t guardian;

	while ((opt = getopt(argc, argv, "ib:")) != -1) {
		if (opt == 'i')
			handlers = true;
		else if (opt != 'b' || (mib = (unsigned)strtoul(optarg, NULL, 10)) < 1 ||
			 mib > 4096)
			optind = argc;
	}
	if (argc - optind != 1) {
		fputs("usage: ftrace [-i] [-b MIB] FILE\n", stderr);
		return 2;
	}
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	signals = signalfd(-1, &stop, SFD_CLOEXEC);
	if (signals < 0)
		fail("signalfd: %s", strerror(errno));

	tracefs = mount_tracefs();
	snprintf(instance, sizeof(instance), "instances/ovni-test-%d", getpid());
	guardian = guard(tracefs);
	if (mkdirat(tracefs, instance, 0700))
		fail("cannot create %s: %s", instance, strerror(errno));
	dir = open_at(tracefs, instance, O_RDONLY | O_DIRECTORY);
	enable(dir, mib);
	puts("ready");
	fflush(stdout);
	if (read(signals, &info, sizeof(info)) != sizeof(info))
		fail("signalfd: %s", strerror(errno));
	put(dir, "tracing_on", "0");
	decode_all(dir, argv[optind]);
	(void)guardian; /* removes the instance as soon as this process is gone */
	return 0;
}
