/* SPDX-License-Identifier: MIT */
#include "record/options.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *text;
    uint64_t interval_ns; /* 0: no rate */
} rates[] = {
    { "1000", 1000000 },
    { "10k", 100000 },
    { "5khz", 200000 },
    { "1KHZ", 1000000 },
    { "0.5", 2000000000 },
    { "100Hz", 10000000 },
    { "1e3", 1000000 },
    { "1e6", 1000 },
    { "1000k", 1000 },
    { "0.01", 100000000000 },
    { "3", 333333333 },
    { "0.05k", 20000000 },
    { "+7", 142857143 },
    { "1.5K", 666667 },
    { "", 0 },
    { "0", 0 },
    { "-1", 0 },
    { "-0", 0 },
    { "2mhz", 0 },
    { "1m", 0 },
    { "1001k", 0 },
    { "1000001", 0 },
    { "0.009", 0 },
    { "k", 0 },
    { "hz", 0 },
    { "1 k", 0 },
    { "1k ", 0 },
    { "10kk", 0 },
    { "10,5", 0 },
    { "nan", 0 },
    { "inf", 0 },
    { "1e400", 0 },
    { "0x", 0 },
    { "ten", 0 },
};

static void rates_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rates); i++) {
        uint64_t interval_ns = 0;
        const bool good = options_parse_rate(rates[i].text, &interval_ns);
        if (good != (rates[i].interval_ns != 0) || interval_ns != rates[i].interval_ns)
            fail_msg("'%s' gives %d, %lu", rates[i].text, good, interval_ns);
    }
}

static const struct {
    const char *text;
    uint64_t bytes; /* 0: no size */
} sizes[] = {
    { "16000", 16000 }, { "16k", 16000 }, { "20M", 20000000 }, { "1.5g", 1500000000 },
    { "1e6", 0 },       { "15999", 0 },   { "0", 0 },          { "-1M", 0 },
    { "", 0 },          { "M", 0 },       { "20 M", 0 },       { "20MB", 0 },
    { "1e30", 0 },      { "nan", 0 },     { "inf", 0 },
};

static void sizes_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(sizes); i++) {
        uint64_t bytes = 0;
        const bool good = options_parse_size(sizes[i].text, &bytes);
        if (good != (sizes[i].bytes != 0) || bytes != sizes[i].bytes)
            fail_msg("'%s' gives %d, %lu", sizes[i].text, good, bytes);
    }
}

static const struct {
    const char *text;
    uint64_t duration_ns; /* 0: no duration */
} durations[] = {
    { "30", 30000000000 },
    { "30s", 30000000000 },
    { "5m", 300000000000 },
    { "1.5H", 5400000000000 },
    { "200ms", 200000000 },
    { "0.3", 300000000 },
    { "1m30", 90000000000 },
    { "0", 0 },
    { "-1", 0 },
    { "5 m", 0 },
    { "s", 0 },
    { "", 0 },
    { "1d", 0 },
    { "1e9", 0 },
    { "nan", 0 },
    { "inf", 0 },
    { "0.0000000001", 0 },
    { "50%", 0 },
};

static void durations_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(durations); i++) {
        uint64_t duration_ns = 0;
        const bool good = options_parse_duration(durations[i].text, &duration_ns);
        if (good != (durations[i].duration_ns != 0) || duration_ns != durations[i].duration_ns)
            fail_msg("'%s' gives %d, %lu", durations[i].text, good, duration_ns);
    }
}

#define WORDS 12

