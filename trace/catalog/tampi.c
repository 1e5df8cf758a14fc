/* SPDX-License-Identifier: MIT */
/* tampi: the parts of the task-aware MPI library (models.md 9). */
#include "trace/catalog/tables.h"

#define SUBSYSTEM "subsystem"

static const struct catalog_event events[] = {
	PAIR(SUBSYSTEM, "TCi", "TCI", 1, "Communication: Issuing a non-blocking operation",
	     "issuing a non-blocking operation"),
	PAIR(SUBSYSTEM, "TGc", "TGC", 2, "Global array: Checking pending requests",
	     "checking the pending requests of the global array"),
	PAIR(SUBSYSTEM, "TLi", "TLI", 3, "Library code: Interface function",
	     "an interface function of the library"),
	PAIR(SUBSYSTEM, "TLp", "TLP", 4, "Library code: Polling function",
	     "a polling function of the library"),
	PAIR(SUBSYSTEM, "TQa", "TQA", 5, "Queue: Adding to a queue",
	     "adding tickets or requests to a queue"),
	PAIR(SUBSYSTEM, "TQt", "TQT", 6, "Queue: Transfering to global array",
	     "moving tickets or requests from the queues to the global array"),
	PAIR(SUBSYSTEM, "TRc", "TRC", 7, "Request: Processing a completed request",
	     "processing a request that is complete"),
	PAIR(SUBSYSTEM, "TRt", "TRT", 8, "Request: Testing a request", "testing a request"),
	PAIR(SUBSYSTEM, "TRa", "TRA", 9, "Request: Testing all requests",
	     "testing all of several requests"),
	PAIR(SUBSYSTEM, "TRs", "TRS", 10, "Request: Testing some requests",
	     "testing some of several requests"),
	PAIR(SUBSYSTEM, "TTc", "TTC", 11, "Ticket: Creating a ticket",
	     "creating a ticket for requests and a task"),
	PAIR(SUBSYSTEM, "TTw", "TTW", 12, "Ticket: Waiting a ticket",
	     "waiting until a ticket is complete"),
};

const struct catalog_model catalog_tampi = {
	.character = 'T',
	.name = "tampi",
	.version = "1.0.0",
	.when = WHEN_RUNNING,
	.out_of_cpu = true,
	EVENTS(events),
};
