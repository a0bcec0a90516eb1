/* SPDX-License-Identifier: MIT */
#include "convert/convert.h"

#include "convert/filters/merge.h"
#include "convert/inputs.h"
#include "convert/loss.h"
#include "convert/options.h"
#include "convert/output_path.h"
#include "convert/source.h"
#include "formats/base/alloc.h"
#include "formats/base/json.h"
#include "formats/base/monotonic.h"
#include "formats/base/startup.h"
#include "formats/base/tempfile.h"
#include "formats/base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_NS  200000000           /* between two updates of the progress line */
#define MEMORY_USUAL ((uint64_t)4 << 30) /* --max-memory, if the machine has twice as much */

/* One run of a converter. */
struct run {
    struct conversion conversion;
    void *self;         /* state of the output */
    struct sink output; /* the sums and the output, or the mode filter in front */
    struct sink placed; /* where the events of the CPU owner go; .take is NULL when it has no work */
    struct mode_filter mode_filter;
    struct inputs inputs;
    const struct input *input; /* the recording that is being read, ... */
    uint64_t input_bytes;      /* ... and its size; 0 for a pipe */
    struct source source;
    bool merging;       /* several recordings, or a part of one: events go through `merge` */
    struct merge merge; /* used when merging */
    struct tables own;  /* used when merging: the tables of the recording that is being read */
    bool refused;       /* the tables refused an event: the recording contradicts itself */
    bool stopped;       /* the output refused an event: no recording can be converted */
    size_t read;        /* number of recordings that could be read */
    uint64_t samples;   /* samples of all recordings that were read */
    uint64_t lost;      /* lost samples of the recording that was read last */
    bool show_progress;
    bool progress_shown;
    int64_t progress_due_ns;
};

/* The tables of the recording that is being read. */
static const struct tables *tables_of(const struct run *run)
{
    return run->merging ? &run->own : &run->conversion.tables;
}

struct converter_plan converter_plan(const struct converter *converter, const struct settings *settings)
{
    return converter->plan ? converter->plan(settings) : (struct converter_plan){ 0 };
}

/* Whether recordings are compared: they are read in the order of the user, each begins at time 0, the same one may be
 * there twice, and none may be left out. */
static bool compares(const struct run *run)
{
    return run->conversion.converter->several == SEVERAL_COMPARED || run->conversion.settings.before > 0;
}

/* The number of samples read from the recording, with the samples that the output does not get. */
static uint64_t samples_read(const struct run *run)
{
    return tables_of(run)->defined;
}

static void show_progress(struct run *run)
{
    const int64_t now = run->show_progress ? monotonic_ns() : 0;
    if (!run->show_progress || now < run->progress_due_ns)
        return;
    run->progress_due_ns = now + PROGRESS_NS;
    run->progress_shown = true;
    fprintf(stderr, "\r%s: %" PRIu64 " samples", run->conversion.converter->name, samples_read(run));
    if (run->input_bytes > 0)
        fprintf(stderr, ", %" PRIu64 " %%", source_report(&run->source).bytes * 100 / run->input_bytes);
    fprintf(stderr, "  ");
}

static void end_progress(struct run *run)
{
    if (run->progress_shown)
        fprintf(stderr, "\r\x1b[K");
    run->progress_shown = false;
}

/* ---- events ---- */

/* Whether the mode or the output needs the status of samples. */
static bool needs_status(const struct run *run)
{
    return mode_filter_selects(&run->mode_filter) || !run->conversion.plan.without_status;
}

/* Where the events of the CPU owner go. Who needs no status needs no CPU time. */
static struct sink convert_placed_sink(const struct run *run)
{
    const struct converter_events *events = &run->conversion.converter->events;
    if (!events->places_cpu || !needs_status(run))
        return (struct sink){ 0 };
    return (struct sink){ .take = events->take, .self = run->self };
}

/* Counts an event that the output gets. */
static bool take_counted(void *self, struct event *event, struct fault *why)
{
    struct run *run = self;
    const struct converter_events *events = &run->conversion.converter->events;
    tables_count(&run->conversion.tables, event);
    if (!run->placed.take)
        return !events->take || events->take(run->self, event, why);
    /* The definition of a thread may be lost, and its number be anything. */
    const bool lost = event->kind == EVENT_LEFT_OUT && event->left_out.thread >= run->conversion.tables.threads_count;
    return lost || cpu_owner_take(&run->conversion.cpu_owner, event, &run->placed, why);
}

