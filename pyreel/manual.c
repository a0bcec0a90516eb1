/* SPDX-License-Identifier: MIT */
#include "pyreel/manual.h"

#include "pyreel/places.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Becomes a command; returns when there is none. */
static void manual_become(const char *const *arguments)
{
    execvp(arguments[0], (char *const *)arguments);
}

/* In the child: prints on `to` where man finds the page. */
static _Noreturn void manual_ask(const char *const *arguments, int to)
{
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDERR_FILENO);
    dup2(to, STDOUT_FILENO);
    manual_become(arguments);
    _exit(EXIT_FAILURE);
}

/* Whether the command "man -w ..." prints a path. In small container images man is a script that only says that there
 * are no pages. */
static bool prints_path(const char *const *arguments)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    const pid_t child = fork();
    if (child == 0)
        manual_ask(arguments, ends[1]);
    close(ends[1]);
    char first = '\0', rest[256];
    const bool good = child > 0 && read(ends[0], &first, 1) == 1 && first == '/';
    while (read(ends[0], rest, sizeof(rest)) > 0)
        continue;
    close(ends[0]);
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 && good;
}

/* Becomes man for the page that two arguments of man name. */
static void become_man(const char *first, const char *second)
{
    const char *const question[] = { "man", "-w", first, second, NULL };
    const char *const command[] = { "man", first, second, NULL };
    if (prints_path(question))
        manual_become(command);
}

void manual_show(const char *page)
{
    char *const own = places_find_page(page);
    if (own)
        become_man("-l", own);
    free(own);
    become_man("1", page);
}
