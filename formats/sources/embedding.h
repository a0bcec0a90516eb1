/* SPDX-License-Identifier: MIT */
/* The texts of source files that an output has in itself, so that people see time by line also without the files. An
 * output numbers its files as it likes. It first adds the lines that the recording names of each file, by which
 * source_text.h tells whether a file is the one that was recorded, and then reads one file after the other. All texts
 * together are bounded. */
#ifndef PYREEL_FORMATS_SOURCES_EMBEDDING_H
#define PYREEL_FORMATS_SOURCES_EMBEDDING_H

#include "formats/model/tables.h"
#include "formats/sources/source_name.h"
#include "formats/sources/source_text.h"

#include <stdio.h>

/* The most bytes of texts, for each share. */
#define EMBEDDED_MOST ((size_t)16 << 20)

/* Files of the program never lack room because of others. */
enum embedded_share { EMBEDDED_PROGRAM, EMBEDDED_OTHERS, EMBEDDED_SHARES };

/* What became of the files whose text was wanted: their number, by outcome, and the first of them. The texts belong to
 * the tables. */
struct embedded_files {
    size_t count[SOURCE_OUTCOMES];
    struct text first[SOURCE_OUTCOMES];
};

/* `= {0}` is empty. */
struct embedding {
    struct embedding_line *lines;
    size_t count, room;
    bool sorted;
    size_t used[EMBEDDED_SHARES]; /* bytes of texts that were read */
    struct embedded_files files;
};

/* Adds a line of a file that the recording names; nothing for line 0. */
void embedding_add_line(struct embedding *embedding, uint32_t file, uint32_t line);

/* Adds the first line of a function of the file. */
void embedding_add_function(struct embedding *embedding, uint32_t file, const struct tables *tables, uint32_t function);

/* Appends the text of a file to `text` when the outcome is SOURCE_READ. `path` is the path of the file as recorded.
 * Notes the outcome in embedding->files. No line can be added afterwards. */
enum source_outcome embedding_read(struct embedding *embedding, uint32_t file, struct text path,
                                   enum embedded_share share, const struct tables *tables,
                                   const struct source_folders *maps, struct bytes *text);

/* Why a file with this outcome has no text, for people. NULL: the file has one. */
const char *embedding_reason(enum source_outcome outcome);

/* Prints a warning for each reason why files have no text, with the number of the files and the first of them. */
void embedding_warn(FILE *to, const char *program, const struct embedded_files *files);

void embedding_free(struct embedding *embedding);

#endif
