/* SPDX-License-Identifier: MIT */
#include "record/unwind/synthetic_frames.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void push(struct told_frames *told, uint32_t frame)
{
    told->frames = alloc_grow(told->frames, &told->room, (size_t)told->pushed + 1, sizeof(uint32_t));
    told->frames[told->pushed++] = frame;
}

static uint32_t mark_frame(struct codes *codes, uint32_t *frame, struct text name)
{
    if (*frame == 0)
        *frame = codes_mark(codes, name);
    return *frame;
}

uint32_t synthetic_frames_gc_frame(struct marks *marks, struct codes *codes)
{
    return mark_frame(codes, &marks->gc_frame, TEXT("<GC>"));
}

uint32_t synthetic_frames_native_frame(struct marks *marks, struct codes *codes)
{
    return mark_frame(codes, &marks->native_frame, TEXT("<native>"));
}

uint32_t synthetic_frames_truncated_frame(struct marks *marks, struct codes *codes)
{
    return mark_frame(codes, &marks->truncated_frame, TEXT("<truncated>"));
}

static void note_place(struct expansion *expansion, uint32_t link, uint32_t frames)
{
    expansion->places = alloc_grow(expansion->places, &expansion->places_room, (size_t)link + 1, sizeof(uint32_t));
    expansion->places[link] = frames;
}

void synthetic_frames_expand(struct expansion *expansion, struct marks *marks, struct codes *codes,
                             const struct walk *walk, bool known, uint32_t gc, struct told_frames *told)
{
    told->pushed = 0;
    told->keep = expansion->frames;
    if (known && walk->same == walk->depth && walk->depth == expansion->links && gc == expansion->gc)
        return;
    /* Where links are left out: between those nearest the root and those nearest the leaf. */
    const uint32_t above = marks->depth / 2, below = marks->depth - above;
    const bool truncated = walk->depth > marks->depth;
    /* What is below <GC> has another place than without, and so has what is below <truncated>. */
    const bool whole = !truncated && expansion->links <= marks->depth;
    const uint32_t still = least(whole ? walk->same : least(walk->same, above), least(gc, expansion->gc));
    const uint32_t same = known ? still : 0;
    told->keep = same > 0 && marks->native ? expansion->places[same - 1] : same;
    for (uint32_t i = same; i < walk->depth; i++) {
        if (truncated && i == above) {
            push(told, synthetic_frames_truncated_frame(marks, codes));
            i = walk->depth - below;
        }
        if (gc == i)
            push(told, synthetic_frames_gc_frame(marks, codes));
        if (marks->native && walk->links[i].from_c && i > 0)
            push(told, synthetic_frames_native_frame(marks, codes));
        push(told, walk->links[i].frame);
        if (marks->native)
            note_place(expansion, i, told->keep + told->pushed);
    }
    if (gc == walk->depth)
        push(told, synthetic_frames_gc_frame(marks, codes));
    expansion->links = walk->depth;
    expansion->frames = told->keep + told->pushed;
    expansion->gc = gc;
}

uint32_t synthetic_frames_gc(const struct walk *walk, uint64_t starter)
{
    for (uint32_t i = starter ? walk->depth : 0; i > 0; i--)
        if (walk->links[i - 1].address == starter)
            return i;
    return walk->depth;
}

uint32_t synthetic_frames_collecting(const struct marks *marks, const struct thread_list *thread_list,
                                     const struct member *member)
{
    const struct interpreter *interpreter = &thread_list->target->interpreters[member->interpreter];
    const bool collects = marks->gc && thread_list_collects(thread_list, member);
    return collects ? synthetic_frames_gc(&member->walk, interpreter->gc_frame) : NO_GC;
}

void synthetic_frames_free(struct expansion *expansion)
{
    free(expansion->places);
    *expansion = (struct expansion){ 0 };
}
