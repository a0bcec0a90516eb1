/* SPDX-License-Identifier: MIT */
/* The first steps of each program. */
#ifndef PYREEL_FORMATS_BASE_STARTUP_H
#define PYREEL_FORMATS_BASE_STARTUP_H

#define EXIT_MISUSE 2 /* exit code: the command line is wrong */

/* Makes sure that the file descriptors 0 to 2 are open. Otherwise a file that the program opens could get one of these
 * numbers, and messages for standard error would go into that file. `failure` is the exit code when memory runs out. */
void startup(int failure);

#endif
