/* SPDX-License-Identifier: MIT */
/* The threads of a target, in the order of its interpreters' lists, and the stack of each in this tick. A thread that
 * has provably not moved is not read. */
#ifndef PYREEL_RECORD_UNWIND_THREAD_LIST_H
#define PYREEL_RECORD_UNWIND_THREAD_LIST_H

#include "formats/intern/intern.h"
#include "record/process/cpu.h"
#include "record/unwind/unwind.h"

enum threads {
    THREADS_ALL,
    THREADS_MAIN,
    THREADS_GIL,   /* the one that holds the lock */
    THREADS_NAMED, /* those that the caller does not leave out: member.left_out */
    THREADS_KINDS
};
/* Their names on the command line. */
extern const char *const threads_names[THREADS_KINDS];

/* A thread state of the target, identified by its address. Another thread that gets the address gets the member, too.
 * The members that each tick reads come first, next to the beginning of the walk. */
struct member {
    uint64_t address;
    uint64_t tick;      /* the tick for which `state` holds */
    size_t interpreter; /* index in target->interpreters */
    uint64_t interpreter_id;
    uint64_t pointer;           /* the thread pointer, see layout->thread_id */
    uint32_t native_id;         /* the thread's number in CPython's memory; 0 while the thread is starting */
    uint32_t proved_id;         /* set by the caller, if it knows that native_id is stale: the kernel's number of the
                                 * thread, in the pid namespace of the process. It holds as long as native_id stays */
    enum unwind_state state;    /* UNWIND_WANTED: the thread was not asked for */
    uint32_t status;            /* bits of enum status that the thread's state shows */
    enum attachment attachment; /* of the thread to its interpreter */
    uint32_t twin;   /* index + 1 of the next state of the same thread; the states form a ring; 0: there is one state */
    bool left_out;   /* set by the caller, with THREADS_NAMED: the thread is not read */
    bool catchable;  /* set by the caller: looks have shown that a stop interrupts no system call of the thread */
    uint64_t hidden; /* set by the caller: the last tick in which no thread had this state */
    struct walk walk;
    enum failure cause;        /* of UNWIND_FAILED */
    uint64_t chosen;           /* number of the last choice of holders that had the thread */
    struct cpu_mark mark;      /* of the tick `marked`, ... */
    struct cpu_mark read_mark; /* ... and just before the thread was read last, at `read_ns`; runs: 0: not known */
    uint64_t marked, read_ns;
    uint64_t listed;         /* number of the last list that had the thread, ... */
    size_t place;            /* ... and its index in the order of that list */
    uint64_t previous, next; /* addresses of the neighbours in the list */
};

/* The most threads that are read at one moment when the other threads may be read later (thread_list->defers). Python's
 * thread pools have up to 32 threads. Reading a thread stops the program for about 2 us. */
#define THREAD_LIST_FIRST 40
#define THREAD_LIST_MANY  8 /* so many threads are asked whether they slept before they are read */

struct thread_list {
    struct target *target;
    struct unwinder unwinder;
    enum threads which;

    struct member *members;
    size_t members_count, members_room;
    struct intern_pairs addresses; /* halves of an address → index in `members` + 1 */
    uint32_t *order;               /* indexes in `members`, in the order of the lists */
    size_t order_count, order_room;
    uint32_t *asked; /* of these, the threads that are wanted in this tick */
    size_t asked_count, asked_room;
    bool listed;     /* `order` is that of the lists, as far as known */
    bool whole;      /* the last list was read to its end */
    uint64_t choice; /* number of the last choice of holders */
    uint64_t list;   /* number of the last list */
    uint64_t turns; /* how often threads were seen to come or go: in a new list, or by the number of a thread in a state
                     * that another one had */
    uint64_t tick;
    size_t failed; /* threads that could not be read in this tick */

    /* The program should stand still as shortly as possible. So when there are many threads, only those that had the
     * lock, or ran without one, lately are read at that moment. The others wait and do not move: thread_list_rest()
     * reads them while the program runs. */
    bool defers;  /* set by the caller: thread_list_read() may leave threads for thread_list_rest() */
    bool rests;   /* thread_list_read() did */
    size_t moved; /* threads read by thread_list_rest() that may have moved since thread_list_read() */
    /* Set by the caller, or NULL: cpu_sleeps_on() of the thread of a member. */
    bool (*sleeps_on)(void *self, uint32_t index, struct cpu_mark *mark);
    void *self;
    uint32_t recent[THREAD_LIST_FIRST]; /* indexes + 1 of threads that had the lock, or ran without one, the latest
                                         * first; 0: none */

