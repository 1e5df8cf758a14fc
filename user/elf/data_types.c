/* SPDX-License-Identifier: MIT */
#include "user/elf/data_types.h"

#include <ctype.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "trace/base/array.h"
#include "trace/base/hash.h"

#define DIMENSIONS_MAX 8
#define DEPTH_MAX      32 /* of scopes, and of members within members */

/* The answer: any number of these, each with its tag before it. Types have numbers in the order in
 * which they stand. */
enum tag {
	TAG_VARIABLE,  /* u32 index, u32 type */
	TAG_ARRAY,     /* u64 stride, u64 count, u32 type */
	TAG_STRUCTURE, /* u32 n, then of each member: u64 offset, u64 size, u32 type, name */
};

/* ---- in the child ---- */

struct waiting { /* a type that has its number, but stands not in the answer yet */
	Dwarf_Die die;
	unsigned dimension; /* of an array: the first one that is left */
};

struct reader {
	struct data_variable *variables;
	size_t nvariables;
	struct bytes *answer;
	struct hash numbers; /* of types - 1, by entry and dimension */
	struct waiting *types;
	size_t ntypes, nmembers;
	size_t left; /* entries that may still be read */
};

/* The next entry of the same parent, within the limit. */
static bool next_entry(struct reader *r, Dwarf_Die *die)
{
	return r->left && r->left-- && dwarf_siblingof(die, die) == 0;
}

static uint32_t number_of(struct reader *r, const Dwarf_Die *die, unsigned dimension)
{
	const struct hash_key key = {.a = (uintptr_t)die->addr, .c = dimension};
	uint32_t *at = hash_at(&r->numbers, key);
	struct waiting *added;

	if (at && *at != HASH_NONE)
		return *at + 1;
	if (!at || r->ntypes == DATA_TYPES_MAX)
		return 0;
	added = ARRAY_ADD(r->types, r->ntypes);
	if (!added)
		return 0;
	*added = (struct waiting){*die, dimension};
	*at = (uint32_t)(r->ntypes - 1);
	return (uint32_t)r->ntypes;
}

static bool is_structure(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* Types of the library of Rust have members with plain names, as `inner`. */
static bool is_of_rust_library(Dwarf_Die *die)
{
	bool found = false;
	Dwarf_Die unit, *scopes;
	const char *name;
	int n;

	if (!dwarf_diecu(die, &unit, NULL, NULL) || dwarf_srclang(&unit) != DW_LANG_Rust)
		return false;
	n = dwarf_getscopes_die(die, &scopes);
	name = n > 1 ? dwarf_diename(&scopes[n - 2]) : NULL;
	found = name && (!strcmp(name, "std") || !strcmp(name, "core") || !strcmp(name, "alloc"));
	if (n > 0)
		free(scopes);
	return found;
}

/* The type of an entry, without typedef, const and the like; of a mere declaration, which refers to
 * a type by its signature, that one. */
static bool get_type(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attribute) ||
	    !dwarf_formref_die(&attribute, type) || dwarf_peel_type(type, type))
		return false;
	return !dwarf_attr(type, DW_AT_signature, &attribute) ||
	       dwarf_formref_die(&attribute, type);
}

/* The elements of a dimension of an array; 0: not known. */
static uint64_t dimension_of(Dwarf_Die *range)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (dwarf_tag(range) != DW_TAG_subrange_type)
		return 0;
	if (dwarf_attr_integrate(range, DW_AT_count, &attribute))
		return dwarf_formudata(&attribute, &value) ? 0 : value;
	if (dwarf_attr_integrate(range, DW_AT_upper_bound, &attribute) &&
	    !dwarf_formudata(&attribute, &value) && value < INT64_MAX)
		return value + 1;
	return 0;
}

/* The dimensions of an array, the outermost first. Returns how many; 0: not known. */
static unsigned dimensions_of(struct reader *r, Dwarf_Die *array, uint64_t to[DIMENSIONS_MAX])
{
	unsigned n = 0;
	Dwarf_Die range;

	if (dwarf_child(array, &range))
		return 0;
	do
		to[n++] = dimension_of(&range);
	while (n < DIMENSIONS_MAX && next_entry(r, &range));
	return n < DIMENSIONS_MAX ? n : 0; /* there may be more */
}

