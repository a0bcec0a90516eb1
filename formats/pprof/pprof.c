/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof.h"

#include "formats/base/alloc.h"
#include "formats/pprof/pprof_comments.h"
#include "formats/pprof/pprof_rows.h"

#include <stdlib.h>
#include <string.h>

#define PACKET_SAMPLES   256
#define MOST_INLINED     64                 /* positions of a location */
#define PACKET_LOCATIONS ((size_t)64 << 10) /* locations of a packet, unless a single sample has more */

/* Samples that are written together. */
struct packet {
    Perftools__Profiles__Sample samples[PACKET_SAMPLES];
    Perftools__Profiles__Sample *list[PACKET_SAMPLES];
    int64_t values[PACKET_SAMPLES][SUMS];
    Perftools__Profiles__Label labels[PACKET_SAMPLES][PPROF_LABELS];
    Perftools__Profiles__Label *label_lists[PACKET_SAMPLES][PPROF_LABELS];
    size_t count;
    uint64_t *locations; /* locations of all stacks, one stack after the other */
    size_t locations_used, locations_room;
};

struct pprof {
    struct output *to;
    const struct tables *tables;
    const struct aggregate *aggregate;
    const struct pprof_style *style;

    struct pprof_rows rows;
    struct packet packet;
    uint8_t *packed;
    size_t packed_room;
    size_t samples; /* that were written */
};

static void write_message(struct pprof *pprof, const Perftools__Profiles__Profile *profile)
{
    const size_t size = perftools__profiles__profile__get_packed_size(profile);
    pprof->packed = alloc_grow(pprof->packed, &pprof->packed_room, size, 1);
    perftools__profiles__profile__pack(profile, pprof->packed);
    output_bytes(pprof->to, pprof->packed, size);
}

static Perftools__Profiles__ValueType value_type(struct pprof *pprof, enum aggregate_sum sum)
{
    const char *type = sum_rows[sum].name, *unit = sum == SUM_SAMPLES ? "count" : "nanoseconds";
    Perftools__Profiles__ValueType value = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    value.type = pprof_tables_string(&pprof->rows.refers, text_of(type));
    value.unit = pprof_tables_string(&pprof->rows.refers, text_of(unit));
    return value;
}

static void write_columns(struct pprof *pprof)
{
    Perftools__Profiles__ValueType types[SUMS], *list[SUMS];
    Perftools__Profiles__Profile head = PERFTOOLS__PROFILES__PROFILE__INIT;
    for (size_t i = 0; i < SUMS; i++) {
        types[i] = value_type(pprof, i);
        list[head.n_sample_type++] = &types[i];
    }
    head.sample_type = list;
    write_message(pprof, &head);
}

static void write_packet(struct pprof *pprof)
{
    struct packet *packet = &pprof->packet;
    Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
    part.n_sample = packet->count;
    part.sample = packet->list;
    write_message(pprof, &part);
    packet->count = 0;
    packet->locations_used = 0;
}

/* Makes room for the locations of one more sample. Locations of waiting samples must not move, so the array grows only
 * when no samples wait. */
static uint64_t *take_locations(struct pprof *pprof, size_t depth)
{
    struct packet *packet = &pprof->packet;
    if (packet->count == PACKET_SAMPLES || packet->locations_used + depth > packet->locations_room) {
        write_packet(pprof);
        const size_t wanted = depth > PACKET_LOCATIONS ? depth : PACKET_LOCATIONS;
        packet->locations = alloc_grow(packet->locations, &packet->locations_room, wanted, sizeof(*packet->locations));
    }
    uint64_t *taken = packet->locations + packet->locations_used;
    packet->locations_used += depth;
    return taken;
}

static void fill_values(int64_t *values, const struct aggregate_row *row)
{
    for (size_t i = 0; i < SUMS; i++)
        values[i] = (int64_t)row->sums[i];
}

static void label_sample(struct pprof *pprof, Perftools__Profiles__Sample *sample, uint32_t said)
{
    struct packet *packet = &pprof->packet;
    Perftools__Profiles__Label *made = packet->labels[packet->count];
    sample->label = packet->label_lists[packet->count];
    sample->n_label = pprof_labels_make(&pprof->rows.labels, said, &pprof->rows.refers, made);
    for (size_t i = 0; i < sample->n_label; i++)
        sample->label[i] = &made[i];
}

