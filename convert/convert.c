/* SPDX-License-Identifier: MIT */
#include "convert/convert.h"

#include "convert/options.h"
#include "formats/alloc.h"
#include "formats/start.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PROGRESS_NS 200000000 /* between two updates of the progress line */

/* One run of a converter. */
struct run {
    const struct converter *converter;
    struct conversion conversion;
    void *self; /* the output's state */
    struct keep keep;
    bool refused; /* the tables refused an event: the recording contradicts itself */
    bool show_progress;
    bool progress_shown;
    int64_t progress_due_ns;
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Of the recording: also those that the output does not get. */
static uint64_t samples_read(const struct run *run)
{
    return run->conversion.tables.samples + run->keep.dropped;
}

static void show_progress(struct run *run)
{
    const int64_t now = run->show_progress ? now_ns() : 0;
    if (!run->show_progress || now < run->progress_due_ns)
        return;
    run->progress_due_ns = now + PROGRESS_NS;
    run->progress_shown = true;
    const struct conversion *conversion = &run->conversion;
    fprintf(stderr, "\r%s: %" PRIu64 " samples", run->converter->name, samples_read(run));
    if (conversion->input_bytes > 0)
        fprintf(stderr, ", %" PRIu64 " %%", conversion->reader.blocks.bytes_read * 100 / conversion->input_bytes);
    fprintf(stderr, "  ");
}

static void end_progress(struct run *run)
{
    if (run->progress_shown)
        fprintf(stderr, "\r\x1b[K");
    run->progress_shown = false;
}

/* ---- events ---- */

static bool take_event(void *self, struct event *event, struct fault *why)
{
    struct run *run = self;
    struct tables *tables = &run->conversion.tables;
    const struct damage *damage = &run->conversion.reader.blocks.damage;
    tables->forgiving = damage->bytes > 0 || damage->blocks > 0;
    if (!tables_take(tables, event, why)) {
        run->refused = true;
        return false;
    }
    if (event->kind == EVENT_RECORDING && !keep_fits(&run->keep, &event->recording, why))
        return false;
    if (!run->converter->take || (event->kind == EVENT_SAMPLE && event->sample.stack == STACK_LOST))
        return true;
    const struct sink output = { .take = run->converter->take, .self = run->self };
    return keep_take(&run->keep, tables, event, &output, why);
}

/* What the tables refuse is damage: the block ends there, the next one is tried. */
static bool forgive_refusal(struct run *run, struct fault *why)
{
    if (!run->refused)
        return false;
    run->refused = false;
    struct block_reader *blocks = &run->conversion.reader.blocks;
    blocks->damage.blocks++;
    block_note_damage(blocks, why->text);
    why->text[0] = '\0';
    return true;
}

/* The stream's reader has looked at the first bytes and refused them. What it is asked for in the report is told here.
 */
static bool open_tachyon(struct run *run, int fd, const struct sink *to, struct fault *why)
{
    struct conversion *conversion = &run->conversion;
    struct block_reader *blocks = &conversion->reader.blocks;
    const struct text begun = { (const char *)blocks->window + blocks->start, blocks->end - blocks->start };
    if (!tachyon_recognised(begun.bytes, begun.size))
        return false;
    why->text[0] = '\0';
    conversion->of_tachyon = true;
    if (!tachyon_reader_open(&conversion->tachyon, fd, begun, to, why))
        return false;
    blocks->bytes_read = conversion->tachyon.size;
    blocks->good_plain = conversion->tachyon.samples.plain_bytes;
    conversion->reader.complete = true;
    return true;
}

static bool open_recording(struct run *run, int fd, const struct sink *to, struct fault *why)
{
    return stream_reader_open(&run->conversion.reader, fd, to, why) || open_tachyon(run, fd, to, why);
}

static enum stream_state read_events(struct conversion *conversion, const struct sink *to, struct fault *why)
{
    return conversion->of_tachyon ? tachyon_read_some(&conversion->tachyon, to, why)
                                  : stream_read_block(&conversion->reader, to, why);
}

static bool convert_events(struct run *run, struct fault *why)
{
    struct conversion *conversion = &run->conversion;
    const struct sink sink = { .take = take_event, .self = run };
    for (;;) {
        const enum stream_state state = read_events(conversion, &sink, why);
        show_progress(run);
        if (state == STREAM_ENDED)
            break;
        if (state == STREAM_STOPPED && (conversion->of_tachyon || !forgive_refusal(run, why)))
            return false;
    }
    const struct sink output = { .take = run->converter->take, .self = run->self };
    return keep_finish(&run->keep, &conversion->tables, &output, why);
}

/* ---- files ---- */

static bool open_input(struct conversion *conversion, int *fd, struct fault *why)
{
    const char *path = conversion->settings.input;
    *fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat input;
    if (*fd < 0 || fstat(*fd, &input) != 0)
        return fault(why, "cannot open %s: %s", path, strerror(errno));
    if (S_ISDIR(input.st_mode))
        return fault(why, "%s is a folder, not a recording", path);
    if (*fd == STDIN_FILENO && isatty(*fd))
        return fault(why, "standard input is a terminal: give a recording, or pipe one in");
    conversion->input_bytes = S_ISREG(input.st_mode) ? (uint64_t)input.st_size : 0;
    return true;
}

/* The output that was asked for, or INPUT.suffix; what comes from standard input goes to standard output. */
static char *output_path(const struct settings *settings, const struct converter *converter)
{
    if (settings->output)
        return alloc_copy(settings->output, strlen(settings->output));
    if (!converter->suffix || strcmp(settings->input, "-") == 0)
        return alloc_copy("-", 1);
    char *path = alloc_zeroed(strlen(settings->input) + strlen(converter->suffix) + 1, 1);
    return strcat(strcpy(path, settings->input), converter->suffix);
}

static bool ends_in(const char *string, const char *end)
{
    const size_t size = strlen(string);
    return size >= strlen(end) && strcmp(string + size - strlen(end), end) == 0;
}

static bool open_output(struct run *run, const char *path, int input_fd, struct fault *why)
{
    const struct converter *converter = run->converter;
    struct stat input, output;
    const bool exists = strcmp(path, "-") == 0 ? fstat(STDOUT_FILENO, &output) == 0 : stat(path, &output) == 0;
    if (exists && S_ISREG(output.st_mode) && fstat(input_fd, &input) == 0 && input.st_ino == output.st_ino &&
        input.st_dev == output.st_dev)
        return fault(why, "%s is the recording itself: name another output with -o", path);
    if (converter->binary && strcmp(path, "-") == 0 && isatty(STDOUT_FILENO))
        return fault(why, "this output is not for a terminal: name a file with -o, or redirect it");
    const bool gzip = converter->packing == PACK_ALWAYS || (converter->packing == PACK_BY_NAME && ends_in(path, ".gz"));
    return output_open(&run->conversion.output, path, gzip, why);
}

/* ---- the report ---- */

const char *ending_text(const struct conversion *conversion)
{
    if (conversion->of_tachyon)
        return "it does not say what ended it";
    if (conversion->reader.ended)
        return end_reason_text(conversion->tables.end.reason);
    return conversion->reader.blocks.damage.cut ? "it is cut off" : "it has no end (was the recorder killed?)";
}

/* Its end tells how many samples there were. */
static void warn_of_loss(const struct run *run)
{
    const struct tables *tables = &run->conversion.tables;
    if (tables->end.samples > samples_read(run))
        fprintf(stderr, "; %" PRIu64 " of %" PRIu64 " samples are lost", tables->end.samples - samples_read(run),
                tables->end.samples);
}

/* A part of it is bad. How many samples that cost is known when its end tells how many there were. */
static void warn_of_damage(const struct run *run)
{
    const struct conversion *conversion = &run->conversion;
    const struct damage *damage = &conversion->reader.blocks.damage;
    fprintf(stderr, "%s: warning: %s is damaged (first: %s)", run->converter->name, conversion->settings.input,
            damage->first.text);
    if (conversion->reader.complete)
        warn_of_loss(run);
    else
        fprintf(stderr, "; some samples are lost");
    fprintf(stderr, "\n");
}

/* It goes only so far. */
static void warn_of_ending(const struct run *run)
{
    const struct conversion *conversion = &run->conversion;
    fprintf(stderr, "%s: warning: %s is not complete: %s; the first %.3f s are there", run->converter->name,
            conversion->settings.input, ending_text(conversion), (double)conversion->tables.last_ns / 1e9);
    if (conversion->reader.ended)
        warn_of_loss(run);
    fprintf(stderr, "\n");
}

/* Says what is missing. Returns whether nothing is. */
static bool check_whole(const struct run *run)
{
    const struct conversion *conversion = &run->conversion;
    const struct damage *damage = &conversion->reader.blocks.damage;
    const struct tables *tables = &conversion->tables;
    /* The bytes of a block that the file ends in are told with the missing end. */
    const bool only_cut = damage->cut && !conversion->reader.complete;
    const bool damaged = damage->blocks || damage->duplicates || (damage->bytes && !only_cut);
    const bool short_of = conversion->reader.complete && samples_read(run) != tables->end.samples;
    if (damaged || short_of)
        warn_of_damage(run);
    if (!conversion->reader.complete)
        warn_of_ending(run);
    return conversion->reader.complete && !damaged && !short_of;
}

/* Samples that did not say what the mode asks for were left out: with some of them that is a doubt, not a failure. */
static void warn_of_unknown(const struct run *run)
{
    if (run->keep.unknown > 0)
        fprintf(stderr, "%s: warning: %" PRIu64 " of %" PRIu64 " samples do not say what --mode asks for: left out\n",
                run->converter->name, run->keep.unknown, samples_read(run));
}

static void warn_of_no_opcodes(const struct run *run)
{
    const struct conversion *conversion = &run->conversion;
    if (conversion->settings.opcodes && !tables_have_instructions(&conversion->tables))
        fprintf(stderr, "%s: warning: %s has no instructions to show: record with pyreel-record --opcodes\n",
                run->converter->name, conversion->settings.input);
}

static void report(const struct run *run, const char *path, uint64_t written)
{
    const struct settings *settings = &run->conversion.settings;
    if (settings->quiet || strcmp(path, "-") == 0 || !(settings->verbose || isatty(STDERR_FILENO)))
        return;
    fprintf(stderr, "%s: wrote %s: %" PRIu64 " samples, %" PRIu64 " bytes\n", run->converter->name, path,
            run->conversion.tables.samples, written);
}

/* ---- the whole ---- */

static bool run_through(struct run *run, int input_fd, const char *path, struct fault *why)
{
    struct conversion *conversion = &run->conversion;
    const struct converter *converter = run->converter;
    if (!open_output(run, path, input_fd, why))
        return false;
    run->self = converter->start(conversion);
    const struct sink sink = { .take = take_event, .self = run };
    if (!open_recording(run, input_fd, &sink, why) || !convert_events(run, why)) {
        struct fault cause = *why;
        why->text[0] = '\0';
        return fault(why, "cannot convert %s: %s", conversion->settings.input, cause.text);
    }
    return converter->finish(run->self, why);
}

static int convert(struct run *run)
{
    struct conversion *conversion = &run->conversion;
    struct fault why = { 0 };
    int input_fd = -1;
    bool whole = true;
    uint64_t written = 0;
    char *path = output_path(&conversion->settings, run->converter);
    bool good = open_input(conversion, &input_fd, &why) && run_through(run, input_fd, path, &why);
    end_progress(run);
    if (run->self)
        run->converter->drop(run->self);
    if (good)
        good = output_close(&conversion->output, &written, &why);
    else
        output_abandon(&conversion->output);
    if (good) {
        whole = check_whole(run);
        warn_of_unknown(run);
        warn_of_no_opcodes(run);
        report(run, path, written);
    } else {
        fprintf(stderr, "%s: %s\n", run->converter->name, why.text);
    }
    stream_reader_close(&conversion->reader);
    tachyon_reader_close(&conversion->tachyon);
    keep_free(&run->keep);
    tables_free(&conversion->tables);
    if (input_fd > STDIN_FILENO)
        close(input_fd);
    free(path);
    const bool whole_needed = conversion->settings.strict || conversion->settings.verify;
    return good && (whole || !whole_needed) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int convert_main(int argc, char **argv, const struct converter *converter)
{
    struct run run = { .converter = converter };
    int exit_code;
    program_start(EXIT_FAILURE);
    if (!options_read(&run.conversion.settings, converter, argc, argv, &exit_code))
        return exit_code;
    run.keep.mode = run.conversion.settings.mode;
    run.show_progress = !run.conversion.settings.quiet && isatty(STDERR_FILENO);
    run.progress_due_ns = now_ns() + PROGRESS_NS;
    return convert(&run);
}
