/* SPDX-License-Identifier: MIT */
#include "trace/states/sleep_call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/log.h"
#include "trace/base/text.h"

#define SIZE_PLAIN  6  /* bytes of OHp without a call, */
#define SIZE_CALL   8  /* with it, */
#define SIZE_OBJECT 16 /* and with its argument; 14 are those of an event after a loss */
#define SIZE_WAKER  4  /* bytes of OHw without an owner, */
#define SIZE_OWNER  8  /* with it, */
#define SIZE_DEVICE 4  /* bytes of OHr before the device */
#define SIZE_DETAIL 16 /* and with all that may follow; 12 are those of an event after a loss */

struct sleep_call sleep_call_of(const struct event *ev)
{
	struct sleep_call call = {.call = CALL_UNKNOWN};
	uint32_t mcv = event_mcv(ev);

	if ((mcv != MCV('O', 'H', 'p') && mcv != MCV('K', 'C', 'O')) || ev->jumbo ||
	    (ev->payload_size != SIZE_CALL && ev->payload_size != SIZE_OBJECT))
		return call;
	call.call = get_u16(ev->payload + SIZE_PLAIN);
	call.with_object = ev->payload_size == SIZE_OBJECT;
	if (call.with_object)
		call.object = get_u64(ev->payload + SIZE_CALL);
	call.kernel_lock = call.object & CALL_LOCK_OF_KERNEL &&
			   get_u16(ev->payload) == OFF_CPU_UNINTERRUPTIBLE;
	return call;
}

int32_t sleep_lock_owner(const struct event *ev)
{
	uint32_t mcv = event_mcv(ev);

	if ((mcv != MCV('O', 'H', 'w') && mcv != MCV('K', 'C', 'I')) || ev->jumbo ||
	    (ev->payload_size != SIZE_OWNER && ev->payload_size != SIZE_DETAIL))
		return LOCK_OWNER_UNKNOWN;
	return get_i32(ev->payload + SIZE_WAKER);
}

uint32_t sleep_stack(const struct event *ev)
{
	uint32_t mcv = event_mcv(ev);

	if (ev->jumbo || ev->payload_size != SIZE_DETAIL)
		return 0;
	if (mcv == MCV('O', 'H', 'r')) /* else the request of an I/O sleep */
		return get_u32(ev->payload + SIZE_DEVICE) ? 0 : get_u32(ev->payload + SIZE_OWNER);
	return mcv == MCV('O', 'H', 'w') || mcv == MCV('K', 'C', 'I')
		       ? get_u32(ev->payload + SIZE_OWNER)
		       : 0;
}

uint32_t sleep_device_us(const struct event *ev)
{
	uint32_t mcv = event_mcv(ev);

	if ((mcv != MCV('O', 'H', 'w') && mcv != MCV('K', 'C', 'I')) || ev->jumbo ||
	    ev->payload_size != SIZE_DETAIL)
		return 0;
	return get_u32(ev->payload + SIZE_OWNER + sizeof(uint32_t));
}

int sleep_call_descriptor(const struct owner *owner, int32_t fd, int64_t begin, int64_t end)
{
	const struct fd_name *fds = owner->fds;
	int before = -1, after = -1;

	for (size_t i = 0; i < owner->nfds; i++) {
		if (fds[i].fd != fd)
			continue;
		if (fds[i].from <= begin && (before < 0 || fds[i].from >= fds[before].from))
			before = (int)i;
		if (fds[i].from > begin && (after < 0 || fds[i].from < fds[after].from))
			after = (int)i;
	}
	if (before >= 0 && begin <= fds[before].to)
		return before;
	if (after >= 0 && fds[after].from <= end)
		return after;
	if (before >= 0 && clock_distance(fds[before].to, begin) > SLEEP_NAME_NS)
		before = -1;
	if (after >= 0 && clock_distance(begin, fds[after].from) > SLEEP_NAME_NS)
		after = -1;
	if (before >= 0 && after >= 0)
		return -1; /* two names, one after the other: which one is not known */
	return before >= 0 ? before : after;
}

int sleep_call_futex(const struct owner *owner, uint64_t address, int64_t end)
{
	int found = -1;

	for (size_t i = 0; owner && i < owner->nfutexes; i++)
		if (owner->futexes[i].address == address &&
		    (found < 0 || owner->futexes[i].from <= end))
			found = (int)i;
	return found;
}

/* The index of the name of its futex, or -1. */
static int futex_of(const struct sleep_call *call, enum call_machine machine,
		    const struct owner *owner, int64_t end)
{
	if (!call->with_object || call->kernel_lock || call->call == CALL_NONE ||
	    call_object(machine, call->call) != CALL_OBJECT_ADDRESS)
		return -1;
	return sleep_call_futex(owner, call->object, end);
}

