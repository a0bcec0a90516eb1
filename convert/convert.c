/* SPDX-License-Identifier: MIT */
#include "convert/convert.h"

#include "convert/filters/merge.h"
#include "convert/inputs.h"
#include "convert/loss.h"
#include "convert/options.h"
#include "convert/output_path.h"
#include "convert/source.h"
#include "convert/symbols/c_lines.h"
#include "formats/base/alloc.h"
#include "formats/base/json.h"
#include "formats/base/monotonic.h"
#include "formats/base/startup.h"
#include "formats/base/utf8.h"
#include "formats/scratch/tempfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_NS  200000000           /* between two updates of the progress line */
#define MEMORY_USUAL ((uint64_t)4 << 30) /* --max-memory, if the machine has twice as much */

/* The pipeline takes events from the recordings, through the passes, to the output. Its functions are below. */
struct pipeline {
    struct conversion conversion;
    void *self;         /* state of the output */
    struct sink output; /* the sums and the output, or the mode filter in front */
    struct sink placed; /* where the events of the CPU owner go; .take is NULL when it has no work */
    struct mode_filter mode_filter;
    struct mode_filter span_filter; /* behind the CPU owner: a look has its CPU time whatever is left out beside it */
    struct inputs inputs;
    const struct input *input; /* the recording that is being read, ... */
    uint64_t input_bytes;      /* ... and its size; 0 for a pipe */
    struct source source;
    struct c_lines c_lines; /* in front of the tables; used when the output shows lines of C functions */
    bool merging;           /* several recordings, or a part of one: events go through `merge` */
    struct merge merge;     /* used when merging */
    struct tables own;      /* used when merging: the tables of the recording that is being read */
    bool refused;           /* the tables refused an event: the recording contradicts itself */
    bool stopped;           /* the output refused an event: no recording can be converted */
    size_t read;            /* number of recordings that could be read */
    uint64_t samples;       /* samples of all recordings that were read */
    uint64_t lost;          /* lost samples of the recording that was read last */
    bool show_progress;
    bool progress_shown;
    int64_t progress_due_ns;
};

/* The tables of the recording that is being read. */
static const struct tables *tables_of(const struct pipeline *pipeline)
{
    return pipeline->merging ? &pipeline->own : &pipeline->conversion.tables;
}

struct converter_plan converter_plan(const struct converter *converter, const struct settings *settings)
{
    return converter->plan ? converter->plan(settings) : (struct converter_plan){ 0 };
}

/* Whether recordings are compared: they are read in the order of the user, each begins at time 0, the same one may be
 * there twice, and none may be left out. */
static bool compares(const struct pipeline *pipeline)
{
    return pipeline->conversion.converter->several == SEVERAL_COMPARED || pipeline->conversion.settings.before > 0;
}

/* The number of samples read from the recording, with the samples that the output does not get. */
static uint64_t samples_read(const struct pipeline *pipeline)
{
    return tables_of(pipeline)->defined;
}

static void show_progress(struct pipeline *pipeline)
{
    const int64_t now = pipeline->show_progress ? monotonic_ns() : 0;
    if (!pipeline->show_progress || now < pipeline->progress_due_ns)
        return;
    pipeline->progress_due_ns = now + PROGRESS_NS;
    pipeline->progress_shown = true;
    fprintf(stderr, "\r%s: %" PRIu64 " samples", pipeline->conversion.converter->name, samples_read(pipeline));
    if (pipeline->input_bytes > 0)
        fprintf(stderr, ", %" PRIu64 " %%", source_report(&pipeline->source).bytes * 100 / pipeline->input_bytes);
    fprintf(stderr, "  ");
}

static void end_progress(struct pipeline *pipeline)
{
    if (pipeline->progress_shown)
        fprintf(stderr, "\r\x1b[K");
    pipeline->progress_shown = false;
}

/* ---- events ---- */

/* Whether the mode or the output needs the status of samples. */
static bool needs_status(const struct pipeline *pipeline)
{
    return mode_filter_selects(&pipeline->mode_filter) || !pipeline->conversion.plan.without_status;
}

/* Who needs no status needs no CPU time. */
static bool places_cpu(const struct pipeline *pipeline)
{
    return pipeline->conversion.converter->events.places_cpu && needs_status(pipeline);
}

