/* SPDX-License-Identifier: MIT */
#include "convert/gecko/gecko_told.h"

#include "formats/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>

#define JSON_MOST    ((uint64_t)400 * 1000 * 1000) /* bytes of JSON beyond which the viewer reads a profile slowly */
#define OFF_CPU_PART 4 /* --mode cpu helps when this part of the samples is of threads that do not run */

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

void gecko_told_content(const struct to_gecko *to)
{
    tell_of_thinning(to);
    embedding_warn(stderr, to->conversion->converter->name, gecko_embedded(to->gecko));
}

/* ---- size ---- */

/* Writes the options that make the profile smaller, "A, B, or C", the one that helps most first. */
static void put_remedies(FILE *to, const struct gecko_style *style, const struct gecko_size *size)
{
    const struct {
        bool helps;
        const char *options;
    } remedies[] = {
        { style->markers == GECKO_MARKERS_ALL, "--markers few" },
        { true, "--max-samples" },
        { true, "--from and --to" },
        { size->several_threads, "--threads" },
        { !style->compact, "--compact" },
        { size->off_cpu >= size->samples / OFF_CPU_PART && size->off_cpu > 0, "--mode cpu" },
    };
    size_t left = 0;
    for (size_t i = 0; i < countof(remedies); i++)
        left += remedies[i].helps;
    for (size_t i = 0; i < countof(remedies); i++)
        if (remedies[i].helps)
            fprintf(to, "%s%s", remedies[i].options, --left == 0 ? "" : left == 1 ? ", or " : ", ");
}

char *gecko_told_size(const struct gecko_style *style, const struct gecko_size *size)
{
    const bool slow = size->json_bytes > JSON_MOST, too_large = size->packed_bytes > SHARE_LIMIT;
    char *told = NULL;
    size_t told_size;
    FILE *to = slow || too_large ? open_memstream(&told, &told_size) : NULL;
    if (!to)
        return NULL;
    fprintf(to, "the profile has %" PRIu64 " MB of JSON", size->json_bytes / 1000000);
    if (slow)
        fprintf(to, ", and the viewer takes long to read more than %" PRIu64 " MB", JSON_MOST / 1000000);
    if (too_large)
        fprintf(to, "; packed it has %" PRIu64 " MiB, and the profile store takes at most %" PRIu64 " MiB",
                size->packed_bytes >> 20, SHARE_LIMIT >> 20);
    fprintf(to, "; make it smaller with ");
    put_remedies(to, style, size);
    fclose(to);
    return told;
}
