/* SPDX-License-Identifier: MIT */
#include "record/watch/sampler.h"

#include "formats/base/alloc.h"
#include "formats/intern/hash.h"
#include "formats/intern/intern.h"
#include "record/launch/signals.h"
#include "record/process/clock.h"
#include "record/watch/watched_threads.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define REST_AFTER_NS   20000000u /* a process that has slept for so long rests */
#define REST_PART       8         /* a window of its questions is 1/8 of the time that it has slept, ... */
#define BEAT_NS         16000000u /* ... from this length on so many whole beats, ... */
#define BEATS_LEAST     4         /* ... and never more than these, or of many processes, */
#define BEATS_EACH      16        /* ... than one for 16 of them: about 1,000 questions a second in all, ... */
#define BEATS_MOST      62        /* ... or a second */
#define SHARE_PART      0.25      /* of the way from its limit to its share that a process goes with each measure */
#define RESTING_MEASURE 16        /* a process that rests is measured each so many times */

/* ---- processes ---- */

void sampler_open(struct sampler *sampler, struct sink sink)
{
    const struct synthetic_frames *wanted = &sampler->synthetic;
    sampler->synthetic = (struct synthetic_frames){ .native = wanted->native,
                                                    .gc = wanted->gc,
                                                    .depth = wanted->depth ? wanted->depth : DEPTH_LIMIT,
                                                    .definitions = &sampler->emitter.definitions };
    emitter_open(&sampler->emitter, sink);
    if (getrandom(&sampler->seed, sizeof(sampler->seed), 0) != sizeof(sampler->seed))
        sampler->seed = clock_now_ns();
}

/* ---- missed ticks ---- */

/* Begins a tick of a process: says whose tick it is. */
static void watched_begin_tick(struct sampler *sampler, const struct watched *watched)
{
    sampler->emitter.tick_process = sampler->options.tree ? watched->number : 0;
}

static void emit_missed(struct sampler *sampler, uint64_t missed)
{
    if (missed == 0)
        return;
    emitter_note(
        &sampler->emitter,
        (struct event){ .kind = EVENT_MISSED, .missed = missed, .missed_process = sampler->emitter.tick_process });
    sampler->missed += missed;
}

/* Emits the ticks that a process missed since its last tick, where the next tick of the process cannot tell. */
static void emit_missed_so_far(struct sampler *sampler, struct watched *watched)
{
    watched_begin_tick(sampler, watched);
    emit_missed(sampler, watched->missed);
    watched->missed = 0;
}

/* ---- processes ---- */

struct watched *sampler_watch(struct sampler *sampler, pid_t pid, struct command *command)
{
    struct watched *watched = alloc_zeroed(1, sizeof(*watched));
    watched_open(watched, pid, command, &sampler->options, &sampler->emitter, &sampler->synthetic);
    watched->shared = &sampler->shared;
    sampler->watched = alloc_grow(sampler->watched, &sampler->room, sampler->count + 1, sizeof(*sampler->watched));
    sampler->watched[sampler->count++] = watched;
    sampler->shared.processes = sampler->count;
    return watched;
}

/* How long ago a process was attached that has had a tick; 0: it had none. */
static uint64_t life_ns(const struct sampler *sampler, const struct watched *watched)
{
    return watched->attached && watched->ticked ? clock_now_ns() - sampler->options.start_ns - watched->attached_ns : 0;
}

void sampler_detach(struct sampler *sampler, struct watched *watched, enum fate fate)
{
    emit_missed_so_far(sampler, watched);
    sampler->lived_ns += life_ns(sampler, watched);
    watched_detach(watched, fate);
}

static void free_watched(struct watched *watched)
{
    watched_close(watched);
    free(watched);
}

/* Frees the oldest forgotten process. Waits for its posts. */
static void free_oldest(struct sampler *sampler)
{
    free_watched(sampler->ending[0]);
    memmove(sampler->ending, sampler->ending + 1, --sampler->ending_count * sizeof(*sampler->ending));
}

/* Frees the forgotten processes, up to the first whose posts still end. */
static void sampler_free_ended(struct sampler *sampler)
{
    while (sampler->ending_count > 0 && exact_ended(&sampler->ending[0]->exact))
        free_oldest(sampler);
}

