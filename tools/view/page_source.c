/* SPDX-License-Identifier: MIT */
#include "tools/view/page_source.h"

/* PAGE_HTML is the path of the built page; the Makefile sets it. */
__asm__(".section .rodata\n"
	".global page_source, page_source_end\n"
	"page_source: .incbin \"" PAGE_HTML "\"\n"
	"page_source_end: .byte 0\n"
	".previous\n");
