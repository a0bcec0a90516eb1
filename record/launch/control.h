/* SPDX-License-Identifier: MIT */
/* The user or a script tells the recorder what to do (--control fifo:PATH[,ACK]), as perf does: a command a line,
 *
 *     enable     ends a pause                       snapshot   a flight recorder writes what it has
 *     disable    begins a pause                     ping       nothing
 *     stop       ends the recording
 *
 * and for each line an answer in the fifo ACK, if there is one: "ack" once the command has taken effect, or
 * "error WHY". Both fifos exist before, and are opened for reading and writing: so nobody waits for the other side, who
 * writes commands may go away and come again, and an answer that nobody has read yet waits in the fifo. An answer for
 * which the fifo has no room is dropped.
 *
 * Commands are taken one at a time, in order. What comes is not trusted: a line that is too long or no command is
 * answered, told a few times, and otherwise ignored. */
#ifndef PYREEL_RECORD_LAUNCH_CONTROL_H
#define PYREEL_RECORD_LAUNCH_CONTROL_H

#include "formats/base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_LINE 64 /* longest line, with its end */

enum control_command {
    CONTROL_NONE, /* no command has come */
    CONTROL_ENABLE,
    CONTROL_DISABLE,
    CONTROL_STOP,
    CONTROL_PING,
    CONTROL_SNAPSHOT,
    CONTROL_UNKNOWN, /* a line that is no command */
    CONTROL_COMMANDS
};

/* `= {0}`: there is none. */
struct control {
    bool open;
    int fd, answers;              /* of the fifos; answers -1: none */
    bool readable;                /* the sleeper saw that something has come */
    uint64_t deaf_ns;             /* before this time (monotonic), what comes ends no sleep: a flood costs little */
    uint64_t look_ns;             /* when to look although no sleep was ended (monotonic) */
    char bytes[8 * CONTROL_LINE]; /* what was read, from `at` on */
    size_t at, size;
    bool cut;                     /* the line is too long: the rest of it is skipped */
    enum control_command pending; /* the command that was taken and not answered yet */
};

/* Whether a text is "fifo:PATH" or "fifo:PATH,ACK". */
bool control_is_named(const char *text);

/* Opens the fifos of such a text. False with the reason when one does not exist, is no fifo, or another recorder reads
 * the first. */
bool control_open(struct control *control, const char *text, struct fault *why);

/* The descriptor that ends a sleep which begins at `now_ns` (monotonic) when something comes; -1: none. Shortens the
 * sleep if there is one later. */
int control_waking_fd(const struct control *control, uint64_t now_ns, uint64_t *until_ns);

/* Takes the next command. A command that was taken must be answered before the next one is. CONTROL_UNKNOWN: `why` says
 * what is wrong with the line. Without a waker, asks the kernel about 100 times a second. */
enum control_command control_next(struct control *control, uint64_t now_ns, struct fault *why);

/* Answers the pending command: NULL is "ack", else why it had no effect. Does not wait. */
void control_answer(struct control *control, const char *error);

/* Answers all that has come and was not taken, because the recording is over: "ack" to what needs nothing more (stop,
 * disable, ping). Closes the fifos. Safe on a zeroed struct. */
void control_close(struct control *control);

#endif
