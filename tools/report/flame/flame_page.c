/* SPDX-License-Identifier: MIT */
#include "tools/report/flame/flame.h"

/* Found below the folder of the build, which the assembler searches. */
__asm__(".section .rodata\n"
	".global flame_page, flame_page_size\n"
	"flame_page: .incbin \"tools/report/flame/flame.html\"\n"
	"1:	.balign 8\n"
	"flame_page_size: .quad 1b - flame_page\n"
	".previous\n");
