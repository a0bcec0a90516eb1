/* SPDX-License-Identifier: MIT */
/* pyreel-otlp: converts a recording into a request of OpenTelemetry's protocol for profiles. */
#include "convert/convert.h"
#include "convert/fleets/interrupt.h"
#include "convert/fleets/windows.h"
#include "convert/otlp/sender.h"

#include "formats/base/alloc.h"
#include "formats/base/monotonic.h"
#include "formats/otlp/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum own_option {
    OPTION_JSON = OPTION_OWN,
    OPTION_AGGREGATE,
    OPTION_EVERY,
    OPTION_SPOOL,
    OPTION_SPOOL_SIZE,
    OPTION_STATS,
};

#define SPOOL_SIZE (64u << 20)

static const struct argument options[] = {
    { OPTION_JSON, 0, "json", NULL, 0, "write OTLP's JSON in the place of its bytes" },
    { OPTION_AGGREGATE, 0, "aggregate", NULL, 0, "write sums alone, without the time of each look" },
    { OPTION_EVERY, 0, "every", "SECONDS", 0,
      "make a request of each SECONDS of the clock, 1 or\n"
      "more; -o names files by their time:\n"
      "app-%Y%m%dT%H%M%S.otlp.gz" },
    { OPTION_SPOOL, 0, "spool", "DIR", 0, "keep what cannot be sent yet in DIR (memory)" },
    { OPTION_SPOOL_SIZE, 0, "spool-size", "SIZE", 0, "keep at most SIZE of it: 64M, 1G (64M)" },
    { OPTION_STATS, 0, "stats", NULL, 0, "print what was sent, and what sending took" },
    { 0 },
};

/* The values of this program's own options. */
struct otlp_wanted {
    bool json, aggregate, stats;
    uint64_t every_ns; /* the length of a window; 0: one request */
    struct sender_wishes wishes;
};

static bool to_otlp_apply(struct settings *settings, int number, const char *value)
{
    struct otlp_wanted *wanted = settings->wanted;
    switch ((enum own_option)number) {
    case OPTION_JSON:
        return wanted->json = true;
    case OPTION_AGGREGATE:
        return wanted->aggregate = true;
    case OPTION_EVERY:
        return arguments_parse_time(value, &wanted->every_ns) && wanted->every_ns >= WINDOW_LEAST_NS;
    case OPTION_SPOOL:
        wanted->wishes.spool = value;
        return *value != '\0';
    case OPTION_SPOOL_SIZE:
        return arguments_parse_size(value, &wanted->wishes.most) && wanted->wishes.most > 0;
    case OPTION_STATS:
        return wanted->stats = true;
    }
    return false;
}

/* Without -o, requests of windows go to a receiver. */
static bool sends(const struct settings *settings)
{
    const struct otlp_wanted *wanted = settings->wanted;
    return settings->receiver || (wanted->every_ns && !settings->output && sender_in_environment());
}

static const char *to_otlp_problem(const struct settings *settings)
{
    static struct fault why;
    const struct otlp_wanted *wanted = settings->wanted;
    why.text[0] = '\0';
    if (settings->receiver && !wanted->every_ns)
        return "--to needs --every, such as --every 10: a receiver takes a request of each window";
    if (settings->receiver && settings->output)
        return "--to sends the requests, and -o writes them: give one of both";
    if (settings->receiver && wanted->json)
        return "--json is for files and people: requests are sent as bytes";
    if ((wanted->wishes.spool || wanted->wishes.most) && !sends(settings))
        return "--spool and --spool-size need --every and a receiver: --to, or OTEL_EXPORTER_OTLP_ENDPOINT";
    if (wanted->every_ns && settings->inputs_count > 1)
        return "--every takes one recording: convert each recording by itself";
    if (!wanted->every_ns || sends(settings))
        return NULL;
    return windows_pattern_fits(settings->output, wanted->every_ns, &why) ? NULL : why.text;
}

static struct converter_plan to_otlp_plan(const struct settings *settings)
{
    const struct otlp_wanted *wanted = settings->wanted;
    return (struct converter_plan){ .splits = wanted->every_ns > 0, .binary = !wanted->json && !sends(settings) };
}

struct to_otlp {
    struct conversion *conversion;
    const struct otlp_wanted *wanted;
    struct otlp_looks looks; /* of the whole recording, or ... */
    struct windows windows;  /* ... of the windows */
    struct sender_wishes wishes;
    struct sender *sender;         /* NULL: the requests are files */
    uint64_t unplaced_ns;          /* CPU time without a look, as far as a request says it */
    uint64_t requests, longest_ns; /* of windows, and the longest time that one took to make */
};

