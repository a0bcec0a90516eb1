/* SPDX-License-Identifier: MIT */
/* pyreel-diff: which functions gained and lost between two recordings, or two sets of recordings, and which differences
 * are not distinguishable from noise. */
#include "convert/convert.h"
#include "convert/diff/diff_output.h"
#include "convert/diff/diff_words.h"
#include "formats/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum own_option {
    OPTION_WEIGHT = OPTION_OWN,
    OPTION_BY,
    OPTION_PATHS,
    OPTION_SCALE,
    OPTION_MIN,
    OPTION_CONFIDENCE,
    OPTION_FAIL_OVER,
    OPTION_TOP,
    OPTION_FULL_PATHS,
    OPTION_JSON,
    OPTION_MARKDOWN,
};

static const struct argument options[] = {
    { OPTION_WEIGHT, 0, "weight", "WHAT", 0, "compare cpu|wall|samples (cpu, or wall)" },
    { OPTION_BY, 0, "by", "WHAT", 0, "compare function|line|file|module|thread" },
    { OPTION_PATHS, 0, "paths", NULL, 0, "compare call paths, too" },
    { OPTION_SCALE, 0, "scale", "HOW", 0,
      "compare by time|work (time for runs from start to\n"
      "end, else work)" },
    { OPTION_MIN, 0, "min", "PERCENT", 0, "judge what has at least this share of a side (1%)" },
    { OPTION_CONFIDENCE, 0, "confidence", "PERCENT", 0, "of all judgements together (95%)" },
    { OPTION_FAIL_OVER, 0, "fail-over", "PERCENT", 0, "exit 1 if anything surely grew by more" },
    { OPTION_TOP, 0, "top", "N", 0,
      "print N rows of each table, 0 for all (20, with 5\n"
      "of those not distinguishable from noise)" },
    { OPTION_FULL_PATHS, 0, "full-paths", NULL, 0, "print file names unshortened" },
    { OPTION_JSON, 0, "json", NULL, 0, "write JSON" },
    { OPTION_MARKDOWN, 0, "markdown", NULL, 0, "write Markdown, for a pull request" },
    { 0 },
};

/* The values of this program's own options. */
struct diff_wanted {
    struct diff_style style;
    bool weighted;    /* --weight was given */
    bool fails;       /* --fail-over was given ... */
    double fail_over; /* ... with this growth */
    enum diff_format format;
    size_t formats; /* how many formats were asked for */
};

/* ---- options ---- */

static bool read_weight(struct diff_wanted *wanted, const char *value)
{
    wanted->weighted = sum_named(value, &wanted->style.weight) && wanted->style.weight <= SUM_CPU_NS;
    return wanted->weighted;
}

static bool read_scale(struct diff_wanted *wanted, const char *value)
{
    wanted->style.by_work = strcmp(value, "work") == 0;
    wanted->style.by_time = strcmp(value, "time") == 0;
    return wanted->style.by_work || wanted->style.by_time;
}

static bool set_format(struct diff_wanted *wanted, enum diff_format format)
{
    wanted->format = format;
    wanted->formats++;
    return true;
}

static bool diff_option_apply(struct settings *settings, int number, const char *value)
{
    struct diff_wanted *wanted = settings->wanted;
    struct diff_style *style = &wanted->style;
    switch ((enum own_option)number) {
    case OPTION_WEIGHT:
        return read_weight(wanted, value);
    case OPTION_BY:
        return by_named(value, &style->by) && style->by <= BY_THREAD;
    case OPTION_PATHS:
        return style->paths = true;
    case OPTION_SCALE:
        return read_scale(wanted, value);
    case OPTION_MIN:
        style->least_given = arguments_parse_share(value, 1, &style->least_share);
        return style->least_given;
    case OPTION_CONFIDENCE:
        return arguments_parse_share(value, 0.9999, &style->confidence) && style->confidence >= 0.5;
    case OPTION_FAIL_OVER:
        wanted->fails = arguments_parse_share(value, 1e6, &wanted->fail_over);
        return wanted->fails;
    case OPTION_TOP:
        style->top_given = arguments_parse_count(value, 0, UINT64_MAX, &style->top);
        return style->top_given;
    case OPTION_FULL_PATHS:
        return style->full_paths = true;
    case OPTION_JSON:
        return set_format(wanted, DIFF_JSON);
    case OPTION_MARKDOWN:
        return set_format(wanted, DIFF_MARKDOWN);
    }
    return false;
}

static const char *diff_settings_problem(const struct settings *settings)
{
    const struct diff_wanted *wanted = settings->wanted;
    if (settings->before == 0 && settings->inputs_count != 2)
        return "name two recordings, before and after; or --before A1 A2 --after B1 B2";
    if (wanted->formats > 1)
        return "--json and --markdown are two outputs; choose one";
    return NULL;
}

