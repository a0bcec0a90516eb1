/* SPDX-License-Identifier: MIT */
#include "record/asyncio/await_chain.h"

#include "formats/base/alloc.h"

#include <string.h>

#define DEPTH_MOST     100000    /* most coroutines per task */
#define HEAP_TYPE      (1u << 9) /* Py_TPFLAGS_HEAPTYPE: a type that is not built into the interpreter */
#define TYPE_NAME_MOST 32        /* bytes that are read of a type's name */
#define PAGE           4096

/* ---- objects ---- */

static void note_span(struct looking *k, uint64_t address, uint32_t size)
{
    struct known_task *task = k->task;
    const struct span span = { address, size };
    task->spans = alloc_grow(task->spans, &task->spans_room, k->seen + 1, sizeof(*task->spans));
    const struct span *old = &task->spans[k->seen];
    task->moved |= k->seen >= task->spans_count || old->address != address || old->size != size;
    task->spans[k->seen++] = span;
}

/* Reads memory directly. Reads more than `size` bytes into the window, because the look likely needs other fields of
 * the same object. */
static bool read_now(struct tasks *tasks, uint64_t address, uint32_t size, void *into)
{
    struct remote *remote = &tasks->target->remote;
    struct window *window = &tasks->window;
    const uint64_t offset = address - window->address;
    if (offset < window->size && window->size - offset >= size) {
        memcpy(into, window->bytes + offset, size);
        return true;
    }
    if (tasks->reads_left == 0)
        return false;
    tasks->reads_left--;
    const uint32_t page_left = PAGE - (uint32_t)(address % PAGE); /* the next page may not be mapped */
    const uint32_t wide = page_left < TASKS_WINDOW ? page_left : TASKS_WINDOW;
    if (size > wide)
        return remote_read(remote, address, into, size) == REMOTE_READ;
    window->address = address;
    window->size = remote_read(remote, address, window->bytes, wide) == REMOTE_READ ? wide : 0;
    if (window->size > 0)
        memcpy(into, window->bytes, size);
    return window->size > 0;
}

bool await_chain_look_anyway(struct looking *k, uint64_t address, uint32_t size, void *into, bool *same)
{
    note_span(k, address, size);
    const struct range *range = k->next < k->end ? &k->copies->ranges[k->next] : NULL;
    if (range && range->address == address && range->size == size) {
        const size_t at = k->next++;
        const unsigned char *copy = double_read_at(k->copies, at);
        if (copy) {
            memcpy(into, copy, size);
            *same = double_read_same(k->copies, at);
            return true;
        }
    }
    k->next = k->end; /* the look has left the path of the last look, so the remaining ranges do not match */
    k->state = LOOK_CHANGED;
    *same = true;
    return read_now(k->tasks, address, size, into);
}

bool await_chain_look(struct looking *k, uint64_t address, uint32_t size, void *into)
{
    bool same = false;
    const bool read = await_chain_look_anyway(k, address, size, into, &same);
    k->state = read && same ? k->state : LOOK_CHANGED;
    return read;
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

static bool object_read_kind(const struct tasks *tasks, uint64_t type, enum object_kind *kind)
{
    const struct layout *l = &tasks->target->runtime.layout;
    struct remote *remote = &tasks->target->remote;
    uint64_t flags, name, basic_size;
    char text[TYPE_NAME_MOST] = { 0 };
    const struct piece pieces[] = { { type + l->type_flags, sizeof(flags), &flags },
                                    { type + l->type_name, sizeof(name), &name },
                                    { type + l->type_basic_size, sizeof(basic_size), &basic_size } };
    if (remote_read_pieces(remote, pieces, countof(pieces), NULL) != REMOTE_READ)
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
        /* The type was read directly, not from the copies, so this look is not sure. The next look knows the type. */
        k->state = LOOK_CHANGED;
        if (types->count < TASKS_LIMIT)
            intern_pairs_add(types, (uint32_t)(type >> 32), (uint32_t)type, known);
    }
    *kind = (enum object_kind)known;
    return true;
}

