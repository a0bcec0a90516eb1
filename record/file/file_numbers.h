/* SPDX-License-Identifier: MIT */
/* Numbered files: app-0001.pyreel, app-0002.pyreel, ... for -o app.pyreel. The numbers go on behind the highest one
 * that the folder has, so no file of an earlier run is replaced, and a file is never opened that was there before. */
#ifndef PYREEL_RECORD_FILE_FILE_NUMBERS_H
#define PYREEL_RECORD_FILE_FILE_NUMBERS_H

#include "formats/base/fault.h"
#include "record/file/recording_file.h"

/* `= {0}` is closed. */
struct file_numbers {
    char *stem;    /* the path without number and ending: "logs/app" */
    uint32_t last; /* the highest number so far, of any file */
    uint32_t keep; /* most files of ours that stay; 0: all */
    struct numbered {
        uint32_t number;
        dev_t device;
        ino_t inode;
    } *ours; /* files that were opened and not deleted, oldest first; only with `keep` */
    size_t count, room;
};

/* `output` and `command` as for recording_file_open(): they give the stem. */
void file_numbers_open(struct file_numbers *numbers, const char *output, uint32_t keep, pid_t pid, struct text command);

/* Creates the file with the next number. False with the reason. */
bool file_numbers_next(struct file_numbers *numbers, struct recording_file *file, struct fault *why);

/* Deletes the oldest files of ours until at most `keep` are there. A file that somebody replaced stays. */
void file_numbers_tidy(struct file_numbers *numbers);

void file_numbers_close(struct file_numbers *numbers);

#endif
