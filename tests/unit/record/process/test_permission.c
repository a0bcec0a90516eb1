/* SPDX-License-Identifier: MIT */
/* Why a process may not be read. Each cause is made in a process of its own, which gives up what it has: its user, its
 * capability, its view of /proc/sys. Where that is not permitted, a test is skipped. */
#include "record/process/permission.h"

#include "tests/fakes/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY   65534
#define NAMELESS 54321 /* a user that no system has */

/* ---- the process that asks ---- */

/* What a process gives up, and which process it asks about. */
struct scene {
    int scope; /* of Yama, 1 to 3; 0: as it is, or 0 if the scene has `no_yama` */
    bool no_yama;
    bool no_capability; /* root without CAP_SYS_PTRACE */
    bool filtered;      /* under a seccomp filter, which forbids process_vm_readv */
    bool harmless;      /* under a seccomp filter, which permits all */
    bool in_namespace;  /* root of a user namespace of its own, in which the target is not */
    uid_t user;         /* 0: the same */
    enum { OF_ROOT, OURS, OURS_PROTECTED, OURS_UNREADABLE, OURS_SETUID, OURS_ABLE, ZOMBIE, OF_A_NAMESPACE } target;
    bool refused; /* the kernel really refuses */
};

enum { GOOD, BAD, NOT_PERMITTED };

static pid_t target; /* of the process that asks */

/* A file system of ours in the place of the kernel's settings. */
static bool set_scope(int scope)
{
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/proc/sys/kernel", "tmpfs", 0, "mode=755") != 0)
        return false;
    if (scope == 0)
        return true; /* a kernel without Yama */
    if (mkdir("/proc/sys/kernel/yama", 0755) != 0)
        return false;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "we");
    return file && fprintf(file, "%d\n", scope) > 0 && fclose(file) == 0;
}

static bool drop_capability(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) != 0)
        return false;
    data[0].effective &= ~(1u << CAP_SYS_PTRACE);
    return syscall(SYS_capset, &head, data) == 0;
}

static bool filter(bool harmless)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, harmless ? UINT32_MAX : SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    };
    const struct sock_fprog program = { 4, rules };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Becomes another user, who may give files a new owner. */
static bool keep_a_capability(uid_t user)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { { .permitted = 1u << CAP_CHOWN } };
    return prctl(PR_SET_KEEPCAPS, 1) == 0 && setgid(user) == 0 && setuid(user) == 0 &&
           syscall(SYS_capset, &head, data) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

static char unreadable_cat[64];

/* A program that everyone may execute and nobody but root may read. */
static bool put_unreadable(void)
{
    char command[160];
    snprintf(command, sizeof(command), "cp /bin/cat %s && chmod 0711 %s", unreadable_cat, unreadable_cat);
    return system(command) == 0;
}

/* Becomes a program that may be executed and not read: it copies the byte that says that it is there, and waits. */
static void run_unreadable(int ready, int gate)
{
    int both[2];
    if (pipe(both) != 0 || write(both[1], "\1", 1) != 1)
        _exit(BAD);
    dup2(both[0], STDIN_FILENO); /* its other end stays open here: the program does not end */
    dup2(ready, STDOUT_FILENO);
    close(gate);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl(unreadable_cat, unreadable_cat, NULL);
    _exit(BAD);
}

/* What the child does: it is there until the other end of the gate is closed. */
_Noreturn static void be_target(const struct scene *scene, int ready, int gate)
{
    if (scene->target == OURS_PROTECTED)
        prctl(PR_SET_DUMPABLE, 0);
    if (scene->target == OURS_UNREADABLE)
        run_unreadable(ready, gate);
    if (scene->target == OURS_ABLE && !keep_a_capability(scene->user))
        _exit(BAD);
    if (scene->target == OURS_SETUID &&
        (setgid(scene->user) != 0 || setresuid(scene->user, scene->user, NAMELESS) != 0))
        _exit(BAD);
    char byte = scene->target != OF_A_NAMESPACE || unshare(CLONE_NEWUSER) == 0;
    if (scene->target != ZOMBIE && write(ready, &byte, 1) == 1 && read(gate, &byte, 1) != 0)
        _exit(BAD);
    _exit(GOOD);
}

