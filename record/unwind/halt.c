/* SPDX-License-Identifier: MIT */
#include "record/unwind/halt.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void halt_open(struct halt *halt, pid_t pid)
{
    char path[64];
    halt_close(halt);
    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)pid);
    halt->opened = true;
    halt->state = open(path, O_RDONLY | O_CLOEXEC);
}

void halt_close(struct halt *halt)
{
    if (halt->opened && halt->state >= 0)
        close(halt->state);
    halt->opened = halt->stands = false;
}

/* The state follows the name of the thread, which may have any characters, so the last ")" ends the name. */
static bool is_stopped(const struct halt *halt)
{
    char stat[512];
    const ssize_t size = halt->state >= 0 ? pread(halt->state, stat, sizeof(stat) - 1, 0) : -1;
    stat[size > 0 ? size : 0] = '\0';
    const char *rest = strrchr(stat, ')');
    return rest && rest[1] == ' ' && (rest[2] == 'T' || rest[2] == 't');
}

void halt_note(struct halt *halt, bool stands, uint64_t now_ns)
{
    if (halt->stands && stands && now_ns > halt->looked_ns)
        halt->total_ns += now_ns - halt->looked_ns;
    halt->stands = stands;
    halt->looked_ns = now_ns;
}

bool halt_look(struct halt *halt, uint64_t now_ns)
{
    if (halt->opened && now_ns != halt->looked_ns)
        halt_note(halt, is_stopped(halt), now_ns);
    return halt->stands;
}
