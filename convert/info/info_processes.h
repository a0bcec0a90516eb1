/* SPDX-License-Identifier: MIT */
/* The processes of a recording, as pyreel-info shows them: lines, a table that shows who is whose child, JSON. */
#ifndef PYREEL_CONVERT_INFO_INFO_PROCESSES_H
#define PYREEL_CONVERT_INFO_INFO_PROCESSES_H

#include "formats/base/output.h"
#include "formats/model/tables.h"

#include <jansson.h>

/* The CPU time between the first and the last measure of a process; MEASURE_UNKNOWN: not known. */
uint64_t info_measured_cpu_ns(const struct measures *measures);

/* Prints what kind of build a CPython is, if that is unusual. */
void info_print_build(struct output *to, const struct process *process);

/* The list of all processes. The caller owns it. */
json_t *info_processes_json(const struct tables *tables);

/* Prints a line for each process of a recording that does not say how its processes belong together. */
void info_processes_print_lines(struct output *to, const struct tables *tables, bool all);

/* Prints the table of processes that the recorder followed from parent to child; nothing where there are no such. */
void info_processes_print_tree(struct output *to, const struct tables *tables, bool all);

#endif