    struct wanted *wanted;    /* the threads that are read together, ... */
    uint32_t *wanted_members; /* ... and their indexes in `members` */
    size_t wanted_room, wanted_members_room, wanted_count;
};

/* Prepares a thread list. `target` must be open; it and `codes` stay the caller's and must outlive the thread list.
 * `anew`: never take links from earlier samples. */
void thread_list_open(struct thread_list *thread_list, struct target *target, struct codes *codes, enum threads which,
                      bool anew);
/* Frees the memory of the thread list. Safe on a zeroed one. */
void thread_list_close(struct thread_list *thread_list);

enum thread_list_state {
    THREAD_LIST_READ,
    THREAD_LIST_TORN,  /* the lists changed in each attempt; members with this tick that are placed are valid */
    THREAD_LIST_GONE,  /* the process ended or may not be read */
    THREAD_LIST_SLEPT, /* the process has slept since the last tick, and nothing was read (idle.h);
                          thread_list_read() never returns this */
};

/* Begins a tick and reads the stacks of the wanted threads. `now_ns` is the current time of the clock. */
enum thread_list_state thread_list_read(struct thread_list *thread_list, uint64_t now_ns);

/* Reads the threads that thread_list_read() left out, while the program runs. Afterwards the state of the locks is
 * again as thread_list_read() saw it. */
enum thread_list_state thread_list_rest(struct thread_list *thread_list, uint64_t now_ns);

/* Notes that the thread with this index in `members` ran. */
void thread_list_note_recent(struct thread_list *thread_list, uint32_t index);

/* Whether thread_list_read() reads only threads that ran lately. */
bool thread_list_is_long(const struct thread_list *thread_list);

/* Whether the last list has the member and was read to its end. If not, then after THREAD_LIST_TORN member->interpreter
 * may be the index of another interpreter, and the holder of the lock is not known. */
bool thread_list_placed(const struct thread_list *thread_list, const struct member *member);

/* The listed thread state at an address; NULL: none is listed. */
const struct member *thread_list_member(const struct thread_list *thread_list, uint64_t thread);

/* The thread pointer of the listed thread state at an address; the process's own number for the thread. 0: not known.
 */
uint64_t thread_list_pointer(const struct thread_list *thread_list, uint64_t thread);
uint32_t thread_list_native_id(const struct thread_list *thread_list, uint64_t thread);

/* The number of the thread that has a state, as far as it is known. */
static inline uint32_t member_number(const struct member *member)
{
    return member->proved_id ? member->proved_id : member->native_id;
}

/* Chooses the wanted threads anew, because members have got another number. */
void thread_list_ask_anew(struct thread_list *thread_list);

/* Begins a tick in which no thread has moved since the last one. */
void thread_list_repeat(struct thread_list *thread_list);

/* Makes the next tick read the lists anew: they may have changed in a way that the threads do not show. */
void thread_list_distrust(struct thread_list *thread_list);

/* Whether the thread has the lock of its interpreter, by the state that was read last; in a free-threaded build,
 * whether the thread is attached to its interpreter. */
bool thread_list_holds(const struct thread_list *thread_list, const struct member *member);

/* Whether one stack of a thread runs inside another one. A thread that calls from one interpreter into another has a
 * state, and a stack, in each:
 *
 *     interpreter 0   <module> ─▶ call ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╮        C code enters interpreter 3
 *     interpreter 3                                    ╰╌▶ <module> ─▶ work
 *
 * The stack that has the lock is innermost. Else the code of the inner one is lower on the thread's C stack. Where
 * nothing shows that address, the newer interpreter is taken for the inner one. Both have frames. */
bool thread_list_is_inside(const struct thread_list *thread_list, const struct member *inner,
                           const struct member *outer);

/* Whether the thread is collecting garbage, as far as known. With a global lock: the holder, while its interpreter
 * collects. In a free-threaded build: the attached thread whose stack has the frame that started the collection (3.15),
 * or the thread for which all others are suspended (before 3.15). Before 3.15 nothing shows the thread during the parts
 * of a collection in which the others run. */
bool thread_list_collects(const struct thread_list *thread_list, const struct member *member);

#endif
