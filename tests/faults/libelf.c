/* SPDX-License-Identifier: MIT */
/*
 * Makes libelf crash, as a bug in it would, where it reads a section. With FAULT_ELF=uid in the
 * environment it reports instead, once, the user that reads it.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *elf_getdata(void *section, void *data);

void *elf_getdata(void *section, void *data)
{
	void *(*real)(void *, void *) = (void *(*)(void *, void *))dlsym(RTLD_NEXT, "elf_getdata");
	const char *mode = getenv("FAULT_ELF");
	static int told;

	if (!mode)
		raise(SIGSEGV);
	if (!told++ && mode && !strcmp(mode, "uid"))
		dprintf(STDERR_FILENO, "read by uid %d\n", (int)geteuid());
	return real(section, data);
}
