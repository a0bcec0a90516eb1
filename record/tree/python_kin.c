/* SPDX-License-Identifier: MIT */
#include "record/tree/python_kin.h"

#include "record/process/procfs.h"
#include "record/process/python_files.h"
#include "record/tree/kin.h"

#include <stdio.h>

/* ---- looking ---- */

/* Adds the children of a process to the rows, unless a row has them already: /proc changes while it is read, so two
 * processes may seem to be each other's parent. */
static void family_add(struct kin *family, const struct kin *all, pid_t parent)
{
    struct kin children = { 0 };
    if (!all)
        kin_add_children(&children, parent);
    const struct kin *from = all ? all : &children;
    for (size_t i = 0; i < from->count && family->count < PYTHON_KIN_MOST; i++) {
        bool known = from->rows[i].parent != parent;
        for (size_t k = 0; k < family->count && !known; k++)
            known = family->rows[k].pid == from->rows[i].pid;
        if (!known)
            kin_add(family, (struct kin_row){ .pid = from->rows[i].pid, .parent = parent });
    }
    kin_free(&children);
}

/* The process, then its descendants: the nearest first. */
static struct kin family_of(pid_t pid)
{
    struct kin family = { 0 }, all = { 0 };
    const bool listed = kin_listed();
    if (!listed)
        kin_add_all(&all);
    kin_add(&family, (struct kin_row){ .pid = pid });
    for (size_t i = 0; i < family.count; i++)
        family_add(&family, listed ? NULL : &all, family.rows[i].pid);
    kin_free(&all);
    return family;
}

static void python_kin_take(struct python_kin *found, const struct kin_row *row, bool child)
{
    const struct python_files files = python_files_of(row->pid);
    const bool readable = python_files_readable(&files);
    if (!readable && !files.cpython && !files.other)
        return;
    if (found->pid == 0 || (readable && !found->readable))
        *found = (struct python_kin){ .pid = row->pid, .child = child, .readable = readable };
    else
        found->others += readable == found->readable;
}

struct python_kin python_kin_of(pid_t pid)
{
    struct kin family = family_of(pid);
    struct python_kin found = { 0 };
    for (size_t i = 1; i < family.count; i++)
        python_kin_take(&found, &family.rows[i], family.rows[i].parent == pid);
    kin_free(&family);
    return found;
}

/* ---- words ---- */

/* The kernel's name of a process. */
static void name_process(pid_t pid, char room[PYTHON_FILES_NAME])
{
    const struct text name = procfs_thread_name(pid, pid);
    snprintf(room, PYTHON_FILES_NAME, "%.*s", (int)name.size, name.size ? name.bytes : "");
    text_free(name);
}

void python_kin_explain(pid_t pid, bool is_python, const struct python_kin_words *words, struct fault *why)
{
    const struct python_kin found = python_kin_of(pid);
    const char *kinship = found.child ? "child" : "descendant";
    const struct fault refusal = *why;
    char own[PYTHON_FILES_NAME], name[PYTHON_FILES_NAME], others[64] = "";
    if (found.pid == 0)
        return;
    name_process(pid, own);
    python_files_name(found.pid, name);
    if (found.others > 0)
        snprintf(others, sizeof(others), ", and so %s %zu more of its tree", found.others == 1 ? "is" : "are",
                 found.others);
    why->text[0] = '\0';
    if (!found.readable)
        fault(why, "%s; its %s %d (%s) is a Python that cannot be read%s", refusal.text, kinship, (int)found.pid, name,
              others);
    else if (is_python)
        fault(why, "%s; its %s %d (%s) is one that can%s: use %s %d, or -f to %s the whole tree", refusal.text, kinship,
              (int)found.pid, name, others, words->one, (int)found.pid, words->whole);
    else
        fault(why, "process %d (%s) is no Python; its %s %d (%s) is%s: use %s %d, or -f to %s the whole tree", (int)pid,
              own, kinship, (int)found.pid, name, others, words->one, (int)found.pid, words->whole);
}
