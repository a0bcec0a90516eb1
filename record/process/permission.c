/* SPDX-License-Identifier: MIT */
#include "record/process/permission.h"

#include "formats/base/alloc.h"
#include "record/process/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define CAP_DAC_OVERRIDE_BIT    1
#define CAP_DAC_READ_SEARCH_BIT 2
#define CAP_SYS_PTRACE_BIT      19
#define YAMA_SCOPE              "/proc/sys/kernel/yama/ptrace_scope"
#define WHOLE_RANGE             4294967295u /* how many ids the first user namespace of a machine maps */

/* Reads the beginning of a small file as a string; "" when the file cannot be read. */
static const char *small_file_read(const char *path, char *room, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t got = fd >= 0 ? read(fd, room, size - 1) : -1;
    room[got > 0 ? got : 0] = '\0';
    if (fd >= 0)
        close(fd);
    return room;
}

static const char *process_file_path(pid_t pid, const char *name, char *room, size_t size)
{
    snprintf(room, size, "/proc/%d/%s", (int)pid, name);
    return room;
}

static uint64_t capabilities_of(const char *status, const char *which)
{
    uint64_t capabilities = 0;
    procfs_number(status, which, 16, &capabilities);
    return capabilities;
}

uint64_t permission_capabilities(void)
{
    return capabilities_of("/proc/self/status", "CapEff");
}

static bool may_trace_all(void)
{
    return permission_capabilities() >> CAP_SYS_PTRACE_BIT & 1;
}

/* Whether a seccomp filter forbids the system call. Nothing else forbids a process to read itself. */
static bool call_is_forbidden(void)
{
    char from = 0, to;
    const struct iovec here = { &to, 1 }, there = { &from, 1 };
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) < 0 && (errno == EPERM || errno == ENOSYS);
}

/* 0 where the kernel has no Yama. */
static int yama_scope(void)
{
    char text[16];
    return (int)strtol(small_file_read(YAMA_SCOPE, text, sizeof(text)), NULL, 10);
}

static const char *user_name(uid_t user, char *room, size_t size)
{
    const struct passwd *entry = getpwuid(user);
    snprintf(room, size, entry ? "%s (uid %d)" : "%.0suid %d", entry ? entry->pw_name : "", (int)user);
    return room;
}

/* ---- user namespaces ---- */

enum user_namespace {
    NAMESPACE_SAME,   /* or not known to be another one */
    NAMESPACE_HOST,   /* the first one of the machine, and the recorder is in another */
    NAMESPACE_FOREIGN /* another one */
};

/* The link /proc/PID/ns/user names the namespace, but only to those who may read the process. Everyone may read
 * uid_map, which says with the ids of the reader's namespace how the ids of the process are mapped. */
static enum user_namespace user_namespace_of(pid_t pid)
{
    char path[64], ours[512], theirs[512];
    uint32_t first = 0, lower = 0, count = 0;
    const ssize_t a = readlink("/proc/self/ns/user", ours, sizeof(ours));
    const ssize_t b = readlink(process_file_path(pid, "ns/user", path, sizeof(path)), theirs, sizeof(theirs));
    if (a > 0 && b > 0 && a == b && memcmp(ours, theirs, (size_t)a) == 0)
        return NAMESPACE_SAME;
    const bool differ = a > 0 && b > 0;
    small_file_read("/proc/self/uid_map", ours, sizeof(ours));
    if (access(process_file_path(pid, "uid_map", path, sizeof(path)), R_OK) != 0)
        return differ ? NAMESPACE_FOREIGN : NAMESPACE_SAME;
    small_file_read(path, theirs, sizeof(theirs));
    if (!differ && strcmp(ours, theirs) == 0)
        return NAMESPACE_SAME;
    sscanf(theirs, "%" SCNu32 " %" SCNu32 " %" SCNu32, &first, &lower, &count);
    return count == WHOLE_RANGE ? NAMESPACE_HOST : NAMESPACE_FOREIGN;
}

static bool explain_namespace(pid_t pid, enum user_namespace theirs, struct fault *why)
{
    if (theirs == NAMESPACE_HOST)
        return fault(why,
                     "not permitted to read process %d: pyreel-record runs in a user namespace of its own (a rootless "
                     "container, or unshare -U), and the process is outside. What pyreel-record may do as root counts "
                     "inside only. Run pyreel-record outside, as root of the host",
                     (int)pid);
    return fault(why,
                 "not permitted to read process %d: it is in another user namespace. Run pyreel-record inside its "
                 "container, or as root of the host",
                 (int)pid);
}

/* ---- security modules ---- */

static bool explain_scope_3(pid_t pid, struct fault *why)
{
    return fault(why,
                 "not permitted to read process %d: kernel.yama.ptrace_scope is 3, which forbids reading to everyone "
                 "until the next boot",
                 (int)pid);
}

