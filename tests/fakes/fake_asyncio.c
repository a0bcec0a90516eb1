/* SPDX-License-Identifier: MIT */
#include "tests/fakes/fake_asyncio.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "tests/fakes/defined.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define CO_COROUTINE 0x80     /* of co_flags */
#define HEAP_TYPE    (1 << 9) /* Py_TPFLAGS_HEAPTYPE */
#define CALLS_LIMIT  30000    /* of a tick: READS_LIMIT of asyncio.c, and those of the plan */
#define BYTES_LIMIT  ((uint64_t)1 << 30)
#define TICK_NS      1000000

/* ---- objects ---- */

static uint32_t head_size(const struct fake_asyncio *a)
{
    return fake_layout(a->p)->object_type + 8;
}

uint64_t fake_object(struct fake_asyncio *a, uint64_t type, size_t size)
{
    const uint64_t object = fake_room(a->p, size);
    fake_poke(a->p, object + fake_layout(a->p)->object_type, type);
    return object;
}

uint64_t fake_type(struct fake_asyncio *a, const char *name, uint32_t basic_size, bool heap)
{
    const struct layout *l = fake_layout(a->p);
    const uint64_t type = fake_room(a->p, 512), text = fake_room(a->p, 32);
    memcpy(fake_bytes(a->p, text), name, strlen(name));
    fake_poke(a->p, type + l->type_name, text);
    fake_poke(a->p, type + l->type_basic_size, basic_size);
    fake_poke(a->p, type + l->type_flags, heap ? HEAP_TYPE : 0);
    return type;
}

uint64_t fake_str(struct fake_asyncio *a, const char *text)
{
    const uint64_t string = fake_string(a->p, text);
    fake_poke(a->p, string + fake_layout(a->p)->object_type, a->str_type);
    return string;
}

uint64_t fake_int(struct fake_asyncio *a, uint64_t number)
{
    const struct layout *l = fake_layout(a->p);
    const uint64_t object = fake_object(a, a->int_type, l->int_digits + 16);
    uint64_t digits = 0;
    for (; number > 0; number >>= 30, digits++)
        fake_poke4(a->p, object + l->int_digits + digits * 4, (uint32_t)(number & 0x3FFFFFFF));
    fake_poke(a->p, object + l->int_tag, digits << 3);
    return object;
}

/* ---- coroutines ---- */

uint64_t fake_async_code(struct fake_asyncio *a, const char *name, uint32_t first_line, uint32_t lines)
{
    const uint64_t code = fake_code(a->p, name, first_line, lines);
    fake_poke4(a->p, code + fake_layout(a->p)->code_flags, CO_COROUTINE);
    return code;
}

void fake_set_state(struct fake_asyncio *a, uint64_t coroutine, int state)
{
    *fake_bytes(a->p, coroutine + fake_layout(a->p)->generator_state) = (unsigned char)state;
}

void fake_suspend(struct fake_asyncio *a, uint64_t coroutine, uint64_t code, int line, uint64_t awaited)
{
    const struct layout *l = fake_layout(a->p);
    const uint64_t frame = coroutine + l->generator_frame;
    const uint64_t values = frame + l->frame_locals + (uint64_t)FAKE_LOCALS * 8;
    if (l->frame_copy)
        fake_poke4(a->p, frame + l->frame_copy, fake_copy(a->p, 0));
    fake_revive(a->p, frame, 0, code, line);
    *fake_bytes(a->p, frame + l->frame_owner) = (unsigned char)l->owner_generator;
    /* What is awaited is on top of the stack of values, or below one more word. */
    for (uint32_t i = 0; i < FAKE_STACK; i++)
        fake_poke(a->p, values + i * 8, 1);
    fake_poke(a->p, values, awaited ? awaited : a->future);
    if (l->stack_is_index)
        fake_poke4(a->p, frame + l->frame_stack, FAKE_LOCALS + l->awaited_words);
    else
        fake_poke(a->p, frame + l->frame_stack, values + (uint64_t)l->awaited_words * 8);
    if (l->waits_by_argument) { /* RESUME 3 */
        unsigned char *next = fake_bytes(a->p, fake_peek(a->p, frame + l->frame_instruction) + 2);
        next[0] = (unsigned char)fake_opcode_called(a->p, "RESUME");
        next[1] = 3;
    }
    fake_set_state(a, coroutine, l->state_waits_first);
}