static struct sink counted_output(struct run *run)
{
    return (struct sink){ .take = take_counted, .self = run };
}

/* Gives an event to the output if the mode keeps it. */
static bool take_kept(void *self, struct event *event, struct fault *why)
{
    struct run *run = self;
    const struct sink output = counted_output(run);
    return mode_filter_take(&run->mode_filter, event, &output, why);
}

/* Gives an event that the tables of the output have accepted to the passes, and so to the output. */
static bool run_give(struct run *run, struct event *event, struct fault *why)
{
    const bool lost = (event->kind == EVENT_SAMPLE && event->sample.stack == STACK_LOST) ||
                      (event->kind == EVENT_MEASURE && event->measure.process == 0);
    return lost || sink_take(&run->output, event, why);
}

/* Takes an event that the merge has made from an event of a recording. */
static bool take_merged(void *self, struct event *event, struct fault *why)
{
    struct run *run = self;
    return tables_define(&run->conversion.tables, event, why) && run_give(run, event, why);
}

/* Prepares for a recording whose EVENT_RECORDING has been read. */
static bool convert_begin_recording(struct run *run, struct event *event, struct fault *why)
{
    if (!mode_filter_fits(&run->mode_filter, &event->recording, why))
        return false;
    if (!run->merging)
        return true;
    if (!run->merge.opened) {
        const struct recording whole = inputs_begin(&run->inputs, &run->own.recording);
        if (!merge_open(&run->merge, &whole, why))
            return false;
    }
    const struct input *input = run->input;
    merge_next(&run->merge, &run->own, run->inputs.count > 1 ? input->name : (struct text){ 0 },
               inputs_offset_ns(&run->inputs, event->recording.start_unix_ns));
    for (size_t i = 1; i < input->wanted_room; i++)
        if (input->wanted[i])
            merge_want(&run->merge, (uint32_t)i);
    return true;
}

static bool pass_on(struct run *run, struct event *event, struct fault *why)
{
    if (event->kind == EVENT_RECORDING && !convert_begin_recording(run, event, why))
        return false;
    return run->merging ? merge_take(&run->merge, event, why) : run_give(run, event, why);
}

static bool take_event(void *self, struct event *event, struct fault *why)
{
    struct run *run = self;
    struct tables *tables = run->merging ? &run->own : &run->conversion.tables;
    tables->forgiving = source_is_damaged(&run->source);
    if (!(run->merging ? tables_take : tables_define)(tables, event, why)) {
        run->refused = true;
        return false;
    }
    run->stopped |= !pass_on(run, event, why);
    return !run->stopped;
}

/* Counts an event that the tables refused as damage. True: the source drops the rest of the block and goes on with the
 * next block. False: the tables refused nothing, or files of this kind cannot be damaged. */
static bool forgive_refusal(struct run *run, struct fault *why)
{
    if (!run->refused || !source_forgive(&run->source, why->text))
        return false;
    run->refused = false;
    why->text[0] = '\0';
    return true;
}

static bool convert_events(struct run *run, struct fault *why)
{
    const struct sink sink = { .take = take_event, .self = run };
    for (;;) {
        const enum source_state state = source_read(&run->source, &sink, why);
        show_progress(run);
        if (state == SOURCE_ENDED)
            return true;
        if (state == SOURCE_STOPPED && !forgive_refusal(run, why))
            return false;
    }
}

/* ---- the report ---- */

static void count_loss(struct run *run)
{
    struct tables *all = &run->conversion.tables;
    const struct source_report *report = &run->conversion.report;
    run->samples += samples_read(run);
    run->lost = loss_of(report, tables_of(run), samples_read(run));
    all->missing += run->lost < INT64_MAX - all->missing ? run->lost : INT64_MAX - all->missing;
    all->missing_estimated |= !report->ended && !report->complete;
}

static void warn_of_loss(const struct run *run)
{
    if (run->lost > 0 && !run->conversion.report.ended)
        fprintf(stderr, "; about %" PRIu64 " samples are lost", run->lost);
    else if (run->lost > 0)
        fprintf(stderr, "; %" PRIu64 " of %" PRIu64 " samples are lost", run->lost, tables_of(run)->end.samples);
}

