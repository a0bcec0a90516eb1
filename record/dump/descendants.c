/* SPDX-License-Identifier: MIT */
#include "record/dump/descendants.h"

#include "formats/base/alloc.h"
#include "record/dump/standing.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

struct list {
    struct descendant *rows;
    size_t count, room;
};

static void descendants_add(struct list *list, struct descendant row)
{
    list->rows = alloc_grow(list->rows, &list->room, list->count + 1, sizeof(*list->rows));
    list->rows[list->count++] = row;
}

/* By parent, then by number. */
static int descendant_compare(const void *left, const void *right)
{
    const struct descendant *a = left, *b = right;
    return a->parent != b->parent ? (a->parent > b->parent) - (a->parent < b->parent)
                                  : (a->pid > b->pid) - (a->pid < b->pid);
}

/* All processes of the machine, sorted by parent. */
static struct list all_processes(void)
{
    struct list all = { 0 };
    DIR *proc = opendir("/proc");
    for (const struct dirent *entry; proc && all.count < DESCENDANTS_LIMIT && (entry = readdir(proc));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        const struct standing standing = standing_of(pid);
        if (standing.state)
            descendants_add(&all, (struct descendant){ .pid = pid, .parent = standing.parent });
    }
    if (proc)
        closedir(proc);
    if (all.count > 0)
        qsort(all.rows, all.count, sizeof(*all.rows), descendant_compare);
    return all;
}

/* The index of the first child of a process. */
static size_t first_child(const struct list *all, pid_t parent)
{
    size_t low = 0, high = all->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (all->rows[middle].parent < parent)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Processes change while /proc is read, so two may seem to be each other's parent: the walk ends at as many rows as
 * there are processes. */
static void add_children(struct list *tree, const struct list *all, pid_t pid)
{
    for (size_t i = first_child(all, pid); i < all->count && all->rows[i].parent == pid; i++) {
        if (tree->count > all->count)
            return;
        descendants_add(tree, all->rows[i]);
    }
}

struct descendant *descendants_of(pid_t pid, size_t *count)
{
    const struct list all = all_processes();
    struct list tree = { 0 };
    descendants_add(&tree, (struct descendant){ .pid = pid, .parent = standing_of(pid).parent });
    for (size_t i = 0; i < tree.count; i++)
        add_children(&tree, &all, tree.rows[i].pid);
    free(all.rows);
    *count = tree.count;
    return tree.rows;
}
