/* SPDX-License-Identifier: MIT */
#include "record/sampling.h"

#include "record/launch/signals.h"
#include "record/orders.h"
#include "record/process/clock.h"
#include "record/process/procfs.h"
#include "record/tree/runs_python.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define NAP_MOST_NS       100000000u  /* longest sleep: afterwards the recorder checks whether the program has ended */
#define SETTLE_NS         1000000u    /* longest sleep while sampler_settle() has threads left */
#define WRITING_NS        5000000u    /* longest sleep while somebody waits for a snapshot */
#define ENDS_NS           1000000000u /* how long a process that has no memory any more may take to end */
#define ENDS_NAP_NS       200000u
#define QUIET_NS          1000000000u /* how long events wait while no tick comes */
#define COUNTERS_FIRST_NS 1000000000u /* when the early counters are emitted first, ... */
#define COUNTERS_NS       5000000000u /* ... and the time until they are emitted again */
/* How long before a tick its look is appointed, if something else is due before the tick. While a look is appointed, no
 * other work is done, and with --subprocesses there is more of it. */
#define APPOINT_NS      5000000u
#define APPOINT_SOON_NS 1500000u

/* ---- when to stop ---- */

static bool session_stop(struct session *session, enum end_reason reason)
{
    session->reason = reason;
    return true;
}

/* Whether the recording must stop for a reason other than the end of all processes. */
static bool asked_to_stop(struct session *session)
{
    if (signals_stop())
        return session_stop(session, END_SIGNAL);
    if (session->stopped)
        return session_stop(session, END_STOPPED);
    if (clock_now_ns() >= session->deadline_ns)
        return session_stop(session, END_DURATION);
    return false;
}

/* With a flight recorder, SIGUSR1 asks for what it has. False when the recording must stop. */
static bool write_if_asked(struct session *session)
{
    const uint32_t count = signals_user_count(SIGUSR1);
    if (!session->options.flight_ns || count == session->written_count)
        return true;
    session->written_count = count;
    return outlet_incident(&session->outlet, clock_now_ns(), "SIGUSR1", &session->why) ||
           !session_stop(session, END_ERROR);
}

/* Goes on in the next file if that is due, or writes what a flight recorder has. Call this between ticks, while no look
 * is appointed. False when the recording must stop. */
static bool turn_outlet(struct session *session)
{
    /* Where no Python comes, no file must stay: so the first one goes on until there is something in it. */
    const bool empty = session->sampler.emitter.ticks == 0 && !session->options.flight_ns;
    if (!empty && !outlet_turn(&session->outlet, clock_now_ns(), &session->why))
        return !session_stop(session, END_ERROR);
    const bool good = write_if_asked(session);
    orders_take_written(session);
    session_tell_notice(session);
    return good;
}

/* Whether the file is below the size limit, and still in its folder. Checked after each block, about once a second. */
static bool session_goes_on(struct session *session)
{
    if (session->blocks == session->writer.blocks.sequence && !session->writer.blocks.full)
        return true;
    session->blocks = session->writer.blocks.sequence;
    if (stream_writer_full(&session->writer))
        return !session_stop(session, END_SIZE);
    return !recording_file_removed(&session->file, &session->why) || !session_stop(session, END_ERROR);
}

/* ---- sleeping ---- */

static uint64_t moment_earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool follows(const struct session *session)
{
    return session->tree.open; /* not yet while the first Python is sought */
}

/* Sleeps until `until_ns`, until a signal comes, or, with --subprocesses, until something may have happened to a
 * process. Returns whether a command came (--control), or one is about to be fulfilled. */
static bool nap(struct session *session, uint64_t until_ns)
{
    struct control *control = &session->control;
    const uint64_t now_ns = clock_now_ns();
    const bool writes = control->pending == CONTROL_SNAPSHOT && until_ns > now_ns + WRITING_NS;
    until_ns = writes ? now_ns + WRITING_NS : until_ns;
    const int fd = control_waking_fd(control, now_ns, &until_ns);
    if (follows(session) ? tree_sleep_until(&session->tree, until_ns, fd) : clock_sleep_or_readable(until_ns, fd, -1))
        control->readable = true;
    return control->readable || writes;
}

