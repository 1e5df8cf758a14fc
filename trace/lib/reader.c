/* SPDX-License-Identifier: MIT */
/* reader: the library for reading traces (see reader.h). */
#include "trace/lib/reader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/analysis/function_calls.h"
#include "trace/analysis/thread_times.h"
#include "trace/base/log.h"
#include "trace/base/text.h"
#include "trace/catalog/catalog.h"
#include "trace/ovni/player.h"
#include "trace/states/mark_labels.h"
#include "trace/states/tid_names.h"

struct queued { /* an interval, and the call of a sleep */
	struct ovni_trace_interval shown;
	struct sleep_call call;
};

struct ovni_trace {
	struct source source;
	char incomplete[WHOLE_TEXT];
	struct ovni_trace_thread *threads;
	struct ovni_trace_cpu *cpus; /* by loom and index */
	size_t ncpus;
	enum call_machine *machines; /* of each stream */

	/* the walk; `playing` and `walking` say what rewind() must free */
	struct player player;
	struct intervals intervals;
	struct thread_times times;
	bool playing, walking;
	bool ended;  /* the open intervals are in the queue; nothing more is read */
	int status;  /* of the end: 0 or -errno */
	char *fault; /* its sentence */

	struct queued *queue; /* the intervals that the last event has ended: */
	size_t nqueue, next;  /* those from `next` on were not handed out */
	uint32_t room;	      /* of the queue */
	bool failed;	      /* the queue lacked memory */

	/* the regions that the last event has ended, or that are open at the end */
	struct function_list functions;
	struct ovni_trace_function **shown; /* of each function */
	size_t nshown;
	struct function_calls *calls; /* of each stream, while regions are read; else NULL */
	struct ovni_trace_region region;
	uint32_t closing; /* at the end: the stream whose open regions follow */
	bool stepped;	  /* a step was made since the begin */

	struct mark_labels labels;
	struct tid_names names;
	bool named; /* both were read */

	struct ovni_trace_event event;
	bool has_event;
	struct ovni_trace_arg arg;
	char *text;		 /* of the last call that returned one */
	const struct queued *at; /* the present interval */
};

/* ---- errors ---- */

static _Thread_local char error_text[1024];

/* The first error since the begin of the call: the others follow from it. Warnings are not shown:
 * ovni_trace_incomplete() has the one that matters. */
static _Thread_local bool error_heard;

static void hear(void *to, enum log_level level, const char *text)
{
	(void)to;
	if (level != LOG_ERROR || error_heard)
		return;
	error_heard = true;
	snprintf(error_text, sizeof(error_text), "%s", text);
}

static void hear_all(void)
{
	log_divert(hear, NULL);
}

static void listen(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, hear_all);
	error_heard = false;
}

/* Out of memory is logged once in a process, and some errors have no sentence. */
static int fail(int err, const char *what)
{
	if (!error_heard)
		snprintf(error_text, sizeof(error_text), "%s: %s", what, strerror(-err));
	return err;
}

const char *ovni_trace_error(void)
{
	return error_text;
}

const char *ovni_trace_version(void)
{
	return VERSION;
}

/* ---- threads and CPUs ---- */

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static int read_threads(struct ovni_trace *t)
{
	size_t n = t->source.trace.nstreams;

	t->threads = calloc(n + 1, sizeof(*t->threads));
	if (!t->threads)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct owner *owner = &t->source.owners[i];

		t->threads[i] = (struct ovni_trace_thread){
			.path = t->source.trace.streams[i],
			.loom = owner->loom,
			.name = or_empty(owner->name),
			.cgroup = or_empty(owner->cgroup),
			.pid = owner->pid,
			.tid = owner->tid,
			.rank = owner->known_rank,
			.app_id = owner->app_id,
			.finished = owner->finished,
		};
	}
	return 0;
}

