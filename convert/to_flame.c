/* SPDX-License-Identifier: MIT */
/* pyreel-flame: converts a recording to one HTML file that shows a flame graph, or to a picture of it. */
#include "convert/convert.h"

#include "convert/inputs.h"
#include "convert/sums.h"
#include "convert/viewer/browser.h"
#include "formats/base/alloc.h"
#include "formats/base/replaced.h"
#include "formats/base/utf8.h"
#include "formats/flame/flame_svg.h"
#include "formats/frames/waiting.h"
#include "formats/frames/weight_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define BROWSER_WAIT_NS ((uint64_t)2000 * 1000 * 1000) /* a browser that fails does so within this time */

enum own_option {
    OPTION_WEIGHT = OPTION_OWN,
    OPTION_TITLE,
    OPTION_SOURCES,
    OPTION_PATH_MAP,
    OPTION_MIN_SHARE,
    OPTION_IDS,
    OPTION_NO_THREADS,
    OPTION_FULL_PATHS,
    OPTION_OPEN,
};

static const struct argument options[] = {
    { OPTION_WEIGHT, 0, "weight", "WHAT", 0,
      "show this first: " SUM_NAMES "\n"
      "(cpu; wall where no CPU time is known)" },
    { OPTION_TITLE, 0, "title", "TEXT", 0, "the heading of the page (the program)" },
    { OPTION_SOURCES, 0, "sources", "[=all]", 0,
      "put the text of your source files into the page,\n"
      "to see time by line; with =all of all files" },
    { OPTION_PATH_MAP, 0, "path-map", "FROM=TO", 0,
      "find files of the folder FROM in TO on this\n"
      "machine: /app=/home/me/app" },
    { OPTION_MIN_SHARE, 0, "min-share", "PERCENT", 0,
      "prune stacks with less of the whole: 0.1 is a\n"
      "thousandth (what leaves at most 150,000 boxes)" },
    { OPTION_IDS, 0, "ids", NULL, 0, "do not merge threads whose names differ by number" },
    { OPTION_NO_THREADS, 0, "no-threads", NULL, 0, "merge all threads and asyncio tasks" },
    { OPTION_FULL_PATHS, 0, "full-paths", NULL, 0, "show file names unshortened" },
    { OPTION_OPEN, 0, "open", NULL, 0, "open the page in a browser" },
    { 0 },
};

/* The values of this program's own options. */
struct flame_wanted {
    struct flame_style style;
    struct source_folders path_maps;
    bool open;
};

static bool apply_sources(struct flame_style *style, const char *value)
{
    style->sources = value ? FLAME_SOURCES_ALL : FLAME_SOURCES_PROGRAM;
    return !value || strcmp(value, "all") == 0;
}

static bool to_flame_apply(struct settings *settings, int number, const char *value)
{
    struct flame_wanted *wanted = settings->wanted;
    struct flame_style *style = &wanted->style;
    switch ((enum own_option)number) {
    case OPTION_WEIGHT:
        return style->weighted = sum_named(value, &style->weight);
    case OPTION_TITLE:
        style->title = value;
        return utf8_valid(value, strlen(value));
    case OPTION_SOURCES:
        return apply_sources(style, value);
    case OPTION_PATH_MAP:
        return source_folders_add_map(&wanted->path_maps, value);
    case OPTION_MIN_SHARE:
        return style->least_given = arguments_parse_share(value, 1, &style->least_share);
    case OPTION_IDS:
        return style->ids = true;
    case OPTION_NO_THREADS:
        return style->no_threads = true;
    case OPTION_FULL_PATHS:
        return style->full_paths = true;
    case OPTION_OPEN:
        return wanted->open = true;
    }
    return false;
}

/* Whether the output is a picture without a script, by its name. */
static bool is_svg(const struct settings *settings)
{
    return settings->output && text_ends(text_of(settings->output), TEXT(".svg"));
}