/* Whether a process came, ended or runs another program. Without --subprocesses, only asks for the end of the program.
 */
static bool has_change(struct session *session)
{
    if (!follows(session))
        return watched_ended(session->program);
    if (!session->has_change) {
        tree_look(&session->tree, clock_now_ns());
        session->has_change = tree_next(&session->tree, &session->change);
    }
    return session->has_change;
}

/* Sleeps until `wake_ns`, in short sleeps with checks between them, or until has_change(). False when the recording
 * must stop. */
static bool sleep_until(struct session *session, uint64_t wake_ns)
{
    for (uint64_t now_ns; (now_ns = clock_now_ns()) < wake_ns;) {
        if (asked_to_stop(session))
            return false;
        const uint64_t nap_ns = sampler_settle(&session->sampler) ? SETTLE_NS : NAP_MOST_NS;
        const bool long_sleep = follows(session) || wake_ns - now_ns > nap_ns;
        const bool called = nap(session,
                                moment_earlier(moment_earlier(wake_ns, now_ns + nap_ns), session->deadline_ns));
        if (called || (long_sleep && has_change(session)))
            return true;
    }
    return !asked_to_stop(session);
}

void sampling_wait_for_command(struct session *session)
{
    while (!command_ended(&session->command)) {
        const bool settles = sampler_settle(&session->sampler);
        if (!settles && !follows(session) && !session->sampler.options.freezes)
            break;
        tree_reap(&session->tree);
        clock_sleep_until(clock_now_ns() + (settles ? SETTLE_NS : NAP_MOST_NS));
    }
    command_wait(&session->command);
}

/* ---- finding Pythons ---- */

static struct watched *find_watched(const struct session *session, pid_t pid)
{
    for (size_t i = 0; i < session->sampler.count; i++)
        if (session->sampler.watched[i]->pid == pid)
            return session->sampler.watched[i];
    return NULL;
}

/* The number of the nearest ancestor that was recorded. An ancestor that runs no Python stands for its own. */
static uint32_t ancestor_of(const struct session *session, pid_t parent)
{
    const struct watched *w = find_watched(session, parent);
    return !w ? 0 : w->number ? w->number : w->parent;
}

enum target_state sampling_find(struct session *session, uint64_t give_up_ns)
{
    struct watched *program = session->program;
    watched_seek(program);
    watched_existed(program);
    for (;;) {
        struct fault why = { 0 };
        const enum target_state state = watched_find(program, &why);
        if (state == TARGET_UNSUPPORTED || state == TARGET_DENIED)
            session->why = why;
        if (state != TARGET_NOT_YET)
            return state;
        /* A refusal that is not final yet. */
        const bool doubtful = program->search.found == TARGET_UNSUPPORTED || program->search.found == TARGET_DENIED;
        const bool over = !doubtful && clock_now_ns() >= give_up_ns;
        if (!over && sleep_until(session, program->search.find_ns))
            continue;
        if (program->search.found == TARGET_GONE)
            return TARGET_GONE;
        return over && give_up_ns ? watched_give_up(program, &session->why) : TARGET_NOT_YET;
    }
}

static void attach(struct session *session, struct watched *w)
{
    char version[32];
    session_say(session, "process %d runs CPython %s", (int)w->pid,
                event_python_version_text(version, w->target.runtime.layout.version));
    struct watched *parent = find_watched(session, w->parent_pid);
    if (!w->number && parent) /* the parent may have been attached since the process came */
        watched_descends(w, ancestor_of(session, w->parent_pid));
    sampler_attach(&session->sampler, w);
    w->was_attached = true;
    if (parent)
        watched_inherit(w, parent);
    if (!follows(session))
        hint_note_program(&session->hint, w->target.runtime.random_at, w->target.runtime.random);
    if (session->sampler.options.stands)
        watched_warm_up(w);
    budget_begin(&w->budget, clock_now_ns());
}

/* Tells of a process that cannot be read, once, unless there were many before it: then the end has the number. */
static void tell_unread(struct session *session, struct watched *w, const struct fault *why)
{
    w->unread = true;
    if (w->told || session->told == UNREAD_TOLD)
        return;
    w->told = true;
    session->told++;
    session_tell(session, why->text);
}