uint64_t fake_coroutine(struct fake_asyncio *a, uint64_t code, int line, uint64_t awaited)
{
    const struct layout *l = fake_layout(a->p);
    const uint64_t coroutine = fake_object(
        a, a->coroutine_type, l->generator_frame + l->frame_locals + (size_t)(FAKE_LOCALS + FAKE_STACK) * 8);
    fake_suspend(a, coroutine, code, line, awaited);
    return coroutine;
}

uint64_t fake_wrapper(struct fake_asyncio *a, uint64_t wrapped)
{
    const uint64_t wrapper = fake_object(a, a->wrapper_type, head_size(a) + 16);
    fake_poke(a->p, wrapper + head_size(a), wrapped);
    return wrapper;
}

/* ---- tasks ---- */

uint64_t fake_task_called(struct fake_asyncio *a, uint64_t name, uint64_t coroutine)
{
    const struct asyncio_layout *o = &a->asyncio.tasks.offsets;
    const uint64_t task = fake_object(a, a->task_type, o->task_size);
    fake_poke(a->p, task + o->task_name, name);
    fake_poke(a->p, task + o->task_coroutine, coroutine);
    if (o->task_is_task)
        *fake_bytes(a->p, task + o->task_is_task) = 1;
    if (o->future_loop)
        fake_poke(a->p, task + o->future_loop, a->loop);
    return task;
}

uint64_t fake_task(struct fake_asyncio *a, const char *name, uint64_t coroutine)
{
    return fake_task_called(a, fake_str(a, name), coroutine);
}

void fake_awaited_by(struct fake_asyncio *a, uint64_t task, uint64_t waiter)
{
    const struct asyncio_layout *o = &a->asyncio.tasks.offsets;
    fake_poke(a->p, task + o->task_waiter, waiter);
    *fake_bytes(a->p, task + o->task_waiter_is_set) = 0;
}

void fake_awaited_by_all(struct fake_asyncio *a, uint64_t task, const uint64_t *waiters, size_t count)
{
    const struct layout *l = fake_layout(a->p);
    const struct asyncio_layout *o = &a->asyncio.tasks.offsets;
    size_t slots = 8;
    while (slots < count * 2)
        slots *= 2;
    const uint64_t set = fake_object(a, a->set_type, 128), table = fake_room(a->p, slots * 16);
    fake_poke(a->p, set + l->set_used, count);
    fake_poke(a->p, set + l->set_mask, slots - 1);
    fake_poke(a->p, set + l->set_table, table);
    for (size_t i = 0; i < count; i++) {
        fake_poke(a->p, table + i * 32, waiters[i]);
        fake_poke(a->p, table + i * 32 + 8, waiters[i] >> 4);
    }
    /* One was taken out: the hash tells it. */
    fake_poke(a->p, table + 16, a->over);
    fake_poke(a->p, table + 24, UINT64_MAX);
    fake_poke(a->p, task + o->task_waiter, set);
    *fake_bytes(a->p, task + o->task_waiter_is_set) = 1;
}

/* ---- before 3.14 ---- */

uint64_t fake_member(const struct fake_asyncio *a, uint64_t object, size_t n)
{
    return object + head_size(a) + n * 8;
}

uint64_t fake_words(struct fake_asyncio *a, uint64_t type, const uint64_t *words, size_t count)
{
    const uint64_t object = fake_object(a, type, head_size(a) + count * 8);
    for (size_t i = 0; i < count; i++)
        fake_poke(a->p, fake_member(a, object, i), words[i]);
    return object;
}

