/* SPDX-License-Identifier: MIT */
/* pyreel-dump: prints what each thread of a process does now. */
#include "formats/base/startup.h"
#include "formats/base/utf8.h"
#include "formats/terminal/printable.h"
#include "record/dump/descendants.h"
#include "record/dump/dump_core.h"
#include "record/dump/dump_json.h"
#include "record/dump/dump_live.h"
#include "record/dump/dump_text.h"
#include "record/guard/stuck.h"
#include "record/process/clock.h"
#include "record/process/procfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BECOME_PYTHON_NS 1000000000u /* how long the process may take to become a Python, ... */
#define BECOME_CHILD_NS  200000000u  /* ... and all its descendants together */

#define STUCK_PATIENCE      5  /* seconds for which a page of the process may not come */
#define STUCK_PATIENCE_CORE 10 /* the same for a core file, which may lie on a slow disk */

/* One run of the program. */
struct dump_session {
    struct dump_options options;
    struct screen screen;
    struct output to;
    struct json_emitter json;
    json_t *others;  /* --json: the processes that were not dumped */
    uint64_t dumped; /* processes so far */
    bool failed;     /* a process that runs Python could not be dumped */
};

static void dump_say(const struct dump_session *session, const char *text)
{
    struct bytes safe = { 0 };
    put_printable(&safe, text_of(text), session->screen.ascii);
    fprintf(stderr, "pyreel-dump: %.*s\n", (int)safe.size, (const char *)safe.at);
    bytes_free(&safe);
}

/* ---- outputs ---- */

static void write_dump(struct dump_session *session, const struct dumped *dumped)
{
    struct source_lines lines;
    source_lines_open(&lines, dumped);
    if (session->options.json) {
        dump_json_process(&session->json, dumped, &lines);
    } else {
        if (session->dumped > 0)
            output_string(&session->to, "\n");
        dump_text(&session->to, &session->screen, dumped, &lines);
        output_flush(&session->to); /* the memory of the next process may not answer */
    }
    source_lines_close(&lines);
    session->dumped++;
}

/* Notes a process that was not dumped. */
static void write_other(struct dump_session *session, pid_t pid, const char *why)
{
    if (!session->options.json)
        return;
    const struct text command = procfs_command(pid), cause = utf8_clean(text_of(why));
    json_array_append_new(session->others,
                          json_pack("{s:i, s:o, s:o}", "pid", (int)pid, "command",
                                    command.size ? json_stringn(command.bytes, command.size) : json_null(), "reason",
                                    json_stringn(cause.bytes, cause.size)));
    text_free(command);
    text_free(cause);
}

/* ---- processes ---- */

static enum dump_result dump_process(struct dump_session *session, pid_t pid, uint64_t give_up_ns, struct fault *why)
{
    struct dumped dumped;
    *why = (struct fault){ 0 };
    const enum dump_result result = session->options.core ? dump_core(&dumped, &session->options, why)
                                                          : dump_live(&dumped, pid, &session->options, give_up_ns, why);
    if (result == DUMP_DONE)
        write_dump(session, &dumped);
    if (result == DUMP_DONE && why->text[0])
        dump_say(session, why->text);
    else if (result != DUMP_DONE)
        write_other(session, pid, why->text);
    dumped_free(&dumped);
    return result;
}

/* Dumps the descendants, too. Those that run no Python, or have ended by now, are no failures. */
static void dump_tree(struct dump_session *session)
{
    size_t count;
    struct descendant *tree = descendants_of(session->options.pid, &count);
    uint64_t give_up_ns = clock_now_ns() + BECOME_PYTHON_NS, others = 0;
    struct fault first = { 0 }, why;
    for (size_t i = 0; i < count; i++) {
        const enum dump_result result = dump_process(session, tree[i].pid, count > 1 && i == 0 ? 0 : give_up_ns, &why);
        if (i == 0)
            give_up_ns = clock_now_ns() + BECOME_CHILD_NS;
        if (result != DUMP_DONE && i == 0)
            first = why;
        others += result == DUMP_NOT_PYTHON;
        session->failed |= result == DUMP_FAILED || (result == DUMP_GONE && i == 0);
        if (result == DUMP_FAILED && i > 0)
            dump_say(session, why.text);
    }
    if (session->dumped == 0 || session->failed)
        session->failed = true;
    if (first.text[0] && (session->dumped == 0 || session->failed))
        dump_say(session, first.text);
    else if (others > 0 && session->options.verbose)
        fprintf(stderr, "pyreel-dump: %" PRIu64 " processes of the tree run no CPython\n", others);
    free(tree);
}

static void dump_one(struct dump_session *session)
{
    struct fault why;
    if (dump_process(session, session->options.pid, clock_now_ns() + BECOME_PYTHON_NS, &why) == DUMP_DONE)
        return;
    session->failed = true;
    dump_say(session, why.text);
}

static int dump_fail(const struct dump_session *session, const char *why)
{
    dump_say(session, why);
    return EXIT_FAILURE;
}

static int dump_run(struct dump_session *session)
{
    struct fault why = { 0 };
    session->screen = screen_of(STDOUT_FILENO);
    if (!output_open(&session->to, "-", false, &why))
        return dump_fail(session, why.text);
    session->json.to = &session->to;
    session->others = json_array();
    if (session->options.json)
        dump_json_begin(&session->json);
    if (session->options.subprocesses)
        dump_tree(session);
    else
        dump_one(session);
    if (session->options.json)
        dump_json_end(&session->json, session->others);
    else
        json_decref(session->others);
    if (!output_close(&session->to, NULL, &why))
        return dump_fail(session, why.text);
    if (session->json.bad)
        return dump_fail(session, "a text of the program is not UTF-8");
    return session->failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void watch_for_dead_pages(bool core)
{
    const char *of_process =
        "pyreel-dump: the memory of the process does not answer: a page of it, or a source file, lies "
        "on a file system whose server is dead, or plays dead\n";
    const char *of_core = "pyreel-dump: the core file does not answer: it, a file that the process mapped, or a source "
                          "file lies on a file system whose server is dead, or plays dead\n";
    stuck_watch(&(struct stuck_options){
        .message = core ? of_core : of_process,
        .exit_code = EXIT_FAILURE,
        .patience = core ? STUCK_PATIENCE_CORE : STUCK_PATIENCE,
        .all_paths = true,
        .is_asked_to_stop = NULL,
    });
}

int main(int argc, char **argv)
{
    startup(EXIT_FAILURE);
    struct dump_session session = { 0 };
    int exit_code;
    if (!dump_options_read(&session.options, argc, argv, &exit_code))
        return exit_code;
    watch_for_dead_pages(session.options.core != NULL);
    return dump_run(&session);
}
