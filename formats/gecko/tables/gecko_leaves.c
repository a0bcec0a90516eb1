/* SPDX-License-Identifier: MIT */
#include "formats/gecko/tables/gecko_leaves.h"

#include "formats/base/alloc.h"
#include "formats/frames/waiting.h"
#include "formats/gecko/gecko_internal.h"

#include <stdlib.h>

static enum gecko_leaf_kind gecko_leaves_kind_of(const struct gecko *gecko, const struct run *run)
{
    switch (waiting_of(run->status)) {
    case WAITS_IDLE:
        return LEAF_IDLE;
    case WAITS_FOR_LOCK:
        return LEAF_WAITING;
    case WAITS_FOR_NATIVE:
        return LEAF_NATIVE;
    default:
        return gecko_opcodes_has_frame(gecko, run->stack) ? LEAF_INSTRUCTION : LEAF_NONE;
    }
}

/* Notes a pair of stack and leaf. A code has no room for more stacks than 2^30, which would fill 30 GB. */
static void gecko_leaves_note(struct gecko *gecko, uint32_t stack, enum gecko_leaf_kind kind)
{
    struct gecko_leaves *leaves = &gecko->leaves;
    if (stack > UINT32_MAX >> GECKO_LEAF_BITS) {
        fault(&gecko->spool.failure, "the recording has too many different stacks for this format");
        return;
    }
    leaves->kinds = alloc_grow(leaves->kinds, &leaves->kinds_room, (size_t)stack + 1, sizeof(*leaves->kinds));
    leaves->kinds[stack] |= (uint8_t)(1u << kind);
}

uint32_t gecko_leaves_find(const struct gecko *gecko, const struct run *run)
{
    return run->stack << GECKO_LEAF_BITS | gecko_leaves_kind_of(gecko, run);
}

uint32_t gecko_leaves_code(struct gecko *gecko, const struct gecko_thread *thread, const struct run *run)
{
    const uint32_t before = thread->samples.last.stack;
    const bool same = run->stack == gecko_leaves_stack(before) && run->status == thread->status;
    if (same && thread->samples.count > 0)
        return before;
    gecko_leaves_note(gecko, run->stack, gecko_leaves_kind_of(gecko, run));
    return gecko_leaves_find(gecko, run);
}

void gecko_leaves_note_bare(struct gecko *gecko, uint32_t stack)
{
    gecko_leaves_note(gecko, stack, LEAF_NONE);
}

/* ---- at the end ---- */

/* Whether a sample has no Python frames. */
static bool has_empty_stack(const struct gecko *gecko)
{
    return gecko->leaves.kinds_room > 0 && gecko->leaves.kinds[0];
}

static void settle_codes(struct gecko_leaves *leaves)
{
    for (size_t stack = 0; stack < leaves->kinds_room; stack++)
        leaves->count += (size_t)__builtin_popcount(leaves->kinds[stack] & ~(1u << LEAF_NONE));
    if (leaves->count == 0)
        return;
    leaves->first = alloc_zeroed(leaves->kinds_room, sizeof(*leaves->first));
    leaves->codes = alloc_zeroed(leaves->count, sizeof(*leaves->codes));
    uint32_t count = 0;
    for (size_t stack = 0; stack < leaves->kinds_room; stack++) {
        leaves->first[stack] = count;
        for (uint32_t kind = LEAF_NONE + 1; kind < LEAF_KINDS; kind++)
            if (leaves->kinds[stack] & 1u << kind)
                leaves->codes[count++] = (uint32_t)stack << GECKO_LEAF_BITS | kind;
    }
}

size_t gecko_leaves_add_label(struct gecko *gecko, struct gecko_label label)
{
    struct gecko_leaves *leaves = &gecko->leaves;
    leaves->labels = alloc_grow(leaves->labels, &leaves->labels_room, leaves->labels_count + 1,
                                sizeof(*leaves->labels));
    leaves->labels[leaves->labels_count] = label;
    return leaves->labels_count++;
}

static void gecko_add_label(struct gecko *gecko, enum gecko_leaf_kind kind, size_t name, enum gecko_category category)
{
    const struct gecko_label label = { .name = name, .category = category };
    gecko->leaves.label_of[kind] = gecko_leaves_add_label(gecko, label);
}

void gecko_leaves_settle(struct gecko *gecko)
{
    struct gecko_leaves *leaves = &gecko->leaves;
    settle_codes(leaves);
    uint32_t used = 0;
    for (size_t i = 0; i < leaves->count; i++)
        used |= 1u << (leaves->codes[i] & ((1u << GECKO_LEAF_BITS) - 1));
    if (has_empty_stack(gecko))
        gecko_add_label(gecko, LEAF_NONE, 0, CATEGORY_OTHER); /* string 0 is its name */
    if (used & 1u << LEAF_IDLE)
        gecko_add_label(gecko, LEAF_IDLE, gecko_tables_string(gecko, TEXT(IDLE_FRAME)), CATEGORY_IDLE);
    if (used & 1u << LEAF_WAITING)
        gecko_add_label(gecko, LEAF_WAITING, gecko_tables_string(gecko, TEXT(WAITING_FRAME)), CATEGORY_WAITING);
    if (used & 1u << LEAF_NATIVE)
        gecko_add_label(gecko, LEAF_NATIVE, gecko_tables_string(gecko, TEXT(NATIVE_FRAME)), CATEGORY_WAITING);
    gecko_opcodes_settle(gecko);
}

uint32_t gecko_leaves_row(const struct gecko *gecko, uint32_t code)
{
    const struct gecko_leaves *leaves = &gecko->leaves;
    const uint32_t stack = gecko_leaves_stack(code), kind = code & ((1u << GECKO_LEAF_BITS) - 1);
    const size_t behind = gecko->rows.stacks.count;
    if (kind == LEAF_NONE)
        return stack ? gecko->rows.stacks.of[stack] - 1 : (uint32_t)behind;
    const unsigned before = leaves->kinds[stack] & ((1u << kind) - 1) & ~(1u << LEAF_NONE);
    return (uint32_t)(behind + has_empty_stack(gecko) + leaves->first[stack] + (unsigned)__builtin_popcount(before));
}

size_t gecko_leaves_rows(const struct gecko *gecko)
{
    return gecko->leaves.count + has_empty_stack(gecko);
}

size_t gecko_leaves_label(const struct gecko *gecko, size_t index)
{
    const struct gecko_leaves *leaves = &gecko->leaves;
    if (has_empty_stack(gecko) && index-- == 0)
        return leaves->label_of[LEAF_NONE];
    const uint32_t code = leaves->codes[index], kind = code & ((1u << GECKO_LEAF_BITS) - 1);
    return kind == LEAF_INSTRUCTION ? gecko_opcodes_label(gecko, gecko_leaves_stack(code)) : leaves->label_of[kind];
}

int64_t gecko_leaves_caller(const struct gecko *gecko, size_t index)
{
    if (has_empty_stack(gecko) && index-- == 0)
        return -1;
    const uint32_t stack = gecko_leaves_stack(gecko->leaves.codes[index]);
    return gecko_leaves_row(gecko, stack << GECKO_LEAF_BITS);
}

void gecko_leaves_free(struct gecko_leaves *leaves)
{
    free(leaves->kinds);
    free(leaves->first);
    free(leaves->codes);
    free(leaves->labels);
}
