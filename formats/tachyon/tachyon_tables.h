/* SPDX-License-Identifier: MIT */
/* The string and frame tables of a Tachyon file, told as definitions. A frame's number is its place in the table + 1.
 *
 * Some frames are Tachyon's own: those of the module with which `profiling.sampling run` starts a program. They are
 * defined like all others and marked as hidden, for stacks are shown without them, as Tachyon shows them. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_TABLES_H
#define PYREEL_FORMATS_TACHYON_TACHYON_TABLES_H

#include "formats/intern/intern.h"
#include "formats/model/sink.h"
#include "formats/tachyon/tachyon.h"

struct tachyon_tables {
    uint32_t strings;              /* told so far */
    unsigned char *file_marks;     /* of the strings in the file, by place: what they are as the name of a file */
    struct intern_pairs functions; /* by name and file */
    uint32_t frames;               /* told so far */
    bool *hidden;                  /* of frames, by number */
    uint32_t instructions[256];    /* strings: names of opcodes told so far */
};

/* Reads both tables and gives their events, and takes the statistics behind them. False with the reason. */
bool tachyon_tables_read(struct tachyon_tables *tables, int fd, const struct tachyon_header *header, uint64_t size,
                         struct tachyon_statistics *statistics, const struct sink *to, struct fault *why);

void tachyon_tables_free(struct tachyon_tables *tables);

#endif
