/* SPDX-License-Identifier: MIT */
/* Ungroups a payload: the inverse of codec_group.h. */
#ifndef PYREEL_FORMATS_CODEC_CODEC_UNGROUP_H
#define PYREEL_FORMATS_CODEC_CODEC_UNGROUP_H

#include "formats/codec/codec_group.h"

/* Appends the ungrouped payload of `size` bytes to `to`. `grouped` is not trusted. Returns false when `grouped` is not
 * the grouping of a payload of this size; the appended bytes are then useless. */
bool codec_ungroup_payload(struct grouping *grouping, const void *grouped, size_t grouped_size, size_t size,
                           struct bytes *to);

#endif
