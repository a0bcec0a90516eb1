/* SPDX-License-Identifier: MIT */
/* The rows that the tables of pyreel-info have: those with the most samples or CPU time. --all and --json show all
 * rows. */
#ifndef PYREEL_CONVERT_INFO_INFO_TABLE_H
#define PYREEL_CONVERT_INFO_INFO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INFO_PROCESSES 20
#define INFO_THREADS   40
#define INFO_TASKS     20
#define INFO_MODULES   20

/* The rows with more than `least` samples, and the first `ties` of the rows with as many. */
struct info_choice {
    uint64_t least;
    size_t ties;
};

/* Chooses the `most` of `count` rows that have the most samples. Sorts `samples`, which has a number for each row. */
struct info_choice info_choose(uint64_t *samples, size_t count, size_t most);

/* Whether a row with so many samples is chosen. Call this once for each row, in their order. */
bool info_is_chosen(struct info_choice *choice, uint64_t samples);

#endif
