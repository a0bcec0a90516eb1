/* SPDX-License-Identifier: MIT */
#include "convert/gecko/gecko_told.h"

#include "formats/base/utf8.h"

#include <inttypes.h>
#include <stdio.h>

#define JSON_MOST ((uint64_t)400 * 1000 * 1000) /* bytes of JSON beyond which the viewer reads a profile slowly */

/* ---- content ---- */

/* Tells which samples --max-samples left out. */
static void tell_of_thinning(const struct to_gecko *to)
{
    const uint64_t every = gecko_kept_one_of(to->gecko);
    if (every > 1 && !to->conversion->settings.quiet)
        fprintf(stderr,
                "pyreel-gecko: %" PRIu64 " of %" PRIu64 " samples are in the profile: of each %" PRIu64
                " in a row of a thread one is drawn at random, and stands for all\n",
                gecko_kept_samples(to->gecko), to->conversion->tables.samples, every);
}

/* Says how the recordings were compared, and warns of what else may make a difference. */
static void tell_of_comparison(const struct to_gecko *to)
{
    const struct gecko_compared compared = gecko_compared(to->gecko);
    const char *name = to->conversion->converter->name;
    char base[32], new[32];
    if (!to->conversion->settings.quiet)
        fprintf(stderr, "%s: compared by %s: each second of %s counts %.4g, each of %s counts 1\n", name,
                compared.by_work ? "work" : "time", compared.base, -compared.factor, compared.new);
    if (compared.base_python != compared.new_python)
        fprintf(stderr, "%s: warning: BASE ran with Python %s and NEW with Python %s\n", name,
                event_python_version_text(base, compared.base_python),
                event_python_version_text(new, compared.new_python));
    if (compared.hosts_differ)
        fprintf(stderr, "%s: warning: BASE and NEW ran on different hosts\n", name);
}

/* Tells that samples count alike which stand for different times. */
static void tell_of_weights(const struct to_gecko *to)
{
    if (gecko_loses_weights(to->gecko) && !to->conversion->settings.quiet)
        fprintf(stderr, "pyreel-gecko: the samples stand for different times, and the format of --raw-gecko cannot say "
                        "so: each sample counts as one\n");
}

/* Says which source files are not in the profile, and why. */
static void report_sources(const struct to_gecko *to)
{
    static const char *const reasons[SOURCE_OUTCOMES] = {
        [SOURCE_ABSENT] = "not found: --path-map FROM=TO says where they are",
        [SOURCE_FOREIGN] = "no regular file of Python source in UTF-8, or in the encoding that the file names",
        [SOURCE_LARGE] = "too large for the profile",
        [SOURCE_CHANGED] = "not what was recorded: changed since then",
    };
    const struct gecko_embedded *embedded = gecko_embedded(to->gecko);
    for (size_t i = 0; i < SOURCE_OUTCOMES; i++) {
        if (!reasons[i] || embedded->files[i] == 0)
            continue;
        fprintf(stderr, "%s: warning: %zu source file%s left out (%s): ", to->conversion->converter->name,
                embedded->files[i], embedded->files[i] > 1 ? "s" : "", reasons[i]);
        utf8_print(stderr, embedded->first[i]);
        fprintf(stderr, "%s\n", embedded->files[i] > 1 ? ", ..." : "");
    }
}

void gecko_told_content(const struct to_gecko *to)
{
    tell_of_thinning(to);
    tell_of_weights(to);
    if (to->wanted->style.compare)
        tell_of_comparison(to);
    report_sources(to);
}

/* ---- size ---- */

char *gecko_told_size(uint64_t json_bytes, uint64_t packed_bytes)
{
    const bool slow = json_bytes > JSON_MOST, too_large = packed_bytes > SHARE_LIMIT;
    char *told = NULL;
    size_t size;
    FILE *to = slow || too_large ? open_memstream(&told, &size) : NULL;
    if (!to)
        return NULL;
    fprintf(to, "the profile has %" PRIu64 " MB of JSON", json_bytes / 1000000);
    if (slow)
        fprintf(to, ", and the viewer takes long to read more than %" PRIu64 " MB", JSON_MOST / 1000000);
    if (too_large)
        fprintf(to, "; packed it has %" PRIu64 " MiB, and the profile store takes at most %" PRIu64 " MiB",
                packed_bytes >> 20, SHARE_LIMIT >> 20);
    fprintf(to, "; make it smaller with --max-samples, --from and --to, --threads, or --mode cpu");
    fclose(to);
    return told;
}
