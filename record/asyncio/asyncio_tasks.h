/* SPDX-License-Identifier: MIT */
/* The asyncio tasks of the target. The recorder remembers each task while samples use the task: its name, the tasks
 * that wait for it, and the frames of its coroutine and of the coroutines that this coroutine awaits.
 *
 *     task ─ name ─▶ int or str
 *          ─ awaited_by ─▶ task, or set of tasks
 *          ─ coro ─▶ coroutine { frame } ─ on its value stack ─▶ coroutine { frame } ─ ... ─▶ an object of another kind
 *
 * These objects lie all over the heap. The program may free an object and reuse its memory at any moment. So a look at
 * a task reads from copies that are made twice (double_read.h). The copies have the spans of memory that the previous
 * look at this task read. Two cases:
 *
 *     the look needs the same spans, all equal in both copies   → LOOK_SURE: the look shows one moment
 *     the look needs another span, or a span differs            → LOOK_CHANGED
 *
 * A span that is in no copy is read directly. The look uses the span only to find out which spans follow; the next
 * copies have them all.
 *
 * Two looks show the same task when address, name and coroutine are equal. */
#ifndef PYREEL_RECORD_ASYNCIO_ASYNCIO_TASKS_H
#define PYREEL_RECORD_ASYNCIO_ASYNCIO_TASKS_H

#include "record/asyncio/double_read.h"
#include "record/python/asyncio_layout.h"
#include "record/python/code.h"
#include "record/python/target.h"

#define TASKS_LIMIT  (1u << 18) /* tasks that are remembered at once */
#define TASKS_WINDOW 256        /* bytes per direct read: an object, and the next objects that are likely needed */

/* The copies of a round. COPY_CALM and COPY_BUSY are read in the first round of a tick: tasks whose spans stay the same
 * for many ticks, and the other tasks. COPY_AGAIN is read in each further round: the tasks that are looked at again. */
enum { COPY_CALM, COPY_BUSY, COPY_AGAIN, COPIES };

/* A range of the target's memory. */
struct span {
    uint64_t address;
    uint32_t size;
};

/* The result of a look. */
enum look {
    LOOK_SURE,     /* the look shows one moment */
    LOOK_CHANGED,  /* the task or its spans changed between the copies, or a span was in no copy: look again */
    LOOK_NO_TASK,  /* no task is at this address */
    LOOK_NO_CODE,  /* a code object cannot be read */
    LOOK_TOO_DEEP, /* the coroutines, or the waiting tasks, form a ring or exceed a limit */
};

/* Where the ranges of a task are in a copy. */
struct planned {
    uint64_t plan;     /* number of the plan that has the task; 0: none */
    size_t neighbours; /* index of the range with the task's two links in its list of tasks */
    size_t first, end; /* indexes of the ranges of the task's spans: first to end - 1 */
};

struct known_task {
    uint64_t address;
    uint32_t number; /* as emitted; 0: not emitted yet, or not in this stream */
    uint32_t serial; /* serial of the task; 0: none yet */

    /* ---- from the last sure look ---- */
    uint64_t coroutine;
    struct text name;
    uint64_t *waiters; /* addresses of the tasks that wait for this task */
    size_t waiters_count, waiters_room;
    uint32_t *frames; /* indexes of struct definitions: the coroutine, then the coroutine that it awaits, ... */
    size_t frames_count, frames_room;
    bool runs;           /* the coroutine ran in at least one of the copies: it is on a thread's stack */
    bool flickers;       /* the coroutine ran in one of the copies only */
    uint64_t generation; /* the interpreter's count of freed code objects + 1; 0: not known */

    /* ---- from the last look ---- */
    /* The spans that the look read. For a task that runs, the spans that an earlier look read behind them while the
     * task waited stay in the list: the task will likely wait there again. */
    struct span *spans;
    size_t spans_count, spans_room;
    bool moved;            /* the look read other spans than the look before */
    enum look looked;      /* the result, ... */
    uint64_t looked_round; /* ... and the round of the look */
    uint64_t kept_round;   /* the round whose second copy has all spans; 0: none */

