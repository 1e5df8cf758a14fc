/* SPDX-License-Identifier: MIT */
#include "tools/view/page_source.h"

/* Found below the folder of the build, which the assembler searches. */
__asm__(".section .rodata\n"
	".global page_source, page_source_size\n"
	"page_source: .incbin \"tools/view/page.html\"\n"
	"1:	.balign 8\n"
	"page_source_size: .quad 1b - page_source\n"
	".previous\n");
