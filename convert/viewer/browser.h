/* SPDX-License-Identifier: MIT */
/* Starts the user's browser. $BROWSER lists the commands to try, with colons between, as other programs take it: "%s"
 * in a command is the address, else the address comes last. Without $BROWSER, and only where there is a display, these
 * are the commands that desktops have for it. */
#ifndef PYREEL_CONVERT_VIEWER_BROWSER_H
#define PYREEL_CONVERT_VIEWER_BROWSER_H

#include <sys/types.h>

/* Starts the first command that exists, in a session of its own and without input and output. Returns the process, a
 * child of ours; 0: there is no command to try, or no process can be started. A child that ends with another exit code
 * than 0 has shown nothing. */
pid_t browser_start(const char *address);

#endif
