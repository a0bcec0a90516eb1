/* SPDX-License-Identifier: MIT */
/* The file that a recording goes to. */
#ifndef PYREEL_RECORD_FILE_H
#define PYREEL_RECORD_FILE_H

#include "formats/event.h"
#include "formats/fault.h"

#include <sys/types.h>

struct recording_file {
    char *path; /* "-" for standard output */
    int fd;
};

/* Opens `path`; NULL means NAME-PID.pyreel in the current folder, where NAME is what `command` runs (see
 * formats/program.h). A file of the default name is never overwritten. False with the reason. */
bool recording_file_open(struct recording_file *file, const char *path, pid_t pid, struct text command,
                         struct fault *why);

/* Whether recordings can't go there: standard output that is a terminal. */
bool recording_is_for_terminal(const char *path);

/* False when what was written could not be kept. */
bool recording_file_close(struct recording_file *file, struct fault *why);

#endif
