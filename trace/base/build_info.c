/* SPDX-License-Identifier: MIT */
/* build_info: see build_info.h. */
#include "trace/base/build_info.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char version_string[] = VERSION;
const char version_commit[] = COMMIT;

int shipped_open(const char *folder, const char *source, char *path, size_t size)
{
	const struct {
		const char *way, *name;
	} beside[] = {{"../share/ovni-bpf", folder}, {"../..", source}};
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;
	int fd;

	if (n > 0) {
		exe[n] = '\0';
		slash = strrchr(exe, '/');
		if (slash)
			*slash = '\0';
		for (size_t i = 0; i < 2; i++) {
			if (snprintf(path, size, "%s/%s/%s", exe, beside[i].way, beside[i].name) >=
			    (int)size)
				continue;
			fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (fd >= 0)
				return fd;
		}
	}
	snprintf(path, size, "%s/%s", DATADIR, folder);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}