/* Bytes of a type; 0: not known. */
static uint64_t size_of(struct reader *r, Dwarf_Die *type, int depth)
{
	uint64_t dimensions[DIMENSIONS_MAX], size;
	Dwarf_Word bytes;
	Dwarf_Die element;
	unsigned n;

	if (dwarf_tag(type) != DW_TAG_array_type)
		return dwarf_aggregate_size(type, &bytes) ? 0 : bytes;
	n = dimensions_of(r, type, dimensions);
	if (!n || depth == DEPTH_MAX || !get_type(type, &element))
		return 0;
	size = size_of(r, &element, depth + 1);
	for (unsigned i = 0; i < n; i++)
		if (__builtin_mul_overflow(size, dimensions[i], &size))
			return 0;
	return size;
}

/* The number of the type of a variable, a member or an element (0: it has no parts), and its size
 * (0: not known). */
static uint32_t type_of(struct reader *r, Dwarf_Die *die, uint64_t *size)
{
	Dwarf_Die type;

	*size = 0;
	if (!get_type(die, &type))
		return 0;
	*size = size_of(r, &type, 0);
	if (dwarf_tag(&type) == DW_TAG_array_type ||
	    (is_structure(&type) && !is_of_rust_library(&type)))
		return number_of(r, &type, 0);
	return 0;
}

static void put_array(struct reader *r, struct waiting *type)
{
	uint64_t dimensions[DIMENSIONS_MAX], stride;
	unsigned n = dimensions_of(r, &type->die, dimensions);
	uint32_t element = type_of(r, &type->die, &stride);

	for (unsigned i = type->dimension + 1; i < n; i++)
		if (__builtin_mul_overflow(stride, dimensions[i], &stride))
			stride = 0;
	if (type->dimension + 1 < n)
		element = number_of(r, &type->die, type->dimension + 1);
	bytes_u8(r->answer, TAG_ARRAY);
	bytes_u64(r->answer, stride);
	bytes_u64(r->answer, type->dimension < n ? dimensions[type->dimension] : 0);
	bytes_u32(r->answer, element);
}

static bool offset_of(Dwarf_Die *member, bool is_union, uint64_t *offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (!dwarf_attr(member, DW_AT_data_member_location, &attribute)) {
		*offset = 0; /* else a static member, or one with bits */
		return is_union;
	}
	if (dwarf_formudata(&attribute, &value)) /* a virtual base class, whose place varies */
		return false;
	*offset = value;
	return true;
}

static void put_structure(struct reader *r, struct waiting *type)
{
	bool is_union = dwarf_tag(&type->die) == DW_TAG_union_type, some;
	struct bytes members = {0};
	uint32_t n = 0;
	Dwarf_Die member;

	some = dwarf_child(&type->die, &member) == 0;
	for (; some && r->nmembers < DATA_MEMBERS_MAX; some = next_entry(r, &member)) {
		int tag = dwarf_tag(&member);
		const char *name = tag == DW_TAG_member ? dwarf_diename(&member) : NULL;
		uint64_t offset, size;
		uint32_t number;

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    !offset_of(&member, is_union, &offset))
			continue;
		number = type_of(r, &member, &size);
		if (!size)
			continue;
		bytes_u64(&members, offset);
		bytes_u64(&members, size);
		bytes_u32(&members, number);
		elf_answer_put_string(&members, name ? name : "");
		r->nmembers++;
		n++;
	}
	bytes_u8(r->answer, TAG_STRUCTURE);
	bytes_u32(r->answer, n);
	bytes_put(r->answer, members.data, members.size);
	r->answer->failed |= members.failed;
	bytes_free(&members);
}

/* The address of a variable in memory that is there from the start. */
static bool address_of(Dwarf_Die *die, uint64_t *address)
{
	Dwarf_Attribute attribute, indexed;
	Dwarf_Op *expression;
	Dwarf_Addr value;
	size_t n = 0;

	if (!dwarf_attr(die, DW_AT_location, &attribute) ||
	    dwarf_getlocation(&attribute, &expression, &n) || n != 1)
		return false;
	switch (expression->atom) {
	case DW_OP_addr:
		*address = expression->number;
		return true;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		if (dwarf_getlocation_attr(&attribute, expression, &indexed) ||
		    dwarf_formaddr(&indexed, &value))
			return false;
		*address = value;
		return true;
	default:
		return false;
	}
}

