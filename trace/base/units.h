/* SPDX-License-Identifier: MIT */
/*
 * units: sizes, times and numbers as users write them.
 *
 * Each function reads the whole text. It returns NULL, or one clause about the mistake, which the
 * caller prints after the name of the option.
 */
#ifndef TRACE_BASE_UNITS_H
#define TRACE_BASE_UNITS_H

#include <stdint.h>

/* "64M": bytes, with K, M, G or T (powers of 1024), an optional "B" or "iB" after it. Above 0. */
const char *units_parse_size(const char *text, uint64_t *bytes);

/* "10s", "250ms", "1.5m", "2h", "100us"; a number alone is in seconds. ns, above 0. */
const char *units_parse_time(const char *text, uint64_t *ns);

/* "10s" or "64M": a time or a size. The unit is required and shows which; the other one is
 * set to 0. "10m" is ten minutes. */
const char *units_parse_bound(const char *text, uint64_t *ns, uint64_t *bytes);

/* "1/8": at least 1, at most as much as the second number, which is at most 2^20. */
const char *units_parse_ratio(const char *text, uint32_t *keep, uint32_t *of);

/* "12": a whole number of 64 bits. */
const char *units_parse_number(const char *text, uint64_t *value);

#endif
