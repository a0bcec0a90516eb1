/* SPDX-License-Identifier: MIT */
#include "record/watch/watched_natives.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "record/process/procfs.h"
#include "record/watch/watched_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ASK_LEAST_NS  1000000u  /* the threads of the kernel are asked when the rest is larger */
#define ROW_LEAST_NS  1000000u  /* a native thread that used more has a row, ... */
#define NATIVE_NS     10000000u /* ... when it has lived for so long: a thread of Python may have had no look yet */
#define TELL_LEAST_NS 5000000u  /* less is not told, ... */
#define END_LEAST_NS  100000u   /* ... but at the end of the process: many short ones have little each */
#define BEFORE_PART   100       /* time before the first look is not small when it is more than a hundredth of all */
#define IDLE_NS       10000000u /* native threads do not run when the rest has not grown for so long */
#define LIST_NS       50000000u /* the threads of the kernel are listed so often; in between, those with a row are asked */
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
    text_free(natives->brief.name);
    natives->brief = (struct brief){ 0 };
    intern_pairs_free(&natives->index);
    free(natives->rows);
    natives->rows = NULL;
    natives->count = natives->room = 0;
}

/* Whether the recording is to have the CPU time of all threads. */
static bool are_wanted(const struct watched *w)
{
    return w->options->with_status && w->thread_list.which == THREADS_ALL && !w->target.remote.kind;
}

/* Whether CPU time of threads is known, and of all threads. */
static bool are_told(const struct watched *w)
{
    return are_wanted(w) && w->statuses.rest_known && w->statuses.interval_ns > 0;
}

/* ---- native threads ---- */

static uint32_t native_frame(struct watched *w, struct text name)
{
    char text[64];
    const int size = snprintf(text, sizeof(text), "<native thread %.*s>", (int)name.size, name.bytes);
    return definitions_named_frame(&w->emitter->definitions, KIND_NATIVE,
                                   (struct text){ text, size < (int)sizeof(text) ? (size_t)size : sizeof(text) - 1 });
}

static struct emitted_thread *natives_begin_row(struct watched *w, uint32_t native_id, pid_t tid, struct text name,
                                                uint64_t time_ns)
{
    struct emitted_thread *thread = watched_threads_begin_native(w, native_id, tid, name, time_ns);
    thread->native = native_frame(w, thread->name);
    thread->note = -1;
    w->natives.shown++;
    return thread;
}

/* ---- native threads that live briefly ---- */

/* Notes a native thread that is new and has no row, with its name: later it may have ended. */
static void brief_note(struct watched *w, const struct native *native, pid_t tid)
{
    struct brief *brief = &w->natives.brief;
    if (brief->native_id || native->since_ns != w->natives.asked_ns)
        return;
    brief->native_id = native->native_id;
    brief->noted_ns = native->since_ns;
    brief->tid = tid;
    brief->name = procfs_thread_name(w->pid, tid);
}

static void brief_forget(struct brief *brief)
{
    text_free(brief->name);
    brief->name = (struct text){ 0 };
    brief->native_id = 0;
}

static struct emitted_thread *brief_row_of(const struct watched *w, struct text name)
{
    for (size_t i = 0; i < w->rows.threads_count; i++)
        if (w->rows.threads[i].number && w->rows.threads[i].brief && text_equal(w->rows.threads[i].name, name))
            return &w->rows.threads[i];
    return NULL;
}

/* Chooses the row when the thread that was noted has ended. A new thread of Python, which no look had seen yet, would
 * be in the list of threads by now. A thread that lives on gets a row of its own. Call this with new kernel_threads. */
static void brief_choose(struct watched *w, uint64_t time_ns)
{
    struct brief *brief = &w->natives.brief;
    const bool lives = intern_pairs_find(&w->rows.kernel_threads, brief->native_id, 0) != 0;
    if (!brief->native_id || (lives && w->natives.asked_ns - brief->noted_ns < NATIVE_NS))
        return;
    struct emitted_thread *row = brief_row_of(w, brief->name);
    if (!lives && !row && brief->name.size > 0 && brief->turns == w->thread_list.turns &&
        w->natives.shown < ROWS_MOST) {
        row = natives_begin_row(w, brief->native_id, brief->tid, brief->name, time_ns);
        row->brief = true;
        brief->name = (struct text){ 0 };
    }
    if (!lives && row)
        brief->row = row->native_id;
    brief_forget(brief);
}

/* Gives the rest to native threads that live briefly, unless it may be that of threads of Python, which a look has seen
 * come or go. */
