/* SPDX-License-Identifier: MIT */
/*
 * build_info: of this project, as --version shows it and as ovni.lib in a trace has it.
 */
#ifndef TRACE_BASE_BUILD_INFO_H
#define TRACE_BASE_BUILD_INFO_H

extern const char version_string[]; /* "0.1.0" */
extern const char version_commit[]; /* "3f2a1b0", "release" outside a checkout */

#endif
