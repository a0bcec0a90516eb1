/* SPDX-License-Identifier: MIT */
/* From events to the lines of the screen: model, still picture, view and screen. */
#include "convert/top/screen.h"

#include "formats/terminal/width.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>

#define RUNS   (STATUS_RECORDED | STATUS_CPU | STATUS_GIL)
#define RESTS  STATUS_RECORDED
#define SECOND (1000 * MS)

/* clang-format off */
static const struct event beginning[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = 100 * MS, .time_unit_ns = MS } },
    PROCESS(1, 4242, "/srv"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "worker-1"),
    THREAD(3, 1, 4244, "worker-2"),
    STRING(1, "main"), STRING(2, "/srv/app.py"), STRING(3, "work"), STRING(4, "Evil\x1b[31mName"),
    FUNCTION(1, 1, 2, 1), FUNCTION(2, 3, 2, 10), FUNCTION(3, 4, 2, 20),
    FRAME(1, 1, 2), FRAME(2, 2, 12), FRAME(3, 3, 22),
};
/* clang-format on */

struct scene {
    struct model model;
    struct still still;
    struct view view;
    struct drawn drawn;
    struct screen_state state;
    uint64_t now_ns;
};

static void tell(struct scene *scene, struct event event)
{
    struct fault why = { 0 };
    if (!model_take(&scene->model, &event, &why))
        fail_msg("%s", why.text);
}

static void begin(struct scene *scene)
{
    *scene = (struct scene){ .model.seconds = 10, .state = { .state = "recording", .input = "x", .window_s = 10 } };
    for (size_t i = 0; i < countof(beginning); i++)
        tell(scene, beginning[i]);
}

/* Each of the three threads has a sample in a tick: thread 1 runs main > work, thread 2 main, thread 3 sleeps. */
static void tick(struct scene *scene)
{
    const uint64_t ns = scene->now_ns += 100 * MS;
    tell(scene, (struct event)STATUS_SAMPLE(ns, 1, 0, RUNS, 100 * MS, 1, 2));
    tell(scene, (struct event)STATUS_SAMPLE(ns, 2, 0, RUNS, 50 * MS, 1));
    tell(scene, (struct event)STATUS_SAMPLE(ns, 3, 0, RESTS, 0, 1, 2, 2));
    tell(scene, (struct event)TICK(ns));
}

static void ticks(struct scene *scene, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        tick(scene);
}

static void look(struct scene *scene)
{
    still_take(&scene->still, &scene->model);
    view_make(&scene->view, &scene->still);
}

static void draw(struct scene *scene, size_t columns, size_t lines)
{
    view_make(&scene->view, &scene->still);
    screen_draw(&scene->drawn, &scene->view, &scene->still, &scene->state, columns, lines);
}

/* All lines of the screen. */
static char *shown(struct scene *scene)
{
    struct bytes text = { 0 };
    for (size_t i = 0; i < scene->drawn.count; i++) {
        put_bytes(&text, scene->drawn.lines[i].text.at, scene->drawn.lines[i].text.size);
        put_bytes(&text, "\n", 1);
    }
    put_bytes(&text, "", 1);
    return (char *)text.at;
}

static void assert_shown(struct scene *scene, const char *wanted)
{
    char *text = shown(scene);
    if (!strstr(text, wanted))
        fail_msg("%s is not in\n%s", wanted, text);
    free(text);
}

static void assert_not_shown(struct scene *scene, const char *unwanted)
{
    char *text = shown(scene);
    if (strstr(text, unwanted))
        fail_msg("%s is in\n%s", unwanted, text);
    free(text);
}

static const struct view_row *row(const struct scene *scene, const char *name)
{
    for (size_t i = 0; i < scene->view.count; i++)
        if (text_equal(scene->view.rows[i].name, text_of(name)))
            return &scene->view.rows[i];
    return NULL;
}

static uint64_t self_ms(const struct scene *scene, const char *name, enum window_sum sum)
{
    return row(scene, name) ? row(scene, name)->sums.self[sum] / MS : 0;
}

