/* SPDX-License-Identifier: MIT */
/*
 * emulator: runs one emulation, from the trace to the Paraver files: its stages in their order.
 * Specification: emulator.md 2.
 */
#include "emu/emulation.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "emu/breakdown.h"
#include "emu/track.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/base/status.h"
#include "trace/ovni/write_lock.h"

#define PARAVER_ROWS_MAX 65535	   /* paraver.md 1 */
#define PROGRESS_NS	 200000000 /* between two lines of progress */
#define JOBS_PLAY	 3	   /* -j: one of the threads plays the streams */

volatile sig_atomic_t emulator_interrupted;

/* ---- refused events ---- */

const char *emu_stream_name(const struct emulator *emu, size_t i)
{
	return emu->trace.streams[i][0] ? emu->trace.streams[i] : ".";
}

/* Appends a character of an event, with an escape if it is not printable. */
static void put_char(char *text, size_t room, uint8_t c)
{
	size_t length = strlen(text);

	snprintf(text + length, room - length, c > ' ' && c < 0x7f ? "%c" : "\\x%02x", c);
}

int emu_refuse(struct emulator *emu, const char *fmt, ...)
{
	const struct stream *stream = &emu->streams[emu->player.current];
	const struct event *ev = &stream->ev;
	char *reason, mcv[16] = "";
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&reason, fmt, ap) < 0)
		reason = NULL;
	va_end(ap);
	put_char(mcv, sizeof(mcv), ev->model);
	put_char(mcv, sizeof(mcv), ev->category);
	put_char(mcv, sizeof(mcv), ev->value);
	log_error("%s: event %s at byte %" PRIu64 ", clock %" PRIi64 " (%" PRIi64
		  " ns after the first one): %s",
		  emu_stream_name(emu, emu->player.current), mcv, stream_offset(stream),
		  emu->player.clock, emu->time.now, reason ? reason : "(out of memory)");
	free(reason);
	return -EINVAL;
}

int emu_refuse_channel(struct emulator *emu, enum channel_result result, const struct thread *th,
		       uint32_t channel, int64_t value)
{
	const char *label = emu->channels[channel].page->label;
	const struct slot *slot = &th->slots[channel];

	switch (result) {
	case CHANNEL_OK:
		return 0;
	case CHANNEL_REPEAT:
		return emu_refuse(emu,
				  "'%s' of thread %" PRIi32 " has the value %" PRIi64
				  " already, which may not be repeated",
				  label, th->tid, value);
	case CHANNEL_FULL:
		return emu_refuse(emu,
				  "'%s' of thread %" PRIi32 " has %d stacked values, which is the "
				  "maximum",
				  label, th->tid, CHANNEL_STACK_MAX);
	case CHANNEL_EMPTY:
		return emu_refuse(emu,
				  "leaves the value %" PRIi64 " in '%s' of thread %" PRIi32
				  ", which has nothing on its stack",
				  value, label, th->tid);
	case CHANNEL_MISMATCH:
		return emu_refuse(emu,
				  "leaves the value %" PRIi64 " in '%s' of thread %" PRIi32
				  ", but %" PRIi64 " is on top of its stack",
				  value, label, th->tid, slot->value);
	case CHANNEL_NOMEM:
		break;
	}
	emu_refuse(emu, "out of memory (for the stack of '%s')", label);
	return -ENOMEM;
}

/* ---- stages 1 and 2: streams, system, offsets ---- */

static void open_models(struct emulator *emu)
{
	for (size_t i = 0; i < MODELS_MAX && models[i]; i++) {
		struct model_state *state = &emu->models[i];

		state->model = models[i];
		state->catalog = catalog_model_by_name(models[i]->name);
		if (state->catalog && state->catalog->nevents)
			emu->by_character[(uint8_t)state->catalog->character] = state;
		emu->nmodels = i + 1;
	}
}

