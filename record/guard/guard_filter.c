/* SPDX-License-Identifier: MIT */
#include "record/guard/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define REFUSE       SCMP_ACT_ERRNO(EPERM)

/* System calls that the recorder never makes after guard_enter(). libseccomp knows which of them a machine lacks. */
static const int refused[] = {
    /* other programs */
    SCMP_SYS(execve), SCMP_SYS(execveat),
    /* the memory of other processes */
    SCMP_SYS(process_vm_writev), SCMP_SYS(userfaultfd),
    /* other users, other namespaces, other roots */
    SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid), SCMP_SYS(setregid), SCMP_SYS(setresuid),
    SCMP_SYS(setresgid), SCMP_SYS(setfsuid), SCMP_SYS(setfsgid), SCMP_SYS(setgroups), SCMP_SYS(unshare),
    SCMP_SYS(setns), SCMP_SYS(chroot), SCMP_SYS(pivot_root), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(move_mount),
    SCMP_SYS(fsopen), SCMP_SYS(open_tree),
    /* the kernel and the machine */
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(io_uring_setup), SCMP_SYS(reboot),
    SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct), SCMP_SYS(quotactl),
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(adjtimex), SCMP_SYS(clock_adjtime), SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(keyctl),
    /* the network; a socket that is open stays open */
    SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(listen),
    /* the rights and attributes of files */
    SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(fchown), SCMP_SYS(fchownat), SCMP_SYS(setxattr), SCMP_SYS(lsetxattr),
    SCMP_SYS(fsetxattr), SCMP_SYS(mknodat), SCMP_SYS(linkat), SCMP_SYS(symlinkat), SCMP_SYS(truncate),
    SCMP_SYS(open_by_handle_at), SCMP_SYS(chmod), SCMP_SYS(chown), SCMP_SYS(lchown), SCMP_SYS(mknod), SCMP_SYS(link),
    SCMP_SYS(symlink),
    /* files for writing; the flags of openat2() are in memory, where a filter cannot see them */
    SCMP_SYS(creat), SCMP_SYS(openat2)
};

/* Requests that the recorder never makes: of ptrace(), those that change a program; of ioctl(), those that type on a
 * terminal: what is typed there, the user's shell would run. */
static const struct {
    int call;
    unsigned argument;
    unsigned request;
} refused_requests[] = {
    { SCMP_SYS(ptrace), 0, PTRACE_POKETEXT },  { SCMP_SYS(ptrace), 0, PTRACE_POKEDATA },
    { SCMP_SYS(ptrace), 0, PTRACE_POKEUSER },
#ifdef PTRACE_SETREGS
    { SCMP_SYS(ptrace), 0, PTRACE_SETREGS },   { SCMP_SYS(ptrace), 0, PTRACE_SETFPREGS },
#endif
    { SCMP_SYS(ptrace), 0, PTRACE_SETREGSET }, { SCMP_SYS(ioctl), 1, TIOCSTI },
    { SCMP_SYS(ioctl), 1, TIOCLINUX },
};

/* A filter that is being made, and the first error of that: a negative errno, behind which nothing is added. */
struct filter {
    scmp_filter_ctx context;
    int error;
};

static void filter_set(struct filter *filter, enum scmp_filter_attr attribute, uint32_t value)
{
    if (!filter->error)
        filter->error = seccomp_attr_set(filter->context, attribute, value);
}

static void filter_refuse(struct filter *filter, int call)
{
    if (!filter->error)
        filter->error = seccomp_rule_add(filter->context, REFUSE, call, 0);
}

/* Refuses a system call if its argument, an int, is `value` in the bits of `mask`. */
static void filter_refuse_when(struct filter *filter, int call, unsigned argument, uint32_t mask, uint32_t value)
{
    if (!filter->error)
        filter->error = seccomp_rule_add(filter->context, REFUSE, call, 1,
                                         SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, mask, value));
}

/* Files can be opened for reading only. `anew`: files that were not there can be made, too. */
static void filter_refuse_writing(struct filter *filter, int call, unsigned argument, bool anew)
{
    static const uint32_t writes[] = { O_WRONLY, O_RDWR, O_TRUNC, O_CREAT };
    for (size_t i = 0; i < COUNT(writes); i++) {
        if (!anew) {
            filter_refuse_when(filter, call, argument, writes[i], writes[i]);
            continue;
        }
        filter_refuse_when(filter, call, argument, writes[i] | O_EXCL, writes[i]);
        if (writes[i] != O_CREAT)
            filter_refuse_when(filter, call, argument, writes[i] | O_CREAT, writes[i]);
    }
}

static void filter_set_attributes(struct filter *filter)
{
    filter_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
    filter_set(filter, SCMP_FLTATR_ACT_BADARCH, REFUSE);
    filter_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    filter_set(filter, SCMP_FLTATR_CTL_SSB, 1); /* so that nothing gets slower */
}

bool guard_filter(const struct guard_needs *needs)
{
    struct filter filter = { .context = seccomp_init(SCMP_ACT_ALLOW) };
    filter_set_attributes(&filter);
    for (size_t i = 0; i < COUNT(refused); i++)
        filter_refuse(&filter, refused[i]);
    for (size_t i = 0; i < COUNT(refused_requests); i++)
        filter_refuse_when(&filter, refused_requests[i].call, refused_requests[i].argument, UINT32_MAX,
                           refused_requests[i].request);
    filter_refuse_writing(&filter, SCMP_SYS(openat), 2, needs->files);
    filter_refuse_writing(&filter, SCMP_SYS(open), 1, needs->files);
    if (!filter.error)
        filter.error = seccomp_load(filter.context);
    seccomp_release(filter.context);
    errno = -filter.error;
    return filter.error == 0;
}
