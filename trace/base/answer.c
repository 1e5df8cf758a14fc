/* SPDX-License-Identifier: MIT */
/* answer: see answer.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "trace/base/answer.h"
#include "trace/base/log.h"

int answer_end(const char *question)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	log_error("%s: cannot write: %s", question, strerror(errno ? errno : EIO));
	return -EIO;
}
