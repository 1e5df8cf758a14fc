/* SPDX-License-Identifier: MIT */
/* doctor: see doctor.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "user/doctor/doctor.h"
#include "user/host/privilege.h"
#include "trace/base/cli.h"
#include "trace/base/json.h"
#include "trace/base/log.h"

#define NAME_WIDTH 26
#define LINE_WIDTH 80

typedef void (*check_fn)(const struct machine *m, struct finding *f);

static void __attribute__((format(printf, 2, 3))) found(struct finding *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->found, sizeof(f->found), format, args);
	va_end(args);
}

static void judge(struct finding *f, enum verdict verdict, const char *remedy)
{
	f->verdict = verdict;
	snprintf(f->remedy, sizeof(f->remedy), "%s", remedy);
}

static bool is_permission(int err)
{
	return err == -EPERM || err == -EACCES;
}

/* May programs be loaded and attached to the scheduler, as far as capabilities go? */
static bool privileged(const struct machine *m)
{
	return machine_has(m, CAP_SYS_ADMIN) ||
	       (machine_has(m, CAP_BPF) && machine_has(m, CAP_PERFMON));
}

/* The remedy for the outermost reason why this process may not call bpf(). */
static const char *permission_remedy(const struct machine *m)
{
	const uint64_t both = 1ull << CAP_BPF | 1ull << CAP_PERFMON;

	if (!m->initial_user_ns)
		return "this is a user namespace (a rootless container?), where the kernel permits "
		       "no eBPF: run ovni-bpf outside of it; -p takes the numbers seen there";
	if (privileged(m) && m->seccomp)
		return "a seccomp filter forbids bpf(): start the container with "
		       "--security-opt seccomp=unconfined, or the service without "
		       "SystemCallFilter=";
	if (privileged(m) && m->lockdown == LOCKDOWN_CONFIDENTIALITY)
		return "the kernel is locked down: boot with lockdown=integrity, or without "
		       "Secure Boot";
	if (privileged(m))
		return "a security module (AppArmor, SELinux) forbids it: its log says which rule";
	if ((m->bounding & both) != both)
		return "the container or service withholds the capabilities: docker run --cap-add "
		       "BPF --cap-add PERFMON (or --privileged); systemd: CapabilityBoundingSet= "
		       "and AmbientCapabilities=";
	if (m->no_new_privs)
		return "this process can gain no privileges (no_new_privs): start from another "
		       "shell or service";
	return "run it through sudo, or permit it once and for all: sudo setcap "
	       "cap_bpf,cap_perfmon+ep PATH-OF-ovni-bpf";
}

/* ---- the kernel ---- */

static void check_kernel(const struct machine *m, struct finding *f)
{
	found(f, "%s on %s", m->release, m->arch);
	if (m->major && !m->memory_charged)
		judge(f, VERDICT_STOP, "Linux 5.11 or newer is needed: boot a newer kernel");
}

static void check_btf(const struct machine *m, struct finding *f)
{
	if (!m->btf_err) {
		found(f, "/sys/kernel/btf/vmlinux, %llu KiB",
		      (unsigned long long)m->btf_bytes >> 10);
		return;
	}
	found(f, "/sys/kernel/btf/vmlinux: %s", strerror(-m->btf_err));
	judge(f, VERDICT_STOP,
	      m->btf_err == -ENOENT
		      ? "boot a kernel built with CONFIG_DEBUG_INFO_BTF (those of Debian, "
			"Ubuntu, Fedora, RHEL and SUSE are); in a container, mount /sys"
		      : "let this user read it");
}

static void check_lockdown(const struct machine *m, struct finding *f)
{
	static const char *const names[] = {
		[LOCKDOWN_UNKNOWN] = "not known (securityfs is not there or not readable)",
		[LOCKDOWN_NONE] = "none",
		[LOCKDOWN_INTEGRITY] = "integrity, which permits reading",
		[LOCKDOWN_CONFIDENTIALITY] = "confidentiality: eBPF cannot read the kernel",
	};

	found(f, "%s", names[m->lockdown]);
	if (m->lockdown == LOCKDOWN_UNKNOWN)
		f->verdict = VERDICT_FACT;
	if (m->lockdown == LOCKDOWN_CONFIDENTIALITY)
		judge(f, VERDICT_STOP,
		      "boot with lockdown=integrity on the kernel's command line, or without "
		      "Secure Boot");
}