static uint64_t total_ms(const struct scene *scene, const char *name, enum window_sum sum)
{
    return row(scene, name) ? row(scene, name)->sums.total[sum] / MS : 0;
}

static void press(struct scene *scene, const char *keys)
{
    for (; *keys; keys++)
        assert_int_equal(view_take_key(&scene->view, (unsigned char)*keys), VIEW_GOES_ON);
    view_make(&scene->view, &scene->still);
}

static void press_key(struct scene *scene, enum view_key key)
{
    assert_int_equal(view_take_key(&scene->view, key), VIEW_GOES_ON);
    view_make(&scene->view, &scene->still);
}

static void end(struct scene *scene)
{
    screen_free(&scene->drawn);
    view_free(&scene->view);
    still_free(&scene->still);
    model_free(&scene->model);
}

static void test_functions(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    ticks(&scene, 20);
    model_finish(&scene.model);
    look(&scene);
    assert_true(scene.still.cpu_known);
    assert_int_equal(self_ms(&scene, "work", WINDOW_CPU), 2000);
    assert_int_equal(self_ms(&scene, "main", WINDOW_CPU), 1000);
    assert_int_equal(total_ms(&scene, "main", WINDOW_CPU), 3000);
    assert_int_equal(total_ms(&scene, "work", WINDOW_WALL), 4000); /* recursion counts once */
    assert_int_equal(self_ms(&scene, "work", WINDOW_BUSY), 2000);  /* thread 3 waited */
    assert_int_equal(scene.view.whole, 3000 * (uint64_t)MS);
    assert_string_equal(scene.view.rows[0].name.bytes, "work");
    press(&scene, "s");
    assert_string_equal(scene.view.rows[0].name.bytes, "main"); /* by total */
    end(&scene);
}

static void test_window_and_all(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    ticks(&scene, 300);
    model_finish(&scene.model);
    look(&scene);
    const uint64_t recent = self_ms(&scene, "main", WINDOW_CPU);
    assert_true(recent >= 4500 && recent <= 5000); /* the last 10 s, of which the last has only begun */
    press(&scene, "w");
    assert_int_equal(self_ms(&scene, "main", WINDOW_CPU), 15000);
    end(&scene);
}

static void test_threads(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    ticks(&scene, 20);
    model_finish(&scene.model);
    look(&scene);
    press(&scene, "t");
    assert_int_equal(scene.view.count, 2); /* worker-1 and worker-2 are one row, as in pyreel-report */
    assert_int_equal(row(&scene, "worker")->threads, 2);
    assert_int_equal(total_ms(&scene, "worker", WINDOW_CPU), 1000);
    assert_int_equal(total_ms(&scene, "MainThread", WINDOW_GIL), 2000);
    press_key(&scene, VIEW_KEY_DOWN);
    press_key(&scene, VIEW_KEY_ENTER); /* the functions of worker */
    assert_int_equal(scene.view.table, VIEW_FUNCTIONS);
    assert_int_equal(self_ms(&scene, "main", WINDOW_CPU), 1000);
    assert_int_equal(self_ms(&scene, "work", WINDOW_CPU), 0);
    press_key(&scene, VIEW_KEY_ESCAPE);
    assert_int_equal(scene.view.table, VIEW_THREADS);
    press(&scene, "p");
    assert_int_equal(scene.view.count, 1);
    assert_int_equal(row(&scene, "app.py")->threads, 3);
    draw(&scene, 80, 24);
    assert_shown(&scene, "last 10 s, by CPU time\n"); /* a process has no self to sort by */
    press(&scene, "a");
    draw(&scene, 80, 24);
    assert_shown(&scene, "--async");
    end(&scene);
}

static void test_threads_apart(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    scene.model.ids = true;
    ticks(&scene, 20);
    look(&scene);
    press(&scene, "t");
    assert_int_equal(scene.view.count, 3);
    assert_non_null(row(&scene, "worker-2 (4244)"));
    end(&scene);
}

