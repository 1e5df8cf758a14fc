/* SPDX-License-Identifier: MIT */
/*
 * doctor: `ovni-bpf doctor`: can this machine record, and if not, what exactly is to be done?
 *
 * Looks (machine.h), judges (advice.h), and prints a table, or JSON for scripts, on
 * standard output. Nothing stays behind.
 */
#ifndef USER_DOCTOR_DOCTOR_H
#define USER_DOCTOR_DOCTOR_H

#include "trace/base/status.h"
#include "user/config/config.h"

/* `argv` begins with "doctor". STATUS_COMPLETE if a recording is possible, else STATUS_FAILED. */
enum status doctor_run(int argc, char **argv);

#endif
