/* SPDX-License-Identifier: MIT */
#include "record/process/permission.h"

#include "record/process/procfs.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CAP_SYS_PTRACE_BIT 19
#define YAMA_SCOPE         "/proc/sys/kernel/yama/ptrace_scope"

static bool may_trace_all(void)
{
    uint64_t capabilities = 0;
    procfs_number("/proc/self/status", "CapEff", 16, &capabilities);
    return capabilities >> CAP_SYS_PTRACE_BIT & 1;
}

static bool under_seccomp(void)
{
    uint64_t mode = 0;
    procfs_number("/proc/self/status", "Seccomp", 10, &mode);
    return mode != 0;
}

/* 0 where the kernel has no Yama. */
static int yama_scope(void)
{
    int scope = 0;
    FILE *file = fopen(YAMA_SCOPE, "re");
    if (file && fscanf(file, "%d", &scope) != 1)
        scope = 0;
    if (file)
        fclose(file);
    return scope;
}

/* Whether the target is in another user namespace than the recorder; false when this is not known. */
static bool other_user_namespace(pid_t pid)
{
    char path[64], ours[64] = "", theirs[64] = "";
    snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    const ssize_t a = readlink("/proc/self/ns/user", ours, sizeof(ours));
    const ssize_t b = readlink(path, theirs, sizeof(theirs));
    return a > 0 && b > 0 && (a != b || memcmp(ours, theirs, (size_t)a) != 0);
}

static const char *user_name(uid_t user, char *room, size_t size)
{
    const struct passwd *entry = getpwuid(user);
    snprintf(room, size, entry ? "%s (uid %d)" : "%.0suid %d", entry ? entry->pw_name : "", (int)user);
    return room;
}

static bool explain_scope_3(pid_t pid, struct fault *why)
{
    return fault(why,
                 "not permitted to read process %d: kernel.yama.ptrace_scope is 3, which forbids reading to everyone "
                 "until the next boot",
                 (int)pid);
}

static bool explain_with_capability(pid_t pid, struct fault *why)
{
    if (other_user_namespace(pid))
        return fault(why,
                     "not permitted to read process %d: it is in another user namespace. Run pyreel-record inside its "
                     "container, or as root of the host",
                     (int)pid);
    if (yama_scope() == 3)
        return explain_scope_3(pid, why);
    if (under_seccomp())
        return fault(
            why,
            "not permitted to read process %d: a seccomp filter forbids process_vm_readv here. In a container, "
            "start it with --cap-add=SYS_PTRACE or --security-opt seccomp=unconfined",
            (int)pid);
    return fault(
        why,
        "not permitted to read process %d although pyreel-record has the capability CAP_SYS_PTRACE: a security "
        "module (SELinux, AppArmor) forbids it; the log of the module names the rule",
        (int)pid);
}

bool permission_explain(pid_t pid, struct fault *why)
{
    uid_t user = 0;
    char theirs[128], ours[128];
    const uid_t us = geteuid();
    if (may_trace_all())
        return explain_with_capability(pid, why);
    if (us == 0)
        return fault(why,
                     "not permitted to read process %d: pyreel-record runs as root, but without the capability "
                     "CAP_SYS_PTRACE, as in a container. Start the container with --cap-add=SYS_PTRACE (Kubernetes: "
                     "securityContext.capabilities.add: [SYS_PTRACE])",
                     (int)pid);
    if (procfs_user(pid, &user) && user != us)
        return fault(why,
                     "not permitted to read process %d: it belongs to %s and pyreel-record runs as %s. Run "
                     "pyreel-record as that user or "
                     "as root: sudo pyreel-record -p %d",
                     (int)pid, user_name(user, theirs, sizeof(theirs)), user_name(us, ours, sizeof(ours)), (int)pid);
    const int scope = yama_scope();
    if (scope == 3)
        return explain_scope_3(pid, why);
    if (scope == 2)
        return fault(why,
                     "not permitted to read process %d: kernel.yama.ptrace_scope is 2, which lets only root read a "
                     "process. Use sudo pyreel-record -p %d",
                     (int)pid, (int)pid);
    if (scope > 0)
        return fault(
            why,
            "not permitted to read process %d: kernel.yama.ptrace_scope is %d, which lets only the parent read a "
            "process. Start the program with pyreel-record -- COMMAND, or use sudo pyreel-record -p %d, or "
            "set it to 0: sudo sysctl kernel.yama.ptrace_scope=0",
            (int)pid, scope, (int)pid);
    return fault(why,
                 "not permitted to read process %d: it has the same user, but is protected (setuid, or not dumpable), "
                 "or a seccomp filter forbids reading. Run pyreel-record as root: sudo pyreel-record -p %d",
                 (int)pid, (int)pid);
}
