/* SPDX-License-Identifier: MIT */
#include "record/watch/watched_names.h"

#include "formats/base/alloc.h"
#include "record/process/procfs.h"
#include "record/process/python_files.h"

#include <stdio.h>
#include <string.h>

#define NAME_WAIT_NS      10000000u   /* a new thread's name is looked up again after this, then after twice as long */
#define NAME_WAIT_MOST_NS 1000000000u /* longest wait, ... */
#define NAME_WAIT_MANY_NS 8000000000u /* ... and with more threads than this: */
#define FEW_THREADS       64
#define NAMES_BY_TICK     8  /* lookups in one tick, ... */
#define NAMES_BY_MS       1  /* ... and for each millisecond since the last tick with lookups, ... */
#define NAMES_MOST        64 /* ... but not more than this */
#define NAME_TRIES        8  /* ticks in a row in which a name that Python does not have yet is looked up */
#define KERNEL_BYTES      15 /* of a name in the kernel */
#define SURE_BYTES        11 /* the kernel keeps 15 bytes of a name, of which the last character may be damaged */

void watched_names_open(struct watched *w)
{
    thread_names_open(&w->naming.python, &w->target.remote, &w->target.runtime.layout);
    w->naming.program_names[0] = procfs_thread_name(w->pid, w->pid);
}

