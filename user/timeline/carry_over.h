/* SPDX-License-Identifier: MIT */
/*
 * carry_over: a timeline begins where another one is.
 *
 * In: a timeline, whose window is open (rotation) or never opens (what a flight recorder has
 * forgotten); out: a new one that believes the same: who exists and is called what, who runs
 * where, who waits for a CPU and who sleeps. Its window opens at its own t0, and there every
 * thread is entered as at the beginning of a session: those that run at once, the others with
 * their first later event.
 * Invariant: `from` is not changed, and nothing of it is shared.
 * Specification: event-mapping.md "The thread state machine" (entering serves rotation and the
 * flight recorder).
 */
#ifndef USER_TIMELINE_CARRY_OVER_H
#define USER_TIMELINE_CARRY_OVER_H

struct timeline;

/* `timeline` has just been made, and its t0 is not before any record that `from` was given.
 * 0 or -ENOMEM after one message. */
int timeline_inherit(struct timeline *timeline, const struct timeline *from)
	__attribute__((warn_unused_result));

#endif