/* Notes that a process cannot be read. Without other processes, this ends the recording. False when it does. */
static bool session_refuse(struct session *session, struct watched *w, enum target_state state,
                           const struct fault *cause)
{
    struct fault why = *cause;
    watched_refusal(w, state, &why);
    w->refused = true;
    if (!follows(session)) {
        session->why = why;
        return !session_stop(session, END_ERROR);
    }
    session->refused++;
    tell_unread(session, w, &why);
    return true;
}

static bool is_sought(const struct watched *w)
{
    return !w->attached && !w->refused && !w->ended;
}

/* The process for whose Python a search is due first; NULL: none. */
static struct watched *next_sought(const struct session *session)
{
    struct watched *next = NULL;
    for (size_t i = 0; i < session->sampler.count; i++) {
        struct watched *w = session->sampler.watched[i];
        if (is_sought(w) && (!next || w->search.find_ns < next->search.find_ns))
            next = w;
    }
    return next;
}

/* With --all, leaves out a process that does not fit, and one that may not be read and is no Python as far as can be
 * seen: most processes of other users. */
static bool leave_out(const struct session *session, struct watched *w, enum target_state state)
{
    const bool foreign = state == TARGET_DENIED && !runs_python_by_name(w->pid);
    if (!session->options.all || (!foreign && chosen_fits(&session->chosen, w->pid)))
        return false;
    if (state == TARGET_READY)
        target_close(&w->target);
    return w->refused = true;
}

/* Searches the process that is due for a Python. False when the recording must stop. */
static bool seek(struct session *session, struct watched *w)
{
    struct fault why = { 0 };
    const enum target_state state = watched_find(w, &why);
    if (state != TARGET_NOT_YET && state != TARGET_GONE && leave_out(session, w, state))
        return true;
    switch (state) {
    case TARGET_READY:
        attach(session, w);
        return true;
    case TARGET_DENIED:
    case TARGET_UNSUPPORTED:
        return session_refuse(session, w, state, &why);
    case TARGET_GONE:
        w->ended = true;
        return true;
    case TARGET_NOT_YET:
        break;
    }
    if (watched_puzzles(w, &why) && !leave_out(session, w, state))
        tell_unread(session, w, &why);
    if (w != session->program || clock_now_ns() < session->give_up_ns)
        return true;
    w->refused = true;
    return follows(session) || !session_stop(session, END_NOT_PYTHON);
}

/* ---- processes that come and go ---- */

static void session_add_process(struct session *session, const struct tree_event *event)
{
    if (find_watched(session, event->pid)) {
        if (event->pidfd >= 0)
            close(event->pidfd);
        return;
    }
    struct watched *w = sampler_watch(&session->sampler, event->pid, NULL);
    if (w->pidfd >= 0)
        close(w->pidfd);
    w->pidfd = event->pidfd;
    w->parent_pid = event->parent;
    watched_descends(w, ancestor_of(session, event->parent));
    watched_seek(w);
    if (event->existed)
        watched_existed(w);
    const struct watched *parent = find_watched(session, event->parent);
    if (parent)
        watched_forked(w, parent);
}

/* Detaches a process that runs another program now, and seeks a Python in that program. */
static void start_anew(struct session *session, struct watched *w)
{
    sampler_detach(&session->sampler, w, FATE_EXECED);
    w->lost = w->refused = w->ended = false;
    w->unread = w->was_attached = false;
    if (w == session->program)
        session->give_up_ns = session->command.pid ? UINT64_MAX : clock_now_ns() + BECOME_PYTHON_NS;
    watched_seek(w);
}

static void session_end_process(struct session *session, struct watched *w, int wait_status, uint64_t cpu_ns)
{
    session->refusal = w->exact.refusal ? w->exact.refusal : session->refusal;
    w->wait_status = wait_status;
    w->ended_cpu_ns = cpu_ns;
    watched_ended(w); /* the command is reaped, which tells its status */
    if (w == session->program)
        session->program = NULL;
    const bool is_recorded = w->attached;
    session->unread += watched_is_untold(w);
    session->passed += watched_is_passed(w);
    const pid_t pid = w->pid;
    const int status = watched_wait_status(w);
    sampler_forget(&session->sampler, w);
    if (is_recorded)
        outlet_process_ended(&session->outlet, clock_now_ns(), pid, status);
}

