/* SPDX-License-Identifier: MIT */
#include "convert/fleets/check.h"

#include "formats/base/utf8.h"
#include "formats/pprof/pprof_remedies.h"

#include <stdio.h>
#include <time.h>

static void print_finding(enum store store, const struct checked *checked, const struct store_finding *finding)
{
    fprintf(stderr, "pyreel-pprof: %s: %s %s%s%s\n", utf8_shown(checked->path), store_name(store), finding->text,
            finding->cure ? "; " : "", finding->cure ? finding->cure : "");
}

void check_print_remedies(const struct checked *checked)
{
    struct pprof_remedy found[PPROF_REMEDIES];
    const size_t count = pprof_remedies_find(found, checked->tables, checked->aggregate, checked->style,
                                             checked->written.samples);
    fprintf(stderr, "Fewer with");
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, " %s (%zu),", found[i].options, found[i].samples);
    fprintf(stderr, " --from and --to, --every for one recording\n");
}

bool check_profile(enum store store, const struct checked *checked, bool quiet)
{
    const uint64_t from_ns = pprof_part_begin_ns(&checked->style->part, checked->tables);
    const struct store_profile profile = { .written = checked->written,
                                           .file_bytes = checked->file_bytes,
                                           .start_s = (checked->tables->recording.start_unix_ns + from_ns) / 1000000000,
                                           .now_s = (uint64_t)time(NULL) };
    struct store_finding findings[STORE_FINDINGS];
    const size_t count = store_check(store, &profile, findings);
    bool accepted = true, by_size = false;
    for (size_t i = 0; i < count; i++) {
        print_finding(store, checked, &findings[i]);
        accepted = accepted && !findings[i].refused;
        by_size |= findings[i].by_size;
    }
    if (by_size) {
        fprintf(stderr, "pyreel-pprof: %s: %zu samples. ", utf8_shown(checked->path), checked->written.samples);
        check_print_remedies(checked);
    }
    if (accepted && !quiet)
        fprintf(stderr, "pyreel-pprof: %s: %s accepts the profile, by its default limits\n", utf8_shown(checked->path),
                store_name(store));
    return accepted;
}
