/* SPDX-License-Identifier: MIT */
/* A version's published table of offsets with words changed by { word, value (8 bytes) }, and the unwinder by it. */
#include "formats/base/alloc.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/published.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define CHANGE 9 /* bytes */

static const struct {
    uint32_t version;
    const uint64_t *words;
    size_t count;
} tables[] = {
    { 0x030d00f0, published_3_13, countof(published_3_13) },
    { 0x030e0af0, published_3_14, countof(published_3_14) },
    { 0x030f02f0, published_3_15, countof(published_3_15) },
    { 0x030d12f1, published_3_13t, countof(published_3_13t) },
    { 0x030e0af1, published_3_14t, countof(published_3_14t) },
    { 0x030f02f1, published_3_15t, countof(published_3_15t) },
    { 0x031000a0, published_3_16, countof(published_3_16) },
    { 0x031000a1, published_3_16t, countof(published_3_16t) },
};

FUZZ_TARGET(layout)
{
    if (size < 1)
        return 0;
    const size_t which = bytes[0] % countof(tables);
    uint64_t *table = (uint64_t *)(void *)alloc_copy(tables[which].words, tables[which].count * sizeof(uint64_t));
    for (size_t at = 1; at + CHANGE <= size && at < 40 * CHANGE; at += CHANGE)
        memcpy(&table[bytes[at] % tables[which].count], bytes + at + 1, sizeof(uint64_t));
    struct layout layout;
    if (layout_load(&layout, tables[which].version & ~FAKE_FREE_THREADED, table, tables[which].count * sizeof(uint64_t),
                    NULL)) {
        struct fake_python *p = fake_python_start(tables[which].version);
        fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, fake_code(p, "f", 20, 9), 1 } }, 1);
        p->target.runtime.layout = layout; /* from now on it looks at the wrong places */
        for (int round = 0; round < 3; round++) {
            target_read_interpreters(&p->target);
            fake_sample(p, 0);
        }
        codes_read(&p->codes, FAKE_BASE, 0);
        codes_read(&p->codes, FAKE_BASE, 1);
        fake_python_end(p);
    }
    free(table);
    return 0;
}
