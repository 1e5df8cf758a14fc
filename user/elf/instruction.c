/* SPDX-License-Identifier: MIT */
/* instruction: see instruction.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "user/elf/instruction.h"

#if defined(__x86_64__)
#include <capstone/capstone.h>

#define INSTRUCTION_MAX 15  /* bytes */
#define PASS_MAX	9   /* instructions before the probe, with endbr64 */
#define NEAR_BYTES	160 /* a short branch back to the beginning starts within these */

static bool starts_with(const uint8_t *code, size_t bytes, const char *with, size_t size)
{
	return bytes >= size && !memcmp(code, with, size);
}
#define STARTS(code, bytes, with) starts_with(code, bytes, with, sizeof(with) - 1)

/* Every nop of five bytes that compilers and sdt.h make. */
static bool is_nop5(const uint8_t *code, size_t bytes)
{
	return bytes >= 5 &&
	       (STARTS(code, bytes, "\x0f\x1f\x44") || STARTS(code, bytes, "\x66\x0f\x1f\x40") ||
		STARTS(code, bytes, "\x66\x66\x66\x66\x90") ||
		STARTS(code, bytes, "\x3e\x8d\x74\x26"));
}

/* push of a register, nop, jump, conditional jump, call: the kernel emulates these. */
static bool is_emulated(const uint8_t *code, size_t bytes)
{
	if (!bytes)
		return false;
	switch (code[0]) {
	case 0x41:
		return bytes > 1 && code[1] >= 0x50 && code[1] <= 0x57;
	case 0x0f:
		return bytes > 1 && code[1] >= 0x80 && code[1] <= 0x8f;
	case 0x90:
	case 0xe8:
	case 0xe9:
	case 0xeb:
		return true;
	default:
		return (code[0] >= 0x50 && code[0] <= 0x57) || (code[0] >= 0x70 && code[0] <= 0x7f);
	}
}

/* Locked (behind other prefixes, too), int3, hlt. */
static bool is_refused(const uint8_t *code, size_t bytes)
{
	size_t at = 0;

	while (at < bytes &&
	       (code[at] == 0x66 || code[at] == 0x67 || code[at] == 0xf2 || code[at] == 0xf3 ||
		code[at] == 0x2e || code[at] == 0x3e || code[at] == 0x64 || code[at] == 0x65))
		at++;
	return at < bytes && (code[at] == 0xf0 || code[at] == 0xcc || code[at] == 0xf4);
}

/* ---- decoding ---- */

struct decoder {
	csh handle;
	cs_insn *insn;
	const uint8_t *at; /* behind insn */
	size_t left;
	uint64_t address; /* of `at`, from the beginning of the code */
};

/* Capstone 4 writes its index of all instructions, one of each decoder, also without memory for it:
 * it gets this one then. One decoder is open at a time. */
static uint16_t spare_index[1 << 14];

static void *calloc_or_spare(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	if (memory || size != sizeof(spare_index[0]) || n * size > sizeof(spare_index))
		return memory;
	return memset(spare_index, 0, sizeof(spare_index));
}

static void free_unless_spare(void *memory)
{
	if (memory != spare_index)
		free(memory);
}

static bool decoder_open(struct decoder *d, const uint8_t *code, size_t bytes)
{
	static cs_opt_mem memory = {malloc, calloc_or_spare, realloc, free_unless_spare, vsnprintf};

	cs_option(0, CS_OPT_MEM, (size_t)&memory);
	*d = (struct decoder){.at = code, .left = bytes};
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle))
		return false;
	cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = cs_malloc(d->handle);
	if (!d->insn)
		cs_close(&d->handle);
	return d->insn;
}

/* Decodes the next instruction. False: there is none. */
static bool decoder_next(struct decoder *d)
{
	return d->left && cs_disasm_iter(d->handle, &d->at, &d->left, &d->address, d->insn);
}

static void decoder_close(struct decoder *d)
{
	cs_free(d->insn, 1);
	cs_close(&d->handle);
}

