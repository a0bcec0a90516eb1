/* SPDX-License-Identifier: MIT */
#include "formats/compare/student.h"

#include <math.h>

#define STEPS 400

/* The integral of cos^power from `from` to pi / 2, by Simpson's rule. */
static double tail(double from, double power)
{
    const double step = (M_PI / 2 - from) / STEPS;
    double sum = pow(cos(from), power) + (power == 0);
    for (int i = 1; i < STEPS; i++)
        sum += pow(cos(from + i * step), power) * (i % 2 ? 4 : 2);
    return sum * step / 3;
}

/* With t = sqrt(freedom) tan(angle), the density is that of cos(angle)^(freedom - 1). The angle is found by bisection.
 */
double student_upper(double probability, double freedom)
{
    const double all = 2 * tail(0, freedom - 1);
    double low = 0, high = M_PI / 2;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        if (tail(middle, freedom - 1) / all > probability)
            low = middle;
        else
            high = middle;
    }
    return sqrt(freedom) * tan(low);
}
