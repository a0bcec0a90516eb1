/* SPDX-License-Identifier: MIT */
#include "record/sampler.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "record/process/procfs.h"
#include "record/sampler_emit.h"
#include "record/sampler_tasks.h"

#include <stdlib.h>
#include <string.h>

#define SAME_PROGRAM_NS   1000000   /* how often execve is looked for */
#define WAIT_LEAST_NS     500000    /* a look that takes less has not waited */
#define LEFT_OUT_NS       500000000 /* what was left out is told after so long at the latest */
#define NAME_WAIT_NS      10000000u /* a new thread's name is looked up again after this, then after twice as long */
#define NAME_WAIT_MOST_NS 8000000000u

static uint64_t now_ns(const struct sampler *sampler)
{
    return clock_now_ns() - sampler->start_ns;
}

/* ---- threads ---- */

static struct told *told_of(struct sampler *sampler, uint32_t place)
{
    if (place >= sampler->told_count) {
        sampler->told = alloc_grow(sampler->told, &sampler->told_room, place + 1, sizeof(*sampler->told));
        memset(sampler->told + sampler->told_count, 0, (place + 1 - sampler->told_count) * sizeof(*sampler->told));
        sampler->told_count = place + 1;
    }
    return &sampler->told[place];
}

/* Ticks in which it was looked at and not sampled. */
static void tell_left_out(struct sampler *sampler, struct told *told)
{
    struct left_out *left_out = &told->watch.left_out;
    if (left_out->ticks == 0)
        return;
    left_out->thread = told->number;
    sampler_emit_note(sampler, (struct event){ .kind = EVENT_LEFT_OUT, .left_out = *left_out });
    *left_out = (struct left_out){ 0 };
}

static void leave_out(struct sampler *sampler, struct told *told, uint64_t time_ns)
{
    struct left_out *left_out = &told->watch.left_out;
    if (left_out->ticks == 0)
        told->left_out_since_ns = time_ns;
    left_out->ticks++;
    left_out->time_ns = time_ns;
    left_out->cpu_ns += told->watch.cpu_ns;
    if (time_ns - told->left_out_since_ns >= LEFT_OUT_NS)
        tell_left_out(sampler, told);
}

static void end_thread(struct sampler *sampler, uint32_t place, uint64_t time_ns)
{
    struct told *told = told_of(sampler, place);
    if (!told->number)
        return;
    tell_left_out(sampler, told);
    thread_status_watch_close(&told->watch);
    synthetic_frames_free(&told->expansion);
    told->told.count = 0;
    sampler_emit_note(sampler, (struct event){ .kind = EVENT_THREAD_END, .change = { told->number, time_ns, { 0 } } });
    told->number = 0;
    text_free(told->name);
    told->name = (struct text){ 0 };
}

/* What we call the thread that the process calls `native_id`. In another namespace all its threads are asked, at most
 * once in a tick. */
pid_t sampler_host_thread(struct sampler *sampler, uint32_t native_id)
{
    const struct target *target = &sampler->target;
    if (target->same_pids)
        return (pid_t)native_id;
    if (sampler->mapped_tick != sampler->tick) {
        intern_pairs_free(&sampler->host_threads);
        procfs_map_threads(target->pid, &sampler->host_threads);
        sampler->mapped_tick = sampler->tick;
    }
    const uint32_t tid = intern_pairs_find(&sampler->host_threads, native_id, 0);
    return tid ? (pid_t)tid : (pid_t)native_id;
}

