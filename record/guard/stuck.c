/* SPDX-License-Identifier: MIT */
#include "record/guard/stuck.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PATIENCE_ASKED 3 /* seconds that a call may take after our program was asked to stop */

static struct stuck_options watch; /* set before the thread of look_each_second() starts; that thread alone reads it */

/* Reads the beginning of a file of a thread as a string; "" when the file cannot be read. */
static const char *thread_file_read(const char *tid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%.16s/%s", tid, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;
    text[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}

/* Calls that only the output needs. */
static const long output_calls[] = {
    SYS_write,     SYS_pwrite64,  SYS_writev,    SYS_fsync,    SYS_fdatasync,
    SYS_close,     SYS_ftruncate, SYS_fallocate, SYS_unlinkat, SYS_flock,
#ifdef SYS_unlink
    SYS_unlink,
#endif
#ifdef SYS_rename
    SYS_rename,
#endif
#ifdef SYS_renameat
    SYS_renameat,
#endif
    SYS_renameat2,
};

/* Calls that take a path, and which argument the path is. */
static const struct {
    long call;
    size_t argument;
} path_calls[] = {
    { SYS_openat, 1 }, { SYS_newfstatat, 1 },
#ifdef SYS_open
    { SYS_open, 0 },   { SYS_stat, 0 },       { SYS_lstat, 0 },
#endif
};

#define ARGUMENTS 2

/* Whether a descriptor of ours is for reading only: the output is not. */
static bool is_for_reading(const char *tid, uint64_t fd)
{
    char name[32], text[256];
    snprintf(name, sizeof(name), "fdinfo/%" PRIu64, fd);
    const char *flags = strstr(thread_file_read(tid, name, text, sizeof(text)), "flags:");
    return flags && (strtoul(flags + sizeof("flags:") - 1, NULL, 8) & O_ACCMODE) == O_RDONLY;
}

/* Whether a call with these arguments is about a file of a process: pyreel-record opens such files in /proc. fstat() is
 * a call with a descriptor and an empty path. */
static bool is_of_process(const char *tid, uint64_t fd, uint64_t address)
{
    char start[] = "/proc/", found[sizeof(start) - 1] = "";
    const struct iovec to = { found, sizeof(found) }, from = { (void *)(uintptr_t)address, sizeof(found) };
    const ssize_t size = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (size > 0 && found[0] == '\0')
        return is_for_reading(tid, fd);
    return size == (ssize_t)sizeof(found) && memcmp(found, start, sizeof(found)) == 0;
}

/* Whether a call concerns the process, not the output. */
static bool is_for_process(const char *tid, long call, const uint64_t arguments[ARGUMENTS], bool all_paths)
{
    for (size_t i = 0; i < sizeof(output_calls) / sizeof(*output_calls); i++)
        if (call == output_calls[i])
            return false;
    for (size_t i = 0; i < sizeof(path_calls) / sizeof(*path_calls); i++)
        if (call == path_calls[i].call)
            return all_paths || is_of_process(tid, arguments[0], arguments[path_calls[i].argument]);
    return true;
}

bool stuck_waits_for_process(const char *tid, bool all_paths)
{
    char text[512], *at;
    uint64_t arguments[ARGUMENTS];
    const char *rest = strrchr(thread_file_read(tid, "stat", text, sizeof(text)), ')');
    if (!rest || strncmp(rest, ") D", 3) != 0)
        return false;
    if (!isdigit((unsigned char)thread_file_read(tid, "syscall", text, sizeof(text))[0]))
        return false;
    const long call = strtol(text, &at, 10);
    for (size_t i = 0; i < ARGUMENTS; i++)
        arguments[i] = strtoull(at, &at, 16);
    return is_for_process(tid, call, arguments, all_paths);
}

/* How often the thread has slept so far. */
static uint64_t sleeps_of(const char *tid)
{
    char text[4096];
    const char *line = strstr(thread_file_read(tid, "status", text, sizeof(text)), "\nvoluntary_ctxt_switches:");
    return line ? strtoull(strchr(line, ':') + 1, NULL, 10) : 0;
}

struct sleeper {
    char tid[16];
    uint64_t sleeps;
};

/* The first thread that waits for the process. False: none does. */
static bool find_sleeper(struct sleeper *found)
{
    DIR *tasks = opendir("/proc/self/task");
    bool is_found = false;
    for (const struct dirent *task; tasks && !is_found && (task = readdir(tasks));) {
        is_found = isdigit((unsigned char)task->d_name[0]) && stuck_waits_for_process(task->d_name, watch.all_paths);
        if (is_found)
            snprintf(found->tid, sizeof(found->tid), "%.15s", task->d_name);
    }
    if (tasks)
        closedir(tasks);
    found->sleeps = is_found ? sleeps_of(found->tid) : 0;
    return is_found;
}

/* Whether a signal that ends programs waits for a thread that could take it. */
static bool has_pending_end(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
                                         sigismember(&pending, SIGHUP) == 1 || sigismember(&pending, SIGQUIT) == 1);
}

static void give_up(void)
{
    const ssize_t done = write(STDERR_FILENO, watch.message, strlen(watch.message));
    (void)done;
    _exit(watch.exit_code);
}

static void *look_each_second(void *unused)
{
    struct sleeper last = { .tid = "" };
    unsigned seconds = 0;
    for (;;) {
        struct sleeper now = { .tid = "" };
        sleep(1);
        const bool same = find_sleeper(&now) && strcmp(now.tid, last.tid) == 0 && now.sleeps == last.sleeps;
        seconds = same ? seconds + 1 : 0;
        last = now;
        const bool asked = same && watch.is_asked_to_stop && (watch.is_asked_to_stop() || has_pending_end());
        if (seconds >= (asked ? PATIENCE_ASKED : watch.patience))
            give_up();
    }
    return unused;
}

void stuck_watch(const struct stuck_options *options)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    watch = *options;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the other threads */
    pthread_create(&thread, &attributes, look_each_second, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}
