/* SPDX-License-Identifier: MIT */
#include "record/watch/watched_threads.h"

#include "formats/base/alloc.h"
#include "record/process/procfs.h"
#include "record/watch/watched_tasks.h"

#include <stdlib.h>
#include <string.h>

#define LEFT_OUT_NS       500000000   /* ticks that were left out are emitted after this time at the latest */
#define NAME_WAIT_NS      10000000u   /* a new thread's name is looked up again after this, then after twice as long */
#define NAME_WAIT_MOST_NS 1000000000u /* longest wait, ... */
#define NAME_WAIT_MANY_NS 8000000000u /* ... and with more threads than this: */
#define FEW_THREADS       64
#define NAMES_BY_TICK     8 /* lookups in one tick: each takes some ten system calls, and the next tick must not wait */
#define NAME_TRIES        8 /* ticks in a row in which a name that Python does not have yet is looked up */
#define FORKED_TICKS      1000 /* ticks after which a forked process has no more thread states of its parent */
#define SURE_BYTES        11   /* the kernel keeps 15 bytes of a name, of which the last character may be damaged */

/* ---- threads ---- */

/* The row of what was emitted of a thread, by the thread's index in the thread list. */
static struct emitted_thread *watched_thread(struct watched *w, uint32_t member)
{
    if (member >= w->threads_count) {
        w->threads = alloc_grow(w->threads, &w->threads_room, member + 1, sizeof(*w->threads));
        memset(w->threads + w->threads_count, 0, (member + 1 - w->threads_count) * sizeof(*w->threads));
        w->threads_count = member + 1;
    }
    return &w->threads[member];
}

/* Emits EVENT_LEFT_OUT: the ticks that read the thread and, because of the mode, made no sample. */
static void emit_left_out(struct watched *w, struct emitted_thread *thread)
{
    struct left_out *left_out = &thread->watch.left_out;
    if (left_out->ticks == 0)
        return;
    left_out->thread = thread->number;
    emitter_note(w->emitter, (struct event){ .kind = EVENT_LEFT_OUT, .left_out = *left_out });
    *left_out = (struct left_out){ 0 };
}

/* Emits the CPU time that no sample has, at the end of a thread. */
static void emit_owed(struct watched *w, struct emitted_thread *thread, uint64_t time_ns)
{
    const struct left_out left_out = { .thread = thread->number, .time_ns = time_ns, .cpu_ns = thread->owed_ns };
    if (thread->owed_ns)
        emitter_note(w->emitter, (struct event){ .kind = EVENT_LEFT_OUT, .left_out = left_out });
    thread->owed_ns = 0;
}

static void thread_leave_out(struct watched *w, struct emitted_thread *thread, uint64_t time_ns)
{
    struct left_out *left_out = &thread->watch.left_out;
    if (left_out->ticks == 0)
        thread->left_out_since_ns = time_ns;
    left_out->ticks++;
    left_out->time_ns = time_ns;
    left_out->cpu_ns += thread->watch.cpu_ns;
    if (time_ns - thread->left_out_since_ns >= LEFT_OUT_NS)
        emit_left_out(w, thread);
}

static void watched_end_thread(struct watched *w, uint32_t index, uint64_t time_ns)
{
    struct emitted_thread *thread = watched_thread(w, index);
    if (!thread->number)
        return;
    emit_left_out(w, thread);
    emit_owed(w, thread, time_ns);
    thread_status_watch_close(&thread->watch);
    synthetic_frames_free(&thread->expansion);
    thread->emitted.count = 0;
    thread->shown = false;
    emitter_note(w->emitter, (struct event){ .kind = EVENT_THREAD_END, .change = { thread->number, time_ns, { 0 } } });
    thread->number = thread->serial = 0;
    text_free(thread->name);
    thread->name = (struct text){ 0 };
}

