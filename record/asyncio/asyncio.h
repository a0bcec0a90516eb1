/* SPDX-License-Identifier: MIT */
/* asyncio tasks and those that wait for them → stacks. The program runs while we read, so a tick goes in rounds:
 *
 *     first copy: tasks │ stacks of the threads (thread_list.h) │ second copy: tasks
 *
 * What was the same in both copies was so when the stacks were taken (double_read.h). The second copy of a tick is the
 * first one of the next, so that most is read once in a tick. A stack of a task is one round's: the task itself and all
 * that wait for it were looked at in that round, each for sure. What changed meanwhile is looked at again in the next
 * round, with those that wait for it; what still changes in the last one is a failed sample.
 *
 * Which task a thread runs is told by its stack: the frame of the task's coroutine is on it. A stack of a task is, root
 * first, a frame <task NAME> and the task's frames for each of those that wait for it, then for itself. Where several
 * wait for one, the one with the smallest number is shown, and the frame <task NAME> says how many there are. */
#ifndef PYREEL_RECORD_ASYNCIO_ASYNCIO_H
#define PYREEL_RECORD_ASYNCIO_ASYNCIO_H

#include "record/asyncio/asyncio_tasks.h"
#include "record/emit/emitter.h"
#include "record/unwind/synthetic_frames.h"
#include "record/unwind/thread_list.h"

enum async {
    ASYNC_NONE,
    ASYNC_RUNNING, /* the tasks that threads run */
    ASYNC_ALL,     /* all tasks, in place of threads */
    ASYNC_KINDS
};
extern const char *const async_names[ASYNC_KINDS];

/* Frames, root first: indexes of the definitions. */
struct frames {
    uint32_t *frames;
    size_t count, room;
};

/* What a thread runs. */
struct thread_task {
    uint32_t quiet; /* rounds of the tick in which it ran a coroutine, and no task before and after */
    uint64_t tick;  /* the one that it was found out in */
    uint32_t task;  /* its place in tasks.rows + 1; 0: none */
    uint32_t above; /* links of the thread's stack above its coroutine's frame */
    bool failed;    /* that could not be found out */
};

/* What was emitted of a task: its entry among the threads. */
struct task_entry {
    uint32_t thread; /* the number of the entry; 0: not emitted yet */
    uint32_t number; /* the task's, in that entry */
    uint32_t owner;
    struct frames stack, emitted; /* of this tick if it is another than the last; of the last sample */
    bool same;                    /* as the last sample */
    uint64_t settled;             /* the tick for which that holds */
    enum failure cause;           /* when it does not hold for this tick */
};

struct asyncio {
    enum async which; /* set by the caller before asyncio_open(), and these: */
    struct synthetic_frames *synthetic;
    struct emitter *emitter;
    uint32_t process; /* its number */

    struct thread_list *thread_list;
    struct target *target;
    struct codes *codes;
    bool ready; /* asyncio is there */
    struct asyncio_searched searched;
    uint64_t search_due_ns, search_wait_ns;

    struct tasks tasks;
    bool moved;                    /* copies for the busy tasks have to be planned anew */
    uint64_t calm_plan, busy_plan; /* plans for the first round; 0: none yet */
    size_t calm,
        strange;         /* tasks that are planned as calm ones; of those that were used in the last tick, the others */
    uint64_t list;       /* of the thread list, that the copies are for */
    size_t front;        /* the copy that begins with places that are of no task */
    size_t words;        /* so many of them: */
    size_t interpreters; /* words of interpreters ... */
    uint32_t *owners;    /* ... followed by those of these members */
    size_t owners_count, owners_room;

    uint32_t *listed; /* places of tasks: all that are in lists */
    size_t listed_count, listed_room;
    uint32_t *again; /* those that have to be looked at again */
    size_t again_count, again_room;
    uint32_t *chain; /* from a task to those that wait for it */
    size_t chain_room, chain_count;
    uint64_t chains, list_walk;
    uint32_t *running; /* tasks whose coroutine is on a stack, as far as was looked at */
    size_t running_count, running_room;
    struct thread_task *threads; /* by place of the thread list's members */
    size_t threads_room;
    uint64_t time_ns;               /* of the tick */
    uint64_t read_ns;               /* when the last tick was read */
    bool carried;                   /* the first copy of this round is the second one of the tick before */
    bool taken;                     /* something was taken from the copies of this round */
    uint32_t rounds, rounds_before; /* of this tick, so far; of the one before */
    uint64_t failed;                /* in this tick */
};

/* Whether tasks of this version can be read. */
bool asyncio_possible(const struct layout *layout, struct fault *why);

/* The thread list must be open, and it and its target live as long. */
void asyncio_open(struct asyncio *asyncio, struct thread_list *thread_list, struct codes *codes);
void asyncio_close(struct asyncio *asyncio);

/* Looks for asyncio now and then, as long as it is not there. */
void asyncio_search(struct asyncio *asyncio);

/* A tick, in the place of thread_list_read(). `time_ns` is that of the recording. */
enum thread_list_state asyncio_read(struct asyncio *asyncio, uint64_t now_ns, uint64_t time_ns);

/* Frees the entry of a task. */
void asyncio_forget_entry(struct known_task *task);

/* The task that a member of the thread list runs in this tick; NULL: none. */
const struct thread_task *asyncio_thread(const struct asyncio *asyncio, uint32_t place);

/* The stack of a thread that runs a task. */
void asyncio_thread_stack(struct asyncio *asyncio, uint32_t place, struct frames *stack);

#endif