/* ---- frames ---- */

static void looking_fail(struct looking *k, enum look why)
{
    k->state = k->state == LOOK_SURE || why == LOOK_CHANGED ? why : k->state;
}

/* Whether a code object that was known before the copies is still the same code object. */
static bool chain_code_is_confirmed(const struct looking *k, struct code *code)
{
    if (k->generation && code->generation == k->generation)
        return true;
    if (!codes_confirm(k->tasks->codes, &code, 1))
        return false;
    code->generation = k->generation;
    return true;
}

/* Finds the code object that a frame executes. A code object that was read after the copies makes the look
 * LOOK_CHANGED, because the copies do not prove that it is the right one. */
static struct code *find_code(struct looking *k, struct executed executed)
{
    struct codes *codes = k->tasks->codes;
    codes->interpreter = k->tasks->target->interpreters[k->task->interpreter].id;
    struct code *code = codes_find(codes, executed.code, executed.copy);
    if (code && !chain_code_is_confirmed(k, code))
        code = NULL; /* codes_confirm() has removed the code object */
    if (!code)
        code = codes_read(codes, executed.code, executed.copy);
    if (!code)
        looking_fail(k, LOOK_NO_CODE);
    else if (code->number > k->tasks->known_code)
        looking_fail(k, LOOK_CHANGED);
    return code;
}

struct generator {
    uint64_t address;
    int8_t state;
    unsigned char frame[LAYOUT_FRAME_MAX];
};

static void add_link(struct looking *k, struct code *code, int64_t unit)
{
    struct tasks *tasks = k->tasks;
    tasks->links = alloc_grow(tasks->links, &tasks->links_room, tasks->links_count + 1, sizeof(*tasks->links));
    tasks->links[tasks->links_count++] = (struct frame_link){ code, unit };
}

/* The object that a suspended generator awaits; 0: the generator awaits nothing. */
static uint64_t look_at_awaited(struct looking *k, const struct generator *generator, const struct code *code)
{
    const struct layout *l = &k->tasks->target->runtime.layout;
    if (generator->state < l->state_waits_first || generator->state > l->state_waits_last)
        return 0;
    const uint64_t bottom = generator->address + l->generator_frame + l->frame_locals + (uint64_t)code->locals * 8;
    const uint64_t at = word_at(generator->frame, l->frame_stack) - (uint64_t)l->awaited_words * 8;
    uint64_t awaited;
    if (at - bottom >= (uint64_t)code->stack * 8 || at % 8 != 0) {
        looking_fail(k, LOOK_CHANGED);
        return 0;
    }
    return await_chain_look(k, at, sizeof(awaited), &awaited) ? awaited & l->executable_mask : 0;
}

/* Adds the frame of a generator to the links. *next: the object that the generator awaits, or 0. */
static void look_at_generator(struct looking *k, uint64_t address, uint64_t *next, bool *runs)
{
    const struct layout *l = &k->tasks->target->runtime.layout;
    struct generator generator = { .address = address };
    bool same;
    *next = 0;
    if (!await_chain_look_anyway(k, address + l->generator_state, 1, &generator.state, &same)) {
        looking_fail(k, LOOK_CHANGED);
        return;
    }
    k->flickers = !same;
    *runs = generator.state == l->state_runs || !same;
    /* The frame of a running generator changes all the time. It is on the stack of a thread. */
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
    add_link(k, code, (int64_t)(from / 2));
    *next = look_at_awaited(k, &generator, code);
}

void await_chain_look_coroutine(struct looking *k, uint64_t coroutine, bool *runs)
{
    /* The wrapped object is the first field after the header of the wrapper. The header ends with the type. */
    const uint32_t wrapped = k->tasks->target->runtime.layout.object_type + 8;
    uint64_t next = coroutine, passed = 0;
    *runs = false;
    k->tasks->links_count = 0;
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
        else if (k->flickers)
            looking_fail(k, LOOK_CHANGED);
    }
}
