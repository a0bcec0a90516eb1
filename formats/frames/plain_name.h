/* SPDX-License-Identifier: MIT */
/* Names of threads without the numbers that count threads of one kind. Two runs of a program, and the processes of a
 * pool, number their threads differently, and without the numbers the names are equal:
 *
 *     Thread-3 (work)             Thread (work)
 *     ThreadPoolExecutor-0_1      ThreadPoolExecutor
 *     worker 12, worker#12        worker
 *     worker2, python3.11         the same: no separator stands before the number */
#ifndef PYREEL_FORMATS_FRAMES_PLAIN_NAME_H
#define PYREEL_FORMATS_FRAMES_PLAIN_NAME_H

#include "formats/base/bytes.h"

/* Appends the name of a thread without the numbers at its end, or before a function in parentheses. A name that has
 * nothing else is appended whole. */
void put_plain_name(struct bytes *to, struct text name);

#endif
