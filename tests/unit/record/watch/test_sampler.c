/* SPDX-License-Identifier: MIT */
/* Ticks over a small CPython in fake memory. The process is ourselves as far as /proc is asked. */
#include "record/watch/sampler.h"

#include "formats/base/alloc.h"
#include "formats/model/tables.h"
#include "record/process/clock.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

/* What the sampler told, as a text: "thread 1, <module>:3, tick". */
struct heard {
    struct tables tables;
    char text[4096];
    size_t used;
    uint64_t tick_ns; /* the time of the last tick */
};

__attribute__((format(printf, 2, 3))) static void add(struct heard *heard, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (heard->used > 0)
        heard->used += (size_t)snprintf(heard->text + heard->used, sizeof(heard->text) - heard->used, ", ");
    heard->used += (size_t)vsnprintf(heard->text + heard->used, sizeof(heard->text) - heard->used, format, values);
    va_end(values);
    assert_true(heard->used < sizeof(heard->text));
}

static bool take(void *self, struct event *event, struct fault *why)
{
    struct heard *heard = self;
    if (!tables_take(&heard->tables, event, why))
        fail_msg("%s", why->text);
    const struct stack *stacks = heard->tables.stacks;
    switch (event->kind) {
    case EVENT_THREAD:
        add(heard, "thread %u tid %u%s", event->thread.number, event->thread.tid, event->thread.main ? " main" : "");
        break;
    case EVENT_THREAD_END:
        add(heard, "end of %u", event->change.number);
        break;
    case EVENT_RUN:
        add(heard, "%u:", event->run.thread);
        for (uint32_t stack = event->run.stack; stack; stack = stacks[stack].caller)
            heard->used += (size_t)snprintf(heard->text + heard->used, sizeof(heard->text) - heard->used, " %u",
                                            heard->tables.frames[stacks[stack].frame].line);
        break;
    case EVENT_FAILED:
        add(heard, "%u failed: %s", event->failed.thread, event_failure_text(event->failed.cause));
        break;
    case EVENT_MISSED:
        add(heard, "missed %lu", event->missed);
        break;
    case EVENT_TICK:
        add(heard, "tick");
        if (event->tick_process)
            heard->used += (size_t)snprintf(heard->text + heard->used, sizeof(heard->text) - heard->used, " of %u",
                                            event->tick_process);
        heard->tick_ns = event->tick_ns;
        break;
    default:
        break;
    }
    return true;
}

struct scene {
    struct fake_python *p;
    struct heard heard;
    struct sampler sampler;
    struct watched *watched;
    uint64_t f;
};

static void begin(struct scene *scene, uint32_t version, enum threads which)
{
    *scene = (struct scene){ .p = fake_python_start(version) };
    struct fake_python *p = scene->p;
    const struct layout *l = &p->target.runtime.layout;
    p->target.pid = p->target.ns_pid = p->target.remote.pid = getpid();
    fake_poke(p, p->threads[0].address + l->thread_native_id, (uint64_t)getpid());
    scene->f = fake_code(p, "f", 20, 9);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, scene->f, 1 } }, 1);
    scene->sampler = (struct sampler){ .options = {
                                           .interval_ns = 1000000, .which = which, .start_ns = clock_now_ns() } };
    sampler_open(&scene->sampler, (struct sink){ .take = take, .self = &scene->heard });
    scene->watched = sampler_watch(&scene->sampler, getpid(), NULL);
    scene->watched->target = p->target;
    watched_attach(scene->watched);
    scene->watched->rows.looked = true; /* the numbers in the first look are believed */
}

static void end(struct scene *scene)
{
    scene->p->target.interpreters = NULL; /* the sampler has taken over the target */
    sampler_close(&scene->sampler);
    tables_free(&scene->heard.tables);
    fake_python_end(scene->p);
}

static void assert_tick(struct scene *scene, const char *wanted)
{
    scene->heard.used = 0;
    scene->heard.text[0] = '\0';
    assert_int_equal(sampler_tick(&scene->sampler, scene->watched, clock_now_ns(), 0, NULL), SAMPLER_GOING);
    if (strcmp(scene->heard.text, wanted) != 0)
        fail_msg("Python %x: '%s' and should be '%s'", scene->p->target.runtime.layout.version, scene->heard.text,
                 wanted);
}

