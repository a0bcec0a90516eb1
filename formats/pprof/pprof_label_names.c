/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof_label_names.h"

#include <string.h>

const struct pprof_label_row pprof_label_rows[PPROF_LABELS] = {
    [LABEL_THREAD] = { "thread", true },
    [LABEL_THREAD_ID] = { "thread_id", false },
    [LABEL_PID] = { "pid", false },
    [LABEL_INTERPRETER] = { "interpreter", false },
    [LABEL_RECORDING] = { "recording", true },
    [LABEL_TASK] = { "task", true },
    [LABEL_TASK_ID] = { "task_id", false },
    [LABEL_STATUS] = { "status", true },
    [LABEL_OPCODE] = { "opcode", true },
    [LABEL_OPCODE_BASE] = { "opcode_base", true },
};

static unsigned label_named(const char *name, size_t size)
{
    for (unsigned i = 0; i < PPROF_LABELS; i++)
        if (strlen(pprof_label_rows[i].name) == size && memcmp(pprof_label_rows[i].name, name, size) == 0)
            return 1u << i;
    return 0;
}

bool pprof_label_names_parse(const char *list, unsigned *labels)
{
    *labels = 0;
    for (const char *name = list;; name++) {
        const size_t size = strcspn(name, ",");
        const unsigned label = label_named(name, size);
        if (!label)
            return false;
        *labels |= label;
        name += size;
        if (!*name)
            return true;
    }
}
