/* SPDX-License-Identifier: MIT */
/* A frame in the copy of a thread: what it does, and which other it can have called. See find.h for the reasons. */
#ifndef PYREEL_RECORD_UNWIND_LIVE_LIVE_FRAME_H
#define PYREEL_RECORD_UNWIND_LIVE_LIVE_FRAME_H

#include "record/unwind/live/find.h"

#define DRIVEN_NEAR 3 /* words from the end of a stack of values, where a driven generator is */

enum life {
    LIFE_RUNNING,
    LIFE_CALLING,
    LIFE_PAUSED, /* where running frames are marked: neither runs nor stands at a call; returned, or being traced */
    LIFE_DEAD,
};

/* A frame in the copy. */
struct live_frame {
    const unsigned char *here;
    uint64_t address, previous, instruction;
    struct code *code; /* NULL: an entry shim, or one that is dead */
    uint32_t owner;
    enum life life;
    bool entered_c; /* the frame that it called was called through C */
    bool off_stack; /* not on the data stack */
    bool suspended; /* see struct link */
    size_t chunk;   /* else in this one */
};

/* The values next to the end of a frame's stack of values. */
struct values {
    uint64_t words[DRIVEN_NEAR];
    size_t count;
};

/* Looks at the frame at an address. ATTEMPT_ACCEPTED: it is in the copy, and if it is no entry shim, its code is
 * known and its instruction in it. ATTEMPT_LEARNED with seen->here NULL: it is not in the copy. */
enum attempt live_frame_look(struct walker *walker, struct walk *walk, uint64_t address, struct live_frame *seen);

/* Bytes that a frame takes on the data stack. */
uint64_t live_frame_bytes(const struct layout *layout, const struct code *code);

/* The effects of the instruction of a frame, see formats/cpython/opcodes.h. */
uint32_t live_frame_kind(const struct live_frame *seen);
/* Whether an instruction of this kind in it can call a function that is no generator. */
bool live_frame_calls_plainly(const struct live_frame *seen, uint32_t kind);

/* The end of its stack of values; ATTEMPT_LEARNED: that is not in the copy. */
enum attempt live_frame_values(struct walker *walker, struct walk *walk, const struct live_frame *seen,
                               struct values *values);
/* Whether the object that a generator's frame belongs to is among them. */
bool live_frame_values_have(const struct layout *layout, const struct values *values, uint64_t generator_frame);

/* Whether `caller` can have called `callee`, as the copy has both: ATTEMPT_ACCEPTED or ATTEMPT_TORN, or ATTEMPT_LEARNED
 * when what tells is not in the copy. `from_c`: through C; `certain`: the callee was alive at the moment. */
enum attempt live_frame_called(struct walker *walker, struct walk *walk, const struct live_frame *caller,
                               const struct live_frame *callee, bool from_c, bool certain);

/* Whether a neighbour of an off-stack frame is the same frame on the other side of reading the off-stack frames;
 * `exactly`: and at the same place. */
bool live_frame_still_there(const struct walker *walker, const struct walk *walk, const struct live_frame *seen,
                            bool exactly);

/* Whether a mark at this address is known to lead to the frame `above`. */
bool live_frame_known_shim(struct walk *walk, uint64_t shim, uint64_t above);
/* The frame above an entry shim that a plain frame was called through: not read with the copy, since it does not
 * change while its frames are there, and their place tells whether it is right. False when it leads elsewhere. */
bool live_frame_above_shim(struct walker *walker, struct walk *walk, uint64_t shim, const struct live_frame *callee,
                           uint64_t *above);

/* Whether both are in one piece, of which near copies are made (snapshot.h). */
bool live_frame_near(const struct walker *walker, struct walk *walk, const struct link *caller,
                     const struct link *callee);
/* Whether both are in one chunk of the copy, and so of one moment. */
bool live_frame_together(const struct walker *walker, struct walk *walk, const struct link *caller,
                         const struct link *callee);

/* How many more copies show both frames unchanged: the caller is at the same instruction, and the callee is the same
 * frame. 1 for what was not read again. LIVE_FRAME_UNSEEN: these copies are of each piece by itself, and the frames are
 * not in one piece. */
#define LIVE_FRAME_UNSEEN UINT32_MAX
uint32_t live_frame_sure(const struct walker *walker, struct walk *walk, const struct link *caller,
                         const struct link *callee);

#endif