static void begin_thread(struct sampler *sampler, struct told *told, const struct member *member, uint64_t time_ns)
{
    told->number = ++sampler->last_thread;
    told->native_id = member->native_id;
    told->interpreter_id = sampler->target.interpreters[member->interpreter].id;
    told->tid = sampler_host_thread(sampler, member->native_id);
    told->name = procfs_thread_name(sampler->target.pid, told->tid);
    told->name_wait_ns = NAME_WAIT_NS;
    told->name_due_ns = time_ns + NAME_WAIT_NS;
    sampler_emit_note(sampler,
                      (struct event){ .kind = EVENT_THREAD,
                                      .thread = { .number = told->number,
                                                  .process = sampler->process,
                                                  .tid = (uint32_t)told->tid,
                                                  .main = member->native_id == (uint32_t)sampler->target.ns_pid,
                                                  .interpreter = told->interpreter_id,
                                                  .start_ns = time_ns,
                                                  .name = told->name } });
}

/* A thread gets its name when it already runs, and may get another later. */
static void refresh_name(struct sampler *sampler, struct told *told, uint64_t time_ns)
{
    if (time_ns < told->name_due_ns)
        return;
    told->name_wait_ns = told->name_wait_ns * 2 < NAME_WAIT_MOST_NS ? told->name_wait_ns * 2 : NAME_WAIT_MOST_NS;
    told->name_due_ns = time_ns + told->name_wait_ns;
    const struct text name = procfs_thread_name(sampler->target.pid, told->tid);
    if (name.size == 0 || text_equal(name, told->name)) {
        text_free(name);
        return;
    }
    text_free(told->name);
    told->name = name;
    sampler_emit_note(sampler, (struct event){ .kind = EVENT_THREAD_NAME, .change = { told->number, time_ns, name } });
}

/* CPython 3.11 makes a thread's state before the thread, with the id of the one that starts it: until it runs, it is to
 * be left aside, and it may have been listed as the main thread. */
static bool is_unborn(const struct sampler *sampler, const struct member *member)
{
    if (sampler->which == THREADS_MAIN && member->native_id != (uint32_t)sampler->target.ns_pid)
        return true;
    if (member->native_id == 0)
        return true;
    if (member->walk.depth > 0)
        return false;
    for (size_t i = 0; i < sampler->told_count; i++)
        if (sampler->told[i].number && sampler->told[i].native_id == member->native_id &&
            &sampler->thread_list.members[i] != member)
            return true;
    return false;
}

/* ---- a tick ---- */

/* The stack of a thread that was read or has not moved. */
static bool tell_stack(struct sampler *sampler, uint32_t place, bool known, uint32_t status, uint64_t time_ns,
                       struct fault *why)
{
    struct member *member = &sampler->thread_list.members[place];
    struct told *told = told_of(sampler, place);
    struct event event;
    struct sample *sample = sampler_emit_begin_sample(&event, told->number, time_ns);
    sample->status = status;
    sample->cpu_ns = told->watch.cpu_ns;
    if (sampler->asyncio.which == ASYNC_RUNNING) {
        if (!sampler_tasks_running_stack(sampler, told, place, sample))
            return sampler_emit_failed(sampler, told->number, FAILURE_CHANGED, time_ns, why);
    } else {
        struct told_frames *frames = &sampler->frames;
        synthetic_frames_expand(&told->expansion, &sampler->marks, &sampler->codes, &member->walk, known,
                                synthetic_frames_collecting(&sampler->marks, &sampler->thread_list, member), frames);
        sample->keep = frames->keep;
        sample->pushed = frames->pushed;
        sample->frames = frames->pushed ? frames->frames : NULL;
    }
    member->walk.same = member->walk.depth;
    return sampler_emit_sample(sampler, &event, why);
}

