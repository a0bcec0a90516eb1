/* SPDX-License-Identifier: MIT */
#include "record/watch/watched.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "record/process/permission.h"
#include "record/process/procfs.h"
#include "record/watch/unreadable.h"
#include "record/watch/watched_names.h"
#include "record/watch/watched_natives.h"
#include "record/watch/watched_tasks.h"
#include "record/watch/watched_threads.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SAME_PROGRAM_NS 1000000     /* how often to check for an execve */
#define WAIT_LEAST_NS   500000      /* a look that takes less time has not waited */
#define FIND_LEAST_NS   500000u     /* the shortest wait between two calls of watched_find(), ... */
#define FIND_START_NS   8000000u    /* ... the longest while a Python starts, ... */
#define FIND_MOST_NS    16000000u   /* ... and else; of many processes, those that do not run wait longer: ... */
#define FIND_EACH_NS    1000000u    /* ... so long for each process of the recording, ... */
#define FIND_IDLE_NS    1000000000u /* ... and at most so long */
#define FIND_PART       4           /* a wait is a quarter of the time for which nothing has changed, ... */
#define FIND_START_PART 256         /* ... and much less of it while a Python starts: its first time may be short */
#define SEARCH_MOST_NS  256000000u  /* the longest wait between two searches of a process that runs */
#define SEARCH_REST     64          /* searches of processes that grew are followed by so much more rest */
#define FORK_NS         100000000u /* the kernel notes the start of a process that long after it copied the memory, at most */
#define AHEAD_TICKS     64         /* so long after a change of the threads, looks are prepared by a look ahead, ... */
#define AHEAD_LEAST_NS  120000u     /* ... so long before their moment, besides the time that it takes, ... */
#define AHEAD_MOST_NS   2000000u    /* ... but not longer than this */
#define LOOK_MOST_NS    5000000000u /* a look that still reads then is of a program that lies */
#define PUZZLE_NS       1000000000u /* a Python that starts has a runtime before that time */
#define BELIEVE_NS      50000000u   /* how long a process may refuse to be read before the refusal is final */

/* ---- from a number to a CPython ---- */

void watched_open(struct watched *w, pid_t pid, struct command *command, const struct watch_options *options,
                  struct emitter *emitter, struct synthetic_frames *synthetic)
{
    *w = (struct watched){ .options = options,
                           .emitter = emitter,
                           .synthetic = synthetic,
                           .pid = pid,
                           .command = command,
                           .wait_status = -1,
                           .found = TARGET_NOT_YET,
                           .pidfd = command ? -1 : (int)syscall(SYS_pidfd_open, pid, 0) };
    w->asyncio.which = options->async;
    w->asyncio.synthetic = synthetic;
    w->asyncio.emitter = emitter;
    w->statuses = (struct statuses){
        .mode = options->mode, .interval_ns = options->interval_ns, .halt = &w->halt, .stops = options->freezes
    };
}

void watched_close(struct watched *w)
{
    watched_detach(w, FATE_LEFT);
    exact_close(&w->exact);
    freeze_close(&w->freeze);
    free(w->expanded.frames);
    if (w->pidfd >= 0)
        close(w->pidfd);
}

/* Uses the pidfd, because another process may have the number of a process that ended. */
bool watched_ended(struct watched *w)
{
    if (w->command)
        return command_ended(w->command);
    if (w->pidfd < 0)
        return kill(w->pid, 0) != 0 && errno == ESRCH;
    struct pollfd end = { .fd = w->pidfd, .events = POLLIN };
    return poll(&end, 1, 0) > 0;
}

void watched_seek(struct watched *w)
{
    const uint64_t now_ns = clock_now_ns();
    w->find_due_ns = now_ns;
    w->believe_ns = now_ns + BELIEVE_NS;
    w->found = TARGET_NOT_YET;
    w->search = (struct search_state){ .began_ns = now_ns, .ran_ns = now_ns, .due_ns = now_ns };
    cpu_process_open(&w->search.clock, w->pid);
}

