/* SPDX-License-Identifier: MIT */
/* pyreel-otlp: converts a recording into a request of OpenTelemetry's protocol for profiles. */
#include "convert/convert.h"

#include "formats/base/alloc.h"
#include "formats/otlp/otlp.h"

#include <stdlib.h>

enum own_option {
    OPTION_JSON = OPTION_OWN,
    OPTION_AGGREGATE,
};

static const struct argument options[] = {
    { OPTION_JSON, 0, "json", NULL, 0, "write OTLP's JSON in the place of its bytes" },
    { OPTION_AGGREGATE, 0, "aggregate", NULL, 0, "write sums alone, without the time of each look" },
    { 0 },
};

/* The values of this program's own options. */
struct otlp_wanted {
    bool json, aggregate;
};

static bool to_otlp_apply(struct settings *settings, int number, const char *value)
{
    struct otlp_wanted *wanted = settings->wanted;
    (void)value;
    switch ((enum own_option)number) {
    case OPTION_JSON:
        return wanted->json = true;
    case OPTION_AGGREGATE:
        return wanted->aggregate = true;
    }
    return false;
}

static struct converter_plan to_otlp_plan(const struct settings *settings)
{
    const struct otlp_wanted *wanted = settings->wanted;
    return (struct converter_plan){ .binary = !wanted->json };
}

struct to_otlp {
    struct conversion *conversion;
    struct otlp_looks looks;
};

static void *to_otlp_start(struct conversion *conversion)
{
    const struct otlp_wanted *wanted = conversion->settings.wanted;
    struct to_otlp *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    to->looks.timed = !wanted->aggregate;
    return to;
}

static bool to_otlp_take(void *self, struct event *event, struct fault *why)
{
    struct to_otlp *to = self;
    (void)why;
    if (event->kind == EVENT_RECORDING && event->recording.start_unix_ns == 0)
        to->looks.timed = false; /* looks have no time of the clock */
    if (event->kind == EVENT_RUN)
        otlp_looks_add(&to->looks, &event->run);
    return true;
}

static bool to_otlp_finish(void *self, struct fault *why)
{
    struct to_otlp *to = self;
    struct conversion *conversion = to->conversion;
    const struct otlp_wanted *wanted = conversion->settings.wanted;
    const struct otlp_style style = { .detail = conversion->settings.detail,
                                      .json = wanted->json,
                                      .unplaced_cpu_ns = conversion->cpu_owner.unplaced_ns };
    (void)why;
    otlp_write(&conversion->output, &conversion->tables, &to->looks, &style);
    return true;
}

static void to_otlp_drop(void *self)
{
    struct to_otlp *to = self;
    otlp_looks_free(&to->looks);
    free(to);
}

/* A request begins with its first resource, whose first field is the attributes; in JSON, with a bracket and its name.
 */
static bool to_otlp_recognises(struct text head)
{
    return (head.size > 2 && (head.bytes[0] == 0x0A || head.bytes[0] == 0x12)) ||
           text_begins(head, TEXT("{\"resourceProfiles\"")) || text_begins(head, TEXT("{\"dictionary\""));
}

static const struct converter to_otlp = {
    .name = "pyreel-otlp",
    .makes = "Writes profiles for OpenTelemetry (OTLP).",
    .release = "OTLP profiles " OTLP_RELEASE "\n",
    .takes = TAKES_DEBUG_INFO | TAKES_MODE | TAKES_SELECTION | TAKES_DETAIL | TAKES_COLUMNS,
    .options.rows = options,
    .options.size = sizeof(struct otlp_wanted),
    .options.apply = to_otlp_apply,
    .file.suffix = ".otlp.gz",
    .file.packing = PACKING_BY_NAME,
    .file.recognises = to_otlp_recognises,
    .plan = to_otlp_plan,
    .events.runs = false,
    .events.places_cpu = true,
    .events.take = to_otlp_take,
    .start = to_otlp_start,
    .finish = to_otlp_finish,
    .drop = to_otlp_drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_otlp);
}
