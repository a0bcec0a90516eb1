/* SPDX-License-Identifier: MIT */
/* The tables of a pprof profile: texts, mappings, functions and locations. Each row gets its id at first use, from 1
 * without gaps, and all are written at the end. So nothing unused is written.
 *
 * A position is a function, and a line, a column and an address where the profile shows them. A location is a position
 * in a mapping: that of the function's module, or of the interpreter's executable for a function without a module. The
 * positions of inlined functions, and the one around them, are one location: a line for each. */
#ifndef PYREEL_FORMATS_PPROF_PPROF_TABLES_H
#define PYREEL_FORMATS_PPROF_PPROF_TABLES_H

#include "formats/intern/intern.h"
#include "formats/model/paths.h"
#include "profile.pb-c.h"

/* Functions that the recording does not have. */
enum pprof_synthetic {
    PPROF_NO_FRAMES, /* <no Python frames>, the only frame of a stack without frames */
    PPROF_TRUNCATED, /* <truncated>, the middle of a stack that is deeper than the limit */
    PPROF_REST,      /* <rest>, all stacks of a thread that are too rare */
    PPROF_SYNTHETICS
};

struct pprof_position {
    uint32_t function; /* number in the tables; from tables->functions_count on: a synthetic function */
    uint32_t line;     /* 0: not known */
    uint32_t column;   /* from 1; 0: not known, or not wanted */
    uint32_t inlined;  /* as in struct frame; 0 without addresses */
    uint64_t address;  /* in the module of the function; 0: none, or not wanted */
};

struct pprof_location {
    Perftools__Profiles__Location message;
    size_t first_line, lines; /* in the list of all lines */
};

/* Arrays of messages begin with the message of id 1. */
struct pprof_tables {
    const struct tables *tables;
    const struct paths *qualify; /* functions are named with the module that this finds; NULL: without */
    struct bytes name;           /* the function's name that is being made */
    struct bytes printable;      /* the string that is being made */
    struct intern strings;       /* number 1 is the empty text, whose index in the profile is 0 */

    struct intern executables; /* by path, and behind a zero byte the paths of modules: the number is the id of the
                                * mapping */
    uint32_t *module_ids;      /* by string: the id of the mapping of a module; 0: not mapped yet */
    Perftools__Profiles__Mapping *mappings;
    size_t mappings_room;

    struct id_index position_index;   /* finds the number of a position */
    struct pprof_position *positions; /* by number; entry 0 is unused. There is room for one of each frame */
    uint32_t positions_count;         /* without entry 0 */

    struct intern_pairs inlined_ids;  /* (position, or UINT32_MAX - number of several; the next position) -> number */
    struct intern_pairs location_ids; /* (position, or UINT32_MAX - number of several; mapping) -> id */
    struct pprof_location *locations;
    size_t locations_room;
    Perftools__Profiles__Line *lines; /* of all locations */
    Perftools__Profiles__Line **line_list;
    size_t lines_count, lines_room;

    uint32_t *function_ids; /* by number of a function, as in pprof_position; 0: no id yet */
    Perftools__Profiles__Function *functions;
    size_t functions_count, functions_room;
};

/* Starts empty tables. `tables` must live as long, and must not grow any more; so must `qualify`. */
void pprof_tables_start(struct pprof_tables *to, const struct tables *tables, const struct paths *qualify);

/* The index of a text in the profile. The text becomes printable (formats/base/utf8.h): pprof prints names as they are.
 */
int64_t pprof_tables_string(struct pprof_tables *to, struct text text);

/* The id of the mapping of an interpreter's executable, by its path. */
uint32_t pprof_tables_mapping(struct pprof_tables *to, struct text executable);

/* The number of a position. Positions are not written, so unused ones do no harm. */
uint32_t pprof_tables_position(struct pprof_tables *to, struct pprof_position position);

/* The number of the position of a synthetic function. */
uint32_t pprof_tables_synthetic(struct pprof_tables *to, enum pprof_synthetic which);

/* The id of the location of `count` positions, the innermost first, of a process with this mapping of its executable
 * (0: none).
 * Several are inlined functions and what they are inlined into. */
uint64_t pprof_tables_location(struct pprof_tables *to, const uint32_t *positions, size_t count, uint32_t executable);

/* Whether a function at the first position is inlined at the second one. */
bool pprof_tables_is_inlined(const struct pprof_tables *tables, uint32_t position, uint32_t into);

/* Puts lists of all rows into `profile`. The lists are valid until pprof_tables_free_lists(), which frees only the
 * lists. Call no other function in between. */
void pprof_tables_make_lists(struct pprof_tables *from, Perftools__Profiles__Profile *profile);
void pprof_tables_free_lists(Perftools__Profiles__Profile *profile);

/* Frees all rows. */
void pprof_tables_free(struct pprof_tables *tables);

#endif
