/* SPDX-License-Identifier: MIT */
#include "convert/top/still.h"

#include "formats/base/alloc.h"
#include "formats/frames/weight_choice.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000u

/* A copy of the array `from`, in the room of the copy before. */
static void *still_copy(void *to, size_t *room, const void *from, size_t count, size_t size)
{
    to = alloc_grow(to, room, count, size);
    if (count)
        memcpy(to, from, count * size);
    return to;
}

static void take_entries(struct still *still, const struct model *model)
{
    const struct entries *entries = &model->entries;
    still->codes_count = entries->codes_count;
    still->codes = still_copy(still->codes, &still->codes_room, entries->codes, still->codes_count,
                              sizeof(*still->codes));
    still->entries_count = entries->count;
    still->entries = still_copy(still->entries, &still->entries_room, entries->rows, still->entries_count,
                                sizeof(*still->entries));
    paths_find(&still->paths, &model->tables);
}

static struct still_sums still_sums_of(const struct recent_window *window, size_t row)
{
    return row < window->count ? (struct still_sums){ window->rows[row].all, window->rows[row].recent }
                               : (struct still_sums){ 0 };
}

static void take_pairs(struct still_pairs *still, const struct model_pairs *pairs)
{
    still->count = pairs->numbers.count;
    still->rows = alloc_grow(still->rows, &still->room, still->count, sizeof(*still->rows));
    for (size_t i = 0; i < still->count; i++)
        still->rows[i] = (struct still_pair){ pairs->pairs[i].a, pairs->pairs[i].b, still_sums_of(&pairs->window, i) };
}

/* Copies the titles of the owners' processes. */
static void take_titles(struct still *still)
{
    size_t size = 0;
    for (size_t i = 0; i < still->owners_count; i++)
        size += still->owners[i].process.size;
    still->titles = alloc_grow(still->titles, &still->titles_room, size, 1);
    char *at = still->titles;
    for (size_t i = 0; i < still->owners_count; i++) {
        struct text *title = &still->owners[i].process;
        if (title->size == 0)
            continue;
        memcpy(at, title->bytes, title->size);
        title->bytes = at;
        at += title->size;
    }
}

static void take_owners(struct still *still, const struct model *model)
{
    const size_t count = still->owners_count = model->owners.count;
    still->owners = still_copy(still->owners, &still->owners_room, model->owners.rows, count, sizeof(*still->owners));
    take_titles(still);
    still->by_owner = alloc_grow(still->by_owner, &still->by_owner_room, count, sizeof(*still->by_owner));
    for (size_t i = 0; i < count; i++)
        still->by_owner[i] = still_sums_of(&model->by_owner, i);
}

static void take_facts(struct still *still, const struct model *model)
{
    const struct tables *tables = &model->tables;
    const struct process *first = tables_first_process(tables);
    text_free(still->command);
    still->command = text_copy(first->command);
    still->pid = first->pid;
    still->python_version = first->python_version;
    still->free_threaded = first->build & BUILD_FREE_THREADED;
    still->processes = still->living = 0;
    for (size_t i = 1; i < tables->processes_count; i++) {
        still->processes += tables->processes[i].process.number != 0;
        still->living += tables->processes[i].process.number != 0 && tables->processes[i].end_ns == 0;
    }
    still->exactness = exactness_of(tables);
    still->samples = model->samples;
    still->failed = tables->failed;
    still->lost = tables->lost_samples;
    still->counted_ns = model->counted_ns;
    still->taken_ns = counters_get(&tables->counters, "taken_ns");
    still->one_lock = tables_have_one_lock(tables);
    still->cpu_known = aggregate_cpu_first(model->known[SUM_CPU_NS], model->samples);
    still->gil_wait_known = model->known[SUM_GIL_WAIT_NS] > 0;
    still->reason = tables->end.reason;
    still->wait_status = tables->end.wait_status;
}

static void take_times(struct still *still, const struct model *model)
{
    const uint64_t end_ns = tables_end_ns(&model->tables), second = end_ns / SECOND_NS;
    const uint64_t first = second + 1 > model->seconds ? second + 1 - model->seconds : 0;
    still->end_ns = end_ns;
    still->recent_ns = end_ns - first * SECOND_NS;
    uint64_t cpu_ns = 0, gil_ns = 0;
    for (size_t i = 0; i < still->owners_count; i++) {
        cpu_ns += still->by_owner[i].all.total[WINDOW_CPU];
        gil_ns += still->by_owner[i].all.total[WINDOW_GIL];
    }
    still->mostly_waited = weight_mostly_waited(cpu_ns > gil_ns ? cpu_ns : gil_ns, end_ns);
}

void still_take(struct still *still, struct model *model)
{
    model_settle(model);
    take_entries(still, model);
    take_owners(still, model);
    for (size_t i = 0; i < MODEL_KINDS; i++)
        take_pairs(&still->pairs[i], &model->pairs[i]);
    take_facts(still, model);
    take_times(still, model);
}

void still_free(struct still *still)
{
    free(still->codes);
    free(still->entries);
    free(still->owners);
    free(still->titles);
    free(still->by_owner);
    for (size_t i = 0; i < MODEL_KINDS; i++)
        free(still->pairs[i].rows);
    paths_free(&still->paths);
    text_free(still->command);
    *still = (struct still){ 0 };
}
