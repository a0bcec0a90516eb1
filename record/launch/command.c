/* SPDX-License-Identifier: MIT */
#include "record/launch/command.h"

#include "formats/base/alloc.h"
#include "formats/base/arguments.h"
#include "formats/base/text.h"
#include "record/launch/signals.h"
#include "record/process/clock.h"
#include "record/process/cpu.h"
#include "record/process/ends.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127
#define LOOK_AGAIN_NS       1000000u /* pause between two checks of a command that stopped and has not ended */

static void run_child(char **arguments, int gate, int verdict, bool to_stderr)
{
    char go;
    if (read(gate, &go, 1) != 1)
        _exit(EXIT_OURS);
    if (to_stderr)
        dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(arguments[0], arguments);
    const int cause = errno;
    if (write(verdict, &cause, sizeof(cause)) != sizeof(cause))
        _exit(EXIT_OURS);
    _exit(EXIT_NOT_FOUND);
}

bool command_prepare(struct command *command, char **arguments, bool to_stderr, struct fault *why)
{
    int gate[2], verdict[2];
    *command = (struct command){ .gate = -1, .verdict = -1 };
    if (pipe2(gate, O_CLOEXEC) != 0 || pipe2(verdict, O_CLOEXEC) != 0)
        return fault(why, "cannot make a pipe: %s", strerror(errno));
    const pid_t pid = fork();
    if (pid < 0)
        return fault(why, "cannot start a process: %s", strerror(errno));
    if (pid == 0) {
        close(gate[1]);
        run_child(arguments, gate[0], verdict[1], to_stderr);
    }
    close(gate[0]);
    close(verdict[1]);
    *command = (struct command){ .pid = pid, .gate = gate[1], .verdict = verdict[0] };
    return true;
}

static void open_gate(struct command *command)
{
    const ssize_t done = write(command->gate, "g", 1);
    (void)done; /* a failed write means that the child is gone: reading its verdict, or waiting, then shows that */
    close(command->gate);
    command->gate = -1;
}

/* Whether it names a file that Python can run, and the shell would not: not executable, or not on the way that PATH
 * leads, as a name without a slash. */
static bool is_script(const char *name)
{
    struct stat there;
    return text_ends(text_of(name), TEXT(".py")) && stat(name, &there) == 0 && S_ISREG(there.st_mode) &&
           access(name, R_OK) == 0 && (!strchr(name, '/') || access(name, X_OK) != 0);
}

char **command_with_python(char **arguments)
{
    static char python[] = "python3";
    size_t count = 0;
    if (!is_script(arguments[0]))
        return NULL;
    while (arguments[count])
        count++;
    char **with = alloc_zeroed(count + 2, sizeof(*with));
    with[0] = python;
    memcpy(with + 1, arguments, count * sizeof(*with));
    return with;
}

/* The number of a process that is there; 0: the word is none. */
static pid_t process_of(const char *word)
{
    uint64_t number;
    return arguments_parse_count(word, 1, INT32_MAX, &number) && kill((pid_t)number, 0) == 0 ? (pid_t)number : 0;
}

int command_run(struct command *command, char **arguments, struct fault *why)
{
    int cause = 0;
    ssize_t got;
    open_gate(command);
    do
        got = read(command->verdict, &cause, sizeof(cause));
    while (got < 0 && errno == EINTR);
    close(command->verdict);
    command->verdict = -1;
    if (got != sizeof(cause))
        return 0; /* a successful exec closed the pipe */
    command_wait(command);
    if (process_of(arguments[0]))
        fault(why, "there is no program %s to run; to record the process with this number: pyreel record -p %s",
              arguments[0], arguments[0]);
    else
        fault(why, "cannot run %s: %s", arguments[0], strerror(cause));
    return cause == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

void command_cancel(struct command *command)
{
    if (command->pid == 0 || command->ended)
        return;
    close(command->gate); /* the child ends when the pipe closes without a byte */
    close(command->verdict);
    command->gate = command->verdict = -1;
    command_wait(command);
}

/* Whether the command has ended; reaps it then. waitid() also returns when a traced child stops, which is not the end.
 * After the reaping, another process may get the number, so signals are not passed on any more. */
static bool command_has_ended(struct command *command, int options)
{
    siginfo_t info = { 0 };
    int done;
    if (command->ended)
        return true;
    do
        done = waitid(P_PID, (id_t)command->pid, &info, WEXITED | WNOWAIT | options);
    while (done != 0 && errno == EINTR);
    if (done == 0 && !ends_is_end(&info))
        return false;
    signals_pass_on_to(0);
    command->ended = true;
    command->cpu_ns = cpu_of_process(command->pid);
    struct rusage used = { 0 };
    wait4(command->pid, &command->wait_status, 0, &used);
    command->all_cpu_ns = clock_of_usage(&used);
    return true;
}

bool command_ended(struct command *command)
{
    return command_has_ended(command, WNOHANG);
}

void command_wait(struct command *command)
{
    while (!command_has_ended(command, 0))
        clock_sleep_until(clock_now_ns() + LOOK_AGAIN_NS);
}

int command_exit_code(const struct command *command)
{
    if (WIFSIGNALED(command->wait_status))
        return 128 + WTERMSIG(command->wait_status);
    return WEXITSTATUS(command->wait_status);
}
