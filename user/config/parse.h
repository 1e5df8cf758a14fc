/* SPDX-License-Identifier: MIT */
/*
 * parse: sizes, durations and lists of numbers as users write them.
 *
 * Each function reads the whole text; returns NULL, or one clause that says what is wrong, to
 * be put behind the name of the option.
 */
#ifndef USER_CONFIG_PARSE_H
#define USER_CONFIG_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* The clause of a text that may be right. */
#define PARSE_NO_MEMORY "not enough memory"

/* "64M": bytes, with K, M, G or T (powers of 1024), an optional "B" or "iB" after it. Above 0. */
const char *parse_size(const char *text, uint64_t *bytes);

/* "10s", "250ms", "1.5m", "2h", "100us"; a number alone is seconds. ns, above 0. */
const char *parse_duration(const char *text, uint64_t *ns);

/* "10s" or "64M", told apart by their units, which must be there: a duration or a size, and 0 for
 * the other. "10m" is ten minutes. */
const char *parse_bound(const char *text, uint64_t *ns, uint64_t *bytes);

/* "12": above 0. */
const char *parse_count(const char *text, unsigned *count);

/* "12,13": process or thread numbers, each from 1 to 2^22, none twice. The caller frees *list. */
const char *parse_pids(const char *text, uint32_t **list, size_t *count);

/* "1/8": K of N, each from 1 to 2^20, K at most N. */
const char *parse_ratio(const char *text, uint32_t *keep, uint32_t *of);

/* A whole number of 64 bits, without sign. */
const char *parse_whole(const char *text, uint64_t *value);

#endif