static void check_clock(const struct machine *m, struct finding *f)
{
	found(f, "%s", *m->clocksource ? m->clocksource : "not known");
	if (!*m->clocksource)
		f->verdict = VERDICT_FACT;
	else if (!strcmp(m->clocksource, "hpet") || !strcmp(m->clocksource, "acpi_pm") ||
		 !strcmp(m->clocksource, "jiffies"))
		judge(f, VERDICT_LESS,
		      "reading this clock is slow, and each event reads it: see `dmesg | grep "
		      "clocksource` for why the tsc is not used");
}

static void check_cpus(const struct machine *m, struct finding *f)
{
	found(f, "%u online, %u possible", m->online, m->possible);
	f->verdict = VERDICT_FACT;
}

static void check_cgroups(const struct machine *m, struct finding *f)
{
	static const char *const names[] = {
		[CGROUPS_NONE] = "none is mounted",
		[CGROUPS_V1] = "version 1",
		[CGROUPS_BOTH] = "version 2 beside version 1",
		[CGROUPS_V2] = "version 2",
	};

	found(f, "%s", names[m->cgroups]);
	if (m->cgroups == CGROUPS_BOTH)
		f->verdict = VERDICT_FACT;
	else if (m->cgroups != CGROUPS_V2)
		judge(f, VERDICT_LESS,
		      "--cgroup needs version 2: boot with systemd.unified_cgroup_hierarchy=1, or "
		      "mount -t cgroup2 none /sys/fs/cgroup");
}

static void check_tracefs(const struct machine *m, struct finding *f)
{
	found(f, "%s; not needed", m->tracefs_err ? strerror(-m->tracefs_err) : "readable");
	f->verdict = VERDICT_FACT;
}

/* ---- settings ---- */

static void setting(struct finding *f, int value, const char *meaning)
{
	if (value == MACHINE_UNKNOWN)
		found(f, "not known");
	else
		found(f, "%d: %s", value, meaning);
	f->verdict = VERDICT_FACT;
}

static void check_unprivileged(const struct machine *m, struct finding *f)
{
	setting(f, m->unprivileged_bpf,
		m->unprivileged_bpf ? "bpf() is for the privileged alone, which is enough"
				    : "anybody may load harmless programs, which is not enough");
}

static void check_paranoid(const struct machine *m, struct finding *f)
{
	setting(f, m->perf_event_paranoid,
		machine_has(m, CAP_PERFMON) || machine_has(m, CAP_SYS_ADMIN)
			? "of no consequence with CAP_PERFMON"
			: "of no consequence: eBPF asks for CAP_PERFMON whatever it is");
}

static void check_kptr(const struct machine *m, struct finding *f)
{
	const char *meaning = "--why=stack has addresses instead of names";

	if (m->kptr_restrict < 2 && machine_has(m, CAP_SYSLOG))
		meaning = "of no consequence with CAP_SYSLOG";
	else if (!m->kptr_restrict && m->perf_event_paranoid <= 1)
		meaning = "names of functions of the kernel (--why=stack) are shown to anybody";
	setting(f, m->kptr_restrict, meaning);
}

static void check_memlock(const struct machine *m, struct finding *f)
{
	if (m->memlock == UINT64_MAX)
		found(f, "no limit");
	else
		found(f, "%llu KiB", (unsigned long long)m->memlock >> 10);
	f->verdict = VERDICT_FACT;
	if (m->memory_charged)
		strncat(f->found, ", of no consequence: buffers count for the memory cgroup",
			sizeof(f->found) - strlen(f->found) - 1);
	else if (m->memlock != UINT64_MAX)
		judge(f, VERDICT_LESS, "raise it: ulimit -l unlimited");
}

/* ---- this process ---- */

static void check_namespaces(const struct machine *m, struct finding *f)
{
	found(f, "%s user, %s PID namespace%s%s", m->initial_user_ns ? "the first" : "a nested",
	      m->initial_pid_ns ? "the first" : "a nested", m->container ? "; container: " : "",
	      m->container ? m->container : "");
	if (!m->initial_pid_ns)
		judge(f, VERDICT_LESS,
		      "-p and -t take the numbers seen here, the trace has those of the whole "
		      "machine; for names and executables of processes run it outside (docker run "
		      "--pid=host)");
	else
		f->verdict = m->container ? VERDICT_FACT : VERDICT_FINE;
}

