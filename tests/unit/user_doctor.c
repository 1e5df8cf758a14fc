/* SPDX-License-Identifier: MIT */
/* findings: the report of the doctor about other machines. */
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "user/doctor/doctor.h"

#define BIT(n) (1ull << (n))
#define ALL    (BIT(41) - 1)

/* A machine on which all is as it should be. */
static struct machine healthy(void)
{
	return (struct machine){
		.release = "6.18.0",
		.arch = "x86_64",
		.clocksource = "tsc",
		.major = 6,
		.minor = 18,
		.btf_bytes = 5 << 20,
		.lockdown = LOCKDOWN_INTEGRITY,
		.unprivileged_bpf = 2,
		.perf_event_paranoid = 2,
		.cgroups = CGROUPS_V2,
		.online = 4,
		.possible = 4,
		.effective = ALL,
		.bounding = ALL,
		.initial_user_ns = true,
		.initial_pid_ns = true,
		.memlock = 8 << 20,
		.memory_charged = true,
		.ring_bytes = 4 << 20,
		.disk_free = 1ull << 40,
		.locks = LOCKS_BY_VPID,
		.kernel_locks = true,
		.user_stacks = USER_STACKS_BY_TASK_WORK,
	};
}

static void lose_permission(struct machine *m)
{
	m->map_err = m->ring_err = m->sched_err = m->multi_err = m->session_err = -EPERM;
}

static void old_kernel(struct machine *m)
{
	m->major = 5;
	m->minor = 4;
	m->memory_charged = false;
	m->sched_err = -ENOENT;
}
static void no_btf(struct machine *m)
{
	m->btf_err = -ENOENT;
	m->sched_err = -ENOENT;
}
static void no_capabilities(struct machine *m)
{
	m->effective = 0;
	lose_permission(m);
}
static void bpf_alone(struct machine *m)
{
	m->effective = BIT(39);
	m->sched_err = m->multi_err = m->session_err = -EPERM;
}
static void withheld(struct machine *m)
{
	m->effective = m->bounding = 0;
	lose_permission(m);
}
static void trapped(struct machine *m)
{
	m->no_new_privs = true;
	m->effective = 0;
	lose_permission(m);
}
static void filtered(struct machine *m)
{
	m->seccomp = 2;
	lose_permission(m);
}
static void user_namespace(struct machine *m)
{
	m->initial_user_ns = false;
	lose_permission(m);
}
static void locked(struct machine *m)
{
	m->lockdown = LOCKDOWN_CONFIDENTIALITY;
	m->sched_err = -EPERM;
}
static void security_module(struct machine *m)
{
	m->sched_err = -EACCES;
}
static void no_syscall(struct machine *m)
{
	m->map_err = m->ring_err = m->sched_err = -ENOSYS;
}
static void refused(struct machine *m)
{
	m->sched_err = -EINVAL;
}
static void pid_namespace(struct machine *m)
{
	m->initial_pid_ns = false;
	m->container = "/.dockerenv";
}
static void before_6_6(struct machine *m)
{
	m->multi_err = m->session_err = -EINVAL;
}
static void before_6_13(struct machine *m)
{
	m->session_err = -EINVAL;
}
static void perf_refused(struct machine *m)
{
	m->multi_err = m->session_err = -EINVAL;
	m->perf_err = -EACCES;
}
static void slow_clock(struct machine *m)
{
	memcpy(m->clocksource, "hpet", 5);
}
static void old_cgroups(struct machine *m)
{
	m->cgroups = CGROUPS_V1;
}
static void little_memory(struct machine *m)
{
	m->ring_err = -ENOMEM;
}
static void yields(struct machine *m)
{
	m->yields_unknown = true;
}
static void no_owners(struct machine *m)
{
	m->locks = LOCKS_NONE;
}
static void interrupts(struct machine *m)
{
	m->interrupts_unknown = true;
}
static void copied_stacks(struct machine *m)
{
	m->user_stacks = USER_STACKS_AT_SWITCH;
}

static void no_user_stacks(struct machine *m)
{
	m->user_stacks = USER_STACKS_NONE;
}

static void throttled_partly(struct machine *m)
{
	m->throttled_partly = true;
}
static void wakeups(struct machine *m)
{
	m->wakeups_probed = true;
}
static void read_only_folder(struct machine *m)
{
	m->output_err = -EROFS;
}
static void full_disk(struct machine *m)
{
	m->disk_free = 1 << 20;
}
static void admin_alone(struct machine *m)
{
	m->effective = BIT(CAP_SYS_ADMIN);
}
static void ordinary_user(struct machine *m)
{
	m->effective = BIT(38) | BIT(39);
	m->statistics_err = -EPERM;
	m->perf_err = -EACCES;
}
static void nothing(struct machine *m)
{
	(void)m;
}

