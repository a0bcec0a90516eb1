/* SPDX-License-Identifier: MIT */
/* Reads the string and frame tables of a Tachyon file and emits them as definitions. A frame's number is its index in
 * the table + 1.
 *
 * Some frames belong to the Tachyon module with which `profiling.sampling run` starts a program. They are defined like
 * all others but marked as hidden: stacks are shown without them, as Tachyon shows them. */
#ifndef PYREEL_FORMATS_TACHYON_TACHYON_TABLES_H
#define PYREEL_FORMATS_TACHYON_TACHYON_TABLES_H

#include "formats/intern/intern.h"
#include "formats/model/sink.h"
#include "formats/tachyon/tachyon.h"

struct tachyon_tables {
    uint32_t strings;              /* emitted so far */
    unsigned char *file_kinds;     /* by string of the file: its kind as the name of a file */
    unsigned char *frame_kinds;    /* by string of the file: the enum frame_kind that it has as a name in no file */
    struct intern_pairs functions; /* (name, file) -> number */
    uint32_t frames;               /* emitted so far */
    bool *hidden;                  /* by number of the frame */
    uint32_t instructions[256];    /* by opcode: string of its name; 0: not emitted yet */
};

/* Reads both tables, emits their events, and reads the statistics behind them. Returns false with the reason. */
bool tachyon_tables_read(struct tachyon_tables *tables, int fd, const struct tachyon_header *header, uint64_t size,
                         struct tachyon_statistics *statistics, const struct sink *to, struct fault *why);

/* Frees the tables' memory. */
void tachyon_tables_free(struct tachyon_tables *tables);

#endif
