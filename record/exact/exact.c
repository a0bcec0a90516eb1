/* SPDX-License-Identifier: MIT */
#include "record/exact/exact.h"

#include "record/native/capture.h"
#include "record/native/native_stack.h"
#include "record/process/clock.h"
#include "record/process/procfs.h"

#include <sched.h>
#include <string.h>

#define HOPS        6   /* most unproven looks per tick */
#define CROWD_HOPS  2   /* the same where several threads run at the same time, ... */
#define CROWD_LOOKS 2   /* ... and looks while the posts stay */
#define FINDS       4   /* attempts to find the holder while the program runs: the lock may go on meanwhile */
#define LATELY      128 /* a holder is recent for this many looks */
#define LOST        256 /* two failures to follow the lock within this many looks: look from several processors */

#define LATE_NS         500000u     /* a look that begins so long after its moment is late */
#define VAIN_NS         5000000u    /* a post that is so late does not get its processor */
#define ASK_AGAIN_NS    1000000000u /* how often the priority of a thread is looked up */
#define FOLLOW_LEAST_NS 50000u      /* least time from the end of a failed look to the next look, ... */
#define FOLLOW_DRAWN_NS 100000u     /* ... plus a random time up to this */

#define NOWHERE UINT32_MAX /* the processor of a holder whose thread is gone while nobody has the lock */

/* ---- the holder and its processor ---- */

/* Finds the thread pointer of a thread state: from the thread list (`as_listed`) or from the target's memory. The list
 * may be older than the thread state, because a new state can have the address of an old one. */
static bool find_pointer(struct exact *exact, uint64_t thread, bool as_listed, uint64_t *pointer)
{
    const struct layout *l = &exact->target->runtime.layout;
    *pointer = as_listed ? thread_list_pointer(exact->thread_list, thread) : 0;
    return *pointer ||
           remote_read(&exact->target->remote, thread + l->thread_id, pointer, sizeof(*pointer)) == REMOTE_READ;
}

/* Fills in the pieces to read the lock, and the processor on which the thread with this pointer last ran. find_holder()
 * reads them, and each look reads them first and last, as its witness. Returns the number of pieces. */
static size_t lock_and_processor(const struct exact *exact, uint64_t pointer, unsigned char *into, struct piece *pieces)
{
    pieces[0] = (struct piece){ exact->target->interpreters[0].gil_at, target_gil_size(exact->target), into };
    pieces[1] = (struct piece){ pointer + (uint64_t)exact->rseq + RSEQ_CPU_ID, 4, into + pieces[0].size };
    return pointer && exact->rseq ? 2 : 1;
}

static bool read_lock_and_processor(struct exact *exact, uint64_t pointer, struct gil *gil, uint32_t *processor)
{
    unsigned char bytes[WITNESS_ROOM];
    struct piece pieces[WITNESS_PIECES];
    const size_t count = lock_and_processor(exact, pointer, bytes, pieces);
    if (remote_read_pieces(&exact->target->remote, pieces, count, NULL) != REMOTE_READ)
        return false;
    *gil = target_gil(exact->target, bytes);
    if (count > 1)
        *processor = half_word_at(bytes, target_gil_size(exact->target));
    return true;
}

/* Notes the state of the lock for thread_list_read(), which chooses what to read by it. */
static void note_lock(const struct target *target, const struct gil *gil)
{
    for (size_t i = 0; i < target->interpreters_count; i++) {
        struct gil *noted = &target->interpreters[i].gil;
        /* The holder is read before the count of switches. If the count rose by 1 and the holder is the same, the lock
         * may have switched between the two reads. */
        const bool known = gil->switches != noted->switches + 1 || gil->holder != noted->holder;
        *noted = (struct gil){ gil->holder, gil->switches, gil->locked, known, noted->shared };
    }
}

/* Finds the thread that has the lock, or had it last. If this thread is gone and nobody has the lock, nothing in the
 * program changes until another thread takes the lock. */
