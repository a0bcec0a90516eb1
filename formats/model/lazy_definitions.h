/* SPDX-License-Identifier: MIT */
/* A sink that holds definitions back until a sample needs them.
 *
 * The recorder defines every string, function and frame that it meets, but many are in no sample: a stack that changed
 * while it was copied is dropped, and a mode leaves samples out. In one recording of a program that runs through much
 * code, three quarters of the frames were unused. Here a definition waits until a sample names it. It gets its number
 * when it is emitted, so emitted numbers have no gaps.
 *
 *     in    string 1 "f", function 1, frame 1, frame 2, frame 3, sample [3]
 *     out   string 1 "f", function 1, frame 1 (was 3), sample [1]
 *
 * All other events pass unchanged. */
#ifndef PYREEL_FORMATS_MODEL_LAZY_DEFINITIONS_H
#define PYREEL_FORMATS_MODEL_LAZY_DEFINITIONS_H

#include "formats/model/sink.h"

/* Arrays of held definitions, by the number with which a definition came; entry 0 is unused. `emitted` is the number
 * with which the definition was emitted; 0: not emitted yet. */
struct held_string {
    struct text text; /* owned until it is emitted */
    uint32_t emitted;
};

struct held_function {
    struct function function;
    uint32_t emitted;
};

struct held_frame {
    struct frame frame;
    uint32_t emitted;
};

struct lazy_definitions {
    struct sink to;
    struct held_string *strings;
    struct held_function *functions;
    struct held_frame *frames;
    size_t strings_room, functions_room, frames_room;
    uint32_t last_string, last_function, last_frame; /* highest numbers emitted */
    uint32_t *pushed;                                /* renumbered frames of the sample that is being emitted */
    size_t pushed_room;
};

/* `to` must live as long as `definitions`. Samples may only name frames that were defined before. */
void lazy_definitions_open(struct lazy_definitions *definitions, struct sink to);

/* The sink to which the recorder emits. */
struct sink lazy_definitions_sink(struct lazy_definitions *definitions);

/* Frees all held definitions. */
void lazy_definitions_close(struct lazy_definitions *definitions);

#endif
