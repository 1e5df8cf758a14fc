/* SPDX-License-Identifier: MIT */
/*
 * overview_facts: what the overview of a trace says, for each program that shows it.
 *
 * In: the findings of a walk (findings.h) and the metadata; out: numbers, and the findings as
 * sentences, commands and places in the trace. ovni-report prints them as its overview, and
 * ovni-view puts them beside its timeline: one computation. Names from the trace are not escaped
 * here, but where they are shown.
 */
#ifndef TOOLS_FINDINGS_OVERVIEW_FACTS_H
#define TOOLS_FINDINGS_OVERVIEW_FACTS_H

#include "tools/lib/filter.h"
#include "trace/analysis/findings.h"
#include "trace/states/tid_names.h"

struct overview {
	const struct source *source;
	const struct tid_names *names;
	const struct filter *filter; /* its part of the recording is in the commands */
	const char *path;	     /* of the trace */
	int columns;		     /* of the terminal */
	struct findings findings;
	bool damaged; /* the walk of the findings ended early */
	/* overview_facts(): */
	uint32_t session_stream;
	struct json *session; /* a copy of the metadata of the stream that has it; NULL: none */
	uint64_t repairs;
	int64_t duration;
	bool others;	   /* threads that are not recorded may have run on a CPU */
	bool idle_unknown; /* of a CPU: idle time is part of `others` */
	char *efficiency;  /* of a program that calls MPI, a sentence; NULL: none */
};

static inline double percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static inline const struct owner *overview_owner(const struct overview *o, uint32_t stream)
{
	return &o->source->owners[stream];
}

static inline bool finding_has(const struct finding *finding, enum finding_number number)
{
	return finding->has >> number & 1;
}

/* The part of a trace in which a finding can be seen. */
struct finding_place {
	uint32_t stream;    /* of the thread, or a thread of the loom of `cpu` */
	int32_t cpu;	    /* CPU_NONE: the place is a thread */
	int64_t begin, end; /* ns since the first event */
	bool exact;	    /* the longest wait or sleep; else the whole life of the thread */
};

/* ---- overview_facts.c ---- */

/* After the walk of the findings. 0, or -errno after one message; overview_fini() must follow in
 * both cases. */
int overview_facts(struct overview *o) __attribute__((warn_unused_result));
void overview_fini(struct overview *o);

/* ---- overview_efficiency.c ---- */

/* Stores o->efficiency; reads the trace again. 0, or -errno after one message, or -ENOMEM. */
int overview_efficiency(struct overview *o) __attribute__((warn_unused_result));

/* ---- overview_facts.c ---- */

/* What is not recorded, in one line; for free(). NULL without memory. */
char *overview_notes(const struct overview *o);
/* The arguments of the recorder; for free(). NULL without memory. */
char *overview_command(const struct overview *o);
/* ns that the hypervisor took from a CPU, or CELL_UNKNOWN. */
int64_t overview_steal(const struct overview *o, const struct cpu_time *cpu);
/* ns that a CPU was busy, or, where idle time is not known, ran threads of the trace. */
int64_t overview_used(const struct overview *o, const struct cpu_time *cpu);
/* ns that a thread ran or wanted to. */
int64_t thread_use_wanted(const struct thread_use *use);
/* All streams, those of the command first, and those that ran or waited most; NULL without memory.
 */
uint32_t *overview_order(const struct overview *o);

struct finding_place finding_place(const struct overview *o, const struct finding *finding);

/* ---- finding_text.c ---- */

/* The finding as a sentence; for free(). NULL without memory. */
char *finding_text(const struct overview *o, const struct finding *finding);
/* The command that shows more about a finding; for free(). NULL without memory. */
char *finding_command(const struct overview *o, const struct finding *finding);
/* Why the command ended no sooner, as a sentence, and the command that shows more; for free(). Of a
 * trace with findings.path.known alone. NULL without memory. */
char *path_text(const struct overview *o);
char *path_command(const struct overview *o);
/* A path as a shell takes it. */
char *shell_word(const char *word);

#endif
