/* SPDX-License-Identifier: MIT */
/* An output file that is not finished. The file grows without a name and gets its name only when it is complete, so a
 * failed or interrupted conversion never leaves half a file and never destroys an old one. "-" is standard output. A
 * gzip file is one member without a time stamp and without a name, so the same input gives the same bytes. The first
 * write error is kept; output_close() reports it.
 *
 * A file that replaces another one has its mode and its owner, as far as we may give them. Whether a file may be
 * replaced is for the caller to say (replaced.h). */
#ifndef PYREEL_FORMATS_BASE_OUTPUT_H
#define PYREEL_FORMATS_BASE_OUTPUT_H

#include "formats/base/fault.h"
#include "formats/base/text.h"

#include <stdint.h>

struct output {
    const char *path;
    char *final; /* name of the finished file: `path` with links followed; NULL when the file is written in place */
    char *unfinished; /* temporary name just before the file gets its final name; NULL when the file is written in place
                       */
    bool nameless;    /* the file has no name until then */
    int fd;
    bool open;
    struct z_stream_s *gzip; /* NULL: not compressed */
    unsigned char *buffer;   /* bytes that wait for the next write() */
    size_t used;
    uint64_t flushed; /* bytes that left the buffer, before compression */
    uint64_t written; /* bytes given to the kernel */
    struct fault failure;
};

/* Writes all bytes to a file, pipe or socket that is no struct output. False with the reason in errno. */
bool output_write_all(int fd, const void *bytes, size_t size);

/* Whether this path means standard output. */
bool output_is_standard(const char *path);

/* Starts a file at `path`. `output` is empty or closed. `path` must live as long as `output`. Returns false with the
 * reason in `why` when the file cannot be made. */
bool output_open(struct output *output, const char *path, bool gzip, struct fault *why);

/* Starts a file that is open already, which gets no other name and is no standard output. The output owns `fd` and
 * closes the file descriptor. Messages call the file `name`, which must live as long as `output`. */
void output_open_fd(struct output *output, int fd, const char *name, bool gzip);

#define OUTPUT_BUFFER ((size_t)256 << 10) /* bytes per write() */
#define OUTPUT_ROOM   ((size_t)64)        /* free bytes that the buffer always has */

/* Returns the address for up to OUTPUT_ROOM bytes. The caller fills the bytes from the front, then calls
 * output_filled() with their number. For short texts that come by the million. */
static inline unsigned char *output_room(const struct output *output)
{
    return output->buffer + output->used;
}

/* Writes a full buffer to the file. */
void output_spill(struct output *output);

/* Counts `size` bytes that the caller has put at output_room(). */
static inline void output_filled(struct output *output, size_t size)
{
    output->used += size;
    if (output->used >= OUTPUT_BUFFER)
        output_spill(output);
}

/* Writes `size` bytes. The first error is kept, here and below. */
void output_bytes(struct output *output, const void *bytes, size_t size);

/* Writes a string without its NUL. */
void output_string(struct output *output, const char *string);

/* Writes a text. */
void output_text(struct output *output, struct text text);

/* Writes a number in decimal digits. */
void output_number(struct output *output, uint64_t number);
#define DIGITS_MOST 20
/* How many decimal digits a number has. */
size_t output_digits(uint64_t number);
/* Writes the digits of a number at `to`, which has room for DIGITS_MOST bytes. Returns the number of digits. */
size_t output_put_digits(unsigned char *to, uint64_t number);

/* Writes formatted text, as printf() does. */
void output_format(struct output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes what waits in the buffer, for readers who shall have it whatever happens next. */
void output_flush(struct output *output);

/* Finishes the file and gives it its name. Stores the file's size in bytes in *written, unless `written` is NULL.
 * Returns false with the reason in `why` when any part could not be written. */
bool output_close(struct output *output, uint64_t *written, struct fault *why);

/* Discards the file. Safe on an empty or closed output. */
void output_abandon(struct output *output);

#endif
