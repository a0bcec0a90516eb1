/* SPDX-License-Identifier: MIT */
/* pyreel-record: starts a program or attaches to a running one, samples the program until it ends or the user stops the
 * recording, and completes the file. */
#include "formats/base/alloc.h"
#include "formats/base/startup.h"
#include "formats/base/utf8.h"
#include "record/file/output_name.h"
#include "record/guard/guard.h"
#include "record/guard/stuck.h"
#include "record/host.h"
#include "record/launch/descriptors.h"
#include "record/launch/signals.h"
#include "record/orders.h"
#include "record/process/clock.h"
#include "record/process/permission.h"
#include "record/process/procfs.h"
#include "record/recording_info.h"
#include "record/sampling.h"
#include "record/tree/python_kin.h"
#include "record/watch/other_processes.h"
#include "record/watch/sampler_counters.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define STUCK_PATIENCE     20 /* seconds for which a page of the program may not come */
#define LEAST_SUSPENDED_NS 100000000u
#define BLOCKING_LIMIT     0.5 /* part of the program's time that --blocking may take */

void session_say(const struct session *session, const char *format, ...)
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

/* Why samples were not one moment: the reason of the last process that has one. */
static const char *session_refusal(const struct session *session)
{
    const char *refusal = session->refusal;
    for (size_t i = 0; i < session->sampler.count; i++)
        if (session->sampler.watched[i]->exact.refusal)
            refusal = session->sampler.watched[i]->exact.refusal;
    return refusal;
}

/* The rate at which a process was looked at. With child processes, the mean of all samples, as readers of the recording
 * find it, too: the rare samples of processes that sleep hardly lower this mean. */
static double session_reached_hz(const struct sampler *sampler, uint64_t elapsed_ns)
{
    const struct emitter *emitter = &sampler->emitter;
    const double asked_hz = 1e9 / (double)sampler->options.interval_ns;
    if (!sampler->options.tree)
        return elapsed_ns ? (double)emitter->ticks * 1e9 / (double)elapsed_ns : 0;
    const double rates_hz = emitter->rates_hz + (double)emitter->usual * asked_hz;
    return emitter->samples ? rates_hz / (double)emitter->samples : 0;
}

/* For how long the machine has been suspended since the start. A wait for the processor may look like a little. */
static uint64_t session_suspended_ns(const struct session *session)
{
    const uint64_t suspended_ns = clock_suspended_ns();
    const uint64_t since_ns = suspended_ns > session->suspended_before_ns ? suspended_ns - session->suspended_before_ns
                                                                          : 0;
    return since_ns >= LEAST_SUSPENDED_NS ? since_ns : 0;
}

/* Processes that ended before the first look at them: before the tree told them, or after. */
static uint64_t session_passed(const struct session *session)
{
    return session->tree.counters.passed + session->passed;
}

struct progress_totals session_totals(const struct session *session)
{
    const struct sampler *sampler = &session->sampler;
    const struct emitter *emitter = &sampler->emitter;
    const uint64_t elapsed_ns = clock_now_ns() - sampler->options.start_ns;
    return (struct progress_totals){ .elapsed_ns = elapsed_ns,
                                     .ticks = emitter->ticks,
                                     .left_out = sampler_left_out(sampler),
                                     .samples = emitter->samples,
                                     .missed = sampler->missed,
                                     .missed_ns = sampler->missed_ns,
                                     .ticked_ns = sampler->options.tree ? sampler_lives_ns(sampler) : elapsed_ns,
                                     .failed = emitter->failed,
                                     .taken_ns = sampler_taken_ns(sampler),
                                     .limit = sampler->options.limit,
                                     .asked_hz = 1e9 / (double)sampler->options.interval_ns,
                                     .reached_hz = session_reached_hz(sampler, elapsed_ns),
                                     .blocking = session->options.blocking,
                                     .refusal = session_refusal(session),
                                     .full = definitions_full(&emitter->definitions),
                                     .no_room = emitter->definitions.left_out,
                                     .bytes = outlet_bytes(&session->outlet),
                                     .threads = emitter_threads(emitter),
                                     .follows = session->options.subprocesses,
                                     .selects = session->options.mode != MODE_WALL ||
                                                session->options.which != THREADS_ALL,
                                     .processes = emitter_processes(emitter),
                                     .refused = session->told > 0,
                                     .passed = session_passed(session),
                                     .paused_ns = sampler->paused_ns,
                                     .paused = session->pause.paused,
                                     .halt = session->program ? session->program->halt.kind : HALT_NONE };
}

