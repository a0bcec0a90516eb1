/* SPDX-License-Identifier: MIT */
/* Command lines: a program has one table of options, which is read with getopt_long() and also writes the help. */
#ifndef PYREEL_FORMATS_BASE_ARGUMENTS_H
#define PYREEL_FORMATS_BASE_ARGUMENTS_H

#include <stdbool.h>

struct argument {
    int number;        /* tells the option; not 0 */
    char letter;       /* 0: none */
    const char *name;  /* the long one */
    const char *value; /* what it takes, for the help; NULL: nothing */
    unsigned set;      /* of options it belongs to, a bit each; 0: all programs have it */
    const char *help;
};

/* A program's table, and the sets of options that it takes. The table ends in a row of zeros. */
struct arguments {
    const struct argument *rows;
    unsigned sets;
    bool command; /* the first other argument begins a command line that is not ours */
};

/* The next option on the command line: its row, with getopt's optarg as the value. NULL at the first argument that is
 * none (getopt's optind), or when *wrong is set: what is not an option, or lacks its value, has been told. */
const struct argument *arguments_next(const struct arguments *arguments, int argc, char **argv, int *wrong);

/* Prints a line for each option on standard output. */
void arguments_print(const struct arguments *arguments);

#endif
