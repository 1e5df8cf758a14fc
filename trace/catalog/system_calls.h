/* SPDX-License-Identifier: MIT */
/*
 * system_calls: the names of system calls, and the meaning of their first argument.
 *
 * In: a number as the payload of OHp has it (CALL_* of off_cpu.h), and the machine on which it was
 * recorded, as `bpf.session.machine` says; out: the name, by libseccomp, which has the numbers of
 * all machines. Specification: why.md, part C; event-mapping.md "The system call of a sleep".
 */
#ifndef TRACE_CATALOG_SYSTEM_CALLS_H
#define TRACE_CATALOG_SYSTEM_CALLS_H

#include <stdint.h>

#include "trace/base/off_cpu.h"

enum call_machine { CALL_X86_64, CALL_I386, CALL_ARM64, CALL_OTHER_MACHINE };

/* The first argument of a call. */
enum call_object {
	CALL_OBJECT_NONE, /* it does not say on what the call waits */
	CALL_OBJECT_FD,
	CALL_OBJECT_ADDRESS, /* of a futex; of the instruction that took a fault */
	CALL_OBJECT_PID,
};

/* "x86_64", "aarch64", as uname -m; NULL is no known machine. */
enum call_machine call_machine(const char *name);

/* "futex", "fault" (CALL_NONE); NULL: not known. */
const char *call_name(enum call_machine machine, uint16_t call);
enum call_object call_object(enum call_machine machine, uint16_t call);

/* Is it restart_syscall, which continues the call that a stop has interrupted? */
_Bool call_restarts(enum call_machine machine, uint16_t call);

#endif