static bool find_holder(struct exact *exact, struct holder *holder)
{
    const struct holder last = exact->holder;
    struct gil gil;
    *holder = (struct holder){ .pointer = thread_list_pointer(exact->thread_list, last.thread), .processor = NOWHERE };
    const bool there = read_lock_and_processor(exact, holder->pointer, &gil, &holder->processor);
    if (!there && !read_lock_and_processor(exact, 0, &gil, &holder->processor))
        return false;
    if (gil.holder != last.thread || holder->pointer == 0 || !there) {
        const uint64_t thread = gil.holder;
        holder->processor = NOWHERE;
        bool found = false;
        for (int listed = there; !found && listed >= 0; listed--) /* the list may name a thread that has ended */
            found = find_pointer(exact, thread, listed, &holder->pointer) &&
                    read_lock_and_processor(exact, holder->pointer, &gil, &holder->processor);
        holder->pointer = found ? holder->pointer : 0;
        if (gil.holder != thread || (!found && gil.locked))
            return false;
    }
    holder->thread = gil.holder;
    holder->switches = gil.switches;
    note_lock(exact->target, &gil);
    return exact->rseq || !holder->pointer ||
           procfs_processor(exact->target->pid, thread_list_native_id(exact->thread_list, gil.holder),
                            &holder->processor);
}

/* Finds the holder while the program runs. Without success, there is no holder. */
static bool find_holder_running(struct exact *exact)
{
    for (int i = 0; i < FINDS; i++)
        if (find_holder(exact, &exact->holder))
            return true;
    exact->holder = (struct holder){ 0 };
    return false;
}

/* Whether threads of the program may run Python at the same time. */
static bool threads_run_at_once(const struct exact *exact)
{
    return !target_has_one_lock(exact->target);
}

/* ---- where to look ---- */

/* Notes the holder in the rows of recent holders: in the row of the same thread, or else in the oldest row. Where many
 * threads run at the same time, a row is that of a processor. */
static void note_holder(struct exact *exact)
{
    const struct holder *holder = &exact->holder;
    struct recent_holder *row = &exact->recent[0];
    if (!holder->thread || holder->processor == NOWHERE)
        return;
    for (struct recent_holder *r = exact->recent; r < exact->recent + EXACT_RECENT; r++) {
        if (exact->work.crowd ? r->thread && r->processor == holder->processor : r->thread == holder->thread) {
            row = r;
            break;
        }
        row = r->look < row->look ? r : row;
    }
    *row = (struct recent_holder){ holder->thread, holder->processor, exact->looks };
}

/* Notes the threads that run as recent holders, and one of them as the holder; if none runs, there is no holder. */
static void note_crowd(struct exact *exact)
{
    struct thread_list *list = exact->thread_list;
    exact->holder = (struct holder){ .processor = NOWHERE };
    for (uint32_t i = 0; i < exact->after.count; i++) {
        const struct crowd_thread *thread = &exact->after.threads[i];
        const struct member *member = &list->members[i];
        if (!thread->runs || !thread->known)
            continue;
        exact->holder = (struct holder){ .thread = member->address,
                                         .pointer = member->pointer,
                                         .processor = thread->processor };
        note_holder(exact);
        thread_list_note_recent(list, i);
    }
}

/* Whether this holder stands still while the posts stay: it runs on the processor of one, or its thread is gone. */
static bool stands(const struct exact *exact, const struct holder *holder)
{
    return holder->pointer == 0 || posts_have(&exact->work.posts, holder->processor);
}

/* Notes that following the lock failed: the holder was elsewhere, the next look went there, and the holder is elsewhere
 * again. */
static void note_lost(struct exact *exact)
{
    exact->lost[0] = exact->lost[1];
    exact->lost[1] = exact->looks;
}

/* Chooses the processors for the next look: the holder's processor, and while following the lock fails, or where
 * several threads may run, the processors of recent holders. */
static void choose_processors(struct exact *exact)
{
    struct exact_work *work = &exact->work;
    const bool several = work->crowd || (exact->lost[0] && exact->looks - exact->lost[0] < LOST);
    work->holder = exact->holder;
    /* A thread of a crowd that is out of reach spoils no other. */
    if (exact->holder.pointer && (!work->crowd || stand_may(&exact->stand, exact->holder.processor)))
        posts_add(&work->posts, exact->holder.processor);
    for (const struct recent_holder *r = exact->recent; several && r < exact->recent + EXACT_RECENT; r++)
        if (r->thread && exact->looks - r->look <= LATELY && stand_may(&exact->stand, r->processor))
            posts_add(&work->posts, r->processor);
}

/* ---- a look ---- */

