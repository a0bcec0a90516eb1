/* SPDX-License-Identifier: MIT */
/* OpenTelemetry's process context: what a program says of itself for readers outside (OTEP 4719), in a mapping with one
 * of three names:
 *
 *     0   "OTEL_CTX"   8   version, 2      12  bytes of the payload
 *     16  when it was published, in nanoseconds of CLOCK_BOOTTIME; 0: it is being changed
 *     24  address of the payload, a ProcessContext as protobuf has it
 *
 *     ProcessContext { resource = 1, attributes = 2 }    Resource { attributes = 1 }
 *     KeyValue { key = 1, value = 2 }                    AnyValue { string = 1, bool = 2, int = 3, ... }
 *
 * The attributes of the resource name the process: service.name. Those of the context itself are about the context; one
 * of them, threadlocal.schema_version, says that threads publish their spans, too (record/elf/thread_variable.h).
 * All bytes come from the program and are not trusted. A fork does not inherit the mapping. */
#ifndef PYREEL_RECORD_LABELS_PROCESS_CONTEXT_H
#define PYREEL_RECORD_LABELS_PROCESS_CONTEXT_H

#include "formats/base/bytes.h"
#include "record/process/procfs.h"
#include "record/process/remote.h"

#define PROCESS_CONTEXT_NAMES  3
#define PROCESS_CONTEXT_MAPPED "/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]"
#define PROCESS_CONTEXT_MOST   65536 /* bytes of a payload: a longer one is not read */

/* `= {0}`: none is known. */
struct process_context {
    uint64_t address;      /* of the mapping; 0: none was found */
    uint64_t published_ns; /* of the payload that was read last; 0: none was */
    struct bytes lines; /* NAME=VALUE for each attribute of the resource that is a text, a number or a truth value, in
                         * its order; raw bytes without newlines. Owned */
    bool threads;       /* threads publish their spans */
};

/* Takes over a mapping with such a name, and reads the context. False: it is none, or is not ready. */
bool process_context_open(struct process_context *context, struct remote *remote, const struct mapping *mapping);

/* Reads the context again if it was changed. True: it is another one now. Forgets a context that is gone. Takes one
 * system call, or none if none is known. */
bool process_context_look(struct process_context *context, struct remote *remote);

/* Adds the lines that follow from a payload. Returns whether threads publish their spans. */
bool process_context_put(struct bytes *lines, struct text payload);

/* Forgets the context, and frees everything. */
void process_context_close(struct process_context *context);

#endif
