/* SPDX-License-Identifier: MIT */
/*
 * interrupts: two threads that compute, one on a CPU with a storm of timer interrupts.
 *
 * "flooded" runs on one CPU, on which a timer of the kernel fires `f` times a second (a software
 * perf event), "quiet" on another one. Both compute for a time, and say when.
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "workload.h"

static long work_ms = 1000, hz = 10000, cpu = 1, priority = 0;

static const struct knob knobs[] = {
	{'m', &work_ms, "time of the work, ms"},
	{'f', &hz, "interrupts per second"},
	{'c', &cpu, "place of the flooded CPU among those allowed"},
	{'r', &priority, "real-time priority of both, 0: none"},
	{0, NULL, NULL},
};

static void compute(const char *name, int where)
{
	struct sched_param param = {.sched_priority = (int)priority};
	int64_t begin, end;

	name_thread("%s", name);
	pin(where);
	must(!priority || !sched_setscheduler(0, SCHED_FIFO, &param), "sched_setscheduler");
	begin = now_ns();
	work_for(work_ms * MSEC);
	end = now_ns();
	say("%s=%d cpu=%d begin=%lld end=%lld", name, gettid(), where, (long long)begin,
	    (long long)end);
}

static void *quiet(void *arg)
{
	(void)arg;
	compute("quiet", allowed_cpu(!cpu));
	return NULL;
}

static void *flooded(void *arg)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = (uint64_t)(1000000000 / hz),
	};
	int where = allowed_cpu((int)cpu);
	long event = syscall(SYS_perf_event_open, &attr, -1, where, -1, 0ul);

	(void)arg;
	must(event >= 0, "perf_event_open");
	compute("flooded", where);
	close((int)event);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;

	workload_begin(argc, argv, knobs);
	other = start_thread(quiet, NULL);
	join_thread(start_thread(flooded, NULL));
	join_thread(other);
	return 0;
}
