/* SPDX-License-Identifier: MIT */
#include "trace/version.h"

const char version_string[] = VERSION;
const char version_commit[] = COMMIT;
