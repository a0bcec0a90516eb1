/* SPDX-License-Identifier: MIT */
#include "formats/base/arguments.h"

#include "formats/base/alloc.h"

#include <getopt.h>
#include <stdio.h>

#define ROWS_LIMIT 64
#define NO_LETTER  256 /* getopt returns this number + the row's index for an option without a letter */

static bool belongs(const struct arguments *arguments, const struct argument *row)
{
    return row->set == 0 || (row->set & arguments->sets);
}

const struct argument *arguments_next(const struct arguments *arguments, int argc, char **argv, int *wrong)
{
    struct option long_options[ROWS_LIMIT] = { 0 };
    char letters[2 * ROWS_LIMIT] = "+";
    size_t count = 0, used = arguments->command;
    for (const struct argument *row = arguments->rows; row->number && count + 1 < ROWS_LIMIT; row++) {
        if (!belongs(arguments, row))
            continue;
        const int given = NO_LETTER + (int)(row - arguments->rows);
        long_options[count++] = (struct option){ row->name, row->value ? required_argument : no_argument, NULL, given };
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
    if (found >= NO_LETTER)
        return &arguments->rows[found - NO_LETTER];
    const struct argument *row = arguments->rows;
    while (row->letter != found)
        row++;
    return row;
}

void arguments_print(const struct arguments *arguments)
{
    for (const struct argument *row = arguments->rows; row->number; row++) {
        char left[40];
        if (!belongs(arguments, row))
            continue;
        snprintf(left, sizeof(left), "%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
        if (row->letter)
            printf("  -%c, --%-22s %s\n", row->letter, left, row->help);
        else
            printf("      --%-22s %s\n", left, row->help);
    }
}