/* Passes the metadata of a stream to all models: required versions, and their own keys. */
static void read_model_metadata(struct emulator *emu, const struct json *meta, size_t stream,
				const char *path)
{
	const struct json *require = json_get(meta, "ovni.require");

	if (!json_is_object(require) && !emu->no_require)
		emu->no_require = path;
	for (size_t i = 0; i < emu->nmodels; i++) {
		struct model_state *state = &emu->models[i];
		bool required = false;

		if (state->model->extension && emu->opt->compat)
			continue;
		/* a fault matters only if the model gets enabled: choose_models() reports it */
		(void)model_check_require(state, require, path, &required);
		state->enabled |= required;
		if (state->model->metadata)
			(void)state->model->metadata(emu, state, meta, stream);
	}
}

/* A stream outside of the part: only its loom may be of use. */
static int leave_closed(struct emulator *emu, size_t i, struct json *meta)
{
	int err = 0;

	whole_take(&emu->whole, emu->trace.fd, emu->trace.streams[i], meta, NULL, false);
	if (emu->fate[i] == FATE_CPUS)
		err = system_add_cpus(&emu->sys, meta, emu_stream_name(emu, i));
	json_free(meta);
	return err;
}

static int load_stream(struct emulator *emu, size_t i)
{
	enum fate fate = emu->fate ? (enum fate)emu->fate[i] : FATE_IN;
	const char *path = emu_stream_name(emu, i);
	struct json *meta = trace_metadata(&emu->trace, i);
	const char *part;
	int err, added;

	if (!meta)
		return -EINVAL;
	if (fate == FATE_OUT || fate == FATE_CPUS)
		return leave_closed(emu, i, meta);
	/* a closed stream reads as one without events */
	err = fate == FATE_IN ? stream_open(&emu->streams[i], emu->trace.fd, emu->trace.streams[i])
			      : 0;
	whole_take(&emu->whole, emu->trace.fd, emu->trace.streams[i], meta,
		   err || fate != FATE_IN ? NULL : &emu->streams[i], false);
	/* a stream without usable events may still be the only one with ovni.loom_cpus */
	added = err && !emu->opt->tolerant ? err : system_add(&emu->sys, i, meta, path);
	if (json_get(meta, "accel.label") && !emu->opt->compat)
		emu->names = true;
	part = json_string(json_get(meta, "ovni.part"));
	if (!added && part && strcmp(part, "thread") == 0)
		read_model_metadata(emu, meta, i, path);
	clock_check_metadata(emu, meta);
	json_free(meta);
	return err ? err : added;
}

/* Leaves out a whole stream after the message about its fault (--tolerant). */
static void leave_out(struct emulator *emu, size_t i)
{
	log_warn("%s: the whole stream is left out", emu_stream_name(emu, i));
	stream_close(&emu->streams[i]); /* a closed stream reads as one without events */
	emu->damaged[i] = true;
	emu->ndamaged++;
}

static int load_trace(struct emulator *emu)
{
	int err = emu->opt->compat ? trace_open_any(&emu->trace, emu->opt->trace)
				   : trace_open(&emu->trace, emu->opt->trace);
	size_t nempty = 0, empty = 0;

	if (err)
		return err;
	emu->nstreams = emu->trace.nstreams;
	emu->streams = streams_new(emu->nstreams);
	emu->damaged = calloc(emu->nstreams + 1, sizeof(*emu->damaged));
	if (!emu->streams || !emu->damaged)
		return log_no_memory("for %zu streams", emu->nstreams);
	err = system_init(&emu->sys, emu->nstreams);
	if (!err)
		err = part_choose(emu);
	if (err)
		return err;
	for (size_t i = 0; i < emu->nstreams; i++) {
		err = load_stream(emu, i);
		if (err && !emu->opt->tolerant)
			return err;
		if (err)
			leave_out(emu, i);
		if (emu->streams[i].size == STREAM_HEADER_SIZE && !nempty++)
			empty = i;
	}
	if (!emu->nstreams)
		whole_take_job(&emu->whole, emu->trace.fd);
	if (nempty)
		log_warn("%zu of %zu streams have no events, the first one is %s", nempty,
			 emu->nstreams, emu_stream_name(emu, empty));
	return 0;
}

