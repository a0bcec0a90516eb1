/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof.h"

#include "formats/base/alloc.h"
#include "formats/model/exactness.h"
#include "formats/model/outline.h"
#include "formats/pprof/pprof_labels.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKET_SAMPLES      256
#define PACKET_LOCATIONS    ((size_t)64 << 10) /* locations of a packet, unless a single sample has more */
#define COMMENT_SIZE        240
#define COMMENTED_PROCESSES 8

/* The values of a sample. All profiles have the same, because pprof merges and compares only profiles that do. */
static const struct {
    const char *type, *unit;
    enum aggregate_sum sum;
} columns[] = {
    { "samples", "count", SUM_SAMPLES },
    { "wall", "nanoseconds", SUM_WALL_NS },
    { "cpu", "nanoseconds", SUM_CPU_NS },
    { "gil", "nanoseconds", SUM_GIL_NS },
    { "gil_wait", "nanoseconds", SUM_GIL_WAIT_NS },
};
#define COLUMNS countof(columns)
#define WALL    1 /* indexes in `columns` */
#define CPU     2

/* Samples that are written together. */
struct packet {
    Perftools__Profiles__Sample samples[PACKET_SAMPLES];
    Perftools__Profiles__Sample *list[PACKET_SAMPLES];
    int64_t values[PACKET_SAMPLES][COLUMNS];
    Perftools__Profiles__Label labels[PACKET_SAMPLES][PPROF_LABELS];
    Perftools__Profiles__Label *label_lists[PACKET_SAMPLES][PPROF_LABELS];
    size_t count;
    uint64_t *locations; /* locations of all stacks, one stack after the other */
    size_t locations_used, locations_room;
};

struct pprof {
    struct output *to;
    const struct tables *tables;
    struct aggregate *aggregate; /* once merged, its rows are by (number of the labels, node) */
    const struct pprof_style *style;

    struct pprof_tables refers;
    uint32_t *frame_labels; /* by frame: its label, which is a row of function and line */
    struct outline outline; /* each mapping has a node under the root */
    struct pprof_labels labels;

    struct packet packet;
    uint8_t *packed;
    size_t packed_room;
};

static void write_message(struct pprof *pprof, const Perftools__Profiles__Profile *profile)
{
    const size_t size = perftools__profiles__profile__get_packed_size(profile);
    pprof->packed = alloc_grow(pprof->packed, &pprof->packed_room, size, 1);
    perftools__profiles__profile__pack(profile, pprof->packed);
    output_bytes(pprof->to, pprof->packed, size);
}

static Perftools__Profiles__ValueType value_type(struct pprof *pprof, size_t column)
{
    const char *type = columns[column].type, *unit = columns[column].unit;
    Perftools__Profiles__ValueType value = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    value.type = pprof_tables_string(&pprof->refers, (struct text){ type, strlen(type) });
    value.unit = pprof_tables_string(&pprof->refers, (struct text){ unit, strlen(unit) });
    return value;
}

static void write_columns(struct pprof *pprof)
{
    Perftools__Profiles__ValueType types[COLUMNS], *list[COLUMNS];
    Perftools__Profiles__Profile head = PERFTOOLS__PROFILES__PROFILE__INIT;
    for (size_t i = 0; i < COLUMNS; i++) {
        types[i] = value_type(pprof, i);
        list[head.n_sample_type++] = &types[i];
    }
    head.sample_type = list;
    write_message(pprof, &head);
}

static void label_frames(struct pprof *pprof)
{
    const struct tables *tables = pprof->tables;
    pprof->frame_labels = alloc_zeroed(tables->frames_count + 1, sizeof(*pprof->frame_labels));
    for (size_t i = 1; i < tables->frames_count; i++) {
        const struct frame *frame = &tables->frames[i];
        if (!frame->number)
            continue;
        const uint32_t first_line = tables->functions[frame->function].first_line;
        const uint32_t line = pprof->style->detail == DETAIL_FUNCTIONS ? first_line : frame->line;
        pprof->frame_labels[i] = pprof_tables_position(&pprof->refers, frame->function, line);
    }
}

static uint32_t process_mapping(struct pprof *pprof, uint32_t process)
{
    const struct text executable = pprof->tables->processes[process].process.executable;
    return pprof_tables_mapping(&pprof->refers, executable.size ? executable : TEXT("python"));
}

/* Makes the mapping of the first process. pprof takes the first mapping for the main program, and wants one even
 * without samples. */
static void map_main_program(struct pprof *pprof)
{
    const struct tables *tables = pprof->tables;
    for (size_t i = 1; i < tables->processes_count; i++) {
        if (tables->processes[i].process.number) {
            process_mapping(pprof, (uint32_t)i);
            return;
        }
    }
    pprof_tables_mapping(&pprof->refers, TEXT("python"));
}

