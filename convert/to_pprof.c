/* SPDX-License-Identifier: MIT */
/* pyreel-pprof: converts a recording for `go tool pprof`. */
#include "convert/convert.h"
#include "convert/fleets/interrupt.h"
#include "convert/fleets/windows.h"

#include "formats/base/alloc.h"
#include "formats/frames/weight_choice.h"
#include "formats/pprof/pprof.h"
#include "formats/pprof/pprof_label_names.h"
#include "formats/pprof/pprof_remedies.h"
#include "formats/pprof/pprof_status.h"

#include <stdio.h>
#include <stdlib.h>

/* With more samples than this, pprof itself needs minutes and gigabytes: warn. */
#define MANY_SAMPLES 200000

enum own_option {
    OPTION_QUALIFY = OPTION_OWN,
    OPTION_LABELS,
    OPTION_NO_LABELS,
    OPTION_MIN_COUNT,
    OPTION_MAX_DEPTH,
    OPTION_NO_COMMENTS,
    OPTION_EVERY,
};

static const struct argument options[] = {
    { OPTION_QUALIFY, 0, "qualify", NULL, 0, "name functions with modules: json.decoder.scan" },
    { OPTION_LABELS, 0, "labels", "LIST", 0,
      "give samples these labels only: thread,thread_id,\n"
      "pid,interpreter,recording,task,task_id,trace_id,\n"
      "span_id,status,opcode,opcode_base" },
    { OPTION_NO_LABELS, 0, "no-labels", NULL, 0, "merge all threads and asyncio tasks" },
    { OPTION_MIN_COUNT, 0, "min-count", "N", 0, "merge stacks of fewer samples into <rest>: 2 (1)" },
    { OPTION_MAX_DEPTH, 0, "max-depth", "N", 0, "keep N frames of a deep stack, 3 or more (all)" },
    { OPTION_NO_COMMENTS, 0, "no-comments", NULL, 0, "write no command lines and other such comments" },
    { OPTION_EVERY, 0, "every", "SECONDS", 0,
      "write a file for each SECONDS of the clock, 1\n"
      "or more; -o names them by their time:\n"
      "app-%Y%m%dT%H%M%S.pb.gz" },
    { 0 },
};

/* The values of this program's own options. */
struct pprof_wanted {
    struct pprof_style style;
    uint64_t every_ns; /* the length of a window; 0: one file */
};

static bool to_pprof_apply(struct settings *settings, int number, const char *value)
{
    struct pprof_wanted *wanted = settings->wanted;
    struct pprof_style *style = &wanted->style;
    switch ((enum own_option)number) {
    case OPTION_QUALIFY:
        return style->qualify = true;
    case OPTION_LABELS:
        style->chosen_labels = true;
        return pprof_label_names_parse(value, &style->labels);
    case OPTION_NO_LABELS:
        style->labels = 0;
        return style->chosen_labels = true;
    case OPTION_MIN_COUNT:
        return arguments_parse_count(value, 1, UINT64_MAX, &style->min_count);
    case OPTION_MAX_DEPTH:
        return arguments_parse_count(value, OUTLINE_LEAST_DEPTH, UINT64_MAX, &style->max_depth);
    case OPTION_NO_COMMENTS:
        return style->no_comments = true;
    case OPTION_EVERY:
        return arguments_parse_time(value, &wanted->every_ns) && wanted->every_ns >= WINDOW_LEAST_NS;
    }
    return false;
}

static const char *to_pprof_problem(const struct settings *settings)
{
    static struct fault why;
    const struct pprof_wanted *wanted = settings->wanted;
    if (wanted->every_ns && settings->inputs_count > 1)
        return "--every takes one recording: a recording is read to its end before the next one, and windows must not "
               "wait so long; convert each recording by itself, their windows begin at the same times";
    return !wanted->every_ns || windows_pattern_fits(settings->output, wanted->every_ns, &why) ? NULL : why.text;
}

static struct converter_plan to_pprof_plan(const struct settings *settings)
{
    const struct pprof_wanted *wanted = settings->wanted;
    return (struct converter_plan){ .splits = wanted->every_ns > 0, .binary = true };
}

struct to_pprof {
    struct conversion *conversion;
    const struct pprof_wanted *wanted;
    struct aggregate aggregate; /* of the whole recording, or ... */
    struct windows windows;     /* ... of the windows */
    uint64_t unplaced_ns;       /* CPU time without a sample, as far as a file says it */
};

static void count_by_status(void *aggregate)
{
    ((struct aggregate *)aggregate)->group_of = pprof_status_of;
}

static void count_by_span(void *aggregate)
{
    ((struct aggregate *)aggregate)->by_span = true;
}

static void count_by_both(void *aggregate)
{
    count_by_status(aggregate);
    count_by_span(aggregate);
}

static void add_to_window(void *aggregate, const struct run *run)
{
    aggregate_add_run(aggregate, run);
}

static void free_window_counts(void *aggregate)
{
    aggregate_free(aggregate);
}

/* The labels that are wanted say by what samples are told apart: [by status][by span]. */
static const struct window_kind counts[2][2] = {
    { { sizeof(struct aggregate), NULL, add_to_window, free_window_counts },
      { sizeof(struct aggregate), count_by_span, add_to_window, free_window_counts } },
    { { sizeof(struct aggregate), count_by_status, add_to_window, free_window_counts },
      { sizeof(struct aggregate), count_by_both, add_to_window, free_window_counts } },
};

