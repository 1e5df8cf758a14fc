// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* maps: the definitions. Sizes that follow the machine are set by user code before load. */
#include "maps.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct rings_map rings SEC(".maps");
struct cpus_map cpus SEC(".maps");
struct tasks_map tasks SEC(".maps");
struct targets_map targets SEC(".maps");
struct sites_map sites SEC(".maps");
struct dead_map dead SEC(".maps");
struct dead_sums_map dead_sums SEC(".maps");

const volatile struct knobs knobs = {};
const volatile struct comm_glob comm_glob = {};
const volatile __u32 record_version = RECORD_VERSION;

__u64 stack_bytes = 0;
__u32 next_id = 1;
__u32 members = 0;
__u32 iterator_tags = 0;
__u32 recorder = 0;
__s64 sched_offset = SCHED_UNKNOWN;
__u64 sched_offset_clock = 0;
__u32 probes_on = 0;
__u64 window_begin = ~0ull;
__u64 window_end = ~0ull;
