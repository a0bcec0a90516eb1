/* SPDX-License-Identifier: MIT */
#include "formats/pprof/pprof_label_names.h"

#include "formats/base/text.h"

const struct pprof_label_row pprof_label_rows[PPROF_LABELS] = {
    [LABEL_THREAD] = { "thread", true },
    [LABEL_THREAD_ID] = { "thread_id", false },
    [LABEL_PID] = { "pid", false },
    [LABEL_INTERPRETER] = { "interpreter", false },
    [LABEL_RECORDING] = { "recording", true },
    [LABEL_TASK] = { "task", true },
    [LABEL_TASK_ID] = { "task_id", false },
    [LABEL_TRACE_ID] = { "trace_id", true },
    [LABEL_SPAN_ID] = { "span_id", true },
    [LABEL_STATUS] = { "status", true },
    [LABEL_OPCODE] = { "opcode", true },
    [LABEL_OPCODE_BASE] = { "opcode_base", true },
};

static unsigned label_named(struct text name)
{
    for (unsigned i = 0; i < PPROF_LABELS; i++)
        if (text_equal(text_of(pprof_label_rows[i].name), name))
            return 1u << i;
    return 0;
}

bool pprof_label_names_parse(const char *list, unsigned *labels)
{
    struct text name;
    *labels = 0;
    while (text_take_word(&list, &name)) {
        const unsigned label = label_named(name);
        if (!label)
            return false;
        *labels |= label;
    }
    return true;
}
