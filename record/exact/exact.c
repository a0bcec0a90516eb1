/* SPDX-License-Identifier: MIT */
#include "record/exact/exact.h"

#include "record/process/clock.h"
#include "record/process/procfs.h"

#include <sched.h>
#include <string.h>

#define HOPS        6   /* appointments of a tick that may come to nothing */
#define LATELY      128 /* looks for which it counts that a thread had the lock ... */
#define LOST        256 /* ... and that the lock could not be followed: below 1 % of looks that changes no share */
#define RSEQ_CPU_ID 4   /* u32: where the processor's number is in struct rseq */

#define LATE_NS         500000u     /* a look that begins so long after its moment is late */
#define ASK_AGAIN_NS    1000000000u /* how often a thread's priority is asked for */
#define FOLLOW_LEAST_NS 50000u      /* from being told that the holder is elsewhere to the look there, at least, ... */
#define FOLLOW_DRAWN_NS 100000u     /* ... and as much more as is drawn, up to this */

#define NOWHERE UINT32_MAX /* the thread is gone, and nobody has the lock */

/* ---- who, and where ---- */

/* The thread pointer of a thread state. The list of threads may be older than a state at the same address. */
static bool find_pointer(struct exact *exact, uint64_t thread, bool as_listed, uint64_t *pointer)
{
    const struct layout *l = &exact->target->runtime.layout;
    *pointer = as_listed ? thread_list_pointer(exact->thread_list, thread) : 0;
    return *pointer ||
           remote_read(&exact->target->remote, thread + l->thread_id, pointer, sizeof(*pointer)) == REMOTE_READ;
}

/* The lock, and where the thread with this pointer last ran: what is read to find out, and what is read first and last
 * of all when the threads are. Returns how many pieces there are. */
static size_t both(const struct exact *exact, uint64_t pointer, unsigned char *into, struct piece *pieces)
{
    pieces[0] = (struct piece){ exact->target->interpreters[0].gil_at, LAYOUT_GIL_SIZE, into };
    pieces[1] = (struct piece){ pointer + (uint64_t)exact->rseq + RSEQ_CPU_ID, 4, into + LAYOUT_GIL_SIZE };
    return pointer && exact->rseq ? 2 : 1;
}

static bool read_both(struct exact *exact, uint64_t pointer, struct gil *gil, uint32_t *processor)
{
    unsigned char bytes[WITNESS_ROOM];
    struct piece pieces[WITNESS_PIECES];
    const size_t count = both(exact, pointer, bytes, pieces);
    if (remote_read_pieces(&exact->target->remote, pieces, count, NULL) != REMOTE_READ)
        return false;
    *gil = target_gil(bytes);
    if (count > 1)
        *processor = half_word_at(bytes, LAYOUT_GIL_SIZE);
    return true;
}

/* The state of the lock is known to who chooses what is to be read. */
static void tell_lock(const struct target *target, const struct gil *gil)
{
    for (size_t i = 0; i < target->interpreters_count; i++) {
        struct gil *told = &target->interpreters[i].gil;
        /* The holder is read before the count, and may be the one before the switch. */
        const bool known = gil->switches != told->switches + 1 || gil->holder != told->holder;
        *told = (struct gil){ gil->holder, gil->switches, gil->locked, known, told->shared };
    }
}

/* The thread that has the lock, or had it last. One that is gone can't take it again: while nobody has it, nothing
 * changes. */
static bool find_holder(struct exact *exact, struct holder *holder)
{
    const struct holder last = exact->holder;
    struct gil gil;
    *holder = (struct holder){ .pointer = thread_list_pointer(exact->thread_list, last.thread), .processor = NOWHERE };
    const bool there = read_both(exact, holder->pointer, &gil, &holder->processor);
    if (!there && !read_both(exact, 0, &gil, &holder->processor))
        return false;
    if (gil.holder != last.thread || holder->pointer == 0 || !there) {
        const uint64_t thread = gil.holder;
        holder->processor = NOWHERE;
        const bool found = find_pointer(exact, thread, there, &holder->pointer) &&
                           read_both(exact, holder->pointer, &gil, &holder->processor);
        holder->pointer = found ? holder->pointer : 0;
        if (gil.holder != thread || (!found && gil.locked))
            return false;
    }
    holder->thread = gil.holder;
    holder->switches = gil.switches;
    tell_lock(exact->target, &gil);
    return exact->rseq || !holder->pointer ||
           procfs_processor(exact->target->pid, thread_list_native_id(exact->thread_list, gil.holder),
                            &holder->processor);
}

/* ---- where to look ---- */

