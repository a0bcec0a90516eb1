/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_lanes.h"

#include "formats/base/alloc.h"
#include "formats/base/bytes.h"
#include "formats/frames/plain_name.h"
#include "formats/intern/intern.h"

#include <stdlib.h>

/* The threads with one name, in the order of their beginnings. */
struct gecko_lanes_group {
    size_t *threads; /* indexes */
    size_t count, room;
};

/* `= {0}` is empty. */
struct gecko_lanes_groups {
    struct intern keys;
    struct gecko_lanes_group *rows; /* by the number of the key */
    size_t room;
};

static bool may_share(const struct lane_thread *thread, uint64_t duration)
{
    return !thread->alone && (thread->last - thread->first) <= duration / LANE_LIFE_MOST;
}

/* Adds the thread to the group of its process, interpreter, and name without numbers. */
static void gecko_lanes_add(struct gecko_lanes_groups *groups, const struct lane_thread *thread, size_t index)
{
    struct bytes key = { 0 };
    bool added;
    put_bytes(&key, &thread->process, sizeof(thread->process));
    put_bytes(&key, &thread->interpreter, sizeof(thread->interpreter));
    put_plain_name(&key, thread->name);
    const uint32_t number = intern_number(&groups->keys, key.at, key.size, &added);
    bytes_free(&key);
    groups->rows = alloc_grow(groups->rows, &groups->room, (size_t)number + 1, sizeof(*groups->rows));
    struct gecko_lanes_group *group = &groups->rows[number];
    group->threads = alloc_grow(group->threads, &group->room, group->count + 1, sizeof(*group->threads));
    group->threads[group->count++] = index;
}

/* Gives each thread of the group the first lane whose latest thread has no sample any more. */
static void share(struct lane_thread *threads, const struct gecko_lanes_group *group)
{
    size_t *latest = alloc_zeroed(group->count, sizeof(*latest)); /* by lane: the index of the latest thread */
    uint32_t lanes = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct lane_thread *thread = &threads[group->threads[i]];
        uint32_t lane = 0;
        while (lane < lanes && lane < LANES_SEARCHED && threads[latest[lane]].last >= thread->first)
            lane++;
        if (lane == LANES_SEARCHED)
            lane = lanes;
        thread->lane = lane < lanes ? threads[latest[lane]].lane : group->threads[i];
        thread->place = lane + 1;
        latest[lane] = group->threads[i];
        lanes += lane == lanes;
    }
    for (size_t i = 0; i < group->count; i++)
        threads[group->threads[i]].lanes = lanes;
    free(latest);
}

void lanes_assign(struct lane_thread *threads, size_t count, uint64_t duration)
{
    struct gecko_lanes_groups groups = { 0 };
    for (size_t i = 0; i < count; i++) {
        threads[i].lane = i;
        threads[i].place = threads[i].lanes = 0;
        if (may_share(&threads[i], duration))
            gecko_lanes_add(&groups, &threads[i], i);
    }
    for (uint32_t i = 1; i <= groups.keys.count; i++) {
        if (groups.rows[i].count >= LANE_THREADS_LEAST)
            share(threads, &groups.rows[i]);
        free(groups.rows[i].threads);
    }
    free(groups.rows);
    intern_free(&groups.keys);
}
