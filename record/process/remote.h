/* SPDX-License-Identifier: MIT */
/* Reads the memory of another process without stopping it. One system call reads a batch of many pieces, in order. No
 * other file reads foreign memory. The pieces of one batch are copied one after the other within about a microsecond,
 * but not at one moment: a caller that needs a consistent picture must check what it got.
 *
 * The memory is not trusted: it may change, be unmapped, or be made to mislead. */
#ifndef PYREEL_RECORD_PROCESS_REMOTE_H
#define PYREEL_RECORD_PROCESS_REMOTE_H

#include "formats/base/fault.h"
#include "record/process/procfs.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define REMOTE_PIECES 1024 /* the most pieces in one call; the kernel's limit */

/* A range of the other process's memory. */
struct piece {
    uint64_t address; /* in the other process */
    uint32_t size;
    void *into; /* in the recorder, room for `size` bytes */
};

/* The pieces of one system call, in the order in which they are read. */
struct batch {
    struct piece pieces[REMOTE_PIECES];
    size_t count;
};

/* Memory of a process that lives no more: functions that take the place of the kernel's. */
struct memory_kind {
    /* Reads a range. False when some of it is not there. */
    bool (*read)(void *self, uint64_t address, void *into, size_t size);
    /* As procfs_images() and procfs_open_image(). */
    bool (*images)(void *self, struct images *images);
    int (*open_image)(void *self, const struct image *image);
};

struct remote {
    pid_t process;
    pid_t pid; /* through which its memory is read: that of a thread, once the first thread has ended before others */
    const struct memory_kind *kind; /* NULL: a process that lives */
    void *self;                     /* for the functions of `kind` */
    int memory;                     /* /proc/PID/mem: stays with the program that ran at remote_open(); -1: not open */
    uint64_t calls, pieces, bytes;  /* read so far */
    uint64_t give_up_ns;            /* see remote_give_up_at() */
    bool over;                      /* that moment has passed */
};

enum remote_state {
    REMOTE_READ,       /* all pieces were read */
    REMOTE_UNREADABLE, /* some memory is not there; the first `good` pieces were read */
    REMOTE_GONE,       /* the process has ended, or runs another program by now */
    REMOTE_DENIED,     /* the recorder may not read the process */
};

/* Opens a process. Returns false with the reason, and errno. */
bool remote_open(struct remote *remote, pid_t pid, struct fault *why);

/* After this moment (monotonic), memory counts as unreadable; 0: never. A program that composes its memory can make
 * what is read of it long, but not endless. The moment is checked every REMOTE_GLANCE calls. */
#define REMOTE_GLANCE 64
static inline void remote_give_up_at(struct remote *remote, uint64_t give_up_ns)
{
    remote->give_up_ns = give_up_ns;
    remote->over = false;
}

/* Memory of another kind. `self` must live as long. */
static inline struct remote remote_of(const struct memory_kind *kind, void *self)
{
    return (struct remote){ .kind = kind, .self = self, .memory = -1 };
}

/* Reads up to REMOTE_PIECES pieces with one system call. *good: the number of pieces, from the front, that were read as
 * a whole; `good` may be NULL. Does not notice an execve: see remote_same_program(). */
enum remote_state remote_read_pieces(struct remote *remote, const struct piece *pieces, size_t count, size_t *good);

/* Reads those of at most REMOTE_PIECES pieces that are readable: where a call ends at a piece that is not, a further
 * call goes on behind it. there[i]: piece i was read as a whole. Returns REMOTE_READ, or what ended the reading. */
static inline enum remote_state remote_read_readable(struct remote *remote, const struct piece *pieces, size_t count,
                                                     bool *there)
{
    memset(there, 0, count * sizeof(*there));
    for (size_t at = 0, good; at < count; at += good + 1) {
        const enum remote_state state = remote_read_pieces(remote, pieces + at, count - at, &good);
        if (state == REMOTE_GONE || state == REMOTE_DENIED)
            return state;
        memset(there + at, 1, good * sizeof(*there));
        if (remote->over)
            return REMOTE_UNREADABLE;
    }
    return REMOTE_READ;
}

/* Adds a piece to a batch. Returns false, and adds nothing, when the batch is full. */
static inline bool batch_add(struct batch *batch, uint64_t address, uint32_t size, void *into)
{
    if (batch->count >= REMOTE_PIECES)
        return false;
    batch->pieces[batch->count++] = (struct piece){ address, size, into };
    return true;
}

/* Reads one piece. Uses the system call that reads many pieces, so a recorder that may not use this call gets
 * REMOTE_DENIED at the first read. */
enum remote_state remote_read(struct remote *remote, uint64_t address, void *into, size_t size);

/* Whether the process still runs the program that it ran at remote_open(): it has not ended, and no execve replaced the
 * program. Reads *word from `address`, which must have been readable at remote_open(). */
bool remote_same_program(const struct remote *remote, uint64_t address, uint64_t *word);

/* Closes the process. Safe on a zeroed or closed struct. */
void remote_close(struct remote *remote);

/* The 64-bit number at an offset of bytes that were read. */
static inline uint64_t word_at(const void *bytes, uint32_t offset)
{
    uint64_t value;
    memcpy(&value, (const unsigned char *)bytes + offset, sizeof(value));
    return value;
}

/* The same, 32 bits. */
static inline uint32_t half_word_at(const void *bytes, uint32_t offset)
{
    uint32_t value;
    memcpy(&value, (const unsigned char *)bytes + offset, sizeof(value));
    return value;
}

/* The files that are mapped, or were when the memory was saved. As procfs_images() and procfs_open_image(). */
static inline bool images_of(struct remote *remote, struct images *images)
{
    return remote->kind ? remote->kind->images(remote->self, images) : procfs_images(remote->pid, images);
}

static inline int images_open(struct remote *remote, const struct image *image)
{
    return remote->kind ? remote->kind->open_image(remote->self, image) : procfs_open_image(remote->pid, image);
}

#endif
