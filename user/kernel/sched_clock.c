/* SPDX-License-Identifier: MIT */
/* sched_clock: see sched_clock.h. */
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

#include "user/kernel/sched_clock.h"

#define CURRENT "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* How the scheduler's clock is reached from a task, without CONFIG_FAIR_GROUP_SCHED not at all. */
static const struct {
	const char *type, *member;
} path[] = {{"task_struct", "se"}, {"sched_entity", "cfs_rq"}, {"cfs_rq", "rq"}, {"rq", "clock"}};

bool sched_clock_global(const char *name)
{
	/* Of x86, those that show the time stamp counter to be good; others have one clock. */
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

bool sched_clock_readable(const struct btf *btf)
{
	char name[64] = "";
	FILE *file;

	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++)
		if (!has_member(btf, path[i].type, path[i].member))
			return false;
	file = fopen(CURRENT, "re");
	if (!file)
		return false;
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	name[strcspn(name, "\n")] = '\0';
	return sched_clock_global(name);
}
