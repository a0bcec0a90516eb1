/* SPDX-License-Identifier: MIT */
/* Holds definitions back until a sample needs them: a sink in front of another.
 *
 * The recorder defines what it meets, and much of that is in no sample: a stack that moved while it was copied is
 * thrown away, and so are the samples that a mode leaves out. What is defined but not used was three quarters of the
 * frames in the recording of a program that runs through much code. Here they wait, and get their number when they are
 * told, so that the numbers of those that are told have no gaps.
 *
 *     in    string 1 "f", function 1, frame 1, frame 2, frame 3, sample [3]
 *     out   string 1 "f", function 1, frame 1 (was 3), sample [1]
 *
 * All other events pass as they are. */
#ifndef PYREEL_FORMATS_MODEL_LAZY_DEFINITIONS_H
#define PYREEL_FORMATS_MODEL_LAZY_DEFINITIONS_H

#include "formats/model/sink.h"

/* Of each kind by the number with which it came; entry 0 is unused. What was told as a number but 0 is told. */
struct held_string {
    struct text text; /* ours until it is told */
    uint32_t told;
};

struct held_function {
    struct function function;
    uint32_t told;
};

struct held_frame {
    struct frame frame;
    uint32_t told;
};

struct lazy_definitions {
    struct sink to;
    struct held_string *strings;
    struct held_function *functions;
    struct held_frame *frames;
    size_t strings_room, functions_room, frames_room;
    uint32_t last_string, last_function, last_frame; /* that were told */
    uint32_t *pushed;                                /* of the sample that is being told */
    size_t pushed_room;
};

/* What comes is given on to `to`, which has to live as long. Samples name only what was defined before. */
void lazy_definitions_open(struct lazy_definitions *definitions, struct sink to);
struct sink lazy_definitions_sink(struct lazy_definitions *definitions);
void lazy_definitions_close(struct lazy_definitions *definitions);

#endif
