/* SPDX-License-Identifier: MIT */
/* A copy of one thread's memory: its state, the used part of its data stack, and its off-stack frames.
 *
 * CPython keeps the frames of plain calls one behind the other on a "data stack", which consists of a few large chunks
 * of memory. So the thread's state and its chunks hold nearly the whole stack. Off-stack frames lie elsewhere: a
 * generator's frame is in the generator object, an entry shim is on the C stack. The same system call reads these
 * frames too. A plan says which addresses to read. The plan comes from the last sample, and is corrected when it turns
 * out to be wrong.
 *
 *     one call:  state │ oldest chunk ... newest chunk │ off-stack frames │ end of the newest chunk again
 *
 * Off-stack frames that lie close together are one piece. Each piece costs as much time as some kilobytes, and a
 * quicker call more often shows one moment. The plan never grows from bytes that cannot be a frame: the memory of a
 * frame that has returned may point anywhere.
 *
 * A recursion through C, or of generators, has thousands of off-stack frames. Of a thread that stands still, further
 * calls read the pieces that have no room in the first call ("late" pieces).
 *
 * What a plan remembers is a guess. A look that fails forgets what it did not use, and a plan that is too large is
 * forgotten as a whole: the next look is not worse than the first one.
 *
 * The chunks of a deep stack come and go while functions return and call. A system call ends at the first piece that is
 * not readable. So when some chunks may be gone and the call reads only one thread, the state of the interpreters is
 * read before the chunks, and once more at the end:
 *
 *     one call:  state │ interpreters │ oldest chunk ... newest chunk │ off-stack frames │ ... │ interpreters
 *
 * The kernel copies a piece from low to high addresses, which is from root to leaf, and faster than a thread can make
 * calls. So all frames of one piece show one moment: the moment at which the leaf was copied. live/find.h says how the
 * leaf is found. Between two pieces a thread can make several calls. So frames in different pieces need a proof that
 * they belong together: the end of the newest chunk is read both before and after the off-stack frames.
 *
 * To check that one frame calls another, the frames are copied twice. If both frames are in one piece, "near" copies of
 * that piece follow at once, a fraction of a microsecond apart. Otherwise everything is copied a second time:
 *
 *     near:      state │ chunks │ end of the newest chunk, NEAR_COPIES times
 *                │ each off-stack piece, NEAR_COPIES + 1 times │ end of the newest chunk again
 *     not near:  state │ chunks │ off-stack frames │ chunks again │ off-stack frames again
 *
 * The copy of the last accepted sample is kept. Frames between the root and the first byte that differs have not
 * changed and are not examined again.
 *
 * All bytes come from the target and are not trusted. */
#ifndef PYREEL_RECORD_UNWIND_SNAPSHOT_H
#define PYREEL_RECORD_UNWIND_SNAPSHOT_H

#include "formats/intern/hash.h"
#include "record/process/remote.h"
#include "record/python/layout.h"

#include <stdbool.h>

/* A chunk of the data stack. */
struct chunk {
    uint64_t address;
    uint32_t used;                 /* bytes from the chunk's start that are in the copy */
    uint32_t next;                 /* bytes to read the next time */
    uint32_t most;                 /* the most bytes that were in use lately while this chunk was the newest */
    uint32_t at;                   /* offset of the chunk in the copy */
    uint32_t again_from, again_at; /* the second copy: it begins at this byte of the chunk, and lies at this offset of
                                      the copy; again_at 0: there is none */
};

/* A frame outside the data stack. */
struct off_stack {
    uint64_t frame;        /* address */
    uint32_t size;         /* bytes from the frame's start that are in the copy */
    uint32_t next;         /* bytes to read the next time */
    uint32_t at, again_at; /* offsets in the copy, of the frame and of its second copy */
    uint32_t span;  /* bytes of the piece that begins with this frame; 0: the frame is in an earlier frame's piece */
    uint32_t piece; /* index of the frame's piece among the off-stack pieces */
    uint32_t near_at, near_step; /* offset of the frame's first near copy, and the distance to the next one */
    uint32_t idle;               /* samples since the frame was last part of the stack */
};

