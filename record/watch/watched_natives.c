/* SPDX-License-Identifier: MIT */
#include "record/watch/watched_natives.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "record/process/procfs.h"
#include "record/watch/watched_threads.h"

#include <stdio.h>
#include <stdlib.h>

#define ASK_LEAST_NS  1000000u  /* the threads of the kernel are asked when the rest is larger */
#define ROW_LEAST_NS  1000000u  /* a native thread that used more has a row, ... */
#define NATIVE_NS     10000000u /* ... when it has lived for so long: a thread of Python may have had no look yet */
#define TELL_LEAST_NS 5000000u  /* the rest is told when it is larger */
#define ASK_REST      100       /* asking takes a hundredth of a processor at most */
#define ROWS_MOST     256       /* native threads of a process that have a row; the others are in the rest */

/* The kernel's number of the thread, and its CPU time. `base_ns` is from before the recording. */
struct native {
    uint32_t native_id;
    uint64_t base_ns, ran_ns;
    uint64_t since_ns; /* when it was first seen (monotonic) */
};

static struct native *native_find(const struct natives *natives, uint32_t native_id)
{
    const uint32_t row = intern_pairs_find(&natives->index, native_id, 0);
    return row ? &natives->rows[row - 1] : NULL;
}

static void natives_free(struct natives *natives)
{
    intern_pairs_free(&natives->index);
    free(natives->rows);
    natives->rows = NULL;
    natives->count = natives->room = 0;
}

/* Whether CPU time of threads is known, and of all threads. */
static bool are_told(const struct watched *w)
{
    return w->options->with_status && w->thread_list.which == THREADS_ALL && !w->target.remote.kind &&
           w->statuses.rest_known && w->statuses.interval_ns > 0;
}

/* ---- native threads ---- */

static uint32_t native_frame(struct watched *w, struct text name)
{
    char text[64];
    const int size = snprintf(text, sizeof(text), "<native thread %.*s>", (int)name.size, name.bytes);
    return definitions_named_frame(&w->emitter->definitions, KIND_NATIVE,
                                   (struct text){ text, size < (int)sizeof(text) ? (size_t)size : sizeof(text) - 1 });
}

/* Gives what a native thread used since it was asked last to its row. */
static void native_note(struct watched *w, const struct native *native, pid_t tid, uint64_t passed_ns, uint64_t time_ns)
{
    const uint64_t used_ns = native->ran_ns - native->base_ns;
    struct emitted_thread *thread = watched_threads_row(w, native->native_id);
    const bool lasts = w->natives.asked_ns - native->since_ns >= NATIVE_NS;
    if (!thread && (!lasts || used_ns < ROW_LEAST_NS || w->natives.shown >= ROWS_MOST))
        return;
    if (!thread) {
        thread = watched_threads_begin_native(w, native->native_id, tid, time_ns);
        thread->native = native_frame(w, thread->name);
        w->natives.shown++;
    }
    const uint64_t more_ns = used_ns - thread->watch.cpu.ran_ns;
    thread->watch.cpu.ran_ns = used_ns;
    thread->owed_ns += more_ns;
    thread->busy = more_ns >= passed_ns / 4;
    thread_status_tell(&w->statuses, more_ns);
}

/* Asks a thread of the kernel, and puts it into the new rows. */
static void native_ask(struct watched *w, const struct natives *before, uint32_t native_id, pid_t tid,
                       uint64_t passed_ns, uint64_t time_ns)
{
    struct natives *natives = &w->natives;
    const struct native *known = native_find(before, native_id);
    struct native native = { .native_id = native_id, .since_ns = known ? known->since_ns : natives->asked_ns };
    if (!cpu_of_thread(w->pid, tid, &native.ran_ns))
        return;
    native.base_ns = !natives->opened ? native.ran_ns : known ? known->base_ns : 0;
    if (native.ran_ns < native.base_ns) /* another thread got the number */
        native.base_ns = 0;
    natives->rows = alloc_grow(natives->rows, &natives->room, natives->count + 1, sizeof(*natives->rows));
    natives->rows[natives->count++] = native;
    intern_pairs_add(&natives->index, native_id, 0, (uint32_t)natives->count);
    if (natives->opened)
        native_note(w, &native, tid, passed_ns, time_ns);
}

static void end_gone_natives(struct watched *w, uint64_t time_ns)
{
    for (size_t i = 0; i < w->threads_count; i++) {
        struct emitted_thread *thread = &w->threads[i];
        if (!thread->number || !thread->native || native_find(&w->natives, thread->native_id))
            continue;
        w->natives.shown--;
        watched_threads_end_one(w, thread, time_ns);
    }
}

/* Asks all threads of the kernel that Python does not know. The first time, what they used so far is none of the
 * recording's. */
static void natives_ask(struct watched *w, uint64_t time_ns)
{
    struct natives *natives = &w->natives;
    const uint64_t now_ns = clock_now_ns(), passed_ns = now_ns - natives->asked_ns;
    struct natives before = *natives;
    natives->rows = NULL;
    natives->index = (struct intern_pairs){ 0 };
    natives->count = natives->room = 0;
    natives->asked_ns = now_ns;
    w->mapped_tick = UINT64_MAX;
    watched_map_threads(w);
    for (size_t i = 0; i < w->kernel_threads.room; i++) {
        const struct pair_slot *slot = &w->kernel_threads.slots[i];
        const struct emitted_thread *thread = slot->number ? watched_threads_row(w, slot->a) : NULL;
        if (slot->number && (!thread || thread->native))
            native_ask(w, &before, slot->a, (pid_t)slot->number, passed_ns, time_ns);
    }
    if (!w->map_failed)
        end_gone_natives(w, time_ns);
    natives_free(&before);
    natives->opened = true;
    natives->due_ns = now_ns + ASK_REST * (clock_now_ns() - now_ns);
}

