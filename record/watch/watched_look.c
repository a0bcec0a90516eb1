/* SPDX-License-Identifier: MIT */
#include "record/watch/watched_look.h"

#include "record/process/clock.h"
#include "record/watch/watched_threads.h"

#define WAIT_LEAST_NS  500000      /* a look that takes less time has not waited */
#define AHEAD_TICKS    64          /* so long after a change of the threads, looks are prepared by a look ahead, ... */
#define AHEAD_LEAST_NS 120000u     /* ... so long before their moment, besides the time that it takes, ... */
#define AHEAD_MOST_NS  2000000u    /* ... but not longer than this */
#define SPANS_AT_ONCE  64          /* threads whose span variable is searched before a look */
#define LOOK_MOST_NS   5000000000u /* a look that still reads then is of a program that lies */

/* ---- before the moment ---- */

void watched_warm_up(struct watched *w)
{
    thread_list_read(&w->thread_list, clock_now_ns());
    w->thread_list.unwinder.counters = (struct unwind_counters){ 0 };
}

bool watched_sleeps_on(struct watched *w)
{
    return w->look.idle_looked && idle_still(&w->idle);
}

/* Searches the span variables of threads that the last look found; of some of many, which have their turn. */
static void watched_search_spans(struct watched *w)
{
    const struct thread_variable *spans = &w->publications.spans;
    const struct thread_list *list = &w->thread_list;
    const uint64_t now_ns = spans->module ? clock_now_ns() : 0;
    for (size_t i = 0, searched = 0; spans->module && i < list->order_count && searched < SPANS_AT_ONCE; i++) {
        w->look.span_turn = w->look.span_turn + 1 < list->order_count ? w->look.span_turn + 1 : 0;
        struct member *member = &list->members[list->order[w->look.span_turn]];
        searched += span_piece_search(&member->walk.span, spans, &w->target.remote, now_ns);
    }
}

/* Makes the checks that precede a look, before the moment of the look. */
static void watched_prepare(struct watched *w)
{
    const bool searches = w->options->async && !w->asyncio.ready;
    if (searches)
        asyncio_search(&w->asyncio);
    asyncio_prepare(&w->asyncio);
    watched_search_spans(w);
    if (w->options->anew || searches)
        w->look.idle_looked = false;
    else if (idle_learn(&w->idle))
        w->look.idle_looked = false;
    w->look.prepared = true;
}

uint64_t watched_ahead_ns(const struct watched *w)
{
    const uint64_t before_ns = AHEAD_LEAST_NS + 2 * w->look.ahead_took_ns;
    if (!w->options->stands || w->options->async || w->look.ahead_ticks == 0)
        return 0;
    return before_ns < AHEAD_MOST_NS ? before_ns : AHEAD_MOST_NS;
}

/* Whether a look that began at `began_ns` waited for the lock of the target's memory. Then the thread slept more often
 * than the `known` sleeps since `before`. */
static bool has_waited(const struct stay *before, uint64_t known, uint64_t began_ns)
{
    const uint64_t took_ns = clock_now_ns() - began_ns;
    if (took_ns < WAIT_LEAST_NS)
        return false;
    return stand_stay_now().waits - before->waits > known;
}

void watched_look_ahead(struct watched *w, uint64_t due_ns)
{
    watched_prepare(w);
    if (watched_sleeps_on(w) || exact_refuses(&w->exact))
        return;
    const struct stay before = stand_stay_now();
    const uint64_t began_ns = clock_now_ns();
    remote_give_up_at(&w->target.remote, due_ns);
    exact_look_ahead(&w->exact, began_ns);
    remote_give_up_at(&w->target.remote, 0);
    const uint64_t took_ns = clock_now_ns() - began_ns;
    w->look.ahead_took_ns += (took_ns < AHEAD_MOST_NS ? took_ns : AHEAD_MOST_NS) / 8 - w->look.ahead_took_ns / 8;
    w->look.ahead_waited = began_ns + took_ns > due_ns && has_waited(&before, 0, began_ns);
}

/* ---- at the moment ---- */

/* Makes a look (an exact_look): reads the threads and the tasks, unless the process slept since the last look. */
static enum thread_list_state look_now(void *self, uint64_t now_ns)
{
    struct watched *w = self;
    w->look.slept = watched_sleeps_on(w);
    if (w->look.slept) {
        thread_list_repeat(&w->thread_list);
        return THREAD_LIST_SLEPT;
    }
    struct unwinder *unwinder = &w->thread_list.unwinder;
    remote_give_up_at(&w->target.remote, now_ns + LOOK_MOST_NS);
    unwinder->also = labels_plan(&w->publications.labels);
    unwinder->also_came = false;
    const enum thread_list_state state = w->options->async
                                             ? asyncio_read(&w->asyncio, now_ns, now_ns - w->options->start_ns)
                                             : thread_list_read(&w->thread_list, now_ns);
    remote_give_up_at(&w->target.remote, 0);
    labels_take(&w->publications.labels, unwinder->also_came);
    unwinder->also.size = 0;
    watched_threads_ask_in_look(w, w->exact.standing, now_ns);
    return state;
}

