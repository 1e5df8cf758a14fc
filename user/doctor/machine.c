/* SPDX-License-Identifier: MIT */
/* machine: examines this machine and this process, for doctor.h. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "user/doctor/doctor.h"
#include "trace/base/log.h"
#include "user/kernel/bpf_load.h"
#include "user/config/config.h"
#include "user/host/read_file.h"
#include "user/kernel/rings.h"
#include "user/kernel/snapshot.h"
#include "user/probes/attach.h"
#include "user/host/topology.h"

/* Inode numbers of the first namespaces, fixed by the kernel. */
#define INITIAL_USER_NS 0xeffffffdu
#define INITIAL_PID_NS	0xeffffffcu

#define CAPABILITIES 41 /* up to CAP_CHECKPOINT_RESTORE */

/* ---- settings ---- */

static int read_number(const char *path)
{
	char line[32], *end;
	long value;

	if (!read_line(path, line, sizeof(line)))
		return MACHINE_UNKNOWN;
	value = strtol(line, &end, 10);
	return end == line || *end ? MACHINE_UNKNOWN : (int)value;
}

/* "none [integrity] confidentiality": the one in brackets holds. */
static enum lockdown read_lockdown(void)
{
	char line[128];

	if (!read_line("/sys/kernel/security/lockdown", line, sizeof(line)))
		return LOCKDOWN_UNKNOWN;
	if (strstr(line, "[confidentiality]"))
		return LOCKDOWN_CONFIDENTIALITY;
	return strstr(line, "[integrity]") ? LOCKDOWN_INTEGRITY : LOCKDOWN_NONE;
}

static enum cgroups find_cgroups(void)
{
	struct statfs fs;

	if (statfs("/sys/fs/cgroup", &fs))
		return CGROUPS_NONE;
	if (fs.f_type == CGROUP2_SUPER_MAGIC)
		return CGROUPS_V2;
	if (!access("/sys/fs/cgroup/unified/cgroup.procs", F_OK))
		return CGROUPS_BOTH;
	return access("/sys/fs/cgroup/cpu", F_OK) ? CGROUPS_NONE : CGROUPS_V1;
}

static void read_kernel(struct machine *m)
{
	struct utsname name;
	struct stat st;

	if (!uname(&name)) {
		snprintf(m->release, sizeof(m->release), "%s", name.release);
		snprintf(m->arch, sizeof(m->arch), "%s", name.machine);
		if (sscanf(name.release, "%u.%u", &m->major, &m->minor) != 2)
			m->major = m->minor = 0;
	}
	m->memory_charged = m->major > 5 || (m->major == 5 && m->minor >= 11);
	m->btf_err = stat("/sys/kernel/btf/vmlinux", &st) ? -errno : 0;
	m->btf_bytes = m->btf_err ? 0 : (uint64_t)st.st_size;
	if (!m->btf_err && access("/sys/kernel/btf/vmlinux", R_OK))
		m->btf_err = -errno;
	m->lockdown = read_lockdown();
	m->unprivileged_bpf = read_number("/proc/sys/kernel/unprivileged_bpf_disabled");
	m->perf_event_paranoid = read_number("/proc/sys/kernel/perf_event_paranoid");
	m->kptr_restrict = read_number("/proc/sys/kernel/kptr_restrict");
	m->tracefs_err = access("/sys/kernel/tracing/events", R_OK) ? -errno : 0;
	m->cgroups = find_cgroups();
	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  m->clocksource, sizeof(m->clocksource));
}

/* ---- this process ---- */

static bool is_namespace(const char *path, ino_t inode)
{
	struct stat st;

	return !stat(path, &st) && st.st_ino == inode;
}

static const char *find_container(void)
{
	static const char *const signs[] = {"/run/.containerenv", "/.dockerenv",
					    "/run/systemd/container"};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (!access(signs[i], F_OK))
			return signs[i];
	return NULL;
}

static void read_process(struct machine *m)
{
	struct rlimit limit;

	capng_get_caps_process();
	for (unsigned i = 0; i < CAPABILITIES; i++) {
		if (capng_have_capability(CAPNG_EFFECTIVE, i))
			m->effective |= 1ull << i;
		if (capng_have_capability(CAPNG_BOUNDING_SET, i))
			m->bounding |= 1ull << i;
	}
	m->root = geteuid() == 0;
	m->no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
	m->initial_user_ns = is_namespace("/proc/self/ns/user", INITIAL_USER_NS);
	m->initial_pid_ns = is_namespace("/proc/self/ns/pid", INITIAL_PID_NS);
	m->container = find_container();
	m->seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
	_Static_assert(RLIM_INFINITY == UINT64_MAX, "no limit");
	m->memlock = getrlimit(RLIMIT_MEMLOCK, &limit) ? 0 : limit.rlim_cur;
}