static void free_without_waiting(struct sampler *sampler, struct watched *watched)
{
    exact_end(&watched->exact);
    if (exact_ended(&watched->exact)) {
        free_watched(watched);
        return;
    }
    sampler_free_ended(sampler);
    if (sampler->ending_count == SAMPLER_ENDING)
        free_oldest(sampler);
    sampler->ending[sampler->ending_count++] = watched;
}

/* Later streams do not have a process that has ended: its children are those of its nearest ancestor there. */
static void leave_children(const struct sampler *sampler, const struct watched *parent)
{
    for (size_t i = 0; i < sampler->count && parent->number; i++)
        if (sampler->watched[i]->forebear == parent->number)
            sampler->watched[i]->forebear = parent->forebear;
}

void sampler_forget(struct sampler *sampler, struct watched *watched)
{
    sampler_detach(sampler, watched, FATE_EXITED);
    const struct watched_counters counters = watched_counters(watched); /* those of the posts end with the posts */
    watched_counters_add(&sampler->forgotten, &counters);
    sampler->forgotten_left_out += budget_left_out(&watched->budget);
    leave_children(sampler, watched);
    size_t i = 0;
    while (sampler->watched[i] != watched)
        i++;
    memmove(sampler->watched + i, sampler->watched + i + 1, (--sampler->count - i) * sizeof(*sampler->watched));
    sampler->shared.processes = sampler->count;
    free_without_waiting(sampler, watched);
}

/* The next attached process, from index *from on, and moves *from behind it. NULL: there is none. */
static struct watched *next_attached(const struct sampler *sampler, size_t *from)
{
    while (*from < sampler->count) {
        struct watched *watched = sampler->watched[(*from)++];
        if (watched->attached)
            return watched;
    }
    return NULL;
}

/* Whether another process than this one is attached, too. */
static bool has_others(const struct sampler *sampler, const struct watched *than)
{
    for (size_t i = 0; i < sampler->count; i++)
        if (sampler->watched[i]->attached && sampler->watched[i] != than)
            return true;
    return false;
}

void sampler_close(struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->count; i++)
        free_watched(sampler->watched[i]);
    while (sampler->ending_count > 0)
        free_oldest(sampler);
    free(sampler->watched);
    elf_files_free(&sampler->shared.files);
    code_bodies_free(&sampler->shared.bodies);
    emitter_close(&sampler->emitter);
    sampler->watched = NULL;
    sampler->count = sampler->room = 0;
}

/* ---- whose turn it is ---- */

/* The processor on which the process ran last; UINT32_MAX: not known. */
static uint32_t processor_of(const struct watched *w)
{
    return w->exact.holder.thread ? w->exact.holder.processor : UINT32_MAX;
}

/* How much of a process that ran last on `other` is expected on a processor. A process that was not looked at yet may
 * be on any one, as others may be on its own. */
static double part_on(uint32_t processor, uint32_t other, int processors)
{
    const bool known = processor != UINT32_MAX && other != UINT32_MAX;
    return known ? processor == other : 1.0 / (processors > 0 ? processors : 1);
}

/* The part of a processor's time that ticks of the busy processes on the processor of this one take at the rate that
 * was asked for. */
static double load_beside(const struct sampler *sampler, const struct watched *one)
{
    double load = 0;
    size_t at = 0;
    for (const struct watched *w; (w = next_attached(sampler, &at));)
        if (!w->rest.rests || w == one)
            load += budget_load(&w->budget) *
                    (w == one ? 1 : part_on(processor_of(one), processor_of(w), one->exact.stand.count));
    return load;
}

/* Gives each process the part of the limit that its ticks have in the load of its processor. Processes go from one
 * processor to another all the time, so their parts follow slowly, unless `at_once`: they have become more. */
static void share_limit(const struct sampler *sampler, bool at_once)
{
    size_t at = 0;
    for (struct watched *w; (w = next_attached(sampler, &at));) {
        const double own = budget_load(&w->budget), load = load_beside(sampler, w), had = w->budget.limit;
        const double limit = sampler->options.limit * (own > 0 && load > own ? own / load : 1);
        budget_share(&w->budget, at_once && limit < had ? limit : had + (limit - had) * SHARE_PART);
    }
}

