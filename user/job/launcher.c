/* SPDX-License-Identifier: MIT */
/* launcher: see launcher.h. */
#include "user/job/launcher.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLURM_KEY "SLURM" /* stands for SLURM_JOB_ID.SLURM_STEP_ID */

/* job.md 4.2, in its order. */
static const struct {
	const char *name, *rank, *size;
	const char *same;    /* must have the value of `rank`; NULL: none */
	const char *keys[2]; /* the first one that is there */
	const char *local_size;
} launchers[] = {
	{"Open MPI",
	 "OMPI_COMM_WORLD_RANK",
	 "OMPI_COMM_WORLD_SIZE",
	 NULL,
	 {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"},
	 "OMPI_COMM_WORLD_LOCAL_SIZE"},
	{"Slurm, PMIx",
	 "SLURM_PROCID",
	 "SLURM_NTASKS",
	 "PMIX_RANK",
	 {"PMIX_NAMESPACE", SLURM_KEY},
	 NULL},
	{"PMI", "PMI_RANK", "PMI_SIZE", NULL, {"PMI_JOBID", SLURM_KEY}, "MPI_LOCALNRANKS"},
	{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", NULL, {SLURM_KEY}, NULL},
};

/* A decimal number from 0 to 2^31 - 1, with what follows it in *end; -1: none. */
static int32_t number(const char *text, const char **end)
{
	unsigned long value;
	char *stop;

	if (!text || !isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	value = strtoul(text, &stop, 10);
	*end = stop;
	return errno || value > INT32_MAX ? -1 : (int32_t)value;
}

static int32_t variable(const char *name)
{
	const char *end = "";
	int32_t value = name ? number(getenv(name), &end) : -1;

	return *end ? -1 : value;
}

int32_t launcher_tasks_of_node(const char *list, int32_t node)
{
	int64_t nodes = 0; /* of the groups before */

	while (list && node >= 0) {
		int32_t tasks = number(list, &list), times = 1;

		if (tasks < 0)
			return -1;
		if (!strncmp(list, "(x", 2)) {
			list += 2;
			times = number(list, &list);
			if (times < 1 || *list++ != ')')
				return -1;
		}
		nodes += times;
		if (node < nodes)
			return tasks;
		if (*list++ != ',')
			return -1;
	}
	return -1;
}

static bool read_key(struct launcher *l, const char *name)
{
	const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
	const char *value = name ? getenv(name) : NULL;
	int n = -1;

	if (name && !strcmp(name, SLURM_KEY) && job && step)
		n = snprintf(l->key, sizeof(l->key), "%s.%s", job, step);
	else if (value)
		n = snprintf(l->key, sizeof(l->key), "%s", value);
	return n > 0 && n < (int)sizeof(l->key);
}

bool launcher_read(struct launcher *l)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
		*l = (struct launcher){.name = launchers[i].name,
				       .rank = variable(launchers[i].rank),
				       .size = variable(launchers[i].size),
				       .local_size = variable(launchers[i].local_size),
				       .nodes = -1};
		if (l->rank < 0 || l->rank >= l->size ||
		    (launchers[i].same && variable(launchers[i].same) != l->rank) ||
		    !(read_key(l, launchers[i].keys[0]) || read_key(l, launchers[i].keys[1])))
			continue;
		/* mpirun in an allocation: the variables of Slurm are about its daemons */
		if (i && l->local_size < 0)
			l->local_size = launcher_tasks_of_node(getenv("SLURM_STEP_TASKS_PER_NODE"),
							       variable("SLURM_NODEID"));
		if (i)
			l->nodes = variable("SLURM_STEP_NUM_NODES");
		return true;
	}
	return false;
}
