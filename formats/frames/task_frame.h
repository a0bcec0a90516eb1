/* SPDX-License-Identifier: MIT */
/* Task frames: synthetic frames for asyncio tasks. `<task NAME>` stands before the frames of the task's coroutines, or
 * `<task NAME (N parents)>` when several tasks wait for it (schemas/stream.md, "Tasks"). Its kind is KIND_TASK. */
#ifndef PYREEL_FORMATS_FRAMES_TASK_FRAME_H
#define PYREEL_FORMATS_FRAMES_TASK_FRAME_H

#include "formats/model/event.h"

/* Whether asyncio gave a task this name, because the program gave none: Task-17. */
bool task_frame_is_automatic(struct text name);

/* The name of a task frame under which equal tasks are merged: <task> for a task with an automatic name (Task-17), else
 * the name itself. */
struct text task_frame_merged(struct text name);

#endif
