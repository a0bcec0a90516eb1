/* SPDX-License-Identifier: MIT */
#include "record/tree/hint.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "record/process/procfs.h"
#include "record/process/python_files.h"
#include "record/process/remote.h"
#include "record/tree/kin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_NS    10000000u   /* time between two looks */
#define SETTLED_NS 20000000u   /* how old a child is when it is looked at: most that call execve() have done so */
#define AGAIN_NS   1000000000u /* from there to the second look */
#define END_NAP_NS 2000000u
#define LOOK_MOST  16 /* children that are looked at in a call: ticks wait meanwhile */

void hint_open(struct hint *hint, pid_t root, bool existing)
{
    *hint = (struct hint){ .root = root,
                           .existing = existing,
                           .settled_ns = UINT64_MAX,
                           .tree = { .without = TREE_WITHOUT_CONNECTOR | TREE_WITHOUT_CPU } };
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
        *child = (struct hint_child){ .pid = child->pid, .due_ns = now_ns + SETTLED_NS };
}

static void hint_count(struct hint *hint, pid_t pid)
{
    if (hint->count < HINT_NAMED)
        hint->named[hint->count] = pid;
    hint->count++;
}

static void hint_look_at(struct hint *hint, struct hint_child *child, uint64_t now_ns)
{
    child->counted = child->seen ? runs_python_by_now(child->pid) : runs_python(&hint->programs, child->pid);
    child->due_ns = child->seen || child->counted ? UINT64_MAX : now_ns + AGAIN_NS;
    child->seen = true;
    if (child->counted)
        hint_count(hint, child->pid);
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
    hint->settled_ns = UINT64_MAX;
    for (size_t i = 0, looks = 0; i < hint->children_count; i++) {
        if (hint->children[i].due_ns <= now_ns && looks++ < LOOK_MOST)
            hint_look_at(hint, &hint->children[i], now_ns);
        if (hint->children[i].due_ns < hint->settled_ns)
            hint->settled_ns = hint->children[i].due_ns;
    }
}

/* ---- the end ---- */

void hint_note_program(struct hint *hint, uint64_t random_at, const unsigned char random[16])
{
    runs_python_note(&hint->programs, hint->root);
    hint->random_at = random_at;
    memcpy(hint->random, random, sizeof(hint->random));
}

static bool has_unseen(const struct hint *hint)
{
    for (size_t i = 0; i < hint->children_count; i++)
        if (!hint->children[i].seen)
            return true;
    return false;
}

/* Whether a process was forked by the program or its descendants and has not called execve(). */
static bool hint_is_fork(const struct hint *hint, pid_t pid)
{
    struct remote remote;
    unsigned char random[sizeof(hint->random)];
    if (procfs_random(pid) != hint->random_at || !remote_open(&remote, pid, NULL))
        return false;
    const bool same = remote_read(&remote, hint->random_at, random, sizeof(random)) == REMOTE_READ &&
                      memcmp(random, hint->random, sizeof(random)) == 0;
    remote_close(&remote);
    return same;
}

/* The program was started by the recorder, so all processes with its bytes descend from it. */
static void find_orphans(struct hint *hint)
{
    struct kin all = { 0 };
    kin_add_all(&all);
    for (size_t i = 0; i < all.count; i++)
        if (all.rows[i].pid != hint->root && !hint_find(hint, all.rows[i].pid) && hint_is_fork(hint, all.rows[i].pid))
            hint_count(hint, all.rows[i].pid);
    kin_free(&all);
}

void hint_end(struct hint *hint)
{
    if (!hint->tree.open)
        return;
    hint->due_ns = 0;
    hint_look(hint, clock_now_ns());
    for (uint64_t now_ns = clock_now_ns(), end_ns = now_ns + 2 * SETTLED_NS; has_unseen(hint) && now_ns < end_ns;
         now_ns = clock_now_ns()) {
        clock_sleep_until(now_ns + END_NAP_NS);
        hint->due_ns = 0;
        hint_look(hint, clock_now_ns());
    }
    if (hint->random_at && !hint->existing)
        find_orphans(hint);
}

/* ---- words ---- */

bool hint_write_first(struct hint *hint, char *text, size_t room)
{
    char name[PYTHON_FILES_NAME];
    if (hint->count == 0 || hint->told)
        return false;
    hint->told = true;
    snprintf(text, room,
             "process %d (%s), which the program has started, runs Python and is not recorded: -f records it, too",
             (int)hint->named[0], python_files_name(hint->named[0], name));
    return true;
}

bool hint_write(const struct hint *hint, char *text, size_t room)
{
    const bool one = hint->count == 1;
    char pids[HINT_NAMED * 13 + 8] = "";
    size_t size = 0;
    if (hint->count == 0 || (one && hint->told))
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
