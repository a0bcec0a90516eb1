/* SPDX-License-Identifier: MIT */
/* Writes an aggregate (model/aggregate.h) as one HTML file that shows a flame graph, without the network. The file is a
 * page that is the same for all recordings (page/), and data: the call tree, with each function and line, all sums, and
 * on request the text of source files. schemas/flame.md describes the data.
 *
 *     <script type="application/octet-stream" id="data">H4sIAAAA...</script>
 *
 * The data is JSON, gzip'd, in base64. So nothing in a recording is markup, whatever its functions are called. Rare
 * stacks are pruned (page_nodes.h), and very long names are cut (short_text.h). */
#ifndef PYREEL_FORMATS_FLAME_FLAME_H
#define PYREEL_FORMATS_FLAME_FLAME_H

#include "formats/compare/compare.h"
#include "formats/flame/flame_facts.h"
#include "formats/frames/frame_filter.h"
#include "formats/model/aggregate.h"
#include "formats/sources/embedding.h"

/* Whose source files are in the page. */
enum flame_sources { FLAME_SOURCES_NONE, FLAME_SOURCES_PROGRAM, FLAME_SOURCES_ALL };

struct flame_style {
    const char *title; /* UTF-8; NULL: the programs' names */
    bool weighted;     /* `weight` is shown first; else the page chooses */
    enum aggregate_sum weight;
    bool least_given;   /* `least_share` was chosen by the user */
    double least_share; /* stacks with less of the whole are pruned */
    bool ids;           /* threads and tasks with numbers, each a group of its own */
    bool full_paths;    /* files as recorded */
    bool opcodes;       /* with the instruction of the leaf */
    bool no_threads;    /* all threads and tasks are one group */
    enum flame_sources sources;
    const struct source_folders *path_maps; /* where files are on this machine */
    const struct frame_filter *filter;
};

/* What became of a recording. The texts belong to the tables. */
struct flame_made {
    size_t nodes;
    uint64_t pruned; /* nodes that were left out */
    double share;    /* nodes with less of the whole were left out */
    bool empty;      /* nothing was written: the style leaves out all stacks */
    struct embedded_files files;
};

/* What the page shows. The aggregate is sorted, and its rows have the groups of waiting_group() (frames/waiting.h). */
struct flame_samples {
    const struct aggregate *aggregate;
    const struct compare *compare; /* NULL: nothing is compared; else the aggregate is that of the comparison, and
                                    * style.weight is wall-clock or CPU time */
};

/* Writes the file. False with the reason when a text is not UTF-8, or a temporary file cannot be used. Write errors are
 * kept in `to`. */
bool flame_write(struct output *to, const struct tables *tables, const struct flame_samples *samples,
                 const struct flame_style *style, const struct flame_facts *facts, struct flame_made *made,
                 struct fault *why);

#endif
