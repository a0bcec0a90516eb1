/* SPDX-License-Identifier: MIT */
/* make-recording: writes a recording of a made-up program (made.h), for measuring the programs that read recordings. It
 * is as large as one likes and always the same. */
#include "formats/base/alloc.h"
#include "formats/base/arguments.h"
#include "formats/base/startup.h"
#include "formats/stream/stream_write.h"
#include "tests/bench/made.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_EACH   8  /* frames of a function */
#define FILES_EACH   10 /* functions of a file */
#define UNITS        10 /* of an interval: how fine times are */
#define TREE_UNITS   40 /* so in recordings of several processes, whose ticks are at random moments of an interval */
#define LATE_PERCENT 5  /* of ticks */

enum option_number {
    OPTION_SAMPLES = 1,
    OPTION_LIKE,
    OPTION_STACKS,
    OPTION_DEPTH,
    OPTION_THREADS,
    OPTION_RATE,
    OPTION_SEED,
    OPTION_HELP,
};

static const struct argument rows[] = {
    { OPTION_SAMPLES, 'n', "samples", "N", 0, "samples of threads; 1M is a million (1M)" },
    { OPTION_LIKE, 'l', "like", "MIX", 0,
      "how threads live: mixed, threads, calls, states,\ntree (processes of 4 threads) or workers (processes\nthat "
      "wait) (mixed)" },
    { OPTION_STACKS, 's', "stacks", "N", 0, "distinct stacks (2k)" },
    { OPTION_DEPTH, 'd', "depth", "N", 0, "frames of the deepest (30)" },
    { OPTION_THREADS, 't', "threads", "N", 0, "threads (8)" },
    { OPTION_RATE, 'r', "rate", "N", 0, "ticks in a second (1k)" },
    { OPTION_SEED, 0, "seed", "N", 0, "another number, another program (1)" },
    { OPTION_HELP, 'h', "help", NULL, 0, "print this and exit" },
    { 0 },
};

static const struct arguments arguments = { .tables = { rows } };

struct options {
    uint64_t numbers[OPTION_HELP]; /* by option */
    const struct made_mix *mix;
    const char *path;
};

/* What a number may be; 0 is no number of anything. */
static const uint64_t most[OPTION_HELP] = {
    [OPTION_SAMPLES] = 1000000000000, [OPTION_STACKS] = 10000000, [OPTION_DEPTH] = 10000,
    [OPTION_THREADS] = 10000,         [OPTION_RATE] = 100000,     [OPTION_SEED] = UINT32_MAX,
};

static int misuse(const char *what)
{
    fprintf(stderr, "make-recording: %s; try --help\n", what);
    return EXIT_MISUSE;
}

/* "100M" is 100,000,000. */
static bool parse_count(const char *text, uint64_t limit, uint64_t *count)
{
    static const char letters[] = "kM";
    char *end;
    errno = 0;
    *count = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (*count == 0 || errno || *count > limit)
        return false;
    const char *letter = *end ? strchr(letters, *end) : NULL;
    for (const char *l = letters; letter && l <= letter; l++)
        *count = *count > limit / 1000 ? limit + 1 : *count * 1000;
    return *count <= limit && end[letter != NULL] == '\0';
}

static int print_help(void)
{
    printf("usage: make-recording [OPTIONS] FILE\n\nWrites a recording of a made-up program.\n\n");
    arguments_print(&arguments);
    return EXIT_SUCCESS;
}

/* -1 when the program is to go on, else what it ends with. */
static int read_options(struct options *options, int argc, char **argv)
{
    int wrong = 0;
    const struct argument *row;
    *options = (struct options){ .mix = made_mix("mixed"),
                                 .numbers = { [OPTION_SAMPLES] = 1000000,
                                              [OPTION_STACKS] = 2000,
                                              [OPTION_DEPTH] = 30,
                                              [OPTION_THREADS] = 8,
                                              [OPTION_RATE] = 1000,
                                              [OPTION_SEED] = 1 } };
    while ((row = arguments_next(&arguments, argc, argv, &wrong))) {
        if (row->number == OPTION_HELP)
            return print_help();
        if (row->number == OPTION_LIKE)
            options->mix = made_mix(optarg);
        else if (!parse_count(optarg, most[row->number], &options->numbers[row->number]))
            return misuse("a number is wrong");
        if (!options->mix)
            return misuse("there is no such mix");
    }
    if (wrong || optind + 1 != argc)
        return wrong ? EXIT_MISUSE : misuse("name one FILE");
    options->path = argv[optind];
    return -1;
}

/* ---- the recording ---- */

struct making {
    struct stream_writer writer;
    struct made program;
    uint64_t interval_ns, ticks, samples;
    uint32_t strings, functions, frames, tasks; /* defined so far */
    struct fault why;
};

static bool tell(struct making *making, struct event event)
{
    return stream_write(&making->writer, &event, &making->why);
}