static int by_index(const void *a, const void *b)
{
	const struct ovni_trace_cpu *x = a, *y = b;
	int order = strcmp(x->loom, y->loom);

	if (order)
		return order;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int read_cpus(struct ovni_trace *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->source.trace.nstreams; i++) {
		struct json *meta = trace_metadata(&t->source.trace, i);
		const struct json *node = json_first(json_get(meta, "ovni.loom_cpus"));

		if (!meta)
			return -EINVAL;
		for (; node; node = json_next(node)) {
			int64_t index = json_int(json_key(node, "index"));
			int64_t number = json_int(json_key(node, "phyid"));
			struct ovni_trace_cpu *cpu;

			if (index < 0 || index > INT32_MAX || number < 0 || number > INT32_MAX)
				continue; /* no run is on it */
			cpu = ARRAY_ADD(t->cpus, t->ncpus);
			if (!cpu) {
				json_free(meta);
				return -ENOMEM;
			}
			*cpu = (struct ovni_trace_cpu){t->source.owners[i].loom, (int32_t)index,
						       (int32_t)number};
		}
		json_free(meta);
	}
	if (t->ncpus)
		qsort(t->cpus, t->ncpus, sizeof(*t->cpus), by_index);
	for (size_t i = 0; i < t->ncpus; i++)
		if (!kept || by_index(&t->cpus[kept - 1], &t->cpus[i]))
			t->cpus[kept++] = t->cpus[i];
	t->ncpus = kept;
	return 0;
}

size_t ovni_trace_nthreads(const struct ovni_trace *t)
{
	return t->source.trace.nstreams;
}

const struct ovni_trace_thread *ovni_trace_thread(const struct ovni_trace *t, size_t i)
{
	return i < t->source.trace.nstreams ? &t->threads[i] : NULL;
}

int64_t ovni_trace_find(const struct ovni_trace *t, size_t seen_by, int64_t tid)
{
	if (!t->playing || seen_by >= t->source.trace.nstreams)
		return -1;
	return state_walk_find(&t->intervals.walk, (uint32_t)seen_by, tid);
}

size_t ovni_trace_ncpus(const struct ovni_trace *t)
{
	return t->ncpus;
}

const struct ovni_trace_cpu *ovni_trace_cpu(const struct ovni_trace *t, size_t i)
{
	return i < t->ncpus ? &t->cpus[i] : NULL;
}

const char *ovni_trace_incomplete(const struct ovni_trace *t)
{
	return t->incomplete;
}

/* ---- the walk ---- */

static const uint8_t wait_reasons[WAIT_CAUSES] = {
	[WAIT_PREEMPTED] = OVNI_TRACE_PREEMPTED, [WAIT_YIELDED] = OVNI_TRACE_YIELDED,
	[WAIT_THROTTLED] = OVNI_TRACE_QUOTA,	 [WAIT_WOKEN] = OVNI_TRACE_WOKEN,
	[WAIT_NEWBORN] = OVNI_TRACE_NEWBORN,
};

/* The numbers of the trace format are those of the library. */
_Static_assert(OVNI_TRACE_SLEEPING == (int)OFF_CPU_SLEEPING &&
		       OVNI_TRACE_QUOTA == (int)OFF_CPU_THROTTLED &&
		       OFF_CPU_COUNT <= (int)OVNI_TRACE_WOKEN,
	       "reasons");
_Static_assert(OVNI_TRACE_RUNNING == (int)CLASS_RUNNING &&
		       OVNI_TRACE_UNKNOWN == (int)CLASS_UNKNOWN &&
		       OVNI_TRACE_THROTTLED == (int)CLASS_THROTTLED &&
		       OVNI_TRACE_ASLEEP == (int)CLASS_ASLEEP && TIME_CLASSES == 5,
	       "states");
_Static_assert(OVNI_TRACE_VIRTUAL_CPU == CPU_VIRTUAL && OVNI_TRACE_NO_CPU == CPU_NONE, "CPUs");

static int32_t reason_of(enum time_use use)
{
	if (use == TIME_RUNNING)
		return OVNI_TRACE_NO_REASON;
	return use < TIME_ASLEEP ? wait_reasons[use - TIME_WAITING] : (int32_t)(use - TIME_ASLEEP);
}

static struct queued *enqueue(struct ovni_trace *t, uint32_t stream, enum time_use use,
			      int64_t begin, int64_t end)
{
	struct queued *q = stack_more(t->queue, t->nqueue, &t->room, sizeof(*q));

	if (!q) {
		t->failed = true;
		return NULL;
	}
	t->queue = q;
	q += t->nqueue++;
	*q = (struct queued){.shown = {.begin = begin,
				       .end = end,
				       .thread = stream,
				       .cpu = CPU_NONE,
				       .state = (int32_t)time_use_class(use),
				       .reason = reason_of(use),
				       .next = INTERVAL_NEXT_UNKNOWN},
			     .call.call = CALL_UNKNOWN};
	return q;
}

