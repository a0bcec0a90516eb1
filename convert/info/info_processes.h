/* SPDX-License-Identifier: MIT */
/* The processes of a recording, as pyreel-info shows them: lines, a table that shows who is whose child, JSON. */
#ifndef PYREEL_CONVERT_INFO_INFO_PROCESSES_H
#define PYREEL_CONVERT_INFO_INFO_PROCESSES_H

#include "formats/base/output.h"
#include "formats/calls/account.h"

#include <jansson.h>

/* Adds the members of an account to an object; null where it is not known. */
void info_json_put_account(json_t *object, const struct account *account);

/* Prints what kind of build a CPython is, if that is unusual. */
void info_print_build(struct output *to, const struct process *process);

/* The list of all processes. The caller owns it. */
json_t *info_processes_json(const struct tables *tables, const struct accounts *accounts);

/* Prints a line for each process of a recording that does not say how its processes belong together. */
void info_processes_print_lines(struct output *to, const struct tables *tables, bool all);

/* Prints the table of processes that the recorder followed from parent to child; nothing where there are no such. */
void info_processes_print_tree(struct output *to, const struct tables *tables, bool all);

#endif
