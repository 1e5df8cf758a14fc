/* SPDX-License-Identifier: MIT */
/* kernel_features: see kernel_features.h. */
#include <bpf/btf.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "user/host/read_file.h"
#include "user/kernel/kernel_features.h"

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

bool kernel_keeps_run_delay(const struct btf *btf)
{
	uint64_t runs = 0;
	char line[128];

	if (btf__find_by_name_kind(btf, "sched_info", BTF_KIND_STRUCT) < 0)
		return false;
	/* ns on a CPU, ns waiting for one, runs: the last two are 0 in a kernel that keeps none */
	return read_line("/proc/self/schedstat", line, sizeof(line)) &&
	       sscanf(line, "%*u %*u %" SCNu64, &runs) == 1 && runs > 0;
}

bool clock_source_is_global(const char *name)
{
	/* On x86, those that show that the time stamp counter is good; others have one clock. */
	static const char *const names[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
					    "xen", "arch_sys_counter"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool has_member(const struct btf *btf, const char *type_name, const char *member)
{
	int id = btf__find_by_name_kind(btf, type_name, BTF_KIND_STRUCT);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (__u32)id);

	for (unsigned i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), member))
			return true;
	return false;
}

bool kernel_shows_sched_clock(const struct btf *btf)
{
	/* the way from a task to the scheduler's clock; without CONFIG_FAIR_GROUP_SCHED it ends */
	static const struct {
		const char *type, *member;
	} path[] = {{"task_struct", "se"},
		    {"sched_entity", "cfs_rq"},
		    {"cfs_rq", "rq"},
		    {"rq", "clock"}};
	char name[64];

	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++)
		if (!has_member(btf, path[i].type, path[i].member))
			return false;
	return read_line(CLOCK_SOURCE, name, sizeof(name)) && clock_source_is_global(name);
}
