/* SPDX-License-Identifier: MIT */
#include "record/python/target.h"

#include "formats/base/alloc.h"
#include "record/process/procfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* In the runtime, the address of the main interpreter stands so far behind that of the newest one (3.11 to 3.16). */
#define MAIN_BEHIND_NEWEST 8

static enum target_state target_refused(int cause)
{
    return cause == ESRCH || cause == ENOENT ? TARGET_GONE : TARGET_DENIED;
}

/* Finds the CPython in the open memory. */
static enum target_state find_runtime(struct target *target, const struct runtime_hints *hints, struct fault *why)
{
    enum target_state state = TARGET_NOT_YET;
    switch (runtime_find_hinted(&target->runtime, &target->remote, hints, why)) {
    case RUNTIME_READY:
        /* An execve may have started this CPython after remote_open(). */
        if (!target_same_program(target))
            break;
        return TARGET_READY;
    case RUNTIME_STARTING:
        if (hints->likely)
            *hints->likely = target->runtime;
        break;
    case RUNTIME_NONE:
        /* The CPython that was starting is gone. That of a parent may still become readable. */
        if (hints->likely && !hints->likely->described)
            *hints->likely = (struct runtime){ 0 };
        break;
    case RUNTIME_UNSUPPORTED:
        state = TARGET_UNSUPPORTED;
        break;
    case RUNTIME_LOST:
        state = target_refused(errno);
        break;
    }
    target_close(target);
    return state;
}

enum target_state target_open_hinted(struct target *target, pid_t pid, const struct runtime_hints *hints,
                                     struct fault *why)
{
    *target = (struct target){ .pid = pid };
    if (!remote_open(&target->remote, pid, why))
        return target_refused(errno);
    const enum target_state state = find_runtime(target, hints, why);
    if (state == TARGET_READY) {
        target->same_pids = procfs_same_pids(pid);
        target->ns_pid = target->same_pids ? pid : procfs_ns_pid(pid);
    }
    return state;
}

enum target_state target_open(struct target *target, pid_t pid, struct fault *why)
{
    return target_open_hinted(target, pid, &(struct runtime_hints){ 0 }, why);
}

enum target_state target_open_memory(struct target *target, const struct memory_kind *kind, void *self, pid_t ns_pid,
                                     struct fault *why)
{
    *target = (struct target){ .remote = remote_of(kind, self), .ns_pid = ns_pid, .same_pids = true };
    return find_runtime(target, &(struct runtime_hints){ 0 }, why);
}

void target_close(struct target *target)
{
    remote_close(&target->remote);
    free(target->interpreters);
    *target = (struct target){ 0 };
    target->remote.memory = -1;
}

/* ---- interpreters ---- */

static uint64_t interpreter_member(const struct target *target, const struct interpreter *interpreter, uint32_t offset)
{
    return word_at(interpreter->bytes, offset - target->runtime.layout.interpreter_start);
}

/* The number of pieces of each interpreter in a batch. */
static size_t pieces_of_each(const struct target *target)
{
    return target->runtime.layout.interpreter_copies_generation ? 2 : 1;
}

/* The code generation + 1; 0: not kept. It is the sum of two counts, which both only grow, so the sum changes with
 * each. */
static uint64_t interpreter_generation(const struct target *target, const struct interpreter *interpreter)
{
    const struct layout *l = &target->runtime.layout;
    if (!l->interpreter_code_generation)
        return 0;
    const uint64_t copies = l->interpreter_copies_generation ? half_word_at(interpreter->copies_generation, 0) : 0;
    return interpreter_member(target, interpreter, l->interpreter_code_generation) + copies + 1;
}

static void interpreter_take_in(const struct target *target, struct interpreter *interpreter)
{
    const struct layout *l = &target->runtime.layout;
    /* Another interpreter with another lock may have got the address. */
    interpreter->gil_at = 0;
    interpreter->gil = (struct gil){ 0 };
    interpreter->id = interpreter_member(target, interpreter, l->interpreter_id);
    interpreter->threads_head = interpreter_member(target, interpreter, l->interpreter_threads_head);
    interpreter->generation = interpreter_generation(target, interpreter);
}

