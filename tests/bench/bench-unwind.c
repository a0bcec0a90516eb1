/* SPDX-License-Identifier: MIT */
/* bench-unwind: the unwinder alone. Takes ticks of a running process as fast as it can, throws away what they give, and
 * prints how fast that was, how often it worked, and what the bare system calls cost in the same moments (bare.h). */
#include "formats/base/alloc.h"
#include "formats/base/arguments.h"
#include "formats/base/startup.h"
#include "record/process/clock.h"
#include "record/process/permission.h"
#include "record/watch/sampler.h"
#include "tests/bench/bare.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STATUS_INTERVAL_NS 1000000u /* statuses are those of a recording at this interval */
#define SECONDS_LIMIT      1e6
#define TICK_SLICE_NS      1800000u
#define BARE_SLICE_NS      200000u
#define EXIT_FAILED        1

enum option_number {
    OPTION_PID = 1,
    OPTION_SECONDS,
    OPTION_CALLS,
    OPTION_THREADS,
    OPTION_OPERATION,
    OPTION_OPCODES,
    OPTION_STATUS,
    OPTION_NO_CACHE,
    OPTION_BLOCKING,
    OPTION_JSON,
    OPTION_HELP,
};

static const struct argument rows[] = {
    { OPTION_PID, 'p', "pid", "PID", 0, "the process to look at" },
    { OPTION_SECONDS, 's', "seconds", "N", 0, "for how long (1)" },
    { OPTION_CALLS, 'c', "calls", "N", 0, "end after so many calls, too" },
    { OPTION_THREADS, 't', "threads", "all|main|gil", 0, "which threads (all)" },
    { OPTION_OPERATION, 'o', "operation", "NAME", 0, "stack, async-running or async-all (stack)" },
    { OPTION_OPCODES, 0, "opcodes", NULL, 0, "take the instruction of each frame, too" },
    { OPTION_STATUS, 0, "status", NULL, 0, "find out what the threads do, too, as recordings have it" },
    { OPTION_NO_CACHE, 0, "no-cache", NULL, 0, "read every frame anew" },
    { OPTION_BLOCKING, 0, "blocking", NULL, 0, "stop the target while reading it" },
    { OPTION_JSON, 'j', "json", NULL, 0, "print the figures as JSON" },
    { OPTION_HELP, 'h', "help", NULL, 0, "print this and exit" },
    { 0 },
};

static const char *const operations[ASYNC_KINDS] = { "stack", "async-running", "async-all" };

static const struct arguments arguments = { .tables = { rows } };

struct options {
    pid_t pid;
    uint64_t duration_ns;
    uint64_t calls; /* 0: no matter how many */
    enum threads which;
    enum async async;
    bool anew, instructions, status;
    bool blocking;
    bool json;
};

struct bench {
    struct options options;
    struct sampler sampler;
    struct watched *watched;
    uint64_t calls, whole; /* whole: those in which no thread failed */
    uint64_t reading;      /* those that read the target's memory */
    uint64_t spent_ns, processor_ns;
    uint64_t reads, pieces, bytes; /* of the calls */
};

/* ---- options ---- */

static void print_help(void)
{
    printf("usage: bench-unwind --pid PID [OPTIONS]\n\n"
           "Takes the stacks of a running Python as fast as it can, and prints how fast\n"
           "that is. A call takes the stacks of all wanted threads once.\n\n");
    arguments_print(&arguments);
}

static int misuse(const char *text, const char *value)
{
    fprintf(stderr, "bench-unwind: %s%s\nTry 'bench-unwind --help'.\n", text, value);
    return EXIT_MISUSE;
}