/* A thread does something: it takes the lock, else nobody believes it. */
static void act(struct fake_python *p, size_t thread, const struct fake_frame *frames, size_t count)
{
    fake_take_lock(p, thread);
    fake_stack(p, thread, frames, count);
}

static void text_with_us(char *room, size_t size, const char *before, const char *after)
{
    snprintf(room, size, "%sthread 1 tid %d main%s", before, (int)getpid(), after);
}

static void threads_come_and_go(void **state)
{
    (void)state;
    for (size_t v = 0; v < countof(fake_versions); v++) {
        struct scene scene;
        char wanted[200];
        begin(&scene, fake_versions[v], THREADS_ALL);
        struct fake_python *p = scene.p;
        const struct layout *l = &p->target.runtime.layout;
        text_with_us(wanted, sizeof(wanted), "", ", 1: 21, tick");
        assert_tick(&scene, wanted);
        assert_tick(&scene, "1: 21, tick");
        const size_t worker = fake_thread(p, 77);
        act(p, worker, (struct fake_frame[]){ { PLAIN, scene.f, 2 }, { PLAIN, scene.f, 3 } }, 2);
        assert_tick(&scene, "thread 2 tid 77, 2: 23 22, 1: 21, tick");
        act(p, worker, (struct fake_frame[]){ { PLAIN, scene.f, 2 } }, 1);
        assert_tick(&scene, "2: 22, 1: 21, tick");
        /* It ends, and another comes to its place. */
        fake_poke(p, p->threads[worker].address + l->thread_native_id, 78);
        assert_tick(&scene, "end of 2, thread 3 tid 78, 3: 22, 1: 21, tick");
        fake_poke(p, p->interpreter + l->interpreter_threads_head, p->threads[0].address);
        fake_poke(p, p->threads[0].address + l->thread_prev, 0);
        assert_tick(&scene, "end of 3, 1: 21, tick");
        assert_int_equal(scene.sampler.emitter.samples, 9);
        assert_int_equal(scene.sampler.emitter.ticks, 6);
        end(&scene);
    }
}

static void only_the_main_thread_when_that_is_wanted(void **state)
{
    (void)state;
    for (size_t v = 0; v < countof(fake_versions); v++) {
        struct scene scene;
        char wanted[200];
        begin(&scene, fake_versions[v], THREADS_MAIN);
        const size_t worker = fake_thread(scene.p, 77);
        act(scene.p, worker, (struct fake_frame[]){ { PLAIN, scene.f, 2 } }, 1);
        text_with_us(wanted, sizeof(wanted), "", ", 1: 21, tick");
        assert_tick(&scene, wanted);
        assert_tick(&scene, "1: 21, tick");
        end(&scene);
    }
}

static void missed_ticks_are_told(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030f02f0, THREADS_ALL);
    assert_int_equal(sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 7, NULL), SAMPLER_GOING);
    assert_int_equal(strncmp(scene.heard.text, "missed 7, ", 10), 0);
    assert_int_equal(scene.sampler.missed, 7);
    end(&scene);
}

/* Where no tick follows that could tell: before a pause, the end of the stream, and the end of the process. */
static void ticks_that_were_missed_at_last_are_told(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030f02f0, THREADS_ALL);
    assert_int_equal(sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL), SAMPLER_GOING);
    scene.heard.used = 0;
    scene.watched->missed = 2;
    assert_true(sampler_pause(&scene.sampler, NULL));
    assert_string_equal(scene.heard.text, "missed 2, tick");
    scene.heard.used = 0;
    scene.watched->missed = 3;
    sampler_flush(&scene.sampler);
    sampler_flush(&scene.sampler);
    assert_string_equal(scene.heard.text, "missed 3");
    scene.heard.used = 0;
    scene.watched->missed = 4;
    sampler_forget(&scene.sampler, scene.watched);
    assert_string_equal(scene.heard.text, "missed 4, end of 1");
    assert_int_equal(scene.sampler.missed, 2 + 3 + 4);
    end(&scene);
}

