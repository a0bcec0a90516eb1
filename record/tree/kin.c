/* SPDX-License-Identifier: MIT */
#include "record/tree/kin.h"

#include "formats/base/alloc.h"
#include "record/tree/facts.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS_MOST 4096 /* threads of a process whose lists are read */

void kin_add(struct kin *kin, struct kin_row row)
{
    if (kin->count == KIN_MOST || row.pid <= 0)
        return;
    kin->rows = alloc_grow(kin->rows, &kin->room, kin->count + 1, sizeof(*kin->rows));
    kin->rows[kin->count++] = row;
}

/* Calls back for each name in a folder that is a number, at most `most` times. */
static void each_number(const char *folder, size_t most, void (*found)(void *context, pid_t number), void *context)
{
    DIR *numbers = opendir(folder);
    for (const struct dirent *entry; numbers && most > 0 && (entry = readdir(numbers));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        found(context, (pid_t)strtol(entry->d_name, NULL, 10));
        most--;
    }
    if (numbers)
        closedir(numbers);
}

bool kin_listed(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    return access(path, R_OK) == 0;
}

struct family {
    struct kin *kin;
    pid_t pid;
};

/* Adds the children that a thread made: numbers with blanks between. */
static void add_children_of_thread(void *context, pid_t thread)
{
    const struct family *family = context;
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)family->pid, (int)thread);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    pid_t number = 0;
    for (ssize_t size; file >= 0 && family->kin->count < KIN_MOST && (size = read(file, text, sizeof(text))) > 0;)
        for (ssize_t i = 0; i < size; i++) {
            if (isdigit((unsigned char)text[i])) {
                number = number < 100000000 ? number * 10 + (text[i] - '0') : 0;
                continue;
            }
            kin_add(family->kin, (struct kin_row){ number, family->pid, 0 });
            number = 0;
        }
    if (file >= 0)
        close(file);
}

/* A folder has two links more than folders in it, so most processes show without a list that they have one thread. */
void kin_add_children(struct kin *kin, pid_t pid)
{
    struct family family = { kin, pid };
    char folder[64];
    struct stat threads;
    snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pid);
    if (stat(folder, &threads) != 0)
        return;
    if (threads.st_nlink == 3)
        add_children_of_thread(&family, pid);
    else
        each_number(folder, THREADS_MOST, add_children_of_thread, &family);
}

static void kin_add_process(void *context, pid_t pid)
{
    struct facts facts;
    if (facts_read(pid, &facts) && !facts.kernel)
        kin_add(context, (struct kin_row){ pid, facts.parent, facts.start });
}

static int by_start(const void *a, const void *b)
{
    const struct kin_row *x = a, *y = b;
    return x->start != y->start ? (x->start > y->start) - (x->start < y->start) : (x->pid > y->pid) - (x->pid < y->pid);
}

void kin_add_all(struct kin *kin)
{
    each_number("/proc", KIN_MOST, kin_add_process, kin);
    if (kin->count > 0)
        qsort(kin->rows, kin->count, sizeof(*kin->rows), by_start);
}

void kin_free(struct kin *kin)
{
    free(kin->rows);
    *kin = (struct kin){ 0 };
}
