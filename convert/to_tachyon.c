/* SPDX-License-Identifier: MIT */
/* pyreel-tachyon: converts a recording for `python3.15 -m profiling.sampling replay`. */
#include "convert/convert.h"

#include "formats/base/alloc.h"
#include "formats/tachyon/tachyon.h"
#include "formats/tachyon/tachyon_read.h"
#include "formats/tachyon/tachyon_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct to_tachyon {
    const struct conversion *conversion;
    struct tachyon_writer *writer;
};

/* With --mode, the output names the mode as if the recording had been made with it. */
static const struct text modes[] = {
    [KEPT_CPU] = { "cpu", 3 },
    [KEPT_GIL] = { "gil", 3 },
    [KEPT_EXCEPTION] = { "exception", 9 },
};

static struct converter_plan to_tachyon_plan(const struct settings *settings)
{
    (void)settings;
    return (struct converter_plan){ .binary = true };
}

static void *to_tachyon_start(struct conversion *conversion)
{
    struct to_tachyon *to = alloc_zeroed(1, sizeof(*to));
    const enum kept_mode mode = conversion->settings.mode;
    const struct tachyon_style style = { .mode = mode < countof(modes) ? modes[mode] : (struct text){ 0 } };
    to->conversion = conversion;
    to->writer = tachyon_writer_start(&conversion->tables, &conversion->output, &style);
    return to;
}

static bool to_tachyon_take(void *self, struct event *event, struct fault *why)
{
    struct to_tachyon *to = self;
    return tachyon_writer_take(to->writer, event, why);
}

static bool to_tachyon_finish(void *self, struct fault *why)
{
    struct to_tachyon *to = self;
    const uint64_t cut = tachyon_writer_cut(to->writer);
    if (cut > 0)
        fprintf(stderr,
                "pyreel-tachyon: warning: %" PRIu64 " samples have more than the %d frames that Tachyon accepts; the "
                "middle of these stacks is left out\n",
                cut, TACHYON_DEPTH);
    return tachyon_writer_finish(to->writer, why);
}

static void to_tachyon_drop(void *self)
{
    struct to_tachyon *to = self;
    tachyon_writer_drop(to->writer);
    free(to);
}

static bool to_tachyon_recognises(struct text head)
{
    return tachyon_read_kind.recognises(head);
}

static const struct converter to_tachyon = {
    .name = "pyreel-tachyon",
    .makes = "Writes a file for " TACHYON_REPLAY ".",
    .takes = TAKES_MODE | TAKES_SELECTION,
    .several = SEVERAL_REFUSED, /* the format has no processes: equal thread ids would become one thread */
    .file.suffix = ".bin",
    .file.recognises = to_tachyon_recognises,
    .plan = to_tachyon_plan,
    .events.take = to_tachyon_take,
    .start = to_tachyon_start,
    .finish = to_tachyon_finish,
    .drop = to_tachyon_drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_tachyon);
}
