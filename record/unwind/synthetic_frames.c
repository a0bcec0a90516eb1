/* SPDX-License-Identifier: MIT */
#include "record/unwind/synthetic_frames.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

static uint32_t frames_least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void expanded_push(struct expanded *expanded, uint32_t frame)
{
    expanded->frames = alloc_grow(expanded->frames, &expanded->room, (size_t)expanded->pushed + 1, sizeof(uint32_t));
    expanded->frames[expanded->pushed++] = frame;
}

static uint32_t synthetic_frame(struct synthetic_frames *wanted, uint32_t *frame, enum frame_kind kind,
                                struct text name)
{
    if (*frame == 0)
        *frame = definitions_synthetic_frame(wanted->definitions, kind, name);
    return *frame;
}

uint32_t synthetic_frames_gc_frame(struct synthetic_frames *wanted)
{
    return synthetic_frame(wanted, &wanted->gc_frame, KIND_GC, TEXT("<GC>"));
}

uint32_t synthetic_frames_native_frame(struct synthetic_frames *wanted)
{
    return synthetic_frame(wanted, &wanted->native_frame, KIND_NATIVE, TEXT("<native>"));
}

uint32_t synthetic_frames_truncated_frame(struct synthetic_frames *wanted)
{
    return synthetic_frame(wanted, &wanted->truncated_frame, KIND_HOLE, TEXT("<truncated>"));
}

uint32_t synthetic_frames_not_sampled(struct synthetic_frames *wanted)
{
    return synthetic_frame(wanted, &wanted->not_sampled_frame, KIND_HOLE, TEXT(NOT_SAMPLED));
}

static void note_frames_until(struct expansion *expansion, uint32_t link, uint32_t frames)
{
    expansion->frames_until = alloc_grow(expansion->frames_until, &expansion->frames_until_room, (size_t)link + 1,
                                         sizeof(uint32_t));
    expansion->frames_until[link] = frames;
}

void synthetic_frames_expand(struct expansion *expansion, struct synthetic_frames *wanted, const struct walk *walk,
                             bool known, uint32_t gc, struct expanded *expanded)
{
    expanded->pushed = 0;
    expanded->keep = expansion->frames;
    if (known && walk->same == walk->depth && walk->depth == expansion->links && gc == expansion->gc)
        return;
    /* In a deep stack, `above` links at the root and `below` links at the leaf are emitted. */
    const uint32_t above = wanted->depth / 2, below = wanted->depth - above;
    const bool truncated = walk->depth > wanted->depth;
    /* <GC> and <truncated> shift the frames below them: those have to be pushed again when one of the two appears or
     * disappears. */
    const bool whole = !truncated && expansion->links <= wanted->depth;
    const uint32_t still = frames_least(whole ? walk->same : frames_least(walk->same, above),
                                        frames_least(gc, expansion->gc));
    const uint32_t same = known ? still : 0;
    expanded->keep = same > 0 && wanted->native ? expansion->frames_until[same - 1] : same;
    for (uint32_t i = same; i < walk->depth; i++) {
        if (truncated && i == above) {
            expanded_push(expanded, synthetic_frames_truncated_frame(wanted));
            i = walk->depth - below;
        }
        if (gc == i)
            expanded_push(expanded, synthetic_frames_gc_frame(wanted));
        if (wanted->native && walk->links[i].from_c && i > 0)
            expanded_push(expanded, synthetic_frames_native_frame(wanted));
        expanded_push(expanded, walk->links[i].frame);
        if (wanted->native)
            note_frames_until(expansion, i, expanded->keep + expanded->pushed);
    }
    if (gc == walk->depth)
        expanded_push(expanded, synthetic_frames_gc_frame(wanted));
    expansion->links = walk->depth;
    expansion->frames = expanded->keep + expanded->pushed;
    expansion->gc = gc;
}

uint32_t synthetic_frames_gc(const struct walk *walk, uint64_t starter)
{
    for (uint32_t i = starter ? walk->depth : 0; i > 0; i--)
        if (walk->links[i - 1].address == starter)
            return i;
    return walk->depth;
}

uint32_t synthetic_frames_collecting(const struct synthetic_frames *wanted, const struct thread_list *thread_list,
                                     const struct member *member)
{
    const struct interpreter *interpreter = &thread_list->target->interpreters[member->interpreter];
    const bool collects = wanted->gc && thread_list_collects(thread_list, member);
    return collects ? synthetic_frames_gc(&member->walk, interpreter->gc_frame) : NO_GC;
}

void synthetic_frames_free(struct expansion *expansion)
{
    free(expansion->frames_until);
    *expansion = (struct expansion){ 0 };
}
