/* SPDX-License-Identifier: MIT */
#include "record/asyncio/loop_callback.h"

#include <string.h>

#define SLACK_NS 1000000 /* the time of a look is not that exact, nor is that of a turn */

static bool has_same_objects(const struct loop_turn *a, const struct loop_turn *b)
{
    return a->objects[TURN_TIME] && memcmp(a->objects, b->objects, sizeof(a->objects)) == 0;
}

/* Whether the callback that a look found is the one that the look before found. */
static bool is_same_callback(const struct loop_callback *callback, const struct loop_turn *found)
{
    const struct loop_turn *before = &callback->found;
    if (!has_same_objects(found, before))
        return false;
    if (found->reads == before->reads)
        return true;
    if (!found->has_values)
        return false;
    if (before->has_values)
        return found->began_ns == before->began_ns && found->index == before->index;
    return found->began_ns <= callback->first_ns;
}

/* Whether the turn can have begun when it says. */
static bool turn_is_doubtful(const struct loop_callback *callback, const struct loop_turn *found)
{
    return found->has_values &&
           (found->began_ns + SLACK_NS < callback->before_ns || found->began_ns > callback->first_ns + SLACK_NS);
}

/* The latest time at which the callback can have begun. */
static uint64_t begins_ns(const struct loop_callback *callback)
{
    const struct loop_turn *found = &callback->found;
    if (!found->has_values || found->index > 0 || found->began_ns > callback->first_ns)
        return callback->first_ns;
    return found->began_ns > callback->before_ns ? found->began_ns : callback->before_ns;
}

void loop_callback_take(struct loop_callback *callback, const struct loop_turn *found, uint64_t now_ns,
                        uint64_t over_ns)
{
    if (!found->objects[TURN_TIME]) { /* as in nearly all threads */
        callback->found.objects[TURN_TIME] = 0;
        callback->looked_ns = now_ns;
        callback->since_ns = 0;
        return;
    }
    const bool same = is_same_callback(callback, found);
    if (!same) {
        if (found->objects[TURN_TIME] != callback->turn)
            callback->before_ns = callback->turned_ns;
        callback->first_ns = over_ns;
        callback->since_ns = 0;
        callback->doubted = false;
    }
    /* A look at a thread that has not moved reads no values: *found is then that of an earlier look. */
    callback->found = *found;
    callback->turn = found->objects[TURN_TIME];
    callback->looked_ns = callback->turned_ns = now_ns;
    callback->doubted |= turn_is_doubtful(callback, found);
    if (callback->doubted)
        callback->since_ns = 0;
    else if (same && callback->since_ns == 0)
        callback->since_ns = begins_ns(callback);
}
