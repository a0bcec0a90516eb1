/* SPDX-License-Identifier: MIT */
/* Which thread an entry belongs to that stands for an asyncio task: the one whose loop owns the task, as far as the
 * recording has it. Found for all entries at once, since there may be very many. */
#ifndef PYREEL_FORMATS_MODEL_TASK_OWNER_H
#define PYREEL_FORMATS_MODEL_TASK_OWNER_H

#include "formats/model/tables.h"

/* `= {0}` is empty. */
struct task_owners {
    uint32_t *threads; /* by thread: itself, or an entry's owner; 0 when that is not known */
};

/* Looks at all threads of `tables`. */
void task_owner_find(struct task_owners *owners, const struct tables *tables);

/* What a person calls the thread that owns this one, or that it is: "MainThread", its name, or "Thread". */
struct text task_owner_name(const struct task_owners *owners, const struct tables *tables, uint32_t thread);

void task_owner_free(struct task_owners *owners);

#endif