/* What confines the recorder itself, as its security module calls it; "" for nothing. */
static const char *confinement(char *room, size_t size)
{
    small_file_read("/proc/self/attr/current", room, size);
    room[strcspn(room, "\n")] = '\0';
    for (const char *c = room; *c; c++)
        if (!isgraph((unsigned char)*c) && *c != ' ')
            return "";
    return strstr(room, "unconfined") ? "" : room;
}

static bool explain_filter(pid_t pid, struct fault *why)
{
    return fault(why,
                 "not permitted to read process %d: a seccomp filter forbids process_vm_readv here. In a container, "
                 "start it with --cap-add=SYS_PTRACE or --security-opt seccomp=unconfined",
                 (int)pid);
}

/* Whether we may open the files of other users, as the file in /proc that is the memory of a process. */
static bool may_open_all(void)
{
    return permission_capabilities() & ((uint64_t)1 << CAP_DAC_READ_SEARCH_BIT | (uint64_t)1 << CAP_DAC_OVERRIDE_BIT);
}

static bool explain_closed_file(pid_t pid, uid_t user, struct fault *why)
{
    char name[128];
    return fault(why,
                 "not permitted to read process %d: it belongs to %s, and pyreel-record has the capability "
                 "CAP_SYS_PTRACE, but lacks CAP_DAC_READ_SEARCH, which opens /proc/%d/mem. Add it "
                 "(--cap-add=DAC_READ_SEARCH), or run pyreel-record as that user",
                 (int)pid, user_name(user, name, sizeof(name)), (int)pid);
}

static bool explain_with_capability(pid_t pid, struct fault *why)
{
    char label[128];
    uid_t user = 0;
    const enum user_namespace theirs = user_namespace_of(pid);
    if (theirs != NAMESPACE_SAME)
        return explain_namespace(pid, theirs, why);
    if (yama_scope() == 3)
        return explain_scope_3(pid, why);
    if (call_is_forbidden())
        return explain_filter(pid, why);
    if (!may_open_all() && procfs_user(pid, &user) && user != geteuid())
        return explain_closed_file(pid, user, why);
    const bool confined = *confinement(label, sizeof(label));
    return fault(why,
                 "not permitted to read process %d although pyreel-record has the capability CAP_SYS_PTRACE: a "
                 "security module (SELinux, AppArmor, Landlock) forbids it%s%s; the log of the module names the rule",
                 (int)pid, confined ? ", which confines pyreel-record as " : "", confined ? label : "");
}

/* ---- processes of the same user ---- */

/* Whether the real, effective and saved id behind `name` ("Uid", "Gid") in a process's status are all `id`. */
static bool has_only(pid_t pid, const char *name, uint32_t id)
{
    char path[64], text[4096];
    uint32_t real = id, effective = id, saved = id;
    const char *line = strstr(small_file_read(process_file_path(pid, "status", path, sizeof(path)), text, sizeof(text)),
                              name);
    if (line)
        sscanf(line + strlen(name), ": %" SCNu32 " %" SCNu32 " %" SCNu32, &real, &effective, &saved);
    return real == id && effective == id && saved == id;
}

/* Whether the kernel protects the process: most files of such a process in /proc belong to root. The folder of the
 * process itself always belongs to its user. */
static bool is_protected(pid_t pid)
{
    char path[64];
    struct stat file;
    uid_t user;
    return procfs_user(pid, &user) && stat(process_file_path(pid, "stat", path, sizeof(path)), &file) == 0 &&
           file.st_uid != user;
}

enum readable { READABLE, UNREADABLE, READABLE_UNKNOWN };

/* Whether we may read the file of the process's program. The first argument names the file, which the process can
 * change at will, so this is a guess, and no part of the path is followed out of the recorder's root file system. */
static enum readable executable_is_readable(pid_t pid)
{
    char path[64], name[4096];
    const struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS };
    small_file_read(process_file_path(pid, "cmdline", path, sizeof(path)), name, sizeof(name));
    const int file = name[0] == '/' ? (int)syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof(how)) : -1;
    if (file < 0)
        return READABLE_UNKNOWN;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    const enum readable readable = access(path, X_OK) != 0   ? READABLE_UNKNOWN
                                   : access(path, R_OK) == 0 ? READABLE
                                                             : UNREADABLE;
    close(file);
    return readable;
}

static bool explain_protected(pid_t pid, struct fault *why)
{
    static const char *const causes[] = {
        [READABLE] =
            "it called prctl(PR_SET_DUMPABLE, 0), as programs with secrets do, or gave up another user or group "
            "after its start",
        [UNREADABLE] = "you may execute its program, but not read the program's file",
        [READABLE_UNKNOWN] =
            "it called prctl(PR_SET_DUMPABLE, 0), as programs with secrets do, or gave up another user "
            "or group after its start, or you may execute its program but not read the file",
    };
    return fault(why,
                 "not permitted to read process %d: it has the same user, but is protected (not dumpable): %s. Run "
                 "pyreel-record as root: sudo pyreel-record -p %d",
                 (int)pid, causes[executable_is_readable(pid)], (int)pid);
}

