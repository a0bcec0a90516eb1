/* SPDX-License-Identifier: MIT */
#include "record/dump/standing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes a line of /proc/PID/status. */
static void take_line(struct standing *standing, const char *line)
{
    long number;
    if (strncmp(line, "Name:\t", 6) == 0)
        snprintf(standing->name, sizeof(standing->name), "%.*s", (int)strcspn(line + 6, "\n"), line + 6);
    else if (strncmp(line, "State:\t", 7) == 0)
        standing->state = line[7];
    else if (sscanf(line, "PPid: %ld", &number) == 1)
        standing->parent = (pid_t)number;
    else if (sscanf(line, "TracerPid: %ld", &number) == 1)
        standing->tracer = (pid_t)number;
}

struct standing standing_of(pid_t pid)
{
    struct standing standing = { 0 };
    char path[64], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && getline(&line, &room, file) > 0)
        take_line(&standing, line);
    free(line);
    if (file)
        fclose(file);
    return standing;
}
