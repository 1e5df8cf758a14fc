/* SPDX-License-Identifier: MIT */
/*
 * pcf: writes the labels of one view: event types, their names and the names of their values.
 *
 * In: types and values, one after the other; out: the text of a .pcf file. The caller checks the
 * stream for errors.
 * Specification: prv.md 1.4, paraver.md 6.
 */
#ifndef EMU_PARAVER_PCF_H
#define EMU_PARAVER_PCF_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/paraver/channel.h"

/* The options and the palette that every .pcf begins with. */
void pcf_head(FILE *out);
/* Begins a type, with `suffix` after its label. */
void pcf_type(FILE *out, uint32_t type, const char *label, const char *suffix);
/* Begins the values of a type, then one line each. */
void pcf_values(FILE *out);
void pcf_value(FILE *out, int64_t value, const char *label);
void pcf_labels(FILE *out, const struct value_label *labels, size_t n);

#endif
