/* SPDX-License-Identifier: MIT */
/*
 * Writes synthetic threads as Pallas archives and says how fast, how small, in how much memory:
 *
 *   pallas WORKLOAD EVENTS DIR [SEED [LIBPALLAS]]
 *
 * With LIBPALLAS, the shared library of the real Pallas, that writer takes the same events; its
 * variables PALLAS_COMPRESSION and PALLAS_ZSTD_LVL choose the compression.
 *
 *   empty       nothing, not even the start of the thread
 *   nested      main { 10 x outer { 100 x inner { 10 x leaf } } } again and again
 *   flat        main { leaf leaf leaf ... }
 *   irregular   main { one of 50 functions, drawn at random, again and again }
 *   tree        random call tree: 100 functions, depth up to 20, each step calls or returns
 *
 * Gaps between events are drawn evenly from 1 to 1000 ns (xorshift64*, the seed is printed). The
 * generator runs inside the measured time; its own cost is measured apart and shown.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "trace/base/log.h"
#include "trace/pallas/write/archive_writer.h"

static uint64_t state;

static uint64_t draw(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1du;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)((draw() >> 32) * n >> 32);
}

/* The writer of libpallas. */
static struct {
	void *(*trace)(const char *dir, const char *name);
	void *(*archive)(const char *dir, uint32_t id);
	void *(*thread)(void *archive, uint32_t id);
	void (*string)(void *trace, uint32_t ref, const char *text);
	void (*region)(void *trace, uint32_t ref, uint32_t name);
	void (*group)(void *trace, uint32_t id, uint32_t name, uint32_t parent);
	void (*location)(void *archive, uint32_t id, uint32_t name, uint32_t parent);
	void (*enter)(void *thread, void *attributes, uint64_t time, uint32_t region);
	void (*leave)(void *thread, void *attributes, uint64_t time, uint32_t region);
	void (*begin)(void *thread, void *attributes, uint64_t time);
	void (*end)(void *thread, void *attributes, uint64_t time);
	void (*thread_close)(void *thread);
	void (*archive_close)(void *archive);
	void (*settings)(void *handler); /* a constructor, which reads the variables */
	void (*trace_store)(void *trace, const char *dir, const void *handler);
} real;

struct sink {
	struct thread_writer *w;
	void *real; /* the thread of libpallas; without both, the events are only generated */
	uint64_t events, most, now, sum;
	uint32_t regions[128];
};

static void real_event(const struct sink *s, uint32_t record, uint32_t region)
{
	if (record == PALLAS_THREAD_BEGIN)
		real.begin(s->real, NULL, s->now);
	else if (record == PALLAS_THREAD_END)
		real.end(s->real, NULL, s->now);
	else
		(record == PALLAS_ENTER ? real.enter : real.leave)(s->real, NULL, s->now,
								   s->regions[region]);
}

static void event(struct sink *s, uint32_t record, uint32_t region)
{
	s->now += 1 + below(1000);
	s->events++;
	if (s->real) {
		real_event(s, record, region);
	} else if (s->w) {
		uint32_t entry = thread_writer_entry(s->w, record,
						     record == PALLAS_THREAD_BEGIN ||
								     record == PALLAS_THREAD_END
							     ? PALLAS_NONE
							     : s->regions[region]);

		if (thread_writer_event(s->w, entry, s->now))
			exit(1);
	} else {
		s->sum += s->now ^ region;
	}
}

#define enter(s, r) event(s, PALLAS_ENTER, r)
#define leave(s, r) event(s, PALLAS_LEAVE, r)

static void nested(struct sink *s)
{
	while (s->events < s->most) {
		enter(s, 1);
		for (int i = 0; i < 10; i++) {
			enter(s, 2);
			for (int k = 0; k < 100; k++) {
				enter(s, 3);
				for (int l = 0; l < 10; l++) {
					enter(s, 4);
					leave(s, 4);
				}
				leave(s, 3);
			}
			leave(s, 2);
		}
		leave(s, 1);
	}
}

static void flat(struct sink *s)
{
	while (s->events < s->most) {
		enter(s, 1);
		leave(s, 1);
	}
}

static void irregular(struct sink *s)
{
	while (s->events < s->most) {
		uint32_t f = 1 + below(50);

		enter(s, f);
		leave(s, f);
	}
}

static void tree(struct sink *s)
{
	uint32_t stack[20];
	unsigned depth = 0;

	while (s->events < s->most || depth) {
		if (depth < 20 && s->events < s->most && (depth == 0 || below(2))) {
			stack[depth] = 1 + below(100);
			enter(s, stack[depth++]);
		} else {
			depth--;
			leave(s, stack[depth]);
		}
	}
}

