/* SPDX-License-Identifier: MIT */
#include "convert/info/info_modules.h"

#include "convert/info/info_json.h"
#include "convert/info/info_table.h"
#include "convert/symbols/debug_info.h"
#include "formats/base/alloc.h"
#include "formats/model/paths.h"
#include "formats/terminal/printable.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- sums ---- */

/* The sums by module, while they are made. */
struct info_modules_sums {
    const struct tables *tables;
    struct info_module *rows; /* by string */
    uint32_t *seen;           /* by string: the stack that had the module last */
};

/* Adds a frame of a stack. `inner`: the function that it calls; NULL: it is the leaf. */
static void info_modules_add_frame(struct info_modules_sums *sums, uint32_t stack, const struct function *function,
                                   const struct function *inner, uint64_t samples)
{
    struct info_module *row = &sums->rows[function->module];
    const bool hole = function->module == 0 && inner && inner->kind == KIND_NATIVE && inner->module;
    if (hole) {
        sums->rows[inner->module].holes += samples;
        return;
    }
    if (function->module == 0)
        return; /* <native> without C functions */
    if (sums->seen[function->module] != stack)
        row->samples += samples;
    sums->seen[function->module] = stack;
    row->leaves += inner ? 0 : samples;
    row->frames += samples;
    row->named += paths_is_nameless(sums->tables, function) ? 0 : samples;
}

static void info_modules_add_stack(struct info_modules_sums *sums, uint32_t stack, uint64_t samples)
{
    const struct tables *tables = sums->tables;
    const struct function *inner = NULL;
    for (uint32_t at = stack; at; at = tables->stacks[at].caller) {
        const struct function *function = &tables->functions[tables->frames[tables->stacks[at].frame].function];
        if (function->kind == KIND_NATIVE)
            info_modules_add_frame(sums, stack, function, inner, samples);
        inner = function;
    }
}

static bool has_lines(const struct tables *tables, uint32_t path)
{
    const struct module *module = tables_module(tables, path);
    struct debug_info *info = module ? debug_info_open(tables_string(tables, path), module->build_id, false) : NULL;
    debug_info_close(info);
    return info != NULL;
}

static int most_samples_first(const void *left, const void *right)
{
    const struct info_module *a = left, *b = right;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    return (a->path > b->path) - (a->path < b->path);
}

struct info_modules info_modules_of(const struct tables *tables, const uint64_t *samples, size_t room)
{
    struct info_modules modules = { .rows = alloc_zeroed(tables->strings_count + 1, sizeof(struct info_module)) };
    struct info_modules_sums sums = { tables, modules.rows, NULL };
    sums.seen = alloc_zeroed(tables->strings_count + 1, sizeof(*sums.seen));
    for (size_t stack = 1; stack < tables->stacks_count && stack < room; stack++)
        if (samples[stack])
            info_modules_add_stack(&sums, (uint32_t)stack, samples[stack]);
    free(sums.seen);
    for (size_t i = 1; i < tables->strings_count; i++) {
        if (modules.rows[i].samples == 0)
            continue;
        modules.rows[modules.count] = modules.rows[i];
        modules.rows[modules.count].path = (uint32_t)i;
        modules.rows[modules.count++].lines = has_lines(tables, (uint32_t)i);
    }
    if (modules.count)
        qsort(modules.rows, modules.count, sizeof(*modules.rows), most_samples_first);
    return modules;
}

/* ---- output ---- */

static json_t *module_json(const struct tables *tables, const struct info_module *row)
{
    const struct module *module = tables_module(tables, row->path);
    const struct text build_id = module ? module->build_id : (struct text){ 0 };
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "path", info_json_text(tables_string(tables, row->path)),
        "build_id", build_id.size ? info_json_text(build_id) : json_null(), "samples", info_json_count(row->samples),
        "leaf_samples", info_json_count(row->leaves), "frames", info_json_count(row->frames), "named_frames",
        info_json_count(row->named), "holes", info_json_count(row->holes), "lines", row->lines);
}

json_t *info_modules_json(const struct info_modules *modules, const struct tables *tables)
{
    json_t *list = json_array();
    for (size_t i = 0; i < modules->count; i++)
        json_array_append_new(list, module_json(tables, &modules->rows[i]));
    return list;
}

void info_modules_print(struct output *to, const struct info_modules *modules, const struct tables *tables, bool all)
{
    const size_t shown = all || modules->count < INFO_MODULES ? modules->count : INFO_MODULES;
    if (shown > 0)
        output_format(to, "\n%8s %8s %10s %8s %6s  %s\n", "samples", "at leaf", "with name", "holes", "lines",
                      "C code of");
    for (size_t i = 0; i < shown; i++) {
        const struct info_module *row = &modules->rows[i];
        output_format(to, "%8" PRIu64 " %8" PRIu64 " %8.1f %% %8" PRIu64 " %6s  ", row->samples, row->leaves,
                      100 * (double)row->named / (double)row->frames, row->holes, row->lines ? "yes" : "no");
        printable_write(to, tables_string(tables, row->path));
        output_string(to, "\n");
    }
    if (shown < modules->count)
        output_format(to, "%46s and %zu more (--all shows them)\n", "", modules->count - shown);
}

void info_modules_free(struct info_modules *modules)
{
    free(modules->rows);
    *modules = (struct info_modules){ 0 };
}