static void a_pause_is_a_tick_without_samples(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030f02f0, THREADS_ALL);
    const uint64_t start_ns = scene.sampler.options.start_ns;
    assert_int_equal(sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL), SAMPLER_GOING);
    const uint64_t samples = scene.sampler.emitter.samples, last_ns = scene.watched->look.moment_ns;
    scene.heard.used = 0;
    fake_remote_time(last_ns + 5000, 0);
    assert_true(sampler_pause(&scene.sampler, NULL));
    assert_string_equal(scene.heard.text, "tick");
    assert_int_equal(scene.heard.tick_ns, last_ns + 5000 - start_ns);
    assert_int_equal(scene.sampler.paused_ns, 5000);
    assert_int_equal(scene.sampler.emitter.samples, samples);
    assert_tick(&scene, "1: 21, tick");
    end(&scene);
    fake_remote_reset();
}

/* ---- lists that make no sense ---- */

static void another_stream_gets_all_that_lives(void **state)
{
    (void)state;
    for (size_t v = 0; v < countof(fake_versions); v++) {
        struct scene scene;
        char wanted[200];
        begin(&scene, fake_versions[v], THREADS_ALL);
        scene.sampler.emitter.in_parts = true;
        const size_t ended = fake_thread(scene.p, 76);
        act(scene.p, ended, (struct fake_frame[]){ { PLAIN, scene.f, 2 } }, 1);
        text_with_us(wanted, sizeof(wanted), "", ", thread 2 tid 76, 2: 22, 1: 21, tick");
        assert_tick(&scene, wanted);
        const struct layout *l = &scene.p->target.runtime.layout;
        fake_poke(scene.p, scene.p->threads[ended].address + l->thread_native_id, 77);
        assert_tick(&scene, "end of 2, thread 3 tid 77, 3: 22, 1: 21, tick");
        sampler_flush(&scene.sampler);
        tables_free(&scene.heard.tables); /* the stream ends */
        scene.heard.used = 0;
        sampler_restart(&scene.sampler);
        text_with_us(wanted, sizeof(wanted), "", ", thread 2 tid 77");
        assert_string_equal(scene.heard.text, wanted);
        assert_tick(&scene,
                    "2: 22, 1: 21, tick"); /* the tables refuse what was not defined, and frames that do not stay */
        assert_int_equal(emitter_threads(&scene.sampler.emitter), 3);
        end(&scene);
    }
}

static void a_broken_thread_fails_alone(void **state)
{
    (void)state;
    for (size_t v = 0; v < countof(fake_versions); v++) {
        struct scene scene;
        begin(&scene, fake_versions[v], THREADS_ALL);
        struct fake_python *p = scene.p;
        sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL);
        const size_t worker = fake_thread(p, 77);
        act(p, worker, (struct fake_frame[]){ { PLAIN, scene.f, 2 } }, 1);
        sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL);
        fake_take_lock(p, worker);
        fake_poke(p, fake_leaf_at(p, worker), 0x1234);
        assert_tick(&scene, fake_layout(p)->thread_cframe ? "2 failed: changed while read, 1: 21, tick"
                                                          : "2 failed: memory unreadable, 1: 21, tick");
        act(p, worker, (struct fake_frame[]){ { PLAIN, scene.f, 2 } }, 1);
        assert_tick(&scene, "2: 22, 1: 21, tick");
        assert_int_equal(scene.sampler.emitter.failed, 1);
        end(&scene);
    }
}

static void a_ring_of_threads_is_left(void **state)
{
    (void)state;
    for (size_t v = 0; v < countof(fake_versions); v++) {
        struct scene scene;
        begin(&scene, fake_versions[v], THREADS_ALL);
        struct fake_python *p = scene.p;
        const struct layout *l = &p->target.runtime.layout;
        sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL);
        const size_t worker = fake_thread(p, 77);
        act(p, worker, (struct fake_frame[]){ { PLAIN, scene.f, 2 } }, 1);
        sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL);
        const uint64_t first = p->threads[worker].address, last = p->threads[0].address;
        fake_take_lock(p, 0);
        fake_poke(p, last + l->thread_next, first);
        assert_tick(&scene, "1 failed: list of threads unreadable, 2 failed: list of threads unreadable, tick");
        /* One that even says who is before it. */
        fake_poke(p, first + l->thread_prev, last);
        const uint64_t calls = scene.watched->target.remote.calls;
        assert_tick(&scene, "1 failed: list of threads unreadable, 2 failed: list of threads unreadable, tick");
        assert_true(scene.watched->target.remote.calls - calls < 100000);
        fake_poke(p, first + l->thread_prev, 0);
        fake_poke(p, last + l->thread_next, 0);
        assert_tick(&scene, "2: 22, 1: 21, tick");
        end(&scene);
    }
}

