/* SPDX-License-Identifier: MIT */
/* The sums of one run by item, and how far off each sum is because a run is finite and is looked at from time to time.
 *
 * The error comes from how the slices of the run differ. What counts in a slice is not the item's time x but
 * u = x - p w: w is the time of everything in the slice, and p is the item's share of the run. So slices in which the
 * whole program got less of the processor do not count as noise of the item. Samples that follow each other are alike
 * (a function that lasts 50 ms gives 50 equal samples), so the error cannot be computed from the number of samples. A
 * program has phases, so slices differ by design, and the error cannot be computed from how much slices differ from
 * their mean either. Therefore neighbours are compared (Allan's variance):
 *
 *     u of slices     5 4 6 5 4 1 2 1 1 2        each differs from the next by 1 or 2, and once by 3 where a phase ends
 *
 * A neighbour is some slices long. Rounds of a program, too, make neighbours differ by design, when a neighbour is
 * about as long as a round. So neighbours of several lengths are compared, and the least variance counts. Neighbours
 * that are shorter than a visit to a function would say too little, so only an item that comes in a few long phases is
 * compared slice by slice. */
#ifndef PYREEL_FORMATS_COMPARE_MEASURE_H
#define PYREEL_FORMATS_COMPARE_MEASURE_H

#include "formats/compare/compare.h"

#define MEASURE_FREEDOM 12 /* degrees of freedom of an estimate from slices, roughly */

enum measure_slot { SLOT_SELF, SLOT_TOTAL, SLOTS };

/* Slots: an item's self is at item x SLOTS + SLOT_SELF, its total at item x SLOTS + SLOT_TOTAL. */
struct measured {
    double whole;   /* the time of all samples, in nanoseconds, or their number */
    double quantum; /* the weight of a typical sample */
    double busy;    /* the part of the time in which the program could run and the machine did something else */
    double cpu_s;   /* CPU time of all samples */
    double *sums;   /* by slot */
    double *errors; /* by slot: the variance of the sum; below 0: not known. Filled by measure_errors() */
};

/* What is measured. */
struct measuring {
    const struct compare *compare;
    const struct call_tree *tree;
    const struct compare_items *items;
    enum aggregate_sum weight;
};

/* Measures the sums of a run. Free the result with measured_free(). */
struct measured measure_sums(const struct measuring *measuring, const struct compare_run *run);

/* Measures the errors of those sums whose slots are wanted. */
void measure_errors(struct measured *measured, const struct measuring *measuring, const struct compare_run *run,
                    const bool *wanted);

void measured_free(struct measured *measured);

#endif