uint64_t fake_waker(struct fake_asyncio *a, uint64_t self)
{
    return MEMBERS(a, a->builtin_type, a->wakeup, self);
}

uint64_t fake_tuple(struct fake_asyncio *a, const uint64_t *items, size_t count)
{
    uint64_t words[16] = { count };
    assert(count < countof(words));
    if (count > 0)
        memcpy(words + 1, items, count * sizeof(*items));
    return fake_words(a, a->tuple_type, words, count + 1);
}

uint64_t fake_function(struct fake_asyncio *a, const char *name, const char *file, const uint64_t *values, size_t count)
{
    uint64_t cells[15];
    for (size_t i = 0; i < count; i++)
        cells[i] = MEMBERS(a, a->cell_type, values[i]);
    const uint64_t code = fake_code(a->p, name, 1, 2);
    fake_poke(a->p, code + fake_layout(a->p)->code_file, fake_string(a->p, file));
    return MEMBERS(a, a->function_type, 0, 0, 0, 0, code, 0, 0, fake_tuple(a, cells, count));
}

void fake_calls(struct fake_asyncio *a, uint64_t future, const uint64_t *callbacks, size_t count)
{
    const struct asyncio_layout *o = &a->asyncio.tasks.offsets;
    const uint64_t items = fake_room(a->p, count * 8 + 8);
    fake_poke(a->p, future + o->future_callback, count > 0 ? callbacks[0] : 0);
    for (size_t i = 1; i < count; i++)
        fake_poke(a->p, items + (i - 1) * 8, fake_tuple(a, (uint64_t[]){ callbacks[i], a->loop }, 2));
    fake_poke(a->p, future + o->future_callbacks, count > 1 ? MEMBERS(a, a->list_type, count - 1, items) : 0);
}

uint64_t fake_future(struct fake_asyncio *a, uint64_t callback)
{
    const uint64_t future = fake_object(a, a->future_type, a->asyncio.tasks.offsets.task_size);
    CALLS(a, future, callback);
    return future;
}

uint64_t fake_all_tasks(struct fake_asyncio *a, const uint64_t *tasks, size_t count)
{
    const uint64_t set = a->asyncio.tasks.module.tasks;
    size_t slots = 8;
    while (slots < count * 2)
        slots *= 2;
    const uint64_t table = fake_room(a->p, slots * 16);
    fake_poke(a->p, fake_member(a, set, 1), count); /* used; then mask, table */
    fake_poke(a->p, fake_member(a, set, 2), slots - 1);
    fake_poke(a->p, fake_member(a, set, 3), table);
    for (size_t i = 0; i < count; i++) {
        fake_poke(a->p, table + i * 16, MEMBERS(a, a->reference_type, tasks[i]));
        fake_poke(a->p, table + i * 16 + 8, tasks[i] >> 4);
    }
    return table;
}

/* The dict of the tasks that run, with one event loop. */
static uint64_t make_current(struct fake_asyncio *a)
{
    const uint64_t keys = fake_room(a->p, 256);
    fake_bytes(a->p, keys)[8] = fake_bytes(a->p, keys)[9] = 3;
    fake_poke(a->p, keys + 24, 1);
    fake_poke(a->p, keys + 48, a->loop); /* behind the head, 8 indices and the hash */
    return MEMBERS(a, a->set_type, 1, 0, keys, 0);
}

