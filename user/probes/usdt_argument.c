/* SPDX-License-Identifier: MIT */
/* usdt_argument: see usdt_argument.h. */
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/probes/usdt_argument.h"

#define X86_IP	 128 /* offset of the instruction pointer in struct pt_regs */
#define ARM64_SP 248

/* Families of names with their place in struct pt_regs of x86-64. */
static const struct {
	const char *names[5]; /* of 8, 4, 2, 1 bytes, and of the second byte */
	unsigned place;
} registers[] = {
	{{"r15", "r15d", "r15w", "r15b", ""}, 0},  {{"r14", "r14d", "r14w", "r14b", ""}, 8},
	{{"r13", "r13d", "r13w", "r13b", ""}, 16}, {{"r12", "r12d", "r12w", "r12b", ""}, 24},
	{{"rbp", "ebp", "bp", "bpl", ""}, 32},	   {{"rbx", "ebx", "bx", "bl", "bh"}, 40},
	{{"r11", "r11d", "r11w", "r11b", ""}, 48}, {{"r10", "r10d", "r10w", "r10b", ""}, 56},
	{{"r9", "r9d", "r9w", "r9b", ""}, 64},	   {{"r8", "r8d", "r8w", "r8b", ""}, 72},
	{{"rax", "eax", "ax", "al", "ah"}, 80},	   {{"rcx", "ecx", "cx", "cl", "ch"}, 88},
	{{"rdx", "edx", "dx", "dl", "dh"}, 96},	   {{"rsi", "esi", "si", "sil", ""}, 104},
	{{"rdi", "edi", "di", "dil", ""}, 112},	   {{"rip", "eip", "", "", ""}, X86_IP},
	{{"rsp", "esp", "sp", "spl", ""}, 152},
};

static const char not_understood[] = "its place is written in a way that is not understood";
static const char two_registers[] = "its address is the sum of two registers, which is not read";
static const char floating[] = "it is a floating point number";

static void skip_blanks(const char **at)
{
	while (**at == ' ' || **at == '\t')
		(*at)++;
}

/* ---- cutting the text ---- */

/* The end of the argument at `at`: a blank outside of brackets. */
static const char *end_of(const char *at)
{
	unsigned depth = 0;

	for (; *at && (depth || (*at != ' ' && *at != '\t')); at++) {
		if (*at == '[' || *at == '(')
			depth++;
		else if ((*at == ']' || *at == ')') && depth)
			depth--;
	}
	return at;
}

unsigned usdt_arguments(const char *text)
{
	unsigned n = 0;

	for (skip_blanks(&text); *text; skip_blanks(&text)) {
		text = end_of(text);
		n++;
	}
	return n;
}

/* ---- pieces ---- */

/* A number with or without sign: decimal, hexadecimal. Nothing is moved if there is none. */
static bool take_number(const char **at, int64_t *value)
{
	const char *digits = *at + (**at == '-' || **at == '+');
	char *end;

	if (!isdigit((unsigned char)*digits))
		return false;
	errno = 0;
	/* what does not fit with a sign is meant as 64 bits without one */
	*value = **at == '-' ? strtoll(*at, &end, 0) : (int64_t)strtoull(*at, &end, 0);
	if (errno)
		return false;
	*at = end;
	return true;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '@';
}

static bool take_name(const char **at, char *name, size_t size)
{
	size_t n = 0;

	while (is_name((*at)[n]))
		n++;
	if (!n || n >= size)
		return false;
	memcpy(name, *at, n);
	name[n] = '\0';
	*at += n;
	return true;
}

/* ---- x86-64 ---- */

static const char *take_register(const char **at, unsigned *place)
{
	char name[16];

	if (**at != '%')
		return not_understood;
	(*at)++;
	if (!take_name(at, name, sizeof(name)))
		return not_understood;
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		for (size_t k = 0; k < 5; k++) {
			if (strcmp(registers[i].names[k], name))
				continue;
			*place = registers[i].place + (k == 4);
			return NULL;
		}
	}
	if (!strncmp(name, "xmm", 3) || !strncmp(name, "ymm", 3) || !strncmp(name, "zmm", 3) ||
	    !strncmp(name, "st", 2))
		return floating;
	return strlen(name) == 2 && name[1] == 's'
		       ? "it lies in memory of a segment (of the thread)"
		       : not_understood;
}

/* "(%rbp)" after what stands before it; symbols only go with the instruction pointer. */
static const char *x86_memory(const char *at, struct site_value *value, struct usdt_symbol *symbol)
{
	const char *wrong;

	if (*at != '(')
		return not_understood;
	at++;
	skip_blanks(&at);
	if (*at == ',')
		return two_registers;
	wrong = take_register(&at, &value->reg);
	if (wrong)
		return wrong;
	skip_blanks(&at);
	if (*at == ',')
		return two_registers;
	if (*at != ')' || at[1])
		return not_understood;
	if ((value->reg == X86_IP) != (symbol->name[0] != '\0'))
		return symbol->name[0]
			       ? "its address is a symbol plus a register, which is not read"
			       : not_understood;
	value->source = SITE_MEMORY;
	return NULL;
}