static void test_renamed_thread(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    ticks(&scene, 5);
    tell(&scene, (struct event){ EVENT_THREAD_NAME, .change = { 2, scene.now_ns, T("importer"), false } });
    ticks(&scene, 5);
    model_finish(&scene.model);
    look(&scene);
    press(&scene, "t");
    assert_non_null(row(&scene, "importer"));
    assert_int_equal(row(&scene, "importer")->threads, 1);
    end(&scene);
}

/* A process with another title is the same process: its rows and the head have the latest title. */
static void test_retitled_process(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    ticks(&scene, 5);
    look(&scene);
    press(&scene, "t");
    const size_t owners = scene.still.owners_count;
    tell(&scene, (struct event)TITLE(1, scene.now_ns, "'worker: GET /'"));
    ticks(&scene, 5);
    tell(&scene, (struct event)TITLE(1, scene.now_ns, "'worker: idle [app]'"));
    ticks(&scene, 5);
    look(&scene);
    assert_int_equal(scene.still.owners_count, owners);
    assert_text(scene.still.owners[0].process, "worker: idle [app]");
    assert_text(scene.still.command, "'worker: idle [app]'");
    end(&scene);
}

/* A process that changes its title all the time takes no more memory. A view that is paused shows the title of its
 * time, and the choice of a process has the latest title. */
static void test_titles_without_end(void **state)
{
    (void)state;
    struct scene scene;
    char title[64];
    begin(&scene);
    ticks(&scene, 5);
    look(&scene);
    press(&scene, "p");
    const uint32_t texts = scene.model.owners.texts.count;
    press_key(&scene, VIEW_KEY_ENTER);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(title, sizeof(title), "'worker: request %u'", i);
        tell(&scene, (struct event)TITLE(1, scene.now_ns, title));
        tick(&scene);
        if (i < 50)
            look(&scene);
        else
            model_settle(&scene.model); /* nobody takes a still picture: paused */
    }
    assert_int_equal(scene.model.owners.texts.count, texts);
    draw(&scene, 100, 20);
    assert_shown(&scene, "; worker: request 49");
    look(&scene);
    draw(&scene, 100, 20);
    assert_shown(&scene, "; worker: request 99");
    end(&scene);
}

static void test_tasks(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    tell(&scene, (struct event)TASK(1, 1, "fetch"));
    tell(&scene, (struct event)TASK_SAMPLE(100 * MS, 1, 1, 0, 1, 2));
    tell(&scene, (struct event)TICK(100 * MS));
    model_finish(&scene.model);
    look(&scene);
    tell(&scene, (struct event)TASK(2, 1, "fetch"));
    tell(&scene,
         (struct event)TASK_SAMPLE(200 * MS, 1, 2, 0, 1, 2)); /* the same thread runs another task of the name */
    tell(&scene, (struct event)TICK(200 * MS));
    look(&scene);
    press(&scene, "t");
    assert_int_equal(row(&scene, "MainThread")->threads, 1);
    press(&scene, "a");
    assert_int_equal(row(&scene, "fetch")->threads, 2);
    assert_int_equal(total_ms(&scene, "fetch", WINDOW_WALL), 200);
    press_key(&scene, VIEW_KEY_ENTER);
    assert_int_equal(total_ms(&scene, "main", WINDOW_WALL), 200);
    end(&scene);
}

static void test_calls(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    ticks(&scene, 20);
    model_finish(&scene.model);
    look(&scene);
    press_key(&scene, VIEW_KEY_ENTER); /* work */
    assert_int_equal(scene.view.table, VIEW_CALLS);
    assert_int_equal(scene.view.count, 2);
    assert_true(row(&scene, "main")->caller);
    assert_int_equal(total_ms(&scene, "main", WINDOW_WALL), 4000);
    assert_true(row(&scene, "work")->caller && row(&scene, "work")->callee); /* it calls itself */
    draw(&scene, 80, 24);
    assert_shown(&scene, "calls of work");
    press_key(&scene, VIEW_KEY_BACK);
    assert_int_equal(scene.view.table, VIEW_FUNCTIONS);
    end(&scene);
}