/* thread_times: a stay has ended. Runs come from take_span(), by CPU. */
static void take_stay(void *arg, uint32_t stream, enum time_use use, int64_t begin, int64_t end)
{
	struct ovni_trace *t = arg;
	const struct interval *interval = &t->intervals.threads[stream].interval;
	struct queued *q;

	if (use == TIME_RUNNING || use == TIME_NONE)
		return;
	q = enqueue(t, stream, use, begin, end);
	if (!q || use == TIME_LOST)
		return;
	q->shown.waker = interval->waker;
	if (use >= TIME_ASLEEP)
		q->call = interval->call;
}

static int take_span(void *arg, const struct intervals *walk, uint32_t stream, int32_t cpu,
		     int64_t from, int64_t to)
{
	struct ovni_trace *t = arg;
	struct queued *q = enqueue(t, stream, TIME_RUNNING, from, to);

	(void)walk;
	if (!q)
		return 0;
	q->shown.cpu = t->source.owners[stream].accelerator ? CPU_NONE : cpu;
	q->shown.reason = OVNI_TRACE_MOVED; /* take_end() knows better */
	return 0;
}

/* A run ends: its last part, if it has any length, is the last one in the queue. */
static int take_end(void *arg, const struct intervals *walk, const struct interval *interval)
{
	struct ovni_trace *t = arg;
	struct queued *q = t->nqueue ? &t->queue[t->nqueue - 1] : NULL;

	(void)walk;
	if (!q || q->shown.thread != interval->stream || q->shown.state != OVNI_TRACE_RUNNING ||
	    q->shown.end != interval->end)
		return 0;
	q->shown.reason = interval->cut ? OVNI_TRACE_NO_REASON : (int32_t)interval->why;
	q->shown.next = interval->next;
	return 0;
}

static int take_event(void *arg, const struct intervals *walk, uint32_t stream,
		      const struct event *ev)
{
	struct ovni_trace *t = arg;

	thread_times_step(&t->times, walk, stream, ev);
	return 0;
}

static const struct interval_listener listener = {
	.end = take_end, .span = take_span, .event = take_event};

static void clear_queue(struct ovni_trace *t)
{
	t->at = NULL;
	t->nqueue = t->next = 0;
}

static void free_calls(struct ovni_trace *t)
{
	for (size_t i = 0; t->calls && i < t->source.trace.nstreams; i++)
		function_calls_free(&t->calls[i]);
	free(t->calls);
	t->calls = NULL;
}

static void end_walk(struct ovni_trace *t)
{
	clear_queue(t);
	free_calls(t);
	if (t->playing)
		player_close(&t->player);
	if (t->walking) {
		thread_times_fini(&t->times);
		intervals_fini(&t->intervals);
	}
	t->playing = t->walking = t->ended = t->has_event = t->stepped = false;
	t->status = 0;
	free(t->fault);
	t->fault = NULL;
}

static int begin_walk(struct ovni_trace *t)
{
	size_t n = t->source.trace.nstreams;
	int err;

	end_walk(t);
	for (size_t i = 0; i < n; i++)
		stream_rewind(&t->source.streams[i]);
	t->walking = true;
	err = intervals_init(&t->intervals, &t->source);
	if (!err)
		err = thread_times_init(&t->times, &t->source, INT64_MIN, INT64_MAX);
	if (err)
		return err;
	t->times.stay = take_stay;
	t->times.arg = t;
	t->times.unsummed = true;
	err = player_open(&t->player, t->source.streams, n, t->source.trace.fixes, false);
	t->playing = !err;
	return err;
}

/* The player has ended with `step`: the open intervals follow. */
static void finish(struct ovni_trace *t, int step)
{
	t->ended = true;
	t->has_event = false;
	t->status = step;
	if (step < 0)
		t->fault = strdup(error_heard ? error_text : strerror(-step));
	if (intervals_cut(&t->intervals, &listener, t))
		t->failed = true;
	thread_times_finish(&t->times, &t->intervals);
}

/* The end of a damaged trace has its sentence at each call. */
static int ended(struct ovni_trace *t)
{
	if (t->status < 0) {
		error_heard = true;
		snprintf(error_text, sizeof(error_text), "%s", or_empty(t->fault));
	}
	return t->status;
}

