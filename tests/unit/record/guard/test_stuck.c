/* SPDX-License-Identifier: MIT */
/* Which waits count as waits for the process. Real threads wait for a file system whose server never answers. */
#include "record/guard/stuck.h"

#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 60 /* seconds until a thread waits */

enum { GOOD, BAD, SKIPPED };

static char folder[] = "/tmp/pyreel-stuck.XXXXXX";

/* Mounts a file system without a server over the folder, for this process only. */
static bool mount_dead(void)
{
    char options[96];
    const int server = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%d,group_id=%d", server, (int)getuid(),
             (int)getgid());
    return server >= 0 && unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("dead", folder, "fuse", MS_NOSUID | MS_NODEV, options) == 0;
}

struct waiter {
    const char *root; /* in front of the path */
    void (*call)(const char *path);
    bool all_paths;   /* all paths are of the process */
    bool for_process; /* what the answer must be */
    char path[128];
    _Atomic pid_t tid;
};

static void opens(const char *path)
{
    (void)!open(path, O_RDONLY | O_CLOEXEC);
}

static void looks(const char *path)
{
    struct stat file;
    (void)!stat(path, &file);
}

static void removes(const char *path)
{
    unlink(path);
}

static void renames(const char *path)
{
    (void)!rename(path, path);
}

static void *wait_for_ever(void *self)
{
    struct waiter *waiter = self;
    waiter->tid = (pid_t)syscall(SYS_gettid);
    waiter->call(waiter->path);
    return NULL;
}

static void doze(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

static char state_of(pid_t tid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
    FILE *file = fopen(path, "re");
    const size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = '\0';
    const char *rest = strrchr(text, ')');
    return rest && size > 0 ? rest[2] : '?';
}

static int judge(struct waiter *waiter)
{
    pthread_t thread;
    char tid[16];
    const time_t until = time(NULL) + PATIENCE;
    snprintf(waiter->path, sizeof(waiter->path), "%s%s/file", waiter->root, folder);
    if (pthread_create(&thread, NULL, wait_for_ever, waiter) != 0)
        return BAD;
    while ((waiter->tid == 0 || state_of(waiter->tid) != 'D') && time(NULL) < until)
        doze();
    snprintf(tid, sizeof(tid), "%d", (int)waiter->tid);
    return stuck_waits_for_process(tid, waiter->all_paths) == waiter->for_process ? GOOD : BAD;
}

static int waits(void)
{
    static struct waiter waiters[] = {
        { .root = "", .call = opens },
        { .root = "", .call = looks },
        { .root = "", .call = removes },
        { .root = "", .call = renames },
        { .root = "/proc/self/root", .call = opens, .for_process = true },
        { .root = "/proc/self/root", .call = looks, .for_process = true },
        { .root = "", .call = opens, .all_paths = true, .for_process = true },
    };
    if (!mount_dead())
        return SKIPPED;
    for (size_t i = 0; i < sizeof(waiters) / sizeof(*waiters); i++)
        if (judge(&waiters[i]) != GOOD)
            return BAD;
    return GOOD;
}

static void waits_for_the_output_do_not_count(void **state)
{
    int status;
    (void)state;
    assert_non_null(mkdtemp(folder));
    const pid_t child = fork();
    if (child == 0)
        _exit(waits());
    assert_int_equal(waitpid(child, &status, 0), child);
    rmdir(folder);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(WEXITSTATUS(status), GOOD);
}

static void a_thread_that_runs_does_not_wait(void **state)
{
    char tid[16];
    (void)state;
    snprintf(tid, sizeof(tid), "%ld", syscall(SYS_gettid));
    assert_false(stuck_waits_for_process(tid, true));
    assert_false(stuck_waits_for_process("0", true));
}

TEST_FILE(stuck)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_the_output_do_not_count),
        cmocka_unit_test(a_thread_that_runs_does_not_wait),
    };
    return run_all(tests);
}