/* ---- the file ---- */

struct limits session_limits(const struct session *session)
{
    const struct quota_counts counts = quota_look(&session->quota).counts;
    return (struct limits){ .ticks_left_out = sampler_left_out(&session->sampler),
                            .limit_ppm = (uint64_t)(session->sampler.options.limit * 1e6 + 0.5),
                            .quota_periods = counts.periods,
                            .quota_used_up = counts.throttled,
                            .suspended_ns = session_suspended_ns(session),
                            .command_cpu_ns = session->command.all_cpu_ns,
                            .processes_passed = session_passed(session) };
}

void session_tell(struct session *session, const char *text)
{
    if (session->options.quiet)
        return;
    progress_clear(&session->progress);
    fprintf(stderr, "pyreel-record: %s\n", text);
}

void session_tell_notice(struct session *session)
{
    struct fault *notice = &session->outlet.notice;
    if (notice->text[0] == '\0')
        return;
    progress_clear(&session->progress);
    fprintf(stderr, "pyreel-record: %s\n", notice->text);
    notice->text[0] = '\0';
}

/* Emits what is due before the end of a file, and the counters. */
static bool session_flush(void *self, struct fault *why)
{
    struct session *session = self;
    const struct sink sink = outlet_sink(&session->outlet);
    const struct limits limits = session_limits(session);
    sampler_flush(&session->sampler);
    return sampler_counters_emit(&session->sampler, &limits, &sink, why);
}

static void session_restart(void *self)
{
    struct session *session = self;
    sampler_restart(&session->sampler);
}

static void prepare_outlet(struct session *session)
{
    const struct options *options = &session->options;
    session->outlet = (struct outlet){
        .writer = &session->writer,
        .file = &session->file,
        .source = { session, session_flush, session_restart },
        .rotation = { options->rotate_bytes, options->rotate_ns, options->keep },
        .flight = { .span_ns = options->flight_ns },
        .triggers = options->triggers,
        .codec = options->codec,
        .size_limit = options->size_limit,
    };
}

static bool session_open_file(struct session *session, pid_t pid, struct text command)
{
    const struct options *options = &session->options;
    session->output = output_name(options->output, pid, time(NULL));
    char *beside = options->product ? product_recording(options->product, session->output) : NULL;
    const char *path = beside ? beside : session->output;
    const bool good = outlet_open_file(&session->outlet, path, options->force, pid, command, &session->why);
    free(beside);
    return good;
}

/* Opens the sampler with the options, for one process or for TREE_EVERYBODY. */
static void open_sampler(struct session *session, pid_t pid)
{
    const struct options *options = &session->options;
    struct sampler *sampler = &session->sampler;
    sampler->options = (struct watch_options){ .interval_ns = options->interval_ns,
                                               .which = options->which,
                                               .names = options->names,
                                               .anew = options->anew,
                                               .with_status = true,
                                               .mode = options->mode,
                                               .async = options->async,
                                               .instructions = options->opcodes,
                                               .c_frames = options->native,
                                               .freezes = options->blocking,
                                               .stands = options->disturb > 0 && !options->blocking,
                                               .raise = options->priority,
                                               .tree = options->subprocesses,
                                               .bare_commands = options->no_arguments,
                                               .limit = options->blocking ? BLOCKING_LIMIT : options->disturb,
                                               .even = !options->jitter };
    sampler->synthetic = (struct synthetic_frames){ .native = options->native,
                                                    .gc = options->gc,
                                                    .depth = options->depth };
    prepare_outlet(session);
    sampler_open(sampler, outlet_sink(&session->outlet));
    sampler->emitter.in_parts = outlet_in_parts(&session->outlet);
    if (options->flight_ns)
        signals_user_keep(SIGUSR1);
    session->pause.by_signals = !options->command && !options->flight_ns;
    if (pid != TREE_EVERYBODY)
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
                                       .files = outlet_in_parts(&session->outlet),
                                       .folder = session->file.path &&
                                                 recording_file_is_in_foreign_folder(&session->file) };
    guard_enter(&needs, text);
    session_say(session, "guard: %s", text);
    stuck_watch(&(struct stuck_options){
        .message = "pyreel-record: the memory of the program does not answer: a page of it lies on a file system whose "
                   "server is dead, or plays dead. The recording ends here; what was written of it is good\n",
        .exit_code = EXIT_OURS,
        .patience = STUCK_PATIENCE,
        .all_paths = false,
        .is_asked_to_stop = is_asked_to_stop,
    });
}

