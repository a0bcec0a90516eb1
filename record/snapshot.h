/* SPDX-License-Identifier: MIT */
/* One moment of a thread: its state and all its frames, copied by ONE system call.
 *
 * CPython keeps frames of plain calls one behind the other on a "data stack", a few large chunks of memory. So the
 * thread's state and the used part of its chunks hold nearly the whole stack. Frames that lie elsewhere ("strays":
 * those of generators and coroutines are in heap objects, entries from C are on the C stack) are asked for in the same
 * call. What to ask for is known from last time, and kept in a plan. Where the plan turns out wrong, it is mended and
 * the whole is read again; nothing is ever put together from two calls.
 *
 *     one call:  thread state │ strays │ chunks │ current frame │ chunks │ strays │ generation
 *                               before            the moment      after
 *
 * The thread runs on while the pieces are copied one after the other, so one copy may be of several moments. That is
 * why frames are copied twice, before and after the moment at which the current frame is read. A frame that is the
 * same in both copies was so at the moment, and a stack of such frames is the stack at the moment: however busy the
 * thread is, only the frames that it changed within about a microsecond are in doubt. What is left: a frame that was
 * replaced and put back, to the letter, between its two copies; and, where a processor lets us see the thread's writes
 * in another order than it made them, a copy of the first that is later than one of the second.
 *
 * All that is read comes from the target and is not trusted. */
#ifndef PYREEL_RECORD_SNAPSHOT_H
#define PYREEL_RECORD_SNAPSHOT_H

#include "record/layout.h"
#include "record/remote.h"

#include <stdbool.h>

struct chunk {
    uint64_t address;
    uint32_t used; /* bytes from its start that we read */
};

/* A frame outside the data stack. */
struct stray {
    uint64_t frame;
    uint32_t idle; /* samples since it was last part of the stack */
};

/* What to read for a thread. `= {0}` knows nothing yet. */
struct plan {
    uint64_t cframe;      /* where its current frame is kept, before CPython 3.13 */
    struct chunk *chunks; /* newest first */
    size_t chunks_count, chunks_room;
    struct stray *strays;
    size_t strays_count, strays_room;
};

/* What became of an attempt to read a thread. */
enum attempt {
    ACCEPTED,
    TORN,    /* the thread moved on while we read */
    LEARNED, /* something was not where it was last time; now we know better */
    NO_CODE, /* a code object can't be read */
    TOO_DEEP,
    NO_MEMORY, /* something that must be there is not */
    ELSEWHERE, /* there is no thread of this interpreter here any more */
    GONE,      /* the process ended or may not be read */
};

/* Room for a snapshot; used again for the next one. */
struct snapshot {
    struct remote *remote;
    const struct layout *layout;
    struct plan *plan;
    uint64_t interpreter, thread; /* addresses */

    unsigned char *copy; /* all pieces, one behind the other */
    size_t copy_room;
    struct piece pieces[REMOTE_PIECES];
    size_t pieces_count;
    size_t moment_at, after_at, again_at, generation_at; /* index of the first such piece */

    uint64_t current_frame; /* the leaf; 0: no frames */
    uint64_t generation;    /* code generation of the interpreter + 1; 0: not kept */
    size_t last_found;      /* the piece that held the last frame looked for */
    bool split;             /* the end of the newest chunk is a piece of its own */
    size_t strays_read;     /* so many strays of the plan are in the copy */
};

/* `remote` and `layout` must live as long as the snapshot. */
void snapshot_open(struct snapshot *snapshot, struct remote *remote, const struct layout *layout);
void snapshot_close(struct snapshot *snapshot);

/* Reads the thread whose state is at `thread`, of the interpreter at `interpreter`, by its plan. ACCEPTED: it is this
 * thread and its chunks are whole; snapshot->current_frame is its leaf at the moment. */
enum attempt snapshot_take(struct snapshot *snapshot, struct plan *plan, uint64_t interpreter, uint64_t thread);

/* The thread's state, layout->thread_size bytes; valid after snapshot_take() unless that gave ELSEWHERE or GONE. */
const unsigned char *snapshot_state(const struct snapshot *snapshot);

/* Finds a frame in the copy: *here are its layout->frame_size bytes. TORN: it changed around the moment. LEARNED: it is
 * not in the copy; the plan now has it, and what follows it outside the data stack. */
enum attempt snapshot_frame(struct snapshot *snapshot, uint64_t frame, const unsigned char **here);

/* After an accepted walk: fits the plan to what was needed. */
void snapshot_fit_plan(struct snapshot *snapshot);

void plan_free(struct plan *plan);

#endif