static bool parse_count(const char *text, uint64_t most, uint64_t *count)
{
    char *end;
    errno = 0;
    *count = strtoull(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && *text != '-' && *count >= 1 && *count <= most;
}

static bool parse_seconds(const char *text, uint64_t *ns)
{
    char *end;
    const double seconds = strtod(text, &end);
    *ns = 0;
    if (end == text || *end != '\0' || !(seconds > 0 && seconds <= SECONDS_LIMIT))
        return false;
    *ns = (uint64_t)(seconds * 1e9);
    return *ns > 0;
}

/* Applies an option. Gives an exit code, or 0 to go on. */
static int apply(struct options *options, enum option_number number, const char *value)
{
    uint64_t count;
    switch (number) {
    case OPTION_PID:
        if (!parse_count(value, INT32_MAX, &count))
            return misuse("not a process: ", value);
        options->pid = (pid_t)count;
        return 0;
    case OPTION_SECONDS:
        return parse_seconds(value, &options->duration_ns) ? 0 : misuse("not a time in seconds: ", value);
    case OPTION_CALLS:
        return parse_count(value, UINT64_MAX, &options->calls) ? 0 : misuse("not a number of calls: ", value);
    case OPTION_THREADS:
        for (options->which = THREADS_ALL; options->which < THREADS_NAMED; options->which++)
            if (strcmp(value, threads_names[options->which]) == 0)
                return 0;
        return misuse("there are no such threads: ", value);
    case OPTION_OPERATION:
        for (options->async = ASYNC_NONE; options->async < ASYNC_KINDS; options->async++)
            if (strcmp(value, operations[options->async]) == 0)
                return 0;
        return misuse("there is no such operation: ", value);
    case OPTION_OPCODES:
        options->instructions = true;
        return 0;
    case OPTION_STATUS:
        options->status = true;
        return 0;
    case OPTION_NO_CACHE:
        options->anew = true;
        return 0;
    case OPTION_BLOCKING:
        options->blocking = true;
        return 0;
    case OPTION_JSON:
        options->json = true;
        return 0;
    case OPTION_HELP:
        break;
    }
    return 0;
}

/* False when the program is to end at once with *exit_code. */
static bool read_options(struct options *options, int argc, char **argv, int *exit_code)
{
    *options = (struct options){ .duration_ns = 1000000000 };
    *exit_code = 0;
    int wrong;
    for (const struct argument *row; (row = arguments_next(&arguments, argc, argv, &wrong));) {
        if (row->number == OPTION_HELP)
            print_help();
        if (row->number != OPTION_HELP)
            *exit_code = apply(options, (enum option_number)row->number, optarg);
        if (row->number == OPTION_HELP || *exit_code)
            return false;
    }
    if (wrong)
        *exit_code = EXIT_MISUSE;
    else if (optind < argc)
        *exit_code = misuse("takes no such argument: ", argv[optind]);
    else if (!options->pid)
        *exit_code = misuse("say which process to look at with --pid PID", "");
    return *exit_code == 0;
}

/* ---- measuring ---- */

static bool discard(void *self, struct event *event, struct fault *why)
{
    (void)self;
    (void)event;
    (void)why;
    return true;
}

static bool enough(const struct bench *bench)
{
    return bench->options.calls && bench->calls >= bench->options.calls;
}

static bool tick(struct bench *bench, uint64_t now_ns, struct fault *why)
{
    if (sampler_tick(&bench->sampler, bench->watched, now_ns, 0, why) == SAMPLER_GOING)
        return true;
    return fault(why, "process %d ended, or became another program", (int)bench->options.pid);
}

/* The time that this thread had a processor. */
static uint64_t processor_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Takes ticks until `end_ns`. */
static bool measure_slice(struct bench *bench, uint64_t end_ns, struct slice *slice, struct fault *why)
{
    const struct remote *remote = &bench->watched->target.remote;
    const struct remote before = *remote;
    const uint64_t processor_ns = processor_now_ns();
    uint64_t now_ns = clock_now_ns();
    while (now_ns < end_ns && !enough(bench)) {
        const uint64_t begin_ns = now_ns, failed = bench->sampler.emitter.failed, reads = remote->calls;
        if (!tick(bench, now_ns, why))
            return false;
        now_ns = clock_now_ns();
        bench->calls++;
        bench->whole += bench->sampler.emitter.failed == failed;
        bench->spent_ns += now_ns - begin_ns;
        slice->ticks += remote->calls > reads;
        slice->ticks_ns += remote->calls > reads ? now_ns - begin_ns : 0;
    }
    bench->processor_ns += processor_now_ns() - processor_ns;
    slice->calls = remote->calls - before.calls;
    bench->reading += slice->ticks;
    bench->reads += slice->calls;
    bench->pieces += remote->pieces - before.pieces;
    bench->bytes += remote->bytes - before.bytes;
    return true;
}

/* Most of a slice goes to ticks. The reads of one more are noted, for the bare calls. */
static bool measure(struct bench *bench, struct fault *why)
{
    const uint64_t end_ns = clock_now_ns() + bench->options.duration_ns;
    for (uint64_t now_ns; (now_ns = clock_now_ns()) < end_ns && !enough(bench);) {
        const uint64_t slice_end_ns = now_ns + TICK_SLICE_NS < end_ns ? now_ns + TICK_SLICE_NS : end_ns;
        struct slice slice = { 0 };
        if (!measure_slice(bench, slice_end_ns, &slice, why))
            return false;
        bare_begin(&bench->watched->target.remote);
        const bool good = tick(bench, clock_now_ns(), why);
        bare_end();
        if (!good)
            return false;
        bare_measure(BARE_SLICE_NS, &slice);
    }
    return true;
}

static bool open_target(struct target *target, pid_t pid, struct fault *why)
{
    switch (target_open(target, pid, why)) {
    case TARGET_READY:
        return true;
    case TARGET_GONE:
        why->text[0] = '\0';
        return fault(why, "there is no process %d", (int)pid);
    case TARGET_DENIED:
        why->text[0] = '\0';
        return permission_explain(pid, why);
    case TARGET_UNSUPPORTED:
        return fault(why, "cannot read process %d", (int)pid);
    case TARGET_NOT_YET:
        break;
    }
    return fault(why, "process %d does not run a CPython that can be read", (int)pid);
}

/* ---- printing ---- */

static double quotient(double a, double b)
{
    return b > 0 ? a / b : NAN;
}

static void print_figures(const struct bench *bench)
{
    const double calls = (double)bench->calls;
    const double spent_us = (double)bench->spent_ns / 1e3;
    double reading_us, bare_us;
    bare_compare(&reading_us, &bare_us);
    const struct {
        const char *name;
        double value;
        int decimals;
    } figures[] = {
        { "calls", calls, 0 },
        { "ticks", (double)bench->sampler.emitter.ticks, 0 }, /* with those that were noted */
        { "samples", (double)bench->sampler.emitter.samples, 0 },
        { "failed", (double)bench->sampler.emitter.failed, 0 },
        { "seconds", spent_us / 1e6, 3 },
        { "work_rate_hz", quotient(calls * 1e6, spent_us), 1 },
        { "avg_us", quotient(spent_us, calls), 3 },
        { "processor_us", quotient((double)bench->processor_ns / 1e3, calls), 3 },
        { "success_percent", 100 * quotient((double)bench->whole, calls), 3 },
        { "syscalls_per_call", quotient((double)bench->reads, calls), 3 },
        { "pieces_per_call", quotient((double)bench->pieces, calls), 3 },
        { "bytes_per_call", quotient((double)bench->bytes, calls), 1 },
        { "reading_percent", 100 * quotient((double)bench->reading, calls), 3 },
        { "reading_us", reading_us, 3 },
        { "floor_us", bare_us, 3 },
        { "times_floor", quotient(reading_us, bare_us), 3 },
    };
    const bool json = bench->options.json;
    for (size_t i = 0; i < countof(figures); i++) {
        char number[64] = "null";
        if (isfinite(figures[i].value))
            snprintf(number, sizeof(number), "%.*f", figures[i].decimals, figures[i].value);
        if (json)
            printf("%s\"%s\": %s", i ? ", " : "{", figures[i].name, number);
        else
            printf("%-18s %12s\n", figures[i].name, isfinite(figures[i].value) ? number : "unknown");
    }
    fputs(json ? "}\n" : "", stdout);
}

int main(int argc, char **argv)
{
    startup(EXIT_FAILED);
    struct bench bench = { 0 };
    struct target target;
    struct fault why = { 0 };
    int exit_code;
    if (!read_options(&bench.options, argc, argv, &exit_code))
        return exit_code;
    bench.sampler.options = (struct watch_options){ .interval_ns = STATUS_INTERVAL_NS,
                                                    .start_ns = clock_now_ns(),
                                                    .which = bench.options.which,
                                                    .anew = bench.options.anew,
                                                    .async = bench.options.async,
                                                    .instructions = bench.options.instructions,
                                                    .with_status = bench.options.status,
                                                    .freezes = bench.options.blocking };
    sampler_open(&bench.sampler, (struct sink){ .take = discard });
    struct watched *watched = sampler_watch(&bench.sampler, bench.options.pid, NULL);
    bench.watched = watched;
    if (!open_target(&target, bench.options.pid, &why) ||
        (bench.options.async && !asyncio_possible(&target.runtime.layout, &why)) ||
        (bench.options.blocking && !freeze_open(&watched->freeze, bench.options.pid, &why))) {
        fprintf(stderr, "bench-unwind: %s\n", why.text);
        return EXIT_FAILED;
    }
    watched->target = target;
    watched_attach(watched);
    const bool good = measure(&bench, &why);
    if (good)
        print_figures(&bench);
    else
        fprintf(stderr, "bench-unwind: %s\n", why.text);
    sampler_close(&bench.sampler);
    bare_close();
    return good ? EXIT_SUCCESS : EXIT_FAILED;
}
