/* SPDX-License-Identifier: MIT */
/*
 * cfg: copies the Paraver configurations beside the output.
 *
 * In: the installed set (PREFIX/share/ovni-bpf/cfg, found relative to the executable, or emu/cfg
 * of the source tree for an executable in build/bin); out: in OUT/cfg, those whose event types all
 * occur in the output. Invariants: a file that exists stays as it is, a new one is complete, and
 * nothing is written through a symbolic link.
 * Specification: emulator.md 1, models.md 5.4.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/breakdown.h"
#include "emu/emulation.h"
#include "trace/base/log.h"
#include "trace/base/build_info.h"
#include "trace/base/text.h"
#include "trace/base/files/beneath.h"
#include "trace/base/files/input.h"
#include "trace/ovni/stream.h"

#define CFG_BYTES_MAX (1 << 20)
#define NESTED_MAX    8		    /* open folders of the installed set */
#define UNFINISHED    ".unfinished" /* name of an incomplete copy */

/* Lines of a configuration with the number of its event types, and with a tag of arrows. */
#define FILTER_TYPES  "\nwindow_filter_module evt_type "
#define FILTER_ARROWS "\nwindow_filter_module tag_msg "
/* A comment with the rule for the maximum in the next line. */
#define MAXIMUM "\n# maximum: "

/* ---- the types that occur ---- */

static bool in_thread_view(const struct emulator *emu, unsigned long type)
{
	for (uint32_t c = 0; c < emu->nchannels; c++) {
		const struct channel *ch = &emu->channels[c];

		if (ch->used &&
		    (ch->type.number == type || (ch->lasting.len && ch->lasting.number == type)))
			return true;
	}
	return type == 2 || type == 4 || type == 6;
}

static bool in_cpu_view(const struct emulator *emu, unsigned long type)
{
	for (uint32_t c = 0; c < emu->nchannels; c++) {
		const struct channel *ch = &emu->channels[c];

		if (ch->used && ch->cpu != CPU_NONE && ch->type.number == type)
			return true;
	}
	if (type == CPU_TYPE_PROCESS || type == CPU_TYPE_THREAD)
		return emu->names;
	return type >= 1 && type <= 3;
}

static bool in_breakdown(const struct emulator *emu, unsigned long type)
{
	for (size_t i = 0; i < emu->nbreakdowns; i++)
		if (emu->breakdowns[i]->page->type == type)
			return true;
	return false;
}

/* True if all types that a configuration shows are in the view of its `path` in the set,
 * "thread/state.cfg". */
static bool shows_something(const struct emulator *emu, const char *path, const char *text)
{
	bool (*occurs)(const struct emulator *emu, unsigned long type) = in_breakdown;

	if (strncmp(path, "thread", 6) == 0)
		occurs = in_thread_view;
	else if (strncmp(path, "cpu", 3) == 0)
		occurs = in_cpu_view;
	if (strstr(text, FILTER_ARROWS) && !emu->opt->arrows)
		return false;
	for (const char *at = text; (at = strstr(at, FILTER_TYPES));) {
		char *end;
		unsigned long n = strtoul(at + strlen(FILTER_TYPES), &end, 10);

		for (at = end; n; n--, at = end)
			if (!occurs(emu, strtoul(at, &end, 10)))
				return false;
	}
	return true;
}

/* ---- scales ---- */

/* The top of the scale `what` of a configuration, up to the end of its line. */
static uint64_t maximum_of(const struct emulator *emu, const char *what)
{
	uint64_t maximum = emu->sys.nthreads;

	if (strncmp(what, "CPUs\n", 5) == 0)
		maximum = emu->sys.nphysical;
	else if (strncmp(what, "runnable threads\n", 17) == 0)
		maximum = (uint64_t)emu->most_runnable;
	return maximum ? maximum : 1;
}

/*
 * Puts the maximum of this output into the line after the comment that asks for it. Paraver itself
 * would compute a minimum, too, and draw it as 0. Returns 0 or -ENOMEM.
 */
