/* SPDX-License-Identifier: MIT */
#include "convert/convert.h"
#include "formats/gecko/gecko.h"

static void *start(struct conversion *conversion)
{
    const struct gecko_style style = { .opcodes = conversion->settings.opcodes };
    return gecko_start(&conversion->tables, &conversion->output, style);
}

static bool take(void *self, struct event *event, struct fault *why)
{
    return gecko_take(self, event, why);
}

static bool take_placed(void *self, struct event *event, struct fault *why)
{
    return gecko_take_placed(self, event, why);
}

static bool finish(void *self, struct fault *why)
{
    return gecko_finish(self, why);
}

static void drop(void *self)
{
    gecko_drop(self);
}

/* A profile begins with its libraries. */
static bool recognises(struct text head)
{
    return text_begins(head, TEXT("{\"libs\":"));
}

static const struct converter to_gecko = {
    .name = "pyreel-gecko",
    .makes = "Writes a profile for the Firefox Profiler (profiler.firefox.com).",
    .suffix = ".json.gz",
    .recognises = recognises,
    .packing = PACKING_BY_NAME,
    .takes = TAKES_MODE | TAKES_SELECTION | TAKES_OPCODES,
    .several = SEVERAL_MERGED,
    .places_cpu = true,
    .start = start,
    .take = take,
    .take_placed = take_placed,
    .finish = finish,
    .drop = drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_gecko);
}
