/* SPDX-License-Identifier: MIT */
#include "record/sampler.h"

#include "formats/alloc.h"
#include "record/clock.h"
#include "record/procfs.h"

#include <stdlib.h>
#include <string.h>

#define THREADS_LIMIT     8192      /* of an interpreter */
#define LIST_ATTEMPTS     8         /* to read a list that changes while we do */
#define SAME_PROGRAM_NS   1000000   /* how often execve is looked for */
#define NAME_WAIT_NS      10000000u /* a new thread's name is looked up again after this, then after twice as long */
#define NAME_WAIT_MOST_NS 8000000000u

static bool tell(struct sampler *sampler, struct event event, struct fault *why)
{
    return sink_take(&sampler->sink, &event, why);
}

/* What is told by a note only waits in the open block, and can't fail. */
static void note(struct sampler *sampler, struct event event)
{
    struct fault unused = { 0 };
    tell(sampler, event, &unused);
}

static uint64_t now_ns(const struct sampler *sampler)
{
    return clock_now_ns() - sampler->start_ns;
}

/* ---- threads ---- */

static struct sampled *row_of(struct sampler *sampler, uint64_t address)
{
    bool added;
    const uint32_t number = pairs_number(&sampler->addresses, (uint32_t)(address >> 32), (uint32_t)address, &added);
    if (added) {
        sampler->rows = alloc_grow(sampler->rows, &sampler->rows_room, number, sizeof(*sampler->rows));
        sampler->rows[number - 1] = (struct sampled){ .address = address };
        sampler->rows_count = number;
    }
    return &sampler->rows[number - 1];
}

static void end_thread(struct sampler *sampler, struct sampled *row, uint64_t time_ns)
{
    if (!row->number)
        return;
    walk_free(&row->walk); /* another thread may get the address: its changes are told against nothing */
    note(sampler, (struct event){ .kind = EVENT_THREAD_END, .change = { row->number, time_ns, { 0 } } });
    row->number = 0;
    free((char *)row->name.bytes);
    row->name = (struct text){ 0 };
}

/* What we call the thread that the process calls `native_id`. In another namespace all its threads are asked, at most
 * once in a tick. */
static pid_t host_thread(struct sampler *sampler, uint32_t native_id)
{
    const struct target *target = &sampler->target;
    if (target->same_pids)
        return (pid_t)native_id;
    if (sampler->mapped_tick != sampler->tick) {
        pairs_free(&sampler->host_threads);
        procfs_map_threads(target->pid, &sampler->host_threads);
        sampler->mapped_tick = sampler->tick;
    }
    const uint32_t tid = pairs_find(&sampler->host_threads, native_id, 0);
    return tid ? (pid_t)tid : (pid_t)native_id;
}

static void begin_thread(struct sampler *sampler, struct sampled *row, uint32_t native_id, uint64_t interpreter_id,
                         uint64_t time_ns)
{
    row->number = ++sampler->last_thread;
    row->native_id = native_id;
    row->interpreter_id = interpreter_id;
    row->tid = host_thread(sampler, native_id);
    row->name = procfs_thread_name(sampler->target.pid, row->tid);
    row->name_wait_ns = NAME_WAIT_NS;
    row->name_due_ns = time_ns + NAME_WAIT_NS;
    note(sampler, (struct event){ .kind = EVENT_THREAD,
                                  .thread = { .number = row->number,
                                              .process = sampler->process,
                                              .tid = (uint32_t)row->tid,
                                              .main = native_id == (uint32_t)sampler->target.ns_pid,
                                              .interpreter = interpreter_id,
                                              .start_ns = time_ns,
                                              .name = row->name } });
}

/* A thread gets its name when it already runs, and may get another later. */
static void refresh_name(struct sampler *sampler, struct sampled *row, uint64_t time_ns)
{
    if (time_ns < row->name_due_ns)
        return;
    row->name_wait_ns = row->name_wait_ns * 2 < NAME_WAIT_MOST_NS ? row->name_wait_ns * 2 : NAME_WAIT_MOST_NS;
    row->name_due_ns = time_ns + row->name_wait_ns;
    const struct text name = procfs_thread_name(sampler->target.pid, row->tid);
    const bool same = name.size == row->name.size && memcmp(name.bytes, row->name.bytes, name.size) == 0;
    if (same || name.size == 0) {
        free((char *)name.bytes);
        return;
    }
    free((char *)row->name.bytes);
    row->name = name;
    note(sampler, (struct event){ .kind = EVENT_THREAD_NAME, .change = { row->number, time_ns, name } });
}

