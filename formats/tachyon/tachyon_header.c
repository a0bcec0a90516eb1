/* SPDX-License-Identifier: MIT */
#include "formats/tachyon/tachyon.h"

#include "formats/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INTERVAL_MOST_US 1000000000000u /* eleven days */

/* Bits of the header's last number: the mode + 1 (0: unknown), and the captured threads, if known. */
#define CONFIG_MODE        7u
#define CONFIG_CAPTURE     (1u << 3)
#define CONFIG_ALL_THREADS (1u << 4)

/* Names of modes by CONFIG_MODE. Tachyon's mode `all` (4) keeps all samples, as pyreel's mode `wall` does. */
static const struct text modes[CONFIG_MODE + 1] = {
    [1] = { "wall", 4 }, [2] = { "cpu", 3 }, [3] = { "gil", 3 }, [4] = { "wall", 4 }, [5] = { "exception", 9 },
};

#define STATISTICS_SIGNATURE "TACHSTAT"
#define STATISTICS_VERSION   1
#define STATISTICS_FIRST     32 /* size of the oldest form, which has only the duration and the rate */
#define STATISTICS_FAILED    (1u << 0)
#define STATISTICS_MISSED    (1u << 1)

uint32_t tachyon_take_u32(struct cursor *from, bool big)
{
    const uint32_t value = take_u32(from);
    return big ? __builtin_bswap32(value) : value;
}

uint64_t tachyon_take_u64(struct cursor *from, bool big)
{
    const uint64_t first = take_u32(from);
    const uint64_t value = first | (uint64_t)take_u32(from) << 32;
    return big ? __builtin_bswap64(value) : value;
}

void tachyon_put_u64(struct bytes *to, uint64_t value)
{
    put_u32(to, (uint32_t)value);
    put_u32(to, (uint32_t)(value >> 32));
}

