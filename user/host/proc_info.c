/* SPDX-License-Identifier: MIT */
/* proc_info: see proc_info.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/host/proc_info.h"
#include "user/host/read_file.h"
#include "trace/base/json.h"

#define ENVIRONMENT_MAX (256 * 1024)
#define INITIAL_PID_NS	0xeffffffcull /* PROC_PID_INIT_INO of the kernel */
#define NANOSECONDS	1000000000ll
#define CGROUP_TEXT_MAX (64 * 1024)
#define TASK_EXITS	0x4ul /* PF_EXITING */

static const char *const namespace_names[NS_COUNT] = {
	[NS_CGROUP] = "cgroup", [NS_IPC] = "ipc",   [NS_MNT] = "mnt",	[NS_NET] = "net",
	[NS_PID] = "pid",	[NS_TIME] = "time", [NS_USER] = "user", [NS_UTS] = "uts",
};

/* Where each launcher says it; the first pair of which both are there holds. */
static const struct {
	const char *rank, *nranks;
} rank_variables[] = {
	{"OMPI_COMM_WORLD_RANK=", "OMPI_COMM_WORLD_SIZE="},
	{"PMI_RANK=", "PMI_SIZE="},
	{"PMIX_RANK=", "PMIX_SIZE="},
	{"SLURM_PROCID=", "SLURM_NTASKS="},
};

static uint64_t namespace_number(int dir, const char *name)
{
	char path[32], link[64];
	uint64_t number;
	ssize_t n;

	snprintf(path, sizeof(path), "ns/%s", name);
	n = readlinkat(dir, path, link, sizeof(link) - 1);
	if (n <= 0)
		return 0;
	link[n] = '\0';
	return sscanf(link, "%*[a-z_]:[%" SCNu64 "]", &number) == 1 ? number : 0;
}

/* "monotonic  5000  0" and "boottime ...": seconds and nanoseconds, one clock a line. */
static void read_offset(struct process_info *info, int dir)
{
	long long seconds, nanoseconds;
	size_t size;
	char *text = read_file(dir, "timens_offsets", 0, 4096, &size);

	if (text && sscanf(text, "monotonic %lld %lld", &seconds, &nanoseconds) == 2 &&
	    llabs(seconds) < INT64_MAX / NANOSECONDS - 1 && llabs(nanoseconds) < NANOSECONDS)
		info->monotonic_ns = seconds * NANOSECONDS + nanoseconds;
	free(text);
}

static char *read_executable(int dir)
{
	char path[4096];
	ssize_t n = readlinkat(dir, "exe", path, sizeof(path) - 1);

	if (n <= 0)
		return NULL;
	path[n] = '\0';
	return strdup(path);
}

/* Whether the controller `cpu` is in a list such as "cpu,cpuacct", which ends at `end`. */
static bool lists_cpu(const char *list, const char *end)
{
	while (list < end) {
		size_t size = strcspn(list, ",:");

		if (size == 3 && !memcmp(list, "cpu", 3))
			return true;
		list += size + 1;
	}
	return false;
}

/* Version 1 calls the cgroup of a task that exits "/": PF_EXITING of the kernel, the ninth field.
 */
static bool exits(int dir)
{
	size_t size;
	char *text = read_file(dir, "stat", 0, 4096, &size),
	     *name = text ? strrchr(text, ')') : NULL;
	unsigned long flags = TASK_EXITS;

	if (name && sscanf(name + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) != 1)
		flags = TASK_EXITS;
	free(text);
	return flags & TASK_EXITS;
}

/* The cgroup of a process or thread, from the file "cgroup" in its directory of /proc. Lines are
 * "4:cpu,cpuacct:/job" (version 1) and "0::/job" (version 2). */
static char *read_cgroup(int dir)
{
	size_t size;
	char *text = read_file(dir, "cgroup", 0, CGROUP_TEXT_MAX, &size), *cgroup = NULL;
	char *found = NULL, *next = text;
	bool version1 = false;

	for (char *line; !version1 && (line = strsep(&next, "\n"));) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

		if (!path)
			continue;
		version1 = lists_cpu(list + 1, path);
		if (version1 || !strncmp(line, "0::", 3))
			found = path + 1;
	}
	if (found && *found && !(version1 && exits(dir)))
		cgroup = strdup(found);
	free(text);
	return cgroup;
}

