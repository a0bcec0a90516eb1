/* SPDX-License-Identifier: MIT */
#include "convert/top/still.h"

#include "formats/base/alloc.h"
#include "formats/frames/task_frame.h"

#include <stdlib.h>
#include <string.h>

#define SECOND_NS         1000000000u
#define CPU_KNOWN_PERCENT 95 /* of the samples, so that CPU time is shown first; as in pyreel-report */

static struct still_function describe(const struct still *still, const struct tables *tables, uint32_t function)
{
    const struct text name = tables_function_name(tables, function), path = tables_function_file(tables, function);
    return (struct still_function){ .name = name.size ? name : TEXT("<unknown>"),
                                    .file = paths_shorten(&still->paths, path),
                                    .line = path.size ? tables->functions[function].first_line : 0 };
}

/* Describes the functions that are new. */
static void take_functions(struct still *still, const struct tables *tables)
{
    const size_t folders = still->paths.count;
    paths_find(&still->paths, tables);
    if (still->paths.count != folders)
        still->functions_count = 0; /* a new folder makes other paths short, too */
    still->functions = alloc_grow(still->functions, &still->functions_room, tables->functions_count + 1,
                                  sizeof(*still->functions));
    still->functions[0] = (struct still_function){ .name = TEXT(NO_PYTHON_FRAMES) };
    for (size_t i = still->functions_count ? still->functions_count : 1; i < tables->functions_count; i++)
        still->functions[i] = describe(still, tables, (uint32_t)i);
    still->functions_count = tables->functions_count ? tables->functions_count : 1;
}

static struct still_sums sums_of(const struct window *window, size_t row)
{
    return row < window->count ? (struct still_sums){ window->rows[row].all, window->rows[row].recent }
                               : (struct still_sums){ 0 };
}

static void take_pairs(struct still_pairs *still, const struct model_pairs *pairs)
{
    still->count = pairs->numbers.count;
    still->rows = alloc_grow(still->rows, &still->room, still->count, sizeof(*still->rows));
    for (size_t i = 0; i < still->count; i++)
        still->rows[i] = (struct still_pair){ pairs->pairs[i].a, pairs->pairs[i].b, sums_of(&pairs->window, i) };
}

static void take_places(struct still *still, const struct model *model)
{
    still->places_count = model->place_numbers.count;
    still->places = alloc_grow(still->places, &still->places_room, still->places_count, sizeof(*still->places));
    if (still->places_count)
        memcpy(still->places, model->places, still->places_count * sizeof(*still->places));
}

static void take_instruction_names(struct still *still, const struct tables *tables)
{
    still->instruction_names_count = 0;
    for (size_t i = 0; i < still->instructions.count; i++) {
        const uint32_t string = still->instructions.rows[i].b;
        still->instruction_names = alloc_grow(still->instruction_names, &still->instruction_names_room,
                                              (size_t)string + 1, sizeof(*still->instruction_names));
        still->instruction_names[string] = tables_string(tables, string);
        if (still->instruction_names_count <= string)
            still->instruction_names_count = (size_t)string + 1;
    }
}

static void take_owners(struct still *still, const struct model *model)
{
    const size_t count = model->owners.count;
    still->owners = alloc_grow(still->owners, &still->owners_room, count, sizeof(*still->owners));
    still->by_owner = alloc_grow(still->by_owner, &still->by_owner_room, count, sizeof(*still->by_owner));
    for (size_t i = 0; i < count; i++) {
        still->owners[i] = model->owners.rows[i];
        still->by_owner[i] = sums_of(&model->by_owner, i);
    }
    still->owners_count = count;
}

/* Whether there is one lock: one process, one interpreter, no free-threaded build. */
static bool has_one_lock(const struct tables *tables)
{
    for (size_t i = 1; i < tables->threads_count; i++)
        if (tables->threads[i].thread.interpreter)
            return false;
    return tables_count_processes(tables) == 1 && !(tables_first_process(tables)->build & BUILD_FREE_THREADED);
}

static void take_facts(struct still *still, const struct model *model)
{
    const struct tables *tables = &model->tables;
    const struct process *first = tables_first_process(tables);
    still->command = first->command;
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
    still->one_lock = has_one_lock(tables);
    still->cpu_known = model->known[SUM_CPU_NS] * 100 >= model->samples * CPU_KNOWN_PERCENT && model->known[SUM_CPU_NS];
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
}

void still_take(struct still *still, struct model *model)
{
    model_settle(model);
    take_functions(still, &model->tables);
    take_owners(still, model);
    take_places(still, model);
    take_pairs(&still->by_function, &model->functions);
    take_pairs(&still->by_place, &model->lines);
    take_pairs(&still->calls, &model->calls);
    take_pairs(&still->instructions, &model->instructions);
    take_instruction_names(still, &model->tables);
    take_facts(still, model);
    take_times(still, model);
}

void still_free(struct still *still)
{
    free(still->functions);
    free(still->owners);
    free(still->by_owner);
    free(still->places);
    free(still->by_function.rows);
    free(still->by_place.rows);
    free(still->calls.rows);
    free(still->instructions.rows);
    free(still->instruction_names);
    paths_free(&still->paths);
    *still = (struct still){ 0 };
}