/* Starts the process that makes the other output at the end, if -o names one. */
static bool prepare_product(struct session *session)
{
    const struct options *options = &session->options;
    return !options->product || afterwards_begin(&session->afterwards, options->product, session->output,
                                                 session->file.path, options->force, &session->why);
}

static bool session_begin_recording(struct session *session, char **argv)
{
    const struct options *options = &session->options;
    if (!prepare_product(session))
        return false;
    clock_be_punctual(); /* only now, because the command would inherit the setting */
    descriptors_raise_limit();
    session->priority = options->priority ? priority_raise() : PRIORITY_OWN;
    session_say(session, "priority: %s", priority_text(session->priority));
    hindrance_begin(&session->hindrance, session->priority, !options->priority);
    if (session->program)
        quota_open(&session->quota, "", session->program->pid);
    session->suspended_before_ns = clock_suspended_ns();
    session->sampler.options.start_ns = clock_now_ns();
    if (options->duration_ns && !options->delay_ns)
        session->deadline_ns = session->sampler.options.start_ns + options->duration_ns;
    if (options->delay_ns)
        sampling_delay(session);

    recording_info_describe(&session->recording, options, argv, session->sampler.options.start_ns);
    const bool good = outlet_begin(&session->outlet, &session->recording, &session->why);
    enter_guard(session);
    return good;
}

static bool session_end_recording(struct session *session)
{
    /* A flight recorder keeps the last part only, and this is of the whole run. */
    if (session->options.subprocesses && session->command.ended && !session->options.flight_ns)
        other_processes_tell(&session->sampler, clock_now_ns() - session->sampler.options.start_ns);
    const struct end end = { .reason = session->reason,
                             .time_ns = clock_now_ns() - session->sampler.options.start_ns,
                             .wait_status = session->command.ended ? session->command.wait_status : -1 };
    return outlet_end(&session->outlet, &end, &session->why);
}

/* The number of processes whose Python could not be read, and of which nothing was told when they came. */
static uint32_t session_unread(const struct session *session)
{
    uint32_t count = session->unread;
    for (size_t i = 0; i < session->sampler.count; i++)
        count += watched_is_untold(session->sampler.watched[i]);
    return count;
}

/* Says which Pythons were not recorded, as far as it was not told when they came. */
static void print_hint(const struct session *session)
{
    char text[512];
    if (session->options.quiet)
        return;
    const uint32_t unread = session_unread(session);
    if (unread > 0)
        fprintf(stderr, "pyreel-record: %" PRIu32 " more process%s that run%s Python could not be read\n", unread,
                unread == 1 ? "" : "es", unread == 1 ? "s" : "");
    for (size_t i = 0; i < session->sampler.count; i++) {
        const struct watched *w = session->sampler.watched[i];
        if (w->asyncio.refusal.text[0])
            fprintf(stderr, "pyreel-record: the tasks of process %d were not recorded: %s\n", (int)w->pid,
                    w->asyncio.refusal.text);
    }
    if (hint_write(&session->hint, text, sizeof(text)))
        fprintf(stderr, "pyreel-record: %s\n", text);
}

