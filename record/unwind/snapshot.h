/* SPDX-License-Identifier: MIT */
/* What was read of a thread: its state, the used part of its data stack, its frames elsewhere.
 *
 * CPython keeps frames of plain calls one behind the other on a "data stack", a few large chunks of memory. So the
 * thread's state and its chunks hold nearly the whole stack. Frames that lie elsewhere ("off-stack frames": those of
 * generators and coroutines are in heap objects, entries from C are on the C stack) are asked for in the same call.
 * What to ask for is known from last time, and is mended when it turns out wrong.
 *
 *     one call:  state │ oldest chunk ... newest chunk │ off-stack frames │ end of the newest chunk again
 *
 * Off-stack frames that lie close together are one piece: a piece takes as long as some kilobytes, and what is read
 * sooner fits to the data stack more often. Nothing is learned from what can't be a frame: one that has returned leads
 * anywhere.
 *
 * A deep stack that keeps returning and calling has chunks that come and go. A call ends at the first piece that is not
 * there, so where some may be gone, and the call is for one thread only, the state of the interpreters is asked for
 * before the chunks, which stay side by side, and once more after all:
 *
 *     one call:  state │ interpreters │ oldest chunk ... newest chunk │ off-stack frames │ ... │ interpreters
 *
 * The kernel copies a piece from the root to the leaf, faster than a thread can make calls. So all frames of one piece
 * show one moment: the moment at which the leaf was copied; see live/find.h for how the leaf is found in the piece.
 * Between two pieces a thread gets in several calls, so what lies in two pieces has to be shown to belong together:
 * that is why the frames next to off-stack frames are read on both sides of them.
 *
 * Two frames of one piece are shown to belong together by copies of that piece made at once, a fraction of a
 * microsecond apart; others by a second copy of all:
 *
 *     near:      state │ chunks │ newest chunk, NEAR_COPIES times │ off-stack frame, NEAR_COPIES + 1 times │ ... │ end
 * again not near:  state │ chunks │ off-stack frames │ chunks again │ off-stack frames again
 *
 * The last copy is kept. What lies below the first byte that differs has not changed and is not looked at again.
 *
 * All that is read comes from the target and is not trusted. */
#ifndef PYREEL_RECORD_UNWIND_SNAPSHOT_H
#define PYREEL_RECORD_UNWIND_SNAPSHOT_H

#include "record/process/remote.h"
#include "record/python/layout.h"

#include <stdbool.h>

struct chunk {
    uint64_t address;
    uint32_t used;                 /* bytes from its start that are in the copy */
    uint32_t next;                 /* that are read next time */
    uint32_t most;                 /* that were in use lately while it was the newest */
    uint32_t at;                   /* where they are in the copy */
    uint32_t again_from, again_at; /* from there to the end they were read once more; 0: not read again */
};

/* A frame outside the data stack. */
struct off_stack {
    uint64_t frame;
    uint32_t size; /* bytes from its start that are in the copy */
    uint32_t next; /* that are read next time */
    uint32_t at, again_at;
    uint32_t span; /* bytes of the piece that begins with it; 0: it is in that of one before */
    uint32_t piece;
    uint32_t near_at, near_step; /* where its piece was read again at once, and how far apart those copies are */
    uint32_t idle;               /* samples since it was last part of the stack */
};

/* What became of an attempt to read a thread. */
enum attempt {
    ATTEMPT_ACCEPTED,
    ATTEMPT_TORN,    /* the thread moved on while we read */
    ATTEMPT_LEARNED, /* something was not where it was last time; now we know better */
    ATTEMPT_UNSURE,  /* it shows a call that is not known, and was not made twice */
    ATTEMPT_NO_CODE, /* a code object can't be read */
    ATTEMPT_TOO_DEEP,
    ATTEMPT_NO_MEMORY, /* something that must be there is not */
    ATTEMPT_ELSEWHERE, /* there is no thread of this interpreter here any more */
};

