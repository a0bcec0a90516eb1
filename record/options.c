/* SPDX-License-Identifier: MIT */
#include "record/options.h"

#include "formats/base/alloc.h"
#include "formats/base/arguments.h"
#include "formats/base/startup.h"
#include "formats/base/utf8.h"
#include "record/emit/definitions.h"
#include "record/launch/control.h"
#include "record/python/layout.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEPTH_LEAST     100
#define SIZE_LEAST      16000 /* smallest --max-size: room for the description, the end and some samples */
#define KEEP_LIMIT      100000
#define ROTATE_LEAST_NS 100000000u
#define FLIGHT_LEAST_NS 1000000000u
#define FLIGHT_MOST_NS  86400000000000u

enum option_number {
    OPTION_OUTPUT = 1,
    OPTION_PID,
    OPTION_SUBPROCESSES,
    OPTION_ALL,
    OPTION_MATCH,
    OPTION_USER,
    OPTION_CGROUP,
    OPTION_NO_ARGUMENTS,
    OPTION_RATE,
    OPTION_DURATION,
    OPTION_DELAY,
    OPTION_CONTROL,
    OPTION_THREADS,
    OPTION_MODE,
    OPTION_ASYNC,
    OPTION_DEPTH,
    OPTION_NATIVE,
    OPTION_NO_GC,
    OPTION_BLOCKING,
    OPTION_DISTURB,
    OPTION_NO_JITTER,
    OPTION_NO_PRIORITY,
    OPTION_MAX_SIZE,
    OPTION_ROTATE,
    OPTION_KEEP,
    OPTION_FLIGHT,
    OPTION_WHEN,
    OPTION_FORCE,
    OPTION_KILL,
    OPTION_OPCODES,
    OPTION_NO_CACHE,
    OPTION_STATS,
    OPTION_COMPRESSION,
    OPTION_QUIET,
    OPTION_VERBOSE,
    OPTION_HELP,
    OPTION_VERSION,
};

static const struct argument rows[] = {
    { OPTION_OUTPUT, 'o', "output", "FILE", 0,
      "write to FILE, - for a pipe (NAME-PID.pyreel).\n"
      "x.html, x.svg, x.json.gz, x.pb.gz: record to\n"
      "x.pyreel, and make this output of it at the end" },
    { OPTION_PID, 'p', "pid", "PID", 0, "attach to a running process, such as 4242" },
    { OPTION_SUBPROCESSES, 'f', "subprocesses", NULL, 0, "record child processes that run Python, too" },
    { OPTION_ALL, 0, "all", NULL, 0, "record every process that runs Python" },
    { OPTION_MATCH, 0, "match", "RE", 0,
      "with --all: those whose command line matches;\n"
      "@FILE: an expression in each line" },
    { OPTION_USER, 0, "user", "NAME", 0, "with --all: those of this user (all)" },
    { OPTION_CGROUP, 0, "cgroup", "PATH", 0, "with --all: those of /system.slice and below it" },
    { OPTION_NO_ARGUMENTS, 0, "no-arguments", NULL, 0, "leave arguments out of command lines" },
    { OPTION_RATE, 'r', "rate", "RATE", 0, "samples per second: 500, 10k, 5khz (1khz)" },
    { OPTION_DURATION, 'd', "duration", "TIME", 0, "stop after TIME: 200ms, 30s, 1m30 (no limit)" },
    { OPTION_DELAY, 0, "delay", "TIME|-1", 0, "start paused for TIME; -1: until enable (none)" },
    { OPTION_CONTROL, 0, "control", "FIFOS", 0,
      "fifo:PATH[,ACK]: take enable, disable, stop, ping\n"
      "and snapshot from PATH, answer in ACK" },
    { OPTION_MAX_SIZE, 0, "max-size", "BYTES", 0, "stop before FILE exceeds BYTES: 20M (no limit)" },
    { OPTION_ROTATE, 0, "rotate", "SIZE|TIME", 0, "go on in another file: 100M, 1h (one file)" },
    { OPTION_FLIGHT, 0, "flight-recorder", "TIME", 0,
      "keep the last 30s or 5m, to write on SIGUSR1,\n"
      "or, with -f, when a signal kills a process" },
    { OPTION_WHEN, 0, "when", "CONDITION", 0,
      "write it when cpu>90%, memory>2G, gilwait>50%,\n"
      "still>10s; may be given several times" },
    { OPTION_KEEP, 0, "keep", "N", 0, "with --rotate, --flight-recorder: the newest 10" },
    { OPTION_KILL, 0, "kill", NULL, 0, "end COMMAND (SIGTERM) at --duration or --max-size" },
    { OPTION_FORCE, 0, "force", NULL, 0, "replace any FILE, even one that is read-only" },
    { OPTION_THREADS, 't', "threads", "LIST", 0,
      "record these threads: all, main, gil (with the\n"
      "GIL), or names: 'worker*,MainThread' (all)" },
    { OPTION_MODE, 'm', "mode", "MODE", 0, "keep only wall|cpu|gil|exception samples (wall)" },
    { OPTION_ASYNC, 0, "async", "running|all", 0, "record asyncio tasks (off)" },
    { OPTION_NATIVE, 0, "native", NULL, 0, "record C functions, too" },
    { OPTION_NO_GC, 0, "no-gc", NULL, 0, "add no frame <GC> during garbage collection" },
    { OPTION_OPCODES, 0, "opcodes", NULL, 0, "record the bytecode instruction of each frame" },
    { OPTION_BLOCKING, 0, "blocking", NULL, 0, "stop the program's threads during each read" },
    { OPTION_DISTURB, 0, "disturb", "PERCENT", 0, "take at most PERCENT of a processor, 0 to 100 (1)" },
    { OPTION_NO_JITTER, 0, "no-jitter", NULL, 0, "take samples at fixed times, not at random times" },
    { OPTION_NO_PRIORITY, 0, "no-priority", NULL, 0, "keep the priority that pyreel-record starts with" },
    { OPTION_DEPTH, 0, "max-depth", "N", 0, "keep at most N frames per stack: 100, 500 (20000)" },
    { OPTION_NO_CACHE, 0, "no-cache", NULL, 0, "read each stack in full (for comparison)" },
    { OPTION_STATS, 0, "stats", NULL, 0, "print the recorder's counters at the end" },
    { OPTION_COMPRESSION, 0, "compression", "zstd|none", 0, "compress the recording or not (zstd)" },
    { OPTION_QUIET, 'q', "quiet", NULL, 0, "print errors only" },
    { OPTION_VERBOSE, 'v', "verbose", NULL, 0, "print what pyreel-record does" },
    { OPTION_HELP, 'h', "help", NULL, 0, "print this help and exit" },
    { OPTION_VERSION, 'V', "version", NULL, 0, "print the version and exit" },
    { 0 },
};

