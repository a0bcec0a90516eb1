/* SPDX-License-Identifier: MIT */
/* What the place can show to which a text output goes: a terminal, a pipe or a file. */
#ifndef PYREEL_FORMATS_TERMINAL_SCREEN_H
#define PYREEL_FORMATS_TERMINAL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#define SCREEN_COLUMNS       80 /* where nobody knows better */
#define SCREEN_COLUMNS_LEAST 40
#define SCREEN_COLUMNS_MOST  1000

struct screen {
    size_t columns;
    bool ascii;   /* the locale has no UTF-8 */
    bool colours; /* a terminal that understands them, and a user who wants them */
};

/* The screen behind a file descriptor. The environment variable COLUMNS goes before the size of the terminal; LC_ALL,
 * LC_CTYPE and LANG name the locale; NO_COLOR and TERM=dumb switch colours off. */
struct screen screen_of(int fd);

#endif