#define CFRAMES       4
#define CFRAME_BYTES  16 /* of each: the current frame, and the place before it */
#define NEAR_COPIES   3
#define SNAPSHOT_NEAR 8192 /* bytes at the end of the newest chunk of which near copies are made */

/* Of one thread; lives as long as that. `= {0}` knows nothing yet. */
struct snapshot {
    uint64_t thread; /* address of its state */
    /* Before CPython 3.13, places where its current frame was noted lately: C code that calls Python code has one of
     * its own. Those frames in the copy, and which place is in use; CFRAMES: none. */
    uint64_t cframes[CFRAMES];
    uint32_t cframes_count, cframe_at, cframe, cframe_oldest;
    struct chunk *chunks; /* oldest first; those after `newest` were there lately and may come again */
    size_t chunks_count, chunks_room, newest;
    size_t firm;                /* so many of the oldest do not come and go */
    uint32_t odd_chunks;        /* attempts in a row that did not see a chain */
    size_t fewest, most_chunks; /* the fewest and most that a sample used since they were fitted */
    struct off_stack *off_stack;
    size_t off_stack_count, off_stack_room;
    uint32_t learn_left; /* frames that may still be read one by one in this tick */
    uint32_t fit_due;    /* samples until the newest chunk is fitted to what was used of it */

    unsigned char *copy, *last; /* what the last call brought, and the last one accepted */
    size_t copy_room, last_room, copy_size;
    bool still;                             /* the thread stands still: all is of one moment, in any order */
    bool twice;                             /* all is to be read once more, ... */
    bool near;                              /* ... each piece at once, or all after all */
    bool comparable;                        /* both are of the same pieces */
    bool fetched;                           /* frames were put behind the pieces */
    size_t first, pieces;                   /* where its pieces are in the call, and how many there are */
    size_t rest_first, rest;                /* where the rest of them is, after the interpreters' pieces; 0: none */
    size_t spare_first;                     /* where those are that were tried for at its end; 0: none */
    size_t until;                           /* all pieces that are used come before this one of the call */
    size_t chunks_came, off_stack_read;     /* so many are in the copy */
    bool chunks_gone;                       /* others were asked for and are gone */
    bool off_stack_again;                   /* the off-stack frames were read once more, too */
    uint32_t near_from, near_at, near_step; /* the end of chunk near_chunk, read again at once; 0: it was not */
    size_t near_chunk;
    size_t off_stack_pieces;           /* so many pieces the off-stack frames are, without what is read again */
    size_t same_chunk;                 /* chunks before this one are the same as last time, ... */
    uint32_t same_until;               /* ... and so many bytes of this one; see snapshot_find_changes() */
    struct off_stack *found_off_stack; /* of the last snapshot_find(); NULL: it was in a chunk, ... */
    size_t found_chunk;                /* ... in this one */
};

/* Adds the thread's pieces to a call; `thread` is the address of its state. False when the call has no room left.
 * `alone`: only the state when there are chunks that come and go, as the call stops there if one is gone. */
bool snapshot_plan(struct snapshot *snapshot, const struct layout *layout, uint64_t thread, struct batch *batch,
                   bool alone);
/* Adds the rest of them. False when there is none. */
bool snapshot_plan_rest(struct snapshot *snapshot, struct batch *batch);
/* Adds chunks that were there lately: at the end of a call. False when there are none. */
bool snapshot_plan_spare(struct snapshot *snapshot, struct batch *batch);

/* What a piece of the thread's own is. */
enum piece_is {
    PIECE_STATE,
    PIECE_CFRAME,
    PIECE_CHUNK,     /* *place: so many chunks came before it */
    PIECE_OFF_STACK, /* *place: the piece of off-stack frames, as off_stack->piece */
    PIECE_AGAIN,     /* of what came before */
};
enum piece_is snapshot_plan_piece(const struct snapshot *snapshot, size_t k, size_t *index);

