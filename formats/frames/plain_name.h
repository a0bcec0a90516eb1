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

/* Appends the title that a process has given itself, without what it says of the moment or of this run: brackets and
 * numbers at its end.
 *
 *     worker [idle]                            worker
 *     gunicorn: worker [app]                   gunicorn: worker
 *     dask worker [tcp://127.0.0.1:38949]      dask worker
 *     pool worker-3 (2 jobs)                   pool worker
 *     [celeryd: MainProcess]                   the same: nothing else would remain */
void put_plain_title(struct bytes *to, struct text title);

#endif