/* The signal that ended the command; 0: none did, or it is not known. */
static int killed_by(const struct session *session)
{
    const struct command *command = &session->command;
    return command->ended && WIFSIGNALED(command->wait_status) ? WTERMSIG(command->wait_status) : 0;
}

static void summarise(const struct session *session, const char *path)
{
    struct progress_totals f = session_totals(session);
    char missed_cause[512];
    if (session->options.quiet)
        return;
    const double missed = progress_missed(&f);
    const struct watched_counters counters = sampler_counters(&session->sampler); /* not for the status line */
    if (missed > 0) {
        const struct hindrance_facts facts = hindrance_look(&session->hindrance, missed, f.elapsed_ns,
                                                            counters.starved_ns, counters.blocked_ns);
        hindrance_write(&session->hindrance, &facts, missed_cause, sizeof(missed_cause));
        f.cause = missed_cause;
    }
    f.exact = counters.exact;
    f.killed_by = killed_by(session);
    f.runs_on = session->command.pid && !session->command.ended;
    f.native = session->options.native && session->options.disturb > 0;
    f.outside = counters.outside;
    f.c_samples = counters.native.samples;
    f.c_late = counters.native.late;
    f.c_refused = counters.native.refused;
    f.cut = counters.interpreters_cut;
    f.before_ns = counters.before_looks_ns;
    f.quota = quota_look(&session->quota);
    f.suspended_ns = session_suspended_ns(session);
    if (f.processes <= 1) {
        f.halted_ns[HALT_SIGNAL] = counters.signalled_ns;
        f.halted_ns[HALT_TRACER] = counters.traced_ns;
        f.halted_ns[HALT_FROZEN] = counters.cgroup_frozen_ns;
    } else if (session->program) {
        memcpy(f.halted_ns, session->program->halt.total_ns, sizeof(f.halted_ns));
    }
    progress_summary(&f, path, session->reason, session->options.verbose);
    print_hint(session);
    if (session->program)
        freeze_report(&session->program->freeze, f.ticks);
}

/* Makes the other output that -o names. False when the converter failed, which says why. */
static bool finish_product(struct session *session)
{
    if (!session->options.product || session->sampler.emitter.samples == 0)
        return true;
    return afterwards_make(&session->afterwards);
}

/* Says what to type next. */
static void tell_next(const struct session *session, const char *paths)
{
    const struct options *options = &session->options;
    const bool crashed = killed_by(session) && session->reason == END_TARGET;
    const bool in_parts = outlet_in_parts(&session->outlet); /* the newest recording of the folder is all of them */
    if (options->quiet || session->sampler.emitter.samples == 0 ||
        (options->output && strcmp(options->output, "-") == 0))
        return;
    if (in_parts && strchr(paths, '/'))
        return;
    if (options->product)
        fprintf(stderr, "pyreel-record: %s is made of it, for %s\n", utf8_shown(session->output),
                options->product->shown);
    fprintf(stderr, "pyreel-record: next: pyreel report%s%s%s\n", crashed ? " --last 1s" : "", in_parts ? "" : " ",
            in_parts ? "" : utf8_shown(paths));
}

/* Completes the file, and prints the summary. Returns whether the recording is good. */
static bool session_finish(struct session *session)
{
    const bool had_error = session->reason == END_ERROR;
    const bool ended = session_end_recording(session);
    if (session->writer.blocks.broken)
        session->reason = END_UNWRITTEN;
    progress_clear(&session->progress);
    session_tell_notice(session);
    char *paths = outlet_paths(&session->outlet);
    const bool closed = outlet_close_file(&session->outlet, &session->why);
    bool good = !had_error && ended && closed;
    if (!good)
        fprintf(stderr, "pyreel-record: %s\n", session->why.text);
    summarise(session, paths);
    good = good && finish_product(session);
    if (good)
        tell_next(session, paths);
    const struct limits limits = session_limits(session);
    orders_end(session);
    if (session->options.stats && !session->options.quiet)
        sampler_counters_print(&session->sampler, &limits, &session->writer.blocks);
    free(paths);
    return good;
}

