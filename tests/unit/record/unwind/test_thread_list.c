/* SPDX-License-Identifier: MIT */
/* Which threads there are, which of them are read (those that may have moved), and what their states tell: which are
 * attached, in which interpreter a thread is, who collects garbage. */
#include "record/unwind/thread_list.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct scene {
    struct fake_python *p;
    struct thread_list thread_list;
    uint64_t f;
    unsigned reads[FAKE_THREADS]; /* of each thread's state, with or without its stack */
    unsigned waited;              /* reads of thread 1 after which thread 2 takes the lock; 0: never */
};

static void count_reads(void *self, const struct piece *piece, size_t i)
{
    struct scene *s = self;
    (void)i;
    for (size_t t = 0; t < s->p->threads_count; t++)
        s->reads[t] += piece->address == s->p->threads[t].address;
    if (s->waited > 0 && piece->address == s->p->threads[1].address && --s->waited == 0) {
        fake_take_lock(s->p, 2);
        fake_stack(s->p, 2, (struct fake_frame[]){ { PLAIN, s->f, 1 }, { PLAIN, s->f, 2 } }, 2);
    }
}

static void begin(struct scene *s, struct fake_python *p, enum threads which, bool anew)
{
    *s = (struct scene){ .p = p, .f = fake_code(p, "f", 20, 9) };
    fake_thread(p, 4712);
    fake_thread(p, 4713);
    for (size_t t = 0; t < 3; t++)
        fake_stack(p, t, (struct fake_frame[]){ { PLAIN, s->f, (int)t } }, 1);
    thread_list_open(&s->thread_list, &p->target, &p->codes, which, anew);
    fake_remote_hook(count_reads, s);
}

static void end(struct scene *s)
{
    fake_remote_hook(NULL, NULL);
    thread_list_close(&s->thread_list);
}

/* One tick: the threads in their order, and what is known of their stacks. */
static void assert_tick(struct scene *s, const char *wanted)
{
    char text[1000] = "";
    memset(s->reads, 0, sizeof(s->reads));
    assert_int_equal(thread_list_read(&s->thread_list, clock_now_ns()), THREAD_LIST_READ);
    for (size_t i = 0; i < s->thread_list.asked_count; i++) {
        const struct member *member = &s->thread_list.members[s->thread_list.asked[i]];
        assert_int_equal(member->tick, s->thread_list.tick);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u %s", text[0] ? ", " : "", member->native_id,
                 member->state == UNWIND_DONE ? fake_walk_text(s->p, &member->walk) : "failed");
    }
    if (strcmp(text, wanted) != 0)
        fail_msg("Python %x: '%s', and should be '%s'", fake_layout(s->p)->version, text, wanted);
}

static void assert_read(struct scene *s, bool first, bool second, bool third)
{
    const bool wanted[] = { first, second, third };
    for (size_t t = 0; t < 3; t++)
        if ((s->reads[t] > 0) != wanted[t])
            fail_msg("Python %x: thread %zu was read %u times", fake_layout(s->p)->version, t, s->reads[t]);
}

#define ALL "4713 f:22, 4712 f:21, 4711 f:20"

/* ---- who did not have the lock has not moved ---- */

static void pass_the_lock(struct fake_python *p)
{
    struct scene s;
    if (fake_layout(p)->free_threaded)
        return; /* without a lock each may have moved */
    begin(&s, p, THREADS_ALL, false);
    assert_tick(&s, ALL);
    for (int i = 0; i < 10; i++)
        assert_tick(&s, ALL); /* who calls whom is known by then */
    assert_read(&s, true, false, false);
    fake_take_lock(p, 1);
    assert_tick(&s, ALL);
    assert_read(&s, true, true, false); /* who had it, and who has it */
    assert_tick(&s, ALL);
    assert_tick(&s, ALL); /* that it did not have it before its last sample is known by now */
    assert_read(&s, false, true, false);
    fake_take_lock(p, 2);
    fake_stack(p, 2, (struct fake_frame[]){ { PLAIN, s.f, 5 } }, 1);
    assert_tick(&s, "4713 f:25, 4712 f:21, 4711 f:20");
    assert_read(&s, false, true, true);
    assert_tick(&s, "4713 f:25, 4712 f:21, 4711 f:20");
    assert_tick(&s, "4713 f:25, 4712 f:21, 4711 f:20");
    assert_read(&s, false, false, true);
    assert_true(s.thread_list.unwinder.counters.unmoved > 20);
    end(&s);
}
EACH_VERSION(only_who_had_the_lock_is_read, pass_the_lock);

