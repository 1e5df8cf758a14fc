/* SPDX-License-Identifier: MIT */
/*
 * advice: what the facts about a machine mean for recording, and what to do about them.
 *
 * In: struct machine; out: a list in a fixed order, whose names stay (scripts read them).
 * Pure. Invariant: what stops a recording has a remedy, and if nothing stops it,
 * the recording of the scheduler has been seen to work.
 */
#ifndef USER_DOCTOR_ADVICE_H
#define USER_DOCTOR_ADVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "user/doctor/machine.h"

enum verdict {
	VERDICT_FINE, /* as it should be */
	VERDICT_FACT, /* good to know, and of no consequence here */
	VERDICT_LESS, /* something is not possible: `remedy` says what to do */
	VERDICT_STOP, /* no recording: `remedy` says what to do */
};

struct finding {
	const char *name;
	enum verdict verdict;
	char found[192];
	char remedy[320]; /* empty: nothing is to be done */
};

#define FINDINGS_MAX 40

/* Fills in `findings` (room for FINDINGS_MAX). Returns how many. */
size_t findings_of(const struct machine *machine, struct finding *findings);

/* Does none of them stop a recording? */
bool findings_permit(const struct finding *findings, size_t count);

/* "fine", "fact", "less", "stop" */
const char *findings_verdict(enum verdict verdict);

#endif
