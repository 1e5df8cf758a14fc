/* SPDX-License-Identifier: MIT */
#include "trace/base/build_info.h"

const char version_string[] = VERSION;
const char version_commit[] = COMMIT;
