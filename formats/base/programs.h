/* SPDX-License-Identifier: MIT */
/* Where the programs of this project lie. A program is found beside the one that asks, in a build folder in the folders
 * of the other rooms, and in the folders of PATH, in this order. So programs of one version come together, wherever
 * they are installed or unpacked. */
#ifndef PYREEL_FORMATS_BASE_PROGRAMS_H
#define PYREEL_FORMATS_BASE_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the path of a program, owned; NULL: there is no such program. */
char *programs_find(const char *program);

/* Returns the path of a program in this folder, owned; NULL: it is not there, or cannot be executed. */
char *programs_find_in(const char *folder, size_t size, const char *program);

/* Returns the folder in which the program that asks lies, owned; NULL: the system does not say so. */
char *programs_own_folder(void);

/* Takes the next folder of a list such as PATH, and moves *list behind the colon. An empty folder is the current one.
 * False at the end of the list, which is NULL then. */
bool programs_next_folder(const char **list, const char **folder, size_t *size);

#endif