static void make_older(struct fake_asyncio *a)
{
    const struct layout *l = fake_layout(a->p);
    struct asyncio_module *module = &a->asyncio.tasks.module;
    const uint64_t method = fake_room(a->p, 64);
    fake_poke(a->p, a->task_type + l->type_flags + 88, a->future_type);
    a->builtin_type = fake_type(a, "builtin_function_or_method", 56, false);
    a->function_type = fake_type(a, "function", 152, false);
    a->method_type = fake_type(a, "method", 48, false);
    a->partial_type = fake_type(a, "functools.partial", 72, true);
    a->cell_type = fake_type(a, "cell", 24, false);
    a->list_type = fake_type(a, "list", 40, false);
    a->tuple_type = fake_type(a, "tuple", 24, false);
    a->reference_type = fake_type(a, "weakref.ReferenceType", 72, false);
    a->loop = fake_object(a, a->set_type, 64);
    a->wakeup = method;
    memcpy(fake_bytes(a->p, method + 16), "task_wakeup", 12);
    fake_poke(a->p, method, method + 16);
    *module = (struct asyncio_module){ .interpreter = a->p->interpreter,
                                       .task_type = a->task_type,
                                       .future_type = a->future_type,
                                       .current = make_current(a),
                                       .tasks = MEMBERS(a, a->set_type, 0, 0, 7, 0, 0, 0) };
    task_sets_open(&a->asyncio.sets, &a->asyncio);
    if (l->thread_loop)
        fake_poke(a->p, a->p->threads[0].address + l->thread_loop, a->loop);
}

/* ---- lists ---- */

uint64_t fake_task_node(const struct fake_asyncio *a, uint64_t task)
{
    return task + a->asyncio.tasks.offsets.task_node;
}

uint64_t fake_thread_tasks(const struct fake_asyncio *a, size_t thread)
{
    return a->p->threads[thread].address + a->asyncio.tasks.offsets.thread_tasks;
}

uint64_t fake_interpreter_tasks(const struct fake_asyncio *a)
{
    return a->p->interpreter + a->asyncio.tasks.offsets.interpreter_tasks;
}

void fake_list(struct fake_asyncio *a, uint64_t head, const uint64_t *tasks, size_t count)
{
    uint64_t previous = head;
    for (size_t i = 0; i < count; i++) {
        const uint64_t node = fake_task_node(a, tasks[i]);
        fake_poke(a->p, previous, node);
        fake_poke(a->p, node + 8, previous);
        previous = node;
    }
    fake_poke(a->p, previous, head);
    fake_poke(a->p, head + 8, previous);
}

/* ---- a thread that runs a task ---- */

void fake_current_task(struct fake_asyncio *a, size_t thread, uint64_t task)
{
    const struct asyncio_module *module = &a->asyncio.tasks.module;
    if (module->current)
        fake_poke(a->p, fake_peek(a->p, fake_member(a, module->current, 2)) + 56, task);
    else
        fake_poke(a->p, a->p->threads[thread].address + a->asyncio.tasks.offsets.thread_task, task);
}

void fake_drive(struct fake_asyncio *a, size_t thread, uint64_t task, const struct fake_driven *driven, size_t count)
{
    const struct layout *l = fake_layout(a->p);
    struct fake_frame frames[FAKE_FRAMES] = { { PLAIN, a->m, 1 }, { SHIM, 0, 0 } };
    assert(count + 2 < FAKE_FRAMES);
    for (size_t i = 0; i < count; i++) {
        frames[i + 2] = (struct fake_frame){ GENERATOR, driven[i].code, driven[i].line };
        a->p->threads[thread].off_stack[i + 2] = driven[i].coroutine + l->generator_frame;
    }
    fake_stack(a->p, thread, frames, count + 2);
    for (size_t i = 0; i < count; i++)
        fake_set_state(a, driven[i].coroutine, l->state_runs);
    fake_current_task(a, thread, task);
}

void fake_wait(struct fake_asyncio *a, size_t thread)
{
    fake_stack(a->p, thread, (struct fake_frame[]){ { PLAIN, a->m, 1 } }, 1);
    fake_current_task(a, thread, 0);
}

/* ---- the whole ---- */

