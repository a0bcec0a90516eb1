/* SPDX-License-Identifier: MIT */
/* Strings, functions and frames that samples may name. Each distinct one has one index for as long as `struct
 * definitions` lives, and gets its number in the recording when the first sample that needs it is emitted.
 *
 * The recorder meets much that is in no sample: a stack that moved while it was copied is thrown away, and so are the
 * samples that a mode leaves out. Three quarters of the frames that the recorder meets in a program which runs through
 * much code are in no sample. They have an index, and never a number:
 *
 *     definitions_frame()           f:1 → index 1, f:2 → index 2, g:9 → index 3
 *     definitions_emit_sample([3])  emits string 1 "g", function 1, frame 1 (index 3), sample [1]
 *
 * Processes of one recording share the definitions: the same line of the same function is the same frame in all.
 *
 * A program can make functions without end, and so can a hostile one, with long names. So the memory of all definitions
 * has a limit. Beyond the limit a new function is the function `<more functions>`, and a new line of a known function
 * is the function without a line. */
#ifndef PYREEL_RECORD_EMIT_DEFINITIONS_H
#define PYREEL_RECORD_EMIT_DEFINITIONS_H

#include "formats/intern/intern.h"
#include "formats/model/sink.h"

/* Rows of the three kinds of definitions. The index of a row is the index of the definition; row 0 is unused. `number`
 * is the number in the recording, and 0 until the definition is emitted. */
struct defined_string {
    struct text text; /* the bytes are those of `strings.ids` */
    uint32_t number;
};

struct defined_function {
    struct function function; /* name, file and module are indexes; the number is not set */
    uint32_t number;
};

struct defined_frame {
    struct frame frame; /* function, instruction and base are indexes; the number is not set */
    uint32_t number;
};

/* A module of native code. */
struct defined_module {
    struct module module; /* the path is an index; the build id belongs to the row */
    bool emitted;
};

#define DEFINITIONS_LIMIT      ((size_t)64 << 20) /* bytes of memory */
#define DEFINITIONS_LIMIT_TEXT "64 MiB"

/* `= {0}` with `to` set is empty. */
struct definitions {
    struct sink to; /* takes what is emitted; lives as long */
    struct {
        struct intern ids;
        struct defined_string *rows;
        size_t room;
    } strings;
    struct {
        struct intern ids;
        struct defined_function *rows;
        size_t room;
    } functions;
    struct {
        struct intern ids;
        struct defined_frame *rows;
        size_t room;
    } frames;
    struct {
        struct intern_pairs ids; /* (index of the path, 0) -> row + 1 */
        struct defined_module *rows;
        size_t room;
    } modules;
    struct intern_pairs line_ids; /* (function, line) → number of the line */
    uint32_t *lines;              /* of each frame: the number of its line */
    size_t lines_room;
    size_t bytes;                                    /* memory that the definitions take */
    uint64_t left_out;                               /* how often a function or a line had no room */
    uint32_t last_string, last_function, last_frame; /* numbers, as emitted */
    uint32_t *pushed;                                /* the frames of the sample that is being emitted, as numbers */
    size_t pushed_room;
};

/* Each function returns the index of a definition, and adds the definition if it is new. Texts are copied. Beyond
 * DEFINITIONS_LIMIT nothing is added: a new string is index 0, a new function is `<more functions>`, and a new frame is
 * the frame of its function without a line. Of `function`, the file and the module are indexes of strings, and the
 * number and the name are not used. */
uint32_t definitions_string(struct definitions *definitions, struct text text);
uint32_t definitions_function(struct definitions *definitions, struct text name, const struct function *function);
uint32_t definitions_frame(struct definitions *definitions, const struct frame *frame);

/* Notes what is known of a module of native code, whose path is the index of a string. It is emitted before the next
 * function of the module. Of another file at the same path it is emitted, too: readers then know that there were two.
 */
void definitions_module(struct definitions *definitions, const struct module *module);

/* The index of a frame that has a kind and a name only: <GC>. There are few, so they are added beyond the limit, too.
 */
uint32_t definitions_synthetic_frame(struct definitions *definitions, enum frame_kind kind, struct text name);

/* The same for names of which the program may make any number, within the limit: <task NAME>. */
uint32_t definitions_named_frame(struct definitions *definitions, enum frame_kind kind, struct text name);

/* Whether the limit is reached. */
static inline bool definitions_full(const struct definitions *definitions)
{
    return definitions->bytes >= DEFINITIONS_LIMIT;
}

/* A number for the function and line of a frame. Frames with the same function and line have the same number. */
static inline uint32_t definitions_line(const struct definitions *definitions, uint32_t frame)
{
    return definitions->lines[frame];
}

/* Sets *number to the number of a frame, whose definition is emitted if it has none yet. False when the sink refused.
 */
bool definitions_number_frame(struct definitions *definitions, uint32_t frame, uint32_t *number, struct fault *why);

/* Emits a sample whose frames are indexes. Before it, emits the definitions that the sample is the first to need. Sets
 * event->sample.frames to the numbers of the frames; this array is valid until the next call. False when the sink
 * refused. */
bool definitions_emit_sample(struct definitions *definitions, struct event *event, struct fault *why);

/* Forgets all numbers, because a new stream begins: each definition is emitted again when a sample needs it. Indexes
 * stay valid. */
void definitions_restart(struct definitions *definitions);

void definitions_free(struct definitions *definitions);

#endif
