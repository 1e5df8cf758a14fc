/* SPDX-License-Identifier: MIT */
/* disk_error: see disk_error.h. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "user/writer/disk_error.h"
#include "trace/base/log.h"

static const char *remedy(int err)
{
	switch (err) {
	case -ENOSPC:
	case -EDQUOT:
		return "free some space, or record to another place with -o";
	case -EFBIG:
		return "raise the limit on the file size (ulimit -f)";
	case -EIO:
		return "the disk or the network share failed";
	case -ENOENT:
	case -ESTALE:
		return "the output directory was removed";
	case -ENOMEM:
		return "there is too little memory for so many threads or so slow a disk";
	case -EEXIST:
		return "another recorder writes to the same place";
	case -EACCES:
	case -EPERM:
	case -EROFS:
		return "record to a writable place with -o";
	default:
		return "record to another place with -o";
	}
}

void disk_error_report(struct disk_error *disk_error, int err, const char *fmt, ...)
{
	char what[PATH_MAX + 64];
	va_list args;

	if (disk_error && atomic_exchange(&disk_error->reported, true))
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	log_error("%s: %s; the recording ends and the events on disk stay (%s)", what,
		  strerror(-err), remedy(err));
}
