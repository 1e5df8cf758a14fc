/* SPDX-License-Identifier: MIT */
/*
 * How long the player takes for an event, in ns, for several numbers of streams:
 *
 *   player [DIR] [EVENTS]
 *
 * Streams are made in DIR (default: the working directory) and removed again. Clocks grow
 * by random steps, so streams alternate as they please; "bursts" repeats a stream for 8
 * events on the average, as threads that take turns do.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/ovni/player.h"
#include "trace/ovni/trace.h"

static uint64_t seed = 1;

static uint64_t random_u64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void make(int dir, const char *path, size_t events, size_t nstreams, bool bursts)
{
	struct json *meta = json_new_object();
	uint8_t *data = malloc(events * EVENT_SIZE_MAX);
	int64_t clock = (int64_t)(random_u64() % nstreams);
	size_t size = 0;

	if (!data || !json_put_int(meta, "version", 3) || stream_create(dir, path, meta) < 0)
		die(path);
	for (size_t i = 0; i < events; i++) {
		uint32_t args[3] = {(uint32_t)i, 0, 0};
		/* payloads of 0, 4 and 12 bytes */
		size_t payload = i % 3 == 0 ? 0 : i % 3 == 1 ? 4 : 12;
		bool far = !bursts || i % 8 == 0;

		clock += (int64_t)(1 + random_u64() % (far ? (bursts ? 16 : 2) * nstreams : 2));
		size += event_encode(data + size, MCV('O', 'B', '.'), clock, args, payload);
	}
	if (stream_append(dir, path, data, size) < 0)
		die(path);
	free(data);
	json_free(meta);
}

static void clean(const char *path, const struct trace *trace)
{
	char name[4096];

	for (size_t i = 0; i < trace->nstreams; i++) {
		snprintf(name, sizeof(name), "%s/" STREAM_META, trace->streams[i]);
		unlinkat(trace->fd, name, 0);
		snprintf(name, sizeof(name), "%s/" STREAM_DATA, trace->streams[i]);
		unlinkat(trace->fd, name, 0);
		unlinkat(trace->fd, trace->streams[i], AT_REMOVEDIR);
	}
	rmdir(path);
}

static void measure(const char *top, size_t nstreams, size_t events, bool bursts)
{
	struct trace trace;
	struct stream *streams = NULL;
	struct player player;
	double best = 1e9, opened = 1e9;
	char path[4096];
	int dir, more;

	snprintf(path, sizeof(path), "%s/player-bench.%d", top, (int)getpid());
	if (mkdir(path, 0755) < 0 || (dir = open(path, O_RDONLY | O_DIRECTORY)) < 0)
		die(path);
	for (size_t i = 0; i < nstreams; i++) {
		char name[32];

		snprintf(name, sizeof(name), "thread.%zu", i);
		make(dir, name, events / nstreams, nstreams, bursts);
	}
	for (int round = 0; round < 5; round++) {
		double t0 = now(), t1, t2;
		uint64_t n = 0, sum = 0;

		if (trace_open(&trace, path) < 0)
			exit(1);
		streams = streams_new(nstreams);
		for (size_t i = 0; i < nstreams; i++)
			if (!streams || stream_open(&streams[i], trace.fd, trace.streams[i]) < 0)
				exit(1);
		if (player_open(&player, streams, nstreams, NULL, false) < 0)
			exit(1);
		t1 = now();
		while ((more = player_step(&player)) > 0) {
			n++;
			sum += streams[player.current].ev.payload_size;
		}
		t2 = now();
		if (more < 0 || n != events / nstreams * nstreams || sum == 0)
			exit(1);
		if ((t2 - t1) * 1e9 / (double)n < best)
			best = (t2 - t1) * 1e9 / (double)n;
		if ((t1 - t0) * 1e6 / (double)nstreams < opened)
			opened = (t1 - t0) * 1e6 / (double)nstreams;
		player_close(&player);
		streams_free(streams, nstreams);
		if (round < 4)
			trace_close(&trace);
	}
	printf("player %6zu streams %s  %6.1f ns an event  %6.1f us to open a stream\n", nstreams,
	       bursts ? "bursts" : "random", best, opened);
	clean(path, &trace);
	trace_close(&trace);
	close(dir);
}

int main(int argc, char **argv)
{
	const char *top = argc > 1 ? argv[1] : ".";
	size_t events = argc > 2 ? strtoul(argv[2], NULL, 10) : 4000000;
	static const size_t counts[] = {1, 2, 8, 64, 1024, 10000};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (int bursts = 0; bursts < 2; bursts++)
			measure(top, counts[i], events, bursts);
	return 0;
}
