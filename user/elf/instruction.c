/* SPDX-License-Identifier: MIT */
/* instruction: see instruction.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/elf/instruction.h"

#if defined(__x86_64__)
#include <capstone/capstone.h>

#define INSTRUCTION_MAX 15  /* bytes */
#define PASS_MAX	8   /* instructions before the place */
#define NEAR_BYTES	160 /* a short branch back to the beginning starts within these */
#define RSP		4   /* number of the register */

static bool starts_with(const uint8_t *code, size_t bytes, const char *with, size_t size)
{
	return bytes >= size && !memcmp(code, with, size);
}
#define STARTS(code, bytes, with) starts_with(code, bytes, with, sizeof(with) - 1)

static bool is_endbr64(const uint8_t *code, size_t bytes)
{
	return STARTS(code, bytes, "\xf3\x0f\x1e\xfa");
}

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

/* Bytes of a ModRM operand behind the opcode, with its displacement; 0: not all there. */
static size_t modrm_bytes(const uint8_t *at, size_t bytes)
{
	uint8_t mod, rm;
	size_t size = 1;

	if (!bytes)
		return 0;
	mod = at[0] >> 6;
	rm = at[0] & 7;
	if (mod != 3 && rm == 4) {
		if (bytes < 2)
			return 0;
		size = 2;
		if (mod == 0 && (at[1] & 7) == 5)
			size += 4;
	}
	if (mod == 0 && rm == 5)
		size += 4;
	size += mod == 1 ? 1 : mod == 2 ? 4 : 0;
	return size <= bytes ? size : 0;
}

/*
 * The length of an instruction that writes nothing but a register other than the stack pointer;
 * it may read memory. 0: it is another one. *written: the register, -1: none.
 */
static size_t harmless(const uint8_t *code, size_t bytes, int *written)
{
	size_t at = 0, operand, immediate = 0;
	uint8_t rex = 0, opcode, modrm;
	bool to_reg = false, compares = false, address = false;

	if (bytes && (code[0] == 0x64 || code[0] == 0x65)) /* of the thread's own memory */
		at++;
	if (at < bytes && (code[at] & 0xf0) == 0x40)
		rex = code[at++];
	if (at >= bytes)
		return 0;
	opcode = code[at++];
	*written = -1;
	if (opcode >= 0xb8 && opcode <= 0xbf) { /* mov reg, imm */
		*written = (opcode & 7) | (rex & 1) << 3;
		at += rex & 8 ? 8 : 4;
		return at <= bytes && *written != RSP ? at : 0;
	}
	/* clang-format off */
	switch (opcode) {
	case 0x01: case 0x09: case 0x21: case 0x29: case 0x31: case 0x89: break;
	case 0x03: case 0x0b: case 0x23: case 0x2b: case 0x33: case 0x8b: case 0x63:
		to_reg = true;
		break;
	case 0x38: case 0x39: case 0x3a: case 0x3b: case 0x84: case 0x85: compares = true; break;
	case 0x8d: to_reg = address = true; break;
	case 0x83: case 0xc1: immediate = 1; break;
	case 0x81: case 0xc7: immediate = 4; break;
	case 0xf6: immediate = 1; compares = true; break; /* test, if /0 */
	case 0xf7: immediate = 4; compares = true; break;
	case 0x0f:
		if (at >= bytes)
			return 0;
		opcode = code[at++];
		if (opcode != 0xb6 && opcode != 0xb7 && opcode != 0xbe && opcode != 0xbf)
			return 0;
		to_reg = true;
		break;
	default: return 0;
	}
	/* clang-format on */
	operand = modrm_bytes(code + at, bytes - at);
	if (!operand || at + operand + immediate > bytes)
		return 0;
	modrm = code[at];
	if (address && modrm >> 6 == 3)
		return 0; /* no instruction */
	if ((opcode == 0xf6 || opcode == 0xf7) && (modrm >> 3 & 7))
		return 0; /* not, neg, mul, div */
	if (opcode == 0x83 || opcode == 0x81)
		compares = (modrm >> 3 & 7) == 7;
	if (opcode == 0xc7 && (modrm >> 3 & 7))
		return 0;
	if (!compares && !to_reg && modrm >> 6 != 3)
		return 0; /* a store */
	if (!compares)
		*written =
			to_reg ? (modrm >> 3 & 7) | (rex & 4) << 1 : (modrm & 7) | (rex & 1) << 3;
	if (*written == RSP)
		return 0;
	return at + operand + immediate;
}

/* The register of an integer argument. */
static int register_of_argument(unsigned argument)
{
	static const int registers[] = {7, 6, 2, 1, 8, 9}; /* rdi, rsi, rdx, rcx, r8, r9 */

	return argument && argument <= 6 ? registers[argument - 1] : -1;
}

