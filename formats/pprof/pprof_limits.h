/* SPDX-License-Identifier: MIT */
/* Limits of a profile: the depth of stacks, and the rarest samples. No sum changes.
 *
 *     --max-depth 5      a b c d e f g       ->   a b <truncated> f g
 *     --min-count 2      worker: a b c, 1 sample; worker: a d, 1 sample     ->   worker: <rest>, 2 samples */
#ifndef PYREEL_FORMATS_PPROF_PPROF_LIMITS_H
#define PYREEL_FORMATS_PPROF_PPROF_LIMITS_H

#include "formats/model/outline.h"

#define PPROF_LEAST_DEPTH 3 /* a root, <truncated> and a leaf */

/* The node of the mapping above the stack `node`. *depth is the depth of the stack below that node. Each mapping has a
 * node under the root of the outline. */
uint32_t pprof_limits_mapping(const struct outline *outline, uint32_t node, size_t *depth);

/* The node of the stack `node` with `most` frames at most, PPROF_LEAST_DEPTH or more. A deeper stack keeps half of the
 * frames at its root and half at its leaf, the leaf's half being the larger one, with a frame `label` between. */
uint32_t pprof_limits_shorten(struct outline *outline, uint32_t node, size_t most, uint32_t label);

#endif
