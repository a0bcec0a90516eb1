/* SPDX-License-Identifier: MIT */
#include "convert/convert.h"
#include "convert/viewer/links.h"
#include "formats/gecko/gecko.h"

#include <string.h>

enum own_option {
    OPTION_OPEN = OPTION_OWN,
    OPTION_SERVE,
    OPTION_VIEW,
    OPTION_PROFILER_URL,
    OPTION_MARKERS,
    OPTION_MIN_GIL_WAIT,
    OPTION_TASKS,
    OPTION_OPCODES,
};

static const struct argument options[] = {
    { OPTION_OPEN, 0, "open", NULL, 0, "show the profile in a browser; upload nothing" },
    { OPTION_SERVE, 0, "serve", NULL, 0, "as --open, but print the address and start no browser" },
    { OPTION_VIEW, 0, "view", "VIEW", 0, "open the viewer with my-code|gil|gc|imports|flame" },
    { OPTION_MARKERS, 0, "markers", "few|all|none", 0, "all: also each change of a thread's state (few)" },
    { OPTION_MIN_GIL_WAIT, 0, "min-gil-wait", "TIME", 0, "mark waits for the GIL from TIME on (5ms)" },
    { OPTION_TASKS, 0, "tasks", "lives|tracks", 0, "show asyncio tasks as markers, or as threads (lives)" },
    { OPTION_PROFILER_URL, 0, "profiler-url", "URL", 0, "use the viewer at URL (https://profiler.firefox.com)" },
    { OPTION_OPCODES, 0, "opcodes", "[=frames]", 0,
      "show instructions: as subcategories, or with =frames\n"
      "as a frame at the leaf of each stack" },
    { 0 },
};

/* The values of this program's own options. */
struct wanted {
    struct gecko_style style;
    bool open, serve;
    enum view view;
    const char *viewer; /* NULL: the usual one */
};

/* The place of a value in a list of words that ends in NULL; -1: the list does not have it. */
static int place_of(const char *value, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(value, words[i]) == 0)
            return i;
    return -1;
}

static bool apply_markers(struct gecko_style *style, const char *value)
{
    static const char *const words[] = {
        [GECKO_MARKERS_FEW] = "few", [GECKO_MARKERS_ALL] = "all", [GECKO_MARKERS_NONE] = "none", NULL
    };
    const int place = place_of(value, words);
    style->markers = place < 0 ? GECKO_MARKERS_FEW : (enum gecko_markers)place;
    return place >= 0;
}

static bool apply_tasks(struct gecko_style *style, const char *value)
{
    static const char *const words[] = { "lives", "tracks", NULL };
    const int place = place_of(value, words);
    style->task_tracks = place == 1;
    return place >= 0;
}

/* 0 stands for the default, so the shortest minimum is a nanosecond: it leaves no wait out. */
static bool apply_gil_wait(struct gecko_style *style, const char *value)
{
    if (!arguments_parse_time(value, &style->gil_wait_ns))
        return false;
    style->gil_wait_ns += style->gil_wait_ns == 0;
    return true;
}

static bool apply(struct settings *settings, int number, const char *value)
{
    struct wanted *wanted = settings->wanted;
    switch ((enum own_option)number) {
    case OPTION_OPEN:
        return wanted->open = true;
    case OPTION_SERVE:
        return wanted->serve = true;
    case OPTION_VIEW:
        return (wanted->view = link_view_named(value)) != VIEW_NONE;
    case OPTION_PROFILER_URL:
        wanted->viewer = value;
        return link_viewer_fits(value);
    case OPTION_MARKERS:
        return apply_markers(&wanted->style, value);
    case OPTION_MIN_GIL_WAIT:
        return apply_gil_wait(&wanted->style, value);
    case OPTION_TASKS:
        return apply_tasks(&wanted->style, value);
    case OPTION_OPCODES:
        settings->opcodes = true;
        wanted->style.opcodes = value ? GECKO_OPCODES_FRAMES : GECKO_OPCODES_SUBCATEGORIES;
        return !value || strcmp(value, "frames") == 0;
    }
    return false;
}

static const char *problem(const struct settings *settings)
{
    const struct wanted *wanted = settings->wanted;
    const bool shows = wanted->open || wanted->serve;
    if (wanted->view && !shows)
        return "--view chooses how --open or --serve show the profile; name one of them";
    if (wanted->viewer && !shows)
        return "--profiler-url chooses the viewer of --open and --serve; name one of them";
    if (shows && settings->output && output_is_standard(settings->output))
        return "--open and --serve need a file, and -o names standard output; name another file, or leave out -o";
    return NULL;
}

static void *start(struct conversion *conversion)
{
    const struct wanted *wanted = conversion->settings.wanted;
    return gecko_start(&conversion->tables, &conversion->output, wanted->style);
}

static bool take(void *self, struct event *event, struct fault *why)
{
    return gecko_take(self, event, why);
}

static void take_recording(void *self, const struct tables *recording, struct text name)
{
    gecko_take_recording(self, recording, name);
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
    .takes = TAKES_MODE | TAKES_SELECTION,
    .several = SEVERAL_MERGED,
    .options = options,
    .wanted_size = sizeof(struct wanted),
    .apply = apply,
    .problem = problem,
    .start = start,
    .take = take,
    .take_recording = take_recording,
    .finish = finish,
    .drop = drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_gecko);
}
