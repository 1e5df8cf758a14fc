/* SPDX-License-Identifier: MIT */
/*
 * findings: what cost the threads of a trace time, as facts with numbers.
 *
 * In: the metadata and the events of all streams, in one walk (intervals.h) with the times of
 * threads (thread_times.h) and the charges of waits (culprits.h); out: the time of each thread by
 * its use, and a list of findings, those about the recorded command before those about other
 * processes, the most expensive first. Nothing is printed here, and nothing is guessed: a finding
 * is a sum of clocks in the trace that passes a threshold below. Memory follows threads, processes
 * and pairs of them, never events. Invariant: run + waited + throttled + sleeps + unknown of a
 * thread are its life. Specification: event-mapping.md, "The thread state machine"; efficiency.md
 * 3; ovni-report(1).
 */
#ifndef TRACE_ANALYSIS_FINDINGS_H
#define TRACE_ANALYSIS_FINDINGS_H

#include "trace/analysis/blocked.h"
#include "trace/analysis/culprits.h"
#include "trace/analysis/thread_times.h"
#include "trace/base/json.h"
#include "trace/base/off_cpu.h"
#include "trace/states/cpu_time.h"
#include "trace/states/intervals.h"
#include "trace/states/pairs.h"
#include "trace/states/thread_priority.h"

/* The thresholds; ovni-report(1) has them, too. */
#define FINDING_PERMILLE     10	     /* of the recording: a smaller cost is no finding */
#define FINDING_LEAST	     1000000 /* ns: nor is one below 1 ms */
#define FINDING_WAIT_PERCENT 5	     /* of run + wait that a thread waits for a CPU */
#define FINDING_BALANCE	     85	     /* percent, mean / most: a lower balance is a finding */
#define FINDING_TEAM_PERCENT                                                                       \
	10			 /* of the busiest one: a thread with less work is not in the team \
				  */
#define FINDING_PERIODS	      20 /* of a thread, to judge its period */
#define FINDING_PERIOD	      1000000 /* ns: a shorter period is polling */
#define FINDING_REGULAR	      80      /* percent of the periods within a quarter of the median */
#define FINDING_CPU_PERCENT   95      /* of the run time on one CPU: "on CPU n" */
#define FINDING_LATE	      2	      /* times the median: a longer period is late */
#define FINDING_SURE_PERCENT  2	      /* a culprit that may lack more of its time is not named */
#define FINDING_STEAL_PERCENT 2	      /* of the time of a CPU */
#define FINDING_IRQ_PERCENT   5	      /* of the run time */
#define FINDING_RANKS	      32      /* more ranks in a loom are not compared in pairs */
#define FINDING_PATH_EVENTS   3000000 /* of the command: with more, its path is left out */

enum finding_kind {
	FINDING_NEIGHBOUR,   /* a thread of another process had the CPU */
	FINDING_SHARED,	     /* threads of one process took the CPU from each other */
	FINDING_RANKS_SHARE, /* ranks took the CPU from each other */
	FINDING_KERNEL,	     /* kernel threads had the CPU */
	FINDING_IDLE,	     /* the CPU was idle while a thread waited for it */
	FINDING_UNKNOWN,     /* the trace does not show which thread had the CPU */
	FINDING_QUOTA,	     /* throttled by the CPU quota of a cgroup */
	FINDING_IMBALANCE,   /* threads of a team work unequally */
	FINDING_RANK_IMBALANCE,
	FINDING_LOCK,	     /* a mutex was held while others slept on it */
	FINDING_OWNER,	     /* the same, by the recorded owner of a lock (--why=lock) */
	FINDING_INVERSION,   /* the holder waited for a CPU meanwhile */
	FINDING_LATE_RANK,   /* ranks were in MPI while another one was not */
	FINDING_LATE_SENDER, /* a rank waited for messages that another one had not begun to send */
	FINDING_LATE_RECEIVER, /* or to receive */
	FINDING_IO,	       /* asleep, waiting for I/O */
	FINDING_BLOCKED,       /* uninterruptible sleep without I/O */
	FINDING_JITTER,	       /* late in a regular period */
	FINDING_STEAL,	       /* the hypervisor had the CPU */
	FINDING_IRQ,	       /* interrupt handlers had it (--why=irq) */
	FINDING_KINDS
};
extern const char *const finding_names[FINDING_KINDS]; /* "neighbour", for JSON */

