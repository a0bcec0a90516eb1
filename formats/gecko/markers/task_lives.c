/* SPDX-License-Identifier: MIT */
#include "formats/gecko/markers/task_lives.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

static struct task_life *life_of(struct task_lives *lives, const struct tables *tables, const struct run *run)
{
    const struct thread *thread = &tables->threads[run->thread].thread;
    const uint64_t task_ns = tables_task(tables, run->task)->task.start_ns;
    lives->lives = alloc_grow(lives->lives, &lives->room, (size_t)run->task + 1, sizeof(*lives->lives));
    struct task_life *life = &lives->lives[run->task];
    if (life->end_ns)
        return life;
    life->start_ns = thread->task ? thread->start_ns : task_ns;
    if (life->start_ns == 0 || life->start_ns > run->time_ns)
        life->start_ns = run->time_ns;
    life->stack = run->stack;
    return life;
}

static void note_code(struct task_life *life, const struct stack_fact *fact)
{
    if (!life->coroutine)
        life->coroutine = fact->coroutine;
    if (fact->above)
        life->above = fact->above;
}

void task_lives_take(struct task_lives *lives, const struct look *look, const struct tables *tables,
                     enum task_doing doing)
{
    const struct run *run = look->run;
    if (run->task == 0 || run->task >= tables->tasks_count)
        return;
    struct task_life *life = life_of(lives, tables, run);
    const uint64_t end_ns = run->time_ns + look->width_ns;
    life->end_ns = end_ns > life->end_ns ? end_ns : life->end_ns;
    life->thread = look->thread;
    note_code(life, look->fact);
    if (doing == TASK_WAITS)
        return;
    life->run_ns += run->wall_ns;
    life->steps += doing == TASK_BEGINS;
}

void task_lives_end(struct task_lives *lives, uint32_t task, uint64_t ns)
{
    if (task < lives->room && lives->lives[task].end_ns && ns >= lives->lives[task].start_ns)
        lives->lives[task].end_ns = ns;
}

void task_lives_settle(const struct task_lives *lives, struct marker_store *store)
{
    for (uint32_t task = 1; task < lives->room; task++) {
        const struct task_life *life = &lives->lives[task];
        const struct marker marker = { .kind = MARKER_TASK,
                                       .thread = life->thread,
                                       .start_ns = life->start_ns,
                                       .end_ns = life->end_ns,
                                       .weight = life->end_ns - life->start_ns + life->run_ns,
                                       .amount_ns = life->run_ns,
                                       .stack = life->stack,
                                       .subject = task,
                                       .function = life->coroutine,
                                       .other = life->above,
                                       .count = life->steps };
        if (life->end_ns)
            marker_store_add(store, &marker);
    }
}

void task_lives_free(struct task_lives *lives)
{
    free(lives->lives);
    *lives = (struct task_lives){ 0 };
}