/* The result of an attempt to read a thread. */
enum attempt {
    ATTEMPT_ACCEPTED,
    ATTEMPT_TORN,      /* the thread moved on while it was read */
    ATTEMPT_LEARNED,   /* something was not where the plan had it; the plan is corrected */
    ATTEMPT_UNSURE,    /* the copy shows a call that is not known, and too few copies show that call */
    ATTEMPT_NO_CODE,   /* a code object is not readable */
    ATTEMPT_TOO_DEEP,  /* the stack has more frames, chunks or off-stack frames than the limits allow */
    ATTEMPT_NO_MEMORY, /* memory that must be there is not readable */
    ATTEMPT_ELSEWHERE, /* the address no longer has a thread of this interpreter */
};

#define CFRAMES         4
#define CFRAME_BYTES    16 /* of each C frame: the current frame, and the address of the previous C frame */
#define NEAR_COPIES     3
#define SNAPSHOTS_LIMIT ((size_t)512 << 20) /* bytes of the copies of all threads; beyond, a stack is too deep */
#define SNAPSHOT_LIVE   384  /* frames off the data stack of a thread that moves: an attempt to read more ends torn */
#define SNAPSHOT_NEAR   8192 /* bytes at the end of the newest chunk of which near copies are made */

/* Of one thread; lives as long as the thread is watched. `= {0}` knows nothing yet. The arrays belong to the snapshot:
 * free them with snapshot_free(). */
struct snapshot {
    uint64_t thread; /* address of the thread's state */
    /* Before CPython 3.13 the current frame is noted in a "C frame" (struct _PyCFrame) on the C stack. Each piece of C
     * code that calls Python has a C frame of its own. */
    uint64_t cframes[CFRAMES];         /* addresses of C frames that the thread used lately */
    uint32_t cframes_count, cframe_at; /* how many there are; offset of the first one in the copy */
    uint32_t cframe;                   /* index of the one in use; CFRAMES: none */
    uint32_t cframe_oldest;            /* index of the one that is replaced next, modulo CFRAMES */
    struct chunk *chunks;              /* oldest first; chunks after `newest` were in use lately and may come back */
    size_t chunks_count, chunks_room, newest;
    size_t firm;                /* this many of the oldest chunks do not come and go */
    uint32_t odd_chunks;        /* consecutive attempts in which the chunks were no chain */
    size_t fewest, most_chunks; /* fewest and most chunks that a sample used since the chunks were fitted */
    struct off_stack *off_stack;
    size_t off_stack_count, off_stack_room;
    uint32_t *off_stack_slots; /* a hash table by address: index + 1 in `off_stack`; 0: the slot is free */
    size_t off_stack_slots_room, off_stack_slots_mask; /* slots that there are; those in use, minus 1 */
    struct hash_factors off_stack_spread;              /* of these slots; random */
    size_t off_stack_indexed; /* this many off-stack frames, from the first one on, are in the hash table */
    size_t
        off_stack_hint;  /* index of the off-stack frame that is probably looked for next: speed alone depends on it */
    uint32_t learn_left; /* calls that may still read frames that the plan lacks, in this tick */
    uint32_t fit_due;    /* samples until `next` of the newest chunk is fitted to its use */

    unsigned char *copy, *last; /* bytes of the last call, and of the last accepted sample */
    size_t copy_room, last_room, copy_size;
    bool still;                             /* the thread stands still: all pieces show one moment, in any order */
    bool twice;                             /* plan a second copy of everything, ... */
    bool near;                              /* ... of each piece right behind the piece itself (near copies) */
    bool comparable;                        /* `copy` and `last` have the same pieces at the same offsets */
    bool fetched;                           /* snapshot_fetch() appended frames to the copy */
    size_t first, pieces;                   /* index of the thread's first piece in the batch, and number of pieces */
    size_t rest_first, rest;                /* the same of the rest, behind the interpreters' pieces; 0: no rest */
    size_t spare_first;                     /* index of the first spare chunk in the batch; 0: none */
    size_t until;                           /* all pieces in use come before this index of the batch */
    size_t chunks_came, off_stack_read;     /* chunks and off-stack frames that are in the copy */
    bool chunks_gone;                       /* the call ended at a chunk that is gone */
    bool off_stack_again;                   /* the off-stack frames have a second copy, too */
    uint32_t near_from, near_at, near_step; /* near copies of chunk `near_chunk`: from this byte of the chunk on, at
                                               this offset of the copy, so far apart; near_at 0: there are none */
    size_t near_chunk;
    size_t off_stack_pieces; /* number of pieces that the off-stack frames are in, without second copies */
    size_t off_stack_late;   /* off-stack pieces from this one on are not in the batch: snapshot_check() reads them */
    size_t same_chunk;       /* chunks before this index are the same as in `last`, ... */
    uint32_t same_until;     /* ... and so are these many bytes of this chunk: snapshot_find_changes() */
    size_t near_chunk_hint;  /* a chunk near which the next frame is probably found: speed alone depends on it */
};

