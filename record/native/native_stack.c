/* SPDX-License-Identifier: MIT */
#include "record/native/native_stack.h"

#include "record/native/frame_pointer.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>

void native_stack_open(struct native_stack *native, struct remote *remote, struct definitions *definitions)
{
    code_map_open(&native->map, remote, definitions);
}

void native_stack_close(struct native_stack *native)
{
    code_map_close(&native->map);
    free(native->entries);
    *native = (struct native_stack){ 0 };
}

/* ---- entries ---- */

uint64_t native_stack_last(const struct walk *walk, const struct layout *l)
{
    for (uint32_t i = 0; l->root_is_shim && i < walk->depth; i++)
        if (walk->links[i].entry)
            return walk->links[i].entry;
    return 0;
}

static void add_entry(struct native_stack *n, uint64_t address, uint32_t link)
{
    n->entries = alloc_grow(n->entries, &n->entries_room, n->entries_count + 1, sizeof(*n->entries));
    n->entries[n->entries_count++] = (struct native_entry){ address, link };
}

/* Before 3.12: the chain of C frames, which lies in the copy but for the first one. */
static void find_c_frames(struct native_stack *n, const struct walk *walk, const struct layout *l,
                          const struct c_copy *copy)
{
    uint64_t address = walk_stack_address(walk, l);
    for (uint32_t i = walk->depth; i > 0; i--) {
        if (!walk->links[i - 1].from_c)
            continue;
        add_entry(n, address, i - 1);
        const uint64_t offset = address - copy->begin + l->cframe_current_frame + 8;
        if (offset >= copy->size || copy->size - offset < 8)
            return;
        memcpy(&address, copy->bytes + offset, sizeof(address));
    }
}

/* Finds the entries of a stack, leaf first. False: they do not lie one behind the other, as on the stack of a greenlet
 * that is just being switched. */
static bool find_entries(struct native_stack *n, const struct walk *walk, const struct layout *l,
                         const struct c_copy *copy)
{
    n->entries_count = 0;
    if (!l->root_is_shim)
        find_c_frames(n, walk, l, copy);
    for (uint32_t i = walk->depth; l->root_is_shim && i > 0; i--)
        if (walk->links[i - 1].entry)
            add_entry(n, walk->links[i - 1].entry, i - 1);
    uint64_t before = copy->begin;
    for (size_t i = 0; i < n->entries_count; i++) {
        if (n->entries[i].address <= before)
            return false;
        before = n->entries[i].address;
    }
    return n->entries_count > 0;
}

/* ---- the loop of the interpreter ---- */

static void learn_loop(struct native_stack *n, const struct c_frame *frame, uint64_t entry)
{
    const uint64_t distance = frame->cfa - entry;
    if (!frame->code->ruled || n->loops_differ)
        return;
    n->loops_differ = n->loop_distance && n->loop_distance != distance;
    n->map.edition += n->loop_distance == 0; /* stacks of before had holes */
    n->loop_distance = distance;
    n->loop = frame->code->rule;
}

/* ---- the merge ---- */

/* The stack that is being made, leaf first. */
struct c_merge {
    struct native_stack *native;
    struct c_links *found;
    size_t taken;   /* frames that were unwound so far */
    size_t entry;   /* the first entry that no frame had so far */
    uint32_t link;  /* C frames stand before this link */
    uint32_t holes; /* how often a part could not be unwound */
};

static void merge_add(struct c_merge *m, uint32_t frame)
{
    struct c_links *found = m->found;
    found->links = alloc_grow(found->links, &found->room, found->count + 1, sizeof(*found->links));
    found->links[found->count++] = (struct c_link){ .link = m->link, .frame = frame };
}

/* Takes a frame: the loop of the entries that lie in it, or a frame of its own. False: an entry is in no frame. */
static bool merge_take(struct c_merge *m, const struct c_frame *frame)
{
    struct native_stack *n = m->native;
    bool loop = false;
    for (; m->entry < n->entries_count && n->entries[m->entry].address < frame->cfa; m->entry++) {
        if (n->entries[m->entry].address < frame->sp || loop)
            return false;
        learn_loop(n, frame, n->entries[m->entry].address);
        m->link = n->entries[m->entry].link;
        loop = true;
    }
    if (!loop && m->link > 0 && !frame->code->trampoline) /* the Python function stands for its trampoline */
        merge_add(m, code_map_frame(&n->map, frame->code));
    return true;
}

