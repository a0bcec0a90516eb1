/* SPDX-License-Identifier: MIT */
#include "record/launch/afterwards.h"

#include "formats/base/alloc.h"
#include "formats/base/programs.h"
#include "formats/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The first row whose ending fits counts. */
static const struct product products[] = {
    { ".html", "pyreel-flame", "a browser" },
    { ".svg", "pyreel-flame", "a browser" },
    { ".pb.gz", "pyreel-pprof", "go tool pprof" },
    { ".speedscope.json", "pyreel-speedscope", "speedscope.app" },
    { ".json.gz", "pyreel-gecko", "profiler.firefox.com" },
    { ".json", "pyreel-gecko", "profiler.firefox.com" },
};

static const int stops[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

const struct product *product_of(const char *output)
{
    for (size_t i = 0; i < countof(products); i++)
        if (text_ends(text_of(output), text_of(products[i].ending)))
            return &products[i];
    return NULL;
}

char *product_recording(const struct product *product, const char *output)
{
    static const char ending[] = ".pyreel";
    const size_t size = strlen(output) - strlen(product->ending);
    char *path = alloc_zeroed(size + sizeof(ending), 1);
    memcpy(path, output, size);
    return strcat(path, ending);
}

static void handle_stops(void (*handler)(int))
{
    for (size_t i = 0; i < countof(stops); i++)
        signal(stops[i], handler);
}

/* In the process that waits: ^C stops the recording, and the output is made all the same. */
static void wait_and_become(const char *program, char **arguments, int gate)
{
    char go;
    ssize_t got;
    handle_stops(SIG_IGN);
    do
        got = read(gate, &go, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1)
        _exit(0);
    handle_stops(SIG_DFL);
    execv(program, arguments);
    _exit(1);
}

bool afterwards_begin(struct afterwards *afterwards, const struct product *product, const char *output,
                      const char *recording, bool force, struct fault *why)
{
    int gate[2];
    *afterwards = (struct afterwards){ .gate = -1 };
    char *program = programs_find(product->program);
    if (!program)
        return fault(why,
                     "%s, which makes %s, is neither beside pyreel-record nor in a folder of PATH: record to a file "
                     "*.pyreel, and run %s later",
                     product->program, output, product->program);
    if (pipe2(gate, O_CLOEXEC) != 0) {
        free(program);
        return fault(why, "cannot make a pipe: %s", strerror(errno));
    }
    const char *arguments[] = {
        product->program,         "-o", output, force ? "--force" : "--", force ? "--" : recording,
        force ? recording : NULL, NULL
    };
    const pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        wait_and_become(program, (char **)arguments, gate[0]);
    }
    const int cause = errno;
    close(gate[0]);
    free(program);
    if (pid > 0) {
        *afterwards = (struct afterwards){ .pid = pid, .gate = gate[1] };
        return true;
    }
    close(gate[1]);
    return fault(why, "cannot start a process: %s", strerror(cause));
}

/* Closes the gate and waits. Whether the process ended well. */
static bool afterwards_end(struct afterwards *afterwards)
{
    int status = 0;
    pid_t done;
    close(afterwards->gate);
    do
        done = waitpid(afterwards->pid, &status, 0);
    while (done < 0 && errno == EINTR);
    afterwards->pid = 0;
    return done > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool afterwards_make(struct afterwards *afterwards)
{
    const bool told = write(afterwards->gate, "g", 1) == 1;
    return afterwards_end(afterwards) && told;
}

void afterwards_cancel(struct afterwards *afterwards)
{
    if (afterwards->pid)
        afterwards_end(afterwards);
}