/* Warns that a part of the recording is damaged. */
static void warn_of_damage(const struct run *run)
{
    const struct conversion *conversion = &run->conversion;
    const struct damage *damage = &conversion->report.damage;
    fprintf(stderr, "%s: warning: %s is damaged (first problem: %s)", run->conversion.converter->name,
            utf8_shown(conversion->settings.input), utf8_shown(damage->first.text));
    if (damage->bytes > 0)
        fprintf(stderr, "; %" PRIu64 " bytes are skipped", damage->bytes);
    warn_of_loss(run);
    fprintf(stderr, "\n");
}

/* Warns that the end of the recording is missing. */
static void warn_of_ending(const struct run *run)
{
    const struct conversion *conversion = &run->conversion;
    fprintf(stderr, "%s: warning: %s is not complete: %s; only the first %.3f s are readable",
            run->conversion.converter->name, utf8_shown(conversion->settings.input), conversion->report.ending,
            (double)tables_of(run)->last_ns / 1e9);
    if (conversion->report.ended || conversion->report.damage.cut)
        warn_of_loss(run);
    fprintf(stderr, "\n");
}

/* Warns of files that are not there, between the files of a recording. */
static void warn_of_missing_parts(const struct run *run)
{
    const struct conversion *conversion = &run->conversion;
    const uint32_t missing = conversion->report.missing;
    if (missing > 0)
        fprintf(stderr,
                "%s: warning: of the recording that begins with %s, %" PRIu32
                " part%s missing; nothing is shown of that time\n",
                conversion->converter->name, conversion->settings.input, missing, missing == 1 ? " is" : "s are");
}

/* Warns of everything that is missing. Returns whether nothing is missing. */
static bool check_whole(const struct run *run)
{
    const struct conversion *conversion = &run->conversion;
    const struct damage *damage = &conversion->report.damage;
    const struct tables *tables = tables_of(run);
    /* If the file ends in the middle of a block, warn_of_ending() reports the bytes of this block. */
    const bool only_cut = damage->cut && !conversion->report.complete;
    const bool damaged = damage->blocks || damage->duplicates || (damage->bytes && !only_cut);
    const bool short_of = conversion->report.complete && samples_read(run) != tables->end.samples;
    warn_of_missing_parts(run);
    if (damaged || short_of)
        warn_of_damage(run);
    if (!conversion->report.complete)
        warn_of_ending(run);
    return conversion->report.complete && !damaged && !short_of && conversion->report.missing == 0;
}

/* Warns of samples that were left out because they lack the status that --mode or --no-idle needs. mode_filter_finish()
 * fails when all samples lack it. */
static void warn_of_unknown(const struct run *run)
{
    if (run->mode_filter.unknown > 0)
        fprintf(stderr,
                "%s: warning: %" PRIu64 " of %" PRIu64 " samples lack the status that %s needs and are left out\n",
                run->conversion.converter->name, run->mode_filter.unknown, run->mode_filter.samples,
                mode_filter_name(&run->mode_filter));
}

/* Warns that numbers of samples stand for different times. */
static void warn_of_rates(const struct run *run)
{
    if (run->conversion.plan.only_counts && tables_intervals_differ(&run->conversion.tables))
        fprintf(stderr,
                "%s: warning: the recordings have different rates, so their numbers of samples cannot be compared; use "
                "--weight wall\n",
                run->conversion.converter->name);
}

