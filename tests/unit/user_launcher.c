/* SPDX-License-Identifier: MIT */
/* launcher: the environments of ranks, and the table of job.md 4.2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/config/config.h"
#include "user/config/launcher.h"

/* What mpirun gives its ranks, and what they inherit of orted in an allocation. */
#define OMPI  "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=3 "
#define SLURM "SLURM_PROCID=1 SLURM_NTASKS=3 SLURM_NODEID=1 SLURM_STEP_TASKS_PER_NODE=1,2 "
#define STEP  "SLURM_STEP_NUM_NODES=2 SLURM_JOB_ID=7 SLURM_STEP_ID=0 "

static const struct sample {
	const char *what, *environment;
	const char *name, *key; /* NULL: no launcher */
	int32_t rank, size, local_size, nodes;
} samples[] = {
	{"nothing", "", NULL, NULL, 0, 0, 0, 0},
	{"Open MPI", OMPI "PMIX_NAMESPACE=a", "Open MPI", "a", 2, 4, 3, -1},
	{"Open MPI, in an allocation", OMPI SLURM STEP "PMIX_NAMESPACE=a", "Open MPI", "a", 2, 4, 3,
	 -1},
	{"Open MPI, its older key", OMPI "OMPI_MCA_ess_base_jobid=9", "Open MPI", "9", 2, 4, 3, -1},
	{"Open MPI without a key: the next one", OMPI SLURM STEP, "Slurm", "7.0", 1, 3, 2, 2},
	{"srun with PMIx", SLURM STEP "PMIX_RANK=1 PMIX_NAMESPACE=slurm.pmix.7.0", "Slurm, PMIx",
	 "slurm.pmix.7.0", 1, 3, 2, 2},
	{"srun, a PMIx of another program", SLURM STEP "PMIX_RANK=0 PMIX_NAMESPACE=x", "Slurm",
	 "7.0", 1, 3, 2, 2},
	{"PMI", "PMI_RANK=0 PMI_SIZE=2 PMI_JOBID=k MPI_LOCALNRANKS=2", "PMI", "k", 0, 2, 2, -1},
	{"PMI of srun", "PMI_RANK=0 PMI_SIZE=2 " STEP, "PMI", "7.0", 0, 2, -1, 2},
	{"srun", SLURM STEP, "Slurm", "7.0", 1, 3, 2, 2},
	{"srun without the tasks of its nodes", "SLURM_PROCID=1 SLURM_NTASKS=3 " STEP, "Slurm",
	 "7.0", 1, 3, -1, 2},
	{"a batch script has no step", SLURM "SLURM_JOB_ID=7", NULL, NULL, 0, 0, 0, 0},
	{"a rank that is the size", "PMI_RANK=2 PMI_SIZE=2 PMI_JOBID=k", NULL, NULL, 0, 0, 0, 0},
	{"a rank below 0", "PMI_RANK=-1 PMI_SIZE=2 PMI_JOBID=k", NULL, NULL, 0, 0, 0, 0},
	{"a rank with more behind it", "PMI_RANK=1x PMI_SIZE=2 PMI_JOBID=k", NULL, NULL, 0, 0, 0,
	 0},
	{"a size that is too large", "PMI_RANK=1 PMI_SIZE=2147483648 PMI_JOBID=k", NULL, NULL, 0, 0,
	 0, 0},
	{"an empty key", "PMI_RANK=0 PMI_SIZE=2 PMI_JOBID=", NULL, NULL, 0, 0, 0, 0},
};

static void set(const char *environment)
{
	char text[600], *save = NULL;

	assert_true(strlen(environment) < sizeof(text));
	strcpy(text, environment);
	clearenv();
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');

		*value++ = '\0';
		assert_int_equal(setenv(word, value, 1), 0);
	}
}

static void the_first_launcher_decides(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		struct launcher l;

		print_message("  %s\n", s->what);
		set(s->environment);
		assert_int_equal(launcher_read(&l), s->name != NULL);
		if (!s->name)
			continue;
		assert_string_equal(l.name, s->name);
		assert_string_equal(l.key, s->key);
		assert_int_equal(l.rank, s->rank);
		assert_int_equal(l.size, s->size);
		assert_int_equal(l.local_size, s->local_size);
		assert_int_equal(l.nodes, s->nodes);
	}
}

/* A key that does not fit is none: two jobs must not get one key. */
static void a_long_key_is_refused(void **state)
{
	struct launcher l;
	char key[sizeof(l.key) + 1];

	(void)state;
	memset(key, 'k', sizeof(key));
	key[sizeof(key) - 1] = '\0';
	set("PMI_RANK=0 PMI_SIZE=2");
	setenv("PMI_JOBID", key, 1);
	assert_false(launcher_read(&l));
	setenv("PMI_JOBID", key + 1, 1);
	assert_true(launcher_read(&l));
	assert_string_equal(l.key, key + 1);
}

