/* SPDX-License-Identifier: MIT */
/*
 * instruction: the instruction of a function to probe, and those that leave it.
 *
 * In: the bytes of a function; out: the cheapest safe position for a probe of its entry, and the
 * instructions that leave it. The kernel emulates a few instructions (push, nop, jump, call) and
 * single-steps all others, which takes ten times as long; so the probe may be placed after the
 * first ones, if these write nothing but registers. Pure: it reads no file. Invariants: a position
 * is passed exactly once per call, before the stack pointer changes; it is never the target of a
 * branch (a loop is not a call); the instructions before it do not write the registers of the
 * requested arguments. Specification: ebpf.md 6, 11.1.
 */
#ifndef USER_ELF_INSTRUCTION_H
#define USER_ELF_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spot_kind {
	SPOT_FAST, /* emulated */
	SPOT_NOP5, /* a nop of five bytes at the entry: made a call by Linux 6.18, cheaper still */
	SPOT_SLOW, /* single-stepped */
	SPOT_UNSAFE,  /* a nop of five bytes elsewhere: Linux 6.18 makes it a call, which overwrites
			 the  red zone below the stack pointer */
	SPOT_REFUSED, /* the kernel does not step over it: a lock prefix, a breakpoint. It reports
			 that only for a mapped file, and else places no probe */
};

struct spot {
	uint32_t shift; /* from the beginning of the code, bytes */
	enum spot_kind kind;
};

/* An instruction that leaves the function, with the stack pointer as at the entry. */
struct exit_spot {
	uint32_t shift;
	bool is_jump; /* to another function (tail call), which has not returned its value yet */
};

/*
 * The position for a probe of the entry of a function, by its code or the beginning of it.
 * `arguments`: those to read there: bit n of argument n, from 1. Never SPOT_UNSAFE.
 */
struct spot instruction_entry(const uint8_t *code, size_t bytes, unsigned arguments);

/* False: no instruction of this machine begins at such an address, whatever the code is. */
static inline bool instruction_may_begin(uint64_t address)
{
#ifdef __aarch64__
	return !(address % 4);
#else
	(void)address;
	return true;
#endif
}

/* The kind of a probe at exactly this position. */
struct spot instruction_point(const uint8_t *code, size_t bytes);

/*
 * The instructions that leave a function, all of whose code is given: in *exits (for the caller to
 * free) their number, or -errno: -ENOMEM, or -ENOEXEC: it cannot be followed to its end (data
 * in between, an instruction that is not known, a machine other than x86-64), or never leaves.
 */
int instruction_exits(const uint8_t *code, size_t bytes, struct exit_spot **exits)
	__attribute__((warn_unused_result));

/* Does an instruction begin behind the first `bytes` of a function? A breakpoint in the middle of
 * an instruction changes the program. */
enum boundary { BOUNDARY_YES, BOUNDARY_NO, BOUNDARY_UNKNOWN };
enum boundary instruction_boundary(const uint8_t *code, size_t bytes);

#endif