static bool tell_thread(struct sampler *sampler, uint32_t place, uint64_t time_ns, struct fault *why)
{
    struct member *member = &sampler->thread_list.members[place];
    struct told *told = told_of(sampler, place);
    const bool known = told->number && told->native_id == member->native_id &&
                       told->interpreter_id == sampler->target.interpreters[member->interpreter].id;
    if (!known) {
        end_thread(sampler, place, time_ns);
        if (is_unborn(sampler, member))
            return true;
        begin_thread(sampler, told, member, time_ns);
        member->walk.same = 0;
    }
    refresh_name(sampler, told, time_ns);
    if (member->state == UNWOUND) {
        const uint32_t status = sampler->with_status
                                    ? thread_status_of(&sampler->statuses, &told->watch, &sampler->thread_list, member,
                                                       told->tid, sampler->start_ns + time_ns)
                                    : 0;
        if (sampler->with_status && !thread_status_kept(&sampler->statuses, status)) {
            leave_out(sampler, told, time_ns);
            return true;
        }
        tell_left_out(sampler, told);
        return tell_stack(sampler, place, known, status, time_ns, why);
    }
    return sampler_emit_failed(sampler, told->number, member->cause, time_ns, why);
}

/* Threads that are in no list any more have ended; what is remembered of them must not be taken for another's. */
static void end_unlisted(struct sampler *sampler, uint64_t time_ns)
{
    struct thread_list *thread_list = &sampler->thread_list;
    if (sampler->list == thread_list->list)
        return;
    sampler->list = thread_list->list;
    for (uint32_t i = 0; i < thread_list->members_count; i++) {
        if (thread_list->members[i].listed == thread_list->list)
            continue;
        end_thread(sampler, i, time_ns);
        walk_free(&thread_list->members[i].walk);
    }
}

/* The lists could not be read to their end: the threads that were not reached are failed samples. */
static bool tell_unread(struct sampler *sampler, uint64_t time_ns, struct fault *why)
{
    struct thread_list *thread_list = &sampler->thread_list;
    bool any = false;
    if (sampler->asyncio.which == ASYNC_ALL)
        return sampler_emit_failed(sampler, 0, FAILURE_THREADS, time_ns, why);
    for (uint32_t i = 0; i < thread_list->members_count; i++) {
        const bool read = thread_list->members[i].tick == thread_list->tick &&
                          thread_list_placed(thread_list, &thread_list->members[i]);
        const uint32_t number = told_of(sampler, i)->number;
        any |= read || number;
        if (read ? !tell_thread(sampler, i, time_ns, why)
                 : number && !sampler_emit_failed(sampler, number, FAILURE_THREADS, time_ns, why))
            return false;
    }
    return any || sampler_emit_failed(sampler, 0, FAILURE_THREADS, time_ns, why);
}

static bool tell_all(struct sampler *sampler, uint64_t time_ns, struct fault *why)
{
    const struct thread_list *thread_list = &sampler->thread_list;
    end_unlisted(sampler, time_ns);
    if (sampler->asyncio.which == ASYNC_ALL)
        return sampler_tasks_emit(sampler, time_ns, why);
    if (sampler->with_status)
        thread_status_tick(&sampler->statuses, thread_list->asked_count);
    for (size_t i = 0; i < thread_list->asked_count; i++)
        if (!tell_thread(sampler, thread_list->asked[i], time_ns, why))
            return false;
    return true;
}

/* Whether the target still runs the program that was opened. Asked about once a millisecond, together with the newest
 * interpreter. */
static bool same_program(struct sampler *sampler, uint64_t time_ns)
{
    if (time_ns - sampler->checked_ns < SAME_PROGRAM_NS)
        return true;
    sampler->checked_ns = time_ns;
    uint64_t head;
    if (!target_head(&sampler->target, &head))
        return false;
    if (sampler->target.interpreters_count == 0 || head != sampler->target.interpreters[0].address)
        thread_list_distrust(&sampler->thread_list);
    return true;
}

/* Reads the threads, or the tasks, unless nothing can have happened since the last look. */
static enum thread_list_state look_now(void *self, uint64_t now_ns)
{
    struct sampler *sampler = self;
    sampler->slept = sampler->idle_looked && idle_still(&sampler->idle);
    if (sampler->slept) {
        thread_list_repeat(&sampler->thread_list);
        return THREAD_LIST_SLEPT;
    }
    return sampler->asyncio.which ? asyncio_read(&sampler->asyncio, now_ns, now_ns - sampler->start_ns)
                                  : thread_list_read(&sampler->thread_list, now_ns);
}

