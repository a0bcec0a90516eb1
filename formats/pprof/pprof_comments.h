/* SPDX-License-Identifier: MIT */
/* The comments of a pprof profile: few lines, which pprof prints above its tables. They say which programs were
 * recorded, what is missing, and which columns are not known. A comment about a program holds texts of the recording,
 * such as a command line, which may hold a secret. So these comments are left out on request; the others hold numbers
 * and words of ours. */
#ifndef PYREEL_FORMATS_PPROF_PPROF_COMMENTS_H
#define PYREEL_FORMATS_PPROF_PPROF_COMMENTS_H

#include "formats/model/aggregate.h"
#include "formats/pprof/pprof.h"
#include "formats/pprof/pprof_tables.h"

#define PPROF_COMMENTED_PROCESSES 8
#define PPROF_COMMENTS            (PPROF_COMMENTED_PROCESSES + 8 + SUMS) /* at most */

/* Makes the comments in `made`, which has room for PPROF_COMMENTS indexes of texts. Returns how many there are. */
size_t pprof_comments_make(struct pprof_tables *refers, const struct aggregate *aggregate,
                           const struct pprof_style *style, int64_t *made);

#endif