static void add_interpreter(const struct target *target, struct interpreter *interpreter, struct batch *batch)
{
    const struct layout *l = &target->runtime.layout;
    batch_add(batch, interpreter->address + l->interpreter_start, l->interpreter_size, interpreter->bytes);
    if (l->interpreter_copies_generation)
        batch_add(batch, interpreter->address + l->interpreter_copies_generation,
                  sizeof(interpreter->copies_generation), interpreter->copies_generation);
}

/* Whether so many interpreters are in the order in which CPython has them: each new one has a greater id, and comes
 * first. A ring is in no such order. */
static bool is_newest_first(const struct target *target, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (target->interpreters[i].id >= target->interpreters[i - 1].id)
            return false;
    return true;
}

/* Reads the head of the list and all known interpreters with one call, and keeps the interpreters up to the first one
 * that is not in the list as expected. *missing: the address of the first interpreter that was not read; 0: the list is
 * whole. Of a list that is too long, the newest interpreters are read and the main one, which is the last of the list:
 * the program's own code mostly runs there. */
static enum remote_state read_expected(struct target *target, uint64_t *missing)
{
    const struct layout *l = &target->runtime.layout;
    struct batch batch = { .count = 0 };
    uint64_t newest_and_main[2] = { 0 };
    size_t good = 0;
    batch_add(&batch, target->runtime.address + l->runtime_interpreters_head, MAIN_BEHIND_NEWEST + sizeof(uint64_t),
              newest_and_main);
    for (size_t i = 0; i < target->interpreters_count; i++)
        add_interpreter(target, &target->interpreters[i], &batch);
    const enum remote_state state = remote_read_pieces(&target->remote, batch.pieces, batch.count, &good);
    if (good == 0)
        return state;

    uint64_t expected = newest_and_main[0];
    size_t i = 0;
    target->interpreters_cut = false;
    for (; 1 + (i + 1) * pieces_of_each(target) <= good && target->interpreters[i].address == expected; i++) {
        interpreter_take_in(target, &target->interpreters[i]);
        expected = interpreter_member(target, &target->interpreters[i], l->interpreter_next);
        if (i + 2 == TARGET_INTERPRETERS && expected && newest_and_main[1] && expected != newest_and_main[1]) {
            if (!is_newest_first(target, i + 1))
                break;
            target->interpreters_cut = true;
            expected = newest_and_main[1];
        }
    }
    target->interpreters_count = i;
    *missing = expected;
    return REMOTE_READ;
}

/* Finds the address of each interpreter's lock. An interpreter that is being made may have no lock yet. */
static void find_gils(struct target *target)
{
    const struct layout *l = &target->runtime.layout;
    struct batch batch = { .count = 0 };
    uint64_t at[TARGET_INTERPRETERS] = { 0 };
    for (size_t i = 0; l->interpreter_gil && i < target->interpreters_count; i++)
        batch_add(&batch, target->interpreters[i].address + l->interpreter_gil, sizeof(at[i]), &at[i]);
    if (batch.count > 0)
        remote_read_pieces(&target->remote, batch.pieces, batch.count, NULL);
    for (size_t i = 0; i < target->interpreters_count; i++) {
        if (l->runtime_gil)
            target->interpreters[i].gil_at = target->runtime.address + l->runtime_gil;
        else if (at[i])
            target->interpreters[i].gil_at = at[i] + 8; /* behind `interval` */
    }
}

bool target_knows_locks(const struct target *target)
{
    for (size_t i = 0; i < target->interpreters_count; i++)
        if (target->interpreters[i].gil_at == 0)
            return target->runtime.layout.free_threaded;
    return true;
}