static void test_lines(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    tell(&scene, (struct event)FRAME(4, 2, 13)); /* another line of work */
    ticks(&scene, 4);
    tell(&scene, (struct event)STATUS_SAMPLE(500 * MS, 1, 0, RUNS, 100 * MS, 1, 2, 4));
    tell(&scene, (struct event)TICK(500 * MS));
    model_finish(&scene.model);
    look(&scene);
    assert_int_equal(total_ms(&scene, "work", WINDOW_CPU), 500);
    press(&scene, "l");
    assert_int_equal(scene.view.count, 3); /* main:2, work:12, work:13 */
    assert_int_equal(self_ms(&scene, "work", WINDOW_CPU), 400);
    assert_int_equal(scene.view.rows[0].line, 12);
    assert_int_equal(total_ms(&scene, "work", WINDOW_CPU), 500);
    press_key(&scene, VIEW_KEY_ENTER);
    draw(&scene, 80, 24);
    assert_shown(&scene, "calls of work");
    end(&scene);
}

static void test_filter(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    ticks(&scene, 5);
    model_finish(&scene.model);
    look(&scene);
    press(&scene, "/WoRq");
    press_key(&scene, VIEW_KEY_BACK);
    press(&scene, "k");
    press_key(&scene, VIEW_KEY_ENTER);
    assert_int_equal(scene.view.count, 1);
    draw(&scene, 80, 24);
    assert_shown(&scene, "filter: WoRk (1 of 2)");
    press(&scene, "/\xc3");
    for (int i = 0; i < 200; i++)
        press(&scene, "x"); /* the filter has a most */
    draw(&scene, 200, 24);
    press_key(&scene, VIEW_KEY_ENTER);
    draw(&scene, 80, 24);
    assert_shown(&scene, "Nothing here matches the filter");
    press_key(&scene, VIEW_KEY_ESCAPE);
    assert_int_equal(scene.view.count, 2);
    end(&scene);
}

/* The view of a paused screen stands still: the picture is the old one, and can be sorted. */
static void test_still(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    ticks(&scene, 10);
    model_finish(&scene.model);
    look(&scene);
    press(&scene, " w");
    assert_true(scene.view.paused);
    ticks(&scene, 500);
    view_make(&scene.view, &scene.still);
    assert_int_equal(self_ms(&scene, "work", WINDOW_CPU), 1000);
    draw(&scene, 80, 24);
    assert_shown(&scene, "PAUSED");
    end(&scene);
}

/* Nothing of a name reaches the terminal raw, and no line is wider than the screen. */
static void test_hostile_names(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    tell(&scene, (struct event)STRING(
                     5, "\xe6\xb7\xb1\xe6\xb7\xb1\xe6\xb7\xb1\xe6\xb7\xb1\xe6\xb7\xb1\xe6\xb7\xb1\xe6\xb7\xb1"
                        "\xe6\xb7\xb1\xe6\xb7\xb1\xe6\xb7\xb1\xe6\xb7\xb1\xe6\xb7\xb1\xe6\xb7\xb1\xe6\xb7\xb1"));
    tell(&scene, (struct event)FUNCTION(4, 5, 5, 1));
    tell(&scene, (struct event)FRAME(4, 4, 2));
    tell(&scene, (struct event){ EVENT_THREAD_NAME, .change = { 2, 0, T("\x1b]0;owned\x07"), false } });
    scene.now_ns = 100 * MS;
    tell(&scene, (struct event)STATUS_SAMPLE(100 * MS, 1, 0, RUNS, 90 * MS, 1, 3));
    tell(&scene, (struct event)STATUS_SAMPLE(100 * MS, 2, 0, RUNS, 90 * MS, 1, 4));
    tell(&scene, (struct event)TICK(100 * MS));
    model_finish(&scene.model);
    look(&scene);
    scene.state.said = text_of("\x1b[2Jdone\xff\r\n");
    const char *const tables[] = { "f", "t", "p" };
    for (size_t table = 0; table < countof(tables); table++)
        for (size_t columns = 1; columns < 120; columns++) {
            press(&scene, tables[table]);
            scene.state.ascii = columns % 2;
            draw(&scene, columns, 20);
            for (size_t i = 0; i < scene.drawn.count; i++) {
                const struct bytes *line = &scene.drawn.lines[i].text;
                if (width_of((struct text){ (const char *)line->at, line->size }) > columns)
                    fail_msg("wider than %zu: %.*s", columns, (int)line->size, (const char *)line->at);
                for (size_t at = 0; at < line->size; at++)
                    assert_true(line->at[at] >= ' ' && line->at[at] != 0x7f &&
                                (line->at[at] < 0x80 || !scene.state.ascii));
            }
        }
    press(&scene, "f");
    draw(&scene, 119, 20);
    assert_shown(&scene, "Evil\\x1b[31mName");
    press(&scene, "t");
    draw(&scene, 119, 20);
    assert_shown(&scene, "\\x1b]0;owned\\x07");
    end(&scene);
}

