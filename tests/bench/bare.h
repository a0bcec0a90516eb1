/* SPDX-License-Identifier: MIT */
/* The bare system calls: what is left of a tick when only its reads of foreign memory are done, with nothing around
 * them.
 *
 * The linker puts functions of ours in front of process_vm_readv() and pread(), so the recorder needs to know nothing
 * of this. The reads of one tick in each slice of time are noted on their way, and done again and again: whatever else
 * the machine is doing then slows both. Slices in which either took much longer than usual are left out in the end, as
 * a wait for the processor would have hit only one of them. */
#ifndef PYREEL_TESTS_BENCH_BARE_H
#define PYREEL_TESTS_BENCH_BARE_H

#include "record/process/remote.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One slice: ticks that read memory, and then the reads of one more. */
struct slice {
    uint64_t ticks, calls; /* that read; the system calls they made */
    uint64_t ticks_ns;
    uint64_t bare_calls; /* system calls of the noted tick */
    double bare_us;      /* their time, taken together */
};

/* A system call that read memory. */
struct bare_call {
    int file; /* from which it read one piece; -1: it was process_vm_readv() */
    size_t pieces;
};

struct bare {
    bool noting;
    pid_t pid;
    int memory;          /* the file that is the target's memory */
    struct iovec *there; /* the pieces of all noted system calls, one after the other */
    size_t pieces, there_room;
    struct iovec *here; /* room of our own for them: the recorder still needs what is in its */
    size_t here_room;
    unsigned char *room;
    size_t room_size;
    struct bare_call *calls;
    size_t calls_count, calls_room;
    struct slice *slices;
    size_t slices_count, slices_room;
};

/* From begin to end, reads are noted. */
void bare_begin(const struct remote *remote);
void bare_end(void);

/* Does the noted reads for about so long, and keeps the slice. Nothing is kept when there were no reads. */
void bare_measure(uint64_t duration_ns, struct slice *slice);

/* The time of a tick that reads and that of its bare system calls, in microseconds; not a number when there was
 * too little of it. */
void bare_compare(double *tick_us, double *bare_us);

void bare_close(void);

#endif
