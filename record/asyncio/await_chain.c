/* SPDX-License-Identifier: MIT */
#include "record/asyncio/await_chain.h"

#include "formats/base/alloc.h"

#include <string.h>

#define DEPTH_MOST     100000    /* most coroutines per task */
#define HEAP_TYPE      (1u << 9) /* Py_TPFLAGS_HEAPTYPE: a type that is not built into the interpreter */
#define TYPE_NAME_MOST 32        /* bytes that are read of a type's name */
#define BASES_MOST     16        /* bases of a class that are asked whether they are the type of tasks */
#define TYPE_BASE      88        /* in a type, before 3.14: tp_base, counted from tp_flags */
#define AWAITS         2 /* the least argument of RESUME behind what waits for another one (yield from, await) */

/* ---- objects ---- */

static void note_span(struct known_task *task, uint64_t address, uint32_t size, const void *bytes)
{
    task->spans = alloc_grow(task->spans, &task->spans_room, task->spans_count + 1, sizeof(*task->spans));
    task->spans[task->spans_count++] = (struct span){ address, size };
    task->bytes = alloc_grow(task->bytes, &task->bytes_room, task->bytes_count + size, 1);
    memcpy(task->bytes + task->bytes_count, bytes, size);
    task->bytes_count += size;
}

void await_chain_add_waiter(struct looking *k, uint64_t waiter)
{
    struct known_task *task = k->task;
    task->waiters = alloc_grow(task->waiters, &task->waiters_room, task->waiters_count + 1, sizeof(*task->waiters));
    task->waiters[task->waiters_count++] = waiter;
}

/* The bytes that the plan has of a span, if the look has not left the path of the last look; it does not come back to
 * it. NULL: none. */
static const unsigned char *look_at_plan(struct looking *k, uint64_t address, uint32_t size)
{
    const struct task_memory *memory = &k->tasks->memory;
    const struct memory_range *range = k->next < k->end ? &memory->ranges[k->next] : NULL;
    const bool expected = range && range->address == address && range->size == size;
    const unsigned char *bytes = expected ? task_memory_at(memory, k->next) : NULL;
    k->next = bytes ? k->next + 1 : k->end;
    k->task->follows_plan &= bytes != NULL;
    return bytes;
}

bool await_chain_look(struct looking *k, uint64_t address, uint32_t size, void *into)
{
    const unsigned char *bytes = look_at_plan(k, address, size);
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
    { "builtin_function_or_method", OBJECT_BUILTIN },
    { "function", OBJECT_FUNCTION },
    { "method", OBJECT_METHOD },
    { "list", OBJECT_LIST },
    { "tuple", OBJECT_TUPLE },
    { "cell", OBJECT_CELL },
};

/* Whether a type is that of tasks, or of other futures, or a class of the program made of one of them. */
static bool kind_by_bases(struct tasks *tasks, uint64_t type, enum object_kind *kind)
{
    const uint32_t base = tasks->target->runtime.layout.type_flags + TYPE_BASE;
    *kind = OBJECT_OTHER;
    for (uint32_t i = 0; type && i < BASES_MOST && *kind == OBJECT_OTHER; i++) {
        if (type == tasks->module.task_type)
            *kind = OBJECT_TASK;
        else if (type == tasks->module.future_type)
            *kind = OBJECT_FUTURE;
        else if (!asyncio_tasks_may_read(tasks, 1) ||
                 remote_read(&tasks->target->remote, type + base, &type, sizeof(type)) != REMOTE_READ)
            return false;
    }
    return true;
}

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
    if (tasks->module.task_type && !kind_by_bases(tasks, type, kind))
        return false;
    const bool heap = flags & HEAP_TYPE;
    if ((heap || tasks->module.task_type) && *kind != OBJECT_OTHER)
        return true;
    if (remote_read(remote, name, text, sizeof(text) - 1) != REMOTE_READ)
        return true;
    if (heap) {
        *kind = strcmp(text, "functools.partial") == 0 ? OBJECT_PARTIAL : *kind;
        return true;
    }
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

/* Kinds of methods are remembered among those of types: both are structures of C code, at different addresses. */
bool await_chain_wakes_self(struct looking *k, uint64_t method, bool *wakes)
{
    static const char wanted[] = "task_wakeup";
    struct tasks *tasks = k->tasks;
    struct remote *remote = &tasks->target->remote;
    uint32_t known = intern_pairs_find(&tasks->types, (uint32_t)(method >> 32), (uint32_t)method);
    uint64_t name;
    char text[sizeof(wanted)] = { 0 };
    *wakes = known == OBJECT_BUILTIN;
    if (known || !method)
        return true;
    if (!asyncio_tasks_may_read(tasks, 2) || remote_read(remote, method, &name, sizeof(name)) != REMOTE_READ)
        return false;
    /* A shorter name may end where the memory ends. */
    *wakes = remote_read(remote, name, text, sizeof(text)) == REMOTE_READ && memcmp(text, wanted, sizeof(text)) == 0;
    if (tasks->types.count < TASKS_LIMIT)
        intern_pairs_add(&tasks->types, (uint32_t)(method >> 32), (uint32_t)method,
                         *wakes ? OBJECT_BUILTIN : OBJECT_OTHER);
    return true;
}

