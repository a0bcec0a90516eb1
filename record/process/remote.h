/* SPDX-License-Identifier: MIT */
/* The memory of another process, read without stopping it: many pieces in one system call, in order. The only file
 * that touches foreign memory. The pieces of one call are copied one after the other within about a microsecond, but
 * not at one moment: whoever needs a consistent picture must be able to tell whether it got one.
 *
 * What is read is not trusted: it may change, be unmapped, or be made to mislead. */
#ifndef PYREEL_RECORD_PROCESS_REMOTE_H
#define PYREEL_RECORD_PROCESS_REMOTE_H

#include "formats/base/fault.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define REMOTE_PIECES 1024 /* the most in one call; the kernel's limit */

struct piece {
    uint64_t address; /* in the other process */
    uint32_t size;
    void *into; /* here */
};

/* The pieces of one system call, in the order in which they are read. */
struct batch {
    struct piece pieces[REMOTE_PIECES];
    size_t count;
};

struct remote {
    pid_t pid;
    int memory; /* /proc/PID/mem, which stays with the program that ran when it was opened; -1 when not open */
    uint64_t calls, pieces, bytes; /* read so far */
};

enum remote_state {
    REMOTE_READ,       /* all pieces */
    REMOTE_UNREADABLE, /* some memory is not there; `good` pieces at the front are */
    REMOTE_GONE,       /* the process has ended, or runs another program by now */
    REMOTE_DENIED,     /* we may not */
};

/* Takes hold of a process. False with the reason; errno tells the kind. */
bool remote_open(struct remote *remote, pid_t pid, struct fault *why);

/* Reads up to REMOTE_PIECES pieces with one system call. *good says how many at the front are whole; may be NULL. What
 * tells that another program was started meanwhile is remote_same_program(). */
enum remote_state remote_read_pieces(struct remote *remote, const struct piece *pieces, size_t count, size_t *good);

/* One more piece. Without room for it the call is not good for what was to come, and stays as it is. */
static inline bool batch_add(struct batch *batch, uint64_t address, uint32_t size, void *into)
{
    if (batch->count >= REMOTE_PIECES)
        return false;
    batch->pieces[batch->count++] = (struct piece){ address, size, into };
    return true;
}

/* Reads one piece, by the system call that reads several: who may not use that is told at the first read. */
enum remote_state remote_read(struct remote *remote, uint64_t address, void *into, size_t size);

/* Whether the process still runs the program that it ran at remote_open(): neither ended nor replaced by execve. Reads
 * the word at an address that was readable then. */
bool remote_same_program(const struct remote *remote, uint64_t address, uint64_t *word);

/* Safe on a zeroed or closed one. */
void remote_close(struct remote *remote);

/* The number that stands at an offset of what was read. */
static inline uint64_t word_at(const void *bytes, uint32_t offset)
{
    uint64_t value;
    memcpy(&value, (const unsigned char *)bytes + offset, sizeof(value));
    return value;
}

static inline uint32_t half_word_at(const void *bytes, uint32_t offset)
{
    uint32_t value;
    memcpy(&value, (const unsigned char *)bytes + offset, sizeof(value));
    return value;
}

#endif