/* Counts an event of the wanted span, and gives it to the output. */
static bool take_of_span(void *self, struct event *event, struct fault *why)
{
    struct pipeline *pipeline = self;
    tables_count(&pipeline->conversion.tables, event);
    return pipeline->conversion.converter->events.take(pipeline->self, event, why);
}

static struct sink span_output(struct pipeline *pipeline)
{
    return (struct sink){ .take = take_of_span, .self = pipeline };
}

/* Gives an event to the output if it is of the wanted span. */
static bool take_behind_owner(void *self, struct event *event, struct fault *why)
{
    struct pipeline *pipeline = self;
    const struct sink output = span_output(pipeline);
    return mode_filter_take(&pipeline->span_filter, event, &output, why);
}

/* Where the events of the CPU owner go. */
static struct sink convert_placed_sink(struct pipeline *pipeline)
{
    const struct converter_events *events = &pipeline->conversion.converter->events;
    if (!places_cpu(pipeline))
        return (struct sink){ 0 };
    if (pipeline->span_filter.span.by)
        return (struct sink){ .take = take_behind_owner, .self = pipeline };
    return (struct sink){ .take = events->take, .self = pipeline->self };
}

/* Counts an event that the output gets, unless the span decides that later. */
static bool take_counted(void *self, struct event *event, struct fault *why)
{
    struct pipeline *pipeline = self;
    const struct converter_events *events = &pipeline->conversion.converter->events;
    const bool spans = pipeline->span_filter.span.by;
    if (!spans)
        tables_count(&pipeline->conversion.tables, event);
    if (!pipeline->placed.take)
        return spans ? take_behind_owner(pipeline, event, why)
                     : !events->take || events->take(pipeline->self, event, why);
    pipeline->conversion.cpu_owner.tables = &pipeline->conversion.tables;
    /* The definition of a thread may be lost, and its number be anything. */
    const bool lost = event->kind == EVENT_LEFT_OUT &&
                      event->left_out.thread >= pipeline->conversion.tables.threads_count;
    return lost || cpu_owner_take(&pipeline->conversion.cpu_owner, event, &pipeline->placed, why);
}

static struct sink counted_output(struct pipeline *pipeline)
{
    return (struct sink){ .take = take_counted, .self = pipeline };
}

/* Gives an event to the output if the mode keeps it. */
static bool take_kept(void *self, struct event *event, struct fault *why)
{
    struct pipeline *pipeline = self;
    const struct sink output = counted_output(pipeline);
    return mode_filter_take(&pipeline->mode_filter, event, &output, why);
}

/* Gives an event that the tables of the output have accepted to the passes, and so to the output. */
static bool pipeline_give(struct pipeline *pipeline, struct event *event, struct fault *why)
{
    const bool lost = (event->kind == EVENT_RUN && event->run.stack == STACK_LOST) ||
                      (event->kind == EVENT_MEASURE && event->measure.process == 0);
    return lost || sink_take(&pipeline->output, event, why);
}

/* Takes an event that the merge has made from an event of a recording. */
static bool take_merged(void *self, struct event *event, struct fault *why)
{
    struct pipeline *pipeline = self;
    return tables_define(&pipeline->conversion.tables, event, why) && pipeline_give(pipeline, event, why);
}

/* Prepares for a recording whose EVENT_RECORDING has been read. */
static bool convert_begin_recording(struct pipeline *pipeline, struct event *event, struct fault *why)
{
    if (!mode_filter_fits(&pipeline->mode_filter, &event->recording, why))
        return false;
    if (!pipeline->merging)
        return true;
    if (!pipeline->merge.opened) {
        const struct recording whole = inputs_begin(&pipeline->inputs, &pipeline->own.recording);
        if (!merge_open(&pipeline->merge, &whole, why))
            return false;
    }
    const struct input *input = pipeline->input;
    merge_next(&pipeline->merge, &pipeline->own, pipeline->inputs.count > 1 ? input->name : (struct text){ 0 },
               inputs_offset_ns(&pipeline->inputs, event->recording.start_unix_ns));
    for (size_t i = 1; i < input->wanted_room; i++)
        if (input->wanted[i])
            merge_want(&pipeline->merge, (uint32_t)i);
    return true;
}

static bool pass_on(struct pipeline *pipeline, struct event *event, struct fault *why)
{
    if (event->kind == EVENT_RECORDING && !convert_begin_recording(pipeline, event, why))
        return false;
    return pipeline->merging ? merge_take(&pipeline->merge, event, why) : pipeline_give(pipeline, event, why);
}

