/* SPDX-License-Identifier: MIT */
/* Frames that mark asyncio tasks in a stack: `<task NAME>` stands before the frames of the task's coroutines, or
 * `<task NAME (N parents)>` when several others wait for it (schemas/stream.md, "Tasks"). A mark has no file. */
#ifndef PYREEL_FORMATS_MODEL_TASK_FRAME_H
#define PYREEL_FORMATS_MODEL_TASK_FRAME_H

#include "formats/model/event.h"

/* Whether a function of this name, which has no file, marks a task. */
bool task_frame_is_name(struct text name);

/* The mark without what only tells one task from the next: <task> for a task to which asyncio gave a number as its
 * name (Task-17), else the mark itself. */
struct text task_frame_merged(struct text name);

#endif
