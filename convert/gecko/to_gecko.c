/* SPDX-License-Identifier: MIT */
/* pyreel-gecko: converts a recording to a profile for the Firefox Profiler, and shows or shares the profile. */
#include "convert/gecko/to_gecko.h"

#include "convert/filters/sanitize.h"
#include "convert/gecko/gecko_conflicts.h"
#include "convert/gecko/gecko_delivery.h"
#include "convert/gecko/gecko_told.h"
#include "convert/sums.h"
#include "formats/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

static struct converter_plan to_gecko_plan(const struct settings *settings)
{
    const struct gecko_wanted *wanted = gecko_options_wanted(settings);
    return (struct converter_plan){ .without_input = wanted->share.delete_link || wanted->share.link_for,
                                    .splits = gecko_options_streams(settings),
                                    .keeps = gecko_options_shows(settings) && !settings->output };
}

static int before(const struct settings *settings)
{
    const struct share_wishes wishes = gecko_options_wishes(settings);
    return share_first(&wishes);
}

static void *to_gecko_start(struct conversion *conversion)
{
    struct to_gecko *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    to->wanted = conversion->settings.wanted;
    to->spot.view = to->wanted->view;
    const struct settings *settings = &conversion->settings;
    const bool by_state = settings->mode == KEPT_CPU || settings->mode == KEPT_EXCEPTION;
    struct gecko_style style = to->wanted->style;
    style.leaves_out = by_state || settings->span.by || selection_has_names(&settings->selection);
    to->gecko = gecko_start(&conversion->tables, &conversion->output, style);
    return to;
}

static bool to_gecko_take(void *self, struct event *event, struct fault *why)
{
    struct to_gecko *to = self;
    if (!gecko_take(to->gecko, event, why))
        return false;
    if (to->spot.view != VIEW_NONE)
        spot_take(&to->spot, &to->conversion->tables, event, gecko_host(to->gecko));
    return true;
}

static void to_gecko_take_recording(void *self, struct tables *recording, struct text name)
{
    struct to_gecko *to = self;
    char room[SANITIZE_NAME_ROOM];
    if (to->wanted->sanitize) {
        sanitize_description(recording, &to->recordings);
        name = sanitize_recording_name(&to->recordings, name, room);
    }
    gecko_take_recording(to->gecko, recording, name);
}

static bool to_gecko_finish(void *self, struct fault *why)
{
    struct to_gecko *to = self;
    const struct settings *settings = &to->conversion->settings;
    if (to->wanted->style.weight == GECKO_WEIGHT_CPU && !gecko_knows_cpu(to->gecko))
        return sums_are_unknown(to->conversion, SUM_CPU_NS, why);
    if (to->wanted->sanitize)
        sanitize_tables(&to->conversion->tables, &to->wanted->style.repositories, &to->recordings);
    if (!(gecko_options_streams(settings) ? gecko_delivery_stream(to, why) : gecko_finish(to->gecko, why)))
        return false;
    to->json_bytes = to->conversion->output.flushed + to->conversion->output.used;
    gecko_told_content(to);
    return true;
}

/* Warns of a profile that is too large for the viewer or for the store of profiles. */
static void to_gecko_closed(void *self, const char *path, uint64_t bytes)
{
    const struct to_gecko *to = self;
    const struct tables *tables = &to->conversion->tables;
    const struct gecko_size size = {
        .json_bytes = to->json_bytes,
        .packed_bytes = gecko_options_packed(path) ? bytes : 0,
        .several_threads = tables->threads_count > 2, /* entry 0 counts */
        .samples = tables->samples,
        .off_cpu = gecko_samples_off_cpu(to->gecko),
    };
    char *told = to->conversion->settings.quiet ? NULL : gecko_told_size(&to->wanted->style, &size);
    if (told)
        fprintf(stderr, "pyreel-gecko: warning: %s\n", told);
    free(told);
}

static bool to_gecko_after(void *self, const char *path, struct fault *why)
{
    return gecko_delivery_deliver(self, path, why);
}

static void to_gecko_drop(void *self)
{
    struct to_gecko *to = self;
    gecko_drop(to->gecko);
    spot_free(&to->spot);
    intern_free(&to->recordings);
    free(to);
}

/* A profile begins with its libraries. */
static bool to_gecko_recognises(struct text head)
{
    return text_begins(head, TEXT("{\"libs\":"));
}

static const struct converter to_gecko = {
    .name = "pyreel-gecko",
    .makes = "Writes a profile for the Firefox Profiler (profiler.firefox.com).",
    .takes = TAKES_DEBUG_INFO | TAKES_MODE | TAKES_SELECTION,
    .options.rows = gecko_options,
    .options.size = sizeof(struct gecko_wanted),
    .options.apply = gecko_options_apply,
    .options.problem = gecko_conflicts_problem,
    .file.suffix = ".json.gz",
    .file.packing = PACKING_BY_NAME,
    .file.recognises = to_gecko_recognises,
    .plan = to_gecko_plan,
    .events.places_cpu = true,
    .events.take = to_gecko_take,
    .events.take_recording = to_gecko_take_recording,
    .delivery.before = before,
    .delivery.closed = to_gecko_closed,
    .delivery.after = to_gecko_after,
    .start = to_gecko_start,
    .finish = to_gecko_finish,
    .drop = to_gecko_drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_gecko);
}
