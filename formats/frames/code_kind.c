/* SPDX-License-Identifier: MIT */
#include "formats/frames/code_kind.h"

#include "formats/model/paths.h"

static const struct {
    const char *label, *name;
} kinds[CODE_KINDS] = {
    [CODE_OTHER] = { "Other", "other" },        [CODE_PROGRAM] = { "Your code", "program" },
    [CODE_PACKAGE] = { "Packages", "package" }, [CODE_LIBRARY] = { "Standard library", "library" },
    [CODE_IMPORT] = { "Imports", "import" },    [CODE_NATIVE] = { "C code", "native" },
    [CODE_GC] = { "Garbage collection", "gc" }, [CODE_ASYNCIO] = { "Asyncio", "asyncio" },
    [CODE_WAITING] = { "Waiting", "waiting" },  [CODE_IDLE] = { "Idle", "idle" },
};

const char *code_kind_label(enum code_kind kind)
{
    return kinds[kind].label;
}

const char *code_kind_name(enum code_kind kind)
{
    return kinds[kind].name;
}

/* Whether a file belongs to the import machinery; `rest` is its path in the standard library. Metadata and resources of
 * packages are not part of an import. */
static bool is_import(struct text file, struct text rest)
{
    if (text_begins(file, TEXT("<frozen importlib.")) || text_begins(file, TEXT("<frozen zipimport>")))
        return true;
    if (text_begins(rest, TEXT("importlib/metadata")) || text_begins(rest, TEXT("importlib/resources")))
        return false;
    return text_begins(rest, TEXT("importlib/")) || text_equal(rest, TEXT("zipimport.py"));
}

enum code_kind code_kind_of_file(struct text file)
{
    struct text rest;
    const enum origin origin = paths_origin(file, &rest);
    if (origin == ORIGIN_PACKAGE)
        return CODE_PACKAGE;
    if (origin != ORIGIN_LIBRARY)
        return CODE_PROGRAM;
    if (is_import(file, rest))
        return CODE_IMPORT;
    return text_begins(rest, TEXT("asyncio/")) ? CODE_ASYNCIO : CODE_LIBRARY;
}

enum code_kind code_kind_of(const struct tables *tables, uint32_t function)
{
    static const enum code_kind kinds_of_code[FRAME_KINDS] = {
        [KIND_NATIVE] = CODE_NATIVE, [KIND_KERNEL] = CODE_NATIVE, [KIND_GC] = CODE_GC,
        [KIND_TASK] = CODE_ASYNCIO,  [KIND_HOLE] = CODE_OTHER,
    };
    const struct function *row = &tables->functions[function];
    if (row->kind == KIND_PYTHON)
        return row->file ? code_kind_of_file(tables_function_file(tables, function)) : CODE_OTHER;
    return kinds_of_code[row->kind];
}