/* ---- windows ---- */

static void start_timed(void *looks)
{
    ((struct otlp_looks *)looks)->timed = true;
}

static void add_to_window_looks(void *looks, const struct run *run)
{
    otlp_looks_add(looks, run);
}

static void free_window_looks(void *looks)
{
    otlp_looks_free(looks);
}

static const struct window_kind timed = { sizeof(struct otlp_looks), start_timed, add_to_window_looks,
                                          free_window_looks };
static const struct window_kind summed = { sizeof(struct otlp_looks), NULL, add_to_window_looks, free_window_looks };

static struct otlp_written write_looks(struct to_otlp *to, const struct otlp_looks *looks, uint64_t from_ns,
                                       uint64_t to_ns)
{
    struct conversion *conversion = to->conversion;
    const struct otlp_style style = { .detail = conversion->settings.detail,
                                      .json = to->wanted->json,
                                      .from_ns = from_ns,
                                      .to_ns = to_ns,
                                      .unplaced_cpu_ns = conversion->settings.span.by
                                                             ? 0
                                                             : conversion->cpu_owner.unplaced_ns - to->unplaced_ns };
    to->unplaced_ns += style.unplaced_cpu_ns;
    const int64_t began_ns = monotonic_ns();
    const struct otlp_written written = otlp_write(&conversion->output, &conversion->tables, looks, &style);
    const uint64_t took_ns = (uint64_t)(monotonic_ns() - began_ns);
    to->longest_ns = took_ns > to->longest_ns ? took_ns : to->longest_ns;
    return written;
}

static bool send_window(struct to_otlp *to, const struct window *window, struct fault *why)
{
    struct output *output = &to->conversion->output;
    if (!sender_file(to->sender, output, why))
        return false;
    write_looks(to, window->content, window->from_ns, window->to_ns);
    return sender_add(to->sender, output, why);
}

static bool write_to_file(struct to_otlp *to, const struct window *window, struct fault *why)
{
    char *path = windows_file_name(to->conversion->settings.output, window->start_unix_ns);
    bool good = path || fault(why, "-o makes no name for the window at %.3f s", (double)window->from_ns / 1e9);
    good = good && conversion_open(to->conversion, path, why);
    if (good) {
        const struct otlp_written written = write_looks(to, window->content, window->from_ns, window->to_ns);
        good = conversion_close(to->conversion, to, path, written.samples, why);
    }
    free(path);
    return good;
}

static bool otlp_write_windows(struct to_otlp *to, uint64_t due_ns, struct fault *why)
{
    bool good = true;
    for (struct window *window; good && (window = windows_next(&to->windows, due_ns));
         window_free(&to->windows, window)) {
        good = to->sender ? send_window(to, window, why) : write_to_file(to, window, why);
        to->requests++;
    }
    return good;
}

static bool otlp_take_for_window(struct to_otlp *to, struct event *event, struct fault *why)
{
    uint64_t due_ns;
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
        due_ns = windows_due_ns(&to->windows, event->tick_ns);
        return !due_ns || otlp_write_windows(to, due_ns, why);
    default:
        return true;
    }
}

/* ---- the conversion ---- */

static void *to_otlp_start(struct conversion *conversion)
{
    struct to_otlp *to = alloc_zeroed(1, sizeof(*to));
    to->conversion = conversion;
    to->wanted = conversion->settings.wanted;
    to->looks.timed = !to->wanted->aggregate;
    to->windows.every_ns = to->wanted->every_ns;
    to->windows.kind = to->wanted->aggregate ? &summed : &timed;
    if (to->wanted->every_ns)
        interrupt_ends(conversion->input_fd);
    return to;
}

/* Starts to send, with the first event: a recording that cannot be read sends nothing. */
static bool begin_sending(struct to_otlp *to, struct fault *why)
{
    struct stat input;
    if (to->sender || !sends(&to->conversion->settings))
        return true;
    to->wishes = to->wanted->wishes;
    to->wishes.to = to->conversion->settings.receiver;
    to->wishes.quiet = to->conversion->settings.quiet;
    to->wishes.patient = fstat(to->conversion->input_fd, &input) == 0 && S_ISREG(input.st_mode);
    to->wishes.most = to->wishes.most ? to->wishes.most : SPOOL_SIZE;
    to->sender = sender_open(&to->wishes, why);
    return to->sender;
}