void watched_names_close(struct watched *w)
{
    thread_names_close(&w->naming.python);
    for (size_t i = 0; i < PROGRAM_NAMES; i++) {
        text_free(w->naming.program_names[i]);
        w->naming.program_names[i] = (struct text){ 0 };
    }
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

/* Whether a name in the kernel, of 15 bytes at most, is that of the program's file, which the kernel gives at an
 * execve. The file of a Python has several names: python3 for python3.13. */
static bool is_of_file(const struct watched *w, struct text kernel)
{
    const struct text path = procfs_executable(w->pid);
    const char *slash = path.size ? memrchr(path.bytes, '/', path.size) : NULL;
    const size_t before = slash ? (size_t)(slash + 1 - path.bytes) : 0;
    const size_t kept = path.size - before < KERNEL_BYTES ? path.size - before : KERNEL_BYTES;
    const bool is = slash && text_equal((struct text){ path.bytes + before, kept }, kernel);
    text_free(path);
    char name[KERNEL_BYTES + 1];
    snprintf(name, sizeof(name), "%.*s", (int)kernel.size, kernel.bytes);
    return is || python_files_is_cpython(name);
}

/* Whether the first thread has or had a name in the kernel, as far as known. A process that writes its title mostly
 * renames its first thread, too: threads that began before have the name from before. */
static bool is_of_program(struct watched *w, struct text kernel)
{
    struct text *names = w->naming.program_names;
    for (size_t i = 0; i < PROGRAM_NAMES; i++)
        if (text_equal(kernel, names[i]))
            return true;
    const struct text now = procfs_thread_name(w->pid, w->pid);
    if (now.size == 0 || text_equal(now, names[0])) {
        text_free(now);
        return is_of_file(w, kernel);
    }
    text_free(names[PROGRAM_NAMES - 1]);
    memmove(names + 1, names, (PROGRAM_NAMES - 1) * sizeof(*names));
    names[0] = now;
    return text_equal(kernel, now) || is_of_file(w, kernel);
}

/* Whether the program gave the thread a name of its own in the kernel. A new thread has the first thread's name there,
 * and since CPython 3.14 the beginning of Python's name. */
static bool is_own(struct watched *w, struct text kernel, struct text python)
{
    const size_t beginning = kernel.size < SURE_BYTES ? kernel.size : SURE_BYTES;
    return kernel.size > 0 && (python.size < beginning || memcmp(kernel.bytes, python.bytes, beginning) != 0) &&
           !is_of_program(w, kernel);
}

/* The name of a thread: Python's, or the kernel's where Python has none or an automatic one and the program gave the
 * thread a name in the kernel. A main thread has the kernel's, unless Python does not call it "MainThread": it was
 * renamed, or it is the thread of a process that another thread of the parent forked. */
static struct text name_of_state(struct watched *w, struct emitted_thread *thread, const struct member *member,
                                 uint64_t time_ns)
{
    const bool main = watched_is_main(w, thread->native_id);
    const struct text kernel = procfs_thread_name(w->target.pid, thread->tid);
    const uint64_t interpreter = w->target.interpreters[member->interpreter].address;
    const struct text python = thread_names_find(&w->naming.python, interpreter, member->pointer,
                                                 main ? 0 : member->native_id, w->options->start_ns + time_ns);
    /* In each interpreter, the module `threading` takes the thread that imports it for the main thread. */
    const bool found = python.size > 0 && (main || !text_equal(python, TEXT("MainThread")));
    const bool takes_kernel = !found || (main ? text_equal(python, TEXT("MainThread"))
                                              : is_automatic(python) && is_own(w, kernel, python));
    thread->name_tries = found ? 0 : thread->name_tries + 1;
    thread->own_name = main && !takes_kernel;
    text_free(takes_kernel ? python : kernel);
    return takes_kernel ? kernel : python;
}

/* Whether the name of a thread may be looked up in this tick. The slower the ticks, the more new names have one. */
static bool take_lookup(struct watched *w, const struct emitted_thread *thread, uint64_t time_ns)
{
    if (w->options->all_names)
        return true;
    if (w->naming.lookups_ns != time_ns) {
        const uint64_t by_time = (time_ns - w->naming.lookups_ns) / 1000000 * NAMES_BY_MS;
        w->naming.lookups_ns = time_ns;
        w->naming.lookups_again = NAMES_BY_TICK;
        w->naming.lookups = by_time < NAMES_BY_TICK ? NAMES_BY_TICK
                            : by_time > NAMES_MOST  ? NAMES_MOST
                                                    : (uint32_t)by_time;
    }
    if (w->naming.lookups == 0 ||
        (thread->asked && (w->naming.unasked >= w->naming.lookups || w->naming.lookups_again == 0)))
        return false;
    w->naming.lookups_again -= thread->asked;
    w->naming.lookups--;
    return true;
}

bool watched_names_find(struct watched *w, const struct member *member, uint32_t native_id, uint64_t time_ns,
                        struct text *name)
{
    struct emitted_thread thread = { .native_id = native_id, .tid = watched_host_thread(w, native_id) };
    if (!take_lookup(w, &thread, time_ns))
        return false;
    *name = name_of_state(w, &thread, member, time_ns);
    return true;
}

void watched_names_begin(struct watched *w, const struct member *member, struct emitted_thread *thread,
                         uint64_t time_ns)
{
    thread->name_tries = 0;
    thread->asked = false;
    const bool looked_up = member && take_lookup(w, thread, time_ns);
    thread->asked = looked_up || !member;
    thread->name_read_ns = time_ns;
    thread->name_ran_ns = 0; /* the CPU time is not known yet */
    w->naming.unasked += !thread->asked;
    thread->own_name = false;
    thread->name = looked_up ? name_of_state(w, thread, member, time_ns)
                             : procfs_thread_name(w->target.pid, thread->tid);
    thread->named = looked_up && thread->name_tries == 0;
    thread->name_wait_ns = NAME_WAIT_NS;
    thread->name_due_ns = time_ns + (thread->named ? NAME_WAIT_NS : 0);
}

/* Whether a thread slept since its name was looked up: then only others may have renamed the thread, which is seen
 * late. */
static bool slept_since(const struct emitted_thread *thread, uint64_t time_ns)
{
    const struct cpu *cpu = &thread->watch.cpu;
    return thread->named && thread->name_tries == 0 && cpu->watched && !cpu->running &&
           cpu->ran_ns == thread->name_ran_ns && time_ns < thread->name_read_ns + NAME_WAIT_MANY_NS;
}

/* A thread gets its name only when it runs, and may be renamed at any time, but not while the whole process sleeps. */
void watched_names_refresh(struct watched *w, struct emitted_thread *thread, const struct member *member,
                           uint64_t time_ns)
{
    const bool sleeps_on = w->look.slept && thread->asked && thread->name_read_ns >= w->ran_ns;
    const bool had_own_name = thread->own_name;
    if (sleeps_on || time_ns < thread->name_due_ns || slept_since(thread, time_ns) || !take_lookup(w, thread, time_ns))
        return;
    w->naming.unasked -= !thread->asked;
    thread->asked = true;
    thread->name_read_ns = time_ns;
    thread->name_ran_ns = thread->watch.cpu.ran_ns;
    const uint64_t most_ns = w->rows.threads_count > FEW_THREADS ? NAME_WAIT_MANY_NS : NAME_WAIT_MOST_NS;
    const struct text name = name_of_state(w, thread, member, time_ns);
    /* Python learns the name of a new thread a moment after the thread's first frame. */
    if (thread->name_tries == 0 || thread->name_tries > NAME_TRIES) {
        thread->name_wait_ns = thread->name_wait_ns * 2 < most_ns ? thread->name_wait_ns * 2 : most_ns;
        thread->name_due_ns = time_ns + thread->name_wait_ns;
    }
    /* Python forgets the name a moment before the thread ends. */
    const bool forgotten = thread->named && thread->name_tries > 0;
    thread->named |= thread->name_tries == 0;
    if (name.size == 0 || forgotten || text_equal(name, thread->name)) {
        thread->own_name = had_own_name;
        text_free(name);
        return;
    }
    text_free(thread->name);
    thread->name = name;
    const struct change change = { thread->number, time_ns, name, thread->own_name };
    emitter_note(w->emitter, (struct event){ .kind = EVENT_THREAD_NAME, .change = change });
}

void watched_names_end(struct watched *w, struct emitted_thread *thread)
{
    w->naming.unasked -= !thread->asked;
    text_free(thread->name);
    thread->name = (struct text){ 0 };
    thread->own_name = false;
}

void watched_names_rest(struct watched *w, struct emitted_thread *thread)
{
    w->naming.unasked -= !thread->asked;
    thread->asked = true;
}
