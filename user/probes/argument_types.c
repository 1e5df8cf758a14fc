/* SPDX-License-Identifier: MIT */
/* argument_types: see argument_types.h. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/probes/argument_types.h"

#define SECONDS_MAX 20		 /* for all questions about a file */
#define MEMORY_MAX  (8ull << 30) /* with the file, which is mapped */

/* One byte for each question: bytes, and 16 for a sign; 0: not known. */
#define SIGNED 16

enum class {
	CLASS_INTEGER, /* in one integer register */
	CLASS_FLOAT,   /* in none */
	CLASS_OTHER,   /* who knows where */
};

/* ---- in the process of its own ---- */

static uint8_t answer_of(Dwarf_Word size, bool is_signed)
{
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return 0;
	return (uint8_t)(size | (is_signed ? SIGNED : 0));
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_type, &attribute) &&
	       dwarf_formref_die(&attribute, type) && dwarf_peel_type(type, type) == 0;
}

static enum class base_class(Dwarf_Die *type, Dwarf_Word size, uint8_t *answer) {
	Dwarf_Attribute attribute; Dwarf_Word encoding = 0;

	if (!dwarf_attr_integrate(type, DW_AT_encoding, &attribute) ||
	    dwarf_formudata(&attribute, &encoding)) return CLASS_OTHER;
	switch (encoding){
		case DW_ATE_float : return size <= 8 ? CLASS_FLOAT : CLASS_OTHER;
		case DW_ATE_signed : case DW_ATE_signed_char : *answer = answer_of(size, true);
		break;
		case DW_ATE_boolean : case DW_ATE_unsigned : case DW_ATE_unsigned_char : case
		DW_ATE_UTF : *answer = answer_of(size, false);
		break;
		default : return CLASS_OTHER;
	}
return *answer ? CLASS_INTEGER : CLASS_OTHER;
}

static enum class class_of(Dwarf_Die *die, uint8_t *answer) {
	Dwarf_Die type, under; Dwarf_Word size = 0;

	*answer = 0; if (!type_of(die, &type)) return CLASS_OTHER; switch (dwarf_tag(&type)){
		case DW_TAG_pointer_type : case DW_TAG_reference_type : case
		DW_TAG_rvalue_reference_type : *answer = answer_of(8, false);
		return CLASS_INTEGER;
		case DW_TAG_base_type : return dwarf_aggregate_size(&type, &size)
			? CLASS_OTHER
			: base_class(&type, size, answer);
		case DW_TAG_enumeration_type :
			if (dwarf_aggregate_size(&type, &size)) return CLASS_OTHER;
		/* older debug information has no type below it: then it may have negative values */
		if (!type_of(&type, &under) ||
		    base_class(&under, size, answer) != CLASS_INTEGER) *answer = answer_of(size,
											   true);
		return *answer ? CLASS_INTEGER : CLASS_OTHER;
		default : return CLASS_OTHER;
	}
}

/* A structure that is returned may take the first argument's register. */
static bool shifts_arguments(Dwarf_Die *function)
{
	uint8_t answer;
	Dwarf_Die type;

	return type_of(function, &type) && class_of(function, &answer) == CLASS_OTHER;
}

static uint8_t find_argument(Dwarf_Die *function, unsigned number)
{
	Dwarf_Die child;
	uint8_t answer;
	unsigned n = 0;

	if (shifts_arguments(function) || dwarf_child(function, &child))
		return 0;
	do {
		if (dwarf_tag(&child) == DW_TAG_unspecified_parameters)
			return 0;
		if (dwarf_tag(&child) != DW_TAG_formal_parameter)
			continue;
		switch (class_of(&child, &answer)) {
		case CLASS_INTEGER:
			if (++n == number)
				return answer;
			break;
		case CLASS_FLOAT:
			break;
		case CLASS_OTHER:
			return 0;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return 0;
}

struct looking {
	uint64_t address;
	Dwarf_Die function;
	bool found;
};

static int look(Dwarf_Die *function, void *looking_)
{
	struct looking *l = looking_;
	Dwarf_Addr low;

	if (dwarf_lowpc(function, &low) || low != l->address)
		return DWARF_CB_OK;
	l->function = *function;
	l->found = true;
	return DWARF_CB_ABORT;
}

/* The unit by the table of addresses, or, where compilers make none, by looking at all. */
static bool find_unit(Dwarf *dwarf, uint64_t address, Dwarf_Die *unit)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;

	if (dwarf_addrdie(dwarf, address, unit))
		return true;
	while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0) {
		if (dwarf_haspc(&die, address) > 0) {
			*unit = die;
			return true;
		}
	}
	return false;
}

static uint8_t find_answer(Dwarf *dwarf, const struct type_question *question)
{
	struct looking l = {.address = question->address};
	Dwarf_Die unit;
	uint8_t answer = 0;

	if (!find_unit(dwarf, question->address, &unit))
		return 0;
	dwarf_getfuncs(&unit, look, &l, 0);
	if (!l.found)
		return 0;
	if (question->value->source == SITE_ARGUMENT)
		return find_argument(&l.function, question->value->number);
	return class_of(&l.function, &answer) == CLASS_INTEGER ? answer : 0;
}

static void __attribute__((noreturn))
child(int fd, int out, const struct type_question *questions, size_t count)
{
	const struct rlimit none = {0, 0}, seconds = {SECONDS_MAX, SECONDS_MAX};
	const struct rlimit memory __attribute__((unused)) = {MEMORY_MAX, MEMORY_MAX};
	uint8_t *answers = calloc(count, 1);
	Dwarf *dwarf;

	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_CPU, &seconds);
#ifndef __SANITIZE_ADDRESS__ /* which reserves terabytes */
	setrlimit(RLIMIT_AS, &memory);
#endif
	/* what the program reports when it crashes is of no interest */
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	signal(SIGABRT, SIG_DFL);
	dwarf = dwarf_begin(fd, DWARF_C_READ);
	for (size_t i = 0; dwarf && answers && i < count; i++)
		answers[i] = find_answer(dwarf, &questions[i]);
	for (size_t done = 0; answers && done < count;) {
		ssize_t n = write(out, answers + done, count - done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	_exit(0);
}

/* ---- in ours ---- */

static void take_answer(const struct type_question *question, uint8_t answer)
{
	if (!answer)
		return;
	question->value->bytes = answer & (SIGNED - 1);
	question->value->is_signed = answer & SIGNED;
}

void types_find(int fd, struct type_question *questions, size_t count)
{
	int pipes[2];
	uint8_t answers[256];
	size_t at = 0;
	ssize_t n;
	pid_t pid;

	if (!count || pipe2(pipes, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid)
		child(fd, pipes[1], questions, count);
	close(pipes[1]);
	while (pid > 0 && at < count) {
		n = read(pipes[0], answers, sizeof(answers));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n && at < count; i++)
			take_answer(&questions[at++], answers[i]);
	}
	close(pipes[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
