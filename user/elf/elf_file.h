/* SPDX-License-Identifier: MIT */
/*
 * elf_file: an open ELF file: its header and its segments, checked, and bytes that are read from
 * it.
 *
 * In: a path or a descriptor of an untrusted file, which may change meanwhile; out: headers that
 * were read once and checked. All else is read by libelf in a child process (elf_child.h).
 * Invariants: only regular files are opened for reading; only 64-bit little-endian files of this
 * machine are accepted.
 * Functions that fail return NULL, or the end of a sentence about the file, which needs no freeing:
 * "is not a program or library (ELF file)".
 * Specification: ebpf.md 11.1 (offset = st_value - p_vaddr + p_offset).
 */
#ifndef USER_ELF_ELF_FILE_H
#define USER_ELF_ELF_FILE_H

#include <elf.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#if defined(__x86_64__)
#define ELF_FILE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define ELF_FILE_MACHINE EM_AARCH64
#else
#error "user probes support x86-64 and arm64"
#endif

struct elf_file {
	int fd; /* -1: not open */
	dev_t device;
	ino_t inode;
	uint64_t size;
	uint64_t entry;
	Elf64_Phdr *segments;
	size_t nsegments;
};

/* Opens `path` below `root` (read_file.h; "": ours). Nothing to close on failure. *err is 0,
 * -errno or -ENOEXEC. */
const char *elf_file_open(struct elf_file *file, const char *root, const char *path, int *err);
/* The same for an open descriptor, which then belongs to the file, also on failure. */
const char *elf_file_attach(struct elf_file *file, int fd, int *err);
void elf_file_close(struct elf_file *file); /* also of one that failed, or zeroed with fd -1 */

/* A copy of `size` bytes at `offset` with a NUL after them, for the caller to free. NULL if the
 * file does not have them all, or, after a message, out of memory. */
void *elf_file_read(const struct elf_file *file, uint64_t offset, uint64_t size);

/*
 * The offset in the file of the byte at a virtual address, if a loaded segment with all the `flags`
 * (PF_X, PF_W) has it. *left: bytes of the segment in the file from there on. False: nowhere.
 */
bool elf_file_offset(const struct elf_file *file, uint64_t address, uint32_t flags,
		     uint64_t *offset, uint64_t *left);
/* The reverse. */
bool elf_file_address(const struct elf_file *file, uint64_t offset, uint32_t flags,
		      uint64_t *address);

/* The virtual address of the byte that is `distance` behind the begin of a mapping of the file at
 * `offset`, in a writable segment, also behind the bytes of that in the file (.bss). False:
 * nowhere.
 */
bool elf_file_mapped(const struct elf_file *file, uint64_t offset, uint64_t distance,
		     uint64_t *address);

/* ---- in the child: sections of the file, by libelf ---- */

/* The file as libelf sees it; NULL: it is none. The caller ends it with elf_end(). */
Elf *elf_section_begin(int fd);

/* The next section of a type (SHT_NULL: of any) after `after` (NULL: from the first one), with its
 * header; NULL: none. Sections without bytes in the file do not count. */
Elf_Scn *elf_section_next(Elf *elf, Elf_Scn *after, GElf_Word type, GElf_Shdr *header);

/* The first section of that name, with its header, or NULL. */
Elf_Scn *elf_section_named(Elf *elf, const char *name, GElf_Shdr *header);

/* The string of the next entry with this tag (DT_NEEDED) in the dynamic section, from entry *at on,
 * which moves behind it; NULL: none. */
const char *elf_section_dynamic(Elf *elf, GElf_Sxword tag, int *at);

#endif
