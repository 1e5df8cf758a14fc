// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* record_switch_stacks: the programs of record_switch.bpf.c, with the stack of next (--why=stack).
 */
#define STACKS 1
#include "bpf/record_switch.bpf.c"
