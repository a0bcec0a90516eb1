/* SPDX-License-Identifier: MIT */
/* Programs are simulated: each run is a sequence of visits to functions, and a sampler that looks each millisecond or
 * so. So it is known what is true, and how often a comparison is wrong. All draws have fixed seeds. */
#include "formats/compare/compare.h"

#include "formats/base/alloc.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- chance ---- */

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / (double)(1ull << 53);
}

static double normal(uint64_t *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform(seed);
    return sum;
}

/* ---- programs ---- */

#define FUNCTIONS_MOST 16

/* A visit lasts `visit_ms`, give or take `vary` of that. */
struct simulated_function {
    double visit_ms, vary;
    unsigned visits; /* in a round */
};

struct program {
    const char *name;
    struct simulated_function functions[FUNCTIONS_MOST];
    size_t count;
    unsigned rounds;
    double spread; /* of a function's time between runs */
    double speed;  /* spread of the machine's speed between runs */
    double busy;   /* share of the time in which the machine does something else */
};

struct world {
    struct tables tables;
    struct compare compare;
    struct entries entries;
    struct groups groups;
    struct call_tree tree;
    struct judgement judgement;
    struct frame_filter filter;
};

static void take(struct world *world, struct event event)
{
    struct fault why = { 0 };
    if (!tables_take(&world->tables, &event, &why))
        fail_msg("%s", why.text);
    compare_take(&world->compare, &event);
}

static void define(struct world *world, size_t functions)
{
    take(world, (struct event){ EVENT_RECORDING, .recording = { .format_version = 1, .interval_ns = MS } });
    take(world, (struct event)STRING(1, "app.py"));
    for (uint32_t i = 1; i <= functions + 1; i++) {
        char name[8];
        snprintf(name, sizeof(name), "f%u", i - 1); /* f0 calls the others */
        take(world, (struct event){ EVENT_STRING, .string = { i + 1, text_of(name) } });
        take(world, (struct event)FUNCTION(i, i + 1, 1, i * 10));
        take(world, (struct event)FRAME(i, i, i * 10));
    }
}

/* The sampler of a run. */
struct sampler {
    struct world *world;
    uint32_t thread;
    uint64_t *seed;
    double now_ms, next_ms, tick_ms;
    uint32_t depth;
};

static void sample(struct sampler *sampler, uint32_t function)
{
    const uint32_t frames[] = { 1, function + 2 };
    const uint32_t keep = sampler->depth ? 1 : 0;
    const struct sample taken = { .thread = sampler->thread,
                                  .keep = keep,
                                  .pushed = 2 - keep,
                                  .frames = frames + keep,
                                  .time_ns = (uint64_t)(sampler->next_ms * MS),
                                  .status = STATUS_RECORDED | STATUS_CPU | STATUS_GIL,
                                  .cpu_ns = MS };
    take(sampler->world, (struct event){ EVENT_SAMPLE, .sample = taken });
    sampler->depth = 2;
}

static void visit(struct sampler *sampler, uint32_t function, double ms)
{
    for (sampler->now_ms += ms; sampler->next_ms < sampler->now_ms;) {
        sample(sampler, function);
        sampler->tick_ms += 1;
        sampler->next_ms = sampler->tick_ms + uniform(sampler->seed);
    }
}

/* A factor around 1; below 0 stands for an exponential distribution. */
static double varied(double vary, uint64_t *seed)
{
    return vary < 0 ? -log(1 - uniform(seed)) : fmax(1 + vary * normal(seed), 0);
}

/* `slow` is how much slower the function `which` is than in the program. */
static void run(struct world *world, const struct program *program, uint32_t number, uint32_t which, double slow,
                uint64_t *seed)
{
    double factors[FUNCTIONS_MOST];
    const double speed = exp(program->speed * normal(seed));
    take(world, (struct event)PROCESS(number, number, "/"));
    take(world, (struct event){ EVENT_THREAD, .thread = { number, number, number, true, 0, 0, TEXT("python3"), 0 } });
    for (uint32_t i = 0; i < program->count; i++)
        factors[i] = speed * exp(program->spread * normal(seed)) * (i == which ? slow : 1);
    struct sampler sampler = { .world = world, .thread = number, .seed = seed, .next_ms = uniform(seed) };
    for (unsigned round = 0; round < program->rounds; round++)
        for (uint32_t i = 0; i < program->count; i++)
            for (unsigned k = 0; k < program->functions[i].visits; k++) {
                const struct simulated_function *f = &program->functions[i];
                visit(&sampler, i, f->visit_ms * varied(f->vary, seed) * factors[i]);
            }
    const struct tables ended = { .end = { .reason = END_TARGET, .time_ns = (uint64_t)(sampler.now_ms * MS) } };
    compare_take_recording(&world->compare, &ended, TEXT("run"));
}

static void compare_sides(struct world *world, const struct program *program, size_t runs, uint32_t which, double slow,
                          uint64_t *seed)
{
    struct fault why = { 0 };
    *world = (struct world){ .compare = { .tables = &world->tables, .before = runs } };
    define(world, program->count);
    for (uint32_t i = 0; i < 2 * runs; i++)
        run(world, program, i + 1, which, i < runs ? 1 : slow, seed);
    assert_true(compare_end(&world->compare, &why));
    const struct entries_style style = { .kind = ENTRY_FUNCTION, .filter = &world->filter };
    const struct groups_style groups = { .one = true, .runs = true };
    entries_find(&world->entries, &world->tables, &style);
    groups_find(&world->groups, &world->tables, &world->compare.aggregate, &groups);
    assert_true(call_tree_make(&world->tree, &world->entries, &world->groups, &world->compare.aggregate));
    struct compare_items items = compare_items_of_codes(&world->tree);
    const struct compare_style compare_style = { .weight = SUM_CPU_NS, .confidence = 0.95, .least_share = 0.01 };
    compare_judge(&world->compare, &world->tree, &items, &compare_style, &world->judgement);
    compare_items_free(&items);
}

static void close_world(struct world *world)
{
    judgement_free(&world->judgement);
    call_tree_free(&world->tree);
    groups_free(&world->groups);
    entries_free(&world->entries);
    compare_free(&world->compare);
    tables_free(&world->tables);
}

/* ---- questions ---- */

static bool alarms(const struct judgement *judgement)
{
    bool alarm = judgement->whole.verdict != VERDICT_SAME;
    for (size_t i = 1; i < judgement->count; i++)
        alarm |= judgement->items[i].self.verdict != VERDICT_SAME || judgement->items[i].total.verdict != VERDICT_SAME;
    return alarm;
}

static const struct judged_item *item_named(const struct world *world, const char *name)
{
    for (size_t i = 1; i < world->entries.codes_count; i++)
        if (text_equal(world->entries.codes[i].name, text_of(name)))
            return &world->judgement.items[i];
    return NULL;
}
