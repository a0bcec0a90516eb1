/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof_limits.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

uint32_t pprof_limits_mapping(const struct outline *outline, uint32_t node, size_t *depth)
{
    for (*depth = 0; outline->nodes[node].caller; ++*depth)
        node = outline->nodes[node].caller;
    return node;
}

uint32_t pprof_limits_shorten(struct outline *outline, uint32_t node, size_t most, uint32_t label)
{
    size_t depth;
    pprof_limits_mapping(outline, node, &depth);
    if (depth <= most)
        return node;
    const size_t leaf_part = most / 2, root_part = most - 1 - leaf_part;
    uint32_t *labels = alloc_zeroed(leaf_part, sizeof(*labels));
    for (size_t i = 0; i < leaf_part; i++, node = outline->nodes[node].caller)
        labels[i] = outline->nodes[node].frame;
    for (size_t i = leaf_part + root_part; i < depth; i++)
        node = outline->nodes[node].caller;
    node = outline_child(outline, node, label);
    for (size_t i = leaf_part; i-- > 0;)
        node = outline_child(outline, node, labels[i]);
    free(labels);
    return node;
}
