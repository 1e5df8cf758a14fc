/* SPDX-License-Identifier: MIT */
/* usdt_argument: see usdt_argument.h. */
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/probes/usdt_argument.h"

#define ARM64_SP    248		    /* offset in struct pt_regs */
#define OPERAND_MAX USDT_SYMBOL_MAX /* bytes */

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
	{{"rdi", "edi", "di", "dil", ""}, 112},	   {{"rip", "eip", "", "", ""}, 128},
	{{"rsp", "esp", "sp", "spl", ""}, 152},
};

static const char not_understood[] = "its place is written in a way that is not understood";
static const char two_registers[] = "its address is the sum of two registers, which is not read";
static const char floating[] = "it is a floating point number";

/* ---- arguments of a text ---- */

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

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

unsigned usdt_arguments(const char *text)
{
	unsigned n = 0;

	for (text = skip_blanks(text); *text; text = skip_blanks(end_of(text)))
		n++;
	return n;
}

/* ---- the forms of an operand ---- */

#define NUMBER "([-+]?[0-9][0-9a-fx]*)"
#define NAME   "([a-zA-Z_.$@][a-zA-Z0-9_.$@]*)"
#define OFFSET "([-+][0-9][0-9a-fx]*|)"
#define GROUPS 4

struct form {
	const char *pattern; /* of an operand without blanks */
	enum site_source source;
	unsigned symbol, number, reg; /* groups of the pattern; 0: none */
	const char *wrong;	      /* not NULL: the reason why such an operand is not read */
	regex_t regex;
	bool compiled;
};

static struct form x86_forms[] = {
	{"^\\$" NUMBER "$", SITE_CONSTANT, .number = 1},
	{"^\\$[^-+0-9]", .wrong = "it is the address of a symbol, which is not read"},
	{"^%[a-z]s(:|$)", .wrong = "it lies in memory of a segment (of the thread)"},
	{"^%([xyz]mm|st)", .wrong = floating},
	{"^%" NAME "$", SITE_REGISTER, .reg = 1},
	{"[(][^)]*,", .wrong = two_registers},
	{"^" NAME OFFSET "[(]%([re]ip)[)]$", SITE_MEMORY, .symbol = 1, .number = 2, .reg = 3},
	{"[(]%[re]ip[)]$", .wrong = not_understood},
	{"^(" NUMBER "|)[(]%" NAME "[)]$", SITE_MEMORY, .number = 1, .reg = 3},
	{"^" NAME OFFSET "[(]%",
	 .wrong = "its address is a symbol plus a register, which is not read"},
	{"^" NAME OFFSET "$", .wrong = "its address is absolute, which is not read"},
	{.pattern = NULL},
};

static struct form arm64_forms[] = {
	{"^[xw]zr$", .source = SITE_CONSTANT},
	{"^#?" NUMBER "$", SITE_CONSTANT, .number = 1},
	{"^[vqdsh][0-9]", .wrong = floating},
	{"^" NAME "$", SITE_REGISTER, .reg = 1},
	{"^\\[" NAME "\\]$", SITE_MEMORY, .reg = 1},
	{"^\\[" NAME ",#?" NUMBER "\\]$", SITE_MEMORY, .number = 2, .reg = 1},
	{"^\\[" NAME ",", .wrong = two_registers},
	{.pattern = NULL},
};

/* The form of the operand; NULL: none of them. */
static const struct form *find_form(struct form *forms, const char *operand,
				    regmatch_t groups[GROUPS])
{
	for (struct form *form = forms; form->pattern; form++) {
		if (!form->compiled && regcomp(&form->regex, form->pattern, REG_EXTENDED))
			return NULL;
		form->compiled = true;
		if (!regexec(&form->regex, operand, GROUPS, groups, 0))
			return form;
	}
	return NULL;
}

/* Decimal or hexadecimal. A number beyond the signed range is read as 64 unsigned bits. / */
static bool read_number(const char *text, size_t length, int64_t *value)
{
	char *end;

	errno = 0;
	*value = *text == '-' ? strtoll(text, &end, 0) : (int64_t)strtoull(text, &end, 0);
	return !errno && end == text + length;
}