static void test_sizes(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    ticks(&scene, 10);
    look(&scene);
    draw(&scene, 39, 24);
    assert_shown(&scene, "too small");
    draw(&scene, 80, 8);
    assert_shown(&scene, "too small");
    draw(&scene, 80, 0);
    assert_int_equal(scene.drawn.count, 0);
    draw(&scene, 40, 9);
    assert_int_equal(scene.drawn.count, 9);
    assert_shown(&scene, "work");
    assert_not_shown(&scene, "SELF s"); /* a narrow screen has shares only */
    press(&scene, "?");
    draw(&scene, 80, 9);
    assert_int_equal(scene.drawn.count, 9);
    press(&scene, "x");
    draw(&scene, 80, 24);
    assert_int_equal(scene.drawn.count, 24);
    assert_shown(&scene, "last 10 s, by CPU time");
    end(&scene);
}

static void test_thousands(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    char name[32];
    for (uint32_t i = 0; i < 5000; i++) {
        const int size = snprintf(name, sizeof(name), "function_%04u", i);
        tell(&scene, (struct event){ EVENT_STRING, .string = { 5 + i, { name, (size_t)size } } });
        tell(&scene, (struct event)FUNCTION(4 + i, 5 + i, 2, i));
        tell(&scene, (struct event)FRAME(4 + i, 4 + i, i));
        tell(&scene, (struct event)STATUS_SAMPLE((i + 1) * (uint64_t)MS, 1, 0, RUNS, MS, 1, 4 + i));
        tell(&scene, (struct event)TICK((i + 1) * (uint64_t)MS));
    }
    model_finish(&scene.model);
    look(&scene);
    assert_int_equal(scene.view.count, 5001);
    draw(&scene, 80, 24);
    press_key(&scene, VIEW_KEY_END);
    draw(&scene, 80, 24);
    assert_shown(&scene, "main"); /* without self it is the last one */
    assert_int_equal(scene.view.first, 5001 - scene.view.page);
    press_key(&scene, VIEW_KEY_PAGE_UP);
    press_key(&scene, VIEW_KEY_HOME);
    assert_int_equal(scene.view.selected, 0);
    press_key(&scene, VIEW_KEY_UP);
    press_key(&scene, VIEW_KEY_PAGE_DOWN);
    draw(&scene, 80, 24);
    assert_int_equal(scene.view.selected, scene.view.page);
    end(&scene);
}

static void test_owners_are_bounded(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    char name[32];
    for (uint32_t i = 0; i < MODEL_OWNERS_MOST + 100; i++) {
        const int size = snprintf(name, sizeof(name), "t%ux", i);
        tell(&scene,
             (struct event){
                 EVENT_THREAD,
                 .thread = { .number = 4 + i, .process = 1, .tid = 5000 + i, .name = { name, (size_t)size } } });
        tell(&scene, (struct event)SAMPLE((i + 1) * (uint64_t)MS, 4 + i, 0, 1));
        tell(&scene, (struct event)TICK((i + 1) * (uint64_t)MS));
    }
    look(&scene);
    assert_true(scene.still.owners_count <= MODEL_OWNERS_MOST + 2);
    press(&scene, "tw");
    assert_non_null(row(&scene, "<others>"));
    assert_int_equal(row(&scene, "<others>")->threads, 100);
    end(&scene);
}

