/* SPDX-License-Identifier: MIT */
/* pyreel-record: starts a program or attaches to a running one, samples the program until it ends or the user stops the
 * recording, and completes the file. */
#include "formats/base/alloc.h"
#include "formats/base/startup.h"
#include "formats/stream/stream_write.h"
#include "record/exact/budget.h"
#include "record/file/recording_file.h"
#include "record/guard/guard.h"
#include "record/guard/stuck.h"
#include "record/launch/command.h"
#include "record/launch/signals.h"
#include "record/options.h"
#include "record/process/clock.h"
#include "record/process/permission.h"
#include "record/process/priority.h"
#include "record/process/procfs.h"
#include "record/progress.h"
#include "record/recording_info.h"
#include "record/watch/sampler.h"
#include "record/watch/sampler_counters.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BECOME_PYTHON_NS 1000000000u /* with --pid: how long the process may take to become a Python */
#define NAP_MOST_NS      100000000u  /* longest sleep: afterwards the recorder checks whether the target has ended */
#define SETTLE_NS        1000000u    /* longest sleep while sampler_settle() has threads left */
#define APPOINT_NS       5000000u /* how long before a tick its look is appointed, if a measure is due before the tick */
#define BLOCKING_LIMIT   0.5      /* part of the program's time that --blocking may take */

/* One run of the program. */
struct session {
    struct options options;
    struct command command;
    struct recording_file file;
    struct stream_writer writer;
    struct sampler sampler;
    struct budget budget;
    enum priority priority;
    struct progress progress;
    struct watched *program; /* the process that the user asked for; owned by the sampler */
    uint64_t deadline_ns;    /* end of --duration (monotonic); UINT64_MAX: none */
    uint64_t missed_ns;      /* total length of the intervals of missed ticks */
    uint32_t blocks;         /* number of blocks at the last check of the file */
    enum end_reason reason;
    struct fault why; /* the reason of END_ERROR */
};