static bool tell_string(struct making *making, uint32_t number, const char *format, uint32_t value)
{
    char text[64];
    const int size = snprintf(text, sizeof(text), "%s_%u", format, value);
    return tell(making, (struct event){ EVENT_STRING, .string = { number, { text, (size_t)size } } });
}

/* A string, and with the first function of a file also the file's. */
static bool tell_function(struct making *making, uint32_t *file)
{
    const uint32_t number = ++making->functions;
    bool good = true;
    if (number % FILES_EACH == 1) {
        *file = ++making->strings;
        good = tell_string(making, *file, "/usr/lib/python3.15/site-packages/package/module.py", number / FILES_EACH);
    }
    const uint32_t name = ++making->strings;
    return good && tell_string(making, name, "Class.method", number) &&
           tell(making, (struct event){ EVENT_FUNCTION,
                                        .function = { number, name, *file, number % 10 * 20 + 1, KIND_PYTHON, 0, 0 } });
}

static bool tell_frames(struct making *making)
{
    uint32_t file = 0;
    bool good = true;
    while (making->frames < making->program.frames_count && good) {
        if (++making->frames % LINES_EACH == 1)
            good = tell_function(making, &file);
        const uint32_t line = making->functions % 10 * 20 + 2 + making->frames % LINES_EACH;
        const struct frame frame = { making->frames, making->functions, line, line, 4, 20, 0, 0, 0, 0, 0 };
        good = good && tell(making, (struct event){ EVENT_FRAME, .frame = frame });
    }
    return good;
}

/* A frame of a function of its own. `file` empty: none. */
static bool tell_extra(struct making *making, enum frame_kind kind, struct text name, struct text file, uint32_t line)
{
    const uint32_t name_string = ++making->strings, file_string = file.size ? ++making->strings : 0;
    const struct function function = { ++making->functions, name_string, file_string, line, kind, 0, 0 };
    const struct frame frame = { ++making->frames, function.number, line, line, -1, -1, 0, 0, 0, 0, 0 };
    return tell(making, (struct event){ EVENT_STRING, .string = { name_string, name } }) &&
           (file_string == 0 || tell(making, (struct event){ EVENT_STRING, .string = { file_string, file } })) &&
           tell(making, (struct event){ EVENT_FUNCTION, .function = function }) &&
           tell(making, (struct event){ EVENT_FRAME, .frame = frame });
}

static bool tell_extras(struct making *making)
{
    static const struct {
        struct text name, file;
    } extras[MADE_EXTRAS] = {
        [MADE_GC] = { { "<GC>", 4 }, { 0 } },
        [MADE_TURN] = { { "BaseEventLoop._run_once", 23 }, { "/usr/lib/python3.15/asyncio/base_events.py", 42 } },
        [MADE_RUN] = { { "Handle._run", 11 }, { "/usr/lib/python3.15/asyncio/events.py", 37 } },
        [MADE_SELECT] = { { "EpollSelector.select", 20 }, { "/usr/lib/python3.15/selectors.py", 32 } },
    };
    bool good = true;
    for (uint32_t i = 1; i < MADE_EXTRAS && making->program.mix->states && good; i++)
        good = tell_extra(making, i == MADE_GC ? KIND_GC : KIND_PYTHON, extras[i].name, extras[i].file,
                          extras[i].file.size ? 100 * i : 0);
    return good;
}

/* The tasks that are new, and their frames. */
static bool tell_tasks(struct making *making, uint64_t time_ns)
{
    bool good = true;
    while (making->tasks < making->program.tasks_count && good) {
        char name[32], frame[48];
        const int size = snprintf(name, sizeof(name), "Task-%" PRIu32, ++making->tasks);
        const int frame_size = snprintf(frame, sizeof(frame), "<task %s>", name);
        const struct task task = { making->tasks, 1, { name, (size_t)size }, time_ns };
        good = tell(making, (struct event){ EVENT_TASK, .task = task }) &&
               tell_extra(making, KIND_TASK, (struct text){ frame, (size_t)frame_size }, (struct text){ 0 }, 0);
    }
    return good;
}

/* The process of a thread. */
static uint32_t process_of(const struct making *making, uint32_t thread)
{
    return making->program.mix->each ? 1 + (thread - 1) / making->program.mix->each : 1;
}

/* A process begins with its first thread. Processes are children of the first one. */
static bool tell_process(struct making *making, uint32_t number, uint32_t pid)
{
    struct process process = { .number = number,
                               .pid = pid,
                               .python_version = 0x030f02f0,
                               .executable = TEXT("/usr/bin/python3.15"),
                               .command = TEXT("python3 app.py"),
                               .folder = TEXT("/home/u") };
    if (number > 1) {
        process.parent = 1;
        process.parent_pid = 4000;
    }
    return tell(making, (struct event){ EVENT_PROCESS, .process = process });
}

