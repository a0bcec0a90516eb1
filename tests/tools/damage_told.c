/* SPDX-License-Identifier: MIT */
#include "tests/tools/damage_told.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool set_has(const struct block_set *set, uint32_t block)
{
    return block < BLOCKS_MOST && set->bits[block / 64] >> block % 64 & 1;
}

void set_add(struct block_set *set, uint32_t block)
{
    if (block < BLOCKS_MOST)
        set->bits[block / 64] |= (uint64_t)1 << block % 64;
}

bool set_covers(const struct block_set *set, const struct block_set *part)
{
    for (size_t i = 0; i < countof(set->bits); i++)
        if (part->bits[i] & ~set->bits[i])
            return false;
    return true;
}

/* ---- hashes ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, struct text text)
{
    for (size_t i = 0; i < text.size; i++)
        hash = mix(hash, (unsigned char)text.bytes[i]);
    return mix(hash, text.size + 1000);
}

static uint64_t frame_hash(const struct tables *tables, uint32_t number)
{
    const struct frame *frame = &tables->frames[number];
    const struct function *function = &tables->functions[frame->function];
    uint64_t hash = mix_text(mix(1, function->first_line), tables_string(tables, function->name));
    hash = mix_text(hash, tables_string(tables, function->file));
    hash = mix(mix(hash, frame->line), frame->end_line);
    hash = mix(mix(hash, (uint32_t)frame->column), (uint32_t)frame->end_column);
    hash = mix_text(hash, tables_string(tables, frame->instruction));
    return mix_text(hash, tables_string(tables, frame->base));
}

static uint64_t task_hash(const struct tables *tables, uint32_t number)
{
    const struct task *task = &tables_task(tables, number)->task;
    return number ? mix(mix_text(2, task->name), task->start_ns) : 0;
}

static uint64_t thread_hash(const struct tables *tables, uint32_t number)
{
    const struct thread *thread = &tables->threads[number].thread;
    const struct process *process = &tables->processes[thread->process].process;
    uint64_t hash = mix(mix(mix(3, thread->tid), thread->interpreter), thread->start_ns);
    hash = mix(mix(mix(hash, thread->main), process->pid), process->python_version);
    return mix(hash, task_hash(tables, thread->task));
}

/* A stack's caller has a lower number, and its hash is known. */
static uint64_t stack_hash(struct told *told, uint32_t stack)
{
    if (stack == 0)
        return 0;
    told->stack_hashes = alloc_grow(told->stack_hashes, &told->stack_hashes_room, (size_t)stack + 1, sizeof(uint64_t));
    uint64_t *hash = &told->stack_hashes[stack];
    if (*hash)
        return *hash;
    const struct stack known = told->tables.stacks[stack];
    const uint64_t caller = stack_hash(told, known.caller); /* may move the array */
    return told->stack_hashes[stack] = mix(mix(4, caller), frame_hash(&told->tables, known.frame));
}

/* ---- what needs which block ---- */

static uint32_t block_now(const struct told *told)
{
    return (uint32_t)told->reader.blocks.next - 1;
}

static void note_definition(struct told *told, uint32_t **rows, size_t *room, uint32_t number)
{
    *rows = alloc_grow(*rows, room, (size_t)number + 1, sizeof(**rows));
    (*rows)[number] = block_now(told);
}

static uint32_t new_set(struct told *told)
{
    if (told->sets_count == 0)
        told->sets_count = 1;
    told->sets = alloc_grow(told->sets, &told->sets_room, told->sets_count + 1, sizeof(*told->sets));
    return (uint32_t)told->sets_count++;
}

static void need_string(struct told *told, struct block_set *set, uint32_t string)
{
    if (string)
        set_add(set, told->string_blocks[string]);
}

static void need_frame(struct told *told, struct block_set *set, uint32_t number)
{
    const struct frame *frame = &told->tables.frames[number];
    const struct function *function = &told->tables.functions[frame->function];
    set_add(set, told->frame_blocks[number]);
    set_add(set, told->function_blocks[frame->function]);
    need_string(told, set, function->name);
    need_string(told, set, function->file);
    need_string(told, set, frame->instruction);
    need_string(told, set, frame->base);
}

static void need_task(struct told *told, struct block_set *set, uint32_t task)
{
    if (task == 0)
        return;
    set_add(set, told->task_blocks[task]);
    set_add(set, told->process_blocks[told->tables.tasks[task].task.process]);
}

static uint32_t stack_needs(struct told *told, uint32_t stack)
{
    if (stack == 0)
        return 0;
    told->stack_sets = alloc_grow(told->stack_sets, &told->stack_sets_room, (size_t)stack + 1, sizeof(uint32_t));
    if (told->stack_sets[stack])
        return told->stack_sets[stack];
    const uint32_t caller = stack_needs(told, told->tables.stacks[stack].caller);
    const uint32_t number = new_set(told);
    if (caller)
        told->sets[number] = told->sets[caller];
    need_frame(told, &told->sets[number], told->tables.stacks[stack].frame);
    return told->stack_sets[stack] = number;
}