static int compare(const void *key, const void *element)
{
	uint64_t a = *(const uint64_t *)key, b = ((const struct data_variable *)element)->address;

	return a < b ? -1 : a > b;
}

static void take_variable(struct reader *r, Dwarf_Die *die)
{
	struct data_variable *variable;
	uint64_t address, size;

	if (!address_of(die, &address))
		return;
	variable = bsearch(&address, r->variables, r->nvariables, sizeof(*variable), compare);
	if (!variable || variable->type)
		return;
	variable->type = type_of(r, die, &size);
	if (!variable->type)
		return;
	bytes_u8(r->answer, TAG_VARIABLE);
	bytes_u32(r->answer, (uint32_t)(variable - r->variables));
	bytes_u32(r->answer, variable->type);
}

/* Takes the variables of a unit, a namespace, a function, a block. */
static void take_scope(struct reader *r, Dwarf_Die *scope, int depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(scope, &die))
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
			take_variable(r, &die);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
			take_scope(r, &die, depth + 1);
			break;
		default:
			break;
		}
	} while (next_entry(r, &die));
}

static void read_types(struct bytes *answer, Elf *elf, void *reader)
{
	const struct rlimit none = {0, 0};
	struct reader *r = reader;
	Dwarf *dwarf;
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	setrlimit(RLIMIT_NOFILE, &none); /* libdw would open files that the file names */
	dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	r->answer = answer;
	while (dwarf && r->left && dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		take_scope(r, &die, 0);
	for (size_t i = 0; i < r->ntypes; i++) {
		struct waiting type = r->types[i]; /* which may move */

		if (dwarf_tag(&type.die) == DW_TAG_array_type)
			put_array(r, &type);
		else
			put_structure(r, &type);
	}
}

/* ---- in the recorder ---- */

#define GET(answer, to) elf_answer_get((answer), &(to), sizeof(to))

static int take_array(struct data_types *types)
{
	struct data_type type = {0}, *added;

	if (!GET(&types->answer, type.stride) || !GET(&types->answer, type.count) ||
	    !GET(&types->answer, type.element))
		return -ENOEXEC;
	if (!type.stride) /* not known: nothing is found in it */
		type.stride = UINT64_MAX, type.count = 0;
	added = ARRAY_ADD(types->list, types->count);
	if (!added)
		return -ENOMEM;
	*added = type;
	return 0;
}

static int take_structure(struct data_types *types)
{
	struct data_type type = {.first = (uint32_t)types->nmembers}, *added;
	struct data_member m, *member;

	if (!GET(&types->answer, type.n) || type.n > DATA_MEMBERS_MAX - types->nmembers)
		return -ENOEXEC;
	for (uint32_t i = 0; i < type.n; i++) {
		if (!GET(&types->answer, m.offset) || !GET(&types->answer, m.size) ||
		    !GET(&types->answer, m.type))
			return -ENOEXEC;
		m.name = elf_answer_get_string(&types->answer);
		if (!m.name)
			return -ENOEXEC;
		member = ARRAY_ADD(types->members, types->nmembers);
		if (!member)
			return -ENOMEM;
		*member = m;
	}
	added = ARRAY_ADD(types->list, types->count);
	if (!added)
		return -ENOMEM;
	*added = type;
	return 0;
}

static int take_answer(struct data_types *types, struct data_variable *variables, size_t n)
{
	uint32_t index, type;
	uint8_t tag;
	int err = 0;

	while (!err && GET(&types->answer, tag)) {
		if (types->count == DATA_TYPES_MAX)
			return -ENOEXEC;
		switch (tag) {
		case TAG_VARIABLE:
			if (!GET(&types->answer, index) || !GET(&types->answer, type) || index >= n)
				return -ENOEXEC;
			variables[index].type = type;
			break;
		case TAG_ARRAY:
			err = take_array(types);
			break;
		case TAG_STRUCTURE:
			err = take_structure(types);
			break;
		default:
			return -ENOEXEC;
		}
	}
	return err;
}

int data_types_read(struct data_types *types, int fd, struct data_variable *variables, size_t n)
{
	struct reader reader = {.variables = variables, .nvariables = n, .left = DATA_ENTRIES_MAX};
	int err;

	*types = (struct data_types){0};
	err = elf_child_run(fd, read_types, &reader, &types->answer);
	if (!err)
		err = take_answer(types, variables, n);
	if (!err)
		return 0;
	for (size_t i = 0; i < n; i++)
		variables[i].type = 0;
	data_types_free(types);
	return err;
}

void data_types_free(struct data_types *types)
{
	free(types->list);
	free(types->members);
	elf_answer_free(&types->answer);
	*types = (struct data_types){0};
}

/* ---- the text of a part ---- */

struct part {
	char *text;
	size_t size, kept;     /* bytes: up to now, and up to the last part that counts */
	uint64_t offset, rest; /* of the byte: in the present type, and behind the kept text */
	bool reserved;	       /* within a member of the implementation */
};

static bool is_reserved(const char *name)
{
	return name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
}

static bool append(struct part *part, const char *before, const char *text)
{
	int n = snprintf(part->text + part->size, DATA_PART_BYTES - part->size, "%s%s", before,
			 text);

	if (n < 0 || (size_t)n >= DATA_PART_BYTES - part->size - 20) /* an offset may follow */
		return false;
	part->size += (size_t)n;
	return true;
}

static void keep(struct part *part)
{
	part->kept = part->size;
	part->rest = part->offset;
	part->reserved = false;
}

static const struct data_type *type_at(const struct data_types *types, uint32_t number)
{
	return number && number <= types->count ? &types->list[number - 1] : NULL;
}

static bool contains(const struct data_member *member, uint64_t offset)
{
	return offset >= member->offset && offset - member->offset < member->size;
}

/* The member at an offset; of a union, the first one that has members itself, or the first one. */
static const struct data_member *member_at(const struct data_types *types,
					   const struct data_type *structure, uint64_t offset)
{
	const struct data_member *list = &types->members[structure->first], *found = NULL;

	for (uint32_t i = 0; i < structure->n; i++) {
		const struct data_type *type = type_at(types, list[i].type);

		if (!contains(&list[i], offset))
			continue;
		if (type && !type->stride)
			return &list[i];
		if (!found)
			found = &list[i];
	}
	return found;
}

/* Steps into the element of an array. Returns its type, NULL: that is the end. */
static const struct data_type *step_array(const struct data_types *types,
					  const struct data_type *array, struct part *part)
{
	const struct data_type *element = type_at(types, array->element);
	uint64_t i = part->offset / array->stride;
	char index[32];

	snprintf(index, sizeof(index), "[%" PRIu64 "]", i);
	if (i >= array->count || !append(part, index, ""))
		return NULL;
	part->offset -= i * array->stride;
	if (!part->reserved || (element && !element->stride))
		keep(part);
	return element;
}

static const struct data_type *step_structure(const struct data_types *types,
					      const struct data_type *structure, struct part *part)
{
	const struct data_member *member = member_at(types, structure, part->offset);

	if (!member)
		return NULL;
	part->offset -= member->offset;
	if (is_reserved(member->name)) {
		part->reserved = true;
	} else if (*member->name) {
		if (!append(part, ".", member->name))
			return NULL;
		keep(part);
	}
	return type_at(types, member->type);
}

void data_types_text(const struct data_types *types, uint32_t type, uint64_t offset,
		     char text[DATA_PART_BYTES])
{
	struct part part = {.text = text, .offset = offset, .rest = offset};
	const struct data_type *at = type_at(types, type);

	for (int depth = 0; at && depth < DEPTH_MAX; depth++)
		at = at->stride ? step_array(types, at, &part) : step_structure(types, at, &part);
	text[part.kept] = '\0';
	if (part.rest)
		snprintf(text + part.kept, DATA_PART_BYTES - part.kept, "+0x%" PRIx64, part.rest);
}
