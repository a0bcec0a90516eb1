/* SPDX-License-Identifier: MIT */
#include "record/asyncio/await_chain.h"

#include "formats/base/alloc.h"

#include <string.h>

#define DEPTH_MOST     100000    /* most coroutines per task */
#define HEAP_TYPE      (1u << 9) /* Py_TPFLAGS_HEAPTYPE: a type that is not built into the interpreter */
#define TYPE_NAME_MOST 32        /* bytes that are read of a type's name */

/* ---- objects ---- */

static void note_span(struct known_task *task, uint64_t address, uint32_t size, const void *bytes)
{
    task->spans = alloc_grow(task->spans, &task->spans_room, task->spans_count + 1, sizeof(*task->spans));
    task->spans[task->spans_count++] = (struct span){ address, size };
    task->bytes = alloc_grow(task->bytes, &task->bytes_room, task->bytes_count + size, 1);
    memcpy(task->bytes + task->bytes_count, bytes, size);
    task->bytes_count += size;
}

bool await_chain_look(struct looking *k, uint64_t address, uint32_t size, void *into)
{
    const struct task_memory *memory = &k->tasks->memory;
    const struct memory_range *range = k->next < k->end ? &memory->ranges[k->next] : NULL;
    const bool expected = range && range->address == address && range->size == size;
    const unsigned char *bytes = expected ? task_memory_at(memory, k->next) : NULL;
    /* A look that has left the path of the last look does not come back to it. */
    k->next = bytes ? k->next + 1 : k->end;
    k->task->follows_plan &= bytes != NULL;
    if (bytes)
        memcpy(into, bytes, size);
    else if (!asyncio_tasks_read(k->tasks, address, size, into))
        return false;
    note_span(k->task, address, size, into);
    return true;
}

/* The interpreter's own types that a look knows. A class of the program may have the same name, so object_read_kind()
 * checks HEAP_TYPE, too. */
static const struct type_row {
    const char *name;
    enum object_kind kind;
} type_rows[] = {
    { "int", OBJECT_INT },
    { "str", OBJECT_STR },
    { "coroutine", OBJECT_GENERATOR },
    { "generator", OBJECT_GENERATOR },
    { "async_generator", OBJECT_GENERATOR },
    { "async_generator_asend", OBJECT_WRAPPER },
    { "async_generator_athrow", OBJECT_WRAPPER },
    { "anext_awaitable", OBJECT_WRAPPER },
    { "coroutine_wrapper", OBJECT_WRAPPER },
};

static bool object_read_kind(struct tasks *tasks, uint64_t type, enum object_kind *kind)
{
    const struct layout *l = &tasks->target->runtime.layout;
    struct remote *remote = &tasks->target->remote;
    uint64_t flags, name, basic_size;
    char text[TYPE_NAME_MOST] = { 0 };
    const struct piece pieces[] = { { type + l->type_flags, sizeof(flags), &flags },
                                    { type + l->type_name, sizeof(name), &name },
                                    { type + l->type_basic_size, sizeof(basic_size), &basic_size } };
    if (!asyncio_tasks_may_read(tasks, 2) || remote_read_pieces(remote, pieces, countof(pieces), NULL) != REMOTE_READ)
        return false;
    *kind = basic_size >= tasks->offsets.task_size ? OBJECT_TASK : OBJECT_OTHER;
    if (flags & HEAP_TYPE)
        return true;
    if (remote_read(remote, name, text, sizeof(text) - 1) != REMOTE_READ)
        return true;
    for (const struct type_row *row = type_rows; row < type_rows + countof(type_rows); row++)
        if (strcmp(text, row->name) == 0)
            *kind = row->kind;
    return true;
}

bool await_chain_look_kind(struct looking *k, uint64_t object, enum object_kind *kind)
{
    struct intern_pairs *types = &k->tasks->types;
    uint64_t type;
    if (!await_chain_look(k, object + k->tasks->target->runtime.layout.object_type, sizeof(type), &type))
        return false;
    uint32_t known = intern_pairs_find(types, (uint32_t)(type >> 32), (uint32_t)type);
    if (!known) {
        if (!object_read_kind(k->tasks, type, kind))
            return false;
        known = *kind;
        if (types->count < TASKS_LIMIT)
            intern_pairs_add(types, (uint32_t)(type >> 32), (uint32_t)type, known);
    }
    *kind = (enum object_kind)known;
    return true;
}

/* ---- frames ---- */

static void looking_fail(struct looking *k, enum look why)
{
    k->state = k->state == LOOK_SURE ? why : k->state;
}

