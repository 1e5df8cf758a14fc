/* SPDX-License-Identifier: MIT */
/*
 * told: the stays on physical CPUs in the streams of a trace.
 *
 * In: stream.obs files, found below a folder; out: threads[]->told. It has a reader of its own, on
 * purpose: it must not share a mistake with the judged program.
 */
#ifndef TESTS_LIVE_TOLD_H
#define TESTS_LIVE_TOLD_H

#include <ftw.h>
#include <inttypes.h>

#include "stays.h"

static uint64_t holes_told; /* OHp with why 11 */

static int16_t phyid_of[MAX_CPUS];
static int nphyids;

static int32_t get_i32(const uint8_t *at)
{
	int32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static enum leave leave_of_why(unsigned why)
{
	return why == 11 ? LOST : why == 6 || why == 7 || why == 12 ? PREEMPTED : BLOCKED;
}

static int16_t cpu_of_index(int32_t index)
{
	if (index < -1 || index >= nphyids)
		fail("CPU index %d", index);
	return index < 0 ? -1 : phyid_of[index];
}

/* The stays on physical CPUs of one stream. `tid` is in the path. */
static void read_stream(const char *path, int tid)
{
	struct thread *thread = thread_of(tid);
	const uint8_t *at, *end;
	struct stay *stay = NULL;
	uint64_t clock = 0, woken = 0;
	int32_t waker = 0;
	bool running = false;
	int16_t cpu = -1;
	size_t size;

	at = map_file(path, &size);
	end = at + size;
	if (size < 8 || memcmp(at, "ovni\1\0\0\0", 8))
		fail("%s is not a stream", path);
	for (at += 8; at < end;) {
		size_t payload = (at[0] & 15) ? (size_t)(at[0] & 15) + 1 : 0;
		const uint8_t *data = at + 12;
		bool enters_now = false, leaves_now = false;
		enum leave leave = ENDED;
		uint64_t now;
		char mcv[4] = {0};
		unsigned why = 0;

		if ((size_t)(end - at) < 12 + payload)
			fail("%s: an event is cut short", path);
		memcpy(mcv, at + 1, 3);
		memcpy(&now, at + 4, sizeof(now));
		if (now < clock)
			fail("%s: the clock falls from %" PRIu64 " to %" PRIu64, path, clock, now);
		clock = now;
		at += 12 + payload;
		if (!strcmp(mcv, "OHx") && payload >= 4) {
			cpu = cpu_of_index(get_i32(data));
			enters_now = true;
			woken = 0;
		} else if (!strcmp(mcv, "OHr")) {
			enters_now = true;
		} else if (!strcmp(mcv, "OAs") && payload >= 4) {
			cpu = cpu_of_index(get_i32(data));
		} else if (!strcmp(mcv, "OHw")) {
			woken = clock;
			waker = payload >= 4 ? get_i32(data) : 0;
		} else if (!strcmp(mcv, "OHp")) {
			leaves_now = true;
			why = payload >= 2 ? data[0] | (unsigned)data[1] << 8 : 0;
			leave = leave_of_why(why);
		} else if (!strcmp(mcv, "OHe")) {
			leaves_now = true;
		}
		if (enters_now && running)
			fail("%s: two entries, at %" PRIu64, path, clock);
		if (leaves_now && !running)
			fail("%s: left without being there, at %" PRIu64, path, clock);
		if (enters_now)
			running = true;
		if (enters_now && cpu >= 0) {
			stay = stays_add(&thread->told);
			stay->in = clock;
			stay->cpu = cpu;
			stay->woken = woken;
			stay->waker = waker;
			stay->leave = STILL_THERE;
			stay->out = UINT64_MAX;
		}
		if (leaves_now) {
			running = false;
			woken = 0;
			if (stay) {
				stay->out = clock;
				stay->leave = (uint8_t)leave;
				stay->state = (uint8_t)why;
				if (leave == LOST && !thread->hidden)
					holes_told++;
			}
			stay = NULL;
		}
	}
	if (running)
		fail("%s: its thread is not dead at the end", path);
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *tid;

	(void)st;
	(void)ftw;
	if (type != FTW_F || strcmp(strrchr(path, '/') + 1, "stream.obs"))
		return 0;
	tid = strstr(path, "/thread.");
	if (!tid)
		fail("%s: no thread in its path", path);
	read_stream(path, atoi(tid + strlen("/thread.")));
	return 0;
}

/* CPUs online as sysfs lists them; the index of one is its place. */
static void read_topology(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	int first, last, c;

	if (!file)
		fail("cannot read the CPUs online: %s", strerror(errno));
	while (fscanf(file, "%d", &first) == 1) {
		last = first;
		c = fgetc(file);
		if (c == '-') {
			if (fscanf(file, "%d", &last) != 1)
				fail("list of CPUs online");
			c = fgetc(file);
		}
		for (; first <= last && nphyids < MAX_CPUS; first++)
			phyid_of[nphyids++] = (int16_t)first;
		if (c != ',')
			break;
	}
	fclose(file);
}

#endif
