/* SPDX-License-Identifier: MIT */
/* hwc: hardware counters of nosv (see hwc.h). */
#include "emu/layout.h"
#include "emu/models/hwc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cfg.h"
#include "emu/refuse.h"
#include "emu/track.h"
#include "trace/base/log.h"

#define TYPE_FIRST 200

/* The key as an index below n, or -1. */
static int parse_index(const char *key, size_t n)
{
	char *end;
	long i;

	if (*key < '0' || *key > '9')
		return -1;
	i = strtol(key, &end, 10);
	return *end || i < 0 || (size_t)i >= n ? -1 : (int)i;
}

int hwc_declare(struct hwc *hwc, struct model_state *state, const struct json *meta,
		const char *path)
{
	const struct json *object = json_get(meta, "nosv.hwc"), *node;
	const char *names[HWC_MAX] = {NULL};
	size_t n;

	if (!json_is_object(object) || !(n = json_count(object)))
		return 0;
	if (n > HWC_MAX)
		return model_complain(state, "%s: nosv.hwc has %zu counters, the maximum is %d",
				      path, n, HWC_MAX);
	if (hwc->n && hwc->n != n)
		return model_complain(state,
				      "%s: nosv.hwc has %zu counters, but %" PRIu32 " in another "
				      "stream",
				      path, n, hwc->n);
	for (node = json_first(object); node; node = json_next(node)) {
		int i = parse_index(json_name(node), n);
		const char *name = json_string(json_key(node, "name"));

		if (i < 0)
			return model_complain(state,
					      "%s: nosv.hwc has the key '%s': the %zu counters "
					      "have the keys 0 to %zu",
					      path, json_name(node), n, n - 1);
		if (!json_is_object(node) || !name)
			return model_complain(state,
					      "%s: nosv.hwc.%d must be an object with the string "
					      "name",
					      path, i);
		if (names[i])
			return model_complain(state, "%s: nosv.hwc has the index %d twice", path,
					      i);
		names[i] = name;
	}
	/* n different indices below n: each has a name */
	for (size_t i = 0; i < n; i++) { /* NOLINTBEGIN(clang-analyzer-core.NonNullParamChecker) */
		if (!hwc->names[i])
			hwc->names[i] = strdup(names[i]);
		if (!hwc->names[i])
			return model_complain(state, "%s: out of memory (for counters)", path);
		if (strcmp(hwc->names[i], names[i]) != 0)
			return model_complain(state,
					      "%s: the counter nosv.hwc.%zu is '%s', but '%s' in "
					      "another stream",
					      path, i, names[i], hwc->names[i]);
	} /* NOLINTEND(clang-analyzer-core.NonNullParamChecker) */
	hwc->n = (uint32_t)n;
	return 0;
}

int hwc_prepare(struct hwc *hwc, struct emulator *emu)
{
	for (uint32_t i = 0; i < hwc->n; i++) {
		int n, err;

		hwc->pages[i] = (struct channel_page){
			.type = TYPE_FIRST + i,
			.kind = CHANNEL_SINGLE,
			.repeats = true,
			.track = TRACK_ACTIVE,
			.policy = POLICY_SKIP_EMPTY,
			.label = hwc->names[i],
			.alone = true,
		};
		n = layout_add_channel(emu, &hwc->pages[i]);
		if (n < 0)
			return n;
		if (i == 0)
			hwc->first_channel = (uint32_t)n;
		err = cfg_write_counter(emu, TYPE_FIRST + i, hwc->names[i]);
		if (err)
			return err;
	}
	return 0;
}

void hwc_fini(struct hwc *hwc)
{
	for (uint32_t i = 0; i < HWC_MAX; i++)
		free(hwc->names[i]);
}

int hwc_event(const struct hwc *hwc, struct emulator *emu, struct thread *th,
	      const struct event *ev)
{
	if (!hwc->n)
		return emu_refuse(emu,
				  "has values of hardware counters, but no stream declares any in "
				  "nosv.hwc");
	if (ev->payload_size != 8 * hwc->n)
		return emu_refuse(emu, "has %u bytes of data: %" PRIu32 " counters take %" PRIu32,
				  ev->payload_size, hwc->n, 8 * hwc->n);
	for (uint32_t i = 0; i < hwc->n; i++)
		(void)channel_set(emu, th, hwc->first_channel + i, get_i64(ev->payload + 8ul * i));
	return 0;
}