static enum thread_list_state look_frozen(struct sampler *sampler, uint64_t now_ns)
{
    const bool stopped = freeze_begin(sampler->freeze);
    sampler->thread_list.unwinder.still = sampler->one_moment = stopped;
    const enum thread_list_state state = look_now(sampler, now_ns);
    sampler->thread_list.unwinder.still = false;
    freeze_end(sampler->freeze);
    sampler->frozen_ns += sampler->freeze->lasted_ns;
    return state;
}

void sampler_warm_up(struct sampler *sampler)
{
    thread_list_read(&sampler->thread_list, clock_now_ns());
    sampler->thread_list.unwinder.figures = (struct unwind_figures){ 0 };
}

/* Whether a look that began at `began_ns` waited for the lock of the target's memory: that is a wait in the kernel,
 * beside those that are known. */
static bool has_waited(const struct stay *before, uint64_t known, uint64_t began_ns)
{
    const uint64_t took_ns = clock_now_ns() - began_ns;
    if (took_ns < WAIT_LEAST_NS)
        return false;
    return stand_stay_now().waits - before->waits > known;
}

/* What is asked about the target before a look, which must not have to wait for it. */
static void prepare(struct sampler *sampler)
{
    const bool searches = sampler->asyncio.which && !sampler->asyncio.ready;
    if (searches)
        asyncio_search(&sampler->asyncio);
    if (sampler->anew || searches)
        sampler->idle_looked = false;
    else if (idle_learn(&sampler->idle, sampler->target.pid))
        sampler->idle_looked = false;
    sampler->prepared = true;
}

bool sampler_appoint(struct sampler *sampler, const struct moments *moments)
{
    prepare(sampler);
    return sampler->stands && exact_appoint(&sampler->exact, look_now, sampler, moments);
}

void sampler_cancel(struct sampler *sampler)
{
    exact_cancel(&sampler->exact);
}

/* Looks at the threads. */
static enum thread_list_state look(struct sampler *sampler, uint64_t now_ns)
{
    if (!sampler->prepared)
        prepare(sampler);
    sampler->prepared = false;
    sampler->thread_list.moved = 0;
    const bool slept = sampler->slept;
    const struct stay before = stand_stay_now();
    const uint64_t waits = sampler->exact.stand.waits, taken_ns = stand_taken_ns(&sampler->exact.stand);
    sampler->moment_ns = now_ns;
    enum thread_list_state state = sampler->freeze   ? look_frozen(sampler, now_ns)
                                   : sampler->stands ? exact_read(&sampler->exact, look_now, sampler, now_ns)
                                                     : look_now(sampler, now_ns);
    if (state == THREAD_LIST_SLEPT)
        state = THREAD_LIST_READ;
    if (sampler->stands && !sampler->freeze)
        sampler->moment_ns = sampler->exact.moment_ns;
    if (!sampler->freeze)
        sampler->one_moment = sampler->exact.proven || sampler->slept;
    sampler->waited = !sampler->freeze && (sampler->exact.waited ||
                                           has_waited(&before, sampler->exact.stand.waits - waits, sampler->moment_ns));
    if (state == THREAD_LIST_READ && sampler->thread_list.rests)
        state = thread_list_rest(&sampler->thread_list, clock_now_ns());
    /* What failed says nothing of the ticks that fell into the wait. */
    sampler->waited &= state == THREAD_LIST_READ && sampler->thread_list.failed == 0;
    sampler->figures.idle_ticks += sampler->slept;
    /* A look at a program that sleeps takes nothing from the program. The kernel tells the time of a look at the next
     * one. */
    sampler->idle_ns += slept && sampler->slept ? stand_taken_ns(&sampler->exact.stand) - taken_ns : 0;
    /* Only a tick without failures can be repeated. */
    if (state != THREAD_LIST_READ || sampler->thread_list.failed > 0 || sampler->asyncio.failed > 0)
        idle_forget(&sampler->idle);
    sampler->idle_looked = idle_knows(&sampler->idle);
    return state;
}

