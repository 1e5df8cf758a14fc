/* SPDX-License-Identifier: MIT */
/* elf_file: see elf_file.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/elf/elf_file.h"
#include "user/host/open_in_root.h"
#include "trace/base/log.h"

#define SEGMENTS_MAX  4096    /* real files have about ten */
#define SECTIONS_MAX  1000000 /* one for each function is possible */
#define SECTION_NAMES (64u << 20)
#define READ_MAX      (512u << 20) /* at once: the names of the largest programs */

static const char cut[] = "is cut short, or damaged: its headers lie beyond its end";
static const char no_memory[] = "cannot be read: not enough memory";

/* All of it, or false. */
static bool read_all(int fd, void *to, size_t size, uint64_t offset)
{
	char *at = to;

	while (size) {
		ssize_t n = pread(fd, at, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return true;
}

void *image_read(const struct image *image, uint64_t offset, uint64_t size)
{
	char *bytes;

	if (offset > image->size || size > image->size - offset || size > READ_MAX)
		return NULL;
	bytes = malloc(size + 1);
	if (!bytes) {
		log_no_memory("what is read of the files that are probed");
		return NULL;
	}
	if (!read_all(image->fd, bytes, size, offset)) {
		free(bytes);
		return NULL;
	}
	bytes[size] = '\0';
	return bytes;
}

/* ---- what kind of file it is ---- */

static const char *wrong_machine(const Elf64_Ehdr *header)
{
	static const struct {
		unsigned machine;
		const char *what;
	} machines[] = {
		{EM_386, "is a 32-bit program: only 64-bit ones can be probed"},
		{EM_X86_64, "is for another machine (x86-64)"},
		{EM_AARCH64, "is for another machine (arm64)"},
		{EM_ARM, "is for another machine (arm)"},
		{EM_RISCV, "is for another machine (RISC-V)"},
		{EM_PPC64, "is for another machine (POWER)"},
		{EM_S390, "is for another machine (S/390)"},
		{EM_BPF, "is a program for the kernel (BPF)"},
	};

	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == header->e_machine)
			return machines[i].what;
	return "is for another machine";
}

static const char *check_header(const Elf64_Ehdr *header, size_t size)
{
	if (size >= 2 && !memcmp(header, "#!", 2))
		return "is a script: name the program that runs it";
	if (size < EI_NIDENT || memcmp(header->e_ident, ELFMAG, SELFMAG))
		return "is not a program or library (ELF file)";
	/* the machine stands at the same place in files of 32 bits */
	if (header->e_ident[EI_DATA] != ELFDATA2LSB)
		return "is for another machine (big-endian)";
	if (size < sizeof(*header))
		return cut;
	if (header->e_machine != IMAGE_MACHINE)
		return wrong_machine(header);
	if (header->e_ident[EI_CLASS] != ELFCLASS64)
		return "is a 32-bit program: only 64-bit ones can be probed";
	if (header->e_type == ET_REL)
		return "is an object file that is not linked: name the program or library";
	if (header->e_type == ET_CORE)
		return "is the memory of a program that has crashed (core), not a program";
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return "is neither a program nor a library";
	if (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr))
		return "is damaged: its program headers have a strange size";
	return NULL;
}

/* ---- tables ---- */

/* Numbers that do not fit into the header stand in the first section. */
static const char *read_sections(struct image *image, const Elf64_Ehdr *header, size_t *nsegments)
{
	uint64_t count = header->e_shnum, names = header->e_shstrndx;
	const Elf64_Shdr *strings;
	Elf64_Shdr first;

	*nsegments = header->e_phnum;
	if (!header->e_shoff || header->e_shentsize != sizeof(Elf64_Shdr))
		return NULL;
	if (header->e_shoff > image->size || image->size - header->e_shoff < sizeof(first) ||
	    !read_all(image->fd, &first, sizeof(first), header->e_shoff))
		return NULL; /* without sections it runs as well */
	if (!count)
		count = first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (header->e_phnum == PN_XNUM)
		*nsegments = first.sh_info;
	if (!count || count > SECTIONS_MAX)
		return NULL;
	image->sections = image_read(image, header->e_shoff, count * sizeof(*image->sections));
	if (!image->sections)
		return NULL;
	image->nsections = count;
	if (names >= count)
		return NULL;
	strings = &image->sections[names];
	if (strings->sh_type != SHT_STRTAB || strings->sh_size > SECTION_NAMES)
		return NULL;
	image->names = image_read(image, strings->sh_offset, strings->sh_size);
	image->names_size = image->names ? strings->sh_size : 0;
	return NULL;
}

static const char *read_segments(struct image *image, const Elf64_Ehdr *header, size_t count)
{
	if (!count || !header->e_phoff)
		return "has nothing that could be run (no program headers)";
	if (count > SEGMENTS_MAX)
		return "is damaged: it has too many program headers";
	image->segments = image_read(image, header->e_phoff, count * sizeof(*image->segments));
	if (!image->segments)
		return cut;
	image->nsegments = count;
	return NULL;
}

