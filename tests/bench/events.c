/* SPDX-License-Identifier: MIT */
/*
 * events: traces of any size, to measure the tools with.
 *
 *   events DIR KIND STREAMS EVENTS     EVENTS is the total, shared by the streams
 *
 * KIND: `sched` has the events of our recorder (OHp, OHw, OAs, OHr with their payloads), `runtime`
 * those of an instrumented program (subsystems, no payloads), `regions` has a region of 20 late
 * events after each 20 others, `reverse` has falling clocks. Valid for the tools that look at
 * events, not for emulation.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ovni/event.h"

struct writer {
	FILE *file;
	uint64_t n;
};

static void put(struct writer *w, uint32_t mcv, int64_t clock, const void *payload, size_t size)
{
	uint8_t bytes[EVENT_SIZE_MAX];

	size = event_encode(bytes, mcv, clock, payload, size);
	fwrite(bytes, size, 1, w->file); /* cppcheck-suppress uninitvar ; it has just been filled */
	w->n++;
}

static void put_sched(struct writer *w, uint64_t most, int64_t clock, int64_t step)
{
	struct __attribute__((packed)) {
		uint16_t why;
		int32_t next;
	} pause = {6, 4711};
	int32_t waker;

	for (int32_t i = 0; w->n + 4 <= most; i++) {
		int32_t cpu = i % 8;

		/* a few reasons and some dozens of partners, as on a busy machine */
		pause.why = (uint16_t)(i % 7);
		pause.next = 4711 + i % 48;
		waker = 4711 + i * 7 % 64;
		put(w, MCV('O', 'H', 'p'), clock += step, &pause, sizeof(pause));
		put(w, MCV('O', 'H', 'w'), clock += step, &waker, sizeof(waker));
		put(w, MCV('O', 'A', 's'), clock += step, &cpu, sizeof(cpu));
		put(w, MCV('O', 'H', 'r'), clock += step, NULL, 0);
	}
}

static void put_runtime(struct writer *w, uint64_t most, int64_t clock, int64_t step)
{
	static const uint32_t mcvs[] = {MCV('V', 'S', '['), MCV('V', 'S', ']'), MCV('V', 'U', '['),
					MCV('V', 'U', ']'), MCV('6', 'S', 'p'), MCV('6', 'S', 'P'),
					MCV('M', 'S', '['), MCV('M', 'S', ']')};

	for (uint64_t i = 0; w->n < most; i++)
		put(w, mcvs[i % (sizeof(mcvs) / sizeof(mcvs[0]))], clock += step, NULL, 0);
}

static void put_regions(struct writer *w, uint64_t most, int64_t clock, int64_t step)
{
	while (w->n + 42 <= most) {
		int64_t late = clock;

		for (int i = 0; i < 20; i++)
			put(w, MCV('O', 'B', '.'), clock += step, NULL, 0);
		put(w, MCV('O', 'U', '['), clock, NULL, 0);
		for (int i = 0; i < 20; i++)
			put(w, i & 1 ? MCV('K', 'C', 'I') : MCV('K', 'C', 'O'),
			    (late += step) + step / 2, NULL, 0);
		clock += step;
		put(w, MCV('O', 'U', ']'), clock, NULL, 0);
	}
}

static void put_reverse(struct writer *w, uint64_t most, int64_t clock, int64_t step)
{
	clock += (int64_t)most * step;
	while (w->n < most)
		put(w, MCV('O', 'B', '.'), clock -= step, NULL, 0);
}

static const struct kind {
	const char *name;
	void (*put)(struct writer *w, uint64_t most, int64_t clock, int64_t step);
} kinds[] = {{"sched", put_sched},
	     {"runtime", put_runtime},
	     {"regions", put_regions},
	     {"reverse", put_reverse}};

static void make_stream(const char *dir, const struct kind *kind, int i, int n, uint64_t events)
{
	const int64_t start = 81234567890123; /* about a day after boot */
	char path[4096];
	struct writer w = {NULL, 0};
	uint32_t version = STREAM_VERSION;
	FILE *json;

	snprintf(path, sizeof(path), "%s/thread.%d", dir, 1000 + i);
	if (mkdir(path, 0755) < 0)
		err(1, "%s", path);
	snprintf(path, sizeof(path), "%s/thread.%d/stream.json", dir, 1000 + i);
	json = fopen(path, "w");
	if (!json)
		err(1, "%s", path);
	fprintf(json,
		"{\"version\":3,\"ovni\":{\"lib\":{\"version\":\"1\",\"commit\":\"x\"},"
		"\"part\":\"thread\",\"tid\":%d,\"pid\":1000,\"loom\":\"node1\",\"app_id\":1,"
		"\"require\":{\"ovni\":\"1.1.0\"},\"finished\":1,"
		"\"loom_cpus\":[{\"index\":0,\"phyid\":0}]}}\n",
		1000 + i);
	if (fclose(json))
		err(1, "%s", path);
	snprintf(path, sizeof(path), "%s/thread.%d/stream.obs", dir, 1000 + i);
	w.file = fopen(path, "w");
	if (!w.file)
		err(1, "%s", path);
	fwrite(STREAM_MAGIC, 4, 1, w.file);
	fwrite(&version, sizeof(version), 1, w.file);
	kind->put(&w, events, start + i, 10 * n);
	if (fclose(w.file))
		err(1, "%s", path);
}

int main(int argc, char **argv)
{
	char dir[2048], *slash;

	if (argc != 5 || atoi(argv[3]) < 1)
		errx(2, "usage: events DIR sched|runtime|regions|reverse STREAMS EVENTS");
	snprintf(dir, sizeof(dir), "%s/loom.node1/proc.1000", argv[1]);
	for (slash = dir + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		(void)mkdir(dir, 0755);
	}
	(void)mkdir(dir, 0755);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		int n = atoi(argv[3]);

		if (strcmp(kinds[k].name, argv[2]))
			continue;
		for (int i = 0; i < n; i++)
			make_stream(dir, &kinds[k], i, n,
				    strtoull(argv[4], NULL, 10) / (uint64_t)n);
		return 0;
	}
	errx(2, "no kind '%s'", argv[2]);
}