static void a_lost_list_is_a_failure_of_all(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030e0af0, THREADS_ALL);
    struct fake_python *p = scene.p;
    const uint64_t head = p->interpreter + p->target.runtime.layout.interpreter_threads_head;
    fake_poke(p, head, 0x10);
    assert_tick(&scene, "0 failed: list of threads unreadable, tick");
    fake_poke(p, head, p->threads[0].address);
    sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL);
    fake_poke(p, head, 0x10);
    assert_tick(&scene, "1 failed: list of threads unreadable, tick");
    fake_poke(p, p->threads[0].address + p->target.runtime.layout.thread_interpreter, 0);
    assert_tick(&scene, "1 failed: list of threads unreadable, tick");
    end(&scene);
}

/* A thread was read, and then another interpreter was in the place of its own. */
static void a_thread_stays_in_its_interpreter(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030e0af0, THREADS_ALL);
    struct fake_python *p = scene.p;
    const struct layout *l = &p->target.runtime.layout;
    sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL);
    const uint64_t newer = fake_room(p, FAKE_INTERPRETER);
    fake_poke(p, newer + l->interpreter_next, p->interpreter);
    fake_poke(p, newer + l->interpreter_id, 1);
    fake_poke(p, newer + l->interpreter_threads_head, 0x10);
    fake_poke(p, p->target.runtime.address + l->runtime_interpreters_head, newer);
    fake_thread(p, 77);
    assert_tick(&scene, "1 failed: list of threads unreadable, tick");
    fake_poke(p, newer + l->interpreter_threads_head, 0);
    assert_tick(&scene, "thread 2 tid 77, 2:, 1: 21, tick");
    end(&scene);
}

static void the_end_of_the_process_is_told(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030f02f0, THREADS_ALL);
    sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL);
    fake_remote_answer(REMOTE_GONE);
    assert_int_equal(sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL), SAMPLER_LOST);
    scene.heard.used = 0;
    watched_detach(scene.watched, FATE_EXITED);
    assert_string_equal(scene.heard.text, "end of 1");
    assert_int_not_equal(scene.heard.tables.processes[1].end_ns, 0);
    end(&scene);
}

/* After execve the process is another program with the same number: counters go on, and what is defined stays so. */
static void a_process_may_become_another_program(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030e0af0, THREADS_ALL);
    struct watched *watched = scene.watched;
    sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL);
    const struct watched_counters before = sampler_counters(&scene.sampler);
    struct target again = watched->target;
    again.interpreters = NULL; /* freed with the first program */
    again.interpreters_count = again.interpreters_room = 0;
    watched_detach(watched, FATE_EXECED);
    assert_int_equal(sampler_counters(&scene.sampler).reads, before.reads);
    watched->target = again;
    watched->target.remote.calls = watched->target.remote.pieces = watched->target.remote.bytes = 0;
    watched_attach(watched);
    assert_int_equal(watched->number, 2);
    scene.heard.used = 0;
    sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL);
    const struct watched_counters after = sampler_counters(&scene.sampler);
    assert_int_equal(after.code_reads, 2);
    assert_int_equal(after.unproved, 2);
    assert_true(after.reads > before.reads);
    assert_int_equal(scene.heard.tables.frames_count, 1 + 1);
    assert_int_equal(scene.heard.tables.threads_count, 1 + 2);
    end(&scene);
}

/* A recording of several processes: each has threads of its own, and a frame that both have is defined once. */
static void each_process_has_its_own_ticks(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030e0af0, THREADS_ALL);
    struct watched *first = scene.watched, *second = sampler_watch(&scene.sampler, getpid(), NULL);
    scene.sampler.options.tree = true;
    second->target = scene.p->target; /* the same memory, seen as another process; its interpreters are not read yet */
    sampler_attach(&scene.sampler, second);
    assert_int_equal(second->number, 2);
    sampler_tick(&scene.sampler, first, clock_now_ns(), 0, NULL);
    assert_tick(&scene, "1: 21, tick of 1");
    scene.watched = second;
    sampler_tick(&scene.sampler, second, clock_now_ns(), 0, NULL);
    assert_tick(&scene, "2: 21, tick of 2");
    assert_int_equal(scene.heard.tables.threads[2].thread.process, 2);
    assert_int_equal(scene.heard.tables.frames_count, 1 + 1);
    assert_int_equal(sampler_counters(&scene.sampler).code_reads, 2);
    sampler_forget(&scene.sampler, second);
    assert_int_equal(scene.sampler.count, 1);
    scene.watched = first;
    assert_tick(&scene, "1: 21, tick of 1");
    assert_int_equal(sampler_counters(&scene.sampler).code_reads, 2);
    end(&scene);
}

