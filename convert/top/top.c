/* SPDX-License-Identifier: MIT */
/* pyreel-top: shows live where a program spends its time. A thread reads the recording into the model; this thread
 * takes a still picture of the model about once a second, draws the view, and takes keys. */
#include "convert/inputs.h"
#include "convert/top/reading.h"
#include "convert/top/recorder.h"
#include "convert/top/screen.h"
#include "convert/top/terminal.h"
#include "convert/top/top_options.h"
#include "formats/base/alloc.h"
#include "formats/base/monotonic.h"
#include "formats/base/startup.h"
#include "formats/base/utf8.h"
#include "formats/terminal/screen.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAKE_MS     100 /* keys wake the loop at once; all else is looked at so often */
#define REFRESH_NS  500000000
#define BATCH_NS    1000000000
#define BEGIN_MS    3000 /* so long to wait for the recording to begin, before the screen is taken */
#define BATCH_LINES 30
#define STATE_ROOM  (sizeof(((struct fault *)0)->text) + 100)
#define MEMORY_MOST ((uint64_t)4 << 30)

struct top {
    struct top_options options;
    struct part_lists parts; /* of the INPUTs */
    struct reading reading;
    struct feed feed;
    struct recorder recorder;
    struct view view;
    struct still still;
    struct drawn drawn;
    uint64_t seen;  /* the news of `still` */
    int64_t due_ns; /* when the next still picture is due */
    bool ascii;
    bool unprinted; /* standard output did not take a table */
    char state[STATE_ROOM];
};

/* ---- signals ---- */

static volatile sig_atomic_t stop_signal;   /* the signal that ends the view; 0: none yet */
static volatile sig_atomic_t stop_was_sent; /* to this process alone, so the recorder does not have it */
static bool leads_session;
static bool outlives_terminal; /* SIGHUP was ignored when this program began, as nohup(1) does it */

static void note_stop(int number, siginfo_t *info, void *context)
{
    (void)context;
    stop_signal = number;
    /* A terminal that is gone signals only the leader of its session. */
    stop_was_sent = info->si_code <= 0 || (number == SIGHUP && leads_session);
}