/* The mean cost of a tick of the busy processes; 0: not known. */
static double mean_cost_ns(const struct sampler *sampler)
{
    double sum_ns = 0;
    size_t count = 0, at = 0;
    for (const struct watched *w; (w = next_attached(sampler, &at));) {
        sum_ns += w->rest.rests ? 0 : w->budget.cost_ns;
        count += !w->rest.rests && w->budget.cost_ns > 0;
    }
    return count > 0 ? sum_ns / (double)count : 0;
}

/* After an execve, the children of the program before are those of the program now: only that one is in later streams.
 */
static void hand_children_over(const struct sampler *sampler, const struct watched *parent, uint32_t before)
{
    for (size_t i = 0; i < sampler->count; i++) {
        struct watched *child = sampler->watched[i];
        if (child == parent)
            continue;
        child->parent = child->parent == before ? parent->number : child->parent;
        child->forebear = child->forebear == before ? parent->number : child->forebear;
    }
}

void sampler_attach(struct sampler *sampler, struct watched *watched)
{
    const double cost_ns = mean_cost_ns(sampler);
    const uint32_t before = watched->number;
    watched->budget = (struct budget){ .asked_ns = sampler->options.interval_ns,
                                       .limit = sampler->options.limit,
                                       .even = sampler->options.even,
                                       .left_out = watched->budget.left_out };
    watched_attach(watched);
    if (before)
        hand_children_over(sampler, watched, before);
    budget_open(&watched->budget, clock_now_ns());
    budget_expect(&watched->budget, cost_ns);
    if (sampler->options.tree)
        share_limit(sampler, true);
}

static uint64_t due_ns(const struct watched *watched)
{
    return watched->budget.present.moment_ns;
}

struct watched *sampler_next(const struct sampler *sampler)
{
    struct watched *next = NULL;
    size_t at = 0;
    for (struct watched *w; (w = next_attached(sampler, &at));)
        if (!w->ended && !w->rest.rests && (!next || due_ns(w) < due_ns(next)))
            next = w;
    return next;
}

bool sampler_appoint(struct watched *watched)
{
    const struct moments moments = budget_moments(&watched->budget);
    return watched_appoint(watched, &moments);
}

/* ---- ticks ---- */

/* The time of a tick at this moment of the monotonic clock. Times never go back: the look of another process may have
 * been emitted before. */
static uint64_t time_at(struct sampler *sampler, uint64_t moment_ns)
{
    const uint64_t time_ns = moment_ns - sampler->options.start_ns;
    if (time_ns > sampler->time_ns)
        sampler->time_ns = time_ns;
    return sampler->time_ns;
}

bool sampler_pause(struct sampler *sampler, struct fault *why)
{
    const uint64_t now_ns = clock_now_ns(), last_ns = sampler->time_ns;
    size_t at = 0;
    sampler->continued = signals_continued();
    sampler->paused_ns += sampler->emitter.ticks > 0 ? time_at(sampler, now_ns) - last_ns : 0;
    for (struct watched *w; (w = next_attached(sampler, &at));) {
        watched_threads_pause(w);
        emit_missed_so_far(sampler, w);
        if (!emitter_tick(&sampler->emitter, time_at(sampler, now_ns), why))
            return false;
        budget_begin(&w->budget, now_ns);
        w->rest = (struct rest){ 0 };
    }
    return true;
}

enum sampler_state sampler_tick(struct sampler *sampler, struct watched *watched, uint64_t now_ns, uint64_t missed,
                                struct fault *why)
{
    struct emitter *emitter = &sampler->emitter;
    watched_look(watched, now_ns);
    if (sampler->continued != signals_continued() && !sampler_pause(sampler, why))
        return SAMPLER_STUCK;
    watched_begin_tick(sampler, watched);
    if (sampler->measure_due_ns == 0)
        sampler->measure_due_ns = now_ns;
    emit_missed(sampler, missed);
    const uint64_t time_ns = time_at(sampler, watched->look.moment_ns);
    if (watched_same_program(watched, time_ns)) {
        if (!watched_emit(watched, time_ns, why) || !emitter_tick(emitter, time_ns, why))
            return SAMPLER_STUCK;
        watched->ticked = true;
    }
    return watched->lost ? SAMPLER_LOST : SAMPLER_GOING;
}

