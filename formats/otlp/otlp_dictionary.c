/* SPDX-License-Identifier: MIT */
#include "formats/otlp/otlp_dictionary.h"

#include "formats/base/alloc.h"

#include <stdlib.h>

#define MOST_INLINED 64 /* functions of a location */

/* ---- frames and stacks ---- */

static struct pprof_position otlp_position(const struct otlp_dictionary *to, const struct frame *frame)
{
    if (to->detail == DETAIL_FUNCTIONS)
        return (struct pprof_position){ frame->function, to->tables->functions[frame->function].first_line, 0, 0, 0 };
    const uint32_t column = to->detail == DETAIL_COLUMNS ? (uint32_t)frame->column + 1 : 0;
    return (struct pprof_position){ frame->function, frame->line, column, frame->inlined, frame->address };
}

void otlp_dictionary_start(struct otlp_dictionary *to, const struct tables *tables, enum frame_detail detail)
{
    *to = (struct otlp_dictionary){ .tables = tables, .detail = detail, .stacks_count = 1 };
    pprof_tables_start(&to->refers, tables, NULL);
    to->frame_labels = alloc_zeroed(tables->frames_count + 1, sizeof(*to->frame_labels));
    to->frame_labels[0] = pprof_tables_synthetic(&to->refers, PPROF_NO_FRAMES);
    for (size_t i = 1; i < tables->frames_count; i++)
        if (tables->frames[i].number)
            to->frame_labels[i] = pprof_tables_position(&to->refers, otlp_position(to, &tables->frames[i]));
    to->stacks = alloc_grow(to->stacks, &to->stacks_room, 1, sizeof(*to->stacks));
}

uint32_t otlp_dictionary_node(struct otlp_dictionary *to, uint32_t stack)
{
    return outline_node(&to->outline, to->tables, to->frame_labels, 0, stack);
}

static const char *frame_type(const struct otlp_dictionary *from, uint32_t function)
{
    const enum frame_kind kind = function < from->tables->functions_count ? from->tables->functions[function].kind
                                                                          : KIND_PYTHON;
    return kind == KIND_NATIVE ? "native" : kind == KIND_KERNEL ? "kernel" : "cpython";
}

/* The location of a node, and of the nodes that it is inlined into. *node becomes the caller of all. */
static int32_t otlp_take_location(struct otlp_dictionary *to, uint32_t *node)
{
    const struct stack *nodes = to->outline.nodes;
    uint32_t positions[MOST_INLINED];
    size_t count = 0;
    do {
        positions[count++] = nodes[*node].frame;
        *node = nodes[*node].caller;
    } while (count < MOST_INLINED && *node &&
             pprof_tables_is_inlined(&to->refers, positions[count - 1], nodes[*node].frame));
    const uint64_t id = pprof_tables_location(&to->refers, positions, count, 0);
    to->frame_types = alloc_grow(to->frame_types, &to->frame_types_room, (size_t)id + 1, sizeof(*to->frame_types));
    if (!to->frame_types[id]) {
        const char *type = frame_type(to, to->refers.positions[positions[0]].function);
        to->frame_types[id] = otlp_dictionary_text_attribute(to, "profile.frame.type", text_of(type));
    }
    return (int32_t)id;
}

int32_t otlp_dictionary_stack(struct otlp_dictionary *to, uint32_t node)
{
    to->node_stacks = alloc_grow(to->node_stacks, &to->node_stacks_room, (size_t)to->outline.count + 1,
                                 sizeof(*to->node_stacks));
    if (node == 0 || to->node_stacks[node])
        return node ? (int32_t)to->node_stacks[node] : 0;
    to->stacks = alloc_grow(to->stacks, &to->stacks_room, to->stacks_count + 1, sizeof(*to->stacks));
    struct otlp_stack stack = { .first = to->locations_count };
    for (uint32_t at = node; at; stack.count++) {
        const int32_t location = otlp_take_location(to, &at);
        to->locations = alloc_grow(to->locations, &to->locations_room, to->locations_count + 1, sizeof(*to->locations));
        to->locations[to->locations_count++] = location;
    }
    to->node_stacks[node] = (uint32_t)to->stacks_count;
    to->stacks[to->stacks_count] = stack;
    return (int32_t)to->stacks_count++;
}

/* ---- texts and attributes ---- */

int32_t otlp_dictionary_text(struct otlp_dictionary *to, const char *text)
{
    return (int32_t)pprof_tables_string(&to->refers, text_of(text));
}

static int32_t attribute_place(struct otlp_dictionary *to, const char *name, bool text, uint64_t value)
{
    bool added;
    const struct otlp_attribute attribute = { (uint32_t)otlp_dictionary_text(to, name), text, value };
    return (int32_t)intern_number(&to->attributes, &attribute, sizeof(attribute), &added);
}

