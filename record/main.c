/* SPDX-License-Identifier: MIT */
/* pyreel-record: starts a program or takes hold of a running one, samples it until it ends or we are asked to stop,
 * and leaves a whole file. */
#include "formats/base/alloc.h"
#include "formats/base/startup.h"
#include "formats/stream/stream_write.h"
#include "record/command.h"
#include "record/exact/budget.h"
#include "record/options.h"
#include "record/process/clock.h"
#include "record/process/permission.h"
#include "record/process/priority.h"
#include "record/process/procfs.h"
#include "record/progress.h"
#include "record/recording_file.h"
#include "record/recording_info.h"
#include "record/sampler.h"
#include "record/sampler_counters.h"
#include "record/signals.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_FIRST_NS    500000u     /* between two looks for a Python that is not there yet; doubles ... */
#define LOOK_MOST_NS     16000000u   /* ... up to this */
#define BECOME_PYTHON_NS 1000000000u /* a process that we attach to may be just about to become a Python */
#define NAP_MOST_NS      100000000u  /* a sleep is no longer, so that the end of the target is noticed */
#define SETTLE_NS        1000000u    /* the same while the target has a thread that waits for us */
#define BLOCKING_LIMIT   0.5         /* of the program's time that --blocking may take */
#define BELIEVE_NS       50000000u   /* a process that can't be read is looked at again for so long */

