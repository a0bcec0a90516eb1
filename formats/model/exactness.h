/* SPDX-License-Identifier: MIT */
/* How exact a recording is, and what sampling took from the program: the recorder's counters as shares and in words.
 * All programs that describe a recording use these words.
 *
 *     "1000 Hz asked, 620 reached: 380 of 1000 ticks were left out to stay within the budget of 1 %"
 *     "99.9 % of samples were one proven moment, 98.2 % have their C functions; sampling took 0.94 % of a processor
 * from the program"
 *
 * The values are unknown for a recording of an older version, for a part of a recording, and for merged recordings. */
#ifndef PYREEL_FORMATS_MODEL_EXACTNESS_H
#define PYREEL_FORMATS_MODEL_EXACTNESS_H

#include "formats/model/tables.h"

/* A value below zero is unknown. */
struct exactness {
    double asked_hz;
    double reached_hz;     /* ticks with a look, per second; unknown when samples are lost */
    double exact_percent;  /* percent of all samples */
    double c_percent;      /* samples with C functions: percent of all samples; unknown without --native */
    double taken_percent;  /* percent of a processor */
    double budget_percent; /* percent of a processor */
    double missed_percent; /* percent of the time: the sum of the intervals of missed ticks. Where the budget makes
                            * intervals longer, a missed tick at the start counts for less time than a later one */
    double kept_percent;   /* percent of the samples that were due: missed time, failed samples and lost samples are not
                            * kept; ticks that the budget left out were not due. Unknown: nothing was due */
    uint64_t left_out;     /* ticks left out to keep within the budget, ... */
    uint64_t due;          /* ... and all ticks that were due */
    bool has_left_out;     /* the recording has the counter of ticks left out */
};

/* Computes the exactness of a recording that was read to its end. */
struct exactness exactness_of(const struct tables *tables);

/* A share that is known, with one digit behind the point. Rounded down: a share below 100 % stays below 100 %. */
double exactness_tenths(double percent);

/* Write a sentence into `room` and return `room`. The sentence is empty when nothing is known. */
#define EXACTNESS_ROOM 200
const char *exactness_rate(char room[EXACTNESS_ROOM], const struct exactness *exactness);
const char *exactness_share(char room[EXACTNESS_ROOM], const struct exactness *exactness);

/* Ways in which the program stood still without having chosen to. Each has a label, and a sentence that is empty when
 * the recorder did not see the program stand so. The title is the label for a list of labels with capitals. */
enum exactness_stand { STAND_STOPPED, STAND_FROZEN, STAND_THROTTLED, STAND_SUSPENDED, STANDS };
extern const char *const exactness_stand_labels[STANDS], *const exactness_stand_titles[STANDS];
const char *exactness_stand(char room[EXACTNESS_ROOM], const struct tables *tables, enum exactness_stand stand);

/* A sentence about missed ticks. Empty unless so many ticks were missed that shares may be wrong. */
const char *exactness_missed(char room[EXACTNESS_ROOM], const struct exactness *exactness);

#endif