static void note_needs(struct told *told, struct told_sample *to, const struct run *run)
{
    const uint32_t stack = stack_needs(told, run->stack);
    const struct thread *thread = &told->tables.threads[run->thread].thread;
    to->needs = new_set(told);
    struct block_set *set = &told->sets[to->needs];
    if (stack)
        *set = told->sets[stack];
    set_add(set, block_now(told));
    set_add(set, told->thread_blocks[run->thread]);
    set_add(set, told->process_blocks[thread->process]);
    need_task(told, set, thread->task);
    if (run->task == 0)
        return;
    to->task_needs = new_set(told);
    need_task(told, &told->sets[to->task_needs], run->task);
}

static void note_event(struct told *told, const struct event *event)
{
    told->blocks = alloc_grow(told->blocks, &told->blocks_room, (size_t)block_now(told) + 1, sizeof(*told->blocks));
    struct told_block *block = &told->blocks[block_now(told)];
    switch (event->kind) {
    case EVENT_PROCESS:
        note_definition(told, &told->process_blocks, &told->process_room, event->process.number);
        break;
    case EVENT_THREAD:
        note_definition(told, &told->thread_blocks, &told->thread_room, event->thread.number);
        break;
    case EVENT_TASK:
        note_definition(told, &told->task_blocks, &told->task_room, event->task.number);
        break;
    case EVENT_STRING:
        note_definition(told, &told->string_blocks, &told->string_room, event->string.number);
        break;
    case EVENT_FUNCTION:
        note_definition(told, &told->function_blocks, &told->function_room, event->function.number);
        break;
    case EVENT_FRAME:
        note_definition(told, &told->frame_blocks, &told->frame_room, event->frame.number);
        break;
    case EVENT_TICK:
        if (block->ticks++ == 0)
            block->first_ns = event->tick_ns;
        block->last_ns = event->tick_ns;
        break;
    case EVENT_MISSED:
        block->missed += event->missed;
        break;
    case EVENT_FAILED:
        block->failed++;
        break;
    case EVENT_END:
        block->timeless = true;
        break;
    default:
        break;
    }
}

/* ---- reading ---- */

static void tell_run(struct told *told, const struct run *run)
{
    if (run->stack == STACK_LOST)
        return;
    told->samples = alloc_grow(told->samples, &told->samples_room, told->samples_count + 1, sizeof(*told->samples));
    struct told_sample *to = &told->samples[told->samples_count++];
    *to = (struct told_sample){ .time_ns = run->time_ns,
                                .stack = stack_hash(told, run->stack),
                                .thread = thread_hash(&told->tables, run->thread),
                                .task = task_hash(&told->tables, run->task),
                                .cpu_ns = run->cpu_ns,
                                .stands_ns = run->stands_ns,
                                .status = run->status,
                                .number = run->thread,
                                .block = block_now(told) };
    if (told->whole)
        note_needs(told, to, run);
}

static void tell_name(struct told *told, uint32_t thread, struct text name)
{
    told->names = alloc_grow(told->names, &told->names_room, told->names_count + 1, sizeof(*told->names));
    told->names[told->names_count++] = (struct told_name){ thread, block_now(told), mix_text(5, name) };
}

static bool take(void *self, struct event *event, struct fault *why)
{
    struct told *told = self;
    const struct damage *damage = &told->reader.blocks.damage;
    told->tables.forgiving = damage->bytes > 0 || damage->blocks > 0;
    if (!tables_take(&told->tables, event, why)) {
        told->refused = true;
        return false;
    }
    if (told->whole)
        note_event(told, event);
    if (event->kind == EVENT_RUN)
        tell_run(told, &event->run);
    if (event->kind == EVENT_THREAD)
        tell_name(told, event->thread.number, event->thread.name);
    if (event->kind == EVENT_THREAD_NAME)
        tell_name(told, event->change.number, event->change.name);
    if (event->kind == EVENT_TICK) {
        told->backwards |= event->tick_ns < told->last_tick_ns;
        told->last_tick_ns = event->tick_ns;
    }
    return true;
}

void told_read(struct told *told, const void *bytes, size_t size)
{
    const int fd = memfd_create("damage", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    const struct sink sink = { .take = take, .self = told };
    told->opened = stream_reader_open(&told->reader, fd, (struct text){ 0 }, &sink, &told->why);
    told->reader.goes_ahead = told->ahead;
    enum source_state state = told->opened ? SOURCE_MORE : SOURCE_ENDED;
    while (state == SOURCE_MORE)
        state = stream_read_block(&told->reader, &sink, &told->why);
    stream_reader_stop(&told->reader);
    close(fd);
}

void told_free(struct told *told)
{
    stream_reader_close(&told->reader);
    tables_free(&told->tables);
    free(told->samples);
    free(told->names);
    free(told->blocks);
    free(told->stack_hashes);
    free(told->sets);
    free(told->string_blocks);
    free(told->function_blocks);
    free(told->frame_blocks);
    free(told->process_blocks);
    free(told->thread_blocks);
    free(told->task_blocks);
    free(told->stack_sets);
    *told = (struct told){ 0 };
}
