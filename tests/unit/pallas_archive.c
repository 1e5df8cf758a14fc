/* SPDX-License-Identifier: MIT */
/* pallas: archives are read back after writing, and obey the rules. */
#include "pallas_kit.h"

#include "trace/pallas/read/archive.h"
#include "trace/pallas/read/expand.h"
#include "trace/pallas/pallas_file.h"

/* ---- streams of events ---- */

static void one_event(struct stream_of *s)
{
	add(s, PALLAS_GENERIC, 3, 5);
}

static void equal_events(struct stream_of *s)
{
	for (int i = 0; i < 500; i++)
		add(s, PALLAS_GENERIC, 3, 0);
}

static void flat_loop(struct stream_of *s)
{
	for (int i = 0; i < 200000; i++)
		call(s, 1);
}

static void nested_loops(struct stream_of *s)
{
	for (uint32_t i = 0; i < 300; i++) {
		add(s, PALLAS_ENTER, 2, 7);
		for (uint32_t k = 0; k < 3 + i % 3; k++) {
			call(s, 1);
			add(s, PALLAS_GENERIC, 0, 3);
			call(s, 4);
		}
		add(s, PALLAS_LEAVE, 2, 7);
	}
}

static void irregular(struct stream_of *s)
{
	for (int i = 0; i < 60000; i++)
		call(s, below(12));
}

/* Calls without order, with all that can come between two of them. */
static void disorder(struct stream_of *s)
{
	add(s, PALLAS_ENTER, 60, 1);
	for (int i = 0; i < 60000; i++) {
		call(s, below(6));
		switch (below(8)) {
		case 0:
			add(s, PALLAS_GENERIC, 1, 1);
			break;
		case 1:
			add(s, PALLAS_OMP_FORK, 4, 1);
			add(s, PALLAS_OMP_JOIN, 4, 1);
			break;
		case 2:
			add(s, PALLAS_ENTER, 50, 1);
			call(s, below(6));
			call(s, below(2));
			add(s, PALLAS_LEAVE, 50, 1);
			break;
		case 3:
			add(s, PALLAS_LEAVE, below(2) ? 3 : 61, 1);
			break;
		}
		if (i % 5000 == 0)
			add(s, PALLAS_ENTER, 3, 1);
		if (i % 20000 == 0) {
			for (int k = 0; k < 500; k++) {
				call(s, 1);
				call(s, 2);
			}
		}
	}
	call(s, 1);
}

/* Blocks that are entered and never left, left and never entered, or left in the wrong order. */
static void unbalanced(struct stream_of *s)
{
	for (int i = 0; i < 20000; i++)
		add(s, below(3) ? (below(2) ? PALLAS_ENTER : PALLAS_LEAVE) : PALLAS_GENERIC,
		    below(4), below(3));
}

static void tree(struct stream_of *s, unsigned most, unsigned functions, int events)
{
	uint32_t stack[4096];
	unsigned depth = 0;

	while (events-- > 0 || depth) {
		if (depth < most && events > 0 && (depth == 0 || below(2))) {
			stack[depth] = below(functions);
			add(s, PALLAS_ENTER, stack[depth++], below(100));
		} else {
			add(s, PALLAS_LEAVE, stack[--depth], below(100));
		}
	}
}

static void call_tree(struct stream_of *s)
{
	tree(s, 20, 100, 60000);
}

/* Deeper than the reference readers stand (rule R12). */
static void deep_recursion(struct stream_of *s)
{
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3000; k++)
			add(s, PALLAS_ENTER, (uint32_t)k % 7, 1);
		for (int k = 2999; k >= 0; k--)
			add(s, PALLAS_LEAVE, (uint32_t)k % 7, 1);
	}
	tree(s, 400, 3, 20000);
}

/* Frames that spill while frames inside them spill, too. */
static void long_blocks(struct stream_of *s)
{
	for (uint32_t i = 0; i < 3; i++) {
		add(s, PALLAS_ENTER, 90 + i, 1);
		for (int k = 0; k < 9000; k++)
			call(s, below(40));
	}
	for (uint32_t i = 3; i-- > 0;) {
		for (int k = 0; k < 9000; k++)
			call(s, below(40));
		add(s, PALLAS_LEAVE, 90 + i, 1);
	}
}

