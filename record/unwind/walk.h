/* SPDX-License-Identifier: MIT */
/* Finds the stack of a thread that stands still, and remembers a thread's stack from sample to sample.
 *
 *     thread ─▶ current frame ─▶ previous ─▶ ... ─▶ base
 *
 * This chain is the stack, as CPython itself and sys._getframe() see it. Frames beyond the current frame in memory
 * are not on the stack: they are built and not entered yet, or left and not cleared yet. The walk ends at the first
 * frame from which on to the root nothing has changed since the last sample: the links of the last sample are taken.
 *
 * The walk believes the memory. Whether the thread stood still is for the caller to prove (exact.h). */
#ifndef PYREEL_RECORD_UNWIND_WALK_H
#define PYREEL_RECORD_UNWIND_WALK_H

#include "record/python/code.h"
#include "record/python/target.h"
#include "record/unwind/loop_turn.h"
#include "record/unwind/snapshot.h"
#include "record/unwind/span_piece.h"

#define DEPTH_LIMIT 100000 /* frames of a stack */

/* A frame of a stack. */
struct link {
    uint64_t address; /* of the frame */
    struct code *code;
    uint64_t instruction; /* address */
    uint64_t entry;       /* from_c: address of the shim through which C code entered; 0: not known, or there is none */
    uint32_t frame;       /* index in the recording's definitions; 0: not looked up yet */
    bool from_c;          /* C code called the frame */
    uint8_t opcode;       /* of the instruction; 0: not known, or not asked for */
};

/* A C frame among the links. */
struct c_link {
    uint32_t link;  /* the frame stands before this link; walk->depth: behind all */
    uint32_t frame; /* index in the recording's definitions */
};

/* What is remembered of a thread from sample to sample. `= {0}` is a thread not seen yet. Free it with walk_free(). */
struct walk {
    /* For a thread that has not moved, only these three are read. */
    struct gil since; /* the interpreter's lock at a time before the last sample; the thread has not moved since */
    uint32_t depth;
    uint32_t same; /* this many links, from the root on, are as they were emitted last */

    struct link *links; /* the stack of the last accepted sample, root first */
    size_t links_room;
    bool sampled;        /* there was a sample */
    uint32_t looked_at;  /* index of the link whose opcode was read again last (frame_opcodes.h) */
    uint64_t epoch;      /* codes->epoch for which the code pointers of the links are valid */
    uint64_t entered_at; /* address of the entry shim of the first frame; 0: not known */
    uint64_t checked;    /* the code generation + 1 for which the links' code objects are confirmed; 0: none */
    struct loop_turn turn;
    struct span_piece span;
    struct snapshot snapshot;
    const struct c_link *c_links; /* the C frames of this look, root first; NULL: they are not known */
    size_t c_count;
};

/* Working memory for the frames of one sample. Free it with walker_close(). */
struct walker {
    const struct layout *layout;
    struct remote *remote;
    struct codes *codes;
    bool anew;     /* never take links from the last sample */
    bool compared; /* the copy was compared with the last one */

    struct link *up; /* leaf first: from the current frame towards the root, up to a link of the last sample */
    size_t up_room;
    uint32_t up_count;
    uint32_t joined;     /* this many links of the last sample are the stack's frames at the root */
    uint32_t unreadable; /* code objects that could not be read in this walk */
};

/* Frees the walker's memory. */
void walker_close(struct walker *walker);

/* Finds the stack in a copy that snapshot_check() accepted: the current frame and its callers. Every frame is believed.
 *     ATTEMPT_ACCEPTED  the stack is walker->joined links of walk->links, then walker->up backwards
 *     ATTEMPT_LEARNED   a frame is not in the copy, and the next copy has the frame
 *     ATTEMPT_UNSURE    the thread stands at an instruction at which its memory does not determine the stack
 *     ATTEMPT_TORN      the memory is not that of a stack
 *     ATTEMPT_NO_CODE   the time to read is over (remote_give_up_at())
 * A frame whose code object is not readable gets codes_gone(). */
enum attempt walk_find(struct walker *walker, struct walk *walk);

/* An address on the thread's C stack that tells which of a thread's stacks is the inner one: where the code lies that
 * runs the first frame; before CPython 3.12, the last one. 0: not known. */
uint64_t walk_stack_address(const struct walk *walk, const struct layout *layout);

/* Frees the memory of a walk and its snapshot, and resets the walk to `= {0}`. */
void walk_free(struct walk *walk);

#endif
