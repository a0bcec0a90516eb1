/* SPDX-License-Identifier: MIT */
#include "tests/bench/made.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define CLIMB_MOST 6  /* frames between a stack and the next one's caller */
#define NEAR       2  /* stacks to either side that differ in their leaf, mostly */
#define FAR        64 /* and those that differ in a suffix */
#define HANDS_ON   20 /* ticks of a hundred in which the lock changes hands */

#define COLLECTS   2   /* ticks of a thousand in which the thread with the lock begins to collect garbage */
#define EXCEPTS    5   /* and in which it begins to handle an exception */
#define LONGEST    20  /* ticks, at most, of both */
#define NEW_TASK   50  /* of a hundred tasks that the main thread runs, those that were not there before */
#define OPEN_TASKS 100 /* tasks that may run again */

static const struct made_mix mixes[] = {
    { "mixed", .busy = 13, .spell = 10, .moves = 28, .leaf = 50, .anew = 2 },
    { "threads", .busy = 1, .spell = 2, .moves = 50, .leaf = 70, .anew = 1 },
    { "calls", .busy = 100, .spell = 1000, .moves = 88, .leaf = 70, .anew = 1 },
    { "states", .busy = 30, .spell = 20, .moves = 28, .leaf = 50, .anew = 2, .states = true },
    { "tree", .busy = 13, .spell = 10, .moves = 28, .leaf = 50, .anew = 2, .each = 4 },
    { "workers", .busy = 1, .spell = 10, .moves = 1, .leaf = 50, .each = 4 },
};

const struct made_mix *made_mix(const char *name)
{
    for (size_t i = 0; i < countof(mixes); i++)
        if (strcmp(mixes[i].name, name) == 0)
            return &mixes[i];
    return NULL;
}

/* A linear congruential generator: the same numbers everywhere. Its high bits are the good ones. */
uint32_t made_roll(struct made *made, uint32_t below)
{
    made->dice = made->dice * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((made->dice >> 32) * below >> 32);
}

static bool happens(struct made *made, uint32_t percent)
{
    return made_roll(made, 100) < percent;
}

/* The caller of the next stack: the last one, or one some frames up when that is deep enough. */
static uint32_t next_caller(struct made *made, uint32_t last, uint32_t depth)
{
    uint32_t caller = last;
    if (made->stacks[last].depth < depth && happens(made, 60))
        return caller;
    for (uint32_t climb = 1 + made_roll(made, CLIMB_MOST); climb > 0 && made->stacks[caller].caller; climb--)
        caller = made->stacks[caller].caller;
    return made->stacks[caller].depth < depth ? caller : 0;
}

/* Each frame stands once below a caller, so that all stacks are distinct. */
static void make_stacks(struct made *made, uint32_t count, uint32_t depth)
{
    uint32_t *used = alloc_zeroed((size_t)count + 1, sizeof(*used)); /* frames below each stack */
    made->stacks = alloc_zeroed((size_t)count + 1, sizeof(*made->stacks));
    made->stacks_count = count;
    for (uint32_t i = 1; i <= count; i++) {
        const uint32_t caller = next_caller(made, i - 1, depth);
        const uint32_t step = 1 + made_roll(made, 3), level = made->stacks[caller].depth;
        used[caller] += step;
        const uint32_t frame = level % 16 * 8 + used[caller]; /* the functions of a level call those of the next */
        made->stacks[i] = (struct made_stack){ caller, frame, level + 1 };
        if (made->frames_count < frame)
            made->frames_count = frame;
    }
    free(used);
}

void made_open(struct made *made, const struct made_mix *mix, uint32_t stacks, uint32_t depth, uint32_t threads,
               uint64_t seed)
{
    *made = (struct made){ .mix = mix, .dice = seed, .threads_count = threads };
    make_stacks(made, stacks, depth);
    made->frames = alloc_zeroed((size_t)depth + MADE_EXTRAS, sizeof(*made->frames));
    made->threads = alloc_zeroed((size_t)threads + 1, sizeof(*made->threads));
    for (uint32_t i = 1; i <= threads; i++) {
        made->threads[i].at = 1 + made_roll(made, stacks);
        made->threads[i].told = alloc_zeroed((size_t)depth + MADE_EXTRAS, sizeof(*made->frames));
    }
}

/* Some stacks are much more frequent than others, as in real programs. */
static uint32_t any_stack(struct made *made)
{
    const uint32_t below = made_roll(made, made->stacks_count) + 1;
    return 1 + made_roll(made, below);
}

/* One that stands up to `reach` away. */
static uint32_t stack_about(struct made *made, uint32_t at, uint32_t reach)
{
    const uint32_t first = at > reach ? at - reach : 1;
    const uint32_t stack = first + made_roll(made, 2 * reach);
    return stack < at ? stack : stack < made->stacks_count ? stack + 1 : made->stacks_count;
}

static void move(struct made *made, struct made_thread *thread)
{
    const uint32_t kind = made_roll(made, 100);
    if (kind < made->mix->leaf)
        thread->at = stack_about(made, thread->at, NEAR);
    else if (kind < 100 - made->mix->anew)
        thread->at = stack_about(made, thread->at, FAR);
    else
        thread->at = any_stack(made);
}

/* Busy and idle spells alternate so that the thread is busy as often as the mix says. False: the spell goes on. */
static bool begins_spell(struct made *made, struct made_thread *thread)
{
    const struct made_mix *mix = made->mix;
    if (thread->spell-- > 0)
        return false;
    thread->busy = mix->busy == 100 || !thread->busy;
    const uint32_t idle = mix->spell * (100 - mix->busy) / mix->busy;
    thread->spell = made_roll(made, 2 * (thread->busy ? mix->spell : idle) + 1);
    return true;
}

