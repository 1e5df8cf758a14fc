/* SPDX-License-Identifier: MIT */
/*
 * cfg: copies the Paraver configurations beside the output.
 *
 * In: the installed set (PREFIX/share/ovni-bpf/cfg, found relative to the executable, or emu/cfg
 * of the source tree for an executable in build/bin); out: a copy in OUT/cfg, unless that exists.
 * Invariants: OUT/cfg is complete, and nothing is written through a symbolic link.
 * Specification: emulator.md 1, models.md 5.4.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
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

#define COPY_BYTES (1 << 20)	    /* in one call */
#define NESTED_MAX 8		    /* open folders of the installed set */
#define UNFINISHED "cfg.unfinished" /* name of an incomplete copy */

/* ---- the copy ---- */

static struct {
	int to;	       /* directory of the output */
	size_t length; /* of the path of the set */
} copy;		       /* for copy_entry(), which gets no argument */

/* Called by nftw() for each entry of the set: copies a file, and skips hidden ones. */
static int copy_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	const char *name = path + at->base;
	char folder[PATH_MAX + sizeof(UNFINISHED)];
	int dir, from = -1, to = -1, err;
	ssize_t n;

	(void)st;
	if (type != FTW_F || name[0] == '.')
		return 0;
	snprintf(folder, sizeof(folder), UNFINISHED "%.*s", (int)(name - path - copy.length - 1),
		 path + copy.length);
	dir = beneath_mkdirs(copy.to, folder);
	if (dir < 0)
		return dir;
	from = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0) {
		err = -errno;
		goto out;
	}
	err = to = out_create(dir, name);
	if (to < 0)
		goto out;
	do
		n = sendfile(to, from, NULL, COPY_BYTES);
	while (n > 0);
	err = n < 0 ? -errno : 0;
	if (close(to) && !err)
		err = -errno;
out:
	if (from >= 0)
		close(from);
	close(dir);
	return err;
}

/*
 * Copies the set in the directory `path` to `cfg` in the output. The name appears only when the
 * copy is complete, since later runs leave an existing cfg as it is.
 */
static int copy_set(struct emulator *emu, const char *path)
{
	int err;

	copy.to = emu->out_fd;
	copy.length = strlen(path);
	err = nftw(path, copy_entry, NESTED_MAX, FTW_PHYS);
	if (err == -1)
		err = -errno;
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
	if (set >= 0) {
		close(set);
		return copy_set(emu, path);
	}
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
