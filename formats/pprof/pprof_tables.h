/* SPDX-License-Identifier: MIT */
/* What the samples of a pprof profile refer to: texts, mappings, functions, locations. Each gets its id when it is
 * first asked for, from 1 without gaps, and all are written at the end: nothing is written that nothing refers to.
 *
 * A place is a location before it is known which interpreter it is in: a function and a line. */
#ifndef PYREEL_FORMATS_PPROF_PPROF_TABLES_H
#define PYREEL_FORMATS_PPROF_PPROF_TABLES_H

#include "formats/intern/intern.h"
#include "formats/model/tables.h"
#include "profile.pb-c.h"

struct pprof_place {
    uint32_t function; /* of the tables; 0: the one that stands for a stack without frames */
    uint32_t line;
};

struct pprof_location {
    Perftools__Profiles__Location message;
    Perftools__Profiles__Line line;
    Perftools__Profiles__Line *lines[1];
};

/* Arrays of messages begin with the one of id 1. */
struct pprof_tables {
    const struct tables *tables;
    struct intern strings; /* number 1 is the empty text, which pprof calls 0 */

    struct intern executables; /* their numbers are the ids of the mappings */
    Perftools__Profiles__Mapping *mappings;
    size_t mappings_room;

    struct intern_pairs place_numbers; /* of (function, line) */
    struct pprof_place *places;        /* by number; entry 0 is the place of a stack without frames */
    size_t places_room;

    struct intern_pairs location_ids; /* (place, mapping) -> id */
    struct pprof_location *locations;
    size_t locations_room;

    uint32_t *function_ids; /* by number in the tables, 0 while not asked for */
    Perftools__Profiles__Function *functions;
    size_t functions_count, functions_room;
};

/* Starts empty tables for what `tables` define; they must live as long and not grow any more. */
void pprof_tables_start(struct pprof_tables *to, const struct tables *tables);

/* What a text is called in the profile. */
int64_t pprof_tables_string(struct pprof_tables *to, struct text text);

/* The id of the mapping of an interpreter's executable. */
uint32_t pprof_tables_mapping(struct pprof_tables *to, struct text executable);

/* The number of a place. Places are not written, so one may ask for those that nothing refers to. */
uint32_t pprof_tables_place(struct pprof_tables *to, uint32_t function, uint32_t line);

/* The id of a place in a mapping. */
uint64_t pprof_tables_location(struct pprof_tables *to, uint32_t place, uint32_t mapping);

/* Gives `profile` lists of everything that has an id. They hold until pprof_tables_free_lists(), which frees just the
 * lists; no other function may be called in between. */
void pprof_tables_make_lists(struct pprof_tables *from, Perftools__Profiles__Profile *profile);
void pprof_tables_free_lists(Perftools__Profiles__Profile *profile);

void pprof_tables_free(struct pprof_tables *tables);

#endif