enum finding_number {		   /* in ns, unless a comment gives another unit */
		      NUMBER_OF,   /* the time that `time` is a share of: the life of the subject */
		      NUMBER_TIME, /* the time lost */
		      NUMBER_BY,   /* the part of it that is charged to the other party */
		      NUMBER_COUNT,    /* times */
		      NUMBER_THREADS,  /* threads or ranks involved */
		      NUMBER_MOST,     /* the longest, or the busiest one */
		      NUMBER_MOST_AT,  /* its clock since the first event */
		      NUMBER_MEAN,     /* or the median */
		      NUMBER_RUN,      /* parts of `by`, or of `most`: on a CPU, */
		      NUMBER_WAIT,     /* waiting for one, */
		      NUMBER_SLEEP,    /* asleep */
		      NUMBER_CPU,      /* the CPU of the subject; absent: it ran on several */
		      NUMBER_FUNCTION, /* value of the channel of the mpi model */
		      NUMBER_TAKER,    /* tid of the thread that took the CPU most often, without a
					  stream */
		      NUMBER_CALL,     /* the part of `time` in `call` */
		      NUMBER_PLACE,    /* the part of that in `place` */
		      NUMBERS
};
extern const char *const finding_number_names[NUMBERS]; /* "time_ns" */

struct finding_party {
	enum { PARTY_NONE, PARTY_THREAD, PARTY_PROCESS, PARTY_RANK, PARTY_CPU } kind;
	uint32_t stream; /* of the thread, or a thread of the process */
	int64_t rank;	 /* of its process, -1: none */
	int32_t cpu;	 /* PARTY_CPU: of the loom of the stream */
};

struct finding {
	enum finding_kind kind;
	int64_t cost; /* ns */
	bool target;  /* is about the target */
	struct finding_party who, by;
	int64_t numbers[NUMBERS];
	uint32_t has;	 /* bits of the numbers */
	char *call;	 /* of an uninterruptible sleep: "fsync(3 = /data)"; NULL: not known */
	char *place;	 /* where it slept longest in that call, or for the lock; NULL: not known */
	char *lock;	 /* FINDING_OWNER: its name, or its address */
	char *irq;	 /* FINDING_IRQ: the kind with the most time; NULL: not known */
	uint32_t waiter; /* the same: stream of the longest wait */
};

/* Parties that may have the CPU for which a thread waits. */
enum culprit_class {
	CHARGED_OWN,	/* a thread of the same process */
	CHARGED_RANK,	/* of another rank */
	CHARGED_OTHER,	/* of another process */
	CHARGED_KERNEL, /* a kernel thread */
	CHARGED_IDLE,
	CHARGED_UNKNOWN, /* not in the trace */
	CHARGED_CLASSES
};

/* The time of one thread: ns. */
struct thread_use {
	int64_t run, throttled, sleep[OFF_CPU_COUNT];
	int64_t unknown;     /* TIME_LOST, which is not in `sleep` */
	int64_t irq;	     /* part of run: taken by interrupts */
	int64_t idle_run;    /* part of run: waiting inside MPI or a runtime (by their events) */
	int64_t first, last; /* clocks of its life in the trace */
	int64_t life;	     /* run + waited + throttled + sleeps + unknown */
	int64_t waited;	     /* for a CPU, by the culprits: with the wait of a newborn */
	int64_t charged[CHARGED_CLASSES]; /* the parts of `waited` */
	int64_t wait_most, wait_most_at;  /* the longest wait, and the clock of its end */
	int64_t io_most;		  /* the longest sleep for I/O */
	uint64_t runs, io;
	uint32_t process;  /* index in findings.processes */
	int32_t cpu;	   /* where it had FINDING_CPU_PERCENT of its run time, or CPU_NONE */
	bool seen, kernel; /* has an event of its state; is a kernel thread */
};

struct process_use {	 /* sums of its threads, ns */
	uint32_t stream; /* its first one */
	uint32_t nthreads;
	int64_t rank, nranks; /* -1: none */
	int64_t run, throttled, sleep, unknown, life, idle_run, waited;
	int64_t charged[CHARGED_CLASSES];
	uint32_t pairs, npairs; /* private: of culprits with a victim in it */
	int64_t parent;		/* pid, 0: not known */
	bool target;		/* descends from ovni-bpf: the command that it recorded */
	bool recorder;	/* ovni-bpf itself: it may be a culprit, but has no findings of its own */
	bool started;	/* the recorder of this trace: it started the command */
	uint64_t words; /* private: of its command line, as a number */
};