static uint32_t said_of(struct pprof *pprof, const struct aggregate_row *row)
{
    struct pprof_said said = { .thread = row->thread, .task = row->task };
    if (pprof->style->opcodes && row->stack) {
        const struct frame *leaf = &pprof->tables->frames[pprof->tables->stacks[row->stack].frame];
        said.instruction = leaf->instruction;
        said.base = leaf->base;
    }
    return pprof_labels_number(&pprof->labels, &said);
}

/* Names a row by its labels and its node, so that rows that look the same in the profile are merged. */
static void rename_row(void *self, struct aggregate_row *row)
{
    struct pprof *pprof = self;
    const struct tables *tables = pprof->tables;
    const uint32_t mapping = process_mapping(pprof, tables->threads[row->thread].thread.process);
    const uint32_t root = outline_child(&pprof->outline, 0, mapping);
    const uint32_t said = said_of(pprof, row);
    row->stack = outline_node(&pprof->outline, tables, pprof->frame_labels, root, row->stack);
    row->thread = said; /* a merged row has the number of its labels here */
    row->task = 0;
}

static void merge_rows(struct pprof *pprof)
{
    aggregate_merge(pprof->aggregate, rename_row, pprof);
    outline_end_placing(&pprof->outline);
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

/* The mapping's node above a stack. *depth is the depth of the stack below it. */
static uint32_t mapping_node(const struct outline *outline, uint32_t node, size_t *depth)
{
    for (*depth = 0; outline->nodes[node].caller; ++*depth)
        node = outline->nodes[node].caller;
    return node;
}

static void fill_values(int64_t *values, const struct aggregate_row *row)
{
    for (size_t i = 0; i < COLUMNS; i++)
        values[i] = (int64_t)row->sums[columns[i].sum];
}

static void label_sample(struct pprof *pprof, Perftools__Profiles__Sample *sample, uint32_t said)
{
    struct packet *packet = &pprof->packet;
    Perftools__Profiles__Label *made = packet->labels[packet->count];
    sample->label = packet->label_lists[packet->count];
    sample->n_label = pprof_labels_make(&pprof->labels, said, &pprof->refers, made);
    for (size_t i = 0; i < sample->n_label; i++)
        sample->label[i] = &made[i];
}

static void add_sample(struct pprof *pprof, const struct aggregate_row *row)
{
    const struct stack *nodes = pprof->outline.nodes;
    size_t depth;
    const uint32_t mapping = nodes[mapping_node(&pprof->outline, row->stack, &depth)].frame;
    uint64_t *locations = take_locations(pprof, depth);
    uint32_t node = row->stack;
    for (size_t i = 0; i < depth; i++, node = nodes[node].caller)
        locations[i] = pprof_tables_location(&pprof->refers, nodes[node].frame, mapping);

    struct packet *packet = &pprof->packet;
    Perftools__Profiles__Sample *sample = &packet->samples[packet->count];
    perftools__profiles__sample__init(sample);
    sample->n_location_id = depth;
    sample->location_id = locations;
    sample->value = packet->values[packet->count];
    sample->n_value = COLUMNS;
    fill_values(sample->value, row);
    label_sample(pprof, sample, row->thread);
    packet->list[packet->count++] = sample;
}

static void write_samples(struct pprof *pprof)
{
    for (size_t i = 0; i < pprof->aggregate->count; i++)
        add_sample(pprof, &pprof->aggregate->rows[i]);
    write_packet(pprof);
}

/* Makes a comment one short line, because pprof prints comments above its tables. Returns the new size. */
static size_t tidy(char *line, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7F)
            line[i] = ' ';
    if (size <= COMMENT_SIZE)
        return size;
    size = COMMENT_SIZE;
    while (((unsigned char)line[size] & 0xC0) == 0x80) /* do not cut a character in two */
        size--;
    return size;
}

__attribute__((format(printf, 3, 4))) static void comment(struct pprof *pprof, Perftools__Profiles__Profile *profile,
                                                          const char *format, ...)
{
    char *line;
    va_list values;
    va_start(values, format);
    const int size = vasprintf(&line, format, values);
    va_end(values);
    if (size < 0)
        return;
    const struct text text = { line, tidy(line, (size_t)size) };
    profile->comment[profile->n_comment++] = pprof_tables_string(&pprof->refers, text);
    free(line);
}

static void comment_process(struct pprof *pprof, Perftools__Profiles__Profile *profile, const struct process *process)
{
    char version[32];
    comment(pprof, profile, "process %" PRIu32 ": Python %s%s%.*s", process->pid,
            event_python_version_text(version, process->python_version), process->command.size ? ": " : "",
            (int)process->command.size, process->command.bytes);
}

/* Adds comments about the exactness, if the recorder counted it. */
static void comment_exactness(struct pprof *pprof, Perftools__Profiles__Profile *profile)
{
    const struct exactness exactness = exactness_of(pprof->tables);
    char room[EXACTNESS_ROOM];
    if (exactness.has_left_out && exactness_rate(room, &exactness)[0])
        comment(pprof, profile, "rate: %s", room);
    if (exactness_share(room, &exactness)[0])
        comment(pprof, profile, "%s", room);
}

