/* SPDX-License-Identifier: MIT */
/* Sticky folders such as /tmp, in which every user may make files. Another user may have put a link or a file there at
 * the path that we are about to write. */
#ifndef PYREEL_FORMATS_BASE_STICKY_DIR_H
#define PYREEL_FORMATS_BASE_STICKY_DIR_H

#include <stdbool.h>

/* Whether the file at this path is, or would be, in a sticky folder. */
bool sticky_dir_holds(const char *path);

/* Whether the path is a symbolic link in a sticky folder that belongs neither to us nor to the folder's owner. */
bool sticky_dir_is_strange_link(const char *path);

#endif