/* Whether no Python came up, and so the file would hold nothing. A pipe, and a file that was there before, get a
 * recording all the same. */
static bool found_nothing(const struct session *session)
{
    return emitter_processes(&session->sampler.emitter) == 0 && (session->file.created || session->options.flight_ns);
}

/* Removes the file, and says why. Returns whether the recorder did not fail: without a recording, a Python that could
 * not be read is a failure, as it is without --subprocesses. */
static bool finish_without_file(struct session *session)
{
    const bool failed = session->reason == END_ERROR;
    recording_file_discard(&session->file);
    orders_end(session);
    progress_clear(&session->progress);
    if (failed)
        fprintf(stderr, "pyreel-record: %s\n", session->why.text);
    const struct progress_totals f = session_totals(session);
    if (!failed && !session->options.quiet)
        progress_nothing(&f, session->reason);
    print_hint(session);
    return !failed && session->refused == 0;
}

static void close_session(struct session *session)
{
    struct fault unused = { 0 };
    afterwards_cancel(&session->afterwards);
    orders_end(session);
    sampler_close(&session->sampler);
    tree_close(&session->tree);
    chosen_close(&session->chosen);
    hint_close(&session->hint);
    stream_writer_close(&session->writer);
    outlet_close(&session->outlet);
    recording_info_forget(&session->recording);
    hindrance_end(&session->hindrance);
    quota_close(&session->quota);
    if (session->file.path)
        recording_file_close(&session->file, &unused);
    free(session->output);
}

static int session_fail(const struct session *session, int exit_code)
{
    fprintf(stderr, "pyreel-record: %s\n", session->why.text);
    return exit_code;
}

/* ---- the three ways to use it ---- */

/* With --subprocesses, begins to follow the tree of the process; else, to count what is not followed. */
static bool session_follow(struct session *session, pid_t root)
{
    if (!session->options.subprocesses) {
        if (!session->options.quiet)
            hint_open(&session->hint, root, session->command.pid == 0);
        return true;
    }
    if (!tree_open(&session->tree, root, session->command.pid != 0, &session->why))
        return false;
    if (!session->command.pid)
        tree_watch_existing(&session->tree);
    return true;
}

/* Whether the tree is recorded though the process that the user named cannot be: its children may run Python. Those of
 * a CPython that cannot be read mostly run the same, so one must be there. */
static bool session_goes_on_without(const struct session *session, enum target_state state)
{
    if (!session->options.subprocesses)
        return false;
    const bool other = state == TARGET_UNSUPPORTED && session->why.text[0] == '\0';
    return state == TARGET_NOT_YET || other ||
           (state == TARGET_UNSUPPORTED && python_kin_of(session->program->pid).readable);
}

/* Says why the process that the user named cannot be recorded, and which below it could. */
static void session_refuse_program(struct session *session, enum target_state state)
{
    static const struct python_kin_words words = { .one = "-p", .whole = "record" };
    watched_refusal(session->program, state, &session->why);
    if (state == TARGET_NOT_YET || state == TARGET_UNSUPPORTED)
        python_kin_explain(session->program->pid, state == TARGET_UNSUPPORTED, &words, &session->why);
}

static int record_running(struct session *session, char **argv)
{
    const pid_t pid = session->options.pid;
    if (!permission_see_processes(&session->why))
        return session_fail(session, EXIT_OURS);
    open_sampler(session, pid);
    signals_handle();
    /* With --subprocesses, a process that runs no Python may have children that do: the recording begins at once. */
    const bool follows = session->options.subprocesses;
    const enum target_state state = sampling_find(session, follows ? 0 : clock_now_ns() + BECOME_PYTHON_NS);
    if (state == TARGET_NOT_YET && signals_stop())
        return 128 + signals_stop();
    const bool others = session_goes_on_without(session, state);
    session->give_up_ns = others ? UINT64_MAX : 0;
    if (state != TARGET_READY && !others) {
        session_refuse_program(session, state);
        return session_fail(session, EXIT_OURS);
    }
    if (!session_follow(session, pid))
        return session_fail(session, EXIT_OURS);
    const struct text line = procfs_command(pid);
    const bool opened = session_open_file(session, pid, line);
    text_free(line);
    if (!opened || !session_begin_recording(session, argv)) {
        target_close(&session->program->target);
        recording_file_discard(&session->file);
        return session_fail(session, EXIT_OURS);
    }
    sampling_run(session);
    return session_finish(session) ? EXIT_SUCCESS : EXIT_OURS;
}

