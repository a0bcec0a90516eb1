/* SPDX-License-Identifier: MIT */
#include "formats/sources/source_text.h"

#include "formats/base/alloc.h"
#include "formats/base/startup.h"
#include "formats/base/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the file ---- */

/* Reads the whole file, whose size is at most SOURCE_TEXT_MOST. False on failure. */
static bool source_read_all(int fd, size_t size, struct bytes *raw)
{
    unsigned char *at = bytes_reserve(raw, size + 1);
    for (;;) {
        const ssize_t got = read(fd, at + raw->size, size + 1 - raw->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        raw->size += (size_t)got;
        if (got == 0 || raw->size > size)
            return raw->size <= size; /* a file that grows is being written */
    }
}

/* Opens a regular file for reading, and sets `real` to its path without symbolic links. The file is looked at before it
 * is opened: to open a device may do something (a watchdog starts), and to open a pipe lets its writer run. Returns the
 * descriptor, or -1 with the outcome. */
static int open_regular(const char *path, char real[PATH_MAX], enum source_outcome *outcome)
{
    char link[64];
    struct stat stat;
    const int found = open(path, O_PATH | O_CLOEXEC);
    *outcome = SOURCE_ABSENT;
    if (found < 0)
        return -1;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
    const ssize_t size = readlink(link, real, PATH_MAX - 1);
    real[size > 0 ? size : 0] = '\0';
    int fd = -1;
    if (fstat(found, &stat) == 0 && !S_ISREG(stat.st_mode))
        *outcome = SOURCE_FOREIGN;
    else
        fd = open(link, O_RDONLY | O_CLOEXEC);
    close(found);
    return fd;
}

static uint64_t in_ns(struct timespec time)
{
    return time.tv_sec < 0 ? 0 : (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static enum source_outcome load(int fd, const struct source_facts *facts, struct bytes *raw)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0)
        return SOURCE_ABSENT;
    if (stat.st_size > (off_t)SOURCE_TEXT_MOST)
        return SOURCE_LARGE;
    if (facts->end_unix_ns && in_ns(stat.st_mtim) > facts->end_unix_ns)
        return SOURCE_CHANGED;
    return source_read_all(fd, (size_t)stat.st_size, raw) ? SOURCE_READ : SOURCE_CHANGED;
}

/* ---- lines ---- */

/* Takes the next line, without its end, from the front of *rest. False when there is none. */
static bool rest_take_line(struct text *rest, struct text *line)
{
    if (rest->size == 0)
        return false;
    const char *end = memchr(rest->bytes, '\n', rest->size);
    line->bytes = rest->bytes;
    line->size = end ? (size_t)(end - rest->bytes) : rest->size;
    const size_t taken = line->size + (end != NULL);
    *rest = (struct text){ rest->bytes + taken, rest->size - taken };
    return true;
}

static bool text_contains_word(struct text text, const char *word)
{
    return memmem(text.bytes, text.size, word, strlen(word)) != NULL;
}

/* Whether a function, a class or a decorated one can begin in a line. */
static bool defines(struct text line)
{
    return text_contains_word(line, "def ") || text_contains_word(line, "class ") || text_contains_word(line, "@") ||
           text_contains_word(line, "lambda");
}

/* Whether the text has the lines and the functions that the recording names. The line behind the last one counts, too:
 * CPython gives line 1 to an empty file. A few functions may be missing, because a program can say anything of its own
 * code objects. */
static bool source_text_fits(struct text text, const struct source_facts *facts)
{
    const size_t lines = facts->last_line;
    if (lines > text.size + 1)
        return false;
    bool *definition = alloc_zeroed(lines + 1, sizeof(*definition));
    struct text line;
    size_t count = 0, found = 0;
    while (count < lines && rest_take_line(&text, &line))
        definition[++count] = defines(line);
    for (size_t i = 0; i < facts->definitions_count; i++)
        found += facts->definitions[i] <= count && definition[facts->definitions[i]];
    free(definition);
    return count + 1 >= lines && 2 * found >= facts->definitions_count;
}

/* Whether a file is Python source, by its name or its first line. A link does not count: anybody may call one a.py. */
static bool source_is_python(const char *real, struct text raw)
{
    static const char *const endings[] = { ".py", ".pyw", ".pyx", ".pxd", ".pxi" };
    const char *dot = strrchr(real, '.');
    for (size_t i = 0; dot && i < countof(endings); i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    struct text line;
    return rest_take_line(&raw, &line) && text_begins(line, TEXT("#!")) && text_contains_word(line, "python");
}

/* ---- encodings ---- */

#define ENCODING_MOST 40

/* The encoding that a comment in the first two lines names, as PEP 263 has it. Empty when there is none. */
static void find_encoding(struct text text, char encoding[ENCODING_MOST])
{
    struct text line;
    encoding[0] = '\0';
    for (int i = 0; i < 2 && rest_take_line(&text, &line); i++) {
        const char *at = memmem(line.bytes, line.size, "coding", 6);
        const char *end = line.bytes + line.size;
        if (!memchr(line.bytes, '#', line.size) || !at || at + 6 >= end || (at[6] != ':' && at[6] != '='))
            continue;
        for (at += 7; at < end && (*at == ' ' || *at == '\t'); at++)
            continue;
        size_t size = 0;
        for (; at < end && size + 1 < ENCODING_MOST && (isalnum((unsigned char)*at) || (*at && strchr("-_.", *at)));
             at++)
            encoding[size++] = *at;
        encoding[size] = '\0';
        return;
    }
}

/* Opens a converter for an encoding by the name that Python has for it: latin-1 is LATIN1 elsewhere. */
static iconv_t open_encoding(const char *encoding)
{
    if (!LOADS_LIBRARIES)
        return (iconv_t)-1;
    char plain[ENCODING_MOST];
    size_t size = 0;
    for (const char *at = encoding; *at; at++)
        if (*at != '-' && *at != '_')
            plain[size++] = *at;
    plain[size] = '\0';
    const iconv_t known = iconv_open("UTF-8", encoding);
    return known != (iconv_t)-1 ? known : iconv_open("UTF-8", plain);
}

/* Appends the text as UTF-8. False when the text is not in the encoding that it names. */
static bool put_decoded(struct bytes *to, struct text raw)
{
    if (text_begins(raw, TEXT("\xEF\xBB\xBF")))
        raw = (struct text){ raw.bytes + 3, raw.size - 3 };
    if (utf8_valid(raw.bytes, raw.size)) {
        put_bytes(to, raw.bytes, raw.size);
        return true;
    }
    char encoding[ENCODING_MOST];
    find_encoding(raw, encoding);
    const iconv_t converter = encoding[0] ? open_encoding(encoding) : (iconv_t)-1;
    if (converter == (iconv_t)-1)
        return false;
    const size_t room = 4 * raw.size;
    char *decoded = alloc_zeroed(room + 1, 1), *in = (char *)raw.bytes, *out = decoded;
    size_t in_left = raw.size, out_left = room;
    const bool whole = iconv(converter, &in, &in_left, &out, &out_left) != (size_t)-1 && in_left == 0;
    const bool good = whole && utf8_valid(decoded, room - out_left);
    if (good)
        put_bytes(to, decoded, room - out_left);
    free(decoded);
    iconv_close(converter);
    return good;
}

enum source_outcome source_text_read(const char *path, const struct source_facts *facts, struct bytes *text)
{
    struct bytes raw = { 0 };
    char real[PATH_MAX];
    enum source_outcome outcome;
    const int fd = open_regular(path, real, &outcome);
    if (fd >= 0)
        outcome = load(fd, facts, &raw);
    const struct text whole = { (const char *)raw.at, raw.size };
    if (outcome == SOURCE_READ && !source_is_python(real, whole))
        outcome = SOURCE_FOREIGN;
    if (outcome == SOURCE_READ && !source_text_fits(whole, facts))
        outcome = SOURCE_CHANGED;
    if (outcome == SOURCE_READ && !put_decoded(text, whole))
        outcome = SOURCE_FOREIGN;
    bytes_free(&raw);
    if (fd >= 0)
        close(fd);
    return outcome;
}
