/* SPDX-License-Identifier: MIT */
#include "record/dump/locals/locals.h"

#include "formats/base/alloc.h"
#include "record/dump/locals/short_repr.h"

#include <stdlib.h>

#define VARIABLES_MOST 20000 /* of a process: the program stands still meanwhile */
#define OF_FRAME_MOST  64    /* of one frame */
#define SKIPPED_MOST   64    /* frames without a place in the dump, in a row */
#define NAME_MOST      64    /* characters */

/* Bits of the kinds of variables: one that comprehensions hide; one that lies in a cell; one of a function outside,
 * which does, too. */
#define KIND_HIDDEN 0x10
#define KIND_CELL   0x40
#define KIND_FREE   0x80

/* The low bits of a variable's word are no part of its address (3.14 and later). */
#define TAGS 3

struct locals_reading {
    struct locals *locals;
    struct dict_reader reader;
    const struct layout *layout;
};

static bool locals_read_at(struct locals_reading *r, uint64_t address, void *into, size_t size)
{
    return remote_read(r->reader.remote, address, into, size) == REMOTE_READ;
}

/* The object in a variable; 0: none. */
static uint64_t object_of(struct locals_reading *r, uint64_t word, unsigned char kind)
{
    uint64_t object = word & ~(uint64_t)TAGS;
    if (object && kind & (KIND_CELL | KIND_FREE)) {
        uint64_t inside;
        object = locals_read_at(r, object + r->layout->object_type + 8, &inside, sizeof(inside)) ? inside : 0;
    }
    return object;
}

static void add_variable(struct locals_reading *r, uint64_t name, uint64_t object)
{
    struct locals *locals = r->locals;
    struct text text = { 0 };
    if (!dict_read_string(&r->reader, name, NAME_MOST, &text))
        return;
    struct variable variable = { .name = locals->texts.size, .name_size = text.size };
    put_bytes(&locals->texts, text.bytes, text.size);
    text_free(text);
    variable.value = locals->texts.size;
    short_repr(&locals->texts, &r->reader, object);
    variable.value_size = locals->texts.size - variable.value;
    locals->variables = alloc_grow(locals->variables, &locals->room, locals->count + 1, sizeof(*locals->variables));
    locals->variables[locals->count++] = variable;
}

/* Whether the variables of a frame lie behind the frame. Compiled code has its own memory for them. */
static bool has_variables(struct locals_reading *r, const struct link *link)
{
    unsigned char frame[LAYOUT_FRAME_MAX];
    return link->code && locals_read_at(r, link->address, frame, r->layout->frame_size) &&
           !frame_is_compiled(r->layout, frame, link->address);
}

/* The names and the kinds of a code object's variables are the two words in front of its file name: a tuple of strs,
 * and a bytes object. */
static void read_variables(struct locals_reading *r, const struct link *link)
{
    const struct layout *l = r->layout;
    const size_t count = link->code->locals < OF_FRAME_MOST ? link->code->locals : OF_FRAME_MOST;
    uint64_t lists[2], words[OF_FRAME_MOST], names[OF_FRAME_MOST];
    unsigned char kinds[OF_FRAME_MOST];
    r->locals->full |= link->code->locals > count;
    if (count == 0 || !locals_read_at(r, link->code->address + l->code_file - sizeof(lists), lists, sizeof(lists)) ||
        !locals_read_at(r, link->address + l->frame_locals, words, count * sizeof(*words)) ||
        !locals_read_at(r, lists[0] + l->object_type + 8 + l->tuple_items, names, count * sizeof(*names)) ||
        !locals_read_at(r, lists[1] + l->bytes_data, kinds, count))
        return;
    for (size_t i = 0; i < count; i++) {
        if (r->locals->count >= VARIABLES_MOST) {
            r->locals->full = true;
            return;
        }
        /* A cell is there from the beginning of the function on, and a variable without one not. */
        const uint64_t object = kinds[i] & KIND_HIDDEN ? 0 : object_of(r, words[i], kinds[i]);
        if (object)
            add_variable(r, names[i], object);
    }
}

