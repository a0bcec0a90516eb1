/* SPDX-License-Identifier: MIT */
#include "convert/fleets/stores.h"

#include "formats/base/alloc.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *option, *name;
} stores[] = {
    [STORE_PYROSCOPE] = { "pyroscope", "Pyroscope" },
    [STORE_PARCA] = { "parca", "Parca" },
};

enum store store_named(const char *name)
{
    for (size_t i = STORE_PYROSCOPE; i < countof(stores); i++)
        if (strcmp(stores[i].option, name) == 0)
            return (enum store)i;
    return STORE_NONE;
}

const char *store_name(enum store store)
{
    return stores[store].name;
}

/* ---- what has a limit ---- */

static uint64_t samples_of(const struct store_profile *profile)
{
    return profile->written.samples;
}

static uint64_t bytes_of(const struct store_profile *profile)
{
    return profile->written.bytes;
}

static uint64_t file_bytes_of(const struct store_profile *profile)
{
    return profile->file_bytes;
}

static uint64_t deep_of(const struct store_profile *profile)
{
    return profile->written.deep_samples;
}

static uint64_t longest_text_of(const struct store_profile *profile)
{
    return profile->written.longest_text;
}

static uint64_t label_of(const struct store_profile *profile)
{
    return profile->written.longest_label;
}

static uint64_t numbers_of(const struct store_profile *profile)
{
    return profile->written.numbers;
}

static uint64_t age_of(const struct store_profile *profile)
{
    return profile->now_s > profile->start_s ? profile->now_s - profile->start_s : 0;
}

static uint64_t future_of(const struct store_profile *profile)
{
    return profile->start_s > profile->now_s ? profile->start_s - profile->now_s : 0;
}

/* ---- limits ---- */

#define REFUSES "refuses the profile"

/* The limits of a server that was started without options. */
static const struct limit {
    enum store store;
    const char *what; /* what the store does with a profile that is over the limit */
    uint64_t (*value_of)(const struct store_profile *profile);
    const char *unit;
    uint64_t most;
    bool by_size;
    const char *cure;
} limits[] = {
    { STORE_PYROSCOPE, REFUSES, samples_of, "samples", 16000, true, NULL },
    { STORE_PYROSCOPE, REFUSES, bytes_of, "bytes before gzip", 4 << 20, true, NULL },
    { STORE_PYROSCOPE, REFUSES, bytes_of, "bytes before gzip in one burst", 2 << 20, true, NULL },
    { STORE_PYROSCOPE, REFUSES, label_of, "bytes in the value of a label", 2048, false,
      "--labels thread leaves out tasks" },
    { STORE_PYROSCOPE, REFUSES, age_of, "seconds old", 3600, false,
      "send each file as soon as pyreel-pprof --every has written it" },
    { STORE_PYROSCOPE, REFUSES, future_of, "seconds in the future", 600, false,
      "set the clock of the machine that records" },
    { STORE_PYROSCOPE, "cuts the leaf side of stacks deeper than 1000 frames", deep_of, "samples", 0, false,
      "--max-depth 1000 keeps the leaf side and the root side" },
    { STORE_PYROSCOPE, "cuts the beginning of names", longest_text_of, "bytes", 65535, false, NULL },
    { STORE_PYROSCOPE, "ignores labels with numbers (thread_id, pid, interpreter, task_id)", numbers_of, "labels", 0,
      false, "--labels thread,task leaves them out" },
    { STORE_PARCA, REFUSES, file_bytes_of, "bytes in the file", 64 << 20, true, NULL },
};

static struct store_finding find(const struct limit *limit, uint64_t value)
{
    struct store_finding finding = { .by_size = limit->by_size, .cure = limit->cure };
    finding.refused = strcmp(limit->what, REFUSES) == 0;
    const int size = snprintf(finding.text, sizeof(finding.text), "%s: %" PRIu64 " %s", limit->what, value,
                              limit->unit);
    if (limit->most > 0)
        snprintf(finding.text + size, sizeof(finding.text) - (size_t)size, ", at most %" PRIu64, limit->most);
    return finding;
}

size_t store_check(enum store store, const struct store_profile *profile, struct store_finding *findings)
{
    static_assert(countof(limits) <= STORE_FINDINGS, "room for each limit");
    size_t count = 0;
    for (size_t i = 0; i < countof(limits); i++) {
        const uint64_t value = limits[i].value_of(profile);
        if (limits[i].store == store && value > limits[i].most)
            findings[count++] = find(&limits[i], value);
    }
    return count;
}
