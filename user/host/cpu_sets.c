/* SPDX-License-Identifier: MIT */
#include "user/host/cpu_sets.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/host/topology.h"

#define RANGE_MAX 32 /* more bytes than one range of CPUs and the end of a list take */

static bool has(const uint64_t *bits, unsigned i)
{
	return bits[i / 64] & 1ull << i % 64;
}

uint16_t cpu_sets_number(struct cpu_sets *sets, const struct topology *topology,
			 const uint64_t *bits, unsigned words)
{
	uint64_t cpus[CPU_SETS_WORDS] = {0};
	unsigned n = (words < CPU_SETS_WORDS ? words : CPU_SETS_WORDS) * 64;

	for (unsigned i = 0; i < n && i < topology->size; i++)
		if (topology->index_of[i] >= 0 && has(bits, i))
			cpus[i / 64] |= 1ull << i % 64;
	for (uint16_t i = 0; i < sets->n; i++)
		if (!memcmp(sets->cpus[i], cpus, sizeof(cpus)))
			return i + 1;
	if (sets->n == CPU_SETS_MAX)
		return CPU_SETS_MAX + 1;
	memcpy(sets->cpus[sets->n], cpus, sizeof(cpus));
	return ++sets->n;
}

void cpu_sets_text(const struct cpu_sets *sets, uint16_t number, char text[CPU_SETS_TEXT])
{
	const unsigned n = CPU_SETS_WORDS * 64;
	const uint64_t *cpus;
	size_t size = 0;

	snprintf(text, CPU_SETS_TEXT, number > CPU_SETS_MAX ? "another set of CPUs" : "none");
	if (!number || number > sets->n)
		return;
	cpus = sets->cpus[number - 1];
	for (unsigned first = 0, last; first < n; first = last + 1) {
		last = first;
		if (!has(cpus, first))
			continue;
		while (last + 1 < n && has(cpus, last + 1))
			last++;
		if (size > CPU_SETS_TEXT - RANGE_MAX) {
			snprintf(text + size, CPU_SETS_TEXT - size, ",...");
			return;
		}
		size += (size_t)snprintf(text + size, CPU_SETS_TEXT - size, "%s%u", size ? "," : "",
					 first);
		if (last > first)
			size += (size_t)snprintf(text + size, CPU_SETS_TEXT - size, "-%u", last);
	}
}
