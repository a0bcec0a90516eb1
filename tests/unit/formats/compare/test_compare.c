/* SPDX-License-Identifier: MIT */
/* Programs are simulated: each run is a sequence of visits to functions, and a sampler that looks each millisecond or
 * so. So it is known what is true, and how often a comparison is wrong. All draws have fixed seeds. */
#include "formats/compare/compare.h"

#include "formats/base/alloc.h"
#include "formats/compare/student.h"
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
    struct simulated_function functions[FUNCTIONS_MOST];
    size_t count;
    unsigned rounds;
    double spread;  /* of a function's time between runs */
    double speed;   /* spread of the machine's speed between runs */
    double once_ms; /* the first function is visited for so long, once, ... */
    unsigned once;  /* ... in front of this round */
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
    take(world, (struct event){ EVENT_RECORDING, .recording = { .interval_ns = MS } });
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
    const struct sample taken = { .count = 1,
                                  .thread = sampler->thread,
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
    for (unsigned round = 0; round < program->rounds; round++) {
        if (round == program->once && program->once_ms > 0)
            visit(&sampler, 0, program->once_ms);
        for (uint32_t i = 0; i < program->count; i++)
            for (unsigned k = 0; k < program->functions[i].visits; k++) {
                const struct simulated_function *f = &program->functions[i];
                visit(&sampler, i, f->visit_ms * varied(f->vary, seed) * factors[i]);
            }
    }
    const struct tables ended = { .end = { .reason = END_TARGET, .time_ns = (uint64_t)(sampler.now_ms * MS) } };
    compare_take_recording(&world->compare, &ended, TEXT("run"));
}

static void open_world(struct world *world, size_t before, size_t functions)
{
    *world = (struct world){ .compare = { .tables = &world->tables, .before = before } };
    define(world, functions);
}

