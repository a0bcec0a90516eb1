/* SPDX-License-Identifier: MIT */
/* What each program does first. */
#ifndef PYREEL_FORMATS_BASE_STARTUP_H
#define PYREEL_FORMATS_BASE_STARTUP_H

#define EXIT_MISUSE 2 /* the command line is wrong */

/* Makes sure that files 0 to 2 are open, so that no file of ours gets one of these numbers and is taken for standard
 * output or written messages into. `failure` is the exit code when memory runs out. */
void startup(int failure);

#endif