int32_t otlp_dictionary_text_attribute(struct otlp_dictionary *to, const char *name, struct text value)
{
    return attribute_place(to, name, true, (uint64_t)pprof_tables_string(&to->refers, value));
}

int32_t otlp_dictionary_number_attribute(struct otlp_dictionary *to, const char *name, uint64_t value)
{
    return attribute_place(to, name, false, value);
}

int32_t otlp_dictionary_link(struct otlp_dictionary *to, struct span_ids span)
{
    bool added;
    return span_ids_some(span) ? (int32_t)intern_number(&to->links, &span, sizeof(span), &added) : 0;
}

/* ---- the message ---- */

/* A list of one place; none for 0. Returns how long the list is. */
static size_t list_place(struct otlp_parts *parts, int32_t place, int32_t **list)
{
    if (place == 0)
        return 0;
    *list = otlp_parts_new(parts, 1, sizeof(**list));
    **list = place;
    return 1;
}

static void fill_mappings(struct otlp_dictionary *from, Pyreel__Otlp__ProfilesDictionary *to, struct otlp_parts *parts)
{
    const struct pprof_tables *refers = &from->refers;
    const size_t count = (size_t)refers->executables.count + 1;
    Pyreel__Otlp__Mapping *rows = otlp_parts_new(parts, count, sizeof(*rows));
    for (size_t i = 0; i < count; i++) {
        pyreel__otlp__mapping__init(&rows[i]);
        if (i == 0)
            continue;
        const Perftools__Profiles__Mapping *mapping = &refers->mappings[i - 1];
        rows[i].memory_start = mapping->memory_start;
        rows[i].memory_limit = mapping->memory_limit;
        rows[i].file_offset = mapping->file_offset;
        rows[i].filename_strindex = (int32_t)mapping->filename;
        const int32_t id = mapping->build_id ? attribute_place(from, "process.executable.build_id.gnu", true,
                                                               (uint64_t)mapping->build_id)
                                             : 0;
        rows[i].n_attribute_indices = list_place(parts, id, &rows[i].attribute_indices);
    }
    to->n_mapping_table = count;
    to->mapping_table = otlp_parts_list(parts, rows, count, sizeof(*rows));
}

static void fill_functions(const struct otlp_dictionary *from, Pyreel__Otlp__ProfilesDictionary *to,
                           struct otlp_parts *parts)
{
    const struct pprof_tables *refers = &from->refers;
    const size_t count = refers->functions_count + 1;
    Pyreel__Otlp__Function *rows = otlp_parts_new(parts, count, sizeof(*rows));
    for (size_t i = 0; i < count; i++) {
        pyreel__otlp__function__init(&rows[i]);
        if (i == 0)
            continue;
        const Perftools__Profiles__Function *function = &refers->functions[i - 1];
        rows[i].name_strindex = (int32_t)function->name;
        rows[i].system_name_strindex = (int32_t)function->system_name;
        rows[i].filename_strindex = (int32_t)function->filename;
        rows[i].start_line = function->start_line;
    }
    to->n_function_table = count;
    to->function_table = otlp_parts_list(parts, rows, count, sizeof(*rows));
}

static void fill_locations(const struct otlp_dictionary *from, Pyreel__Otlp__ProfilesDictionary *to,
                           struct otlp_parts *parts)
{
    const struct pprof_tables *refers = &from->refers;
    const size_t count = (size_t)refers->location_ids.count + 1;
    Pyreel__Otlp__Location *rows = otlp_parts_new(parts, count, sizeof(*rows));
    Pyreel__Otlp__Line *lines = otlp_parts_new(parts, refers->lines_count, sizeof(*lines));
    Pyreel__Otlp__Line **line_list = (Pyreel__Otlp__Line **)otlp_parts_list(parts, lines, refers->lines_count,
                                                                            sizeof(*lines));
    for (size_t i = 0; i < refers->lines_count; i++) {
        pyreel__otlp__line__init(&lines[i]);
        lines[i].function_index = (int32_t)refers->lines[i].function_id;
        lines[i].line = refers->lines[i].line;
        lines[i].column = refers->lines[i].column;
    }
    for (size_t i = 0; i < count; i++) {
        pyreel__otlp__location__init(&rows[i]);
        if (i == 0)
            continue;
        const struct pprof_location *location = &refers->locations[i - 1];
        rows[i].mapping_index = (int32_t)location->message.mapping_id;
        rows[i].address = location->message.address;
        rows[i].lines = line_list + location->first_line;
        rows[i].n_lines = location->lines;
        rows[i].n_attribute_indices = list_place(parts, from->frame_types[i], &rows[i].attribute_indices);
    }
    to->n_location_table = count;
    to->location_table = otlp_parts_list(parts, rows, count, sizeof(*rows));
}

