/* SPDX-License-Identifier: MIT */
/*
 * merge: many rings in, one sequence out.
 *
 * Each ring is in order of reserve; this is the k-way merge by (clock, CPU, place in the ring).
 * A record whose clock is behind one taken before it from the same ring (an interrupt between
 * its reserve and its clock) counts as of that clock. Records stay in the rings until they are
 * taken, so memory is bounded by the rings, and an idle CPU holds no one up.
 *
 * The watermark: with W = (a clock, read before rings_look()) - ORDER_SLACK_NS, what is not
 * yet visible has a clock above W, since it is read after the reserve. So all that is below W
 * can be taken, and nothing that comes later belongs before it. A record that is still being
 * written holds back what is later than the one before it in its ring.
 * Specification: ebpf.md 10.
 */
#ifndef USER_KERNEL_MERGE_H
#define USER_KERNEL_MERGE_H

#include <stdint.h>

#include "user/kernel/rings.h"

/* How late the producer position may become visible after the clock of its record was read. */
#define ORDER_SLACK_NS 20000

struct order;

/* Takes the next record, that of kernel CPU `cpu`, whose kind is known. Not 0: stop. */
typedef int (*order_take_fn)(void *arg, unsigned cpu, const struct record_head *record);

/* `rings` stays the caller's. NULL without memory. */
struct order *order_new(struct rings *rings);
void order_free(struct order *order);

/*
 * Hands over, in order, all records that rings_look() has seen with a clock below `before` ns
 * (UINT64_MAX: all), and gives their room back. Returns 0; what `take` has returned, if that is
 * not 0 (the record counts as taken); or -EBADMSG after one message if a ring holds what is no
 * record.
 */
int order_release(struct order *order, uint64_t before, order_take_fn take, void *arg)
	__attribute__((warn_unused_result));

/* Up to which clock (excluded) the last order_release() has handed over all records: `before`, or
 * less if one was being written. */
uint64_t order_released(const struct order *order);

#endif
