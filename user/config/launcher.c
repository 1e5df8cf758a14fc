/* SPDX-License-Identifier: MIT */
/* launcher: see launcher.h. */
#include "user/config/launcher.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/config/config.h"

#define SLURM_KEY "SLURM" /* stands for SLURM_JOB_ID.SLURM_STEP_ID */

/* A daemon of Open MPI has this from mpirun, and no rank: in an allocation it is a task of Slurm.
 */
#define DAEMON "PMIX_MCA_mca_base_component_show_load_errors"

#define LAUNCHERS 4

/* job.md 4.2, in its order. */
static const struct {
	const char *name, *rank, *size;
	const char *same;    /* must have the value of `rank`; NULL: none */
	const char *keys[2]; /* the first one that is there */
	const char *local_size;
	const char *without; /* must not be there; NULL: none */
} launchers[LAUNCHERS] = {
	{"Open MPI",
	 "OMPI_COMM_WORLD_RANK",
	 "OMPI_COMM_WORLD_SIZE",
	 NULL,
	 {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"},
	 "OMPI_COMM_WORLD_LOCAL_SIZE",
	 NULL},
	{"Slurm, PMIx",
	 "SLURM_PROCID",
	 "SLURM_NTASKS",
	 "PMIX_RANK",
	 {"PMIX_NAMESPACE", SLURM_KEY},
	 NULL,
	 NULL},
	{"PMI", "PMI_RANK", "PMI_SIZE", NULL, {"PMI_JOBID", SLURM_KEY}, "MPI_LOCALNRANKS", NULL},
	{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", NULL, {SLURM_KEY}, NULL, DAEMON},
};

/* The variables that say who is a member, and its rank. */
enum {
	V_OMPI_RANK,
	V_OMPI_SIZE,
	V_PROCID,
	V_NTASKS,
	V_PMIX_RANK,
	V_PMI_RANK,
	V_PMI_SIZE,
	V_NAMESPACE,
	V_OMPI_JOB,
	V_PMI_JOB,
	V_SLURM_JOB,
	V_SLURM_STEP,
	V_DAEMON,
	V_NODE,
	V_JOB,
	V_COUNT
};

static const char *const variables[V_COUNT] = {
	[V_OMPI_RANK] = "OMPI_COMM_WORLD_RANK",
	[V_OMPI_SIZE] = "OMPI_COMM_WORLD_SIZE",
	[V_PROCID] = "SLURM_PROCID",
	[V_NTASKS] = "SLURM_NTASKS",
	[V_PMIX_RANK] = "PMIX_RANK",
	[V_PMI_RANK] = "PMI_RANK",
	[V_PMI_SIZE] = "PMI_SIZE",
	[V_NAMESPACE] = "PMIX_NAMESPACE",
	[V_OMPI_JOB] = "OMPI_MCA_ess_base_jobid",
	[V_PMI_JOB] = "PMI_JOBID",
	[V_SLURM_JOB] = "SLURM_JOB_ID",
	[V_SLURM_STEP] = "SLURM_STEP_ID",
	[V_DAEMON] = DAEMON,
	[V_NODE] = "SLURMD_NODENAME",
	[V_JOB] = LAUNCHER_JOB,
};
_Static_assert(V_COUNT <= VARIABLES_MAX, "the map of the kernel side");
_Static_assert(sizeof(DAEMON) <= VARIABLE_NAME, "the longest name");

/* An environment: that of this process, or strings, each ended by NUL. */
struct environment {
	const char *strings; /* NULL: of this process */
	size_t size;
};

static const char *get(const struct environment *env, const char *name)
{
	size_t length = strlen(name);

	if (!env->strings)
		return getenv(name);
	for (const char *at = env->strings, *end = at + env->size; at < end; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
	return NULL;
}

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

static int32_t variable(const struct environment *env, const char *name)
{
	const char *end = "";
	int32_t value = name ? number(get(env, name), &end) : -1;

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

static bool read_key(struct launcher *l, const struct environment *env, const char *name)
{
	const char *job = get(env, "SLURM_JOB_ID"), *step = get(env, "SLURM_STEP_ID");
	const char *value = name ? get(env, name) : NULL;
	int n = -1;

	if (name && !strcmp(name, SLURM_KEY) && job && step)
		n = snprintf(l->key, sizeof(l->key), "%s.%s", job, step);
	else if (value)
		n = snprintf(l->key, sizeof(l->key), "%s", value);
	return n > 0 && n < (int)sizeof(l->key);
}

static bool read_launcher(struct launcher *l, const struct environment *env)
{
	for (size_t i = 0; i < LAUNCHERS; i++) {
		*l = (struct launcher){.name = launchers[i].name,
				       .rank = variable(env, launchers[i].rank),
				       .size = variable(env, launchers[i].size),
				       .local_size = variable(env, launchers[i].local_size),
				       .nodes = -1};
		if (l->rank < 0 || l->rank >= l->size ||
		    (launchers[i].same && variable(env, launchers[i].same) != l->rank) ||
		    (launchers[i].without && get(env, launchers[i].without)) ||
		    !(read_key(l, env, launchers[i].keys[0]) ||
		      read_key(l, env, launchers[i].keys[1])))
			continue;
		/* mpirun in an allocation: the variables of Slurm are about its daemons */
		if (i && l->local_size < 0)
			l->local_size =
				launcher_tasks_of_node(get(env, "SLURM_STEP_TASKS_PER_NODE"),
						       variable(env, "SLURM_NODEID"));
		if (i)
			l->nodes = variable(env, "SLURM_STEP_NUM_NODES");
		return true;
	}
	return false;
}

bool launcher_read(struct launcher *l)
{
	return read_launcher(l, &(struct environment){0});
}

bool launcher_parse(struct launcher *l, const char *environment, size_t size)
{
	return read_launcher(l, &(struct environment){.strings = environment, .size = size});
}

/* ---- the members of a job by their environment ---- */

#define BIT(variable) (1u << (variable))

static uint32_t bit_of(const char *name)
{
	for (uint32_t i = 0; name && i < V_COUNT; i++)
		if (!strcmp(variables[i], name))
			return BIT(i);
	return name && !strcmp(name, SLURM_KEY) ? BIT(V_SLURM_JOB) | BIT(V_SLURM_STEP) : 0;
}

/* Wants the value that this process has. False: it has none. */
static bool want(struct job_rule *rule, uint32_t variable)
{
	const char *value = getenv(variables[variable]);
	struct variable *v = &rule->variables[variable];

	if (!value || !*value || strlen(value) >= sizeof(v->wanted))
		return false;
	snprintf(v->wanted, sizeof(v->wanted), "%s", value);
	return true;
}

bool launcher_rule(struct job_rule *rule, const struct launcher *own)
{
	static const uint32_t keys[] = {V_NAMESPACE, V_OMPI_JOB, V_PMI_JOB};
	uint32_t never = V_SLURM_STEP;

	*rule = (struct job_rule){.names = variables, .nvariables = V_COUNT};
	for (uint32_t i = 0; i < V_COUNT; i++)
		rule->variables[i].index = i;
	if (want(rule, V_JOB))
		rule->rule.must = BIT(V_JOB);
	else if (want(rule, V_SLURM_JOB))
		rule->rule.must = BIT(V_SLURM_JOB);
	else
		return false;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *value = getenv(variables[keys[i]]);

		if (never == V_SLURM_STEP && value && !strcmp(value, own->key))
			never = keys[i];
	}
	rule->rule.never = want(rule, never) ? BIT(never) : 0;
	rule->rule.if_there = want(rule, V_NODE) ? BIT(V_NODE) : 0;
	for (size_t i = 0; i < LAUNCHERS; i++) {
		rule->rule.ranks[i].all = bit_of(launchers[i].rank) | bit_of(launchers[i].same);
		/* the batch script has SLURM_PROCID, too */
		if (!strcmp(launchers[i].keys[0], SLURM_KEY))
			rule->rule.ranks[i].all |= bit_of(SLURM_KEY);
		rule->rule.ranks[i].none = bit_of(launchers[i].without);
	}
	return true;
}

bool launcher_is_member(const struct job_rule *rule, const char *environment, size_t size)
{
	const struct environment env = {.strings = environment, .size = size};
	const struct member_rule *r = &rule->rule;
	uint32_t there = 0, wanted = 0;

	for (uint32_t i = 0; i < rule->nvariables; i++) {
		const char *value = get(&env, rule->names[i]);

		there |= value ? BIT(i) : 0;
		wanted |= value && *value && !strcmp(value, rule->variables[i].wanted) ? BIT(i) : 0;
	}
	if ((wanted & r->must) != r->must || wanted & r->never || there & ~wanted & r->if_there)
		return false;
	for (size_t i = 0; i < LAUNCHERS; i++)
		if ((there & r->ranks[i].all) == r->ranks[i].all && !(there & r->ranks[i].none))
			return true;
	return false;
}