/* It went to and fro: nobody knows who had it. */
static void pass_it_often(struct fake_python *p)
{
    struct scene s;
    begin(&s, p, THREADS_ALL, false);
    for (int i = 0; i < 10; i++)
        assert_tick(&s, ALL);
    fake_take_lock(p, 1);
    fake_stack(p, 1, (struct fake_frame[]){ { PLAIN, s.f, 5 } }, 1);
    fake_take_lock(p, 2);
    assert_tick(&s, "4713 f:22, 4712 f:25, 4711 f:20");
    assert_read(&s, true, true, true);
    fake_take_lock(p, 0);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, s.f, 7 } }, 1);
    fake_take_lock(p, 2); /* who has it is the same */
    assert_tick(&s, "4713 f:22, 4712 f:25, 4711 f:27");
    assert_read(&s, true, true, true);
    end(&s);
}
EACH_VERSION(after_two_switches_all_are_read, pass_it_often);

/* The lock is read after the threads: one that took it meanwhile is read in the same tick. */
static void take_it_meanwhile(struct fake_python *p)
{
    struct scene s;
    if (fake_layout(p)->free_threaded)
        return;
    begin(&s, p, THREADS_ALL, false);
    for (int i = 0; i < 10; i++)
        assert_tick(&s, ALL);
    fake_take_lock(p, 1);
    s.waited = 1;
    assert_tick(&s, "4713 f:21 f:22, 4712 f:21, 4711 f:20");
    assert_true(s.reads[2] > 0);
    assert_int_equal(s.waited, 0);
    assert_tick(&s, "4713 f:21 f:22, 4712 f:21, 4711 f:20");
    end(&s);
}
EACH_VERSION(who_takes_the_lock_meanwhile_is_read_too, take_it_meanwhile);

static void know_nothing(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    struct scene s;
    begin(&s, p, THREADS_ALL, true);
    for (int i = 0; i < 3; i++) {
        assert_tick(&s, ALL);
        assert_read(&s, true, true, true);
    }
    end(&s);
    if (!l->interpreter_gil)
        return;
    /* The lock is somewhere else. */
    fake_poke(p, p->interpreter + l->interpreter_gil, fake_room(p, 64));
    p->target.interpreters_count = 0;
    thread_list_open(&s.thread_list, &p->target, &p->codes, THREADS_ALL, false);
    fake_remote_hook(count_reads, &s);
    for (int i = 0; i < 3; i++) {
        assert_tick(&s, ALL);
        assert_read(&s, true, true, true);
    }
    end(&s);
}
EACH_VERSION(without_the_lock_all_are_read, know_nothing);

/* The recorder may come while the interpreter is made, and has no lock yet. The lock is sought until it is there. */
static void wait_for_the_lock(struct fake_python *p)
{
    struct scene s;
    const struct layout *l = &p->target.runtime.layout;
    begin(&s, p, THREADS_ALL, false);
    if (l->interpreter_gil && !l->free_threaded) {
        const uint64_t at = p->interpreter + l->interpreter_gil, lock = fake_peek(p, at);
        fake_poke(p, at, 0);
        assert_int_equal(thread_list_read(&s.thread_list, clock_now_ns()), THREAD_LIST_READ);
        assert_false(target_knows_locks(&p->target));
        fake_poke(p, at, lock);
        assert_int_equal(thread_list_read(&s.thread_list, clock_now_ns()), THREAD_LIST_READ);
        assert_int_equal(p->target.interpreters[0].gil_at, lock + 8);
    }
    assert_true(target_knows_locks(&p->target));
    end(&s);
}
EACH_VERSION(a_lock_that_is_made_later_is_found, wait_for_the_lock);

/* With two interpreters at one lock a thread may become the other's without the lock telling. */
static void share_the_lock(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    struct scene s;
    const uint64_t second = fake_room(p, FAKE_INTERPRETER),
                   head = p->target.runtime.address + l->runtime_interpreters_head;
    fake_poke(p, second + l->interpreter_next, fake_peek(p, head));
    fake_poke(p, second + l->interpreter_id, 1);
    if (l->interpreter_gil)
        fake_poke(p, second + l->interpreter_gil, fake_peek(p, p->interpreter + l->interpreter_gil));
    fake_poke(p, head, second);
    begin(&s, p, THREADS_ALL, false);
    for (int i = 0; i < 3; i++) {
        assert_tick(&s, ALL);
        assert_read(&s, true, true, true);
    }
    end(&s);
}
EACH_VERSION(a_shared_lock_tells_nothing, share_the_lock);

