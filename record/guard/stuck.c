/* SPDX-License-Identifier: MIT */
#include "record/guard/stuck.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATIENCE       20 /* seconds that a call may take in which the thread does not run once */
#define PATIENCE_ASKED 3  /* the same after the recorder was asked to stop */

static struct {
    bool (*is_asked_to_stop)(void);
    int exit_code;
} watch;

/* Reads the beginning of a file of a thread as a string; "" when the file cannot be read. */
static const char *read_file(const char *tid, const char *name, char *text, size_t size)
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

/* Whether the thread waits in the kernel and not even a signal wakes it. To write may take long: the output may be on a
 * slow disk. */
static bool waits_for_memory(const char *tid)
{
    static const long writes[] = { SYS_write, SYS_pwrite64, SYS_writev, SYS_fsync, SYS_close, SYS_ftruncate };
    char text[512];
    const char *rest = strrchr(read_file(tid, "stat", text, sizeof(text)), ')');
    if (!rest || strncmp(rest, ") D", 3) != 0)
        return false;
    const long call = strtol(read_file(tid, "syscall", text, sizeof(text)), NULL, 10);
    for (size_t i = 0; i < sizeof(writes) / sizeof(*writes); i++)
        if (call == writes[i])
            return false;
    return isdigit((unsigned char)text[0]);
}

/* How often the thread has slept so far. */
static uint64_t sleeps_of(const char *tid)
{
    char text[4096];
    const char *line = strstr(read_file(tid, "status", text, sizeof(text)), "\nvoluntary_ctxt_switches:");
    return line ? strtoull(strchr(line, ':') + 1, NULL, 10) : 0;
}

struct sleeper {
    char tid[16];
    uint64_t sleeps;
};

/* The first thread that waits for memory. False: none does. */
static bool find_sleeper(struct sleeper *found)
{
    DIR *tasks = opendir("/proc/self/task");
    bool is_found = false;
    for (const struct dirent *task; tasks && !is_found && (task = readdir(tasks));) {
        is_found = isdigit((unsigned char)task->d_name[0]) && waits_for_memory(task->d_name);
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
    static const char text[] = "pyreel-record: the memory of the program does not answer: a page of it lies on a file "
                               "system whose server is dead, "
                               "or plays dead. The recording ends here; what was written of it is good\n";
    const ssize_t done = write(STDERR_FILENO, text, sizeof(text) - 1);
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
        const bool asked = same && (watch.is_asked_to_stop() || has_pending_end());
        if (seconds >= (asked ? PATIENCE_ASKED : PATIENCE))
            give_up();
    }
    return unused;
}

void stuck_watch(bool (*is_asked_to_stop)(void), int exit_code)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    watch.is_asked_to_stop = is_asked_to_stop;
    watch.exit_code = exit_code;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the other threads */
    pthread_create(&thread, &attributes, look_each_second, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}
