/* SPDX-License-Identifier: MIT */
#include "record/tree/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000u

/* ---- pidfds ---- */

enum pidfd_state pidfd_open_process(pid_t pid, int *pidfd)
{
    *pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (*pidfd >= 0)
        return PIDFD_OPEN;
    switch (errno) {
    case ENOENT: /* since Linux 6.16; others say EINVAL, as of a process that is not complete yet */
        return PIDFD_THREAD;
    case ESRCH:
    case EINVAL:
        return PIDFD_NONE;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return PIDFD_FULL;
    default:
        return PIDFD_UNKNOWN;
    }
}

bool pidfd_ended(int pidfd)
{
    struct pollfd poll_it = { .fd = pidfd, .events = POLLIN };
    return poll(&poll_it, 1, 0) > 0;
}

bool pidfd_unreaped(int pidfd)
{
    return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0 || errno != ESRCH;
}

/* PIDFD_GET_INFO of <linux/pidfd.h>, which most machines have no header for yet. The kernel fills in `mask`. */
struct pidfd_info_64 {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, users[8];
    int32_t exit_code;
};
#define GET_INFO  _IOWR(0xFF, 11, struct pidfd_info_64)
#define INFO_PID  (1u << 0)
#define INFO_EXIT (1u << 3)

static bool get_info(int pidfd, uint64_t wanted, struct pidfd_info_64 *info)
{
    *info = (struct pidfd_info_64){ .mask = wanted };
    return ioctl(pidfd, GET_INFO, info) == 0 && (info->mask & wanted) == wanted;
}

bool pidfd_parent(int pidfd, pid_t *parent)
{
    struct pidfd_info_64 info;
    if (!get_info(pidfd, INFO_PID, &info))
        return false;
    *parent = (pid_t)info.ppid;
    return true;
}

bool pidfd_wait_status(int pidfd, int *wait_status)
{
    struct pidfd_info_64 info;
    if (!get_info(pidfd, INFO_EXIT, &info))
        return false;
    *wait_status = info.exit_code;
    return true;
}

/* ---- /proc ---- */

/* Fields of /proc/PID/stat, by their numbers in proc(5). */
enum {
    FIELD_STATE = 3,
    FIELD_PARENT = 4,
    FIELD_FLAGS = 9,
    FIELD_START = 22,
    FIELD_CODE = 26,
    FIELD_CODE_END = 27,
    FIELD_STACK = 28,
    FIELD_EXIT = 52
};

#define FLAG_KERNEL 0x00200000u /* PF_KTHREAD of include/linux/sched.h */

static uint64_t mix(uint64_t sum, uint64_t value)
{
    sum = (sum ^ value) * 0x9E3779B97F4A7C15u;
    return sum ^ sum >> 29;
}

static bool stat_take_field(const char **at, const char *end, uint64_t *value)
{
    while (*at < end && **at == ' ')
        ++*at;
    const char *begin = *at;
    const bool negative = *at < end && **at == '-';
    *at += negative;
    for (*value = 0; *at < end && **at >= '0' && **at <= '9'; ++*at)
        *value = *value * 10 + (uint64_t)(**at - '0');
    *value = negative ? -*value : *value;
    return *at > begin + negative;
}

/* "PID (NAME) STATE PARENT ...": NAME may have any characters, so the last parenthesis ends it. */
bool facts_parse(const char *text, size_t size, struct facts *facts)
{
    const char *end = text + size, *name = memchr(text, '(', size), *at = memrchr(text, ')', size);
    *facts = (struct facts){ .wait_status = -1 };
    if (!name || !at || at < name || end - at < 4 || at[1] != ' ')
        return false;
    facts->state = at[2];
    uint64_t by_name = 0, by_place = 0, places = 0;
    for (const char *letter = name; letter < at; letter++)
        by_name = mix(by_name, (unsigned char)*letter);
    at += 3;
    for (int field = FIELD_PARENT; field <= FIELD_EXIT; field++) {
        uint64_t value;
        if (!stat_take_field(&at, end, &value))
            return field > FIELD_STACK;
        if (field == FIELD_PARENT)
            facts->parent = value <= INT_MAX ? (pid_t)value : 0;
        else if (field == FIELD_FLAGS)
            facts->kernel = value & FLAG_KERNEL;
        else if (field == FIELD_START)
            facts->start = value;
        else if (field == FIELD_EXIT && facts->state == 'Z')
            facts->wait_status = (int)(value & 0xFFFF);
        if (field < FIELD_CODE || field > FIELD_STACK)
            continue;
        by_place = mix(by_place, value);
        places |= value;
        facts->program = places > 1 ? by_place
                                    : places * by_name; /* 1: the kernel does not tell us. 0: no memory left */
    }
    return true;
}

/* The kernel tells the status of a zombie of another user as 0. Files of a zombie belong to root, its folder to the
 * user.
 */
static bool process_is_ours(pid_t pid)
{
    char path[64];
    struct stat owner;
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return geteuid() == 0 || (stat(path, &owner) == 0 && owner.st_uid == geteuid());
}

bool facts_read(pid_t pid, struct facts *facts)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    const ssize_t size = read(file, text, sizeof(text));
    const bool good = size > 0 && facts_parse(text, (size_t)size, facts);
    if (good && facts->wait_status >= 0 && !process_is_ours(pid))
        facts->wait_status = -1;
    close(file);
    return good;
}

pid_t facts_parse_process(const char *text, size_t size)
{
    static const char label[] = "\nTgid:\t";
    const char *end = text + size, *at = memmem(text, size, label, sizeof(label) - 1);
    uint64_t value;
    if (!at)
        return 0;
    at += sizeof(label) - 1;
    return stat_take_field(&at, end, &value) && value <= INT_MAX ? (pid_t)value : 0;
}

bool facts_is_process(pid_t pid)
{
    char path[64], text[512]; /* the name is escaped, and at most 64 bytes long: the number is in the first 200 */
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t size = file >= 0 ? read(file, text, sizeof(text)) : -1;
    if (file >= 0)
        close(file);
    return size > 0 && facts_parse_process(text, (size_t)size) == pid;
}

/* ---- others ---- */

bool facts_share_memory(pid_t a, pid_t b)
{
    return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0) == 0;
}

bool facts_used(pid_t pid, uint64_t *used_ns)
{
    const clockid_t clock = (clockid_t)(~(unsigned)pid << 3 | 2); /* clock_getcpuclockid() asks the kernel, too */
    struct timespec used;
    if (clock_gettime(clock, &used) != 0)
        return false;
    *used_ns = (uint64_t)used.tv_sec * NS + (uint64_t)used.tv_nsec;
    return true;
}