/* SIGHUP: reads again which processes are recorded. */
static void take_reload(struct session *session)
{
    struct fault why = { 0 };
    if (signals_user_count(SIGHUP) == session->reloads)
        return;
    session->reloads = signals_user_count(SIGHUP);
    const bool good = chosen_reload(&session->chosen, &why);
    session_tell(session, good ? "SIGHUP: --match is read again" : why.text);
    for (size_t i = 0; good && i < session->sampler.count; i++) {
        struct watched *w = session->sampler.watched[i];
        const bool fits = chosen_fits(&session->chosen, w->pid);
        if (w->attached && !fits)
            sampler_detach(&session->sampler, w, FATE_LEFT);
        if (!w->attached && !w->unread)
            w->refused = !fits;
        if (!w->attached && !w->unread && fits)
            watched_seek(w);
    }
}

/* Takes what has happened to the processes of the tree. */
static void take_changes(struct session *session)
{
    for (; has_change(session); session->has_change = false) {
        const struct tree_event *event = &session->change;
        struct watched *w = find_watched(session, event->pid);
        if (event->change == TREE_CAME)
            session_add_process(session, event);
        else if (w && event->change == TREE_ENDED)
            session_end_process(session, w, event->wait_status, event->cpu_ns);
        else if (w && event->change == TREE_EXECED && (!w->attached || w->ended))
            start_anew(session, w);
    }
}

/* Whether a lost process runs on: another program, or one that may not be read any more. A process that ends has given
 * its memory back, and with it its program. */
static bool runs_on(struct watched *w)
{
    uint64_t device, inode;
    errno = 0;
    return !watched_ended(w) && (procfs_program(w->pid, &device, &inode) || errno == EACCES || errno == EPERM);
}

/* Goes on after a process was lost. With --subprocesses, the tree tells the end of a process, with the status. */
static void take_loss(struct session *session, struct watched *w)
{
    if (runs_on(w))
        start_anew(session, w);
    else
        w->ended = true;
}

/* Waits for the end of the program, which has given its memory back, and notes the end. */
static void end_program(struct session *session)
{
    struct watched *program = session->program;
    const uint64_t give_up_ns = clock_now_ns() + ENDS_NS;
    while (!watched_ended(program) && clock_now_ns() < give_up_ns)
        clock_sleep_until(clock_now_ns() + ENDS_NAP_NS);
    sampler_detach(&session->sampler, program, FATE_EXITED);
}

/* ---- ticks ---- */

/* While no Python runs, no tick closes a block: what is there is written a second later. False when the recording must
 * stop. */
static bool write_in_quiet(struct session *session)
{
    const struct sampler *sampler = &session->sampler;
    const bool ticks = sampler_next(sampler) || sampler_rest_due_ns(sampler) != UINT64_MAX;
    const uint64_t now_ns = clock_now_ns();
    if (ticks || !stream_writer_waits(&session->writer))
        session->quiet_ns = UINT64_MAX;
    else if (session->quiet_ns == UINT64_MAX)
        session->quiet_ns = now_ns + QUIET_NS;
    if (session->quiet_ns > now_ns)
        return true;
    session->quiet_ns = UINT64_MAX;
    return stream_writer_flush(&session->writer, &session->why) || !session_stop(session, END_ERROR);
}

/* When the next work that is no tick of a busy process is due (monotonic). */
static uint64_t work_due_ns(const struct session *session)
{
    const struct watched *sought = next_sought(session);
    const uint64_t due_ns = moment_earlier(sampler_measure_due_ns(&session->sampler),
                                           sampler_rest_due_ns(&session->sampler));
    return moment_earlier(moment_earlier(hint_due_ns(&session->hint), session->quiet_ns),
                          sought ? moment_earlier(due_ns, sought->search.find_ns) : due_ns);
}

/* Whether a process is left that may be sampled. */
static bool session_has_process_left(const struct session *session)
{
    if (follows(session))
        return tree_has_left(&session->tree);
    return session->program && !session->program->ended;
}

