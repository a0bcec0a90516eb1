/* SPDX-License-Identifier: MIT */
/* What a process can and cannot do behind guard_enter(). Each question is asked in a process of its own, since there is
 * no way back. */
#include "record/guard/guard.h"

#include "tests/fakes/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

enum { GOOD, BAD, SKIPPED };

static const struct guard_needs no_needs, all_needs = { .signals = true, .files = true };

static unsigned long status_number(const char *name)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long number = 0;
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            number = strtoul(line + strlen(name) + 1, NULL, 16);
    if (file)
        fclose(file);
    return number;
}

/* Runs the question in a child, and says whether the answer was yes; skips what cannot be asked here. */
static void in_a_child(int (*question)(void))
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE_S);
        _exit(question());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED)
        skip();
    assert_int_equal(WEXITSTATUS(status), GOOD);
}

static void enter(const struct guard_needs *needs)
{
    char text[GUARD_TEXT];
    guard_enter(needs, text);
}

/* A child that sleeps for ever, as another user if `user` is not 0. Ends with us. */
static pid_t sleeper(uid_t user)
{
    int ready[2];
    char byte;
    if (pipe(ready) != 0)
        _exit(BAD);
    const pid_t child = fork();
    if (child == 0) {
        if (user && (setgid(user) != 0 || setuid(user) != 0))
            _exit(BAD);
        prctl(PR_SET_DUMPABLE, 1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (write(ready[1], "r", 1) == 1)
            for (;;)
                pause();
    }
    if (read(ready[0], &byte, 1) != 1)
        _exit(BAD);
    return child;
}

static void end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static bool fails(long result)
{
    return result < 0 && errno == EPERM;
}

static bool is_filtered(void)
{
    return status_number("Seccomp") == 2;
}

/* ---- what is refused ---- */

static int what_the_recorder_never_does(void)
{
    const pid_t other = sleeper(0);
    char path[64], byte = 1, theirs;
    const struct iovec here = { &byte, 1 }, there = { &theirs, 1 };
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)other);
    enter(&no_needs);
    if (!is_filtered())
        return SKIPPED;
    bool good = fails(execl("/bin/true", "true", NULL));
    good &= fails(process_vm_writev(other, &here, 1, &there, 1, 0));
    good &= fails(open(path, O_RDWR)) && fails(open("/dev/null", O_WRONLY)) &&
            fails(open("/tmp/x", O_RDONLY | O_CREAT, 0600));
    good &= fails(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0)) && fails(creat("/tmp/x", 0600));
    good &= fails(socket(AF_UNIX, SOCK_STREAM, 0)) && fails(setuid(0)) && fails(unshare(CLONE_NEWUSER)) &&
            fails(chroot("/"));
    good &= ptrace(PTRACE_SEIZE, other, NULL, NULL) == 0 && ptrace(PTRACE_INTERRUPT, other, NULL, NULL) == 0;
    good &= waitpid(other, NULL, __WALL) == other && fails(ptrace(PTRACE_POKEDATA, other, &theirs, (void *)1));
    good &= ptrace(PTRACE_DETACH, other, NULL, NULL) == 0;
    end(other);
    return good ? GOOD : BAD;
}

static void what_the_recorder_never_does_is_refused(void **state)
{
    (void)state;
    in_a_child(what_the_recorder_never_does);
}

static int capabilities_shrink(void)
{
    const unsigned long keep = 1 << 2 | 1 << 19 | 1 << 23, had = status_number("CapPrm");
    enter(&no_needs);
    const bool good = status_number("CapPrm") == (had & keep) && status_number("CapEff") == (had & keep) &&
                      status_number("CapInh") == 0 && status_number("CapAmb") == 0 && status_number("NoNewPrivs") == 1;
    enter(&all_needs);
    return good && status_number("CapPrm") == (had & keep) ? GOOD : BAD;
}

static void capabilities_and_new_privileges_go(void **state)
{
    (void)state;
    in_a_child(capabilities_shrink);
}

static int needed_capabilities(void)
{
    const unsigned long keep = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 19 | 1 << 23, had = status_number("CapPrm");
    enter(&all_needs);
    return status_number("CapPrm") == (had & keep) ? GOOD : BAD;
}

static void what_is_needed_stays(void **state)
{
    (void)state;
    in_a_child(needed_capabilities);
}

