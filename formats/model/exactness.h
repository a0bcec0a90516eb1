/* SPDX-License-Identifier: MIT */
/* How exact a recording is, and what sampling took from the program: what the recorder counted of that in its figures,
 * as shares and in words, the same wherever a recording is described.
 *
 *     "1000 Hz asked, 620 reached: 380 of 1000 ticks were left out to stay within the budget of 1 %"
 *     "99.9 % of samples were one proven moment; sampling took 0.94 % of a processor from the program"
 *
 * A recording of an older version does not tell, nor does a part of one, nor several that became one. */
#ifndef PYREEL_FORMATS_MODEL_EXACTNESS_H
#define PYREEL_FORMATS_MODEL_EXACTNESS_H

#include "formats/model/tables.h"

/* Below zero: not known. */
struct exactness {
    double asked_hz;
    double reached_hz;     /* ticks that were looked at, a second; not known when some are lost */
    double exact_percent;  /* of samples */
    double taken_percent;  /* of a processor */
    double budget_percent; /* of a processor: what may be taken */
    double missed_percent; /* of the time: the intervals of missed ticks. Where the budget makes intervals longer, a
                            * missed tick at the start is a shorter time than one later */
    uint64_t left_out;     /* ticks, to keep within the budget, ... */
    uint64_t due;          /* ... of so many */
    bool tells_left_out;   /* the recorder might leave some out */
};

struct exactness exactness_of(const struct tables *tables);

/* In words; empty when nothing is known. They return `room`. */
#define EXACTNESS_ROOM 200
const char *exactness_rate(char room[EXACTNESS_ROOM], const struct exactness *exactness);
const char *exactness_share(char room[EXACTNESS_ROOM], const struct exactness *exactness);

/* A sentence about missed ticks. The sentence is empty unless so many ticks were missed that shares may be wrong. */
const char *exactness_missed(char room[EXACTNESS_ROOM], const struct exactness *exactness);

#endif