static void warn_of_no_opcodes(const struct run *run)
{
    const struct conversion *conversion = &run->conversion;
    if (conversion->settings.opcodes && !tables_have_instructions(&conversion->tables))
        fprintf(stderr, "%s: warning: %s has no instructions to show; record again with pyreel-record --opcodes\n",
                run->conversion.converter->name, utf8_shown(conversion->settings.input));
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
static bool run_leave_out(struct run *run, struct fault *why)
{
    const struct fault cause = *why;
    why->text[0] = '\0';
    if (run->inputs.count == 1 || run->stopped || compares(run))
        return fault(why, "cannot convert %s: %s", run->conversion.settings.input, cause.text);
    end_progress(run);
    fprintf(stderr, "%s: warning: %s is left out: %s\n", run->conversion.converter->name,
            utf8_shown(run->conversion.settings.input), cause.text);
    run->conversion.whole = false;
    run->merge.cut = true;
    return true;
}

/* Ends one of the recordings that are merged, or a part of a recording. */
static void convert_end_recording(struct run *run)
{
    merge_end_recording(&run->merge);
    const struct converter_events *events = &run->conversion.converter->events;
    if (run->inputs.count > 1 && events->take_recording)
        events->take_recording(run->self, &run->own, run->input->name);
}

static bool read_recording(struct run *run, int fd, struct fault *why)
{
    const struct source_options options = {
        .runs = run->conversion.converter->events.runs && !run->merging && !run->conversion.plan.splits,
        .without_status = !needs_status(run),
        .without_stands = run->conversion.plan.only_counts,
        .file_bytes = run->input_bytes,
    };
    const struct sink sink = { .take = take_event, .self = run };
    if (!inputs_open_source(run->input, &run->source, fd, &options, &sink, why))
        return run_leave_out(run, why);
    run->read++;
    const bool good = convert_events(run, why);
    run->conversion.report = source_report(&run->source);
    count_loss(run);
    if (!good)
        return run_leave_out(run, why);
    if (run->merging)
        convert_end_recording(run);
    end_progress(run);
    return true;
}

static bool read_input(struct run *run, const char *output, struct fault *why)
{
    struct conversion *conversion = &run->conversion;
    const int fd = inputs_open_file(run->input->path, &run->input_bytes, why);
    if (fd < 0)
        return false;
    if (run->input->parts)
        run->input_bytes = run->input->parts->bytes;
    conversion->settings.input = run->input->path;
    tables_free(&run->own);
    conversion->input_fd = fd;
    if (!run->self && output && !conversion->plan.splits && !conversion_open(conversion, output, why)) {
        inputs_close_file(fd);
        return false;
    }
    if (!run->self) {
        run->self = run->conversion.converter->start(conversion);
        run->placed = convert_placed_sink(run);
        run->output = mode_filter_selects(&run->mode_filter) ? (struct sink){ .take = take_kept, .self = run }
                                                             : counted_output(run);
    }
    const size_t read_before = run->read;
    const bool good = read_recording(run, fd, why);
    source_close(&run->source);
    inputs_close_file(fd);
    if (good && run->merging && run->read > read_before)
        run->conversion.whole &= check_whole(run);
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
static bool convert_read_all(struct run *run, const char *output, struct fault *why)
{
    struct conversion *conversion = &run->conversion;
    for (size_t i = 0; i < run->inputs.count; i++) {
        run->input = &run->inputs.rows[i];
        if (!read_input(run, output, why))
            return false;
    }
    if (run->inputs.count > 1)
        conversion->settings.input = "the recordings";
    if (run->read == 0)
        return fault(why, "none of the recordings could be read; the warnings above say why");
    const struct sink sink = counted_output(run);
    struct fault cause = { 0 };
    if (run->merging && !merge_finish(&run->merge, why))
        return false;
    conversion->tables.cut = run->merge.cut;
    if (!mode_filter_finish(&run->mode_filter, &sink, &cause))
        return fault(why, "cannot convert %s: %s", conversion->settings.input, cause.text);
    if (run->samples > 0 && conversion->tables.samples == 0 && !convert_nothing_left(conversion, why))
        return false;
    if (!cpu_owner_finish(&conversion->cpu_owner, &run->placed, why))
        return false;
    tables_end_taking(&conversion->tables);
    return run->conversion.converter->finish(run->self, why);
}

static void run_drop(struct run *run)
{
    if (run->self)
        run->conversion.converter->drop(run->self);
    merge_free(&run->merge);
    mode_filter_free(&run->mode_filter);
    cpu_owner_free(&run->conversion.cpu_owner);
    tables_free(&run->own);
    tables_free(&run->conversion.tables);
    inputs_close(&run->inputs);
    if (run->conversion.kept_fd >= 0)
        close(run->conversion.kept_fd);
}

static bool open_and_read(struct run *run, const char *output, struct fault *why)
{
    const struct settings *settings = &run->conversion.settings;
    struct selection *selection = &run->conversion.settings.selection;
    const bool good = inputs_open(&run->inputs, settings->inputs, settings->inputs_count, &settings->parts, selection,
                                  compares(run), why) &&
                      selection_settle(selection, inputs_length_ns(&run->inputs), why) &&
                      convert_read_all(run, output, why);
    end_progress(run);
    return good;
}

static int convert(struct run *run)
{
    struct conversion *conversion = &run->conversion;
    const struct settings *settings = &conversion->settings;
    struct fault why = { 0 };
    char *path = output_path_make(settings, run->conversion.converter);
    bool good = open_and_read(run, path, &why);
    if (!good)
        output_abandon(&conversion->output);
    else if (!conversion->plan.splits)
        good = conversion_close(conversion, run->self, path, conversion->tables.samples, &why);
    if (good) {
        if (!run->merging)
            run->conversion.whole = check_whole(run);
        warn_of_unknown(run);
        warn_of_rates(run);
        warn_of_no_opcodes(run);
        if (conversion->converter->delivery.after)
            good = conversion->converter->delivery.after(run->self, conversion->plan.keeps ? NULL : path, &why);
    }
    if (!good)
        fprintf(stderr, "%s: %s\n", run->conversion.converter->name, why.text);
    const bool fine = good && (run->conversion.whole || !settings->strict);
    const int refusal = conversion->refusal;
    run_drop(run);
    free(path);
    return fine ? refusal : EXIT_FAILURE;
}

static void run_begin(struct run *run, const struct converter *converter, const struct settings *settings)
{
    *run = (struct run){ .conversion.converter = converter,
                         .conversion.settings = *settings,
                         .conversion.plan = converter_plan(converter, settings),
                         .conversion.whole = true };
    run->conversion.inputs = &run->inputs;
    run->conversion.kept_fd = -1;
    run->merging = settings->inputs_count > 1 || selection_is_partial(&settings->selection);
    run->merge.to = (struct sink){ .take = take_merged, .self = run };
    run->merge.selection = &run->conversion.settings.selection;
    run->merge.compares = compares(run);
    run->mode_filter.mode = settings->mode;
    run->mode_filter.no_idle = settings->no_idle;
    run->show_progress = !settings->quiet && isatty(STDERR_FILENO) && !run->conversion.plan.splits;
    run->progress_due_ns = monotonic_ns() + PROGRESS_NS;
}

/* ---- a list of recordings ---- */

/* Reads one of several recordings, and adds it to the list. False: the recording cannot be listed, or is not whole and
 * has to be. */
static bool list_recording(const struct converter *converter, const struct settings *all, char **path, void *list)
{
    struct run run;
    struct settings settings = *all;
    struct fault why = { 0 };
    settings.inputs = path;
    settings.inputs_count = 1;
    run_begin(&run, converter, &settings);
    run.conversion.list = list;
    const bool good = open_and_read(&run, NULL, &why);
    if (!good)
        converter->listing->add_failed(list, *path, why.text);
    else if (!run.merging)
        run.conversion.whole = check_whole(&run);
    run_drop(&run);
    return good && (run.conversion.whole || !all->strict);
}

static bool convert_write_list(struct run *run, void *list, struct fault *why)
{
    struct conversion *conversion = &run->conversion;
    char *path = output_path_make(&conversion->settings, run->conversion.converter);
    bool good = conversion_open(conversion, path, why);
    if (good) {
        conversion->tables.samples = run->conversion.converter->listing->write(list, conversion);
        good = conversion_close(conversion, run->self, path, conversion->tables.samples, why);
    }
    free(path);
    return good;
}

static int list_recordings(const struct converter *converter, const struct settings *settings)
{
    struct run all;
    struct fault why = { 0 };
    bool fine = true;
    void *list = converter->listing->start();
    for (size_t i = 0; i < settings->inputs_count; i++)
        fine &= list_recording(converter, settings, &settings->inputs[i], list);
    run_begin(&all, converter, settings);
    inputs_name(&all.inputs, settings->inputs, settings->inputs_count, &settings->parts);
    const bool good = convert_write_list(&all, list, &why);
    if (!good)
        fprintf(stderr, "%s: %s\n", converter->name, why.text);
    const int refusal = all.conversion.refusal;
    run_drop(&all);
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
    struct settings settings = { 0 };
    struct run run;
    int exit_code;
    startup(EXIT_FAILURE);
    const bool good = options_read(&settings, converter, argc, argv, &exit_code);
    if (good)
        limit_memory(&settings, converter->name);
    const int done = good && converter->delivery.before ? converter->delivery.before(&settings) : -1;
    if (done >= 0) {
        exit_code = done;
    } else if (good) {
        run_begin(&run, converter, &settings);
        const bool lists = converter->listing && settings.inputs_count > 1;
        exit_code = lists ? list_recordings(converter, &settings) : convert(&run);
    }
    options_free(&settings);
    return exit_code;
}