static bool tick_again(struct sampler *sampler, struct watched *watched, uint64_t moment_ns, struct fault *why)
{
    const uint64_t time_ns = time_at(sampler, moment_ns);
    watched_begin_tick(sampler, watched);
    return watched_emit_again(watched, time_ns, why) && emitter_tick(&sampler->emitter, time_ns, why);
}

bool sampler_ticks_again(struct sampler *sampler, struct watched *watched, uint64_t count, struct fault *why)
{
    const uint64_t last_ns = watched->look.moment_ns, end_ns = clock_now_ns();
    const uint64_t step_ns = count > 0 && end_ns > last_ns ? (end_ns - last_ns) / count : 0;
    sampler->blocked += count;
    for (uint64_t i = 1; i <= count; i++)
        if (!tick_again(sampler, watched, last_ns + i * step_ns, why))
            return false;
    return true;
}

/* Emits the ticks whose moments were while a look waited for the lock of the process's memory. The process itself held
 * this lock, so what the look found is what the process did all the time. */
static bool emit_waited(struct sampler *sampler, struct watched *watched, uint64_t ticks, struct fault *why)
{
    const struct budget *budget = &watched->budget;
    const uint64_t stands_ns = budget->skipped_ns / ticks;
    sampler->emitter.stands_ns = stands_ns == budget->asked_ns ? 0 : stands_ns;
    return sampler_ticks_again(sampler, watched, ticks, why);
}

/* ---- processes that rest ---- */

/* The moment of a beat, anywhere in the beat's time. */
static uint64_t beat_moment_ns(const struct sampler *sampler, uint64_t beat)
{
    return beat * BEAT_NS + hash_mix(sampler->seed + hash_mix(beat)) % BEAT_NS;
}

/* The most beats of a window. */
static uint64_t beats_most(const struct sampler *sampler)
{
    const uint64_t beats = sampler->shared.processes / BEATS_EACH;
    return beats < BEATS_LEAST ? BEATS_LEAST : beats < BEATS_MOST ? beats : BEATS_MOST;
}

/* Begins the next window of a process that rests, and draws the moment of its question. Long windows are whole beats,
 * so that processes are asked together: each takes the moment of one of its beats. */
static void draw_question(const struct sampler *sampler, struct watched *watched, uint64_t begins_ns)
{
    struct rest *rest = &watched->rest;
    const uint64_t least_ns = watched->budget.asked_ns;
    const uint64_t slept_ns = begins_ns > rest->since_ns ? begins_ns - rest->since_ns : 0;
    const uint64_t part_ns = slept_ns / REST_PART, early_ns = begins_ns % BEAT_NS;
    const uint64_t most = beats_most(sampler), beats = part_ns / BEAT_NS < most ? part_ns / BEAT_NS : most;
    rest->begins_ns = begins_ns;
    if (beats > 0 && early_ns == 0) {
        rest->length_ns = beats * BEAT_NS;
        const uint64_t beat = (uint64_t)(budget_draw(&watched->budget) * (double)beats);
        rest->due_ns = beat_moment_ns(sampler, begins_ns / BEAT_NS + beat);
        return;
    }
    const uint64_t own_ns = part_ns > least_ns ? part_ns : least_ns;
    rest->length_ns = beats > 0 ? BEAT_NS - early_ns : own_ns; /* up to the next beat, or of its own length */
    rest->due_ns = begins_ns + (uint64_t)(budget_draw(&watched->budget) * (double)rest->length_ns);
}

/* Notes that a process that rests has a question. */
static void note_question(struct sampler *sampler, const struct watched *watched)
{
    if (sampler->rest_due_ns == 0 || watched->rest.due_ns < sampler->rest_due_ns)
        sampler->rest_due_ns = watched->rest.due_ns;
}