/* The CPU time of the process at its last look; 0: there was none. */
static uint64_t cpu_at_look_ns(const struct watched *w)
{
    return w->statuses.process.used_ns != UINT64_MAX ? w->statuses.process.used_ns : 0;
}

uint64_t watched_cpu_ns(const struct watched *w)
{
    if (w->command && w->command->ended)
        return w->command->cpu_ns;
    /* The CPU time that was told of the end may be from some time before the end, and older than the last look. */
    return w->ended_cpu_ns > cpu_at_look_ns(w) ? w->ended_cpu_ns : cpu_of_process(w->pid);
}

void watched_existed(struct watched *w)
{
    w->begun_cpu_ns = watched_cpu_ns(w);
}

void watched_descends(struct watched *w, uint32_t ancestor)
{
    w->parent = w->forebear = ancestor;
}

void watched_forked(struct watched *w, const struct watched *parent)
{
    uint64_t device, inode; /* the child of a vfork() comes when it runs another program */
    if (parent->attached && procfs_program(w->pid, &device, &inode) && device == parent->search.device &&
        inode == parent->search.inode) {
        w->search.likely = parent->target.runtime;
        w->fork_random = procfs_random(parent->pid);
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
    struct search_state *search = &w->search;
    uint64_t device = 0, inode = 0;
    const bool ran = cpu_process_ran(&search->clock);
    if (w->found != TARGET_NOT_YET)
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
    struct search_state *search = &w->search;
    const bool started = search_is_cheap(w);
    search->pages = started ? search->pages : procfs_pages(w->pid);
    w->found = watched_search(w, why);
    search->due_ns = now_ns + wait_after(now_ns - search->began_ns, FIND_PART, SEARCH_MOST_NS);
    search->started_ns = !watched_starts(w) ? 0 : search->started_ns ? search->started_ns : now_ns;
    if (w->found == TARGET_NOT_YET)
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
    const struct search_state *search = &w->search;
    if (search->started_ns)
        return now_ns + wait_after(now_ns - search->started_ns, FIND_START_PART, FIND_START_NS);
    if (search->ran_ns == now_ns || w->found != TARGET_NOT_YET)
        return now_ns + wait_after(now_ns - search->began_ns, FIND_PART, FIND_MOST_NS);
    return now_ns + wait_after(now_ns - search->ran_ns, FIND_PART, idle_most_ns(w));
}

/* Refuses a process whose files are those of a Python that is never read. They are asked for once for each program: by
 * then, a process that starts has mapped them. */
static void judge_files(struct watched *w, uint64_t now_ns, struct fault *why)
{
    if (w->found != TARGET_NOT_YET || w->search.judged || now_ns < w->search.began_ns + BELIEVE_NS)
        return;
    w->search.judged = true;
    if (unreadable_by_files(w->pid, why))
        w->found = TARGET_UNSUPPORTED;
}

enum target_state watched_find(struct watched *w, struct fault *why)
{
    const uint64_t now_ns = clock_now_ns();
    if (is_worth_a_search(w, now_ns))
        watched_search_now(w, now_ns, why);
    if (w->found == TARGET_READY)
        return TARGET_READY;
    if (watched_ended(w))
        return TARGET_GONE;
    if (!w->search.searched) /* a process that is ending has no memory */
        w->search.searched = w->found == TARGET_NOT_YET && procfs_pages(w->pid) > 0;
    judge_files(w, now_ns, why);
    if ((w->found == TARGET_UNSUPPORTED || w->found == TARGET_DENIED) && now_ns >= w->believe_ns)
        return w->found;
    w->find_due_ns = next_find_ns(w, now_ns);
    return TARGET_NOT_YET;
}

bool watched_puzzles(struct watched *w, struct fault *why)
{
    struct search_state *search = &w->search;
    if (w->found != TARGET_NOT_YET || watched_starts(w) || search->puzzled ||
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

/* ---- looks ---- */

bool watched_same_program(struct watched *w, uint64_t time_ns)
{
    if (time_ns - w->checked_ns < SAME_PROGRAM_NS)
        return true;
    w->checked_ns = time_ns;
    uint64_t head;
    if (!target_head(&w->target, &head))
        return !(w->lost = true);
    if (w->target.interpreters_count == 0 || head != w->target.interpreters[0].address)
        thread_list_distrust(&w->thread_list);
    return true;
}

bool watched_sleeps_on(struct watched *w)
{
    return w->idle_looked && idle_still(&w->idle);
}

/* Makes a look (an exact_look): reads the threads and the tasks, unless the process slept since the last look. */
static enum thread_list_state look_now(void *self, uint64_t now_ns)
{
    struct watched *w = self;
    w->slept = watched_sleeps_on(w);
    if (w->slept) {
        thread_list_repeat(&w->thread_list);
        return THREAD_LIST_SLEPT;
    }
    remote_give_up_at(&w->target.remote, now_ns + LOOK_MOST_NS);
    const enum thread_list_state state = w->options->async
                                             ? asyncio_read(&w->asyncio, now_ns, now_ns - w->options->start_ns)
                                             : thread_list_read(&w->thread_list, now_ns);
    remote_give_up_at(&w->target.remote, 0);
    watched_threads_ask_in_look(w, w->exact.standing, now_ns);
    return state;
}

static enum thread_list_state look_frozen(struct watched *w, uint64_t now_ns)
{
    const uint64_t stopped_count = w->freeze.stopped_count;
    watched_threads_ask_ahead(w, false, now_ns);
    const bool stopped = freeze_begin(&w->freeze);
    halt_note(&w->halt, w->freeze.stopped_count != stopped_count ? HALT_SIGNAL : HALT_NONE, now_ns);
    w->one_moment = stopped;
    const enum thread_list_state state = look_now(w, now_ns);
    if (stopped && w->options->while_frozen)
        w->options->while_frozen(w->options->self, w);
    freeze_end(&w->freeze);
    w->frozen_ns += w->freeze.lasted_ns;
    return state;
}

void watched_warm_up(struct watched *w)
{
    thread_list_read(&w->thread_list, clock_now_ns());
    w->thread_list.unwinder.counters = (struct unwind_counters){ 0 };
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

/* Makes the checks that precede a look, before the moment of the look. */
static void watched_prepare(struct watched *w)
{
    const bool searches = w->options->async && !w->asyncio.ready;
    if (searches)
        asyncio_search(&w->asyncio);
    asyncio_prepare(&w->asyncio);
    if (w->options->anew || searches)
        w->idle_looked = false;
    else if (idle_learn(&w->idle))
        w->idle_looked = false;
    w->prepared = true;
}

uint64_t watched_ahead_ns(const struct watched *w)
{
    const uint64_t before_ns = AHEAD_LEAST_NS + 2 * w->ahead_took_ns;
    if (!w->options->stands || w->options->async || w->ahead_ticks == 0)
        return 0;
    return before_ns < AHEAD_MOST_NS ? before_ns : AHEAD_MOST_NS;
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
    w->ahead_took_ns += (took_ns < AHEAD_MOST_NS ? took_ns : AHEAD_MOST_NS) / 8 - w->ahead_took_ns / 8;
    w->ahead_waited = began_ns + took_ns > due_ns && has_waited(&before, 0, began_ns);
}

bool watched_appoint(struct watched *w, const struct moments *moments)
{
    if (!w->prepared)
        watched_prepare(w);
    return w->options->stands && exact_appoint(&w->exact, look_now, w, moments);
}

void watched_cancel(struct watched *w)
{
    exact_cancel(&w->exact);
    w->prepared = w->ahead_waited = false;
}

/* Notes whether the thread lists have changed since the last look. */
static void note_lists(struct watched *w)
{
    w->ahead_ticks = w->ahead_list != w->thread_list.list ? AHEAD_TICKS : w->ahead_ticks - (w->ahead_ticks > 0);
    w->ahead_list = w->thread_list.list;
}

/* Reads the threads: while they are stopped (--blocking), from their processor, or while they run. */
static void watched_read_threads(struct watched *w, uint64_t now_ns)
{
    const bool slept = w->slept;
    const struct stay before = stand_stay_now();
    const uint64_t waits = w->exact.stand.waits, taken_ns = stand_taken_ns(&w->exact.stand);
    w->moment_ns = now_ns;
    w->state = w->options->freezes  ? look_frozen(w, now_ns)
               : w->options->stands ? exact_read(&w->exact, look_now, w, now_ns)
                                    : look_now(w, now_ns);
    if (w->state == THREAD_LIST_SLEPT)
        w->state = THREAD_LIST_READ;
    if (w->options->stands && !w->options->freezes)
        w->moment_ns = w->exact.moment_ns;
    if (!w->options->freezes)
        w->one_moment = w->exact.proven || w->slept;
    w->waited = !w->options->freezes &&
                (w->exact.waited || has_waited(&before, w->exact.stand.waits - waits, w->moment_ns));
    /* A look while the program sleeps takes no time from the program. The kernel reports the time of a look only at the
     * next look. */
    w->idle_ns += slept && w->slept ? stand_taken_ns(&w->exact.stand) - taken_ns : 0;
}

void watched_look(struct watched *w, uint64_t now_ns)
{
    if (!w->prepared)
        watched_prepare(w);
    w->prepared = false;
    w->thread_list.moved = 0;
    watched_read_threads(w, now_ns);
    note_lists(w);
    w->waited |= w->ahead_waited;
    w->counters.blocked_ns += w->waited ? clock_now_ns() - (now_ns < w->moment_ns ? now_ns : w->moment_ns) : 0;
    w->ahead_waited = false;
    if (w->state == THREAD_LIST_READ && w->thread_list.rests)
        w->state = thread_list_rest(&w->thread_list, clock_now_ns());
    /* A failed look cannot stand for the ticks of the wait. */
    w->waited &= w->state == THREAD_LIST_READ && w->thread_list.failed == 0;
    w->counters.idle_ticks += w->slept;
    /* Only a tick without failures can be repeated. */
    if (w->state != THREAD_LIST_READ || w->thread_list.failed > 0 || w->asyncio.failed > 0)
        idle_forget(&w->idle);
    w->idle_looked = idle_knows(&w->idle);
}

/* ---- samples ---- */

uint64_t watched_moved(const struct watched *w)
{
    return w->thread_list.moved + (w->options->stands ? w->exact.moved : 0);
}

/* Counts the samples of a tick as exact or unproved. */
static void count_exact(struct watched *w, uint64_t samples)
{
    const uint64_t threads = watched_moved(w);
    /* A thread may have many tasks, each with a sample. */
    const uint64_t moved = threads < samples && (w->options->async != ASYNC_ALL || threads == 0) ? threads : samples;
    const uint64_t unproved = w->one_moment ? moved : samples;
    w->counters.unproved += unproved;
    w->counters.exact += samples - unproved;
}

/* Notes how much CPU time the program used before its first look, which just was. A process that was forked, and did
 * not call execve, has run Python since then: its threads have all their time, as new threads have. */
static void note_first_look(struct watched *w)
{
    w->forked = w->statuses.untold = w->fork_random && procfs_random(w->pid) == w->fork_random;
    const uint64_t used_ns = w->forked ? 0 : watched_cpu_ns(w);
    w->natives.before_ns = used_ns > w->begun_cpu_ns ? used_ns - w->begun_cpu_ns : 0;
    w->counters.before_looks_ns += w->natives.before_ns;
}

bool watched_emit(struct watched *w, uint64_t time_ns, struct fault *why)
{
    const uint64_t samples = w->emitter->samples;
    if (!w->ticked)
        note_first_look(w);
    w->tick++;
    if (!w->slept)
        w->ran_ns = time_ns;
    /* A list that looks torn may be the memory of another program, after an execve. */
    w->lost = w->state == THREAD_LIST_GONE || (w->state == THREAD_LIST_TORN && !target_same_program(&w->target));
    const bool good = w->state == THREAD_LIST_READ ? watched_threads_emit(w, time_ns, why)
                                                   : w->lost || watched_threads_emit_unread(w, time_ns, why);
    w->looked |= w->state == THREAD_LIST_READ;
    w->statuses.untold = false;
    count_exact(w, w->emitter->samples - samples);
    return good;
}

bool watched_emit_again(struct watched *w, uint64_t time_ns, struct fault *why)
{
    const uint64_t samples = w->emitter->samples;
    w->tick++;
    thread_list_repeat(&w->thread_list);
    const bool good = watched_threads_emit(w, time_ns, why);
    w->one_moment = w->slept;
    count_exact(w, w->emitter->samples - samples);
    return good;
}

void watched_map_threads(struct watched *w)
{
    if (w->mapped_tick == w->tick && w->kernel_threads.count > 0)
        return;
    intern_pairs_free(&w->kernel_threads);
    w->map_failed = !procfs_map_threads(w->target.pid, w->target.same_pids, &w->kernel_threads);
    w->mapped_tick = w->tick;
}

pid_t watched_host_thread(struct watched *w, uint32_t native_id)
{
    if (w->target.same_pids)
        return (pid_t)native_id;
    watched_map_threads(w);
    const uint32_t tid = intern_pairs_find(&w->kernel_threads, native_id, 0);
    return tid ? (pid_t)tid : (pid_t)native_id;
}

struct emitted_thread *watched_thread_of(const struct watched *w, uint32_t state)
{
    const uint32_t row = state < w->states_count ? w->states[state].thread : 0;
    return row ? &w->threads[row - 1] : NULL;
}

/* Emits the title of the process if it is another one. The process may have called execve and not be found out yet:
 * then the title is not that of the attached program. */
static void watched_emit_title(struct watched *w, uint64_t now_ns, uint64_t cpu_ns)
{
    if (title_changed(&w->title, now_ns, cpu_ns) && target_same_program(&w->target))
        emitter_note(w->emitter,
                     (struct event){ .kind = EVENT_PROCESS_TITLE,
                                     .change = { w->number, now_ns - w->options->start_ns, w->title.text, false } });
}

static void emit_measure(struct watched *w, uint64_t time_ns, struct metered metered, uint64_t recorder_cpu_ns)
{
    emitter_note(w->emitter, (struct event){ .kind = EVENT_MEASURE,
                                             .measure = { .process = w->number,
                                                          .time_ns = time_ns,
                                                          .resident_bytes = metered.resident_bytes,
                                                          .cpu_ns = metered.cpu_ns,
                                                          .recorder_cpu_ns = recorder_cpu_ns } });
}

/* The CPU time of a process that has ended: at its end, or at the last look. The clock of a process may be some
 * milliseconds behind the clocks of its threads. */
static uint64_t last_cpu_ns(const struct watched *w)
{
    const uint64_t end_ns = watched_cpu_ns(w), look_ns = end_ns > 0 ? end_ns : cpu_at_look_ns(w);
    const uint64_t known_ns = watched_threads_known_cpu_ns(w), most_ns = look_ns > known_ns ? look_ns : known_ns;
    return most_ns > 0 ? most_ns : METER_UNKNOWN;
}

void watched_measure(struct watched *w, uint64_t recorder_cpu_ns)
{
    struct metered metered = meter_read(&w->meter);
    if (metered.cpu_ns == METER_UNKNOWN)
        metered.cpu_ns = last_cpu_ns(w);
    const uint64_t now_ns = clock_now_ns(), time_ns = now_ns - w->options->start_ns;
    halt_look(&w->halt, now_ns);
    exact_trim(&w->exact, now_ns);
    emit_measure(w, time_ns, metered, recorder_cpu_ns);
    watched_natives_measure(w, time_ns);
    watched_emit_title(w, now_ns, metered.cpu_ns);
}

/* ---- counters ---- */

uint64_t watched_taken_ns(const struct watched *w)
{
    return w->frozen_ns + stand_taken_ns(&w->exact.stand) - w->idle_ns;
}

/* Adds up structs whose fields are all uint64_t. */
static void counters_add(uint64_t *sums, const uint64_t *counts, size_t size)
{
    for (size_t i = 0; i < size / sizeof(*sums); i++)
        sums[i] += counts[i];
}

void watched_counters_add(struct watched_counters *sum, const struct watched_counters *more)
{
    counters_add((uint64_t *)sum, (const uint64_t *)more, sizeof(*sum));
}

struct watched_counters watched_counters(const struct watched *w)
{
    struct watched_counters counters = w->counters;
    counters.hops = w->exact.hops;
    counters.taken_ns = watched_taken_ns(w);
    counters.starved_ns = w->exact.stand.starved_ns;
    counters.partial_ticks = w->freeze.partial_count;
    counters.stopped_ticks = w->freeze.stopped_count;
    counters.signalled_ns = w->halt.total_ns[HALT_SIGNAL];
    counters.traced_ns = w->halt.total_ns[HALT_TRACER];
    counters.stopped_ns = counters.signalled_ns + counters.traced_ns;
    counters.cgroup_frozen_ns = w->halt.total_ns[HALT_FROZEN];
    if (!w->attached)
        return counters;
    const struct remote *remote = &w->target.remote;
    const struct unwind_counters *unwind = &w->thread_list.unwinder.counters;
    counters_add((uint64_t *)&counters.unwind, (const uint64_t *)unwind, sizeof(*unwind));
    counters.code_reads += w->codes.reads;
    counters.codes_gone += w->codes.gone_count;
    counters.reads += remote->calls;
    counters.pieces += remote->pieces;
    counters.bytes += remote->bytes;
    return counters;
}

/* ---- a CPython, from beginning to end ---- */

static void watched_emit_process(struct watched *w, uint64_t time_ns)
{
    w->number = ++w->emitter->last_process;
    w->first = w->first ? w->first : w->number;
    w->asyncio.process = w->number;
    emitter_serial(w->emitter, SERIAL_PROCESS, w->number, &w->serial);
    const struct text executable = procfs_executable(w->pid);
    const struct text folder = procfs_folder(w->pid);
    const struct runtime_build *build = &w->target.runtime.build;
    emitter_note(w->emitter, (struct event){ .kind = EVENT_PROCESS,
                                             .process = { .number = w->number,
                                                          .pid = (uint32_t)w->pid,
                                                          .start_ns = time_ns,
                                                          .python_version = w->target.runtime.layout.version,
                                                          .executable = executable,
                                                          .command = w->title.text,
                                                          .folder = folder,
                                                          .build = build->bits,
                                                          .build_id = text_of(build->id),
                                                          .parent_pid = (uint32_t)w->parent_pid,
                                                          .parent = w->parent } });
    text_free(executable);
    text_free(folder);
}

void watched_attach(struct watched *w)
{
    const struct watch_options *options = w->options;
    codes_open(&w->codes, &w->target.remote, &w->target.runtime.layout, &w->emitter->definitions);
    if (w->shared)
        codes_share(&w->codes, &w->shared->bodies);
    w->codes.instructions = options->instructions;
    thread_list_open(&w->thread_list, &w->target, &w->codes, options->which, options->anew);
    w->thread_list.unwinder.statuses = options->with_status;
    w->thread_list.defers = options->stands && !options->async && !options->freezes;
    w->thread_list.sleeps_on = options->with_status ? watched_threads_sleep_on : NULL;
    w->thread_list.self = w;
    if (options->stands)
        exact_open(&w->exact, &w->thread_list, options->raise);
    thread_status_open(&w->statuses, w->pid);
    idle_open(&w->idle, w->pid);
    if (!options->freezes)
        halt_open(&w->halt, w->pid);
    meter_open(&w->meter, w->pid);
    title_open(&w->title, w->pid, clock_now_ns());
    watched_names_open(w);
    w->attached = true;
    w->lost = w->prepared = w->idle_looked = w->slept = w->ahead_waited = false;
    w->ahead_ticks = 0;
    w->list = 0;
    w->rest = (struct rest){ 0 };
    if (w->number) /* the program is another one after an execve */
        w->parent = w->number;
    asyncio_open(&w->asyncio, &w->thread_list, &w->codes);
    w->checked_ns = w->attached_ns = clock_now_ns() - options->start_ns;
    w->ticked = w->looked = false;
    w->serial = 0;
    watched_emit_process(w, w->checked_ns);
    /* What the process has used since it is recorded counts, also before the first look. */
    emit_measure(w, w->checked_ns, (struct metered){ .resident_bytes = METER_UNKNOWN, .cpu_ns = w->begun_cpu_ns },
                 METER_UNKNOWN);
}

void watched_flush(struct watched *w)
{
    if (!w->attached)
        return;
    watched_threads_flush(w);
    watched_measure(w, meter_own_cpu_ns());
}

void watched_restart(struct watched *w)
{
    if (!w->attached)
        return;
    const uint64_t time_ns = clock_now_ns() - w->options->start_ns;
    watched_emit_process(w, time_ns);
    watched_natives_restart(w, time_ns);
    watched_threads_restart(w, time_ns);
    watched_tasks_restart(w);
    watched_measure(w, meter_own_cpu_ns());
}

int watched_wait_status(const struct watched *w)
{
    return w->command && w->command->ended ? w->command->wait_status : w->wait_status;
}

/* A time on the monotonic clock before the process was forked; 0: not known. When the machine slept in the meantime, it
 * is too early. */
static uint64_t time_before_fork(pid_t pid)
{
    struct timespec now;
    uint64_t started_ns;
    if (!procfs_started(pid, &started_ns) || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
        return 0;
    const uint64_t ago_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - started_ns + FORK_NS;
    const uint64_t now_ns = clock_now_ns();
    return now_ns > ago_ns ? now_ns - ago_ns : 0;
}

void watched_inherit(struct watched *w, struct watched *parent)
{
    if (w->attached && parent->attached && runtime_is_kin(&w->target.runtime, &parent->target.runtime))
        codes_inherit(&w->codes, &parent->codes, time_before_fork(w->pid));
}

void watched_detach(struct watched *w, enum fate fate)
{
    if (!w->attached)
        return;
    exact_cancel(&w->exact);
    w->title.due_ns = fate == FATE_EXECED ? UINT64_MAX : 0;
    watched_measure(w, meter_own_cpu_ns());
    const uint64_t time_ns = clock_now_ns() - w->options->start_ns;
    watched_natives_end(w, time_ns);
    const uint64_t cpu_ns = last_cpu_ns(w);
    if (cpu_ns != METER_UNKNOWN && cpu_ns > w->begun_cpu_ns) {
        w->counters.cpu_ns += cpu_ns - w->begun_cpu_ns;
        w->begun_cpu_ns = cpu_ns;
    }
    watched_threads_end(w, time_ns);
    watched_tasks_end(w, time_ns);
    emitter_note(w->emitter,
                 (struct event){ .kind = EVENT_PROCESS_END,
                                 .process_end = { .number = w->number,
                                                  .time_ns = time_ns,
                                                  .fate = fate,
                                                  .wait_status = fate == FATE_EXITED ? watched_wait_status(w) : -1 } });
    w->counters = watched_counters(w);
    intern_pairs_free(&w->kernel_threads);
    asyncio_close(&w->asyncio);
    watched_names_close(w);
    thread_list_close(&w->thread_list);
    codes_close(&w->codes);
    idle_close(&w->idle);
    halt_close(&w->halt);
    meter_close(&w->meter);
    title_close(&w->title);
    target_close(&w->target);
    w->attached = false;
}
