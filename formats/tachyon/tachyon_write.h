/* SPDX-License-Identifier: MIT */
/* An output: a recording as a Tachyon file, which `python3.15 -m profiling.sampling replay` makes flame graphs, heat
 * maps and more from. It is in the byte order of this machine, and its samples are in zstd, unless they are more than
 * the reader of CPython decompresses: then they are plain.
 *
 * What the format cannot hold is left out: names of threads, processes, the lines where functions begin, the date, and
 * how long each sample stands for: the interval that the file tells is the mean of that. Of a stack that is deeper than
 * it takes, the middle is left out and a frame says so, so that both ends are seen. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_WRITE_H
#define PYREEL_FORMATS_TACHYON_TACHYON_WRITE_H

#include "formats/base/output.h"
#include "formats/model/tables.h"

/* The CPython that replays the file: opcodes are numbers of that version. */
#define TACHYON_REPLAY_MAJOR 3
#define TACHYON_REPLAY_MINOR 15
#define TACHYON_REPLAY       "python3.15 -m profiling.sampling replay"

/* Bytes of samples that CPython's reader decompresses; it refuses more. */
#define TACHYON_ZSTD_MOST ((uint64_t)1 << 30)

struct tachyon_style {
    struct text mode;   /* of the samples that come; empty: as recorded */
    uint64_t zstd_most; /* 0: TACHYON_ZSTD_MOST */
};

/* Makes the writer's state. `tables` see each event first, and live as long, as does `output`. */
struct tachyon_writer *tachyon_writer_start(const struct tables *tables, struct output *output,
                                            const struct tachyon_style *style);

/* Takes an event. False with the reason. */
bool tachyon_writer_take(struct tachyon_writer *writer, const struct event *event, struct fault *why);

/* Writes the file. False with the reason. */
bool tachyon_writer_finish(struct tachyon_writer *writer, struct fault *why);

/* Samples whose stack was too deep to be told as a whole. */
uint64_t tachyon_writer_cut(const struct tachyon_writer *writer);

/* Frees the state. Safe on NULL. */
void tachyon_writer_drop(struct tachyon_writer *writer);

#endif
