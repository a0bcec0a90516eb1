/* SPDX-License-Identifier: MIT */
#include "record/process/idle.h"

#include "formats/base/alloc.h"
#include "record/process/procfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MOST 256 /* the most looks between two questions whether a process sleeps */

void idle_open(struct idle *idle, pid_t pid)
{
    *idle = (struct idle){ .pid = pid, .wait = 1 };
}

static void close_notes(struct idle *idle)
{
    for (size_t i = 0; i < idle->count; i++)
        close(idle->threads[i].note);
    idle->count = 0;
}

void idle_close(struct idle *idle)
{
    close_notes(idle);
    free(idle->threads);
    *idle = (struct idle){ 0 };
}

void idle_forget(struct idle *idle)
{
    idle->asleep = false;
}

bool idle_knows(const struct idle *idle)
{
    return idle->asleep;
}

/* ---- notes ---- */

/* Returns the size of the note; 0: the thread has ended. */
static size_t idle_read_note(const struct idle_thread *thread, char into[IDLE_NOTE_ROOM])
{
    const ssize_t size = pread(thread->note, into, IDLE_NOTE_ROOM, 0);
    return size > 0 ? (size_t)size : 0;
}

static bool has_note_of_before(const struct idle_thread *thread)
{
    char now[IDLE_NOTE_ROOM];
    return idle_read_note(thread, now) == thread->seen_size && memcmp(now, thread->seen, thread->seen_size) == 0;
}

/* Whether the kernel keeps the note: time on a processor, time spent waiting for one, number of times on one. Without
 * these statistics, all are 0. */
static bool is_kept(const struct idle_thread *thread)
{
    char note[IDLE_NOTE_ROOM + 1] = { 0 };
    unsigned long long times = 0;
    memcpy(note, thread->seen, thread->seen_size);
    return sscanf(note, "%*u %*u %llu", &times) == 1 && times > 0;
}

static void put_first(struct idle *idle, size_t i)
{
    const struct idle_thread first = idle->threads[i];
    memmove(&idle->threads[1], &idle->threads[0], i * sizeof(*idle->threads));
    idle->threads[0] = first;
}

bool idle_still(struct idle *idle)
{
    for (size_t i = 0; idle->asleep && i < idle->count; i++) {
        if (has_note_of_before(&idle->threads[i]))
            continue;
        put_first(idle, i);
        idle->asleep = false;
    }
    if (idle->asleep)
        idle->wait = 1;
    return idle->asleep;
}

/* ---- asleep ---- */

static void add_thread(struct idle *idle, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)idle->pid, (int)tid);
    const int note = open(path, O_RDONLY | O_CLOEXEC);
    if (note < 0)
        return;
    idle->threads = alloc_grow(idle->threads, &idle->room, idle->count + 1, sizeof(*idle->threads));
    idle->threads[idle->count++] = (struct idle_thread){ .tid = tid, .note = note };
}

static void idle_list_threads(struct idle *idle)
{
    pid_t tids[IDLE_THREADS];
    if (procfs_count_threads(idle->pid) > IDLE_THREADS)
        return;
    const size_t count = procfs_threads(idle->pid, tids, IDLE_THREADS);
    for (size_t i = 0; i < count; i++)
        add_thread(idle, tids[i]);
}

/* Whether all listed threads sleep and have no processor. Takes their notes before that. */
static bool sleep_all(struct idle *idle)
{
    for (size_t i = 0; i < idle->count; i++) {
        struct idle_thread *thread = &idle->threads[i];
        thread->seen_size = idle_read_note(thread, thread->seen);
        if (is_kept(thread) && procfs_sleeps(idle->pid, thread->tid))
            continue;
        if (thread->seen_size > 0)
            put_first(idle, i);
        else
            close_notes(idle); /* the thread has ended: another one may have come */
        return false;
    }
    return idle->count > 0;
}

/* A note does not change while a thread has a processor. So a thread slept for sure only if the same note is read
 * before and after the question whether the thread sleeps. Each note is read again only when all threads were asked,
 * so all slept at that moment. The threads are counted at that moment, too: a thread that is not listed may run. */
static bool is_asleep(struct idle *idle)
{
    if (!sleep_all(idle))
        return false;
    if (procfs_count_threads(idle->pid) != idle->count) {
        close_notes(idle);
        return false;
    }
    for (size_t i = 0; i < idle->count; i++)
        if (!has_note_of_before(&idle->threads[i]))
            return false;
    return true;
}

bool idle_learn(struct idle *idle)
{
    if (idle->asleep || idle->due-- > 0)
        return false;
    idle->asleep = is_asleep(idle);
    if (idle->count == 0) {
        idle_list_threads(idle);
        idle->asleep = is_asleep(idle);
    }
    idle->due = idle->wait;
    idle->wait = idle->wait < WAIT_MOST ? idle->wait * 2 : WAIT_MOST;
    return true;
}
