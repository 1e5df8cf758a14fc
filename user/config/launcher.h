/* SPDX-License-Identifier: MIT */
/*
 * launcher: what srun or mpirun says to a process of a parallel job.
 *
 * In: the environment of a process; out: rank, sizes, job key. The first launcher of the table of
 * which rank and size are there decides them all: under mpirun in an allocation of Slurm the
 * SLURM_* variables are those of orted, the same for all ranks of a node.
 * Specification: job.md 4.2.
 */
#ifndef USER_JOB_LAUNCHER_H
#define USER_JOB_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job_rule;

struct launcher {
	const char *name;   /* "Open MPI", "Slurm, PMIx", "PMI", "Slurm" */
	char key[128];	    /* the same in all processes of the job alone */
	int32_t rank, size; /* in the job */
	int32_t local_size; /* ranks on this node; -1: not known */
	int32_t nodes;	    /* nodes of the job; -1: not known */
};

/* Reads the environment of this process. False: no launcher has started it. */
bool launcher_read(struct launcher *launcher);

/* The same of an environment of `size` bytes: strings, each ended by NUL, and a NUL behind them. */
bool launcher_parse(struct launcher *launcher, const char *environment, size_t size);

/*
 * The rule of ovni-job, by the environment of this process: members are the processes with a rank
 * that have its LAUNCHER_JOB, else its SLURM_JOB_ID, on this node, and not its job key. False: this
 * process has neither of both.
 */
#define LAUNCHER_JOB "OVNI_JOB"
bool launcher_rule(struct job_rule *rule, const struct launcher *own);

/* Does an environment meet the rule? As the kernel side judges (find_member.bpf.c). */
bool launcher_is_member(const struct job_rule *rule, const char *environment, size_t size);

/* The tasks of node `node` in a list as "2(x3),1" of SLURM_STEP_TASKS_PER_NODE; -1: none. */
int32_t launcher_tasks_of_node(const char *list, int32_t node);

#endif