static const struct arguments arguments = { .tables = { rows }, .command = true };

static void record_print_help(void)
{
    printf("usage: pyreel-record [OPTIONS] [--] COMMAND [ARG...]   start a program\n"
           "       pyreel-record [OPTIONS] -p PID                  attach to a running one\n"
           "       pyreel-record [OPTIONS] --all                   attach to all\n\n"
           "Records where a Python program (CPython " LAYOUT_SUPPORTED ")\n"
           "spends its time, from outside and without changing the program. A sample\n"
           "interrupts the program for some microseconds; all samples together take at most\n"
           "1 %% of a processor (see --disturb). pyreel-report, pyreel-flame and pyreel-diff\n"
           "show recordings, pyreel-gecko, pyreel-pprof, pyreel-speedscope, pyreel-collapsed\n"
           "and pyreel-tachyon write files for other tools, pyreel-info says what is inside.\n\n"
           "Options, with their default values in parentheses:\n");
    arguments_print(&arguments);
    printf("\nNames, functions and lines take " DEFINITIONS_LIMIT_TEXT " of memory at most; beyond that, new\n"
           "functions are <more functions>.\n"
           "^C stops the recording; the file is then complete.\n"
           "Exit codes: that of COMMAND (128+N when signal N ended it), or 0 after\n"
           "attaching; 125 pyreel-record failed, 126 COMMAND cannot be executed,\n"
           "127 COMMAND was not found, 2 misuse.\n");
}

bool options_parse_rate(const char *text, uint64_t *interval_ns)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = { { "", 1 }, { "hz", 1 }, { "k", 1e3 }, { "khz", 1e3 } };
    char *end;
    size_t unit = 0;
    double rate = strtod(text, &end);
    while (unit < countof(units) && strcasecmp(end, units[unit].name) != 0)
        unit++;
    rate *= unit < countof(units) ? units[unit].factor : 0;
    if (end == text || !(rate >= 0.01 && rate <= 1e6))
        return false;
    *interval_ns = (uint64_t)llround(1e9 / rate);
    return true;
}

bool options_parse_duration(const char *text, uint64_t *duration_ns)
{
    return arguments_parse_time(text, duration_ns) && *duration_ns > 0;
}

bool options_parse_size(const char *text, uint64_t *bytes)
{
    uint64_t size;
    if (!arguments_parse_size(text, &size) || size < SIZE_LEAST)
        return false;
    *bytes = size;
    return true;
}

