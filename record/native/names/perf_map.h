/* SPDX-License-Identifier: MIT */
/* The names of code that a just-in-time compiler has made: compilers that know perf write them to the file
 * /tmp/perf-PID.map of the process, a line for each function, as they go on:
 *
 *     7f3a5c001000 1c0 numba: sum_of_squares(array(float64))
 *     begin        size (both hexadecimal), name
 *
 * The file may belong to anybody, and lie: it counts only if it is the process's own, and its lines are bounded. Code
 * may be replaced by other code: the last line that has an address counts. */
#ifndef PYREEL_RECORD_NATIVE_NAMES_PERF_MAP_H
#define PYREEL_RECORD_NATIVE_NAMES_PERF_MAP_H

#include "formats/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_function {
    uint64_t begin, end; /* addresses in the process; end: behind the last byte */
    uint32_t line;       /* of the file, from 0 on */
    uint32_t name;       /* offset in `names` */
};

/* `= {0}` is closed. */
struct perf_map {
    int file;                   /* -1: there is none */
    bool there;                 /* it was opened */
    uint64_t read;              /* bytes of the file, up to the end of the last whole line */
    struct perf_function *rows; /* by begin, and then by line */
    size_t count, room;
    uint32_t lines;
    char *names; /* each with a NUL behind it */
    size_t names_size, names_room;
};

/* Opens the file of a process. False when there is none yet, or it is somebody else's. */
bool perf_map_open(struct perf_map *map, pid_t pid);
void perf_map_close(struct perf_map *map);

/* Reads the lines that are new in the file. Returns whether there are some. */
bool perf_map_read(struct perf_map *map);

/* Takes whole lines. Returns the number of bytes up to the end of the last one. */
size_t perf_map_take(struct perf_map *map, struct text lines);

/* The function that has an address; NULL: none is known. Valid until perf_map_read(). */
const struct perf_function *perf_map_find(const struct perf_map *map, uint64_t address);

/* The name of a function; valid until perf_map_read(). */
const char *perf_map_name(const struct perf_map *map, const struct perf_function *function);

#endif
