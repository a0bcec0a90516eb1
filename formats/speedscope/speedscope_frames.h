/* SPDX-License-Identifier: MIT */
/* What frames and stacks look like in a speedscope profile. What a thread does is an activity: a stack, and whether the
 * thread waits. Activities that look the same are one node of a tree of frames, so two activities are equal when their
 * nodes are.
 *
 *     activity 1   stack 7, works      main > work               node 4
 *     activity 2   stack 7, waits      main > work > [idle]      node 5
 *     activity 3   stack 9, works      main > work               node 4, another column of the same line
 *
 * Node 0 has no frames: the recording says nothing, or the stack is left out. A node knows how many characters the
 * numbers of its frames have, which tells the size of a profile before the profile is written. */
#ifndef PYREEL_FORMATS_SPEEDSCOPE_SPEEDSCOPE_FRAMES_H
#define PYREEL_FORMATS_SPEEDSCOPE_SPEEDSCOPE_FRAMES_H

#include "formats/base/json.h"
#include "formats/calls/entries.h"

struct speedscope_node {
    uint32_t caller;
    uint32_t frame;  /* index in shared.frames */
    uint32_t depth;  /* number of frames from the root to here */
    uint32_t digits; /* of the numbers of all these frames */
};

struct speedscope_activity {
    uint32_t stack;
    enum waiting wait;
};

/* `= {0}` is empty. */
struct speedscope_frames {
    struct intern_pairs activities_by_key;  /* (stack, wait); numbers are those of `activities` */
    struct speedscope_activity *activities; /* by number; row 0 is unused */
    size_t activities_room;
    struct entries entries;
    struct speedscope_node *nodes; /* by number */
    uint32_t *node_of;             /* by activity */
    uint32_t *shown;               /* entries, by index in shared.frames */
    size_t shown_count;
    uint32_t deepest; /* frames of the deepest node */
};

/* The number of an activity; it is made if absent. */
uint32_t speedscope_frames_activity(struct speedscope_frames *frames, uint32_t stack, enum waiting wait);

/* Makes the nodes of all activities. No activity may be made afterwards. */
void speedscope_frames_settle(struct speedscope_frames *frames, const struct tables *tables,
                              const struct entries_style *style);

/* Writes shared.frames. */
void speedscope_frames_emit(const struct speedscope_frames *frames, struct json_emitter *json);

/* The last node that is on the way to both nodes. */
uint32_t speedscope_frames_common(const struct speedscope_frames *frames, uint32_t a, uint32_t b);

void speedscope_frames_free(struct speedscope_frames *frames);

#endif
