/* SPDX-License-Identifier: MIT */
#include "convert/convert.h"
#include "convert/viewer/links.h"
#include "convert/viewer/show.h"
#include "formats/base/alloc.h"
#include "formats/gecko/gecko.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum own_option {
    OPTION_OPEN = OPTION_OWN,
    OPTION_SERVE,
    OPTION_VIEW,
    OPTION_PROFILER_URL,
};

static const struct argument options[] = {
    { OPTION_OPEN, 0, "open", NULL, 0, "show the profile in a browser; upload nothing" },
    { OPTION_SERVE, 0, "serve", NULL, 0, "as --open, but start no browser" },
    { OPTION_VIEW, 0, "view", "VIEW", 0, "show this first: my-code|gil|gc|imports|flame" },
    { OPTION_PROFILER_URL, 0, "profiler-url", "URL", 0,
      "use a viewer of your own: http://127.0.0.1:4242\n"
      "(https://profiler.firefox.com)" },
    { 0 },
};

/* The values of this program's own options. */
struct wanted {
    bool open, serve;
    enum view view;
    const char *viewer; /* NULL: the usual one */
};

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

static bool keeps(const struct settings *settings)
{
    const struct wanted *wanted = settings->wanted;
    return (wanted->open || wanted->serve) && !settings->output;
}

struct to_gecko {
    struct conversion *conversion;
    const struct wanted *wanted;
    struct gecko *gecko;
};

static void *start(struct conversion *conversion)
{
    const struct gecko_style style = { .opcodes = conversion->settings.opcodes };
    struct to_gecko *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    to->wanted = conversion->settings.wanted;
    to->gecko = gecko_start(&conversion->tables, &conversion->output, style);
    return to;
}

static bool take(void *self, struct event *event, struct fault *why)
{
    struct to_gecko *to = self;
    return gecko_take(to->gecko, event, why);
}

static void take_recording(void *self, const struct tables *recording, struct text name)
{
    struct to_gecko *to = self;
    gecko_take_recording(to->gecko, recording, name);
}

static bool finish(void *self, struct fault *why)
{
    struct to_gecko *to = self;
    return gecko_finish(to->gecko, why);
}

/* Shows the profile, the file `fd`. */
static bool show(const struct to_gecko *to, int fd, struct fault *why)
{
    uint32_t threads[GECKO_SELECTED_MOST];
    const struct shown shown = {
        .program = to->conversion->converter->name,
        .viewer = to->wanted->viewer ? to->wanted->viewer : LINK_VIEWER,
        .view = to->wanted->view,
        .profile = { .threads = threads,
                     .threads_count = gecko_selected_threads(to->gecko, threads),
                     .own_code = gecko_own_code_category() },
        .fd = fd,
        .browser = to->wanted->open,
        .quiet = to->conversion->settings.quiet,
    };
    return show_profile(&shown, why);
}

static bool after(void *self, const char *path, struct fault *why)
{
    const struct to_gecko *to = self;
    if (!to->wanted->open && !to->wanted->serve)
        return true;
    if (!path)
        return show(to, to->conversion->kept_fd, why);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool good = fd >= 0 ? show(to, fd, why) : fault(why, "cannot read %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return good;
}

static void drop(void *self)
{
    struct to_gecko *to = self;
    gecko_drop(to->gecko);
    free(to);
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
    .options = options,
    .wanted_size = sizeof(struct wanted),
    .apply = apply,
    .problem = problem,
    .keeps = keeps,
    .start = start,
    .take = take,
    .take_recording = take_recording,
    .finish = finish,
    .after = after,
    .drop = drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_gecko);
}
