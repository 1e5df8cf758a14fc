/* SPDX-License-Identifier: MIT */
/* map_find: see map_find.h. */
#include "user/apis/map_find.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/base/log.h"
#include "trace/base/data_dir.h"

#define FOLDER "maps"
#define SUFFIX ".json"

static bool is_shipped(const char *name)
{
	size_t len = strlen(name), end = strlen(SUFFIX);

	return *name && *name != '.' && !strchr(name, '/') &&
	       (len < end || strcmp(name + len - end, SUFFIX) != 0);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int unknown(const char *name, int dir, const char *folder)
{
	struct dirent **list = NULL;
	char names[512] = "";
	size_t used = 0;
	int n = scandirat(dir, ".", &list, NULL, by_name);

	for (int i = 0; i < n; i++) {
		size_t len = strlen(list[i]->d_name), end = strlen(SUFFIX);

		if (len > end && !strcmp(list[i]->d_name + len - end, SUFFIX) &&
		    used + len + 2 < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.*s",
						 used ? ", " : "", (int)(len - end),
						 list[i]->d_name);
		free(list[i]);
	}
	free(list);
	log_error("--map %s: there is no such map in %s, only: %s (one of your own is given by its "
		  "path: ./%s.json)",
		  name, folder, names, name);
	return -ENOENT;
}

int map_find(const char *name, char *path, size_t size)
{
	char folder[PATH_MAX];
	int dir, err = 0;

	if (!is_shipped(name)) {
		if (snprintf(path, size, "%s", name) < (int)size)
			return 0;
		log_error("--map %s: the path is too long", name);
		return -ENAMETOOLONG;
	}
	dir = shipped_open(FOLDER, "user/apis", folder, sizeof(folder));
	if (dir < 0) {
		log_error("--map %s: the maps are not installed: %s: %s", name, folder,
			  strerror(-dir));
		return dir;
	}
	if (snprintf(path, size, "%s/%s%s", folder, name, SUFFIX) >= (int)size ||
	    access(path, F_OK))
		err = unknown(name, dir, folder);
	close(dir);
	return err;
}