/* The critical path to the end of the main thread of the recorded command. */
struct finding_path {
	bool known;		  /* the trace has that end */
	bool complete;		  /* the times are known; else the command has too many events */
	uint32_t end, most;	  /* streams: of the main thread, and the one with the most time */
	int64_t ns[TIME_CLASSES]; /* by state; the sum is the life of the main thread */
	int64_t most_ns[TIME_CLASSES]; /* the part of thread `most` */
	uint64_t events;	       /* private: of the command */
};

struct cpu_steal {	 /* of the metadata: time that the hypervisor took from a CPU */
	uint32_t stream; /* the stream whose metadata has it: of its loom */
	int32_t cpu;
	int64_t ns;
};

/* The times between the starts of runs by a wake-up; private. */
#define PERIODS_QUEUED 8

struct periods {
	struct thread_periods *threads; /* of each stream */
	struct pool sums;
	/* The last periods. They are added some events later, when their sums are in the cache. */
	struct queued_period {
		struct histogram *histogram; /* NULL: none */
		struct period_sum *sum;
		int64_t ns;
		unsigned bucket;
	} queue[PERIODS_QUEUED];
	uint32_t queued;
};

struct findings {
	/* Of the walk of the runs: */
	struct cpu_times cpus __attribute__((aligned(ARRAY_LINE)));
	struct periods periods;
	/* Of the walk of the uses: */
	const struct source *source __attribute__((aligned(ARRAY_LINE)));
	struct culprits culprits;
	struct thread_times times;
	struct blocked blocked; /* uninterruptible sleeps alone */
	struct thread_priorities priorities;
	struct thread_use *threads; /* of each stream */
	struct process_use *processes;
	size_t nprocesses;
	struct finding *list;
	size_t n;
	struct finding_path path;
	bool complete;	     /* the list is made */
	bool damaged_stacks; /* findings_read() returns -EBADMSG, and sleeps have no places */
	uint64_t events;
	struct cpu_steal *steal; /* empty: not known */
	size_t nsteal;
	bool targets;		      /* some processes are the target of a recording with others */
	bool locks;		      /* the trace has the marks of --api pthread, or owners */
	bool mpi;		      /* events of the model mpi */
	bool openmp;		      /* events of the model openmp */
	bool part;		      /* only a part of the recording counts */
	int64_t start;		      /* clock of the first event of the trace */
	int64_t first, last;	      /* clocks of the trace, or of the part of it that counts */
	struct findings_state *state; /* of the walk; private */
};

/*
 * Walks the trace once and makes the list, of the part between the clocks `first` and `last`
 * (INT64_MIN, INT64_MAX: all). Returns 0, or -errno after one message; findings_fini()
 * must follow in both cases. If `complete` is false after an error, there is no list; otherwise it
 * is of the part of the trace before the damage.
 */
int findings_read(struct findings *f, const struct source *source, int64_t first, int64_t last)
	__attribute__((warn_unused_result));
void findings_fini(struct findings *f);

/*
 * The same in two walks over the same events, which may be in two threads. Call findings_begin();
 * walk with findings_runs and with findings_uses, the struct findings as their arg. After its walk,
 * also one that ended at damage, call findings_end_runs() or findings_end_uses(); after both walks
 * findings_end(). They return 0, -ENOMEM, or -errno after one message;
 * findings_fini() must follow.
 */
int findings_begin(struct findings *f, const struct source *source, int64_t first, int64_t last)
	__attribute__((warn_unused_result));
extern const struct interval_listener findings_runs, findings_uses;
/* The walk of the runs tells each change of the use of a thread's time, too, at an event OH? or KC?
 * of that thread: `from` is the use after the event before it. */
int findings_take_use(struct findings *f, const struct intervals *intervals, uint32_t stream,
		      enum time_use from, enum time_use to, int64_t clock)
	__attribute__((warn_unused_result));
int findings_end_runs(struct findings *f, const struct intervals *intervals)
	__attribute__((warn_unused_result));
int findings_end_uses(struct findings *f, const struct intervals *intervals)
	__attribute__((warn_unused_result));
int findings_end(struct findings *f, const struct intervals *intervals)
	__attribute__((warn_unused_result));

/* ns that a thread slept, for all reasons. */
int64_t thread_use_sleep(const struct thread_use *use);

/* Whether a cost is worth a finding in this recording. */
bool findings_worth(const struct findings *f, int64_t ns);

#endif
