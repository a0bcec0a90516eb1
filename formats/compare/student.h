/* SPDX-License-Identifier: MIT */
/* Student's t distribution: how many standard errors an estimate is off by chance, when the standard error itself is an
 * estimate with so many degrees of freedom. */
#ifndef PYREEL_FORMATS_COMPARE_STUDENT_H
#define PYREEL_FORMATS_COMPARE_STUDENT_H

/* The t that a value exceeds with this probability, from 1e-9 to 0.5. `freedom` is from 1 to 1000. */
double student_upper(double probability, double freedom);

#endif