/* Whether Python itself made the name: "Thread-7 (work)"; "Dummy-8" for a thread that Python did not start. */
static bool is_automatic(struct text name)
{
    static const struct text beginnings[] = { { "Thread-", 7 }, { "Dummy-", 6 } };
    for (size_t i = 0; i < countof(beginnings); i++)
        if (name.size > beginnings[i].size && memcmp(name.bytes, beginnings[i].bytes, beginnings[i].size) == 0)
            return true;
    return false;
}

/* Whether the program gave the thread a name of its own in the kernel. A new thread has the program's name there, and
 * since CPython 3.14 the beginning of Python's name. */
static bool is_own(const struct watched *w, struct text kernel, struct text python)
{
    const size_t beginning = kernel.size < SURE_BYTES ? kernel.size : SURE_BYTES;
    return kernel.size > 0 && !text_equal(kernel, w->program_name) &&
           (python.size < beginning || memcmp(kernel.bytes, python.bytes, beginning) != 0);
}

/* The name of a thread: Python's, or the kernel's where Python has none or an automatic one and the program gave the
 * thread a name in the kernel. A main thread has the kernel's. */
static struct text emitted_thread_name(struct watched *w, struct emitted_thread *thread, const struct member *member,
                                       uint64_t time_ns)
{
    const struct text kernel = procfs_thread_name(w->target.pid, thread->tid);
    if (member->native_id == (uint32_t)w->target.ns_pid)
        return kernel;
    const uint64_t interpreter = w->target.interpreters[member->interpreter].address;
    const struct text python = thread_names_find(&w->names, interpreter, member->pointer, member->native_id,
                                                 w->options->start_ns + time_ns);
    const bool found = python.size > 0;
    const bool takes_kernel = !found || (is_automatic(python) && is_own(w, kernel, python));
    thread->name_tries = found ? 0 : thread->name_tries + 1;
    text_free(takes_kernel ? python : kernel);
    return takes_kernel ? kernel : python;
}

/* Whether one more name may be looked up in this tick. */
static bool take_lookup(struct watched *w, uint64_t time_ns)
{
    if (w->lookups_ns != time_ns) {
        w->lookups_ns = time_ns;
        w->lookups = 0;
    }
    return w->options->all_names || w->lookups++ < NAMES_BY_TICK;
}

/* Emits the definition of a thread, with the next number. */
static void define_thread(struct watched *w, struct emitted_thread *thread, uint64_t time_ns)
{
    thread->number = ++w->emitter->last_thread;
    emitter_serial(w->emitter, SERIAL_THREAD, thread->number, &thread->serial);
    emitter_note(w->emitter, (struct event){ .kind = EVENT_THREAD,
                                             .thread = { .number = thread->number,
                                                         .process = w->number,
                                                         .tid = (uint32_t)thread->tid,
                                                         .main = thread->native_id == (uint32_t)w->target.ns_pid,
                                                         .interpreter = thread->interpreter_id,
                                                         .start_ns = time_ns,
                                                         .name = thread->name } });
}

static void begin_thread(struct watched *w, struct emitted_thread *thread, const struct member *member,
                         uint64_t time_ns)
{
    thread->native_id = member->native_id;
    thread->interpreter_id = w->target.interpreters[member->interpreter].id;
    thread->tid = watched_host_thread(w, member->native_id);
    thread->name_tries = 0;
    const bool looked_up = take_lookup(w, time_ns);
    thread->name_read_ns = looked_up ? time_ns : 0;
    thread->name = looked_up ? emitted_thread_name(w, thread, member, time_ns)
                             : procfs_thread_name(w->target.pid, thread->tid);
    thread->named = looked_up && thread->name_tries == 0;
    thread->name_wait_ns = NAME_WAIT_NS;
    thread->name_due_ns = time_ns + (thread->named ? NAME_WAIT_NS : 0);
    define_thread(w, thread, time_ns);
}

/* Looks up the name of a thread again: a thread gets its name only when it runs, and may be renamed at any time, but
 * not while the whole process sleeps. */
