/* SPDX-License-Identifier: MIT */
#include "emu/models/sleep_objects.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/base/array.h"
#include "trace/base/text.h"

#define BY_LABEL UINT32_MAX /* in a key: of the second table */

int sleep_objects_init(struct sleep_objects *o, size_t nstreams)
{
	o->owners = calloc(nstreams + 1, sizeof(*o->owners));
	o->nstreams = o->owners ? nstreams : 0;
	return o->owners ? 0 : -ENOMEM;
}

int sleep_objects_metadata(struct sleep_objects *o, const struct json *meta, size_t stream)
{
	return owner_init(&o->owners[stream], meta);
}

int sleep_objects_start(struct sleep_objects *o, const struct emulator *emu)
{
	o->machines = calloc(emu->sys.nlooms + 1ul, sizeof(*o->machines));
	if (!o->machines)
		return -ENOMEM;
	for (size_t i = 0; i < emu->sys.nlooms; i++)
		o->machines[i] = CALL_OTHER_MACHINE;
	for (size_t i = 0; i < o->nstreams; i++)
		if (o->owners[i].machine)
			o->machines[emu->sys.thread_of_stream[i]->process->loom - emu->sys.looms] =
				call_machine(o->owners[i].machine);
	return 0;
}

void sleep_objects_fini(struct sleep_objects *o)
{
	for (size_t i = 0; i < o->nstreams; i++)
		owner_fini(&o->owners[i]);
	for (size_t i = 0; i < o->nlabels; i++)
		free(o->labels[i]);
	free(o->owners);
	free(o->machines);
	free(o->labels);
	free(o->objects);
	hash_free(&o->at);
}

static enum call_machine machine_of(const struct sleep_objects *o, const struct emulator *emu,
				    const struct thread *th)
{
	return o->machines[th->process->loom - emu->sys.looms];
}

/*
 * The value of a call among those of its machine: 1 a fault, 2n + 2 a call, 2n + 3 one of the
 * 32-bit table. Paraver shows values that are near each other in a column each, others in ranges.
 */
static uint32_t value_of_call(uint16_t call)
{
	return 1u + (uint16_t)((call << 1 | call >> 15) + 1);
}

static uint16_t call_of_value(uint32_t value)
{
	uint16_t turned = (uint16_t)(value - 2u);

	return (uint16_t)(turned >> 1 | turned << 15);
}

int64_t sleep_objects_call(struct sleep_objects *o, const struct emulator *emu,
			   const struct thread *th, const struct sleep_call *call)
{
	uint32_t value;

	if (call->call == CALL_UNKNOWN)
		return 0;
	value = (uint32_t)machine_of(o, emu, th) * CALL_RANGE + value_of_call(call->call);
	o->seen[value / 64] |= 1ull << value % 64;
	return value;
}

/* ---- objects ---- */

/* "3 = /data, app (1200)"; for free(). "" if the object is not known, NULL without memory. */
static char *label_of(const struct sleep_objects *o, const struct emulator *emu,
		      const struct thread *th, const struct sleep_call *call, int64_t begin,
		      int64_t end)
{
	const struct loom *loom = th->process->loom;
	enum call_machine machine = machine_of(o, emu, th);
	char *object = sleep_object_text(call, machine, &o->owners[th->stream], begin, end);
	const struct thread *leader;
	const char *name;
	char *label, *longer;

	if (!object || !*object)
		return object;
	leader = system_find_thread(&emu->sys, loom, th->process, th->process->pid);
	name = leader && leader->name ? leader->name : "process";
	if (call->kernel_lock)
		label = strdup(object);
	else if (call_object(machine, call->call) == CALL_OBJECT_PID)
		label = xasprintf("process %s", object);
	else if (call_object(machine, call->call) == CALL_OBJECT_FD && !strchr(object, '='))
		label = xasprintf("descriptor %s, %s (%" PRIi32 ")", object, name,
				  th->process->pid);
	else
		label = xasprintf("%s, %s (%" PRIi32 ")", object, name, th->process->pid);
	free(object);
	/* Paraver leaves out what is in square brackets, as the number in "pipe:[2749556]" */
	for (char *at = label; at && *at; at++)
		*at = *at == '[' ? '(' : *at == ']' ? ')' : *at;
	if (!label || emu->sys.nlooms < 2)
		return label;
	longer = xasprintf("%s on %s", label, loom->name);
	free(label);
	return longer;
}