/* CPython 3.11 makes a thread's state before the thread, with the id of the one that starts it. */
static bool is_unborn(const struct sampler *sampler, const struct unwound *unwound, uint64_t address)
{
    if (unwound->native_id == 0)
        return true;
    if (unwound->depth > 0)
        return false;
    for (size_t i = 0; i < sampler->rows_count; i++)
        if (sampler->rows[i].number && sampler->rows[i].native_id == unwound->native_id &&
            sampler->rows[i].address != address)
            return true;
    return false;
}

/* ---- a tick ---- */

/* One walk through the threads of a tick. */
struct round {
    struct sampler *sampler;
    uint64_t time_ns;
    struct fault *why;
};

enum step { STEP_DONE, STEP_TORN /* the list changed under us */, STEP_GONE, STEP_STUCK };

static enum step tell_thread(struct round *round, const struct interpreter *interpreter, struct sampled *row,
                             const struct unwound *unwound, bool read)
{
    struct sampler *sampler = round->sampler;
    row->tick = sampler->tick;
    const bool known = row->number && row->native_id == unwound->native_id && row->interpreter_id == interpreter->id;
    if (!known) {
        end_thread(sampler, row, round->time_ns);
        if (is_unborn(sampler, unwound, row->address))
            return STEP_DONE;
        begin_thread(sampler, row, unwound->native_id, interpreter->id, round->time_ns);
    }
    refresh_name(sampler, row, round->time_ns);
    if (!read) {
        sampler->failed++;
        return tell(sampler,
                    (struct event){ .kind = EVENT_FAILED, .failed = { row->number, unwound->cause, round->time_ns } },
                    round->why)
                   ? STEP_DONE
                   : STEP_STUCK;
    }
    sampler->samples++;
    const uint32_t keep = known ? unwound->keep : 0;
    walk_follow(&row->walk, unwound);
    return tell(sampler,
                (struct event){ .kind = EVENT_SAMPLE,
                                .sample = { .thread = row->number,
                                            .keep = keep,
                                            .pushed = unwound->depth - keep,
                                            .frames = unwound->depth > keep ? unwound->frames + keep : NULL,
                                            .time_ns = round->time_ns } },
                round->why)
               ? STEP_DONE
               : STEP_STUCK;
}

/* Reads one thread of the list, whose neighbour before it is at `previous`. *next is the one after it. */
static enum step visit_thread(struct round *round, const struct interpreter *interpreter, uint64_t address,
                              uint64_t previous, uint64_t *next)
{
    struct sampler *sampler = round->sampler;
    struct sampled *row = row_of(sampler, address);
    const bool seen = row->tick == sampler->tick; /* in an earlier walk of this tick */
    const bool not_main = sampler->main_only && row->number == 0 && row->native_id &&
                          row->native_id != (uint32_t)sampler->target.ns_pid;
    struct unwound unwound = { 0 };
    const enum unwind_state state = seen || not_main
                                        ? unwind_glance(&sampler->unwinder, interpreter->address, address, &unwound)
                                        : unwind_thread(&sampler->unwinder, &row->walk, interpreter->address, address,
                                                        &unwound);
    if (state == UNWIND_GONE)
        return STEP_GONE;
    if (state == UNWIND_ELSEWHERE || unwound.previous_thread != previous)
        return STEP_TORN;
    *next = unwound.next_thread;
    if (seen)
        return STEP_DONE;
    const bool is_main = unwound.native_id == (uint32_t)sampler->target.ns_pid;
    if (not_main || (sampler->main_only && !is_main)) {
        row->native_id = unwound.native_id; /* a thread of the main one's id is unwound the next time */
        return STEP_DONE;
    }
    return tell_thread(round, interpreter, row, &unwound, state == UNWOUND);
}

static enum step visit_interpreter(struct round *round, const struct interpreter *interpreter)
{
    uint64_t previous = 0, address = interpreter->threads_head;
    for (size_t count = 0; address; count++) {
        uint64_t next = 0;
        if (count == THREADS_LIMIT)
            return STEP_TORN;
        const enum step step = visit_thread(round, interpreter, address, previous, &next);
        if (step != STEP_DONE)
            return step;
        previous = address;
        address = next;
    }
    return STEP_DONE;
}

static enum step visit_all(struct round *round)
{
    struct target *target = &round->sampler->target;
    switch (target_read_interpreters(target)) {
    case REMOTE_READ:
        break;
    case REMOTE_UNREADABLE:
        return STEP_TORN;
    default:
        return STEP_GONE;
    }
    for (size_t i = 0; i < target->interpreters_count; i++) {
        const enum step step = visit_interpreter(round, &target->interpreters[i]);
        if (step != STEP_DONE)
            return step;
    }
    return STEP_DONE;
}