static void brief_give(struct watched *w, uint64_t passed_ns)
{
    struct brief *brief = &w->natives.brief;
    struct statuses *statuses = &w->statuses;
    struct emitted_thread *row = brief->row ? watched_threads_row(w, brief->row) : NULL;
    if (brief->turns != w->thread_list.turns || brief->other_ns > statuses->rest_ns)
        brief->other_ns = statuses->rest_ns;
    brief->turns = w->thread_list.turns;
    const uint64_t more_ns = statuses->rest_ns - brief->other_ns;
    if (!row || !row->brief)
        return;
    row->watch.cpu.ran_ns += more_ns;
    row->owed_ns += more_ns;
    row->busy = more_ns >= passed_ns / 4;
    statuses->rest_ns -= more_ns;
}

/* ---- all native threads ---- */

/* Gives what a native thread used since it was asked last to its row. */
static void native_note(struct watched *w, struct native *native, pid_t tid, uint64_t passed_ns, uint64_t time_ns)
{
    const uint64_t used_ns = native->ran_ns - native->base_ns;
    struct emitted_thread *thread = watched_threads_row(w, native->native_id);
    const bool begins = !thread, lasts = w->natives.asked_ns - native->since_ns >= NATIVE_NS;
    if (begins && (!lasts || used_ns < ROW_LEAST_NS || w->natives.shown >= ROWS_MOST)) {
        brief_note(w, native, tid);
        return;
    }
    if (begins) {
        thread = natives_begin_row(w, native->native_id, tid, (struct text){ 0 }, time_ns);
        thread->note = cpu_open_note(w->pid, tid);
    }
    const uint64_t since_ns = used_ns - thread->watch.cpu.ran_ns;
    const uint64_t missing_ns = thread_status_tell(&w->statuses, since_ns), told_ns = begins ? missing_ns : 0;
    native->base_ns += told_ns;
    thread->watch.cpu.ran_ns = used_ns - told_ns;
    thread->owed_ns += since_ns - told_ns;
    thread->busy = since_ns - told_ns >= passed_ns / 4;
}

/* Asks a thread of the kernel, and puts it into the new rows. */
static void native_ask(struct watched *w, const struct natives *before, uint32_t native_id, pid_t tid,
                       uint64_t passed_ns, uint64_t time_ns)
{
    struct natives *natives = &w->natives;
    const struct native *known = native_find(before, native_id);
    struct emitted_thread *row = watched_threads_row(w, native_id);
    struct native native = { .native_id = native_id };
    if (row && row->brief) { /* a new thread got the number */
        watched_threads_end_one(w, row, time_ns);
        row = NULL;
    }
    if (!cpu_of_thread(w->pid, tid, &native.ran_ns))
        return;
    if (known && native.ran_ns < known->ran_ns) { /* another thread got the number */
        known = NULL;
        if (row)
            watched_threads_end_one(w, row, time_ns);
    }
    native.since_ns = known ? known->since_ns : natives->asked_ns;
    native.base_ns = !natives->opened ? native.ran_ns : known ? known->base_ns : 0;
    natives->rows = alloc_grow(natives->rows, &natives->room, natives->count + 1, sizeof(*natives->rows));
    natives->rows[natives->count++] = native;
    intern_pairs_add(&natives->index, native_id, 0, (uint32_t)natives->count);
    if (natives->opened)
        native_note(w, &natives->rows[natives->count - 1], tid, passed_ns, time_ns);
}

static void end_gone_natives(struct watched *w, uint64_t time_ns)
{
    for (size_t i = 0; i < w->rows.threads_count; i++) {
        struct emitted_thread *thread = &w->rows.threads[i];
        if (!thread->number || !thread->native || thread->brief || native_find(&w->natives, thread->native_id))
            continue;
        watched_threads_end_one(w, thread, time_ns);
    }
}

/* Asks the native threads that have a row. */
static void natives_ask_shown(struct watched *w, uint64_t time_ns)
{
    struct natives *natives = &w->natives;
    const uint64_t now_ns = clock_now_ns(), passed_ns = now_ns - natives->asked_ns;
    natives->asked_ns = now_ns;
    for (size_t i = 0; i < w->rows.threads_count; i++) {
        const struct emitted_thread *thread = &w->rows.threads[i];
        struct native *native = thread->number && thread->native ? native_find(natives, thread->native_id) : NULL;
        if (native && cpu_of_note(thread->note, &native->ran_ns))
            native_note(w, native, thread->tid, passed_ns, time_ns);
        else if (native)
            natives->listed_ns = 0; /* the thread has ended */
    }
}

/* Asks all threads of the kernel that Python does not know. The first time, what they used so far is none of the
 * recording's. */
