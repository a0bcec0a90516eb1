/* SPDX-License-Identifier: MIT */
/* Turns asyncio tasks into stacks. A tick reads the stacks of the threads (thread_list.h), then a few words of threads
 * and interpreters, then the tasks (asyncio_tasks.h):
 *
 *     ASYNC_RUNNING  the tasks that the threads run, and those that wait for them
 *     ASYNC_ALL      all tasks of the lists that CPython has of them
 *
 * Each piece of memory is read once, and believed: the program stands still during all of this (record/exact/exact.h).
 * Where it does not, stacks may be wrong, or fail, and count as unproved.
 *
 * A thread runs a task when the frame of the task's coroutine is on the thread's stack. The stack of a task shows the
 * waiting tasks first. Here main() awaits a task "get", which runs fetch():
 *
 *     <task main>  main()  <task get>  fetch()
 *
 * Where several tasks wait for one task, the stack shows the waiter with the smallest number (before CPython 3.14, the
 * one that waits the longest), and the label says how many there are: <task get (2 parents)>. */
#ifndef PYREEL_RECORD_ASYNCIO_ASYNCIO_H
#define PYREEL_RECORD_ASYNCIO_ASYNCIO_H

#include "record/asyncio/asyncio_tasks.h"
#include "record/asyncio/task_sets.h"
#include "record/emit/emitter.h"
#include "record/unwind/synthetic_frames.h"
#include "record/unwind/thread_list.h"

enum async {
    ASYNC_NONE,
    ASYNC_RUNNING, /* threads, each with the task that it runs */
    ASYNC_ALL,     /* all tasks, and threads while they run no task */
    ASYNC_KINDS
};
extern const char *const async_names[ASYNC_KINDS];

/* A stack, root first. Each frame is an index of struct definitions. */
struct frames {
    uint32_t *frames;
    size_t count, room;
};

/* The task that a thread runs. */
struct thread_task {
    uint64_t tick;  /* the tick to which this row belongs */
    uint32_t task;  /* row of the task in tasks.rows + 1; 0: the thread runs no task */
    uint32_t above; /* number of links of the thread's stack that are callers of the coroutine's frame */
    bool failed;    /* the task could not be determined. ASYNC_ALL: `task` is valid if it is not 0 */
};

/* What was emitted of a task. The stream shows a task as an entry among the threads. */
struct task_entry {
    uint32_t thread;       /* number of the entry; 0: not emitted yet, or not in this stream */
    uint32_t serial;       /* serial of the entry; 0: none yet */
    uint32_t number;       /* number of the task to which the entry belongs */
    uint32_t owner;        /* known_task.owner when the entry was emitted */
    struct frames stack;   /* the stack of this tick; not set when `same` */
    struct frames emitted; /* the stack of the last sample */
    bool same;             /* the stack of this tick is `emitted`. Set by the caller once it has emitted the stack */
    uint64_t settled;      /* the tick for which `stack` and `same` are valid */
    enum failure cause;    /* why the sample of this tick failed; valid when `settled` is an earlier tick */
};

struct asyncio {
    /* set by the caller before asyncio_open() */
    enum async which;
    struct synthetic_frames *synthetic;
    struct emitter *emitter;
    uint32_t process; /* number of the process, as emitted */

    struct thread_list *thread_list;
    struct target *target;
    struct codes *codes;
    bool ready; /* the program has imported asyncio, and `tasks` is open */
    struct asyncio_searched searched;
    struct fault refusal;    /* why the tasks are not read although the program has asyncio; empty: they are */
    uint64_t search_due_ns;  /* when the next search is due (monotonic), ... */
    uint64_t search_wait_ns; /* ... and the wait after that search */

    struct tasks tasks;
    struct task_sets sets;     /* before CPython 3.14 */
    size_t module_interpreter; /* index in target->interpreters of the interpreter that has tasks.module */
    size_t planned_used;       /* number of planned tasks that this tick has looked at */

    /* One word of each interpreter, then of each owner, then (ASYNC_ALL) another one of each interpreter, or what
     * task_sets.h adds, see asyncio_internal.h. */
    struct task_memory words;
    uint64_t list;       /* thread_list->list when the words were planned */
    size_t interpreters; /* number of interpreters that have words */
    uint32_t *owners;    /* the threads that are asked for; indexes of thread_list->members */
    size_t owners_count, owners_room;

    /* Each list has rows of `tasks`. */
    uint32_t *listed; /* all tasks that are in the program's lists of tasks */
    size_t listed_count, listed_room;
    uint32_t *chain; /* a task, then its waiter, then the waiter of that task, ... */
    size_t chain_room, chain_count;
    uint64_t chains;    /* number of chains so far, for known_task.chained */
    uint64_t counts;    /* number of counts of waiting tasks so far, for known_task.counted */
    uint64_t list_walk; /* number of walks along a list so far, for known_task.walk */
    uint32_t *running;  /* tasks that run in this tick, among the tasks looked at so far */
    size_t running_count, running_room;

    struct thread_task *threads; /* by index in thread_list->members */
    size_t threads_room;
    uint64_t time_ns; /* time of the tick since the start of the recording */
    uint64_t failed;  /* tasks (ASYNC_ALL) or threads (ASYNC_RUNNING) that failed in this tick;
                       * ASYNC_ALL: 1 more when tasks may lack */
};

/* Whether the recorder can read the tasks of this version of CPython. False with the reason. */
bool asyncio_possible(const struct layout *layout, struct fault *why);

/* Prepares to read tasks. The thread list must be open. The thread list, its target and `codes` must live as long as
 * `asyncio`. */
void asyncio_open(struct asyncio *asyncio, struct thread_list *thread_list, struct codes *codes);

/* Frees everything but the fields that the caller set, and `refusal`. */
void asyncio_close(struct asyncio *asyncio);

/* The word of asyncio->owners[index] in this tick; behind the owners follow the interpreters (ASYNC_ALL, CPython 3.14
 * and later). False when the word could not be read. */
bool asyncio_word(const struct asyncio *asyncio, size_t index, uint64_t *word);

/* Searches the program for asyncio, if a search is due and asyncio was not found yet. */
void asyncio_search(struct asyncio *asyncio);

/* Prepares the next tick: plans what it will read, so that the look takes no longer than it must. Call this while no
 * look is appointed. */
void asyncio_prepare(struct asyncio *asyncio);

/* Reads the threads and the tasks of a tick; replaces thread_list_read(). `now_ns` is the monotonic clock, `time_ns` is
 * the time since the start of the recording. */
enum thread_list_state asyncio_read(struct asyncio *asyncio, uint64_t now_ns, uint64_t time_ns);

/* Frees `task->entry`. */
void asyncio_forget_entry(struct known_task *task);

/* What the thread at this index of thread_list->members runs in this tick. NULL: the thread was not asked for. */
const struct thread_task *asyncio_thread(const struct asyncio *asyncio, uint32_t index);

/* Adds the stack of a thread. If the thread runs a task, the label of the task and the tasks that wait for it are
 * inserted before the frame of the task's coroutine. */
void asyncio_thread_stack(struct asyncio *asyncio, uint32_t index, struct frames *stack);

#endif