static void handle_signals(void)
{
    static const int stops[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    struct sigaction action = { .sa_sigaction = note_stop, .sa_flags = SA_SIGINFO };
    struct sigaction hangup;
    leads_session = getsid(0) == getpid();
    outlives_terminal = sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
    for (size_t i = 0; i < countof(stops); i++)
        if (stops[i] != SIGHUP || !outlives_terminal)
            sigaction(stops[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- what is read ---- */

/* Makes one INPUT of the parts of a recording. False with the reason when they are of several recordings. */
static bool join_inputs(struct top *top, struct fault *why)
{
    struct top_options *options = &top->options;
    size_t end = options->inputs_count;
    parts_find(&top->parts, options->inputs, 0, &end, &options->inputs_count);
    if (top->parts.problem.text[0])
        return fault(why, "%s", top->parts.problem.text);
    if (end > 1)
        return fault(why, "%s and %s are not parts of one recording; name one recording", options->inputs[0],
                     options->inputs[1]);
    options->input = options->inputs[0];
    top->reading.known = parts_of(&top->parts, options->input);
    return true;
}

/* Opens the recording. A file is followed; a pipe ends when its writer closes it. */
static bool open_input(struct top *top, int *fd, struct fault *why)
{
    struct stat file;
    uint64_t bytes;
    if (!join_inputs(top, why))
        return false;
    const char *input = top->options.input;
    *fd = inputs_open_file(input, &bytes, why);
    if (*fd < 0)
        return false;
    if (strcmp(input, "-") == 0 || fstat(*fd, &file) != 0 || !S_ISREG(file.st_mode))
        return true;
    const bool good = feed_open(&top->feed, input, *fd, why);
    *fd = top->feed.from;
    return good;
}

static bool start_recorder(struct top *top, int *fd, struct fault *why)
{
    const char *output = top->options.output;
    if (output)
        feed_prepare(&top->feed, output);
    if (!recorder_start(&top->recorder, top->options.recorder, !output, top->options.batch == 0, why))
        return false;
    if (output && !feed_await(&top->feed, why))
        return false;
    *fd = output ? top->feed.from : top->recorder.stream;
    return true;
}

static bool top_start(struct top *top, struct fault *why)
{
    int fd;
    top->reading.model.seconds = top->options.window_s;
    top->reading.model.ids = top->options.ids;
    const bool good = top->options.input ? open_input(top, &fd, why) : start_recorder(top, &fd, why);
    return good && reading_start(&top->reading, fd, top->feed.path ? &top->feed : NULL, why);
}

/* Notes what has happened to the recorder. */
static void look_at_recorder(struct top *top)
{
    if (!top->recorder.pid)
        return;
    recorder_listen(&top->recorder);
    recorder_look(&top->recorder);
    if (top->recorder.ended)
        top->feed.stop = true;
}

/* Whether the recorder has ended without a recording. */
static bool has_nothing(const struct top *top)
{
    return top->reading.ended && !top->reading.opened && (!top->recorder.pid || top->recorder.ended);
}

/* Whether there is no recording in INPUT yet. */
static bool top_is_blank(const struct top *top)
{
    return !top->reading.opened && !top->recorder.pid;
}

/* Waits until the recording has begun, or there will be none. */
static void wait_for_beginning(struct top *top)
{
    for (int ms = 0; ms < BEGIN_MS && !stop_signal && !top->reading.opened && !has_nothing(top); ms += 10) {
        look_at_recorder(top);
        poll(NULL, 0, 10);
    }
}

/* ---- the state of the recording ---- */

static bool is_damaged(const struct source_report *report)
{
    return report->damage.bytes || report->damage.blocks || report->damage.duplicates;
}

static void say_end(struct top *top)
{
    const struct source_report *report = &top->reading.report;
    const struct still *still = &top->still;
    char fate[EVENT_FATE_ROOM] = "";
    if (top->reading.failed)
        snprintf(top->state, STATE_ROOM, "UNREADABLE: %s", top->reading.why.text);
    else if (!report->complete)
        snprintf(top->state, STATE_ROOM, "NOT COMPLETE: %s", report->ending ? report->ending : "the end is missing");
    else if (is_damaged(report))
        snprintf(top->state, STATE_ROOM, "complete, but DAMAGED: %s", report->damage.first.text);
    else {
        if (still->reason == END_TARGET && still->wait_status >= 0)
            event_fate_text(fate, FATE_EXITED, still->wait_status);
        snprintf(top->state, STATE_ROOM, "complete: %s%s%s%s",
                 still->reason ? event_end_reason_text(still->reason) : "read to the end", fate[0] ? " (" : "", fate,
                 fate[0] ? ")" : "");
    }
}

/* Says how the recording is. Returns whether the user should know. */
static bool say_state(struct top *top)
{
    const bool follows = top->feed.path != NULL;
    if (top->reading.ended) {
        say_end(top);
        return top->reading.failed || !top->reading.report.complete || is_damaged(&top->reading.report);
    }
    if (!top->reading.opened)
        snprintf(top->state, STATE_ROOM, "waiting for the recording to begin");
    else if (follows && top->feed.unwritten && !top->recorder.pid) {
        snprintf(top->state, STATE_ROOM, "not complete, and nobody records");
        return true;
    } else if (top->reading.following.part)
        snprintf(top->state, STATE_ROOM, "recording, part %u", top->reading.following.part);
    else
        snprintf(top->state, STATE_ROOM, "recording");
    return false;
}

/* Takes a new still picture if there is news. */
static bool top_refresh(struct top *top)
{
    const uint64_t news = top->reading.news;
    if (news == top->seen)
        return false;
    pthread_mutex_lock(&top->reading.lock);
    still_take(&top->still, &top->reading.model);
    pthread_mutex_unlock(&top->reading.lock);
    top->seen = news;
    return true;
}

static void draw(struct top *top, size_t columns, size_t lines)
{
    const bool alert = say_state(top);
    const struct screen_state state = {
        .input = top->options.input    ? top->options.input
                 : top->options.output ? top->options.output
                                       : "pyreel-record",
        .state = top->state,
        .alert = alert,
        .said = text_of(top->recorder.line),
        .window_s = top->options.window_s,
        .starts = top->recorder.pid != 0,
        .ascii = top->ascii,
        .batch = top->options.batch != 0,
    };
    view_make(&top->view, &top->still);
    screen_draw(&top->drawn, &top->view, &top->still, &state, columns, lines);
}

/* ---- the full screen ---- */

/* Takes all keys that were pressed. *stale: the screen has to be drawn again. */
static enum view_wish take_keys(struct top *top, bool *stale)
{
    uint32_t key;
    bool resized;
    while (terminal_key(&key, &resized)) {
        *stale = true;
        if (resized)
            continue;
        const enum view_wish wish = view_take_key(&top->view, key);
        if (wish != VIEW_GOES_ON)
            return wish;
        view_make(&top->view, &top->still); /* the next key is about what this key has changed */
    }
    return VIEW_GOES_ON;
}

/* False when the terminal is gone. */
static bool sleep_until_news(const struct top *top)
{
    struct pollfd news[] = { { .fd = terminal_keys(), .events = POLLIN },
                             { .fd = top->recorder.messages, .events = POLLIN } };
    poll(news, countof(news), WAKE_MS);
    return !(news[0].revents & (POLLHUP | POLLERR | POLLNVAL));
}

static void top_show(struct top *top)
{
    size_t columns, lines;
    terminal_size(&columns, &lines);
    draw(top, columns, lines);
    terminal_show(&top->drawn);
}

/* Shows the view until the user, or a signal, ends it. */
static enum view_wish run_view(struct top *top)
{
    bool stale = true;
    while (!stop_signal) {
        const int64_t now_ns = monotonic_ns();
        look_at_recorder(top);
        if (now_ns >= top->due_ns) {
            if (!top->view.paused)
                top_refresh(top);
            top->due_ns = now_ns + REFRESH_NS;
            stale = true;
        }
        if (stale)
            top_show(top);
        stale = false;
        if (!sleep_until_news(top))
            return outlives_terminal ? VIEW_DETACHES : VIEW_QUITS;
        const enum view_wish wish = take_keys(top, &stale);
        if (wish != VIEW_GOES_ON)
            return wish;
        if (has_nothing(top))
            return VIEW_DETACHES;
    }
    return VIEW_QUITS;
}

/* ---- tables as text ---- */

/* False when standard output takes no more; a reader that has seen enough is no reason for a message. */
static bool print_table(struct top *top, size_t columns)
{
    draw(top, columns, BATCH_LINES);
    for (size_t i = 0; i < top->drawn.count; i++) {
        const struct bytes *text = &top->drawn.lines[i].text;
        size_t size = text->size;
        while (size > 0 && text->at[size - 1] == ' ')
            size--;
        printf("%.*s\n", (int)size, size ? (const char *)text->at : "");
    }
    printf("\n");
    top->unprinted = fflush(stdout) != 0 || ferror(stdout);
    if (top->unprinted && errno != EPIPE)
        fprintf(stderr, "pyreel-top: cannot write to standard output: %s\n", strerror(errno));
    return !top->unprinted;
}

/* Prints a table each second, and a last one when the recording ends. A command runs on to its end, also when nobody
 * reads the tables any more. */
static enum view_wish run_batch(struct top *top)
{
    const size_t columns = screen_of(STDOUT_FILENO).columns;
    for (uint64_t i = 0; i < top->options.batch && !stop_signal && !has_nothing(top); i++) {
        const int64_t due_ns = monotonic_ns() + BATCH_NS;
        bool ended = top->reading.ended;
        while (monotonic_ns() < due_ns && !ended && !stop_signal) {
            look_at_recorder(top);
            poll(NULL, 0, 10);
            ended = top->reading.ended;
        }
        if (has_nothing(top))
            break;
        top_refresh(top);
        if (!top_is_blank(top) && !print_table(top, columns))
            break;
        if (ended)
            break;
    }
    return top->options.command ? VIEW_DETACHES : VIEW_QUITS;
}

/* ---- the end ---- */

/* Passes on the signal that has come, if the recorder does not have it already. */
static void pass_on_signal(struct top *top)
{
    if (stop_signal && stop_was_sent)
        recorder_signal(&top->recorder, stop_signal);
    stop_signal = 0;
}

/* Ends the recorder, or lets it go on, and waits for it. */
static int top_end_recorder(struct top *top, enum view_wish wish)
{
    if (!stop_signal && wish == VIEW_QUITS && !top->reading.ended)
        recorder_signal(&top->recorder, SIGINT);
    do
        pass_on_signal(top);
    while (!recorder_pass_on(&top->recorder));
    return recorder_exit_code(&top->recorder);
}

static int top_finish(struct top *top, enum view_wish wish)
{
    int exit_code = EXIT_SUCCESS;
    if (top->recorder.pid)
        exit_code = top_end_recorder(top, wish);
    else if (has_nothing(top) || top->reading.failed || (top->options.batch && top_is_blank(top))) {
        fprintf(stderr, "pyreel-top: cannot read %s: %s\n", utf8_shown(top->options.input),
                top->reading.ended ? top->reading.why.text : "the recording has not begun");
        exit_code = EXIT_FAILURE;
    }
    return exit_code == EXIT_SUCCESS && top->unprinted ? EXIT_FAILURE : exit_code;
}

static void top_drop(struct top *top)
{
    feed_stop(&top->feed);
    /* A pipe of somebody else may stay open for ever. */
    if (top->feed.path || top->recorder.pid || top->reading.ended) {
        reading_join(&top->reading);
        model_free(&top->reading.model);
    }
    if (top->feed.path)
        feed_close(&top->feed);
    recorder_close(&top->recorder);
    view_free(&top->view);
    still_free(&top->still);
    screen_free(&top->drawn);
    parts_free(&top->parts);
    top_options_free(&top->options);
}

static int top_run(struct top *top)
{
    struct fault why = { 0 };
    enum view_wish wish = VIEW_QUITS;
    handle_signals();
    if (!top_start(top, &why)) {
        fprintf(stderr, "pyreel-top: %s\n", why.text);
        return EXIT_FAILURE;
    }
    wait_for_beginning(top);
    if (has_nothing(top) || stop_signal)
        return top_finish(top, wish);
    if (top->options.batch)
        return wish = run_batch(top), top_finish(top, wish);
    if (!terminal_open(&why)) {
        fprintf(stderr, "pyreel-top: %s\n", why.text);
        top_finish(top, wish);
        return EXIT_FAILURE;
    }
    wish = run_view(top);
    terminal_close();
    return top_finish(top, wish);
}

/* Says why there can be no full screen. */
static int top_refuse(struct top *top, const char *reason)
{
    fprintf(stderr, "pyreel-top: %s\n", reason);
    top_options_free(&top->options);
    return EXIT_MISUSE;
}

int main(int argc, char **argv)
{
    static struct top top;
    struct fault why = { 0 };
    int exit_code;
    startup(EXIT_FAILURE);
    if (!top_options_read(&top.options, argc, argv, &exit_code)) {
        top_options_free(&top.options);
        return exit_code;
    }
    if (!top.options.batch && !isatty(STDOUT_FILENO))
        return top_refuse(&top,
                          "standard output is no terminal; --batch 1 prints a table as text, and pyreel-report prints "
                          "a report of a finished recording");
    if (!top.options.batch && !terminal_suits(&why))
        return top_refuse(&top, why.text);
    alloc_limit(MEMORY_MOST, "pyreel-top", "the recording takes more than 4 GB of memory");
    top.ascii = screen_of(STDOUT_FILENO).ascii;
    exit_code = top_run(&top);
    top_drop(&top);
    return exit_code;
}