static bool holds_lock(struct made *made, uint32_t number)
{
    if (made->holder == 0 || !made->threads[made->holder].busy || happens(made, HANDS_ON))
        made->holder = number;
    return made->holder == number;
}

static void live(struct made *made, uint32_t number, struct sample *sample, uint64_t interval_ns)
{
    struct made_thread *thread = &made->threads[number];
    begins_spell(made, thread);
    if (thread->busy && happens(made, made->mix->moves))
        move(made, thread);
    if (thread->busy) {
        sample->cpu_ns = interval_ns;
        sample->status |= STATUS_CPU | (holds_lock(made, number) ? STATUS_GIL : 0);
    }
}

/* ---- states ---- */

/* The lock goes to the next thread that wants it. A collection keeps the lock. */
static void pass_lock(struct made *made)
{
    const struct made_thread *holder = &made->threads[made->holder];
    if (made->holder && holder->busy && (holder->collecting || !happens(made, HANDS_ON)))
        return;
    const uint32_t before = made->holder;
    made->holder = 0;
    for (uint32_t i = 0; i < made->threads_count && made->holder == 0; i++) {
        const uint32_t number = (before + i) % made->threads_count + 1;
        made->holder = made->threads[number].busy ? number : 0;
    }
}

/* A new task, or one that ran before. */
static uint32_t choose_task(struct made *made)
{
    if (made->tasks_count == 0 || happens(made, NEW_TASK))
        return ++made->tasks_count;
    const uint32_t open = made->tasks_count < OPEN_TASKS ? made->tasks_count : OPEN_TASKS;
    return made->tasks_count - made_roll(made, open);
}

/* Lets something begin in some ticks of a thousand, and go on for some ticks. Whether it began. */
static bool begins(struct made *made, uint32_t *left, uint32_t thousandths)
{
    if (*left > 0) {
        --*left;
        return false;
    }
    if (made_roll(made, 1000) >= thousandths)
        return false;
    *left = 1 + made_roll(made, LONGEST);
    return true;
}

/* What the thread with the lock does. Collections of young objects are the most frequent ones. */
static void work(struct made *made, struct made_thread *thread, struct sample *sample)
{
    if (begins(made, &thread->collecting, COLLECTS))
        thread->collection = happens(made, 80) ? 1 : happens(made, 80) ? 2 : 3;
    if (thread->collecting) {
        sample->collection = thread->collection;
        return;
    }
    begins(made, &thread->excepting, EXCEPTS);
    sample->status |= thread->excepting ? STATUS_EXCEPTION : 0;
    if (happens(made, made->mix->moves))
        move(made, thread);
}

static void live_with_states(struct made *made, uint32_t number, struct sample *sample, uint64_t interval_ns)
{
    struct made_thread *thread = &made->threads[number];
    if (number == 1)
        pass_lock(made);
    if (!thread->collecting && begins_spell(made, thread) && number == 1)
        thread->task = thread->busy ? choose_task(made) : 0;
    sample->task = thread->task;
    if (!thread->busy)
        return;
    if (made->holder != number) {
        sample->status |= STATUS_GIL_WAIT;
        return;
    }
    sample->cpu_ns = interval_ns;
    sample->status |= STATUS_CPU | STATUS_GIL;
    work(made, thread, sample);
}

/* ---- samples ---- */

/* Fills made->frames. Returns the depth. */
static uint32_t stand(struct made *made, uint32_t number)
{
    const struct made_thread *thread = &made->threads[number];
    const uint32_t extras = made->frames_count;
    const bool loops = made->mix->states && number == 1;
    uint32_t depth = 0;
    if (loops)
        made->frames[depth++] = extras + MADE_TURN;
    if (loops && !thread->task) {
        made->frames[depth++] = extras + MADE_SELECT;
        return depth;
    }
    if (loops) {
        made->frames[depth++] = extras + MADE_RUN;
        made->frames[depth++] = extras + MADE_EXTRAS - 1 + thread->task;
    }
    depth += made->stacks[thread->at].depth;
    for (uint32_t i = depth, stack = thread->at; stack; stack = made->stacks[stack].caller)
        made->frames[--i] = made->stacks[stack].frame;
    if (thread->collecting)
        made->frames[depth++] = extras + MADE_GC;
    return depth;
}

struct sample made_sample(struct made *made, uint32_t number, uint64_t time_ns, uint64_t interval_ns)
{
    struct made_thread *thread = &made->threads[number];
    struct sample sample = { .count = 1, .thread = number, .time_ns = time_ns, .status = STATUS_RECORDED };
    (made->mix->states ? live_with_states : live)(made, number, &sample, interval_ns);
    const uint32_t depth = stand(made, number);
    while (sample.keep < depth && sample.keep < thread->told_depth &&
           thread->told[sample.keep] == made->frames[sample.keep])
        sample.keep++;
    sample.pushed = depth - sample.keep;
    sample.frames = made->frames + sample.keep;
    memcpy(thread->told, made->frames, depth * sizeof(*made->frames));
    thread->told_depth = depth;
    return sample;
}

void made_close(struct made *made)
{
    for (uint32_t i = 0; made->threads && i <= made->threads_count; i++)
        free(made->threads[i].told);
    free(made->stacks);
    free(made->threads);
    free(made->frames);
    *made = (struct made){ 0 };
}
