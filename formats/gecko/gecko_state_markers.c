/* SPDX-License-Identifier: MIT */
#include "formats/gecko/gecko_internal.h"
#include "formats/model/aggregate.h"
#include "formats/model/attribute.h"

#include <string.h>

/* The states, and whether the attribute is true in them. The colours are the viewer's colours for graphs. */
static const struct state {
    const char *name, *color;
    enum attribute attribute;
    bool is;
    const char *description;
} states[STATES] = {
    [STATE_GIL] = { "Holds GIL", "green", ATTRIBUTE_GIL, true,
                    "The thread held its interpreter's lock, or was attached to an interpreter that has none." },
    [STATE_CPU] = { "On CPU", "blue", ATTRIBUTE_CPU, true, "The thread was running, or ready to run." },
    [STATE_NO_CPU] = { "Off CPU", "grey", ATTRIBUTE_CPU, false, "The thread slept, or waited for something." },
};

uint32_t gecko_state_markers_of(uint32_t status)
{
    uint32_t set = 0;
    for (size_t i = 0; i < STATES; i++)
        if (attribute_known(status, states[i].attribute) && attribute_is(status, states[i].attribute) == states[i].is)
            set |= 1u << i;
    return set;
}

/* ---- totals ---- */

_Static_assert((STATUS_BITS | STATUS_RECORDED | STATUS_GIL_WAIT_UNKNOWN) < STATUS_VALUES, "a sum for each status");

/* The totals are made of the sums at the end: this runs millions of times, whatever the number of totals. */
void gecko_totals_take(struct gecko *gecko, const struct run *run)
{
    struct gecko_status_sum *sum = &gecko->by_status[run->status % STATUS_VALUES];
    sum->samples++;
    sum->ns += run->wall_ns;
}

bool gecko_totals_get(const struct gecko *gecko, enum attribute state, uint64_t *ns)
{
    uint64_t samples = 0;
    *ns = 0;
    for (uint32_t status = 0; status < STATUS_VALUES; status++) {
        if (!attribute_is(status, state))
            continue;
        samples += gecko->by_status[status].samples;
        *ns += gecko->by_status[status].ns;
    }
    return samples > 0;
}

bool gecko_totals_know_cpu(const struct gecko *gecko)
{
    uint64_t known = 0, samples = 0;
    for (uint32_t status = 0; status < STATUS_VALUES; status++) {
        samples += gecko->by_status[status].samples;
        known += attribute_known(status, ATTRIBUTE_CPU_TIME) ? gecko->by_status[status].samples : 0;
    }
    return aggregate_cpu_first(known, samples);
}

uint64_t gecko_samples_off_cpu(const struct gecko *gecko)
{
    uint64_t samples = 0;
    for (uint32_t status = 0; status < STATUS_VALUES; status++)
        if (attribute_known(status, ATTRIBUTE_CPU) && !attribute_is(status, ATTRIBUTE_CPU))
            samples += gecko->by_status[status].samples;
    return samples;
}

/* ---- markers ---- */

/* The next change of states. After the last change comes one without any state at the end of the thread's last sample:
 * it ends all open markers. */
static struct spool_sample gecko_state_markers_next_change(struct gecko_marker_reader *reader)
{
    struct spool_sample change;
    if (spool_next(&reader->changes, &change))
        return change;
    reader->over = true;
    return (struct spool_sample){ .time = reader->end, .stack = 0 };
}

static void gecko_state_markers_begin(struct gecko_marker_reader *reader)
{
    spool_rewind(&reader->changes, &reader->gecko->spool, &reader->thread->states);
    reader->now = 0;
    reader->states = reader->ended = 0;
}

static void read_change(struct gecko_marker_reader *reader)
{
    const struct spool_sample change = gecko_state_markers_next_change(reader);
    const uint32_t before = reader->states;
    reader->now = change.time;
    reader->states = change.stack;
    reader->ended = before & ~change.stack;
    for (uint32_t begun = change.stack & ~before; begun; begun &= begun - 1) {
        const uint32_t state = (uint32_t)__builtin_ctz(begun);
        reader->open[state] = (struct gecko_marker){ .subject = state,
                                                     .start = reader->now,
                                                     .stack = gecko_markers_stack_at(reader, reader->now) };
    }
}

/* Gives markers in the order of their ends. */
static bool gecko_state_markers_next(struct gecko_marker_reader *reader, struct gecko_marker *marker)
{
    while (!reader->ended) {
        if (reader->over)
            return false;
        read_change(reader);
    }
    *marker = reader->open[__builtin_ctz(reader->ended)];
    marker->end = reader->now;
    reader->ended &= reader->ended - 1;
    return true;
}

static struct text gecko_state_markers_name(const struct gecko_marker *marker)
{
    const char *known = states[marker->subject].name;
    return text_of(known);
}

static void gecko_state_markers_emit_data(struct gecko *gecko, const struct gecko_marker *marker)
{
    gecko_markers_emit_type(gecko, states[marker->subject].name, states[marker->subject].color);
    gecko_markers_emit_beginning(gecko, marker);
}

static json_t *gecko_state_markers_schema_of(const struct state *state)
{
    json_t *fields = json_array();
    gecko_markers_add_beginning_field(fields);
    return gecko_markers_schema(state->name, state->description, "function", fields);
}

static void gecko_state_markers_add_schemas(const struct gecko *gecko, json_t *schemas)
{
    for (size_t i = 0; i < STATES; i++)
        if (gecko->seen & 1u << i)
            json_array_append_new(schemas, gecko_state_markers_schema_of(&states[i]));
}

const struct gecko_marker_kind gecko_state_markers = { gecko_state_markers_begin, gecko_state_markers_next,
                                                       gecko_state_markers_name, gecko_state_markers_emit_data,
                                                       gecko_state_markers_add_schemas };
