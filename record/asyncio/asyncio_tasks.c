/* SPDX-License-Identifier: MIT */
#include "record/asyncio/asyncio_tasks.h"

#include "formats/base/alloc.h"
#include "record/asyncio/await_chain.h"
#include "record/asyncio/wakers.h"
#include "record/emit/traceparent.h"
#include "record/python/unicode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LIMIT 255        /* most characters of a name; a longer name is cut, with a mark at the end */
#define SET_LIMIT  (1u << 20) /* most slots of a set */
#define INT_DIGITS 2          /* most digits of a Python int in a name */
#define DIGIT_BITS 30         /* bits per digit of a Python int */
#define TAG_DIGITS 3          /* the first bit of the digit count in the int's tag */
#define PAGE       4096

void asyncio_tasks_open(struct tasks *tasks, struct target *target, struct codes *codes,
                        const struct asyncio_layout *offsets, const struct asyncio_module *module)
{
    const uint32_t fields[] = { offsets->task_coroutine,   offsets->task_name,          offsets->task_waiter,
                                offsets->task_is_task,     offsets->task_waiter_is_set, offsets->future_callback,
                                offsets->future_callbacks, offsets->future_loop,        offsets->future_state };
    uint32_t from = fields[0], end = fields[0];
    for (size_t i = 1; i < countof(fields); i++) {
        from = fields[i] && fields[i] < from ? fields[i] : from;
        end = fields[i] > end ? fields[i] : end;
    }
    *tasks = (struct tasks){ .target = target, .codes = codes, .offsets = *offsets };
    if (module)
        tasks->module = *module;
    tasks->fields_from = from;
    tasks->fields_size = end - from + (uint32_t)sizeof(uint64_t);
}

static void free_task(struct known_task *task)
{
    text_free(task->name);
    free(task->waiters);
    free(task->frames);
    free(task->spans);
    free(task->bytes);
}

void asyncio_tasks_close(struct tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++)
        free_task(&tasks->rows[i]);
    free(tasks->rows);
    intern_pairs_free(&tasks->addresses);
    intern_pairs_free(&tasks->types);
    intern_pairs_free(&tasks->drivers);
    task_memory_free(&tasks->memory);
    *tasks = (struct tasks){ 0 };
}

struct known_task *asyncio_tasks_find(const struct tasks *tasks, uint64_t address)
{
    const uint32_t row = intern_pairs_find(&tasks->addresses, (uint32_t)(address >> 32), (uint32_t)address);
    return row ? &tasks->rows[row - 1] : NULL;
}

struct known_task *asyncio_tasks_of(struct tasks *tasks, uint64_t coroutine)
{
    const uint32_t row = intern_pairs_find(&tasks->drivers, (uint32_t)(coroutine >> 32), (uint32_t)coroutine);
    struct known_task *task = row ? &tasks->rows[row - 1] : NULL;
    return task && task->coroutine == coroutine ? task : NULL;
}

/* Remembers that a task has this coroutine. Another one may have had it: memory is used again. */
static void note_driver(struct tasks *tasks, const struct known_task *task)
{
    const uint32_t high = (uint32_t)(task->coroutine >> 32), low = (uint32_t)task->coroutine;
    const uint32_t row = (uint32_t)(task - tasks->rows) + 1;
    if (intern_pairs_find(&tasks->drivers, high, low))
        intern_pairs_slot(&tasks->drivers, high, low)->number = row;
    else if (task->coroutine)
        intern_pairs_add(&tasks->drivers, high, low, row);
}

static struct known_task *tasks_add(struct tasks *tasks, struct known_task task)
{
    tasks->rows = alloc_grow(tasks->rows, &tasks->room, tasks->count + 1, sizeof(*tasks->rows));
    tasks->rows[tasks->count++] = task;
    intern_pairs_add(&tasks->addresses, (uint32_t)(task.address >> 32), (uint32_t)task.address, (uint32_t)tasks->count);
    return &tasks->rows[tasks->count - 1];
}