/* Whether a witness (the bytes read first or last) shows this holder, on the processor of a post. */
static bool is_witnessed(const struct exact *exact, const struct holder *holder, const unsigned char *bytes)
{
    const struct gil gil = target_gil(exact->target, bytes);
    struct holder seen = *holder;
    if (exact->rseq && holder->pointer)
        seen.processor = half_word_at(bytes, target_gil_size(exact->target));
    /* A new thread state may have the address of an old one, so compare the thread pointer. For a holder that is gone,
     * nobody may have taken the lock. */
    const bool same = holder->pointer ? thread_list_pointer(exact->thread_list, holder->thread) == holder->pointer
                                      : !gil.locked && gil.switches == holder->switches;
    return gil.holder == holder->thread && seen.processor == holder->processor && stands(exact, &seen) && same;
}

/* Whether the look is one moment although the witness does not prove it. There are two reasons: another read followed
 * the last witness, or another thread had taken the lock before the look. The latter thread stands still, too, if it is
 * on the processor of a post. Finds the present holder in any case. */
static bool is_same_after_all(struct exact *exact, const unsigned char *first)
{
    const struct gil gil = target_gil(exact->target, first);
    if (!find_holder(exact, &exact->holder)) {
        exact->holder = (struct holder){ 0 };
        return false;
    }
    /* Without rseq, the processor is that where the kernel has the thread, not that where it last ran. */
    const bool stood = exact->rseq || exact->holder.processor == exact->work.holder.processor;
    return exact->holder.thread == gil.holder && exact->holder.switches == gil.switches && stood &&
           stands(exact, &exact->holder);
}

static void look_once(struct exact *exact, uint64_t now_ns)
{
    exact->thread_list->unwinder.retry_later = false;
    exact->standing = true;
    exact->work.state = exact->work.look(exact->work.self, now_ns);
    exact->standing = false;
}

/* Makes the look with this holder in the witness. False when the holder's thread is gone, and nothing was read. */
static bool look_with(struct exact *exact, const struct holder *holder, uint64_t now_ns)
{
    struct witness *witness = &exact->thread_list->unwinder.witness;
    *witness = (struct witness){ 0 };
    witness->count = lock_and_processor(exact, holder->pointer, NULL, witness->pieces);
    look_once(exact, now_ns);
    exact->work.looks += !witness->gone || witness->came;
    return !witness->gone;
}

/* Whether this holder stood still during the look: then the look is one moment. */
static bool was_one_moment(struct exact *exact, const struct holder *holder)
{
    const struct witness *witness = &exact->thread_list->unwinder.witness;
    if (exact->work.state == THREAD_LIST_SLEPT)
        return true;
    if (!target_has_one_lock(exact->target)) /* this look may have found a new interpreter */
        return false;
    const bool at_last = witness->reads == exact->target->remote.calls && (exact->rseq || !holder->pointer);
    const bool no_switch = target_gil(exact->target, witness->first).switches ==
                           target_gil(exact->target, witness->last).switches;
    return (witness->came && at_last && no_switch && is_witnessed(exact, holder, witness->first) &&
            is_witnessed(exact, holder, witness->last)) ||
           (is_same_after_all(exact, witness->first) && witness->came);
}

/* Whether the program slept when the look began: nobody had the lock, and its last holder stood. */
static bool was_asleep(const struct exact *exact, const struct holder *holder)
{
    const struct witness *witness = &exact->thread_list->unwinder.witness;
    return witness->came && !target_gil(exact->target, witness->first).locked &&
           is_witnessed(exact, holder, witness->first);
}

/* The recorder's own number of a thread; 0: not known yet. */
static pid_t host_thread(const struct exact *exact, const struct member *member)
{
    const uint32_t native_id = member_number(member);
    return (pid_t)(exact->target->same_pids ? native_id : intern_pairs_find(exact->host_threads, native_id, 0));
}

/* Tells the post on a processor to capture the thread that stands there. */
static void want_capture(struct exact *exact, const struct member *member, uint32_t processor)
{
    const struct posts *posts = &exact->work.posts;
    if (!member || member->state != UNWIND_DONE || exact->work.state != THREAD_LIST_READ || exact->work.retry_later)
        return;
    for (size_t i = 0; exact->stand.captures && i < posts->count; i++)
        if (posts->processors[i] == processor)
            exact->stand.captures[i].wanted = (struct captured){
                .tid = host_thread(exact, member),
                .thread = member->address,
                .last = native_stack_last(&member->walk, &exact->target->runtime.layout),
                .cpu_at = exact->rseq && member->pointer ? member->pointer + (uint64_t)exact->rseq + RSEQ_CPU_ID : 0,
                .processor = processor,
            };
}

