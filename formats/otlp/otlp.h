/* SPDX-License-Identifier: MIT */
/* Writes looks as a request of OpenTelemetry's protocol (OTLP, signal profiles; schemas/otlp.proto).
 *
 *     resource      one for each process: service.name, process.pid, ..., host.name, and the attributes of the process
 *       profile     one for each kind of value that the process has: samples, wall, cpu, gil, gil_wait
 *         sample    one for each stack with its attributes (thread.id, thread.name, pyreel.status, pyreel.task ...),
 *                   a link to the span on which the thread worked, where that is known, and a value and a time for each
 *                   look, or sums alone
 *     dictionary    stacks, locations, functions, mappings, links, texts and attributes, shared by all. The first entry
 * of each table is empty, nothing stands twice, and nothing is unused
 *
 * A location says what its code is: profile.frame.type is cpython, native or kernel. Native code has a mapping, with a
 * build id; Python code has none. */
#ifndef PYREEL_FORMATS_OTLP_OTLP_H
#define PYREEL_FORMATS_OTLP_OTLP_H

#include "formats/base/output.h"
#include "formats/model/outline.h"
#include "formats/otlp/otlp_looks.h"

/* The release of the protocol's messages. They are not stable yet: receivers take those of their own release. */
#define OTLP_RELEASE "v1development, as in opentelemetry-proto 1.45 of PyPI and in Collector 0.165"
#define OTLP_PATH    "/v1development/profiles" /* of the same release, for HTTP */

struct otlp_style {
    enum frame_detail detail;
    bool json; /* text in the place of bytes */
    /* The part of the recording's time that the looks are of. */
    uint64_t from_ns, to_ns;  /* since the start; to_ns 0: to the end */
    uint64_t unplaced_cpu_ns; /* CPU time of the part that belongs to no look; told in the first resource */
};

/* What was written. */
struct otlp_written {
    size_t resources, profiles, samples;
};

/* Writes the request. Without looks, the request is empty. Write errors are kept in `to`. */
struct otlp_written otlp_write(struct output *to, const struct tables *tables, const struct otlp_looks *looks,
                               const struct otlp_style *style);

/* What a receiver answers to a request that it took: how many profiles it refused all the same, and its words, which
 * are owned. An answer that cannot be read refuses none. */
struct otlp_answer {
    uint64_t refused;
    char *words;
};
struct otlp_answer otlp_answer_read(struct text body);

#endif