/* Finds the frame pointer of a frame that comes before the loop of the next entry, where only this is missing. */
static bool find_frame_pointer(struct c_merge *m, const struct c_copy *copy, struct c_registers *registers)
{
    struct native_stack *n = m->native;
    const uint64_t entry = m->entry < n->entries_count ? n->entries[m->entry].address : 0;
    return entry && n->loop_distance && !n->loops_differ &&
           frame_pointer_find(&n->map, copy, entry, entry + n->loop_distance, registers);
}

/* The registers behind the loop of the next entry, whose C frame was not reached. False: the loop is not known. */
static bool resume(struct c_merge *m, const struct c_copy *copy, struct c_registers *registers)
{
    const struct native_stack *n = m->native;
    const struct native_entry *entry = &n->entries[m->entry];
    if (!n->loop_distance || n->loops_differ ||
        !c_stack_caller(&n->loop, entry->address + n->loop_distance, copy, registers))
        return false;
    m->link = entry->link;
    m->entry++;
    return true;
}

static void reverse(struct c_link *links, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        const struct c_link other = links[i];
        links[i] = links[count - 1 - i];
        links[count - 1 - i] = other;
    }
}

/* Unwinds from entry to entry. Returns whether each has its frame. */
static bool merge_all(struct c_merge *m, struct c_registers registers, const struct c_copy *copy, uint32_t hole)
{
    struct native_stack *n = m->native;
    const uint64_t last = n->entries[n->entries_count - 1].address;
    while (m->entry < n->entries_count) {
        size_t count;
        struct c_registers stopped;
        const enum c_end end = c_stack_unwind(&n->map, &registers, copy, last, n->frames, NATIVE_FRAMES - m->taken,
                                              &count, &stopped);
        const bool lacking = end == C_NO_RULE && frame_pointer_lacks(n->frames[count - 1].code, &stopped);
        m->taken += count;
        for (size_t i = 0; i < count - lacking; i++)
            if (!merge_take(m, &n->frames[i]))
                return false;
        if (lacking && find_frame_pointer(m, copy, &stopped)) {
            registers = stopped;
            m->taken--; /* the last frame is the first one of what follows */
            continue;
        }
        if (lacking && !merge_take(m, &n->frames[count - 1]))
            return false;
        if (m->entry == n->entries_count)
            return true;
        if (end == C_ROOT || end == C_DEEP || m->taken == NATIVE_FRAMES)
            return false;
        m->holes++;
        merge_add(m, hole);
        if (!resume(m, copy, &registers))
            return false;
    }
    return true;
}

static bool merge_once(struct c_merge *m, const struct walk *walk, const struct c_registers *registers,
                       const struct c_copy *copy, uint32_t hole)
{
    *m = (struct c_merge){ .native = m->native, .found = m->found, .link = walk->depth };
    m->found->count = 0;
    return merge_all(m, *registers, copy, hole);
}

bool native_stack_merge(struct native_stack *n, const struct walk *walk, const struct layout *l,
                        const struct c_registers *registers, const struct c_copy *copy, uint32_t hole, uint64_t now_ns,
                        struct c_links *found)
{
    struct c_merge m = { .native = n, .found = found };
    code_map_refresh(&n->map, now_ns);
    const bool entered = find_entries(n, walk, l, copy);
    bool merged = entered && merge_once(&m, walk, registers, copy, hole);
    if (code_map_refresh(&n->map, now_ns)) /* the stack has code of a library that is new */
        merged = entered && merge_once(&m, walk, registers, copy, hole);
    n->counters.merged += merged;
    n->counters.unmerged += !merged;
    if (!merged)
        return false;
    n->counters.holes += m.holes > 0;
    n->counters.frames += found->count;
    reverse(found->links, found->count);
    return true;
}

void native_stack_alone(struct native_stack *n, const struct c_registers *registers, const struct c_copy *copy,
                        uint32_t hole, uint64_t now_ns, struct c_links *found)
{
    struct c_merge m = { .native = n, .found = found };
    size_t count;
    code_map_refresh(&n->map, now_ns);
    const enum c_end end = c_stack_unwind(&n->map, registers, copy, 0, n->frames, NATIVE_FRAMES, &count, NULL);
    found->count = 0;
    for (size_t i = 0; i < count; i++)
        merge_add(&m, code_map_frame(&n->map, n->frames[i].code));
    if (end != C_ROOT)
        merge_add(&m, hole);
    n->counters.frames += found->count;
    reverse(found->links, found->count);
}
