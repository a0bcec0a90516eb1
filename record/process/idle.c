/* SPDX-License-Identifier: MIT */
#include "record/process/idle.h"

#include "record/process/procfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MOST 256 /* the most looks between two questions whether a process sleeps */

void idle_open(struct idle *idle, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    *idle = (struct idle){ .note = open(path, O_RDONLY | O_CLOEXEC), .wait = 1 };
}

void idle_close(struct idle *idle)
{
    if (idle->note >= 0)
        close(idle->note);
    *idle = (struct idle){ .note = -1 };
}

static size_t read_note(const struct idle *idle, char *into, size_t room)
{
    const ssize_t size = idle->note >= 0 ? pread(idle->note, into, room, 0) : -1;
    return size > 0 ? (size_t)size : 0;
}

void idle_forget(struct idle *idle)
{
    idle->seen_size = 0;
}

bool idle_knows(const struct idle *idle)
{
    return idle->seen_size > 0;
}

bool idle_still(struct idle *idle)
{
    char now[sizeof(idle->seen)];
    if (idle->seen_size == 0)
        return false;
    if (read_note(idle, now, sizeof(now)) == idle->seen_size && memcmp(now, idle->seen, idle->seen_size) == 0) {
        idle->wait = 1;
        return true;
    }
    idle_forget(idle);
    return false;
}

/* Whether the kernel keeps the note: time on a processor, time spent waiting for one, number of times on one. Without
 * these statistics, all are 0. */
static bool is_kept(char *note, size_t size)
{
    unsigned long long times = 0;
    note[size] = '\0';
    return sscanf(note, "%*u %*u %llu", &times) == 1 && times > 0;
}

bool idle_learn(struct idle *idle, pid_t pid)
{
    if (idle->note < 0 || idle->seen_size > 0 || idle->due-- > 0)
        return false;
    char after[sizeof(idle->seen)];
    const size_t size = read_note(idle, idle->seen, sizeof(idle->seen) - 1);
    /* The note does not change while a thread has a processor. So the thread slept for sure only if the same note is
     * read before and after the question. */
    if (is_kept(idle->seen, size) && procfs_sleeps_alone(pid) && size == read_note(idle, after, sizeof(after)) &&
        memcmp(idle->seen, after, size) == 0)
        idle->seen_size = size;
    idle->due = idle->wait;
    idle->wait = idle->wait < WAIT_MOST ? idle->wait * 2 : WAIT_MOST;
    return true;
}