/* Much as Modules/_asynciomodule.c has them; behind what fake_python uses of threads and interpreters. */
static struct asyncio_layout asyncio_of(const struct fake_python *p)
{
    const struct layout *l = fake_layout(p);
    const uint32_t head = l->object_type + 8;
    return (struct asyncio_layout){
        .task_size = head + 184,
        .task_waiter = head + 80,
        .task_is_task = head + 92,
        .task_waiter_is_set = head + 93,
        .task_name = head + 120,
        .task_coroutine = head + 136,
        .task_node = head + 160,
        .interpreter_tasks = FAKE_INTERPRETER - 64,
        .thread_task = l->thread_size + 8,
        .thread_tasks = l->thread_size + 16,
    };
}

static void make_types(struct fake_asyncio *a)
{
    const uint32_t size = a->asyncio.tasks.offsets.task_size;
    a->task_type = fake_type(a, "_asyncio.Task", size, true);
    a->future_type = fake_type(a, "_asyncio.Future", size - 48, true);
    a->int_type = fake_type(a, "int", head_size(a) + 8, false);
    a->str_type = fake_type(a, "str", head_size(a) + 24, false);
    a->set_type = fake_type(a, "set", size, false); /* it is large, too */
    a->coroutine_type = fake_type(a, "coroutine", size, false);
    a->wrapper_type = fake_type(a, "async_generator_asend", head_size(a) + 16, false);
    a->future = fake_object(a, a->future_type, size);
}

static bool take(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct fault refusal = { 0 };
    if (!tables_take(self, event, &refusal))
        fail_msg("%s", refusal.text);
    return true;
}

static void begin(struct fake_asyncio *a, struct fake_python *p, enum async which)
{
    const struct layout *l = fake_layout(p);
    const struct asyncio_layout offsets = l->publishes_tasks ? asyncio_of(p) : asyncio_layout_known(l);
    *a = (struct fake_asyncio){ .p = p, .synthetic = { .depth = 1000, .definitions = &p->definitions } };
    emitter_open(&a->emitter, (struct sink){ .take = take, .self = &a->tables });
    thread_list_open(&a->thread_list, &p->target, &p->codes, THREADS_ALL, false);
    a->asyncio.which = which;
    a->asyncio.synthetic = &a->synthetic;
    a->asyncio.emitter = &a->emitter;
    a->asyncio.process = 1;
    emitter_note(&a->emitter, (struct event){ .kind = EVENT_PROCESS, .process = { .number = 1, .pid = 4711 } });
    asyncio_open(&a->asyncio, &a->thread_list, &p->codes);
    asyncio_tasks_open(&a->asyncio.tasks, &p->target, &p->codes, &offsets, NULL);
    a->asyncio.ready = true;
    make_types(a);
    if (!l->publishes_tasks)
        make_older(a);
    a->m = fake_code(p, "m", 1, 9);
    a->over = fake_task(a, "over", fake_coroutine(a, a->m, 1, 0));
    fake_wait(a, 0);
}

static void end(struct fake_asyncio *a)
{
    asyncio_close(&a->asyncio);
    thread_list_close(&a->thread_list);
    emitter_close(&a->emitter);
    tables_free(&a->tables);
}

static size_t each_version(enum async which, void (*story)(struct fake_asyncio *a), bool publishes)
{
    static struct fake_asyncio a;
    size_t versions = 0;
    for (size_t v = 0; v < countof(fake_versions); v++) {
        struct fake_python *p = fake_python_start(fake_versions[v]);
        if (asyncio_possible(fake_layout(p), NULL) && publishes == (fake_layout(p)->publishes_tasks != 0)) {
            versions++;
            begin(&a, p, which);
            story(&a);
            end(&a);
        }
        fake_python_end(p);
    }
    return versions;
}

void fake_asyncio_each_version(enum async which, void (*story)(struct fake_asyncio *a))
{
    assert_int_equal(each_version(which, story, true), 6); /* from 3.14 on, both builds */
}

void fake_asyncio_each_older(enum async which, void (*story)(struct fake_asyncio *a))
{
    assert_int_equal(each_version(which, story, false), 3);
}

/* ---- what the recorder sees ---- */