/* One event further. Returns 1, 0 at the end, with the last intervals in the queue, or -errno. */
static int step(struct ovni_trace *t)
{
	struct event *ev;
	int more;

	clear_queue(t);
	if (t->ended)
		return ended(t);
	t->stepped = true;
	more = player_step(&t->player);
	if (more <= 0) {
		finish(t, more);
	} else {
		ev = &t->source.streams[t->player.current].ev;
		ev->clock = t->player.clock;
		(void)intervals_take(&t->intervals, t->player.current, ev, &listener, t);
	}
	if (t->failed) {
		t->failed = false;
		t->ended = true;
		t->status = -ENOMEM;
		return fail(-ENOMEM, "intervals of the trace");
	}
	return more > 0;
}

/* ---- names ---- */

static int read_names(struct ovni_trace *t)
{
	int err = t->named ? 0 : tid_names_init(&t->names, &t->intervals.walk);

	for (size_t i = 0; !t->named && i < t->source.trace.nstreams && !err; i++) {
		struct json *meta = trace_metadata(&t->source.trace, i);

		err = meta ? mark_labels_add(&t->labels, meta) : -EINVAL;
		json_free(meta);
	}
	t->named = true;
	return err;
}

/* Reads the names before the first answer. False after an error. */
static bool have_names(struct ovni_trace *t)
{
	int err;

	listen();
	err = t->named ? 0 : read_names(t);
	if (!err)
		return true;
	mark_labels_free(&t->labels);
	tid_names_fini(&t->names);
	t->named = false;
	fail(err, t->source.trace.path);
	return false;
}

const char *ovni_trace_tid_name(struct ovni_trace *t, size_t seen_by, int64_t tid)
{
	if (!t->playing || seen_by >= t->source.trace.nstreams)
		return "";
	return have_names(t) ? or_empty(tid_names_find(&t->names, (uint32_t)seen_by, tid)) : NULL;
}

const char *ovni_trace_mark_label(struct ovni_trace *t, int32_t type, int64_t value)
{
	return have_names(t) ? or_empty(mark_labels_value(&t->labels, type, value)) : NULL;
}

const char *ovni_trace_mark_title(struct ovni_trace *t, int32_t type)
{
	return have_names(t) ? or_empty(mark_labels_title(&t->labels, type)) : NULL;
}

/* ---- open and close ---- */

static void free_function(struct ovni_trace_function *f)
{
	free((char *)f->name);
	free((char *)f->type);
	free(f);
}

static int open_all(struct ovni_trace *t, const char *path)
{
	int err = source_open(&t->source, path);

	if (!err)
		err = source_correct_clocks(&t->source);
	if (err < 0)
		return err;
	whole_text(&t->source.whole, t->incomplete);
	err = read_threads(t);
	if (!err)
		err = read_cpus(t);
	if (err)
		return err;
	t->machines = sleep_machines(&t->source);
	return t->machines ? begin_walk(t) : -ENOMEM;
}

int ovni_trace_open(struct ovni_trace **trace, const char *path)
{
	struct ovni_trace *t = calloc(1, sizeof(*t));
	int err;

	*trace = NULL;
	listen();
	if (!t)
		return fail(-ENOMEM, path);
	err = open_all(t, path);
	if (err) {
		ovni_trace_close(t);
		return fail(err, path);
	}
	*trace = t;
	return 0;
}

void ovni_trace_close(struct ovni_trace *t)
{
	if (!t)
		return;
	end_walk(t);
	for (size_t i = 0; i < t->nshown; i++)
		free_function(t->shown[i]);
	free(t->shown);
	function_list_free(&t->functions);
	mark_labels_free(&t->labels);
	tid_names_fini(&t->names);
	source_close(&t->source);
	free(t->threads);
	free(t->cpus);
	free(t->machines);
	free(t->queue);
	free(t->text);
	free(t);
}

int ovni_trace_rewind(struct ovni_trace *t)
{
	int err;

	listen();
	err = begin_walk(t);
	if (err) { /* nothing more to read */
		t->ended = true;
		t->status = fail(err, t->source.trace.path);
		t->fault = strdup(error_text);
	}
	return err;
}

/* ---- events ---- */