/* Notes what the last tick says about the process's sleep, and lets the process rest if it sleeps for long. */
static void note_sleep(struct sampler *sampler, struct watched *watched)
{
    struct rest *rest = &watched->rest;
    if (!watched->look.slept || watched->lost) {
        rest->since_ns = 0;
        return;
    }
    if (rest->since_ns == 0)
        rest->since_ns = watched->look.moment_ns;
    rest->rests = watched->look.moment_ns - rest->since_ns >= REST_AFTER_NS && watched->missed == 0 &&
                  has_others(sampler, watched);
    if (!rest->rests)
        return;
    draw_question(sampler, watched, watched->budget.present.begins_ns); /* the end of the last tick's interval */
    note_question(sampler, watched);
}

uint64_t sampler_rest_due_ns(const struct sampler *sampler)
{
    return sampler->rest_due_ns ? sampler->rest_due_ns : UINT64_MAX;
}

/* Asks whether a process that rests has run, and makes the tick of its window. When the process has run, it rests no
 * more: from the end of the window on, ticks come in the moments of its budget. */
static enum sampler_state sampler_ask(struct sampler *sampler, struct watched *watched, struct fault *why)
{
    const uint64_t now_ns = clock_now_ns(), end_ns = watched->rest.begins_ns + watched->rest.length_ns;
    const uint64_t next_ns = end_ns > now_ns ? end_ns : now_ns;
    sampler->emitter.stands_ns = watched->rest.length_ns;
    if (watched_sleeps_on(watched)) {
        draw_question(sampler, watched, next_ns);
        return tick_again(sampler, watched, now_ns, why) ? SAMPLER_GOING : SAMPLER_STUCK;
    }
    watched->rest = (struct rest){ 0 };
    const enum sampler_state state = sampler_tick(sampler, watched, now_ns, 0, why);
    budget_begin(&watched->budget, next_ns);
    return state;
}

enum sampler_state sampler_ask_resting(struct sampler *sampler, uint64_t now_ns, struct fault *why)
{
    if (now_ns < sampler_rest_due_ns(sampler))
        return SAMPLER_GOING;
    sampler->rest_due_ns = 0;
    size_t at = 0;
    for (struct watched *w; (w = next_attached(sampler, &at));) {
        if (!w->rest.rests || w->ended)
            continue;
        if (w->rest.due_ns <= now_ns && sampler_ask(sampler, w, why) == SAMPLER_STUCK)
            return SAMPLER_STUCK;
        if (w->rest.rests)
            note_question(sampler, w);
    }
    return SAMPLER_GOING;
}

/* ---- turns ---- */

enum sampler_state sampler_turn(struct sampler *sampler, struct watched *watched, struct fault *why)
{
    struct budget *budget = &watched->budget;
    const uint64_t taken_ns = watched_taken_ns(watched), missed = watched->missed;
    const uint32_t continued = sampler->continued;
    watched->missed = 0;
    sampler->emitter.stands_ns = budget_stands_ns(budget);
    const enum sampler_state state = sampler_tick(sampler, watched, clock_now_ns(), missed, why);
    stand_end_tick(&watched->exact.stand);
    if (state != SAMPLER_GOING)
        return state;
    if (signals_continued() != continued) /* a signal stopped the recorder meanwhile: the time is no wait */
        return state;
    const bool waited = watched->look.waited;
    watched->missed = budget_pass(budget, watched_taken_ns(watched) - taken_ns, clock_now_ns(), waited);
    note_sleep(sampler, watched);
    if (watched->missed == 0)
        return state;
    if (!waited) {
        sampler->missed_ns += budget->skipped_ns;
        return state;
    }
    const uint64_t ticks = watched->missed;
    watched->missed = 0;
    return emit_waited(sampler, watched, ticks, why) ? state : SAMPLER_STUCK;
}

/* ---- measures ---- */

uint64_t sampler_measure_due_ns(const struct sampler *sampler)
{
    return sampler->measure_due_ns ? sampler->measure_due_ns : UINT64_MAX;
}