/* ---- who is there ---- */

static void come_and_go(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    struct scene s;
    begin(&s, p, THREADS_ALL, false);
    assert_tick(&s, ALL);
    const size_t last = fake_thread(p, 4714);
    fake_stack(p, last, (struct fake_frame[]){ { PLAIN, s.f, 6 } }, 1);
    fake_take_lock(p, last);
    assert_tick(&s, "4714 f:26, " ALL);
    /* The second ends. */
    fake_poke(p, p->threads[2].address + l->thread_next, p->threads[0].address);
    fake_poke(p, p->threads[0].address + l->thread_prev, p->threads[2].address);
    fake_poke(p, p->threads[1].address + l->thread_interpreter, 0);
    thread_list_distrust(&s.thread_list);
    assert_tick(&s, "4714 f:26, 4713 f:22, 4711 f:20");
    /* The first of the list ends, which only the interpreter tells. */
    fake_poke(p, p->interpreter + l->interpreter_threads_head, p->threads[2].address);
    fake_poke(p, p->threads[2].address + l->thread_prev, 0);
    fake_take_lock(p, 0);
    assert_tick(&s, "4713 f:22, 4711 f:20");
    assert_tick(&s, "4713 f:22, 4711 f:20");
    end(&s);
}
EACH_VERSION(threads_come_and_go, come_and_go);

static void choose_main(struct fake_python *p)
{
    struct scene s;
    begin(&s, p, THREADS_MAIN, false);
    assert_tick(&s, "4711 f:20");
    assert_tick(&s, "4711 f:20");
    assert_read(&s, true, false, false);
    end(&s);
}

static void choose_holder(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    struct scene s;
    if (l->free_threaded)
        return;
    begin(&s, p, THREADS_GIL, false);
    thread_list_read(&s.thread_list, clock_now_ns()); /* the lock is known only when it was read */
    assert_tick(&s, "4711 f:20");
    fake_take_lock(p, 1);
    assert_tick(&s, "4712 f:21");
    fake_take_lock(p, 2);
    assert_tick(&s, "4713 f:22");
    const uint64_t gil = l->runtime_gil ? p->target.runtime.address + l->runtime_gil
                                        : p->interpreter + l->interpreter_own_gil;
    fake_poke4(p, gil + 8, 0); /* nobody has it */
    assert_tick(&s, "");
    fake_poke4(p, gil + 8, 1);
    assert_tick(&s, "4713 f:22");
    end(&s);
}

static void only_those_that_are_asked_for(void **state)
{
    (void)state;
    fake_each_version(choose_main);
    fake_each_version(choose_holder);
}

static void lose_the_list(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    struct scene s;
    begin(&s, p, THREADS_ALL, false);
    assert_tick(&s, ALL);
    const uint64_t next = fake_peek(p, p->threads[2].address + l->thread_next);
    fake_poke(p, p->threads[2].address + l->thread_next, 0x1230);
    thread_list_distrust(&s.thread_list);
    assert_int_equal(thread_list_read(&s.thread_list, clock_now_ns()), THREAD_LIST_TORN);
    fake_poke(p, p->threads[2].address + l->thread_next, next);
    assert_tick(&s, ALL);
    fake_remote_answer(REMOTE_GONE);
    assert_int_equal(thread_list_read(&s.thread_list, clock_now_ns()), THREAD_LIST_GONE);
    fake_remote_answer(REMOTE_READ);
    thread_list_repeat(&s.thread_list);
    for (size_t i = 0; i < s.thread_list.order_count; i++) {
        assert_int_equal(s.thread_list.members[s.thread_list.order[i]].tick, s.thread_list.tick);
        assert_int_equal(s.thread_list.members[s.thread_list.order[i]].state, UNWIND_DONE);
    }
    end(&s);
}
EACH_VERSION(a_torn_list_is_told, lose_the_list);

/* ---- without a lock, those that are attached ---- */

