/* SPDX-License-Identifier: MIT */
/* pyreel-collapsed: a recording as collapsed stacks, for flame graphs and text tools. */
#include "convert/convert.h"

#include "formats/alloc.h"
#include "formats/collapsed.h"

#include <stdlib.h>

struct to_collapsed {
    struct conversion *conversion;
    struct tally tally;
};

static void *start(struct conversion *conversion)
{
    struct to_collapsed *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    return to;
}

static bool take(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct to_collapsed *to = self;
    if (event->kind == EVENT_SAMPLE)
        tally_add(&to->tally, event->sample.thread, event->sample.stack, 1);
    return true;
}

static bool finish(void *self, struct fault *why)
{
    (void)why;
    struct to_collapsed *to = self;
    struct conversion *conversion = to->conversion;
    const struct collapsed_style style = {
        .functions = conversion->settings.functions,
        .no_threads = conversion->settings.no_threads,
        .full_paths = conversion->settings.full_paths,
    };
    tally_sort(&to->tally);
    collapsed_write(&conversion->output, &conversion->tables, &to->tally, &style);
    return true;
}

static void drop(void *self)
{
    struct to_collapsed *to = self;
    tally_free(&to->tally);
    free(to);
}

static const struct converter to_collapsed = {
    .name = "pyreel-collapsed",
    .makes = "Writes collapsed stacks, a line each: root;...;leaf COUNT.",
    .suffix = NULL,
    .binary = false,
    .packing = PACK_NEVER,
    .takes = TAKES_FUNCTIONS | TAKES_THREADS | TAKES_PATHS,
    .start = start,
    .take = take,
    .finish = finish,
    .drop = drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_collapsed);
}