static int set_maximum(const struct emulator *emu, char **text, size_t *size)
{
	char *at = strstr(*text, MAXIMUM), *line = at ? strchr(at + 1, '\n') : NULL, *changed;
	char *rest = line ? strchr(line + 1, '\n') : NULL;

	if (!rest)
		return 0;
	changed = xasprintf("%.*s\nwindow_maximum_y %" PRIu64 ".0%s", (int)(line - *text), *text,
			    maximum_of(emu, at + strlen(MAXIMUM)), rest);
	if (!changed)
		return -ENOMEM;
	free(*text);
	*text = changed;
	*size = strlen(changed);
	return 0;
}

/* ---- the copy ---- */

static struct {
	struct emulator *emu;
	size_t length; /* of the path of the set */
	bool reported; /* the error has its message */
} copy;		       /* for copy_entry(), which gets no argument */

/* Reads a file of the set. Returns its text, which the caller frees, or NULL with errno. */
static char *read_text(const char *path, size_t *size)
{
	int fd = input_open(INPUT_BESIDE, path, CFG_BYTES_MAX, NULL), err = 0;
	char *text = NULL;
	ssize_t n = 0;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	text = malloc(CFG_BYTES_MAX + 1);
	for (*size = 0; text && *size < CFG_BYTES_MAX; *size += (size_t)n) {
		n = read(fd, text + *size, CFG_BYTES_MAX - *size);
		if (n <= 0)
			break;
	}
	err = n < 0 ? errno : *size == CFG_BYTES_MAX ? EFBIG : 0;
	close(fd);
	if (text)
		text[*size] = '\0';
	if (text && err) {
		free(text);
		text = NULL;
		errno = err;
	}
	return text;
}

/* Creates the file `name` in the directory `dir`, complete or not at all. Returns 0 or -errno. */
static int write_text(int dir, const char *name, const char *text, size_t size)
{
	int fd = out_create(dir, UNFINISHED), err;

	if (fd < 0)
		return fd;
	err = write_all(fd, text, size);
	if (close(fd) && !err)
		err = -errno;
	if (err)
		goto failed;
	if (!renameat(dir, UNFINISHED, dir, name))
		return 0;
	err = -errno;
failed:
	unlinkat(dir, UNFINISHED, 0);
	return err;
}

/*
 * Called by nftw() for each entry of the set: copies a file unless it is hidden, exists already, or
 * would show nothing.
 */
static int copy_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	const char *name = path + at->base;
	char folder[PATH_MAX + sizeof("cfg")], *text;
	struct stat there;
	int dir = -1, err = 0;
	size_t size;

	(void)st;
	if (type != FTW_F || name[0] == '.')
		return 0;
	text = read_text(path, &size);
	if (!text) {
		err = -errno;
		log_error("cannot read '%s': %s", path, strerror(-err));
		copy.reported = true;
		return err;
	}
	snprintf(folder, sizeof(folder), "cfg%.*s", (int)(name - path - copy.length - 1),
		 path + copy.length);
	if (!shows_something(copy.emu, path + copy.length + 1, text))
		goto out;
	err = dir = beneath_mkdirs(copy.emu->out_fd, folder);
	if (dir < 0)
		goto out;
	err = set_maximum(copy.emu, &text, &size);
	if (err)
		goto close;
	if (fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) != 0)
		err = write_text(dir, name, text, size);
close:
	close(dir);
out:
	free(text);
	return err;
}

static int copy_set(struct emulator *emu, const char *path)
{
	char to[PATH_MAX];
	int err;

	copy.emu = emu;
	copy.length = strlen(path);
	copy.reported = false;
	err = nftw(path, copy_entry, NESTED_MAX, FTW_PHYS);
	if (err == -1)
		err = -errno;
	if (err && !copy.reported) {
		snprintf(to, sizeof(to), "%s/cfg", emu->out_dir);
		out_report(emu->pool, to, err);
	}
	return err;
}

int cfg_install(struct emulator *emu)
{
	char path[PATH_MAX];
	struct stat st;
	int set;

	if (emu->opt->no_output)
		return 0;
	if (fstatat(emu->out_fd, "cfg", &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode)) {
		log_debug("%s/cfg is not a directory: no Paraver configurations are copied",
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
	"window_units Milliseconds\n"
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
	if (err)
		goto failed;
	err = write_counter(emu->out_fd, "cpu", type, safe);
	if (err)
		goto failed;
	return 0;
failed:
	log_error("%s/cfg: cannot write the configuration of the counter %s: %s%s", emu->out_dir,
		  safe, strerror(-err), out_remedy(err));
	return err;
}