/* One run of the program. */
struct session {
    struct options options;
    struct command command;
    struct recording_file file;
    struct stream_writer writer;
    struct sampler sampler;
    struct freeze freeze;
    struct budget budget;
    enum priority priority;
    struct progress progress;
    pid_t pid;
    int pidfd;            /* of the process that we attached to; -1 where the kernel has none */
    uint64_t deadline_ns; /* monotonic, when the duration is over; UINT64_MAX: never */
    uint64_t missed_ns;   /* the intervals of ticks that were missed */
    uint32_t blocks;      /* written when the file was looked at last */
    enum end_reason reason;
    struct fault why; /* of END_ERROR */
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

static struct figures figures_of(const struct session *session)
{
    const struct sampler *sampler = &session->sampler;
    return (struct figures){ .elapsed_ns = clock_now_ns() - sampler->start_ns,
                             .ticks = sampler->ticks,
                             .left_out = budget_left_out(&session->budget),
                             .samples = sampler->samples,
                             .exact = sampler->figures.exact,
                             .missed = sampler->missed,
                             .missed_ns = session->missed_ns,
                             .failed = sampler->failed,
                             .taken_ns = sampler_taken_ns(sampler),
                             .limit = session->budget.limit,
                             .asked_hz = 1e9 / (double)session->budget.asked_ns,
                             .blocking = session->options.blocking,
                             .refusal = sampler->exact.refusal,
                             .punctual = session->priority == PRIORITY_REAL_TIME,
                             .bytes = session->writer.blocks.written,
                             .threads = sampler->last_thread };
}

/* ---- when to stop ---- */

static bool stop(struct session *session, enum end_reason reason)
{
    session->reason = reason;
    return true;
}

/* Whether something other than the target's end asks us to stop. */
static bool asked_to_stop(struct session *session)
{
    if (signals_stop())
        return stop(session, END_SIGNAL);
    if (clock_now_ns() >= session->deadline_ns)
        return stop(session, END_DURATION);
    return false;
}

/* A zombie has ended, and a process that has its number now is another one: a pidfd tells, a number does not. */
static bool target_ended(struct session *session)
{
    if (session->command.pid)
        return command_ended(&session->command);
    if (session->pidfd < 0)
        return kill(session->pid, 0) != 0 && errno == ESRCH;
    struct pollfd end = { .fd = session->pidfd, .events = POLLIN };
    return poll(&end, 1, 0) > 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Sleeps until `wake_ns` in naps. False when we are to stop. */
static bool sleep_until(struct session *session, uint64_t wake_ns)
{
    for (uint64_t now; (now = clock_now_ns()) < wake_ns;) {
        if (asked_to_stop(session))
            return false;
        const uint64_t nap_ns = freeze_settle(&session->freeze) ? SETTLE_NS : NAP_MOST_NS;
        const bool long_sleep = wake_ns - now > nap_ns;
        clock_sleep_until(earlier(earlier(wake_ns, now + nap_ns), session->deadline_ns));
        if (long_sleep && target_ended(session))
            return true;
    }
    return !asked_to_stop(session);
}

/* Waits for the end of the command, which must not wait for us meanwhile. */
static void wait_for_command(struct session *session)
{
    while (freeze_settle(&session->freeze) && !command_ended(&session->command))
        clock_sleep_until(clock_now_ns() + SETTLE_NS);
    command_wait(&session->command);
}

/* ---- finding the target ---- */

/* Looks at the process until it is a Python that runs, or until it is certain that it won't be. A refusal is believed
 * after a while only: a process that is just ending has no memory left, which looks as if it were not for us, and one
 * that is just starting may not be mapped as a whole. */
static enum target_state find_python(struct session *session, struct target *target, uint64_t give_up_ns)
{
    const uint64_t believe_ns = clock_now_ns() + BELIEVE_NS;
    uint64_t wait_ns = LOOK_FIRST_NS;
    for (;;) {
        struct fault why = { 0 };
        enum target_state state = target_open(target, session->pid, &why);
        const struct options *options = &session->options;
        if (state == TARGET_READY && ((options->async && !asyncio_possible(&target->runtime.layout, &why)) ||
                                      (options->blocking && !freeze_open(&session->freeze, session->pid, &why)))) {
            target_close(target);
            state = TARGET_UNSUPPORTED;
        }
        const uint64_t now = clock_now_ns();
        if (state == TARGET_READY)
            return state;
        if (target_ended(session))
            return TARGET_GONE;
        if ((state == TARGET_UNSUPPORTED || state == TARGET_DENIED) && now >= believe_ns) {
            session->why = why;
            return state;
        }
        if (now >= give_up_ns || !sleep_until(session, now + wait_ns))
            return state == TARGET_GONE ? state : TARGET_NOT_YET;
        wait_ns = earlier(wait_ns * 2, LOOK_MOST_NS);
    }
}

/* The process could not be opened, for good: says why in session->why. */
static bool refuse(struct session *session, enum target_state state)
{
    struct fault *why = &session->why;
    const struct fault known = *why;
    why->text[0] = '\0';
    switch (state) {
    case TARGET_GONE:
        return fault(why, "there is no process %d", (int)session->pid);
    case TARGET_DENIED:
        return permission_explain(session->pid, why);
    case TARGET_UNSUPPORTED:
        return fault(why, "cannot read process %d: %s", (int)session->pid, known.text);
    default:
        return fault(
            why,
            "no CPython interpreter was found in process %d; this version of pyreel reads CPython " LAYOUT_SUPPORTED,
            (int)session->pid);
    }
}

/* ---- sampling ---- */

/* Whether the file has room for more, and is there. Looked at when a block was written, which is once a second. */
static bool goes_on(struct session *session)
{
    if (session->blocks == session->writer.blocks.sequence && !session->writer.blocks.full)
        return true;
    session->blocks = session->writer.blocks.sequence;
    if (stream_writer_full(&session->writer))
        return !stop(session, END_SIZE);
    return !recording_file_removed(&session->file, &session->why) || !stop(session, END_ERROR);
}

/* Ticks that fell into a look which waited for the lock of the target's memory: what the look found right after is what
 * the target did all the time, since it is the target that held the lock. */
static bool tick_again(struct session *session, uint64_t ticks)
{
    const uint64_t stands_ns = session->budget.skipped_ns / ticks;
    session->sampler.stands_ns = stands_ns == session->budget.asked_ns ? 0 : stands_ns;
    return sampler_ticks_again(&session->sampler, ticks, &session->why);
}

/* Samples the attached process until it is lost. False when that is the end of the recording. */
static bool sample_process(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    struct budget *budget = &session->budget;
    uint64_t missed = 0;
    budget_begin(budget, clock_now_ns());
    for (;;) {
        const struct moments moments = budget_moments(budget);
        const bool appointed = sampler_appoint(sampler, &moments);
        if (!sleep_until(session, moments.due_ns + (appointed ? STAND_LATE_NS : 0)))
            return false;
        if (clock_now_ns() < moments.due_ns) /* the target has ended, and no post need wait for the moment */
            sampler_cancel(sampler);
        const uint64_t taken_ns = sampler_taken_ns(sampler);
        sampler->stands_ns = budget_stands_ns(budget);
        switch (sampler_tick(sampler, clock_now_ns(), missed, &session->why)) {
        case SAMPLER_GOING:
            break;
        case SAMPLER_LOST:
            return true;
        case SAMPLER_STUCK:
            return !stop(session, END_ERROR);
        }
        const bool stood_still = signals_continued(); /* we did, and did not wait */
        const bool waited = sampler->waited && !stood_still;
        missed = budget_pass(budget, sampler_taken_ns(sampler) - taken_ns, clock_now_ns(), waited);
        if (missed > 0 && waited) {
            if (!tick_again(session, missed))
                return !stop(session, END_ERROR);
            missed = 0;
        } else if (missed > 0) {
            session->missed_ns += budget->skipped_ns;
        }
        const struct figures figures = figures_of(session);
        progress_update(&session->progress, &figures);
        if (!goes_on(session))
            return false;
    }
}

/* Samples one program after the other: a process may become another by execve. */
static void sample(struct session *session, struct target *target)
{
    for (;;) {
        char version[32];
        say(session, "process %d runs CPython %s", (int)target->pid,
            event_python_version_text(version, target->runtime.layout.version));
        sampler_attach(&session->sampler, target);
        if (session->sampler.stands)
            sampler_warm_up(&session->sampler);
        const bool lost = sample_process(session);
        sampler_detach(&session->sampler);
        session->reason = lost ? END_TARGET : session->reason;
        if (!lost || target_ended(session))
            return;
        const uint64_t give_up_ns = session->command.pid ? UINT64_MAX : clock_now_ns() + BECOME_PYTHON_NS;
        const enum target_state state = find_python(session, target, give_up_ns);
        if (state == TARGET_READY)
            continue;
        if (state == TARGET_UNSUPPORTED || state == TARGET_DENIED) {
            refuse(session, state);
            session->reason = END_ERROR;
        } else if (state == TARGET_NOT_YET && session->reason == END_TARGET) {
            session->reason = END_NOT_PYTHON;
        }
        return;
    }
}

/* ---- the file ---- */

static bool begin_recording(struct session *session, char **argv)
{
    const struct options *options = &session->options;
    clock_be_punctual(); /* not earlier: a command that we started would inherit it */
    session->priority = options->priority ? priority_raise() : PRIORITY_OWN;
    say(session, "priority: %s", priority_text(session->priority));
    stream_writer_open(&session->writer, session->file.fd, options->codec, options->level);
    stream_writer_limit(&session->writer, options->size_limit);
    session->sampler.sink = stream_writer_sink(&session->writer);
    session->sampler.interval_ns = options->interval_ns;
    session->sampler.which = options->which;
    session->sampler.anew = options->anew;
    session->sampler.marks = (struct marks){ .native = options->native, .gc = options->gc, .depth = options->depth };
    session->sampler.with_status = true;
    session->sampler.asyncio.which = options->async;
    session->sampler.statuses = (struct statuses){ .mode = options->mode, .interval_ns = options->interval_ns };
    session->sampler.instructions = options->opcodes;
    session->sampler.freeze = options->blocking ? &session->freeze : NULL;
    session->sampler.stands = options->disturb > 0 && !options->blocking;
    session->sampler.raise = options->priority;
    session->sampler.start_ns = clock_now_ns();
    session->budget = (struct budget){ .asked_ns = options->interval_ns,
                                       .limit = options->blocking ? BLOCKING_LIMIT : options->disturb,
                                       .even = !options->jitter };
    budget_open(&session->budget, session->sampler.start_ns);
    if (options->duration_ns)
        session->deadline_ns = session->sampler.start_ns + options->duration_ns;

    struct event event = { .kind = EVENT_RECORDING };
    recording_info_describe(&event.recording, options, argv, session->sampler.start_ns);
    const bool good = recording_file_begin(&session->file, &session->why) &&
                      stream_write(&session->writer, &event, &session->why);
    recording_info_forget(&event.recording);
    return good;
}

static bool end_recording(struct session *session)
{
    const struct sink sink = stream_writer_sink(&session->writer);
    session->sampler.figures.ticks_left_out = budget_left_out(&session->budget);
    session->sampler.figures.limit_ppm = (uint64_t)(session->budget.limit * 1e6 + 0.5);
    if (!sampler_counters_emit(&session->sampler, &sink, &session->why))
        return false;
    const struct event event = {
        .kind = EVENT_END,
        .end = { .reason = session->reason,
                 .time_ns = clock_now_ns() - session->sampler.start_ns,
                 .wait_status = session->command.ended ? session->command.wait_status : -1 },
    };
    return stream_write(&session->writer, &event, &session->why);
}

static void summarise(const struct session *session, const char *path)
{
    const struct figures f = figures_of(session);
    if (session->options.quiet)
        return;
    progress_summary(&f, path, session->reason);
    freeze_report(&session->freeze, f.ticks);
}

/* Ends the file and reports. Returns whether all is well. */
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
    if (session->options.stats && !session->options.quiet)
        sampler_counters_print(&session->sampler, &session->writer.blocks);
    free(path);
    return good;
}

static void close_session(struct session *session)
{
    struct fault unused = { 0 };
    if (session->pidfd >= 0)
        close(session->pidfd);
    sampler_close(&session->sampler);
    freeze_close(&session->freeze);
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
    struct target target;
    session->pid = session->options.pid;
    session->pidfd = (int)syscall(SYS_pidfd_open, session->pid, 0);
    signals_handle(false);
    const enum target_state state = find_python(session, &target, clock_now_ns() + BECOME_PYTHON_NS);
    if (state == TARGET_NOT_YET && signals_stop())
        return 128 + signals_stop();
    if (state != TARGET_READY) {
        refuse(session, state);
        return fail(session, EXIT_OURS);
    }
    const struct text line = procfs_command(session->pid);
    const bool opened = recording_file_open(&session->file, session->options.output, session->options.force,
                                            session->pid, line, &session->why);
    text_free(line);
    if (!opened || !begin_recording(session, argv)) {
        target_close(&target);
        recording_file_discard(&session->file);
        return fail(session, EXIT_OURS);
    }
    sample(session, &target);
    return finish(session) ? EXIT_SUCCESS : EXIT_OURS;
}

/* Waits for the first Python of the command and samples it to its end. */
static void sample_command(struct session *session)
{
    struct target target;
    session->reason = END_TARGET;
    const enum target_state state = find_python(session, &target, UINT64_MAX);
    if (state == TARGET_READY) {
        sample(session, &target);
    } else if (state == TARGET_DENIED || state == TARGET_UNSUPPORTED) {
        refuse(session, state);
        session->reason = END_ERROR;
    }
}

static int record_command(struct session *session, char **argv)
{
    const struct options *options = &session->options;
    struct command *command = &session->command;
    const bool to_pipe = options->output && strcmp(options->output, "-") == 0;
    if (!command_prepare(command, options->command, to_pipe, &session->why))
        return fail(session, EXIT_OURS);
    session->pid = command->pid;
    const struct text line = procfs_quote_command(options->command);
    const bool opened = recording_file_open(&session->file, options->output, options->force, command->pid, line,
                                            &session->why);
    text_free(line);
    signals_pass_on_to(command->pid);
    signals_handle(true);
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
        fail(session, EXIT_OURS); /* it runs, so it is left to run to its end */
        recording_file_discard(&session->file);
        command_wait(command);
        return EXIT_OURS;
    }
    sample_command(session);
    if (session->reason == END_TARGET)
        wait_for_command(session);
    const bool good = finish(session);
    if ((session->reason == END_DURATION || session->reason == END_SIZE) && options->kill && !command->ended)
        kill(command->pid, SIGTERM);
    wait_for_command(session);
    return good ? command_exit_code(command) : EXIT_OURS;
}

int main(int argc, char **argv)
{
    startup(EXIT_OURS);
    struct session session = { .deadline_ns = UINT64_MAX, .pidfd = -1, .command = { .gate = -1, .verdict = -1 } };
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