static double take_double(struct cursor *from, bool big)
{
    const uint64_t bits = tachyon_take_u64(from, big);
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void put_double(struct bytes *to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    tachyon_put_u64(to, bits);
}

/* Whether the file is unfinished. Tachyon writes the header last; until then it has zeros. */
static bool unfinished(const unsigned char *bytes, size_t size)
{
    static const unsigned char zeros[TACHYON_HEADER];
    return size >= TACHYON_HEADER && memcmp(bytes, zeros, TACHYON_HEADER) == 0;
}

bool tachyon_header_recognised(const void *bytes, size_t size)
{
    struct cursor from = cursor_of(bytes, size);
    const uint32_t magic = take_u32(&from);
    return !from.bad &&
           (magic == TACHYON_MAGIC || magic == __builtin_bswap32(TACHYON_MAGIC) || unfinished(bytes, size));
}

static bool check_magic(struct tachyon_header *header, struct cursor *from, struct fault *why)
{
    if (unfinished(from->at, cursor_left(from)))
        return fault(
            why, "it is a recording of Tachyon (profiling.sampling) that was never finished: the names at its end are "
                 "missing, and nothing can be shown without the names. Tachyon writes the names when the program "
                 "ends or Tachyon is stopped with ^C, not when Tachyon is killed; record again");
    const uint32_t magic = take_u32(from);
    header->big = magic == __builtin_bswap32(TACHYON_MAGIC);
    if (!header->big && magic != TACHYON_MAGIC)
        return fault(why, "it is not a recording of Tachyon");
    const uint32_t version = tachyon_take_u32(from, header->big);
    if (version != TACHYON_VERSION)
        return fault(why,
                     "it has version %" PRIu32 " of Tachyon's format and this program reads %d: use a newer pyreel",
                     version, TACHYON_VERSION);
    return true;
}

static void take_config(struct tachyon_header *header, uint32_t config)
{
    header->mode = modes[config & CONFIG_MODE];
    if (config & CONFIG_CAPTURE)
        header->capture = config & CONFIG_ALL_THREADS ? TEXT("all") : TEXT("main");
}

/* Checks that the parts of the file, by the offsets of the header, follow each other in a file of this size. */
static bool check_parts(const struct tachyon_header *header, uint64_t size_in_footer, uint64_t size, struct fault *why)
{
    if (header->frames_at > size - TACHYON_FOOTER || size_in_footer != size)
        return fault(why,
                     "it is cut off or damaged: its end is missing or misplaced, and nothing can be shown without the "
                     "names that are there");
    const bool sane = header->strings_at >= TACHYON_HEADER && header->strings_at <= header->frames_at &&
                      header->interval_us > 0 && header->interval_us <= INTERVAL_MOST_US &&
                      header->start_us <= UINT64_MAX / 1000;
    return sane || fault(why, "its header is damaged");
}

bool tachyon_header_take(struct tachyon_header *header, const unsigned char *bytes, const unsigned char *footer,
                         uint64_t size, struct fault *why)
{
    *header = (struct tachyon_header){ 0 };
    struct cursor from = cursor_of(bytes, TACHYON_HEADER);
    if (!check_magic(header, &from, why))
        return false;
    const bool big = header->big;
    const struct cursor python = take_part(&from, 4);
    memcpy(header->python, python.at, sizeof(header->python));
    header->start_us = tachyon_take_u64(&from, big);
    header->interval_us = tachyon_take_u64(&from, big);
    header->samples = tachyon_take_u64(&from, big);
    header->threads = tachyon_take_u32(&from, big);
    header->strings_at = tachyon_take_u64(&from, big);
    header->frames_at = tachyon_take_u64(&from, big);
    const uint32_t codec = tachyon_take_u32(&from, big);
    take_config(header, tachyon_take_u32(&from, big));

    from = cursor_of(footer, TACHYON_FOOTER);
    header->strings = tachyon_take_u32(&from, big);
    header->frames = tachyon_take_u32(&from, big);
    if (!check_parts(header, tachyon_take_u64(&from, big), size, why))
        return false;
    if (codec > TACHYON_ZSTD)
        return fault(why, "its samples have an unknown compression (%" PRIu32 "): use a newer pyreel", codec);
    header->codec = (enum tachyon_codec)codec;
    return true;
}

static bool sane(double value)
{
    return isfinite(value) && value >= 0 && value <= 1e12;
}

/* Checks the signature. A later version may have more bytes before the known ones. */
static bool check_signature(const unsigned char *bytes, size_t size, bool big)
{
    if (size < STATISTICS_FIRST)
        return false;
    struct cursor from = cursor_of(bytes + size - 16, 16);
    const struct cursor signature = take_part(&from, 8);
    tachyon_take_u32(&from, big); /* the version */
    return memcmp(signature.at, STATISTICS_SIGNATURE, 8) == 0 && tachyon_take_u32(&from, big) == size;
}

bool tachyon_header_take_statistics(struct tachyon_statistics *statistics, const unsigned char *bytes, size_t size,
                                    bool big)
{
    *statistics = (struct tachyon_statistics){ 0 };
    if (size == 0)
        return true;
    if (!check_signature(bytes, size, big))
        return false;
    struct cursor from = cursor_of(bytes, size - 16);
    statistics->duration_s = take_double(&from, big);
    statistics->rate_hz = take_double(&from, big);
    statistics->known = sane(statistics->duration_s) && sane(statistics->rate_hz);
    if (!statistics->known || size < TACHYON_STATISTICS)
        return true;
    statistics->failed_percent = take_double(&from, big);
    statistics->missed_percent = take_double(&from, big);
    const uint32_t present = tachyon_take_u32(&from, big);
    statistics->failed_known = present & STATISTICS_FAILED && sane(statistics->failed_percent);
    statistics->missed_known = present & STATISTICS_MISSED && sane(statistics->missed_percent);
    return true;
}

static uint32_t config_of(const struct tachyon_header *header)
{
    const struct text mode = header->mode;
    for (uint32_t i = 1; i <= CONFIG_MODE; i++)
        if (mode.size > 0 && text_equal(modes[i], mode))
            return i;
    return 0;
}

void tachyon_header_put(struct bytes *to, const struct tachyon_header *header)
{
    put_u32(to, TACHYON_MAGIC);
    put_u32(to, TACHYON_VERSION);
    put_bytes(to, header->python, sizeof(header->python));
    put_bytes(to, "", 1);
    tachyon_put_u64(to, header->start_us);
    tachyon_put_u64(to, header->interval_us);
    tachyon_put_u64(to, header->samples);
    put_u32(to, header->threads);
    tachyon_put_u64(to, header->strings_at);
    tachyon_put_u64(to, header->frames_at);
    put_u32(to, header->codec);
    put_u32(to, config_of(header));
}

void tachyon_header_put_statistics(struct bytes *to, const struct tachyon_statistics *statistics)
{
    put_double(to, statistics->duration_s);
    put_double(to, statistics->rate_hz);
    put_double(to, statistics->failed_percent);
    put_double(to, statistics->missed_percent);
    put_u32(to,
            (statistics->failed_known ? STATISTICS_FAILED : 0) | (statistics->missed_known ? STATISTICS_MISSED : 0));
    put_u32(to, 0);
    put_bytes(to, STATISTICS_SIGNATURE, 8);
    put_u32(to, STATISTICS_VERSION);
    put_u32(to, TACHYON_STATISTICS);
}

void tachyon_header_put_footer(struct bytes *to, const struct tachyon_header *header, uint64_t size)
{
    static const unsigned char no_checksum[16];
    put_u32(to, header->strings);
    put_u32(to, header->frames);
    tachyon_put_u64(to, size);
    put_bytes(to, no_checksum, sizeof(no_checksum));
}