/* The location of a node, and of the nodes that it is inlined into. *node becomes the caller of all. */
static uint64_t take_location(struct pprof *pprof, uint32_t *node, uint32_t mapping)
{
    const struct stack *nodes = pprof->rows.outline.nodes;
    uint32_t positions[MOST_INLINED];
    size_t count = 0;
    do {
        positions[count++] = nodes[*node].frame;
        *node = nodes[*node].caller;
    } while (count < MOST_INLINED && nodes[*node].caller &&
             pprof_tables_is_inlined(&pprof->rows.refers, positions[count - 1], nodes[*node].frame));
    return pprof_tables_location(&pprof->rows.refers, positions, count, mapping);
}

static void pprof_add_sample(struct pprof *pprof, const struct aggregate_row *row)
{
    const struct outline *outline = &pprof->rows.outline;
    size_t depth, count = 0;
    const uint32_t root = outline_top(outline, row->stack, &depth), mapping = outline->nodes[root].frame;
    uint64_t *locations = take_locations(pprof, depth);
    for (uint32_t node = row->stack; node != root; count++)
        locations[count] = take_location(pprof, &node, mapping);

    struct packet *packet = &pprof->packet;
    Perftools__Profiles__Sample *sample = &packet->samples[packet->count];
    perftools__profiles__sample__init(sample);
    sample->n_location_id = count;
    sample->location_id = locations;
    sample->value = packet->values[packet->count];
    sample->n_value = SUMS;
    fill_values(sample->value, row);
    label_sample(pprof, sample, row->thread);
    packet->list[packet->count++] = sample;
    pprof->samples++;
}

static void write_samples(struct pprof *pprof)
{
    const struct aggregate *merged = &pprof->rows.merged, *rest = &pprof->rows.rest;
    for (size_t i = 0; i < merged->count; i++)
        if (pprof_rows_keep(&pprof->rows, &merged->rows[i]))
            pprof_add_sample(pprof, &merged->rows[i]);
    for (size_t i = 0; i < rest->count; i++)
        pprof_add_sample(pprof, &rest->rows[i]);
    write_packet(pprof);
}

/* Writes the tables to which samples refer, and the members that occur once. */
static void write_rest(struct pprof *pprof)
{
    const struct tables *tables = pprof->tables;
    int64_t comments[PPROF_COMMENTS];
    Perftools__Profiles__Profile rest = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__ValueType wall = value_type(pprof, SUM_WALL_NS);
    const bool cpu_first = pprof->style->cpu_first && aggregate_knows(pprof->aggregate, SUM_CPU_NS);

    const uint64_t from_ns = pprof_part_begin_ns(&pprof->style->part, tables);
    const uint64_t end_ns = pprof_part_end_ns(&pprof->style->part, tables);
    rest.time_nanos = (int64_t)(tables->recording.start_unix_ns + from_ns);
    rest.duration_nanos = (int64_t)(end_ns > from_ns ? end_ns - from_ns : 0);
    rest.period_type = &wall;
    rest.period = (int64_t)tables->recording.interval_ns;
    rest.default_sample_type = cpu_first ? value_type(pprof, SUM_CPU_NS).type : wall.type;
    rest.comment = comments;
    rest.n_comment = pprof_comments_make(&pprof->rows.refers, pprof->aggregate, pprof->style, comments);

    pprof_tables_make_lists(&pprof->rows.refers, &rest);
    write_message(pprof, &rest);
    pprof_tables_free_lists(&rest);
}

static void pprof_drop(struct pprof *pprof)
{
    pprof_rows_free(&pprof->rows);
    free(pprof->packet.locations);
    free(pprof->packed);
    free(pprof);
}

size_t pprof_write(struct output *to, const struct tables *tables, const struct aggregate *aggregate,
                   const struct pprof_style *style)
{
    struct pprof *pprof = alloc_zeroed(1, sizeof(*pprof));
    pprof->to = to;
    pprof->tables = tables;
    pprof->aggregate = aggregate;
    pprof->style = style;
    pprof_rows_make(&pprof->rows, tables, aggregate, style);
    write_columns(pprof);
    write_samples(pprof);
    write_rest(pprof);
    const size_t samples = pprof->samples;
    pprof_drop(pprof);
    return samples;
}

size_t pprof_count(const struct tables *tables, const struct aggregate *aggregate, const struct pprof_style *style)
{
    struct pprof_rows rows;
    pprof_rows_make(&rows, tables, aggregate, style);
    const size_t count = pprof_rows_count(&rows);
    pprof_rows_free(&rows);
    return count;
}
