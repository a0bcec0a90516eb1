/* SPDX-License-Identifier: MIT */
#include "formats/base/arguments.h"

#include <assert.h>
#include <getopt.h>
#include <stdio.h>

#define ROWS_LIMIT 64
#define NO_LETTER  256 /* getopt returns this number + the option's index for an option without a letter */

/* The program's next option after `row`, in the order of the help. NULL: the first one; returns NULL after the last. */
static const struct argument *next_row(const struct arguments *arguments, size_t *table, const struct argument *row)
{
    if (!row)
        *table = 0;
    for (; *table < ARGUMENT_TABLES; ++*table, row = NULL)
        for (row = row ? row + 1 : arguments->tables[*table]; row && row->number; row++)
            if (row->set == 0 || (row->set & arguments->sets))
                return row;
    return NULL;
}

/* The row of the option that has this letter; NULL: none. */
static const struct argument *find_letter(const struct arguments *arguments, int letter)
{
    size_t table;
    const struct argument *row = NULL;
    while ((row = next_row(arguments, &table, row)) && row->letter != letter)
        continue;
    return row;
}

const struct argument *arguments_next(const struct arguments *arguments, int argc, char **argv, int *wrong)
{
    struct option long_options[ROWS_LIMIT] = { 0 };
    const struct argument *taken[ROWS_LIMIT];
    char letters[2 * ROWS_LIMIT] = "+";
    size_t count = 0, used = arguments->command, table;
    for (const struct argument *row = NULL; (row = next_row(arguments, &table, row));) {
        assert(count + 1 < ROWS_LIMIT);
        taken[count] = row;
        long_options[count] = (struct option){ row->name, row->value ? required_argument : no_argument, NULL,
                                               NO_LETTER + (int)count };
        count++;
        if (row->letter)
            letters[used++] = row->letter;
        if (row->letter && row->value)
            letters[used++] = ':';
    }
    letters[used] = '\0';
    const int found = getopt_long(argc, argv, letters, long_options, NULL);
    *wrong = found == '?';
    if (found == -1 || found == '?')
        return NULL;
    return found >= NO_LETTER ? taken[found - NO_LETTER] : find_letter(arguments, found);
}

void arguments_print(const struct arguments *arguments)
{
    size_t table;
    for (const struct argument *row = NULL; (row = next_row(arguments, &table, row));) {
        char left[40];
        snprintf(left, sizeof(left), "%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
        if (row->letter)
            printf("  -%c, --%-22s %s\n", row->letter, left, row->help);
        else
            printf("      --%-22s %s\n", left, row->help);
    }
}
