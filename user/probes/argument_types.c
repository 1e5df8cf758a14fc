/* SPDX-License-Identifier: MIT */
/* argument_types: see argument_types.h. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>

#include "user/elf/elf_child.h"
#include "user/probes/argument_types.h"

/* One byte for each question: the size, plus 16 for a signed type; 0: unknown. */
#define SIGNED 16

enum value_class {
	CLASS_INTEGER, /* in one integer register */
	CLASS_FLOAT,   /* in none */
	CLASS_OTHER,   /* in memory, or in several registers */
};

/* ---- in the child ---- */

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

static enum value_class base_class(Dwarf_Die *type, Dwarf_Word size, uint8_t *answer)
{
	Dwarf_Attribute attribute;
	Dwarf_Word encoding = 0;

	if (!dwarf_attr_integrate(type, DW_AT_encoding, &attribute) ||
	    dwarf_formudata(&attribute, &encoding))
		return CLASS_OTHER;
	switch (encoding) {
	case DW_ATE_float:
		return size <= 8 ? CLASS_FLOAT : CLASS_OTHER;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		*answer = answer_of(size, true);
		break;
	case DW_ATE_boolean:
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		*answer = answer_of(size, false);
		break;
	default:
		return CLASS_OTHER;
	}
	return *answer ? CLASS_INTEGER : CLASS_OTHER;
}

static enum value_class class_of(Dwarf_Die *die, uint8_t *answer)
{
	Dwarf_Die type, under;
	Dwarf_Word size = 0;

	*answer = 0;
	if (!type_of(die, &type))
		return CLASS_OTHER;
	switch (dwarf_tag(&type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		*answer = answer_of(8, false);
		return CLASS_INTEGER;
	case DW_TAG_base_type:
		return dwarf_aggregate_size(&type, &size) ? CLASS_OTHER
							  : base_class(&type, size, answer);
	case DW_TAG_enumeration_type:
		if (dwarf_aggregate_size(&type, &size))
			return CLASS_OTHER;
		/* older debug information has no type below it: then it may have negative values */
		if (!type_of(&type, &under) || base_class(&under, size, answer) != CLASS_INTEGER)
			*answer = answer_of(size, true);
		return *answer ? CLASS_INTEGER : CLASS_OTHER;
	default:
		return CLASS_OTHER;
	}
}

/* The address of a returned structure may take the first argument's register. */
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

static int match_function(Dwarf_Die *function, void *looking_)
{
	struct looking *l = looking_;
	Dwarf_Addr low;

	if (dwarf_lowpc(function, &low) || low != l->address)
		return DWARF_CB_OK;
	l->function = *function;
	l->found = true;
	return DWARF_CB_ABORT;
}

/* The unit by the table of addresses, or, where the compiler made none, by a search of all. */
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
	dwarf_getfuncs(&unit, match_function, &l, 0);
	if (!l.found)
		return 0;
	if (question->value->source == SITE_ARGUMENT)
		return find_argument(&l.function, question->value->number);
	return class_of(&l.function, &answer) == CLASS_INTEGER ? answer : 0;
}

struct types_request {
	const struct type_question *questions;
	size_t count;
};

static void find_answers(struct bytes *answer, Elf *elf, void *request_)
{
	const struct types_request *request = request_;
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);

	for (size_t i = 0; dwarf && i < request->count; i++)
		bytes_u8(answer, find_answer(dwarf, &request->questions[i]));
	dwarf_end(dwarf);
}

/* ---- in the parent ---- */

void argument_types_find(int fd, struct type_question *questions, size_t count)
{
	struct types_request request = {.questions = questions, .count = count};
	struct elf_answer answer;
	uint8_t byte;

	if (!count || elf_child_run(fd, find_answers, &request, &answer))
		return;
	for (size_t i = 0; i < count && elf_answer_get(&answer, &byte, sizeof(byte)); i++) {
		if (!byte)
			continue;
		questions[i].value->bytes = byte & (SIGNED - 1);
		questions[i].value->is_signed = byte & SIGNED;
	}
	elf_answer_free(&answer);
}
