/* SPDX-License-Identifier: MIT */
#include "record/watch/watched_search.h"

#include "record/process/clock.h"
#include "record/process/permission.h"
#include "record/process/procfs.h"
#include "record/watch/unreadable.h"

#define FIND_LEAST_NS   500000u     /* the shortest wait between two calls of watched_find(), ... */
#define FIND_START_NS   8000000u    /* ... the longest while a Python starts, ... */
#define FIND_MOST_NS    16000000u   /* ... and else; of many processes, those that do not run wait longer: ... */
#define FIND_EACH_NS    1000000u    /* ... so long for each process of the recording, ... */
#define FIND_IDLE_NS    1000000000u /* ... and at most so long */
#define FIND_PART       4           /* a wait is a quarter of the time for which nothing has changed, ... */
#define FIND_START_PART 256         /* ... and much less of it while a Python starts: its first time may be short */
#define SEARCH_MOST_NS  256000000u  /* the longest wait between two searches of a process that runs */
#define SEARCH_REST     64          /* searches of processes that grew are followed by so much more rest */
#define PUZZLE_NS       1000000000u /* a Python that starts has a runtime before that time */
#define BELIEVE_NS      50000000u   /* how long a process may refuse to be read before the refusal is final */

void watched_seek(struct watched *w)
{
    const uint64_t now_ns = clock_now_ns();
    w->search = (struct search){ .found = TARGET_NOT_YET,
                                 .find_ns = now_ns,
                                 .believe_ns = now_ns + BELIEVE_NS,
                                 .began_ns = now_ns,
                                 .ran_ns = now_ns,
                                 .due_ns = now_ns };
    cpu_process_open(&w->search.clock, w->pid);
}

void watched_forked(struct watched *w, const struct watched *parent)
{
    uint64_t device, inode; /* the child of a vfork() comes when it runs another program */
    if (parent->attached && procfs_program(w->pid, &device, &inode) && device == parent->search.device &&
        inode == parent->search.inode) {
        w->search.likely = parent->target.runtime;
        w->search.fork_random = procfs_random(parent->pid);
    }
}

/* Whether the options can be fulfilled for this version of CPython. False with the reason. */
static bool can_be_recorded(struct watched *w, struct fault *why)
{
    return (!w->options->async || asyncio_possible(&w->target.runtime.layout, why)) &&
           (!w->options->freezes || freeze_open(&w->freeze, w->pid, why));
}

/* Notes that the process ran no Python when its CPU clock was last read for the search. */
static void watched_is_no_python(struct watched *w)
{
    if (w->search.clock.used_ns != UINT64_MAX)
        w->begun_cpu_ns = w->search.clock.used_ns;
}

/* Whether a CPython of the process has no interpreter yet. */
static bool watched_starts(const struct watched *w)
{
    return w->search.likely.address && !w->search.likely.described;
}

/* Whether a search is one read. It is not while the CPython that starts may have one of several versions. */
static bool search_is_cheap(const struct watched *w)
{
    return watched_starts(w) && w->search.likely.random_at;
}

/* Whether the memory of the process has another size than at the last search. If not, no CPython came. */
static bool watched_grew(struct watched *w, uint64_t now_ns)
{
    if (w->shared && now_ns < w->shared->search_ns)
        return false;
    if (procfs_pages(w->pid) != w->search.pages)
        return true;
    watched_is_no_python(w);
    return false;
}

/* Whether the process may have become a Python since the last search. A process that has not run has not changed. */
static bool is_worth_a_search(struct watched *w, uint64_t now_ns)
{
    struct search *search = &w->search;
    uint64_t device = 0, inode = 0;
    const bool ran = cpu_process_ran(&search->clock);
    if (w->search.found != TARGET_NOT_YET)
        return true;
    if (!ran)
        return false;
    search->ran_ns = now_ns;
    procfs_program(w->pid, &device, &inode);
    if (device != search->device || inode != search->inode) {
        search->began_ns = now_ns;
        search->device = device;
        search->inode = inode;
        search->judged = search->puzzled = false;
        return true;
    }
    return search_is_cheap(w) || now_ns >= search->due_ns || watched_grew(w, now_ns);
}

/* A part of a time, within bounds: a process that has not changed for long is not expected to change soon. */
static uint64_t wait_after(uint64_t unchanged_ns, uint64_t part, uint64_t most_ns)
{
    const uint64_t wait_ns = unchanged_ns / part < most_ns ? unchanged_ns / part : most_ns;
    return wait_ns > FIND_LEAST_NS ? wait_ns : FIND_LEAST_NS;
}