static int32_t read_i32(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Where a branch of this function goes, from its beginning; false: it is none with a fixed target.
 */
static bool branch_target(const cs_insn *insn, uint64_t *target)
{
	const uint8_t *b = insn->bytes;
	size_t size = insn->size, skip = 0;

	while (skip < size &&
	       (b[skip] == 0xf2 || b[skip] == 0x2e || b[skip] == 0x3e || (b[skip] & 0xf0) == 0x40))
		skip++;
	b += skip;
	size -= skip;
	if (size == 2 && (b[0] == 0xeb || (b[0] & 0xf0) == 0x70 || (b[0] >= 0xe0 && b[0] <= 0xe3)))
		*target = insn->address + insn->size + (uint64_t)(int64_t)(int8_t)b[1];
	else if (size == 5 && b[0] == 0xe9)
		*target = insn->address + insn->size + (uint64_t)(int64_t)read_i32(b + 1);
	else if (size == 6 && b[0] == 0x0f && (b[1] & 0xf0) == 0x80)
		*target = insn->address + insn->size + (uint64_t)(int64_t)read_i32(b + 2);
	else
		return false;
	return true;
}

/* Does a branch of the function go to (0, shift]? Instructions are followed as far as short
 * branches reach; beyond, whatever looks like a long one counts. */
static bool is_branched_to(const uint8_t *code, size_t bytes, uint32_t shift)
{
	const uint8_t *at = code;
	size_t left = bytes < NEAR_BYTES + 16 ? bytes : NEAR_BYTES + 16;
	uint64_t address = 0, target;
	bool found = false;
	cs_insn *insn;
	csh handle;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle))
		return true;
	insn = cs_malloc(handle);
	while (insn && !found && left && cs_disasm_iter(handle, &at, &left, &address, insn))
		found = branch_target(insn, &target) && target > 0 && target <= shift;
	if (insn)
		cs_free(insn, 1);
	cs_close(&handle);
	if (!insn)
		return true;
	for (size_t i = 1; i + 5 <= bytes && !found; i++) {
		if (code[i] != 0xe9 && !(code[i - 1] == 0x0f && (code[i] & 0xf0) == 0x80))
			continue;
		target = i + 5 + (uint64_t)(int64_t)read_i32(code + i + 1);
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

struct spot instruction_entry(const uint8_t *code, size_t bytes, unsigned argument)
{
	struct spot first = instruction_point(code, bytes), spot;
	int reg = register_of_argument(argument), written;
	uint32_t shift = is_endbr64(code, bytes) ? 4 : 0;
	size_t length;

	if (first.kind == SPOT_UNSAFE) /* at the entry nothing is below the stack pointer */
		first.kind = SPOT_NOP5;
	if (first.kind != SPOT_SLOW)
		return first;
	for (unsigned passed = 0; passed <= PASS_MAX; passed++) {
		spot = instruction_point(code + shift, bytes - shift);
		if (spot.kind == SPOT_UNSAFE && passed == 0)
			spot.kind = SPOT_NOP5; /* right behind endbr64 */
		if (spot.kind == SPOT_FAST || spot.kind == SPOT_NOP5) {
			spot.shift = shift;
			return is_branched_to(code, bytes, shift) ? first : spot;
		}
		length = harmless(code + shift, bytes - shift, &written);
		if (!length || (reg >= 0 && written == reg))
			break;
		shift += (uint32_t)length;
	}
	return first;
}

/* ---- leaving ---- */

static int add_exit(struct exit_spot **exits, int n, uint32_t shift, bool is_jump)
{
	if (!(n & (n - 1))) {
		struct exit_spot *grown = realloc(*exits, (size_t)(n ? 2 * n : 1) * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		*exits = grown;
	}
	(*exits)[n] = (struct exit_spot){shift, is_jump};
	return n + 1;
}

static bool is_return(const cs_insn *insn)
{
	return insn->id == X86_INS_RET || insn->id == X86_INS_RETF || insn->id == X86_INS_RETFQ;
}

int instruction_exits(const uint8_t *code, size_t bytes, struct exit_spot **exits)
{
	uint64_t address = 0, target;
	const uint8_t *at = code;
	size_t left = bytes;
	cs_insn *insn;
	csh handle;
	int n = 0;

	*exits = NULL;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle))
		return -ENOMEM;
	insn = cs_malloc(handle);
	if (!insn)
		n = -ENOMEM;
	while (n >= 0 && left) {
		if (!cs_disasm_iter(handle, &at, &left, &address, insn)) {
			n = -ENOEXEC;
			break;
		}
		if (is_return(insn))
			n = add_exit(exits, n, (uint32_t)insn->address, false);
		else if (insn->id == X86_INS_JMP && branch_target(insn, &target) && target >= bytes)
			n = add_exit(exits, n, (uint32_t)insn->address, true);
	}
	if (insn)
		cs_free(insn, 1);
	cs_close(&handle);
	if (n <= 0) {
		free(*exits);
		*exits = NULL;
		return n ? n : -ENOEXEC;
	}
	return n;
}

enum boundary instruction_boundary(const uint8_t *code, size_t bytes)
{
	enum boundary result = BOUNDARY_UNKNOWN;
	/* an instruction that the end cuts is one that goes on behind it */
	size_t whole = bytes;
	const uint8_t *at = code;
	uint64_t address = 0;
	cs_insn *one;
	csh handle;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle))
		return BOUNDARY_UNKNOWN;
	one = cs_malloc(handle);
	while (one && address < bytes && cs_disasm_iter(handle, &at, &whole, &address, one))
		;
	if (address == bytes)
		result = BOUNDARY_YES;
	else if (bytes - address < INSTRUCTION_MAX)
		result = BOUNDARY_NO;
	if (one)
		cs_free(one, 1);
	cs_close(&handle);
	return result;
}
#else /* other machines: the function's first instruction, as it is */

struct spot instruction_point(const uint8_t *code, size_t bytes)
{
	static const uint8_t nop[] = {0x1f, 0x20, 0x03, 0xd5}; /* arm64: the one that is emulated */

	if (bytes >= sizeof(nop) && !memcmp(code, nop, sizeof(nop)))
		return (struct spot){0, SPOT_FAST};
	return (struct spot){0, SPOT_SLOW};
}

struct spot instruction_entry(const uint8_t *code, size_t bytes, unsigned argument)
{
	(void)argument;
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