/* A child that is as it is to be when this returns, and ends with us. */
static bool make_target(const struct scene *scene, int into)
{
    int ready[2], gate[2];
    char byte = 0;
    if (pipe(ready) != 0 || pipe(gate) != 0)
        return false;
    target = fork();
    if (target == 0) {
        close(into);
        close(ready[0]);
        close(gate[1]);
        be_target(scene, ready[1], gate[0]);
    }
    close(ready[1]);
    close(gate[0]);
    const ssize_t size = read(ready[0], &byte, 1);
    close(ready[0]);
    siginfo_t end;
    if (scene->target == ZOMBIE)
        return waitid(P_PID, (id_t)target, &end, WEXITED | WNOWAIT) == 0;
    return size == 1 && byte == 1;
}

/* Becomes root of a user namespace of its own, as in a rootless container. */
static bool enter_namespace(void)
{
    const uid_t user = geteuid();
    if (unshare(CLONE_NEWUSER) != 0)
        return false;
    FILE *file = fopen("/proc/self/uid_map", "we");
    return file && fprintf(file, "0 %d 1\n", (int)user) > 0 && fclose(file) == 0 && geteuid() == 0;
}

static bool prepare(const struct scene *scene, int into)
{
    if ((scene->scope || scene->no_yama) && !set_scope(scene->scope))
        return false;
    if (scene->target == OURS_UNREADABLE && !put_unreadable())
        return false;
    const bool before = scene->target == OF_ROOT || scene->target == ZOMBIE || scene->in_namespace ||
                        scene->target == OURS_SETUID || scene->target == OURS_ABLE;
    if (before && !make_target(scene, into))
        return false;
    if (scene->user && (setgid(scene->user) != 0 || setuid(scene->user) != 0))
        return false;
    /* One that has changed its user is protected, and its children are. */
    prctl(PR_SET_DUMPABLE, 1);
    if (scene->no_capability && !drop_capability())
        return false;
    if (!before && !make_target(scene, into))
        return false;
    if (scene->in_namespace && !enter_namespace())
        return false;
    return !(scene->filtered || scene->harmless) || filter(scene->harmless);
}

static bool is_refused(pid_t pid)
{
    char byte;
    const struct iovec here = { &byte, 1 }, there = { &target, 1 }; /* it is our child: this is there, too */
    return process_vm_readv(pid, &here, 1, &there, 1, 0) < 0 && errno == EPERM;
}

static int ask(const struct scene *scene, int into)
{
    struct fault why = { 0 };
    if (!prepare(scene, into))
        return NOT_PERMITTED;
    if (is_refused(target) != scene->refused || permission_explain(target, &why))
        return BAD;
    return dprintf(into, "%d %s", (int)target, why.text) > 0 ? GOOD : BAD;
}

/* What is said; "" when that could not be made. The process is PID in it. */
static const char *said(const struct scene *scene)
{
    static char text[2048];
    int ends[2], status, pid = 0, start = 0;
    size_t used = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t asks = fork();
    if (asks == 0) {
        close(ends[0]);
        _exit(ask(scene, ends[1]));
    }
    close(ends[1]);
    for (ssize_t size; used + 1 < sizeof(text) && (size = read(ends[0], text + used, sizeof(text) - 1 - used)) > 0;)
        used += (size_t)size;
    text[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(asks, &status, 0), asks);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), BAD);
    if (WEXITSTATUS(status) == NOT_PERMITTED) {
        print_message("not tested: this may not be made here\n");
        return "";
    }
    /* Each mention of the process is of the right one. */
    assert_int_equal(sscanf(text, "%d %n", &pid, &start), 1);
    char number[16], begin[64];
    snprintf(number, sizeof(number), "%d", pid);
    snprintf(begin, sizeof(begin), "not permitted to read process %d", pid);
    assert_memory_equal(text + start, begin, strlen(begin));
    const char *sudo = strstr(text, "pyreel-record -p ");
    if (sudo)
        assert_memory_equal(sudo + strlen("pyreel-record -p "), number, strlen(number));
    return text + start;
}

#define assert_says(scene, ...)                                                                                        \
    do {                                                                                                               \
        const char *const parts[] = { __VA_ARGS__ };                                                                   \
        const char *const text = said(scene);                                                                          \
        if (!*text)                                                                                                    \
            skip();                                                                                                    \
        for (size_t part = 0; part < sizeof(parts) / sizeof(*parts); part++)                                           \
            if (!strstr(text, parts[part]))                                                                            \
                fail_msg("'%s' does not say '%s'", text, parts[part]);                                                 \
    } while (0)