bool watched_appoint(struct watched *w, const struct moments *moments)
{
    if (!w->look.prepared)
        watched_prepare(w);
    return w->options->stands && exact_appoint(&w->exact, look_now, w, moments);
}

void watched_cancel(struct watched *w)
{
    exact_cancel(&w->exact);
    w->look.prepared = w->look.ahead_waited = false;
}

static enum thread_list_state look_frozen(struct watched *w, uint64_t now_ns)
{
    const uint64_t stopped_count = w->freeze.stopped_count;
    watched_threads_ask_ahead(w, false, now_ns);
    const bool stopped = freeze_begin(&w->freeze);
    halt_note(&w->halt, w->freeze.stopped_count != stopped_count ? HALT_SIGNAL : HALT_NONE, now_ns);
    w->look.one_moment = stopped;
    const enum thread_list_state state = look_now(w, now_ns);
    if (stopped && w->options->while_frozen)
        w->options->while_frozen(w->options->self, w);
    freeze_end(&w->freeze);
    w->look.frozen_ns += w->freeze.lasted_ns;
    return state;
}

/* Reads the threads: while they are stopped (--blocking), from their processor, or while they run. */
static void watched_read_threads(struct watched *w, uint64_t now_ns)
{
    const bool slept = w->look.slept;
    const struct stay before = stand_stay_now();
    const uint64_t waits = w->exact.stand.waits, taken_ns = stand_taken_ns(&w->exact.stand);
    w->look.moment_ns = now_ns;
    w->look.state = w->options->freezes  ? look_frozen(w, now_ns)
                    : w->options->stands ? exact_read(&w->exact, look_now, w, now_ns)
                                         : look_now(w, now_ns);
    if (w->look.state == THREAD_LIST_SLEPT)
        w->look.state = THREAD_LIST_READ;
    if (w->options->stands && !w->options->freezes)
        w->look.moment_ns = w->exact.moment_ns;
    if (!w->options->freezes)
        w->look.one_moment = w->exact.proven || w->look.slept;
    w->look.waited = !w->options->freezes &&
                     (w->exact.waited || has_waited(&before, w->exact.stand.waits - waits, w->look.moment_ns));
    /* A look while the program sleeps takes no time from the program. The kernel reports the time of a look only at the
     * next look. */
    w->look.idle_ns += slept && w->look.slept ? stand_taken_ns(&w->exact.stand) - taken_ns : 0;
}

/* ---- after the moment ---- */

/* Notes whether the thread lists have changed since the last look. */
static void note_lists(struct watched *w)
{
    w->look.ahead_ticks = w->look.ahead_turns != w->thread_list.turns ? AHEAD_TICKS
                                                                      : w->look.ahead_ticks - (w->look.ahead_ticks > 0);
    w->look.ahead_turns = w->thread_list.turns;
}

void watched_look(struct watched *w, uint64_t now_ns)
{
    if (!w->look.prepared)
        watched_prepare(w);
    w->look.prepared = false;
    w->thread_list.moved = 0;
    watched_read_threads(w, now_ns);
    note_lists(w);
    w->look.waited |= w->look.ahead_waited;
    w->counters.blocked_ns += w->look.waited
                                  ? clock_now_ns() - (now_ns < w->look.moment_ns ? now_ns : w->look.moment_ns)
                                  : 0;
    w->look.ahead_waited = false;
    if (w->look.state == THREAD_LIST_READ && w->thread_list.rests)
        w->look.state = thread_list_rest(&w->thread_list, clock_now_ns());
    /* A failed look cannot stand for the ticks of the wait. */
    w->look.waited &= w->look.state == THREAD_LIST_READ && w->thread_list.failed == 0;
    w->counters.idle_ticks += w->look.slept;
    /* Only a tick without failures can be repeated. */
    if (w->look.state != THREAD_LIST_READ || w->thread_list.failed > 0 || w->asyncio.failed > 0)
        idle_forget(&w->idle);
    w->look.idle_looked = idle_knows(&w->idle);
}

uint64_t watched_moved(const struct watched *w)
{
    return w->thread_list.moved + (w->options->stands ? w->exact.moved : 0);
}
