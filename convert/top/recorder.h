/* SPDX-License-Identifier: MIT */
/* pyreel-record as a process of its own, which pyreel-top has started: the view reads the recording from a pipe, or
 * from the file that the recorder writes. What the recorder and its command say goes to another pipe, so that nothing
 * spoils the screen; the last line is shown, and the last part is printed when the view is closed. */
#ifndef PYREEL_CONVERT_TOP_RECORDER_H
#define PYREEL_CONVERT_TOP_RECORDER_H

#include "formats/base/fault.h"
#include "formats/base/text.h"

#include <sys/types.h>

#define RECORDER_SAID ((size_t)64 << 10) /* bytes that are kept of what was said */

struct recorder {
    pid_t pid;    /* 0: none was started */
    int stream;   /* the recording; -1: it goes to a file */
    int messages; /* -1: they go to standard error, or have ended */
    bool ended;
    int wait_status; /* valid if ended */
    char *said;      /* the last bytes, at most RECORDER_SAID */
    size_t said_size;
    bool said_more; /* earlier bytes are gone */
    char line[256]; /* the last line with text; "" at first */
};

/* Starts pyreel-record, which is beside this program, with these arguments (argv[0] is set here; ends with NULL).
 * `to_pipe`: standard output is the recording. `apart`: messages go to a pipe, and standard input is empty. False with
 * the reason. */
bool recorder_start(struct recorder *recorder, char **arguments, bool to_pipe, bool apart, struct fault *why);

/* Reads what was said, without waiting. */
void recorder_listen(struct recorder *recorder);

/* Notes whether the recorder has ended, without waiting. */
void recorder_look(struct recorder *recorder);

/* Sends a signal, unless the recorder has ended. */
void recorder_signal(struct recorder *recorder, int number);

/* Waits a moment, and prints on standard error what was said. Returns whether the recorder has ended. */
bool recorder_pass_on(struct recorder *recorder);

/* The exit code that a shell would give for the ended recorder. */
int recorder_exit_code(const struct recorder *recorder);

/* Frees the memory. */
void recorder_close(struct recorder *recorder);

#endif
