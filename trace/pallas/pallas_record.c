/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "trace/ovni/event.h"
#include "trace/pallas/pallas_record.h"

#define RAW(n)                                                                                     \
	{                                                                                          \
		n, PALLAS_SINGLE, 0, NULL                                                          \
	}
#define SINGLE(n, text)                                                                            \
	{                                                                                          \
		n, PALLAS_SINGLE, 0, text                                                          \
	}
#define START(n, text)                                                                             \
	{                                                                                          \
		n, PALLAS_START, 0, text                                                           \
	}
#define END(n, closes, text)                                                                       \
	{                                                                                          \
		n, PALLAS_END, closes, text                                                        \
	}

static const struct pallas_record_spec specs[PALLAS_RECORD_COUNT] = {
	[0] = RAW("INVALID"),
	[1] = RAW("MEASUREMENT_ON_OFF"),
	[PALLAS_ENTER] = START("ENTER", "Enter %r"),
	[PALLAS_LEAVE] = END("LEAVE", PALLAS_ENTER, "Leave %r"),
	[4] = SINGLE("MPI_SEND", "MPI_SEND(dest=%u, comm=%u, tag=%u, len=%U)"),
	[5] = SINGLE("MPI_ISEND", "MPI_ISEND(dest=%u, comm=%u, tag=%u, len=%U, req=%U)"),
	[6] = SINGLE("MPI_ISEND_COMPLETE", "MPI_ISEND_COMPLETE(req=%U)"),
	[7] = SINGLE("MPI_IRECV_REQUEST", "MPI_IRECV_REQUEST(req=%U)"),
	[8] = SINGLE("MPI_RECV", "MPI_RECV(src=%u, comm=%u, tag=%u, len=%U)"),
	/* the reference tools print the tag in place of the request */
	[9] = SINGLE("MPI_IRECV", "MPI_IRECV(src=%u, comm=%u, tag=%u, len=%U, tag=%T)%+"),
	[10] = RAW("MPI_REQUEST_TEST"),
	[11] = RAW("MPI_REQUEST_CANCELLED"),
	[12] = SINGLE("MPI_COLLECTIVE_BEGIN", "MPI_COLLECTIVE_BEGIN()"),
	[13] = SINGLE("MPI_COLLECTIVE_END",
		      "MPI_COLLECTIVE_END(op=%u, comm=%u, root=%u, sent=%U, recv=%U)"),
	[PALLAS_OMP_FORK] = START("OMP_FORK", "OMP_FORK(nThreads=%u)"),
	[PALLAS_OMP_JOIN] = END("OMP_JOIN", PALLAS_OMP_FORK, "OMP_JOIN()"),
	[16] = SINGLE("OMP_ACQUIRE_LOCK", "OMP_ACQUIRE_LOCK(lockID=%u)"),
	[17] = SINGLE("OMP_RELEASE_LOCK", "OMP_RELEASE_LOCK(lockID=%u)"),
	[18] = SINGLE("OMP_TASK_CREATE", "OMP_TASK_CREATE(taskID=%U)"),
	[19] = SINGLE("OMP_TASK_SWITCH", "OMP_TASK_SWITCH(taskID=%U)"),
	[20] = SINGLE("OMP_TASK_COMPLETE", "OMP_TASK_COMPLETE(taskID=%U)"),
	[21] = RAW("METRIC"),
	[22] = RAW("PARAMETER_STRING"),
	[23] = RAW("PARAMETER_INT"),
	[24] = RAW("PARAMETER_UNSIGNED_INT"),
	[PALLAS_THREAD_FORK] = START("THREAD_FORK", "THREAD_FORK(nThreads= %u)"),
	[PALLAS_THREAD_JOIN] = END("THREAD_JOIN", PALLAS_THREAD_FORK, "THREAD_JOIN"),
	[PALLAS_THREAD_TEAM_BEGIN] = START("THREAD_TEAM_BEGIN", "THREAD_TEAM_BEGIN()"),
	[PALLAS_THREAD_TEAM_END] =
		END("THREAD_TEAM_END", PALLAS_THREAD_TEAM_BEGIN, "THREAD_TEAM_END()"),
	[29] = SINGLE("THREAD_ACQUIRE_LOCK", "THREAD_ACQUIRE_LOCK(lockID=%u)"),
	[30] = SINGLE("THREAD_RELEASE_LOCK", "THREAD_RELEASE_LOCK(lockID=%u)"),
	[31] = SINGLE("THREAD_TASK_CREATE", "THREAD_TASK_CREATE()"),
	[32] = SINGLE("THREAD_TASK_SWITCH", "THREAD_TASK_SWITCH()"),
	[33] = SINGLE("THREAD_TASK_COMPLETE", "THREAD_TASK_COMPLETE()"),
	[34] = RAW("THREAD_CREATE"),
	[PALLAS_THREAD_BEGIN] = START("THREAD_BEGIN", "THREAD_BEGIN()"),
	[36] = RAW("THREAD_WAIT"),
	[PALLAS_THREAD_END] = END("THREAD_END", PALLAS_THREAD_BEGIN, "THREAD_END()"),
	[38] = RAW("IO_CREATE_HANDLE"),
	[39] = RAW("IO_DESTROY_HANDLE"),
	[40] = RAW("IO_DUPLICATE_HANDLE"),
	[41] = RAW("IO_SEEK"),
	[42] = RAW("IO_CHANGE_STATUS_FLAGS"),
	[43] = RAW("IO_DELETE_FILE"),
	[44] = RAW("IO_OPERATION_BEGIN"),
	[45] = RAW("IO_OPERATION_TEST"),
	[46] = RAW("IO_OPERATION_ISSUED"),
	[47] = RAW("IO_OPERATION_COMPLETE"),
	[48] = RAW("IO_OPERATION_CANCELLED"),
	[49] = RAW("IO_ACQUIRE_LOCK"),
	[50] = RAW("IO_RELEASE_LOCK"),
	[51] = RAW("IO_TRY_LOCK"),
	[52] = RAW("PROGRAM_BEGIN"),
	[53] = RAW("PROGRAM_END"),
	[54] = RAW("NON_BLOCKING_COLLECTIVE_REQUEST"),
	[55] = RAW("NON_BLOCKING_COLLECTIVE_COMPLETE"),
	[56] = RAW("COMM_CREATE"),
	[57] = RAW("COMM_DESTROY"),
	[PALLAS_GENERIC] = SINGLE("GENERIC", "%s"),
	[59] = RAW("BUFFER_FLUSH"),
};

