/* SPDX-License-Identifier: MIT */
/*
 * page_source: the constant part of the page: head, style and script, made by the Makefile from
 * tools/view/page/. The data elements follow it, then PAGE_END.
 */
#ifndef TOOLS_VIEW_PAGE_SOURCE_H
#define TOOLS_VIEW_PAGE_SOURCE_H

#include <stdint.h>

extern const char page_source[];
extern const uint64_t page_source_size; /* bytes */

#define PAGE_END "</body>\n</html>\n"

#endif
