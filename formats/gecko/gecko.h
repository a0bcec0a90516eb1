/* SPDX-License-Identifier: MIT */
/* A profile for the Firefox Profiler: its "processed" JSON format, version 64, the oldest that needs nothing repeated
 * per thread and that every viewer since has read and upgraded. Readers refuse a version above their own and convert
 * any below, so an old number loads in more places than a new one.
 *
 *     {"libs": [], "threads": [...], "shared": {...}, "counters": [], "meta": {...}}
 *
 * Samples are wanted column by column and thread by thread, so they wait in a spool until the end. Everything else is
 * in the tables, and its number there is its row here: row 0, "none" in the tables, is a frame that stands for "no
 * Python frames", so that stack 0 is a stack like any other.
 *
 * An entry that stands for an asyncio task is a thread of its own, behind the true ones of its process; of very many
 * tasks only the first have one each, and the others share one. With instructions each stack ends in a frame for that
 * of its leaf, [LOAD_ATTR_SLOT], so that functions stay whole.
 *
 * The parts, one file each: gecko.c the samples and the order of all, gecko_status.c what threads were doing,
 * gecko_tasks.c which tasks they ran, gecko_opcodes.c at which instruction,
 * gecko_markers.c and gecko_state_markers.c how all that is shown, gecko_threads.c who is who,
 * gecko_tables.c what threads share, gecko_sources.c what a file's path says,
 * gecko_meta.c what the viewer should know of the recording. */
#ifndef PYREEL_FORMATS_GECKO_GECKO_H
#define PYREEL_FORMATS_GECKO_GECKO_H

#include "formats/base/json.h"
#include "formats/base/spool.h"
#include "formats/model/tables.h"

struct gecko;

struct gecko_style {
    bool opcodes; /* show instructions */
};

/* Starts a profile that goes to `output`. Both stay the caller's and must outlive it; `output` is not closed. */
struct gecko *gecko_start(const struct tables *tables, struct output *output, struct gecko_style style);

/* Takes an event that the tables have accepted; no samples with a stack that is lost. */
bool gecko_take(struct gecko *gecko, const struct event *event, struct fault *why);

/* Writes the profile, once. False with the reason when the samples could not be kept or a text is not UTF-8; what goes
 * wrong with the output, output_close() tells. */
bool gecko_finish(struct gecko *gecko, struct fault *why);

/* Frees everything. */
void gecko_drop(struct gecko *gecko);

#endif
