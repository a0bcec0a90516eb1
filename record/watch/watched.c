/* SPDX-License-Identifier: MIT */
#include "record/watch/watched.h"

#include "formats/base/alloc.h"
#include "record/names/attributes.h"
#include "record/process/clock.h"
#include "record/process/permission.h"
#include "record/process/procfs.h"
#include "record/watch/unreadable.h"
#include "record/watch/watched_look.h"
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

#define SAME_PROGRAM_NS 1000000  /* how often to check for an execve */
#define STOP_LEAST_NS   1500000  /* how long to wait for threads that are asked to stop (--native), ... */
#define STOP_BEFORE_NS  300000   /* ... and how long before the next look the wait ends */
#define STOP_MOST_NS    20000000 /* and no longer than this */
#define FORK_NS         100000000u /* the kernel notes the start of a process that long after it copied the memory, at most */

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
                           .search.found = TARGET_NOT_YET,
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
    c_frames_free(w->c_frames);
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
    w->search.fork_random = 0; /* so its threads do not tell what they used since a fork */
}

void watched_descends(struct watched *w, uint32_t ancestor)
{
    w->parent = w->forebear = ancestor;
}

/* ---- samples ---- */

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

/* Counts the samples of a tick as exact or unproved. */
static void count_exact(struct watched *w, uint64_t samples)
{
    const uint64_t threads = watched_moved(w);
    /* A thread may have many tasks, each with a sample. */
    const uint64_t moved = threads < samples && (w->options->async != ASYNC_ALL || threads == 0) ? threads : samples;
    const uint64_t unproved = w->look.one_moment ? moved : samples;
    w->counters.unproved += unproved;
    w->counters.exact += samples - unproved;
}

/* Notes how much CPU time the program used before its first look, which just was. A process that was forked, and did
 * not call execve, has run Python since then: its threads have all their time, as new threads have. */
static void note_first_look(struct watched *w)
{
    w->forked = w->statuses.untold = w->search.fork_random && procfs_random(w->pid) == w->search.fork_random;
    const uint64_t used_ns = w->forked ? 0 : watched_cpu_ns(w);
    w->natives.before_ns = used_ns > w->begun_cpu_ns ? used_ns - w->begun_cpu_ns : 0;
    w->counters.before_looks_ns += w->natives.before_ns;
}

/* How long to wait for threads that are asked to stop: until the next look needs the posts. */
static uint64_t stops_until(const struct watched *w)
{
    const uint64_t least_ns = clock_now_ns() + STOP_LEAST_NS, next_ns = w->budget.next[0].moment_ns;
    const uint64_t most_ns = least_ns + STOP_MOST_NS;
    if (w->options->patient)
        return clock_now_ns() + C_FRAMES_PATIENCE_NS;
    if (w->options->tree || next_ns < least_ns + STOP_BEFORE_NS)
        return least_ns;
    return next_ns - STOP_BEFORE_NS < most_ns ? next_ns - STOP_BEFORE_NS : most_ns;
}

bool watched_emit(struct watched *w, uint64_t time_ns, struct fault *why)
{
    const uint64_t samples = w->emitter->samples;
    if (!w->ticked)
        note_first_look(w);
    w->tick++;
    if (!w->look.slept)
        w->ran_ns = time_ns;
    /* A list that looks torn may be the memory of another program, after an execve. */
    w->lost = w->look.state == THREAD_LIST_GONE ||
              (w->look.state == THREAD_LIST_TORN && !target_same_program(&w->target));
    c_frames_tick(w->c_frames, &w->thread_list, w->look.one_moment,
                  w->c_frames ? synthetic_frames_native_frame(w->synthetic) : 0, stops_until(w));
    const bool good = w->look.state == THREAD_LIST_READ ? watched_threads_emit(w, time_ns, why)
                                                        : w->lost || watched_threads_emit_unread(w, time_ns, why);
    w->look.frozen_ns += c_frames_end_tick(w->c_frames);
    w->rows.looked |= w->look.state == THREAD_LIST_READ;
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
    w->look.one_moment = w->look.slept;
    count_exact(w, w->emitter->samples - samples);
    return good;
}

void watched_map_threads(struct watched *w)
{
    if (w->rows.mapped_tick == w->tick && w->rows.kernel_threads.count > 0)
        return;
    intern_pairs_free(&w->rows.kernel_threads);
    w->rows.map_failed = !procfs_map_threads(w->target.pid, w->target.same_pids, &w->rows.kernel_threads);
    w->rows.mapped_tick = w->tick;
}

pid_t watched_host_thread(struct watched *w, uint32_t native_id)
{
    if (w->target.same_pids)
        return (pid_t)native_id;
    watched_map_threads(w);
    const uint32_t tid = intern_pairs_find(&w->rows.kernel_threads, native_id, 0);
    return tid ? (pid_t)tid : (pid_t)native_id;
}