static const struct workload {
	const char *name;
	void (*run)(struct sink *s);
} workloads[] = {{"nested", nested},
		 {"flat", flat},
		 {"irregular", irregular},
		 {"tree", tree},
		 {"empty", NULL}};

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run(const struct workload *load, struct sink *s, uint64_t seed)
{
	state = seed;
	if (!load->run)
		return;
	event(s, PALLAS_THREAD_BEGIN, 0);
	event(s, PALLAS_ENTER, 0);
	load->run(s);
	event(s, PALLAS_LEAVE, 0);
	event(s, PALLAS_THREAD_END, 0);
}

static void write_ours(const struct workload *load, struct sink *s, const char *dir, uint64_t seed)
{
	const struct thread_writer_options options = {PALLAS_COMPRESSION_ZSTD, PALLAS_ENCODING_NONE,
						      1, false};
	struct archive_writer *w = archive_writer_new(dir, &options);
	char name[32];
	uint32_t id;

	if (!w || archive_writer_archive(w, "bench") == PALLAS_NONE)
		exit(1);
	for (uint32_t i = 0; i < 128; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		s->regions[i] = archive_writer_region(w, name);
	}
	s->w = archive_writer_thread(w, load->name, &id);
	if (!s->w)
		exit(1);
	run(load, s, seed);
	if (thread_writer_finish(s->w))
		exit(1);
	thread_writer_free(s->w);
	if (archive_writer_finish(w))
		exit(1);
	archive_writer_free(w);
}

static void real_open(const char *path)
{
	static const char *const names[] = {
		"pallas_global_archive_new",
		"pallas_archive_new",
		"pallas_thread_writer_new",
		"pallas_global_archive_register_string",
		"pallas_global_archive_register_region",
		"pallas_global_archive_define_location_group",
		"pallas_archive_define_location",
		"pallas_record_enter",
		"pallas_record_leave",
		"pallas_record_thread_begin",
		"pallas_record_thread_end",
		"pallas_thread_writer_close",
		"pallas_archive_close",
		"_ZN6pallas16ParameterHandlerC1Ev",
		"_ZN6pallas13GlobalArchive5storeEPKcPKNS_16ParameterHandlerE",
	};
	void *library = dlopen(path, RTLD_NOW), **to = (void **)&real;

	for (size_t i = 0; library && i < sizeof(names) / sizeof(names[0]); i++) {
		to[i] = dlsym(library, names[i]);
		if (!to[i])
			library = NULL;
	}
	if (library)
		return;
	fprintf(stderr, "%s\n", dlerror());
	exit(1);
}

static void write_theirs(const struct workload *load, struct sink *s, const char *dir,
			 uint64_t seed)
{
	void *trace = real.trace(dir, "main"), *archive = real.archive(dir, 0);
	static _Alignas(16) char handler[4096]; /* larger than that of any version */
	char name[32];

	real.string(trace, 1000, "bench");
	real.string(trace, 1001, load->name);
	real.group(trace, 0, 1000, PALLAS_NONE);
	real.location(archive, 0, 1001, 0);
	for (uint32_t i = 0; i < 128; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		real.string(trace, i, name);
		real.region(trace, i, i);
		s->regions[i] = i;
	}
	s->real = real.thread(archive, 0);
	run(load, s, seed);
	real.thread_close(s->real);
	real.archive_close(archive);
	real.settings(handler);
	real.trace_store(trace, dir, handler);
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
	const struct workload *load = NULL;
	struct sink s = {0}, dry = {0};
	double start, own, took;
	struct rusage usage;

	for (size_t i = 0; argc >= 4 && i < sizeof(workloads) / sizeof(workloads[0]); i++) {
		if (strcmp(argv[1], workloads[i].name) == 0)
			load = &workloads[i];
	}
	if (!load || seed == 0) {
		fprintf(stderr,
			"usage: %s nested|flat|irregular|tree|empty EVENTS DIR [SEED "
			"[LIBPALLAS]]\n",
			argv[0]);
		return 2;
	}
	log_setup("pallas-bench", LOG_INFO);
	s.most = dry.most = strtoull(argv[2], NULL, 10);
	if (argc > 5)
		real_open(argv[5]);

	start = seconds();
	run(load, &dry, seed);
	own = seconds() - start;

	start = seconds();
	(argc > 5 ? write_theirs : write_ours)(load, &s, argv[3], seed);
	took = seconds() - start;
	getrusage(RUSAGE_SELF, &usage);
	printf("%s seed %llu: %llu events in %.3f s: %.2f M events/s (generator %.3f s of it, "
	       "checksum "
	       "%llx), peak %.1f MB\n",
	       load->name, (unsigned long long)seed, (unsigned long long)s.events, took,
	       1e-6 * (double)s.events / took, own, (unsigned long long)dry.sum,
	       (double)usage.ru_maxrss / 1024);
	return 0;
}
