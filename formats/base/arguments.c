/* SPDX-License-Identifier: MIT */
#include "formats/base/arguments.h"

#include "formats/base/alloc.h"
#include "formats/base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ROWS_LIMIT   64
#define TIME_LIMIT_S 1e8
#define HELP_INDENT  31  /* columns in front of the help of an option */
#define OPERAND      1   /* getopt returns this number for an argument that is no option, if it is asked for those */
#define NO_LETTER    256 /* getopt returns this number + the option's index for an option without a letter */

const struct argument arguments_operand = { .number = -1, .name = "" };

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

/* Whether the option takes a value; the value may be left out when its name begins with a bracket. */
static int value_kind(const struct argument *row)
{
    if (!row->value)
        return no_argument;
    return row->value[0] == '[' ? optional_argument : required_argument;
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

/* How many options have a name that begins so. */
static size_t count_beginning(const struct option *long_options, const char *name, size_t size)
{
    size_t count = 0;
    for (; long_options->name; long_options++)
        count += strncmp(long_options->name, name, size) == 0;
    return count;
}

/* Says what getopt_long() found wrong, in its words. Its own messages print the argument as it is, and begin with the
 * path of the program. */
static void say_wrong(const char *program, const char *argument, const char *letters, const struct option *long_options)
{
    const char letter[] = { (char)optopt, '\0' };
    const struct option *option = optopt >= NO_LETTER ? &long_options[optopt - NO_LETTER] : NULL;
    fprintf(stderr, "%s: ", program);
    if (option)
        fprintf(stderr,
                option->has_arg == required_argument ? "option '--%s' requires an argument\n"
                                                     : "option '--%s' doesn't allow an argument\n",
                option->name);
    else if (optopt)
        fprintf(stderr, strchr(letters, optopt) ? "option requires an argument -- '%s'\n" : "invalid option -- '%s'\n",
                utf8_shown(letter));
    else
        fprintf(stderr,
                count_beginning(long_options, argument + 2, strcspn(argument + 2, "=")) > 1
                    ? "option '%s' is ambiguous\n"
                    : "unrecognized option '%s'\n",
                utf8_shown(argument));
}

/* Calls getopt_long(). The messages begin with the name of the program, not with its path. */
static int next_option(int argc, char **argv, const char *letters, const struct option *long_options)
{
    opterr = 0;
    const int found = getopt_long(argc, argv, letters, long_options, NULL);
    if (found == '?')
        say_wrong(program_invocation_short_name, argv[optind - 1], letters, long_options);
    return found;
}

const struct argument *arguments_next(const struct arguments *arguments, int argc, char **argv, int *wrong)
{
    struct option long_options[ROWS_LIMIT] = { 0 };
    const struct argument *taken[ROWS_LIMIT];
    char letters[2 * ROWS_LIMIT] = { arguments->in_order ? '-' : '+' };
    size_t count = 0, used = arguments->command || arguments->in_order, table;
    for (const struct argument *row = NULL; (row = next_row(arguments, &table, row));) {
        assert(count + 1 < ROWS_LIMIT);
        taken[count] = row;
        long_options[count] = (struct option){ row->name, value_kind(row), NULL, NO_LETTER + (int)count };
        count++;
        if (row->letter)
            letters[used++] = row->letter;
        if (row->letter && row->value)
            letters[used++] = ':';
    }
    letters[used] = '\0';
    const int found = next_option(argc, argv, letters, long_options);
    *wrong = found == '?';
    if (found == -1 || found == '?')
        return NULL;
    if (found == OPERAND)
        return &arguments_operand;
    return found >= NO_LETTER ? taken[found - NO_LETTER] : find_letter(arguments, found);
}

/* Prints the lines of a help, the second and later ones behind `indent` blanks. */
static void option_print_help(FILE *to, const char *help, int indent)
{
    for (const char *end; (end = strchr(help, '\n')); help = end + 1)
        fprintf(to, "%.*s\n%*s", (int)(end - help), help, indent, "");
    fprintf(to, "%s\n", help);
}

void arguments_print(const struct arguments *arguments)
{
    size_t table;
    for (const struct argument *row = NULL; (row = next_row(arguments, &table, row));) {
        char left[40];
        const char *const between = value_kind(row) == required_argument ? " " : "";
        snprintf(left, sizeof(left), "%s%s%s", row->name, between, row->value ? row->value : "");
        if (row->letter)
            printf("  -%c, --%-22s ", row->letter, left);
        else
            printf("      --%-22s ", left);
        option_print_help(stdout, row->help, HELP_INDENT);
    }
}

void arguments_refuse(const char *program, const struct argument *row, const char *value)
{
    fprintf(stderr, "%s: invalid value '%s' for --%s\n", program, utf8_shown(value), row->name);
    const char *const between = value_kind(row) == required_argument ? " " : "";
    const int indent = fprintf(stderr, "  --%s%s%s: ", row->name, between, row->value);
    option_print_help(stderr, row->help, indent);
    fprintf(stderr, "Try '%s --help'.\n", program);
}

/* ---- times ---- */

static const struct unit {
    const char *name;
    double seconds;
} units[] = { { "h", 3600 }, { "m", 60 }, { "s", 1 }, { "ms", 1e-3 } };

#define UNIT_SECONDS 2 /* index of the unit of a number that stands alone */

/* Takes a number of digits with at most one point from the front of *text. False when there is none. */
static bool take_decimal(const char **text, double *number)
{
    char *end;
    const size_t size = strspn(*text, "0123456789.");
    *number = strtod(*text, &end);
    const bool whole = size > 0 && end == *text + size; /* not so for "1.2.3", "1e3" and "0x10" */
    *text += size;
    return whole;
}

/* Takes the name of a unit, or of none: then the unit is `unnamed`. Returns the index of the unit; countof(units):
 * there is no such unit. */
static size_t take_unit(const char **text, size_t unnamed)
{
    const size_t size = strspn(*text, "hmsHMS");
    size_t unit = size > 0 ? 0 : unnamed;
    while (size > 0 && unit < countof(units) &&
           (strlen(units[unit].name) != size || strncasecmp(*text, units[unit].name, size) != 0))
        unit++;
    *text += size;
    return unit;
}

bool arguments_parse_time(const char *text, uint64_t *time_ns)
{
    double seconds = 0;
    size_t least = 0,
           unnamed = UNIT_SECONDS; /* the largest unit that may follow; the unit of a number without a unit */
    do {
        double number;
        if (!take_decimal(&text, &number))
            return false;
        const size_t unit = take_unit(&text, unnamed);
        if (unit < least || unit >= countof(units))
            return false;
        seconds += number * units[unit].seconds;
        least = unnamed = unit + 1;
    } while (*text);
    if (!(seconds <= TIME_LIMIT_S))
        return false;
    *time_ns = (uint64_t)(seconds * 1e9 + 0.5);
    return true;
}

/* ---- amounts ---- */

#define MEMORY_MOST 0x1p60
#define SIZE_MOST   1e18

/* Parses a number with a unit, k, m, g or t, of which each is `step` times the one before. */
static bool parse_amount(const char *text, double step, double most, uint64_t *amount)
{
    static const char letters[] = "kmgt";
    double number;
    if (!take_decimal(&text, &number))
        return false;
    const char *letter = *text ? strchr(letters, *text | 0x20) : NULL;
    if (*text && (!letter || text[1]))
        return false;
    for (; letter && letter >= letters; letter--)
        number *= step;
    *amount = number >= 1 && number <= most ? (uint64_t)number : 0;
    return *amount > 0;
}

bool arguments_parse_memory(const char *text, uint64_t *bytes)
{
    return parse_amount(text, 1024, MEMORY_MOST, bytes);
}

bool arguments_parse_size(const char *text, uint64_t *size)
{
    return parse_amount(text, 1000, SIZE_MOST, size);
}

bool arguments_parse_count(const char *text, uint64_t least, uint64_t most, uint64_t *count)
{
    char *end;
    errno = 0;
    text += strspn(text, " "); /* as ps prints numbers */
    *count = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *count >= least && *count <= most;
}

/* ---- shares ---- */

bool arguments_parse_share(const char *text, double most, double *share)
{
    const bool number = take_decimal(&text, share);
    *share /= 100;
    return number && (!*text || strcmp(text, "%") == 0) && *share <= most;
}
