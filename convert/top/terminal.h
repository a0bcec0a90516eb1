/* SPDX-License-Identifier: MIT */
/* The terminal of the live view: shows drawn lines, and takes keys, with ncurses. While it is open, standard error goes
 * to a file in memory, so that a message spoils nothing; the message is printed when the terminal is closed, which
 * happens at exit(), too. */
#ifndef PYREEL_CONVERT_TOP_TERMINAL_H
#define PYREEL_CONVERT_TOP_TERMINAL_H

#include "convert/top/screen.h"
#include "formats/base/fault.h"
#include "formats/terminal/screen.h"

/* Whether standard output is a terminal on which the view can be drawn, by its name in TERM. False with the reason. */
bool terminal_suits(struct fault *why);

/* Takes the terminal of standard output for the view. Keys come from standard input, or from /dev/tty if that is no
 * terminal. False with the reason when there is no such terminal. */
bool terminal_open(struct fault *why);

/* The file descriptor from which keys come. */
int terminal_keys(void);

/* The size of the terminal. */
void terminal_size(size_t *columns, size_t *lines);

/* Shows the lines. */
void terminal_show(const struct drawn *drawn);

/* The next key that was pressed, as view_take_key() takes it. *resized: there is no key, the terminal has another size.
 * False: neither. */
bool terminal_key(uint32_t *key, bool *resized);

/* Gives the terminal back. Safe when it is not open. */
void terminal_close(void);

#endif
