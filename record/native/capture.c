/* SPDX-License-Identifier: MIT */
#include "record/native/capture.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RED_ZONE 128    /* bytes below the stack pointer: a function that returns has registers of its caller there */
#define PAGE     4096u  /* what is readable is so by pages */
#define UNKNOWN  65536  /* bytes that are copied of a stack whose end is not known */
#define BEYOND   1024   /* bytes beyond the last address that is asked for: the frame that has it ends there */
#define SPIN_NS  200000 /* the caller spins so long for a copy: most take less. Then it looks again ... */
#define NAP_NS   100000 /* ... so often */
#define SOON_NS  50000  /* a thread that has a processor stops within this */

/* Who has the capture. */
enum capture_state {
    CAPTURE_IDLE,  /* nobody */
    CAPTURE_ASKED, /* the post: the thread is asked to stop */
    CAPTURE_READY, /* the caller: there is a copy */
    CAPTURE_VAIN,  /* the caller: there is none */
    CAPTURE_LEFT,  /* the post: nobody waits for the copy any more, and the thread is still to be let go */
};

#if defined(__x86_64__)
bool capture_possible(void)
{
    return true;
}

bool capture_registers(const void *user_regs, size_t size, struct c_registers *registers)
{
    struct user_regs_struct r;
    if (size != sizeof(r))
        return false;
    memcpy(&r, user_regs, sizeof(r));
    *registers = (struct c_registers){ .pc = r.rip,
                                       .values = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9,
                                                   r.r10, r.r11, r.r12, r.r13, r.r14, r.r15 },
                                       .known = (1u << CFI_REGISTERS) - 1 };
    return true;
}
static bool read_registers(pid_t tid, struct c_registers *registers)
{
    struct user_regs_struct r;
    struct iovec room = { &r, sizeof(r) };
    return ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &room) == 0 &&
           capture_registers(&r, room.iov_len, registers);
}
#else
bool capture_possible(void)
{
    return false;
}

static bool read_registers(pid_t tid, struct c_registers *registers)
{
    (void)tid;
    (void)registers;
    return false;
}

bool capture_registers(const void *user_regs, size_t size, struct c_registers *registers)
{
    (void)user_regs;
    (void)size;
    (void)registers;
    return false;
}
#endif

/* ---- a thread that sleeps ---- */

bool sleeps_fragile(const struct sleeps *sleeps)
{
    static const long calls[] = {
#ifdef SYS_epoll_wait /* newer machines have the other two only */
        SYS_epoll_wait,
#endif
        SYS_epoll_pwait,   SYS_epoll_pwait2,   SYS_semop,    SYS_semtimedop, SYS_rt_sigtimedwait, SYS_io_getevents,
        SYS_io_pgetevents, SYS_io_uring_enter, SYS_read,     SYS_write,      SYS_readv,           SYS_writev,
        SYS_preadv,        SYS_pwritev,        SYS_sendfile, SYS_recvfrom,   SYS_recvmsg,         SYS_recvmmsg,
        SYS_sendto,        SYS_sendmsg,        SYS_sendmmsg, SYS_accept,     SYS_accept4,         SYS_connect,
    };
    for (size_t i = 0; i < countof(calls); i++)
        if (sleeps->call == calls[i])
            return true;
    return false;
}

enum sleep sleeps_registers(struct sleeps *sleeps, pid_t pid, pid_t tid, struct c_registers *registers)
{
    char text[256], path[64];
    if (sleeps->tid != tid) {
        sleeps_close(sleeps);
        snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
        *sleeps = (struct sleeps){ tid, open(path, O_RDONLY | O_CLOEXEC), -1 };
    }
    const ssize_t size = sleeps->file >= 0 ? pread(sleeps->file, text, sizeof(text) - 1, 0) : -1;
    text[size > 0 ? size : 0] = '\0';
    /* "running", or the number of the call, its six arguments, sp and pc; or -1, sp and pc */
    const char *pc = strrchr(text, ' '), *sp = pc ? memrchr(text, ' ', (size_t)(pc - text)) : NULL;
    if (!sp)
        return size > 0 ? SLEEP_NONE : SLEEP_GONE;
    sleeps->call = strtol(text, NULL, 10);
    *registers = (struct c_registers){ .pc = strtoull(pc, NULL, 16), .known = 1u << CFI_RSP };
    registers->values[CFI_RSP] = strtoull(sp, NULL, 16);
    return registers->pc != 0 && registers->values[CFI_RSP] != 0 ? SLEEP_SLEEPS : SLEEP_GONE;
}

void sleeps_close(struct sleeps *sleeps)
{
    if (sleeps->tid && sleeps->file >= 0)
        close(sleeps->file);
    *sleeps = (struct sleeps){ 0 };
}

