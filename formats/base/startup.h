/* SPDX-License-Identifier: MIT */
/* The first steps of each program. */
#ifndef PYREEL_FORMATS_BASE_STARTUP_H
#define PYREEL_FORMATS_BASE_STARTUP_H

/* A static program (-Dstatic=true) has a C library of its own. What the C library of the machine loads (converters of
 * encodings, databases of users) would crash the program, so the program must not ask for such things. */
#ifdef PYREEL_STATIC
#define LOADS_LIBRARIES false
#else
#define LOADS_LIBRARIES true
#endif

#define EXIT_MISUSE 2 /* exit code: the command line is wrong */

/* Makes sure that the file descriptors 0 to 2 are open. Otherwise a file that the program opens could get one of these
 * numbers, and messages for standard error would go into that file. Without LOADS_LIBRARIES, names of users come from
 * /etc/passwd alone. `failure` is the exit code when memory runs out. */
void startup(int failure);

#endif