/* The samples of a tick. */
static void count_exact(struct sampler *sampler, uint64_t samples)
{
    const uint64_t moved = sampler->thread_list.moved < samples ? sampler->thread_list.moved : samples;
    const uint64_t live = sampler->one_moment ? moved : samples;
    sampler->figures.live += live;
    sampler->figures.exact += samples - live;
}

enum sampler_state sampler_tick(struct sampler *sampler, uint64_t now_ns, uint64_t missed, struct fault *why)
{
    const enum thread_list_state state = look(sampler,
                                              now_ns); /* nothing is told before: a look tells of tasks itself */
    if (missed > 0)
        sampler_emit_note(sampler, (struct event){ .kind = EVENT_MISSED, .missed = missed });
    sampler->missed += missed;
    sampler->tick++;
    const uint64_t time_ns = sampler->moment_ns - sampler->start_ns;
    const uint64_t samples = sampler->samples;
    /* Asked behind the look: who asks before it waits for the lock of the target's memory. */
    if (!same_program(sampler, time_ns))
        return SAMPLER_LOST;
    /* What looks like a torn list may be another program's memory. */
    const bool lost = state == THREAD_LIST_GONE ||
                      (state == THREAD_LIST_TORN && !target_same_program(&sampler->target));
    if (state == THREAD_LIST_READ ? !tell_all(sampler, time_ns, why) : !lost && !tell_unread(sampler, time_ns, why))
        return SAMPLER_STUCK;
    if (!sampler_emit_tick(sampler, time_ns, why))
        return SAMPLER_STUCK;
    count_exact(sampler, sampler->samples - samples);
    return lost ? SAMPLER_LOST : SAMPLER_GOING;
}

static bool tick_again(struct sampler *sampler, uint64_t time_ns, struct fault *why)
{
    const uint64_t samples = sampler->samples;
    sampler->tick++;
    sampler->figures.blocked++;
    thread_list_repeat(&sampler->thread_list);
    const bool good = tell_all(sampler, time_ns, why) && sampler_emit_tick(sampler, time_ns, why);
    sampler->figures.live += sampler->samples - samples;
    return good;
}

bool sampler_ticks_again(struct sampler *sampler, uint64_t count, struct fault *why)
{
    const uint64_t last_ns = sampler->moment_ns - sampler->start_ns, end_ns = now_ns(sampler);
    const uint64_t step_ns = count > 0 && end_ns > last_ns ? (end_ns - last_ns) / count : 0;
    for (uint64_t i = 1; i <= count; i++)
        if (!tick_again(sampler, last_ns + i * step_ns, why))
            return false;
    return true;
}

uint64_t sampler_taken_ns(const struct sampler *sampler)
{
    return sampler->frozen_ns + stand_taken_ns(&sampler->exact.stand) - sampler->idle_ns;
}

/* ---- processes ---- */

