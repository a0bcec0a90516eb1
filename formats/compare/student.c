/* SPDX-License-Identifier: MIT */
#include "formats/compare/student.h"

#include <math.h>

/* The z that a normal value exceeds with this probability, by bisection. */
static double normal_upper(double probability)
{
    double low = 0, high = 40;
    for (int i = 0; i < 80; i++) {
        const double middle = (low + high) / 2;
        if (erfc(middle / M_SQRT2) / 2 > probability)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The expansion of Fisher and Cornish (Abramowitz and Stegun, 26.7.5). */
double student_upper(double probability, double freedom)
{
    const double z = normal_upper(probability), z2 = z * z;
    const double g1 = z * (z2 + 1) / 4;
    const double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
    const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    const double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
    const double n = freedom;
    return z + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n;
}