bool options_parse_rotation(const char *text, uint64_t *bytes, uint64_t *time_ns)
{
    *bytes = *time_ns = 0;
    if (strpbrk(text, "hms"))
        return options_parse_duration(text, time_ns) && *time_ns >= ROTATE_LEAST_NS;
    return strpbrk(text, "kKMGT") && options_parse_size(text, bytes);
}

static bool one_of(const char *text, const char *const *names, size_t count, size_t *which)
{
    for (*which = 0; *which < count; ++*which)
        if (strcmp(text, names[*which]) == 0)
            return true;
    return false;
}

static const char *const codec_names[] = { "none", "zstd" };

/* Applies an option. False when the option does not accept the value. */
static bool record_option_apply(struct options *options, enum option_number number, const char *value)
{
    size_t which = 0;
    uint64_t whole = 0;
    bool good = true;
    switch (number) {
    case OPTION_OUTPUT:
        options->product = product_of(value);
        options->output = value;
        return true;
    case OPTION_PID:
        good = arguments_parse_count(value, 1, INT32_MAX, &whole);
        options->pid = (pid_t)whole;
        return good;
    case OPTION_RATE:
        return options_parse_rate(value, &options->interval_ns);
    case OPTION_DURATION:
        return options_parse_duration(value, &options->duration_ns);
    case OPTION_DELAY:
        options->delay_ns = UINT64_MAX;
        return strcmp(value, "-1") == 0 || options_parse_duration(value, &options->delay_ns);
    case OPTION_CONTROL:
        options->control = value;
        return control_is_named(value);
    case OPTION_THREADS:
        options->names = one_of(value, threads_names, THREADS_NAMED, &which) ? NULL : value;
        options->which = (enum threads)which;
        return value[strspn(value, " ,")] != '\0';
    case OPTION_MODE:
        good = one_of(value, mode_names, MODES, &which);
        options->mode = (enum mode)which;
        return good;
    case OPTION_ASYNC:
        good = one_of(value, async_names, ASYNC_KINDS, &which) && which != ASYNC_NONE;
        options->async = (enum async)which;
        return good;
    case OPTION_COMPRESSION:
        good = one_of(value, codec_names, countof(codec_names), &which);
        options->codec = which == 1 ? CODEC_GROUPED : CODEC_PLAIN;
        return good;
    case OPTION_DEPTH:
        good = arguments_parse_count(value, DEPTH_LEAST, DEPTH_LIMIT, &whole);
        options->depth = (uint32_t)whole;
        return good;
    case OPTION_NATIVE:
        options->native = true;
        return true;
    case OPTION_NO_GC:
        options->gc = false;
        return true;
    case OPTION_BLOCKING:
        options->blocking = true;
        return true;
    case OPTION_MAX_SIZE:
        return options_parse_size(value, &options->size_limit);
    case OPTION_ROTATE:
        return options_parse_rotation(value, &options->rotate_bytes, &options->rotate_ns);
    case OPTION_FLIGHT:
        return options_parse_duration(value, &options->flight_ns) && options->flight_ns >= FLIGHT_LEAST_NS &&
               options->flight_ns <= FLIGHT_MOST_NS;
    case OPTION_WHEN:
        return triggers_add(&options->triggers, value);
    case OPTION_KEEP:
        good = arguments_parse_count(value, 1, KEEP_LIMIT, &whole);
        options->keep = (uint32_t)whole;
        return good;
    case OPTION_SUBPROCESSES:
        options->subprocesses = true;
        return true;
    case OPTION_ALL:
        options->all = options->subprocesses = true;
        return true;
    case OPTION_NO_ARGUMENTS:
        return options->no_arguments = true;
    case OPTION_MATCH:
        options->chosen.match = value;
        return true;
    case OPTION_USER:
        options->chosen.user = value;
        return true;
    case OPTION_CGROUP:
        options->chosen.cgroup = value;
        return value[0] == '/';
    case OPTION_FORCE:
        options->force = true;
        return true;
    case OPTION_KILL:
        options->kill = true;
        return true;
    case OPTION_OPCODES:
        options->opcodes = true;
        return true;
    case OPTION_NO_CACHE:
        options->anew = true;
        return true;
    case OPTION_STATS:
        options->stats = true;
        return true;
    case OPTION_DISTURB:
        return arguments_parse_share(value, 1, &options->disturb);
    case OPTION_NO_JITTER:
        options->jitter = false;
        return true;
    case OPTION_NO_PRIORITY:
        options->priority = false;
        return true;
    case OPTION_QUIET:
        options->quiet = true;
        return true;
    case OPTION_VERBOSE:
        options->verbose = true;
        return true;
    case OPTION_HELP:
    case OPTION_VERSION:
        break;
    }
    return true;
}