/* The process whose moment is the earliest has its turn first. A process that has ended has none. */
static void the_earliest_moment_is_next(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030e0af0, THREADS_ALL);
    struct watched *first = scene.watched, *second = sampler_watch(&scene.sampler, getpid(), NULL);
    second->target = scene.p->target;
    sampler_attach(&scene.sampler, second);
    first->budget.present.moment_ns = 1000;
    second->budget.present.moment_ns = 2000;
    assert_ptr_equal(sampler_next(&scene.sampler), first);
    first->budget.present.moment_ns = 3000;
    assert_ptr_equal(sampler_next(&scene.sampler), second);
    second->ended = true;
    assert_ptr_equal(sampler_next(&scene.sampler), first);
    first->rest.rests = true;
    assert_null(sampler_next(&scene.sampler));
    end(&scene);
}

/* A process that rests is asked once in each window. Windows follow one another without gaps. Long ones are beats. */
static void questions_come_in_windows(void **state)
{
    (void)state;
    static const struct {
        uint64_t slept_ns, early_ns, length_ns; /* of the next window; `early_ns` behind the start of a beat */
    } windows[] = {
        { 40 * MS, 3 * MS, 5 * MS },    { 40 * MS, 0, 5 * MS },    { 4 * MS, 0, MS },
        { 130 * MS, 3 * MS, 13 * MS },  { 130 * MS, 0, 16 * MS },  { 300 * MS, 0, 32 * MS },
        { 9000 * MS, 15 * MS, 1 * MS }, { 9000 * MS, 0, 64 * MS },
    };
    struct scene scene;
    struct fault why = { 0 };
    begin(&scene, 0x030e0af0, THREADS_ALL);
    struct rest *rest = &scene.watched->rest;
    scene.watched->budget.asked_ns = MS;
    scene.watched->look.idle_looked = scene.watched->idle.asleep = true; /* and there are no notes that could change */
    for (size_t i = 0; i < countof(windows); i++) {
        const uint64_t beat_ns = (clock_now_ns() / (16 * MS) + 1000) * 16 * MS,
                       begins_ns = beat_ns + windows[i].early_ns;
        *rest = (struct rest){ .rests = true, .since_ns = begins_ns - windows[i].slept_ns, .length_ns = begins_ns };
        scene.sampler.rest_due_ns = 1;
        assert_int_equal(sampler_ask_resting(&scene.sampler, 1, &why), SAMPLER_GOING);
        assert_true(rest->rests);
        assert_int_equal(rest->begins_ns, begins_ns);
        assert_int_equal(rest->length_ns, windows[i].length_ns);
        assert_in_range(rest->due_ns, begins_ns, begins_ns + windows[i].length_ns - 1);
        assert_int_equal(sampler_rest_due_ns(&scene.sampler), rest->due_ns);
    }
    end(&scene);
}

/* Measures until the shares of the limit have settled. */
static void settle_shares(struct scene *scene)
{
    for (int i = 0; i < 80; i++)
        sampler_measure(&scene->sampler, clock_now_ns());
}

/* Begins with two processes of a tree that have a limit. Returns the second one, which is not attached yet. */
static struct watched *begin_two(struct scene *scene)
{
    begin(scene, 0x030e0af0, THREADS_ALL);
    scene->sampler.options.tree = true;
    scene->sampler.options.limit = 0.01;
    return sampler_watch(&scene->sampler, getpid(), NULL);
}