static void tasks_of_a_node(void **state)
{
	static const struct {
		const char *list;
		int32_t node, tasks;
	} lists[] = {
		{"4", 0, 4},
		{"4", 1, -1},
		{"2(x3),1", 0, 2},
		{"2(x3),1", 2, 2},
		{"2(x3),1", 3, 1},
		{"2(x3),1", 4, -1},
		{"2(x3)", -1, -1},
		{"1,2(x2147483647),3(x2147483647),5", INT32_MAX, 2},
		{NULL, 0, -1},
		{"", 0, -1},
		{"x", 0, -1},
		{"2(x0),1", 0, -1},
		{"2(x", 0, -1},
		{"2(x3", 0, -1},
		{"2(x3;1", 0, -1},
		{"2,", 1, -1},
		{"2;1", 1, -1},
		{"2147483648", 0, -1},
		{"99999999999999999999999", 0, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		assert_int_equal(launcher_tasks_of_node(lists[i].list, lists[i].node),
				 lists[i].tasks);
}

/* ovni-job in step 1 of job 5, on node n1; the environments of others, each string ended by '|'. */
static void members_by_their_environment(void **state)
{
#define STEP2 "SLURM_JOB_ID=5|SLURM_STEP_ID=2|SLURMD_NODENAME=n1|SLURM_PROCID=3|SLURM_NTASKS=4|"
	static const struct {
		const char *what, *environment;
		bool member;
		int32_t rank;
	} others[] = {
		{"srun with PMIx", STEP2 "PMIX_RANK=3|PMIX_NAMESPACE=slurm.pmix.5.2|", true, 3},
		{"srun without", STEP2, true, 3},
		{"a name that is longer than any",
		 "A_NAME_LONGER_THAN_THE_LONGEST_OF_ALL_VARIABLES_=1|" STEP2, true, 3},
		{"mpirun on its own node: no step",
		 "SLURM_JOB_ID=5|SLURMD_NODENAME=n1|SLURM_PROCID=0|SLURM_NTASKS=2|OMPI_COMM_WORLD_"
		 "RANK=1|"
		 "OMPI_COMM_WORLD_SIZE=4|PMIX_NAMESPACE=77|",
		 true, 1},
		{"a daemon of mpirun", STEP2 "PMIX_MCA_mca_base_component_show_load_errors=1|",
		 false, 0},
		{"the batch script",
		 "SLURM_JOB_ID=5|SLURMD_NODENAME=n1|SLURM_PROCID=0|SLURM_NTASKS=2|", false, 0},
		{"ovni-job itself", STEP2 "PMIX_RANK=3|PMIX_NAMESPACE=slurm.pmix.5.1|", false, 0},
		{"another job", "SLURM_JOB_ID=50|SLURM_STEP_ID=2|SLURM_PROCID=3|SLURM_NTASKS=4|",
		 false, 0},
		{"another node",
		 "SLURM_JOB_ID=5|SLURM_STEP_ID=2|SLURMD_NODENAME=n2|SLURM_PROCID=3|SLURM_NTASKS=4|",
		 false, 0},
		{"none", "PATH=/bin|", false, 0},
		{"nothing", "", false, 0},
	};
	struct launcher own, l;
	struct job_rule rule;

	(void)state;
	set("SLURM_JOB_ID=5 SLURM_STEP_ID=1 SLURMD_NODENAME=n1 SLURM_PROCID=0 SLURM_NTASKS=2 "
	    "PMIX_RANK=0 PMIX_NAMESPACE=slurm.pmix.5.1");
	assert_true(launcher_read(&own));
	assert_true(launcher_rule(&rule, &own));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		size_t size = strlen(others[i].environment);
		char *environment = strdup(others[i].environment);

		for (size_t j = 0; j < size; j++)
			if (environment[j] == '|')
				environment[j] = '\0';
		print_message("  %s\n", others[i].what);
		assert_int_equal(launcher_is_member(&rule, environment, size), others[i].member);
		if (others[i].member) {
			assert_true(launcher_parse(&l, environment, size));
			assert_int_equal(l.rank, others[i].rank);
			assert_int_equal(l.size, 4);
		}
		free(environment);
	}
	set("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMIX_NAMESPACE=9");
	assert_true(launcher_read(&own));
	assert_false(launcher_rule(&rule, &own)); /* outside of Slurm, without OVNI_JOB */
	setenv("OVNI_JOB", "x", 1);
	assert_true(launcher_rule(&rule, &own));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_launcher_decides),
		cmocka_unit_test(a_long_key_is_refused),
		cmocka_unit_test(tasks_of_a_node),
		cmocka_unit_test(members_by_their_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
