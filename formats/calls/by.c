/* SPDX-License-Identifier: MIT */
#include "formats/calls/by.h"

#include <string.h>

static const struct {
    const char *word;
    enum entry_kind kind;
} rows[BYS] = {
    [BY_FUNCTION] = { "function", ENTRY_FUNCTION },
    [BY_LINE] = { "line", ENTRY_LINE },
    [BY_FILE] = { "file", ENTRY_FILE },
    [BY_MODULE] = { "module", ENTRY_MODULE },
    [BY_THREAD] = { "thread", ENTRY_FUNCTION },
    [BY_PROCESS] = { "process", ENTRY_FUNCTION },
    [BY_TASK] = { "task", ENTRY_FUNCTION },
    [BY_OPCODE] = { "opcode", ENTRY_FUNCTION },
};

bool by_named(const char *word, enum by *by)
{
    for (size_t i = 0; i < BYS; i++)
        if (strcmp(rows[i].word, word) == 0) {
            *by = (enum by)i;
            return true;
        }
    return false;
}

const char *by_name(enum by by)
{
    return rows[by].word;
}

enum entry_kind by_entry_kind(enum by by)
{
    return rows[by].kind;
}
