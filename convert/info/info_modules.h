/* SPDX-License-Identifier: MIT */
/* The programs and libraries whose C functions a recording has, and how good these are: how many of them have a name,
 * where stacks could not be unwound, and whether their lines are known here. */
#ifndef PYREEL_CONVERT_INFO_INFO_MODULES_H
#define PYREEL_CONVERT_INFO_INFO_MODULES_H

#include "formats/base/output.h"
#include "formats/model/tables.h"

#include <jansson.h>

struct info_module {
    uint32_t path;          /* string */
    uint64_t samples;       /* samples that have functions of the module */
    uint64_t leaves;        /* samples with such a function at their leaf */
    uint64_t frames, named; /* frames of the samples, and those whose function has a name */
    uint64_t holes;         /* samples in which the caller of such a function is not known: <native> */
    bool lines;             /* debug information of the same build is on this machine */
};

/* `= {0}` is empty. */
struct info_modules {
    struct info_module *rows; /* those with the most samples first */
    size_t count;
};

/* Sums up the samples of a recording. `samples` has their number by stack of the tables, for the first `room` stacks.
 */
struct info_modules info_modules_of(const struct tables *tables, const uint64_t *samples, size_t room);

/* All modules as a JSON list of objects. The caller owns the list. */
json_t *info_modules_json(const struct info_modules *modules, const struct tables *tables);

/* Prints a table of the modules: of all, or of those that have the most samples. */
void info_modules_print(struct output *to, const struct info_modules *modules, const struct tables *tables, bool all);

/* Frees the rows. */
void info_modules_free(struct info_modules *modules);

#endif