bool target_has_one_lock(const struct target *target)
{
    const uint64_t gil_at = target->interpreters_count > 0 ? target->interpreters[0].gil_at : 0;
    for (size_t i = 1; i < target->interpreters_count; i++)
        if (target->interpreters[i].gil_at != gil_at)
            return false;
    return gil_at != 0 && !target->runtime.layout.free_threaded;
}

enum remote_state target_read_interpreters(struct target *target)
{
    uint64_t missing = 0;
    for (size_t tries = 0; tries <= TARGET_INTERPRETERS; tries++) {
        const enum remote_state state = read_expected(target, &missing);
        if (state != REMOTE_READ)
            return state;
        if (missing == 0) {
            find_gils(target);
            return state;
        }
        if (target->interpreters_count == TARGET_INTERPRETERS)
            return REMOTE_UNREADABLE;
        target->interpreters = alloc_grow(target->interpreters, &target->interpreters_room,
                                          target->interpreters_count + 1, sizeof(*target->interpreters));
        target->interpreters[target->interpreters_count++] = (struct interpreter){ .address = missing };
    }
    return REMOTE_UNREADABLE;
}

/* ---- the state of the interpreters ---- */

bool target_plan(struct target *target, struct batch *batch)
{
    const struct layout *l = &target->runtime.layout;
    target->planned = batch->count + target->interpreters_count * pieces_of_each(target) + 1 <= REMOTE_PIECES;
    if (!target->planned)
        return false;
    target->first = batch->count;
    for (size_t i = 0; i < target->interpreters_count; i++)
        add_interpreter(target, &target->interpreters[i], batch);
    if (l->runtime_gil)
        batch_add(batch, target->runtime.address + l->runtime_gil, sizeof(target->gil_bytes), target->gil_bytes);
    return true;
}

static struct gil gil_in(const struct target *target, const unsigned char *bytes, bool shared)
{
    const bool locked = (int32_t)half_word_at(bytes, 8) > 0;
    /* 3.11: a thread that enters another interpreter keeps the lock, and last_holder still names the thread's state in
     * the interpreter that the thread left. */
    const bool shows_current = target->runtime.layout.runtime_gil && shared && locked;
    const uint64_t current = shows_current ? word_at(bytes, LAYOUT_GIL_CURRENT) : 0;
    return (struct gil){ .holder = current ? current : word_at(bytes, 0),
                         .switches = word_at(bytes, 16),
                         .locked = locked,
                         .known = true,
                         .shared = shared };
}

uint32_t target_gil_size(const struct target *target)
{
    return target->runtime.layout.runtime_gil ? LAYOUT_GIL_MAX : LAYOUT_GIL_SIZE;
}

struct gil target_gil(const struct target *target, const unsigned char *bytes)
{
    return gil_in(target, bytes, target->interpreters_count > 1);
}

/* The state of an interpreter's lock. The lock is in the memory of the interpreter, or of the one with which it shares
 * the lock, or (3.11) in the runtime. */
static struct gil gil_of(const struct target *target, const struct interpreter *interpreter)
{
    const struct layout *l = &target->runtime.layout;
    bool shared = target->interpreters_cut; /* one that is not read may have the same lock */
    if (interpreter->gil_at == 0 || (!l->runtime_gil && !l->interpreter_own_gil))
        return (struct gil){ 0 };
    /* When interpreters share a lock, a thread can switch from one interpreter to another, and `switches` does not
     * grow. */
    for (size_t i = 0; i < target->interpreters_count; i++)
        if (&target->interpreters[i] != interpreter &&
            (target->interpreters[i].gil_at == interpreter->gil_at || target->interpreters[i].gil_at == 0))
            shared = true;
    if (l->runtime_gil)
        return gil_in(target, target->gil_bytes, shared);
    for (size_t i = 0; i < target->interpreters_count; i++)
        if (interpreter->gil_at == target->interpreters[i].address + l->interpreter_own_gil)
            return gil_in(target, target->interpreters[i].bytes + (l->interpreter_own_gil - l->interpreter_start),
                          shared);
    return (struct gil){ 0 };
}