char *thread_cgroup(const char *proc, uint32_t pid, uint32_t tid)
{
	char path[256], *cgroup;
	int dir;

	snprintf(path, sizeof(path), "%s/%u/task/%u", proc, pid, tid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return NULL;
	cgroup = read_cgroup(dir);
	close(dir);
	return cgroup;
}

bool process_read(struct process_info *info, const char *proc, uint32_t pid)
{
	char path[256];
	char *environment;
	size_t size;
	int dir;

	snprintf(path, sizeof(path), "%s/%u", proc, pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return false;
	memset(info, 0, sizeof(*info));
	info->rank = info->nranks = -1;
	info->executable = read_executable(dir);
	info->cgroup = read_cgroup(dir);
	info->command = read_file(dir, "cmdline", 0, PROCESS_COMMAND_MAX + 1, &size);
	if (info->command) {
		info->command_cut = size > PROCESS_COMMAND_MAX;
		info->command_size = info->command_cut ? PROCESS_COMMAND_MAX : size;
		info->command[info->command_size] = '\0';
	}
	environment = read_file(dir, "environ", 0, ENVIRONMENT_MAX, &size);
	if (environment)
		process_rank(environment, size, &info->rank, &info->nranks);
	free(environment);
	for (int i = 0; i < NS_COUNT; i++)
		info->ns[i] = namespace_number(dir, namespace_names[i]);
	read_offset(info, dir);
	close(dir);
	return true;
}

void process_fini(struct process_info *info)
{
	free(info->executable);
	free(info->command);
	free(info->cgroup);
	memset(info, 0, sizeof(*info));
}

void process_forget_program(struct process_info *info)
{
	free(info->executable);
	free(info->command);
	free(info->cgroup);
	info->executable = info->command = info->cgroup = NULL;
	info->command_size = 0;
	info->command_cut = false;
}

bool process_is_users(int dir)
{
	struct stat st;

	return !geteuid() || (!fstat(dir, &st) && st.st_uid == geteuid());
}

bool process_numbers_are_ours(const char *proc)
{
	char path[256];
	uint64_t number;
	int dir;

	snprintf(path, sizeof(path), "%s/self", proc);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return false;
	number = namespace_number(dir, "pid");
	close(dir);
	return number == INITIAL_PID_NS;
}

/* The value of the first string that starts with `name` ("X="), a decimal number below
 * 2^31, or -1. The byte after the environment is a NUL. */
static int32_t variable(const char *environment, size_t size, const char *name)
{
	const char *end = environment + size;
	size_t len = strlen(name);

	for (const char *at = environment; at < end; at += strlen(at) + 1) {
		unsigned long value;
		char *stop;

		if (strncmp(at, name, len))
			continue;
		if (!isdigit((unsigned char)at[len]))
			return -1;
		errno = 0;
		value = strtoul(at + len, &stop, 10);
		return *stop || errno || value > INT32_MAX ? -1 : (int32_t)value;
	}
	return -1;
}

void process_rank(const char *environment, size_t size, int32_t *rank, int32_t *nranks)
{
	*rank = *nranks = -1;
	for (size_t i = 0; i < sizeof(rank_variables) / sizeof(rank_variables[0]); i++) {
		int32_t r = variable(environment, size, rank_variables[i].rank);
		int32_t n = variable(environment, size, rank_variables[i].nranks);

		if (r < 0 || (n >= 0 && r >= n))
			continue;
		if (*rank < 0 || n > 0) {
			*rank = r;
			*nranks = n > 0 ? n : -1;
		}
		if (n > 0)
			return;
	}
}

void process_put(const struct process_info *info, const struct process_info *own, struct json *bpf)
{
	struct json *list;
	char key[32];

	json_put_string(bpf, "executable", info->executable);
	if (info->command && info->command_size) {
		const char *end = info->command + info->command_size;

		list = json_put_array(bpf, "command");
		for (const char *at = info->command; at < end; at += strlen(at) + 1)
			json_put_string(list, NULL, at);
		if (info->command_cut)
			json_put_bool(bpf, "command_cut", true);
	}
	if (info->rank >= 0)
		json_put_int(bpf, "rank", info->rank);
	if (info->nranks >= 0)
		json_put_int(bpf, "nranks", info->nranks);
	for (int i = 0; i < NS_COUNT; i++) {
		if (!info->ns[i] || (own && own->ns[i] == info->ns[i]))
			continue;
		snprintf(key, sizeof(key), "namespaces.%s", namespace_names[i]);
		json_put_u64(bpf, key, info->ns[i]);
	}
	if (info->monotonic_ns)
		json_put_i64(bpf, "monotonic_offset", info->monotonic_ns);
}

char process_state(uint32_t pid)
{
	char path[32], *text, *name_end, state = '\0';
	size_t size;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	text = read_file(AT_FDCWD, path, 0, 128, &size);
	if (!text)
		return '\0';
	name_end = strrchr(text, ')'); /* of the name, which may have any signs */
	if (name_end && name_end + 2 < text + size)
		state = name_end[2];
	free(text);
	return state;
}
