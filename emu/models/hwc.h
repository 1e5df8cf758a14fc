/* SPDX-License-Identifier: MIT */
/*
 * hwc: the hardware counters of nosv.
 *
 * In: the declarations nosv.hwc of the streams, and the events VWC; out: one channel per counter
 * (event type 200 + i) in all threads. Invariant: all declarations are equal.
 * Part of the nosv model. Specification: models.md 5.4.
 */
#ifndef EMU_MODELS_HWC_H
#define EMU_MODELS_HWC_H

#include "emu/emulation.h"

#define HWC_MAX 100

struct hwc {
	uint32_t n;
	char *names[HWC_MAX];
	struct channel_page pages[HWC_MAX];
	uint32_t first_channel;
};

/* Adds the declarations of a stream. Returns 0, or -EINVAL after model_complain(). */
int hwc_declare(struct hwc *hwc, struct model_state *state, const struct json *meta,
		const char *path);
/* Adds the channels and writes the configurations. Returns 0, or -errno after a message. */
int hwc_prepare(struct hwc *hwc, struct emulator *emu) __attribute__((warn_unused_result));
void hwc_fini(struct hwc *hwc);

/* VWC */
int hwc_event(const struct hwc *hwc, struct emulator *emu, struct thread *th,
	      const struct event *ev);

#endif