static void many_events(struct stream_of *s)
{
	for (uint32_t i = 0; i < 30000; i++)
		add(s, PALLAS_GENERIC, i, 1);
}

static const struct shape {
	const char *name;
	void (*make)(struct stream_of *s);
} shapes[] = {
	{"one_event", one_event},	    {"equal_events", equal_events},
	{"flat_loop", flat_loop},	    {"nested_loops", nested_loops},
	{"irregular", irregular},	    {"disorder", disorder},
	{"unbalanced", unbalanced},	    {"call_tree", call_tree},
	{"deep_recursion", deep_recursion}, {"long_blocks", long_blocks},
	{"many_events", many_events},
};

#define NSHAPES (sizeof(shapes) / sizeof(shapes[0]))

/* ---- writing and reading ---- */

/* Writes the streams as the threads of one archive; `wrap` adds THREAD_BEGIN and THREAD_END. */
static void write_archive(const char *path, struct stream_of *streams, size_t n, bool wrap,
			  const struct thread_writer_options *options)
{
	struct archive_writer *w = archive_writer_new(path, options);
	uint32_t id;
	char name[32];

	assert_non_null(w);
	assert_int_equal(archive_writer_archive(w, "process"), 0);
	for (uint32_t i = 0; i < 30000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		if (i < 100)
			assert_int_equal(archive_writer_region(w, name), i);
		else
			archive_writer_string(w, name);
	}
	for (size_t i = 0; i < n; i++) {
		struct thread_writer *t = archive_writer_thread(w, "thread", &id);
		uint32_t begin, end;

		assert_non_null(t);
		if (wrap) {
			begin = thread_writer_entry(t, PALLAS_THREAD_BEGIN, PALLAS_NONE);
			assert_int_equal(thread_writer_event(t, begin, streams[i].e[0].time), 0);
		}
		put_events(t, &streams[i]);
		if (wrap) {
			end = thread_writer_entry(t, PALLAS_THREAD_END, PALLAS_NONE);
			assert_int_equal(thread_writer_event(t, end, streams[i].now), 0);
		}
		assert_int_equal(thread_writer_finish(t), 0);
		thread_writer_free(t);
	}
	assert_int_equal(archive_writer_finish(w), 0);
	archive_writer_free(w);
}

static void compare_thread(struct pallas_trace *trace, size_t i, const struct stream_of *s,
			   bool wrap)
{
	struct pallas_loader *loader = pallas_loader_new(trace);
	struct pallas_thread *t = &trace->threads[i];
	struct pallas_expand x;
	size_t at = 0;
	int got;

	assert_int_equal(pallas_thread_load(trace, t), 0);
	assert_int_equal(pallas_expand_init(&x, loader, t), 0);
	while ((got = pallas_expand_next(&x)) == 1) {
		const struct pallas_event *e = &t->grammar.events[x.event];

		if (e->record == PALLAS_THREAD_BEGIN || e->record == PALLAS_THREAD_END) {
			assert_true(wrap);
			continue;
		}
		assert_true(at < s->n);
		assert_int_equal(e->record, s->e[at].record);
		assert_int_equal(get_u32(e->payload), s->e[at].region);
		assert_int_equal(x.time, s->e[at].time);
		at++;
	}
	assert_int_equal(got, 0);
	assert_int_equal(at, s->n);
	pallas_expand_fini(&x);
	pallas_loader_free(loader);
	pallas_thread_unload(trace, t);
}

static void written_records_are_read_back(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < NSHAPES; i++) {
		struct stream_of s = {0};

		state = 7 + i;
		shapes[i].make(&s);
		for (unsigned wrap = 0; wrap < 2; wrap++) {
			const struct thread_writer_options *o = &all_options[(i + wrap) % 5];
			struct pallas_trace trace;
			char *path = new_path();

			print_message("  %s, %s\n", shapes[i].name, wrap ? "wrapped" : "bare");
			write_archive(path, &s, 1, wrap, o);
			assert_int_equal(pallas_open(&trace, path, 0), 0);
			compare_thread(&trace, 0, &s, wrap);
			assert_int_equal(pallas_check(&trace, stdout), 0);
			pallas_close(&trace);
			free(path);
		}
		free(s.e);
	}
}