static void *to_pprof_start(struct conversion *conversion)
{
    struct to_pprof *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    to->wanted = conversion->settings.wanted;
    to->windows.every_ns = to->wanted->every_ns;
    const struct pprof_style *style = &to->wanted->style;
    const unsigned labels = style->chosen_labels ? style->labels : LABELS_USUAL;
    to->windows.kind = &counts[(labels & 1u << LABEL_STATUS) != 0][(labels & LABELS_OF_SPANS) != 0];
    if (to->wanted->every_ns)
        interrupt_ends(conversion->input_fd);
    if (to->windows.kind->start)
        to->windows.kind->start(&to->aggregate);
    return to;
}

/* Warns of a profile that readers can hardly read, and names the options that help. */
static void warn_of_many_samples(const struct tables *tables, const struct aggregate *aggregate,
                                 const struct pprof_style *style, size_t samples)
{
    struct pprof_remedy found[PPROF_REMEDIES];
    const size_t count = pprof_remedies_find(found, tables, aggregate, style, samples);
    fprintf(stderr,
            "pyreel-pprof: warning: the profile has %zu samples (distinct stacks with their labels), and go tool pprof "
            "will need much time and memory. Fewer with",
            samples);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, " %s (%zu),", found[i].options, found[i].samples);
    fprintf(stderr, " --from and --to, --every for one recording\n");
}

/* Writes the profile of an aggregate. */
static void write_profile(struct to_pprof *to, struct aggregate *aggregate, const struct pprof_part *part)
{
    struct conversion *conversion = to->conversion;
    const struct settings *settings = &conversion->settings;
    struct pprof_style style = to->wanted->style;
    aggregate_sort(aggregate);
    style.detail = settings->detail;
    style.cpu_first = weight_choose(aggregate).weight == SUM_CPU_NS;
    style.opcodes = settings->opcodes;
    style.unplaced_cpu_ns = settings->span.by ? 0 : conversion->cpu_owner.unplaced_ns - to->unplaced_ns;
    style.part = *part;
    to->unplaced_ns += style.unplaced_cpu_ns;
    const size_t samples = pprof_write(&conversion->output, &conversion->tables, aggregate, &style);
    if (samples > MANY_SAMPLES && !settings->quiet)
        warn_of_many_samples(&conversion->tables, aggregate, &style, samples);
}

static bool write_window(struct to_pprof *to, struct window *window, bool goes_on, struct fault *why)
{
    const struct pprof_part part = { window->from_ns, window->to_ns, goes_on };
    char *path = windows_file_name(to->conversion->settings.output, window->start_unix_ns);
    bool good = path || fault(why, "-o makes no name for the window at %.3f s", (double)window->from_ns / 1e9);
    good = good && conversion_open(to->conversion, path, why);
    if (good) {
        struct aggregate *aggregate = window->content;
        write_profile(to, aggregate, &part);
        good = conversion_close(to->conversion, to, path, aggregate->samples, why);
    }
    free(path);
    return good;
}

static bool write_windows(struct to_pprof *to, uint64_t due_ns, struct fault *why)
{
    bool good = true;
    for (struct window *window; good && (window = windows_next(&to->windows, due_ns));
         window_free(&to->windows, window))
        good = write_window(to, window, due_ns != UINT64_MAX || to->windows.count > 0, why);
    return good;
}

/* Writes the windows that are due. */
static bool to_pprof_end_tick(struct to_pprof *to, uint64_t time_ns, struct fault *why)
{
    const uint64_t due_ns = windows_due_ns(&to->windows, time_ns);
    return !due_ns || write_windows(to, due_ns, why);
}

static bool take_for_window(struct to_pprof *to, struct event *event, struct fault *why)
{
    switch (event->kind) {
    case EVENT_RECORDING:
        if (event->recording.start_unix_ns == 0)
            return fault(why, "it does not say when it was recorded, which --every needs");
        windows_begin(&to->windows, event->recording.start_unix_ns);
        return true;
    case EVENT_RUN:
        windows_add_run(&to->windows, &event->run);
        return true;
    case EVENT_TICK:
        return to_pprof_end_tick(to, event->tick_ns, why);
    default:
        return true;
    }
}

static bool to_pprof_take(void *self, struct event *event, struct fault *why)
{
    struct to_pprof *to = self;
    if (to->wanted->every_ns)
        return take_for_window(to, event, why);
    aggregate_take(&to->aggregate, event);
    return true;
}

static bool to_pprof_finish(void *self, struct fault *why)
{
    struct to_pprof *to = self;
    const struct pprof_part whole = { 0 };
    if (to->wanted->every_ns) {
        interrupt_over();
        return write_windows(to, UINT64_MAX, why);
    }
    write_profile(to, &to->aggregate, &whole);
    return true;
}

static void to_pprof_drop(void *self)
{
    struct to_pprof *to = self;
    aggregate_free(&to->aggregate);
    windows_free(&to->windows);
    free(to);
}

/* A profile begins with a type of its values: field 1, whose field 1 comes first. */
static bool to_pprof_recognises(struct text head)
{
    return head.size > 2 && head.bytes[0] == 0x0A && head.bytes[2] == 0x08;
}

static const struct converter to_pprof = {
    .name = "pyreel-pprof",
    .makes = "Writes a profile for go tool pprof, with threads as labels.",
    .takes = TAKES_DEBUG_INFO | TAKES_MODE | TAKES_SELECTION | TAKES_DETAIL | TAKES_COLUMNS | TAKES_OPCODES,
    .options.rows = options,
    .options.size = sizeof(struct pprof_wanted),
    .options.apply = to_pprof_apply,
    .options.problem = to_pprof_problem,
    .file.suffix = ".pb.gz",
    .file.packing = PACKING_ALWAYS,
    .file.recognises = to_pprof_recognises,
    .plan = to_pprof_plan,
    .events.runs = true,
    .events.places_cpu = true,
    .events.take = to_pprof_take,
    .start = to_pprof_start,
    .finish = to_pprof_finish,
    .drop = to_pprof_drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_pprof);
}