/* Adds the thread's pieces to a batch; `thread` is the address of the thread's state. Returns false when the batch has
 * no room left, or the copies would take too much memory; if the batch is empty, snapshot_free() is the way out.
 * `alone`: the batch reads no other thread. Then, if some chunks may be gone, only the state is added: the call would
 * end at a chunk that is gone. */
bool snapshot_plan(struct snapshot *snapshot, const struct layout *layout, uint64_t thread, struct batch *batch,
                   bool alone);
/* Adds the pieces that snapshot_plan() left out. Returns false when it left out none. */
bool snapshot_plan_rest(struct snapshot *snapshot, struct batch *batch);
/* Adds the chunks that were in use lately and may have come back; call it for the end of a batch. Returns false when
 * there are none, or no room. */
bool snapshot_plan_spare(struct snapshot *snapshot, struct batch *batch);

/* What one of the thread's pieces contains. */
enum piece_is {
    PIECE_STATE,
    PIECE_CFRAME,
    PIECE_CHUNK,     /* *index: number of chunks before it */
    PIECE_OFF_STACK, /* *index: as `piece` of struct off_stack */
    PIECE_AGAIN,     /* a second copy */
};
/* Says what the thread's piece `k` contains; piece 0 is the state. */
enum piece_is snapshot_plan_piece(const struct snapshot *snapshot, size_t k, size_t *index);

/* Checks the copy after the system call, which read the first `good` pieces of the batch, and reads late pieces.
 * ATTEMPT_ACCEPTED: `thread` is
 * a thread of the interpreter at address `interpreter`, and the copy has a chain of chunks. Other results: the thread
 * has to be read again, or is gone (ATTEMPT_ELSEWHERE). */
enum attempt snapshot_check(struct snapshot *snapshot, const struct layout *layout, struct remote *remote,
                            uint64_t interpreter, size_t good);

/* The copy of the thread's state, layout->thread_size bytes. Valid until the next snapshot_plan(), and only if
 * snapshot_check() did not return ATTEMPT_ELSEWHERE. */
static inline const unsigned char *snapshot_state(const struct snapshot *snapshot)
{
    return snapshot->copy;
}

/* The address of the thread's current frame, as noted shortly before the moment of the copy; 0: none. */
uint64_t snapshot_current(const struct snapshot *snapshot, const struct layout *layout);

/* Before CPython 3.13: sets *frame to the current frame of the previous C frame. That frame called the C code which
 * runs now; 0: there is none. ATTEMPT_LEARNED: the next copy has the previous C frame. ATTEMPT_UNSURE: the newest C
 * frame does not name the previous one yet. */
enum attempt snapshot_caller(struct snapshot *snapshot, uint64_t *frame);

/* Where the copy has a frame. */
struct found_frame {
    const unsigned char *bytes; /* layout->frame_size of them; NULL: the copy does not have the frame */
    size_t off_stack;           /* the index of an off-stack frame + 1; 0: the frame is on the data stack, ... */
    size_t chunk;               /* ... in the chunk with this index */
};

