/* SPDX-License-Identifier: MIT */
#include "record/launch/control.h"

#include "formats/base/alloc.h"
#include "record/launch/pause.h"
#include "record/process/clock.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A recorder's end of two fifos, and the other end of both. */
struct scene {
    char folder[32], commands_path[48], answers_path[48], text[128];
    struct control control;
    int commands, answers;
};

static int open_scene(void **state)
{
    struct scene *scene = alloc_zeroed(1, sizeof(*scene));
    struct fault why = { 0 };
    strcpy(scene->folder, "/tmp/pyreel-control-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->commands_path, sizeof(scene->commands_path), "%s/c", scene->folder);
    snprintf(scene->answers_path, sizeof(scene->answers_path), "%s/a", scene->folder);
    snprintf(scene->text, sizeof(scene->text), "fifo:%s,%s", scene->commands_path, scene->answers_path);
    assert_int_equal(mkfifo(scene->commands_path, 0600) | mkfifo(scene->answers_path, 0600), 0);
    assert_true(control_open(&scene->control, scene->text, &why));
    scene->commands = open(scene->commands_path, O_WRONLY);
    scene->answers = open(scene->answers_path, O_RDONLY | O_NONBLOCK);
    *state = scene;
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    control_close(&scene->control);
    close(scene->commands);
    close(scene->answers);
    unlink(scene->commands_path);
    unlink(scene->answers_path);
    rmdir(scene->folder);
    free(scene);
    return 0;
}

static void say(const struct scene *scene, const char *text)
{
    assert_int_equal(write(scene->commands, text, strlen(text)), strlen(text));
}

/* The next command, as a recorder finds it that was woken. */
static enum control_command take(struct scene *scene)
{
    struct fault why = { 0 };
    scene->control.readable = true;
    const enum control_command command = control_next(&scene->control, 1, &why);
    assert_int_equal(command == CONTROL_UNKNOWN, why.text[0] != '\0');
    return command;
}

static void expect_answers(const struct scene *scene, const char *text)
{
    char got[4096];
    const ssize_t size = read(scene->answers, got, sizeof(got) - 1);
    got[size > 0 ? size : 0] = '\0';
    assert_string_equal(got, text);
}

static void commands_are_taken_one_at_a_time(void **state)
{
    struct scene *scene = *state;
    say(scene, "enable\n\n  \ndisable \r\nstop\nping\nsnap");
    static const enum control_command expected[] = { CONTROL_ENABLE, CONTROL_DISABLE, CONTROL_STOP, CONTROL_PING };
    for (size_t i = 0; i < countof(expected); i++) {
        assert_int_equal(take(scene), expected[i]);
        assert_int_equal(take(scene), CONTROL_NONE); /* before the answer */
        control_answer(&scene->control, NULL);
    }
    assert_int_equal(take(scene), CONTROL_NONE); /* half a line */
    say(scene, "shot\n");
    assert_int_equal(take(scene), CONTROL_SNAPSHOT);
    control_answer(&scene->control, "there is\nnothing");
    expect_answers(scene, "ack\nack\nack\nack\nerror there is nothing\n");
}

static void a_writer_may_come_again(void **state)
{
    struct scene *scene = *state;
    close(scene->commands);
    assert_int_equal(take(scene), CONTROL_NONE);
    scene->commands = open(scene->commands_path, O_WRONLY);
    say(scene, "ping\n");
    assert_int_equal(take(scene), CONTROL_PING);
}

static void wrong_lines_are_told_apart(void **state)
{
    struct scene *scene = *state;
    char text[3 * CONTROL_LINE + 2];
    static const char *const wrong[] = { "bogus\n", "Enable\n", "enable now\n", " ping\n", "\x1b[31m\n", "\xff\n" };
    for (size_t i = 0; i < countof(wrong); i++) {
        say(scene, wrong[i]);
        assert_int_equal(take(scene), CONTROL_UNKNOWN);
        control_answer(&scene->control, NULL);
    }
    for (size_t size = CONTROL_LINE - 1; size <= 3 * CONTROL_LINE; size++) { /* whole, or in pieces */
        memset(text, 'x', size);
        strcpy(text + size, "\n");
        assert_int_equal(write(scene->commands, text, size / 2), size / 2);
        assert_int_equal(take(scene), CONTROL_NONE);
        say(scene, text + size / 2);
        assert_int_equal(take(scene), CONTROL_UNKNOWN);
        control_answer(&scene->control, NULL);
        say(scene, "ping\n");
        assert_int_equal(take(scene), CONTROL_PING);
        control_answer(&scene->control, NULL);
    }
}

/* Any bytes are lines; each is answered, and none is answered twice. */
static void random_bytes_are_lines(void **state)
{
    struct scene *scene = *state;
    for (unsigned round = 0; round < soak(200); round++) {
        char bytes[700];
        size_t lines = 0, answered = 0;
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = "\nping \0x\x80stop"[rand() % 14];
        bytes[sizeof(bytes) - 1] = '\n';
        for (size_t i = 0; i < sizeof(bytes); i++)
            lines += bytes[i] == '\n';
        assert_int_equal(write(scene->commands, bytes, sizeof(bytes)), sizeof(bytes));
        for (size_t i = 0; i < lines; i++)
            if (take(scene) != CONTROL_NONE) {
                control_answer(&scene->control, NULL);
                answered++;
            }
        assert_int_equal(take(scene), CONTROL_NONE);
        assert_int_equal(scene->control.size - scene->control.at, 0);
        char got[8192];
        assert_int_equal(read(scene->answers, got, sizeof(got)), 4 * answered);
    }
}

static void answers_that_nobody_reads_are_dropped(void **state)
{
    struct scene *scene = *state;
    for (int i = 0; i < 40000; i++) /* more than a fifo has room for */
        control_answer(&scene->control, NULL);
    char got[16];
    assert_int_equal(read(scene->answers, got, sizeof(got)), sizeof(got));
    assert_memory_equal(got, "ack\nack\nack\nack\n", sizeof(got));
}

/* A flood of commands does not keep the recorder from its work. */
static void a_flood_wakes_rarely(void **state)
{
    struct scene *scene = *state;
    struct fault why = { 0 };
    uint64_t until_ns = UINT64_MAX;
    assert_true(control_waking_fd(&scene->control, 100, &until_ns) >= 0);
    scene->control.readable = true;
    assert_int_equal(control_waking_fd(&scene->control, 100, &until_ns), -1);
    assert_int_equal(control_next(&scene->control, 1000, &why), CONTROL_NONE);
    assert_int_equal(control_waking_fd(&scene->control, 1001, &until_ns), -1);
    assert_in_range(until_ns, 1000000, 10000000); /* and it is not deaf for long */
    assert_true(control_waking_fd(&scene->control, until_ns, &until_ns) >= 0);
}

/* Without sleeps, it looks now and then. */
static void a_recorder_that_never_sleeps_hears(void **state)
{
    struct scene *scene = *state;
    struct fault why = { 0 };
    uint64_t now_ns = 1;
    assert_int_equal(control_next(&scene->control, now_ns, &why), CONTROL_NONE);
    say(scene, "ping\n");
    assert_int_equal(control_next(&scene->control, now_ns + 1, &why), CONTROL_NONE);
    assert_int_equal(control_next(&scene->control, now_ns + 10000000, &why), CONTROL_PING);
}

static void the_end_answers_all(void **state)
{
    struct scene *scene = *state;
    say(scene, "stop\nenable\nping\nsnapshot\nbogus\n");
    assert_int_equal(take(scene), CONTROL_STOP);
    control_close(&scene->control);
    expect_answers(scene, "ack\nerror the recording is over\nack\nerror the recording is over\n"
                          "error the recording is over\n");
    assert_int_equal(open(scene->commands_path, O_WRONLY | O_NONBLOCK), -1); /* nobody reads */
    control_close(&scene->control);
}

static void texts_and_files_are_checked(void **state)
{
    struct scene *scene = *state;
    static const char *const wrong[] = { "", "fifo", "fifo:", "fifo:,a", "fifo:c,", "fd:3", "c" };
    for (size_t i = 0; i < countof(wrong); i++)
        assert_false(control_is_named(wrong[i]));
    assert_true(control_is_named("fifo:c") && control_is_named("fifo:c,a"));
    struct control other;
    struct fault why = { 0 };
    assert_false(control_open(&other, scene->text, &why));
    assert_non_null(strstr(why.text, "another pyreel-record reads it"));
    char text[128];
    snprintf(text, sizeof(text), "fifo:%s", scene->folder);
    why.text[0] = '\0';
    assert_false(control_open(&other, text, &why));
    assert_non_null(strstr(why.text, "it is no fifo"));
    snprintf(text, sizeof(text), "fifo:%s/none", scene->folder);
    why.text[0] = '\0';
    assert_false(control_open(&other, text, &why));
    assert_non_null(strstr(why.text, "mkfifo"));
}

static void a_pause_ends_by_itself_or_not(void **state)
{
    (void)state;
    struct pause_state pause = { 0 };
    assert_false(pause_asked(&pause));
    pause_begin(&pause, clock_now_ns() + 1000000);
    wait_until(!pause_asked(&pause));
    pause_begin(&pause, UINT64_MAX);
    assert_true(pause_asked(&pause));
    pause_end(&pause);
    assert_false(pause_asked(&pause));
}

TEST_FILE(control)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(commands_are_taken_one_at_a_time, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_writer_may_come_again, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(wrong_lines_are_told_apart, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(random_bytes_are_lines, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(answers_that_nobody_reads_are_dropped, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_flood_wakes_rarely, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_recorder_that_never_sleeps_hears, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(the_end_answers_all, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(texts_and_files_are_checked, open_scene, close_scene),
        cmocka_unit_test(a_pause_ends_by_itself_or_not),
    };
    return run_all(tests);
}
