/* SPDX-License-Identifier: MIT */
/* The pid cursor: the last number that the kernel gave to a process or thread of our pid namespace. One read says that
 * none was made since the last read. The kernel gives numbers upwards, and begins again at the lower end when it
 * reaches pid_max. So when the cursor has moved, the new processes have the numbers between the old and the new place.
 *
 * The cursor is the last word of /proc/loadavg. A container may have another file mounted there (lxcfs); then the
 * cursor is not known. */
#ifndef PYREEL_RECORD_TREE_PID_CURSOR_H
#define PYREEL_RECORD_TREE_PID_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pid_cursor {
    int file; /* -1: the cursor is not known */
    pid_t last;
};

/* Opens the cursor, and notes its place. */
void pid_cursor_open(struct pid_cursor *cursor);
void pid_cursor_close(struct pid_cursor *cursor);

enum pid_cursor_state {
    PID_CURSOR_SAME,    /* no process and no thread was made since the last call */
    PID_CURSOR_MOVED,   /* those from *first to cursor->last were */
    PID_CURSOR_JUMPED,  /* more than `most` were, or the numbers began again: the processes that are new must be looked
                           for in other ways */
    PID_CURSOR_UNKNOWN, /* the cursor is not known: any number may be new */
};

/* Reads the cursor. One system call. */
enum pid_cursor_state pid_cursor_look(struct pid_cursor *cursor, pid_t most, pid_t *first);

/* Takes the last word out of the text of /proc/loadavg. Returns 0 when the word is no number. */
pid_t pid_cursor_parse(const char *text, size_t size);

#endif