static void check_seccomp(const struct machine *m, struct finding *f)
{
	found(f, "%s", m->seccomp ? "system calls are filtered" : "no filter");
	if (m->seccomp)
		f->verdict = VERDICT_FACT; /* the checks below show its effects */
}

static const struct {
	unsigned number;
	const char *name, *with, *without;
	bool first; /* one of the two that are needed */
} capabilities[] = {
	{CAP_BPF, "CAP_BPF", "loads programs", "no program can be loaded", true},
	{CAP_PERFMON, "CAP_PERFMON",
	 "attaches them to the scheduler and to functions (uprobe.multi)",
	 "no program can be attached", true},
	{CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "stands for both, and shows what our programs cost",
	 "no probes on kernels before 6.6, no cost of our programs (-v)", false},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
	 "executables and namespaces of the processes of all users",
	 "executables and namespaces of your own processes alone", false},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
	 "MPI ranks of all users, probes in files that you cannot read",
	 "MPI ranks of your own processes, probes in files that you can read", false},
	{CAP_SYS_NICE, "CAP_SYS_NICE", "the thread that empties the buffers goes first",
	 "a busy machine loses events sooner: a larger -b makes up for it", false},
	{CAP_SETUID, "CAP_SETUID", "runs a command as another user (--user, sudo)",
	 "a command runs as you", false},
};
#define NCAPABILITIES (sizeof(capabilities) / sizeof(capabilities[0]))

static void check_capability(const struct machine *m, size_t i, struct finding *f)
{
	bool there = machine_has(m, capabilities[i].number);

	f->name = capabilities[i].name;
	found(f, "%s: %s", there ? "present" : "missing",
	      there ? capabilities[i].with : capabilities[i].without);
	if (there)
		return;
	if (!capabilities[i].first)
		f->verdict = VERDICT_FACT;
	else if (machine_has(m, CAP_SYS_ADMIN))
		found(f, "missing, but CAP_SYS_ADMIN stands for it");
	else
		judge(f, VERDICT_STOP, permission_remedy(m));
}

/* ---- the results of trying ---- */

static void check_bpf(const struct machine *m, struct finding *f)
{
	found(f, "%s", m->map_err ? strerror(-m->map_err) : "works");
	if (is_permission(m->map_err))
		judge(f, VERDICT_STOP, permission_remedy(m));
	else if (m->map_err == -ENOSYS)
		judge(f, VERDICT_STOP, "boot a kernel built with CONFIG_BPF_SYSCALL");
	else if (m->map_err)
		judge(f, VERDICT_STOP, "give the cgroup of this process more memory");
}

static void check_rings(const struct machine *m, struct finding *f)
{
	unsigned long long each = (unsigned long long)m->ring_bytes >> 10;

	if (!m->ring_err) {
		found(f,
		      "%llu KiB can be shared with the kernel; a recording takes one for each "
		      "CPU",
		      each);
		return;
	}
	found(f, "one of %llu KiB: %s", each, strerror(-m->ring_err));
	if (is_permission(m->ring_err))
		judge(f, VERDICT_STOP, permission_remedy(m));
	else
		judge(f, VERDICT_LESS,
		      "take smaller ones (-b), or give the cgroup of this process more memory");
}

static void check_sched(const struct machine *m, struct finding *f)
{
	if (!m->sched_err) {
		found(f, "%u programs were loaded, attached, and have answered", m->attached);
		return;
	}
	found(f, "not possible: %s", strerror(-m->sched_err));
	if (is_permission(m->sched_err))
		judge(f, VERDICT_STOP, permission_remedy(m));
	else if (m->btf_err)
		judge(f, VERDICT_STOP, "it needs BTF, see above");
	else
		judge(f, VERDICT_STOP,
		      "ovni-bpf -v --dry-run -a shows the answers of the kernel; please report it "
		      "with "
		      "the output of uname -a");
}

/* A fact that older kernels lack; it is known only once the programs could be chosen. */
static void check_lack(const struct machine *m, struct finding *f, bool lacks, const char *text,
		       const char *remedy)
{
	found(f, "%s", m->sched_err ? "not known" : text);
	if (m->sched_err)
		f->verdict = VERDICT_FACT;
	else if (lacks)
		judge(f, VERDICT_LESS, remedy);
}

