/* SPDX-License-Identifier: MIT */
/* pyreel-speedscope: converts a recording for speedscope, with a profile for each thread. */
#include "convert/convert.h"

#include "formats/base/alloc.h"
#include "formats/speedscope/speedscope.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum own_option {
    OPTION_FULL_PATHS = OPTION_OWN,
    OPTION_MAX_DEPTH,
};

static const struct argument options[] = {
    { OPTION_FULL_PATHS, 0, "full-paths", NULL, 0, "show file names unshortened" },
    { OPTION_MAX_DEPTH, 0, "max-depth", "N", 0, "keep N frames of a deep stack, 3 or more (all)" },
    { 0 },
};

/* The values of this program's own options. */
struct speedscope_wanted {
    bool full_paths;
    uint64_t max_depth; /* 0: no limit */
};

static bool to_speedscope_apply(struct settings *settings, int number, const char *value)
{
    struct speedscope_wanted *wanted = settings->wanted;
    switch ((enum own_option)number) {
    case OPTION_FULL_PATHS:
        return wanted->full_paths = true;
    case OPTION_MAX_DEPTH:
        return arguments_parse_count(value, OUTLINE_LEAST_DEPTH, UINT64_MAX, &wanted->max_depth);
    }
    return false;
}

struct to_speedscope {
    struct conversion *conversion;
    struct speedscope *speedscope;
    uint64_t json_bytes;
};

static void *to_speedscope_start(struct conversion *conversion)
{
    const struct settings *settings = &conversion->settings;
    const struct speedscope_wanted *wanted = settings->wanted;
    const struct entries_style style = {
        .kind = settings->detail == DETAIL_FUNCTIONS ? ENTRY_FUNCTION : ENTRY_LINE,
        .full_paths = wanted->full_paths,
        .ids = true,
        .opcodes = settings->opcodes,
        .waits = true,
        .max_depth = wanted->max_depth,
        .filter = &settings->frames,
    };
    struct to_speedscope *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    to->speedscope = speedscope_start(&conversion->tables, &conversion->output, &style);
    return to;
}

static bool to_speedscope_take(void *self, struct event *event, struct fault *why)
{
    const struct to_speedscope *to = self;
    return speedscope_take(to->speedscope, event, why);
}

static bool to_speedscope_finish(void *self, struct fault *why)
{
    struct to_speedscope *to = self;
    if (!speedscope_settle(to->speedscope))
        return convert_nothing_left(to->conversion, why);
    const bool good = speedscope_write(to->speedscope, why);
    to->json_bytes = to->conversion->output.flushed + to->conversion->output.used;
    return good;
}

/* Warns of stacks that are too deep for speedscope. */
static void to_speedscope_warn_of_depth(const struct to_speedscope *to)
{
    const uint32_t deepest = speedscope_deepest(to->speedscope);
    if (deepest > SPEEDSCOPE_DEPTH_MOST)
        fprintf(stderr,
                "pyreel-speedscope: warning: a stack has %" PRIu32 " frames, and with more than about %d the page of "
                "speedscope may only say \"Maximum call stack size exceeded\"; keep fewer with --max-depth %d\n",
                deepest, SPEEDSCOPE_DEPTH_MOST, SPEEDSCOPE_DEPTH_MOST);
}

/* Warns of a profile that is too large for speedscope. */
static void to_speedscope_closed(void *self, const char *path, uint64_t bytes)
{
    (void)path;
    (void)bytes;
    const struct to_speedscope *to = self;
    if (to->conversion->settings.quiet)
        return;
    to_speedscope_warn_of_depth(to);
    if (to->json_bytes <= SPEEDSCOPE_JSON_MOST)
        return;
    fprintf(stderr,
            "pyreel-speedscope: warning: the profile has %" PRIu64 " MB of JSON, and more than about %" PRIu64
            " MB crashes the page of speedscope; make it smaller with --functions, --fold, --from and --to, --threads, "
            "or --no-idle\n",
            to->json_bytes / 1000000, SPEEDSCOPE_JSON_MOST / 1000000);
}

static void to_speedscope_drop(void *self)
{
    struct to_speedscope *to = self;
    speedscope_drop(to->speedscope);
    free(to);
}

/* A profile begins with the address of its format. */
static bool to_speedscope_recognises(struct text head)
{
    return text_begins(head, TEXT("{\"$schema\":\"https://www.speedscope.app/"));
}

static const struct converter to_speedscope = {
    .name = "pyreel-speedscope",
    .makes = "Writes a profile for speedscope (speedscope.app): what each thread did when.",
    .takes = TAKES_DEBUG_INFO | TAKES_MODE | TAKES_SELECTION | TAKES_DETAIL | TAKES_OPCODES | TAKES_NO_IDLE |
             TAKES_FRAMES | TAKES_FOCUS,
    .options.rows = options,
    .options.size = sizeof(struct speedscope_wanted),
    .options.apply = to_speedscope_apply,
    .file.suffix = ".speedscope.json",
    .file.packing = PACKING_BY_NAME,
    .file.recognises = to_speedscope_recognises,
    .events.runs = true,
    .events.places_cpu = true,
    .events.take = to_speedscope_take,
    .delivery.closed = to_speedscope_closed,
    .start = to_speedscope_start,
    .finish = to_speedscope_finish,
    .drop = to_speedscope_drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_speedscope);
}