static void fill_stacks(const struct otlp_dictionary *from, Pyreel__Otlp__ProfilesDictionary *to,
                        struct otlp_parts *parts)
{
    Pyreel__Otlp__Stack *rows = otlp_parts_new(parts, from->stacks_count, sizeof(*rows));
    for (size_t i = 0; i < from->stacks_count; i++) {
        pyreel__otlp__stack__init(&rows[i]);
        rows[i].location_indices = from->locations + from->stacks[i].first;
        rows[i].n_location_indices = from->stacks[i].count;
    }
    to->n_stack_table = from->stacks_count;
    to->stack_table = otlp_parts_list(parts, rows, from->stacks_count, sizeof(*rows));
}

static void fill_attributes(const struct otlp_dictionary *from, Pyreel__Otlp__ProfilesDictionary *to,
                            struct otlp_parts *parts)
{
    const size_t count = (size_t)from->attributes.count + 1;
    Pyreel__Otlp__KeyValueAndUnit *rows = otlp_parts_new(parts, count, sizeof(*rows));
    Pyreel__Otlp__AnyValue *values = otlp_parts_new(parts, count, sizeof(*values));
    for (size_t i = 0; i < count; i++) {
        pyreel__otlp__key_value_and_unit__init(&rows[i]);
        if (i == 0)
            continue;
        struct otlp_attribute attribute;
        memcpy(&attribute, from->attributes.texts[i].bytes, sizeof(attribute));
        pyreel__otlp__any_value__init(&values[i]);
        values[i].value_case = attribute.text ? PYREEL__OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX
                                              : PYREEL__OTLP__ANY_VALUE__VALUE_INT_VALUE;
        if (attribute.text)
            values[i].string_value_strindex = (int32_t)attribute.value;
        else
            values[i].int_value = (int64_t)attribute.value;
        rows[i].key_strindex = (int32_t)attribute.name;
        rows[i].value = &values[i];
    }
    to->n_attribute_table = count;
    to->attribute_table = otlp_parts_list(parts, rows, count, sizeof(*rows));
}

static void put_id(uint8_t *to, uint64_t half)
{
    for (unsigned i = 0; i < 8; i++)
        to[i] = (uint8_t)(half >> (56 - 8 * i));
}

#define TRACE_BYTES 16
#define SPAN_BYTES  8

/* The empty link has ids of zeros. */
static void fill_links(const struct otlp_dictionary *from, Pyreel__Otlp__ProfilesDictionary *to,
                       struct otlp_parts *parts)
{
    const size_t count = (size_t)from->links.count + 1;
    Pyreel__Otlp__Link *rows = otlp_parts_new(parts, count, sizeof(*rows));
    uint8_t *ids = otlp_parts_new(parts, count, TRACE_BYTES + SPAN_BYTES);
    for (size_t i = 0; i < count; i++, ids += TRACE_BYTES + SPAN_BYTES) {
        struct span_ids span = { 0 };
        if (i > 0)
            memcpy(&span, from->links.texts[i].bytes, sizeof(span));
        put_id(ids, span.trace_high);
        put_id(ids + 8, span.trace_low);
        put_id(ids + TRACE_BYTES, span.id);
        pyreel__otlp__link__init(&rows[i]);
        rows[i].trace_id = (ProtobufCBinaryData){ TRACE_BYTES, ids };
        rows[i].span_id = (ProtobufCBinaryData){ SPAN_BYTES, ids + TRACE_BYTES };
    }
    to->n_link_table = count;
    to->link_table = otlp_parts_list(parts, rows, count, sizeof(*rows));
}

static void fill_texts(const struct otlp_dictionary *from, Pyreel__Otlp__ProfilesDictionary *to,
                       struct otlp_parts *parts)
{
    const struct intern *strings = &from->refers.strings;
    to->n_string_table = strings->count;
    to->string_table = otlp_parts_new(parts, strings->count, sizeof(*to->string_table));
    for (uint32_t i = 0; i < strings->count; i++)
        to->string_table[i] = (char *)strings->texts[i + 1].bytes;
}

void otlp_dictionary_fill(struct otlp_dictionary *from, Pyreel__Otlp__ProfilesDictionary *to, struct otlp_parts *parts)
{
    pyreel__otlp__profiles_dictionary__init(to);
    fill_mappings(from, to, parts); /* makes attributes, ... */
    fill_functions(from, to, parts);
    fill_locations(from, to, parts);
    fill_stacks(from, to, parts);
    fill_links(from, to, parts);
    fill_attributes(from, to, parts); /* ... and both have texts */
    fill_texts(from, to, parts);
}

void otlp_dictionary_free(struct otlp_dictionary *dictionary)
{
    pprof_tables_free(&dictionary->refers);
    outline_free(&dictionary->outline);
    intern_free(&dictionary->attributes);
    intern_free(&dictionary->links);
    free(dictionary->frame_labels);
    free(dictionary->node_stacks);
    free(dictionary->locations);
    free(dictionary->stacks);
    free(dictionary->frame_types);
    *dictionary = (struct otlp_dictionary){ 0 };
}