static void check_yields(const struct machine *m, struct finding *f)
{
	check_lack(m, f, m->yields_unknown,
		   m->yields_unknown ? "look the same to this kernel" : "differ",
		   "they differ with Linux 5.15 or newer on x86-64");
}

static void check_calls(const struct machine *m, struct finding *f)
{
	check_lack(m, f, m->yields_unknown,
		   m->yields_unknown ? "not recorded on this kernel"
				     : "recorded, with files where you may read /proc/PID/fd",
		   "Linux 5.15 or newer shows the registers of a sleeping thread");
}

static void check_locks(const struct machine *m, struct finding *f)
{
	char text[128];

	snprintf(text, sizeof(text), "recorded with --why=lock%s%s",
		 m->locks == LOCKS_BY_PID ? ", but not in PID namespaces (Linux 6.14)" : "",
		 m->kernel_locks
			 ? ", also of locks of the kernel"
			 : "; not of locks of the kernel (CONFIG_DETECT_HUNG_TASK_BLOCKER)");
	check_lack(m, f, m->locks == LOCKS_NONE,
		   m->locks == LOCKS_NONE ? "not recorded on this kernel" : text,
		   "Linux 6.2 or newer finds a thread by its number");
}

static void check_user_stacks(const struct machine *m, struct finding *f)
{
	static const char *const texts[] = {
		[USER_STACKS_NONE] = "not recorded on this kernel",
		[USER_STACKS_AT_SWITCH] = ("recorded with --why=stack=both, up to 3.5 KiB of each, "
					   "which is copied at each sleep"),
		[USER_STACKS_BY_TASK_WORK] = "recorded with --why=stack=both, up to 16 KiB of each",
	};

	check_lack(m, f, m->user_stacks != USER_STACKS_BY_TASK_WORK, texts[m->user_stacks],
		   m->user_stacks == USER_STACKS_NONE
			   ? "Linux 5.15 or newer lets a program copy them; a real-time kernel "
			     "(PREEMPT_RT), 6.18 or newer"
			   : "Linux 6.18 or newer takes up to 16 KiB, and at long sleeps alone");
}

static void check_interrupts(const struct machine *m, struct finding *f)
{
	check_lack(m, f, m->interrupts_unknown,
		   m->interrupts_unknown ? "not reported by this kernel"
					 : "recorded as wakers, and their time with --why=irq",
		   "boot a kernel with the tracepoints irq_handler_entry and softirq_entry");
}

static void check_throttled(const struct machine *m, struct finding *f)
{
	check_lack(m, f, m->throttled_partly,
		   m->throttled_partly ? "a wait that begins as preemption counts as such, also "
					 "when a quota prolongs it"
				       : "waits are recorded as throttled",
		   "Linux 6.18 or newer reports each of them");
}

static void check_wakeups(const struct machine *m, struct finding *f)
{
	check_lack(m, f, m->wakeups_probed,
		   m->wakeups_probed ? "need a program of their own" : "read from the scheduler",
		   "recording costs less with a kernel that has CONFIG_SCHED_INFO and "
		   "CONFIG_FAIR_GROUP_SCHED, and a clock that all CPUs share (clocksource=tsc)");
}

static void check_multi(const struct machine *m, struct finding *f)
{
	found(f, "%s", m->multi_err ? strerror(-m->multi_err) : "works");
	if (is_permission(m->multi_err))
		judge(f, VERDICT_LESS, permission_remedy(m));
	else if (m->multi_err)
		judge(f, VERDICT_LESS,
		      m->perf_err ? "no probes in functions: Linux 6.6 or newer has it"
				  : "probes take the slower way (perf events): Linux 6.6 or newer "
				    "has it");
}

static void check_session(const struct machine *m, struct finding *f)
{
	found(f, "%s", m->session_err ? strerror(-m->session_err) : "works");
	if (m->session_err && !m->multi_err)
		judge(f, VERDICT_LESS,
		      "two probes for each function instead of one: Linux 6.13 or newer has it");
	else if (m->session_err)
		f->verdict = VERDICT_FACT;
}

static void check_perf(const struct machine *m, struct finding *f)
{
	found(f, "%s%s", m->perf_err ? strerror(-m->perf_err) : "works",
	      m->multi_err ? "" : "; not needed where uprobe.multi works");
	f->verdict = VERDICT_FACT;
	if (m->multi_err && is_permission(m->perf_err))
		judge(f, VERDICT_LESS,
		      "probes of this kind need CAP_SYS_ADMIN: run it through sudo");
}