int ovni_trace_next_event(struct ovni_trace *t, const struct ovni_trace_event **event)
{
	const struct event *ev;
	uint32_t stream;
	int more;

	*event = NULL;
	listen();
	if (t->calls)
		return fail(-EINVAL, "events after regions: rewind the trace first");
	more = step(t);
	if (more == 0 && t->status < 0)
		more = ended(t);
	t->has_event = more > 0;
	if (more <= 0)
		return more;
	stream = t->player.current;
	ev = &t->source.streams[stream].ev;
	t->event = (struct ovni_trace_event){
		.clock = t->player.clock,
		.thread = stream,
		.cpu = t->source.owners[stream].accelerator ? CPU_NONE
							    : t->intervals.walk.threads[stream].cpu,
		.mcv = {(char)ev->model, (char)ev->category, (char)ev->value, '\0'},
		.jumbo = ev->jumbo,
		.payload_size = ev->payload_size,
		.payload = ev->payload,
	};
	*event = &t->event;
	return 1;
}

static const struct event *present(const struct ovni_trace *t)
{
	return t->has_event ? &t->source.streams[t->event.thread].ev : NULL;
}

/* Keeps a text until the next one. */
static const char *keep(struct ovni_trace *t, char *text)
{
	free(t->text);
	t->text = text;
	if (!text)
		fail(-ENOMEM, "text");
	return text;
}

const char *ovni_trace_event_text(struct ovni_trace *t)
{
	const struct event *ev = present(t);
	size_t n;
	char *text;

	if (!ev)
		return NULL;
	listen();
	n = catalog_explain(ev, NULL, 0);
	text = malloc(n + 1);
	if (text)
		catalog_explain(ev, text, n + 1);
	return keep(t, text);
}

/* The place of argument `i` of those that the event has; -1: it has not so many. */
static int place(const struct ovni_trace *t, size_t i, const struct signature **sig)
{
	const struct event *ev = present(t);

	*sig = NULL;
	if (!ev || !catalog_find(event_mcv(ev), sig) || !*sig)
		return -1;
	for (unsigned at = 0; at < (*sig)->nargs; at++)
		if (((*sig)->args[at].many || signature_count(*sig, ev, at)) && i-- == 0)
			return (int)at;
	return -1;
}

size_t ovni_trace_event_nargs(struct ovni_trace *t)
{
	const struct signature *sig;
	size_t n = 0;

	while (place(t, n, &sig) >= 0)
		n++;
	return n;
}

const struct ovni_trace_arg *ovni_trace_event_arg(struct ovni_trace *t, size_t i)
{
	const struct signature *sig;
	int at = place(t, i, &sig);
	const struct event *ev = present(t);
	size_t size;

	if (at < 0)
		return NULL;
	t->arg = (struct ovni_trace_arg){.name = sig->args[at].name,
					 .n = signature_count(sig, ev, (unsigned)at)};
	if (sig->args[at].type == ARG_STR) {
		t->arg.type = OVNI_TRACE_TEXT;
		t->arg.text = signature_str(sig, ev, (unsigned)at, &size);
		return &t->arg;
	}
	t->arg.type = sig->args[at].type == ARG_U64 ? OVNI_TRACE_UNSIGNED : OVNI_TRACE_INTEGER;
	if (sig->args[at].many)
		t->arg.type = OVNI_TRACE_LIST;
	(void)signature_nth(sig, ev, (unsigned)at, 0, &t->arg.value);
	return &t->arg;
}

const struct ovni_trace_arg *ovni_trace_event_arg_named(struct ovni_trace *t, const char *name)
{
	const struct ovni_trace_arg *arg;

	for (size_t i = 0; (arg = ovni_trace_event_arg(t, i)); i++)
		if (strcmp(arg->name, name) == 0)
			return arg;
	return NULL;
}

int ovni_trace_event_value(struct ovni_trace *t, size_t i, size_t k, int64_t *value)
{
	const struct signature *sig;
	int at = place(t, i, &sig);

	return at >= 0 && signature_nth(sig, present(t), (unsigned)at, k, value) ? 0 : -ENOENT;
}

/* ---- intervals ---- */

static int next_queued(struct ovni_trace *t)
{
	while (t->next == t->nqueue) {
		int more;

		if (t->ended)
			return ended(t);
		more = step(t);
		if (more < 0)
			return more;
	}
	t->at = &t->queue[t->next++];
	return 1;
}

int ovni_trace_next_interval(struct ovni_trace *t, const struct ovni_trace_interval **interval)
{
	int more;

	*interval = NULL;
	listen();
	t->has_event = false;
	if (t->calls)
		return fail(-EINVAL, "intervals after regions: rewind the trace first");
	more = next_queued(t);
	*interval = more > 0 ? &t->at->shown : NULL;
	if (more <= 0)
		t->at = NULL;
	return more;
}

