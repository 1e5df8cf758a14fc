/* SPDX-License-Identifier: MIT */
/*
 * thread_table: the threads that ran longest, for people (--mode summary).
 *
 *   thread            tid      active    waiting     asleep   switches  preempted  wake-ups  moves
 *   worker-3         4711     1.204 s   12.10 ms    0.800 s       1203         31      1200      4
 *
 * Goes to standard error; all figures of all threads are in stats.json.
 */
#ifndef USER_STATS_THREAD_TABLE_H
#define USER_STATS_THREAD_TABLE_H

struct time_stats;

/* Sorts the threads. */
void table_show(struct time_stats *times);

#endif
