/* SPDX-License-Identifier: MIT */
/*
 * bpfstats: the cost of each BPF program by the kernel's run-time statistics.
 *
 * Enables these statistics for the whole machine until SIGINT or SIGTERM (no setting stays behind),
 * then prints runs and ns per run of the programs that were loaded meanwhile and still exist. The
 * numbers include the measurement itself, some 50 ns a run: an empty program at sched_switch, in
 * the line "empty", shows it.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int call_bpf(int cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

/* The next id of a loaded program after `id`; 0: there is none. */
static uint32_t next_program(uint32_t id)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.start_id = id;
	return call_bpf(BPF_PROG_GET_NEXT_ID, &attr) ? 0 : attr.next_id;
}

static void print_program(uint32_t id)
{
	struct bpf_prog_info info;
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id;
	fd = call_bpf(BPF_PROG_GET_FD_BY_ID, &attr);
	if (fd < 0)
		return;
	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	if (!call_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) && info.run_cnt)
		printf("  %-18s%12llu%10.0f%10llu\n", info.name, (unsigned long long)info.run_cnt,
		       (double)info.run_time_ns / (double)info.run_cnt,
		       (unsigned long long)info.recursion_misses);
	close(fd);
}

/* Attaches a program that returns at once to sched_switch, until this process ends. */
static int attach_empty(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP);
	int fd, type = libbpf_find_vmlinux_btf_id("sched_switch", BPF_TRACE_RAW_TP);

	if (type < 0)
		return type;
	opts.attach_btf_id = (__u32)type;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "empty", "GPL", insns,
			   sizeof(insns) / sizeof(insns[0]), &opts);
	return fd < 0 ? fd : bpf_raw_tracepoint_open(NULL, fd);
}

int main(void)
{
	uint32_t id, first = 0;
	union bpf_attr attr;
	sigset_t stop;
	int fd, got;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	memset(&attr, 0, sizeof(attr));
	attr.enable_stats.type = BPF_STATS_RUN_TIME;
	fd = call_bpf(BPF_ENABLE_STATS, &attr);
	if (fd < 0) {
		fprintf(stderr, "bpfstats: cannot enable the statistics: %s\n", strerror(errno));
		return 1;
	}
	while ((id = next_program(first)))
		first = id;
	if (attach_empty() < 0) {
		fprintf(stderr, "bpfstats: cannot attach a program: %s\n", strerror(errno));
		return 1;
	}
	sigwait(&stop, &got);
	printf("programs in the kernel, during the ping-pong\n");
	printf("  %-18s%12s%10s%10s\n", "program", "runs", "ns/run", "missed");
	while ((id = next_program(first))) {
		print_program(id);
		first = id;
	}
	close(fd);
	return 0;
}
