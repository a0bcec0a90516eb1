/* SPDX-License-Identifier: MIT */
/* Finds the stack of a thread that stands still, and remembers a thread's stack from sample to sample.
 *
 *     thread ─▶ current frame ─▶ previous ─▶ ... ─▶ base
 *
 * This chain is the stack, as CPython itself and sys._getframe() see it. Frames beyond the current frame in memory
 * are not on the stack: they are built and not entered yet, or left and not cleared yet. The walk ends at the first
 * frame from which on to the root nothing has changed since the last sample: the links of the last sample are taken.
 *
 * live/find.h finds the stack of a thread that moves while it is read. */
#ifndef PYREEL_RECORD_UNWIND_WALK_H
#define PYREEL_RECORD_UNWIND_WALK_H

#include "record/python/code.h"
#include "record/python/target.h"
#include "record/unwind/loop_turn.h"
#include "record/unwind/snapshot.h"

#define DEPTH_LIMIT 100000 /* frames of a stack */

/* A frame of a stack. */
struct link {
    uint64_t address; /* of the frame */
    struct code *code;
    uint64_t instruction; /* address */
    uint32_t frame;       /* index in the recording's definitions; 0: not looked up yet */
    bool from_c;          /* C code called the frame */
    bool suspended; /* a generator that was suspended when it was read: its caller may have left it already, or not have
                       resumed it yet */
    uint8_t opcode; /* of the instruction; 0: not known, or not asked for */
};

#define ENTRY_SHIMS 1024 /* remembered per thread */

/* An entry shim, and the frame that called the C code which the shim stands for. */
struct entry_shim {
    uint64_t address, above;
};

/* A call that a copy shows and that is not known yet (live/verify.h). */
struct doubted {
    uint32_t caller, callee; /* a frame and a line. Caller 0: the doubt is whether the stack has a root with function
                                `callee` */
    uint32_t copies;         /* consecutive copies that showed the call for sure, without a change in between */
};

/* The unknown calls that the last copy of a thread showed. */
struct doubts {
    struct doubted *calls; /* root first */
    size_t room;
    uint32_t count;
    uint32_t looks; /* copies for the current sample whose calls were examined */
};

/* What is remembered of a thread from sample to sample. `= {0}` is a thread not seen yet. Free it with walk_free(). */
struct walk {
    /* For a thread that has not moved, only these three are read. */
    struct gil since; /* the interpreter's lock at a time before the last sample; the thread has not moved since */
    uint32_t depth;
    uint32_t same; /* this many links, from the root on, are as they were emitted last */

    struct link *links; /* the stack of the last accepted sample, root first */
    size_t links_room;
    bool sampled;           /* there was a sample */
    bool cut;               /* the last sample lacks calls near the leaf that could not be proved */
    uint32_t root_function; /* of links[0] */
    uint32_t looked_at;     /* index of the link whose opcode was read again last (frame_opcodes.h) */
    uint64_t epoch;         /* codes->epoch for which the code pointers of the links are valid */
    uint64_t root; /* address of the entry shim above the first frame, if no frame is above the shim; 0: not known */
    uint64_t entered_at;  /* address of the entry shim of the first frame; 0: not known */
    uint64_t checked;     /* the code generation + 1 for which the links' code objects are confirmed; 0: none */
    struct doubts doubts; /* of the last copy, if that copy was for the current sample */
    struct entry_shim *entry_shims; /* a hash table of ENTRY_SHIMS slots, by the shim's address; NULL: not needed yet */
    struct loop_turn turn;
    struct snapshot snapshot;
};

/* Working memory for the frames of one sample. Free it with walker_close(). */
struct walker {
    const struct layout *layout;
    struct remote *remote;
    struct codes *codes;
    uint32_t known; /* number of the last code object that was read before the system call */
    bool anew;      /* never take links from the last sample */
    bool compared;  /* walk_compare() has compared the copy with the last one */
    bool noting;    /* add all code objects to `met`, not only those of frames that are left out */

    struct link *up; /* leaf first: from the current frame towards the root, up to a link of the last sample */
    size_t up_room;
    uint32_t up_count;
    struct link *down; /* root first: frames that the current frame has called since it was noted */
    size_t down_room;
    uint32_t down_count;
    uint32_t joined;   /* this many links of the last sample are the stack's frames at the root */
    uint64_t behind;   /* the address on the data stack where the next frame would lie */
    struct code **met; /* code objects whose identity must be confirmed, because a frame was judged by them */
    size_t met_room, met_count;
    uint32_t unreadable; /* code objects that could not be read in this walk */
};

/* Frees the walker's memory. */
void walker_close(struct walker *walker);

/* Finds the stack of a thread that stands still, in a copy that snapshot_check() accepted: the current frame and its
 * callers. Every frame is believed.
 *     ATTEMPT_ACCEPTED  the stack is walker->joined links of walk->links, then walker->up backwards
 *     ATTEMPT_LEARNED   a frame is not in the copy, and the next copy has the frame; the thread still stands where it
 *                       stood
 *     ATTEMPT_UNSURE    the thread stands at an instruction at which its memory does not determine the stack
 *     ATTEMPT_NO_CODE   the time to read is over (remote_give_up_at())
 * A frame whose code object is not readable gets codes_gone(). */
enum attempt walk_still(struct walker *walker, struct walk *walk);

/* The functions below serve walk_still() and live/find.h. */

/* Compares the copy with that of the last sample, for walk_join(). */
void walk_compare(struct walker *walker, struct walk *walk);
/* Returns how many links of the last sample can be taken: those from the root to `frame`, which was found last. 0: the
 * frame was not part of the last sample, or a frame between the root and it has changed. */
uint32_t walk_join(const struct walker *walker, const struct walk *walk, const struct found_frame *found,
                   uint64_t frame);
/* Whether the thread's data stack has no frame. */
bool walk_has_no_data(const struct walker *walker, const struct walk *walk);
/* Whether the address that a frame has as its instruction lies in this code object. */
bool walk_is_in_code(const struct code *code, uint64_t instruction);
/* Reads the unknown code object of a frame. With the same calls, also reads unknown code objects of the frame's
 * callers: `above` is the address of the first caller, and the callers are followed as far as the copy has them.
 * Returns false when the frame's code object is not readable. */
bool walk_read_codes(struct walker *walker, struct walk *walk, struct executed unknown, uint64_t above);

/* An address on the thread's C stack that tells which of a thread's stacks is the inner one: where the code lies that
 * runs the first frame; before CPython 3.12, the last one. 0: not known. */
uint64_t walk_stack_address(const struct walk *walk, const struct layout *layout);

/* Frees the memory of a walk and its snapshot, and resets the walk to `= {0}`. */
void walk_free(struct walk *walk);

#endif
