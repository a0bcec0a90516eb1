/* SPDX-License-Identifier: MIT */
/* The C frames of a recorded process (--native): what the posts capture is put among the Python frames. */
#ifndef PYREEL_RECORD_NATIVE_C_FRAMES_H
#define PYREEL_RECORD_NATIVE_C_FRAMES_H

#include "record/native/catcher.h"
#include "record/native/native_stack.h"
#include "record/unwind/thread_list.h"

#define C_FRAMES_PATIENCE_NS 50000000u /* a thread has its turn by then on a busy machine, too */
#define C_FRAMES_AT_ONCE     16        /* threads that are captured in a look: one by each post */

/* A thread that is looked at without a post: the C frames, which stay as they are while the thread sleeps, and how the
 * thread sleeps. A stop from another processor may find a thread that has just begun to sleep, and wake it. Nearly all
 * system calls then begin anew. So a thread is stopped in this way only when looks have shown that it sleeps in such
 * calls only, or hardly ever. */
struct c_sleeper {
    uint32_t asleep, awake; /* looks in which it slept or ran, up to now */
    bool fragile;           /* it slept in a call that would end with EINTR */

    uint64_t runs;    /* how often it had had a processor, as struct cpu counts */
    uint64_t leaf;    /* its Python stack: address of the innermost frame, ... */
    uint32_t depth;   /* ... and number of links */
    uint32_t edition; /* of the code map */
    bool merged;
    struct c_links found;
};

/* The state of --native for one process, from its first program on. */
struct c_frames {
    struct capture captures[C_FRAMES_AT_ONCE]; /* by the posts of a look, in their order */
    struct c_links found[C_FRAMES_AT_ONCE];    /* what was made of them in this tick */
    struct member *merged[C_FRAMES_AT_ONCE];   /* those whose walks have C frames in this tick; NULL: none */
    struct native_stack stack;                 /* of the program that is open */
    bool open;                                 /* a program is, and the posts may capture */
    bool patient;                              /* see struct c_frames_options */
    pid_t pid;
    struct intern_pairs ids; /* (tid, 0) -> index in `sleepers` + 1 */
    struct c_sleeper *sleepers;
    size_t sleepers_count, sleepers_room;
    unsigned char *bytes; /* CAPTURE_ROOM: the stack of a thread that sleeps */
    struct catcher catcher;
    struct c_links caught; /* of the thread that was caught last */
    struct piece *again;   /* its Python frames, which are read again */
    unsigned char *frames; /* ... and what is read */
    uint64_t until_ns;     /* of this tick: threads are caught until then (monotonic), ... */
    uint64_t taken_ns;     /* ... and this is the longest time for which one stood */
    uint64_t moved;        /* counters: threads that were caught when they had gone on, ... */
    uint64_t spared;       /* ... and threads that were not stopped, for it might have interrupted a system call */
};

struct c_frames_options {
    bool child;   /* the process is a child of the recorder */
    bool patient; /* the caller has the time to wait for large tables of names, and looks a few times only */
    bool raise;   /* threads of the recorder raise their priority */
};

/* Opens a program of the process. `remote` and `definitions` must live as long. NULL: there can be no C frames.
 * c_frames_free() frees it, when all posts have ended. */
struct c_frames *c_frames_open(struct c_frames *known, const struct c_frames_options *options, struct remote *remote,
                               struct definitions *definitions);
/* Ends with the program; another one may follow. Safe on NULL, and on one that is not open. */
void c_frames_end(struct c_frames *c_frames);
void c_frames_free(struct c_frames *c_frames);

/* Returns the captures for the posts, C_FRAMES_AT_ONCE of them. NULL: the posts capture nothing. */
struct capture *c_frames_captures(struct c_frames *c_frames);

/* Takes what was captured in the last look, and waits for it until `give_up_ns` (monotonic). If `proved`, that look is
 * one moment: then the walks of those threads have C frames, until c_frames_end_tick(). `hole`: index of the frame
 * <native>. */
void c_frames_tick(struct c_frames *c_frames, struct thread_list *thread_list, bool proved, uint32_t hole,
                   uint64_t give_up_ns);
/* Returns for how long threads of the program stood to be captured, on one processor. */
uint64_t c_frames_end_tick(struct c_frames *c_frames);

/* Forgets a thread that has ended: another one may get its number. */
void c_frames_forget(struct c_frames *c_frames, pid_t tid);

/* Finds the C frames of a thread that slept in the last look, and still sleeps, by what struct cpu knows of it. It is
 * not stopped. The caller sets walk->c_links to NULL before the next call. */
void c_frames_of_sleeper(struct c_frames *c_frames, struct thread_list *thread_list, struct member *member, pid_t tid,
                         const struct cpu *cpu, uint32_t hole, uint64_t now_ns);

/* Finds the C frames of a thread that ran in the last look, and that no post has captured: it is stopped now, if it
 * stops in time for the next look. The caller sets walk->c_links to NULL before the next call. */
void c_frames_of_runner(struct c_frames *c_frames, struct thread_list *thread_list, struct member *member, pid_t tid,
                        uint32_t hole);

/* Finds the C frames of a thread that Python does not know, root first, if it runs now, and stops in time. NULL:
 * they are not known. They are valid until the next call. */
const struct c_links *c_frames_of_native(struct c_frames *c_frames, pid_t tid, uint32_t hole);

/* Finds the C frames of a thread in the memory of a process that lives no more, from its registers. As above. */
void c_frames_of_saved(struct c_frames *c_frames, struct thread_list *thread_list, struct member *member,
                       const struct c_registers *registers, uint32_t hole);

/* Adds the counters of the program that is open. */
void c_frames_count(const struct c_frames *c_frames, struct native_counters *counters);

#endif