/* Processes on one processor share the limit by the cost of their ticks. */
static void the_limit_is_that_of_a_processor(void **state)
{
    (void)state;
    struct scene scene;
    struct watched *const second = begin_two(&scene), *const first = scene.watched;
    second->target = scene.p->target;
    sampler_attach(&scene.sampler, second);
    first->budget = second->budget;
    first->exact.stand.count = second->exact.stand.count = 2;
    first->budget.cost_ns = 30000;
    second->budget.cost_ns = 10000;
    first->exact.holder.processor = second->exact.holder.processor = 1;
    first->exact.holder.thread = second->exact.holder.thread = 1;
    settle_shares(&scene);
    assert_float_equal(first->budget.limit, 0.0075, 1e-9);
    assert_float_equal(second->budget.limit, 0.0025, 1e-9);
    second->exact.holder.processor = 0;
    settle_shares(&scene);
    assert_float_equal(first->budget.limit, 0.01, 1e-9);
    second->exact.holder.processor = 1;
    second->rest.rests = true;
    settle_shares(&scene);
    assert_float_equal(first->budget.limit, 0.01, 1e-9);
    end(&scene);
}

/* A process that was just attached may be on any processor: those that are there give way at once. */
static void a_new_process_shares_the_limit_at_once(void **state)
{
    (void)state;
    struct scene scene;
    struct watched *const second = begin_two(&scene), *const first = scene.watched;
    first->budget = (struct budget){ .asked_ns = 1000000, .limit = 0.01, .cost_ns = 40000, .interval_ns = 4000000 };
    first->exact.stand.count = second->exact.stand.count = 2;
    first->exact.holder.thread = 1;
    second->target = scene.p->target;
    sampler_attach(&scene.sampler, second);
    assert_float_equal(first->budget.limit, 0.01 * 2 / 3, 1e-9);
    assert_float_equal(second->budget.limit, 0.01 * 2 / 3, 1e-9);
    assert_in_range(first->budget.interval_ns, 5990000, 6000000);
    second->exact.holder.thread = 1;
    settle_shares(&scene);
    assert_float_equal(first->budget.limit, 0.005, 1e-9);
    end(&scene);
}

/* What ended takes no memory any more; its work still counts. */
static void a_process_that_is_forgotten_still_counts(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030e0af0, THREADS_ALL);
    struct watched *second = sampler_watch(&scene.sampler, getpid(), NULL);
    struct watched *third = sampler_watch(&scene.sampler, getpid(), NULL);
    second->target = third->target = scene.p->target;
    watched_attach(second);
    watched_attach(third);
    for (size_t i = 0; i < scene.sampler.count; i++)
        sampler_tick(&scene.sampler, scene.sampler.watched[i], clock_now_ns(), 0, NULL);
    second->look.frozen_ns = 5;
    const struct watched_counters before = sampler_counters(&scene.sampler);
    assert_int_equal(before.code_reads, 3);
    assert_int_equal(before.taken_ns, 5);
    sampler_forget(&scene.sampler, second);
    assert_int_equal(scene.sampler.count, 2);
    struct watched_counters after = sampler_counters(&scene.sampler);
    assert_true(after.cpu_ns > 0);
    after.cpu_ns = 0; /* of those that have ended */
    assert_memory_equal(&before, &after, sizeof(before));
    assert_int_equal(sampler_taken_ns(&scene.sampler), 5);
    assert_tick(&scene, "1: 21, tick");
    sampler_forget(&scene.sampler, third);
    assert_tick(&scene, "1: 21, tick");
    assert_int_equal(sampler_counters(&scene.sampler).taken_ns, 5);
    end(&scene);
}

/* Ticks that fell into a look which waited lie between that look and now. */
static void run_another_program(struct scene *scene, struct watched *watched)
{
    struct target again = watched->target;
    again.interpreters = NULL; /* freed with the first program */
    again.interpreters_count = again.interpreters_room = 0;
    sampler_detach(&scene->sampler, watched, FATE_EXECED);
    watched->target = again;
}

static struct watched *watch_child(struct scene *scene, uint32_t parent, bool attached)
{
    struct watched *child = sampler_watch(&scene->sampler, getpid(), NULL);
    watched_descends(child, parent);
    child->target = scene->p->target;
    child->target.interpreters = NULL;
    child->target.interpreters_count = child->target.interpreters_room = 0;
    if (attached)
        sampler_attach(&scene->sampler, child);
    return child;
}