static void check_statistics(const struct machine *m, struct finding *f)
{
	found(f, "%s", m->statistics_err ? strerror(-m->statistics_err) : "measured");
	f->verdict = m->statistics_err ? VERDICT_FACT : VERDICT_FINE;
	if (m->statistics_err)
		strncat(f->found, ": the cost of our programs is unknown (it needs CAP_SYS_ADMIN)",
			sizeof(f->found) - strlen(f->found) - 1);
}

static void check_output(const struct machine *m, struct finding *f)
{
	if (m->output_err) {
		found(f, "nothing can be written in this folder: %s", strerror(-m->output_err));
		judge(f, VERDICT_LESS, "go to another one, or name one with -o");
		return;
	}
	found(f, "this folder can be written, %llu MiB are free",
	      (unsigned long long)m->disk_free >> 20);
	if (m->disk_free < 64u << 20)
		judge(f, VERDICT_LESS,
		      "a busy machine makes some 10 MB a second and CPU: free room, or record to "
		      "another place with -o");
}

static const struct {
	const char *name;
	check_fn look; /* NULL: the place of the capabilities */
} looks[] = {
	{"kernel", check_kernel},
	{"btf", check_btf},
	{"lockdown", check_lockdown},
	{"clock", check_clock},
	{"cpus", check_cpus},
	{"cgroups", check_cgroups},
	{"tracefs", check_tracefs},
	{"unprivileged_bpf_disabled", check_unprivileged},
	{"perf_event_paranoid", check_paranoid},
	{"kptr_restrict", check_kptr},
	{"memlock", check_memlock},
	{"namespaces", check_namespaces},
	{"seccomp", check_seccomp},
	{NULL, NULL},
	{"bpf()", check_bpf},
	{"buffers", check_rings},
	{"scheduling", check_sched},
	{"yields", check_yields},
	{"calls of sleeps", check_calls},
	{"owners of locks", check_locks},
	{"user stacks", check_user_stacks},
	{"interrupts", check_interrupts},
	{"quotas", check_throttled},
	{"wake-ups", check_wakeups},
	{"uprobe.multi", check_multi},
	{"uprobe.session", check_session},
	{"uprobe.perf", check_perf},
	{"cost", check_statistics},
	{"output", check_output},
};
#define NLOOKS (sizeof(looks) / sizeof(looks[0]))
_Static_assert(NLOOKS + NCAPABILITIES <= FINDINGS_MAX, "room for all findings");

size_t findings_of(const struct machine *m, struct finding *findings)
{
	size_t n = 0;

	memset(findings, 0, FINDINGS_MAX * sizeof(*findings));
	for (size_t i = 0; i < NLOOKS; i++) {
		if (looks[i].look) {
			findings[n].name = looks[i].name;
			looks[i].look(m, &findings[n++]);
			continue;
		}
		for (size_t j = 0; j < NCAPABILITIES; j++)
			check_capability(m, j, &findings[n++]);
	}
	return n;
}

bool findings_permit(const struct finding *findings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (findings[i].verdict == VERDICT_STOP)
			return false;
	return true;
}

const char *findings_verdict(enum verdict verdict)
{
	static const char *const names[] = {
		[VERDICT_FINE] = "fine",
		[VERDICT_FACT] = "fact",
		[VERDICT_LESS] = "less",
		[VERDICT_STOP] = "stop",
	};

	return names[verdict];
}

/* ---- output ---- */

/* Prints `text` in lines of LINE_WIDTH, those after the first one indented. */
static void print_wrapped(const char *text, int indent)
{
	int column = indent;

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column > indent && column + 1 + len > LINE_WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		}
		column += printf("%s%.*s", column > indent ? " " : "", len, text);
		text += len;
		text += strspn(text, " ");
	}
	putchar('\n');
}

/*
 *   fine  btf                        /sys/kernel/btf/vmlinux, 5321 KiB
 *   stop  CAP_BPF                    missing: no program can be loaded
 *         do: run it through sudo, or ...
 */