static enum target_state watched_search(struct watched *w, struct fault *why)
{
    const struct runtime_hints hints = { .files = w->shared ? &w->shared->files : NULL, .likely = &w->search.likely };
    const enum target_state state = target_open_hinted(&w->target, w->pid, &hints, why);
    if (state != TARGET_READY || can_be_recorded(w, why))
        return state;
    target_close(&w->target);
    return TARGET_UNSUPPORTED;
}

/* Searches the process, and notes what is_worth_a_search() and the next search need. */
static void watched_search_now(struct watched *w, uint64_t now_ns, struct fault *why)
{
    struct search *search = &w->search;
    const bool started = search_is_cheap(w);
    search->pages = started ? search->pages : procfs_pages(w->pid);
    w->search.found = watched_search(w, why);
    search->due_ns = now_ns + wait_after(now_ns - search->began_ns, FIND_PART, SEARCH_MOST_NS);
    search->started_ns = !watched_starts(w) ? 0 : search->started_ns ? search->started_ns : now_ns;
    if (w->search.found == TARGET_NOT_YET)
        watched_is_no_python(w);
    const uint64_t end_ns = clock_now_ns();
    if (w->shared && !started)
        w->shared->search_ns = end_ns + SEARCH_REST * (end_ns - now_ns);
}

/* The longest wait of a process that does not run. */
static uint64_t idle_most_ns(const struct watched *w)
{
    const uint64_t all_ns = (w->shared ? w->shared->processes : 1) * FIND_EACH_NS;
    return all_ns < FIND_MOST_NS ? FIND_MOST_NS : all_ns < FIND_IDLE_NS ? all_ns : FIND_IDLE_NS;
}

/* When the next call of watched_find() is due. */
static uint64_t next_find_ns(const struct watched *w, uint64_t now_ns)
{
    const struct search *search = &w->search;
    if (search->started_ns)
        return now_ns + wait_after(now_ns - search->started_ns, FIND_START_PART, FIND_START_NS);
    if (search->ran_ns == now_ns || w->search.found != TARGET_NOT_YET)
        return now_ns + wait_after(now_ns - search->began_ns, FIND_PART, FIND_MOST_NS);
    return now_ns + wait_after(now_ns - search->ran_ns, FIND_PART, idle_most_ns(w));
}

/* Refuses a process whose files are those of a Python that is never read. They are asked for once for each program: by
 * then, a process that starts has mapped them. */
static void judge_files(struct watched *w, uint64_t now_ns, struct fault *why)
{
    if (w->search.found != TARGET_NOT_YET || w->search.judged || now_ns < w->search.began_ns + BELIEVE_NS)
        return;
    w->search.judged = true;
    if (unreadable_by_files(w->pid, why))
        w->search.found = TARGET_UNSUPPORTED;
}

enum target_state watched_find(struct watched *w, struct fault *why)
{
    const uint64_t now_ns = clock_now_ns();
    if (is_worth_a_search(w, now_ns))
        watched_search_now(w, now_ns, why);
    if (w->search.found == TARGET_READY)
        return TARGET_READY;
    if (watched_ended(w))
        return TARGET_GONE;
    if (!w->search.searched) /* a process that is ending has no memory */
        w->search.searched = w->search.found == TARGET_NOT_YET && procfs_pages(w->pid) > 0;
    judge_files(w, now_ns, why);
    if ((w->search.found == TARGET_UNSUPPORTED || w->search.found == TARGET_DENIED) && now_ns >= w->search.believe_ns)
        return w->search.found;
    w->search.find_ns = next_find_ns(w, now_ns);
    return TARGET_NOT_YET;
}

bool watched_puzzles(struct watched *w, struct fault *why)
{
    struct search *search = &w->search;
    if (w->search.found != TARGET_NOT_YET || watched_starts(w) || search->puzzled ||
        clock_now_ns() < search->began_ns + PUZZLE_NS)
        return false;
    search->puzzled = true;
    struct fault cause = { 0 };
    return unreadable_without_runtime(w->pid, &cause) &&
           !fault(why, "process %d cannot be read so far: %s", (int)w->pid, cause.text);
}

enum target_state watched_give_up(const struct watched *w, struct fault *why)
{
    const bool unreadable = !watched_starts(w) && unreadable_without_runtime(w->pid, why);
    return unreadable ? TARGET_UNSUPPORTED : TARGET_NOT_YET;
}

bool watched_refusal(const struct watched *w, enum target_state state, struct fault *why)
{
    const struct fault known = *why;
    why->text[0] = '\0';
    switch (state) {
    case TARGET_GONE:
        return permission_explain_absence(w->pid, why);
    case TARGET_DENIED:
        return permission_explain(w->pid, why);
    case TARGET_UNSUPPORTED:
        if (known.text[0])
            return fault(why, "cannot read process %d: %s", (int)w->pid, known.text);
        return unreadable_explain(w->pid, why);
    default:
        return unreadable_explain(w->pid, why);
    }
}
