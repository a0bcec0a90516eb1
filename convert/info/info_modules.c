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

#define MODULES_TOLD                                                                                                   \
    128 /* that are told apart on the way to the root; others count once for each time they are entered */

/* Modules by their number in the order of first sight, from 0. */
struct module_set {
    uint64_t bits[MODULES_TOLD / 64];
};

static bool module_set_has(const struct module_set *set, uint32_t number)
{
    return number < MODULES_TOLD && set->bits[number / 64] >> number % 64 & 1;
}

static void module_set_add(struct module_set *set, uint32_t number)
{
    if (number < MODULES_TOLD)
        set->bits[number / 64] |= 1ull << number % 64;
}

/* The sums, while they are made. A stack has a greater number than its caller's, so one pass from the last to the first
 * adds up the samples of a stack and of all that are built on it, and one from the first to the last knows what is
 * between a stack and the root. */
struct info_modules_sums {
    const struct tables *tables;
    struct info_module *rows;  /* by string */
    uint32_t *numbers;         /* by string: the number of the module + 1; 0: none yet */
    uint32_t count;            /* of modules */
    uint64_t *own, *all;       /* by stack: its samples, and those of all stacks built on it, too */
    struct module_set *passed; /* by stack: modules from it to the root */
    struct module_set *open;   /* by stack: those with a function whose caller is not known */
};

static const struct function *info_modules_function(const struct tables *tables, uint32_t stack)
{
    return &tables->functions[tables->frames[tables->stacks[stack].frame].function];
}

static bool is_hole(const struct tables *tables, const struct function *function)
{
    return function->kind == KIND_NATIVE && !function->module &&
           text_equal(tables_string(tables, function->name), TEXT("<native>"));
}

static void info_modules_add_stack(struct info_modules_sums *sums, uint32_t stack)
{
    const struct tables *tables = sums->tables;
    const uint32_t caller = tables->stacks[stack].caller;
    const struct function *function = info_modules_function(tables, stack);
    struct module_set *passed = &sums->passed[stack], *open = &sums->open[stack];
    *passed = sums->passed[caller];
    *open = sums->open[caller];
    if (function->kind != KIND_NATIVE || !function->module)
        return;
    struct info_module *row = &sums->rows[function->module];
    uint32_t *number = &sums->numbers[function->module];
    const bool above = caller && info_modules_function(tables, caller)->module == function->module;
    *number = *number ? *number : ++sums->count;
    const uint32_t module = *number - 1;
    if (module < MODULES_TOLD ? !module_set_has(passed, module) : !above)
        row->samples += sums->all[stack];
    module_set_add(passed, module);
    row->leaves += sums->own[stack];
    row->frames += sums->all[stack];
    row->named += paths_is_nameless(tables, function) ? 0 : sums->all[stack];
    if (caller && is_hole(tables, info_modules_function(tables, caller)) && !module_set_has(open, module)) {
        row->holes += sums->all[stack];
        module_set_add(open, module);
    }
}

static void info_modules_sum(struct info_modules_sums *sums, const uint64_t *samples, size_t room)
{
    const struct tables *tables = sums->tables;
    const size_t count = tables->stacks_count;
    sums->numbers = alloc_zeroed(tables->strings_count + 1, sizeof(*sums->numbers));
    sums->own = alloc_zeroed(count, sizeof(*sums->own));
    sums->all = alloc_zeroed(count, sizeof(*sums->all));
    sums->passed = alloc_zeroed(count, sizeof(*sums->passed));
    sums->open = alloc_zeroed(count, sizeof(*sums->open));
    for (size_t stack = count - 1; stack > 0; stack--) {
        sums->own[stack] = stack < room ? samples[stack] : 0;
        sums->all[stack] += sums->own[stack];
        sums->all[tables->stacks[stack].caller] += sums->all[stack];
    }
    for (size_t stack = 1; stack < count; stack++)
        info_modules_add_stack(sums, (uint32_t)stack);
    free(sums->numbers);
    free(sums->own);
    free(sums->all);
    free(sums->passed);
    free(sums->open);
}

static bool has_native_code(const struct tables *tables)
{
    for (size_t i = 1; i < tables->functions_count; i++)
        if (tables->functions[i].kind == KIND_NATIVE && tables->functions[i].module)
            return true;
    return false;
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
    struct info_modules modules = { 0 };
    if (!has_native_code(tables) || tables->stacks_count < 2)
        return modules;
    modules.rows = alloc_zeroed(tables->strings_count + 1, sizeof(*modules.rows));
    struct info_modules_sums sums = { .tables = tables, .rows = modules.rows };
    info_modules_sum(&sums, samples, room);
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
