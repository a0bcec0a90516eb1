/* SPDX-License-Identifier: MIT */
/* Writes a profile for speedscope (https://speedscope.app) in the format of that viewer:
 *
 *     {"$schema": "...", "exporter": "pyreel 1.0", "name": "app.py", "activeProfileIndex": 0,
 *      "shared": {"frames": [{"name": "work", "file": "app.py", "line": 12}, ...]},
 *      "profiles": [{"type": "evented", "name": "MainThread (4242)", "unit": "microseconds", ...}, ...]}
 *
 * Each thread has a profile, and each entry of an asyncio task (--async all). All profiles have one time line, which
 * begins where the recording begins, so that the same moment has the same time in each. A look stands for its
 * wall-clock time (model/wall.h). A time of which the recording says nothing is a gap: the thread did not live, or the
 * mode or the user left its samples out.
 *
 * The format has two types of profiles, and the smaller one is chosen for each thread: stacks with their times, or the
 * moments at which frames begin and end. Equal neighbours are one stack. The parts: speedscope.c takes the samples;
 * speedscope_frames.c: what frames and stacks look like; speedscope_times.c: what a thread did when;
 * speedscope_profiles.c: which profiles there are, and writes them. */
#ifndef PYREEL_FORMATS_SPEEDSCOPE_SPEEDSCOPE_H
#define PYREEL_FORMATS_SPEEDSCOPE_SPEEDSCOPE_H

#include "formats/base/output.h"
#include "formats/calls/entries.h"

/* More JSON than this crashes the tab of a browser, or no text of a browser has room for it. */
#define SPEEDSCOPE_JSON_MOST ((uint64_t)375 * 1000 * 1000)

/* The deepest stack that speedscope's page surely loads. With deeper ones the page may say "Maximum call stack size
 * exceeded": Chromium loads 3,000 frames in each view, and fails in one with 3,500; other browsers have other limits.
 */
#define SPEEDSCOPE_DEPTH_MOST 2000

struct speedscope;

/* Starts a profile that goes to `output`. `tables`, `output` and the filter of `style` must outlive the profile.
 * `output` is not closed. */
struct speedscope *speedscope_start(const struct tables *tables, struct output *output,
                                    const struct entries_style *style);

/* Takes an event that the tables have just accepted. Must not get a run whose stack is STACK_LOST. False with the
 * reason when samples cannot be stored. */
bool speedscope_take(struct speedscope *speedscope, const struct event *event, struct fault *why);

/* Ends the taking. False when there are samples and the style leaves all of them out. */
bool speedscope_settle(struct speedscope *speedscope);

/* Writes the profile, behind speedscope_settle(). Returns false with the reason when samples could not be stored or a
 * text is not UTF-8. Write errors are reported by output_close(). */
bool speedscope_write(struct speedscope *speedscope, struct fault *why);

/* The number of frames of the deepest stack, behind speedscope_settle(). */
uint32_t speedscope_deepest(const struct speedscope *speedscope);

/* Frees everything. */
void speedscope_drop(struct speedscope *speedscope);

#endif
