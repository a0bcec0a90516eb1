/* SPDX-License-Identifier: MIT */
/* Command lines: a program has one table of options, which is read with getopt_long() and also writes the help. Here
 * are also the values that options of several programs have.
 *
 * The help has one form, because completions/make.py reads it for the shells. A shell completes the value of an option
 * to the words that stand in the name of the value or in the help: one of wall|cpu|gil, or a list of thread,task. */
#ifndef PYREEL_FORMATS_BASE_ARGUMENTS_H
#define PYREEL_FORMATS_BASE_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

struct argument {
    int number;        /* identifies the option; not 0 */
    char letter;       /* short name; 0: the option has none */
    const char *name;  /* long name */
    const char *value; /* name of the option's value in the help; NULL: the option takes no value. [=NAME]: the value
                        * may be left out, and is NULL then */
    unsigned set; /* the sets of options to which this option belongs, one bit each; 0: all programs have the option */
    const char *help; /* lines; of an option with a value: also which values the option accepts, with an example */
};

#define ARGUMENT_TABLES 3

/* A program's tables, in the order of the help, and the sets of options that the program takes. Each table ends in a
 * row of zeros; a table may be NULL. */
struct arguments {
    const struct argument *tables[ARGUMENT_TABLES];
    unsigned sets;
    bool command;  /* the first argument that is no option begins the command line of another program */
    bool in_order; /* arguments that are no options come in their order among the options, as the row
                    * arguments_operand, with the argument in optarg. Those behind -- come at the end as ever */
};

extern const struct argument arguments_operand;

/* Returns the row of the next option on the command line; getopt's optarg is the option's value. Returns NULL at the
 * first argument that is no option (its index is getopt's optind). Returns NULL and sets *wrong, after a message on
 * standard error, when an option is unknown or lacks its value. */
const struct argument *arguments_next(const struct arguments *arguments, int argc, char **argv, int *wrong);

/* Prints a line for each option on standard output. */
void arguments_print(const struct arguments *arguments);

/* Says on standard error that the option of this row does not accept the value, and which values the option accepts. */
void arguments_refuse(const char *program, const struct argument *row, const char *value);

/* Parses a length of time: "90", "2.5", "1m30", "1m30s", "2h", "500ms" → nanoseconds. The units h, m, s and ms come in
 * this order, each at most once. A number without a unit counts seconds, or the next smaller unit:
 *
 *     1m30   1 minute and 30 seconds          1h30   1 hour and 30 minutes
 *
 * False when the text is no time from 0 to 1e8 seconds. */
bool arguments_parse_time(const char *text, uint64_t *time_ns);

/* Parses an amount of memory: "500M", "4G", "1.5G", "300000k"; a number without a unit counts bytes. The units are
 * powers of 1024. False when the text is no amount from 1 to 2^60 bytes. */
bool arguments_parse_memory(const char *text, uint64_t *bytes);

/* Parses the size of a file, or a count: "20000", "500k", "1.5G". The units are powers of 1000. False when the text is
 * no number from 1 to 10^18. */
bool arguments_parse_size(const char *text, uint64_t *size);

/* Parses a count, which has only digits, and may have blanks in front. False when the text is no count from `least` to
 * `most`. */
bool arguments_parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *count);

/* Parses a share in percent: "5%", "0.5" → 0.05, 0.005. False when the text is no share from 0 to `most`. */
bool arguments_parse_share(const char *text, double most, double *share);

#endif
