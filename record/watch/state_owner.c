/* SPDX-License-Identifier: MIT */
#include "record/watch/state_owner.h"

#include "record/process/procfs.h"

/* Bytes of a struct pthread in which the number is searched, and how many there are at least: glibc has the number at
 * byte 720 or before, musl has it at byte 48 or before, near the end of the memory. */
#define PTHREAD_BYTES 1024
#define PTHREAD_LEAST 128

/* The threads of the process: the process's own numbers → the recorder's. */
static const struct intern_pairs *owner_threads(struct watched *w)
{
    watched_map_threads(w);
    return &w->kernel_threads;
}

bool state_owner_lives(struct watched *w, uint32_t number)
{
    if (w->target.remote.kind)
        return true;
    if (!intern_pairs_find(owner_threads(w), number, 0))
        return false;
    /* The first thread of a process keeps its number after its end, until all others have ended. */
    return number != (uint32_t)w->target.ns_pid || procfs_thread_lives(w->pid, w->pid);
}

/* The number that the C library keeps for the thread with this struct pthread. The memory of a thread that has ended
 * may hold anything: two different numbers of threads in it are no evidence. */
static uint32_t number_in_pthread(struct watched *w, uint64_t pthread)
{
    unsigned char bytes[PTHREAD_BYTES];
    uint32_t size = PTHREAD_BYTES, found = 0;
    while (remote_read(&w->target.remote, pthread, bytes, size) != REMOTE_READ)
        if ((size /= 2) < PTHREAD_LEAST)
            return 0;
    for (uint32_t at = 0; at < size; at += 4) {
        const uint32_t number = half_word_at(bytes, at);
        if (number == 0 || number == found || !intern_pairs_find(owner_threads(w), number, 0))
            continue;
        if (found)
            return 0;
        found = number;
    }
    return found;
}

/* The only thread of the process, if it has one; 0: it has several, or is not known. */
static uint32_t only_thread(const struct intern_pairs *threads)
{
    for (size_t i = 0; threads->count == 1 && i < threads->room; i++)
        if (threads->slots[i].number)
            return threads->slots[i].a;
    return 0;
}

uint32_t state_owner_find(struct watched *w, const struct member *member, bool checked)
{
    const uint32_t noted = member->native_id;
    if (noted == 0 || !checked || state_owner_lives(w, noted))
        return noted;
    const uint32_t number = member->pointer ? number_in_pthread(w, member->pointer) : 0;
    if (number)
        return number;
    /* The state that runs is that of the only thread. The states of the parent's other threads never run again. */
    return thread_list_holds(&w->thread_list, member) ? only_thread(owner_threads(w)) : 0;
}
