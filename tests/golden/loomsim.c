/* SPDX-License-Identifier: MIT */
/*
 * loomsim: an accelerator that computes nothing, recorded with the Loom writer.
 *
 *     loomsim RUN CYCLES [CORES [NODES [MODE]]]
 *
 * MODE is full (the default), summary, off, drop (a buffer of 1000 records), snapshots (counters
 * every 100 cycles) or legacy (upstream's statistics).
 *
 * Tokens go through a chain of nodes on each core: a node fires when its input has one and its
 * output has room, else it waits; the last one is a switch. Needs the installed library alone:
 *
 *     cc -o loomsim loomsim.c $(pkg-config --cflags --libs ovni-loom)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ovni-loom/writer.h>

#define MAX_NODES 4096

static int record(struct loom_writer *w, uint64_t cycle, unsigned core, uint32_t node, uint8_t kind,
		  uint32_t arg0)
{
	struct loom_record r = {.cycle = cycle,
				.epoch_id = 1,
				.invocation_id = 1,
				.core_id = (uint16_t)core,
				.hw_node_id = node,
				.event_kind = kind,
				.arg0 = arg0};

	return loom_writer_event(w, &r);
}

/* One cycle of one core: `full[n]`, does the place before node n hold a token? */
static int step(struct loom_writer *w, uint64_t cycle, unsigned core, uint32_t nodes, char *full)
{
	int err = 0;

	full[0] = cycle % 4 != 3; /* input comes in three of four cycles */
	full[nodes] = full[nodes] && (cycle + core) % 3 == 0; /* and is taken in one of three */
	for (uint32_t n = nodes; !err && n-- > 0;) {
		if (!full[n]) {
			err = record(w, cycle, core, n, LOOM_NODE_STALL_IN, 0);
		} else if (full[n + 1]) {
			err = record(w, cycle, core, n, LOOM_NODE_STALL_OUT, 0);
		} else {
			err = record(w, cycle, core, n,
				     n + 1 == nodes ? LOOM_ROUTE_USE : LOOM_NODE_FIRE, n & 1);
			full[n] = 0;
			full[n + 1] = 1;
			err = err ? err : loom_writer_tokens(w, (uint16_t)core, n, 1, 1);
		}
	}
	return err;
}

int main(int argc, char **argv)
{
	struct loom_writer_options options = {.period_ps = 2000, .sort_cycles = true};
	unsigned long long cycles = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	unsigned cores = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	uint32_t nodes = argc > 4 ? (uint32_t)atoi(argv[4]) : 8;
	const char *mode = argc > 5 ? argv[5] : "full";
	struct loom_account account;
	struct loom_writer *w;
	char *full;
	int err;

	if (argc < 3 || !cores || cores > 65535 || !nodes || nodes > MAX_NODES) {
		fprintf(stderr, "usage: loomsim RUN CYCLES [CORES [NODES [MODE]]]\n");
		return 2;
	}
	options.mode = strcmp(mode, "off") == 0	      ? LOOM_OFF
		       : strcmp(mode, "summary") == 0 ? LOOM_SUMMARY
						      : LOOM_FULL;
	if (strcmp(mode, "snapshots") == 0)
		options.snapshot_cycles = 100;
	if (strcmp(mode, "legacy") == 0)
		options.statistics = LOOM_STATISTICS_LEGACY;
	if (strcmp(mode, "drop") == 0) {
		options.on_full = LOOM_DROP_NEW;
		options.buffer_records = 1000;
	}
	err = loom_writer_open(&w, argv[1], &options);
	full = calloc(cores, nodes + 1);
	if (err || !full) {
		fprintf(stderr, "loomsim: %s: %s\n", argv[1],
			err ? loom_writer_strerror(err) : "out of memory");
		free(full);
		return 1;
	}
	for (unsigned c = 0; !err && c < cores; c++)
		err = record(w, 0, c, 0, LOOM_CONFIG_WRITE, 0);
	for (unsigned c = 0; !err && c < cores; c++)
		err = record(w, 1, c, 0, LOOM_INVOCATION_START, 0);
	for (uint64_t cycle = 1; !err && cycle <= cycles; cycle++) {
		for (unsigned c = 0; !err && c < cores; c++)
			err = step(w, cycle, c, nodes, full + c * (nodes + 1));
	}
	for (unsigned c = 0; !err && c < cores; c++)
		err = record(w, cycles + 1, c, 0, LOOM_INVOCATION_DONE, 0);
	free(full);
	if (!err)
		err = loom_writer_close(w, &account);
	if (err) {
		fprintf(stderr, "loomsim: %s: %s\n", argv[1], loom_writer_strerror(err));
		return 1;
	}
	printf("seen %llu written %llu filtered %llu sampled_out %llu dropped %llu\n",
	       (unsigned long long)account.seen, (unsigned long long)account.written,
	       (unsigned long long)account.filtered, (unsigned long long)account.sampled_out,
	       (unsigned long long)account.dropped);
	return 0;
}