/* Names the columns that are 0 because nobody knows them. */
static void comment_unknown(struct pprof *pprof, Perftools__Profiles__Profile *profile)
{
    const struct aggregate *aggregate = pprof->aggregate;
    for (size_t i = 0; i < COLUMNS; i++) {
        const enum aggregate_sum sum = columns[i].sum;
        const uint64_t unknown = aggregate->samples - aggregate_known(aggregate, sum);
        if (unknown == 0)
            continue;
        if (unknown == aggregate->samples)
            comment(pprof, profile, "column %s is not known and 0: %s", columns[i].type, aggregate_reason(sum));
        else
            comment(pprof, profile, "column %s is not known of %" PRIu64 " samples: %s", columns[i].type, unknown,
                    aggregate_reason(sum));
    }
}

/* Adds comments about the recording, in few lines. */
static void write_comments(struct pprof *pprof, Perftools__Profiles__Profile *profile)
{
    const struct tables *tables = pprof->tables;
    const struct recording *recording = &tables->recording;
    size_t processes = 0;
    for (size_t i = 1; i < tables->processes_count; i++)
        if (tables->processes[i].process.number && processes++ < COMMENTED_PROCESSES)
            comment_process(pprof, profile, &tables->processes[i].process);
    if (processes > COMMENTED_PROCESSES)
        comment(pprof, profile, "and %zu more processes", processes - COMMENTED_PROCESSES);
    if (recording->pyreel_version.size)
        comment(pprof, profile, "recorded by pyreel %.*s: %.*s", (int)recording->pyreel_version.size,
                recording->pyreel_version.bytes, (int)recording->command.size, recording->command.bytes);
    comment(pprof, profile, "%" PRIu64 " samples; %" PRIu64 " failed, %s%" PRIu64 " lost; %" PRIu64 " ticks missed",
            tables->samples, tables->failed, tables->missing_estimated ? "about " : "", tables->missing,
            tables->missed);
    comment_exactness(pprof, profile);
    if (tables->left_out)
        comment(pprof, profile, "%" PRIu64 " looks at threads are left out: the mode does not keep their samples",
                tables->left_out);
    comment_unknown(pprof, profile);
    if (pprof->style->unplaced_cpu_ns)
        comment(pprof, profile, "%.6f s of CPU time belong to threads without a sample and are not in column cpu",
                (double)pprof->style->unplaced_cpu_ns / 1e9);
    if (tables->end.reason ? tables->end.reason == END_UNWRITTEN : tables->cut || !tables->recording.no_end_reason)
        comment(pprof, profile, "the recording was cut off");
}

/* Writes the tables to which samples refer, and the members that occur once. */
static void write_rest(struct pprof *pprof)
{
    const struct tables *tables = pprof->tables;
    int64_t comments[COMMENTED_PROCESSES + 8 + COLUMNS];
    Perftools__Profiles__Profile rest = PERFTOOLS__PROFILES__PROFILE__INIT;
    Perftools__Profiles__ValueType wall = value_type(pprof, WALL);
    const bool cpu_first = pprof->style->cpu_first && aggregate_knows(pprof->aggregate, SUM_CPU_NS);

    const uint64_t from_ns = tables->recording.from_ns;
    const uint64_t end_ns = tables_end_ns(tables);
    rest.time_nanos = (int64_t)(tables->recording.start_unix_ns + from_ns);
    rest.duration_nanos = (int64_t)(end_ns > from_ns ? end_ns - from_ns : 0);
    rest.period_type = &wall;
    rest.period = (int64_t)tables->recording.interval_ns;
    rest.default_sample_type = cpu_first ? value_type(pprof, CPU).type : wall.type;
    rest.comment = comments;
    write_comments(pprof, &rest);

    pprof_tables_make_lists(&pprof->refers, &rest);
    write_message(pprof, &rest);
    pprof_tables_free_lists(&rest);
}

static void drop(struct pprof *pprof)
{
    pprof_tables_free(&pprof->refers);
    outline_free(&pprof->outline);
    pprof_labels_free(&pprof->labels);
    free(pprof->frame_labels);
    free(pprof->packet.locations);
    free(pprof->packed);
    free(pprof);
}

size_t pprof_write(struct output *to, const struct tables *tables, struct aggregate *aggregate,
                   const struct pprof_style *style)
{
    struct pprof *pprof = alloc_zeroed(1, sizeof(*pprof));
    pprof->to = to;
    pprof->tables = tables;
    pprof->aggregate = aggregate;
    pprof->style = style;
    pprof_tables_start(&pprof->refers, tables);

    write_columns(pprof);
    map_main_program(pprof);
    label_frames(pprof);
    merge_rows(pprof);
    write_samples(pprof);
    write_rest(pprof);
    const size_t samples = pprof->aggregate->count;
    drop(pprof);
    return samples;
}
