/* SPDX-License-Identifier: MIT */
/* The asyncio tasks of the target, and before CPython 3.14 the callbacks that wake them. The recorder remembers each
 * task while samples use the task: its name, the tasks that wait for it, and the frames of its coroutine and of the
 * coroutines that this coroutine awaits.
 *
 *     task ─ name ─▶ int or str
 *          ─ awaited_by ─▶ task, or set of tasks; before CPython 3.14: callbacks ─▶ ... ─▶ task
 *          ─ coro ─▶ coroutine { frame } ─ on its value stack ─▶ coroutine { frame } ─ ... ─▶ an object of another kind
 *
 * These objects lie all over the heap. A tick reads the spans of memory that the last looks at the tasks read, all
 * together (task_memory.h). A look that needs another span reads it directly. A task whose spans have the same bytes as
 * at the last look is as it was, and is not looked at again.
 *
 * A look believes what it reads. The program stands still during the looks of a tick (record/exact/exact.h). If it
 * does not, a look may show a task that never was, or fail. A look is bounded, whatever it reads.
 *
 * Two looks show the same task when address, name and coroutine are equal. */
#ifndef PYREEL_RECORD_ASYNCIO_ASYNCIO_TASKS_H
#define PYREEL_RECORD_ASYNCIO_ASYNCIO_TASKS_H

#include "record/asyncio/asyncio_module.h"
#include "record/asyncio/task_memory.h"
#include "record/python/asyncio_layout.h"
#include "record/python/code.h"
#include "record/python/target.h"

#define TASKS_LIMIT  (1u << 18) /* tasks that are remembered at once */
#define TASKS_WINDOW 256        /* bytes per direct read: an object, and the next objects that are likely needed */

/* A range of the target's memory. */
struct span {
    uint64_t address;
    uint32_t size;
};

/* The result of a look. */
enum look {
    LOOK_SURE,     /* the look shows the task */
    LOOK_CHANGED,  /* the task cannot be read, or its memory cannot be that of a task that stands still */
    LOOK_NO_TASK,  /* no task is at this address, or one that is done */
    LOOK_WAKES,    /* no task, but a callback that may wake one: `waiters` are those it wakes (wakers.h) */
    LOOK_NO_CODE,  /* a code object cannot be read */
    LOOK_TOO_DEEP, /* the coroutines, or the waiting tasks, form a ring or exceed a limit */
};

struct known_task {
    uint64_t address;
    uint32_t number; /* as emitted; 0: not emitted yet, or not in this stream */
    uint32_t serial; /* serial of the task; 0: none yet */

    /* ---- from the last sure look ---- */
    uint64_t coroutine;
    uint64_t loop; /* address of its event loop; 0: not kept there */
    struct text name;
    struct span_ids span; /* behind its name: record/emit/traceparent.h */
    bool runs;            /* the coroutine runs: it is on a thread's stack */
    uint64_t generation;  /* the interpreter's count of freed code objects + 1; 0: not known */

    /* ---- from the last look; whole when the look was sure ---- */
    uint64_t *waiters; /* addresses of the tasks that wait for this task, or of callbacks that wake them */
    size_t waiters_count, waiters_room;
    uint32_t *frames; /* indexes of struct definitions: the coroutine, then the coroutine that it awaits, ... */
    size_t frames_count, frames_room;
    struct span *spans; /* what the look read, ... */
    size_t spans_count, spans_room;
    unsigned char *bytes; /* ... and the bytes of all spans */
    size_t bytes_count, bytes_room;
    enum look looked;     /* the result, ... */
    uint64_t looked_tick; /* ... and the tick of the look; 0: there was none, or it was for less than is wanted now */

    bool wants_frames;    /* set by the caller: the look follows the coroutine */
    uint64_t listed_at;   /* set by the caller: address of the word that leads to the task from where tasks are kept; 0:
                             none is planned */
    uint64_t plan;        /* number of the last plan that has the task; 0: none */
    size_t link;          /* index of the range with the word at listed_at; SIZE_MAX: there is none */
    size_t first, end;    /* indexes of the ranges of the task's spans: first to end - 1 */
    bool follows_plan;    /* the spans are the first of these ranges, in their order */
    size_t interpreter;   /* index in target->interpreters */
    uint32_t owner;       /* index of the task's thread in thread_list->members + 1; 0: not known */
    uint64_t listed;      /* the last tick in which the task was in a list of tasks */
    uint64_t walk;        /* number of the last walk along a list that met the task */
    uint64_t used;        /* the last tick that looked at the task */
    uint64_t chained;     /* number of the last chain that has the task (asyncio.h) */
    uint64_t counted;     /* number of the last count of waiting tasks that has the row (asyncio.h) */
    uint32_t parent;      /* row of the waiting task that stacks show + 1; 0: no task waits for this task */
    uint32_t parents;     /* number of tasks that wait for this task */
    uint64_t parent_tick; /* the tick for which both are valid */
    bool steady;          /* the task, its parent and `parents` are as at the look before */
    uint64_t steady_tick; /* the last tick in which the whole chain above the task was steady, too */
    uint32_t emitted_waiter, emitted_waiters; /* as the last EVENT_TASK_WAITER of the task says */
    uint32_t label;                           /* the synthetic frame <task NAME>; 0: not made yet */
    uint32_t label_parents;                   /* the value of `parents` that the label shows */
    struct task_entry *entry; /* what was emitted of the task; NULL: nothing. asyncio_forget_entry() frees it */
};

