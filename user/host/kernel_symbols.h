/* SPDX-License-Identifier: MIT */
/*
 * kernel_symbols: names of kernel addresses.
 *
 * In: /proc/kallsyms, read once; out: "futex_wait+0x8d" of an address. The kernel shows addresses
 * only to a process with CAP_SYSLOG (or where kernel.kptr_restrict and kernel.perf_event_paranoid
 * permit it); else there are none. Invariant: no wrong name: an address behind the last function of
 * a module has none, since another module may have been loaded there. Specification: why.md A8
 * "Names".
 */
#ifndef USER_HOST_KERNEL_SYMBOLS_H
#define USER_HOST_KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#define KERNEL_SYMBOL_MAX 600 /* bytes of a name with its offset and its module */

struct kernel_symbols;

/* Reads them from `path`, "/proc/kallsyms". NULL: none is shown, or no memory; no message. The
 * caller frees them. */
struct kernel_symbols *kernel_symbols_read(const char *path);
void kernel_symbols_free(struct kernel_symbols *symbols);

/* Writes "name+0xOFFSET", of a module "name+0xOFFSET[module]", or "[unknown]" into `text`; without
 * any names (NULL) "0xADDRESS". Returns its length, less than `size`. */
size_t kernel_symbols_text(const struct kernel_symbols *symbols, uint64_t address, char *text,
			   size_t size);

#endif