#define assert_never_says(scene, part)                                                                                 \
    do {                                                                                                               \
        const char *const text = said(scene);                                                                          \
        if (!*text)                                                                                                    \
            skip();                                                                                                    \
        if (strstr(text, part))                                                                                        \
            fail_msg("'%s' says '%s'", text, part);                                                                    \
    } while (0)

/* Tests that need a root who may do all; its own causes come before those of other users. */
static int need_root(void **state)
{
    (void)state;
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    unsigned long capabilities = 0, seccomp = 0;
    while (file && fgets(line, sizeof(line), file)) {
        sscanf(line, "CapEff: %lx", &capabilities);
        sscanf(line, "Seccomp: %lu", &seccomp);
    }
    if (file)
        fclose(file);
    if (geteuid() == 0 && capabilities >> CAP_SYS_PTRACE & 1 && seccomp == 0)
        return 0;
    print_message("not tested: this needs root, with CAP_SYS_PTRACE and without a seccomp filter\n");
    const char *ci = getenv("CI");
    _exit(ci && strcmp(ci, "true") == 0 ? EXIT_FAILURE : 77); /* 77: what Meson takes for "skipped" */
}

/* ---- users ---- */

static void another_users_process_is_told_with_both_names(void **state)
{
    (void)state;
    const struct scene scene = { .user = NOBODY, .target = OF_ROOT, .refused = true };
    assert_says(&scene, "it belongs to root (uid 0) and pyreel-record runs as nobody (uid 65534)",
                "as that user or as root", "sudo pyreel-record -p ");
}

static void a_user_without_a_name_is_told_by_number(void **state)
{
    (void)state;
    const struct scene scene = { .user = NAMELESS, .target = OF_ROOT, .refused = true };
    assert_says(&scene, "it belongs to root (uid 0) and pyreel-record runs as uid 54321");
}

static void a_zombie_belongs_to_its_user(void **state)
{
    (void)state;
    const struct scene scene = { .user = NOBODY, .target = ZOMBIE };
    assert_says(&scene, "it belongs to root (uid 0) and pyreel-record runs as nobody (uid 65534)");
}

static void a_process_of_ours_may_be_protected(void **state)
{
    (void)state;
    const struct scene scene = { .user = NOBODY, .target = OURS_PROTECTED, .no_yama = true, .refused = true };
    assert_says(&scene, "it has the same user, but is protected (not dumpable): it called prctl(PR_SET_DUMPABLE, 0)",
                "sudo pyreel-record -p ");
    assert_never_says(&scene, "seccomp");
}

static void a_program_that_may_not_be_read_is_told(void **state)
{
    (void)state;
    const struct scene scene = { .user = NOBODY, .target = OURS_UNREADABLE, .no_yama = true, .refused = true };
    snprintf(unreadable_cat, sizeof(unreadable_cat), "/tmp/pyreel-unreadable-%d", (int)getpid());
    assert_says(&scene, "is protected (not dumpable): you may execute its program, but not read the program's file");
    assert_never_says(&scene, "prctl");
}

static int remove_unreadable(void **state)
{
    (void)state;
    unlink(unreadable_cat);
    return 0;
}

static void a_process_that_changed_its_user_is_told(void **state)
{
    (void)state;
    const struct scene scene = { .user = NOBODY, .target = OURS_SETUID, .no_yama = true, .refused = true };
    assert_says(&scene, "it has changed its user or group", "setuid program");
    assert_never_says(&scene, "dumpable");
}

static void a_process_with_capabilities_is_told(void **state)
{
    (void)state;
    const struct scene scene = { .user = NOBODY, .target = OURS_ABLE, .no_yama = true, .refused = true };
    assert_says(&scene, "it has the same user, but capabilities that pyreel-record lacks (CapPrm in /proc/");
}

/* ---- Yama ---- */

static void scope_1_lets_a_parent_read(void **state)
{
    (void)state;
    const struct scene scene = { .scope = 1, .user = NOBODY, .target = OURS };
    assert_says(&scene, "kernel.yama.ptrace_scope is 1", "only the parent", "pyreel-record -- COMMAND",
                "sudo pyreel-record -p ", "sudo sysctl kernel.yama.ptrace_scope=0");
}

