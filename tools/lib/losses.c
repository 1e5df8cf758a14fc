/* SPDX-License-Identifier: MIT */
#include "tools/lib/losses.h"

#include <inttypes.h>
#include <stdio.h>

#include "trace/base/status.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

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
		log_warn("%s: %" PRIu64 " event%s lost before the export", path, losses->events,
			 plural(losses->events, " was", "s were"));
	if (losses->records)
		log_warn("%s: %" PRIu64 " record%s lost before the export", path, losses->records,
			 plural(losses->records, " was", "s were"));
	if (losses->recovered)
		log_warn("%s: a repair closed %" PRIu64 " stream%s after a crash: later events are "
			 "missing",
			 path, losses->recovered, plural(losses->recovered, "", "s"));
	if (losses->events || losses->records || losses->recovered)
		return STATUS_LOST;
	return STATUS_COMPLETE;
}