static void attach(struct fake_python *p, size_t thread, enum attachment attachment)
{
    fake_poke4(p, p->threads[thread].address + fake_layout(p)->thread_attachment, attachment);
}

static void choose_attached(struct fake_python *p)
{
    struct scene s;
    if (!fake_layout(p)->free_threaded)
        return;
    begin(&s, p, THREADS_GIL, false);
    assert_tick(&s, "4711 f:20");
    attach(p, 1, THREAD_ATTACHED);
    assert_tick(&s, "4712 f:21, 4711 f:20");
    attach(p, 0, THREAD_SUSPENDED);
    assert_tick(&s, "4712 f:21");
    attach(p, 1, THREAD_DETACHED);
    assert_tick(&s, "");
    attach(p, 2, THREAD_ATTACHED);
    assert_tick(&s, "4713 f:22");
    end(&s);
}
EACH_VERSION(the_attached_stand_for_who_has_a_lock, choose_attached);

/* ---- a thread in two interpreters ---- */

static uint64_t second_interpreter(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const uint64_t second = fake_room(p, FAKE_INTERPRETER);
    const uint64_t head = p->target.runtime.address + l->runtime_interpreters_head;
    fake_poke(p, second + l->interpreter_next, fake_peek(p, head));
    fake_poke(p, second + l->interpreter_id, 1);
    if (l->interpreter_gil)
        fake_poke(p, second + l->interpreter_gil, second + l->interpreter_own_gil - 8);
    fake_poke(p, head, second);
    return second;
}

/* Another state of the first thread, which calls into the interpreter. */
static uint64_t enter(struct fake_python *p, uint64_t interpreter)
{
    const struct layout *l = fake_layout(p);
    const uint64_t state = fake_room(p, l->thread_size + 64);
    fake_poke(p, interpreter + l->interpreter_threads_head, state);
    fake_poke(p, state + l->thread_interpreter, interpreter);
    fake_poke(p, state + l->thread_native_id, 4711);
    if (l->thread_cframe)
        fake_poke(p, state + l->thread_cframe, fake_room(p, 32));
    if (l->thread_base_frame)
        fake_poke(p, state + l->thread_base_frame, p->threads[0].base_frame);
    return state;
}

static void let_hold(struct fake_python *p, uint64_t interpreter, uint64_t state, bool holds)
{
    const struct layout *l = fake_layout(p);
    if (l->thread_attachment) {
        fake_poke4(p, state + l->thread_attachment, holds ? THREAD_ATTACHED : THREAD_DETACHED);
        return;
    }
    const uint64_t gil = l->runtime_gil ? p->target.runtime.address + l->runtime_gil
                                        : interpreter + l->interpreter_own_gil;
    /* 3.11: who gives the lock away names itself as the last holder; until then, who had the lock first stays. */
    if (!l->runtime_gil || !holds || !fake_peek4(p, gil + 8))
        fake_poke(p, gil, state);
    if (l->runtime_gil)
        fake_poke(p, gil + LAYOUT_GIL_CURRENT, holds ? state : 0);
    fake_poke4(p, gil + 8, holds);
}

/* The thread goes from a state to its state in another interpreter. In 3.11 the thread keeps the lock meanwhile. */
static void go(struct fake_python *p, uint64_t from, uint64_t from_state, uint64_t to, uint64_t to_state)
{
    if (!fake_layout(p)->runtime_gil)
        let_hold(p, from, from_state, false);
    let_hold(p, to, to_state, true);
}

/* The state of the first thread in an interpreter. */
static struct member *state_in(struct scene *s, uint64_t interpreter)
{
    for (size_t i = 0; i < s->thread_list.order_count; i++) {
        struct member *member = &s->thread_list.members[s->thread_list.order[i]];
        if (member->native_id == 4711 && member->interpreter_id == interpreter)
            return member;
    }
    fail_msg("no state in interpreter %lu", interpreter);
    return NULL;
}

/* Which of the first thread's two stacks is the inner one. */
static void assert_inner(struct scene *s, uint64_t wanted)
{
    assert_int_equal(thread_list_read(&s->thread_list, clock_now_ns()), THREAD_LIST_READ);
    const struct member *first = state_in(s, 0), *second = state_in(s, 1);
    const bool inner = thread_list_is_inside(&s->thread_list, second, first);
    assert_int_equal(thread_list_is_inside(&s->thread_list, first, second), !inner);
    if (inner != wanted)
        fail_msg("Python %x: in %d, and should be in %lu", fake_layout(s->p)->version, inner, wanted);
}

