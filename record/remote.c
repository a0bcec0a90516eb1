/* SPDX-License-Identifier: MIT */
#include "record/remote.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

bool remote_open(struct remote *remote, pid_t pid, struct fault *why)
{
    *remote = (struct remote){ .pid = pid };
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
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

static enum remote_state state_of(int cause)
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

enum remote_state remote_read_pieces(struct remote *remote, const struct piece *pieces, size_t count, size_t *good)
{
    assert(count <= REMOTE_PIECES);
    struct iovec here[REMOTE_PIECES], there[REMOTE_PIECES];
    size_t wanted = 0;
    for (size_t i = 0; i < count; i++) {
        here[i] = (struct iovec){ pieces[i].into, pieces[i].size };
        there[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].address, pieces[i].size };
        wanted += pieces[i].size;
    }
    if (good)
        *good = 0;
    const ssize_t got = process_vm_readv(remote->pid, here, count, there, count, 0);
    remote->calls++;
    remote->pieces += count;
    if (got < 0)
        return state_of(errno);
    remote->bytes += (uint64_t)got;
    if ((size_t)got == wanted) {
        if (good)
            *good = count;
        return REMOTE_READ;
    }
    size_t left = (size_t)got;
    for (size_t i = 0; good && left >= pieces[i].size; i++) {
        left -= pieces[i].size;
        ++*good;
    }
    return REMOTE_UNREADABLE;
}

enum remote_state remote_read(struct remote *remote, uint64_t address, void *into, size_t size)
{
    return remote_read_pieces(remote, &(struct piece){ address, (uint32_t)size, into }, 1, NULL);
}

/* The file stays tied to the memory of the program that was there when it was opened. Once that memory is given up,
 * by exit or execve, reading gives nothing instead of the new program's bytes. */
bool remote_same_program(const struct remote *remote, uint64_t address, uint64_t *word)
{
    return pread(remote->memory, word, sizeof(*word), (off_t)address) == sizeof(*word);
}
