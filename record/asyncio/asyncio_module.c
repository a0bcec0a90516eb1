/* SPDX-License-Identifier: MIT */
#include "record/asyncio/asyncio_module.h"

#include "formats/base/alloc.h"

#include <inttypes.h>
#include <string.h>

#define NAME_MOST 24 /* bytes of a type's name that are compared, with the 0 behind */

/* Where a type has them, counted from tp_flags: PyTypeObject is the same in these versions. */
#define TYPE_WEAK_REFERENCES 40 /* tp_weaklistoffset */
#define TYPE_BASE            88

struct type_facts {
    uint64_t basic_size, base;
    int64_t weak_references;
    char name[NAME_MOST];
};

static bool module_word(struct remote *remote, uint64_t address, uint64_t *word)
{
    return remote_read(remote, address, word, sizeof(*word)) == REMOTE_READ;
}

static bool read_type(struct target *target, uint64_t type, struct type_facts *facts)
{
    const struct layout *l = &target->runtime.layout;
    uint64_t name;
    const struct piece pieces[] = {
        { type + l->type_name, sizeof(name), &name },
        { type + l->type_basic_size, sizeof(facts->basic_size), &facts->basic_size },
        { type + l->type_flags + TYPE_WEAK_REFERENCES, sizeof(facts->weak_references), &facts->weak_references },
        { type + l->type_flags + TYPE_BASE, sizeof(facts->base), &facts->base },
    };
    *facts = (struct type_facts){ 0 };
    return remote_read_pieces(&target->remote, pieces, countof(pieces), NULL) == REMOTE_READ &&
           remote_read(&target->remote, name, facts->name, sizeof("_asyncio.Future")) == REMOTE_READ;
}

/* Whether the types are those whose offsets are known. */
static bool prove_types(struct target *target, const struct asyncio_module *module, struct fault *why)
{
    const struct layout *l = &target->runtime.layout;
    struct type_facts task, future;
    if (!read_type(target, module->task_type, &task) || !read_type(target, module->future_type, &future))
        return false;
    if (strncmp(task.name, "_asyncio.Task", NAME_MOST) != 0 || strncmp(future.name, "_asyncio.Future", NAME_MOST) != 0)
        return fault(why, "its asyncio.Task is not the one of the module _asyncio, whose tasks pyreel reads");
    if (task.basic_size == l->task_size && future.basic_size == l->future_size && task.base == module->future_type &&
        task.weak_references == l->task_weak_references)
        return true;
    return fault(why,
                 "its module _asyncio is not the one of this version: _asyncio.Task has %" PRIu64
                 " bytes, and pyreel knows one of %u bytes",
                 task.basic_size, l->task_size);
}

/* The dict of a module of an interpreter; 0: it has no such module. */
static uint64_t dict_of_module(struct dict_reader *reader, uint64_t interpreter)
{
    const struct layout *l = reader->layout;
    uint64_t modules, dict;
    if (!module_word(reader->remote, interpreter + l->interpreter_modules, &modules))
        return 0;
    const uint64_t module = dict_find_name(reader, modules, TEXT("_asyncio"));
    /* A module begins with its dict. */
    return module && module_word(reader->remote, module + l->object_type + 8, &dict) ? dict : 0;
}

/* The set in a WeakSet. Its class has no other way to keep what is in it. */
static uint64_t set_of_weak_set(struct dict_reader *reader, uint64_t weak_set)
{
    static const struct text data = { "data", 4 };
    uint64_t set;
    return weak_set && dict_find_attributes(reader, weak_set, &data, 1, &set) ? set : 0;
}

static bool find_in(struct asyncio_module *module, struct dict_reader *reader, uint64_t interpreter)
{
    const uint64_t dict = dict_of_module(reader, interpreter);
    if (!dict)
        return false;
    *module = (struct asyncio_module){
        .interpreter = interpreter,
        .task_type = dict_find_name(reader, dict, TEXT("Task")),
        .future_type = dict_find_name(reader, dict, TEXT("Future")),
        .current = dict_find_name(reader, dict, TEXT("_current_tasks")),
        .tasks = set_of_weak_set(reader, dict_find_name(reader, dict, TEXT("_scheduled_tasks"))),
        .eager = dict_find_name(reader, dict, TEXT("_eager_tasks")),
    };
    if (!module->tasks)
        module->tasks = set_of_weak_set(reader, dict_find_name(reader, dict, TEXT("_all_tasks")));
    return module->task_type && module->future_type && module->current && module->tasks;
}

bool asyncio_module_find(struct asyncio_module *module, struct target *target, struct fault *why)
{
    struct dict_reader reader = { .remote = &target->remote, .layout = &target->runtime.layout };
    bool found = false;
    if (target->interpreters_count == 0) /* before the first look */
        target_read_interpreters(target);
    for (size_t i = 0; i < target->interpreters_count && !found; i++)
        found = find_in(module, &reader, target->interpreters[i].address) && prove_types(target, module, why);
    dict_reader_free(&reader);
    return found;
}