/* After the call, of which the first `good` pieces came: whether this is a thread of the interpreter at `interpreter`
 * and what the walk needs is there. */
enum attempt snapshot_check(struct snapshot *snapshot, const struct layout *layout, struct remote *remote,
                            uint64_t interpreter, size_t good);

/* The thread's state, layout->thread_size bytes; valid unless snapshot_check() said ATTEMPT_ELSEWHERE. */
static inline const unsigned char *snapshot_state(const struct snapshot *snapshot)
{
    return snapshot->copy;
}

/* The thread's current frame as it was shortly before the moment; 0: none. */
uint64_t snapshot_current(const struct snapshot *snapshot, const struct layout *layout);

/* Before CPython 3.13: the current frame as it is noted in the place before, by the C code that called what runs now.
 * ATTEMPT_LEARNED: the next copy has that place. ATTEMPT_UNSURE: nothing tells yet which one that is. 0: there is none.
 */
enum attempt snapshot_caller(struct snapshot *snapshot, uint64_t *frame);

/* The layout->frame_size bytes of a frame in the copy; NULL when it is not there. */
const unsigned char *snapshot_find(struct snapshot *snapshot, const struct layout *layout, uint64_t frame);
/* The same as it was when it was read once more, after all; NULL when it was not. */
const unsigned char *snapshot_find_again(const struct snapshot *snapshot, const struct layout *layout, uint64_t frame);
/* A frame as it was a fraction of a microsecond later, in copy 0 to NEAR_COPIES - 1 of the piece that it is in; NULL
 * when that was not read again at once. */
const unsigned char *snapshot_find_near(const struct snapshot *snapshot, const struct layout *layout, uint64_t frame,
                                        size_t copy);
/* A number for the piece that a frame is in, if near copies can be made of it; 0: they can't. */
size_t snapshot_near_piece(struct snapshot *snapshot, const struct layout *layout, uint64_t frame);
/* Words of the copy from `address` on, in the piece that snapshot_find() found last: at most `room`. Returns how many
 * there are. */
size_t snapshot_words(const struct snapshot *snapshot, uint64_t address, uint64_t *words, size_t room);

/* A new tick: things may be learned again. */
void snapshot_begin(struct snapshot *snapshot);

/* A frame that is not in the copy: finds it and what follows it outside the data stack, for the next call. */
enum attempt snapshot_learn(struct snapshot *snapshot, const struct layout *layout, struct remote *remote,
                            uint64_t frame);
/* The same of a thread that stands still: reads a frame outside the data stack on the spot, and puts it into the copy.
 * ATTEMPT_LEARNED: the frame is on the data stack, and the next copy has it. */
enum attempt snapshot_fetch(struct snapshot *snapshot, const struct layout *layout, struct remote *remote,
                            uint64_t frame);
/* From now on reads so many bytes of the off-stack frame found last. */
void snapshot_widen(struct snapshot *snapshot, uint32_t size);

/* From now on reads the piece in which a frame was found last up to `end`. */
enum attempt snapshot_cover(struct snapshot *snapshot, const struct layout *layout, uint64_t end);

/* Finds out how much is the same as in the last accepted copy. */
void snapshot_find_changes(struct snapshot *snapshot, const struct layout *layout);
/* Whether the frame, which was found last, and all below it are the same as in the last accepted copy. */
bool snapshot_same(const struct snapshot *snapshot, const struct layout *layout, uint64_t frame);

/* Whether the thread's frames are, byte for byte, those of the last accepted copy. */
bool snapshot_unchanged(const struct snapshot *snapshot, const struct layout *layout);

/* The walk was accepted: the copy is the last one from now on, and the plan is fitted to what was needed. */
void snapshot_accept(struct snapshot *snapshot, const struct layout *layout);

void snapshot_free(struct snapshot *snapshot);

#endif
