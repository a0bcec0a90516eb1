/* SPDX-License-Identifier: MIT */
#include "convert/fleets/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t recording, empty; /* file descriptors; -1: there is none */
static volatile sig_atomic_t pipe_may_end;     /* the writer of the pipe got the signal, too, and may end the pipe */

/* Puts an empty file in the place of the recording: a reader that waits for the recording finds its end. */
static void interrupt_end_recording(int number)
{
    const int error = errno;
    if (number != SIGTERM && pipe_may_end) {
        pipe_may_end = 0;
        return;
    }
    dup2(empty, recording);
    signal(number, SIG_DFL);
    errno = error;
}

static void take_signal(int number)
{
    struct sigaction before;
    const struct sigaction action = {
        .sa_handler = interrupt_end_recording
    }; /* without SA_RESTART: a waiting read() ends */
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void interrupt_ends(int fd)
{
    struct stat file;
    recording = fd;
    empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pipe_may_end = fstat(fd, &file) == 0 && !S_ISREG(file.st_mode);
    signal(SIGPIPE, SIG_IGN);
    if (empty < 0)
        return;
    take_signal(SIGTERM);
    take_signal(SIGINT);
    take_signal(SIGHUP);
}

void interrupt_over(void)
{
    recording = -1;
}
