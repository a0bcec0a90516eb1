/* SPDX-License-Identifier: MIT */
/* Folders as /tmp, in which everybody may make files: somebody may have put a link or a file of his where we are about
 * to write. */
#ifndef PYREEL_FORMATS_BASE_STICKY_DIR_H
#define PYREEL_FORMATS_BASE_STICKY_DIR_H

#include <stdbool.h>

/* Whether the file of this path is, or would be, in such a folder. */
bool sticky_dir_holds(const char *path);

/* Whether the path is a symbolic link in such a folder that is neither ours nor made by the folder's owner. */
bool sticky_dir_is_strange_link(const char *path);

#endif
