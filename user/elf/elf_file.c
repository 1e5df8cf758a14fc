/* SPDX-License-Identifier: MIT */
/* elf_file: see elf_file.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/elf/elf_file.h"
#include "user/host/read_file.h"
#include "trace/base/log.h"

#define SEGMENTS_MAX 4096	 /* real files have about ten */
#define READ_MAX     (64u << 20) /* at once: the code of one function */

static const char cut[] = "is cut short, or damaged: its headers lie beyond its end";
static const char no_memory[] = "cannot be read: out of memory";

/* Reads all of it, or returns false. */
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

void *elf_file_read(const struct elf_file *file, uint64_t offset, uint64_t size)
{
	char *bytes;

	if (offset > file->size || size > file->size - offset || size > READ_MAX)
		return NULL;
	bytes = malloc(size + 1);
	if (!bytes) {
		log_no_memory("while reading the code of a probed file");
		return NULL;
	}
	if (!read_all(file->fd, bytes, size, offset)) {
		free(bytes);
		return NULL;
	}
	bytes[size] = '\0';
	return bytes;
}

/* ---- the header ---- */

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
	/* files of 32 bits have the machine at the same offset */
	if (header->e_ident[EI_DATA] != ELFDATA2LSB)
		return "is for another machine (big-endian)";
	if (size < sizeof(*header))
		return cut;
	if (header->e_machine != ELF_FILE_MACHINE)
		return wrong_machine(header);
	if (header->e_ident[EI_CLASS] != ELFCLASS64)
		return "is a 32-bit program: only 64-bit ones can be probed";
	if (header->e_type == ET_REL)
		return "is an object file that is not linked: name the program or library";
	if (header->e_type == ET_CORE)
		return "is a core dump, not a program or library";
	if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
		return "is neither a program nor a library";
	if (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr))
		return "is damaged: its program headers have a wrong size";
	return NULL;
}

static const char *read_segments(struct elf_file *file, const Elf64_Ehdr *header)
{
	size_t count = header->e_phnum;

	if (!count || !header->e_phoff)
		return "has nothing that could be run (no program headers)";
	if (count > SEGMENTS_MAX)
		return "is damaged: it has too many program headers";
	file->segments = elf_file_read(file, header->e_phoff, count * sizeof(*file->segments));
	if (!file->segments)
		return cut;
	file->nsegments = count;
	return NULL;
}

static const char *read_headers(struct elf_file *file, int *err)
{
	Elf64_Ehdr header = {0};
	const char *wrong;
	struct stat st;
	size_t n;

	*err = -ENOEXEC;
	if (fstat(file->fd, &st)) {
		*err = -errno;
		return strerror(errno);
	}
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? "is a directory" : "is not a regular file";
	file->device = st.st_dev;
	file->inode = st.st_ino;
	file->size = (uint64_t)st.st_size;
	n = file->size < sizeof(header) ? file->size : sizeof(header);
	if (!read_all(file->fd, &header, n, 0)) {
		*err = -EIO;
		return "cannot be read";
	}
	wrong = check_header(&header, n);
	if (wrong)
		return wrong;
	file->entry = header.e_entry;
	return read_segments(file, &header);
}

const char *elf_file_attach(struct elf_file *file, int fd, int *err)
{
	const char *wrong;

	*file = (struct elf_file){.fd = fd};
	wrong = read_headers(file, err);
	if (wrong)
		elf_file_close(file);
	else
		*err = 0;
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
		return "cannot be read: permission denied (needs the rights of its owner, or "
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

const char *elf_file_open(struct elf_file *file, const char *root, const char *path, int *err)
{
	int fd = open_regular(root, path);

	*file = (struct elf_file){.fd = -1};
	if (fd >= 0)
		return elf_file_attach(file, fd, err);
	*err = fd == -EISDIR ? -ENOEXEC : fd;
	return cannot_open(-fd);
}

void elf_file_close(struct elf_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->segments);
	*file = (struct elf_file){.fd = -1};
}

/* ---- addresses and offsets ---- */

bool elf_file_offset(const struct elf_file *file, uint64_t address, uint32_t flags,
		     uint64_t *offset, uint64_t *left)
{
	for (size_t i = 0; i < file->nsegments; i++) {
		const Elf64_Phdr *s = &file->segments[i];
		uint64_t in = address - s->p_vaddr;

		if (s->p_type != PT_LOAD || (s->p_flags & flags) != flags || address < s->p_vaddr ||
		    in >= s->p_filesz)
			continue;
		/* the file may be shorter than its header says */
		if (s->p_offset > file->size || in >= file->size - s->p_offset)
			continue;
		*offset = s->p_offset + in;
		*left = s->p_filesz - in;
		if (*left > file->size - *offset)
			*left = file->size - *offset;
		return true;
	}
	return false;
}

bool elf_file_address(const struct elf_file *file, uint64_t offset, uint32_t flags,
		      uint64_t *address)
{
	for (size_t i = 0; i < file->nsegments; i++) {
		const Elf64_Phdr *s = &file->segments[i];

		if (s->p_type == PT_LOAD && (s->p_flags & flags) == flags &&
		    offset >= s->p_offset && offset - s->p_offset < s->p_filesz) {
			*address = s->p_vaddr + (offset - s->p_offset);
			return true;
		}
	}
	return false;
}

bool elf_file_mapped(const struct elf_file *file, uint64_t offset, uint64_t distance,
		     uint64_t *address)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	const Elf64_Phdr *found = NULL;

	/* two segments may share a page of the file: the mapping begins with one of them */
	for (size_t i = 0; i < file->nsegments; i++) {
		const Elf64_Phdr *s = &file->segments[i];
		uint64_t begin = s->p_offset & ~page;

		if (s->p_type != PT_LOAD || !(s->p_flags & PF_W) || offset < begin ||
		    (offset > s->p_offset && offset - s->p_offset >= s->p_filesz))
			continue;
		if (!found || begin == offset)
			found = s;
	}
	if (!found)
		return false;
	*address = found->p_vaddr + (offset - found->p_offset) + distance;
	return *address >= found->p_vaddr && *address - found->p_vaddr < found->p_memsz;
}

/* ---- in the child: sections ---- */

Elf *elf_section_begin(int fd)
{
	elf_version(EV_CURRENT);
	return elf_begin(fd, ELF_C_READ_MMAP, NULL);
}

Elf_Scn *elf_section_next(Elf *elf, Elf_Scn *after, GElf_Word type, GElf_Shdr *header)
{
	Elf_Scn *section = after;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, header) && header->sh_type != SHT_NOBITS &&
		    (type == SHT_NULL || header->sh_type == type))
			return section;
	return NULL;
}

Elf_Scn *elf_section_named(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_section_next(elf, section, SHT_NULL, header))) {
		const char *found = elf_strptr(elf, names, header->sh_name);

		if (found && !strcmp(found, name))
			return section;
	}
	return NULL;
}

const char *elf_section_dynamic(Elf *elf, GElf_Sxword tag, int *at)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_next(elf, NULL, SHT_DYNAMIC, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Dyn entry;

	while (data && gelf_getdyn(data, (*at)++, &entry) && entry.d_tag != DT_NULL)
		if (entry.d_tag == tag)
			return elf_strptr(elf, header.sh_link, entry.d_un.d_val);
	return NULL;
}