static void start_another_stream(struct scene *scene)
{
    sampler_flush(&scene->sampler);
    tables_free(&scene->heard.tables);
    scene->heard.used = 0;
    sampler_restart(&scene->sampler);
}

static uint32_t told_parent(const struct scene *scene, const struct watched *watched)
{
    return scene->heard.tables.processes[watched->number].process.parent;
}

/* After fork(), the child's thread state has the number of the parent's thread: CPython brings it up to date, and
 * fork() of C never does. The memory of the C library says which thread it is. The states of the parent's other threads
 * are those of no thread. */
static void a_forked_process_has_its_own_threads_only(void **state)
{
    (void)state;
    for (size_t v = 0; v < countof(fake_versions); v++) {
        struct scene scene;
        char wanted[200];
        begin(&scene, fake_versions[v], THREADS_ALL);
        scene.watched->rows.looked = false;
        struct fake_python *p = scene.p;
        const struct layout *l = &p->target.runtime.layout;
        const uint32_t numbers[] = { (uint32_t)getpid(), (uint32_t)getppid() };
        const uint64_t states[] = { p->threads[0].address, p->threads[fake_thread(p, 1)].address };
        for (size_t i = 0; i < countof(states); i++) {
            const uint64_t pthread = fake_room(p, 1024);
            fake_poke(p, states[i] + l->thread_native_id, (uint64_t)getppid() - i);
            fake_poke(p, states[i] + l->thread_id, pthread);
            fake_poke4(p, pthread + 720, numbers[i]); /* glibc on x86-64 */
            fake_poke4(p, pthread + 208, numbers[i]); /* on aarch64 */
        }
        text_with_us(wanted, sizeof(wanted), "", ", 1: 21, tick");
        assert_tick(&scene, wanted);
        fake_poke(p, states[0] + l->thread_native_id, (uint64_t)getpid());
        assert_tick(&scene, "1: 21, tick");
        end(&scene);
    }
}

/* A child of a program that called execve() is the child of the next program in later streams. While no program is
 * known, the child is that of the nearest ancestor that is. */
static void parents_that_became_another_program_stay_parents(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030f02f0, THREADS_ALL);
    struct watched *root = scene.watched, *parent = watch_child(&scene, 1, true);
    struct watched *before = watch_child(&scene, parent->number, true);
    struct watched *after = watch_child(&scene, parent->number, false);
    run_another_program(&scene, parent);
    sampler_attach(&scene.sampler, parent);
    sampler_attach(&scene.sampler, after);
    assert_int_equal(told_parent(&scene, before), 2);
    assert_int_equal(told_parent(&scene, parent), 2); /* the program before */
    assert_int_equal(told_parent(&scene, after), parent->number);
    start_another_stream(&scene);
    assert_int_equal(told_parent(&scene, root), 0);
    assert_int_equal(told_parent(&scene, parent), root->number);
    assert_int_equal(told_parent(&scene, before), parent->number);
    assert_int_equal(told_parent(&scene, after), parent->number);
    run_another_program(&scene, parent);
    struct watched *late = watch_child(&scene, before->number, false);
    start_another_stream(&scene);
    assert_int_equal(told_parent(&scene, before), root->number);
    sampler_attach(&scene.sampler, late);
    assert_int_equal(told_parent(&scene, late), before->number);
    sampler_attach(&scene.sampler, parent);
    assert_int_equal(told_parent(&scene, parent), root->number);
    start_another_stream(&scene);
    assert_int_equal(told_parent(&scene, parent), root->number);
    end(&scene);
}

/* Later streams do not have a process that has ended: its children are those of its nearest ancestor. */
static void children_of_an_ended_process_have_its_ancestor(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030f02f0, THREADS_ALL);
    struct watched *root = scene.watched, *parent = watch_child(&scene, root->number, true);
    struct watched *child = watch_child(&scene, parent->number, true);
    struct watched *late = watch_child(&scene, parent->number, false);
    struct watched *later = watch_child(&scene, parent->number, false);
    const uint32_t number = parent->number;
    sampler_forget(&scene.sampler, parent);
    sampler_attach(&scene.sampler, late);
    assert_int_equal(told_parent(&scene, child), number);
    assert_int_equal(told_parent(&scene, late), number); /* this stream has the process */
    for (int i = 0; i < 2; i++) {
        start_another_stream(&scene);
        assert_int_equal(told_parent(&scene, child), root->number);
        assert_int_equal(told_parent(&scene, late), root->number);
    }
    sampler_attach(&scene.sampler, later);
    assert_int_equal(told_parent(&scene, later), root->number);
    end(&scene);
}

