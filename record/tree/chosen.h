/* SPDX-License-Identifier: MIT */
/* Which processes of a machine are recorded (--all): those of one user, of one cgroup and what lies below it, and with
 * a command line that matches, as far as the options name these. A process is judged when its Python is found, and
 * again when it has called execve(), or the expressions changed. A title that the process writes over its command line
 * counts as its command line (procfs_command()). */
#ifndef PYREEL_RECORD_TREE_CHOSEN_H
#define PYREEL_RECORD_TREE_CHOSEN_H

#include "formats/base/fault.h"

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The options as they are given; NULL: any process fits. */
struct chosen_words {
    const char *match;  /* a POSIX extended expression; @FILE: one in each line of a file, of which one must match */
    const char *user;   /* a name of /etc/passwd, or a number */
    const char *cgroup; /* /system.slice/web.service, also as a folder: /sys/fs/cgroup/system.slice/web.service */
};

/* `= {0}` is everybody. */
struct chosen {
    struct chosen_words words;
    uid_t user;
    regex_t *expressions;
    size_t count;
};

/* Reads the words, which must live as long. False with the reason. */
bool chosen_open(struct chosen *chosen, const struct chosen_words *words, struct fault *why);

/* Whether the expressions stand in a file, which can be read again. */
bool chosen_has_file(const struct chosen *chosen);

/* Reads the file of expressions again. False with the reason: the expressions stay as they were. */
bool chosen_reload(struct chosen *chosen, struct fault *why);

/* Whether a process is recorded. Asks /proc where there are words. */
bool chosen_fits(const struct chosen *chosen, pid_t pid);

/* Whether the text of a file /proc/PID/cgroup names a cgroup, or one below it. `path` may be a folder of
 * /sys/fs/cgroup. */
bool chosen_names_cgroup(const char *text, const char *path);

/* Frees everything. Safe on a zeroed struct. */
void chosen_close(struct chosen *chosen);

#endif
