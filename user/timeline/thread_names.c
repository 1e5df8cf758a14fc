/* SPDX-License-Identifier: MIT */
/* thread_names: see thread_names.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/timeline/thread_names.h"
#include "trace/base/array.h"
#include "trace/base/hash.h"
#include "trace/base/json.h"
#include "user/host/read_file.h"
#include "user/writer/writer.h"

#define WORDS (NAMES_TID_MAX / 64)

struct entry {
	uint32_t tid;
	bool copied; /* from the names of the trace before */
	char comm[RECORD_COMM_SIZE];
};

/* By tid; written by the draining thread (names_add) and the writer thread (look_up). */
struct names_table {
	pthread_mutex_t lock;
	struct entry *entries; /* nentries of them */
	size_t nentries;
	struct hash index_of;
	const char *proc;
};

struct lookup {
	struct names_table *table;
	uint32_t tid;
};

int names_init(struct names *names, struct writer *writer, const char *proc)
{
	memset(names, 0, sizeof(*names));
	names->writer = writer;
	names->proc = proc;
	names->mentioned = calloc(WORDS, sizeof(*names->mentioned));
	names->streams = calloc(WORDS, sizeof(*names->streams));
	names->table = calloc(1, sizeof(*names->table));
	if (!names->mentioned || !names->streams || !names->table) {
		free(names->table);
		names->table = NULL;
		names_fini(names);
		return -ENOMEM;
	}
	names->table->proc = proc;
	pthread_mutex_init(&names->table->lock, NULL);
	return 0;
}

void names_fini(struct names *names)
{
	if (names->table) {
		pthread_mutex_destroy(&names->table->lock);
		free(names->table->entries);
		hash_free(&names->table->index_of);
		free(names->table);
	}
	free(names->mentioned);
	free(names->streams);
	memset(names, 0, sizeof(*names));
}

/* Without memory the name stays unknown, which the metadata allows. */
static void keep_name(struct names_table *table, uint32_t tid, const char *comm, bool copied)
{
	struct entry *entry;
	uint32_t *index;

	pthread_mutex_lock(&table->lock);
	index = hash_at(&table->index_of, (struct hash_key){.a = tid});
	if (index && *index == HASH_NONE) {
		entry = ARRAY_ADD(table->entries, table->nentries);
		if (entry) {
			*index = (uint32_t)(entry - table->entries);
			entry->tid = tid;
			entry->copied = copied;
			memcpy(entry->comm, comm, sizeof(entry->comm));
			entry->comm[sizeof(entry->comm) - 1] = '\0';
		}
	}
	pthread_mutex_unlock(&table->lock);
}

static bool find_name(struct names_table *table, uint32_t tid, char *comm)
{
	uint32_t index;

	pthread_mutex_lock(&table->lock);
	index = hash_get(&table->index_of, (struct hash_key){.a = tid});
	if (index != HASH_NONE && comm)
		memcpy(comm, table->entries[index].comm, RECORD_COMM_SIZE);
	pthread_mutex_unlock(&table->lock);
	return index != HASH_NONE;
}

/* In the writer's thread: /proc/TID exists for each thread, though it is not listed. */
static void look_up(void *arg)
{
	struct lookup *lookup = arg;
	char path[256], comm[RECORD_COMM_SIZE + 1] = "", *text;
	size_t n = 0;

	snprintf(path, sizeof(path), "%s/%u/comm", lookup->table->proc, lookup->tid);
	text = read_file(AT_FDCWD, path, 0, sizeof(comm) - 1, &n);
	if (n > 0) {
		if (text[n - 1] == '\n')
			text[n - 1] = '\0';
		memcpy(comm, text, n);
		keep_name(lookup->table, lookup->tid, comm, false);
	}
	free(text);
	free(lookup);
}

void names_first(struct names *names, uint32_t tid)
{
	struct lookup *lookup;

	names->mentioned[tid >> 6] |= 1ull << (tid & 63);
	if (!names->proc || names->streams[tid >> 6] >> (tid & 63) & 1 ||
	    find_name(names->table, tid, NULL))
		return;
	lookup = malloc(sizeof(*lookup));
	if (!lookup)
		return;
	*lookup = (struct lookup){.table = names->table, .tid = tid};
	if (writer_run(names->writer, look_up, lookup))
		free(lookup);
}

void names_has_stream(struct names *names, uint32_t tid)
{
	if (tid < NAMES_TID_MAX)
		names->streams[tid >> 6] |= 1ull << (tid & 63);
}

void names_add(struct names *names, uint32_t tid, const char comm[RECORD_COMM_SIZE])
{
	if (tid && tid < NAMES_TID_MAX)
		keep_name(names->table, tid, comm, false);
}

void names_copy(struct names *names, const struct names *from)
{
	struct names_table *table = from->table;

	pthread_mutex_lock(&table->lock);
	for (size_t i = 0; i < table->nentries; i++) {
		const struct entry *entry = &table->entries[i];

		if (!entry->copied || from->mentioned[entry->tid >> 6] >> (entry->tid & 63) & 1)
			keep_name(names->table, entry->tid, entry->comm, true);
	}
	pthread_mutex_unlock(&table->lock);
}

void names_put(struct names *names, struct json *object)
{
	for (size_t word = 0; word < WORDS; word++) {
		uint64_t bits = names->mentioned[word] & ~names->streams[word];

		for (; bits; bits &= bits - 1) {
			uint32_t tid = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits);
			char comm[RECORD_COMM_SIZE], key[16];

			if (!find_name(names->table, tid, comm))
				continue;
			snprintf(key, sizeof(key), "%u", tid);
			json_add_string(object, key, comm);
		}
	}
}