/* A command line, and what it means: an exit code, or -1 and options. */
static const struct {
    const char *words[WORDS];
    int exit_code;
    struct options options;
    const char *command; /* its first word */
} lines[] = {
    { { "python3", "a.py" }, -1, { .interval_ns = 1000000, .codec = CODEC_GROUPED }, "python3" },
    { { "-p", "12" }, -1, { .pid = 12, .interval_ns = 1000000, .codec = CODEC_GROUPED }, NULL },
    { { "--pid=12", "-r10k", "-d", "1.5", "-tmain", "-o-", "-q", "-v" },
      -1,
      { .output = "-",
        .pid = 12,
        .interval_ns = 100000,
        .duration_ns = 1500000000,
        .which = THREADS_MAIN,
        .codec = CODEC_GROUPED,
        .quiet = true,
        .verbose = true },
      NULL },
    { { "--compression", "none", "--kill", "-d", "2", "--", "-x" },
      -1,
      { .interval_ns = 1000000, .duration_ns = 2000000000, .kill = true, .codec = CODEC_PLAIN },
      "-x" },
    /* options behind the command are its own */
    { { "python3", "-p", "-r", "0" }, -1, { .interval_ns = 1000000, .codec = CODEC_GROUPED }, "python3" },
    { { "--mode", "wall", "-t", "all", "x" }, -1, { .interval_ns = 1000000, .codec = CODEC_GROUPED }, "x" },
    { { "-tgil", "--no-cache", "--opcodes", "--stats", "x" },
      -1,
      { .interval_ns = 1000000,
        .which = THREADS_GIL,
        .anew = true,
        .opcodes = true,
        .stats = true,
        .codec = CODEC_GROUPED },
      "x" },
    { { "--blocking", "x" }, -1, { .interval_ns = 1000000, .blocking = true, .codec = CODEC_GROUPED }, "x" },
    { { "--max-size", "20M", "--kill", "--force", "x" },
      -1,
      { .interval_ns = 1000000, .size_limit = 20000000, .force = true, .kill = true, .codec = CODEC_GROUPED },
      "x" },
    { { "--max-size", "20M", "--kill", "-p", "3" }, 2, { 0 }, NULL },
    { { "--max-size", "1k", "x" }, 2, { 0 }, NULL },
    { { "--async", "running", "-m", "gil", "x" },
      -1,
      { .interval_ns = 1000000, .async = ASYNC_RUNNING, .mode = MODE_GIL, .codec = CODEC_GROUPED },
      "x" },
    { { "--async", "all", "-t", "main", "x" },
      -1,
      { .interval_ns = 1000000, .async = ASYNC_ALL, .which = THREADS_MAIN, .codec = CODEC_GROUPED },
      "x" },
    { { "--async", "none", "x" }, 2, { 0 }, NULL },
    { { "--async", "running", "--opcodes", "x" }, 2, { 0 }, NULL },
    { { "--async", "all", "-m", "cpu", "x" }, 2, { 0 }, NULL },
    { { "--async", "all", "-t", "gil", "x" }, 2, { 0 }, NULL },
    { { "--help" }, 0, { 0 }, NULL },
    { { "-V" }, 0, { 0 }, NULL },
    { { NULL }, 2, { 0 }, NULL },
    { { "-p", "12", "python3" }, 2, { 0 }, NULL },
    { { "-p", "0" }, 2, { 0 }, NULL },
    { { "-p", "-5" }, 2, { 0 }, NULL },
    { { "-p", "12x" }, 2, { 0 }, NULL },
    { { "-p", "99999999999" }, 2, { 0 }, NULL },
    { { "-p", "" }, 2, { 0 }, NULL },
    { { "-r", "0", "x" }, 2, { 0 }, NULL },
    { { "-d", "0", "x" }, 2, { 0 }, NULL },
    { { "-d", "-1", "x" }, 2, { 0 }, NULL },
    { { "-d", "1d", "x" }, 2, { 0 }, NULL },
    { { "-d", "nan", "x" }, 2, { 0 }, NULL },
    { { "-t", "some*,main", "x" },
      -1,
      { .which = THREADS_NAMED, .names = "some*,main", .interval_ns = 1000000, .codec = CODEC_GROUPED },
      "x" },
    { { "-t", "some", "-t", "gil", "x" },
      -1,
      { .which = THREADS_GIL, .interval_ns = 1000000, .codec = CODEC_GROUPED },
      "x" },
    { { "-t", "", "x" }, 2, { 0 }, NULL },
    { { "-t", " , ", "x" }, 2, { 0 }, NULL },
    { { "-t", "some", "--async", "all", "x" }, 2, { 0 }, NULL },
    { { "--delay", "1m30", "x" },
      -1,
      { .delay_ns = 90000000000, .interval_ns = 1000000, .codec = CODEC_GROUPED },
      "x" },
    { { "--delay", "-1", "--control", "fifo:c,a", "--kill", "x" },
      -1,
      { .delay_ns = UINT64_MAX, .control = "fifo:c,a", .kill = true, .interval_ns = 1000000, .codec = CODEC_GROUPED },
      "x" },
    { { "--delay", "-1", "x" }, 2, { 0 }, NULL },
    { { "--delay", "-2", "x" }, 2, { 0 }, NULL },
    { { "--delay", "0", "x" }, 2, { 0 }, NULL },
    { { "--control", "c", "x" }, 2, { 0 }, NULL },
    { { "--control", "fd:3", "x" }, 2, { 0 }, NULL },
    { { "-m", "cpu", "x" }, -1, { .interval_ns = 1000000, .mode = MODE_CPU, .codec = CODEC_GROUPED }, "x" },
    { { "-m", "all", "x" }, 2, { 0 }, NULL },
    { { "--compression", "gzip", "x" }, 2, { 0 }, NULL },
    { { "--kill", "x" }, 2, { 0 }, NULL },
    { { "--kill", "-d", "1", "-p", "3" }, 2, { 0 }, NULL },
    { { "--frobnicate", "x" }, 2, { 0 }, NULL },
    { { "-o" }, 2, { 0 }, NULL },
};

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void assert_same_options(size_t i, const struct options *read)
{
    const struct options *wanted = &lines[i].options;
    const bool same = read->pid == wanted->pid && read->interval_ns == wanted->interval_ns &&
                      read->duration_ns == wanted->duration_ns && read->which == wanted->which &&
                      read->mode == wanted->mode && read->async == wanted->async && read->opcodes == wanted->opcodes &&
                      read->anew == wanted->anew && read->blocking == wanted->blocking &&
                      read->stats == wanted->stats && read->kill == wanted->kill && read->force == wanted->force &&
                      read->size_limit == wanted->size_limit && read->codec == wanted->codec &&
                      read->delay_ns == wanted->delay_ns && is_same_text(read->control, wanted->control) &&
                      is_same_text(read->names, wanted->names) && read->quiet == wanted->quiet &&
                      read->verbose == wanted->verbose && !read->output == !wanted->output &&
                      !read->command == !lines[i].command;
    if (!same)
        fail_msg("line %zu means something else", i);
    if (wanted->output)
        assert_string_equal(read->output, wanted->output);
    if (lines[i].command)
        assert_string_equal(read->command[0], lines[i].command);
}