/* ---- frames ---- */

static void looking_fail(struct looking *k, enum look why)
{
    k->state = k->state == LOOK_SURE ? why : k->state;
}

/* Whether a remembered code object still has its identity. The look has the identity, so it holds while the code object
 * does. Many tasks have the same code objects: a tick reads each identity once. */
static bool look_at_identity(struct looking *k, struct code *code)
{
    const struct codes *codes = k->tasks->codes;
    unsigned char identity[CODE_IDENTITY];
    struct piece pieces[IDENTITY_PIECES];
    const size_t count = code_identity_pieces(codes, code, identity, pieces);
    const bool known = code->generation == k->tasks->tick;
    if (known)
        memcpy(identity, code->identity, codes->identity_size);
    for (size_t i = 0; i < count; i++) {
        if (!known && !await_chain_look(k, pieces[i].address, pieces[i].size, pieces[i].into))
            return false;
        if (known) {
            look_at_plan(k, pieces[i].address, pieces[i].size);
            note_span(k->task, pieces[i].address, pieces[i].size, pieces[i].into);
        }
    }
    if (memcmp(identity, code->identity, codes->identity_size) != 0)
        return false;
    code->generation = k->tasks->tick;
    return true;
}

/* Finds a code object where no count tells whether one was freed (before 3.14). */
static struct code *find_code_by_identity(struct looking *k, struct executed executed)
{
    struct codes *codes = k->tasks->codes;
    struct code *code = codes_find(codes, executed.code, executed.copy);
    if (code && look_at_identity(k, code))
        return code;
    if (!asyncio_tasks_may_read(k->tasks, 2)) {
        looking_fail(k, LOOK_CHANGED);
        return NULL;
    }
    if (!code || !codes_confirm(codes, &code, 1)) /* codes_confirm() has forgotten the code object */
        code = codes_read(codes, executed.code, executed.copy);
    if (!code) {
        looking_fail(k, LOOK_NO_CODE);
        return NULL;
    }
    code->generation = k->tasks->tick;
    return look_at_identity(k, code) ? code : NULL;
}

struct code *await_chain_code(struct looking *k, struct executed executed)
{
    struct codes *codes = k->tasks->codes;
    codes->interpreter = k->tasks->target->interpreters[k->task->interpreter].id;
    if (!codes->layout->interpreter_code_generation)
        return find_code_by_identity(k, executed);
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

/* Whether a suspended generator waits for another one, where only the instruction tells with which it goes on. The
 * argument of an instruction stays the same while the code object lives, so that of the last place is remembered. */
static bool look_at_argument(struct looking *k, const struct generator *generator, struct code *code, bool *waits)
{
    const struct layout *l = &k->tasks->target->runtime.layout;
    const uint64_t next = word_at(generator->frame, l->frame_instruction) + 2;
    uint8_t unit[2];
    *waits = !l->waits_by_argument || (code->waits_at == next && code->waits);
    if (!l->waits_by_argument || code->waits_at == next)
        return true;
    if (!asyncio_tasks_read(k->tasks, next, sizeof(unit), unit))
        return false;
    const struct opcode_name *opcode = &l->opcode_names[unit[0]], *base = &l->opcode_names[opcode->base];
    /* An instruction that hides another one, while the program is traced, leaves the argument. */
    *waits = unit[1] >= AWAITS && opcode->name && (opcode->hides || (base->name && strcmp(base->name, "RESUME") == 0));
    code->waits_at = next;
    code->waits = *waits;
    return true;
}

/* The address of the end of a suspended generator's stack of values. */
static uint64_t end_of_stack(const struct layout *l, const struct generator *generator)
{
    if (!l->stack_is_index)
        return word_at(generator->frame, l->frame_stack);
    return generator->address + l->generator_frame + l->frame_locals +
           (uint64_t)half_word_at(generator->frame, l->frame_stack) * 8;
}

/* The object that a suspended generator awaits; 0: the generator awaits nothing. */
static uint64_t look_at_awaited(struct looking *k, const struct generator *generator, struct code *code)
{
    const struct layout *l = &k->tasks->target->runtime.layout;
    if (generator->state < l->state_waits_first || generator->state > l->state_waits_last)
        return 0;
    const uint64_t bottom = generator->address + l->generator_frame + l->frame_locals + (uint64_t)code->locals * 8;
    const uint64_t at = end_of_stack(l, generator) - (uint64_t)l->awaited_words * 8;
    uint64_t awaited = 0;
    bool waits;
    if (!look_at_argument(k, generator, code, &waits))
        looking_fail(k, LOOK_CHANGED);
    else if (!waits)
        return 0;
    else if (at - bottom >= (uint64_t)code->stack * 8 || at % 8 != 0 ||
             !await_chain_look(k, at, sizeof(awaited), &awaited))
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
    struct code *code = await_chain_code(k, code_executed(l, generator.frame));
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
