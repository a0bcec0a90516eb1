/* SPDX-License-Identifier: MIT */
/* Where the events of a recording come from: a stream of ours or a file of Tachyon, told apart by their first bytes.
 * Who asks about the file (its size, its damage, whether it is whole) asks `stream`, also when it is one of Tachyon. */
#ifndef PYREEL_CONVERT_SOURCE_H
#define PYREEL_CONVERT_SOURCE_H

#include "formats/stream/stream_read.h"
#include "formats/tachyon/tachyon_read.h"

/* `= {0}` is closed. */
struct source {
    struct stream_reader stream;
    struct tachyon_reader tachyon;
    bool of_tachyon;
};

/* Starts reading from `fd`, which stays the caller's, and gives EVENT_RECORDING to the sink. False, with the reason,
 * when it is neither of both, is too new, or the sink refused. To be closed in any case. */
bool source_open(struct source *source, int fd, const struct sink *to, struct fault *why);

/* Gives some of the events, see stream_read_block(). */
enum source_state source_read(struct source *source, const struct sink *to, struct fault *why);

/* Safe on one that is closed. */
void source_close(struct source *source);

/* Why the recording ends where it does, in words; `reason` is that of its end, if it has one. */
const char *source_ending(const struct source *source, enum end_reason reason);

#endif