static void command_lines_mean_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(lines); i++) {
        char *argv[WORDS + 2] = { (char *)"pyreel-record" };
        int argc = 1, exit_code = -1;
        while (argc <= WORDS && lines[i].words[argc - 1]) {
            argv[argc] = (char *)lines[i].words[argc - 1];
            argc++;
        }
        struct options options;
        optind = 0;
        const bool going = options_read(&options, argc, argv, &exit_code);
        if (going != (lines[i].exit_code < 0) || (!going && exit_code != lines[i].exit_code))
            fail_msg("line %zu (%s ...): going %d, exit code %d", i, lines[i].words[0], going, exit_code);
        if (going)
            assert_same_options(i, &options);
    }
}

/* What is said of misuse and help is not what is tested here. */
static int be_quiet(void **state)
{
    (void)state;
    fflush(NULL);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    static int saved[2];
    saved[0] = dup(STDOUT_FILENO);
    saved[1] = dup(STDERR_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    close(nowhere);
    *state = saved;
    return 0;
}

static int speak_again(void **state)
{
    const int *saved = *state;
    fflush(NULL);
    dup2(saved[0], STDOUT_FILENO);
    dup2(saved[1], STDERR_FILENO);
    return 0;
}

static void rotations_are_sizes_or_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes, time_ns; /* both 0: neither */
    } rows[] = {
        { "100M", 100000000, 0 },   { "64k", 64000, 0 },
        { "2G", 2000000000, 0 },    { "1h", 0, 3600000000000 },
        { "90s", 0, 90000000000 },  { "100m", 0, 6000000000000 },
        { "1m30", 0, 90000000000 }, { .text = "100" },
        { .text = "1k" },           { .text = "" },
        { .text = "50ms" },         { .text = "1d" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        uint64_t bytes, time_ns;
        const bool good = options_parse_rotation(rows[i].text, &bytes, &time_ns);
        if (good != (rows[i].bytes || rows[i].time_ns) ||
            (good && (bytes != rows[i].bytes || time_ns != rows[i].time_ns)))
            fail_msg("'%s' gives %d, %lu, %lu", rows[i].text, good, bytes, time_ns);
    }
}

TEST_FILE(options)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_read),
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(durations_are_read),
        cmocka_unit_test(rotations_are_sizes_or_times),
        cmocka_unit_test_setup_teardown(command_lines_mean_what_they_say, be_quiet, speak_again),
    };
    return run_all(tests);
}