/* `= {0}`, then asyncio_tasks_open(). */
struct tasks {
    struct target *target;
    struct codes *codes;
    struct asyncio_layout offsets;
    struct asyncio_module module;      /* before CPython 3.14 */
    uint32_t fields_from, fields_size; /* the bytes of a task that have all fields that a look reads */
    struct known_task *rows;
    size_t count, room;
    struct intern_pairs addresses; /* both halves of a task's address → row in `rows` + 1 */
    struct intern_pairs types;     /* both halves of a type's address → enum object_kind of its objects */
    struct intern_pairs drivers;   /* both halves of a coroutine's address → row in `rows` + 1 of the task that had it
                                      last, see asyncio_tasks_of() */
    uint64_t tick;                 /* number of the current tick */
    struct task_memory memory;     /* what this tick read of the planned tasks, ... */
    uint64_t plan;                 /* ... and the number of the plan */
    size_t planned;                /* number of tasks in the plan */
    size_t stale;                  /* direct reads since the plan was made, and ranges that were read in vain */
    uint32_t reads_left;           /* direct reads that this tick may still make */
    struct window {
        uint64_t address;
        uint32_t size; /* 0: empty */
        unsigned char bytes[TASKS_WINDOW];
    } window; /* the last direct read of this tick */
};

/* Starts without tasks. The target and `codes` must live as long; the offsets and the module, NULL from CPython 3.14
 * on, are copied. */
void asyncio_tasks_open(struct tasks *tasks, struct target *target, struct codes *codes,
                        const struct asyncio_layout *offsets, const struct asyncio_module *module);

/* Frees everything but the entries of the tasks. */
void asyncio_tasks_close(struct tasks *tasks);

/* Returns the row of the task at this address, and adds a row if there is none. The rows may move: pointers to other
 * rows become invalid. NULL when there are TASKS_LIMIT tasks already. */
struct known_task *asyncio_tasks_at(struct tasks *tasks, uint64_t address);

/* Returns the row of the task at this address; NULL: there is none. */
struct known_task *asyncio_tasks_find(const struct tasks *tasks, uint64_t address);

/* Returns the row of the task that had this coroutine at its last sure look; NULL: there is none. */
struct known_task *asyncio_tasks_of(struct tasks *tasks, uint64_t coroutine);

/* Begins a plan, without tasks. */
void asyncio_tasks_begin_plan(struct tasks *tasks);

/* Adds the word at listed_at, and the task's spans, to the plan. */
void asyncio_tasks_plan(struct tasks *tasks, struct known_task *task);

/* Begins a tick, which makes at most so many direct reads. */
void asyncio_tasks_begin_tick(struct tasks *tasks, uint32_t reads_most);

/* Reads memory directly. Reads some more bytes behind it, because other fields of the same object are likely needed,
 * too. False when the memory cannot be read, or when this tick has made its reads. */
bool asyncio_tasks_read(struct tasks *tasks, uint64_t address, uint32_t size, void *into);

/* Takes `count` from the direct reads that this tick may still make. False when there are too few. */
bool asyncio_tasks_may_read(struct tasks *tasks, uint32_t count);

/* Whether the present plan has the task. */
bool asyncio_tasks_planned(const struct tasks *tasks, const struct known_task *task);

/* Looks at a task. `generation`: the interpreter's count of freed code objects + 1, or 0 when the count is not known.
 */
enum look asyncio_tasks_look(struct tasks *tasks, struct known_task *task, uint64_t generation);

/* Whether the last look at the task still holds, because all its spans have the same bytes. */
bool asyncio_tasks_still(const struct tasks *tasks, const struct known_task *task, uint64_t generation);

/* Reads the word at listed_at. CPython 3.14 and later: the task's link to the next one in its list. False when this
 * cannot be read. */
bool asyncio_tasks_next(struct tasks *tasks, const struct known_task *task, uint64_t *next);

/* Removes the tasks that no tick used since `since_tick`. The caller frees their entries before. Rows move: pointers to
 * and indexes of rows become invalid. */
void asyncio_tasks_trim(struct tasks *tasks, uint64_t since_tick);

#endif
