/* SPDX-License-Identifier: MIT */
#include "user/kernel/user_stack_ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "user/kernel/bpf_load.h"
#include "user/config/config.h"
#include "bpf/ovni.skel.h"
#include "trace/base/log.h"

struct user_stack_ring {
	struct ring_buffer *buffer;
	user_stack_taker take;
	void *arg;
};

static int sample(void *context, void *data, size_t size)
{
	const struct user_stack_ring *ring = context;
	const struct user_stack *stack = data;

	/* a record may end behind its last byte of the stack; one of a process has no stack */
	if (size >= USER_STACK_PROCESS_SIZE && size <= sizeof(*stack) &&
	    (!stack->number || (size >= offsetof(struct user_stack, stack) &&
				stack->bytes <= size - offsetof(struct user_stack, stack))))
		ring->take(ring->arg, stack);
	return 0;
}

struct user_stack_ring *user_stack_ring_open(const struct bpf_load *bpf)
{
	struct user_stack_ring *ring = calloc(1, sizeof(*ring));

	if (ring)
		ring->buffer = ring_buffer__new(bpf_map__fd(bpf->skeleton->maps.user_stack_ring),
						sample, ring, NULL);
	if (ring && ring->buffer)
		return ring;
	log_error("cannot open the ring of stacks: %s", strerror(ring ? errno : ENOMEM));
	free(ring);
	return NULL;
}

void user_stack_ring_close(struct user_stack_ring *ring)
{
	if (ring)
		ring_buffer__free(ring->buffer);
	free(ring);
}

int user_stack_ring_poll(void *to, int timeout_ms, user_stack_taker take, void *arg)
{
	struct user_stack_ring *ring = to;

	ring->take = take;
	ring->arg = arg;
	return timeout_ms ? ring_buffer__poll(ring->buffer, timeout_ms)
			  : ring_buffer__consume(ring->buffer);
}