/* ---- the conversion ---- */

struct to_diff {
    struct conversion *conversion;
    struct compare compare;
};

static void *diff_start(struct conversion *conversion)
{
    const struct settings *settings = &conversion->settings;
    struct to_diff *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    to->compare.tables = &conversion->tables;
    to->compare.before = settings->before ? settings->before : 1;
    to->compare.to_ns = settings->selection.to_ns;
    return to;
}

static bool diff_take(void *self, struct event *event, struct fault *why)
{
    (void)why;
    struct to_diff *to = self;
    compare_take(&to->compare, event);
    return true;
}

static void diff_take_recording(void *self, struct tables *recording, struct text name)
{
    struct to_diff *to = self;
    compare_take_recording(&to->compare, recording, name);
}

static struct diff_style diff_style_of(const struct settings *settings)
{
    const struct diff_wanted *wanted = settings->wanted;
    struct diff_style style = wanted->style;
    style.weighted = wanted->weighted;
    style.fails = wanted->fails;
    style.fail_over = wanted->fail_over;
    style.filter = &settings->frames;
    if (style.confidence <= 0)
        style.confidence = DIFF_CONFIDENCE;
    if (!style.least_given)
        style.least_share = DIFF_LEAST_SHARE;
    if (!style.top_given)
        style.top = DIFF_TOP;
    return style;
}

static bool write_output(const struct conversion *conversion, struct output *to, const struct difference *difference,
                         struct fault *why)
{
    const struct diff_wanted *wanted = conversion->settings.wanted;
    const bool standard = !conversion->settings.output || output_is_standard(conversion->settings.output);
    const struct screen screen = screen_of(standard ? STDOUT_FILENO : -1);
    switch (wanted->format) {
    case DIFF_TEXT:
        diff_text(to, difference, &screen, standard && isatty(STDOUT_FILENO));
        return true;
    case DIFF_JSON:
        return diff_json(to, difference, why);
    case DIFF_MARKDOWN:
        diff_markdown(to, difference);
        return true;
    }
    return true;
}

/* Says why the exit code is 1, for those who do not read the output. */
static void report_failure(const struct difference *difference)
{
    struct bytes text = { 0 };
    diff_put_failure(&text, difference);
    fprintf(stderr, "pyreel-diff: %.*s\n", (int)text.size, (const char *)text.at);
    bytes_free(&text);
}

static bool diff_finish(void *self, struct fault *why)
{
    struct to_diff *to = self;
    struct conversion *conversion = to->conversion;
    const struct diff_style style = diff_style_of(&conversion->settings);
    struct difference difference = { 0 };
    to->compare.one_script = alike_scripts(conversion->alike, to->compare.scripts);
    if (!compare_end(&to->compare, why))
        return false;
    const bool good = difference_make(&difference, &to->compare, &style, why) &&
                      write_output(conversion, &conversion->output, &difference, why);
    if (good && difference.failed)
        report_failure(&difference);
    conversion->refusal = difference.failed ? EXIT_FAILURE : 0;
    difference_free(&difference);
    return good || (!why->text[0] && convert_nothing_left(conversion, why));
}

static void diff_drop(void *self)
{
    struct to_diff *to = self;
    compare_free(&to->compare);
    free(to);
}

static struct converter_plan diff_plan(const struct settings *settings)
{
    const struct diff_wanted *wanted = settings->wanted;
    const bool counts = wanted->weighted && wanted->style.weight == SUM_SAMPLES;
    return (struct converter_plan){ .without_status = counts, .only_counts = counts };
}

static bool diff_recognises(struct text head)
{
    return text_begins(head, TEXT("before  ")) || text_begins(head, TEXT("- **before** ")) ||
           text_begins(head, TEXT("{\"format\":\"pyreel-diff\","));
}

static const struct converter to_diff = {
    .name = "pyreel-diff",
    .makes = "Shows which functions gained and lost between two recordings, and which\n"
             "differences are not distinguishable from noise.",
    .takes = TAKES_DEBUG_INFO | TAKES_SIDES | TAKES_MODE | TAKES_SELECTION | TAKES_NO_IDLE | TAKES_FRAMES | TAKES_FOCUS,
    .several = SEVERAL_COMPARED,
    .options.rows = options,
    .options.size = sizeof(struct diff_wanted),
    .options.apply = diff_option_apply,
    .options.problem = diff_settings_problem,
    .file.recognises = diff_recognises,
    .plan = diff_plan,
    .events.places_cpu = true,
    .events.take = diff_take,
    .events.take_recording = diff_take_recording,
    .start = diff_start,
    .finish = diff_finish,
    .drop = diff_drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_diff);
}
