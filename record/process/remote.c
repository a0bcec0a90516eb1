/* SPDX-License-Identifier: MIT */
#include "record/process/remote.h"

#include "record/process/procfs.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SMALL_PIECE 2048 /* bytes; remote_read_file() is quicker up to this size */

bool remote_open(struct remote *remote, pid_t pid, struct fault *why)
{
    *remote = (struct remote){ .process = pid, .pid = procfs_reader(pid) };
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)remote->pid);
    remote->memory = open(path, O_RDONLY | O_CLOEXEC);
    if (remote->memory >= 0)
        return true;
    const int cause = errno;
    fault(why, "cannot open %s: %s", path, strerror(cause));
    errno = cause;
    return false;
}

void remote_close(struct remote *remote)
{
    if (remote->pid && remote->memory >= 0)
        close(remote->memory);
    *remote = (struct remote){ .memory = -1 };
}

static enum remote_state remote_state_of_error(int cause)
{
    switch (cause) {
    case ESRCH:
        return REMOTE_GONE;
    case EPERM:
    case ENOSYS:
        return REMOTE_DENIED;
    default:
        return REMOTE_UNREADABLE;
    }
}

/* Counts a system call that asked for `count` pieces and returned `got` bytes. */
static enum remote_state remote_take_in(struct remote *remote, const struct piece *pieces, size_t count, ssize_t got,
                                        size_t *good)
{
    size_t came = 0;
    remote->calls++;
    remote->pieces += count;
    if (good)
        *good = 0;
    if (got < 0)
        return remote_state_of_error(errno);
    remote->bytes += (uint64_t)got;
    for (size_t left = (size_t)got; came < count && left >= pieces[came].size; came++)
        left -= pieces[came].size;
    if (good)
        *good = came;
    return came == count ? REMOTE_READ : REMOTE_UNREADABLE;
}

/* Goes on with another thread when the one through which the memory was read has ended. Leaves errno as it was. */
static bool remote_follow(struct remote *remote)
{
    const pid_t reader = procfs_reader(remote->process), was = remote->pid;
    remote->pid = reader;
    errno = ESRCH;
    return reader != was;
}

static enum remote_state read_vector(struct remote *remote, const struct piece *pieces, size_t count, size_t *good)
{
    assert(count <= REMOTE_PIECES);
    struct iovec here[REMOTE_PIECES], there[REMOTE_PIECES];
    for (size_t i = 0; i < count; i++) {
        here[i] = (struct iovec){ pieces[i].into, pieces[i].size };
        there[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].address, pieces[i].size };
    }
    ssize_t got = process_vm_readv(remote->pid, here, count, there, count, 0);
    if (got < 0 && errno == ESRCH && remote_follow(remote))
        got = process_vm_readv(remote->pid, here, count, there, count, 0);
    return remote_take_in(remote, pieces, count, got, good);
}

/* Reads a piece from the open file. Each process_vm_readv() finds the process and checks the permission; the open file
 * was checked once. For a small piece this saves a quarter of the time. A large piece is copied twice, page by page,
 * which takes longer and less often shows one moment (tests/bench/reads). */
static enum remote_state remote_read_file(struct remote *remote, const struct piece *piece, size_t *good)
{
    const ssize_t got = pread(remote->memory, piece->into, piece->size, (off_t)piece->address);
    if (got == 0 && piece->size > 0) /* the program has ended or was replaced */
        errno = ESRCH;
    return remote_take_in(remote, piece, 1, got == 0 && piece->size > 0 ? -1 : got, good);
}

/* Whether the moment to give up has passed. */
static bool is_over(struct remote *remote)
{
    struct timespec now;
    if (remote->give_up_ns && !remote->over && remote->calls % REMOTE_GLANCE == 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        remote->over = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec > remote->give_up_ns;
    }
    return remote->over;
}

/* What a read after that moment answers. */
static enum remote_state remote_refuse(struct remote *remote, size_t *good)
{
    remote->calls++;
    if (good)
        *good = 0;
    return REMOTE_UNREADABLE;
}

/* Reads pieces of memory that is not that of a process. */
static enum remote_state remote_read_kind(struct remote *remote, const struct piece *pieces, size_t count, size_t *good)
{
    size_t came = 0;
    if (is_over(remote))
        return remote_refuse(remote, good);
    remote->calls++;
    while (came < count && remote->kind->read(remote->self, pieces[came].address, pieces[came].into, pieces[came].size))
        came++;
    if (good)
        *good = came;
    return came == count ? REMOTE_READ : REMOTE_UNREADABLE;
}

enum remote_state remote_read_pieces(struct remote *remote, const struct piece *pieces, size_t count, size_t *good)
{
    if (remote->kind)
        return remote_read_kind(remote, pieces, count, good);
    if (is_over(remote))
        return remote_refuse(remote, good);
    const bool small = count == 1 && pieces->size <= SMALL_PIECE && remote->memory >= 0;
    return small ? remote_read_file(remote, pieces, good) : read_vector(remote, pieces, count, good);
}

enum remote_state remote_read(struct remote *remote, uint64_t address, void *into, size_t size)
{
    const struct piece piece = { address, (uint32_t)size, into };
    if (remote->kind)
        return remote_read_kind(remote, &piece, 1, NULL);
    return is_over(remote) ? remote_refuse(remote, NULL) : read_vector(remote, &piece, 1, NULL);
}

/* The open file stays tied to the memory of the program that ran at remote_open(). After an exit or execve, reading
 * returns no bytes, not those of the new program. */
bool remote_same_program(const struct remote *remote, uint64_t address, uint64_t *word)
{
    if (remote->kind)
        return remote->kind->read(remote->self, address, word, sizeof(*word));
    return pread(remote->memory, word, sizeof(*word), (off_t)address) == sizeof(*word);
}