static void scope_2_lets_root_read(void **state)
{
    (void)state;
    const struct scene scene = { .scope = 2, .user = NOBODY, .target = OURS };
    assert_says(&scene, "kernel.yama.ptrace_scope is 2", "only root", "sudo pyreel-record -p ");
    assert_never_says(&scene, "sysctl");
    assert_never_says(&scene, "COMMAND"); /* a parent may not, either */
}

static void scope_3_lets_nobody_read(void **state)
{
    (void)state;
    const struct scene root = { .scope = 3, .target = OURS }, user = { .scope = 3, .user = NOBODY, .target = OURS };
    assert_says(&root, "kernel.yama.ptrace_scope is 3", "forbids reading to everyone until the next boot");
    assert_says(&user, "kernel.yama.ptrace_scope is 3", "forbids reading to everyone until the next boot");
    assert_never_says(&user, "sudo");
}

/* ---- root ---- */

static void root_without_the_capability_is_told_how_to_get_it(void **state)
{
    (void)state;
    const struct scene scene = { .no_capability = true, .target = OURS };
    assert_says(&scene, "pyreel-record runs as root, but without the capability CAP_SYS_PTRACE", "--cap-add=SYS_PTRACE",
                "securityContext.capabilities.add: [SYS_PTRACE]");
}

static void a_process_in_another_user_namespace_is_told(void **state)
{
    (void)state;
    const struct scene scene = { .target = OF_A_NAMESPACE, .no_yama = true };
    assert_says(&scene, "it is in another user namespace", "inside its container", "root of the host");
}

static void a_namespace_of_our_own_is_told(void **state)
{
    (void)state;
    const struct scene scene = {
        .user = NOBODY, .target = OF_ROOT, .in_namespace = true, .no_yama = true, .refused = true
    };
    assert_says(&scene, "pyreel-record runs in a user namespace of its own", "outside");
    assert_never_says(&scene, "security module");
    assert_never_says(&scene, "inside its container");
}

static void a_filter_that_permits_all_is_no_cause(void **state)
{
    (void)state;
    const struct scene scene = { .harmless = true, .target = OURS, .no_yama = true };
    assert_never_says(&scene, "seccomp");
}

static void a_seccomp_filter_is_told(void **state)
{
    (void)state;
    const struct scene scene = { .filtered = true, .target = OURS, .no_yama = true, .refused = true };
    assert_says(&scene, "a seccomp filter forbids process_vm_readv here", "--cap-add=SYS_PTRACE",
                "--security-opt seccomp=unconfined");
}

static void what_else_forbids_it_to_root_is_a_security_module(void **state)
{
    (void)state;
    const struct scene scene = { .target = OURS, .no_yama = true };
    assert_says(&scene, "although pyreel-record has the capability CAP_SYS_PTRACE",
                "a security module (SELinux, AppArmor, Landlock)");
}

TEST_FILE(permission)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_users_process_is_told_with_both_names),
        cmocka_unit_test(a_user_without_a_name_is_told_by_number),
        cmocka_unit_test(a_zombie_belongs_to_its_user),
        cmocka_unit_test(a_process_of_ours_may_be_protected),
        cmocka_unit_test_teardown(a_program_that_may_not_be_read_is_told, remove_unreadable),
        cmocka_unit_test(a_process_that_changed_its_user_is_told),
        cmocka_unit_test(a_process_with_capabilities_is_told),
        cmocka_unit_test(scope_1_lets_a_parent_read),
        cmocka_unit_test(scope_2_lets_root_read),
        cmocka_unit_test(scope_3_lets_nobody_read),
        cmocka_unit_test(root_without_the_capability_is_told_how_to_get_it),
        cmocka_unit_test(a_process_in_another_user_namespace_is_told),
        cmocka_unit_test(a_namespace_of_our_own_is_told),
        cmocka_unit_test(a_filter_that_permits_all_is_no_cause),
        cmocka_unit_test(a_seccomp_filter_is_told),
        cmocka_unit_test(what_else_forbids_it_to_root_is_a_security_module),
    };
    return cmocka_run_group_tests(tests, need_root, NULL);
}