/* A key that depends on each byte, and that no file can choose. */
static struct hash_key key_of_label(const char *label)
{
	struct hash_key key = {.b = strlen(label), .c = BY_LABEL};
	uint64_t bytes;

	for (size_t i = 0; i < key.b; i += sizeof(bytes)) {
		bytes = 0;
		memcpy(&bytes, label + i, key.b - i < sizeof(bytes) ? key.b - i : sizeof(bytes));
		key.a = hash_secret(key.a ^ bytes);
	}
	return key;
}

/* Takes the label, and stores the value less 1 of the object that has it. */
static int add_object(struct sleep_objects *o, char *label, uint32_t *number)
{
	uint32_t *at = hash_at(&o->at, key_of_label(label)), *object;
	char **added;

	if (!at || *at != HASH_NONE) {
		*number = at ? *at : 0;
		free(label);
		return at ? 0 : -ENOMEM;
	}
	added = ARRAY_ADD(o->labels, o->nlabels);
	if (!added) {
		free(label);
		return -ENOMEM;
	}
	*added = label;
	object = ARRAY_ADD(o->objects, o->nobjects);
	if (!object)
		return -ENOMEM;
	*object = (uint32_t)(o->nlabels - 1);
	*number = *at = (uint32_t)(o->nobjects - 1);
	return 0;
}

int sleep_objects_object(struct sleep_objects *o, const struct emulator *emu,
			 const struct thread *th, const struct sleep_call *call, int64_t begin,
			 int64_t end, int64_t *value)
{
	enum call_machine machine = machine_of(o, emu, th);
	enum call_object kind = call_object(machine, call->call);
	struct hash_key key = {.a = call->object, .b = th->stream, .c = (uint32_t)kind};
	uint32_t *at, number = 0;
	char *label;
	int err;

	*value = 0;
	if (!call->with_object || (kind == CALL_OBJECT_NONE && !call->kernel_lock))
		return 0;
	if (call->kernel_lock)
		key.c = CALL_OBJECT_NONE;
	else if (kind == CALL_OBJECT_FD)
		key.a = (call->object & UINT32_MAX) << 32 |
			(uint32_t)(sleep_call_descriptor(&o->owners[th->stream],
							 (int32_t)call->object, begin, end) +
				   1);
	at = hash_at(&o->at, key);
	if (!at)
		return -ENOMEM;
	if (*at == HASH_NONE) {
		label = label_of(o, emu, th, call, begin, end);
		err = label ? add_object(o, label, &number) : -ENOMEM;
		at = err ? NULL : hash_at(&o->at, key); /* it may have moved */
		if (!at)
			return -ENOMEM;
		*at = number;
	}
	*value = (int64_t)*at + 1;
	return 0;
}

/* ---- labels ---- */

int sleep_objects_describe(struct sleep_objects *o, struct channel *calls, struct channel *objects)
{
	for (size_t i = 0; i < o->nobjects; i++)
		if (channel_add_label(objects, (int64_t)i + 1, o->labels[o->objects[i]]))
			return -ENOMEM;
	for (uint32_t value = 1; value < CALL_VALUES; value++) {
		struct sleep_call call = {.call = call_of_value(value % CALL_RANGE)};
		char *label, **added;

		if (!(o->seen[value / 64] >> value % 64 & 1))
			continue;
		label = sleep_call_text(&call, (enum call_machine)(value / CALL_RANGE), NULL, 0, 0,
					false);
		added = label ? ARRAY_ADD(o->labels, o->nlabels) : NULL;
		if (!added) {
			free(label);
			return -ENOMEM;
		}
		*added = label;
		if (channel_add_label(calls, value, label))
			return -ENOMEM;
	}
	return 0;
}