static bool tell_threads(struct making *making)
{
    bool good = true;
    for (uint32_t i = 1, last = 0; i <= making->program.threads_count && good; i++) {
        const uint32_t process = process_of(making, i);
        const struct thread thread = { i, process, 3999 + i, process != last, 0, 0, TEXT("python3"), 0 };
        good = (process == last || tell_process(making, process, thread.tid)) &&
               tell(making, (struct event){ EVENT_THREAD, .thread = thread });
        last = process;
    }
    return good;
}

static bool begin(struct making *making)
{
    const struct recording recording = { .pyreel_version = TEXT(PYREEL_VERSION),
                                         .command = TEXT("make-recording"),
                                         .machine = TEXT("x86_64"),
                                         .mode = TEXT("wall"),
                                         .threads_option = TEXT("all"),
                                         .processors = 1,
                                         .start_unix_ns = 1700000000000000000,
                                         .interval_ns = making->interval_ns,
                                         .process_ticks = making->program.mix->each > 0,
                                         .time_unit_ns = making->interval_ns /
                                                         (making->program.mix->each ? TREE_UNITS : UNITS) };
    return tell(making, (struct event){ EVENT_RECORDING, .recording = recording }) && tell_threads(making) &&
           tell_frames(making) && tell_extras(making);
}

/* All threads once, or as many as are left. */
static bool tell_tick(struct making *making, uint64_t *left)
{
    const uint64_t late = made_roll(&making->program, 100) < LATE_PERCENT ? making->interval_ns / UNITS : 0;
    const uint64_t time_ns = ++making->ticks * making->interval_ns + late;
    for (uint32_t i = 1; i <= making->program.threads_count && *left > 0; i++, --*left) {
        const struct sample sample = made_sample(&making->program, i, time_ns, making->interval_ns);
        making->samples++;
        if (!tell_tasks(making, time_ns) || !tell(making, (struct event){ EVENT_SAMPLE, .sample = sample }))
            return false;
    }
    return tell(making, (struct event){ EVENT_TICK, .tick_ns = time_ns });
}

/* The threads of one process. */
static bool tell_tick_of(struct making *making, uint32_t process, uint64_t time_ns, uint64_t *left)
{
    const uint32_t each = making->program.mix->each, first = (process - 1) * each + 1;
    for (uint32_t i = first; i < first + each && i <= making->program.threads_count && *left > 0; i++, --*left) {
        const struct sample sample = made_sample(&making->program, i, time_ns, making->interval_ns);
        making->samples++;
        if (!tell(making, (struct event){ EVENT_SAMPLE, .sample = sample }))
            return false;
    }
    making->ticks++;
    return tell(making, (struct event){ EVENT_TICK, .tick_ns = time_ns, .tick_process = process });
}

/* Each process once, at a random moment of the interval that begins then. */
static bool tell_interval(struct making *making, uint64_t begin_ns, uint64_t *left)
{
    const uint32_t processes = process_of(making, making->program.threads_count);
    uint32_t *moments = alloc_zeroed(processes, sizeof(*moments));
    bool good = true;
    for (uint32_t i = 0; i < processes; i++)
        moments[i] = made_roll(&making->program, TREE_UNITS);
    for (uint32_t moment = 0; moment < TREE_UNITS && good; moment++)
        for (uint32_t i = 0; i<processes && * left> 0 && good; i++)
            if (moments[i] == moment)
                good = tell_tick_of(making, i + 1, begin_ns + moment * (making->interval_ns / TREE_UNITS), left);
    free(moments);
    return good;
}

static bool make(struct making *making, const uint64_t *numbers)
{
    uint64_t left = numbers[OPTION_SAMPLES], intervals = 0;
    bool good = begin(making);
    while (left > 0 && good)
        good = making->program.mix->each ? tell_interval(making, ++intervals * making->interval_ns, &left)
                                         : tell_tick(making, &left);
    intervals = making->program.mix->each ? intervals : making->ticks;
    const struct end end = {
        END_TARGET, (intervals + 1) * making->interval_ns, making->ticks, making->samples, 0, 0, 0
    };
    return good && tell(making, (struct event){ EVENT_END, .end = end });
}

int main(int argc, char **argv)
{
    struct options options;
    struct making making = { 0 };
    startup(EXIT_FAILURE);
    const int ends = read_options(&options, argc, argv);
    if (ends >= 0)
        return ends;
    const uint64_t *numbers = options.numbers;
    const int fd = open(options.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        fprintf(stderr, "make-recording: cannot create %s: %s\n", options.path, strerror(errno));
        return EXIT_FAILURE;
    }
    making.interval_ns = 1000000000 / numbers[OPTION_RATE];
    made_open(&making.program, options.mix, (uint32_t)numbers[OPTION_STACKS], (uint32_t)numbers[OPTION_DEPTH],
              (uint32_t)numbers[OPTION_THREADS], numbers[OPTION_SEED]);
    stream_writer_open(&making.writer, fd, CODEC_GROUPED); /* as the recorder */
    const bool good = make(&making, numbers);
    if (!good)
        fprintf(stderr, "make-recording: %s\n", making.why.text);
    stream_writer_close(&making.writer);
    made_close(&making.program);
    close(fd);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