/* ---- registers ---- */

static bool find_x86_register(const char *name, unsigned *place)
{
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		for (size_t k = 0; k < 5; k++) {
			if (strcmp(registers[i].names[k], name))
				continue;
			*place = registers[i].place + (k == 4);
			return true;
		}
	}
	return false;
}

static bool find_arm64_register(const char *name, unsigned *place)
{
	unsigned long number;
	char *end;

	if (!strcmp(name, "sp") || !strcmp(name, "wsp")) {
		*place = ARM64_SP;
		return true;
	}
	if (!strcmp(name, "fp"))
		name = "x29";
	else if (!strcmp(name, "lr"))
		name = "x30";
	if ((name[0] != 'x' && name[0] != 'w') || !isdigit((unsigned char)name[1]))
		return false;
	number = strtoul(name + 1, &end, 10);
	*place = 8 * (unsigned)number;
	return !*end && number <= 30;
}

/* ---- one argument ---- */

/* "-4@": its size, with a minus if it has a sign; older notes leave it out. */
static const char *take_size(const char **at, struct site_value *value)
{
	char *end;
	long size = strtol(*at, &end, 10);

	value->bytes = 8;
	value->is_signed = true;
	if (end == *at || (*end != '@' && strncmp(end, "f@", 2))) {
		*at += **at == '@';
		return NULL;
	}
	if (*end == 'f')
		return floating;
	value->is_signed = size < 0;
	size = labs(size);
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return "it has a size other than 1, 2, 4 or 8 bytes";
	value->bytes = (unsigned)size;
	*at = end + 1;
	return NULL;
}

static const char *read_operand(const char *operand, unsigned machine, struct site_value *value,
				struct usdt_symbol *symbol)
{
	bool arm64 = machine == EM_AARCH64;
	regmatch_t groups[GROUPS];
	const struct form *form = find_form(arm64 ? arm64_forms : x86_forms, operand, groups);
	int64_t *number = form && form->symbol ? &symbol->offset : &value->constant;
	char name[OPERAND_MAX];
	const regmatch_t *g;

	if (!form)
		return not_understood;
	if (form->wrong)
		return form->wrong;
	value->source = form->source;
	g = &groups[form->number];
	if (form->number && g->rm_eo > g->rm_so &&
	    !read_number(operand + g->rm_so, (size_t)(g->rm_eo - g->rm_so), number))
		return not_understood;
	g = &groups[form->symbol];
	if (form->symbol)
		snprintf(symbol->name, sizeof(symbol->name), "%.*s", (int)(g->rm_eo - g->rm_so),
			 operand + g->rm_so);
	g = &groups[form->reg];
	if (!form->reg)
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)(g->rm_eo - g->rm_so), operand + g->rm_so);
	if (arm64 ? !find_arm64_register(name, &value->reg) : !find_x86_register(name, &value->reg))
		return not_understood;
	return NULL;
}

const char *usdt_argument(const char *text, unsigned number, unsigned machine,
			  struct site_value *value, struct usdt_symbol *symbol)
{
	char operand[OPERAND_MAX];
	const char *end, *wrong;
	size_t n = 0;

	*value = (struct site_value){.source = SITE_NOTHING};
	*symbol = (struct usdt_symbol){.offset = 0};
	for (text = skip_blanks(text); number > 1 && *text; number--)
		text = skip_blanks(end_of(text));
	if (!*text || !number)
		return "there is no such argument";
	end = end_of(text);
	wrong = take_size(&text, value);
	if (wrong)
		return wrong;
	for (; text < end; text++) {
		if (*text == ' ' || *text == '\t')
			continue;
		if (n + 1 == sizeof(operand))
			return not_understood;
		operand[n++] = *text;
	}
	operand[n] = '\0';
	return read_operand(operand, machine, value, symbol);
}
