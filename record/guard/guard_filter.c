/* SPDX-License-Identifier: MIT */
#include "record/guard/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define FOREIGN_BIT  0x40000000u /* the numbers of x32 */
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define FOREIGN_BIT  0u
#else
#define ARCHITECTURE 0u /* no filter */
#define FOREIGN_BIT  0u
#endif

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define RULES_MOST   250 /* a jump reaches 255 rules */

/* System calls that the recorder never makes after guard_enter(). Numbers that an architecture lacks are not defined.
 */
static const uint16_t refused[] = {
    /* other programs */
    SYS_execve,
    SYS_execveat,
    /* the memory of other processes */
    SYS_process_vm_writev,
    SYS_userfaultfd,
    /* other users, other namespaces, other roots */
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_setgroups,
    SYS_unshare,
    SYS_setns,
    SYS_chroot,
    SYS_pivot_root,
    SYS_mount,
    SYS_umount2,
    /* the kernel and the machine */
    SYS_init_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    /* the network; a socket that is open stays open */
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    /* the rights and attributes of files */
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_mknodat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_truncate,
    SYS_open_by_handle_at,
#ifdef SYS_chmod
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_mknod,
    SYS_link,
    SYS_symlink,
    SYS_iopl,
    SYS_ioperm,
#endif
#ifdef SYS_finit_module
    SYS_finit_module,
#endif
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
#endif
#ifdef SYS_move_mount
    SYS_move_mount,
    SYS_fsopen,
    SYS_open_tree,
#endif
};

/* Requests of ptrace() that change a program. */
static const uint32_t refused_requests[] = { PTRACE_POKETEXT, PTRACE_POKEDATA,  PTRACE_POKEUSER,
#ifdef PTRACE_SETREGS
                                             PTRACE_SETREGS,  PTRACE_SETFPREGS,
#endif
                                             PTRACE_SETREGSET };

/* Requests of ioctl() that type on a terminal: what is typed there, the user's shell would run. */
static const uint32_t refused_typing[] = { TIOCSTI, TIOCLINUX };

struct program {
    struct sock_filter rules[RULES_MOST];
    size_t count;
};

static void add(struct program *program, struct sock_filter rule)
{
    if (program->count < RULES_MOST)
        program->rules[program->count++] = rule;
}

static void load(struct program *program, size_t offset)
{
    add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void answer(struct program *program, uint32_t action)
{
    add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void refuse(struct program *program)
{
    answer(program, SECCOMP_RET_ERRNO | EPERM);
}

/* The next rule is for this value only. */
static void when_equal(struct program *program, uint32_t value)
{
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
}

/* The lower half of an argument: that is all of an int, on a little-endian machine. */
static size_t argument(size_t number)
{
    return offsetof(struct seccomp_data, args) + number * sizeof(uint64_t);
}

/* Rules for one system call stand together, and answer. `size`: how many rules these are. */
static void begin_call(struct program *program, long call, uint8_t size)
{
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, size));
}

/* Files can be opened for reading only. `anew`: files that were not there can be made, too. */
static void refuse_writing(struct program *program, long call, size_t flags, bool anew)
{
    const uint8_t writes = anew ? 3 : 1; /* rules for what may write */
    begin_call(program, call, (uint8_t)(3 + writes));
    load(program, argument(flags));
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE | O_CREAT | O_TRUNC, 0, writes));
    if (anew) {
        add(program, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, O_CREAT | O_EXCL));
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_CREAT | O_EXCL, 1, 0));
    }
    refuse(program);
    answer(program, SECCOMP_RET_ALLOW);
}

/* Refuses some requests of a system call, which are in one of its arguments. */
static void refuse_requests(struct program *program, long call, size_t number, const uint32_t *requests, size_t count)
{
    begin_call(program, call, (uint8_t)(2 + 2 * count));
    load(program, argument(number));
    for (size_t i = 0; i < count; i++) {
        when_equal(program, requests[i]);
        refuse(program);
    }
    answer(program, SECCOMP_RET_ALLOW);
}

static void write_rules(struct program *program, const struct guard_needs *needs)
{
    load(program, offsetof(struct seccomp_data, arch));
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    refuse(program);
    load(program, offsetof(struct seccomp_data, nr));
    if (FOREIGN_BIT) {
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FOREIGN_BIT, 0, 1));
        refuse(program);
    }
    for (size_t i = 0; i < COUNT(refused); i++) {
        when_equal(program, refused[i]);
        refuse(program);
    }
    refuse_requests(program, SYS_ptrace, 0, refused_requests, COUNT(refused_requests));
    refuse_requests(program, SYS_ioctl, 1, refused_typing, COUNT(refused_typing));
    refuse_writing(program, SYS_openat, 2, needs->files);
#ifdef SYS_open
    refuse_writing(program, SYS_open, 1, needs->files);
    when_equal(program, SYS_creat);
    refuse(program);
#endif
#ifdef SYS_openat2
    when_equal(program, SYS_openat2); /* the flags are in memory, where a filter cannot see them */
    refuse(program);
#endif
    answer(program, SECCOMP_RET_ALLOW);
}

bool guard_filter(const struct guard_needs *needs)
{
    struct program program = { .count = 0 };
    if (ARCHITECTURE == 0 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
        errno = ENOSYS;
        return false;
    }
    write_rules(&program, needs);
    const struct sock_fprog all = { (unsigned short)program.count, program.rules };
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                   &all) == 0;
}
