/* SPDX-License-Identifier: MIT */
/*
 * topology: the CPUs of this machine, from sysfs, and their indices in the loom.
 *
 * CPUs online at the start have the indices 0..N-1 in the order of their numbers; one
 * that comes up later is appended; one that goes away stays. The affinity and cpuset of the
 * recorder play no part.
 * Specification: event-mapping.md "Metadata", ebpf.md 12.
 */
#ifndef USER_HOST_TOPOLOGY_H
#define USER_HOST_TOPOLOGY_H

#include <stdint.h>

struct topology {
	unsigned ncpus;	   /* CPUs with an index */
	unsigned *phyid;   /* by index: the kernel's number */
	int32_t *index_of; /* by kernel number: the index, or -1 */
	unsigned size;	   /* numbers that index_of knows */
};

/* Reads `sysfs`/devices/system/cpu/online ("/sys" but in tests). 0 or -errno after one message. */
int topology_read(struct topology *topology, const char *sysfs) __attribute__((warn_unused_result));
/* Parses a list as the kernel writes it ("0-3,8-11"). 0, or -EINVAL without a message. */
int topology_parse(struct topology *topology, const char *list) __attribute__((warn_unused_result));
/* A copy, for topology_free(). 0 or -ENOMEM without a message. */
int topology_copy(struct topology *copy, const struct topology *from)
	__attribute__((warn_unused_result));
void topology_free(struct topology *topology);

/* The index of kernel CPU `cpu`, appended if it is new; -1 without memory. */
int32_t topology_index(struct topology *topology, unsigned cpu);

#endif