static const struct {
	void (*change)(struct machine *m);
	const char *finding; /* whose verdict is looked at */
	enum verdict verdict;
	const char *says; /* in the remedy */
	bool permits;
} cases[] = {
	{nothing, "scheduling", VERDICT_FINE, "", true},
	{old_kernel, "kernel", VERDICT_STOP, "5.11", false},
	{no_btf, "btf", VERDICT_STOP, "CONFIG_DEBUG_INFO_BTF", false},
	{no_btf, "scheduling", VERDICT_STOP, "BTF", false},
	{no_capabilities, "CAP_BPF", VERDICT_STOP, "setcap cap_bpf,cap_perfmon+ep", false},
	{no_capabilities, "CAP_PERFMON", VERDICT_STOP, "sudo", false},
	{no_capabilities, "CAP_SYS_PTRACE", VERDICT_FACT, "", false},
	{bpf_alone, "CAP_BPF", VERDICT_FINE, "", false},
	{bpf_alone, "CAP_PERFMON", VERDICT_STOP, "setcap", false},
	{withheld, "CAP_BPF", VERDICT_STOP, "--cap-add", false},
	{trapped, "CAP_BPF", VERDICT_STOP, "no_new_privs", false},
	{filtered, "bpf()", VERDICT_STOP, "seccomp=unconfined", false},
	{filtered, "CAP_BPF", VERDICT_FINE, "", false},
	{user_namespace, "bpf()", VERDICT_STOP, "user namespace", false},
	{locked, "lockdown", VERDICT_STOP, "lockdown=integrity", false},
	{locked, "scheduling", VERDICT_STOP, "locked down", false},
	{security_module, "scheduling", VERDICT_STOP, "AppArmor", false},
	{no_syscall, "bpf()", VERDICT_STOP, "CONFIG_BPF_SYSCALL", false},
	{refused, "scheduling", VERDICT_STOP, "--dry-run", false},
	{pid_namespace, "namespaces", VERDICT_LESS, "whole machine", true},
	{before_6_6, "uprobe.multi", VERDICT_LESS, "6.6", true},
	{before_6_6, "uprobe.session", VERDICT_FACT, "", true},
	{before_6_13, "uprobe.session", VERDICT_LESS, "6.13", true},
	{before_6_13, "uprobe.multi", VERDICT_FINE, "", true},
	{perf_refused, "uprobe.multi", VERDICT_LESS, "no probes", true},
	{perf_refused, "uprobe.perf", VERDICT_LESS, "CAP_SYS_ADMIN", true},
	{slow_clock, "clock", VERDICT_LESS, "slow", true},
	{old_cgroups, "cgroups", VERDICT_LESS, "--cgroup", true},
	{little_memory, "buffers", VERDICT_LESS, "-b", true},
	{yields, "yields", VERDICT_LESS, "5.15", true},
	{yields, "calls of sleeps", VERDICT_LESS, "5.15", true},
	{no_owners, "owners of locks", VERDICT_LESS, "6.2", true},
	{nothing, "user stacks", VERDICT_FINE, "", true},
	{copied_stacks, "user stacks", VERDICT_LESS, "6.18", true},
	{no_user_stacks, "user stacks", VERDICT_LESS, "PREEMPT_RT", true},
	{interrupts, "interrupts", VERDICT_LESS, "irq_handler_entry", true},
	{throttled_partly, "quotas", VERDICT_LESS, "6.18", true},
	{wakeups, "wake-ups", VERDICT_LESS, "CONFIG_SCHED_INFO", true},
	{read_only_folder, "output", VERDICT_LESS, "-o", true},
	{full_disk, "output", VERDICT_LESS, "free room", true},
	{admin_alone, "CAP_BPF", VERDICT_FINE, "", true},
	{ordinary_user, "CAP_SYS_ADMIN", VERDICT_FACT, "", true},
	{ordinary_user, "uprobe.perf", VERDICT_FACT, "", true},
	{ordinary_user, "cost", VERDICT_FACT, "", true},
};

static void every_obstacle_has_its_remedy(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct machine m = healthy();
		struct finding findings[FINDINGS_MAX];
		size_t n, at;

		cases[i].change(&m);
		n = findings_of(&m, findings);
		for (at = 0; at < n && strcmp(findings[at].name, cases[i].finding); at++)
			;
		if (at == n)
			fail_msg("case %zu: no finding %s", i, cases[i].finding);
		if (findings[at].verdict != cases[i].verdict)
			fail_msg("case %zu: %s is %s: %s", i, cases[i].finding,
				 findings_verdict(findings[at].verdict), findings[at].found);
		if (!strstr(findings[at].remedy, cases[i].says))
			fail_msg("case %zu: %s says: %s", i, cases[i].finding, findings[at].remedy);
		if (findings_permit(findings, n) != cases[i].permits)
			fail_msg("case %zu: permits a recording: %d", i, !cases[i].permits);
	}
}

static void restrictions_have_a_remedy_and_nothing_is_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct machine m = healthy();
		struct finding findings[FINDINGS_MAX];
		size_t n;

		cases[i].change(&m);
		n = findings_of(&m, findings);
		for (size_t j = 0; j < n; j++) {
			const struct finding *f = &findings[j];

			assert_true(*f->found);
			assert_true(strlen(f->found) < sizeof(f->found) - 1);
			assert_true(strlen(f->remedy) < sizeof(f->remedy) - 1);
			assert_int_equal(f->verdict == VERDICT_LESS || f->verdict == VERDICT_STOP,
					 *f->remedy != '\0');
			for (size_t k = 0; k < j; k++)
				assert_string_not_equal(findings[k].name, f->name);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_obstacle_has_its_remedy),
		cmocka_unit_test(restrictions_have_a_remedy_and_nothing_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
