/* SPDX-License-Identifier: MIT */
#include "formats/output.h"

#include "formats/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_SIZE ((size_t)64 << 10)

static void write_all(struct output *output, const unsigned char *bytes, size_t size)
{
    while (size > 0 && output->failure.text[0] == '\0') {
        const ssize_t done = write(output->fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            fault(&output->failure, "cannot write %s: %s", output->path, strerror(errno));
            return;
        }
        bytes += done;
        size -= (size_t)done;
        output->written += (uint64_t)done;
    }
}

static void deflate_all(struct output *output, const unsigned char *bytes, size_t size, int flush)
{
    unsigned char packed[16 << 10];
    output->gzip->next_in = (unsigned char *)bytes;
    output->gzip->avail_in = (unsigned)size;
    do {
        output->gzip->next_out = packed;
        output->gzip->avail_out = sizeof(packed);
        deflate(output->gzip, flush);
        write_all(output, packed, sizeof(packed) - output->gzip->avail_out);
    } while (output->gzip->avail_out == 0);
}

static void flush_buffer(struct output *output, int flush)
{
    if (output->gzip)
        deflate_all(output, output->buffer, output->used, flush);
    else
        write_all(output, output->buffer, output->used);
    output->used = 0;
}

static void start_gzip(struct output *output)
{
    /* 15 bits of window, +16: a gzip wrapper. The header says no time, no name, and always the same system. */
    static gz_header header = { .os = 3 };
    output->gzip = alloc_zeroed(1, sizeof(*output->gzip));
    deflateInit2(output->gzip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    deflateSetHeader(output->gzip, &header);
}

/* A device or a pipe is written as it is; a regular file grows under another name in the same folder. */
static bool open_file(struct output *output, struct fault *why)
{
    struct stat there;
    const bool special = stat(output->path, &there) == 0 && !S_ISREG(there.st_mode);
    if (special) {
        output->fd = open(output->path, O_WRONLY | O_CLOEXEC);
        return output->fd >= 0 || fault(why, "cannot open %s: %s", output->path, strerror(errno));
    }
    output->unfinished = alloc_zeroed(strlen(output->path) + 8, 1);
    sprintf(output->unfinished, "%s.XXXXXX", output->path);
    output->fd = mkostemp(output->unfinished, O_CLOEXEC);
    if (output->fd < 0) {
        fault(why, "cannot create %s: %s", output->path, strerror(errno));
        free(output->unfinished);
        output->unfinished = NULL;
        return false;
    }
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(output->fd, 0666 & ~mask);
    return true;
}

bool output_open(struct output *output, const char *path, bool gzip, struct fault *why)
{
    *output = (struct output){ .path = path, .fd = STDOUT_FILENO };
    if (strcmp(path, "-") == 0)
        output->path = "standard output";
    else if (!open_file(output, why))
        return false;
    output->open = true;
    output->buffer = alloc_zeroed(BUFFER_SIZE, 1);
    if (gzip)
        start_gzip(output);
    return true;
}

void output_bytes(struct output *output, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    while (size > 0) {
        const size_t part = size < BUFFER_SIZE - output->used ? size : BUFFER_SIZE - output->used;
        memcpy(output->buffer + output->used, from, part);
        output->used += part;
        from += part;
        size -= part;
        if (output->used == BUFFER_SIZE)
            flush_buffer(output, Z_NO_FLUSH);
    }
}

void output_string(struct output *output, const char *string)
{
    output_bytes(output, string, strlen(string));
}

void output_text(struct output *output, struct text text)
{
    output_bytes(output, text.bytes, text.size);
}

void output_number(struct output *output, uint64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    output_bytes(output, digits + at, sizeof(digits) - at);
}

void output_format(struct output *output, const char *format, ...)
{
    char *string;
    va_list values;
    va_start(values, format);
    const int size = vasprintf(&string, format, values);
    va_end(values);
    if (size < 0) {
        fault(&output->failure, "cannot format text for %s", output->path);
        return;
    }
    output_bytes(output, string, (size_t)size);
    free(string);
}

static void release(struct output *output)
{
    if (output->gzip)
        deflateEnd(output->gzip);
    free(output->gzip);
    free(output->buffer);
    free(output->unfinished);
    *output = (struct output){ 0 };
}

bool output_close(struct output *output, uint64_t *written, struct fault *why)
{
    flush_buffer(output, Z_FINISH);
    if (output->fd != STDOUT_FILENO && close(output->fd) != 0)
        fault(&output->failure, "cannot write %s: %s", output->path, strerror(errno));
    if (output->failure.text[0] == '\0' && output->unfinished && rename(output->unfinished, output->path) != 0)
        fault(&output->failure, "cannot name the finished file %s: %s", output->path, strerror(errno));
    if (written)
        *written = output->written;
    const bool good = output->failure.text[0] == '\0' || fault(why, "%s", output->failure.text);
    if (!good && output->unfinished)
        unlink(output->unfinished);
    release(output);
    return good;
}

void output_abandon(struct output *output)
{
    if (!output->open)
        return;
    if (output->fd != STDOUT_FILENO)
        close(output->fd);
    if (output->unfinished)
        unlink(output->unfinished);
    release(output);
}
