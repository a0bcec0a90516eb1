/* SPDX-License-Identifier: MIT */
/* One frame in the copy of a thread that moves: whether it is alive, and which other frame it can have called. find.h
 * explains the rules. */
#ifndef PYREEL_RECORD_UNWIND_LIVE_LIVE_FRAME_H
#define PYREEL_RECORD_UNWIND_LIVE_LIVE_FRAME_H

#include "record/unwind/live/find.h"

#define DRIVEN_NEAR                                                                                                    \
    3 /* a generator that a frame drives is among this many last words of the frame's stack of values                  \
       */

/* What a frame does, as the table in find.h says. */
enum life {
    LIFE_RUNNING,
    LIFE_CALLING,
    LIFE_PAUSED, /* up to 3.13: neither runs nor stands at a call; it has returned, or is being traced */
    LIFE_DEAD,
};

/* A frame in the copy. */
struct live_frame {
    const unsigned char *here; /* its bytes in the copy; NULL: the copy does not have the frame */
    uint64_t address, previous, instruction;
    struct code *code; /* NULL: an entry shim, or a dead frame */
    uint32_t owner;
    bool compiled; /* see frame_is_compiled(); its instruction says nothing */
    enum life life;
    bool entered_c;   /* the frame called the next frame through C */
    size_t off_stack; /* where it is, as struct found_frame has it: 0: on the data stack, ... */
    bool suspended;   /* see struct link */
    size_t chunk;     /* ... in this chunk */
};

/* The words at the end of a frame's stack of values. */
struct values {
    uint64_t words[DRIVEN_NEAR];
    size_t count;
};

/* Fills in *seen for the frame at an address.
 *     ATTEMPT_ACCEPTED  the copy has the frame. Unless it is an entry shim or dead, its code object is known and has
 *                       its instruction
 *     ATTEMPT_LEARNED   the copy does not have the frame (seen->here is NULL), or its code object was read just now
 *     ATTEMPT_TORN      the bytes cannot be a frame
 *     ATTEMPT_NO_CODE   the code object is not readable */
enum attempt live_frame_look(struct walker *walker, struct walk *walk, uint64_t address, struct live_frame *seen);

/* How many bytes a frame of this code object takes on the data stack. */
uint64_t live_frame_bytes(const struct layout *layout, const struct code *code);

/* The effects of the instruction at which a frame stands, see formats/cpython/opcodes.h. */
uint32_t live_frame_kind(const struct live_frame *seen);
/* Whether the frame can have called a function that is no generator, at an instruction of this kind. */
bool live_frame_calls_plainly(const struct live_frame *seen, uint32_t kind);

/* Reads the end of a frame's stack of values. ATTEMPT_LEARNED: the copy does not have it, and the next copy does. */
enum attempt live_frame_values(struct walker *walker, struct walk *walk, const struct live_frame *seen,
                               struct values *values);
/* Whether the values have the generator object whose frame is at this address. */
bool live_frame_values_have(const struct layout *layout, const struct values *values, uint64_t generator_frame);

/* Whether `caller` can have called `callee`, as the copy shows both: ATTEMPT_ACCEPTED or ATTEMPT_TORN. ATTEMPT_LEARNED:
 * the copy lacks the memory that decides this. `from_c`: the call went through C. `certain`: the callee was alive at
 * the moment of the copy. */
enum attempt live_frame_called(struct walker *walker, struct walk *walk, const struct live_frame *caller,
                               const struct live_frame *callee, bool from_c, bool certain);

/* Whether a frame next to an off-stack frame is the same frame in the second copy, which was read behind the off-stack
 * frames. `exactly`: the frame must stand at the same instruction, too. True when the frame has no second copy. */
bool live_frame_still_there(const struct walker *walker, struct walk *walk, const struct live_frame *seen,
                            bool exactly);

/* Whether the entry shim at this address is known to link to the frame `above`. */
bool live_frame_known_shim(struct walk *walk, uint64_t shim, uint64_t above);
/* Sets *above to the frame that an entry shim links to; `callee` is the plain frame that was called through the shim.
 * The shim is read by itself, not with the copy: it does not change while its frames exist, and the positions of
 * `callee` and *above show whether the link is right. Returns false when the link is wrong. */
bool live_frame_above_shim(struct walker *walker, struct walk *walk, uint64_t shim, const struct live_frame *callee,
                           uint64_t *above);

/* Whether both frames are in one piece of which near copies can be made (snapshot.h). */
bool live_frame_near(const struct walker *walker, struct walk *walk, const struct link *caller,
                     const struct link *callee);
/* Whether both frames are in one chunk of the copy. Then the copy shows both at one moment. */
bool live_frame_together(const struct walker *walker, struct walk *walk, const struct link *caller,
                         const struct link *callee);

/* Returns how many more copies show both frames unchanged: the caller stands at the same instruction, and the callee is
 * the same frame. A frame without a second copy counts as unchanged. LIVE_FRAME_UNSEEN: there are near copies, and the
 * frames are not in one piece. */
#define LIVE_FRAME_UNSEEN UINT32_MAX
uint32_t live_frame_sure(const struct walker *walker, struct walk *walk, const struct link *caller,
                         const struct link *callee);

#endif