static void natives_list(struct watched *w, uint64_t time_ns)
{
    struct natives *natives = &w->natives;
    const uint64_t now_ns = clock_now_ns(), passed_ns = now_ns - natives->asked_ns;
    w->rows.mapped_tick = UINT64_MAX;
    watched_map_threads(w);
    if (w->rows.map_failed)
        return;
    brief_choose(w, time_ns);
    struct natives before = *natives;
    before.brief = (struct brief){ 0 };
    natives->rows = NULL;
    natives->index = (struct intern_pairs){ 0 };
    natives->count = natives->room = 0;
    natives->asked_ns = now_ns;
    for (size_t i = 0; i < w->rows.kernel_threads.room; i++) {
        const struct pair_slot *slot = &w->rows.kernel_threads.slots[i];
        const struct emitted_thread *thread = slot->number ? watched_threads_row(w, slot->a) : NULL;
        if (slot->number && (!thread || thread->native))
            native_ask(w, &before, slot->a, (pid_t)slot->number, passed_ns, time_ns);
    }
    end_gone_natives(w, time_ns);
    natives_free(&before);
    natives->opened = true;
    natives->listed_ns = now_ns;
}

/* Asks native threads, all of them when a new one may have come. */
static void natives_ask(struct watched *w, uint64_t time_ns)
{
    struct natives *natives = &w->natives;
    const uint64_t now_ns = clock_now_ns(), passed_ns = now_ns - natives->asked_ns;
    if (natives->shown > 0 && now_ns < natives->listed_ns + LIST_NS)
        natives_ask_shown(w, time_ns);
    else
        natives_list(w, time_ns);
    brief_give(w, passed_ns);
    natives->due_ns = now_ns + ASK_REST * (clock_now_ns() - now_ns);
}

/* Whether the kernel has threads that have no row of Python. */
static bool has_natives(const struct watched *w)
{
    size_t rows = 0;
    for (size_t i = 0; i < w->rows.threads_count; i++)
        rows += w->rows.threads[i].number && !w->rows.threads[i].native;
    return procfs_count_threads(w->pid) > rows;
}

/* ---- the rest ---- */

/* Defines the entry <not sampled>. */
static void define_entry(struct watched *w, uint64_t time_ns)
{
    struct natives *natives = &w->natives;
    natives->entry = ++w->emitter->last_thread;
    w->emitter->rests += !natives->counted;
    natives->counted = true;
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
    if (frame)
        definitions_number_frame(&w->emitter->definitions, frame, &left_out.frame, &unused);
    if (left_out.frame || cpu_ns > 0)
        emitter_note(w->emitter, (struct event){ .kind = EVENT_LEFT_OUT, .left_out = left_out });
}

/* Begins the entry, with the time before the first look unless that is small: it also has the frame for threads that
 * are never seen to run. */
static void begin_entry(struct watched *w, uint64_t time_ns)
{
    define_entry(w, time_ns);
    const uint64_t before_ns = w->natives.before_ns >= TELL_LEAST_NS ? w->natives.before_ns : 0;
    emit_rest(w, before_ns, synthetic_frames_not_sampled(w->synthetic), time_ns);
    w->natives.before_ns -= before_ns;
}

/* Tells the rest, unless it is small. */
static void tell_rest(struct watched *w, uint64_t least_ns, uint64_t time_ns)
{
    struct statuses *statuses = &w->statuses;
    if (w->natives.entry == 0 || statuses->rest_ns < least_ns)
        return;
    emit_rest(w, statuses->rest_ns, 0, time_ns);
    statuses->ended_ns += statuses->rest_ns;
    statuses->rest_ns = 0;
}

/* The process has run on since its clock was read at the first look, and the times of its threads begin now: in the
 * first look. */
static void natives_correct_before(struct watched *w)
{
    const uint64_t known_ns = watched_threads_known_cpu_ns(w), told_ns = w->begun_cpu_ns + w->natives.before_ns;
    w->natives.before_ns += known_ns > told_ns ? known_ns - told_ns : 0;
}

/* What is known so far, after the first look or after a pause, is none of the recording's. */
static void natives_begin(struct watched *w, uint64_t time_ns)
{
    w->natives.asked_ns = clock_now_ns();
    natives_list(w, time_ns);
    if (w->natives.entry == 0)
        begin_entry(w, time_ns);
    w->natives.opened = true;
    w->statuses.ended_ns += w->statuses.rest_ns;
    w->statuses.rest_ns = 0;
}

/* The rest has not grown, so no native thread ran. */
static void forget_busy(struct watched *w)
{
    for (size_t i = 0; i < w->rows.threads_count; i++)
        w->rows.threads[i].busy = false;
}

