/* SPDX-License-Identifier: MIT */
#include "convert/filters/sanitize.h"
#include "formats/base/alloc.h"

#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <string.h>

static const struct source_folders repositories = { .rows = { { T("/srv/repo"), T("github.com/me/app"), T("v1") } },
                                                    .count = 1 };

static void assert_is(struct text text, const char *wanted)
{
    if (text.size != strlen(wanted) || (text.size && memcmp(text.bytes, wanted, text.size) != 0))
        fail_msg("'%.*s' is not '%s'", (int)text.size, text.size ? text.bytes : "", wanted);
}

static const struct {
    const char *file, *wanted;
} files[] = {
    { "/home/ann/proj/app.py", "app.py" },
    { "/home/ann/proj/tools/make.py", "tools/make.py" },
    { "/home/ann/proj/src/main.py", "main.py" }, /* the program of the story is there */
    { "/home/ann/proj/src/part/x.py", "part/x.py" },
    { "/home/ann/project/x.py", "x.py" },
    { "/home/ann/other/x.py", "x.py" }, /* the home is no project */
    { "/home/ann/x.py", "x.py" },
    { "/home/ann/proj/.venv/lib/python3.12/site-packages/numpy/core/x.py", "site-packages/numpy/core/x.py" },
    { "/usr/lib/python3/dist-packages/six.py", "dist-packages/six.py" },
    { "/home/ann/.pyenv/versions/3.12.1/lib/python3.12/json/decoder.py", "lib/python3.12/json/decoder.py" },
    { "/opt/py/lib64/python3.15t/os.py", "lib64/python3.15t/os.py" },
    { "/srv/repo/tools/x.py", "git:github.com/me/app:tools/x.py:v1" },
    { "app.py", "app.py" },
    { "tools/make.py", "tools/make.py" },
    { "../../ann/x.py", "x.py" },
    { "/home/ann/proj/../../ann/x.py", "x.py" },
    { "/home/ann/proj/", "" },
    { "/", "" },
    { "<string>", "<string>" },
    { "<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>" },
    { "<template /home/ann/page.html>", "page.html" },
};

static void tell(struct journal *journal, struct event event)
{
    struct fault why = { 0 };
    const struct sink sink = journal_sink(journal);
    if (!sink_take(&sink, &event, &why))
        fail_msg("%s", why.text);
}

/* A process in /home/ann/proj and one in /home/ann, and a program in /home/ann/proj/src. */
static void tell_story(struct journal *journal)
{
    const struct event story[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = MS,
                                          .host = T("annbox"),
                                          .kernel = T("6.1-ann"),
                                          .machine = T("x86_64"),
                                          .command = T("pyreel-record -p 7") } },
        PROCESS(1, 7, "/home/ann/proj/"),
        PROCESS(2, 8, "/home/ann"),
        THREAD(1, 1, 7, "python3"),
        THREAD(2, 1, 9, "/home/ann/worker"),
        STRING(1, "<module>"),
        STRING(2, "/home/ann/proj/src/main.py"),
        STRING(3, "/srv/ann"),
        FUNCTION(1, 1, 2, 1),
        FRAME(1, 1, 3),
        SAMPLE(MS, 1, 0, 1),
    };
    journal_tell(journal, story, countof(story));
    for (uint32_t i = 0; i < countof(files); i++) {
        tell(journal, (struct event){ EVENT_STRING, .string = { 4 + i, text_of(files[i].file) } });
        tell(journal, (struct event){ EVENT_FUNCTION, .function = { 2 + i, 1, 4 + i, 1, KIND_PYTHON, 0, 0 } });
    }
}

static void files_lose_their_folders(void **state)
{
    (void)state;
    struct journal journal = { 0 };
    tell_story(&journal);
    sanitize_tables(&journal.tables, &repositories, &(struct intern){ 0 });
    for (uint32_t i = 0; i < countof(files); i++)
        assert_is(tables_string(&journal.tables, 4 + i), files[i].wanted);
    assert_is(tables_string(&journal.tables, 1), "<module>");
    assert_is(tables_string(&journal.tables, 3), "ann"); /* no function's file, and a path by its looks */
    journal_free(&journal);
}

static void people_and_machines_are_gone(void **state)
{
    (void)state;
    struct journal journal = { 0 };
    tell_story(&journal);
    sanitize_tables(&journal.tables, &repositories, &(struct intern){ 0 });
    const struct tables *tables = &journal.tables;
    assert_is(tables->recording.host, "");
    assert_is(tables->recording.kernel, "");
    assert_is(tables->recording.command, "");
    assert_is(tables->recording.machine, "x86_64");
    assert_is(tables->processes[1].process.folder, "");
    assert_is(tables->processes[1].process.executable, "python3.15");
    assert_is(tables->processes[1].process.command, "app.py");
    assert_is(tables->threads[1].thread.name, "python3");
    assert_is(tables->threads[2].thread.name, "worker");
    journal_free(&journal);
}

static void a_command_line_becomes_a_title(void **state)
{
    (void)state;
    static const struct {
        const char *command, *wanted;
    } cases[] = {
        { "/usr/bin/python3 -u /srv/ann/app.py --token=x", "app.py" },
        { "python3 -m http.server --directory /home/ann", "python3 -m http.server" },
        { "python3 -c 'print(1)'", "python3 -c" },
        { "/home/ann/bin/gunicorn -b :80", "gunicorn" },
        { "'/home/ann/my app' x", "'my app'" },
        { "", "python3.15" },
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct journal journal = { 0 };
        struct event process = PROCESS(1, 7, "/srv");
        process.process.command = text_of(cases[i].command);
        tell(&journal, (struct event){ EVENT_RECORDING, .recording = { .interval_ns = MS } });
        tell(&journal, process);
        sanitize_tables(&journal.tables, &repositories, &(struct intern){ 0 });
        assert_is(journal.tables.processes[1].process.command, cases[i].wanted);
        journal_free(&journal);
    }
}

static void recordings_get_numbers(void **state)
{
    (void)state;
    static const struct event story[] = {
        { EVENT_RECORDING, .recording = { .interval_ns = MS } },
        { EVENT_PROCESS, .process = { .number = 1, .pid = 7, .recording = T("ann.pyreel") } },
        { EVENT_PROCESS, .process = { .number = 2, .pid = 8, .recording = T("bob.pyreel") } },
        { EVENT_PROCESS, .process = { .number = 3, .pid = 9, .recording = T("ann.pyreel") } },
    };
    struct tables tables = { 0 };
    for (size_t i = 0; i < countof(story); i++) {
        struct event event = story[i];
        assert_true(tables_take(&tables, &event, NULL));
    }
    /* A recording without a process in the profile was read first. */
    struct intern recordings = { 0 };
    char room[SANITIZE_NAME_ROOM];
    assert_is(sanitize_recording_name(&recordings, TEXT("cid.pyreel"), room), "recording 1");
    assert_is(sanitize_recording_name(&recordings, TEXT("bob.pyreel"), room), "recording 2");
    sanitize_tables(&tables, &repositories, &recordings);
    assert_is(tables.processes[1].process.recording, "recording 3");
    assert_is(tables.processes[2].process.recording, "recording 2");
    assert_is(tables.processes[3].process.recording, "recording 3");
    intern_free(&recordings);
    tables_free(&tables);
}

TEST_FILE(sanitize)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_lose_their_folders),
        cmocka_unit_test(people_and_machines_are_gone),
        cmocka_unit_test(a_command_line_becomes_a_title),
        cmocka_unit_test(recordings_get_numbers),
    };
    return run_all(tests);
}
