/* SPDX-License-Identifier: MIT */
/* The file that is at the path which a program is about to write. Here are the rules that protect files of the user,
 * for all programs: a file is replaced only when the first bytes of the file look like those that the program itself
 * writes, and a read-only file is not replaced. --force lifts both rules.
 *
 * In a sticky folder such as /tmp, in which every user may make files, another user may have put a link, a file or a
 * pipe at the path. --force does not help there. To open such a pipe would already be to wait for its maker: whatever
 * opens a path looks at it first, with O_PATH, judges, and opens what was judged. */
#ifndef PYREEL_FORMATS_BASE_REPLACED_H
#define PYREEL_FORMATS_BASE_REPLACED_H

#include "formats/base/fault.h"
#include "formats/base/text.h"

#include <sys/stat.h>

struct replaced {
    const char *path;   /* for messages */
    const char *opened; /* path of the same file when it is open already, "/proc/self/fd/3"; NULL: `path` */
    const char *what;   /* what the program writes, with its article: "a recording" */
    /* Whether a file that begins with these bytes, after unpacking a gzip file, may be one that the program wrote.
     * `head` has REPLACED_HEAD bytes, or the whole file. */
    bool (*recognises)(struct text head);
    bool force;
};

#define REPLACED_HEAD ((size_t)64 << 10)

/* Whether the file may be replaced; also when there is no file, or an empty one. Devices and pipes are always good.
 * False with the reason, which says how to go on. */
bool replaced_is_allowed(const struct replaced *file, struct fault *why);

/* Whether the file at this path is, or would be, in a sticky folder. */
bool replaced_is_shared(const char *path);

/* Whether the path is a symbolic link in a sticky folder that belongs neither to us nor to the folder's owner. */
bool replaced_is_strange_link(const char *path);

/* Whether what is at the path, with the status `there`, is no regular file, and another user (root aside) put it, or
 * the link to it, into a folder that everyone can write to. Opening a pipe of somebody else may wait for ever. */
bool replaced_is_strange_pipe(const char *path, const struct stat *there);

/* Opens the very file that open() with O_PATH has found, so that nobody can put another one in between. `path` serves
 * where /proc is not mounted. Returns -1 with errno on failure. The file of a pipe waits for the other side, as always.
 */
int replaced_open_seen(int seen, const char *path, int flags);

#endif
