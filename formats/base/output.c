/* SPDX-License-Identifier: MIT */
#include "formats/base/output.h"

#include "formats/base/alloc.h"
#include "formats/base/replaced.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

bool output_write_all(int fd, const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        const ssize_t done = write(fd, at, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        at += done;
        size -= (size_t)done;
    }
    return true;
}

static void output_write_bytes(struct output *output, const unsigned char *bytes, size_t size)
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
        output_write_bytes(output, packed, sizeof(packed) - output->gzip->avail_out);
    } while (output->gzip->avail_out == 0);
}

static void flush_buffer(struct output *output, size_t size, int flush)
{
    if (output->gzip)
        deflate_all(output, output->buffer, size, flush);
    else
        output_write_bytes(output, output->buffer, size);
    output->used -= size;
    output->flushed += size;
}

static void start_gzip(struct output *output)
{
    /* 15: the bits of the window; +16: a gzip wrapper. The header has no time and no name, and always the same
     * operating system. */
    static gz_header header = { .os = 3 };
    output->gzip = alloc_zeroed(1, sizeof(*output->gzip));
    deflateInit2(output->gzip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    deflateSetHeader(output->gzip, &header);
}

/* A link may lead to a file that does not exist yet. What exists is looked at before it is opened (replaced.h). */
static bool open_in_place(struct output *output, struct fault *why)
{
    struct stat there;
    const int seen = open(output->path, O_PATH | O_CLOEXEC);
    if (seen < 0)
        output->fd = open(output->path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
    else if (fstat(seen, &there) == 0 && replaced_is_strange_pipe(output->path, &there))
        fault(why,
              "cannot write %s: it is no file but a pipe, device or socket that another user put into a folder that "
              "everyone can write to; name another file",
              output->path);
    else
        output->fd = replaced_open_seen(seen, output->path, O_WRONLY | O_TRUNC);
    if (output->fd < 0)
        fault(why, "cannot open %s: %s", output->path, strerror(errno));
    if (seen >= 0)
        close(seen);
    return output->fd >= 0;
}

/* Opens a regular file without a name in the folder of the final file, so nothing half made remains however the program
 * ends. Where the file system has no files without a name, the file gets a temporary name. */
static bool open_nameless(struct output *output, struct fault *why)
{
    char *folder = alloc_copy(output->final, strlen(output->final));
    output->fd = open(dirname(folder), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    const int cause = output->fd < 0 ? errno : 0;
    free(folder);
    output->unfinished = alloc_zeroed(strlen(output->final) + 32, 1);
    sprintf(output->unfinished, "%s.%d.part", output->final, (int)getpid());
    if (output->fd >= 0) {
        output->nameless = true;
        return true;
    }
    errno = cause;
    if (cause == EOPNOTSUPP || cause == EISDIR || cause == EINVAL)
        output->fd = open(output->unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return output->fd >= 0 || fault(why, "cannot create %s: %s", output->path, strerror(errno));
}

/* Gives the new file the owner and the mode of the file that it replaces, as far as we may. Where the group cannot be
 * kept, our group gets no more rights than everybody has. */
static void keep_owner_and_mode(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
    const bool kept = fchown(fd, old->st_uid, old->st_gid) == 0 || fchown(fd, (uid_t)-1, old->st_gid) == 0;
    if (!kept)
        mode = (mode & ~(mode_t)S_IRWXG) | (mode & (mode & S_IRWXO) << 3);
    fchmod(fd, mode); /* some file systems have no modes */
}

/* Opens the output. Anything but a regular file (a device, a pipe, a link to one) is written in place. */
static bool output_open_file(struct output *output, struct fault *why)
{
    struct stat there;
    if (replaced_is_strange_link(output->path))
        return fault(why,
                     "cannot write %s: it is a symbolic link of another user, in a folder that everyone can write to; "
                     "name another file",
                     output->path);
    output->final = realpath(output->path, NULL); /* a link stays a link: the file that the link leads to is replaced */
    if (output->final && stat(output->final, &there) == 0 && !S_ISREG(there.st_mode))
        return open_in_place(output, why);
    if (!output->final && lstat(output->path, &there) == 0)
        return open_in_place(output, why);
    const bool replaces = output->final != NULL;
    if (!replaces)
        output->final = alloc_copy(output->path, strlen(output->path));
    if (!open_nameless(output, why))
        return false;
    if (replaces)
        keep_owner_and_mode(output->fd, &there);
    return true;
}

/* Gives the finished file its name. */
static bool output_name_file(struct output *output)
{
    char link[64];
    if (!output->unfinished)
        return true;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", output->fd);
    if (output->nameless && linkat(AT_FDCWD, link, AT_FDCWD, output->unfinished, AT_SYMLINK_FOLLOW) != 0)
        return fault(&output->failure, "cannot give the finished file its name %s: %s", output->path, strerror(errno));
    if (rename(output->unfinished, output->final) == 0)
        return true;
    fault(&output->failure, "cannot give the finished file its name %s: %s", output->path, strerror(errno));
    unlink(output->unfinished);
    return false;
}

static void output_release(struct output *output)
{
    if (output->gzip)
        deflateEnd(output->gzip);
    if (output->fd != STDOUT_FILENO && close(output->fd) != 0)
        fault(&output->failure, "cannot write %s: %s", output->path, strerror(errno));
    free(output->gzip);
    free(output->buffer);
    free(output->final);
    free(output->unfinished);
    output->open = false;
}

bool output_is_standard(const char *path)
{
    return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

static void output_begin(struct output *output, bool gzip)
{
    output->open = true;
    output->buffer = alloc_zeroed(OUTPUT_BUFFER + OUTPUT_ROOM, 1);
    if (gzip)
        start_gzip(output);
}

bool output_open(struct output *output, const char *path, bool gzip, struct fault *why)
{
    *output = (struct output){ .path = path, .fd = output_is_standard(path) ? STDOUT_FILENO : -1 };
    if (output_is_standard(path))
        output->path = "standard output";
    else if (!output_open_file(output, why)) {
        output->fd = STDOUT_FILENO; /* nothing to close */
        output_release(output);
        return false;
    }
    output_begin(output, gzip);
    return true;
}

void output_open_fd(struct output *output, int fd, const char *name, bool gzip)
{
    *output = (struct output){ .path = name, .fd = fd };
    output_begin(output, gzip);
}

/* The bytes behind OUTPUT_BUFFER move to the front. They are few. */
void output_spill(struct output *output)
{
    flush_buffer(output, OUTPUT_BUFFER, Z_NO_FLUSH);
    memmove(output->buffer, output->buffer + OUTPUT_BUFFER, output->used);
}

void output_flush(struct output *output)
{
    flush_buffer(output, output->used, Z_NO_FLUSH);
}

void output_bytes(struct output *output, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    if (size == 0)
        return;
    if (size <= OUTPUT_ROOM) {
        memcpy(output_room(output), bytes, size);
        output_filled(output, size);
        return;
    }
    while (size > 0) {
        const size_t part = size < OUTPUT_BUFFER - output->used ? size : OUTPUT_BUFFER - output->used;
        memcpy(output->buffer + output->used, from, part);
        output->used += part;
        from += part;
        size -= part;
        if (output->used == OUTPUT_BUFFER)
            output_spill(output);
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

static const char two_digits[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                 "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                 "8081828384858687888990919293949596979899";

/* A number of so many bits has bits * log10(2) digits, or one more: 1233 / 4096 is about log10(2). */
size_t output_digits(uint64_t number)
{
    static const uint64_t least[] = { /* by digits: the least number that has one more */
                                      0,
                                      10,
                                      100,
                                      1000,
                                      10000,
                                      100000,
                                      1000000,
                                      10000000,
                                      100000000,
                                      1000000000,
                                      10000000000,
                                      100000000000,
                                      1000000000000,
                                      10000000000000,
                                      100000000000000,
                                      1000000000000000,
                                      10000000000000000,
                                      100000000000000000,
                                      1000000000000000000,
                                      10000000000000000000u
    };
    const size_t digits = (size_t)(64 - __builtin_clzll(number | 1)) * 1233 >> 12;
    return digits + (number >= least[digits]);
}

/* Writes two digits at a time, from the end. */
size_t output_put_digits(unsigned char *to, uint64_t number)
{
    const size_t size = output_digits(number);
    unsigned char *at = to + size;
    for (; number >= 100; number /= 100)
        memcpy(at -= 2, two_digits + number % 100 * 2, 2);
    if (number >= 10)
        memcpy(to, two_digits + number * 2, 2);
    else
        *to = (unsigned char)('0' + number);
    return size;
}

void output_number(struct output *output, uint64_t number)
{
    output_filled(output, output_put_digits(output_room(output), number));
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

bool output_close(struct output *output, uint64_t *written, struct fault *why)
{
    flush_buffer(output, output->used, Z_FINISH);
    const bool whole = output->failure.text[0] == '\0' && output_name_file(output);
    if (!whole && output->unfinished && !output->nameless)
        unlink(output->unfinished);
    if (written)
        *written = output->written;
    output_release(output);
    const bool good = output->failure.text[0] == '\0' || fault(why, "%s", output->failure.text);
    *output = (struct output){ 0 };
    return good;
}

void output_abandon(struct output *output)
{
    if (!output->open)
        return;
    if (output->unfinished && !output->nameless)
        unlink(output->unfinished);
    output_release(output);
    *output = (struct output){ 0 };
}