void sampling_delay(struct session *session)
{
    const uint64_t delay_ns = session->options.delay_ns;
    pause_begin(&session->pause, delay_ns == UINT64_MAX ? delay_ns : session->sampler.options.start_ns + delay_ns);
}

/* Says how a pause ends, where that is not known to whoever made it begin. */
static void tell_pause(struct session *session)
{
    char text[96];
    if (!session->pause.by_signals || session->control.open || session->pause.until_ns != UINT64_MAX)
        return;
    snprintf(text, sizeof(text), "paused; SIGUSR2 ends the pause (kill -USR2 %d)", (int)getpid());
    session_tell(session, text);
}

/* Waits for the end of the pause. False when the recording must stop. */
static bool wait_paused(struct session *session)
{
    while (pause_asked(&session->pause) && session_has_process_left(session)) {
        if (!orders_take(session))
            return !session_stop(session, END_ERROR);
        if (asked_to_stop(session))
            return false;
        if (session->control.pending == CONTROL_SNAPSHOT && !turn_outlet(session))
            return false;
        if (follows(session))
            take_changes(session);
        else if (has_change(session))
            break;
        const uint64_t until_ns = moment_earlier(session->pause.until_ns, session->deadline_ns);
        if (pause_asked(&session->pause))
            nap(session, moment_earlier(clock_now_ns() + NAP_MOST_NS, until_ns));
    }
    return true;
}

/* Notes that a process which is not attached yet has used its CPU time so far in the pause. */
static void forget_paused(struct session *session)
{
    for (size_t i = 0; i < session->sampler.count; i++)
        if (is_sought(session->sampler.watched[i]))
            watched_existed(session->sampler.watched[i]);
}

/* The user pauses the recording (pause.h). False when the recording must stop. */
static bool pause_if_asked(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    if (!pause_asked(&session->pause))
        return true;
    const uint64_t began_ns = clock_now_ns();
    tell_pause(session);
    sampler_flush(sampler); /* the CPU time up to the pause */
    const bool goes_on = wait_paused(session);
    if (sampler->emitter.ticks == 0)
        sampler->paused_ns += clock_now_ns() - began_ns;
    forget_paused(session);
    if (session->options.delay_ns && session->options.duration_ns && session->deadline_ns == UINT64_MAX)
        session->deadline_ns = clock_now_ns() + session->options.duration_ns;
    return (sampler_pause(sampler, &session->why) || !session_stop(session, END_ERROR)) && goes_on;
}

/* Looks for children that are not recorded, and tells of the first. */
static void tell_hint(struct session *session)
{
    char text[256];
    hint_look(&session->hint, clock_now_ns());
    if (hint_write_first(&session->hint, text, sizeof(text)))
        session_tell(session, text);
}

/* Does the work that is due. False when the recording must stop. */
static bool session_do_work(struct session *session)
{
    struct sampler *sampler = &session->sampler;
    if (!turn_outlet(session))
        return false;
    if (!orders_take(session))
        return !session_stop(session, END_ERROR);
    if (session->stopped)
        return !asked_to_stop(session);
    if (!pause_if_asked(session))
        return false;
    if (sampler->continued != signals_continued() && !sampler_pause(sampler, &session->why))
        return !session_stop(session, END_ERROR);
    take_reload(session);
    if (follows(session))
        take_changes(session);
    else
        tell_hint(session);
    struct watched *sought = next_sought(session);
    if (!sought || sought->search.find_ns > clock_now_ns())
        orders_settle(session);
    const bool ends = sought && !follows(session) && has_change(session);
    if (sought && (ends || sought->search.find_ns <= clock_now_ns()) && !seek(session, sought))
        return false;
    if (sampler_measure_due_ns(sampler) <= clock_now_ns())
        sampler_measure(sampler, clock_now_ns());
    if (!write_in_quiet(session))
        return false;
    return sampler_ask_resting(sampler, clock_now_ns(), &session->why) != SAMPLER_STUCK ||
           !session_stop(session, END_ERROR);
}

/* Prepares the look that is due, if that is of use and there is time. Sets *ready to false when something happened to a
 * process meanwhile, and the tick is not due yet. False when the recording must stop. */
