/* SPDX-License-Identifier: MIT */
#include "record/unwind/halt.h"

#include "record/process/procfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOLLOW_NS 1000000000u /* how often it is asked whether the process was moved to another cgroup */

static void halt_open_state(struct halt *halt, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)halt->pid, (int)tid);
    halt->tid = tid;
    halt->state = open(path, O_RDONLY | O_CLOEXEC);
}

static void halt_close_state(struct halt *halt)
{
    if (halt->state >= 0)
        close(halt->state);
    freezer_close(&halt->freezer);
}

void halt_open(struct halt *halt, pid_t pid)
{
    halt_close(halt);
    halt->opened = true;
    halt->pid = pid;
    halt_open_state(halt, pid);
}

void halt_close(struct halt *halt)
{
    if (halt->opened)
        halt_close_state(halt);
    halt->opened = false;
    halt->kind = HALT_NONE;
}

static bool is_frozen(struct halt *halt, uint64_t now_ns)
{
    if (!halt->freezer.opened)
        freezer_open(&halt->freezer, "", halt->tid);
    else if (now_ns - halt->followed_ns >= FOLLOW_NS)
        freezer_follow(&halt->freezer, "");
    else
        return freezer_is_frozen(&halt->freezer);
    halt->followed_ns = now_ns;
    return freezer_is_frozen(&halt->freezer);
}

/* The state follows the name of the thread, which may have any characters, so the last ")" ends the name. */
static char halt_read_state(const struct halt *halt)
{
    char stat[512];
    const ssize_t size = halt->state >= 0 ? pread(halt->state, stat, sizeof(stat) - 1, 0) : -1;
    stat[size > 0 ? size : 0] = '\0';
    const char *rest = strrchr(stat, ')');
    return rest && rest[1] == ' ' ? rest[2] : 'X';
}

/* Goes on with another thread when this one has ended: version 1 of cgroups shows such a thread at the root, too. */
static char read_living_state(struct halt *halt)
{
    const char state = halt_read_state(halt);
    if (state != 'Z' && state != 'X')
        return state;
    halt_close_state(halt);
    halt_open_state(halt, procfs_reader(halt->pid));
    return halt_read_state(halt);
}

static enum halt_kind ask_kind(struct halt *halt, uint64_t now_ns)
{
    switch (read_living_state(halt)) {
    case 'T':
        return HALT_SIGNAL;
    case 't':
        return HALT_TRACER;
    case 'S':
    case 'D':
        return is_frozen(halt, now_ns) ? HALT_FROZEN : HALT_NONE;
    default:
        return HALT_NONE;
    }
}

void halt_note(struct halt *halt, enum halt_kind kind, uint64_t now_ns)
{
    if (halt->kind != HALT_NONE && kind != HALT_NONE && now_ns > halt->looked_ns)
        halt->total_ns[halt->kind] += now_ns - halt->looked_ns;
    halt->kind = kind;
    halt->looked_ns = now_ns;
}

bool halt_look(struct halt *halt, uint64_t now_ns)
{
    if (halt->opened && now_ns != halt->looked_ns)
        halt_note(halt, ask_kind(halt, now_ns), now_ns);
    return halt->kind != HALT_NONE;
}
