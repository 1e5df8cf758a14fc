// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* maps: the definitions. Sizes that follow the machine are set by user code before load. */
#include "summary.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct rings_map rings SEC(".maps");
struct cpus_map cpus SEC(".maps");
struct tasks_map tasks SEC(".maps");
struct user_copies_map user_copies SEC(".maps");
struct targets_map targets SEC(".maps");
struct irqs_map irqs SEC(".maps");
struct io_completed_map io_completed SEC(".maps");
struct sites_map sites SEC(".maps");
struct probe_values_map probe_values SEC(".maps");
struct task_summaries_map task_summaries SEC(".maps");

const volatile struct settings settings = {};
const volatile struct comm_glob comm_glob = {};
const volatile __u32 record_version = RECORD_VERSION;

__u64 stack_bytes = 0;
__u32 next_id = 1;
__u32 in_target = 0;
__u32 iterator_marks = 0;
__u32 marked = 0;
__u32 unmarkable = 0;
__u32 recorder = 0;
__s64 sched_offset = SCHED_UNKNOWN;
__u64 sched_offset_clock = 0;
__u32 probes_on = 0;
__u64 stacks_second = 0;
__u32 user_stacks_asked = 0;
__u64 owner_cache[OWNER_CACHE_WORDS] = {};
__u64 window_begin = ~0ull;
__u64 window_end = ~0ull;
