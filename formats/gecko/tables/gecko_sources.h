/* SPDX-License-Identifier: MIT */
/* The source files of all functions: how each is called in the viewer, its category and subcategory, and its resource.
 * A resource is the program, the installed package, the module of the standard library, or the library of native code
 * that a function belongs to. The viewer prints "numpy!dot", and can collapse all of a resource's frames; it dims a
 * function without a resource as a mere label, so each function with a file or a module has one. */
#ifndef PYREEL_FORMATS_GECKO_TABLES_GECKO_SOURCES_H
#define PYREEL_FORMATS_GECKO_TABLES_GECKO_SOURCES_H

#include "formats/gecko/gecko.h"
#include "formats/gecko/tables/gecko_categories.h"
#include "formats/intern/intern.h"
#include "formats/model/paths.h"

struct gecko_source {
    uint32_t file; /* string of the tables */
    size_t name;   /* string of the profile: the name in the viewer, by which it may fetch the text */
    enum gecko_category category;
    uint32_t subcategory;
    uint32_t resource; /* index of the resource */
};

/* `= {0}` is empty. */
struct gecko_sources {
    uint32_t *by_file;   /* by string: index of the source in `rows` + 1 */
    uint32_t *by_module; /* by string: index of the resource of native code + 1 */
    struct gecko_source *rows;
    size_t count, room;
    struct intern_pairs by_name; /* (name, 0) -> index in `rows` + 1 */
    struct intern resources;     /* index + 1 -> name */
    size_t *resource_names;      /* strings of the profile, by index */
    size_t resource_names_room;
    size_t *names; /* by function: string of the profile; 0: the function's own name */
    struct paths paths;
    char *title; /* of the program; NULL: the recording has several programs */
};

/* Collects the files of all functions that have a row. Call it after gecko_rows_make(). */
void gecko_sources_find(struct gecko *gecko);

/* The source of a function of the tables; NULL when the function has no file. */
const struct gecko_source *gecko_sources_of(const struct gecko *gecko, uint32_t function);

/* The index of the resource of a function of the tables; -1: none. */
int64_t gecko_sources_resource(const struct gecko *gecko, uint32_t function);

/* The string with the name of a function. A name that many modules have says whose it is: <module> app, and
 * <lambda> in app. */
size_t gecko_sources_function_name(const struct gecko *gecko, uint32_t function);

void gecko_sources_free(struct gecko_sources *sources);

/* ---- texts ----
 *
 * The text of source files in the profile, on request. Then the viewer shows how often each line was found, also when
 * the machine has no network, and to people who do not have the files. A file of the standard library whose public name
 * says where its text is needs no text here. The viewer leaves all texts out of what it uploads. */

/* Collects the lines that the recording names. Call it after gecko_sources_find(). */
void gecko_embedding_start(struct gecko *gecko);

/* Writes the text of a source, or null. */
void gecko_embedding_emit(struct gecko *gecko, size_t source);

#endif
