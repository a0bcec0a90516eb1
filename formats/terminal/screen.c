/* SPDX-License-Identifier: MIT */
#include "formats/terminal/screen.h"

#include "formats/base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static size_t between(size_t columns)
{
    if (columns < SCREEN_COLUMNS_LEAST)
        return SCREEN_COLUMNS_LEAST;
    return columns > SCREEN_COLUMNS_MOST ? SCREEN_COLUMNS_MOST : columns;
}

/* The number in COLUMNS; 0: there is none. */
static size_t columns_wanted(void)
{
    const char *value = getenv("COLUMNS");
    char *end;
    if (!value || *value < '0' || *value > '9')
        return 0;
    const unsigned long columns = strtoul(value, &end, 10);
    return *end ? 0 : columns;
}

static size_t screen_columns_of(int fd)
{
    struct winsize size = { 0 };
    const size_t wanted = columns_wanted();
    if (wanted)
        return between(wanted);
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? between(size.ws_col) : SCREEN_COLUMNS;
}

/* Whether the locale's characters are not UTF-8. The name of the locale tells, whether or not the machine has it: a
 * name that ssh brought along says what the user's terminal can show. */
static bool locale_is_ascii(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
    for (size_t i = 0; i < countof(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return !strcasestr(value, "UTF-8") && !strcasestr(value, "UTF8");
    }
    return true;
}

static bool wants_colours(void)
{
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !(refused && *refused) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

struct screen screen_of(int fd)
{
    return (struct screen){ .columns = screen_columns_of(fd),
                            .ascii = locale_is_ascii(),
                            .colours = isatty(fd) && wants_colours() };
}
