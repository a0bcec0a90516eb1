/* SPDX-License-Identifier: MIT */
/* asyncio tasks of the target, each remembered while it is of use: what it is called, which task waits for it, and the
 * frames of its coroutine and of those that this one waits for.
 *
 *     task ─ name ─▶ int or str
 *          ─ awaited_by ─▶ task, or set of tasks
 *          ─ coro ─▶ coroutine { frame } ─ on its stack of values ─▶ coroutine { frame } ─ ... ─▶ what is no coroutine
 *
 * These objects lie all over the heap, and each may be gone or another's a moment later. So everything that is looked
 * at is a place of a double-read copy (double_read.h): what the last look at a task needed is read in advance, and a
 * look that found all of that unchanged from the first copy to the second, and needed nothing else, is of one moment.
 * What it needed else is read at once, to know where it leads, and is in the next copies.
 *
 * A task is the same one while it is at the same address with the same name and coroutine. */
#ifndef PYREEL_RECORD_ASYNCIO_ASYNCIO_TASKS_H
#define PYREEL_RECORD_ASYNCIO_ASYNCIO_TASKS_H

#include "record/asyncio/double_read.h"
#include "record/python/asyncio_layout.h"
#include "record/python/code.h"
#include "record/python/target.h"

#define TASKS_LIMIT  (1u << 18) /* remembered at once */
#define TASKS_WINDOW 256 /* bytes that are read at once where more is likely wanted: an object and what follows */

/* What is read in a round: in the first of a tick, tasks that stay as they are, planned once for long, and all others;
 * in the next ones what has to be looked at again. */
enum { COPY_CALM, COPY_BUSY, COPY_AGAIN, COPIES };

struct span {
    uint64_t address;
    uint32_t size;
};

/* What became of a look. */
enum look {
    LOOK_SURE,    /* all it saw was so at one moment */
    LOOK_CHANGED, /* it changed meanwhile, or lies elsewhere than it did: look again */
    LOOK_NO_TASK, /* there is none here */
    LOOK_NO_CODE, /* a code object can't be read */
    LOOK_TOO_DEEP,
};

/* Where a task is in copies. */
struct planned {
    uint64_t plan;     /* of those with this number; 0: of none */
    size_t neighbours; /* the place of its neighbours in the list */
    size_t first, end; /* those of its spans */
};

struct known_task {
    uint64_t address;
    uint32_t number; /* as told to the sink; 0: not yet */

    /* by the last look, if it was sure */
    uint64_t coroutine;
    struct text name;
    uint64_t *waiters; /* addresses of those that wait for it */
    size_t waiters_count, waiters_room;
    uint32_t *frames; /* of its coroutine and of those it waits for, outermost first; as told to the sink */
    size_t frames_count, frames_room;
    bool runs;           /* its coroutine is on a thread's stack, ... */
    bool flickers;       /* ... or was at one of the copies only */
    uint64_t generation; /* of code objects, + 1 */

    struct span *spans; /* what the last look saw; of a task that runs, behind that what it saw when it waited */
    size_t spans_count, spans_room;
    bool moved;            /* that was not what the look before saw */
    enum look looked;      /* what became of the last look, ... */
    uint64_t looked_round; /* ... and the round that it was in */
    uint64_t kept_round;   /* the round whose second copy all of that is in; 0: in none */
    bool wants_frames;     /* else its coroutine is not followed */
    struct planned planned[COPIES];
    size_t interpreter;       /* its place in target->interpreters */
    uint32_t owner;           /* place of its thread in the thread list + 1; 0: not known */
    uint64_t listed;          /* the tick in which it was last in a list */
    uint64_t walk;            /* the way along a list that it was last met on */
    uint64_t used;            /* the tick in which it was last asked for */
    uint64_t chained;         /* counts stacks: the last that it is in */
    uint32_t parent, parents; /* the place of the task that waits for it + 1, and how many there are */
    uint64_t parent_round;    /* the round for which that holds */
    bool steady;              /* nothing of it is other than in the tick before */
    uint64_t steady_round;    /* the round in which that held for all that wait for it, too */
    uint32_t label;           /* its frame <task NAME>, for so many parents; 0: not made yet */
    uint32_t label_parents;
    struct task_entry *entry; /* what is told of it; NULL: nothing; whoever tells it frees it */
};

/* `= {0}`, then asyncio_tasks_open(). */
struct tasks {
    struct target *target;
    struct codes *codes;
    struct asyncio_layout offsets;
    struct known_task *rows;
    size_t count, room;
    struct intern_pairs addresses; /* halves of an address → place in rows + 1 */
    struct intern_pairs types;     /* halves of a type's address → what objects of it are */
    uint64_t round, tick;
    struct double_read copies[COPIES];
    uint64_t plans[COPIES]; /* the numbers of their plans; 0: they are not read in this round */
    uint64_t last_plan;
    uint64_t copied_rounds[COPIES]; /* of their last second copies ... */
    uint64_t turned_rounds[COPIES]; /* ... and of those that are the first ones now */
    uint32_t known_code;            /* the last code object that was read before the first copies */
    uint32_t reads_left;            /* so many more may be done one by one */
    struct window {
        uint64_t address;
        uint32_t size;
        unsigned char bytes[TASKS_WINDOW];
    } window; /* what the look that is under way read last in no copy */
    struct frame_link {
        struct code *code;
        int64_t unit;
    } * links; /* of the look that is under way */
    size_t links_count, links_room;
};

void asyncio_tasks_open(struct tasks *tasks, struct target *target, struct codes *codes,
                        const struct asyncio_layout *offsets);
void asyncio_tasks_close(struct tasks *tasks);

/* The task at an address, which is remembered from now on. Moves the others. NULL when there are too many. */
struct known_task *asyncio_tasks_at(struct tasks *tasks, uint64_t address);
/* The same if it is remembered, else NULL. */
struct known_task *asyncio_tasks_find(const struct tasks *tasks, uint64_t address);

/* Adds the places of a task to copies. */
void asyncio_tasks_plan(struct tasks *tasks, struct known_task *task, size_t copy);
/* The copies of this round that have the task; COPIES when none has it. */
size_t asyncio_tasks_copy_of(const struct tasks *tasks, const struct known_task *task);

/* Looks at a task by the copies of this round. `generation` is the count of freed code objects of its interpreter + 1,
 * or 0 when it is not known. */
enum look asyncio_tasks_look(struct tasks *tasks, struct known_task *task, uint64_t generation);

/* The copies are to have a task. */
void asyncio_tasks_want(struct tasks *tasks, const struct known_task *task);

/* The second copies of this round are the first ones of the next. */
void asyncio_tasks_turn(struct tasks *tasks);

/* Whether a task is as it was when the first copy was made, and that was the second one of a round in which it was
 * looked at. */
bool asyncio_tasks_still(struct tasks *tasks, const struct known_task *task, uint64_t generation);

/* The two neighbours of a task in its list, by address of their links: the next, the one before. `now`: not from a
 * copy.
 */
bool asyncio_tasks_neighbours(struct tasks *tasks, const struct known_task *task, bool now, uint64_t neighbours[2]);

/* Forgets what is remembered of the tasks that were not used since a tick. No struct known_task may be held. */
void asyncio_tasks_trim(struct tasks *tasks, uint64_t since_tick);

#endif