/* The thread that has the lock, or had it last, as it was found. */
static void note_holder(struct exact *exact)
{
    const struct holder *holder = &exact->holder;
    struct recent_holder *place = &exact->recent[0];
    if (!holder->thread || holder->processor == NOWHERE)
        return;
    for (struct recent_holder *r = exact->recent; r < exact->recent + EXACT_RECENT; r++) {
        if (r->thread == holder->thread) {
            place = r;
            break;
        }
        place = r->look < place->look ? r : place;
    }
    *place = (struct recent_holder){ holder->thread, holder->processor, exact->looks };
}

/* Whether the holder was found on a processor where nobody looked. */
static bool is_elsewhere(const struct exact *exact)
{
    bool elsewhere = exact->holder.processor != NOWHERE;
    for (size_t i = 0; i < exact->work.processors_count; i++)
        elsewhere &= exact->holder.processor != exact->work.processors[i];
    return elsewhere;
}

/* The lock was elsewhere, was followed, and is elsewhere again. */
static void note_lost(struct exact *exact)
{
    exact->lost[0] = exact->lost[1];
    exact->lost[1] = exact->looks;
}

/* The processors for the next look, in a fixed order: where the holder was, and as long as the lock can't be followed,
 * where those ran that had the lock lately. */
static void choose_processors(struct exact *exact)
{
    struct exact_work *work = &exact->work;
    const bool several = exact->lost[0] && exact->looks - exact->lost[0] < LOST;
    work->holder = exact->holder;
    work->processors[0] = exact->holder.processor;
    work->processors_count = exact->holder.pointer != 0;
    for (const struct recent_holder *r = exact->recent; several && r < exact->recent + EXACT_RECENT; r++) {
        uint32_t *processors = work->processors;
        size_t at = 0;
        while (at < work->processors_count && processors[at] < r->processor)
            at++;
        const bool known = at < work->processors_count && processors[at] == r->processor;
        if (!r->thread || known || exact->looks - r->look > LATELY || work->processors_count == STAND_AT_ONCE ||
            !stand_may(&exact->stand, r->processor))
            continue;
        memmove(processors + at + 1, processors + at, (work->processors_count - at) * sizeof(*processors));
        processors[at] = r->processor;
        work->processors_count++;
    }
}

/* Whether a look at the holder is one for this processor. With a holder that is gone it is one for the first. */
static bool is_for(const struct exact *exact, uint32_t processor)
{
    return exact->holder.processor == (exact->holder.pointer ? processor : NOWHERE) &&
           (exact->holder.pointer || exact->alone || processor == exact->work.processors[0]);
}

/* ---- a look ---- */

/* Whether the look began or ended as we came: with this holder of the lock, on this processor. */
static bool is_witnessed(const struct exact *exact, const struct holder *holder, const unsigned char *bytes)
{
    const struct gil gil = target_gil(bytes);
    const bool read = exact->rseq && holder->pointer;
    const uint32_t processor = read ? half_word_at(bytes, LAYOUT_GIL_SIZE) : holder->processor;
    /* Another thread's state may be at the address of one that is gone. Of the latter nobody has the lock. */
    const bool same = holder->pointer ? thread_list_pointer(exact->thread_list, holder->thread) == holder->pointer
                                      : !gil.locked && gil.switches == holder->switches;
    return gil.holder == holder->thread && processor == holder->processor && same;
}

/* Whether the look is of one moment although the witness does not say so: another read followed the witness, or the
 * lock had gone on to another thread before the look. That thread stands still as well if this is its processor. Finds
 * where the holder is in any case. */
static bool is_same_after_all(struct exact *exact, uint32_t processor, const unsigned char *first)
{
    const struct gil gil = target_gil(first);
    if (!find_holder(exact, &exact->holder)) {
        exact->holder = (struct holder){ 0 };
        return false;
    }
    return exact->holder.thread == gil.holder && exact->holder.switches == gil.switches &&
           exact->holder.processor == processor;
}

/* Looks, with a witness of this holder. False when the holder's thread is gone, and nothing was read. */
static bool look_with(struct exact *exact, const struct holder *holder, uint64_t now_ns)
{
    struct unwinder *unwinder = &exact->thread_list->unwinder;
    struct witness *witness = &unwinder->witness;
    *witness = (struct witness){ 0 };
    witness->count = both(exact, holder->pointer, NULL, witness->pieces);
    unwinder->still = true;
    unwinder->retry_later = false;
    exact->work.state = exact->work.look(exact->work.self, now_ns);
    unwinder->still = false;
    return !witness->gone;
}

