/* SPDX-License-Identifier: MIT */
/*
 * emulation: the data of one emulation, which its stages and the models share.
 *
 *   streams ──► player ──► event ──► action of its model ──► channels ──► rows ──► .prv
 *
 * In: the options; each stage of emulator.c fills its part, in the order of the fields. Invariant:
 * after the first event nothing changes but the present event, slots, stacks and tasks.
 * Specification: emulator.md 2.
 */
#ifndef EMU_EMULATION_H
#define EMU_EMULATION_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/model.h"
#include "emu/paraver/channel.h"
#include "emu/paraver/out.h"
#include "emu/paraver/prv.h"
#include "emu/system/system.h"
#include "trace/ovni/player.h"
#include "trace/ovni/stream.h"
#include "trace/ovni/trace.h"

struct emu_options {
	const char *trace;   /* the directory */
	const char *offsets; /* -c, NULL if not given */
	enum emu_clock {
		EMU_CLOCK_OFFSETS,  /* by the table of clock offsets */
		EMU_CLOCK_REALTIME, /* by CLOCK_REALTIME of the nodes of a job */
	} clock;
	const char *out;   /* -o, NULL: the trace directory */
	const char *looms; /* names, "a,b"; NULL: all */
	const char *ranks; /* "0-3,7"; NULL: all */
	bool from, to;	   /* given: */
	int64_t since;	   /* ns since the first event of the trace, both included */
	int64_t until;
	bool no_output;	   /* check only: write no file (ovni-check) */
	bool all_models;   /* -a */
	bool breakdown;	   /* -b */
	bool lint;	   /* -l */
	bool compat;	   /* write nothing beyond the reference */
	bool arrows;	   /* write wake-ups, migrations, waits for locks as communications */
	bool messages;	   /* write messages of MPI as communications */
	uint64_t critical; /* tid of the thread whose critical path is shown; 0: none */
	bool owners;	   /* the critical path follows the owners of locks */
	bool gzip;	   /* .prv.gz */
	bool tolerant;	   /* leave out damaged streams */
	bool quiet;
	unsigned jobs; /* threads, 1 or more */
};

struct breakdown;

/* What is needed of a stream (--looms, --ranks, --from, --to). */
enum fate {
	FATE_IN,    /* all */
	FATE_OUT,   /* nothing: it has no row, */
	FATE_CPUS,  /* nothing but the CPUs of its loom */
	FATE_ENDED, /* a row: it ends before --from, */
	FATE_LATER, /* a row: it begins after --to */
};

#define BREAKDOWNS_MAX 4

struct emulator {
	const struct emu_options *opt;

	/* the trace */
	struct trace trace;
	struct whole whole;
	struct stream *streams;
	size_t nstreams;
	struct clock_fix *fixes; /* per stream */
	bool *damaged;		 /* per stream: left out, whole or from some byte on (--tolerant) */
	size_t ndamaged;
	uint8_t *fate; /* enum fate, per stream; NULL: all are needed */
	struct part *part;
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
	struct action *actions; /* actions[0] refuses unknown events */
	size_t nactions;

	/* channels; the masks have nwords words of 64 channels */
	struct channel *channels;
	uint32_t nchannels, nwords;
	uint64_t *thread_mask;	 /* touched by a change of state: all but TRACK_ANY */
	uint64_t *thread_always; /* written at each touch, even if empty: POLICY_ALL */
	uint64_t *lasting_mask;	 /* have a lasting type */
	uint64_t *cpu_mask;	 /* touched by a change of the running thread: CPU_OF_RUNNING */
	uint64_t *cpu_always;	 /* POLICY_ALL, a default that is not empty, input of a breakdown */
	char *blocks;		 /* bits and slots of each thread, side by side */
	size_t block_bytes;	 /* of one thread */
	size_t prefetch_bytes;	 /* of a block, some events before its turn; 0: none */
	struct cpu_slot *cpu_slots;
	uint64_t *bits; /* the masks, and `shown` of all CPUs */

	/* outputs */
	struct out_pool *pool;
	struct prv thread_prv, cpu_prv;
	struct prv_time time;
	struct breakdown *breakdowns[BREAKDOWNS_MAX];
	size_t nbreakdowns;
	struct arrows *arrows; /* NULL: neither --messages, nor `communicators` for `clock_check` */
	bool communicators;    /* the metadata declare them for collectives of MPI */
	struct critical *critical;	 /* NULL without --critical */
	struct clock_check *clock_check; /* NULL: nothing to compare */
	int64_t ranks_expected;		 /* by the metadata; 0: not known */
	bool calls_dropped;		 /* by --max-rate or --sample-calls */
	int64_t critical_next; /* time of the next line of the critical path; INT64_MAX: none */
	bool names;	       /* the .row files show the names of threads in the metadata */

	/* the present event */
	int64_t first_clock; /* of the first event, ns */
	int64_t duration;    /* for the headers, ns */
	bool started;	     /* first_clock is valid */
	uint64_t nevents;
	int64_t nrunnable, most_runnable; /* threads that wait for a CPU: now, at most */
	bool output_failed;		  /* after a message */
};