int emulator_load_clocks(const struct emulator *emu, struct clock_table *table)
{
	const struct emu_options *opt = emu->opt;

	if (opt->clock == EMU_CLOCK_REALTIME)
		return clock_table_realtime(table, emu->trace.fd);
	return clock_table_load(table, opt->offsets ? AT_FDCWD : emu->trace.fd,
				opt->offsets ?: CLOCK_OFFSETS_FILE, !opt->offsets, !opt->compat);
}

static int build_system(struct emulator *emu)
{
	const struct emu_options *opt = emu->opt;
	bool realtime = opt->clock == EMU_CLOCK_REALTIME;
	int err = system_finish(&emu->sys);

	/* the reference accepts a rank in two looms; of a recording it is a mistake */
	if (!err && !emu->opt->compat && emu->whole.recorded)
		err = system_check_ranks(&emu->sys);
	if (err)
		return err;
	/* part_choose() has checked the table and warned, of all looms */
	log_mute(emu->part && !realtime);
	err = emulator_load_clocks(emu, &emu->sys.clocks);
	err = err ?: system_take_clocks(&emu->sys, realtime ? NULL : opt->offsets ?: CLOCK_OFFSETS_FILE);
	log_mute(false);
	/* the table may have rows of looms outside of the part */
	if (emu->part && !realtime && err != -ENOMEM)
		err = 0;
	if (err)
		return err;
	if (realtime)
		log_warn("the clocks of %zu node%s are compared by CLOCK_REALTIME: as good as the "
			 "nodes' NTP or PTP, not bounded",
			 emu->sys.clocks.n, plural(emu->sys.clocks.n, "", "s"));
	if (!emu->sys.clocks.n)
		return 0;
	emu->fixes = calloc(emu->nstreams + 1, sizeof(*emu->fixes));
	if (!emu->fixes)
		return log_no_memory("for the clocks of %zu streams", emu->nstreams);
	for (size_t i = 0; i < emu->nstreams; i++)
		if (emu->sys.thread_of_stream[i])
			emu->fixes[i] = emu->sys.thread_of_stream[i]->process->loom->clock;
	return 0;
}

/* ---- stages 3 and 4: outputs ---- */

