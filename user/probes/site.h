/* SPDX-License-Identifier: MIT */
/*
 * site: one position in a file where a probe is placed, and the value that it reads.
 *
 * Requests (request.h: -u, --usdt, --api) are resolved into sites (resolve.h), which reads the
 * files; attaching (attach.h) reads only the code at the sites. Pure data; strings belong to the
 * set of sites that holds them. Invariant: no two sites of a set have the same file, offset and
 * kind. Specification: ebpf.md 11; event-mapping.md "User probes and marks", "Library APIs".
 */
#ifndef USER_PROBES_SITE_H
#define USER_PROBES_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum site_kind {
	SITE_FUNCTION, /* entry and return: a pair */
	SITE_POINT,    /* one event: inside a function, or a USDT probe */
};

#define SITE_VALUES_MAX 8 /* of one probe */

/* The source of the value of an event. */
enum site_source {
	SITE_NOTHING,  /* the function itself is the value: its id */
	SITE_ARGUMENT, /* integer argument `number`, from 1, read at the entry */
	SITE_RETURN,   /* the returned value */
	SITE_CONSTANT, /* USDT: `constant` */
	SITE_REGISTER, /* USDT: a register */
	SITE_MEMORY,   /* USDT: the memory at register + constant; the instruction pointer as
			  a register is the address of the probe itself */
};

struct site_value {
	enum site_source source;
	unsigned number; /* of the argument, also of a USDT probe */
	unsigned reg;	 /* offset of the register in struct pt_regs */
	int64_t constant;
	unsigned bytes; /* 1, 2, 4 or 8 */
	bool is_signed;
	bool follow;	/* of an argument: the memory `constant` bytes behind where it points */
	bool at_return; /* follow: read at the return; the pointer is that of the entry */
	bool is_address; /* of a variable, which gets a name in the trace */
};

struct site {
	enum site_kind kind;
	const char *path;   /* to attach to; may be below /proc/PID/root */
	const char *binary; /* the name of the file, for messages */
	dev_t device;	    /* with inode: the identity of the file */
	ino_t inode;
	uint64_t offset;    /* in the file, bytes: the function's first, or the point's */
	uint64_t size;	    /* of the function, bytes; 0: unknown */
	uint64_t semaphore; /* USDT: file offset of the semaphore; 0: none */
	const char *symbol; /* from the file; NULL: none (an address) */
	const char *label;  /* in the trace: demangled, made distinct between binaries */
	union {
		struct site_value value;		   /* the first */
		struct site_value values[SITE_VALUES_MAX]; /* up to the first SITE_NOTHING */
	};
	bool unwinds;	  /* a return probe may end the program: see unwind.h */
	uint32_t request; /* index of its request */
};

#endif