static void refresh_name(struct watched *w, struct emitted_thread *thread, const struct member *member,
                         uint64_t time_ns)
{
    const bool sleeps_on = w->slept && thread->name_read_ns >= w->ran_ns;
    if (sleeps_on || time_ns < thread->name_due_ns || !take_lookup(w, time_ns))
        return;
    thread->name_read_ns = time_ns;
    const uint64_t most_ns = w->threads_count > FEW_THREADS ? NAME_WAIT_MANY_NS : NAME_WAIT_MOST_NS;
    const struct text name = emitted_thread_name(w, thread, member, time_ns);
    /* Python learns the name of a new thread a moment after the thread's first frame. */
    if (thread->name_tries == 0 || thread->name_tries > NAME_TRIES) {
        thread->name_wait_ns = thread->name_wait_ns * 2 < most_ns ? thread->name_wait_ns * 2 : most_ns;
        thread->name_due_ns = time_ns + thread->name_wait_ns;
    }
    /* Python forgets the name a moment before the thread ends. */
    const bool forgotten = thread->named && thread->name_tries > 0;
    thread->named |= thread->name_tries == 0;
    if (name.size == 0 || forgotten || text_equal(name, thread->name)) {
        text_free(name);
        return;
    }
    text_free(thread->name);
    thread->name = name;
    emitter_note(w->emitter, (struct event){ .kind = EVENT_THREAD_NAME, .change = { thread->number, time_ns, name } });
}

/* Whether the thread of a thread state does not run yet. CPython 3.11 makes the state first, with the native_id of the
 * thread that starts the new thread. So the new thread may even look like the main thread. Such states are skipped. The
 * state of a thread that makes an interpreter looks the same until it has a frame: meanwhile the thread counts where it
 * calls from. */
static bool is_unborn(const struct watched *w, const struct member *member)
{
    if (w->options->which == THREADS_MAIN && member->native_id != (uint32_t)w->target.ns_pid)
        return true;
    if (member->native_id == 0)
        return true;
    if (member->walk.depth > 0)
        return false;
    for (size_t i = 0; i < w->threads_count; i++)
        if (w->threads[i].number && w->threads[i].native_id == member->native_id &&
            &w->thread_list.members[i] != member)
            return true;
    return false;
}

/* ---- samples ---- */

uint32_t watched_threads_collection(const struct watched *w, uint32_t index)
{
    const struct member *member = &w->thread_list.members[index];
    const bool collects = thread_list_collects(&w->thread_list, member);
    return collects ? w->target.interpreters[member->interpreter].collection : 0;
}

/* Emits the sample of a thread that was read in this tick, or that has not moved. */
static bool thread_emit_stack(struct watched *w, uint32_t index, uint32_t status, uint64_t time_ns, struct fault *why)
{
    struct member *member = &w->thread_list.members[index];
    struct emitted_thread *thread = watched_thread(w, index);
    struct event event;
    struct sample *sample = emitter_begin_sample(&event, thread->number, time_ns);
    sample->status = status;
    sample->cpu_ns = w->options->async == ASYNC_ALL ? thread->cpu_ns : thread->watch.cpu_ns;
    sample->collection = watched_threads_collection(w, index);
    if (w->options->async && !w->options->plain_threads) {
        if (!watched_tasks_running_stack(w, thread, index, sample))
            return emitter_failed(w->emitter, thread->number, FAILURE_CHANGED, time_ns, why);
    } else {
        struct expanded *expanded = &w->expanded;
        synthetic_frames_expand(&thread->expansion, w->synthetic, &member->walk, thread->shown,
                                synthetic_frames_collecting(w->synthetic, &w->thread_list, member), expanded);
        sample->keep = expanded->keep;
        sample->pushed = expanded->pushed;
        sample->frames = expanded->pushed ? expanded->frames : NULL;
        sample->task = w->options->async ? watched_tasks_running(w, index) : 0;
    }
    member->walk.same = member->walk.depth;
    thread->shown = true;
    return emitter_sample(w->emitter, &event, why);
}