const char *ovni_trace_interval_call(struct ovni_trace *t)
{
	const struct queued *q = t->at;
	uint32_t stream;

	if (!q || q->call.call == CALL_UNKNOWN)
		return "";
	listen();
	stream = q->shown.thread;
	return keep(t, sleep_call_text(&q->call, t->machines[stream], &t->source.owners[stream],
				       q->shown.begin, q->shown.end, false));
}

/* ---- regions ---- */

/* Names the function that is the last one of the list. */
static int show_function(struct ovni_trace *t)
{
	const struct function *f = &t->functions.list[t->nshown];
	struct ovni_trace_function *shown = calloc(1, sizeof(*shown)), **at;
	char *name = NULL, *type = NULL;

	if (f->type < 0) {
		function_names(&t->source, f, &name, &type);
	} else {
		const char *label = mark_labels_value(&t->labels, f->type, f->value);
		const char *title = mark_labels_title(&t->labels, f->type);

		name = label ? strdup(label) : xasprintf("%lld", (long long)f->value);
		type = title ? strdup(title) : xasprintf("%lld", (long long)f->type);
	}
	at = shown && name && type ? ARRAY_ADD(t->shown, t->nshown) : NULL;
	if (!at) {
		free(shown);
		free(name);
		free(type);
		return fail(-ENOMEM, "functions of the trace");
	}
	*shown = (struct ovni_trace_function){name, type, f->type < 0 ? -1 : f->type, f->value};
	*at = shown;
	return 0;
}

static int enter_region(struct ovni_trace *t, uint32_t stream, const struct function *function)
{
	int64_t number = function_number(&t->functions, function);
	struct function_call *call;

	if (number >= 0 && t->functions.n > t->nshown && show_function(t))
		return -ENOMEM;
	call = number < 0 ? NULL
			  : function_calls_enter(&t->calls[stream], function, (uint32_t)number,
						 t->player.clock);
	if (!call)
		return fail(-ENOMEM, "regions of the trace");
	thread_times_read(&t->times, stream, t->player.clock, call->classes);
	return 0;
}

static void end_region(struct ovni_trace *t, uint32_t stream, size_t depth, bool returned)
{
	const struct function_call *call = &t->calls[stream].list[depth];
	int64_t clock = t->intervals.last, now[TIME_CLASSES];

	thread_times_read(&t->times, stream, clock, now);
	t->region = (struct ovni_trace_region){
		.begin = call->begin,
		.end = clock,
		.thread = stream,
		.function = call->number,
		.depth = (uint32_t)depth,
		.nested = call->inner,
		.returned = returned,
	};
	for (int i = 0; i < TIME_CLASSES; i++)
		t->region.state_ns[i] = clock_distance(call->classes[i], now[i]);
	function_calls_remove(&t->calls[stream], depth);
}

/* Takes the present event: 1 if it ends a region, 0, or -ENOMEM. */
static int take_region(struct ovni_trace *t)
{
	uint32_t stream = t->player.current;
	struct function function;
	enum catalog_action action = function_event(&t->source.streams[stream].ev, &function);
	int64_t i;

	if (action == ACTION_PUSH)
		return enter_region(t, stream, &function);
	i = action == ACTION_POP ? function_calls_find(&t->calls[stream], &function) : -1;
	if (i < 0)
		return 0;
	end_region(t, stream, (size_t)i, true);
	return 1;
}

static int begin_regions(struct ovni_trace *t)
{
	if (t->stepped)
		return fail(-EINVAL, "regions after events or intervals: rewind the trace first");
	if (!have_names(t))
		return -ENOMEM;
	t->calls = calloc(t->source.trace.nstreams + 1, sizeof(*t->calls));
	if (!t->calls)
		return fail(-ENOMEM, "regions of the trace");
	t->times.stay = NULL;
	t->times.unsummed = false;
	t->times.ahead = true;
	t->closing = 0;
	return 0;
}

/* The next region. Returns 1, 0 or -errno. */
static int find_region(struct ovni_trace *t)
{
	int more = t->calls || (t->ended && !t->stepped) ? 0 : begin_regions(t);

	while (more == 0 && !t->ended) {
		more = step(t);
		if (more == 1)
			more = take_region(t);
	}
	if (more < 0 && t->calls) { /* no memory: the end, without the open regions */
		t->ended = true;
		t->status = more;
		t->closing = UINT32_MAX;
	}
	if (more)
		return more;
	for (; t->calls && t->closing < t->source.trace.nstreams; t->closing++) {
		size_t depth = t->calls[t->closing].depth;

		if (!depth)
			continue;
		end_region(t, t->closing, depth - 1, false);
		return 1;
	}
	return ended(t);
}

