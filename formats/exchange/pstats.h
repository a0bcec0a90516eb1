/* SPDX-License-Identifier: MIT */
/* Writes an aggregate for Python's module `pstats` and for tools that read its files: snakeviz, gprof2dot, tuna. The
 * file is a dictionary with a row for each function:
 *
 *     (file, line, name): (samples as leaf, samples with the function, own seconds, seconds, callers)
 *     callers: {(file, line, name) of a caller: (samples of the call, samples that end in the call, own seconds,
 * seconds)}
 *
 * pstats knows functions by counted calls. Samples take their place: where pstats prints `ncalls` as 310/12, the
 * function was in 310 samples, and was the leaf in 12. A sample counts once for a function and once for a call, however
 * often the function is in the stack. A function without a file has the file ~ and the line 0, as C functions have in
 * cProfile's files. */
#ifndef PYREEL_FORMATS_EXCHANGE_PSTATS_H
#define PYREEL_FORMATS_EXCHANGE_PSTATS_H

#include "formats/base/output.h"
#include "formats/frames/frame_filter.h"
#include "formats/model/aggregate.h"

struct pstats_style {
    enum aggregate_sum weight; /* the sum whose seconds are written; SUM_SAMPLES: the wall-clock time */
    const struct frame_filter *filter;
};

/* Writes the file. The aggregate must be sorted, and may have groups. False when there are samples and --focus leaves
 * all of them out. Write errors are reported by output_close(). */
bool pstats_write(struct output *to, const struct tables *tables, const struct aggregate *aggregate,
                  const struct pstats_style *style);

/* Whether a file that begins with these bytes may be one for pstats. */
bool pstats_recognises(struct text head);

#endif