/* Records every process of the machine that fits. The recording has the name of the machine. */
static int record_all(struct session *session, char **argv)
{
    struct recording host;
    if (!permission_see_processes(&session->why) ||
        !chosen_open(&session->chosen, &session->options.chosen, &session->why))
        return session_fail(session, EXIT_OURS);
    open_sampler(session, TREE_EVERYBODY);
    if (chosen_has_file(&session->chosen))
        signals_user_keep(SIGHUP);
    signals_handle();
    if (!session_follow(session, TREE_EVERYBODY))
        return session_fail(session, EXIT_OURS);
    host_describe(&host);
    const bool opened = session_open_file(session, getpid(), host.host);
    host_forget(&host);
    if (!opened || !session_begin_recording(session, argv)) {
        recording_file_discard(&session->file);
        return session_fail(session, EXIT_OURS);
    }
    sampling_run(session);
    return session_finish(session) ? EXIT_SUCCESS : EXIT_OURS;
}

static int record_command(struct session *session, char **argv)
{
    const struct options *options = &session->options;
    struct command *command = &session->command;
    const bool to_pipe = options->output && strcmp(options->output, "-") == 0;
    if (!permission_see_processes(&session->why) || !command_prepare(command, options->command, to_pipe, &session->why))
        return session_fail(session, EXIT_OURS);
    open_sampler(session, command->pid);
    watched_seek(session->program);
    session->give_up_ns = UINT64_MAX;
    if (!session_follow(session, command->pid)) {
        command_cancel(command);
        return session_fail(session, EXIT_OURS);
    }
    const struct text line = procfs_quote_command(options->command);
    const bool opened = session_open_file(session, command->pid, line);
    text_free(line);
    signals_pass_on_to(command->pid);
    signals_handle();
    if (!opened) {
        command_cancel(command);
        return session_fail(session, EXIT_OURS);
    }
    const int refused = command_run(command, options->command, &session->why);
    if (refused) {
        recording_file_discard(&session->file);
        return session_fail(session, refused);
    }
    if (!session_begin_recording(session, argv)) {
        session_fail(session, EXIT_OURS); /* the command runs, so the recorder waits for its end */
        recording_file_discard(&session->file);
        command_wait(command);
        return EXIT_OURS;
    }
    sampling_run(session);
    if (session->reason == END_TARGET)
        sampling_wait_for_command(session);
    const bool good = found_nothing(session) ? finish_without_file(session) : session_finish(session);
    const bool cut = session->reason == END_DURATION || session->reason == END_SIZE || session->reason == END_STOPPED;
    if (cut && options->kill && !command->ended)
        kill(command->pid, SIGTERM);
    sampling_wait_for_command(session);
    return good ? command_exit_code(command) : EXIT_OURS;
}

/* Runs a Python file by python3, as the user means. */
static void choose_python(struct options *options)
{
    char **const with_python = options->command ? command_with_python(options->command) : NULL;
    if (!with_python)
        return;
    if (!options->quiet)
        fprintf(stderr, "pyreel-record: running %s with python3\n", utf8_shown(options->command[0]));
    options->command = with_python;
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
    if (session.options.control && !control_open(&session.control, session.options.control, &session.why))
        return session_fail(&session, EXIT_OURS);
    progress_start(&session.progress, session.options.quiet);
    choose_python(&session.options);
    exit_code = session.options.all   ? record_all(&session, argv)
                : session.options.pid ? record_running(&session, argv)
                                      : record_command(&session, argv);
    close_session(&session);
    return exit_code;
}