const struct pallas_record_spec *pallas_record_spec(uint32_t record)
{
	return record < PALLAS_RECORD_COUNT ? &specs[record] : NULL;
}

/* Bytes of payload in the text of a record. */
static size_t text_bytes(const char *text)
{
	size_t n = 0;

	for (const char *p = text; (p = strchr(p, '%')); p++)
		n += p[1] == 'T' ? 0 : p[1] == 'U' || p[1] == '+' ? 8 : 4;
	return n;
}

/* Appends as snprintf() does; `len` may exceed `size`. */
#define put(...)                                                                                   \
	(len += (size_t)snprintf(len < size ? out + len : NULL, len < size ? size - len : 0,       \
				 __VA_ARGS__))

size_t pallas_record_text(char *out, size_t size, uint32_t record, const uint8_t *payload,
			  size_t payload_size, pallas_record_name_fn name, const void *arg)
{
	const struct pallas_record_spec *spec = pallas_record_spec(record);
	const uint8_t *at = payload;
	const char *found;
	size_t len = 0;

	if (!spec || !spec->text || payload_size < text_bytes(spec->text))
		return put("{.record=%u, .size=%zu}", record, payload_size + 5);
	if (size)
		out[0] = '\0';
	for (const char *p = spec->text; *p; p++) {
		if (*p != '%') {
			put("%c", *p);
			continue;
		}
		switch (*++p) {
		case 'u':
			put("%u", get_u32(at));
			at += 4;
			break;
		case 'U':
			put("%llu", (unsigned long long)get_u64(at));
			at += 8;
			break;
		case 'T':
			put("%u", get_u32(payload + 8));
			break;
		case 'r':
			found = name(arg, 'r', get_u32(at));
			put("%u (%s)", get_u32(at), found ? found : "?");
			at += 4;
			break;
		case 's':
			found = name(arg, 's', get_u32(at));
			put("%s", found ? found : "?");
			at += 4;
			break;
		case '+':
			at += 8;
			break;
		}
	}
	return len;
}
