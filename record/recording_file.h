/* SPDX-License-Identifier: MIT */
/* The file that a recording goes to. */
#ifndef PYREEL_RECORD_RECORDING_FILE_H
#define PYREEL_RECORD_RECORDING_FILE_H

#include "formats/base/fault.h"
#include "formats/model/event.h"

#include <sys/types.h>

struct recording_file {
    char *path; /* "-" for standard output */
    int fd;
    bool created; /* by us: there was no such file before */
    bool named;   /* it is a file of a folder, and would be lost if it were removed */
};

/* Opens `path`, without touching what is in it yet; NULL means NAME-PID.pyreel in the current folder, where NAME is
 * what `command` runs (see formats/model/program_name.h). False with the reason.
 *
 * What is there already is spared, unless `force` says otherwise: any file of the default name, and one of another name
 * that holds something else than a recording. Never used, whatever `force` says: a file that another recorder is
 * writing; and in a folder where everyone may make files, a link, or a file of somebody else. */
bool recording_file_open(struct recording_file *file, const char *path, bool force, pid_t pid, struct text command,
                         struct fault *why);

/* Empties a regular file: from now on it is the recording. */
bool recording_file_begin(struct recording_file *file, struct fault *why);

/* There will be no recording: closes the file, and removes it if it was created for that. */
void recording_file_discard(struct recording_file *file);

/* Whether it has been removed from its folder meanwhile: nobody will find what is written to it. */
bool recording_file_removed(const struct recording_file *file, struct fault *why);

/* Whether recordings can't go there: standard output that is a terminal. */
bool recording_file_is_for_terminal(const char *path);

/* False when what was written could not be kept, or was removed. */
bool recording_file_close(struct recording_file *file, struct fault *why);

#endif
