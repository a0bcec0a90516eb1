/* SPDX-License-Identifier: MIT */
#include "record/watch/state_owner.h"

#include "formats/base/alloc.h"

/* Bytes of a struct pthread that are read: glibc notes the stack in them. musl's are less, and near the end of the
 * memory. */
#define PTHREAD_MOST  2048
#define PTHREAD_LEAST 128
#define PAGE          4096
#define STACK_MOST    (UINT64_C(1) << 36)
/* Bytes of a C stack, at its upper end, in which a struct pthread is searched, and the addresses at which it may be. */
#define STACK_END    65536
#define PTHREAD_STEP 64

/* The threads of the process: the process's own numbers → the recorder's. */
static const struct intern_pairs *owner_threads(struct watched *w)
{
    watched_map_threads(w);
    return &w->rows.kernel_threads;
}

bool state_owner_lives(struct watched *w, uint32_t number)
{
    if (w->target.remote.kind)
        return true;
    const struct intern_pairs *threads = owner_threads(w);
    return w->rows.map_failed || intern_pairs_find(threads, number, 0) != 0;
}

/* Where a struct pthread has the number of its thread: glibc (behind a head and two links), and musl. */
#if defined(__x86_64__)
static const uint32_t tid_at[] = { 720, 48 };
#else
static const uint32_t tid_at[] = { 208, 32 };
#endif

/* The number that the C library keeps for the thread with this struct pthread; 0: it is that of no thread that lives.
 * `ended`: the number was cleared, which happens at the end of the thread. */
static uint32_t number_in_pthread(struct watched *w, uint64_t pthread, bool *ended)
{
    uint32_t number;
    bool cleared = false;
    *ended = false;
    for (size_t i = 0; i < countof(tid_at); i++) {
        if (remote_read(&w->target.remote, pthread + tid_at[i], &number, sizeof(number)) != REMOTE_READ)
            continue;
        if (intern_pairs_find(owner_threads(w), number, 0))
            return number;
        cleared |= number == 0;
    }
    *ended = cleared;
    return 0;
}

/* Whether another state of the interpreter notes this number itself: then a state that was left behind names the struct
 * pthread of a thread that has ended, and a new thread has that memory. */
static bool is_noted_by_another(const struct watched *w, const struct member *member, uint32_t number)
{
    const struct thread_list *list = &w->thread_list;
    for (size_t i = 0; i < list->order_count; i++) {
        const struct member *other = &list->members[list->order[i]];
        if (other != member && other->native_id == number && other->interpreter_id == member->interpreter_id)
            return true;
    }
    return false;
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
    /* Later, the memory of a thread that has ended may be that of another one. */
    bool ended;
    const uint32_t number = member->pointer && !w->rows.looked ? number_in_pthread(w, member->pointer, &ended) : 0;
    if (number && !is_noted_by_another(w, member, number))
        return number;
    /* The state that runs is that of the only thread. The states of the parent's other threads never run again. */
    return thread_list_holds(&w->thread_list, member) ? only_thread(owner_threads(w)) : 0;
}

/* Whether a struct pthread is that of the thread whose C stack has an address, and the bounds of that stack. The C
 * library notes the lower end of the stack and its size next to each other, and the struct is at the upper end. */
static bool is_on_stack_of(struct watched *w, uint64_t pthread, uint64_t address, struct mapping *stack)
{
    unsigned char bytes[PTHREAD_MOST];
    uint32_t size = PTHREAD_MOST;
    while (remote_read(&w->target.remote, pthread, bytes, size) != REMOTE_READ)
        if ((size /= 2) < PTHREAD_LEAST)
            return false;
    for (uint32_t at = 0; at + 16 <= size; at += 8) {
        const uint64_t low = word_at(bytes, at), high = low + word_at(bytes, at + 8);
        if (low == 0 || low % PAGE != 0 || high - low > STACK_MOST || low > address || high <= pthread ||
            high - pthread > STACK_END)
            continue;
        *stack = (struct mapping){ .low = low, .high = pthread };
        return true;
    }
    return false;
}

/* The struct pthread nearest above an address, of those that states name; 0: none. */
static uint64_t pthread_above(const struct watched *w, uint64_t address)
{
    const struct thread_list *list = &w->thread_list;
    uint64_t nearest = 0;
    for (size_t i = 0; i < list->order_count; i++) {
        const uint64_t pthread = list->members[list->order[i]].pointer;
        if (pthread > address && (nearest == 0 || pthread < nearest))
            nearest = pthread;
    }
    return nearest;
}

/* The struct pthread at the end of a mapping; 0: none. On x86-64, and with musl everywhere, it begins with its own
 * address. */
static uint64_t pthread_at_end(struct watched *w, const struct mapping *stack)
{
    unsigned char bytes[STACK_END];
    const uint64_t size = stack->high - stack->low < STACK_END ? stack->high - stack->low : STACK_END;
    const uint64_t from = stack->high - size;
    if (remote_read(&w->target.remote, from, bytes, size) != REMOTE_READ)
        return 0;
    for (uint64_t at = size; at >= PTHREAD_STEP; at -= PTHREAD_STEP)
        if (word_at(bytes, (uint32_t)(at - PTHREAD_STEP)) == from + at - PTHREAD_STEP)
            return from + at - PTHREAD_STEP;
    return 0;
}

/* Finds out about the thread with this struct pthread, if the address is on its C stack. */
static void ask_pthread(struct watched *w, uint64_t pthread, uint64_t address, struct stack_owner *found)
{
    if (pthread && is_on_stack_of(w, pthread, address, &found->stack))
        found->number = number_in_pthread(w, pthread, &found->ended);
}

struct stack_owner state_owner_by_stack(struct watched *w, const struct member *member)
{
    const uint64_t address = walk_stack_address(&member->walk, &w->target.runtime.layout);
    struct stack_owner found = { 0 };
    if (!address || w->target.remote.kind)
        return found;
    ask_pthread(w, pthread_above(w, address), address, &found);
    if (found.number || found.ended || !procfs_mapping(w->target.remote.pid, address, &found.stack))
        return found;
    if (found.stack.stack && state_owner_lives(w, (uint32_t)w->target.ns_pid))
        found.number = (uint32_t)w->target.ns_pid;
    else /* a thread of C may have made the state in another thread, so that no state names its own struct */
        ask_pthread(w, pthread_at_end(w, &found.stack), address, &found);
    return found;
}