static bool look_ahead(struct session *session, struct watched *w, uint64_t due_ns, bool *ready)
{
    const uint64_t ahead_ns = watched_ahead_ns(w);
    *ready = true;
    if (ahead_ns == 0 || clock_now_ns() + ahead_ns >= due_ns)
        return true;
    if (!sleep_until(session, due_ns - ahead_ns))
        return false;
    *ready = clock_now_ns() >= due_ns - ahead_ns;
    if (*ready)
        watched_look_ahead(w, due_ns);
    return true;
}

/* Makes the next tick of a process. False when the recording must stop. */
static bool tick(struct session *session, struct watched *w)
{
    struct sampler *sampler = &session->sampler;
    const uint64_t due_ns = w->budget.present.moment_ns;
    bool ready;
    if (!look_ahead(session, w, due_ns, &ready))
        return false;
    if (!ready)
        return true;
    const bool appointed = sampler_appoint(w);
    if (!sleep_until(session, due_ns + (appointed ? STAND_LATE_NS : 0))) {
        watched_cancel(w); /* what ends the recording needs the process for itself */
        return false;
    }
    if (sampler->continued != signals_continued()) {
        watched_cancel(w);
        return sampler_pause(sampler, &session->why) || !session_stop(session, END_ERROR);
    }
    if (clock_now_ns() < due_ns) { /* something has happened to a process: no post has to wait for the moment */
        watched_cancel(w);
        if (follows(session) || !watched_ended(w))
            return true;
    }
    switch (sampler_turn(sampler, w, &session->why)) {
    case SAMPLER_GOING:
        break;
    case SAMPLER_LOST:
        take_loss(session, w);
        break;
    case SAMPLER_STUCK:
        return !session_stop(session, END_ERROR);
    }
    return true;
}

/* Whether to appoint the next tick now: no other work is due before it, or it is so close that the work waits. */
static bool tick_is_next(const struct session *session, const struct watched *w, uint64_t work_ns)
{
    const uint64_t due_ns = w->budget.present.moment_ns, ahead_ns = follows(session) ? APPOINT_SOON_NS : APPOINT_NS;
    const uint64_t now_ns = clock_now_ns();
    return due_ns <= now_ns || (work_ns > now_ns && (due_ns < ahead_ns || work_ns > due_ns - ahead_ns));
}

static void session_show_progress(struct session *session)
{
    if (!progress_is_due(&session->progress, clock_now_ns() - session->sampler.options.start_ns))
        return;
    const struct progress_totals totals = session_totals(session);
    progress_update(&session->progress, &totals);
}

/* Emits the early counters from time to time, for who watches the recording (pyreel-top). Each part of a recording has
 * counters of its own, which come at its end. */
static bool count_early(struct session *session)
{
    const uint64_t now_ns = clock_now_ns();
    if (now_ns < session->counters_ns || outlet_in_parts(&session->outlet))
        return true;
    const struct limits limits = session_limits(session);
    const struct sink sink = outlet_sink(&session->outlet);
    session->counters_ns = now_ns + COUNTERS_NS;
    return sampler_counters_emit_early(&session->sampler, &limits, &sink, &session->why) ||
           !session_stop(session, END_ERROR);
}

void sampling_run(struct session *session)
{
    session->reason = END_TARGET;
    session->quiet_ns = UINT64_MAX;
    session->counters_ns = clock_now_ns() + COUNTERS_FIRST_NS;
    if (session->program && session->program->search.found == TARGET_READY)
        attach(session, session->program);
    for (;;) {
        if (!session_do_work(session) || !session_goes_on(session))
            return;
        session_show_progress(session);
        if (!count_early(session))
            return;
        if (!session_has_process_left(session)) /* asked behind the work, which takes the ends of processes */
            break;
        struct watched *next = sampler_next(&session->sampler);
        const uint64_t work_ns = work_due_ns(session);
        if (next && tick_is_next(session, next, work_ns) ? !tick(session, next) : !sleep_until(session, work_ns))
            return;
    }
    if (follows(session)) /* the ends of the last processes */
        take_changes(session);
    else
        end_program(session);
    hint_end(&session->hint);
}