/* As the recorder does: the stack that was emitted of a task is its stack until another stack is emitted. */
static void emit_tasks(struct fake_asyncio *a)
{
    for (size_t i = 0; i < a->asyncio.listed_count; i++) {
        const struct known_task *task = &a->asyncio.tasks.rows[a->asyncio.listed[i]];
        struct task_entry *entry = task->entry;
        if (!entry || entry->settled != a->asyncio.tasks.tick)
            continue;
        entry->thread = a->asyncio.listed[i] + 1;
        entry->owner = task->owner;
        if (!entry->same) {
            const struct frames before = entry->emitted;
            entry->emitted = entry->stack;
            entry->stack = before;
            entry->same = true;
        }
    }
}

enum thread_list_state fake_tick(struct fake_asyncio *a)
{
    const uint64_t calls = a->p->target.remote.calls, bytes = a->p->target.remote.bytes;
    a->time_ns += TICK_NS;
    asyncio_prepare(&a->asyncio);
    const enum thread_list_state state = asyncio_read(&a->asyncio, clock_now_ns(), a->time_ns);
    assert_true(a->p->target.remote.calls - calls < CALLS_LIMIT);
    assert_true(a->p->target.remote.bytes - bytes < BYTES_LIMIT);
    emit_tasks(a);
    return state;
}

static void assert_seen(const struct fake_asyncio *a, const char *seen, const char *wanted)
{
    const struct layout *l = fake_layout(a->p);
    if (strcmp(seen, wanted) != 0)
        fail_msg("Python %x%s: '%s' and should be '%s'", l->version, l->free_threaded ? "t" : "", seen, wanted);
}

static const char *stack_text(struct fake_asyncio *a, const struct frames *stack)
{
    size_t used = 0;
    a->text[0] = '\0';
    for (size_t i = 0; i < stack->count && used + 300 < sizeof(a->text); i++) {
        const struct frame *frame = &a->p->definitions.frames.rows[stack->frames[i]].frame;
        const struct text name = defined_name(&a->p->definitions, frame->function);
        used += (size_t)snprintf(a->text + used, sizeof(a->text) - used, "%s%.*s", i ? " " : "", (int)name.size,
                                 name.bytes);
        if (frame->line)
            used += (size_t)snprintf(a->text + used, sizeof(a->text) - used, ":%u", frame->line);
    }
    return a->text;
}

const char *fake_task_stack(struct fake_asyncio *a, uint64_t task)
{
    const struct known_task *known = asyncio_tasks_find(&a->asyncio.tasks, task);
    if (!known || known->listed != a->asyncio.tasks.tick)
        return "none";
    if (known->entry && known->entry->settled == a->asyncio.tasks.tick)
        return stack_text(a, &known->entry->emitted);
    snprintf(a->text, sizeof(a->text), "failed: %s",
             known->entry ? event_failure_text(known->entry->cause) : "it was never known");
    return a->text;
}

const char *fake_thread_stack(struct fake_asyncio *a, size_t thread)
{
    static struct frames stack;
    for (size_t i = 0; i < a->thread_list.members_count; i++) {
        if (a->thread_list.members[i].address != a->p->threads[thread].address)
            continue;
        const struct thread_task *runs = asyncio_thread(&a->asyncio, (uint32_t)i);
        if (runs && runs->failed)
            return "failed";
        stack.count = 0;
        asyncio_thread_stack(&a->asyncio, (uint32_t)i, &stack);
        return stack_text(a, &stack);
    }
    return "none";
}

void fake_assert_task(struct fake_asyncio *a, uint64_t task, const char *wanted)
{
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_seen(a, fake_task_stack(a, task), wanted);
}

void fake_assert_thread(struct fake_asyncio *a, size_t thread, const char *wanted)
{
    assert_int_equal(fake_tick(a), THREAD_LIST_READ);
    assert_seen(a, fake_thread_stack(a, thread), wanted);
}
