/* SPDX-License-Identifier: MIT */
#include "record/tree/hint.h"

#include "formats/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOK_NS    10000000u /* time between two looks */
#define SETTLED_NS 20000000u /* how old a child is when it is looked at: most that call execve() have done so */

void hint_open(struct hint *hint, pid_t root, bool existing)
{
    *hint = (struct hint){ .root = root, .tree = { .without = TREE_WITHOUT_CONNECTOR } };
    if (!tree_open(&hint->tree, root, false, NULL)) {
        tree_close(&hint->tree);
        return;
    }
    if (existing)
        tree_watch_existing(&hint->tree);
}

static struct hint_child *hint_find(struct hint *hint, pid_t pid)
{
    for (size_t i = 0; i < hint->children_count; i++)
        if (hint->children[i].pid == pid)
            return &hint->children[i];
    return NULL;
}

static void hint_add(struct hint *hint, pid_t pid, uint64_t due_ns)
{
    hint->children = alloc_grow(hint->children, &hint->children_room, hint->children_count + 1,
                                sizeof(*hint->children));
    hint->children[hint->children_count++] = (struct hint_child){ .pid = pid, .due_ns = due_ns };
}

static void hint_take(struct hint *hint, const struct tree_event *event, uint64_t now_ns)
{
    if (event->pidfd >= 0)
        close(event->pidfd);
    if (event->pid == hint->root)
        return;
    if (event->change == TREE_CAME) {
        hint_add(hint, event->pid, now_ns + SETTLED_NS);
        return;
    }
    struct hint_child *child = hint_find(hint, event->pid);
    if (child && event->change == TREE_ENDED)
        *child = hint->children[--hint->children_count];
    else if (child && !child->counted)
        child->due_ns = now_ns + SETTLED_NS;
}

static void hint_look_at(struct hint *hint, struct hint_child *child)
{
    child->due_ns = UINT64_MAX;
    child->counted = runs_python(&hint->programs, child->pid);
    if (!child->counted)
        return;
    if (hint->count < HINT_NAMED)
        hint->named[hint->count] = child->pid;
    hint->count++;
}

void hint_look(struct hint *hint, uint64_t now_ns)
{
    struct tree_event event;
    if (now_ns < hint->due_ns || !hint->tree.open)
        return;
    hint->due_ns = now_ns + LOOK_NS;
    tree_look(&hint->tree, now_ns);
    while (tree_next(&hint->tree, &event))
        hint_take(hint, &event, now_ns);
    for (size_t i = 0; i < hint->children_count; i++)
        if (hint->children[i].due_ns <= now_ns)
            hint_look_at(hint, &hint->children[i]);
}

bool hint_write(const struct hint *hint, char *text, size_t room)
{
    const bool one = hint->count == 1;
    char pids[HINT_NAMED * 13 + 8] = "";
    size_t size = 0;
    if (hint->count == 0)
        return false;
    for (size_t i = 0; i < hint->count && i < HINT_NAMED; i++)
        size += (size_t)snprintf(pids + size, sizeof(pids) - size, "%s%d", i ? ", " : "", (int)hint->named[i]);
    snprintf(text, room,
             "%" PRIu64 " child process%s that run%s Python %s not recorded (pid%s %s%s); -f records %s too",
             hint->count, one ? "" : "es", one ? "s" : "", one ? "was" : "were", one ? "" : "s", pids,
             hint->count > HINT_NAMED ? ", ..." : "", one ? "it" : "them");
    return true;
}

void hint_close(struct hint *hint)
{
    tree_close(&hint->tree);
    free(hint->children);
    hint->children = NULL;
    hint->children_count = hint->children_room = 0;
}
