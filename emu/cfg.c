/* SPDX-License-Identifier: MIT */
/*
 * cfg: copies the Paraver configurations beside the output.
 *
 * In: the installed set (PREFIX/share/ovni-bpf/cfg, found relative to the executable, or emu/cfg
 * of the source tree for an executable in build/bin); out: a copy in OUT/cfg, unless that exists.
 * Invariants: OUT/cfg is complete, and nothing is written through a symbolic link.
 * Specification: emulator.md 1, models.md 5.4.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/emulation.h"
#include "trace/base/log.h"
#include "trace/base/build_info.h"
#include "trace/ovni/beneath.h"

#define COPY_BYTES    (1 << 20)	       /* in one call */
#define CFG_DEPTH_MAX 8		       /* nested folders of the installed set */
#define UNFINISHED    "cfg.unfinished" /* name of an incomplete copy */

/* ---- the copy ---- */

static int copy_file(int from_dir, int to_dir, const char *name)
{
	int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), to, err;
	ssize_t n;

	if (from < 0)
		return -errno;
	to = out_create(to_dir, name);
	if (to < 0) {
		close(from);
		return to;
	}
	do
		n = sendfile(to, from, NULL, COPY_BYTES);
	while (n > 0);
	err = n < 0 ? -errno : 0;
	if (close(to) && !err)
		err = -errno;
	close(from);
	return err;
}

/*
 * Creates the directory `name` below `dir_fd` if it is missing, and opens it. Returns the
 * descriptor or -errno; -ELOOP for a symbolic link.
 */
static int make_dir(int dir_fd, const char *name)
{
	struct stat st;
	int fd, err;

	if (mkdirat(dir_fd, name, 0777) && errno != EEXIST)
		return -errno;
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	err = -errno;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
		err = -ELOOP;
	return err;
}

static int copy_dir(int from, int to, unsigned depth);

/* Copies a regular file, or a directory with its contents; skips other entries. */
static int copy_entry(int from, int to, const char *name, unsigned depth)
{
	struct stat st;
	int below, there, err;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (S_ISREG(st.st_mode))
		return copy_file(from, to, name);
	if (!S_ISDIR(st.st_mode) || depth == CFG_DEPTH_MAX)
		return 0;
	there = make_dir(to, name);
	if (there < 0)
		return there;
	below = openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = below < 0 ? -errno : copy_dir(below, there, depth + 1);
	close(there);
	return err;
}

/* Copies the contents of the directory `from`, which it closes, into `to`. */
static int copy_dir(int from, int to, unsigned depth)
{
	DIR *dir = fdopendir(from);
	const struct dirent *entry;
	int err;

	if (!dir) {
		err = -errno;
		close(from);
		return err;
	}
	while ((errno = 0, entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		err = copy_entry(from, to, entry->d_name, depth);
		if (err)
			goto out;
	}
	err = -errno;
out:
	closedir(dir);
	return err;
}

/*
 * Copies the set in `from`, which it closes, to `cfg` in the output; `path` is for messages. The
 * name appears only when the copy is complete, since later runs leave an existing cfg as it is.
 */
static int copy_set(struct emulator *emu, int from, const char *path)
{
	int to = make_dir(emu->out_fd, UNFINISHED), err;

	if (to < 0) {
		err = to;
		close(from);
		goto fail;
	}
	err = copy_dir(from, to, 0);
	close(to);
	if (err)
		goto fail;
	if (renameat(emu->out_fd, UNFINISHED, emu->out_fd, "cfg") == 0)
		return 0;
	err = -errno;
fail:
	log_error("%s/" UNFINISHED ": cannot copy the Paraver configurations there from %s: %s%s",
		  emu->out_dir, path, strerror(-err), out_remedy(err));
	return err;
}

int cfg_install(struct emulator *emu)
{
	char path[PATH_MAX];
	struct stat st;
	int set;

	if (emu->opt->no_output)
		return 0;
	if (fstatat(emu->out_fd, "cfg", &st, AT_SYMLINK_NOFOLLOW) == 0) {
		log_debug("%s/cfg exists: the Paraver configurations in it are left as they are",
			  emu->out_dir);
		return 0;
	}
	set = shipped_open("cfg", "emu/cfg", path, sizeof(path));
	if (set >= 0)
		return copy_set(emu, set, path);
	log_warn("no Paraver configurations beside this program or in " DATADIR
		 ": the output gets no cfg/");
	return 0;
}

/* ---- hardware counters ---- */

static const char counter_text[] =
	"#ParaverCFG\n"
	"ConfigFile.Version: 3.4\n"
	"ConfigFile.NumWindows: 1\n"
	"ConfigFile.BeginDescription\n"
	"Hardware counter %1$s: its value at the end of each interval.\n"
	"To be opened on %2$s.prv.\n"
	"ConfigFile.EndDescription\n"
	"\n"
	"window_name nOS-V counter %1$s\n"
	"window_type single\n"
	"window_id 1\n"
	"window_width 1000\n"
	"window_height 300\n"
	"window_comm_lines_enabled false\n"
	"window_flags_enabled false\n"
	"window_noncolor_mode true\n"
	"window_color_mode window_in_null_gradient_mode\n"
	"window_units Microseconds\n"
	"window_minimum_y 0.0\n"
	"window_maximum_y 1.0\n"
	"window_compute_y_max true\n"
	"window_level thread\n"
	"window_begin_time_relative 0.0\n"
	"window_end_time_relative 1.0\n"
	"window_open true\n"
	"window_drawmode draw_maximum\n"
	"window_drawmode_rows draw_maximum\n"
	"window_pixel_size 1\n"
	"window_labels_to_draw 1\n"
	"window_selected_functions { 2, { {thread, Next Evt Val}, {evt_type, =} } }\n"
	"window_compose_functions { 1, { {compose_thread, As Is} } }\n"
	"window_filter_module evt_type 1 %3$u\n"
	"window_filter_module evt_type_label 1 \"%1$s\"\n";

static int write_counter(int out_fd, const char *view, unsigned type, const char *safe)
{
	char path[NAME_MAX];
	int dir, fd, err = 0;

	snprintf(path, sizeof(path), "cfg/%s/nosv", view);
	dir = beneath_mkdirs(out_fd, path);
	if (dir < 0)
		return dir;
	snprintf(path, sizeof(path), "hwc-%s.cfg", safe);
	fd = out_create(dir, path);
	close(dir);
	if (fd < 0)
		return fd;
	if (dprintf(fd, counter_text, safe, view, type) < 0)
		err = errno ? -errno : -EIO;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

int cfg_write_counter(struct emulator *emu, unsigned type, const char *name)
{
	char safe[128];
	size_t n = 0;
	int err;

	if (emu->opt->no_output)
		return 0;
	for (; name[n] && n + 1 < sizeof(safe); n++) {
		unsigned char c = (unsigned char)name[n];

		safe[n] = c <= ' ' || c == '/' || c == '"' || c == 0x7f ? '_' : name[n];
	}
	safe[n] = '\0';
	err = write_counter(emu->out_fd, "thread", type, safe);
	if (!err)
		err = write_counter(emu->out_fd, "cpu", type, safe);
	if (err)
		log_error("%s/cfg: cannot write the configuration of the counter %s: %s%s",
			  emu->out_dir, safe, strerror(-err), out_remedy(err));
	return err;
}
