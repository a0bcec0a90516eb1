/* SPDX-License-Identifier: MIT */
/* The weight of an output that adds up one weight, when the user names none. It is a time: the number of samples says
 * little of the time, because the recorder's budget makes the distance of looks vary.
 *
 *     wall-clock time                      where CPU time is known, and the program mostly waited: it neither used a
 *                                          tenth of a processor while its longest thread lived, nor held the GIL so
 * long CPU time                             else, where it is known of nearly all samples, and any was used wall-clock
 * time without waits        else, where it is known of some samples that their thread or task waited: those would bury
 * the ones that run wall-clock time                      else samples                              where no sample
 * stands for any time, as in a recording of a single look */
#ifndef PYREEL_FORMATS_FRAMES_WEIGHT_CHOICE_H
#define PYREEL_FORMATS_FRAMES_WEIGHT_CHOICE_H

#include "formats/model/aggregate.h"

struct weight_choice {
    enum aggregate_sum weight;
    bool without_waits; /* samples of threads that waited do not count */
    const char *reason; /* why the weight is not CPU time, for people; NULL: it is */
};

/* Whether a program that ran for so long, or held the GIL, mostly waited in this wall-clock time. */
static inline bool weight_mostly_waited(uint64_t ran_ns, uint64_t wall_ns)
{
    return ran_ns < wall_ns / 10;
}

/* Chooses for an aggregate that has the groups of waiting_group() (frames/waiting.h). */
struct weight_choice weight_choose(const struct aggregate *aggregate);

/* The name of the chosen time for people, part of a sentence. */
const char *weight_choice_label(const struct weight_choice *choice);

/* Writes the rows of threads that did not wait to `to`, which has room for all rows and may be `from->rows`. Returns
 * their number. */
size_t weight_take_busy(const struct aggregate *from, struct aggregate_row *to);

#endif