/* The time in which ticks were due is the sum of the lives, as for readers. */
static void lives_of_processes_add_up(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 0x030f02f0, THREADS_ALL);
    scene.watched->rows.looked = false;
    scene.sampler.options.start_ns -= 1000 * MS;           /* the recording runs for a second */
    assert_int_equal(sampler_lives_ns(&scene.sampler), 0); /* no tick yet */
    struct watched *child = watch_child(&scene, scene.watched->number, true);
    struct watched *idle = watch_child(&scene, scene.watched->number, true);
    assert_int_equal(sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL), SAMPLER_GOING);
    assert_int_equal(sampler_tick(&scene.sampler, child, clock_now_ns(), 0, NULL), SAMPLER_GOING);
    scene.watched->attached_ns = 0;
    child->attached_ns = 600 * MS;
    idle->attached_ns = 0;
    const uint64_t both_ns = sampler_lives_ns(&scene.sampler);
    assert_true(both_ns >= 1400 * MS);
    sampler_forget(&scene.sampler, child);
    const uint64_t detached_ns = scene.sampler.lived_ns;
    assert_true(detached_ns >= 400 * MS && detached_ns < both_ns);
    assert_true(sampler_lives_ns(&scene.sampler) >= both_ns);
    assert_int_equal(scene.sampler.lived_ns, detached_ns);
    end(&scene);
}

static void ticks_made_again_come_after_the_last_one(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, fake_versions[0], THREADS_ALL);
    scene.sampler.options.start_ns -= MS;
    sampler_tick(&scene.sampler, scene.watched, clock_now_ns(), 0, NULL);
    const uint64_t last_ns = scene.heard.tick_ns, ticks = scene.sampler.emitter.ticks;
    fake_remote_time(scene.watched->look.moment_ns + 3000, 0);
    assert_true(sampler_ticks_again(&scene.sampler, scene.watched, 3, NULL));
    assert_int_equal(scene.sampler.emitter.ticks, ticks + 3);
    assert_int_equal(scene.heard.tick_ns, last_ns + 3000);
    fake_remote_time(scene.watched->look.moment_ns - 1, 0); /* a clock that goes back */
    assert_true(sampler_ticks_again(&scene.sampler, scene.watched, 2, NULL));
    assert_int_equal(scene.heard.tick_ns, last_ns + 3000); /* times never go back */
    end(&scene);
    fake_remote_reset();
}

TEST_FILE(sampler)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(only_the_main_thread_when_that_is_wanted),
        cmocka_unit_test(missed_ticks_are_told),
        cmocka_unit_test(ticks_that_were_missed_at_last_are_told),
        cmocka_unit_test(a_pause_is_a_tick_without_samples),
        cmocka_unit_test(another_stream_gets_all_that_lives),
        cmocka_unit_test(children_of_an_ended_process_have_its_ancestor),
        cmocka_unit_test(lives_of_processes_add_up),
        cmocka_unit_test(parents_that_became_another_program_stay_parents),
        cmocka_unit_test(a_forked_process_has_its_own_threads_only),
        cmocka_unit_test(ticks_made_again_come_after_the_last_one),
        cmocka_unit_test(a_broken_thread_fails_alone),
        cmocka_unit_test(a_ring_of_threads_is_left),
        cmocka_unit_test(a_lost_list_is_a_failure_of_all),
        cmocka_unit_test(a_thread_stays_in_its_interpreter),
        cmocka_unit_test(the_end_of_the_process_is_told),
        cmocka_unit_test(a_process_may_become_another_program),
        cmocka_unit_test(each_process_has_its_own_ticks),
        cmocka_unit_test(the_earliest_moment_is_next),
        cmocka_unit_test(questions_come_in_windows),
        cmocka_unit_test(the_limit_is_that_of_a_processor),
        cmocka_unit_test(a_new_process_shares_the_limit_at_once),
        cmocka_unit_test(a_process_that_is_forgotten_still_counts),
    };
    return run_all(tests);
}
