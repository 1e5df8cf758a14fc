/* SPDX-License-Identifier: MIT */
/*
 * emulator: one emulation, from the trace to the Paraver files.
 *
 *   streams ──► player ──► event ──► action of its model ──► channels ──► rows ──► .prv
 *
 * The stages are those of the specification (emulator.md 2); emulator.c has them in order,
 * here is what models and stages share.
 */
#ifndef EMU_EMULATOR_H
#define EMU_EMULATOR_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/paraver/channel.h"
#include "emu/model.h"
#include "emu/paraver/out.h"
#include "emu/paraver/prv.h"
#include "emu/system/system.h"
#include "trace/ovni/player.h"
#include "trace/ovni/stream.h"
#include "trace/ovni/trace.h"

struct emu_options {
	const char *trace;   /* the directory */
	const char *offsets; /* -c, NULL if not given */
	const char *out;     /* -o, NULL: the trace itself */
	bool no_output;	     /* only the verdict: nothing is written anywhere */
	bool all_models;     /* -a */
	bool breakdown;	     /* -b */
	bool lint;	     /* -l */
	bool compat;	     /* nothing beyond the reference */
	bool arrows;	     /* wake-ups and migrations as communications */
	bool gzip;	     /* .prv.gz */
	bool tolerant;	     /* leave out what is damaged and go on */
	bool quiet;
	unsigned jobs; /* threads, 1 or more */
};

struct breakdown;

struct emulator {
	const struct emu_options *opt;

	/* the trace */
	struct trace trace;
	struct stream *streams;
	size_t nstreams;
	int64_t *offsets; /* per stream */
	bool *damaged;	  /* per stream: left out, or from some byte on (--tolerant) */
	size_t ndamaged;
	struct system sys;
	struct player player;
	int out_fd; /* directory of the outputs */
	const char *out_dir;

	/* models */
	struct model_state models[MODELS_MAX];
	size_t nmodels;
	struct model_state *by_character[256]; /* enabled or not; NULL: unknown */
	struct model_state *watchers[MODELS_MAX];
	size_t nwatchers;
	const char *no_require; /* path of a stream without ovni.require, NULL if none */
	struct action *actions; /* actions[0] is ACTION_UNKNOWN */
	size_t nactions;

	/* channels: masks have nwords words of 64 channels */
	struct channel *channels;
	uint32_t nchannels, nwords;
	uint64_t *thread_mask;	 /* touched by a change of state: all but TRACK_ANY */
	uint64_t *thread_always; /* of these, written whatever their value: POLICY_ALL */
	uint64_t *cpu_mask;	 /* touched by a change of the running thread: CPU_OF_RUNNING */
	uint64_t *cpu_always;	 /* POLICY_ALL, a default that is not empty, input of a breakdown */
	char *blocks;		 /* bits and slots of each thread, side by side */
	size_t block_bytes;	 /* of one thread */
	size_t ahead;		 /* bytes of a block to ask for ahead of its turn, 0: none */
	struct cpu_slot *cpu_slots;
	uint64_t *bits; /* the masks, and `shown` of all CPUs */

	/* outputs */
	struct out_pool *pool;
	struct prv thread_prv, cpu_prv;
	struct prv_time time;
	struct breakdown *breakdowns[4];
	size_t nbreakdowns;
	bool names; /* rows of threads have the names that their streams tell */

	/* the present event */
	int64_t first_clock; /* of the first event, ns */
	int64_t duration;    /* what the headers will say, ns */
	bool started;	     /* first_clock is valid */
	uint64_t nevents;
	bool output_failed; /* said already */
};

/*
 * Runs the whole emulation. Returns the exit status: 0; 1 if it failed; 3 if it is complete but for
 * what was left out (--tolerant). All messages have been said.
 */
int emulator_run(const struct emu_options *opt);

/* Set by the signal handler: stop after the present event. */
extern volatile sig_atomic_t emulator_interrupted;

/* How messages call a stream: its path in the trace. */
static inline const char *emu_stream_name(const struct emulator *emu, size_t i)
{
	return emu->trace.streams[i][0] ? emu->trace.streams[i] : ".";
}

/*
 * Refuses the present event: one message with its MCV, clock, stream and byte, then the reason.
 * Returns -EINVAL.
 */
int emu_refuse(struct emulator *emu, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, from the result of a channel; 0 if that is CHANNEL_OK. */
int emu_refuse_channel(struct emulator *emu, enum channel_result result, const struct thread *th,
		       uint32_t channel, int64_t value);

/* Adds a channel. Its number, or -errno after a message. Only before channels are laid out. */
int emulator_add_channel(struct emulator *emu, const struct channel_page *page);

#endif
