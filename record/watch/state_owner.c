/* SPDX-License-Identifier: MIT */
#include "record/watch/state_owner.h"

/* Bytes of a C stack, at its upper end, in which a struct pthread is searched, and the addresses at which it may be. */
#define STACK_END    65536
#define PTHREAD_STEP 64
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

/* The number of a thread that has a state in which it names a struct pthread of this stack. */
static uint32_t named_by_state(struct watched *w, const struct mapping *stack)
{
    const struct thread_list *list = &w->thread_list;
    for (size_t i = 0; i < list->order_count; i++) {
        const struct member *member = &list->members[list->order[i]];
        if (member->pointer < stack->low || member->pointer >= stack->high)
            continue;
        const uint32_t number = number_in_pthread(w, member->pointer);
        if (number)
            return number;
    }
    return 0;
}

/* The number of the thread whose struct pthread is at the end of this stack. On x86-64, and with musl everywhere, a
 * struct pthread begins with its own address. */
static uint32_t named_by_end(struct watched *w, const struct mapping *stack)
{
    unsigned char bytes[STACK_END];
    const uint64_t size = stack->high - stack->low < STACK_END ? stack->high - stack->low : STACK_END;
    const uint64_t from = stack->high - size;
    if (remote_read(&w->target.remote, from, bytes, size) != REMOTE_READ)
        return 0;
    for (uint64_t at = size / PTHREAD_STEP * PTHREAD_STEP; at >= PTHREAD_STEP; at -= PTHREAD_STEP) {
        const uint64_t address = from + at - PTHREAD_STEP;
        if (word_at(bytes, (uint32_t)(at - PTHREAD_STEP)) != address)
            continue;
        const uint32_t number = number_in_pthread(w, address);
        if (number)
            return number;
    }
    return 0;
}

uint32_t state_owner_by_stack(struct watched *w, const struct member *member, struct mapping *stack)
{
    const uint64_t address = walk_stack_address(&member->walk, &w->target.runtime.layout);
    if (!address || w->target.remote.kind || !procfs_mapping(w->pid, address, stack))
        return 0;
    if (stack->stack && state_owner_lives(w, (uint32_t)w->target.ns_pid))
        return (uint32_t)w->target.ns_pid;
    const uint32_t number = named_by_state(w, stack);
    return number ? number : named_by_end(w, stack);
}
