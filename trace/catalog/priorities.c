/* SPDX-License-Identifier: MIT */
#include "trace/catalog/priorities.h"

#include <stdio.h>

#define RT_MOST	    99 /* priorities of SCHED_FIFO and SCHED_RR: 1 to this */
#define NICE_VALUES 40
#define NICE_MOST   19

enum form { FORM_ALONE, FORM_NICE, FORM_REAL_TIME };

/* The values in their order: one, 40 or 99 for each row. */
static const struct row {
	int policy; /* of sched(7); -1: inherited, whatever the policy */
	enum form form;
	const char *name;
} rows[] = {
	{5, FORM_ALONE, "SCHED_IDLE"},		{3, FORM_NICE, "SCHED_BATCH"},
	{0, FORM_NICE, "SCHED_OTHER"},		{7, FORM_NICE, "SCHED_EXT"},
	{1, FORM_REAL_TIME, "SCHED_FIFO"},	{2, FORM_REAL_TIME, "SCHED_RR"},
	{6, FORM_ALONE, "SCHED_DEADLINE"},	{-1, FORM_REAL_TIME, "inherited real-time"},
	{-1, FORM_ALONE, "inherited deadline"},
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))

static int values_of(const struct row *row)
{
	return row->form == FORM_ALONE ? 1 : row->form == FORM_NICE ? NICE_VALUES : RT_MOST;
}

/* The row and the place in it; NULL: no such value. */
static const struct row *find(int64_t value, int *place)
{
	int64_t first = 1;

	for (size_t i = 0; i < NROWS; i++) {
		int n = values_of(&rows[i]);

		if (value >= first && value < first + n) {
			*place = (int)(value - first);
			return &rows[i];
		}
		first += n;
	}
	return NULL;
}

/* The value of a place in the row of a policy and form; 0: there is no such row. */
static uint16_t value_at(int policy, enum form form, int place)
{
	int first = 1;

	for (size_t i = 0; i < NROWS; first += values_of(&rows[i++]))
		if (rows[i].policy == policy && rows[i].form == form)
			return place >= 0 && place < values_of(&rows[i]) ? (uint16_t)(first + place)
									 : 0;
	return 0;
}

uint16_t priority_value(uint16_t policy, int32_t priority, int32_t normal, int32_t nice)
{
	int place = RT_MOST - 1 - priority; /* of a real-time priority: 1 is 98 in the kernel */
	uint16_t value;

	if (priority < normal && priority < RT_MOST + 1) /* 99 is the least urgent of them */
		return priority < 0 ? value_at(-1, FORM_ALONE, 0)
				    : value_at(-1, FORM_REAL_TIME, place < 0 ? 0 : place);
	value = value_at(policy, FORM_REAL_TIME, place);
	if (!value)
		value = value_at(policy, FORM_NICE, NICE_MOST - nice);
	return value ? value : value_at(policy, FORM_ALONE, 0);
}

bool priority_text(int64_t value, char text[PRIORITY_TEXT])
{
	int place;
	const struct row *row = find(value, &place);

	if (!row)
		return false;
	if (row->form == FORM_NICE)
		snprintf(text, PRIORITY_TEXT, "%s nice %d", row->name, NICE_MOST - place);
	else if (row->form == FORM_REAL_TIME)
		snprintf(text, PRIORITY_TEXT, "%s %d", row->name, place + 1);
	else
		snprintf(text, PRIORITY_TEXT, "%s", row->name);
	return true;
}

/* Of a value: 0 not real-time, 1 to 99 real-time, 100 deadline. */
static int urgency(int64_t value)
{
	int place;
	const struct row *row = find(value, &place);

	if (!row || row->form == FORM_NICE || row->policy == 5)
		return 0;
	return row->form == FORM_REAL_TIME ? place + 1 : RT_MOST + 1;
}

bool priority_is_above(int64_t a, int64_t b)
{
	return urgency(a) > urgency(b);
}