/* Whether one lock stands for all that changes in the program. */
static bool has_one_lock(const struct target *target)
{
    const uint64_t gil_at = target->interpreters_count > 0 ? target->interpreters[0].gil_at : 0;
    for (size_t i = 1; i < target->interpreters_count; i++)
        if (target->interpreters[i].gil_at != gil_at)
            return false;
    return gil_at != 0;
}

/* Whether the look was one moment with this holder. */
static bool was_one_moment(struct exact *exact, const struct holder *holder)
{
    const struct witness *witness = &exact->thread_list->unwinder.witness;
    if (exact->work.state == THREAD_LIST_SLEPT)
        return true;
    if (!has_one_lock(exact->target)) /* since this look, which found another interpreter */
        return false;
    const bool at_last = witness->reads == exact->target->remote.calls && (exact->rseq || !holder->pointer);
    const bool no_switch = target_gil(witness->first).switches == target_gil(witness->last).switches;
    return (witness->came && at_last && no_switch && is_witnessed(exact, holder, witness->first) &&
            is_witnessed(exact, holder, witness->last)) ||
           (is_same_after_all(exact, holder->processor, witness->first) && witness->came);
}

/* Whether nobody had the lock when the look began, and the thread that had the lock last was on this processor: the
 * program slept then. */
static bool was_asleep(const struct exact *exact, const struct holder *holder, uint32_t processor)
{
    const struct witness *witness = &exact->thread_list->unwinder.witness;
    return witness->came && holder->processor == processor && !target_gil(witness->first).locked &&
           is_witnessed(exact, holder, witness->first);
}

/* Whether the holder runs on this processor. */
static bool ask(void *data, uint32_t processor)
{
    struct exact *exact = data;
    if (!find_holder(exact, &exact->holder) || !is_for(exact, processor))
        return false;
    exact->work.holder = exact->holder;
    return true;
}

/* Looks with the holder, which was here or was just found here. Asks again when that thread has ended. Where threads do
 * not note their processor, asks in any case: it must be the same before the look and after it. */
static bool do_work(void *data, uint32_t processor, uint64_t now_ns)
{
    struct exact *exact = data;
    const struct unwinder *unwinder = &exact->thread_list->unwinder;
    const bool there = ((exact->rseq || ask(exact, processor)) && look_with(exact, &exact->work.holder, now_ns)) ||
                       (ask(exact, processor) && look_with(exact, &exact->work.holder, now_ns));
    exact->work.same = there && was_one_moment(exact, &exact->work.holder);
    exact->work.slept = there && was_asleep(exact, &exact->work.holder, processor);
    /* A thread may have lost its processor in the middle of a change of the list. */
    exact->work.retry_later = there && (unwinder->retry_later || exact->work.state == THREAD_LIST_TORN);
    if (!there)
        exact->work.state = THREAD_LIST_TORN;
    exact->thread_list->unwinder.witness = (struct witness){ 0 };
    return there;
}

/* Why a look can't be one moment, in words; NULL: it can. */
static const char *refusal_of(const struct exact *exact)
{
    if (exact->target->runtime.layout.free_threaded)
        return "threads of a free-threaded build run at the same time";
    if (!has_one_lock(exact->target))
        return "it has several interpreters, each with its own lock";
    if (exact->rseq == 0 && !exact->target->same_pids)
        return "the processor of its threads is unknown (its C library has no rseq, and its pid namespace is another "
               "one)";
    return NULL;
}

/* Whether the thread has a priority that ours does not interrupt: then we would wait for it to sleep, and see nothing
 * else of it. Asked now and then. */
static bool is_ahead(struct exact *exact, const struct holder *holder, uint64_t now_ns)
{
    if (!exact->target->same_pids || (holder->thread == exact->asked && now_ns < exact->ask_again_ns))
        return exact->ahead;
    const pid_t tid = (pid_t)thread_list_native_id(exact->thread_list, holder->thread);
    const int policy = tid ? sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK : SCHED_OTHER;
    exact->asked = holder->thread;
    exact->ask_again_ns = now_ns + ASK_AGAIN_NS;
    exact->ahead = policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
    return exact->ahead;
}