static bool take_event(void *self, struct event *event, struct fault *why)
{
    struct pipeline *pipeline = self;
    struct tables *tables = pipeline->merging ? &pipeline->own : &pipeline->conversion.tables;
    tables->forgiving = source_is_damaged(&pipeline->source);
    if (!(pipeline->merging ? tables_take : tables_define)(tables, event, why)) {
        pipeline->refused = true;
        return false;
    }
    pipeline->stopped |= !pass_on(pipeline, event, why);
    return !pipeline->stopped;
}

/* Takes an event of the file. */
static bool take_from_file(void *self, struct event *event, struct fault *why)
{
    struct pipeline *pipeline = self;
    return c_lines_take(&pipeline->c_lines, event, why);
}

/* Where the events of the file go. */
static struct sink source_sink(struct pipeline *pipeline)
{
    const bool lines = pipeline->c_lines.source != DEBUG_NONE;
    return (struct sink){ .take = lines ? take_from_file : take_event, .self = pipeline };
}

/* Counts an event that the tables refused as damage. True: the source drops the rest of the block and goes on with the
 * next block. False: the tables refused nothing, or files of this kind cannot be damaged. */
static bool forgive_refusal(struct pipeline *pipeline, struct fault *why)
{
    if (!pipeline->refused || !source_forgive(&pipeline->source, why->text))
        return false;
    pipeline->refused = false;
    why->text[0] = '\0';
    return true;
}

static bool convert_events(struct pipeline *pipeline, struct fault *why)
{
    const struct sink sink = source_sink(pipeline);
    for (;;) {
        const enum source_state state = source_read(&pipeline->source, &sink, why);
        show_progress(pipeline);
        if (state == SOURCE_ENDED)
            return true;
        if (state == SOURCE_STOPPED && !forgive_refusal(pipeline, why))
            return false;
    }
}

/* ---- the report ---- */

static void count_loss(struct pipeline *pipeline)
{
    struct tables *all = &pipeline->conversion.tables;
    const struct source_report *report = &pipeline->conversion.report;
    pipeline->samples += samples_read(pipeline);
    pipeline->lost = loss_of(report, tables_of(pipeline), samples_read(pipeline));
    all->missing += pipeline->lost < INT64_MAX - all->missing ? pipeline->lost : INT64_MAX - all->missing;
    all->missing_estimated |= !report->ended && !report->complete;
}

static void warn_of_loss(const struct pipeline *pipeline)
{
    if (pipeline->lost > 0 && !pipeline->conversion.report.ended)
        fprintf(stderr, "; about %" PRIu64 " samples are lost", pipeline->lost);
    else if (pipeline->lost > 0)
        fprintf(stderr, "; %" PRIu64 " of %" PRIu64 " samples are lost", pipeline->lost,
                tables_of(pipeline)->end.samples);
}

/* Warns that a part of the recording is damaged. */
static void warn_of_damage(const struct pipeline *pipeline)
{
    const struct conversion *conversion = &pipeline->conversion;
    const struct damage *damage = &conversion->report.damage;
    fprintf(stderr, "%s: warning: %s is damaged (first problem: %s)", pipeline->conversion.converter->name,
            utf8_shown(conversion->settings.input), utf8_shown(damage->first.text));
    if (damage->bytes > 0)
        fprintf(stderr, "; %" PRIu64 " bytes are skipped", damage->bytes);
    warn_of_loss(pipeline);
    fprintf(stderr, "\n");
}

/* Warns that the end of the recording is missing. */
static void warn_of_ending(const struct pipeline *pipeline)
{
    const struct conversion *conversion = &pipeline->conversion;
    fprintf(stderr, "%s: warning: %s is not complete: %s; only the first %.3f s are readable",
            pipeline->conversion.converter->name, utf8_shown(conversion->settings.input), conversion->report.ending,
            (double)tables_of(pipeline)->last_ns / 1e9);
    if (conversion->report.ended || conversion->report.damage.cut)
        warn_of_loss(pipeline);
    fprintf(stderr, "\n");
}