struct known_task *asyncio_tasks_at(struct tasks *tasks, uint64_t address)
{
    struct known_task *known = asyncio_tasks_find(tasks, address);
    if (known || tasks->count >= TASKS_LIMIT)
        return known;
    return tasks_add(tasks, (struct known_task){ .address = address });
}

void asyncio_tasks_trim(struct tasks *tasks, uint64_t since_tick)
{
    const size_t count = tasks->count;
    tasks->count = 0;
    intern_pairs_free(&tasks->types); /* a class may be freed, and another class be at its address */
    intern_pairs_free(&tasks->addresses);
    intern_pairs_free(&tasks->drivers);
    for (size_t i = 0; i < count; i++) {
        struct known_task task = tasks->rows[i];
        task.parent = UINT32_MAX; /* the parent may have another row now */
        task.parent_tick = 0;
        if (task.used >= since_tick)
            note_driver(tasks, tasks_add(tasks, task));
        else
            free_task(&task);
    }
}

/* ---- memory ---- */

void asyncio_tasks_begin_plan(struct tasks *tasks)
{
    task_memory_clear(&tasks->memory);
    tasks->plan++;
    tasks->planned = tasks->stale = 0;
}

void asyncio_tasks_plan(struct tasks *tasks, struct known_task *task)
{
    struct task_memory *memory = &tasks->memory;
    task->link = task->listed_at ? memory->count : SIZE_MAX;
    if (task->listed_at)
        task_memory_add(memory, task->listed_at, sizeof(uint64_t));
    task->first = memory->count;
    for (size_t i = 0; i < task->spans_count; i++)
        task_memory_add(memory, task->spans[i].address, task->spans[i].size);
    task->end = memory->count;
    task->follows_plan = true;
    task->plan = tasks->plan;
    tasks->planned++;
}

bool asyncio_tasks_planned(const struct tasks *tasks, const struct known_task *task)
{
    return task->plan != 0 && task->plan == tasks->plan;
}

void asyncio_tasks_begin_tick(struct tasks *tasks, uint32_t reads_most)
{
    tasks->tick++;
    tasks->reads_left = reads_most;
    tasks->window.size = 0;
}

bool asyncio_tasks_may_read(struct tasks *tasks, uint32_t count)
{
    if (tasks->reads_left < count)
        return false;
    tasks->reads_left -= count;
    return true;
}