static void every_compression_holds_the_same(void **unused)
{
	struct stream_of s = {0};

	(void)unused;
	state = 3;
	nested_loops(&s);
	call_tree(&s);
	for (size_t i = 0; i < 5; i++) {
		struct pallas_trace trace;
		char *path = new_path();

		write_archive(path, &s, 1, true, &all_options[i]);
		assert_int_equal(pallas_open(&trace, path, 0), 0);
		compare_thread(&trace, 0, &s, true);
		assert_int_equal(pallas_check(&trace, stdout), 0);
		pallas_close(&trace);
		free(path);
	}
	free(s.e);
}

static void a_loop_is_found_with_its_count(void **unused)
{
	const struct thread_grammar *g;
	struct stream_of s = {0};
	struct pallas_trace trace;
	char *path = new_path();

	(void)unused;
	for (int i = 0; i < 1000; i++) {
		call(&s, 1);
		call(&s, 2);
	}
	write_archive(path, &s, 1, true, &all_options[0]);
	assert_int_equal(pallas_open(&trace, path, 0), 0);
	assert_int_equal(pallas_thread_load(&trace, &trace.threads[0]), 0);
	g = &trace.threads[0].grammar;
	/* root, [E L] twice, [S1 S2], the thread; one loop, no dead slot */
	assert_int_equal(g->nsequences, 5);
	assert_int_equal(g->nloops, 1);
	assert_int_equal(g->loops[0].iterations, 1000);
	assert_int_equal(g->loops[0].occurrences, 1);
	assert_int_equal(g->sequences[g->loops[0].sequence].ntokens, 2);
	pallas_close(&trace);
	free(path);
	free(s.e);
}

static void inner_loops_of_changing_length_stay_loops(void **unused)
{
	const struct thread_grammar *g;
	struct stream_of s = {0};
	struct pallas_trace trace;
	char *path = new_path();

	(void)unused;
	for (uint32_t i = 0; i < 400; i++) {
		add(&s, PALLAS_ENTER, 2, 7);
		for (uint32_t k = 0; k < 3 + i % 2; k++)
			call(&s, 1);
		add(&s, PALLAS_LEAVE, 2, 7);
	}
	write_archive(path, &s, 1, true, &all_options[0]);
	assert_int_equal(pallas_open(&trace, path, 0), 0);
	assert_int_equal(pallas_thread_load(&trace, &trace.threads[0]), 0);
	g = &trace.threads[0].grammar;
	assert_int_equal(g->nsequences, 6);
	assert_int_equal(g->nloops, 3);
	assert_int_equal(g->loops[2].iterations, 200);
	pallas_close(&trace);
	free(path);
	free(s.e);
}

static void regions_left_inline_are_summarized(void **unused)
{
	char *path = new_path();
	struct archive_writer *w = archive_writer_new(path, &all_options[0]);
	struct {
		uint64_t calls, sum;
	} want[100] = {0};
	uint64_t entered[64];
	const struct region_summary *r;
	struct stream_of s = {0};
	struct thread_writer *t;
	unsigned depth = 0;
	uint64_t inlined;
	size_t n;
	uint32_t id;

	(void)unused;
	state = 5;
	call_tree(&s);
	for (size_t i = 0; i < s.n; i++) {
		if (s.e[i].record == PALLAS_ENTER) {
			entered[depth++] = s.e[i].time;
		} else {
			want[s.e[i].region].calls++;
			want[s.e[i].region].sum += s.e[i].time - entered[--depth];
		}
	}
	archive_writer_archive(w, "p");
	t = archive_writer_thread(w, "t", &id);
	put_events(t, &s);
	assert_int_equal(thread_writer_finish(t), 0);
	r = thread_writer_regions(t, &n, &inlined);
	assert_int_equal(n, 100);
	assert_true(inlined > 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(r[i].calls, want[r[i].region].calls);
		assert_int_equal(r[i].sum, want[r[i].region].sum);
		assert_true(r[i].excl_sum <= r[i].sum && r[i].min <= r[i].max);
	}
	free(path);
	thread_writer_free(t);
	archive_writer_free(w);
	free(s.e);
}