/* Warns of files that are not there, between the files of a recording. */
static void warn_of_missing_parts(const struct pipeline *pipeline)
{
    const struct conversion *conversion = &pipeline->conversion;
    const uint32_t missing = conversion->report.missing;
    if (missing > 0)
        fprintf(stderr,
                "%s: warning: of the recording that begins with %s, %" PRIu32
                " part%s missing; nothing is shown of that time\n",
                conversion->converter->name, conversion->settings.input, missing, missing == 1 ? " is" : "s are");
}

/* Warns of everything that is missing. Returns whether nothing is missing. */
static bool check_whole(const struct pipeline *pipeline)
{
    const struct conversion *conversion = &pipeline->conversion;
    const struct damage *damage = &conversion->report.damage;
    const struct tables *tables = tables_of(pipeline);
    /* If the file ends in the middle of a block, warn_of_ending() reports the bytes of this block. */
    const bool only_cut = damage->cut && !conversion->report.complete;
    const bool damaged = damage->blocks || damage->duplicates || (damage->bytes && !only_cut);
    const bool short_of = conversion->report.complete && samples_read(pipeline) != tables->end.samples;
    warn_of_missing_parts(pipeline);
    if (damaged || short_of)
        warn_of_damage(pipeline);
    if (!conversion->report.complete)
        warn_of_ending(pipeline);
    return conversion->report.complete && !damaged && !short_of && conversion->report.missing == 0;
}

/* Warns of samples that were left out because they lack the status that --mode or --no-idle needs. mode_filter_finish()
 * fails when all samples lack it. */
static void warn_of_unknown(const struct pipeline *pipeline)
{
    if (pipeline->mode_filter.unknown > 0)
        fprintf(stderr,
                "%s: warning: %" PRIu64 " of %" PRIu64 " samples lack the status that %s needs and are left out\n",
                pipeline->conversion.converter->name, pipeline->mode_filter.unknown, pipeline->mode_filter.samples,
                mode_filter_name(&pipeline->mode_filter));
}

/* Warns that numbers of samples stand for different times. */
static void warn_of_rates(const struct pipeline *pipeline)
{
    if (pipeline->conversion.plan.only_counts && tables_intervals_differ(&pipeline->conversion.tables))
        fprintf(stderr,
                "%s: warning: the recordings have different rates, so their numbers of samples cannot be compared; use "
                "--weight wall\n",
                pipeline->conversion.converter->name);
}

static void warn_of_no_opcodes(const struct pipeline *pipeline)
{
    const struct conversion *conversion = &pipeline->conversion;
    if (conversion->settings.opcodes && !tables_have_instructions(&conversion->tables))
        fprintf(stderr, "%s: warning: %s has no instructions to show; record again with pyreel-record --opcodes\n",
                pipeline->conversion.converter->name, utf8_shown(conversion->settings.input));
}

static void report(const struct conversion *conversion, const char *path, uint64_t samples, uint64_t written)
{
    const struct settings *settings = &conversion->settings;
    if (settings->quiet || conversion->plan.keeps || strcmp(path, "-") == 0 ||
        !(settings->verbose || isatty(STDERR_FILENO)))
        return;
    fprintf(stderr, "%s: wrote %s: %" PRIu64 " samples, %" PRIu64 " bytes\n", conversion->converter->name,
            utf8_shown(path), samples, written);
}