/* ---- a stack ---- */

bool capture_copy_stack(struct remote *remote, const struct c_registers *registers, uint64_t last,
                        const struct piece *first, unsigned char *bytes, struct c_copy *copy)
{
    struct piece pieces[CAPTURE_ROOM / PAGE + 2]; /* by pages: what is readable of the last one is not known */
    const uint64_t low = registers->values[CFI_RSP] - RED_ZONE;
    const uint64_t known = last > low ? last + BEYOND - low : UNKNOWN;
    const size_t wanted = known < CAPTURE_ROOM ? known : CAPTURE_ROOM;
    size_t count = 0, good, size = 0;
    if (first)
        pieces[count++] = *first;
    for (size_t at = 0; at < wanted; count++) {
        const size_t page = PAGE - (low + at) % PAGE, part = page < wanted - at ? page : wanted - at;
        pieces[count] = (struct piece){ low + at, (uint32_t)part, bytes + at };
        at += part;
    }
    remote_read_pieces(remote, pieces, count, &good);
    for (size_t i = first != NULL; i < good; i++)
        size += pieces[i].size;
    *copy = (struct c_copy){ low, size, bytes };
    return good > 0;
}

/* Interrupts a post that waits for a stop, and shall end. */
static void on_interrupt(int number)
{
    (void)number;
}

/* ^Z stops all threads of the recorder. It waits until no thread of a program is held, which takes some microseconds:
 * else that thread would stand still until the recorder goes on. */
static atomic_uint holding;

static void capture_on_stop(int number)
{
    const struct timespec nap = { .tv_nsec = 200000 };
    (void)number;
    for (int i = 0; i < 50 && atomic_load(&holding) > 0; i++)
        nanosleep(&nap, NULL);
    raise(SIGSTOP);
}

static void capture_handle_signals(void)
{
    struct sigaction before, action = { .sa_handler = on_interrupt };
    sigemptyset(&action.sa_mask);
    sigaction(SIGURG, &action, NULL);
    action = (struct sigaction){ .sa_handler = capture_on_stop, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGTSTP, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGTSTP, &action, NULL);
}

void capture_open(struct capture *capture, const struct remote *remote, bool child)
{
    capture_handle_signals();
    capture->wanted = (struct captured){ 0 };
    atomic_store(&capture->late, 0);
    atomic_store(&capture->refused, 0);
    if (atomic_load(&capture->state) != CAPTURE_IDLE) /* a thread of the program before is not let go yet */
        return;
    sleeps_close(&capture->sleeps);
    capture->remote = *remote;
    capture->remote.memory = -1; /* the file of the original may be closed before the copy is used */
    capture->pid = remote->process;
    capture->child = child;
}

void capture_close(struct capture *capture)
{
    sleeps_close(&capture->sleeps);
    free(capture->bytes);
    *capture = (struct capture){ 0 };
}

/* ---- in the post ---- */

/* Reads the thread's stack and the number of its processor. Whether it ran on no other processor than the post's. */
static bool copy_taken(struct capture *capture)
{
    const struct captured *taken = &capture->taken;
    uint32_t processor = taken->processor;
    const struct piece cpu = { taken->cpu_at, sizeof(processor), &processor };
    if (capture->again_count > 0 &&
        remote_read_pieces(&capture->remote, capture->again, capture->again_count, NULL) != REMOTE_READ)
        return false;
    return capture_copy_stack(&capture->remote, &capture->registers, taken->last, taken->cpu_at ? &cpu : NULL,
                              capture->bytes, &capture->copy) &&
           processor == taken->processor;
}

/* Copies the stack of a thread that sleeps. False: the thread woke meanwhile, maybe on another processor. */
static bool copy_taken_asleep(struct capture *capture)
{
    const struct c_registers before = capture->registers;
    struct c_registers after;
    return copy_taken(capture) &&
           sleeps_registers(&capture->sleeps, capture->pid, capture->tid, &after) == SLEEP_SLEEPS &&
           after.pc == before.pc && after.values[CFI_RSP] == before.values[CFI_RSP];
}