struct emitted_thread *watched_thread_of(const struct watched *w, uint32_t state)
{
    const uint32_t row = state < w->rows.states_count ? w->rows.states[state].thread : 0;
    return row ? &w->rows.threads[row - 1] : NULL;
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

/* Emits the attributes of the process anew if they are others now: it has published more of them. What is there after
 * an execve is not of the attached program. */
static void watched_emit_attributes(struct watched *w, uint64_t time_ns)
{
    const struct text now = attributes_of(w->pid, bytes_text(&w->publications.context.lines));
    if (text_equal(now, w->attributes) || !target_same_program(&w->target)) {
        text_free(now);
        return;
    }
    text_free(w->attributes);
    w->attributes = now;
    emitter_note(w->emitter, (struct event){ .kind = EVENT_PROCESS_ATTRIBUTES,
                                             .change = { w->number, time_ns, w->attributes, false } });
}

static void emit_measure(struct watched *w, uint64_t time_ns, struct metered metered, uint64_t recorder_cpu_ns)
{
    w->metered = metered;
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
    const unsigned published = publications_search(&w->publications, metered.pages, now_ns);
    if (published)
        w->look.idle_looked = false; /* also of a process that sleeps on */
    if (published & PUBLISHED_CONTEXT)
        watched_emit_attributes(w, time_ns);
    watched_emit_title(w, now_ns, metered.cpu_ns);
}

/* ---- counters ---- */

uint64_t watched_taken_ns(const struct watched *w)
{
    return w->look.frozen_ns + stand_taken_ns(&w->exact.stand) - w->look.idle_ns;
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
    c_frames_count(w->c_frames, &counters.native);
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
                                                          .parent = w->parent,
                                                          .attributes = w->attributes } });
    text_free(executable);
    text_free(folder);
}

/* With --native: opens what finds C frames, and tells the posts. */
static void open_c_frames(struct watched *w)
{
    w->exact.stand.captures = NULL;
    if (!w->options->c_frames || !(w->options->stands || w->options->registers))
        return;
    const struct c_frames_options options = { w->command != NULL, w->options->patient, w->options->raise };
    w->c_frames = c_frames_open(w->c_frames, &options, &w->target.remote, &w->emitter->definitions);
    w->exact.stand.captures = c_frames_captures(w->c_frames);
    w->exact.host_threads = &w->rows.kernel_threads;
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
    open_c_frames(w);
    thread_status_open(&w->statuses, w->pid);
    idle_open(&w->idle, w->pid);
    if (!options->freezes)
        halt_open(&w->halt, w->pid);
    meter_open(&w->meter, w->pid);
    title_open(&w->title, w->pid, options->bare_commands, clock_now_ns());
    watched_names_open(w);
    w->attached = true;
    w->lost = w->look.prepared = w->look.idle_looked = w->look.slept = w->look.ahead_waited = false;
    w->look.ahead_ticks = 0;
    w->rows.list = 0;
    w->rest = (struct rest){ 0 };
    if (w->number) /* the program is another one after an execve */
        w->parent = w->number;
    asyncio_open(&w->asyncio, &w->thread_list, &w->codes);
    w->publications.labels.remote = &w->target.remote;
    publications_search(&w->publications, 0, clock_now_ns());
    w->thread_list.unwinder.spans = &w->publications.spans;
    w->attributes = attributes_of(w->pid, bytes_text(&w->publications.context.lines));
    w->checked_ns = w->attached_ns = clock_now_ns() - options->start_ns;
    w->ticked = w->rows.looked = false;
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
    const uint64_t time_ns = clock_now_ns() - w->options->start_ns;
    const uint64_t clock_ns = watched_cpu_ns(w); /* before the threads: what is theirs by then is not the rest */
    watched_natives_ask_now(w, time_ns);
    watched_threads_flush(w, time_ns);
    watched_natives_flush(w, clock_ns, time_ns);
    watched_measure(w, meter_own_cpu_ns());
}

/* Counts what the process used since the last call, now that it used `cpu_ns` in all. Returns what is counted. */
static uint64_t count_cpu(struct watched *w, uint64_t cpu_ns)
{
    const uint64_t from_ns = w->begun_cpu_ns;
    if (cpu_ns != METER_UNKNOWN && cpu_ns > from_ns)
        w->begun_cpu_ns = cpu_ns;
    w->counters.cpu_ns += w->begun_cpu_ns - from_ns;
    return w->begun_cpu_ns - from_ns;
}

/* Leaves the CPU time that the process used before its first look out of the next stream. */
static void leave_before_look(struct watched *w)
{
    w->counters.before_looks_ns += count_cpu(w, w->metered.cpu_ns);
    w->search.fork_random = 0; /* so its threads do not tell what they used since the fork */
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
    labels_restart(&w->publications.labels);
    /* The new stream has the CPU time that the process used since the end of the last stream, too. */
    emit_measure(w, time_ns, w->metered, meter_own_cpu_ns());
    if (!w->ticked)
        leave_before_look(w);
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
    count_cpu(w, last_cpu_ns(w));
    watched_threads_end(w, time_ns);
    watched_tasks_end(w, time_ns);
    emitter_note(w->emitter,
                 (struct event){ .kind = EVENT_PROCESS_END,
                                 .process_end = { .number = w->number,
                                                  .time_ns = time_ns,
                                                  .fate = fate,
                                                  .wait_status = fate == FATE_EXITED ? watched_wait_status(w) : -1 } });
    w->counters = watched_counters(w);
    w->exact.stand.captures = NULL;
    c_frames_end(w->c_frames);
    intern_pairs_free(&w->rows.kernel_threads);
    asyncio_close(&w->asyncio);
    publications_close(&w->publications);
    watched_names_close(w);
    thread_list_close(&w->thread_list);
    codes_close(&w->codes);
    idle_close(&w->idle);
    halt_close(&w->halt);
    meter_close(&w->meter);
    title_close(&w->title);
    text_free(w->attributes);
    w->attributes = (struct text){ 0 };
    target_close(&w->target);
    w->attached = false;
}
