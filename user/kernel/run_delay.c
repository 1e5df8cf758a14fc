/* SPDX-License-Identifier: MIT */
/* run_delay: see run_delay.h. */
#include <bpf/btf.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "user/kernel/run_delay.h"

bool run_delay_kept(const struct btf *btf)
{
	FILE *file;
	uint64_t runs = 0;

	if (btf__find_by_name_kind(btf, "sched_info", BTF_KIND_STRUCT) < 0)
		return false;
	/* ns on a CPU, ns waiting for one, runs: the last two are 0 if nobody counts. */
	file = fopen("/proc/self/schedstat", "re");
	if (!file)
		return false;
	if (fscanf(file, "%*u %*u %" SCNu64, &runs) != 1)
		runs = 0;
	fclose(file);
	return runs > 0;
}