void watched_natives_look(struct watched *w, uint64_t time_ns)
{
    struct natives *natives = &w->natives;
    if (!w->ticked && !w->forked)
        natives_correct_before(w);
    if (!are_told(w))
        return;
    if (!natives->opened)
        natives_begin(w, time_ns);
    if (w->statuses.rest_ns < natives->seen_ns)
        natives->seen_ns = w->statuses.rest_ns;
    if (w->statuses.rest_ns < natives->seen_ns + ASK_LEAST_NS) {
        if (natives->shown > 0 && clock_now_ns() > natives->asked_ns + IDLE_NS)
            forget_busy(w);
        return;
    }
    if (clock_now_ns() < natives->due_ns)
        return;
    if (natives->shown > 0 || has_natives(w))
        natives_ask(w, time_ns);
    natives->seen_ns = w->statuses.rest_ns;
}

void watched_natives_measure(struct watched *w, uint64_t time_ns)
{
    if (w->natives.opened && are_told(w))
        tell_rest(w, TELL_LEAST_NS, time_ns);
}

/* Tells the rest of a process that used `clock_ns` so far; 0: not known. Its threads were just asked, or have ended. */
static void tell_rest_now(struct watched *w, uint64_t clock_ns, uint64_t time_ns)
{
    const uint64_t look_ns = w->statuses.process.used_ns;
    if (clock_ns > 0) {
        w->statuses.process.used_ns = clock_ns;
        thread_status_asked_all(&w->statuses, watched_threads_known_cpu_ns(w));
        w->statuses.process.used_ns = look_ns;
    }
    tell_rest(w, END_LEAST_NS, time_ns);
}

/* Tells what is left of the time before the first look. */
static void tell_before(struct watched *w, uint64_t least_ns, uint64_t time_ns)
{
    if (w->natives.entry == 0 || w->natives.before_ns <= least_ns)
        return;
    emit_rest(w, w->natives.before_ns, synthetic_frames_not_sampled(w->synthetic), time_ns);
    w->natives.before_ns = 0;
}

void watched_natives_ask_now(struct watched *w, uint64_t time_ns)
{
    if (w->natives.opened && are_told(w) && !watched_ended(w))
        natives_ask_shown(w, time_ns);
}

void watched_natives_flush(struct watched *w, uint64_t clock_ns, uint64_t time_ns)
{
    if (w->natives.opened && are_told(w))
        tell_rest_now(w, clock_ns, time_ns);
    tell_before(w, END_LEAST_NS, time_ns);
}

uint64_t watched_natives_adopt(struct watched *w, uint32_t native_id, struct emitted_thread *row)
{
    const struct native *native = w->natives.opened ? native_find(&w->natives, native_id) : NULL;
    if (row && row->native) {
        watched_natives_leave(w, row);
        row->watch.cpu.ran_ns = 0;
    }
    if (!native) /* it began after the first look, when all threads of the kernel were known */
        return w->natives.opened || w->forked ? 0 : CPU_NEW;
    w->statuses.ended_ns -= native->base_ns < w->statuses.ended_ns ? native->base_ns : w->statuses.ended_ns;
    return row ? native->ran_ns : native->base_ns;
}

void watched_natives_leave(struct watched *w, struct emitted_thread *row)
{
    row->brief = false;
    if (!row->native)
        return;
    if (row->note >= 0)
        close(row->note);
    w->natives.shown -= w->natives.shown > 0;
    row->native = 0;
    row->busy = false;
}

void watched_natives_pause(struct watched *w)
{
    natives_free(&w->natives);
    w->statuses.rest_known = w->natives.opened = false;
    w->statuses.rest_ns = w->statuses.ended_ns = 0;
}

void watched_natives_restart(struct watched *w, uint64_t time_ns)
{
    if (w->natives.entry)
        begin_entry(w, time_ns);
}

/* Tells all that a process used at which nobody ever looked. */
static void tell_unseen(struct watched *w, uint64_t clock_ns, uint64_t time_ns)
{
    if (w->ticked || !are_wanted(w) || clock_ns < w->begun_cpu_ns + END_LEAST_NS)
        return;
    define_entry(w, time_ns);
    emit_rest(w, clock_ns - w->begun_cpu_ns, synthetic_frames_not_sampled(w->synthetic), time_ns);
}

void watched_natives_end(struct watched *w, uint64_t time_ns)
{
    const uint64_t clock_ns = watched_cpu_ns(w);
    tell_unseen(w, clock_ns, time_ns);
    if (w->natives.opened && are_told(w))
        tell_rest_now(w, clock_ns, time_ns);
    tell_before(w, (clock_ns ? clock_ns : w->statuses.process.used_ns) / BEFORE_PART, time_ns);
    if (w->natives.entry) {
        const struct change change = { .number = w->natives.entry, .time_ns = time_ns };
        emitter_note(w->emitter, (struct event){ .kind = EVENT_THREAD_END, .change = change });
    }
    natives_free(&w->natives);
    w->natives = (struct natives){ 0 };
}
