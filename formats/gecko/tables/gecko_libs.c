/* SPDX-License-Identifier: MIT */
#include "formats/gecko/tables/gecko_libs.h"

#include "formats/gecko/gecko_internal.h"

#include <stdlib.h>
#include <string.h>

#define MOST_EXACT ((uint64_t)1 << 53) /* the viewer's numbers are exact below */

/* ---- rows ---- */

static uint32_t lib_of(struct gecko_libs *libs, uint32_t module)
{
    if (!libs->by_module[module]) {
        libs->modules = alloc_grow(libs->modules, &libs->room, libs->count + 1, sizeof(*libs->modules));
        libs->modules[libs->count++] = module;
        libs->by_module[module] = (uint32_t)libs->count;
    }
    return libs->by_module[module];
}

static void add_native_symbol(struct gecko_libs *libs, uint32_t function)
{
    libs->functions = alloc_grow(libs->functions, &libs->symbols_room, libs->symbols_count + 1,
                                 sizeof(*libs->functions));
    libs->functions[libs->symbols_count++] = function;
    libs->by_function[function] = (uint32_t)libs->symbols_count;
}

void gecko_libs_find(struct gecko *gecko)
{
    const struct tables *tables = gecko->tables;
    struct gecko_libs *libs = &gecko->libs;
    libs->by_module = alloc_zeroed(tables->strings_count, sizeof(*libs->by_module));
    libs->by_function = alloc_zeroed(tables->functions_count, sizeof(*libs->by_function));
    libs->by_resource = alloc_zeroed(gecko->sources.resources.count, sizeof(*libs->by_resource));
    for (size_t row = 0; row < gecko->rows.functions.count; row++) {
        const uint32_t number = gecko->rows.functions.number[row];
        const struct function *function = &tables->functions[number];
        const struct module *module = tables_module(tables, function->module);
        if (!module || (module->code_size == 0 && module->build_id.size == 0))
            continue;
        const uint32_t lib = lib_of(libs, function->module);
        const int64_t resource = gecko_sources_resource(gecko, number);
        if (resource >= 0)
            libs->by_resource[resource] = lib;
        if (function->address)
            add_native_symbol(libs, number);
    }
}

int64_t gecko_libs_of_resource(const struct gecko *gecko, size_t resource)
{
    return (int64_t)gecko->libs.by_resource[resource] - 1;
}

int64_t gecko_libs_symbol(const struct gecko *gecko, uint32_t function)
{
    return (int64_t)gecko->libs.by_function[function] - 1;
}

int64_t gecko_libs_address(const struct gecko *gecko, uint32_t function, uint64_t address)
{
    const struct module *module = tables_module(gecko->tables, gecko->tables->functions[function].module);
    const uint64_t begin = module ? module->begin : 0;
    return address && address - begin < MOST_EXACT ? (int64_t)(address - begin) : -1;
}

/* ---- output ---- */

/* Breakpad's form of a build id: the first 16 bytes as a number of 32 bits and two of 16, which are little-endian in
 * the file, and eight bytes; then the age, which no ELF file has. */
static void put_debug_id(const char *build_id, char room[34])
{
    static const uint8_t order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
    const size_t size = strlen(build_id) / 2;
    for (size_t i = 0; i < 16; i++)
        for (size_t k = 0; k < 2; k++) {
            const char digit = order[i] < size ? build_id[(size_t)2 * order[i] + k] : '0';
            room[2 * i + k] = (char)(digit >= 'a' && digit <= 'f' ? digit - 'a' + 'A' : digit);
        }
    memcpy(room + 32, "0", 2);
}

static void emit_lib(struct gecko *gecko, const struct module *module)
{
    struct json_emitter *json = &gecko->json;
    const struct text path = tables_string(gecko->tables, module->path), name = paths_last_part(path);
    char debug_id[34];
    put_debug_id(module->build_id.bytes ? module->build_id.bytes : "", debug_id);
    emit_open(json, NULL, '{');
    emit_text(json, "arch", gecko->tables->recording.machine);
    emit_text(json, "name", name);
    emit_text(json, "path", path);
    emit_text(json, "debugName", name);
    emit_text(json, "debugPath", path);
    emit_text(json, "breakpadId", text_of(debug_id));
    emit_text_or_null(json, "codeId", module->build_id);
    emit_close(json, '}');
}

void gecko_libs_emit(struct gecko *gecko)
{
    emit_open(&gecko->json, "libs", '[');
    for (size_t i = 0; i < gecko->libs.count; i++)
        emit_lib(gecko, tables_module(gecko->tables, gecko->libs.modules[i]));
    emit_close(&gecko->json, ']');
}

void gecko_libs_free(struct gecko_libs *libs)
{
    free(libs->by_module);
    free(libs->modules);
    free(libs->by_function);
    free(libs->functions);
    free(libs->by_resource);
    *libs = (struct gecko_libs){ 0 };
}