static void settle(struct world *world)
{
    struct fault why = { 0 };
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

static void compare_sides(struct world *world, const struct program *program, size_t runs, uint32_t which, double slow,
                          uint64_t *seed)
{
    open_world(world, runs, program->count);
    for (uint32_t i = 0; i < 2 * runs; i++)
        run(world, program, i + 1, which, i < runs ? 1 : slow, seed);
    settle(world);
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

/* ---- the rates of both kinds of error ---- */

#define TRIES soak(40)

/* A program as most are: rounds of functions that last some milliseconds each. f1 has 15% of 6 seconds. */
static const struct program rounds = {
    .functions = { { 9, .1, 1 }, { 15, .1, 1 }, { 20, .2, 1 }, { 5, .5, 1 }, { 3, .1, 1 }, { 2, .1, 1 }, { 6, .3, 1 } },
    .count = 7,
    .rounds = 100,
    .spread = .015,
    .speed = .03,
};

/* Functions are short beside the distance of looks. */
static const struct program quick = {
    .functions = { { .09, .5, 15 }, { .15, .3, 15 }, { .2, .2, 15 }, { .05, .5, 15 }, { .08, .1, 15 } },
    .count = 5,
    .rounds = 600,
    .spread = .015,
    .speed = .03,
};

/* Each function is a phase of the program. */
static const struct program phases = {
    .functions = { { 900, .01, 1 }, { 1500, .01, 1 }, { 2000, .01, 1 }, { 500, .01, 1 }, { 600, .01, 1 } },
    .count = 5,
    .rounds = 1,
    .spread = .015,
    .speed = .03,
};

/* Rounds are about as long as the neighbours that are compared. */
static const struct program slow_rounds = {
    .functions = { { 90, .05, 1 }, { 150, .05, 1 }, { 200, .05, 1 }, { 50, .05, 1 }, { 60, .05, 1 } },
    .count = 5,
    .rounds = 10,
    .spread = .015,
    .speed = .03,
};

/* Nobody knows how long a visit lasts, as in a server. */
static const struct program random_visits = {
    .functions = { { 20, -1, 1 }, { 15, -1, 1 }, { 40, -1, 1 }, { 5, -1, 1 }, { 50, -1, 1 } },
    .count = 5,
    .rounds = 50,
    .spread = .015,
    .speed = .03,
};

/* The machine is 15% slower or faster from run to run. */
static const struct program on_a_moody_machine = {
    .functions = { { 9, .1, 1 }, { 15, .1, 1 }, { 20, .2, 1 }, { 5, .5, 1 }, { 6, .3, 1 } },
    .count = 5,
    .rounds = 100,
    .spread = .015,
    .speed = .15,
};

static int count_alarms(const struct program *program, size_t runs)
{
    int count = 0;
    uint64_t seed = 42;
    for (unsigned i = 0; i < TRIES; i++) {
        struct world world;
        compare_sides(&world, program, runs, FUNCTIONS_MOST, 1, &seed);
        count += alarms(&world.judgement);
        close_world(&world);
    }
    return count;
}

static void the_same_program_gives_no_alarm(void **state)
{
    (void)state;
    const struct program *programs[] = { &rounds, &quick, &phases, &slow_rounds, &random_visits, &on_a_moody_machine };
    for (size_t i = 0; i < countof(programs); i++)
        assert_in_range(count_alarms(programs[i], 1), 0, TRIES / 20);
}

static void several_runs_of_the_same_program_give_no_alarm(void **state)
{
    (void)state;
    assert_in_range(count_alarms(&rounds, 3), 0, TRIES / 20);
    assert_in_range(count_alarms(&on_a_moody_machine, 3), 0, TRIES / 20);
}

/* In how many of so many tries f1, made 20% slower, is found to have grown. Nothing else may be found more often than
 * by chance. */
static int count_found(const struct program *program, size_t runs, int tries)
{
    int found = 0, others = 0;
    uint64_t seed = 43;
    for (int i = 0; i < tries; i++) {
        struct world world;
        compare_sides(&world, program, runs, 0, 1.2, &seed);
        found += item_named(&world, "f1")->self.verdict == VERDICT_GREW;
        for (size_t other = 2; other <= program->count; other++) {
            char name[8];
            snprintf(name, sizeof(name), "f%zu", other);
            others += item_named(&world, name)->self.verdict != VERDICT_SAME;
        }
        close_world(&world);
    }
    assert_in_range(others, 0, tries / 20);
    return found;
}

static void a_function_made_slower_is_found(void **state)
{
    (void)state;
    assert_in_range(count_found(&rounds, 1, 30), 17, 30);
    assert_in_range(count_found(&quick, 1, 30), 17, 30);
    assert_in_range(count_found(&phases, 1, 30), 17, 30);
}

static void with_two_runs_a_side_it_is_found_nearly_always(void **state)
{
    (void)state;
    assert_in_range(count_found(&rounds, 2, 20), 19, 20);
    assert_in_range(count_found(&slow_rounds, 2, 20), 18, 20);
    assert_in_range(count_found(&on_a_moody_machine, 2, 20), 10, 20);
}

/* How often f1, made so much slower, is found by so many runs of each side. */
static int count_found_by(const struct program *program, double slow, size_t runs, int tries)
{
    int found = 0;
    uint64_t seed = 48;
    for (int i = 0; i < tries; i++) {
        struct world world;
        compare_sides(&world, program, runs, 0, slow, &seed);
        found += item_named(&world, "f1")->self.verdict == VERDICT_GREW;
        close_world(&world);
    }
    return found;
}

/* How many runs of each side tell that f1 is so much slower: the mean of what comparisons of two runs say in which the
 * change is not told and looks as large as it is. */
static size_t runs_said(const struct program *program, double slow)
{
    uint64_t seed = 47;
    double said = 0;
    int comparisons = 0;
    for (int tries = 0; tries < 200 && comparisons < 10; tries++) {
        struct world world;
        compare_sides(&world, program, 2, 0, slow, &seed);
        const struct judged f1 = item_named(&world, "f1")->self;
        close_world(&world);
        if (f1.verdict != VERDICT_SAME || fabs(f1.growth / (slow - 1) - 1) > 0.1)
            continue;
        assert_in_range(f1.runs, 3, COMPARE_RUNS_MOST);
        said += f1.runs;
        comparisons++;
    }
    assert_true(comparisons > 3);
    return (size_t)(said / comparisons + 0.5);
}

/* So many runs as are said find it in four of five tries, and half as many do not. */
static void so_many_runs_as_it_says_do_tell(void **state)
{
    (void)state;
    const struct {
        const struct program *program;
        double slow;
    } cases[] = { { &rounds, 1.1 }, { &random_visits, 1.5 } };
    for (size_t i = 0; i < countof(cases); i++) {
        const size_t runs = runs_said(cases[i].program, cases[i].slow);
        const int found = count_found_by(cases[i].program, cases[i].slow, runs, 20);
        const int half = count_found_by(cases[i].program, cases[i].slow, runs / 2, 20);
        assert_in_range(found, 15, 20);
        assert_in_range(half, 0, 12);
    }
}

/* ---- what is true of each comparison ---- */

/* f1 of this program does not exist before or after. */
static const struct program without_f1 = {
    .functions = { { 0, 0, 0 }, { 15, .1, 1 }, { 20, .2, 1 }, { 5, .5, 1 }, { 6, .3, 1 } },
    .count = 5,
    .rounds = 100,
};

static const struct program with_f1 = {
    .functions = { { 9, .1, 1 }, { 15, .1, 1 }, { 20, .2, 1 }, { 5, .5, 1 }, { 6, .3, 1 } },
    .count = 5,
    .rounds = 100,
};

static void new_and_lost_functions_are_found(void **state)
{
    (void)state;
    const struct program *const sides[][2] = { { &without_f1, &with_f1 }, { &with_f1, &without_f1 } };
    for (size_t i = 0; i < countof(sides); i++) {
        struct world world;
        uint64_t seed = 44;
        open_world(&world, 1, 5);
        run(&world, sides[i][0], 1, FUNCTIONS_MOST, 1, &seed);
        run(&world, sides[i][1], 2, FUNCTIONS_MOST, 1, &seed);
        settle(&world);
        const struct judged f1 = item_named(&world, "f1")->self, f2 = item_named(&world, "f2")->self;
        assert_int_equal(f1.verdict, i == 0 ? VERDICT_GREW : VERDICT_SHRANK);
        assert_true(i == 0 ? isinf(f1.growth) && f1.before == 0 : f1.growth == -1 && f1.after == 0);
        assert_int_equal(f2.verdict, VERDICT_SAME);
        close_world(&world);
    }
}

/* Sums of items are those of the samples: each tick is a millisecond, and f0 calls all others. */
static void sums_are_those_of_the_samples(void **state)
{
    (void)state;
    struct world world;
    uint64_t seed = 45;
    compare_sides(&world, &with_f1, 1, FUNCTIONS_MOST, 1, &seed);
    double self = 0;
    for (size_t i = 1; i < world.judgement.count; i++)
        self += world.judgement.items[i].self.after;
    assert_true(fabs(self - world.judgement.whole_after) < 1e3);
    assert_true(fabs(world.judgement.whole_after - (double)world.compare.runs[1].samples * MS) < 1e3);
    assert_true(fabs(item_named(&world, "f0")->total.after - world.judgement.whole_after) < 1e3);
    assert_true(item_named(&world, "f0")->self.after == 0);
    assert_int_equal(compare_run_of(&world.compare, 2), 1);
    close_world(&world);
}

/* A recording with itself: nothing differs, and no bound is below nothing or above what there is. */
static void a_run_is_equal_to_itself(void **state)
{
    (void)state;
    struct world world;
    uint64_t seed = 46, again = 46;
    open_world(&world, 1, 5);
    run(&world, &with_f1, 1, FUNCTIONS_MOST, 1, &seed);
    run(&world, &with_f1, 2, FUNCTIONS_MOST, 1, &again);
    settle(&world);
    for (size_t i = 1; i < world.judgement.count; i++) {
        const struct judged *self = &world.judgement.items[i].self;
        assert_true(!self->tested || (fabs(self->growth) < 1e-9 && self->low < 0 && self->high > 0));
    }
    assert_false(alarms(&world.judgement));
    close_world(&world);
}

/* Times of runs that were cut off are not compared, only how functions relate. */
/* How wide the interval is of a function that is visited once, in front of a round. */
static double interval_of_a_visit(unsigned once)
{
    const struct program program = {
        .functions = { { 0, 0, 0 }, { 15, .1, 1 }, { 20, .2, 1 }, { 5, .5, 1 }, { 6, .3, 1 } },
        .count = 5,
        .rounds = 100,
        .once_ms = 200,
        .once = once,
    };
    struct world world;
    uint64_t seed = 44;
    compare_sides(&world, &program, 1, FUNCTIONS_MOST, 1, &seed);
    const struct judged self = item_named(&world, "f1")->self;
    close_world(&world);
    assert_true(self.tested);
    return self.high - self.low;
}

/* What comes only when the program starts is not more certain than what comes only in the middle. */
static void the_start_of_a_run_is_as_uncertain_as_its_middle(void **state)
{
    (void)state;
    assert_true(interval_of_a_visit(0) > 0.9 * interval_of_a_visit(50));
}

static void parts_of_runs_are_compared_by_work(void **state)
{
    (void)state;
    struct world world;
    uint64_t seed = 47;
    struct program twice = with_f1;
    twice.rounds *= 2;
    open_world(&world, 1, 5);
    run(&world, &with_f1, 1, FUNCTIONS_MOST, 1, &seed);
    run(&world, &twice, 2, FUNCTIONS_MOST, 1, &seed);
    world.compare.runs[1].whole = false;
    settle(&world);
    assert_false(world.judgement.by_time);
    assert_false(world.judgement.whole.tested);
    assert_false(alarms(&world.judgement));
    assert_true(fabs(world.judgement.scale - 2) < 0.1);
    close_world(&world);
}

/* ---- slices ---- */

static double all_of(const struct slices *slices)
{
    double sum = 0;
    for (size_t i = 0; i < slices->count; i++)
        sum += (double)slices->rows[i].sums[SUM_SAMPLES];
    return sum;
}

static void slices_become_longer_and_lose_nothing(void **state)
{
    (void)state;
    struct slices slices = { 0 };
    const uint64_t sums[SLICE_SUMS] = { 1, MS, MS };
    for (uint64_t i = 0; i < 100000; i++)
        slices_add(&slices, (uint32_t)(i / 7 % 3), i * MS, sums);
    slices_sort(&slices);
    assert_in_range(slices.used, SLICES_MOST / 2, SLICES_MOST);
    assert_true(all_of(&slices) == 100000);
    for (size_t i = 1; i < slices.count; i++)
        assert_true(slices.rows[i - 1].slice <= slices.rows[i].slice);
    slices_free(&slices);
}

/* A damaged recording may claim any time, and times that go back. */
static void any_time_has_a_slice(void **state)
{
    (void)state;
    struct slices slices = { 0 };
    const uint64_t sums[SLICE_SUMS] = { 1, MS, MS };
    const uint64_t times[] = { 5, UINT64_MAX, 0, UINT64_MAX / 2, 7 };
    for (size_t i = 0; i < countof(times); i++)
        slices_add(&slices, 1, times[i], sums);
    slices_sort(&slices);
    assert_true(slices.used <= SLICES_MOST);
    assert_true(all_of(&slices) == countof(times));
    slices_free(&slices);
}

static void a_crowd_of_stacks_makes_fewer_slices(void **state)
{
    (void)state;
    struct slices slices = { 0 };
    const uint64_t sums[SLICE_SUMS] = { 1, MS, MS };
    const uint32_t rows = 40000;
    for (uint64_t i = 0; i < 4000000; i++)
        slices_add(&slices, (uint32_t)(i % rows), i * MS / 40, sums);
    slices_sort(&slices);
    assert_in_range(slices.used, SLICES_LEAST / 2, SLICES_LEAST);
    assert_true(slices.count <= (size_t)rows * SLICES_LEAST);
    assert_true(all_of(&slices) == 4000000);
    slices_free(&slices);
}

/* ---- Student's t ---- */

/* The numbers are those of printed tables. */
static void quantiles_are_those_of_tables(void **state)
{
    (void)state;
    static const struct {
        double probability, freedom, t;
    } rows[] = { { .025, 1, 12.7062 },  { .05, 2, 2.91999 },   { .025, 4, 2.77645 },   { .005, 8, 3.35539 },
                 { .025, 20, 2.08596 }, { .001, 10, 4.14370 }, { .0005, 30, 3.64596 }, { .025, 1000, 1.96234 } };
    for (size_t i = 0; i < countof(rows); i++)
        assert_true(fabs(student_upper(rows[i].probability, rows[i].freedom) / rows[i].t - 1) < 1e-3);
}

TEST_FILE(compare)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_runs_as_it_says_do_tell),
        cmocka_unit_test(new_and_lost_functions_are_found),
        cmocka_unit_test(sums_are_those_of_the_samples),
        cmocka_unit_test(a_run_is_equal_to_itself),
        cmocka_unit_test(the_start_of_a_run_is_as_uncertain_as_its_middle),
        cmocka_unit_test(parts_of_runs_are_compared_by_work),
        cmocka_unit_test(slices_become_longer_and_lose_nothing),
        cmocka_unit_test(any_time_has_a_slice),
        cmocka_unit_test(a_crowd_of_stacks_makes_fewer_slices),
        cmocka_unit_test(quantiles_are_those_of_tables),
        cmocka_unit_test(the_same_program_gives_no_alarm),
        cmocka_unit_test(several_runs_of_the_same_program_give_no_alarm),
        cmocka_unit_test(a_function_made_slower_is_found),
        cmocka_unit_test(with_two_runs_a_side_it_is_found_nearly_always),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