static bool explain_yama(pid_t pid, int scope, struct fault *why)
{
    if (scope == 3)
        return explain_scope_3(pid, why);
    if (scope == 2)
        return fault(why,
                     "not permitted to read process %d: kernel.yama.ptrace_scope is 2, which lets only root read a "
                     "process. Use sudo pyreel-record -p %d",
                     (int)pid, (int)pid);
    return fault(why,
                 "not permitted to read process %d: kernel.yama.ptrace_scope is %d, which lets only the parent read a "
                 "process. Start the program with pyreel-record -- COMMAND, or use sudo pyreel-record -p %d, or "
                 "set it to 0: sudo sysctl kernel.yama.ptrace_scope=0",
                 (int)pid, scope, (int)pid);
}

/* The causes in the order in which the kernel checks them. */
static bool explain_same_user(pid_t pid, struct fault *why)
{
    char path[64], label[128];
    process_file_path(pid, "status", path, sizeof(path));
    if (!has_only(pid, "\nUid", getuid()) || !has_only(pid, "\nGid", getgid()))
        return fault(
            why,
            "not permitted to read process %d: it has changed its user or group (its real, effective and saved "
            "ids are not all yours), as a setuid program does. Run pyreel-record as root: "
            "sudo pyreel-record -p %d",
            (int)pid, (int)pid);
    if (capabilities_of(path, "CapPrm") & ~permission_capabilities())
        return fault(
            why,
            "not permitted to read process %d: it has the same user, but capabilities that pyreel-record lacks "
            "(CapPrm in %s). Run pyreel-record as root: sudo pyreel-record -p %d",
            (int)pid, path, (int)pid);
    if (is_protected(pid))
        return explain_protected(pid, why);
    const enum user_namespace theirs = user_namespace_of(pid);
    if (theirs != NAMESPACE_SAME)
        return explain_namespace(pid, theirs, why);
    if (yama_scope() > 0)
        return explain_yama(pid, yama_scope(), why);
    if (call_is_forbidden())
        return explain_filter(pid, why);
    const bool confined = *confinement(label, sizeof(label));
    return fault(why,
                 "not permitted to read process %d: it has the same user, so a security module (SELinux, AppArmor, "
                 "Landlock) forbids it%s%s. Run pyreel-record as root: sudo pyreel-record -p %d",
                 (int)pid, confined ? ", which confines pyreel-record as " : "", confined ? label : "", (int)pid);
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
    return explain_same_user(pid, why);
}

/* ---- processes that cannot be seen ---- */

bool permission_see_processes(struct fault *why)
{
    char number[16] = "";
    const ssize_t size = readlink("/proc/self", number, sizeof(number) - 1);
    if (size > 0 && strtol(number, NULL, 10) == getpid())
        return true;
    if (access("/proc/1/stat", F_OK) == 0 || size > 0)
        return fault(
            why, "the /proc that is mounted here shows the processes of another PID namespace, under other numbers. "
                 "Mount that of this namespace: mount -t proc proc /proc (unshare --mount-proc does)");
    return fault(why, "processes cannot be seen: /proc is not mounted here. As root: mount -t proc proc /proc");
}

static bool is_zombie(pid_t pid)
{
    char path[64], text[1024];
    const char *rest = strrchr(small_file_read(process_file_path(pid, "stat", path, sizeof(path)), text, sizeof(text)),
                               ')');
    return !rest || strchr("ZX", rest[1] ? rest[2] : 'X') != NULL;
}

/* Whether the process has no memory of its own and has not ended. */
static bool is_of_kernel(pid_t pid)
{
    char path[64];
    uint64_t pages;
    const char *status = process_file_path(pid, "status", path, sizeof(path));
    return !procfs_number(status, "VmSize", 10, &pages) && procfs_number(status, "Threads", 10, &pages) &&
           !is_zombie(pid);
}

bool permission_explain_absence(pid_t pid, struct fault *why)
{
    char path[64];
    struct stat there;
    if (!permission_see_processes(why))
        return false;
    const bool exists = kill(pid, 0) == 0 || errno == EPERM;
    const bool shown = stat(process_file_path(pid, "", path, sizeof(path)), &there) == 0;
    if (exists && shown && is_of_kernel(pid))
        return fault(why, "no CPython interpreter was found in process %d: it is a thread of the kernel", (int)pid);
    if (!exists || shown)
        return fault(why, "there is no process %d", (int)pid);
    return fault(why,
                 "process %d is there, but /proc hides the processes of other users (the mount option hidepid). Run "
                 "pyreel-record as root: sudo pyreel-record -p %d",
                 (int)pid, (int)pid);
}