void sampler_attach(struct sampler *sampler, const struct target *target)
{
    sampler->target = *target;
    if (sampler->marks.depth == 0)
        sampler->marks.depth = DEPTH_LIMIT;
    struct target *ours = &sampler->target;
    if (sampler->last_process == 0) {
        lazy_definitions_open(&sampler->definitions, sampler->sink);
        codes_open(&sampler->codes, &ours->remote, &ours->runtime.layout, lazy_definitions_sink(&sampler->definitions));
    } else {
        codes_follow(&sampler->codes, &ours->remote, &ours->runtime.layout);
    }
    sampler->codes.instructions = sampler->instructions;
    thread_list_open(&sampler->thread_list, ours, &sampler->codes, sampler->which, sampler->anew);
    sampler->thread_list.unwinder.statuses = sampler->with_status;
    if (sampler->stands)
        exact_open(&sampler->exact, &sampler->thread_list, sampler->raise);
    sampler->thread_list.defers = !sampler->asyncio.which && !sampler->freeze;
    thread_status_open(&sampler->statuses, ours->pid);
    idle_open(&sampler->idle, ours->pid);
    sampler->attached = true;
    sampler->list = 0;
    sampler->process = ++sampler->last_process;
    sampler->asyncio.marks = &sampler->marks;
    sampler->asyncio.sink = lazy_definitions_sink(&sampler->definitions);
    sampler->asyncio.process = sampler->process;
    asyncio_open(&sampler->asyncio, &sampler->thread_list, &sampler->codes);
    sampler->checked_ns = now_ns(sampler);
    const struct text executable = procfs_executable(ours->pid);
    const struct text command = procfs_command(ours->pid);
    const struct text folder = procfs_folder(ours->pid);
    sampler_emit_note(sampler, (struct event){ .kind = EVENT_PROCESS,
                                               .process = { .number = sampler->process,
                                                            .pid = (uint32_t)ours->pid,
                                                            .start_ns = sampler->checked_ns,
                                                            .python_version = ours->runtime.layout.version,
                                                            .executable = executable,
                                                            .command = command,
                                                            .folder = folder } });
    text_free(executable);
    text_free(command);
    text_free(folder);
}

static void add_unwind_figures(struct unwind_figures *to, const struct unwind_figures *more)
{
    uint64_t *sums = (uint64_t *)to;
    const uint64_t *counts = (const uint64_t *)more;
    for (size_t i = 0; i < sizeof(*to) / sizeof(*sums); i++)
        sums[i] += counts[i];
}

struct sampler_figures sampler_figures(const struct sampler *sampler)
{
    struct sampler_figures figures = sampler->figures;
    figures.samples = sampler->samples;
    figures.code_reads = sampler->codes.last_number;
    figures.codes_gone = sampler->codes.gone_count;
    figures.hops = sampler->exact.hops;
    figures.taken_ns = sampler_taken_ns(sampler);
    if (sampler->freeze) {
        figures.partial_ticks = sampler->freeze->partial_count;
        figures.stopped_ticks = sampler->freeze->stopped_count;
    }
    if (!sampler->attached)
        return figures;
    const struct remote *remote = &sampler->target.remote;
    add_unwind_figures(&figures.unwind, &sampler->thread_list.unwinder.figures);
    figures.reads += remote->calls;
    figures.pieces += remote->pieces;
    figures.bytes += remote->bytes;
    return figures;
}

void sampler_detach(struct sampler *sampler)
{
    if (!sampler->attached)
        return;
    exact_cancel(&sampler->exact);
    const uint64_t time_ns = now_ns(sampler);
    for (uint32_t i = 0; i < sampler->told_count; i++)
        end_thread(sampler, i, time_ns);
    sampler_tasks_end(sampler, time_ns);
    sampler_emit_note(sampler,
                      (struct event){ .kind = EVENT_PROCESS_END, .change = { sampler->process, time_ns, { 0 } } });
    sampler->told_count = 0;
    sampler->figures = sampler_figures(sampler);
    for (size_t i = 0; i < sampler->told_room; i++) {
        free(sampler->told[i].stack.frames);
        free(sampler->told[i].told.frames);
        sampler->told[i].stack = sampler->told[i].told = (struct frames){ 0 };
    }
    intern_pairs_free(&sampler->host_threads);
    asyncio_close(&sampler->asyncio);
    thread_list_close(&sampler->thread_list);
    idle_close(&sampler->idle);
    target_close(&sampler->target);
    sampler->attached = false;
}

void sampler_close(struct sampler *sampler)
{
    sampler_detach(sampler);
    exact_close(&sampler->exact);
    codes_close(&sampler->codes);
    lazy_definitions_close(&sampler->definitions);
    free(sampler->told);
    free(sampler->frames.frames);
    sampler->told = NULL;
    sampler->frames = (struct told_frames){ 0 };
}