/* Why the style does not go together with --before; NULL: it does. */
static const char *comparison_problem(const struct flame_style *style)
{
    if (style->ids)
        return "no thread of one run has the number of one of another run; leave out --ids or --before";
    if (style->sources != FLAME_SOURCES_NONE)
        return "--sources is about one version of a program, and --before compares two; leave out one of them";
    if (style->weighted && style->weight != SUM_WALL_NS && style->weight != SUM_CPU_NS)
        return "--before compares times; use --weight wall or --weight cpu";
    return NULL;
}

static const char *to_flame_problem(const struct settings *settings)
{
    const struct flame_wanted *wanted = settings->wanted;
    const bool standard = settings->output ? output_is_standard(settings->output)
                                           : settings->inputs_count > 0 && strcmp(settings->inputs[0], "-") == 0;
    if (wanted->open && standard)
        return "--open needs a file, and the output is standard output; name a file with -o";
    if (wanted->style.ids && wanted->style.no_threads)
        return "--ids tells threads apart, and --no-threads merges them; choose one of them";
    if (is_svg(settings) && (settings->before || wanted->style.sources != FLAME_SOURCES_NONE))
        return "a picture (.svg) has neither --before nor --sources; name an output *.html";
    return settings->before ? comparison_problem(&wanted->style) : NULL;
}

struct to_flame {
    struct conversion *conversion;
    struct aggregate aggregate; /* when nothing is compared */
    struct compare compare;     /* with --before */
};

static void *to_flame_start(struct conversion *conversion)
{
    struct to_flame *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    to->aggregate.group_of = waiting_group;
    to->compare.aggregate.group_of = waiting_group;
    to->compare.tables = &conversion->tables;
    to->compare.before = conversion->settings.before;
    to->compare.to_ns = conversion->settings.selection.to_ns;
    return to;
}

static bool to_flame_take(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct to_flame *to = self;
    if (to->conversion->settings.before > 0)
        compare_take(&to->compare, event);
    else
        aggregate_take(&to->aggregate, event);
    return true;
}

static void to_flame_take_recording(void *self, struct tables *recording, struct text name)
{
    struct to_flame *to = self;
    if (to->conversion->settings.before > 0)
        compare_take_recording(&to->compare, recording, name);
}

/* Whether the recordings have the values of the weight that is shown first. A comparison has one weight, the CPU time
 * if all recordings know it. */
static bool to_flame_choose_weight(const struct to_flame *to, struct flame_style *style, struct fault *why)
{
    const struct conversion *conversion = to->conversion;
    bool known = !style->weighted || !to->aggregate.samples || aggregate_knows(&to->aggregate, style->weight);
    if (conversion->settings.before > 0) {
        if (!style->weighted)
            style->weight = compare_usual_weight(&to->compare);
        style->weighted = true;
        known = compare_knows(&to->compare, style->weight);
    } else if (!style->weighted && aggregate_knows(&to->aggregate, SUM_CPU_NS)) {
        const struct weight_choice choice = weight_choose(&to->aggregate);
        style->weight = choice.weight;
        style->weighted = choice.weight == SUM_WALL_NS; /* the page itself begins with CPU time */
    }
    return known || sums_are_unknown(conversion, style->weight, why);
}

/* Tells how much was pruned. */
static void tell_of_pruning(const struct to_flame *to, const struct flame_made *made)
{
    const struct settings *settings = &to->conversion->settings;
    if (made->pruned && settings->verbose)
        fprintf(stderr, "pyreel-flame: %zu nodes; %" PRIu64 " others with less than %g %% of the whole are pruned\n",
                made->nodes, made->pruned, made->share * 100);
}

/* Writes the page or the picture. A command line may have any bytes, and the page has only text. */
static bool write_page(struct to_flame *to, const struct flame_style *style, struct flame_made *made, struct fault *why)
{
    struct conversion *conversion = to->conversion;
    const char *filters = conversion->settings.filters;
    const bool compared = conversion->settings.before > 0;
    struct text clean = filters ? utf8_clean(text_of(filters)) : (struct text){ 0 };
    const struct flame_facts facts = { .report = conversion->inputs->count > 1 ? NULL : &conversion->report,
                                       .recordings = conversion->inputs->count,
                                       .filters = clean.bytes,
                                       .whole = conversion->whole && !conversion->tables.cut };
    const struct flame_samples samples = { .aggregate = compared ? &to->compare.aggregate : &to->aggregate,
                                           .compare = compared ? &to->compare : NULL };
    bool good = true;
    if (is_svg(&conversion->settings))
        flame_svg_write(&conversion->output, &conversion->tables, &samples, style, made);
    else
        good = flame_write(&conversion->output, &conversion->tables, &samples, style, &facts, made, why);
    text_free(clean);
    return good;
}

