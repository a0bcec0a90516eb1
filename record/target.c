/* SPDX-License-Identifier: MIT */
#include "record/target.h"

#include "formats/alloc.h"
#include "record/procfs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INTERPRETERS_LIMIT 256

static enum target_state refused(int cause)
{
    return cause == ESRCH || cause == ENOENT ? TARGET_GONE : TARGET_DENIED;
}

enum target_state target_open(struct target *target, pid_t pid, struct fault *why)
{
    *target = (struct target){ .pid = pid };
    if (!remote_open(&target->remote, pid, why))
        return refused(errno);
    enum target_state state = TARGET_NOT_YET;
    switch (runtime_find(&target->runtime, &target->remote, why)) {
    case RUNTIME_READY:
        target->ns_pid = procfs_ns_pid(pid);
        target->same_pids = procfs_same_pids(pid);
        return TARGET_READY;
    case RUNTIME_STARTING:
    case RUNTIME_NONE:
        break;
    case RUNTIME_UNSUPPORTED:
        state = TARGET_UNSUPPORTED;
        break;
    case RUNTIME_LOST:
        state = refused(errno);
        break;
    }
    target_close(target);
    return state;
}

void target_close(struct target *target)
{
    remote_close(&target->remote);
    free(target->interpreters);
    *target = (struct target){ 0 };
    target->remote.memory = -1;
}

bool target_same_program(const struct target *target)
{
    return remote_same_program(&target->remote, target->runtime.address);
}

/* ---- interpreters ---- */

/* The part of an interpreter's state that holds its id, the next one and its threads. */
struct span {
    uint32_t start, size;
};

static struct span interpreter_span(const struct layout *layout)
{
    const uint32_t members[] = { layout->interpreter_id, layout->interpreter_next, layout->interpreter_threads_head };
    uint32_t start = UINT32_MAX, end = 0;
    for (size_t i = 0; i < countof(members); i++) {
        start = members[i] < start ? members[i] : start;
        end = members[i] + 8 > end ? members[i] + 8 : end;
    }
    return (struct span){ start, end - start };
}

#define SPAN_LIMIT 256 /* bytes of an interpreter that hold what we read */

/* Reads the head of the list and each interpreter that we expect in it at once, and sees how far that was right.
 * What comes after is unknown: *missing is the address of the first one that was not read, 0 when the list is whole. */
static enum remote_state read_expected(struct target *target, uint64_t *missing)
{
    const struct layout *layout = &target->runtime.layout;
    const struct span span = interpreter_span(layout);
    unsigned char spans[INTERPRETERS_LIMIT][SPAN_LIMIT];
    struct piece pieces[INTERPRETERS_LIMIT + 1];
    uint64_t head = 0;
    size_t good = 0;
    if (span.size > sizeof(spans[0]))
        return REMOTE_UNREADABLE;
    pieces[0] = (struct piece){ target->runtime.address + layout->runtime_interpreters_head, sizeof(head), &head };
    for (size_t i = 0; i < target->interpreters_count; i++)
        pieces[i + 1] = (struct piece){ target->interpreters[i].address + span.start, span.size, spans[i] };
    const enum remote_state state = remote_read_pieces(&target->remote, pieces, target->interpreters_count + 1, &good);
    if (good == 0)
        return state;

    uint64_t expected = head;
    size_t i = 0;
    for (; i + 1 < good && target->interpreters[i].address == expected; i++) {
        target->interpreters[i].id = word_at(spans[i], layout->interpreter_id - span.start);
        target->interpreters[i].threads_head = word_at(spans[i], layout->interpreter_threads_head - span.start);
        expected = word_at(spans[i], layout->interpreter_next - span.start);
    }
    target->interpreters_count = i;
    *missing = expected;
    return REMOTE_READ;
}

enum remote_state target_read_interpreters(struct target *target)
{
    uint64_t missing = 0;
    for (size_t tries = 0; tries <= INTERPRETERS_LIMIT; tries++) {
        const enum remote_state state = read_expected(target, &missing);
        if (state != REMOTE_READ || missing == 0)
            return state;
        if (target->interpreters_count == INTERPRETERS_LIMIT)
            return REMOTE_UNREADABLE;
        target->interpreters = alloc_grow(target->interpreters, &target->interpreters_room,
                                          target->interpreters_count + 1, sizeof(*target->interpreters));
        target->interpreters[target->interpreters_count++] = (struct interpreter){ .address = missing };
    }
    return REMOTE_UNREADABLE;
}
