/* SPDX-License-Identifier: MIT */
/* The tables that all profiles of a request share. Each entry gets its place at first use, so nothing is unused; place
 * 0 is the empty entry. Texts, functions, locations and mappings are those of pprof's tables, whose numbers begin with
 * 1, too. */
#ifndef PYREEL_FORMATS_OTLP_OTLP_DICTIONARY_H
#define PYREEL_FORMATS_OTLP_OTLP_DICTIONARY_H

#include "formats/base/bytes.h"
#include "formats/model/outline.h"
#include "formats/otlp/otlp_parts.h"
#include "formats/pprof/pprof_tables.h"
#include "otlp.pb-c.h"

struct otlp_attribute {
    uint32_t name; /* place of the text */
    uint32_t text; /* whether the value is a place of a text */
    uint64_t value;
};

struct otlp_stack {
    size_t first, count; /* of its locations */
};

struct otlp_dictionary {
    const struct tables *tables;
    enum frame_detail detail;
    struct pprof_tables refers;
    uint32_t *frame_labels; /* by frame: the number of its position */
    struct outline outline;
    uint32_t *node_stacks; /* by node of the outline: place of the stack; 0: none yet */
    size_t node_stacks_room;
    int32_t *locations; /* of all stacks, one after the other, leaf first */
    size_t locations_count, locations_room;
    struct otlp_stack *stacks; /* by place; 0 is empty */
    size_t stacks_count, stacks_room;
    struct intern attributes; /* struct otlp_attribute as bytes: the number is the place */
    struct intern links;      /* struct span_ids as bytes: the number is the place */
    int32_t *frame_types;     /* by id of a location: place of the attribute */
    size_t frame_types_room;
};

/* Starts with the empty entries. The tables must not grow any more. */
void otlp_dictionary_start(struct otlp_dictionary *to, const struct tables *tables, enum frame_detail detail);

/* The node of a stack of the tables: equal nodes look the same. All nodes come before the first
 * otlp_dictionary_stack().
 */
uint32_t otlp_dictionary_node(struct otlp_dictionary *to, uint32_t stack);

/* The place of the stack of a node. */
int32_t otlp_dictionary_stack(struct otlp_dictionary *to, uint32_t node);

/* The place of a text. */
int32_t otlp_dictionary_text(struct otlp_dictionary *to, const char *text);

/* The place of an attribute. */
int32_t otlp_dictionary_text_attribute(struct otlp_dictionary *to, const char *name, struct text value);
int32_t otlp_dictionary_number_attribute(struct otlp_dictionary *to, const char *name, uint64_t value);

/* The place of a link to a span; 0 where all is 0: the empty entry. */
int32_t otlp_dictionary_link(struct otlp_dictionary *to, struct span_ids span);

/* Fills in the message. Its parts are those of `parts`, and of the dictionary. Nothing may be added afterwards. */
void otlp_dictionary_fill(struct otlp_dictionary *from, Pyreel__Otlp__ProfilesDictionary *to, struct otlp_parts *parts);

/* Frees all tables. */
void otlp_dictionary_free(struct otlp_dictionary *dictionary);

#endif