static bool to_flame_finish(void *self, struct fault *why)
{
    struct to_flame *to = self;
    struct conversion *conversion = to->conversion;
    const struct flame_wanted *wanted = conversion->settings.wanted;
    struct flame_style style = wanted->style;
    struct flame_made made;
    style.path_maps = &wanted->path_maps;
    style.filter = &conversion->settings.frames;
    style.opcodes = conversion->settings.opcodes;
    aggregate_sort(&to->aggregate);
    to->compare.one_script = alike_scripts(conversion->alike, to->compare.scripts);
    if (conversion->settings.before > 0 && !compare_end(&to->compare, why))
        return false;
    if (!to_flame_choose_weight(to, &style, why) || !write_page(to, &style, &made, why))
        return false;
    if (made.empty)
        return convert_nothing_left(conversion, why);
    tell_of_pruning(to, &made);
    embedding_warn(stderr, conversion->converter->name, &made.files);
    return true;
}

/* Waits for a browser that has not started, and returns whether it has. A browser that runs on has. */
static bool browser_shows(pid_t browser)
{
    const struct timespec nap = { .tv_nsec = 20 * 1000 * 1000 };
    int status;
    for (uint64_t waited_ns = 0; waited_ns < BROWSER_WAIT_NS; waited_ns += (uint64_t)nap.tv_nsec) {
        if (waitpid(browser, &status, WNOHANG) == browser)
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        nanosleep(&nap, NULL);
    }
    return true;
}

static void open_page(const char *path)
{
    char *whole = realpath(path, NULL);
    const pid_t browser = whole ? browser_start(whole) : 0;
    if (browser <= 0 || !browser_shows(browser))
        fprintf(stderr, "pyreel-flame: no browser could be started (BROWSER names a command); open %s yourself\n",
                utf8_shown(path));
    free(whole);
}

static bool to_flame_after(void *self, const char *path, struct fault *why)
{
    (void)why;
    const struct to_flame *to = self;
    if (((const struct flame_wanted *)to->conversion->settings.wanted)->open)
        open_page(path);
    return true;
}

static void to_flame_drop(void *self)
{
    struct to_flame *to = self;
    aggregate_free(&to->aggregate);
    compare_free(&to->compare);
    free(to);
}

/* The page names its maker. */
static bool to_flame_recognises(struct text head)
{
    static const char generator[] = "<meta name=\"generator\" content=\"pyreel-flame\">";
    return memmem(head.bytes, head.size, generator, strlen(generator)) || flame_svg_recognises(head);
}

static const struct converter to_flame = {
    .name = "pyreel-flame",
    .makes =
        "Writes a flame graph: one HTML file that needs nothing else, no network;\nor, with -o FILE.svg, a picture.",
    .takes = TAKES_DEBUG_INFO | TAKES_SIDES | TAKES_MODE | TAKES_SELECTION | TAKES_OPCODES | TAKES_NO_IDLE |
             TAKES_FRAMES | TAKES_FOCUS,
    .options.rows = options,
    .options.size = sizeof(struct flame_wanted),
    .options.apply = to_flame_apply,
    .options.problem = to_flame_problem,
    .file.suffix = ".html",
    .file.recognises = to_flame_recognises,
    .events.runs = true,
    .events.places_cpu = true,
    .events.take = to_flame_take,
    .events.take_recording = to_flame_take_recording,
    .delivery.after = to_flame_after,
    .start = to_flame_start,
    .finish = to_flame_finish,
    .drop = to_flame_drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_flame);
}