bool asyncio_tasks_read(struct tasks *tasks, uint64_t address, uint32_t size, void *into)
{
    struct remote *remote = &tasks->target->remote;
    struct window *window = &tasks->window;
    const uint64_t offset = address - window->address;
    if (offset < window->size && window->size - offset >= size) {
        memcpy(into, window->bytes + offset, size);
        return true;
    }
    tasks->stale++;
    if (!asyncio_tasks_may_read(tasks, 1 + size / PAGE))
        return false;
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

bool asyncio_tasks_next(struct tasks *tasks, const struct known_task *task, uint64_t *next)
{
    const bool planned = asyncio_tasks_planned(tasks, task) && task->link != SIZE_MAX;
    const struct memory_range *range = planned ? &tasks->memory.ranges[task->link] : NULL;
    const unsigned char *link = range && range->address == task->listed_at ? task_memory_at(&tasks->memory, task->link)
                                                                           : NULL;
    uint64_t type;
    if (link) {
        *next = word_at(link, 0);
        return true;
    }
    /* The window then has the whole task, which a look needs next. */
    if (tasks->offsets.task_node)
        asyncio_tasks_read(tasks, task->address + tasks->target->runtime.layout.object_type, sizeof(type), &type);
    return asyncio_tasks_read(tasks, task->listed_at, sizeof(*next), next);
}

bool asyncio_tasks_still(const struct tasks *tasks, const struct known_task *task, uint64_t generation)
{
    const struct task_memory *memory = &tasks->memory;
    const unsigned char *bytes = task->bytes;
    const bool known = task->looked == LOOK_SURE || task->looked == LOOK_WAKES;
    if (!known || task->looked_tick == 0 || generation == 0 || task->generation != generation ||
        !asyncio_tasks_planned(tasks, task) || !task->follows_plan)
        return false;
    for (size_t i = task->first; i < task->first + task->spans_count; i++) {
        const uint32_t size = memory->ranges[i].size;
        const unsigned char *now = task_memory_at(memory, i);
        if (!now || memcmp(now, bytes, size) != 0)
            return false;
        bytes += size;
    }
    return true;
}

/* ---- a name ---- */

/* Reads the name of a task to which the program gave no name. The task has the int 7, for example: "Task-7". */
static bool look_at_number(struct looking *k, uint64_t object, struct text *name)
{
    const struct layout *l = &k->tasks->target->runtime.layout;
    uint64_t tag, number = 0;
    uint32_t digits[INT_DIGITS];
    char text[32];
    if (!await_chain_look(k, object + l->int_tag, sizeof(tag), &tag) ||
        !await_chain_look(k, object + l->int_digits, sizeof(digits), digits))
        return false;
    const uint64_t count = tag >> TAG_DIGITS;
    for (size_t i = count < INT_DIGITS ? (size_t)count : INT_DIGITS; i > 0; i--)
        number = number << DIGIT_BITS | digits[i - 1];
    const int size = snprintf(text, sizeof(text), "Task-%" PRIu64, number);
    *name = (struct text){ alloc_copy(text, (size_t)size), (size_t)size };
    return count <= INT_DIGITS;
}

static bool look_at_string(struct looking *k, uint64_t object, struct text *name)
{
    const struct layout *l = &k->tasks->target->runtime.layout;
    unsigned char raw[NAME_LIMIT * 4];
    uint64_t length;
    uint32_t state;
    struct characters from;
    if (!await_chain_look(k, object + l->string_length, sizeof(length), &length) ||
        !await_chain_look(k, object + l->string_state, sizeof(state), &state) ||
        !unicode_find(l, length, state, NAME_LIMIT, &from) ||
        (from.count > 0 && !await_chain_look(k, object + from.offset, from.count * from.kind, raw)))
        return false;
    *name = unicode_text(&from, raw);
    return true;
}

/* Reads the name of a task. The caller frees the name. */
static bool task_read_name(struct looking *k, uint64_t object, struct text *name)
{
    enum object_kind kind;
    *name = (struct text){ 0 };
    if (!await_chain_look_kind(k, object, &kind))
        return false;
    if (kind == OBJECT_INT)
        return look_at_number(k, object, name);
    return kind == OBJECT_STR && look_at_string(k, object, name);
}

/* ---- the tasks that wait for a task ---- */

/* Reads the waiting tasks from a Python set. A slot is {object, hash}. A removed object leaves a slot with hash -1. */
static bool look_at_set(struct looking *k, uint64_t set)
{
    const struct layout *l = &k->tasks->target->runtime.layout;
    uint64_t mask, table, used;
    if (!await_chain_look(k, set + l->set_used, sizeof(used), &used) ||
        !await_chain_look(k, set + l->set_mask, sizeof(mask), &mask) ||
        !await_chain_look(k, set + l->set_table, sizeof(table), &table) || mask >= SET_LIMIT)
        return false;
    const size_t slots = (size_t)mask + 1;
    uint64_t *words = alloc_zeroed(slots, 16);
    const bool read = await_chain_look(k, table, (uint32_t)slots * 16, words);
    for (size_t i = 0; read && i < slots; i++)
        if (words[i * 2] != 0 && words[i * 2 + 1] != UINT64_MAX)
            await_chain_add_waiter(k, words[i * 2]);
    free(words);
    return read;
}

/* ---- a task ---- */

/* Sets name, span and coroutine. If name or coroutine differs, the row now has another task, which gets a new number.
 * Keeps `name`. */
static void take_identity(struct tasks *tasks, struct known_task *task, uint64_t coroutine, struct text name)
{
    task->span = (struct span_ids){ 0 };
    traceparent_take(&name, &task->span);
    const bool same = task->coroutine == coroutine && text_equal(task->name, name);
    task->number = same ? task->number : 0;
    task->serial = same ? task->serial : 0;
    task->coroutine = coroutine;
    text_free(task->name);
    task->name = name;
    note_driver(tasks, task);
}

/* Adds those that wait for the task, of which CPython 3.14 and later have a note. */
static bool look_at_waiters(struct looking *k, const unsigned char *fields)
{
    const struct asyncio_layout *o = &k->tasks->offsets;
    const uint32_t from = k->tasks->fields_from;
    if (o->future_callback)
        return wakers_look_at_callbacks(k, word_at(fields, o->future_callback - from),
                                        word_at(fields, o->future_callbacks - from));
    const uint64_t waiter = word_at(fields, o->task_waiter - from);
    if (waiter && fields[o->task_waiter_is_set - from] != 0)
        return look_at_set(k, waiter);
    if (waiter)
        await_chain_add_waiter(k, waiter);
    return true;
}

/* Whether the fields are those of a task, and not of another future. Before CPython 3.14 the type tells that, and tasks
 * that are done stay where tasks are kept. */
static bool is_alive(const struct asyncio_layout *o, const unsigned char *fields, uint32_t from)
{
    return o->task_is_task ? fields[o->task_is_task - from] == 1
                           : half_word_at(fields, o->future_state - from) == FUTURE_PENDING;
}

/* Looks at all parts of a task. False when a part cannot be read, or makes no sense. */
static bool look_at_task(struct looking *k, uint64_t *coroutine, struct text *name, bool *runs)
{
    const struct asyncio_layout *o = &k->tasks->offsets;
    const uint64_t task = k->task->address;
    const uint32_t from = k->tasks->fields_from;
    unsigned char fields[ASYNCIO_LAYOUT_TASK_MAX];
    enum object_kind kind;
    if (!await_chain_look_kind(k, task, &kind))
        return false;
    if (k->tasks->module.task_type && wakers_may_be(kind)) {
        k->state = LOOK_WAKES;
        return wakers_look_at(k, task, kind);
    }
    if (kind != OBJECT_TASK) {
        k->state = LOOK_NO_TASK;
        return true;
    }
    if (!await_chain_look(k, task + from, k->tasks->fields_size, fields))
        return false;
    if (!is_alive(o, fields, from)) {
        k->state = LOOK_NO_TASK;
        return true;
    }
    if (!task_read_name(k, word_at(fields, o->task_name - from), name))
        return false;
    *coroutine = word_at(fields, o->task_coroutine - from);
    k->task->loop = o->future_loop ? word_at(fields, o->future_loop - from) : 0;
    if (!look_at_waiters(k, fields))
        return false;
    if (k->task->wants_frames)
        await_chain_look_coroutine(k, *coroutine, runs);
    return true;
}

enum look asyncio_tasks_look(struct tasks *tasks, struct known_task *task, uint64_t generation)
{
    const bool planned = asyncio_tasks_planned(tasks, task);
    struct looking k = { .tasks = tasks,
                         .task = task,
                         .next = planned ? task->first : 0,
                         .end = planned ? task->end : 0,
                         .generation = generation };
    struct text name = { 0 };
    uint64_t coroutine = 0;
    bool runs = false;
    task->spans_count = task->bytes_count = task->frames_count = task->waiters_count = 0;
    task->follows_plan = planned;
    if (!look_at_task(&k, &coroutine, &name, &runs))
        k.state = k.state == LOOK_SURE || k.state == LOOK_WAKES ? LOOK_CHANGED : k.state;
    if (tasks->module.task_type && (k.state == LOOK_WAKES || k.state == LOOK_NO_TASK))
        task->coroutine = 0; /* the row has no task any more */
    if (k.state == LOOK_SURE) {
        take_identity(tasks, task, coroutine, name);
        task->runs = runs;
    } else {
        text_free(name);
    }
    task->generation = generation;
    return task->looked = k.state;
}
