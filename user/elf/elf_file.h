/* SPDX-License-Identifier: MIT */
/*
 * elf_file: one ELF file: its headers, and copies of what is in it.
 *
 * In: a path or a descriptor of a file that may be anything, may be changed or cut meanwhile, and
 * may have been made to harm; out: the headers, checked, and bytes that were read. Nothing is
 * mapped and nothing is read twice: what has been checked stays as it was checked. (That is why
 * libelf is not used here.)
 * Invariants: only regular files are opened for reading; only 64-bit little-endian files
 * of this machine are accepted (separate debug files, too).
 * Functions that can fail return NULL, or what is wrong with the file as the end of a sentence:
 * "is not a program or library (ELF file)"; it needs no freeing.
 * Specification: ebpf.md 11.1 (offset = st_value - p_vaddr + p_offset).
 */
#ifndef USER_ELF_ELF_FILE_H
#define USER_ELF_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#if defined(__x86_64__)
#define IMAGE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define IMAGE_MACHINE EM_AARCH64
#else
#error "user probes know x86-64 and arm64"
#endif

struct image {
	int fd; /* -1: not open */
	dev_t device;
	ino_t inode;
	uint64_t size;
	uint16_t type; /* ET_EXEC or ET_DYN */
	uint64_t entry;
	Elf64_Phdr *segments;
	size_t nsegments;
	Elf64_Shdr *sections;
	size_t nsections;
	char *names; /* of sections, ended by NUL */
	size_t names_size;
};

/* Opens `path` below `root` (open_in_root.h; "": ours). Nothing to close on failure. *err is -errno
 * or -ENOEXEC. */
const char *image_open(struct image *image, const char *root, const char *path, int *err);
/* The same for a file that is open; the descriptor is the image's, also on failure. */
const char *image_take(struct image *image, int fd, int *err);
void image_close(struct image *image); /* also of one that failed, or zeroed with fd -1 */

/* A copy of `size` bytes at `offset` with a NUL after them, for the caller to free. NULL if the
 * file does not have them all, or without memory, after a message. */
void *image_read(const struct image *image, uint64_t offset, uint64_t size);

/* The section of that name and type (SHT_NULL: any) that has bytes in the file, or NULL. */
const Elf64_Shdr *image_section(const struct image *image, const char *name, uint32_t type);
/* The name of a section, "" if it has none. */
const char *image_section_name(const struct image *image, const Elf64_Shdr *section);

/* The address of a symbol that the file defines (functions: symbols.h). */
bool image_symbol(const struct image *image, const char *name, uint64_t *address);

/*
 * Where the byte at a virtual address lies in the file, if it is in a loaded segment that has all
 * the `flags` (PF_X, PF_W). *left: bytes of the segment in the file from there on. False: nowhere.
 */
bool image_offset(const struct image *image, uint64_t address, uint32_t flags, uint64_t *offset,
		  uint64_t *left);
/* The other way round. */
bool image_address(const struct image *image, uint64_t offset, uint32_t flags, uint64_t *address);

#endif