bool target_came(const struct target *target, size_t good)
{
    return target->planned && good >= target->first + target->interpreters_count * pieces_of_each(target) +
                                          (target->runtime.layout.runtime_gil != 0);
}

/* The offset of the array of generations in the interpreter; 0: not known. */
static uint64_t generations_at(const struct target *target, const struct interpreter *interpreter)
{
    const struct layout *l = &target->runtime.layout;
    const uint64_t collecting_at = l->interpreter_gc + l->gc_collecting;
    if (l->gc_generations_before)
        return collecting_at - l->gc_generations_before;
    if (!l->gc_generations_address_before)
        return 0;
    const uint64_t address_at = collecting_at - l->gc_generations_address_before;
    const uint64_t at = interpreter_member(target, interpreter, (uint32_t)address_at) - interpreter->address;
    const uint64_t most = address_at - LAYOUT_GENERATIONS * LAYOUT_GENERATION_SIZE;
    return at >= l->interpreter_gc && at <= most ? at : 0;
}

/* The count of a generation is how often the younger one was collected since its own collection; a collection begins
 * with clearing the counts of its own generation and of the younger ones, and adding one to that of the next. So the
 * collected generation is the oldest one that all counts up to it say:
 *
 *     counts of 1 and 2     collected
 *     1 or more, any        0
 *     0, 1 or more          1
 *     0, 0                  2
 *
 * The count of generation 0 says nothing: what finalizers allocate counts again. */
static uint32_t collection_of(const struct target *target, const struct interpreter *interpreter)
{
    const uint64_t at = interpreter->collecting ? generations_at(target, interpreter) : 0;
    if (at == 0)
        return 0;
    uint32_t generation = 1;
    while (generation < LAYOUT_GENERATIONS &&
           (uint32_t)interpreter_member(
               target, interpreter, (uint32_t)at + generation * LAYOUT_GENERATION_SIZE + LAYOUT_GENERATION_COUNT) == 0)
        generation++;
    return generation;
}

bool target_check(struct target *target)
{
    const struct layout *l = &target->runtime.layout;
    bool same = true;
    for (size_t i = 0; i < target->interpreters_count; i++) {
        struct interpreter *interpreter = &target->interpreters[i];
        const uint64_t next = i + 1 < target->interpreters_count ? interpreter[1].address : 0;
        const bool cut = target->interpreters_cut && i + 2 == target->interpreters_count;
        same &= (cut || interpreter_member(target, interpreter, l->interpreter_next) == next) &&
                interpreter_member(target, interpreter, l->interpreter_threads_head) == interpreter->threads_head &&
                interpreter_member(target, interpreter, l->interpreter_id) == interpreter->id;
        interpreter->generation = interpreter_generation(target, interpreter);
        interpreter->collecting = (uint32_t)interpreter_member(target, interpreter,
                                                               l->interpreter_gc + l->gc_collecting) != 0;
        interpreter->collection = collection_of(target, interpreter);
        interpreter->gc_frame = l->gc_frame ? interpreter_member(target, interpreter, l->interpreter_gc + l->gc_frame)
                                            : 0;
        const struct gil before = interpreter->gil;
        interpreter->gil = gil_of(target, interpreter);
        /* The holder is read before the count, so it may be the holder before the last switch. */
        if (interpreter->gil.switches == before.switches + 1 && interpreter->gil.holder == before.holder)
            interpreter->gil.known = false;
    }
    return same;
}

bool target_head(const struct target *target, uint64_t *head)
{
    return remote_same_program(&target->remote,
                               target->runtime.address + target->runtime.layout.runtime_interpreters_head, head);
}

bool target_same_program(const struct target *target)
{
    uint64_t head;
    return target_head(target, &head);
}
