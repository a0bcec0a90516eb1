/* SPDX-License-Identifier: MIT */
/* The owner of an entry that stands for an asyncio task: the thread whose event loop owns the task, if the recording
 * has this thread. The owners of all entries are found in one pass, because a recording may have very many entries. */
#ifndef PYREEL_FORMATS_MODEL_TASK_OWNER_H
#define PYREEL_FORMATS_MODEL_TASK_OWNER_H

#include "formats/intern/intern.h"
#include "formats/model/tables.h"

/* `= {0}` is empty. */
struct task_owners {
    uint32_t *threads; /* by thread: the thread itself, or the owner in front of an entry; 0: there is none */
    size_t count, room;
    struct intern identities;
    uint32_t *latest; /* by number of an identity: its latest thread */
    size_t latest_room;
};

/* Finds the owners of all threads in `tables`; when the tables have grown since the last call, of the new ones only. */
void task_owner_find(struct task_owners *owners, const struct tables *tables);

/* The thread itself, or the owner of an entry; 0: unknown. */
uint32_t task_owner_of(const struct task_owners *owners, const struct tables *tables, uint32_t thread);

/* The name, for people, of the thread's owner or of the thread itself: "MainThread", its name, or "Thread". */
struct text task_owner_name(const struct task_owners *owners, const struct tables *tables, uint32_t thread);

/* Frees the owners. */
void task_owner_free(struct task_owners *owners);

#endif