/* Finds the frame at an address in the target. */
struct found_frame snapshot_locate(struct snapshot *snapshot, const struct layout *layout, uint64_t frame);
/* The bytes of that frame; NULL when the copy does not have them. */
static inline const unsigned char *snapshot_find(struct snapshot *snapshot, const struct layout *layout, uint64_t frame)
{
    return snapshot_locate(snapshot, layout, frame).bytes;
}
/* The same bytes in the second copy, which was read after everything else; NULL when the frame has no second copy. */
const unsigned char *snapshot_find_again(struct snapshot *snapshot, const struct layout *layout, uint64_t frame);
/* The same bytes in near copy 0 to NEAR_COPIES - 1, read a fraction of a microsecond later; NULL when the frame's piece
 * has no near copies. */
const unsigned char *snapshot_find_near(struct snapshot *snapshot, const struct layout *layout, uint64_t frame,
                                        size_t copy);
/* Identifies the piece of a frame: frames of one piece have the same number. Returns 0 when no near copies can be made
 * of the piece. */
size_t snapshot_near_piece(struct snapshot *snapshot, const struct layout *layout, uint64_t frame);
/* Copies up to `room` words, from `address` on, out of the piece of a frame. Returns how many words the piece has
 * there. */
size_t snapshot_words(const struct snapshot *snapshot, const struct found_frame *found, uint64_t address,
                      uint64_t *words, size_t room);

/* Finds an off-stack frame among the first `count`, whether the copy has it or not. Returns the index + 1; 0: none. */
size_t snapshot_find_off_stack(struct snapshot *snapshot, uint64_t frame, size_t count);

/* Begins a new look: snapshot_learn() and snapshot_fetch() may read frames again. `more`: so many calls may do so more
 * than usual. */
void snapshot_begin(struct snapshot *snapshot, uint32_t more);

/* Looks for a frame that is not in the copy, reads it and its callers one by one, and adds the off-stack frames to the
 * plan. ATTEMPT_LEARNED: the next copy has the frame. */
enum attempt snapshot_learn(struct snapshot *snapshot, const struct layout *layout, struct remote *remote,
                            uint64_t frame);
/* The same for a thread that stands still: ATTEMPT_ACCEPTED: the off-stack frame is read now and is in this copy.
 * ATTEMPT_LEARNED: the frame is on the data stack, and the next copy has it. */
enum attempt snapshot_fetch(struct snapshot *snapshot, const struct layout *layout, struct remote *remote,
                            uint64_t frame);
/* Plans to read at least `size` bytes of an off-stack frame. */
void snapshot_widen(struct snapshot *snapshot, const struct found_frame *found, uint32_t size);

/* Plans to read the piece of a frame at least up to the address `end`. */
enum attempt snapshot_cover(struct snapshot *snapshot, const struct layout *layout, const struct found_frame *found,
                            uint64_t end);

/* Finds how many bytes of the data stack, from the root on, are the same as in the last accepted copy. */
void snapshot_find_changes(struct snapshot *snapshot, const struct layout *layout);
/* Whether a frame and all frames above it are the same as in the last accepted copy. Needs snapshot_find_changes(). */
bool snapshot_same(const struct snapshot *snapshot, const struct layout *layout, const struct found_frame *found,
                   uint64_t frame);

/* Whether all frames of the thread are, byte for byte, those of the last accepted copy. */
bool snapshot_unchanged(const struct snapshot *snapshot, const struct layout *layout);

/* Accepts the copy as a sample: `copy` becomes `last`, and the plan is fitted to the memory that the stack used. */
void snapshot_accept(struct snapshot *snapshot, const struct layout *layout);
/* The look failed for this reason: forgets what may have been the cause. */
void snapshot_fail(struct snapshot *snapshot, enum attempt why);
/* Forgets the off-stack frames that are not known to be part of the stack now. Returns whether there were any. */
bool snapshot_forget_idle(struct snapshot *snapshot);

/* Makes room for copies of `size` bytes. False when the copies of all threads would take more than SNAPSHOTS_LIMIT. */
bool snapshot_make_room(struct snapshot *snapshot, size_t size);
/* Grows an array of a snapshot, as alloc_grow() does; its bytes count as copies. */
void *snapshot_grow(void *array, size_t *room, size_t wanted, size_t size);

/* Frees the snapshot's memory and resets it to `= {0}`. */
void snapshot_free(struct snapshot *snapshot);

#endif