static void whole_blocks_leave_nothing_inline(void **unused)
{
	struct thread_writer_options o = all_options[0];
	char *path = new_path();
	struct stream_of s = {0};
	struct archive_writer *w;
	struct thread_writer *t;
	struct pallas_trace trace;
	uint32_t id;
	uint64_t inlined;
	size_t n;

	(void)unused;
	o.whole_blocks = true;
	w = archive_writer_new(path, &o);
	archive_writer_archive(w, "p");
	for (int i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		archive_writer_region(w, name);
	}
	t = archive_writer_thread(w, "t", &id);
	call_tree(&s);
	put_events(t, &s);
	assert_int_equal(thread_writer_finish(t), 0);
	thread_writer_regions(t, &n, &inlined);
	assert_int_equal(inlined, 0);
	thread_writer_free(t);
	assert_int_equal(archive_writer_finish(w), 0);
	archive_writer_free(w);
	assert_int_equal(pallas_open(&trace, path, 0), 0);
	compare_thread(&trace, 0, &s, false);
	assert_int_equal(pallas_check(&trace, stdout), 0);
	pallas_close(&trace);
	free(path);
	free(s.e);
}

static void threads_merge_by_time_then_place(void **unused)
{
	struct stream_of s[3] = {{0}, {0}, {0}};
	struct pallas_trace trace;
	struct pallas_merge m;
	char *path = new_path();
	uint64_t last = 0, seen = 0;
	uint32_t who, before = 0;
	int got;

	(void)unused;
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3000; k++)
			add(&s[i], PALLAS_GENERIC, below(5), below(3));
	}
	write_archive(path, s, 3, false, &all_options[0]);
	assert_int_equal(pallas_open(&trace, path, 0), 0);
	assert_int_equal(pallas_merge_open(&m, &trace), 0);
	while ((got = pallas_merge_next(&m, &who)) == 1) {
		uint64_t now = m.threads[who].time;

		assert_true(now > last || (now == last && (who >= before || !seen)));
		last = now;
		before = who;
		seen++;
	}
	assert_int_equal(got, 0);
	assert_int_equal(seen, 9000);
	pallas_merge_close(&m);
	pallas_close(&trace);
	for (int i = 0; i < 3; i++)
		free(s[i].e);
	free(path);
}

static void a_small_budget_unloads_the_oldest(void **unused)
{
	struct stream_of s = {0};
	struct pallas_load_stats stats;
	struct pallas_loader *loader;
	struct pallas_trace trace;
	struct pallas_expand x;
	char *path = new_path();
	const size_t budget = 6u << 20;
	size_t at = 0;

	(void)unused;
	for (int i = 0; i < 40000; i++) {
		for (uint32_t k = 0; k < 5; k++)
			call(&s, k);
	}
	write_archive(path, &s, 1, false, &all_options[0]);
	assert_int_equal(pallas_open(&trace, path, budget), 0);
	assert_int_equal(pallas_thread_load(&trace, &trace.threads[0]), 0);
	loader = pallas_loader_new(&trace);
	assert_int_equal(pallas_expand_init(&x, loader, &trace.threads[0]), 0);
	/* Ten chunks of 320 kB do not fit: the walk must still continue. */
	for (at = 0; at < 2000; at++) {
		assert_int_equal(pallas_expand_next(&x), 1);
		assert_int_equal(x.time, s.e[at].time);
	}
	stats = pallas_loader_stats(loader);
	assert_true(stats.unloaded > 0);
	assert_true(stats.peak_bytes <= budget);
	pallas_expand_fini(&x);
	pallas_loader_free(loader);
	pallas_close(&trace);
	free(path);
	free(s.e);
}

/* A third of them have 21 bytes of list: more than the writer keeps in memory. */
#define LISTS 1500000