/* The stack pointer, then the registers of arguments 1 to 6, in all widths. */
static const x86_reg registers[][5] = {
	{X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL, X86_REG_INVALID},
	{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL, X86_REG_INVALID},
	{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL, X86_REG_INVALID},
	{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
	{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
	{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, X86_REG_INVALID},
	{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B, X86_REG_INVALID},
};

static bool is_register(x86_reg reg, unsigned of)
{
	for (size_t i = 0; of < sizeof(registers) / sizeof(registers[0]) && i < 5; i++)
		if (registers[of][i] == reg)
			return true;
	return false;
}

/* True if the instruction writes only a register, which is neither the stack pointer nor the
 * register of one of the arguments. It may read memory. */
static bool is_harmless(const cs_insn *insn, unsigned arguments)
{
	static const unsigned writes_first[] = {
		X86_INS_ADD,   X86_INS_ADC,   X86_INS_SUB,    X86_INS_SBB,
		X86_INS_AND,   X86_INS_OR,    X86_INS_XOR,    X86_INS_SHL,
		X86_INS_SHR,   X86_INS_SAR,   X86_INS_MOV,    X86_INS_MOVABS,
		X86_INS_MOVZX, X86_INS_MOVSX, X86_INS_MOVSXD, X86_INS_LEA};
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0];
	bool found = false;

	if (insn->id == X86_INS_CMP || insn->id == X86_INS_TEST)
		return true;
	for (size_t i = 0; i < sizeof(writes_first) / sizeof(writes_first[0]); i++)
		found = found || insn->id == writes_first[i];
	/* not into registers of segments and of the processor */
	if (insn->id == X86_INS_MOV && (x86->opcode[0] == 0x8e || x86->opcode[0] == 0x0f))
		return false;
	if (!found || to->type != X86_OP_REG || is_register(to->reg, 0))
		return false;
	for (unsigned argument = 1; arguments >> argument; argument++)
		if (arguments >> argument & 1 && is_register(to->reg, argument))
			return false;
	return true;
}

/* The target of a branch of this function, from its beginning; false: it is none with a fixed one.
 */
static bool branch_target(const struct decoder *d, uint64_t *target)
{
	const cs_x86_op *to = &d->insn->detail->x86.operands[0];

	if (d->insn->id == X86_INS_CALL || to->type != X86_OP_IMM ||
	    !(cs_insn_group(d->handle, d->insn, CS_GRP_JUMP) ||
	      cs_insn_group(d->handle, d->insn, CS_GRP_BRANCH_RELATIVE)))
		return false;
	*target = (uint64_t)to->imm;
	return true;
}

/* Does a branch of the function go to (0, shift]? Instructions are followed as far as short
 * branches reach; beyond, all bytes that look like a long one count. */
static bool is_branched_to(const uint8_t *code, size_t bytes, uint32_t shift)
{
	struct decoder d;
	uint64_t target;
	bool found = false;
	int32_t distance;

	if (!decoder_open(&d, code, bytes < NEAR_BYTES + 16 ? bytes : NEAR_BYTES + 16))
		return true;
	while (!found && decoder_next(&d))
		found = branch_target(&d, &target) && target > 0 && target <= shift;
	decoder_close(&d);
	for (size_t i = 1; i + 5 <= bytes && !found; i++) {
		if (code[i] != 0xe9 && !(code[i - 1] == 0x0f && (code[i] & 0xf0) == 0x80))
			continue;
		memcpy(&distance, code + i + 1, sizeof(distance));
		target = i + 5 + (uint64_t)(int64_t)distance;
		found = target > 0 && target <= shift;
	}
	return found;
}

struct spot instruction_point(const uint8_t *code, size_t bytes)
{
	struct spot spot = {0, SPOT_SLOW};

	if (is_nop5(code, bytes))
		spot.kind = SPOT_UNSAFE;
	else if (is_emulated(code, bytes))
		spot.kind = SPOT_FAST;
	else if (is_refused(code, bytes))
		spot.kind = SPOT_REFUSED;
	return spot;
}

/* The first spot behind harmless instructions that the kernel need not step over. False: none. */
static bool find_fast(const uint8_t *code, size_t bytes, unsigned arguments, struct spot *spot)
{
	bool behind_endbr = false, found = false;
	struct decoder d;

	if (!decoder_open(&d, code, bytes))
		return false;
	for (unsigned passed = 0; passed < PASS_MAX && decoder_next(&d); passed++) {
		behind_endbr = !passed && d.insn->id == X86_INS_ENDBR64;
		if (!behind_endbr && !is_harmless(d.insn, arguments))
			break;
		*spot = instruction_point(d.at, d.left);
		spot->shift = (uint32_t)d.address;
		if (behind_endbr && spot->kind == SPOT_UNSAFE)
			spot->kind = SPOT_NOP5;
		found = spot->kind == SPOT_FAST || spot->kind == SPOT_NOP5;
		if (found)
			break;
	}
	decoder_close(&d);
	return found;
}

struct spot instruction_entry(const uint8_t *code, size_t bytes, unsigned arguments)
{
	struct spot first = instruction_point(code, bytes), fast;

	if (first.kind == SPOT_UNSAFE) /* at the entry nothing is below the stack pointer */
		first.kind = SPOT_NOP5;
	if (first.kind != SPOT_SLOW || !find_fast(code, bytes, arguments, &fast) ||
	    is_branched_to(code, bytes, fast.shift))
		return first;
	return fast;
}

/* ---- leaving ---- */

int instruction_exits(const uint8_t *code, size_t bytes, struct exit_spot **exits)
{
	struct exit_spot *added;
	struct decoder d;
	uint64_t target;
	uint32_t n = 0;
	int err = 0;

	*exits = NULL;
	if (!decoder_open(&d, code, bytes))
		return -ENOMEM;
	while (decoder_next(&d)) {
		bool is_jump =
			d.insn->id == X86_INS_JMP && branch_target(&d, &target) && target >= bytes;

		if (!is_jump && d.insn->id != X86_INS_RET && d.insn->id != X86_INS_RETF &&
		    d.insn->id != X86_INS_RETFQ)
			continue;
		added = ARRAY_ADD(*exits, n);
		if (!added) {
			err = -ENOMEM;
			break;
		}
		*added = (struct exit_spot){(uint32_t)d.insn->address, is_jump};
	}
	if (!err && (d.left || !n))
		err = -ENOEXEC;
	decoder_close(&d);
	if (err) {
		free(*exits);
		*exits = NULL;
	}
	return err ? err : (int)n;
}

enum boundary instruction_boundary(const uint8_t *code, size_t bytes)
{
	struct decoder d;
	size_t left;

	if (!decoder_open(&d, code, bytes))
		return BOUNDARY_UNKNOWN;
	while (decoder_next(&d))
		;
	left = d.left;
	decoder_close(&d);
	if (!left)
		return BOUNDARY_YES;
	/* the end cuts this instruction: it continues behind the function */
	return left < INSTRUCTION_MAX ? BOUNDARY_NO : BOUNDARY_UNKNOWN;
}
#else /* other machines: the function's first instruction, as it is */

struct spot instruction_point(const uint8_t *code, size_t bytes)
{
	static const uint8_t nop[] = {0x1f, 0x20, 0x03, 0xd5}; /* arm64: the one that is emulated */

	if (bytes >= sizeof(nop) && !memcmp(code, nop, sizeof(nop)))
		return (struct spot){0, SPOT_FAST};
	return (struct spot){0, SPOT_SLOW};
}

struct spot instruction_entry(const uint8_t *code, size_t bytes, unsigned arguments)
{
	(void)arguments;
	return instruction_point(code, bytes);
}

int instruction_exits(const uint8_t *code, size_t bytes, struct exit_spot **exits)
{
	(void)code;
	(void)bytes;
	*exits = NULL;
	return -ENOEXEC;
}

enum boundary instruction_boundary(const uint8_t *code, size_t bytes)
{
	(void)code;
	return bytes % 4 ? BOUNDARY_NO : BOUNDARY_YES;
}
#endif