/* Puts the C code that runs the stack of a state at an address of the thread's C stack; 0: not known. */
static void run_at(struct scene *s, struct member *member, uint64_t address)
{
    member->walk.entered_at = address;
    if (!fake_layout(s->p)->root_is_shim)
        memcpy(member->walk.snapshot.last + fake_layout(s->p)->thread_cframe, &address, sizeof(address));
    assert_int_equal(walk_stack_address(&member->walk, fake_layout(s->p)), address);
}

static void assert_nested(struct scene *s, uint64_t first_at, uint64_t second_at, bool inner)
{
    struct member *first = state_in(s, 0), *second = state_in(s, 1);
    run_at(s, first, first_at);
    run_at(s, second, second_at);
    assert_int_equal(thread_list_is_inside(&s->thread_list, second, first), inner);
    assert_int_equal(thread_list_is_inside(&s->thread_list, first, second), !inner);
}

static void enter_another(struct fake_python *p)
{
    struct scene s;
    begin(&s, p, THREADS_ALL, false);
    const uint64_t first = p->interpreter, second = second_interpreter(p), state = enter(p, second);
    const uint64_t outer = p->threads[0].address;
    thread_list_distrust(&s.thread_list);
    let_hold(p, first, outer, true);
    assert_inner(&s, 0);
    go(p, first, outer, second, state);
    assert_inner(&s, 1);
    go(p, second, state, first, outer);
    assert_inner(&s, 0);
    let_hold(p, first, outer, false);
    let_hold(p, second, state, true);
    assert_inner(&s, 1);
    let_hold(p, second, state, false);
    assert_int_equal(thread_list_read(&s.thread_list, clock_now_ns()), THREAD_LIST_READ);
    assert_nested(&s, 0x7f0000002000, 0x7f0000001000, true); /* a C stack grows down */
    assert_nested(&s, 0x7f0000001000, 0x7f0000002000, false);
    assert_nested(&s, 0, 0x7f0000002000, true); /* the one that was made last, as far as is known */
    end(&s);
}
EACH_VERSION(a_thread_is_at_work_in_one_interpreter, enter_another);

/* ---- one interpreter after the other ---- */

/* All that tells the first thread's function from its successor's is what its name says, and whose it is. */
static void succeed(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    struct scene s;
    begin(&s, p, THREADS_ALL, false);
    for (int i = 0; i < 3; i++)
        assert_tick(&s, "4713 f:22, 4712 f:21, 4711 f:20");
    const uint64_t code = fake_peek(p, fake_frame_address(p, 0, 0) + l->frame_executable) & l->executable_mask;
    *fake_bytes(p, fake_peek(p, code + l->code_name) + l->string_ascii) = 'g';
    assert_tick(&s, "4713 f:22, 4712 f:21, 4711 f:20"); /* strings do not change: it is not read again */
    fake_poke(p, p->interpreter + l->interpreter_id, 5);
    for (int i = 0; i < 3; i++)
        assert_tick(&s, "4713 g:22, 4712 g:21, 4711 g:20");
    end(&s);
}
EACH_VERSION(what_was_known_of_an_interpreter_is_not_its_successors, succeed);

/* ---- who collects garbage ---- */

static void assert_collects(struct scene *s, const char *wanted)
{
    char text[100] = "";
    assert_int_equal(thread_list_read(&s->thread_list, clock_now_ns()), THREAD_LIST_READ);
    for (size_t i = 0; i < s->thread_list.order_count; i++) {
        const struct member *member = &s->thread_list.members[s->thread_list.order[i]];
        if (thread_list_collects(&s->thread_list, member))
            snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u ", member->native_id);
    }
    if (strcmp(text, wanted) != 0)
        fail_msg("Python %x: '%s', and should be '%s'", fake_layout(s->p)->version, text, wanted);
}

static void collect_without_a_lock(struct fake_python *p, struct scene *s)
{
    const struct layout *l = fake_layout(p);
    attach(p, 1, THREAD_ATTACHED);
    /* Nothing tells which of them it is, but the frame that started it. */
    assert_collects(s, l->gc_frame ? "4712 " : "");
    attach(p, 0, THREAD_SUSPENDED);
    attach(p, 2, THREAD_DETACHED);
    assert_collects(s, l->gc_frame ? "4712 " : "");
    attach(p, 2, THREAD_SUSPENDED_WAITING);
    assert_collects(s, "4712 ");
    attach(p, 1, THREAD_DETACHED); /* a finalizer that waits */
    attach(p, 0, THREAD_ATTACHED);
    assert_collects(s, "");
}