/* Whether the thread's number was emitted. */
static bool thread_is_known(const struct watched *w, const struct member *member, const struct emitted_thread *thread)
{
    return thread->number && thread->native_id == member->native_id &&
           thread->interpreter_id == w->target.interpreters[member->interpreter].id;
}

/* Whether the state is that of a thread of the process that forked this one. Right after the fork, a process has the
 * states of all threads of its parent, until CPython gives its own thread the new number and frees the others. */
static bool is_of_parent(struct watched *w, const struct member *member)
{
    uint32_t processor;
    return w->forked &&
           !procfs_processor(w->target.pid, (uint32_t)watched_host_thread(w, member->native_id), &processor);
}

/* Emits a thread for a state that has none. False: the thread does not run yet. */
static bool begin_state(struct watched *w, uint32_t index, uint64_t time_ns)
{
    struct member *member = &w->thread_list.members[index];
    watched_end_thread(w, index, time_ns);
    if (is_unborn(w, member) || is_of_parent(w, member)) {
        /* The thread's other states come later in this tick: the newest interpreter is the first in the list. */
        member->hidden = w->thread_list.tick;
        w->unborn = true;
        return false;
    }
    begin_thread(w, watched_thread(w, index), member, time_ns);
    member->walk.same = 0;
    return true;
}

/* Emits the threads that are new in this tick in the order in which the program made them, which is the order of their
 * numbers for every reader. An interpreter's list begins with the newest thread. */
static void begin_new_threads(struct watched *w, uint64_t time_ns)
{
    const struct thread_list *thread_list = &w->thread_list;
    w->unborn = false;
    for (size_t i = thread_list->asked_count; i-- > 0;) {
        const uint32_t index = thread_list->asked[i];
        if (!thread_is_known(w, &thread_list->members[index], watched_thread(w, index)))
            begin_state(w, index, time_ns);
    }
    w->forked &= (w->unborn || thread_list->asked_count == 0) && w->tick < FORKED_TICKS;
}

static bool watched_emit_thread(struct watched *w, uint32_t index, uint64_t time_ns, struct fault *why)
{
    struct member *member = &w->thread_list.members[index];
    if (!thread_is_known(w, member, watched_thread(w, index)) && !begin_state(w, index, time_ns)) {
        w->counters.unborn += member->state == UNWIND_DONE;
        return true;
    }
    struct emitted_thread *thread = watched_thread(w, index);
    refresh_name(w, thread, member, time_ns);
    if (member->state == UNWIND_DONE) {
        const uint32_t status = w->options->with_status
                                    ? thread_status_of(&w->statuses, &thread->watch, &w->thread_list, member,
                                                       thread->tid, w->options->start_ns + time_ns)
                                    : 0;
        if (w->options->with_status && !thread_status_kept(&w->statuses, status)) {
            thread_leave_out(w, thread, time_ns);
            return true;
        }
        emit_left_out(w, thread);
        if (w->options->async == ASYNC_ALL && !watched_tasks_owns_sample(w, thread, index, status) &&
            !w->options->plain_threads)
            return true;
        return thread_emit_stack(w, index, status, time_ns, why);
    }
    return emitter_failed(w->emitter, thread->number, member->cause, time_ns, why);
}

/* Emits the ends of threads that have left the thread list, and clears their rows: a new thread may get the index. */
static void end_unlisted(struct watched *w, uint64_t time_ns)
{
    struct thread_list *thread_list = &w->thread_list;
    for (uint32_t i = 0; i < thread_list->members_count; i++) {
        if (thread_list->members[i].listed == thread_list->list)
            continue;
        watched_end_thread(w, i, time_ns);
        walk_free(&thread_list->members[i].walk);
    }
}