bool exact_appoint(struct exact *exact, exact_look *look, void *self, const struct moments *moments)
{
    exact->appointed = false;
    exact->looks++;
    const uint64_t now_ns = clock_now_ns();
    exact->work = (struct exact_work){ .look = look,
                                       .self = self,
                                       .due_ns = moments->due_ns > now_ns ? moments->due_ns : now_ns,
                                       .state = THREAD_LIST_TORN };
    exact->refusal = refusal_of(exact);
    if (exact->refusal)
        return false;
    if (!exact->holder.thread && !find_holder(exact, &exact->holder)) {
        exact->holder = (struct holder){ 0 };
        return false;
    }
    if (is_ahead(exact, &exact->holder, moments->due_ns)) {
        exact->refusal = "it has a real-time priority";
        return false;
    }
    choose_processors(exact);
    /* Once a post is appointed, all but the appointment itself is the post's. */
    exact->alone = exact->work.processors_count == 0;
    exact->appointed = true;
    if (exact->alone || stand_appoint(&exact->stand, exact->work.processors, exact->work.processors_count, moments, ask,
                                      do_work, exact))
        return !exact->alone;
    exact->refusal = "it runs on a processor that pyreel-record may not use (see taskset)";
    exact->appointed = false;
    exact->holder = (struct holder){ 0 }; /* which may be elsewhere next time */
    return false;
}

/* Meets the appointment. Where the holder was gone there was nobody to stand with, and there is nothing to preempt. */
static bool meet(struct exact *exact, uint64_t now_ns)
{
    struct stand *stand = &exact->stand;
    if (exact->alone) {
        stand->stayed = true;
        stand->waited = false;
        stand->began_ns = now_ns;
        return do_work(exact, NOWHERE, now_ns);
    }
    return stand_meet(stand);
}

/* The holder was on another processor, or we came too late, or the state was one that can't be told: looks again, at a
 * moment that is drawn anew. On a busy machine a state that can't be told may last until the program gets a processor
 * again, which takes milliseconds: then looks are further and further apart. */
static bool follow(struct exact *exact, int hop)
{
    const struct exact_work work = exact->work;
    const uint64_t now_ns = clock_now_ns();
    exact->random = exact->random * 6364136223846793005u + now_ns;
    const uint64_t distance_ns = FOLLOW_LEAST_NS + (exact->random >> 40) % FOLLOW_DRAWN_NS;
    const struct moments moments = { .due_ns = now_ns + (distance_ns << (work.retry_later ? hop : 0)) };
    if (!exact->holder.thread)
        return false;
    exact_appoint(exact, work.look, work.self, &moments);
    return exact->appointed;
}

/* A program that sleeps may wake, on another processor, while the look is made: its timer is often handled together
 * with ours. The look is kept then: the next one would show what the program does after it slept. */
static bool is_first_of_sleep(const struct exact_work *work)
{
    return work->slept && work->state == THREAD_LIST_READ && !work->retry_later;
}

enum thread_list_state exact_read(struct exact *exact, exact_look *look, void *self, uint64_t now_ns)
{
    bool elsewhere = false;
    exact->proven = exact->waited = false;
    for (int hop = 0; exact->appointed; hop++) {
        const bool looked = meet(exact, now_ns);
        if (looked) {
            exact->waited |= exact->stand.waited;
            exact->moment_ns = exact->stand.began_ns;
            exact->proven = exact->work.same && exact->stand.stayed && !exact->work.retry_later;
            if (exact->proven || is_first_of_sleep(&exact->work) || exact->work.state == THREAD_LIST_GONE) {
                note_holder(exact);
                exact->proven &= exact->moment_ns < exact->work.due_ns + LATE_NS;
                exact->appointed = false;
                return exact->work.state;
            }
        }
        note_holder(exact);
        if (elsewhere && is_elsewhere(exact))
            note_lost(exact);
        elsewhere = is_elsewhere(exact);
        exact->hops += looked;
        /* No appointment may be left behind: the live look below is not the only one then. */
        if (hop == HOPS - 1 || !follow(exact, hop))
            break;
        now_ns = clock_now_ns();
    }
    exact->appointed = false;
    exact->holder = (struct holder){ 0 };
    exact->moment_ns = clock_now_ns();
    return look(self, exact->moment_ns);
}

/* ---- a process ---- */

void exact_open(struct exact *exact, struct thread_list *thread_list, bool raise_priority)
{
    if (exact->stand.count == 0)
        stand_open(&exact->stand, raise_priority);
    exact->thread_list = thread_list;
    exact->target = thread_list->target;
    exact->holder = (struct holder){ 0 };
    memset(exact->recent, 0, sizeof(exact->recent));
    memset(exact->lost, 0, sizeof(exact->lost));
    exact->rseq = thread_list->target->runtime.rseq;
    exact->refusal = NULL;
}

void exact_cancel(struct exact *exact)
{
    stand_cancel(&exact->stand);
    exact->appointed = false;
}

void exact_close(struct exact *exact)
{
    stand_close(&exact->stand);
    *exact = (struct exact){ 0 };
}
