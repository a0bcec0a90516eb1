/* SPDX-License-Identifier: MIT */
/* Pythons that begin late, and roots of a tree that are none. The command line says which:
 *
 *     late fork COMMAND...                      forks, and waits for the child, which runs the command
 *     late embed LIBRARY SCRIPT WAYS ...        runs a Python script in this process, by the libpython of this path
 *
 * WAYS are steps before the script: "read" waits for a line of standard input, "use SECONDS" uses so much CPU time in
 * C, "load" loads the library, which the last step does else, "sleep SECONDS" sleeps. Prints "ready PID" first. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double used(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void use(double seconds)
{
    const double end = used() + seconds;
    while (used() < end)
        ;
}

static int fork_and_wait(char **command)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

static void *load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(125);
    }
    return library;
}

/* Returns how many arguments the step takes. */
static int step(char **ways, const char *path)
{
    char line[8];
    if (strcmp(ways[0], "use") == 0 && ways[1])
        use(atof(ways[1]));
    else if (strcmp(ways[0], "sleep") == 0 && ways[1])
        usleep((useconds_t)(atof(ways[1]) * 1e6));
    else if (strcmp(ways[0], "load") == 0)
        load(path);
    else if (strcmp(ways[0], "read") == 0 && read(STDIN_FILENO, line, sizeof(line)) < 0)
        exit(124);
    return strcmp(ways[0], "use") == 0 || strcmp(ways[0], "sleep") == 0 ? 2 : 1;
}

/* Sets a pointer to a function of the library. */
static void find(void *library, const char *name, void *function)
{
    void *const address = dlsym(library, name);
    if (!address)
        exit(125);
    memcpy(function, &address, sizeof(address));
}

static int embed(const char *path, const char *script, char **ways)
{
    void (*begin)(int);
    int (*run)(const char *, void *), (*end)(void);
    for (int i = 0; ways[i];)
        i += step(ways + i, path);
    void *library = load(path);
    find(library, "Py_InitializeEx", &begin);
    find(library, "PyRun_SimpleStringFlags", &run);
    find(library, "Py_FinalizeEx", &end);
    begin(0);
    const int failed = run(script, NULL);
    return end() < 0 || failed;
}

int main(int argc, char **argv)
{
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    if (argc > 2 && strcmp(argv[1], "fork") == 0)
        return fork_and_wait(argv + 2);
    return argc > 3 && strcmp(argv[1], "embed") == 0 ? embed(argv[2], argv[3], argv + 4) : 125;
}
