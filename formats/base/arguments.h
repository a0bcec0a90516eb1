/* SPDX-License-Identifier: MIT */
/* Command lines: a program has one table of options, which is read with getopt_long() and also writes the help. */
#ifndef PYREEL_FORMATS_BASE_ARGUMENTS_H
#define PYREEL_FORMATS_BASE_ARGUMENTS_H

#include <stdbool.h>

struct argument {
    int number;        /* identifies the option; not 0 */
    char letter;       /* short name; 0: the option has none */
    const char *name;  /* long name */
    const char *value; /* name of the option's value in the help; NULL: the option takes no value */
    unsigned set; /* the sets of options to which this option belongs, one bit each; 0: all programs have the option */
    const char *help;
};

#define ARGUMENT_TABLES 3

/* A program's tables, in the order of the help, and the sets of options that the program takes. Each table ends in a
 * row of zeros; a table may be NULL. */
struct arguments {
    const struct argument *tables[ARGUMENT_TABLES];
    unsigned sets;
    bool command; /* the first argument that is no option begins the command line of another program */
};

/* Returns the row of the next option on the command line; getopt's optarg is the option's value. Returns NULL at the
 * first argument that is no option (its index is getopt's optind). Returns NULL and sets *wrong, after a message on
 * standard error, when an option is unknown or lacks its value. */
const struct argument *arguments_next(const struct arguments *arguments, int argc, char **argv, int *wrong);

/* Prints a line for each option on standard output. */
void arguments_print(const struct arguments *arguments);

#endif
