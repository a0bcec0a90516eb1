/* SPDX-License-Identifier: MIT */
/* The command line of pyreel-dump. */
#ifndef PYREEL_RECORD_DUMP_DUMP_OPTIONS_H
#define PYREEL_RECORD_DUMP_DUMP_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>

struct dump_options {
    pid_t pid;         /* 0: `core` is dumped */
    const char *core;  /* path of a core file; NULL: none */
    const char *exe;   /* path of the interpreter that dumped the core; NULL: as the core says */
    bool subprocesses; /* also all descendants of the process */
    bool async;        /* also the asyncio tasks */
    bool native;       /* mark C code between Python frames */
    bool locals;       /* also the values of local variables */
    bool blocking;     /* stop the process while it is read */
    bool json;
    bool quiet, verbose;
};

/* Reads the command line. False when the program must end at once with *exit_code: 0 after printing the help or the
 * version, 2 after reporting a wrong command line. */
bool dump_options_read(struct dump_options *options, int argc, char **argv, int *exit_code);

#endif
