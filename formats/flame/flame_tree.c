/* SPDX-License-Identifier: MIT */
#include "formats/flame/flame_tree.h"

bool flame_tree_make(struct flame_tree *shown, enum entry_kind kind, const struct tables *tables,
                     const struct flame_samples *samples, const struct flame_style *style)
{
    const struct entries_style entries = { .kind = kind,
                                           .full_paths = style->full_paths,
                                           .ids = style->ids && !style->no_threads,
                                           .opcodes = style->opcodes,
                                           .waits = true,
                                           .filter = style->filter };
    const struct groups_style groups = { .ids = style->ids, .one = style->no_threads, .runs = samples->compare };
    groups_find(&shown->groups, tables, samples->aggregate, &groups);
    entries_find(&shown->entries, tables, &entries);
    return call_tree_make(&shown->tree, &shown->entries, &shown->groups, samples->aggregate);
}

void flame_tree_free(struct flame_tree *shown)
{
    call_tree_free(&shown->tree);
    entries_free(&shown->entries);
    groups_free(&shown->groups);
}
