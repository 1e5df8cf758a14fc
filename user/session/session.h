/* SPDX-License-Identifier: MIT */
/*
 * session: one recording from its options to its exit status.
 *
 *   prepared    everything that can be refused has been checked, the programs are loaded
 *   armed       programs attached, threads of the target marked, T0 chosen and passed
 *   recording   the drain runs; the session waits for a reason to stop
 *   draining    T1 chosen and passed, programs detached, the rings emptied
 *   done        streams closed, files written, the report given
 *
 * session_start.c has the first two steps, follow_up.c what comes after the report.
 * Threads: this one waits for signals and shows the live line; drain.h empties the rings;
 * writer.h touches files.
 * Invariant: all recorded events are written and kept, whatever fails later.
 * Specification: event-mapping.md "Clock and window", ebpf.md 9.
 */
#ifndef USER_SESSION_SESSION_H
#define USER_SESSION_SESSION_H

#include "trace/base/status.h"
#include "user/config/config.h"

struct control;

/* Runs it; with `control` a named session, which answers requests. Reports every error before it
 * returns. */
enum status session_run(const struct options *options, struct control *control);

/* --mode off: runs the command as the same user as in the other modes, and loads, maps and writes
 * nothing. */
enum status session_run_off(const struct options *options);

#endif