/* Threads that are in no list any more have ended. */
static void end_unseen(struct sampler *sampler, uint64_t time_ns)
{
    for (size_t i = 0; i < sampler->rows_count; i++)
        if (sampler->rows[i].tick != sampler->tick)
            end_thread(sampler, &sampler->rows[i], time_ns);
}

/* The list could not be read to its end: the threads that were not reached are failed samples. */
static bool fail_unseen(struct round *round)
{
    struct sampler *sampler = round->sampler;
    bool any = false;
    for (size_t i = 0; i < sampler->rows_count; i++) {
        const struct sampled *row = &sampler->rows[i];
        any |= row->tick == sampler->tick;
        if (row->tick == sampler->tick || !row->number)
            continue;
        any = true;
        sampler->failed++;
        if (!tell(sampler,
                  (struct event){ .kind = EVENT_FAILED, .failed = { row->number, FAILURE_THREADS, round->time_ns } },
                  round->why))
            return false;
    }
    if (any)
        return true;
    sampler->failed++;
    return tell(sampler, (struct event){ .kind = EVENT_FAILED, .failed = { 0, FAILURE_THREADS, round->time_ns } },
                round->why);
}

/* Whether the target still runs the program that was opened. Asked about once a millisecond. */
static bool same_program(struct sampler *sampler, uint64_t time_ns)
{
    if (time_ns - sampler->checked_ns < SAME_PROGRAM_NS)
        return true;
    sampler->checked_ns = time_ns;
    return target_same_program(&sampler->target);
}

enum sampler_state sampler_tick(struct sampler *sampler, uint64_t missed, struct fault *why)
{
    struct round round = { sampler, now_ns(sampler), why };
    if (!same_program(sampler, round.time_ns))
        return SAMPLER_LOST;
    if (missed > 0)
        note(sampler, (struct event){ .kind = EVENT_MISSED, .missed = missed });
    sampler->missed += missed;
    sampler->tick++;
    enum step step = STEP_TORN;
    for (int i = 0; i < LIST_ATTEMPTS && step == STEP_TORN; i++)
        step = visit_all(&round);
    if (step == STEP_STUCK)
        return SAMPLER_STUCK;
    /* What looks like a torn list may be another program's memory. */
    const bool lost = step == STEP_GONE || (step == STEP_TORN && !target_same_program(&sampler->target));
    if (step == STEP_DONE)
        end_unseen(sampler, round.time_ns);
    else if (!lost && !fail_unseen(&round))
        return SAMPLER_STUCK;
    sampler->ticks++;
    if (!tell(sampler, (struct event){ .kind = EVENT_TICK, .tick_ns = round.time_ns }, why))
        return SAMPLER_STUCK;
    return lost ? SAMPLER_LOST : SAMPLER_GOING;
}

/* ---- processes ---- */

void sampler_attach(struct sampler *sampler, const struct target *target)
{
    sampler->target = *target;
    struct target *ours = &sampler->target;
    if (sampler->last_process == 0)
        codes_open(&sampler->codes, &ours->remote, &ours->runtime.layout, sampler->sink);
    else
        codes_follow(&sampler->codes, &ours->remote, &ours->runtime.layout);
    unwinder_open(&sampler->unwinder, ours, &sampler->codes);
    sampler->attached = true;
    sampler->process = ++sampler->last_process;
    sampler->checked_ns = now_ns(sampler);
    const struct text executable = procfs_executable(ours->pid);
    const struct text command = procfs_command(ours->pid);
    const struct text folder = procfs_folder(ours->pid);
    note(sampler, (struct event){ .kind = EVENT_PROCESS,
                                  .process = { .number = sampler->process,
                                               .pid = (uint32_t)ours->pid,
                                               .start_ns = sampler->checked_ns,
                                               .python_version = ours->runtime.layout.version,
                                               .executable = executable,
                                               .command = command,
                                               .folder = folder } });
    free((char *)executable.bytes);
    free((char *)command.bytes);
    free((char *)folder.bytes);
}

void sampler_detach(struct sampler *sampler)
{
    if (!sampler->attached)
        return;
    const uint64_t time_ns = now_ns(sampler);
    for (size_t i = 0; i < sampler->rows_count; i++) {
        end_thread(sampler, &sampler->rows[i], time_ns);
        walk_free(&sampler->rows[i].walk);
    }
    note(sampler, (struct event){ .kind = EVENT_PROCESS_END, .change = { sampler->process, time_ns, { 0 } } });
    sampler->rows_count = 0;
    pairs_free(&sampler->addresses);
    pairs_free(&sampler->host_threads);
    unwinder_close(&sampler->unwinder);
    target_close(&sampler->target);
    sampler->attached = false;
}

void sampler_close(struct sampler *sampler)
{
    sampler_detach(sampler);
    codes_close(&sampler->codes);
    free(sampler->rows);
    sampler->rows = NULL;
}