/* Opens the temporary file of a converter that keeps its output. */
static bool open_kept(struct conversion *conversion, struct fault *why)
{
    conversion->kept_fd = tempfile_create(why);
    if (conversion->kept_fd < 0)
        return false;
    const int written_fd = fcntl(conversion->kept_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (written_fd < 0)
        return fault(why, "cannot open a temporary file twice: %s", strerror(errno));
    output_open_fd(&conversion->output, written_fd, "a temporary file (set TMPDIR to choose another folder)",
                   conversion->converter->file.packing != PACKING_NEVER);
    return true;
}

bool conversion_open(struct conversion *conversion, const char *path, struct fault *why)
{
    if (conversion->plan.keeps)
        return open_kept(conversion, why);
    return output_path_open(conversion, path, why);
}

bool conversion_close(struct conversion *conversion, void *self, const char *path, uint64_t samples, struct fault *why)
{
    uint64_t written;
    if (!output_close(&conversion->output, &written, why))
        return false;
    report(conversion, path, samples, written);
    if (conversion->converter->delivery.closed)
        conversion->converter->delivery.closed(self, path, written);
    return true;
}

/* ---- all recordings ---- */

/* Leaves out a recording that cannot be read. False with the reason if there is no other one, or the output failed. */
static bool pipeline_leave_out(struct pipeline *pipeline, struct fault *why)
{
    const struct fault cause = *why;
    why->text[0] = '\0';
    if (pipeline->inputs.count == 1 || pipeline->stopped || compares(pipeline))
        return fault(why, "cannot convert %s: %s", pipeline->conversion.settings.input, cause.text);
    end_progress(pipeline);
    fprintf(stderr, "%s: warning: %s is left out: %s\n", pipeline->conversion.converter->name,
            utf8_shown(pipeline->conversion.settings.input), cause.text);
    pipeline->conversion.whole = false;
    pipeline->merge.cut = true;
    return true;
}

/* Ends one of the recordings that are merged, or a part of a recording. */
static void convert_end_recording(struct pipeline *pipeline)
{
    merge_end_recording(&pipeline->merge);
    const struct converter_events *events = &pipeline->conversion.converter->events;
    if (pipeline->inputs.count > 1 && events->take_recording)
        events->take_recording(pipeline->self, &pipeline->own, pipeline->input->name);
}

static bool read_recording(struct pipeline *pipeline, int fd, struct fault *why)
{
    const struct source_options options = {
        .runs = pipeline->conversion.converter->events.runs && !pipeline->merging && !pipeline->conversion.plan.splits,
        .run_ns = places_cpu(pipeline) ? CPU_WINDOW_NS : 0,
        .without_status = !needs_status(pipeline),
        .without_stands = pipeline->conversion.plan.only_counts,
        .file_bytes = pipeline->input_bytes,
    };
    const struct sink sink = source_sink(pipeline);
    if (!inputs_open_source(pipeline->input, &pipeline->source, fd, &options, &sink, why))
        return pipeline_leave_out(pipeline, why);
    pipeline->read++;
    const bool good = convert_events(pipeline, why);
    pipeline->conversion.report = source_report(&pipeline->source);
    count_loss(pipeline);
    if (!good)
        return pipeline_leave_out(pipeline, why);
    if (pipeline->merging)
        convert_end_recording(pipeline);
    end_progress(pipeline);
    return true;
}

static bool read_input(struct pipeline *pipeline, const char *output, struct fault *why)
{
    struct conversion *conversion = &pipeline->conversion;
    const int fd = inputs_open_file(pipeline->input->path, &pipeline->input_bytes, why);
    if (fd < 0)
        return false;
    if (pipeline->input->parts)
        pipeline->input_bytes = pipeline->input->parts->bytes;
    conversion->settings.input = pipeline->input->path;
    tables_free(&pipeline->own);
    c_lines_next(&pipeline->c_lines, tables_of(pipeline));
    conversion->input_fd = fd;
    if (!pipeline->self && output && !conversion->plan.splits && !conversion_open(conversion, output, why)) {
        inputs_close_file(fd);
        return false;
    }
    if (!pipeline->self) {
        pipeline->self = pipeline->conversion.converter->start(conversion);
        pipeline->placed = convert_placed_sink(pipeline);
        pipeline->output = mode_filter_selects(&pipeline->mode_filter)
                               ? (struct sink){ .take = take_kept, .self = pipeline }
                               : counted_output(pipeline);
    }
    const size_t read_before = pipeline->read;
    const bool good = read_recording(pipeline, fd, why);
    source_close(&pipeline->source);
    inputs_close_file(fd);
    if (good && pipeline->merging && pipeline->read > read_before)
        pipeline->conversion.whole &= check_whole(pipeline);
    return good;
}

bool convert_nothing_left(const struct conversion *conversion, struct fault *why)
{
    const struct settings *settings = &conversion->settings;
    return !settings->filters ||
           fault(why, "no sample of %s matches %s; pyreel-info without options shows times, threads and states",
                 settings->input, settings->filters);
}

/* `output` NULL: the recordings become part of a list, which is written later. */
static bool convert_read_all(struct pipeline *pipeline, const char *output, struct fault *why)
{
    struct conversion *conversion = &pipeline->conversion;
    for (size_t i = 0; i < pipeline->inputs.count; i++) {
        pipeline->input = &pipeline->inputs.rows[i];
        if (!read_input(pipeline, output, why))
            return false;
    }
    if (pipeline->inputs.count > 1)
        conversion->settings.input = "the recordings";
    if (pipeline->read == 0)
        return fault(why, "none of the recordings could be read; the warnings above say why");
    const struct sink sink = counted_output(pipeline);
    struct fault cause = { 0 };
    if (pipeline->merging && !merge_finish(&pipeline->merge, why))
        return false;
    conversion->tables.cut = pipeline->merge.cut;
    if (!mode_filter_finish(&pipeline->mode_filter, &sink, &cause))
        return fault(why, "cannot convert %s: %s", conversion->settings.input, cause.text);
    if (!cpu_owner_finish(&conversion->cpu_owner, &pipeline->placed, why))
        return false;
    const struct sink to_output = span_output(pipeline);
    if (!mode_filter_finish(&pipeline->span_filter, &to_output, &cause))
        return fault(why, "cannot convert %s: %s", conversion->settings.input, cause.text);
    if (pipeline->samples > 0 && conversion->tables.samples == 0 && !convert_nothing_left(conversion, why))
        return false;
    tables_end_taking(&conversion->tables);
    return pipeline->conversion.converter->finish(pipeline->self, why);
}

static void pipeline_drop(struct pipeline *pipeline)
{
    if (pipeline->self)
        pipeline->conversion.converter->drop(pipeline->self);
    c_lines_free(&pipeline->c_lines);
    merge_free(&pipeline->merge);
    mode_filter_free(&pipeline->mode_filter);
    mode_filter_free(&pipeline->span_filter);
    cpu_owner_free(&pipeline->conversion.cpu_owner);
    tables_free(&pipeline->own);
    tables_free(&pipeline->conversion.tables);
    inputs_close(&pipeline->inputs);
    if (pipeline->conversion.kept_fd >= 0)
        close(pipeline->conversion.kept_fd);
}

static bool open_and_read(struct pipeline *pipeline, const char *output, struct fault *why)
{
    const struct settings *settings = &pipeline->conversion.settings;
    struct selection *selection = &pipeline->conversion.settings.selection;
    const bool good = inputs_open(&pipeline->inputs, settings->inputs, settings->inputs_count, &settings->parts,
                                  selection, compares(pipeline), why) &&
                      selection_settle(selection, inputs_length_ns(&pipeline->inputs), why) &&
                      convert_read_all(pipeline, output, why);
    end_progress(pipeline);
    return good;
}

static int convert(struct pipeline *pipeline)
{
    struct conversion *conversion = &pipeline->conversion;
    const struct settings *settings = &conversion->settings;
    struct fault why = { 0 };
    char *path = output_path_make(settings, pipeline->conversion.converter);
    bool good = open_and_read(pipeline, path, &why);
    if (!good)
        output_abandon(&conversion->output);
    else if (!conversion->plan.splits)
        good = conversion_close(conversion, pipeline->self, path, conversion->tables.samples, &why);
    if (good) {
        if (!pipeline->merging)
            pipeline->conversion.whole = check_whole(pipeline);
        warn_of_unknown(pipeline);
        warn_of_rates(pipeline);
        warn_of_no_opcodes(pipeline);
        if (conversion->converter->delivery.after)
            good = conversion->converter->delivery.after(pipeline->self, conversion->plan.keeps ? NULL : path, &why);
    }
    if (!good)
        fprintf(stderr, "%s: %s\n", pipeline->conversion.converter->name, why.text);
    const bool fine = good && (pipeline->conversion.whole || !settings->strict);
    const int refusal = conversion->refusal;
    pipeline_drop(pipeline);
    free(path);
    return fine ? refusal : EXIT_FAILURE;
}

static void pipeline_begin(struct pipeline *pipeline, const struct converter *converter,
                           const struct settings *settings)
{
    *pipeline = (struct pipeline){ .conversion.converter = converter,
                                   .conversion.settings = *settings,
                                   .conversion.plan = converter_plan(converter, settings),
                                   .conversion.whole = true };
    pipeline->conversion.inputs = &pipeline->inputs;
    pipeline->conversion.kept_fd = -1;
    const bool shows_lines = converter->takes & TAKES_DEBUG_INFO && debug_info_exists();
    pipeline->c_lines.source = shows_lines ? settings->debug_source : DEBUG_NONE;
    pipeline->c_lines.lines_only = compares(pipeline); /* two builds inline other functions */
    pipeline->c_lines.to = (struct sink){ .take = take_event, .self = pipeline };
    pipeline->merging = settings->inputs_count > 1 || selection_is_partial(&settings->selection);
    pipeline->merge.to = (struct sink){ .take = take_merged, .self = pipeline };
    pipeline->merge.selection = &pipeline->conversion.settings.selection;
    pipeline->merge.alike.before = settings->before ? settings->before : compares(pipeline);
    pipeline->conversion.alike = &pipeline->merge.alike;
    pipeline->mode_filter.mode = settings->mode;
    pipeline->mode_filter.no_idle = settings->no_idle;
    pipeline->span_filter.span = settings->span;
    pipeline->show_progress = !settings->quiet && isatty(STDERR_FILENO) && !pipeline->conversion.plan.splits;
    pipeline->progress_due_ns = monotonic_ns() + PROGRESS_NS;
}

/* ---- a list of recordings ---- */

/* Reads one of several recordings, and adds it to the list. False: the recording cannot be listed, or is not whole and
 * has to be. */
static bool list_recording(const struct converter *converter, const struct settings *all, char **path, void *list)
{
    struct pipeline pipeline;
    struct settings settings = *all;
    struct fault why = { 0 };
    settings.inputs = path;
    settings.inputs_count = 1;
    pipeline_begin(&pipeline, converter, &settings);
    pipeline.conversion.list = list;
    const bool good = open_and_read(&pipeline, NULL, &why);
    if (!good)
        converter->listing->add_failed(list, *path, why.text);
    else if (!pipeline.merging)
        pipeline.conversion.whole = check_whole(&pipeline);
    pipeline_drop(&pipeline);
    return good && (pipeline.conversion.whole || !all->strict);
}

static bool convert_write_list(struct pipeline *pipeline, void *list, struct fault *why)
{
    struct conversion *conversion = &pipeline->conversion;
    char *path = output_path_make(&conversion->settings, pipeline->conversion.converter);
    bool good = conversion_open(conversion, path, why);
    if (good) {
        conversion->tables.samples = pipeline->conversion.converter->listing->write(list, conversion);
        good = conversion_close(conversion, pipeline->self, path, conversion->tables.samples, why);
    }
    free(path);
    return good;
}

static int list_recordings(const struct converter *converter, const struct settings *settings)
{
    struct pipeline all;
    struct fault why = { 0 };
    bool fine = true;
    void *list = converter->listing->start();
    for (size_t i = 0; i < settings->inputs_count; i++)
        fine &= list_recording(converter, settings, &settings->inputs[i], list);
    pipeline_begin(&all, converter, settings);
    inputs_name(&all.inputs, settings->inputs, settings->inputs_count, &settings->parts);
    const bool good = convert_write_list(&all, list, &why);
    if (!good)
        fprintf(stderr, "%s: %s\n", converter->name, why.text);
    const int refusal = all.conversion.refusal;
    pipeline_drop(&all);
    converter->listing->drop(list);
    return good && fine ? refusal : EXIT_FAILURE;
}

/* Limits the memory of the program. A file may ask for any amount. */
static void limit_memory(const struct settings *settings, const char *program)
{
    const uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    const uint64_t usual = half < MEMORY_USUAL ? half : MEMORY_USUAL;
    const uint64_t bytes = settings->max_memory ? settings->max_memory : usual;
    static char way_out[256];
    snprintf(way_out, sizeof(way_out),
             "the recording takes more than %.4g MiB of memory, the limit of --max-memory; if you trust the recording, "
             "raise the limit, or read a part of it with --from and --to",
             (double)bytes / (1 << 20));
    json_use_alloc();
    alloc_limit(bytes, program, way_out);
}

int convert_main(int argc, char **argv, const struct converter *converter)
{
    struct settings settings = { .frames.fold[FOLD_INTERPRETER] = true };
    struct pipeline pipeline;
    int exit_code;
    startup(EXIT_FAILURE);
    const bool good = options_read(&settings, converter, argc, argv, &exit_code);
    if (good)
        limit_memory(&settings, converter->name);
    const int done = good && converter->delivery.before ? converter->delivery.before(&settings) : -1;
    if (done >= 0) {
        exit_code = done;
    } else if (good) {
        pipeline_begin(&pipeline, converter, &settings);
        const bool lists = converter->listing && settings.inputs_count > 1;
        exit_code = lists ? list_recordings(converter, &settings) : convert(&pipeline);
    }
    options_free(&settings);
    return exit_code;
}