static const char *take(struct image *image, int *err)
{
	Elf64_Ehdr header = {0};
	const char *wrong;
	struct stat st;
	size_t count, n;

	*err = -ENOEXEC;
	if (fstat(image->fd, &st)) {
		*err = -errno;
		return strerror(errno);
	}
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? "is a directory" : "is not a regular file";
	image->device = st.st_dev;
	image->inode = st.st_ino;
	image->size = (uint64_t)st.st_size;
	n = image->size < sizeof(header) ? image->size : sizeof(header);
	if (!read_all(image->fd, &header, n, 0)) {
		*err = -EIO;
		return "cannot be read";
	}
	wrong = check_header(&header, n);
	if (wrong)
		return wrong;
	image->type = header.e_type;
	image->entry = header.e_entry;
	wrong = read_sections(image, &header, &count);
	if (!wrong)
		wrong = read_segments(image, &header, count);
	return wrong;
}

const char *image_take(struct image *image, int fd, int *err)
{
	const char *wrong;

	*image = (struct image){.fd = fd};
	wrong = take(image, err);
	if (wrong)
		image_close(image);
	return wrong;
}

static const char *cannot_open(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return "does not exist";
	case EACCES:
	case EPERM:
		return "cannot be read: permission denied (that takes the rights of its owner, or "
		       "CAP_DAC_READ_SEARCH)";
	case EISDIR:
		return "is a directory";
	case ENOEXEC:
		return "is not a regular file";
	case ENOMEM:
		return no_memory;
	default:
		return strerror(error);
	}
}

const char *image_open(struct image *image, const char *root, const char *path, int *err)
{
	int fd = open_regular(root, path);

	*image = (struct image){.fd = -1};
	if (fd >= 0)
		return image_take(image, fd, err);
	*err = fd == -EISDIR ? -ENOEXEC : fd;
	return cannot_open(-fd);
}

void image_close(struct image *image)
{
	if (image->fd >= 0)
		close(image->fd);
	free(image->segments);
	free(image->sections);
	free(image->names);
	*image = (struct image){.fd = -1};
}

/* ---- looking things up ---- */

const char *image_section_name(const struct image *image, const Elf64_Shdr *section)
{
	return section->sh_name < image->names_size ? image->names + section->sh_name : "";
}

const Elf64_Shdr *image_section(const struct image *image, const char *name, uint32_t type)
{
	for (size_t i = 1; i < image->nsections; i++) {
		const Elf64_Shdr *section = &image->sections[i];

		if (section->sh_type != SHT_NULL && section->sh_type != SHT_NOBITS &&
		    (type == SHT_NULL || section->sh_type == type) &&
		    !strcmp(image_section_name(image, section), name))
			return section;
	}
	return NULL;
}

bool image_offset(const struct image *image, uint64_t address, uint32_t flags, uint64_t *offset,
		  uint64_t *left)
{
	for (size_t i = 0; i < image->nsegments; i++) {
		const Elf64_Phdr *s = &image->segments[i];
		uint64_t in = address - s->p_vaddr;

		if (s->p_type != PT_LOAD || (s->p_flags & flags) != flags || address < s->p_vaddr ||
		    in >= s->p_filesz)
			continue;
		/* what the file does not have is not there, whatever the header says */
		if (s->p_offset > image->size || in >= image->size - s->p_offset)
			continue;
		*offset = s->p_offset + in;
		*left = s->p_filesz - in;
		if (*left > image->size - *offset)
			*left = image->size - *offset;
		return true;
	}
	return false;
}

bool image_address(const struct image *image, uint64_t offset, uint32_t flags, uint64_t *address)
{
	for (size_t i = 0; i < image->nsegments; i++) {
		const Elf64_Phdr *s = &image->segments[i];

		if (s->p_type == PT_LOAD && (s->p_flags & flags) == flags &&
		    offset >= s->p_offset && offset - s->p_offset < s->p_filesz) {
			*address = s->p_vaddr + (offset - s->p_offset);
			return true;
		}
	}
	return false;
}

static bool find_symbol(const struct image *image, const Elf64_Shdr *table, const char *name,
			uint64_t *address)
{
	const Elf64_Shdr *strings = &image->sections[table->sh_link];
	Elf64_Sym *symbols = image_read(image, table->sh_offset, table->sh_size);
	char *names = image_read(image, strings->sh_offset, strings->sh_size);
	size_t count = symbols && names ? table->sh_size / sizeof(*symbols) : 0;
	bool found = false;

	for (size_t i = 0; i < count && !found; i++) {
		const Elf64_Sym *s = &symbols[i];

		found = s->st_shndx != SHN_UNDEF && s->st_name < strings->sh_size &&
			ELF64_ST_TYPE(s->st_info) != STT_TLS && !strcmp(names + s->st_name, name);
		if (found)
			*address = s->st_value;
	}
	free(symbols);
	free(names);
	return found;
}

bool image_symbol(const struct image *image, const char *name, uint64_t *address)
{
	for (size_t i = 1; i < image->nsections; i++) {
		const Elf64_Shdr *s = &image->sections[i];

		if ((s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM) &&
		    s->sh_link < image->nsections && find_symbol(image, s, name, address))
			return true;
	}
	return false;
}
