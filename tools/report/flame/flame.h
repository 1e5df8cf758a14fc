/* SPDX-License-Identifier: MIT */
/*
 * flame: the stacks of functions of a trace, as a tree of frames with their own times.
 *
 * In: a walk over the trace; out: frames, each after its parent, siblings in the order of their
 * first use. Frame 0 is the root. Below it are the threads or the groups of --by, and below these
 * the functions as they call each other. Invariant: the own times of all frames add up to the lives
 * of the chosen threads between --from and --to. A frame is a name below a parent, so stacks of
 * another origin can join the tree.
 */
#ifndef TOOLS_REPORT_FLAME_H
#define TOOLS_REPORT_FLAME_H

#include "tools/report/reports.h"
#include "trace/analysis/function_calls.h"
#include "trace/analysis/thread_times.h"
#include "trace/base/hash.h"

#define FLAME_DEPTH 1000 /* frames; deeper calls count as time of the frame at this depth */

struct flame_name {
	char *label, *type;	  /* type: NULL for a thread or a group */
	struct function function; /* the names of functions are read after the walk */
};

struct flame_frame {
	uint32_t parent, name;
	uint32_t depth; /* of the root: 0 */
	uint32_t last;	/* the child that was entered last, or 0 */
	uint64_t calls;
	int64_t own[TIME_CLASSES]; /* ns */
	int64_t total;		   /* ns of the chosen time, with all frames below it */
};

struct flame {
	struct flame_frame *frames;
	struct flame_name *names; /* of the root: names[0] */
	size_t nframes, nnames;
	struct hash by_parent, by_function;
	struct thread_times times;
	bool deep; /* calls deeper than FLAME_DEPTH were met */
	enum flame_time time;
};

struct open_call;

struct flame_track { /* of one thread */
	uint32_t base, frame;
	struct open_call *calls;
	size_t depth;
	uint32_t room;
	int64_t seen[TIME_CLASSES]; /* ns that are in frames */
};

#define FLAME_USER   "function"	       /* type of a name of user code */
#define FLAME_KERNEL "kernel function" /* type of a name: folded, it has _[k] behind it */

/* A tree with its root. Returns 0, or -ENOMEM; flame_fini() must follow in both cases. */
int flame_begin(struct flame *flame, const struct report *report)
	__attribute__((warn_unused_result));
void flame_fini(struct flame *flame);

/* Adds a level of frames below those of the tracks: those of the groups of the chosen threads. 0 or
 * -ENOMEM. */
int flame_add_level(const struct report *report, struct flame *flame, struct flame_track *tracks,
		    enum group_by by) __attribute__((warn_unused_result));

/* Adds a name, whose texts the tree takes over: its number; or the frame of a name below `parent`.
 * -ENOMEM without memory. */
int64_t flame_add_name(struct flame *flame, struct flame_name name);
int64_t flame_frame_below(struct flame *flame, uint32_t parent, uint32_t name);

/* The totals of the frames, from their own times. */
void flame_add_up(struct flame *flame);

/* Prints the tree in the form of the report; folded, in units of `unit` ns. 0 or -ENOMEM. */
int flame_output(const struct report *report, const struct flame *flame, const char *path,
		 int64_t unit);

/* ns of the chosen time that a frame has itself. */
int64_t flame_own(const struct flame *flame, const struct flame_frame *frame);

/* Writes the picture of all frames whose part of the whole is at least 1 / `least`, 1200 pixels
 * wide: an XML document of its own, or with `inline_html` an element for an HTML page. Returns 0 or
 * -ENOMEM. */
int flame_svg(const struct flame *flame, struct printer *out, const char *path, double least,
	      bool inline_html);

/* The page around the picture: its first part, made by the Makefile from tools/report/flame/page/. */
extern const char flame_page[];
extern const uint64_t flame_page_size; /* bytes */
#define FLAME_PAGE_END "</body>\n</html>\n"

/* "wall time", "time on a CPU", ... */
extern const char *const flame_time_words[];

#endif
