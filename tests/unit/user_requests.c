/* SPDX-License-Identifier: MIT */
/* The block requests of I/O sleeps (--why=io), in the events OHw and OHr that end a sleep. */
#include "timeline_records.h"

#define DEVICE	(254u << 20 | 1)
#define REQUEST (1ull << IO_WRITE_SHIFT | 8ull << IO_SECTORS_SHIFT | 4096)

static void request(unsigned cpu, uint64_t clock, struct who who)
{
	struct record_io r = {.head = {.clock = clock, .kind = RECORD_IO, .id = who.id},
			      .io = {.request = REQUEST, .device = DEVICE, .us = 77}};

	assert_int_equal(kit_give(&kit, cpu, &r), 0);
}

/* The events OHw and OHr of a stream: "w" or "r", with time at the device, or sector, of a request.
 */
static void assert_requests(struct who who, const char *wanted)
{
	const struct kit_stream *s = kit_stream(who.pid, who.tid);
	const uint8_t *at = s->events, *end = at + s->size;
	char text[256] = "";
	size_t n = 0;
	struct event ev;
	ssize_t size;

	for (; (size = event_decode(&ev, at, end)) > 0; at += size) {
		if (event_mcv(&ev) != MCV('O', 'H', 'w') && event_mcv(&ev) != MCV('O', 'H', 'r'))
			continue;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%c", ev.value);
		if (ev.payload_size == 16 && ev.value == 'w')
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%u",
					      get_u32(ev.payload + 12));
		else if (ev.payload_size == 16 && get_u32(ev.payload + 4) == DEVICE)
			n += (size_t)snprintf(
				text + n, sizeof(text) - n, "%llu",
				(unsigned long long)(get_u64(ev.payload + 8) & IO_SECTOR_MASK));
		else if (ev.payload_size > 4)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "?");
		n += (size_t)snprintf(text + n, sizeof(text) - n, " ");
	}
	assert_string_equal(text, wanted);
}

static void the_events_after_a_sleep_have_its_request(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1200, a, OFF_CPU_IO, b);
	request(0, 1300, a);
	give(0, 1300, b, OFF_CPU_IO, a);
	give(0, 1400, a, OFF_CPU_IO, b); /* the next sleep has none */
	give(0, 1500, b, OFF_CPU_IO, a);
	close_kit(2000, 0);
	assert_requests(a, "w77 r4096 w r ");
	assert_requests(b, "w r w r ");
}

/* Interrupts of the run before stand in the same event. */
static void a_request_goes_with_the_interrupts(void **state)
{
	struct record_interrupts irqs = {
		.head = {.clock = 1200, .kind = RECORD_INTERRUPTS, .id = a.id},
		.first = 1100,
		.ns = 30};
	const struct kit_stream *s;

	(void)state;
	open_kit(a);
	assert_int_equal(kit_give(&kit, 0, &irqs), 0);
	give(0, 1200, a, OFF_CPU_IO, idle);
	request(0, 1300, a);
	give(0, 1300, idle, 0, a);
	close_kit(2000, 0);
	assert_requests(a, "w77 r4096 ");
	s = kit_stream(a.pid, a.tid);
	for (const uint8_t *at = s->events; at < s->events + s->size;
	     at += EVENT_HEADER_SIZE + (at[0] & 15 ? (at[0] & 15) + 1u : 0))
		if (!memcmp(at + 1, "OHr", 3))
			assert_int_equal(get_u32(at + 12), 30);
}

/* One of a thread that runs, as far as is known, or of no thread of ours. */
static void a_request_that_belongs_nowhere_is_left_out(void **state)
{
	(void)state;
	open_kit(a);
	request(0, 1100, a);
	request(0, 1150, other);
	give(0, 1200, a, OFF_CPU_IO, b);
	give(0, 1300, b, OFF_CPU_IO, a);
	close_kit(2000, 0);
	assert_requests(a, "w r ");
}

/* A sleep that ends in the window, of a thread that runs behind it. */
static void a_wakeup_in_the_window_has_the_request(void **state)
{
	(void)state;
	open_kit(a);
	give(0, 1200, a, OFF_CPU_IO, b);
	timeline_stop(kit.timeline, 1500);
	request(0, 1600, a);
	give_woken(0, 1600, b, OFF_CPU_SLEEPING, a, 1400, 0);
	close_kit(1500, 0);
	assert_requests(a, "w77 r4096 ");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_events_after_a_sleep_have_its_request),
		cmocka_unit_test(a_request_goes_with_the_interrupts),
		cmocka_unit_test(a_request_that_belongs_nowhere_is_left_out),
		cmocka_unit_test(a_wakeup_in_the_window_has_the_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