/* ---- trying ---- */

static int try_map(uint64_t bytes, bool map)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = map ? BPF_F_MMAPABLE : 0);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ovni_doctor", sizeof(__u32), (__u32)bytes, 1,
				&opts);
	int err = 0;
	void *at;

	if (fd < 0)
		return -errno;
	if (map) {
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at == MAP_FAILED)
			err = -errno;
		else
			munmap(at, bytes);
	}
	close(fd);
	return err;
}

/* The kernel side of `ovni-bpf -a`, for a moment. */
static void try_recording(struct machine *m)
{
	struct options options = {
		.all = true,
		.follow = true,
		.self = true,
		.kthreads = true,
		.mode = MODE_FULL,
		.kinds = KINDS_ALL,
		.buffer_bytes = OPTIONS_BUFFER_MIN,
	};
	struct topology topology = {0};
	struct bpf_load bpf = {0};
	struct rings *rings = rings_new();
	struct snapshot_tasks tasks = {0};
	uint64_t clock;

	m->sched_err = rings ? topology_read(&topology, "/sys") : -ENOMEM;
	if (m->sched_err)
		goto out;
	m->online = topology.ncpus;
	m->sched_err = bpf_load_open(&bpf, &options, &topology, rings, NULL, 0, NULL, 0);
	if (m->sched_err)
		goto out;
	m->yields_unknown = bpf.yields_unknown;
	m->interrupts_unknown = bpf.interrupts_unknown;
	m->throttled_partly = bpf.throttled_partly;
	m->locks = bpf.can_locks;
	m->kernel_locks = bpf.kernel_locks;
	m->user_stacks = bpf.user_stack_way;
	m->wakeups_probed = !bpf.wakeup_from_sched_info;
	m->sched_err = bpf_load_attach(&bpf);
	m->attached = bpf.nlinks;
	if (m->sched_err)
		goto out;
	m->sched_err = snapshot_tasks(&bpf, true, &tasks);
	if (m->sched_err)
		goto out;
	m->sched_err = snapshot_take(&bpf, topology.phyid[0], SNAPSHOT_START, &clock);
	if (m->sched_err == -ENOBUFS) /* a busy CPU has filled the small buffer: it works */
		m->sched_err = 0;
out:
	snapshot_tasks_free(&tasks);
	rings_close(rings);
	bpf_load_close(&bpf);
	topology_free(&topology);
}

/* A function of ours that nobody calls. */
static int __attribute__((noinline, noclone, used)) probed(int number)
{
	return number * 3 + 1;
}

/* Its offset in the file of this program; 0: not found. */
static uint64_t probed_offset(void)
{
	uintptr_t place = (uintptr_t)probed;
	unsigned long long start, end, offset, found = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && !found && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %*s %llx", &start, &end, &offset) == 3 &&
		    place >= start && place < end)
			found = place - start + offset;
	if (maps)
		fclose(maps);
	return found;
}

/* The older way, which needs more than CAP_PERFMON. */
static int try_perf(uint64_t offset)
{
	static const char path[] = "/proc/self/exe";
	int type = read_number("/sys/bus/event_source/devices/uprobe/type"), fd;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (__u32)type,
		.config1 = (uintptr_t)path,
		.config2 = offset,
	};

	if (type < 0)
		return -ENOENT;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int try_statistics(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void examine_output(struct machine *m)
{
	struct statvfs fs;

	m->output_err = access(".", W_OK | X_OK) ? -errno : 0;
	if (!statvfs(".", &fs))
		m->disk_free = (uint64_t)fs.f_bavail * fs.f_frsize;
}

void machine_read(struct machine *m)
{
	enum log_level level = log_level();
	int possible = libbpf_num_possible_cpus();
	static const char own[] = "/proc/self/exe";
	uint64_t offset = probed_offset();

	*m = (struct machine){
		.ring_bytes = options_buffer_default((unsigned)sysconf(_SC_NPROCESSORS_ONLN))};
	m->possible = possible > 0 ? (unsigned)possible : 0;
	read_kernel(m);
	read_process(m);
	examine_output(m);
	/* A failure is a finding with a remedy, not a message. */
	log_setup("ovni-bpf", LOG_NOTHING);
	m->map_err = try_map(8, false);
	m->ring_err = try_map(m->ring_bytes, true);
	try_recording(m);
	m->multi_err = offset ? attach_try(ATTACH_TYPE_MULTI, own, offset) : -ENOENT;
	m->session_err = offset ? attach_try(ATTACH_TYPE_SESSION, own, offset) : -ENOENT;
	m->perf_err = offset ? try_perf(offset) : -ENOENT;
	m->statistics_err = try_statistics();
	log_setup("ovni-bpf", level);
}
