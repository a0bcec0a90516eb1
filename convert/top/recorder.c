/* SPDX-License-Identifier: MIT */
#include "convert/top/recorder.h"

#include "formats/base/alloc.h"
#include "formats/base/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS          50
#define EXIT_NO_RECORDER 125 /* as pyreel-record itself when it fails */

/* ---- starting ---- */

static void execute(char **arguments)
{
    static char name[] = "pyreel-record";
    char *path = programs_find(name);
    arguments[0] = name;
    if (path)
        execv(path, arguments);
    fprintf(stderr, "pyreel-top: cannot execute %s: %s\n", name,
            path ? strerror(errno) : "it is neither beside pyreel-top nor in a folder of PATH");
    _exit(EXIT_NO_RECORDER);
}

/* Becomes pyreel-record in the new process. -1: the file descriptor stays as it is. */
static void recorder_become(char **arguments, int stream, int messages)
{
    if (messages >= 0) {
        const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(nothing, STDIN_FILENO);
        dup2(messages, STDERR_FILENO);
    }
    dup2(stream >= 0 ? stream : STDERR_FILENO, STDOUT_FILENO);
    signal(SIGPIPE, SIG_DFL);
    execute(arguments);
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

bool recorder_start(struct recorder *recorder, char **arguments, bool to_pipe, bool apart, struct fault *why)
{
    int stream[2] = { -1, -1 }, messages[2] = { -1, -1 };
    *recorder = (struct recorder){ .stream = -1, .messages = -1 };
    if ((to_pipe && pipe2(stream, O_CLOEXEC) != 0) || (apart && pipe2(messages, O_CLOEXEC) != 0))
        return fault(why, "cannot make a pipe: %s", strerror(errno));
    const pid_t pid = fork();
    if (pid == 0)
        recorder_become(arguments, stream[1], messages[1]);
    close_end(&stream[1]);
    close_end(&messages[1]);
    if (pid < 0)
        return fault(why, "cannot start pyreel-record: %s", strerror(errno));
    recorder->pid = pid;
    recorder->stream = stream[0];
    recorder->messages = messages[0];
    if (recorder->messages >= 0)
        fcntl(recorder->messages, F_SETFL, O_NONBLOCK);
    return true;
}

/* ---- what is said ---- */

/* Keeps the last line that has text. */
static void keep_line(struct recorder *recorder)
{
    size_t end = recorder->said_size;
    while (end > 0 && strchr("\r\n \t", recorder->said[end - 1]))
        end--;
    size_t from = end;
    while (from > 0 && !strchr("\r\n", recorder->said[from - 1]))
        from--;
    if (end > from)
        snprintf(recorder->line, sizeof(recorder->line), "%.*s",
                 (int)(end - from < sizeof(recorder->line) ? end - from : sizeof(recorder->line) - 1),
                 recorder->said + from);
}

/* Keeps the last bytes of what was said. */
static void recorder_keep(struct recorder *recorder, const char *bytes, size_t size)
{
    if (!recorder->said)
        recorder->said = alloc_zeroed(RECORDER_SAID + 1, 1);
    const size_t over = recorder->said_size + size > RECORDER_SAID ? recorder->said_size + size - RECORDER_SAID : 0;
    memmove(recorder->said, recorder->said + over, recorder->said_size - over);
    memcpy(recorder->said + recorder->said_size - over, bytes, size);
    recorder->said_size += size - over;
    recorder->said_more |= over > 0;
}

void recorder_listen(struct recorder *recorder)
{
    char bytes[4096];
    while (recorder->messages >= 0) {
        const ssize_t got = read(recorder->messages, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            break;
        if (got <= 0)
            close_end(&recorder->messages);
        else
            recorder_keep(recorder, bytes, (size_t)got);
    }
    if (recorder->said)
        keep_line(recorder);
}

static void recorder_print(struct recorder *recorder)
{
    if (recorder->said_more)
        fprintf(stderr, "pyreel-top: earlier output is left out\n");
    if (recorder->said_size)
        fwrite(recorder->said, 1, recorder->said_size, stderr);
    recorder->said_size = 0;
    recorder->said_more = false;
}

/* ---- the end ---- */

void recorder_look(struct recorder *recorder)
{
    if (recorder->pid && !recorder->ended)
        recorder->ended = waitpid(recorder->pid, &recorder->wait_status, WNOHANG) == recorder->pid;
}

void recorder_signal(struct recorder *recorder, int number)
{
    recorder_look(recorder);
    if (recorder->pid && !recorder->ended)
        kill(recorder->pid, number);
}

bool recorder_pass_on(struct recorder *recorder)
{
    recorder_look(recorder);
    const bool ended = recorder->ended;
    recorder_listen(recorder); /* what was said before the end is in the pipe by now */
    recorder_print(recorder);
    struct pollfd news = { .fd = recorder->messages, .events = POLLIN };
    if (!ended)
        poll(&news, 1, WAIT_MS);
    return ended;
}

int recorder_exit_code(const struct recorder *recorder)
{
    if (WIFSIGNALED(recorder->wait_status))
        return 128 + WTERMSIG(recorder->wait_status);
    return WEXITSTATUS(recorder->wait_status);
}

void recorder_close(struct recorder *recorder)
{
    close_end(&recorder->stream);
    close_end(&recorder->messages);
    free(recorder->said);
    *recorder = (struct recorder){ .stream = -1, .messages = -1 };
}