bool watched_threads_emit_unread(struct watched *w, uint64_t time_ns, struct fault *why)
{
    struct thread_list *thread_list = &w->thread_list;
    bool any = false;
    if (w->options->async == ASYNC_ALL)
        return emitter_failed(w->emitter, 0, FAILURE_THREADS, time_ns, why);
    for (uint32_t i = 0; i < thread_list->members_count; i++) {
        const bool read = thread_list->members[i].tick == thread_list->tick &&
                          thread_list_placed(thread_list, &thread_list->members[i]);
        const uint32_t number = watched_thread(w, i)->number;
        any |= read || number;
        if (read ? !watched_emit_thread(w, i, time_ns, why)
                 : number && !emitter_failed(w->emitter, number, FAILURE_THREADS, time_ns, why))
            return false;
    }
    return any || emitter_failed(w->emitter, 0, FAILURE_THREADS, time_ns, why);
}

void watched_threads_ask_ahead(struct watched *w, uint64_t now_ns)
{
    if (!w->options->with_status)
        return;
    thread_status_tick(&w->statuses, w->thread_list.asked_count);
    for (uint32_t i = 0; i < w->threads_count; i++)
        if (w->threads[i].number)
            thread_status_ask_ahead(&w->statuses, &w->threads[i].watch, now_ns);
}

bool watched_threads_emit(struct watched *w, uint64_t time_ns, struct fault *why)
{
    const struct thread_list *thread_list = &w->thread_list;
    const bool changed = w->list != thread_list->list;
    w->list = thread_list->list;
    if (changed)
        end_unlisted(w, time_ns);
    if (changed || w->unborn)
        begin_new_threads(w, time_ns);
    w->counters.interpreters_cut += w->target.interpreters_cut;
    w->statuses.slept = w->slept;
    if (w->options->with_status && !w->options->freezes)
        thread_status_tick(&w->statuses, thread_list->asked_count);
    for (size_t i = 0; i < thread_list->asked_count; i++)
        if (!watched_emit_thread(w, thread_list->asked[i], time_ns, why))
            return false;
    return w->options->async != ASYNC_ALL || watched_tasks_emit(w, time_ns, why);
}

/* ---- another stream ---- */

void watched_threads_flush(struct watched *w)
{
    for (uint32_t i = 0; i < w->threads_count; i++)
        if (w->threads[i].number)
            emit_left_out(w, &w->threads[i]);
}

static int thread_number_compare(const void *one, const void *another)
{
    const struct emitted_thread *a = *(struct emitted_thread *const *)one;
    const struct emitted_thread *b = *(struct emitted_thread *const *)another;
    return a->number < b->number ? -1 : a->number > b->number;
}

void watched_threads_restart(struct watched *w, uint64_t time_ns)
{
    struct emitted_thread **threads = alloc_zeroed(w->threads_count + 1, sizeof(struct emitted_thread *));
    size_t count = 0;
    for (uint32_t i = 0; i < w->threads_count; i++)
        if (w->threads[i].number)
            threads[count++] = &w->threads[i];
    qsort(threads, count, sizeof(struct emitted_thread *), thread_number_compare);
    for (size_t i = 0; i < count; i++) {
        synthetic_frames_free(&threads[i]->expansion);
        threads[i]->emitted.count = 0;
        threads[i]->shown = false;
        define_thread(w, threads[i], time_ns);
    }
    free(threads);
}

/* ---- a pause, and the end ---- */

void watched_threads_pause(struct watched *w)
{
    for (uint32_t i = 0; i < w->threads_count; i++)
        thread_status_pause(&w->threads[i].watch);
}

void watched_threads_end(struct watched *w, uint64_t time_ns)
{
    for (uint32_t i = 0; i < w->threads_count; i++) {
        watched_end_thread(w, i, time_ns);
        free(w->threads[i].stack.frames);
        free(w->threads[i].emitted.frames);
    }
    free(w->threads);
    w->threads = NULL;
    w->threads_count = w->threads_room = 0;
}