/* Tells each post under a thread of the crowd to capture that thread: one that runs Python; else the only one that was
 * last on the post's processor, which may run C code. */
static void want_captures(struct exact *exact)
{
    const struct crowd *crowd = &exact->after;
    const struct posts *posts = &exact->work.posts;
    uint32_t last[STAND_AT_ONCE] = { 0 }; /* of each post: how many threads were last on its processor */
    if (!exact->stand.captures || !exact->work.same)
        return;
    for (size_t i = 0; i < crowd->count; i++)
        for (size_t k = 0; crowd->threads[i].known && k < posts->count; k++)
            last[k] += posts->processors[k] == crowd->threads[i].processor;
    for (size_t i = 0; i < crowd->count; i++) {
        const struct crowd_thread *thread = &crowd->threads[i];
        bool alone = false;
        for (size_t k = 0; thread->known && k < posts->count; k++)
            alone |= posts->processors[k] == thread->processor && last[k] == 1;
        const struct member *member = &exact->thread_list->members[i];
        if (thread->known && (thread->runs || (alone && member->catchable)))
            want_capture(exact, member, thread->processor);
    }
}

static void want_nothing(struct exact *exact)
{
    for (size_t i = 0; exact->stand.captures && i < STAND_AT_ONCE; i++)
        exact->stand.captures[i].wanted = (struct captured){ 0 };
}

/* Drops all copies of C stacks: their look is thrown away, or is over. */
static void drop_captures(struct exact *exact)
{
    for (size_t i = 0; exact->stand.captures && i < STAND_AT_ONCE; i++)
        capture_drop(&exact->stand.captures[i]);
}

/* Makes a look at a crowd: all posts have come, and stay. Looks again when the look has found threads that are new: of
 * these, nothing was read before it. */
static bool look_at_crowd(struct exact *exact, uint64_t now_ns)
{
    struct exact_work *work = &exact->work;
    const struct thread_list *list = exact->thread_list;
    crowd_read(&exact->after, list, exact->rseq);
    work->elsewhere = crowd_is_elsewhere(&exact->after, &work->posts);
    for (int i = 0; i < CROWD_LOOKS && (i == 0 || crowd_has_new(&exact->before, &exact->after)); i++) {
        const struct crowd before = exact->before;
        exact->before = exact->after;
        exact->after = before;
        look_once(exact, now_ns);
        work->looks++;
        crowd_read(&exact->after, list, exact->rseq);
    }
    note_crowd(exact);
    work->moved = work->state == THREAD_LIST_SLEPT ? 0 : crowd_moved(&exact->before, &exact->after, list, &work->posts);
    work->same = work->moved == 0;
    work->slept = crowd_sleeps(&exact->before);
    work->retry_later = list->unwinder.retry_later || work->state == THREAD_LIST_TORN;
    want_captures(exact);
    return true;
}

/* Finds the holder anew. Whether it stands. */
static bool holder_stands(struct exact *exact)
{
    if (!find_holder(exact, &exact->holder))
        return false;
    exact->work.holder = exact->holder;
    return stands(exact, &exact->holder);
}

/* Makes a look while the lock's holder stands. If the holder's thread has ended, finds the new holder and looks again.
 * Finds the holder first where the lock goes from processor to processor, and where threads have no rseq area, because
 * then the holder's processor must be compared before and after the look. */
static bool look_at_holder(struct exact *exact, uint64_t now_ns)
{
    struct exact_work *work = &exact->work;
    const bool known = exact->rseq && work->posts.count < 2;
    const bool there = ((known || holder_stands(exact)) && look_with(exact, &work->holder, now_ns)) ||
                       (holder_stands(exact) && look_with(exact, &work->holder, now_ns));
    work->same = there && was_one_moment(exact, &work->holder);
    work->slept = there && was_asleep(exact, &work->holder);
    /* The list looks torn when a thread lost its processor while it changed the list. */
    work->retry_later = there && (exact->thread_list->unwinder.retry_later || work->state == THREAD_LIST_TORN);
    if (!there)
        work->state = THREAD_LIST_TORN;
    exact->thread_list->unwinder.witness = (struct witness){ 0 };
    if (work->same) /* of the holder as it is now: the lock may have gone on before the look */
        want_capture(exact, thread_list_member(exact->thread_list, exact->holder.thread), exact->holder.processor);
    return there;
}

