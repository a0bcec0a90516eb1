/* SPDX-License-Identifier: MIT */
/* A copy of one thread's memory: its state, the used part of its data stack, and its off-stack frames.
 *
 * CPython keeps the frames of plain calls one behind the other on a "data stack", which consists of a few large chunks
 * of memory. So the thread's state and its chunks hold nearly the whole stack. Off-stack frames lie elsewhere: a
 * generator's frame is in the generator object, an entry shim is on the C stack. The same system call reads these
 * frames too. A plan says which addresses to read. The plan comes from the last sample, and is corrected when it turns
 * out to be wrong.
 *
 *     one call:  state │ oldest chunk ... newest chunk │ off-stack frames
 *
 * Off-stack frames that lie close together are one piece: each piece costs as much time as some kilobytes. The plan
 * never grows from bytes that cannot be a frame.
 *
 * A recursion through C, or of generators, has thousands of off-stack frames. Further calls read the pieces that have
 * no room in the first call ("late" pieces), and what the plan lacks. Of a thread that stands still, any number of
 * calls shows one moment (exact.h).
 *
 * What a plan remembers is a guess. A look that fails forgets what it did not use, and a plan that is too large is
 * forgotten as a whole: the next look is not worse than the first one.
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
    uint32_t used; /* bytes from the chunk's start that are in the copy */
    uint32_t next; /* bytes to read the next time */
    uint32_t most; /* the most bytes that were in use lately while this chunk was the newest */
    uint32_t at;   /* offset of the chunk in the copy */
};

/* A frame outside the data stack. */
struct off_stack {
    uint64_t frame; /* address */
    uint32_t at;    /* offset in the copy */
    uint32_t span;  /* bytes of the piece that begins with this frame; 0: the frame is in an earlier frame's piece */
    uint32_t piece; /* index of the frame's piece among the off-stack pieces */
    uint32_t idle;  /* samples since the frame was last part of the stack */
};

/* The result of an attempt to read a thread. */
enum attempt {
    ATTEMPT_ACCEPTED,
    ATTEMPT_LEARNED,   /* something was not where the plan had it; the plan is corrected: read the thread again */
    ATTEMPT_TORN,      /* the memory is not that of a stack: a thread is in the middle of a change */
    ATTEMPT_UNSURE,    /* the thread stands at an instruction at which its memory does not determine the stack */
    ATTEMPT_NO_CODE,   /* a code object is not readable */
    ATTEMPT_TOO_DEEP,  /* the stack has more frames, chunks or off-stack frames than the limits allow */
    ATTEMPT_NO_MEMORY, /* memory that must be there is not readable */
    ATTEMPT_ELSEWHERE, /* the address no longer has a thread of this interpreter */
};

#define CFRAMES         4
#define CFRAME_BYTES    16 /* of each C frame: the current frame, and the address of the previous C frame */
#define SNAPSHOTS_LIMIT ((size_t)512 << 20) /* bytes of the copies of all threads; beyond, a stack is too deep */

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
    struct chunk *chunks;              /* oldest first */
    size_t chunks_count, chunks_room;
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
    bool comparable;                    /* `copy` and `last` have the same pieces at the same offsets */
    bool changed;                       /* the plan has changed since the copy was laid out */
    bool fetched;                       /* snapshot_fetch() appended frames to the copy */
    size_t first, pieces;               /* index of the thread's first piece in the batch, and number of pieces */
    size_t chunks_came, off_stack_read; /* chunks and off-stack frames that are in the copy */
    size_t off_stack_pieces;            /* number of pieces that the off-stack frames are in */
    size_t off_stack_late;  /* off-stack pieces from this one on are not in the batch: snapshot_check() reads them */
    size_t same_chunk;      /* chunks before this index are the same as in `last`, ... */
    uint32_t same_until;    /* ... and so are these many bytes of this chunk: snapshot_find_changes() */
    size_t near_chunk_hint; /* a chunk near which the next frame is probably found: speed alone depends on it */
};

/* Adds the thread's pieces to a batch; `thread` is the address of the thread's state. Returns false when the batch has
 * no room left, or the copies would take too much memory; if the batch is empty, snapshot_free() is the way out. */
bool snapshot_plan(struct snapshot *snapshot, const struct layout *layout, uint64_t thread, struct batch *batch);

/* What one of the thread's pieces contains. */
enum piece_is {
    PIECE_STATE,
    PIECE_CFRAME,
    PIECE_CHUNK,     /* *index: number of chunks before it */
    PIECE_OFF_STACK, /* *index: as `piece` of struct off_stack */
};
/* Says what the thread's piece `k` contains; piece 0 is the state. */
enum piece_is snapshot_plan_piece(const struct snapshot *snapshot, size_t k, size_t *index);

/* Checks the copy after the system call, which read the first `good` pieces of the batch, and reads late pieces.
 * ATTEMPT_ACCEPTED: `thread` is a thread of the interpreter at address `interpreter`, and the copy has a chain of
 * chunks. */
enum attempt snapshot_check(struct snapshot *snapshot, const struct layout *layout, struct remote *remote,
                            uint64_t interpreter, size_t good);

/* The copy of the thread's state, layout->thread_size bytes. Valid until the next snapshot_plan(), and only if
 * snapshot_check() did not return ATTEMPT_ELSEWHERE. */
static inline const unsigned char *snapshot_state(const struct snapshot *snapshot)
{
    return snapshot->copy;
}

/* The address of the thread's current frame; 0: none. */
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
/* Copies up to `room` words, from `address` on, out of the piece of a frame. Returns how many words the piece has
 * there. */
size_t snapshot_words(const struct snapshot *snapshot, const struct layout *layout, const struct found_frame *found,
                      uint64_t address, uint64_t *words, size_t room);

/* Finds an off-stack frame among the first `count`, whether the copy has it or not. Returns the index + 1; 0: none. */
size_t snapshot_find_off_stack(struct snapshot *snapshot, uint64_t frame, size_t count);

/* Begins a new look: snapshot_fetch() may read frames again. `more`: so many calls may do so more than usual. */
void snapshot_begin(struct snapshot *snapshot, uint32_t more);

/* Reads a frame that is not in the copy. ATTEMPT_ACCEPTED: the frame is off the stack, and in this copy now.
 * ATTEMPT_LEARNED: the frame is on the data stack, and the next copy has it. */
enum attempt snapshot_fetch(struct snapshot *snapshot, const struct layout *layout, struct remote *remote,
                            uint64_t frame);

/* Finds how many bytes of the data stack, from the root on, are the same as in the last accepted copy. */
void snapshot_find_changes(struct snapshot *snapshot, const struct layout *layout);
/* Whether a frame and all frames above it are the same as in the last accepted copy. Needs snapshot_find_changes(). */
bool snapshot_same(const struct snapshot *snapshot, const struct layout *layout, const struct found_frame *found,
                   uint64_t frame);

/* Whether all frames of the thread are, byte for byte, those of the last accepted copy. */
bool snapshot_unchanged(const struct snapshot *snapshot, const struct layout *layout);

/* Accepts the copy as a sample: `copy` becomes `last`, and the plan is fitted to the memory that the stack used.
 * `whole`: all frames of the stack were located in the copy, so off-stack frames that were not are no part of the
 * stack. */
void snapshot_accept(struct snapshot *snapshot, const struct layout *layout, bool whole);
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