static void say(const struct session *session, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(const struct session *session, const char *format, ...)
{
    if (!session->options.verbose)
        return;
    va_list values;
    va_start(values, format);
    fputs("pyreel-record: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
}

static struct progress_totals totals_of(const struct session *session)
{
    const struct sampler *sampler = &session->sampler;
    const struct emitter *emitter = &sampler->emitter;
    return (struct progress_totals){ .elapsed_ns = clock_now_ns() - sampler->options.start_ns,
                                     .ticks = emitter->ticks,
                                     .left_out = budget_left_out(&session->budget),
                                     .samples = emitter->samples,
                                     .missed = sampler->missed,
                                     .missed_ns = session->missed_ns,
                                     .failed = emitter->failed,
                                     .taken_ns = sampler_taken_ns(sampler),
                                     .limit = session->budget.limit,
                                     .asked_hz = 1e9 / (double)session->budget.asked_ns,
                                     .blocking = session->options.blocking,
                                     .refusal = session->program->exact.refusal,
                                     .punctual = session->priority == PRIORITY_REAL_TIME,
                                     .bytes = session->writer.blocks.written,
                                     .threads = emitter->last_thread,
                                     .processes = emitter->last_process,
                                     .stopped = session->program->halt.stands,
                                     .stopped_ns = session->program->halt.total_ns };
}

/* ---- when to stop ---- */

static bool stop(struct session *session, enum end_reason reason)
{
    session->reason = reason;
    return true;
}

/* Whether the recording must stop for a reason other than the target's end. */
static bool asked_to_stop(struct session *session)
{
    if (signals_stop())
        return stop(session, END_SIGNAL);
    if (clock_now_ns() >= session->deadline_ns)
        return stop(session, END_DURATION);
    return false;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Sleeps until `wake_ns`, in short sleeps with checks between them. False when the recording must stop. */
static bool sleep_until(struct session *session, uint64_t wake_ns)
{
    for (uint64_t now; (now = clock_now_ns()) < wake_ns;) {
        if (asked_to_stop(session))
            return false;
        const uint64_t nap_ns = sampler_settle(&session->sampler) ? SETTLE_NS : NAP_MOST_NS;
        const bool long_sleep = wake_ns - now > nap_ns;
        clock_sleep_until(earlier(earlier(wake_ns, now + nap_ns), session->deadline_ns));
        if (long_sleep && watched_ended(session->program))
            return true;
    }
    return !asked_to_stop(session);
}

/* Waits for the end of the command. Calls sampler_settle() meanwhile, so that no thread of the command stays frozen. */
static void wait_for_command(struct session *session)
{
    while (sampler_settle(&session->sampler) && !command_ended(&session->command))
        clock_sleep_until(clock_now_ns() + SETTLE_NS);
    command_wait(&session->command);
}

/* ---- finding the target ---- */

/* Waits until the process is a running Python, or until it is certain that it will not be one. Then session->why has
 * the reason. */
static enum target_state find_python(struct session *session, uint64_t give_up_ns)
{
    struct watched *program = session->program;
    watched_seek(program);
    for (;;) {
        struct fault why = { 0 };
        const enum target_state state = watched_find(program, &why);
        if (state == TARGET_UNSUPPORTED || state == TARGET_DENIED)
            session->why = why;
        if (state != TARGET_NOT_YET)
            return state;
        if (clock_now_ns() >= give_up_ns || !sleep_until(session, program->find_due_ns))
            return program->found == TARGET_GONE ? TARGET_GONE : TARGET_NOT_YET;
    }
}

/* ---- sampling ---- */

/* Whether the file is below the size limit, and still in its folder. Checked after each block, about once a second. */
static bool goes_on(struct session *session)
{
    if (session->blocks == session->writer.blocks.sequence && !session->writer.blocks.full)
        return true;
    session->blocks = session->writer.blocks.sequence;
    if (stream_writer_full(&session->writer))
        return !stop(session, END_SIZE);
    return !recording_file_removed(&session->file, &session->why) || !stop(session, END_ERROR);
}

/* Emits the ticks whose moments were while a look waited for the lock of the target's memory. The target itself held
 * this lock, so what the look found is what the target did all the time. */
static bool tick_again(struct session *session, uint64_t ticks)
{
    const uint64_t stands_ns = session->budget.skipped_ns / ticks;
    session->sampler.emitter.stands_ns = stands_ns == session->budget.asked_ns ? 0 : stands_ns;
    return sampler_ticks_again(&session->sampler, ticks, &session->why);
}

/* Makes the measures that are due before the next tick, whose look is not appointed yet: a look may emit, too. At a low
 * rate the measures wake the recorder between two ticks. False when the recording must stop. */
static bool measure_until(struct session *session, uint64_t tick_ns)
{
    struct sampler *sampler = &session->sampler;
    for (;;) {
        const uint64_t due_ns = sampler_measure_due_ns(sampler), now_ns = clock_now_ns();
        const bool waits = due_ns > now_ns;
        if (waits && (tick_ns < APPOINT_NS || due_ns > tick_ns - APPOINT_NS))
            return true;
        if (waits && !sleep_until(session, due_ns))
            return false;
        if (waits && watched_ended(session->program))
            return true;
        sampler_measure(sampler, clock_now_ns());
    }
}

/* Samples the attached process until it is lost. False when the recording must stop. */
static bool sample_process(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    struct budget *budget = &session->budget;
    uint64_t missed = 0;
    budget_begin(budget, clock_now_ns());
    for (;;) {
        const struct moments moments = budget_moments(budget);
        if (!measure_until(session, moments.due_ns))
            return false;
        const bool appointed = sampler_appoint(sampler, &moments);
        if (!sleep_until(session, moments.due_ns + (appointed ? STAND_LATE_NS : 0)))
            return false;
        if (clock_now_ns() < moments.due_ns) /* the target has ended: no post has to wait for the moment */
            sampler_cancel(sampler);
        const uint64_t taken_ns = sampler_taken_ns(sampler);
        sampler->emitter.stands_ns = budget_stands_ns(budget);
        switch (sampler_tick(sampler, clock_now_ns(), missed, &session->why)) {
        case SAMPLER_GOING:
            break;
        case SAMPLER_LOST:
            return true;
        case SAMPLER_STUCK:
            return !stop(session, END_ERROR);
        }
        const bool stood_still = signals_continued(); /* a signal stopped the recorder: the time is no wait */
        const bool waited = sampler_waited(sampler) && !stood_still;
        missed = budget_pass(budget, sampler_taken_ns(sampler) - taken_ns, clock_now_ns(), waited);
        if (missed > 0 && waited) {
            if (!tick_again(session, missed))
                return !stop(session, END_ERROR);
            missed = 0;
        } else if (missed > 0) {
            session->missed_ns += budget->skipped_ns;
        }
        const struct progress_totals totals = totals_of(session);
        progress_update(&session->progress, &totals);
        if (!goes_on(session))
            return false;
    }
}

/* Samples the programs of the process, one after the other: execve starts another program. */
static void sample(struct session *session)
{
    struct watched *program = session->program;
    for (;;) {
        char version[32];
        say(session, "process %d runs CPython %s", (int)program->pid,
            event_python_version_text(version, program->target.runtime.layout.version));
        watched_attach(program);
        if (session->sampler.options.stands)
            watched_warm_up(program);
        const bool lost = sample_process(session);
        watched_detach(program);
        session->reason = lost ? END_TARGET : session->reason;
        if (!lost || watched_ended(session->program))
            return;
        const uint64_t give_up_ns = session->command.pid ? UINT64_MAX : clock_now_ns() + BECOME_PYTHON_NS;
        const enum target_state state = find_python(session, give_up_ns);
        if (state == TARGET_READY)
            continue;
        if (state == TARGET_UNSUPPORTED || state == TARGET_DENIED) {
            watched_refusal(session->program, state, &session->why);
            session->reason = END_ERROR;
        } else if (state == TARGET_NOT_YET && session->reason == END_TARGET) {
            session->reason = END_NOT_PYTHON;
        }
        return;
    }
}

/* ---- the file ---- */

/* Opens the sampler with the options, for one process. */
static void open_sampler(struct session *session, pid_t pid)
{
    const struct options *options = &session->options;
    struct sampler *sampler = &session->sampler;
    sampler->options = (struct watch_options){ .interval_ns = options->interval_ns,
                                               .which = options->which,
                                               .anew = options->anew,
                                               .with_status = true,
                                               .mode = options->mode,
                                               .async = options->async,
                                               .instructions = options->opcodes,
                                               .freezes = options->blocking,
                                               .stands = options->disturb > 0 && !options->blocking,
                                               .raise = options->priority };
    sampler->synthetic = (struct synthetic_frames){ .native = options->native,
                                                    .gc = options->gc,
                                                    .depth = options->depth };
    sampler_open(sampler, stream_writer_sink(&session->writer));
    session->program = sampler_watch(sampler, pid, session->command.pid ? &session->command : NULL);
}

static bool is_asked_to_stop(void)
{
    return signals_stop() != 0;
}

/* Gives up what a recording does not need. Called before other threads are started. */
static void enter_guard(const struct session *session)
{
    char text[GUARD_TEXT];
    const struct guard_needs needs = { .signals = session->command.pid > 0,
                                       .folder = recording_file_is_in_foreign_folder(&session->file) };
    guard_enter(&needs, text);
    say(session, "guard: %s", text);
    stuck_watch(is_asked_to_stop, EXIT_OURS);
}

static bool begin_recording(struct session *session, char **argv)
{
    const struct options *options = &session->options;
    clock_be_punctual(); /* only now, because the command would inherit the setting */
    session->priority = options->priority ? priority_raise() : PRIORITY_OWN;
    say(session, "priority: %s", priority_text(session->priority));
    stream_writer_open(&session->writer, session->file.fd, options->codec, options->level);
    stream_writer_sum_up(&session->writer);
    stream_writer_limit(&session->writer, options->size_limit);
    session->sampler.options.start_ns = clock_now_ns();
    session->budget = (struct budget){ .asked_ns = options->interval_ns,
                                       .limit = options->blocking ? BLOCKING_LIMIT : options->disturb,
                                       .even = !options->jitter };
    budget_open(&session->budget, session->sampler.options.start_ns);
    if (options->duration_ns)
        session->deadline_ns = session->sampler.options.start_ns + options->duration_ns;

    struct event event = { .kind = EVENT_RECORDING };
    recording_info_describe(&event.recording, options, argv, session->sampler.options.start_ns);
    const bool good = recording_file_begin(&session->file, &session->why) &&
                      stream_write(&session->writer, &event, &session->why);
    recording_info_forget(&event.recording);
    enter_guard(session);
    return good;
}

static struct limits limits_of(const struct session *session)
{
    return (struct limits){ .ticks_left_out = budget_left_out(&session->budget),
                            .limit_ppm = (uint64_t)(session->budget.limit * 1e6 + 0.5) };
}

static bool end_recording(struct session *session)
{
    const struct sink sink = stream_writer_sink(&session->writer);
    const struct limits limits = limits_of(session);
    if (!sampler_counters_emit(&session->sampler, &limits, &sink, &session->why))
        return false;
    const struct event event = {
        .kind = EVENT_END,
        .end = { .reason = session->reason,
                 .time_ns = clock_now_ns() - session->sampler.options.start_ns,
                 .wait_status = session->command.ended ? session->command.wait_status : -1 },
    };
    return stream_write(&session->writer, &event, &session->why);
}

static void summarise(const struct session *session, const char *path)
{
    struct progress_totals f = totals_of(session);
    if (session->options.quiet)
        return;
    f.exact = sampler_counters(&session->sampler).exact; /* the status line does not need it */
    progress_summary(&f, path, session->reason);
    freeze_report(&session->program->freeze, f.ticks);
}

/* Completes the file, and prints the summary. Returns whether the recording is good. */
static bool finish(struct session *session)
{
    const bool had_error = session->reason == END_ERROR;
    const bool ended = end_recording(session);
    if (session->writer.blocks.broken)
        session->reason = END_UNWRITTEN;
    progress_clear(&session->progress);
    char *path = alloc_copy(session->file.path, strlen(session->file.path));
    const bool closed = recording_file_close(&session->file, &session->why);
    const bool good = !had_error && ended && closed;
    if (!good)
        fprintf(stderr, "pyreel-record: %s\n", session->why.text);
    summarise(session, strcmp(path, "-") == 0 ? "standard output" : path);
    const struct limits limits = limits_of(session);
    if (session->options.stats && !session->options.quiet)
        sampler_counters_print(&session->sampler, &limits, &session->writer.blocks);
    free(path);
    return good;
}

/* Whether no Python came up, and so the file would hold nothing. A pipe, and a file that was there before, get a
 * recording all the same. */
static bool found_nothing(const struct session *session)
{
    return session->sampler.emitter.last_process == 0 && session->file.created;
}

/* Removes the file, and says why. Returns whether the recorder did not fail. */
static bool finish_without_file(struct session *session)
{
    const bool failed = session->reason == END_ERROR;
    recording_file_discard(&session->file);
    progress_clear(&session->progress);
    if (failed)
        fprintf(stderr, "pyreel-record: %s\n", session->why.text);
    else if (!session->options.quiet)
        progress_nothing(session->reason);
    return !failed;
}

static void close_session(struct session *session)
{
    struct fault unused = { 0 };
    sampler_close(&session->sampler);
    stream_writer_close(&session->writer);
    if (session->file.path)
        recording_file_close(&session->file, &unused);
}

static int fail(const struct session *session, int exit_code)
{
    fprintf(stderr, "pyreel-record: %s\n", session->why.text);
    return exit_code;
}

/* ---- the two ways to use it ---- */

static int record_running(struct session *session, char **argv)
{
    const pid_t pid = session->options.pid;
    if (!permission_see_processes(&session->why))
        return fail(session, EXIT_OURS);
    open_sampler(session, pid);
    signals_handle();
    const enum target_state state = find_python(session, clock_now_ns() + BECOME_PYTHON_NS);
    if (state == TARGET_NOT_YET && signals_stop())
        return 128 + signals_stop();
    if (state != TARGET_READY) {
        watched_refusal(session->program, state, &session->why);
        return fail(session, EXIT_OURS);
    }
    const struct text line = procfs_command(pid);
    const bool opened = recording_file_open(&session->file, session->options.output, session->options.force, pid, line,
                                            &session->why);
    text_free(line);
    if (!opened || !begin_recording(session, argv)) {
        target_close(&session->program->target);
        recording_file_discard(&session->file);
        return fail(session, EXIT_OURS);
    }
    sample(session);
    return finish(session) ? EXIT_SUCCESS : EXIT_OURS;
}

/* Waits for the first Python of the command and samples it to its end. */
static void sample_command(struct session *session)
{
    session->reason = END_TARGET;
    const enum target_state state = find_python(session, UINT64_MAX);
    if (state == TARGET_READY) {
        sample(session);
    } else if (state == TARGET_DENIED || state == TARGET_UNSUPPORTED) {
        watched_refusal(session->program, state, &session->why);
        session->reason = END_ERROR;
    }
}

static int record_command(struct session *session, char **argv)
{
    const struct options *options = &session->options;
    struct command *command = &session->command;
    const bool to_pipe = options->output && strcmp(options->output, "-") == 0;
    if (!permission_see_processes(&session->why) || !command_prepare(command, options->command, to_pipe, &session->why))
        return fail(session, EXIT_OURS);
    open_sampler(session, command->pid);
    const struct text line = procfs_quote_command(options->command);
    const bool opened = recording_file_open(&session->file, options->output, options->force, command->pid, line,
                                            &session->why);
    text_free(line);
    signals_pass_on_to(command->pid);
    signals_handle();
    if (!opened) {
        command_cancel(command);
        return fail(session, EXIT_OURS);
    }
    const int refused = command_run(command, options->command, &session->why);
    if (refused) {
        recording_file_discard(&session->file);
        return fail(session, refused);
    }
    if (!begin_recording(session, argv)) {
        fail(session, EXIT_OURS); /* the command runs, so the recorder waits for its end */
        recording_file_discard(&session->file);
        command_wait(command);
        return EXIT_OURS;
    }
    sample_command(session);
    if (session->reason == END_TARGET)
        wait_for_command(session);
    const bool good = found_nothing(session) ? finish_without_file(session) : finish(session);
    if ((session->reason == END_DURATION || session->reason == END_SIZE) && options->kill && !command->ended)
        kill(command->pid, SIGTERM);
    wait_for_command(session);
    return good ? command_exit_code(command) : EXIT_OURS;
}

int main(int argc, char **argv)
{
    startup(EXIT_OURS);
    struct session session = { .deadline_ns = UINT64_MAX, .command = { .gate = -1, .verdict = -1 } };
    int exit_code;
    if (!options_read(&session.options, argc, argv, &exit_code))
        return exit_code;
    if (recording_file_is_for_terminal(session.options.output)) {
        fprintf(stderr,
                "pyreel-record: a recording is binary and standard output is a terminal: name a file with -o, or pipe "
                "the recording to a converter\n");
        return EXIT_MISUSE;
    }
    progress_start(&session.progress, session.options.quiet);
    exit_code = session.options.pid ? record_running(&session, argv) : record_command(&session, argv);
    close_session(&session);
    return exit_code;
}