/* Whether the kernel has threads that have no row of Python. */
static bool has_natives(const struct watched *w)
{
    size_t rows = 0;
    for (size_t i = 0; i < w->threads_count; i++)
        rows += w->threads[i].number && !w->threads[i].native;
    return procfs_count_threads(w->pid) > rows;
}

/* ---- the rest ---- */

/* Defines the entry <not sampled>. */
static void define_entry(struct watched *w, uint64_t time_ns)
{
    struct natives *natives = &w->natives;
    natives->entry = ++w->emitter->last_thread;
    emitter_serial(w->emitter, SERIAL_THREAD, natives->entry, &natives->serial);
    emitter_note(w->emitter, (struct event){ .kind = EVENT_THREAD,
                                             .thread = { .number = natives->entry,
                                                         .process = w->number,
                                                         .start_ns = time_ns,
                                                         .name = TEXT(NOT_SAMPLED) } });
}

/* Emits CPU time of the entry <not sampled>. `frame`: index of the definition at which the time stands for good; 0: a
 * reader may give it to threads that ended. */
static void emit_rest(struct watched *w, uint64_t cpu_ns, uint32_t frame, uint64_t time_ns)
{
    struct left_out left_out = { .thread = w->natives.entry, .time_ns = time_ns, .cpu_ns = cpu_ns };
    struct fault unused;
    if (frame && definitions_number_frame(&w->emitter->definitions, frame, &left_out.frame, &unused))
        emitter_note(w->emitter, (struct event){ .kind = EVENT_LEFT_OUT, .left_out = left_out });
    else if (cpu_ns > 0)
        emitter_note(w->emitter, (struct event){ .kind = EVENT_LEFT_OUT, .left_out = left_out });
}

/* Tells the rest, and the time before the first look, unless both are small. */
static void tell_rest(struct watched *w, uint64_t time_ns)
{
    struct natives *natives = &w->natives;
    struct statuses *statuses = &w->statuses;
    if (statuses->rest_ns + natives->before_ns < TELL_LEAST_NS)
        return;
    const bool begins = natives->entry == 0;
    if (begins)
        define_entry(w, time_ns);
    if (begins || natives->before_ns)
        emit_rest(w, natives->before_ns, synthetic_frames_not_sampled(w->synthetic), time_ns);
    emit_rest(w, statuses->rest_ns, 0, time_ns);
    natives->before_ns = 0;
    statuses->ended_ns += statuses->rest_ns;
    statuses->rest_ns = 0;
}

/* What is known so far, after the first look or after a pause, is none of the recording's. */
static void natives_begin(struct watched *w, uint64_t time_ns)
{
    w->natives.asked_ns = clock_now_ns();
    if (has_natives(w))
        natives_ask(w, time_ns);
    w->natives.opened = true;
    w->statuses.ended_ns += w->statuses.rest_ns;
    w->statuses.rest_ns = 0;
}

void watched_natives_look(struct watched *w, uint64_t time_ns)
{
    struct natives *natives = &w->natives;
    if (!are_told(w))
        return;
    if (!natives->opened)
        natives_begin(w, time_ns);
    if (w->statuses.rest_ns < natives->seen_ns)
        natives->seen_ns = w->statuses.rest_ns;
    if (w->statuses.rest_ns < natives->seen_ns + ASK_LEAST_NS || clock_now_ns() < natives->due_ns)
        return;
    if (natives->shown > 0 || has_natives(w))
        natives_ask(w, time_ns);
    natives->seen_ns = w->statuses.rest_ns;
}

void watched_natives_measure(struct watched *w, uint64_t time_ns)
{
    if (w->natives.opened && are_told(w))
        tell_rest(w, time_ns);
}

uint64_t watched_natives_adopt(struct watched *w, uint32_t native_id, struct emitted_thread *row)
{
    const struct native *native = native_find(&w->natives, native_id);
    if (!native) /* it began after the first look, when all threads of the kernel were known */
        return w->natives.opened ? 0 : CPU_NEW;
    if (row && row->native) {
        row->native = 0;
        row->watch.cpu.ran_ns = 0;
        w->natives.shown--;
    }
    w->statuses.ended_ns -= native->base_ns < w->statuses.ended_ns ? native->base_ns : w->statuses.ended_ns;
    return row ? native->ran_ns : native->base_ns;
}

void watched_natives_pause(struct watched *w)
{
    w->statuses.rest_known = w->natives.opened = false;
}

void watched_natives_restart(struct watched *w)
{
    w->natives.entry = 0;
}

void watched_natives_end(struct watched *w, uint64_t time_ns)
{
    const uint64_t clock_ns = watched_cpu_ns(w);
    if (are_told(w) && w->natives.opened && clock_ns > 0) {
        w->statuses.process.used_ns = clock_ns;
        thread_status_asked_all(&w->statuses, watched_threads_known_cpu_ns(w));
    }
    if (are_told(w))
        tell_rest(w, time_ns);
    if (w->natives.entry) {
        const struct change change = { .number = w->natives.entry, .time_ns = time_ns };
        emitter_note(w->emitter, (struct event){ .kind = EVENT_THREAD_END, .change = change });
    }
    natives_free(&w->natives);
    w->natives = (struct natives){ .serial = 0 };
}
