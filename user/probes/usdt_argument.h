/* SPDX-License-Identifier: MIT */
/*
 * usdt_argument: the location of an argument of a USDT probe.
 *
 * In: the text that the assembler has left in the note, as in "-4@%edi 8@-24(%rbp) 4@$7" (x86-64)
 * or "-4@w1 8@[sp, 16] 4@7" (arm64); out: a value that a probe can read. Both machines' texts are
 * understood on either. Values that cannot be read are errors: floating point, two registers,
 * segments. Pure.
 */
#ifndef USER_PROBES_USDT_ARGUMENT_H
#define USER_PROBES_USDT_ARGUMENT_H

#include <stddef.h>
#include <stdint.h>

#include "user/probes/site.h"

#define USDT_SYMBOL_MAX 256

/* An address: symbol + offset, in the file that has the probe. */
struct usdt_symbol {
	char name[USDT_SYMBOL_MAX]; /* "": the value needs no symbol */
	int64_t offset;
};

/* How many arguments the text has. */
unsigned usdt_arguments(const char *text);

/*
 * Reads argument `number` (from 1) of a text for `machine` (EM_X86_64 or EM_AARCH64). Returns NULL
 * and the value (a constant, a register, or memory at a register, by its offset in struct pt_regs);
 * or the reason why it cannot be read, which needs no freeing. If symbol->name is not empty, the
 * value is memory at the probe's own address (the instruction pointer), and the caller has to set
 * value->constant to the distance of the symbol from there.
 */
const char *usdt_argument(const char *text, unsigned number, unsigned machine,
			  struct site_value *value, struct usdt_symbol *symbol);

#endif
