/* SPDX-License-Identifier: MIT */
/* What /proc says of a process. Everything is reached through /proc/PID, so it works the same for a process in another
 * mount or pid namespace; a path that the process itself would use means nothing here. Numbers of processes and
 * threads are the recorder's own unless the name says `ns_`. */
#ifndef PYREEL_RECORD_PROCESS_PROCFS_H
#define PYREEL_RECORD_PROCESS_PROCFS_H

#include "formats/base/bytes.h"
#include "formats/intern/intern.h"

#include <sys/types.h>

/* A file mapped into a process, from the file's start: the head of a program or library. */
struct image {
    uint64_t address;
    uint64_t inode;
    bool program; /* it is /proc/PID/exe */
    char *path;   /* as the process knows it; for messages and hints only */
};

struct images {
    struct image *rows;
    size_t count, room;
};

/* The heads of all files mapped into the process; the program first, then files with "python" in their name. False
 * when /proc/PID/maps can't be read (errno tells). */
bool procfs_images(pid_t pid, struct images *images);
void procfs_images_free(struct images *images);
/* Opens the file of an image by the process's own view of it: its name may mean another file, or none, where we are.
 * -1 when it can't be reached. */
int procfs_open_image(pid_t pid, const struct image *image);

/* Texts of a process as clean UTF-8, which the caller frees with text_free(); empty when unknown. */
struct text procfs_executable(pid_t pid);
struct text procfs_folder(pid_t pid);
struct text procfs_command(pid_t pid); /* arguments joined by blanks, quoted where a shell would need it */
struct text procfs_thread_name(pid_t pid, pid_t tid);

/* Joins arguments, which have a NUL behind each, as procfs_command() does. */
struct text procfs_quote_arguments(struct text arguments);
/* The same for those of a main(). */
struct text procfs_quote_command(char **arguments);

/* The process's own number for itself in its innermost pid namespace; 0 when unknown. */
pid_t procfs_ns_pid(pid_t pid);

/* Whether the process lives in our pid namespace. */
bool procfs_same_pids(pid_t pid);

/* Fills `threads` with the recorder's number of each thread of a process: (what the process itself calls it, 0) →
 * number. */
void procfs_map_threads(pid_t pid, struct intern_pairs *threads);

/* The user a process belongs to; false when there is no such process. */
bool procfs_user(pid_t pid, uid_t *user);

/* Whether the process has one thread and that waits for something, without a processor. */
bool procfs_sleeps_alone(pid_t pid);

/* The processor that a thread runs on, or ran on last; false when that is not known. */
bool procfs_processor(pid_t pid, uint32_t tid, uint32_t *processor);

/* A number that stands after `name:` in a file such as /proc/self/status, in base 10 or 16; false when not there. */
bool procfs_number(const char *path, const char *name, int base, uint64_t *number);

#endif