    bool wants_frames; /* set by the caller: the look follows the coroutine */
    struct planned planned[COPIES];
    size_t interpreter;    /* index in target->interpreters */
    uint32_t owner;        /* index of the task's thread in thread_list->members + 1; 0: not known */
    uint64_t listed;       /* the last tick in which the task was in a list of tasks */
    uint64_t walk;         /* number of the last walk along a list that met the task */
    uint64_t used;         /* the last tick that looked at the task */
    uint64_t chained;      /* number of the last chain that has the task (asyncio.h) */
    uint32_t parent;       /* row of the waiting task that stacks show + 1; 0: no task waits for this task */
    uint32_t parents;      /* number of tasks that wait for this task */
    uint64_t parent_round; /* the round for which both are valid */
    bool steady;           /* the task, its parent and `parents` are as in the tick before */
    uint64_t steady_round; /* the last round in which the whole chain above the task was steady, too */
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
    struct known_task *rows;
    size_t count, room;
    struct intern_pairs addresses; /* both halves of a task's address → row in `rows` + 1 */
    struct intern_pairs types;     /* both halves of a type's address → enum object_kind of its objects */
    uint64_t round, tick;          /* numbers of the current round (never reset) and of the current tick */
    struct double_read copies[COPIES];
    uint64_t plans[COPIES]; /* number of each copy's plan; 0: the copy is not read in this round */
    uint64_t last_plan;
    uint64_t copied_rounds[COPIES]; /* the round in which the second copy was last made */
    uint64_t turned_rounds[COPIES]; /* the round in which the present first copy was made, as a second copy */
    uint32_t known_code;            /* number of the last code object that was read before the first copies */
    uint32_t reads_left;            /* direct reads that this tick may still make */
    struct window {
        uint64_t address;
        uint32_t size; /* 0: empty */
        unsigned char bytes[TASKS_WINDOW];
    } window; /* the last direct read of the current look */
    struct frame_link {
        struct code *code;
        int64_t unit; /* the instruction at which the frame stands, in code units */
    } *links;         /* frames that the current look found */
    size_t links_count, links_room;
};

/* Starts without tasks. The target and `codes` must live as long; the offsets are copied. */
void asyncio_tasks_open(struct tasks *tasks, struct target *target, struct codes *codes,
                        const struct asyncio_layout *offsets);

/* Frees everything but the entries of the tasks. */
void asyncio_tasks_close(struct tasks *tasks);

/* Returns the row of the task at this address, and adds a row if there is none. The rows may move: pointers to other
 * rows become invalid. NULL when there are TASKS_LIMIT tasks already. */
struct known_task *asyncio_tasks_at(struct tasks *tasks, uint64_t address);

/* Returns the row of the task at this address; NULL: there is none. */
struct known_task *asyncio_tasks_find(const struct tasks *tasks, uint64_t address);

/* Adds the task's links and its spans to a copy. */
void asyncio_tasks_plan(struct tasks *tasks, struct known_task *task, size_t copy);

/* Which copy of this round has the task; COPIES: none. */
size_t asyncio_tasks_copy_of(const struct tasks *tasks, const struct known_task *task);

/* Looks at a task in the copies of this round. `generation`: the interpreter's count of freed code objects + 1, or 0
 * when the count is not known. */
enum look asyncio_tasks_look(struct tasks *tasks, struct known_task *task, uint64_t generation);

/* Marks the ranges of a task, so that the next copies have them. */
void asyncio_tasks_want(struct tasks *tasks, const struct known_task *task);

/* Makes the second copies of this round the first copies of the next round. */
void asyncio_tasks_turn(struct tasks *tasks);

/* Whether the last look at the task still holds, so that no new look is needed:
 *
 *     round 7: sure look at the task, second copy  = round 8: first copy │ second copy, the same bytes → true */
bool asyncio_tasks_still(struct tasks *tasks, const struct known_task *task, uint64_t generation);

/* Finds the two neighbours of a task in its list: the address of the next task's links, then the address of the
 * previous task's links. `now`: reads the links directly, although a copy may have them. False when the links cannot be
 * read. */
bool asyncio_tasks_neighbours(struct tasks *tasks, const struct known_task *task, bool now, uint64_t neighbours[2]);

/* Removes the tasks that no tick used since `since_tick`. The caller frees their entries before. Rows move: pointers to
 * and indexes of rows become invalid. */
void asyncio_tasks_trim(struct tasks *tasks, uint64_t since_tick);

#endif