/* Makes the look (a stand_work), when all posts have come. */
static bool exact_do_work(void *data, uint32_t processor, uint64_t now_ns)
{
    struct exact *exact = data;
    (void)processor;
    exact->work.begun = true;
    want_nothing(exact);
    return exact->work.crowd ? look_at_crowd(exact, now_ns) : look_at_holder(exact, now_ns);
}

/* Why a look cannot be one moment, for the user; NULL: it can. */
static const char *exact_refusal(const struct exact *exact)
{
    if (!target_knows_locks(exact->target))
        return "the lock of an interpreter is unknown";
    if (exact->rseq == 0 && threads_run_at_once(exact))
        return "its threads run at the same time, on unknown processors (its C library has no rseq)";
    if (exact->rseq == 0 && !exact->target->same_pids)
        return "the processor of its threads is unknown (its C library has no rseq, and its pid namespace is another "
               "one)";
    return NULL;
}

/* Whether the holder has a real-time priority, which posts do not preempt. A post would run only when the thread
 * sleeps, and never see the thread run. The priority is looked up now and then. */
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

void exact_look_ahead(struct exact *exact, uint64_t now_ns)
{
    struct thread_list *list = exact->thread_list;
    const struct unwind_counters counters = list->unwinder.counters;
    thread_list_read(list, now_ns);
    list->unwinder.retry_later = list->rests = false;
    list->unwinder.counters = counters;
    if (threads_run_at_once(exact)) {
        crowd_read(&exact->after, list, exact->rseq);
        note_crowd(exact);
    } else {
        find_holder_running(exact);
    }
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
    drop_captures(exact);
    exact->refusal = exact_refusal(exact);
    if (exact->refusal)
        return false;
    exact->work.crowd = threads_run_at_once(exact);
    if (!exact->work.crowd && !exact->holder.thread && !find_holder_running(exact))
        return false;
    if (exact->holder.thread && is_ahead(exact, &exact->holder, moments->due_ns)) {
        exact->refusal = "it has a real-time priority";
        return false;
    }
    choose_processors(exact);
    const struct posts *posts = &exact->work.posts;
    const bool out_of_reach = exact->work.crowd && exact->holder.pointer && posts->count == 0;
    /* After stand_appoint(), the struct belongs to the post, so the fields are set before. */
    exact->alone = posts->count == 0;
    exact->appointed = true;
    if (!out_of_reach && (exact->alone || stand_appoint(&exact->stand, posts, moments, exact_do_work, exact)))
        return !exact->alone;
    exact->refusal = exact->stand.busy ? "one of its threads does not stop for --native"
                                       : "it runs on a processor that pyreel-record may not use (see taskset)";
    exact->appointed = false;
    exact->holder = (struct holder){ 0 }; /* find the holder anew: it may be on another processor next time */
    return false;
}

/* Waits for the appointed look. If the holder is gone, no post is needed, because no thread must be preempted: the
 * caller makes the look itself. */
static bool meet(struct exact *exact, uint64_t now_ns)
{
    struct stand *stand = &exact->stand;
    if (!exact->alone)
        return stand_meet(stand);
    const struct stay before = stand_stay_now();
    stand->waited = false;
    stand->began_ns = now_ns;
    const bool looked = exact_do_work(exact, NOWHERE, now_ns);
    const struct stay after = stand_stay_now();
    /* A crowd of which nobody ran may run while the caller does not. One lock tells by itself. */
    stand->stayed = !exact->work.crowd || (before.waits == after.waits && before.preemptions == after.preemptions);
    return looked;
}

/* Appoints a further look of this tick at a new random moment, after an unproven look. The reason may be that the
 * holder was on another processor, the post came too late, or a thread was in the middle of a change. On a busy machine
 * such a change may last for milliseconds, until the thread gets a processor again. So the time between looks doubles
 * then. */
static bool exact_follow(struct exact *exact, int hop)
{
    const struct exact_work work = exact->work;
    const uint64_t now_ns = clock_now_ns();
    exact->random = exact->random * 6364136223846793005u + now_ns;
    const uint64_t distance_ns = FOLLOW_LEAST_NS + (exact->random >> 40) % FOLLOW_DRAWN_NS;
    const struct moments moments = { .due_ns = now_ns + (distance_ns << (work.retry_later ? hop : 0)) };
    exact_appoint(exact, work.look, work.self, &moments);
    return exact->appointed;
}

