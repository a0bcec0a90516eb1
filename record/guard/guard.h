/* SPDX-License-Identifier: MIT */
/* Gives up what the recorder does not need any more. The recorder often runs as root, and reads the memory of a program
 * that may be hostile. Should the program ever make the recorder do something else, that something should be able to do
 * little: from guard_enter() on, the recorder cannot run another program, become another user, write into the memory of
 * another process, load anything into the kernel, or open a file for writing; where it goes on from file to file, it
 * can still make files that were not there. It reads, as before.
 *
 * Three means, each of which may be absent. Without them the recorder works as well, and -v says so.
 *
 *   capabilities    only those stay that reading, signals and priorities need. Without CAP_SYS_PTRACE all stay: then
 *                   reading a process needs all capabilities that the process has
 *   no_new_privs    no execve() gives the recorder more rights
 *   a filter        the kernel refuses some system calls with EPERM (seccomp)
 *
 * The filter names what is refused, not what is permitted. A list of what is permitted would have to know each system
 * call of each version of libc, and would end the recorder for one that is missing. Landlock is no means: the kernel
 * lets a process that is restricted by Landlock read only processes with the same restriction. */
#ifndef PYREEL_RECORD_GUARD_GUARD_H
#define PYREEL_RECORD_GUARD_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* What the recorder still has to do. */
struct guard_needs {
    bool signals; /* sends signals to processes, which may be another user's by then */
    bool files;   /* makes more files */
    bool folder;  /* removes a file from a folder of another user */
};

#define GUARD_TEXT ((size_t)512)

/* Gives up the rest, in the calling thread and in the threads that it will start. Processes that were started before
 * keep what they have. Call it before other threads are started, and after whatever opens sockets and raises limits.
 * Writes into `text` what was given up, for messages. */
void guard_enter(const struct guard_needs *needs, char text[GUARD_TEXT]);

/* The filter alone. False, with errno, where the kernel has none or does not permit one. */
bool guard_filter(const struct guard_needs *needs);

#endif
