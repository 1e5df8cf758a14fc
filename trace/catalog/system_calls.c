/* SPDX-License-Identifier: MIT */
#include "trace/catalog/system_calls.h"

#include <pthread.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>

#define NUMBERS 1024 /* above all numbers of calls */

/* Calls that wait for the object of their first argument. */
static const struct {
	const char *name;
	enum call_object object;
} objects[] = {
	{"accept", CALL_OBJECT_FD},	     {"accept4", CALL_OBJECT_FD},
	{"close", CALL_OBJECT_FD},	     {"connect", CALL_OBJECT_FD},
	{"copy_file_range", CALL_OBJECT_FD}, {"epoll_pwait", CALL_OBJECT_FD},
	{"epoll_pwait2", CALL_OBJECT_FD},    {"epoll_wait", CALL_OBJECT_FD},
	{"fallocate", CALL_OBJECT_FD},	     {"fcntl", CALL_OBJECT_FD},
	{"fcntl64", CALL_OBJECT_FD},	     {"fdatasync", CALL_OBJECT_FD},
	{"flock", CALL_OBJECT_FD},	     {"fsync", CALL_OBJECT_FD},
	{"ftruncate", CALL_OBJECT_FD},	     {"ftruncate64", CALL_OBJECT_FD},
	{"futex", CALL_OBJECT_ADDRESS},	     {"futex_time64", CALL_OBJECT_ADDRESS},
	{"futex_wait", CALL_OBJECT_ADDRESS}, {"getdents", CALL_OBJECT_FD},
	{"getdents64", CALL_OBJECT_FD},	     {"io_uring_enter", CALL_OBJECT_FD},
	{"ioctl", CALL_OBJECT_FD},	     {"mq_timedreceive", CALL_OBJECT_FD},
	{"mq_timedsend", CALL_OBJECT_FD},    {"pread64", CALL_OBJECT_FD},
	{"preadv", CALL_OBJECT_FD},	     {"preadv2", CALL_OBJECT_FD},
	{"pwrite64", CALL_OBJECT_FD},	     {"pwritev", CALL_OBJECT_FD},
	{"pwritev2", CALL_OBJECT_FD},	     {"read", CALL_OBJECT_FD},
	{"readv", CALL_OBJECT_FD},	     {"recvfrom", CALL_OBJECT_FD},
	{"recvmmsg", CALL_OBJECT_FD},	     {"recvmsg", CALL_OBJECT_FD},
	{"sendmmsg", CALL_OBJECT_FD},	     {"sendmsg", CALL_OBJECT_FD},
	{"sendto", CALL_OBJECT_FD},	     {"splice", CALL_OBJECT_FD},
	{"sync_file_range", CALL_OBJECT_FD}, {"syncfs", CALL_OBJECT_FD},
	{"vmsplice", CALL_OBJECT_FD},	     {"wait4", CALL_OBJECT_PID},
	{"waitpid", CALL_OBJECT_PID},	     {"write", CALL_OBJECT_FD},
	{"writev", CALL_OBJECT_FD},
};

static const uint32_t machines[CALL_OTHER_MACHINE] = {[CALL_X86_64] = SCMP_ARCH_X86_64,
						      [CALL_I386] = SCMP_ARCH_X86,
						      [CALL_ARM64] = SCMP_ARCH_AARCH64};

struct call {
	const char *name; /* never freed */
	uint8_t object;	  /* enum call_object */
	_Bool restarts;
};

/* CALL_OTHER_MACHINE has none. Filled once, then only read, by any thread. */
static struct call tables[CALL_OTHER_MACHINE + 1][NUMBERS];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static uint8_t object_of(const char *name)
{
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		if (!strcmp(objects[i].name, name))
			return (uint8_t)objects[i].object;
	return CALL_OBJECT_NONE;
}

static void fill_tables(void)
{
	for (int machine = 0; machine < CALL_OTHER_MACHINE; machine++)
		for (int number = 0; number < NUMBERS; number++) {
			const char *name =
				seccomp_syscall_resolve_num_arch(machines[machine], number);

			if (name)
				tables[machine][number] = (struct call){
					name, object_of(name), !strcmp(name, "restart_syscall")};
		}
}

enum call_machine call_machine(const char *name)
{
	if (name && !strcmp(name, "x86_64"))
		return CALL_X86_64;
	if (name && !strcmp(name, "aarch64"))
		return CALL_ARM64;
	return CALL_OTHER_MACHINE;
}

static const struct call *find(enum call_machine machine, uint16_t call)
{
	static const struct call none, fault = {.name = "fault", .object = CALL_OBJECT_ADDRESS};

	if (call == CALL_NONE)
		return &fault;
	if (call & CALL_32BIT)
		machine = machine == CALL_X86_64 ? CALL_I386 : CALL_OTHER_MACHINE;
	call &= (uint16_t)~CALL_32BIT;
	pthread_once(&filled, fill_tables);
	return call < NUMBERS ? &tables[machine][call] : &none;
}

const char *call_name(enum call_machine machine, uint16_t call)
{
	return find(machine, call)->name;
}

enum call_object call_object(enum call_machine machine, uint16_t call)
{
	return (enum call_object)find(machine, call)->object;
}

_Bool call_restarts(enum call_machine machine, uint16_t call)
{
	return find(machine, call)->restarts;
}
