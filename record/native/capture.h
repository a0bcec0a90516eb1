/* SPDX-License-Identifier: MIT */
/* Stops one thread for a moment, from the processor on which it runs, and copies its registers and its C stack.
 *
 * The post that looks at a process has preempted the thread that runs there (record/exact/stand.h). While it stands, it
 * asks the kernel to stop the thread. The thread then runs no instruction of its own before it stops, so what is copied
 * is of the moment of the look, with the Python frames that were read in it:
 *
 *     post     looks │ asks for the stop │ waits      │ copies, lets go │
 *     thread   stands                    │ stops      │                 │ runs on
 *     caller                             │ emits ...  capture_take() waits for the copy
 *
 * Where more threads want to run than there are processors, or a thread waits for a disk, the stop comes late: the
 * sample has no C frames then. The post waits on until it has let the thread go, and makes no looks meanwhile. A thread
 * that somebody else traces is not stopped.
 *
 * The kernel keeps the number of the processor on which a thread last ran in the thread's rseq area. The number is
 * copied with the stack, and must be that of the post's processor: the thread ran nowhere else between the look and the
 * stop. */
#ifndef PYREEL_RECORD_NATIVE_CAPTURE_H
#define PYREEL_RECORD_NATIVE_CAPTURE_H

#include "record/native/c_stack.h"

#include <stdatomic.h>

#define CAPTURE_ROOM ((size_t)1 << 20) /* bytes of a stack that are copied at most */

/* Where a thread sleeps in the kernel: /proc/PID/task/TID/syscall. `= {0}` is closed. */
struct sleeps {
    pid_t tid;
    int file;
    long call; /* number of the system call in which it slept last; -1: none */
};

enum sleep {
    SLEEP_NONE,   /* the thread runs, or is ready to run */
    SLEEP_SLEEPS, /* its registers pc and sp are known */
    SLEEP_GONE,   /* there is no such thread in the process, or nobody knows */
};

/* Reads the registers of a thread if it sleeps: pc and sp, as far as the kernel tells them. The file stays open for the
 * next question about this thread. */
enum sleep sleeps_registers(struct sleeps *sleeps, pid_t pid, pid_t tid, struct c_registers *registers);
void sleeps_close(struct sleeps *sleeps);

/* Whether the thread slept in a system call that ends with EINTR when a stop wakes the thread. Most calls begin anew by
 * themselves then; of sockets only without a time limit. */
bool sleeps_fragile(const struct sleeps *sleeps);

/* `= {0}` is closed. */
struct capture {
    pid_t pid;            /* 0: not open */
    bool child;           /* the process is a child of the recorder, which somebody else reaps */
    struct remote remote; /* a copy, which stays valid for reads when the original is closed */

    /* Written by the look, and by the caller between looks; capture_begin() copies it. */
    struct captured {
        pid_t tid;          /* the thread that stands still in the look; 0: none is proved to */
        uint64_t thread;    /* address of its thread state */
        uint64_t last;      /* its stack is copied up to this address; 0: as far as it is known to reach */
        uint64_t cpu_at;    /* where the kernel keeps the number of its processor; 0: nowhere */
        uint32_t processor; /* that of the post */
    } wanted;

    _Atomic uint32_t state; /* enum capture_state of capture.c */
    struct captured taken;  /* what was asked for, or is captured */
    pid_t tid;              /* the number of the thread by now: execve may change it */
    struct sleeps sleeps;   /* of the thread that was wanted last */
    uint64_t asked_ns;      /* when it was asked to stop (monotonic), ... */
    uint64_t held_ns;       /* ... and for how long it then stood, as far as it had a processor; 0: not at all */

    const struct piece *again; /* set by the caller as `wanted` is: what is read with the copy; it lives as long */
    size_t again_count;

    /* The post writes these, and the caller reads them after capture_take(). */
    struct c_registers registers;
    struct c_copy copy;
    unsigned char *bytes; /* CAPTURE_ROOM; NULL: not needed yet */

    _Atomic uint64_t late, refused; /* counters: stops that came too late; stops that were not possible */
};

/* Copies the stack of a thread into `bytes`, which has CAPTURE_ROOM: from below its stack pointer to `last` and what
 * belongs to it, or as far as it is known to reach (0). With the same call reads `first`, unless it is NULL. Returns
 * whether that was read. */
bool capture_copy_stack(struct remote *remote, const struct c_registers *registers, uint64_t last,
                        const struct piece *first, unsigned char *bytes, struct c_copy *copy);

/* Whether this machine's registers are known. */
bool capture_possible(void);

/* Takes the registers from the machine's struct user_regs_struct, as ptrace and core files have it. False: this
 * machine's are not known. */
bool capture_registers(const void *user_regs, size_t size, struct c_registers *registers);

/* Opens a process, which is a child of the recorder or not. May be called again for another program of the process. */
void capture_open(struct capture *capture, const struct remote *remote, bool child);
/* No post may be at it any more. */
void capture_close(struct capture *capture);

/* In the post, while it stands: asks the thread that is wanted to stop. True: the post calls capture_finish() when the
 * caller need not wait for it any more. A thread that sleeps in a system call is not stopped, so the call is not
 * interrupted: the kernel tells its stack pointer, and the stack is copied at once. */
bool capture_begin(struct capture *capture);

/* In the post: waits for the stop, copies, and lets the thread go; or ends when *stop is set and a signal comes: then
 * the kernel lets the thread go when the post ends. */
void capture_finish(struct capture *capture, const atomic_bool *stop);

/* Waits until this moment (monotonic) for the copy that was begun in the last look: where more threads want to run than
 * there are processors, a thread stops only when it has its turn again. Returns what was captured, until
 * capture_drop(); NULL: nothing. */
const struct captured *capture_take(struct capture *capture, uint64_t give_up_ns);

/* Drops the copy that there is, or the one that is being made: the caller does not need it any more. */
void capture_drop(struct capture *capture);

#endif
