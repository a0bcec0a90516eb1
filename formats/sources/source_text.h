/* SPDX-License-Identifier: MIT */
/* Reads the text of a source file that a recording names, when the text is that of the recorded program as far as one
 * can tell. The recording is not trusted: it may name any file, so only regular files that are Python source, by their
 * own name or their first line, are read, and nothing else is opened. */
#ifndef PYREEL_FORMATS_SOURCES_SOURCE_TEXT_H
#define PYREEL_FORMATS_SOURCES_SOURCE_TEXT_H

#include "formats/base/bytes.h"

#include <stdbool.h>

#define SOURCE_TEXT_MOST ((size_t)1 << 20) /* bytes of a file */

enum source_outcome {
    SOURCE_READ,
    SOURCE_ABSENT,  /* there is no such file, or the user may not read the file */
    SOURCE_FOREIGN, /* no Python source in a regular file */
    SOURCE_LARGE,
    SOURCE_CHANGED, /* written after the recording, or without the functions of the recording */
    SOURCE_OUTCOMES
};

/* What the recording says of the file. */
struct source_facts {
    uint64_t end_unix_ns;        /* when the recording ended; 0: unknown */
    uint32_t last_line;          /* the largest line that the recording names */
    const uint32_t *definitions; /* lines at which functions with names begin */
    size_t definitions_count;
};

/* Reads a file and appends its text, as UTF-8, to `text`, when the outcome is SOURCE_READ. */
enum source_outcome source_text_read(const char *path, const struct source_facts *facts, struct bytes *text);

#endif