static void test_head(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    draw(&scene, 80, 24);
    assert_shown(&scene, "No samples yet");
    ticks(&scene, 10);
    tell(&scene, (struct event)COUNTER("samples", 30));
    tell(&scene, (struct event)COUNTER("samples_exact", 27));
    tell(&scene, (struct event)COUNTER("taken_ns", 9000000));
    tell(&scene, (struct event)COUNTER("disturb_limit_ppm", 10000));
    model_finish(&scene.model);
    look(&scene);
    draw(&scene, 80, 24);
    assert_shown(&scene, "app.py, process 4242, CPython 3.15.2");
    draw(&scene, 44, 24); /* a title that has no room ends at a comma */
    assert_shown(&scene, "app.py, process 4242  ");
    draw(&scene, 80, 24);
    assert_shown(&scene, "GIL held 100 %"); /* two threads hold it here, but there is one lock */
    assert_shown(&scene, "10 Hz asked, 10 reached, 0.0 % missed; 90.0 % exact; costs 0.90 of 1 % CPU");
    ticks(&scene, 90); /* what sampling took is a share of the time until the recorder counted */
    look(&scene);
    draw(&scene, 80, 24);
    assert_shown(&scene, "costs 0.90 of 1 % CPU");
    end(&scene);
}

/* The instruction at which the innermost frame stands, where there is one. */
static void test_instructions(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    ticks(&scene, 4); /* looks at threads that run wait for a while */
    look(&scene);
    press(&scene, "o");
    draw(&scene, 80, 24);
    assert_shown(&scene, "No instructions: record with --opcodes.");
    tell(&scene, (struct event)STRING(5, "LOAD_FAST"));
    tell(&scene, (struct event){ EVENT_FRAME, .frame = { 4, 2, 12, 12, -1, -1, 5, 5, 0, 0, 0 } });
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t ns = scene.now_ns += 100 * MS;
        tell(&scene, (struct event)STATUS_SAMPLE(ns, 1, 0, RESTS, 0, 4, 2));
        tell(&scene, (struct event)STATUS_SAMPLE(ns, 2, 0, RESTS, 0, 1, 4));
        tell(&scene, (struct event)TICK(ns));
    }
    look(&scene);
    draw(&scene, 80, 24);
    assert_int_equal(scene.view.count, 1);
    assert_shown(&scene, "INSTRUCTION");
    assert_int_equal(self_ms(&scene, "LOAD_FAST", WINDOW_WALL), 300); /* of thread 2 alone */
    press_key(&scene, VIEW_KEY_ENTER);
    assert_int_equal(scene.view.table, VIEW_INSTRUCTIONS); /* there is nothing to enter */
    press(&scene, "f");
    assert_true(scene.view.count > 1);
    end(&scene);
}

static void test_keys(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene);
    assert_int_equal(view_take_key(&scene.view, 'q'), VIEW_QUITS);
    assert_int_equal(view_take_key(&scene.view, 'd'), VIEW_DETACHES);
    press(&scene, "/q"); /* a letter of the filter */
    press_key(&scene, VIEW_KEY_ESCAPE);
    press(&scene, "h");
    assert_int_equal(view_take_key(&scene.view, 'q'), VIEW_QUITS);
    for (uint32_t key = 0; key < 0x300; key++) /* any key, on an empty table */
        view_take_key(&scene.view, key == 'q' || key == 'd' ? 'x' : key);
    for (uint32_t key = VIEW_KEY_UP; key <= VIEW_KEY_TAB; key++)
        press_key(&scene, key);
    press_key(&scene, VIEW_KEY_ESCAPE);
    draw(&scene, 80, 24);
    end(&scene);
}

TEST_FILE(top_view)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_window_and_all),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_threads_apart),
        cmocka_unit_test(test_renamed_thread),
        cmocka_unit_test(test_retitled_process),
        cmocka_unit_test(test_titles_without_end),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_still),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_thousands),
        cmocka_unit_test(test_owners_are_bounded),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_keys),
    };
    return run_all(tests);
}