struct hash_key sleep_call_key(const struct sleep_call *call, enum call_machine machine,
			       const struct owner *owner, int64_t begin, int64_t end)
{
	struct hash_key key = {.c = call->call};
	int futex = futex_of(call, machine, owner, end);

	if (call->kernel_lock)
		key.b = UINT64_MAX; /* all of them */
	else if (futex >= 0)
		key.b = 1ull << 63 | (uint32_t)futex;
	else if (call->with_object && call_object(machine, call->call) == CALL_OBJECT_FD)
		key.b = (call->object & UINT32_MAX) << 32 | 1u << 31 |
			(uint32_t)(sleep_call_descriptor(owner, (int32_t)call->object, begin, end) +
				   1);
	return key;
}

/* "3 = /data"; "anon_inode:[eventfd]" is an eventfd. */
static char *descriptor_text(const struct owner *owner, int32_t fd, int64_t begin, int64_t end)
{
	static const char anonymous[] = "anon_inode:";
	int at = sleep_call_descriptor(owner, fd, begin, end);
	const char *name;
	size_t len;

	if (at < 0)
		return xasprintf("%" PRIi32, fd);
	name = owner->fds[at].name;
	if (!strncmp(name, anonymous, sizeof(anonymous) - 1))
		name += sizeof(anonymous) - 1;
	len = strlen(name);
	if (len > 1 && name[0] == '[' && name[len - 1] == ']')
		return xasprintf("%" PRIi32 " = %.*s", fd, (int)len - 2, name + 1);
	return xasprintf("%" PRIi32 " = %s", fd, name);
}

char *sleep_object_text(const struct sleep_call *call, enum call_machine machine,
			const struct owner *owner, int64_t begin, int64_t end)
{
	int futex = futex_of(call, machine, owner, end);
	char *text, *shown;

	if (futex >= 0)
		return strdup(text_shown(owner->futexes[futex].name));
	if (call->kernel_lock)
		return xasprintf("kernel lock %" PRIx64,
				 (uint64_t)(call->object & ~CALL_LOCK_OF_KERNEL));
	if (!call->with_object)
		return strdup("");
	switch (call_object(machine, call->call)) {
	case CALL_OBJECT_FD:
		text = descriptor_text(owner, (int32_t)call->object, begin, end);
		shown = text ? strdup(text_shown(text)) : NULL;
		free(text);
		return shown;
	case CALL_OBJECT_ADDRESS:
		return xasprintf("0x%" PRIx64, call->object);
	case CALL_OBJECT_PID:
		return xasprintf("%" PRIi32, (int32_t)call->object);
	default:
		return strdup("");
	}
}

char *sleep_call_text(const struct sleep_call *call, enum call_machine machine,
		      const struct owner *owner, int64_t begin, int64_t end, bool exact)
{
	const char *name = call_name(machine, call->call);
	const char *table = call->call != CALL_NONE && call->call & CALL_32BIT ? "32-bit " : "";
	char *object = NULL, *text;

	if (!name)
		return xasprintf("%scall %d%s", table, call->call & ~CALL_32BIT,
				 call->kernel_lock ? ", kernel lock" : "");
	if (call->kernel_lock && !(exact && call->with_object))
		return xasprintf("%s%s, kernel lock", table, name);
	if (exact || call_object(machine, call->call) == CALL_OBJECT_FD ||
	    futex_of(call, machine, owner, end) >= 0)
		object = sleep_object_text(call, machine, owner, begin, end);
	else
		object = strdup("");
	if (!object)
		return NULL;
	if (call->kernel_lock)
		text = xasprintf("%s%s, %s", table, name, object);
	else if (*object)
		text = xasprintf("%s%s(%s)", table, name, object);
	else
		text = xasprintf("%s%s", table, name);
	free(object);
	return text;
}

enum call_machine *sleep_machines(const struct source *source)
{
	size_t n = source->trace.nstreams, nsessions = 0;
	enum call_machine *machines = calloc(n + 1, sizeof(*machines));
	const struct owner **sessions = calloc(n + 1, sizeof(const struct owner *));

	if (!machines || !sessions) {
		log_no_memory("for the %zu streams of %s", n, source->trace.path);
		free(machines);
		machines = NULL;
		goto out;
	}
	for (size_t i = 0; i < n; i++)
		if (source->owners[i].machine)
			sessions[nsessions++] = &source->owners[i];
	for (size_t i = 0; i < n; i++) {
		const char *loom = source->owners[i].loom;

		machines[i] = CALL_OTHER_MACHINE;
		for (size_t s = 0; loom && s < nsessions; s++)
			if (sessions[s]->loom && !strcmp(sessions[s]->loom, loom)) {
				machines[i] = call_machine(sessions[s]->machine);
				break;
			}
	}
out:
	free(sessions);
	return machines;
}
