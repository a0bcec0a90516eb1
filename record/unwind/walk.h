/* SPDX-License-Identifier: MIT */
/* A thread that stands still → its stack, and what is remembered of a thread from sample to sample.
 *
 *     thread ─▶ current frame ─▶ previous ─▶ ... ─▶ base
 *
 * That is the stack, as CPython itself and sys._getframe() have it: whatever lies below the current frame in memory is
 * built and not entered yet, or left and not cleared yet. Frames that are the same as in the last sample, from the root
 * down, are not walked again.
 *
 * The stack of a thread that moves while it is read is for live/find.h. */
#ifndef PYREEL_RECORD_UNWIND_WALK_H
#define PYREEL_RECORD_UNWIND_WALK_H

#include "record/python/code.h"
#include "record/python/target.h"
#include "record/unwind/snapshot.h"

#define DEPTH_LIMIT 100000 /* frames of a stack */

struct link {
    uint64_t address; /* of the frame */
    struct code *code;
    uint64_t instruction; /* address */
    uint32_t frame;       /* as defined to the sink; 0: not looked up yet */
    bool from_c;          /* C code called it */
    bool suspended; /* a generator that was when it was read: its caller may have left it, or not been there yet */
    uint8_t opcode; /* that stands there; 0: not known, or not asked for */
};

#define ENTRY_SHIMS 1024

/* An entry shim, and the frame above it. */
struct entry_shim {
    uint64_t address, above;
};

/* A call that is not known, see live/verify.h. */
struct doubted {
    uint32_t caller, callee; /* a frame and a line; 0 and the function of the root: that it has this root */
    uint32_t copies;         /* so many more in a row showed it, and it did not change meanwhile */
};

/* Those that a copy shows, root first, and how many copies for this sample were looked at so. */
struct doubts {
    struct doubted *calls;
    size_t room;
    uint32_t count, looks;
};

/* What is remembered of a thread from sample to sample. `= {0}` is a thread not seen yet. */
struct walk {
    /* Of a thread that has not moved these are looked at alone. */
    struct gil since; /* the interpreter's lock at a time before the sample since which the thread did not move */
    uint32_t depth;
    uint32_t same; /* so many of them, nearest the root, are as they were told to the sink */

    struct link *links; /* the stack of the last accepted sample, root first */
    size_t links_room;
    bool sampled;           /* there was one */
    bool cut;               /* the sample is without calls that could not be seen for sure */
    uint32_t root_function; /* of links[0] */
    uint32_t looked_at;     /* the link whose instruction was looked at again last */
    uint64_t epoch;         /* of the code objects that the links point to, see code.h */
    uint64_t root;    /* the entry shim above the first frame of the stack, which has no frame above it; 0: not known */
    uint64_t checked; /* the code generation + 1 for which they are known to be right; 0: none */
    struct doubts doubts;           /* of the last copy, if it is one for this sample */
    struct entry_shim *entry_shims; /* MARKS of them, each where its address tells */
    struct snapshot snapshot;
};

/* Room for the frames of one sample. */
struct walker {
    const struct layout *layout;
    struct remote *remote;
    struct codes *codes;
    uint32_t known; /* the last code object that was read before the call */
    bool anew;      /* never takes frames from the last sample */
    bool compared;  /* what is the same as in the last copy is known */
    bool noting;    /* all code objects that it meets are noted in `met`, not only those of frames that are left out */

    struct link *up; /* leaf first: from the current frame to the root, or to a frame known from last time */
    size_t up_room;
    uint32_t up_count;
    struct link *down; /* root first: what those called */
    size_t down_room;
    uint32_t down_count;
    uint32_t joined; /* so many links of the last sample are above them */
    uint64_t behind; /* where the data stack goes on below them */
    struct code **met;
    size_t met_room, met_count;
    uint32_t unreadable; /* code objects that could not be read in this walk */
};

void walker_close(struct walker *walker);

/* Finds the stack of a thread that stands still, in a copy that snapshot_check() accepted: its current frame and the
 * links above it, as CPython itself and sys._getframe() follow them. No frame is looked for below the current one, and
 * none is doubted. ATTEMPT_LEARNED: a frame is not in the copy, and the next one has it; the thread still stands where
 * it stood. A frame whose code object can't be read is codes_gone(). ATTEMPT_UNSURE: the thread stands where its memory
 * does not tell the stack. ATTEMPT_ACCEPTED: walker->joined frames of walk->links, then `up` backwards. */
enum attempt walk_still(struct walker *walker, struct walk *walk);

/* What both walks share. Finds out what is the same as in the last sample's copy, for walk_join(). */
void walk_compare(struct walker *walker, struct walk *walk);
/* How many links of the last sample are at and above this frame, which was found last, when nothing there changed. */
uint32_t walk_join(const struct walker *walker, const struct walk *walk, uint64_t frame);
/* Whether no frame is on the thread's data stack. */
bool walk_has_no_data(const struct walker *walker, const struct walk *walk);
/* Whether an instruction, as a frame has it, lies in this code object. */
bool walk_is_in_code(const struct code *code, uint64_t instruction);
/* A frame has a code object that is not known: reads the code object, together with those of the frames above it, at
 * `above` and further, as far as the copy leads. False when it could not be read. */
bool walk_read_codes(struct walker *walker, struct walk *walk, struct executed unknown, uint64_t above);

/* Frees what is remembered of a thread. */
void walk_free(struct walk *walk);

#endif