void sampler_measure(struct sampler *sampler, uint64_t now_ns)
{
    const uint64_t recorder_cpu_ns = meter_own_cpu_ns();
    sampler_free_ended(sampler);
    const bool all = sampler->measures++ % RESTING_MEASURE == 0;
    size_t at = 0;
    for (struct watched *watched; (watched = next_attached(sampler, &at));)
        if (all || !watched->rest.rests)
            watched_measure(watched, recorder_cpu_ns);
    if (sampler->options.tree)
        share_limit(sampler, false);
    /* Measures that are late do not move later ones. */
    const uint64_t late_ns = now_ns > sampler->measure_due_ns ? now_ns - sampler->measure_due_ns : 0;
    sampler->measure_due_ns += (late_ns / SAMPLER_MEASURE_NS + 1) * SAMPLER_MEASURE_NS;
}

bool sampler_settle(struct sampler *sampler)
{
    bool left = false;
    for (size_t i = 0; sampler->options.freezes && i < sampler->count; i++)
        left |= freeze_settle(&sampler->watched[i]->freeze);
    return left;
}

void sampler_flush(struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->count; i++) {
        emit_missed_so_far(sampler, sampler->watched[i]);
        watched_flush(sampler->watched[i]);
    }
}

/* A process that never ran Python has no children of its own: its ancestor has. So it comes last. */
static int compare_first(const void *one, const void *another)
{
    const struct watched *const *a = one, *const *b = another;
    const uint32_t first = (*a)->first - 1, other = (*b)->first - 1; /* 0 becomes the largest number */
    return (first > other) - (first < other);
}

/* All processes, parents before their children. The caller frees the array. */
static struct watched **parents_first(const struct sampler *sampler)
{
    struct watched **all = alloc_zeroed(sampler->count + 1, sizeof(struct watched *));
    for (size_t i = 0; i < sampler->count; i++)
        all[i] = sampler->watched[i];
    qsort(all, sampler->count, sizeof(struct watched *), compare_first);
    return all;
}

/* Emits a process anew. `numbers`: the new numbers of processes by their numbers in the stream before. A process that
 * is not in the new stream has the number of its nearest ancestor there. */
static void watched_emit_anew(struct watched *watched, struct intern_pairs *numbers)
{
    const uint32_t before = watched->number;
    watched_descends(watched, intern_pairs_find(numbers, watched->forebear, 0));
    watched->number = watched->first = 0;
    watched_restart(watched);
    const uint32_t now = watched->number ? watched->number : watched->parent;
    if (before && now)
        intern_pairs_add(numbers, before, 0, now);
}

void sampler_restart(struct sampler *sampler)
{
    struct watched **all = parents_first(sampler);
    struct intern_pairs numbers = { 0 };
    emitter_restart(&sampler->emitter);
    for (size_t i = 0; i < sampler->count; i++)
        watched_emit_anew(all[i], &numbers);
    intern_pairs_free(&numbers);
    free(all);
}

/* ---- counters ---- */

uint64_t sampler_taken_ns(const struct sampler *sampler)
{
    uint64_t taken_ns = sampler->forgotten.taken_ns;
    for (size_t i = 0; i < sampler->count; i++)
        taken_ns += watched_taken_ns(sampler->watched[i]);
    return taken_ns;
}

uint64_t sampler_lives_ns(const struct sampler *sampler)
{
    uint64_t sum_ns = sampler->lived_ns;
    for (size_t i = 0; i < sampler->count; i++)
        sum_ns += life_ns(sampler, sampler->watched[i]);
    return sum_ns;
}

uint64_t sampler_left_out(const struct sampler *sampler)
{
    uint64_t left_out = sampler->forgotten_left_out;
    for (size_t i = 0; i < sampler->count; i++)
        left_out += budget_left_out(&sampler->watched[i]->budget);
    return left_out;
}

struct watched_counters sampler_counters(const struct sampler *sampler)
{
    struct watched_counters sum = sampler->forgotten;
    for (size_t i = 0; i < sampler->count; i++) {
        const struct watched_counters counters = watched_counters(sampler->watched[i]);
        watched_counters_add(&sum, &counters);
    }
    return sum;
}