static void print_table(const struct finding *findings, size_t count)
{
	unsigned less = 0, stop = 0;

	for (size_t i = 0; i < count; i++) {
		const struct finding *f = &findings[i];
		int indent = 0;

		less += f->verdict == VERDICT_LESS;
		stop += f->verdict == VERDICT_STOP;
		indent = printf("  %-4s  %-*s ", findings_verdict(f->verdict), NAME_WIDTH, f->name);
		print_wrapped(f->found, indent);
		if (*f->remedy) {
			indent = printf("        do: ");
			print_wrapped(f->remedy, indent);
		}
	}
	printf("\n%s\n", stop	? "no recording is possible here: do what stands at 'stop'"
			 : less ? "recording is possible here; what stands at 'less' is restricted"
				: "recording is possible here");
}

/* stop  n2: Linux 6.1.0-18-amd64: CAP_BPF: missing: no program can be loaded; do: ...; and 1 more
 */
static void print_node(const struct machine *machine, const struct finding *findings, size_t count)
{
	enum verdict worst = VERDICT_FINE;
	const struct finding *first = NULL;
	struct utsname host;
	unsigned more = 0;

	for (size_t i = 0; i < count; i++) {
		if (findings[i].verdict == worst)
			more++;
		if (findings[i].verdict <= worst || findings[i].verdict < VERDICT_LESS)
			continue;
		worst = findings[i].verdict;
		first = &findings[i];
		more = 0;
	}
	uname(&host);
	printf("%-4s  %s: Linux %s", findings_verdict(worst), host.nodename, machine->release);
	if (first)
		printf(": %s: %s; do: %s", first->name, first->found, first->remedy);
	if (first && more)
		printf("; and %u more", more);
	putchar('\n');
}

static int print_json(const struct finding *findings, size_t count)
{
	struct json *document = json_new_object(), *list, *one;
	char *text;
	int err = 0;

	json_put_bool(document, "can_record", findings_permit(findings, count));
	list = json_put_array(document, "findings");
	for (size_t i = 0; i < count; i++) {
		const struct finding *f = &findings[i];

		one = json_put_object(list, NULL);
		json_put_string(one, "name", f->name);
		json_put_string(one, "verdict", findings_verdict(f->verdict));
		json_put_string(one, "found", f->found);
		json_put_string(one, "remedy", *f->remedy ? f->remedy : NULL);
	}
	text = document ? json_text(document) : NULL;
	if (text)
		fputs(text, stdout);
	else
		err = log_no_memory("while printing the findings");
	free(text);
	json_free(document);
	return err;
}

struct doctor_options {
	bool json, job;
};

enum status doctor_run(int argc, char **argv)
{
#define TO(member) offsetof(struct doctor_options, member)
	static const struct cli_option options[] = {
		{"json", 0, NULL, cli_flag, TO(json), "print JSON, for scripts"},
		{"job", 0, NULL, cli_flag, TO(job),
		 "print one line, for one process on each node of a job: the verdict, the node, "
		 "and "
		 "the first reason"},
		{0},
	};
	static const struct cli cli = {
		.name = "ovni-bpf doctor",
		.about = "Try whether ovni-bpf can record on this machine; if not, say why and "
			 "what to do.",
		.options = options,
		.notes = "Verdicts: fine; fact (for information); less (a feature is missing); "
			 "stop (no recording is possible).\n"
			 "Exit status: 0 ovni-bpf can record, 1 it cannot, 2 wrong usage.\n"
			 "\n"
			 "Examples:\n"
			 "  # with the rights of a recording\n"
			 "  sudo ovni-bpf doctor\n"
			 "\n"
			 "  # all nodes of a job, those that cannot record first\n"
			 "  srun -N4 -n4 --ntasks-per-node=1 ovni-bpf doctor --job | sort -r\n"
			 "\n"
			 "  # what stops a recording, for a script\n"
			 "  ovni-bpf doctor --json | jq '.findings[] | select(.verdict == "
			 "\"stop\")'",
	};
	struct finding findings[FINDINGS_MAX];
	struct machine machine;
	enum status status;
	struct doctor_options chosen = {0};
	size_t count;
	int err = 0;

	if (!cli_read(&cli, argc, argv, &chosen, &status))
		return status;
	machine_read(&machine);
	count = findings_of(&machine, findings);
	if (chosen.json)
		err = print_json(findings, count);
	else if (chosen.job)
		print_node(&machine, findings, count);
	else
		print_table(findings, count);
	if (err || flush_stdout())
		return STATUS_FAILED;
	return findings_permit(findings, count) ? STATUS_COMPLETE : STATUS_FAILED;
}
