/* SPDX-License-Identifier: MIT */
/* boundary: see boundary.h. */
#include "user/probes/boundary.h"

#if defined(__x86_64__)
#include <capstone/capstone.h>

#define INSTRUCTION_MAX 15 /* bytes */

enum boundary boundary_at(const uint8_t *code, size_t bytes)
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
#else
enum boundary boundary_at(const uint8_t *code, size_t bytes)
{
	(void)code;
	return bytes % 4 ? BOUNDARY_NO : BOUNDARY_YES;
}
#endif