static const char *x86_operand(const char *at, struct site_value *value, struct usdt_symbol *symbol)
{
	const char *wrong;

	if (*at == '$') {
		at++;
		value->source = SITE_CONSTANT;
		if (!take_number(&at, &value->constant))
			return "it is the address of a symbol, which is not read";
		return *at ? not_understood : NULL;
	}
	if (*at == '%') {
		wrong = take_register(&at, &value->reg);
		value->source = SITE_REGISTER;
		return wrong ? wrong : *at ? not_understood : NULL;
	}
	if (take_number(&at, &value->constant))
		return x86_memory(at, value, symbol);
	if (*at == '(')
		return x86_memory(at, value, symbol);
	if (!take_name(&at, symbol->name, sizeof(symbol->name)))
		return not_understood;
	if (*at == '+' || *at == '-')
		take_number(&at, &symbol->offset);
	/* a name alone is its address, absolute */
	if (!*at)
		return "its address is absolute, which is not read";
	return x86_memory(at, value, symbol);
}

/* ---- arm64 ---- */

static const char *take_arm64_register(const char **at, unsigned *place)
{
	char name[16], *end;
	unsigned long number;

	if (!take_name(at, name, sizeof(name)))
		return not_understood;
	if (!strcmp(name, "sp") || !strcmp(name, "wsp")) {
		*place = ARM64_SP;
		return NULL;
	}
	if (!strcmp(name, "fp") || !strcmp(name, "lr")) {
		*place = name[0] == 'f' ? 29 * 8 : 30 * 8;
		return NULL;
	}
	if (strchr("vqdsh", name[0]) && isdigit((unsigned char)name[1]))
		return floating;
	if ((name[0] != 'x' && name[0] != 'w') || !isdigit((unsigned char)name[1]))
		return not_understood;
	number = strtoul(name + 1, &end, 10);
	if (*end || number > 30)
		return not_understood;
	*place = (unsigned)number * 8;
	return NULL;
}

static const char *arm64_operand(const char *at, struct site_value *value)
{
	const char *wrong;

	if (*at == '[') {
		at++;
		skip_blanks(&at);
		wrong = take_arm64_register(&at, &value->reg);
		if (wrong)
			return wrong;
		skip_blanks(&at);
		if (*at == ',') {
			at++;
			skip_blanks(&at);
			if (*at == '#')
				at++;
			if (!take_number(&at, &value->constant))
				return two_registers;
			skip_blanks(&at);
		}
		value->source = SITE_MEMORY;
		return *at != ']' || at[1] ? not_understood : NULL;
	}
	if (!strcmp(at, "xzr") || !strcmp(at, "wzr")) {
		value->source = SITE_CONSTANT;
		return NULL;
	}
	if (*at == '#')
		at++;
	if (take_number(&at, &value->constant)) {
		value->source = SITE_CONSTANT;
		return *at ? not_understood : NULL;
	}
	wrong = take_arm64_register(&at, &value->reg);
	value->source = SITE_REGISTER;
	return wrong ? wrong : *at ? not_understood : NULL;
}

/* ---- one argument ---- */

/* "-4@": its size, with a minus if it has a sign; older notes leave it out. */
static const char *take_size(const char **at, struct site_value *value)
{
	const char *sign = strchr(*at, '@'), *from = *at;
	int64_t size;

	value->bytes = 8;
	value->is_signed = true;
	if (!sign || !take_number(&from, &size)) {
		if (sign == *at)
			*at += 1;
		return NULL;
	}
	if (*from == 'f' && from[1] == '@')
		return floating;
	if (*from != '@') {
		/* a number that is the operand itself (arm64) */
		return NULL;
	}
	value->is_signed = size < 0;
	if (size < 0)
		size = -size;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return "it has a size other than 1, 2, 4 or 8 bytes";
	value->bytes = (unsigned)size;
	*at = from + 1;
	return NULL;
}

const char *usdt_argument(const char *text, unsigned number, unsigned machine,
			  struct site_value *value, struct usdt_symbol *symbol)
{
	const char *end, *wrong, *at;
	char *operand;

	*value = (struct site_value){.source = SITE_NOTHING};
	*symbol = (struct usdt_symbol){.offset = 0};
	for (skip_blanks(&text), end = end_of(text); number > 1 && *text; number--) {
		text = end;
		skip_blanks(&text);
		end = end_of(text);
	}
	if (!*text || !number)
		return "there is no such argument";
	operand = strndup(text, (size_t)(end - text));
	if (!operand)
		return "not enough memory";
	at = operand;
	wrong = take_size(&at, value);
	if (!wrong)
		wrong = machine == EM_AARCH64 ? arm64_operand(at, value)
					      : x86_operand(at, value, symbol);
	free(operand);
	return wrong;
}
