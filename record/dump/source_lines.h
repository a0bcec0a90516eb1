/* SPDX-License-Identifier: MIT */
/* Lines of source files for a dump. The process names the files, and is not trusted. So a line is read only if
 *
 *   - the process is in our mount namespace. File systems of another one are not entered: a process may have made them
 *     itself, and who serves a file system can let a reader wait for ever;
 *   - the path is absolute, and names a regular file that is Python source and not too large (source_text.h);
 *   - the process was the same, and in the same place, before and after it was read (place_same());
 *   - of a core file: the core file is of this machine, as far as is known (no --exe);
 *   - the user of the process may read the file: the file is opened with that user's rights;
 *   - the file was not written since the process began (a core file: was written): the process runs what it read
 * before. */
#ifndef PYREEL_RECORD_DUMP_SOURCE_LINES_H
#define PYREEL_RECORD_DUMP_SOURCE_LINES_H

#include "record/dump/dumped.h"

/* The texts of files that were read. `= {0}` is empty. */
struct source_lines {
    const struct dumped *dumped;
    struct source_file *files;
    uint32_t *of_string; /* by number of a string: index of the file with this name + 1; 0: not read yet */
    size_t count, room;
    size_t bytes; /* of all texts */
};

/* Prepares to read the files of a dumped process. `dumped` must live as long. */
void source_lines_open(struct source_lines *lines, const struct dumped *dumped);

/* The line at which a frame stands, without the blanks around it. Empty when there is none, or it may not be shown.
 * Valid until source_lines_close(). */
struct text source_lines_find(struct source_lines *lines, const struct frame *frame);

void source_lines_close(struct source_lines *lines);

#endif