/* Whether to keep an unproven look because it began while the program slept. The program may wake on another processor
 * during the look, because the kernel often handles its timer together with the post's. A further look would show what
 * the program does after the sleep instead. */
static bool is_first_of_sleep(const struct exact_work *work)
{
    return work->slept && work->state == THREAD_LIST_READ && !work->retry_later;
}

/* Whether to keep a look that does not prove all. The last one of the tick is kept. Of a crowd, a look is repeated only
 * for what was so before the look began, as a thread on a processor without a post: to repeat a look because a thread
 * woke in it would show what the thread does after its sleep instead. */
static bool keeps_look(const struct exact *exact, int hop)
{
    const struct exact_work *work = &exact->work;
    if (work->state != THREAD_LIST_READ || work->retry_later)
        return false;
    if (!work->crowd)
        return hop == HOPS - 1;
    return hop >= CROWD_HOPS - 1 || (!work->elsewhere && (exact->stand.stayed || exact->stand.waited));
}

/* Whether to give up. A post that does not come, as behind a thread with a real-time priority, keeps the others
 * waiting: the next look begins without the processors of this one. Posts that passed the moment before the appointment
 * come to the next one. */
static bool is_hopeless(struct exact *exact, int hop)
{
    const bool several = exact->work.crowd || exact->work.posts.count > 1;
    const bool vain = several && !exact->work.begun && clock_now_ns() > exact->work.due_ns + VAIN_NS;
    if (vain)
        memset(exact->recent, 0, sizeof(exact->recent));
    return hop >= (vain ? CROWD_HOPS : HOPS) - 1;
}

/* Whether what the look has read stood still all the time: a crowd if all posts stayed, one holder if its post did. */
static bool have_stayed(const struct exact *exact)
{
    return exact->work.crowd || exact->alone ? exact->stand.stayed
                                             : stand_stayed_on(&exact->stand, exact->holder.processor);
}

/* Counts the looks of an appointment that is over: all are thrown away but the last one, if that is kept. */
static void exact_count_looks(struct exact *exact, bool kept)
{
    exact->hops += exact->work.looks - kept;
    exact->work.looks = 0;
}

enum thread_list_state exact_read(struct exact *exact, exact_look *look, void *self, uint64_t now_ns)
{
    bool elsewhere = false;
    exact->proven = exact->waited = false;
    exact->moved = 0;
    for (int hop = 0; exact->appointed; hop++) {
        const bool looked = meet(exact, now_ns);
        if (looked) {
            exact->waited |= exact->stand.waited;
            exact->moment_ns = exact->stand.began_ns;
            const bool kept = keeps_look(exact, hop);
            exact->proven = (exact->work.same || (exact->work.crowd && kept)) && have_stayed(exact) &&
                            !exact->work.retry_later;
            exact->moved = exact->work.moved;
            if (exact->proven || kept || is_first_of_sleep(&exact->work) || exact->work.state == THREAD_LIST_GONE) {
                note_holder(exact);
                exact_count_looks(exact, true);
                exact->proven &= exact->moment_ns < exact->work.due_ns + LATE_NS;
                exact->appointed = false;
                return exact->work.state;
            }
        }
        note_holder(exact);
        exact_count_looks(exact, false);
        const bool again = elsewhere;
        elsewhere = !exact->work.crowd && (!exact->holder.thread || !stands(exact, &exact->holder));
        if (again && elsewhere)
            note_lost(exact);
        /* The last hop makes no appointment: a post would look at the same time as the caller below. */
        if (is_hopeless(exact, hop) || !exact_follow(exact, hop))
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

bool exact_refuses(const struct exact *exact)
{
    return exact->refusal != NULL;
}

void exact_cancel(struct exact *exact)
{
    stand_cancel(&exact->stand);
    drop_captures(exact);
    exact_count_looks(exact, false);
    exact->appointed = false;
}

void exact_trim(struct exact *exact, uint64_t now_ns)
{
    stand_trim(&exact->stand, now_ns);
}

void exact_end(struct exact *exact)
{
    stand_end(&exact->stand);
}

bool exact_ended(struct exact *exact)
{
    return stand_ended(&exact->stand);
}

void exact_close(struct exact *exact)
{
    crowd_free(&exact->before);
    crowd_free(&exact->after);
    stand_close(&exact->stand);
    *exact = (struct exact){ 0 };
}
