/* SPDX-License-Identifier: MIT */
/* The local variables of frames, with short texts for their values (short_repr.h). They are read while nothing of the
 * program runs: the threads are stopped, or the memory is that of a core file. So the values belong to the stacks. */
#ifndef PYREEL_RECORD_DUMP_LOCALS_LOCALS_H
#define PYREEL_RECORD_DUMP_LOCALS_LOCALS_H

#include "formats/base/bytes.h"
#include "record/watch/watched.h"

/* A variable; the texts are in locals->texts. */
struct variable {
    size_t name, name_size, value, value_size;
};

/* The variables of one frame. */
struct frame_locals {
    uint32_t member, link; /* indexes: of the thread in the thread list, of the frame in its walk */
    uint32_t thread;       /* number of the thread, and of the frame, as emitted */
    uint32_t frame;
    size_t first, count; /* in locals->variables */
};

/* `= {0}` is empty. */
struct locals {
    struct frame_locals *frames; /* by thread, root first */
    size_t frames_count, frames_room;
    struct variable *variables;
    size_t count, room;
    struct bytes texts;
    bool full; /* there are more than a dump shows */
};

/* Reads the variables of all frames of the last look, which watched_emit() has not emitted yet. */
void locals_read(struct locals *locals, struct watched *watched);

/* Adds the numbers of threads and frames, after watched_emit(). */
void locals_number(struct locals *locals, const struct watched *watched);

/* The variables of the next frame of a thread that is this frame, from the position *at on, which is 0 for the root.
 * Moves *at behind it. NULL: there is none. */
const struct frame_locals *locals_next(const struct locals *locals, uint32_t thread, uint32_t frame, size_t *at);

/* The two texts of a variable. */
struct text locals_name(const struct locals *locals, const struct variable *variable);
struct text locals_value(const struct locals *locals, const struct variable *variable);

/* Forgets everything, and frees the memory. */
void locals_free(struct locals *locals);

#endif