/* Finds the code object that a frame executes. NULL: failed. */
static struct code *find_code(struct looking *k, struct executed executed)
{
    struct codes *codes = k->tasks->codes;
    codes->interpreter = k->tasks->target->interpreters[k->task->interpreter].id;
    struct code *code = codes_find(codes, executed.code, executed.copy);
    if (code && k->generation && code->generation == k->generation)
        return code;
    if (!asyncio_tasks_may_read(k->tasks, 1)) {
        looking_fail(k, LOOK_CHANGED);
        return NULL;
    }
    if (code && !codes_confirm(codes, &code, 1))
        code = NULL; /* codes_confirm() has forgotten the code object */
    if (!code)
        code = codes_read(codes, executed.code, executed.copy);
    if (code)
        code->generation = k->generation;
    else
        looking_fail(k, LOOK_NO_CODE);
    return code;
}

struct generator {
    uint64_t address;
    int8_t state;
    unsigned char frame[LAYOUT_FRAME_MAX];
};

static void add_task_frame(struct looking *k, const struct code *code, int64_t unit)
{
    struct known_task *task = k->task;
    task->frames = alloc_grow(task->frames, &task->frames_room, task->frames_count + 1, sizeof(*task->frames));
    task->frames[task->frames_count++] = codes_frame(k->tasks->codes, code, unit, 0);
}

/* The object that a suspended generator awaits; 0: the generator awaits nothing. */
static uint64_t look_at_awaited(struct looking *k, const struct generator *generator, const struct code *code)
{
    const struct layout *l = &k->tasks->target->runtime.layout;
    if (generator->state < l->state_waits_first || generator->state > l->state_waits_last)
        return 0;
    const uint64_t bottom = generator->address + l->generator_frame + l->frame_locals + (uint64_t)code->locals * 8;
    const uint64_t at = word_at(generator->frame, l->frame_stack) - (uint64_t)l->awaited_words * 8;
    uint64_t awaited = 0;
    if (at - bottom >= (uint64_t)code->stack * 8 || at % 8 != 0 || !await_chain_look(k, at, sizeof(awaited), &awaited))
        looking_fail(k, LOOK_CHANGED);
    return awaited & l->executable_mask;
}

/* Adds the frame of a generator to those of the task. *next: the object that the generator awaits, or 0. */
static void look_at_generator(struct looking *k, uint64_t address, uint64_t *next, bool *runs)
{
    const struct layout *l = &k->tasks->target->runtime.layout;
    struct generator generator = { .address = address };
    *next = 0;
    if (!await_chain_look(k, address + l->generator_state, 1, &generator.state)) {
        looking_fail(k, LOOK_CHANGED);
        return;
    }
    *runs = generator.state == l->state_runs;
    /* The frame of a running generator is on the stack of a thread, which shows it. */
    if (*runs || generator.state >= l->state_ended)
        return;
    if (!await_chain_look(k, address + l->generator_frame, l->frame_size, generator.frame)) {
        looking_fail(k, LOOK_CHANGED);
        return;
    }
    struct code *code = find_code(k, code_executed(l, generator.frame));
    if (!code)
        return;
    const uint64_t from = word_at(generator.frame, l->frame_instruction) - code->first;
    if (from / 2 >= code->units) {
        looking_fail(k, LOOK_CHANGED);
        return;
    }
    add_task_frame(k, code, (int64_t)(from / 2));
    *next = look_at_awaited(k, &generator, code);
}

void await_chain_look_coroutine(struct looking *k, uint64_t coroutine, bool *runs)
{
    /* The wrapped object is the first field after the header of the wrapper. The header ends with the type. */
    const uint32_t wrapped = k->tasks->target->runtime.layout.object_type + 8;
    uint64_t next = coroutine, passed = 0;
    *runs = false;
    for (uint32_t depth = 0; next; depth++) {
        enum object_kind kind;
        const uint64_t at = next;
        bool inner_runs = false;
        /* A coroutine cannot await itself. Brent's algorithm detects such a ring within a few times its length. */
        if (depth == DEPTH_MOST || at == passed) {
            looking_fail(k, LOOK_TOO_DEEP);
            return;
        }
        if ((depth & (depth - 1)) == 0)
            passed = at;
        next = 0;
        if (!await_chain_look_kind(k, at, &kind))
            looking_fail(k, LOOK_CHANGED);
        else if (kind == OBJECT_GENERATOR)
            look_at_generator(k, at, &next, &inner_runs);
        else if (kind == OBJECT_WRAPPER && !await_chain_look(k, at + wrapped, sizeof(next), &next))
            looking_fail(k, LOOK_CHANGED);
        if (depth == 0)
            *runs = inner_runs;
    }
}