/* Typing is refused with EPERM before the kernel judges the descriptor; other requests are judged. */
static int typing(void)
{
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int number = 0;
    const long huge = (long)0x100000000u;
    enter(&no_needs);
    if (!is_filtered())
        return SKIPPED;
    const bool good = fails(ioctl(file, TIOCSTI, "x")) && fails(ioctl(file, TIOCLINUX, "\3")) &&
                      fails(syscall(SYS_ioctl, file, huge + TIOCSTI, "x"));
    return good && ioctl(file, FIONREAD, &number) < 0 && errno == ENOTTY ? GOOD : BAD;
}

static void typing_on_a_terminal_is_refused(void **state)
{
    (void)state;
    in_a_child(typing);
}

/* ---- what goes on ---- */

static void *raise_priority(void *into)
{
    const struct sched_param first = { .sched_priority = 1 };
    *(bool *)into = sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) == 0;
    return NULL;
}

static int what_a_recording_does(void)
{
    const bool root = geteuid() == 0 && (status_number("CapEff") & 1 << 19) && (status_number("CapEff") & 1 << 23);
    const pid_t other = sleeper(root ? NOBODY : 0);
    const int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    char byte, path[64];
    static const char word = 'w';
    const struct iovec here = { &byte, 1 }, there = { (void *)&word, 1 };
    bool raised = false;
    pthread_t thread;
    enter(&(struct guard_needs){ .signals = true });
    bool good = process_vm_readv(other, &here, 1, &there, 1, 0) == 1 && byte == 'w';
    for (size_t i = 0; i < 4; i++) {
        static const char *const files[] = { "mem", "maps", "syscall", "root/proc/version" };
        snprintf(path, sizeof(path), "/proc/%d/%s", (int)other, files[i]);
        good &= open(path, O_RDONLY | O_CLOEXEC) >= 0;
    }
    good &= write(out, "x", 1) == 1 && syscall(SYS_pidfd_open, other, 0) >= 0;
    good &= pthread_create(&thread, NULL, raise_priority, &raised) == 0 && pthread_join(thread, NULL) == 0;
    good &= (raised || !root) && kill(other, SIGKILL) == 0 && waitpid(other, NULL, 0) == other;
    return good ? GOOD : BAD;
}

static void a_recording_goes_on(void **state)
{
    (void)state;
    in_a_child(what_a_recording_does);
}

static int new_files(void)
{
    char name[] = "/tmp/pyreel-guard.XXXXXX";
    enter(&all_needs);
    const int file = mkstemp(name);
    const bool good = file >= 0 && unlink(name) == 0 && (!is_filtered() || fails(execl("/bin/true", "true", NULL)));
    return good ? GOOD : BAD;
}

static void new_files_are_made_where_they_are_needed(void **state)
{
    (void)state;
    in_a_child(new_files);
}

/* A kernel without the means: these system calls do not exist. */
static bool take_means_away(void)
{
    struct sock_filter rules[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 2, 0),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_capset, 1, 0),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS) };
    const struct sock_fprog program = { 5, rules };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static int without_means(void)
{
    char text[GUARD_TEXT];
    if (!take_means_away())
        return SKIPPED;
    guard_enter(&no_needs, text);
    const bool told = strstr(text, "all capabilities are kept: Function not implemented") &&
                      strstr(text, "system calls are not filtered: Operation not supported");
    return told && open("/dev/null", O_WRONLY | O_CLOEXEC) >= 0 ? GOOD : BAD;
}

static void a_kernel_without_the_means_is_told(void **state)
{
    (void)state;
    in_a_child(without_means);
}

static int the_text(void)
{
    char text[GUARD_TEXT];
    guard_enter(&no_needs, text);
    if (!is_filtered())
        return SKIPPED;
    return strstr(text, "capabilities are kept (") && strstr(text, "no_new_privs is set, system calls are filtered")
               ? GOOD
               : BAD;
}

static void what_was_given_up_is_told(void **state)
{
    (void)state;
    in_a_child(the_text);
}

TEST_FILE(guard)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_recorder_never_does_is_refused),
        cmocka_unit_test(typing_on_a_terminal_is_refused),
        cmocka_unit_test(capabilities_and_new_privileges_go),
        cmocka_unit_test(what_is_needed_stays),
        cmocka_unit_test(a_recording_goes_on),
        cmocka_unit_test(new_files_are_made_where_they_are_needed),
        cmocka_unit_test(a_kernel_without_the_means_is_told),
        cmocka_unit_test(what_was_given_up_is_told),
    };
    return run_all(tests);
}
