/* SPDX-License-Identifier: MIT */
/* The span that a thread works on, as the thread publishes it for readers outside (OpenTelemetry's thread context, OTEP
 * 4947): a variable of the thread points to a record, or nowhere:
 *
 *     0   trace id   16   span id   24   1: valid   25   flags   26   size of what follows, which is not read
 *
 * Pointer and record are two more pieces of a look at the thread, of the same moment as its stack. The record is read
 * where the pointer of the look before led. Where it leads elsewhere, the thread is read again; and so are all that a
 * call did not reach which ended at a piece that is gone: the next one is planned without that piece. */
#ifndef PYREEL_RECORD_UNWIND_SPAN_PIECE_H
#define PYREEL_RECORD_UNWIND_SPAN_PIECE_H

#include "formats/model/event.h"
#include "record/elf/thread_variable.h"
#include "record/process/remote.h"

#define SPAN_RECORD 28 /* bytes */

/* The span of one thread, and where it stands. `= {0}`: nothing is known of it. */
struct span_piece {
    struct span_ids span; /* at the last look that read the thread */
    uint64_t thread;      /* the thread pointer to which `variable` belongs, ... */
    uint32_t native_id;   /* ... and the number of its thread: a later one may have the same pointer */
    uint64_t variable;    /* address of the thread's variable; 0: not known, or the thread has not used it yet */
    uint64_t due_ns;      /* before this time it is not searched again (monotonic) */
    bool ran;             /* the thread was read since it was searched, so it may have used it since */
    uint64_t record;      /* where the pointer led at the last look; 0: nowhere */
    uint64_t bad;         /* where it led when nothing was there */
    size_t piece;         /* index + 1 in the batch, of the pointer and the record; 0: they are in none */
    bool has_record;      /* the batch has the record, too */
    uint64_t pointer;     /* what was read */
    unsigned char bytes[SPAN_RECORD];
};

/* Adds the pieces to a batch, if it has room. */
void span_piece_plan(struct span_piece *piece, const struct thread_variable *variable, struct batch *batch);

/* Takes what a call has read, which read `good` pieces of the batch. `pointer`, `native_id`: the thread pointer and the
 * process's own number of the thread that was read. False: the plan was wrong, and the next one is right. */
bool span_piece_take(struct span_piece *piece, const struct thread_variable *variable, uint64_t pointer,
                     uint32_t native_id, size_t good);

/* Between looks: searches the variable of a thread that has a block for it. Returns whether it searched, which takes
 * some system calls. A thread that was not read since the last search has not run, so it is not searched. */
bool span_piece_search(struct span_piece *piece, const struct thread_variable *variable, struct remote *remote,
                       uint64_t now_ns);

#endif