bool capture_begin(struct capture *capture)
{
    if (capture->wanted.tid == 0 || capture->pid == 0 || atomic_load(&capture->state) != CAPTURE_IDLE)
        return false;
    if (!capture->bytes)
        capture->bytes = alloc_zeroed(CAPTURE_ROOM, 1);
    capture->taken = capture->wanted;
    capture->tid = capture->taken.tid;
    capture->held_ns = 0;
    const enum sleep sleep = sleeps_registers(&capture->sleeps, capture->pid, capture->tid, &capture->registers);
    if (sleep == SLEEP_GONE) /* the number may be another process's thread's by now */
        return false;
    if (sleep == SLEEP_SLEEPS) {
        atomic_store(&capture->state, copy_taken_asleep(capture) ? CAPTURE_READY : CAPTURE_VAIN);
        return false;
    }
    atomic_fetch_add(&holding, 1);
    if (ptrace(PTRACE_SEIZE, capture->tid, NULL, (void *)PTRACE_O_TRACEEXIT) != 0) {
        atomic_fetch_sub(&holding, 1);
        atomic_fetch_add(&capture->refused, 1);
        return false;
    }
    capture->asked_ns = clock_now_ns();
    ptrace(PTRACE_INTERRUPT, capture->tid, NULL, NULL); /* if the thread is gone, the wait tells so */
    atomic_store(&capture->state, CAPTURE_ASKED);
    return true;
}

enum stop { STOP_DONE, STOP_NOT_YET, STOP_GONE };

/* Waits for the stop of the only thread that this post traces. By no number: a thread that
 * calls execve gets that of the first thread. *signal: the one that the thread was about to get. */
static enum stop capture_wait(struct capture *capture, int *signal)
{
    siginfo_t info = { 0 };
    const int done = waitid(P_ALL, 0, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL | __WNOTHREAD);
    if (done != 0)
        return errno == EINTR ? STOP_NOT_YET : STOP_GONE;
    if (info.si_pid == 0)
        return STOP_NOT_YET;
    capture->tid = info.si_pid;
    if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
        /* The thread has ended. A process cannot end before its tracer has reaped its threads, but for the first thread
         * of a child, whose status others want. */
        if (capture->tid != capture->pid || !capture->child)
            waitpid(capture->tid, NULL, __WALL | __WNOTHREAD | WNOHANG);
        return STOP_GONE;
    }
    *signal = info.si_status >> 8 ? 0 : info.si_status & 0xff;
    return STOP_DONE;
}

/* Lets the thread go, which has stood since then. False: it was killed meanwhile, and stops once more when it ends. */
static bool capture_let_go(struct capture *capture, int signal, uint64_t since_ns)
{
    const bool gone = ptrace(PTRACE_DETACH, capture->tid, NULL, (void *)(intptr_t)signal) == 0;
    /* A stop that comes later has waited for a processor, or for the end of a system call. */
    const uint64_t waited_ns = since_ns - capture->asked_ns;
    capture->held_ns = (waited_ns < SOON_NS ? waited_ns : SOON_NS) + clock_now_ns() - since_ns;
    return gone;
}

void capture_finish(struct capture *capture, const atomic_bool *stop)
{
    int signal = 0;
    bool copied = false, held = true;
    while (held) {
        const enum stop stopped = capture_wait(capture, &signal);
        const uint64_t since_ns = clock_now_ns();
        if (stopped == STOP_NOT_YET && atomic_load(stop))
            break;
        if (stopped == STOP_DONE && !copied && capture->tid == capture->taken.tid &&
            atomic_load(&capture->state) == CAPTURE_ASKED)
            copied = read_registers(capture->tid, &capture->registers) && copy_taken(capture);
        held = stopped == STOP_NOT_YET || (stopped == STOP_DONE && !capture_let_go(capture, signal, since_ns));
    }
    atomic_fetch_sub(&holding, 1);
    uint32_t asked = CAPTURE_ASKED;
    if (!atomic_compare_exchange_strong(&capture->state, &asked, copied ? CAPTURE_READY : CAPTURE_VAIN))
        atomic_store(&capture->state, CAPTURE_IDLE); /* the caller has left */
}

/* ---- the caller ---- */

static void change_state(struct capture *capture, uint32_t from, uint32_t to)
{
    atomic_compare_exchange_strong(&capture->state, &from, to);
}

const struct captured *capture_take(struct capture *capture, uint64_t give_up_ns)
{
    const uint64_t begin_ns = clock_now_ns();
    uint64_t now_ns = begin_ns;
    while (atomic_load(&capture->state) == CAPTURE_ASKED && now_ns < give_up_ns) {
        if (now_ns > begin_ns + SPIN_NS)
            clock_sleep_until(now_ns + NAP_NS);
        now_ns = clock_now_ns();
    }
    if (atomic_load(&capture->state) == CAPTURE_ASKED)
        atomic_fetch_add(&capture->late, 1);
    change_state(capture, CAPTURE_ASKED, CAPTURE_LEFT);
    return atomic_load(&capture->state) == CAPTURE_READY ? &capture->taken : NULL;
}

void capture_drop(struct capture *capture)
{
    change_state(capture, CAPTURE_ASKED, CAPTURE_LEFT);
    change_state(capture, CAPTURE_READY, CAPTURE_IDLE);
    change_state(capture, CAPTURE_VAIN, CAPTURE_IDLE);
}
