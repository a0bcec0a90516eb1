/* SPDX-License-Identifier: MIT */
#include "record/tree/members.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

static size_t slot_of(const struct members *members, pid_t pid)
{
    return ((uint32_t)pid * 2654435769u >> 7) & (members->slots_count - 1);
}

/* The slot that has the number, or the free slot where it would be. */
static size_t find_slot(const struct members *members, pid_t pid)
{
    size_t slot = slot_of(members, pid);
    while (members->slots[slot] && members->rows[members->slots[slot] - 1].pid != pid)
        slot = (slot + 1) & (members->slots_count - 1);
    return slot;
}

struct tree_member *members_find(const struct members *members, pid_t pid)
{
    if (members->count == 0)
        return NULL;
    const uint32_t index = members->slots[find_slot(members, pid)];
    return index ? &members->rows[index - 1] : NULL;
}

/* Half of the slots are free, so that searches are short. */
static void make_slots(struct members *members)
{
    size_t wanted = 64;
    while (wanted < members->room * 2)
        wanted *= 2;
    if (wanted == members->slots_count)
        return;
    free(members->slots);
    members->slots = alloc_zeroed(wanted, sizeof(*members->slots));
    members->slots_count = wanted;
    for (size_t i = 0; i < members->count; i++)
        members->slots[find_slot(members, members->rows[i].pid)] = (uint32_t)i + 1;
}

struct tree_member *members_add(struct members *members, pid_t pid)
{
    members->rows = alloc_grow(members->rows, &members->room, members->count + 1, sizeof(*members->rows));
    make_slots(members);
    struct tree_member *member = &members->rows[members->count];
    *member = (struct tree_member){ .pid = pid, .pidfd = -1, .wait_status = -1 };
    members->slots[find_slot(members, pid)] = (uint32_t)++members->count;
    return member;
}

/* Frees a slot, and moves the following slots up that would not be found behind a free slot. */
static void free_slot(struct members *members, size_t slot)
{
    const size_t mask = members->slots_count - 1;
    for (size_t next = (slot + 1) & mask; members->slots[next]; next = (next + 1) & mask) {
        const size_t home = slot_of(members, members->rows[members->slots[next] - 1].pid);
        if (((next - home) & mask) < ((next - slot) & mask))
            continue;
        members->slots[slot] = members->slots[next];
        slot = next;
    }
    members->slots[slot] = 0;
}

void members_remove(struct members *members, struct tree_member *member)
{
    const size_t index = (size_t)(member - members->rows), last = members->count - 1;
    free_slot(members, find_slot(members, member->pid));
    if (index != last) {
        members->slots[find_slot(members, members->rows[last].pid)] = (uint32_t)index + 1;
        members->rows[index] = members->rows[last];
    }
    members->count--;
}

void members_free(struct members *members)
{
    free(members->rows);
    free(members->slots);
    *members = (struct members){ 0 };
}
