/* SPDX-License-Identifier: MIT */
#include "tests/bench/made.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define CLIMB_MOST 6  /* frames between a stack and the next one's caller */
#define NEAR       2  /* stacks to either side that differ in their leaf, mostly */
#define FAR        64 /* and those that differ in a suffix */
#define HANDS_ON   20 /* ticks of a hundred in which the lock changes hands */

static const struct made_mix mixes[] = {
    { "mixed", .busy = 13, .spell = 10, .moves = 28, .leaf = 50, .anew = 2 },
    { "threads", .busy = 1, .spell = 2, .moves = 50, .leaf = 70, .anew = 1 },
    { "calls", .busy = 100, .spell = 1000, .moves = 88, .leaf = 70, .anew = 1 },
};

const struct made_mix *made_mix(const char *name)
{
    for (size_t i = 0; i < countof(mixes); i++)
        if (strcmp(mixes[i].name, name) == 0)
            return &mixes[i];
    return NULL;
}

const char *made_mix_names(void)
{
    return "mixed|threads|calls";
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
    made->frames = alloc_zeroed(depth, sizeof(*made->frames));
    made->threads = alloc_zeroed((size_t)threads + 1, sizeof(*made->threads));
    for (uint32_t i = 1; i <= threads; i++)
        made->threads[i].at = 1 + made_roll(made, stacks);
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

/* Busy and idle spells alternate so that the thread is busy as often as the mix says. */
static void live(struct made *made, struct made_thread *thread)
{
    const struct made_mix *mix = made->mix;
    if (thread->spell-- == 0) {
        thread->busy = mix->busy == 100 || !thread->busy;
        const uint32_t idle = mix->spell * (100 - mix->busy) / mix->busy;
        thread->spell = made_roll(made, 2 * (thread->busy ? mix->spell : idle) + 1);
    }
    if (thread->busy && happens(made, mix->moves))
        move(made, thread);
}

static bool holds_lock(struct made *made, uint32_t number)
{
    if (made->holder == 0 || !made->threads[made->holder].busy || happens(made, HANDS_ON))
        made->holder = number;
    return made->holder == number;
}

/* The frames that two stacks have in common. */
static uint32_t in_common(const struct made *made, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (made->stacks[a].depth >= made->stacks[b].depth)
            a = made->stacks[a].caller;
        else
            b = made->stacks[b].caller;
    }
    return made->stacks[a].depth;
}

struct sample made_sample(struct made *made, uint32_t number, uint64_t time_ns, uint64_t interval_ns)
{
    struct made_thread *thread = &made->threads[number];
    live(made, thread);
    struct sample sample = { .thread = number, .time_ns = time_ns, .frames = made->frames, .status = STATUS_RECORDED };
    if (thread->busy) {
        sample.cpu_ns = interval_ns;
        sample.status |= STATUS_CPU | (holds_lock(made, number) ? STATUS_GIL : 0);
    }
    sample.keep = in_common(made, thread->told, thread->at);
    sample.pushed = made->stacks[thread->at].depth - sample.keep;
    for (uint32_t i = sample.pushed, stack = thread->at; i > 0; stack = made->stacks[stack].caller)
        made->frames[--i] = made->stacks[stack].frame;
    thread->told = thread->at;
    return sample;
}

void made_close(struct made *made)
{
    free(made->stacks);
    free(made->threads);
    free(made->frames);
    *made = (struct made){ 0 };
}
