/* SPDX-License-Identifier: MIT */
/* The file to which a recording is written. Protects other files of the user from being overwritten. */
#ifndef PYREEL_RECORD_FILE_RECORDING_FILE_H
#define PYREEL_RECORD_FILE_RECORDING_FILE_H

#include "formats/base/fault.h"
#include "formats/model/event.h"

#include <sys/types.h>

struct recording_file {
    char *path; /* "-" for standard output */
    int fd;
    bool created; /* there was no such file before */
    bool named;   /* a regular file with a name in a folder: the recording is lost if somebody removes the name */
};

/* Opens `path`, and leaves the contents of the file as they are. NULL means NAME-PID.pyreel in the current folder,
 * where NAME is the program that `command` runs (formats/model/program_name.h); when there is such a file,
 * NAME-PID-2.pyreel, and so on. False with the reason.
 *
 * Without `force`, the function refuses an existing file that is no recording. With or without `force`, it refuses a
 * file that another recorder is writing, and, in a folder where everyone may make files, a link or a file of another
 * user. */
bool recording_file_open(struct recording_file *file, const char *path, bool force, pid_t pid, struct text command,
                         struct fault *why);

/* The path of a recording: a copy of `path`, or NAME-PID.pyreel for NULL. The caller frees it. */
char *recording_file_path(const char *path, pid_t pid, struct text command);

/* Creates a new file. False with the reason, and errno, when that fails: EEXIST when there is such a file. Then `file`
 * is as it was. */
bool recording_file_create(struct recording_file *file, const char *path, struct fault *why);

/* Empties a regular file, before the recording is written. False with the reason when that fails. */
bool recording_file_begin(struct recording_file *file, struct fault *why);

/* Closes the file when there will be no recording. Removes the file if recording_file_open() created it. */
void recording_file_discard(struct recording_file *file);

/* Whether somebody has removed the file from its folder: then nobody will find the recording. Sets the reason if so. */
bool recording_file_removed(const struct recording_file *file, struct fault *why);

/* Whether the file was made in a folder of another user, from which only root's capability CAP_DAC_OVERRIDE may let us
 * remove the file. */
bool recording_file_is_in_foreign_folder(const struct recording_file *file);

/* Whether the recording would go to a terminal: the path is "-", and standard output is a terminal. */
bool recording_file_is_for_terminal(const char *path);

/* Closes the file. False with the reason when the recording was not written completely, or the file was removed. */
bool recording_file_close(struct recording_file *file, struct fault *why);

#endif