static bool to_otlp_take(void *self, struct event *event, struct fault *why)
{
    struct to_otlp *to = self;
    if (to->wanted->every_ns)
        return begin_sending(to, why) && otlp_take_for_window(to, event, why);
    if (event->kind == EVENT_RECORDING && event->recording.start_unix_ns == 0)
        to->looks.timed = false; /* looks have no time of the clock */
    if (event->kind == EVENT_RUN)
        otlp_looks_add(&to->looks, &event->run);
    return true;
}

static void print_stats(const struct to_otlp *to, const struct sender_counts *counts)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr,
            "  requests made                %10" PRIu64 "\n"
            "    longest time for one       %10.1f ms\n"
            "  requests sent                %10" PRIu64 "\n"
            "    bytes                      %10" PRIu64 "\n"
            "    longest until the answer   %10.1f ms\n"
            "  tries that had no success    %10" PRIu64 "\n"
            "  requests refused             %10" PRIu64 "\n"
            "  profiles refused             %10" PRIu64 "\n"
            "  requests lost                %10" PRIu64 "\n"
            "  requests left in the folder  %10" PRIu64 "\n"
            "  CPU time of pyreel-otlp      %10.1f ms\n"
            "  memory, at most              %10.1f MiB\n",
            to->requests, (double)to->longest_ns / 1e6, counts->sent, counts->bytes, (double)counts->longest_ns / 1e6,
            counts->again, counts->refused, counts->profiles, counts->lost, counts->left,
            (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
                (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3,
            (double)used.ru_maxrss / 1024);
}

/* Ends the sending, and says what did not arrive. */
static bool end_sending(struct to_otlp *to, struct fault *why)
{
    struct sender_counts counts = { 0 };
    const bool all = !to->sender || sender_close(to->sender, &counts);
    to->sender = NULL;
    if (to->wanted->stats)
        print_stats(to, &counts);
    if (all)
        return true;
    return fault(why,
                 "not all arrived: %" PRIu64 " requests sent, %" PRIu64 " refused (and %" PRIu64
                 " profiles of others), %" PRIu64 " lost, %" PRIu64 " left in the folder for a later run",
                 counts.sent, counts.refused, counts.profiles, counts.lost, counts.left);
}

static bool to_otlp_finish(void *self, struct fault *why)
{
    struct to_otlp *to = self;
    if (to->wanted->every_ns) {
        interrupt_over();
        const bool written = otlp_write_windows(to, UINT64_MAX, why);
        return end_sending(to, why) && written;
    }
    write_looks(to, &to->looks, 0, 0);
    return true;
}

static void to_otlp_drop(void *self)
{
    struct to_otlp *to = self;
    struct sender_counts unused;
    if (to->sender)
        sender_close(to->sender, &unused);
    otlp_looks_free(&to->looks);
    windows_free(&to->windows);
    free(to);
}

/* A request begins with its first resource, whose first field is the attributes; in JSON, with a bracket and its name.
 */
static bool to_otlp_recognises(struct text head)
{
    return (head.size > 2 && (head.bytes[0] == 0x0A || head.bytes[0] == 0x12)) ||
           text_begins(head, TEXT("{\"resourceProfiles\"")) || text_begins(head, TEXT("{\"dictionary\""));
}

static const struct converter to_otlp = {
    .name = "pyreel-otlp",
    .makes = "Writes profiles for OpenTelemetry (OTLP).",
    .release = "OTLP profiles " OTLP_RELEASE "\n",
    .takes = TAKES_DEBUG_INFO | TAKES_MODE | TAKES_PART | TAKES_DETAIL | TAKES_COLUMNS | TAKES_RECEIVER,
    .options.rows = options,
    .options.size = sizeof(struct otlp_wanted),
    .options.apply = to_otlp_apply,
    .options.problem = to_otlp_problem,
    .file.suffix = ".otlp.gz",
    .file.packing = PACKING_BY_NAME,
    .file.recognises = to_otlp_recognises,
    .plan = to_otlp_plan,
    .events.runs = false,
    .events.places_cpu = true,
    .events.take = to_otlp_take,
    .start = to_otlp_start,
    .finish = to_otlp_finish,
    .drop = to_otlp_drop,
};

int main(int argc, char **argv)
{
    return convert_main(argc, argv, &to_otlp);
}