static int record_misuse(const char *text, const char *about)
{
    fprintf(stderr, "pyreel-record: %s%s\nTry 'pyreel-record --help'.\n", text, utf8_shown(about));
    return EXIT_MISUSE;
}

/* Checks the options together, and sets the defaults that depend on other options. */
static bool record_options_check(struct options *options, int argc, char **argv, int *exit_code)
{
    options->command = optind < argc ? argv + optind : NULL;
    *exit_code = 0;
    if (options->pid && options->command)
        *exit_code = record_misuse("give either a COMMAND or -p PID, not both", "");
    else if (options->all && (options->pid || options->command))
        *exit_code = record_misuse("--all records every process: give neither a COMMAND nor -p PID", "");
    else if (!options->pid && !options->command && !options->all)
        *exit_code = record_misuse("give a COMMAND to start, -p PID to attach to a process, or --all", "");
    else if (!options->all && (options->chosen.match || options->chosen.user || options->chosen.cgroup))
        *exit_code = record_misuse("--match, --user and --cgroup choose among all processes: add --all", "");
    else if (options->product && (options->rotate_bytes || options->rotate_ns || options->flight_ns))
        *exit_code = record_misuse("--rotate and --flight-recorder write several recordings: name -o FILE.pyreel, and "
                                   "convert the recordings later",
                                   "");
    else if (options->kill && (!(options->duration_ns || options->size_limit || options->control) || !options->command))
        *exit_code = record_misuse("--kill needs a COMMAND, and --duration, --max-size or --control", "");
    else if (options->delay_ns == UINT64_MAX && !options->control)
        *exit_code = record_misuse("--delay -1 needs --control, whose 'enable' ends the delay", "");
    else if (options->keep && !options->rotate_bytes && !options->rotate_ns && !options->flight_ns)
        *exit_code = record_misuse("--keep needs --rotate or --flight-recorder", "");
    else if (options->triggers.count && !options->flight_ns)
        *exit_code = record_misuse("--when needs --flight-recorder", "");
    else if (options->flight_ns && (options->rotate_bytes || options->rotate_ns || options->size_limit))
        *exit_code = record_misuse(
            "--flight-recorder excludes --rotate and --max-size: its memory has a limit of its own", "");
    else if (options->flight_ns && options->output && strcmp(options->output, "-") == 0)
        *exit_code = record_misuse("--flight-recorder writes several files, and standard output is one", "");
    else if ((options->rotate_bytes || options->rotate_ns) && options->size_limit)
        *exit_code = record_misuse("--rotate and --max-size exclude each other: --keep limits the size of all files",
                                   "");
    else if ((options->rotate_bytes || options->rotate_ns) && options->output && strcmp(options->output, "-") == 0)
        *exit_code = record_misuse("--rotate writes several files, and standard output is one", "");
    else if (options->async && options->opcodes)
        *exit_code = record_misuse(
            "--opcodes and --async exclude each other: a task that waits executes no instruction", "");
    else if (options->async == ASYNC_ALL && options->mode != MODE_WALL)
        *exit_code = record_misuse("--async all needs --mode wall: it records tasks in place of threads", "");
    else if (options->async == ASYNC_ALL && options->which >= THREADS_GIL)
        *exit_code = record_misuse("--async all excludes --threads gil and names of threads: --async all records the "
                                   "tasks of all threads",
                                   "");
    return *exit_code == 0;
}

bool options_read(struct options *options, int argc, char **argv, int *exit_code)
{
    *options = (struct options){ .interval_ns = 1000000,
                                 .gc = true,
                                 .depth = 20000,
                                 .disturb = 0.01,
                                 .jitter = true,
                                 .priority = true,
                                 .codec = CODEC_GROUPED };
    int wrong;
    for (const struct argument *row; (row = arguments_next(&arguments, argc, argv, &wrong));) {
        *exit_code = 0;
        if (row->number == OPTION_HELP)
            record_print_help();
        if (row->number == OPTION_VERSION)
            printf("pyreel-record %s\n", PYREEL_VERSION);
        if (row->number == OPTION_HELP || row->number == OPTION_VERSION)
            return false;
        if (record_option_apply(options, (enum option_number)row->number, optarg))
            continue;
        arguments_refuse("pyreel-record", row, optarg);
        *exit_code = EXIT_MISUSE;
        return false;
    }
    if (!wrong)
        return record_options_check(options, argc, argv, exit_code);
    fprintf(stderr, "Try 'pyreel-record --help'.\n");
    *exit_code = EXIT_MISUSE;
    return false;
}
