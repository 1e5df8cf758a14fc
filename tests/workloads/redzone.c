/* SPDX-License-Identifier: MIT */
/*
 * redzone: a leaf function that keeps a value below its stack pointer while it passes a nop of five
 * bytes; and one that has such a nop as its first instruction.
 *
 * Reports how often the value was another one behind the nop. Linux 6.18 makes a call of a probe
 * on that nop, and the return address overwrites the value.
 */
#include "workload.h"

#if defined(__x86_64__)
long inner(long value);
long entered(long value);

asm(".text\n"
    ".globl inner\n"
    ".type inner, @function\n"
    "inner:\n"
    "	mov %rdi, -8(%rsp)\n" /* 5 bytes: the nop is at inner+5 */
    "	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
    "	mov -8(%rsp), %rax\n"
    "	ret\n"
    ".size inner, .-inner\n"
    ".globl entered\n"
    ".type entered, @function\n"
    "entered:\n"
    "	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
    "	mov %rdi, -8(%rsp)\n"
    "	mov -8(%rsp), %rax\n"
    "	ret\n"
    ".size entered, .-entered\n");
#else
__attribute__((noinline, noclone, noipa)) static long inner(long value)
{
	return value;
}

__attribute__((noinline, noclone, noipa)) static long entered(long value)
{
	return value;
}
#endif

int main(int argc, char **argv)
{
	long times = 2000, wrong_inner = 0, wrong_entered = 0;
	const struct knob knobs[] = {{'n', &times, "how often"}, {0, NULL, NULL}};

	workload_begin(argc, argv, knobs);
	for (long i = 1; i <= times; i++) {
		wrong_inner += inner(i) != i;
		wrong_entered += entered(i) != i;
	}
	say("wrong_inner=%ld wrong_entered=%ld times=%ld", wrong_inner, wrong_entered, times);
	return 0;
}
