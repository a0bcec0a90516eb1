/* SPDX-License-Identifier: MIT */
/* Writes a recording as a Tachyon file, from which `python3.15 -m profiling.sampling replay` makes flame graphs, heat
 * maps and more. The file has the byte order of this machine. Its samples are zstd-compressed, unless they are larger
 * than CPython's reader decompresses: then they are plain.
 *
 * The format has no names of threads, no processes, no first lines of functions, no date, and no time per sample: the
 * interval in the file is the mean of the times that samples stand for. A stack that is too deep for the format loses
 * its middle, and a synthetic frame says so, so that both ends are seen. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_WRITE_H
#define PYREEL_FORMATS_TACHYON_TACHYON_WRITE_H

#include "formats/base/output.h"
#include "formats/model/tables.h"

/* The CPython that replays the file: opcodes are numbers of that version. */
#define TACHYON_REPLAY_MAJOR 3
#define TACHYON_REPLAY_MINOR 15
#define TACHYON_REPLAY       "python3.15 -m profiling.sampling replay"

/* The limit of CPython's reader for decompressed samples, in bytes. */
#define TACHYON_ZSTD_MOST ((uint64_t)1 << 30)

struct tachyon_style {
    struct text mode;   /* mode of the samples; empty: as recorded */
    uint64_t zstd_most; /* 0: TACHYON_ZSTD_MOST */
};

/* Makes a writer. Each event must pass through `tables` first. `tables` and `output` must outlive the writer. */
struct tachyon_writer *tachyon_writer_start(const struct tables *tables, struct output *output,
                                            const struct tachyon_style *style);

/* Takes an event. Returns false with the reason. */
bool tachyon_writer_take(struct tachyon_writer *writer, const struct event *event, struct fault *why);

/* Writes the file. Returns false with the reason. */
bool tachyon_writer_finish(struct tachyon_writer *writer, struct fault *why);

/* The number of samples whose stack was too deep to be written whole. */
uint64_t tachyon_writer_cut(const struct tachyon_writer *writer);

/* Frees the writer. Safe on NULL. */
void tachyon_writer_drop(struct tachyon_writer *writer);

#endif