/*
 * Runs the whole emulation and logs its messages (emulator.c). Returns the exit status: 0; 1 after
 * a failure; 3 if parts of the trace were left out (--tolerant), or if the trace is incomplete by
 * its metadata (not with `compat` or `no_output`).
 */
int emulator_run(const struct emu_options *opt);

/* The signal handler sets this to stop after the present event. */
extern volatile sig_atomic_t emulator_interrupted;

/* Name of a stream in messages: its path in the trace. */
const char *emu_stream_name(const struct emulator *emu, size_t i);

/*
 * Refuses the present event: logs its MCV, clock, stream and byte, then the reason.
 * Returns -EINVAL.
 */
int emu_refuse(struct emulator *emu, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same for a failed write to a channel. Returns 0 for CHANNEL_OK, else a negative errno. */
int emu_refuse_channel(struct emulator *emu, enum channel_result result, const struct thread *th,
		       uint32_t channel, int64_t value);

/* Loads the offsets of the clocks of all looms. 0, or -errno after one message;
 * clock_table_fini() must follow in both cases. */
int emulator_load_clocks(const struct emulator *emu, struct clock_table *table)
	__attribute__((warn_unused_result));

/* ---- a part of the trace (--looms, --ranks, --from, --to), from part.c ---- */

bool part_asked(const struct emu_options *opt);
/* If a part is asked for: chooses the streams, and sets first_clock to that of the whole trace.
 * Returns 0, or -errno after a message; part_fini() frees it. */
int part_choose(struct emulator *emu) __attribute__((warn_unused_result));
/* Before --from: takes the lines of the present event back, and keeps their values. At --from:
 * writes those. Both return 0, or -errno after a message. */
int part_hold(struct emulator *emu) __attribute__((warn_unused_result));
int part_show(struct emulator *emu) __attribute__((warn_unused_result));
/* True if a stream that is not opened has events after --to. */
bool part_goes_on(const struct emulator *emu);
void part_fini(struct emulator *emu);

/* ---- the critical path (--critical), from critical_rows.c ---- */

/* Finds the path, if it is asked for, and adds its channel; before the other channels. Returns 0,
 * or -errno after a message. critical_fini() frees it. */
int critical_prepare(struct emulator *emu) __attribute__((warn_unused_result));
void critical_fini(struct emulator *emu);

/* Writes its lines up to the time `until`. Returns 0, or -errno after a message. */
int critical_show(struct emulator *emu, int64_t until) __attribute__((warn_unused_result));

/* ---- messages as communications (--messages), from message_arrows.c ---- */

/* Opens what is needed, if it is asked for; one event, before its lines; the end. All return 0, or
 * -errno after a message. message_arrows_fini() frees it. */
int message_arrows_prepare(struct emulator *emu) __attribute__((warn_unused_result));
int message_arrows_step(struct emulator *emu, const struct event *ev)
	__attribute__((warn_unused_result));
int message_arrows_finish(struct emulator *emu) __attribute__((warn_unused_result));
void message_arrows_fini(struct emulator *emu);

/* ---- clocks that contradict collectives of MPI, from clock_check.c ---- */

/* Takes the metadata of each stream. */
void clock_check_metadata(struct emulator *emu, const struct json *meta);
/* Prepares the check if the trace allows it. Returns 0, or -ENOMEM after a message;
 * clock_check_fini() frees it. */
int clock_check_prepare(struct emulator *emu) __attribute__((warn_unused_result));
/* Takes an event of the model mpi, after its effect. Returns 0, or -ENOMEM after a message. */
int clock_check_step(struct emulator *emu, struct thread *th, const struct action *action)
	__attribute__((warn_unused_result));
struct collective_call;
/* Takes a collective whose communicator is known, at its begin and its end; `emu`: the emulator.
 * Returns 0, or -ENOMEM after a message. */
int clock_check_collective(void *emu, const struct collective_call *collective)
	__attribute__((warn_unused_result));
/* Warns of contradictions, after the last event. */
void clock_check_report(const struct emulator *emu);
void clock_check_fini(struct emulator *emu);

/* ---- files beside a .prv: names of rows (.row) and labels (.pcf), from views.c ---- */

/* Creates (truncates) NAME.prv, NAME.pcf and NAME.row. NULL after a message. */
struct out *view_create(struct emulator *emu, const char *name);

/* Writes .pcf and .row of each view, at the end. Returns 0, or -errno after a message. */
int views_write(struct emulator *emu) __attribute__((warn_unused_result));

/* ---- configurations of Paraver beside the output, from cfg.c ---- */

/*
 * Copies to OUT/cfg the configurations that show something in this output, and are not there.
 * Returns 0, or -errno after a message.
 */
int cfg_install(struct emulator *emu) __attribute__((warn_unused_result));

/*
 * Writes the two configurations of a hardware counter, OUT/cfg/{thread,cpu}/nosv/hwc-NAME.cfg.
 * Characters that a file name cannot have become '_'. Returns 0, or -errno after a message.
 */
int cfg_write_counter(struct emulator *emu, unsigned type, const char *name)
	__attribute__((warn_unused_result));

#endif