static void read_thread(struct locals_reading *r, uint32_t member, const struct walk *walk)
{
    struct locals *locals = r->locals;
    for (uint32_t i = 0; i < walk->depth; i++) {
        const size_t first = locals->count;
        if (locals->count < VARIABLES_MOST && has_variables(r, &walk->links[i]))
            read_variables(r, &walk->links[i]);
        locals->frames = alloc_grow(locals->frames, &locals->frames_room, locals->frames_count + 1,
                                    sizeof(*locals->frames));
        locals->frames[locals->frames_count++] = (struct frame_locals){
            .member = member, .link = i, .first = first, .count = locals->count - first
        };
    }
}

void locals_read(struct locals *locals, struct watched *watched)
{
    const struct thread_list *list = &watched->thread_list;
    struct locals_reading r = { .locals = locals,
                                .reader = { .remote = &watched->target.remote,
                                            .layout = &watched->target.runtime.layout },
                                .layout = &watched->target.runtime.layout };
    locals_free(locals);
    for (size_t i = 0; i < list->asked_count; i++) {
        const struct member *member = &list->members[list->asked[i]];
        if (member->state == UNWIND_DONE && member->tick == list->tick)
            read_thread(&r, list->asked[i], &member->walk);
    }
    dict_reader_free(&r.reader);
}

static int locals_compare(const void *left, const void *right)
{
    const struct frame_locals *a = left, *b = right;
    return a->thread != b->thread ? (a->thread > b->thread) - (a->thread < b->thread)
                                  : (a->link > b->link) - (a->link < b->link);
}

void locals_number(struct locals *locals, const struct watched *watched)
{
    const struct defined_frame *defined = watched->emitter->definitions.frames.rows;
    for (size_t i = 0; i < locals->frames_count; i++) {
        struct frame_locals *frame = &locals->frames[i];
        const struct walk *walk = &watched->thread_list.members[frame->member].walk;
        const struct emitted_thread *thread = watched_thread_of(watched, frame->member);
        const uint32_t above = thread ? watched->rows.states[frame->member].above : UINT32_MAX;
        const bool shown = above != UINT32_MAX && frame->link < walk->depth;
        frame->thread = shown ? thread->number : 0;
        frame->frame = shown && walk->links[frame->link].frame ? defined[walk->links[frame->link].frame].number : 0;
        frame->link += shown ? above : 0;
    }
    if (locals->frames_count > 0)
        qsort(locals->frames, locals->frames_count, sizeof(*locals->frames), locals_compare);
}

/* The index of the first frame of a thread. */
static size_t locals_first_of(const struct locals *locals, uint32_t thread)
{
    size_t low = 0, high = locals->frames_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (locals->frames[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct frame_locals *locals_next(const struct locals *locals, uint32_t thread, uint32_t frame, size_t *at)
{
    const size_t begin = *at ? *at : locals_first_of(locals, thread);
    for (size_t i = begin; i < locals->frames_count && i < begin + SKIPPED_MOST; i++) {
        if (locals->frames[i].thread != thread)
            break;
        if (locals->frames[i].frame != frame)
            continue;
        *at = i + 1;
        return &locals->frames[i];
    }
    return NULL;
}

struct text locals_name(const struct locals *locals, const struct variable *variable)
{
    return (struct text){ (const char *)locals->texts.at + variable->name, variable->name_size };
}

struct text locals_value(const struct locals *locals, const struct variable *variable)
{
    return (struct text){ (const char *)locals->texts.at + variable->value, variable->value_size };
}

void locals_free(struct locals *locals)
{
    free(locals->frames);
    free(locals->variables);
    bytes_free(&locals->texts);
    *locals = (struct locals){ 0 };
}
