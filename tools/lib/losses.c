/* SPDX-License-Identifier: MIT */
/* losses: what the metadata of a trace says is missing from it (see losses.h). */
#include "tools/lib/losses.h"

#include <inttypes.h>
#include <stdio.h>

#include "tools/lib/usage.h"
#include "trace/base/log.h"

void losses_add(struct losses *losses, const struct json *meta)
{
	uint64_t figure;

	if (json_u64(json_get(meta, "bpf.session.lost"), &figure))
		losses->events += figure;
	if (json_u64(json_get(meta, "accel.run.dropped"), &figure))
		losses->records += figure;
	losses->recovered += json_is_object(json_get(meta, "bpf.recovered"));
}

int losses_status(const struct losses *losses, const char *path)
{
	if (losses->events)
		log_warn("%s: %" PRIu64 " events were lost before they could be exported", path,
			 losses->events);
	if (losses->records)
		log_warn("%s: %" PRIu64 " records were lost before they could be exported", path,
			 losses->records);
	if (losses->recovered)
		log_warn("%s: it was closed after a crash: the ends of %" PRIu64
			 " streams are missing",
			 path, losses->recovered);
	return losses->events || losses->records || losses->recovered ? STATUS_LOST
								      : STATUS_COMPLETE;
}