static void attribute_lists_come_back(void **unused)
{
	struct archive_writer *w;
	struct thread_writer *t;
	struct pallas_trace trace;
	struct pallas_value v;
	struct pallas_list list;
	const struct pallas_event *e;
	const uint8_t *at;
	char *path = new_path();
	uint32_t id, entry, ref;
	uint8_t value[14] = {14, 0};

	(void)unused;
	w = archive_writer_new(path, &all_options[0]);
	archive_writer_archive(w, "p");
	ref = archive_writer_attribute(w, "size", PALLAS_TYPE_U64);
	memcpy(value + 2, &ref, 4);
	t = archive_writer_thread(w, "t", &id);
	ref = archive_writer_string(w, "text");
	entry = thread_writer_entry(t, PALLAS_GENERIC, ref);
	for (uint64_t i = 0; i < LISTS; i++) {
		assert_int_equal(thread_writer_event(t, entry, i), 0);
		memcpy(value + 6, &i, 8);
		if (i % 3 == 0)
			assert_int_equal(thread_writer_values(t, entry, 1, value, sizeof(value)),
					 0);
	}
	assert_int_equal(thread_writer_finish(t), 0);
	thread_writer_free(t);
	assert_int_equal(archive_writer_finish(w), 0);
	archive_writer_free(w);

	assert_int_equal(pallas_open(&trace, path, 0), 0);
	assert_int_equal(pallas_check(&trace, stdout), 0);
	assert_int_equal(pallas_thread_load(&trace, &trace.threads[0]), 0);
	e = &trace.threads[0].grammar.events[0];
	at = e->attributes;
	for (int i = 0; i < LISTS; i += 3) {
		assert_int_equal(pallas_list_next(e, &at, &list), 1);
		assert_int_equal(list.occurrence, i);
		assert_int_equal(pallas_value_next(&list, &v), 1);
		assert_int_equal(get_u64(v.bytes), i);
		assert_int_equal(pallas_value_next(&list, &v), 0);
	}
	assert_int_equal(pallas_list_next(e, &at, &list), 0);
	pallas_close(&trace);
	free(path);
}

static void wrong_use_is_refused(void **unused)
{
	char *path = new_path();
	struct archive_writer *w = archive_writer_new(path, &all_options[0]);
	struct thread_writer *t;
	uint32_t id, entry;

	(void)unused;
	archive_writer_archive(w, "p");
	t = archive_writer_thread(w, "empty", &id);
	assert_int_equal(thread_writer_finish(t), -EINVAL);
	thread_writer_free(t);
	t = archive_writer_thread(w, "unused entry", &id);
	assert_int_not_equal(thread_writer_entry(t, PALLAS_THREAD_END, PALLAS_NONE), PALLAS_NONE);
	entry = thread_writer_entry(t, PALLAS_THREAD_BEGIN, PALLAS_NONE);
	assert_int_equal(thread_writer_event(t, entry, 10), 0);
	assert_int_equal(thread_writer_finish(t), -EINVAL);
	thread_writer_free(t);
	t = archive_writer_thread(w, "backwards", &id);
	entry = thread_writer_entry(t, PALLAS_THREAD_BEGIN, PALLAS_NONE);
	assert_int_equal(thread_writer_event(t, entry, 10), 0);
	assert_int_equal(thread_writer_event(t, entry, 9), -EINVAL);
	thread_writer_free(t);
	archive_writer_free(w);
	assert_null(archive_writer_new(scratch, &all_options[0]));
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_records_are_read_back),
		cmocka_unit_test(every_compression_holds_the_same),
		cmocka_unit_test(a_loop_is_found_with_its_count),
		cmocka_unit_test(inner_loops_of_changing_length_stay_loops),
		cmocka_unit_test(regions_left_inline_are_summarized),
		cmocka_unit_test(whole_blocks_leave_nothing_inline),
		cmocka_unit_test(threads_merge_by_time_then_place),
		cmocka_unit_test(a_small_budget_unloads_the_oldest),
		cmocka_unit_test(attribute_lists_come_back),
		cmocka_unit_test(wrong_use_is_refused),
	};
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