static int open_out_dir(struct emulator *emu)
{
	const char *dir = emu->opt->out;
	int err;

	if (emu->opt->no_output) {
		emu->out_dir = "nowhere";
		emu->out_fd = OUT_NOWHERE;
		return 0;
	}
	if (!dir) {
		emu->out_dir = emu->trace.path;
		emu->out_fd = fcntl(emu->trace.fd, F_DUPFD_CLOEXEC, 0);
	} else {
		emu->out_dir = dir;
		if (mkdir(dir, 0755) && errno != EEXIST)
			goto fail;
		emu->out_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	if (emu->out_fd < 0)
		goto fail;
	/* one writer per directory; a file system without locks does not keep others out */
	err = write_lock_acquire(emu->out_fd, emu->out_dir, WRITE_LOCK_WRITER,
				 "wait for its end, or give another directory with -o");
	return err == -EBUSY ? err : 0;
fail:
	err = -errno;
	log_error("%s: cannot use it as the output directory: %s%s", emu->out_dir, strerror(-err),
		  err == -ENOENT ? " (its parent must exist)" : "");
	return err;
}

static int open_view(struct emulator *emu, struct prv *prv, const char *name, uint32_t nrows)
{
	struct out *out = view_create(emu, name);

	if (nrows > PARAVER_ROWS_MAX && !emu->opt->no_output)
		log_warn("%s/%s.prv: %" PRIu32
			 " rows; Paraver shows %d at most (--looms or --ranks choose fewer)",
			 emu->out_dir, name, nrows, PARAVER_ROWS_MAX);
	return out ? prv_open(prv, out, nrows) : -EIO;
}

static int open_outputs(struct emulator *emu)
{
	int err = open_view(emu, &emu->cpu_prv, "cpu", emu->sys.ncpus);

	return err ? err : open_view(emu, &emu->thread_prv, "thread", emu->sys.nthreads);
}

/* ---- stages 5 to 7: first events, models, channels ---- */

static int open_player(struct emulator *emu)
{
	struct player *player = &emu->player;
	int err;

	while ((err = player_open(player, emu->streams, emu->nstreams, emu->fixes, false))) {
		if (err == -ENOMEM || !emu->opt->tolerant)
			return err;
		leave_out(emu, player->failed);
		for (size_t i = 0; i < emu->nstreams; i++)
			if (!emu->damaged[i])
				stream_rewind(&emu->streams[i]);
	}
	/* the metadata may be wrong */
	if (emu->part && player->n && player->clocks[1] < emu->first_clock)
		emu->first_clock = player->clocks[1];
	return player_gate(player);
}

static int choose_models(struct emulator *emu)
{
	if (emu->no_require) {
		log_error(
			"%s: ovni.require is missing: it lists the models of the events and their "
			"versions",
			emu->no_require);
		return -EINVAL;
	}
	for (size_t i = 0; i < emu->nmodels; i++) {
		struct model_state *state = &emu->models[i];

		if (emu->opt->all_models && !state->model->extension)
			state->enabled = true;
		if (state->catalog && state->catalog->character == 'O')
			state->enabled = true;
		if (state->complaint && state->enabled) {
			log_error("%s", state->complaint);
			return -EINVAL;
		}
	}
	return 0;
}

/* ---- stage 8: the loop ---- */

static int refuse_model(struct emulator *emu, const struct event *ev)
{
	const struct model_state *state = emu->by_character[ev->model];

	if (!state)
		return emu_refuse(emu, "no model has this first character");
	return emu_refuse(emu,
			  "the model %s is not enabled: no stream has ovni.require.%s (-a enables "
			  "all models)",
			  state->model->name, state->model->name);
}

static int refuse_situation(struct emulator *emu, const struct model_state *state,
			    const struct thread *th)
{
	static const char *const needs[] = {
		[WHEN_ANY] = "any",
		[WHEN_ACTIVE] = "running, cooling or warming",
		[WHEN_RUNNING] = "running",
	};

	if (th->situation & THREAD_OUT_OF_CPU && !state->catalog->out_of_cpu)
		return emu_refuse(emu,
				  "thread %" PRIi32 " is out of the CPU (KCO): the model %s has no "
				  "events then",
				  th->tid, state->model->name);
	return emu_refuse(emu,
			  "thread %" PRIi32 " is in the state %s: events of the model %s need a "
			  "thread that is %s",
			  th->tid, thread_state_names[th->state], state->model->name,
			  needs[state->catalog->when]);
}

/* Handles a jumbo event as a normal one: the length is part of its arguments. */
static int call_plain(struct emulator *emu, struct thread *th, const struct event *ev,
		      const struct action *action)
{
	struct event plain = *ev;

	plain.jumbo = false;
	plain.payload -= sizeof(uint32_t);
	plain.payload_size += (uint32_t)sizeof(uint32_t);
	return action->fn(emu, th, &plain, action);
}

static inline int handle(struct emulator *emu, struct thread *th, const struct event *ev)
{
	const struct model_state *state = emu->by_character[ev->model];
	const struct action *action;

	if (__builtin_expect(!state || !state->index, 0))
		return refuse_model(emu, ev);
	if (__builtin_expect(!(state->accept >> th->situation & 1), 0))
		return refuse_situation(emu, state, th);
	action = &emu->actions[state->index[ev->category << 8 | ev->value]];
	switch (action->op) {
	case DO_IGNORE:
		return 0;
	case DO_PUSH:
		return emu_push(emu, th, action->channel, action->value);
	case DO_POP:
		return emu_pop(emu, th, action->channel, action->value);
	case DO_SET:
		return emu_put(emu, th, action->channel, 1, action->value);
	case DO_CLEAR:
		return emu_put(emu, th, action->channel, 0, 0);
	case DO_CALL:
		if (__builtin_expect(ev->jumbo, 0))
			return call_plain(emu, th, ev, action);
		return action->fn(emu, th, ev, action);
	case DO_JUMBO:
		if (!ev->jumbo)
			return emu_refuse(emu, "must be a jumbo event");
		return action->fn(emu, th, ev, action);
	default:
		return emu_refuse(emu, "the model %s has no such event", state->model->name);
	}
}

/* Makes room for the lines of one event in each output. */
static inline int begin_event(struct emulator *emu)
{
	int err = prv_begin(&emu->thread_prv);

	if (__builtin_expect(err, 0))
		goto fail;
	err = prv_begin(&emu->cpu_prv);
	if (__builtin_expect(err, 0))
		goto fail;
	for (size_t i = 0; i < emu->nbreakdowns; i++) {
		err = prv_begin(&emu->breakdowns[i]->prv);
		if (__builtin_expect(err, 0))
			goto fail;
	}
	return 0;
fail:
	emu->output_failed = true;
	return err;
}

/*
 * Prefetches the data of a stream some events before its turn: with thousands of threads they
 * have left the caches. Must be inlined early: gcc takes it for a function without effect and
 * drops it.
 */
static inline __attribute__((always_inline)) void prefetch_thread(const struct emulator *emu,
								  uint32_t stream)
{
	const struct thread *th = emu->sys.thread_of_stream[stream];
	const char *block;

	if (!emu->prefetch_bytes || !th)
		return;
	block = emu->blocks + (size_t)(th - emu->sys.threads) * emu->block_bytes;
	for (size_t at = 0; at < sizeof(*th); at += CACHE_LINE)
		__builtin_prefetch((const char *)th + at);
	for (size_t at = 0; at < emu->prefetch_bytes; at += CACHE_LINE)
		__builtin_prefetch(block + at);
}

/* Ends the lines of one event: they stay, unless they are before the part. */
static int end_event(struct emulator *emu)
{
	for (size_t i = 0; i < emu->nbreakdowns; i++)
		breakdown_end(emu->breakdowns[i], &emu->time);
	return emu->time.now < emu->opt->since ? part_hold(emu) : 0;
}

static void undo_event(struct emulator *emu)
{
	prv_undo(&emu->thread_prv);
	prv_undo(&emu->cpu_prv);
	for (size_t i = 0; i < emu->nbreakdowns; i++)
		prv_undo(&emu->breakdowns[i]->prv);
}

/* Its lines stay if the present event is refused. */
static int show_critical(struct emulator *emu, int64_t until)
{
	int err = critical_show(emu, until);

	if (!err)
		err = prv_begin(&emu->thread_prv);
	if (err)
		emu->output_failed = true;
	return err;
}

static int run_event(struct emulator *emu)
{
	const struct stream *stream = &emu->streams[emu->player.current];
	struct thread *th = emu->sys.thread_of_stream[emu->player.current];
	int err;

	if (__builtin_expect(!emu->started, 0)) {
		emu->started = true;
		emu->first_clock = emu->player.clock;
	}
	emu->time.now = emu->player.clock - emu->first_clock;
	if (__builtin_expect(!th, 0))
		return emu_refuse(
			emu, "the stream does not belong to a thread, so it may have no events");
	emu->duration = emu->time.now;
	if (__builtin_expect(emu->part != NULL, 0) && emu->time.now >= emu->opt->since) {
		err = part_show(emu);
		if (err)
			return err;
	}
	err = begin_event(emu);
	if (__builtin_expect(emu->time.now >= emu->critical_next, 0) && !err)
		err = show_critical(emu, emu->time.now);
	if (__builtin_expect(emu->arrows != NULL, 0) && !err)
		err = message_arrows_step(emu, &stream->ev);
	if (__builtin_expect(err, 0))
		return err;
	err = handle(emu, th, &stream->ev);
	if (__builtin_expect(err, 0)) {
		undo_event(emu);
		return err;
	}
	return end_event(emu);
}

/* Compares the clocks of nodes with a call of MPI that was taken. */
static int check_clocks(struct emulator *emu)
{
	const struct event *ev = &emu->streams[emu->player.current].ev;
	const struct model_state *state = emu->by_character[ev->model];

	return clock_check_step(emu, emu->sys.thread_of_stream[emu->player.current],
				&emu->actions[state->index[ev->category << 8 | ev->value]]);
}

/*
 * Leaves out the rest of a stream after the message about its fault (--tolerant), and takes its
 * thread off its CPU. Returns false if the emulation must end instead.
 */
static bool leave_out_rest(struct emulator *emu, uint32_t stream_index)
{
	const struct stream *stream = &emu->streams[stream_index];
	struct thread *th = emu->sys.thread_of_stream[stream_index];

	if (!emu->opt->tolerant || emu->output_failed)
		return false;
	player_drop(&emu->player);
	emu->damaged[stream_index] = true;
	emu->ndamaged++;
	log_warn("%s: left out from byte %" PRIu64 " on", emu_stream_name(emu, stream_index),
		 stream_offset(stream));
	if (!th || !th->cpu)
		return true;
	th->situation &= (uint8_t)~THREAD_OUT_OF_CPU;
	if (begin_event(emu))
		return false;
	occupancy_end(emu, th);
	return !end_event(emu);
}

/* ---- progress ---- */

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

struct progress {
	bool on;
	int64_t start_ns, next_ns;
	uint64_t total_bytes; /* of all streams */
};

static void progress_start(struct progress *progress, const struct emulator *emu)
{
	*progress = (struct progress){.start_ns = now_ns()};
	progress->next_ns = progress->start_ns + PROGRESS_NS;
	progress->on = !emu->opt->quiet && isatty(STDERR_FILENO);
	for (size_t i = 0; i < emu->nstreams; i++)
		progress->total_bytes += emu->streams[i].size;
}

/* Shows "43 %, 12.3 M events, 9.1 M/s, 2 s left" on the terminal, at most five times a second. */
static void progress_show(struct progress *progress, const struct emulator *emu)
{
	int64_t now;
	uint64_t bytes = 0;
	double seconds, share;
	char line[128];

	if (!progress->on)
		return;
	now = now_ns();
	if (now < progress->next_ns)
		return;
	progress->next_ns = now + PROGRESS_NS;
	for (size_t i = 0; i < emu->nstreams; i++)
		bytes += stream_offset(&emu->streams[i]);
	seconds = (double)(now - progress->start_ns) / 1e9;
	share = (double)bytes / (double)(progress->total_bytes + 1);
	snprintf(line, sizeof(line), "%2.0f %%, %.1f M events, %.1f M/s, %.0f s left", 100 * share,
		 (double)emu->nevents / 1e6, (double)emu->nevents / 1e6 / seconds,
		 share > 0 ? seconds * (1 - share) / share : 0);
	log_status(line);
}

/* Removes the line; after a success (`err` 0) logs the summary. */
static void progress_end(struct progress *progress, const struct emulator *emu, int err)
{
	double seconds = (double)(now_ns() - progress->start_ns) / 1e9;

	log_status(NULL);
	if (!err && !emu->opt->quiet)
		log_info("%" PRIu64 " event%s of %u thread%s on %u CPU%s in %.2f s (%.2f M "
			 "events/s)",
			 emu->nevents, plural(emu->nevents, "", "s"), emu->sys.nthreads,
			 plural(emu->sys.nthreads, "", "s"), emu->sys.ncpus - emu->sys.nlooms,
			 plural(emu->sys.ncpus - emu->sys.nlooms, "", "s"), seconds,
			 seconds > 0 ? (double)emu->nevents / 1e6 / seconds : 0);
}

/* True if the present event comes after the part. */
static bool is_behind(const struct emulator *emu)
{
	int64_t time;

	return __builtin_sub_overflow(emu->player.clock, emu->first_clock, &time) ||
	       time > emu->opt->until;
}

/* Without an event at or after --from: what was there then, if the trace had not ended. */
static int show_part_end(struct emulator *emu)
{
	if (part_goes_on(emu) && emu->duration < emu->opt->until)
		emu->duration = emu->opt->until;
	if (emu->duration >= emu->opt->since)
		return part_show(emu);
	log_warn("%s has no event in the part of --from and --to", emu->opt->trace);
	return 0;
}

/* With three threads or more, one finds the order of the events. Not with --tolerant: that leaves
 * out the rest of a damaged stream, of which that thread would know nothing. */
static int play_in_thread(struct emulator *emu, struct play_ahead *ahead)
{
	struct play_order *order;

	*ahead = (struct play_ahead){0};
	if (emu->opt->jobs < JOBS_PLAY || emu->opt->tolerant)
		return 0;
	order = play_ahead_begin(ahead, emu->streams, emu->nstreams, emu->fixes);
	if (!order)
		return 0;
	player_close(&emu->player);
	for (size_t i = 0; i < emu->nstreams; i++)
		stream_rewind(&emu->streams[i]);
	return player_follow(&emu->player, emu->streams, emu->nstreams, emu->fixes, order);
}

static int run_events(struct emulator *emu)
{
	struct progress progress;
	int err;

	progress_start(&progress, emu);
	while ((err = player_step(&emu->player)) != 0) {
		if (__builtin_expect(err < 0, 0)) {
			if (!leave_out_rest(emu, emu->player.failed))
				break;
			continue;
		}
		if (__builtin_expect(emu->opt->to, 0) && is_behind(emu)) {
			emu->duration = emu->opt->until;
			break;
		}
		prefetch_thread(emu, emu->player.upcoming);
		err = run_event(emu);
		if (__builtin_expect(emu->clock_check != NULL, 0) && !err &&
		    emu->streams[emu->player.current].ev.model == 'M')
			err = check_clocks(emu);
		if (__builtin_expect(err, 0) && !leave_out_rest(emu, emu->player.current))
			break;
		if (__builtin_expect((++emu->nevents & 0xfff) == 0, 0))
			progress_show(&progress, emu);
		if (__builtin_expect(emulator_interrupted, 0)) {
			log_warn("interrupted after %" PRIu64 " events: the output ends there",
				 emu->nevents);
			err = 0;
			break;
		}
	}
	if (err > 0)
		err = 0; /* stopped at --to */
	if (!err && emu->part)
		err = show_part_end(emu);
	progress_end(&progress, emu, err);
	if (!err)
		clock_check_report(emu);
	if (!err && emu->arrows)
		err = message_arrows_finish(emu);
	return err || !emu->critical ? err : show_critical(emu, emu->duration);
}

static int run(struct emulator *emu)
{
	struct play_ahead ahead;
	int err = play_in_thread(emu, &ahead);

	if (!err)
		err = run_events(emu);
	play_ahead_end(&ahead);
	return err;
}

/* ---- stage 9: the end ---- */

/* Checks that the stack of a model is empty in every thread (-l). */
static int lint_model(const struct emulator *emu, const struct model_state *state)
{
	const struct model *model = state->model;
	uint32_t c = state->first_channel + model->lint_channel;
	uint32_t left = 0;
	const struct thread *first = NULL;

	if (!model->lint)
		return 0;
	for (uint32_t i = 0; i < emu->sys.nthreads; i++) {
		const struct thread *th = &emu->sys.threads[i];

		if (th->slots[c].depth && !emu->damaged[th->stream] && !left++)
			first = th;
	}
	if (!left)
		return 0;
	log_error("%s: thread %" PRIi32
		  " ended with %u stacked %s, the last one is '%s'%s (each must be "
		  "left before the end)",
		  emu_stream_name(emu, first->stream), first->tid, first->slots[c].depth,
		  model->lint, channel_label(&emu->channels[c], first->slots[c].value) ?: "?",
		  left > 1 ? ", and other threads too" : "");
	return -EINVAL;
}

static int finish_models(struct emulator *emu, bool complete)
{
	int err = 0;

	for (size_t i = 0; i < emu->nmodels; i++) {
		struct model_state *state = &emu->models[i];
		const struct model *model = state->model;

		if (!state->enabled)
			continue;
		if (complete && model->finish && model->finish(emu, state))
			err = -EINVAL;
		if (model->describe && model->describe(emu, state))
			err = -EINVAL;
		if (complete && emu->opt->lint && lint_model(emu, state))
			err = -EINVAL;
	}
	return err;
}

/* Closes all .prv files, also those with a header alone after a failure. */
static int close_outputs(struct emulator *emu)
{
	int err = prv_close(&emu->thread_prv, emu->duration);
	int other = prv_close(&emu->cpu_prv, emu->duration);

	err = err ?: other;
	for (size_t i = 0; i < emu->nbreakdowns; i++) {
		other = breakdown_close(emu->breakdowns[i], emu->duration);
		err = err ?: other;
	}
	return err;
}

static void fini(struct emulator *emu)
{
	for (size_t i = 0; i < emu->nmodels; i++) {
		struct model_state *state = &emu->models[i];

		if (state->model->close)
			state->model->close(state);
		free(state->index);
		free(state->complaint);
	}
	for (uint32_t i = 0; emu->blocks && i < emu->sys.nthreads; i++)
		for (uint32_t c = 0; c < emu->nchannels && emu->sys.threads[i].slots; c++)
			free(emu->sys.threads[i].slots[c].stack);
	for (size_t i = 0; i < emu->nchannels; i++)
		free(emu->channels[i].labels);
	part_fini(emu);
	critical_fini(emu);
	message_arrows_fini(emu);
	clock_check_fini(emu);
	free(emu->channels);
	free(emu->blocks);
	free(emu->cpu_slots);
	free(emu->bits);
	free(emu->actions);
	player_close(&emu->player);
	streams_free(emu->streams, emu->nstreams);
	free(emu->fixes);
	free(emu->damaged);
	system_fini(&emu->sys);
	out_pool_free(emu->pool);
	if (emu->out_fd >= 0)
		close(emu->out_fd);
	trace_close(&emu->trace);
}

/* The stages before the first event. Returns 0, or -errno after a message. */
static int prepare(struct emulator *emu)
{
	static int (*const stages[])(struct emulator *) = {
		load_trace,	build_system,		open_out_dir,	  open_outputs,
		open_player,	choose_models,		critical_prepare, clock_check_prepare,
		models_prepare, message_arrows_prepare,
	};

	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
		int err = stages[i](emu);

		if (err)
			return err;
	}
	return 0;
}

int emulator_run(const struct emu_options *opt)
{
	struct emulator emu = {.opt = opt, .out_fd = -1, .trace.fd = -1};
	int err, status = STATUS_FAILED;
	bool failed = true;

	open_models(&emu);
	occupancy_init();
	prv_time_init(&emu.time);
	emu.pool = out_pool_new(opt->jobs - 1 - (opt->jobs >= JOBS_PLAY));
	if (!emu.pool || prepare(&emu))
		goto out;
	err = run(&emu);
	failed = err != 0;
	failed |= finish_models(&emu, !err && !emulator_interrupted && !opt->from && !opt->to) != 0;
	failed |= views_write(&emu) != 0;
	failed |= cfg_install(&emu) != 0;
out:
	failed |= close_outputs(&emu) != 0;
	if (!failed)
		status = STATUS_COMPLETE;
	if (!failed && emu.ndamaged) {
		log_warn("%zu of %zu streams %s damaged: the output is not complete", emu.ndamaged,
			 emu.nstreams, emu.ndamaged == 1 ? "was" : "were");
		status = STATUS_LOST;
	}
	if (!failed && !opt->compat && !opt->no_output && whole_report(&emu.whole, opt->trace))
		status = STATUS_LOST;
	fini(&emu);
	return status;
}
