/* SPDX-License-Identifier: MIT */
/* A file being made. It grows without a name and gets its own only when it is whole, so that a failed or interrupted
 * conversion never leaves half a file or destroys an old one; "-" is standard output. gzip is one member without a
 * time stamp or name: the same input gives the same bytes. Write errors are kept and told by output_close(). */
#ifndef PYREEL_FORMATS_BASE_OUTPUT_H
#define PYREEL_FORMATS_BASE_OUTPUT_H

#include "formats/base/fault.h"
#include "formats/base/text.h"

#include <stdint.h>

struct output {
    const char *path;
    char *final;      /* the name it gets: `path` with links followed; NULL when it is written in place */
    char *unfinished; /* the name it has for a moment before that; NULL when it is written in place */
    bool nameless;    /* it has none until then */
    int fd;
    bool open;
    struct z_stream_s *gzip; /* NULL: as it is */
    unsigned char *buffer;   /* what waits for the next write() */
    size_t used;
    uint64_t written; /* bytes given to the kernel */
    struct fault failure;
};

/* Starts a file at `path`. `output` is empty or closed. `path` must live as long as `output`. */
bool output_open(struct output *output, const char *path, bool gzip, struct fault *why);

#define OUTPUT_BUFFER ((size_t)256 << 10) /* bytes given to the file at once */
#define OUTPUT_ROOM   ((size_t)64)        /* that are there for what comes next, always */

/* Where the next bytes go, OUTPUT_ROOM at most: to be filled from the front, and then told. For what is short and comes
 * by the million. */
static inline unsigned char *output_room(const struct output *output)
{
    return output->buffer + output->used;
}

/* Gives a full buffer to the file. */
void output_spill(struct output *output);

static inline void output_filled(struct output *output, size_t size)
{
    output->used += size;
    if (output->used >= OUTPUT_BUFFER)
        output_spill(output);
}

void output_bytes(struct output *output, const void *bytes, size_t size);
void output_string(struct output *output, const char *string);
void output_text(struct output *output, struct text text);
void output_number(struct output *output, uint64_t number);
#define DIGITS_MOST 20
/* The digits of a number, DIGITS_MOST at most: puts them at `to`. Returns how many. */
size_t output_put_digits(unsigned char *to, uint64_t number);
void output_format(struct output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Finishes the file and gives it its name; *written, if not NULL, is told its size. False with the reason when anything
 * could not be written. */
bool output_close(struct output *output, uint64_t *written, struct fault *why);

/* Gives up: nothing is left. Safe on an empty or closed output. */
void output_abandon(struct output *output);

#endif