static void collect(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    struct scene s;
    begin(&s, p, THREADS_ALL, false);
    const uint64_t gc = p->interpreter + l->interpreter_gc;
    assert_collects(&s, "");
    fake_poke4(p, gc + l->gc_collecting, 1);
    if (l->gc_frame)
        fake_poke(p, gc + l->gc_frame, fake_frame_address(p, 1, 0));
    fake_take_lock(p, 1);
    if (l->free_threaded)
        collect_without_a_lock(p, &s);
    else
        assert_collects(&s, "4712 ");
    fake_poke4(p, gc + l->gc_collecting, 0);
    fake_take_lock(p, 1);
    assert_collects(&s, "");
    end(&s);
}
EACH_VERSION(garbage_is_collected_by_one, collect);

/* Sets the counts of the generations 1 and 2. Returns what is collected. */
static uint32_t collection(struct fake_python *p, struct scene *s, uint64_t generations, uint32_t first,
                           uint32_t second)
{
    fake_poke4(p, generations + LAYOUT_GENERATION_COUNT, 3);
    fake_poke4(p, generations + LAYOUT_GENERATION_SIZE + LAYOUT_GENERATION_COUNT, first);
    fake_poke4(p, generations + 2 * LAYOUT_GENERATION_SIZE + LAYOUT_GENERATION_COUNT, second);
    fake_take_lock(p, 1);
    assert_int_equal(thread_list_read(&s->thread_list, clock_now_ns()), THREAD_LIST_READ);
    return s->thread_list.target->interpreters[0].collection;
}

static void collect_generations(struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    struct scene s;
    begin(&s, p, THREADS_ALL, false);
    const uint64_t gc = p->interpreter + l->interpreter_gc, collecting = gc + l->gc_collecting;
    const bool known = l->gc_generations_before || l->gc_generations_address_before;
    assert_true(known == !l->free_threaded);
    const uint64_t at = l->gc_generations_before ? collecting - l->gc_generations_before : gc + 20;
    if (l->gc_generations_address_before)
        fake_poke(p, collecting - l->gc_generations_address_before, at);
    assert_int_equal(collection(p, &s, at, 0, 0), 0); /* nothing is collected */
    fake_poke4(p, collecting, 1);
    assert_int_equal(collection(p, &s, at, 1, 0), known ? 1 : 0);
    assert_int_equal(collection(p, &s, at, 7, 4), known ? 1 : 0);
    assert_int_equal(collection(p, &s, at, 0, 4), known ? 2 : 0);
    assert_int_equal(collection(p, &s, at, 0, 0), known ? 3 : 0);
    const uint64_t lies[] = { 0, gc - 8, collecting, p->interpreter, UINT64_MAX };
    for (size_t i = 0; l->gc_generations_address_before && i < countof(lies); i++) {
        fake_poke(p, collecting - l->gc_generations_address_before, lies[i]);
        assert_int_equal(collection(p, &s, at, 1, 0), 0);
    }
    end(&s);
}
EACH_VERSION(the_collected_generation_is_known, collect_generations);

TEST_FILE(thread_list)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_who_had_the_lock_is_read),
        cmocka_unit_test(after_two_switches_all_are_read),
        cmocka_unit_test(who_takes_the_lock_meanwhile_is_read_too),
        cmocka_unit_test(without_the_lock_all_are_read),
        cmocka_unit_test(a_lock_that_is_made_later_is_found),
        cmocka_unit_test(a_shared_lock_tells_nothing),
        cmocka_unit_test(threads_come_and_go),
        cmocka_unit_test(only_those_that_are_asked_for),
        cmocka_unit_test(a_torn_list_is_told),
        cmocka_unit_test(the_attached_stand_for_who_has_a_lock),
        cmocka_unit_test(a_thread_is_at_work_in_one_interpreter),
        cmocka_unit_test(what_was_known_of_an_interpreter_is_not_its_successors),
        cmocka_unit_test(garbage_is_collected_by_one),
        cmocka_unit_test(the_collected_generation_is_known),
    };
    return run_all(tests);
}
