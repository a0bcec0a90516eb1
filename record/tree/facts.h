/* SPDX-License-Identifier: MIT */
/* What the kernel says of one process, in as few system calls as each version of Linux needs. Texts of /proc are not
 * trusted: a process chooses its own name. */
#ifndef PYREEL_RECORD_TREE_FACTS_H
#define PYREEL_RECORD_TREE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- pidfds: a pidfd means its process for ever, also when the number is used again ---- */

enum pidfd_state {
    PIDFD_OPEN,
    PIDFD_THREAD,  /* the number is that of a thread that is not the main thread of a process */
    PIDFD_NONE,    /* there is no such process, or not yet, or the number is that of a thread */
    PIDFD_FULL,    /* the recorder has no descriptor left */
    PIDFD_UNKNOWN, /* the kernel has no pidfds (before Linux 5.3), or a filter forbids them */
};

/* Opens the pidfd of a process, which may be a zombie. Sets *pidfd to -1 when it does not. */
enum pidfd_state pidfd_open_process(pid_t pid, int *pidfd);

/* Whether the process has ended: it is a zombie, or was reaped. */
bool pidfd_ended(int pidfd);

/* Whether the process was not reaped, so that its number is not used again. */
bool pidfd_unreaped(int pidfd);

/* Sets *parent to the process's parent. False before Linux 6.13. */
bool pidfd_parent(int pidfd, pid_t *parent);

/* Sets *wait_status to that of a process that was reaped. False when it was not, and before Linux 6.15. */
bool pidfd_wait_status(int pidfd, int *wait_status);

/* ---- /proc ---- */

struct facts {
    pid_t parent;
    char state;       /* 'R', 'S', ..., 'Z' of a zombie */
    uint64_t start;   /* when the process was started, in clock ticks since the machine was */
    uint64_t program; /* differs from execve to execve: from where in memory the kernel put the program. Without the
                         permission to read the process: made of its name. 0: the process is ending */
    int wait_status;  /* of a zombie: as waitpid() gives; -1: not known */
    bool kernel;      /* a thread of the kernel, which shows as a process */
};

/* Reads /proc/PID/stat. False when there is no such process. */
bool facts_read(pid_t pid, struct facts *facts);

/* Takes the facts out of the text of /proc/PID/stat. False when the text is damaged. */
bool facts_parse(const char *text, size_t size, struct facts *facts);

/* Whether the number is that of a process, not of a thread of one. From /proc/PID/status; for kernels without pidfds.
 */
bool facts_is_process(pid_t pid);

/* Takes the number of the process (Tgid) out of the text of /proc/PID/status. 0: the text has none. */
pid_t facts_parse_process(const char *text, size_t size);

/* ---- others ---- */

/* Whether both processes have the same memory, as after vfork() until the child calls execve(). False when not known.
 */
bool facts_share_memory(pid_t a, pid_t b);

/* Sets *used_ns to the processor time of the process. False when there is no such process. */
bool facts_used(pid_t pid, uint64_t *used_ns);

#endif
