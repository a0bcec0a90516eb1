/* SPDX-License-Identifier: MIT */
/* Who is there: the threads of a target, in the order of its lists, and their stacks as of this tick. Threads that are
 * known not to have moved are not read. */
#ifndef PYREEL_RECORD_UNWIND_THREAD_LIST_H
#define PYREEL_RECORD_UNWIND_THREAD_LIST_H

#include "formats/intern/intern.h"
#include "record/unwind/unwind.h"

enum threads { THREADS_ALL, THREADS_MAIN, THREADS_GIL /* the one that holds the lock */, THREADS_KINDS };
/* What users call them. */
extern const char *const threads_names[THREADS_KINDS];

/* A thread state of the target, by its address. It is used again when another thread gets the address. First stands
 * what is looked at in each tick, together with the beginning of the walk. */
struct member {
    uint64_t address;
    uint64_t tick;      /* the one for which `state` holds */
    size_t interpreter; /* its place in target->interpreters */
    uint64_t interpreter_id;
    uint64_t pointer;           /* its thread pointer, see layout->thread_id */
    uint32_t native_id;         /* as the process calls the thread; 0 while it is starting */
    enum unwind_state state;    /* UNWIND_WANTED: not one of the threads that were asked for */
    uint32_t status;            /* of enum status: what its state tells of it */
    enum attachment attachment; /* the same */
    uint32_t twin;              /* the place + 1 of the next state of the same thread, in a ring; 0: it has no other */
    uint64_t held;              /* the tick in which it was last seen to have the lock */
    struct walk walk;
    enum failure cause;      /* when it failed */
    uint64_t listed;         /* when it was last in a list: the list's number */
    uint64_t previous, next; /* its neighbours in the list */
};

/* Threads that are read at one moment, at most, where the others may be read later: see thread_list->defers. A pool of
 * threads has up to 32, as Python makes pools. Each thread costs the program about 2 us. */
#define THREAD_LIST_FIRST 40

struct thread_list {
    struct target *target;
    struct unwinder unwinder;
    enum threads which;

    struct member *members;
    size_t members_count, members_room;
    struct intern_pairs addresses; /* halves of an address → place in members + 1 */
    uint32_t *order;               /* places of members, in the order of the lists */
    size_t order_count, order_room;
    uint32_t *asked; /* those of them that were asked for, in this tick */
    size_t asked_count, asked_room;
    bool listed;   /* the order is that of the lists, as far as we know */
    bool whole;    /* the last list was read to its end */
    uint64_t list; /* counts lists */
    uint64_t tick;
    size_t failed; /* threads that could not be read in this tick */

    /* While the program stands still it is read as shortly as can be: where there are many threads, those that had the
     * lock lately are read then. The others wait, and do not move: thread_list_rest() reads them when the program runs.
     */
    bool defers;  /* set by the caller: thread_list_read() may leave threads for thread_list_rest() */
    bool rests;   /* thread_list_read() did */
    size_t moved; /* threads read by thread_list_rest() that may have moved since thread_list_read() */
    uint32_t recent[THREAD_LIST_FIRST]; /* places + 1 of those that had the lock, the latest first; 0: none */

    struct wanted *wanted; /* room for those that are read at once */
    uint32_t *wanted_members;
    size_t wanted_room, wanted_members_room, wanted_count;
};

/* `target` must be open, and it and `codes` live as long as the thread list. */
void thread_list_open(struct thread_list *thread_list, struct target *target, struct codes *codes, enum threads which,
                      bool anew);
void thread_list_close(struct thread_list *thread_list);

enum thread_list_state {
    THREAD_LIST_READ,
    THREAD_LIST_TORN,  /* the lists changed under us each time; members of this tick that are placed are good */
    THREAD_LIST_GONE,  /* the process ended or may not be read */
    THREAD_LIST_SLEPT, /* the process has slept since the last tick: nothing was read, see idle.h; never of
                     thread_list_read() */
};

/* One tick: reads the stacks of the wanted threads. `now_ns` is the clock's time. */
enum thread_list_state thread_list_read(struct thread_list *thread_list, uint64_t now_ns);

/* Reads the threads that thread_list_read() left, while the program runs. The state of the lock is that of
 * thread_list_read() again afterwards. */
enum thread_list_state thread_list_rest(struct thread_list *thread_list, uint64_t now_ns);

/* Whether it is in the last list, and that was read to its end: if not, nobody knows after THREAD_LIST_TORN which
 * interpreter is in the place of its own, and who has the lock. */
bool thread_list_placed(const struct thread_list *thread_list, const struct member *member);

/* Of a listed thread state, by its address: its thread pointer, and the thread as the process calls it; 0: not known.
 */
uint64_t thread_list_pointer(const struct thread_list *thread_list, uint64_t thread);
uint32_t thread_list_native_id(const struct thread_list *thread_list, uint64_t thread);

/* Nothing has moved since the last tick. */
void thread_list_repeat(struct thread_list *thread_list);

/* The target's lists may have changed in a way that is not seen in its threads. */
void thread_list_distrust(struct thread_list *thread_list);

/* Whether the thread has the lock of its interpreter, as far as was read; in a free-threaded build, whether it is
 * attached to it. */
bool thread_list_holds(const struct thread_list *thread_list, const struct member *member);

/* Whether this is the state in which its thread is at work. A thread that calls from one interpreter into another has a
 * state in each: it is in the one that has a lock, or had one last; if that is not known, in that of the interpreter
 * made last. */
bool thread_list_current(const struct thread_list *thread_list, struct member *member);

/* Whether the thread is collecting garbage, as far as that is known. One with the lock is, while its interpreter
 * collects. In a free-threaded build many threads are attached: it is the one with the frame that started it, where
 * that is kept (3.15), else the one for which all others are suspended. Between these times of a collection nothing
 * tells whose it is. */
bool thread_list_collects(const struct thread_list *thread_list, const struct member *member);

#endif