int ovni_trace_next_region(struct ovni_trace *t, const struct ovni_trace_region **region)
{
	int more;

	listen();
	t->has_event = false;
	more = find_region(t);
	*region = more > 0 ? &t->region : NULL;
	return more;
}

size_t ovni_trace_nfunctions(const struct ovni_trace *t)
{
	return t->nshown;
}

const struct ovni_trace_function *ovni_trace_function(const struct ovni_trace *t, size_t i)
{
	return i < t->nshown ? t->shown[i] : NULL;
}

/* ---- the names of numbers ---- */

const char *ovni_trace_state_name(int state)
{
	static const char *const names[TIME_CLASSES] = {
		[OVNI_TRACE_RUNNING] = "running",     [OVNI_TRACE_RUNNABLE] = "runnable",
		[OVNI_TRACE_THROTTLED] = "throttled", [OVNI_TRACE_ASLEEP] = "asleep",
		[OVNI_TRACE_UNKNOWN] = "unknown",
	};

	return state >= 0 && state < TIME_CLASSES ? names[state] : "";
}

const char *ovni_trace_reason_name(int reason)
{
	if (reason == OVNI_TRACE_WOKEN)
		return wait_cause_word(WAIT_WOKEN);
	if (reason == OVNI_TRACE_NEWBORN)
		return wait_cause_word(WAIT_NEWBORN);
	if (reason == OVNI_TRACE_MOVED)
		return "moved";
	return reason > 0 && reason < OFF_CPU_COUNT ? off_cpu_word((unsigned)reason) : "";
}

/* ---- columns ---- */

#define PUT(column, value)                                                                         \
	do {                                                                                       \
		if (column)                                                                        \
			(column)[i] = (value);                                                     \
	} while (0)

int64_t ovni_trace_read_intervals(struct ovni_trace *t, size_t n, int64_t *begin, int64_t *end,
				  uint32_t *thread, int32_t *cpu, int32_t *state, int32_t *reason,
				  int32_t *waker, int32_t *next)
{
	const struct ovni_trace_interval *q;
	size_t i;
	int more = 0;

	for (i = 0; i < n && (more = ovni_trace_next_interval(t, &q)) > 0; i++) {
		PUT(begin, q->begin);
		PUT(end, q->end);
		PUT(thread, q->thread);
		PUT(cpu, q->cpu);
		PUT(state, q->state);
		PUT(reason, q->reason);
		PUT(waker, q->waker);
		PUT(next, q->next);
	}
	return i ? (int64_t)i : more;
}

int64_t ovni_trace_read_regions(struct ovni_trace *t, size_t n, int64_t *begin, int64_t *end,
				uint32_t *thread, uint32_t *function, uint32_t *depth,
				int32_t *nested, int32_t *returned, int64_t *state_ns)
{
	const struct ovni_trace_region *r;
	size_t i;
	int more = 0;

	for (i = 0; i < n && (more = ovni_trace_next_region(t, &r)) > 0; i++) {
		PUT(begin, r->begin);
		PUT(end, r->end);
		PUT(thread, r->thread);
		PUT(function, r->function);
		PUT(depth, r->depth);
		PUT(nested, r->nested);
		PUT(returned, r->returned);
		if (state_ns)
			memcpy(state_ns + i * TIME_CLASSES, r->state_ns, sizeof(r->state_ns));
	}
	return i ? (int64_t)i : more;
}

int64_t ovni_trace_read_events(struct ovni_trace *t, size_t n, int64_t *clock, uint32_t *thread,
			       int32_t *cpu, uint32_t *mcv)
{
	const struct ovni_trace_event *ev;
	size_t i;
	int more = 0;

	for (i = 0; i < n && (more = ovni_trace_next_event(t, &ev)) > 0; i++) {
		PUT(clock, ev->clock);
		PUT(thread, ev->thread);
		PUT(cpu, ev->cpu);
		PUT(mcv, MCV(ev->mcv[0], ev->mcv[1], ev->mcv[2]));
	}
	return i ? (int64_t)i : more;
}
