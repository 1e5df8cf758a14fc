/* SPDX-License-Identifier: MIT */
#include "trace/ovni/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS 1024

struct guard {
	atomic_uintptr_t base; /* 0: free */
	atomic_size_t size;
	atomic_bool hit;
	struct guard *next_free; /* under `lock` */
};

/* Blocks are never freed, so the handler may walk them at any time. */
struct block {
	_Atomic(struct block *) next;
	struct guard slots[SLOTS];
};

static _Atomic(struct block *) blocks;
static atomic_size_t count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct guard *free_slots; /* under `lock` */
static struct sigaction previous;
static uintptr_t page;

static struct guard *find(uintptr_t address)
{
	for (struct block *b = atomic_load(&blocks); b; b = atomic_load(&b->next)) {
		for (size_t i = 0; i < SLOTS; i++) {
			uintptr_t base = atomic_load(&b->slots[i].base);

			if (base && address - base < atomic_load(&b->slots[i].size))
				return &b->slots[i];
		}
	}
	return NULL;
}

static bool put_zeros(uintptr_t from, uintptr_t to)
{
	return mmap((void *)from, to - from, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	uintptr_t address = (uintptr_t)info->si_addr, end;
	struct guard *guard = find(address);
	int saved = errno;

	(void)context;
	if (guard) {
		atomic_store(&guard->hit, true);
		end = (atomic_load(&guard->base) + atomic_load(&guard->size) + page - 1) &
		      ~(page - 1);
		/* at the limit of mappings, replacing the whole range needs no further one */
		if (put_zeros(address & ~(page - 1), end) ||
		    put_zeros(atomic_load(&guard->base), end)) {
			errno = saved;
			return;
		}
	}
	/* outside guarded ranges the previous handler gets the signal of the repeated access */
	sigaction(sig, &previous, NULL);
	if (info->si_code <= 0)
		raise(sig); /* sent by a process: no access repeats */
	errno = saved;
}

/* Installs the handler. The caller has `lock`. */
static void install(void)
{
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO}, now;

	if (sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction == on_sigbus)
		return;
	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	previous = now;
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

struct guard *guard_add(const void *base, size_t size)
{
	struct guard *guard = NULL;

	pthread_mutex_lock(&lock);
	if (atomic_load(&count) == 0)
		install(); /* again: another library may have replaced the handler */
	if (!free_slots) {
		struct block *block = calloc(1, sizeof(*block));

		if (!block)
			goto out;
		for (size_t i = 0; i < SLOTS; i++) {
			block->slots[i].next_free = free_slots;
			free_slots = &block->slots[i];
		}
		atomic_store(&block->next, atomic_load(&blocks));
		atomic_store(&blocks, block);
	}
	guard = free_slots;
	free_slots = guard->next_free;
	atomic_store(&guard->hit, false);
	atomic_store(&guard->size, size);
	atomic_store(&guard->base, (uintptr_t)base);
	atomic_fetch_add(&count, 1);
out:
	pthread_mutex_unlock(&lock);
	return guard;
}

void guard_remove(struct guard *guard)
{
	if (!guard)
		return;
	pthread_mutex_lock(&lock);
	atomic_store(&guard->base, 0);
	guard->next_free = free_slots;
	free_slots = guard;
	atomic_fetch_sub(&count, 1);
	pthread_mutex_unlock(&lock);
}

bool guard_hit(const struct guard *guard)
{
	return guard && atomic_load(&guard->hit);
}

size_t guard_count(void)
{
	return atomic_load(&count);
}
