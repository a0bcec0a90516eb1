/* SPDX-License-Identifier: MIT */
#include "formats/report/report.h"

#include "formats/report/report_head.h"
#include "formats/report/report_internal.h"
#include "formats/report/report_json.h"
#include "formats/report/report_markdown.h"
#include "formats/report/report_text.h"
#include "tests/fakes/story.h"
#include "tests/fakes/testing.h"

#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RUNS (STATUS_RECORDED | STATUS_CPU | STATUS_GIL)
#define IDLE STATUS_RECORDED

/* main calls walk, which calls itself and decode; other.main is another function of that name. Thread 2 waits. */
static const struct event story[] = {
    { EVENT_RECORDING, .recording = { .interval_ns = 100 * MS, .time_unit_ns = 2 * MS } },
    PROCESS(1, 4242, "/home/u"),
    THREAD(1, 1, 4242, "python3"),
    THREAD(2, 1, 4243, "waiter"),
    STRING(1, "/home/u/a.py"),
    STRING(2, "main"),
    STRING(3, "Tree.walk"),
    STRING(4, "/usr/lib/python3.15/json/decoder.py"),
    STRING(5, "decode"),
    STRING(6, "<GC>"),
    STRING(7, "wait"),
    FUNCTION(1, 2, 1, 1),
    FUNCTION(2, 3, 1, 10),
    FUNCTION(3, 5, 4, 30),
    SYNTHETIC(4, 6, KIND_GC),
    FUNCTION(5, 7, 1, 50),
    FUNCTION(6, 2, 4, 90),
    FRAME(1, 1, 3),  /* main:3 */
    FRAME(2, 2, 11), /* walk:11 */
    FRAME(3, 2, 12), /* walk:12 */
    FRAME(4, 3, 33), /* decode:33 */
    FRAME(5, 4, 0),  /* <GC> */
    FRAME(6, 5, 51), /* wait:51 */
    FRAME(7, 6, 91), /* the main of json */
    STATUS_SAMPLE(100 * MS, 1, 0, RUNS, 90 * MS, 1, 2, 3),
    STATUS_SAMPLE(100 * MS, 2, 0, IDLE, 0, 6),
    TICK(100 * MS),
    STATUS_SAMPLE(200 * MS, 1, 1, RUNS, 100 * MS, 2, 4, 5),
    STATUS_SAME(200 * MS, 2, 1, IDLE, 0),
    TICK(200 * MS),
    STATUS_SAMPLE(300 * MS, 1, 3, RUNS, 60 * MS, 7),
    STATUS_SAME(300 * MS, 2, 1, IDLE, 1 * MS),
    TICK(300 * MS),
};

#define STORY_SAMPLES 9 /* events at the end of the story, which are samples and ticks */

struct world {
    struct tables tables;
    struct aggregate aggregate;
    struct frame_filter filter;
    struct report report;
};

static void add(struct world *world, const struct event *events, size_t count)
{
    struct fault why = { 0 };
    world->aggregate.group_of = waiting_group;
    for (size_t i = 0; i < count; i++) {
        struct event event = events[i];
        assert_true(tables_take(&world->tables, &event, &why));
        if (event.kind == EVENT_RUN)
            aggregate_add_run(&world->aggregate, &event.run);
    }
}

static void take(struct world *world, const struct event *events, size_t count)
{
    add(world, events, count);
    aggregate_sort(&world->aggregate);
}

static bool make(struct world *world, struct report_style style, struct fault *why)
{
    style.filter = &world->filter;
    take(world, story, countof(story));
    return report_begin(&world->report, &world->tables, &world->aggregate, &style, why) &&
           report_make(&world->report, why);
}

static void close_world(struct world *world)
{
    report_free(&world->report);
    frame_filter_free(&world->filter);
    aggregate_free(&world->aggregate);
    tables_free(&world->tables);
}

/* What a writer writes. The caller frees it. */
static char *written(const struct report *report, void (*write)(struct output *to, const struct report *report))
{
    struct output to;
    struct fault why = { 0 };
    const int fd = memfd_create("report", 0), again = dup(fd);
    output_open_fd(&to, fd, "report", false);
    write(&to, report);
    assert_true(output_close(&to, NULL, &why));
    const off_t size = lseek(again, 0, SEEK_END);
    char *text = calloc((size_t)size + 1, 1);
    assert_int_equal(pread(again, text, (size_t)size, 0), size);
    close(again);
    return text;
}

static void write_text(struct output *to, const struct report *report)
{
    report_text(to, report, &(struct screen){ .columns = 80 });
}

static void write_narrow_ascii(struct output *to, const struct report *report)
{
    report_text(to, report, &(struct screen){ .columns = 40, .ascii = true });
}

static void write_colours(struct output *to, const struct report *report)
{
    report_text(to, report, &(struct screen){ .columns = 80, .colours = true });
}

static void write_json(struct output *to, const struct report *report)
{
    struct fault why = { 0 };
    assert_true(report_json(to, report, &(struct report_origin){ .recordings = 1, .complete = true }, &why));
}

static void assert_written(struct report_style style, void (*write)(struct output *to, const struct report *report),
                           const char *wanted)
{
    struct world world = { 0 };
    struct fault why = { 0 };
    assert_true(make(&world, style, &why));
    char *text = written(&world.report, write);
    assert_string_equal(text, wanted);
    free(text);
    close_world(&world);
}

static void the_hottest_by_self_and_by_total(void **state)
{
    (void)state;
    assert_written((struct report_style){ 0 }, write_text,
                   "\n"
                   "Hottest functions by self CPU time: MainThread\n"
                   "  self s     %  total s      %  function   where\n"
                   "   0.100  40.0    0.100   40.0  <GC>\n"
                   "   0.090  36.0    0.250  100.0  Tree.walk  a.py:10\n"
                   "   0.060  24.0    0.060   24.0  main       json/decoder.py:90\n"
                   "\n"
                   "Hottest functions by total CPU time: MainThread\n"
                   "  total s      %  self s     %  function   where\n"
                   "    0.250  100.0   0.090  36.0  Tree.walk  a.py:10\n"
                   "    0.250  100.0   0.000   0.0  main       a.py:1\n"
                   "    0.160   64.0   0.000   0.0  decode     json/decoder.py:30\n"
                   "    0.100   40.0   0.100  40.0  <GC>\n"
                   "    0.060   24.0   0.060  24.0  main       json/decoder.py:90\n"
                   "\n"
                   "waiter waited 99 % of 0.3 s\n");
}

static void the_top_and_one_order(void **state)
{
    (void)state;
    assert_written((struct report_style){ .top = 1, .sort = SORT_SELF, .by = BY_FILE }, write_text,
                   "\n"
                   "Hottest files by self CPU time: MainThread\n"
                   "  self s     %  total s     %  file\n"
                   "   0.100  40.0    0.100  40.0  <GC>\n"
                   "  and 2 more with 0.150 s (--top)\n"
                   "\n"
                   "waiter waited 99 % of 0.3 s\n");
}

static void waits_stand_beside_the_function_that_waits(void **state)
{
    (void)state;
    assert_written((struct report_style){ .weighted = true, .weight = SUM_WALL_NS, .sort = SORT_SELF, .by = BY_THREAD },
                   write_text,
                   "\n"
                   "Threads by wall-clock time\n"
                   "  total s     %  thread\n"
                   "    0.300  50.0  MainThread\n"
                   "    0.300  50.0  waiter\n");
    struct world world = { 0 };
    struct fault why = { 0 };
    const struct report_style style = { .weighted = true, .weight = SUM_WALL_NS, .sort = SORT_SELF, .every_row = true };
    assert_true(make(&world, style, &why));
    const struct report_section *all = &world.report.sections[0];
    assert_text(all->rows[0].name, "wait");
    assert_int_equal(all->rows[0].self, 300 * MS);
    assert_int_equal(all->rows[0].waits, 300 * MS);
    assert_int_equal(all->rows[1].waits, 0);
    assert_true(all->columns & COLUMN_WAITS);
    close_world(&world);
}

static void a_narrow_screen_without_utf8(void **state)
{
    (void)state;
    assert_written((struct report_style){ .sort = SORT_SELF }, write_narrow_ascii,
                   "\n"
                   "Hottest functions by self CPU time:\n"
                   "MainThread\n"
                   "  self s     %  function   where\n"
                   "   0.100  40.0  <GC>\n"
                   "   0.090  36.0  Tree.walk  a.py:10\n"
                   "   0.060  24.0  main       ...oder.py:90\n"
                   "\n"
                   "waiter waited 99 % of 0.3 s\n");
}

static void the_tree(void **state)
{
    (void)state;
    assert_written((struct report_style){ .tree = true, .tree_least = 0.3 }, write_text,
                   "\n"
                   "Calls by total CPU time\n"
                   "  total s     %  self s  function\n"
                   "    0.250  99.6   0.000  MainThread\n"
                   "    0.250  99.6   0.000  main  a.py:1\n"
                   "    0.250  99.6   0.090  Tree.walk  a.py:10\n"
                   "    0.160  63.7   0.000  decode  json/decoder.py:30\n"
                   "    0.100  39.8   0.100  <GC>\n"
                   "Calls below 30 % are not shown (--min).\n");
    assert_written((struct report_style){ .tree = true, .tree_least = 0.1 }, write_narrow_ascii,
                   "\n"
                   "Calls by total CPU time\n"
                   "  total s     %  function\n"
                   "    0.250  99.6  MainThread\n"
                   "    0.250  99.6  main  a.py:1\n"
                   "    0.250  99.6  Tree.walk  a.py:10\n"
                   "    0.160  63.7  decode  ...ecoder.py:30\n"
                   "    0.100  39.8  |- <GC>\n"
                   "    0.060  23.9  `- main  ...coder.py:90\n"
                   "Calls below 10 % are not shown (--min).\n");
}

static void long_chains_lose_their_middle(void **state)
{
    (void)state;
    static const struct event begins[] = { ONE_THREAD_BEGINS };
    static const uint32_t frames[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    struct world world = { 0 };
    struct fault why = { 0 };
    struct event events[countof(begins) + 20] = { 0 };
    size_t count = countof(begins);
    memcpy(events, begins, sizeof(begins));
    for (uint32_t i = 2; i <= 10; i++) {
        events[count++] = (struct event){ EVENT_FUNCTION, .function = { i, 1, 2, i, KIND_PYTHON, 0, 0 } };
        events[count++] = (struct event){ EVENT_FRAME, .frame = { i, i, i, i, -1, -1, 0, 0, 0, 0, 0 } };
    }
    events[count++] = (struct event){
        EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .pushed = countof(frames), .frames = frames, .time_ns = 1 }
    };
    take(&world, events, count);
    const struct report_style style = { .tree = true, .filter = &world.filter };
    assert_true(report_begin(&world.report, &world.tables, &world.aggregate, &style, &why));
    assert_true(report_make(&world.report, &why));
    const struct report_section *section = &world.report.sections[0];
    assert_int_equal(section->count, 5); /* the thread, a call, the gap, two calls */
    assert_int_equal(section->rows[2].skipped, 7);
    assert_int_equal(section->rows[4].line, 10);
    close_world(&world);
}

static char letter_of(const struct report_row *row)
{
    if (row->skipped)
        return '-';
    if (!row->kind)
        return '.';
    return row->file.size == 0 ? 'T' : strcmp(row->kind, "program") == 0 ? 'U' : 'L';
}

/* A thread (.), calls of the libraries (L) and of the user's code (U), a task (T): which of them stay, and the gaps
 * (-). */
static void the_users_code_stays_in_a_long_chain(void **state)
{
    (void)state;
    static const struct {
        const char *calls, *shown;
    } rows[] = {
        { "LLLLTUULLL", ".L-TUULLL" },  { "ULLLLLLL", ".U-LL" },      { "UUUUUUUU", ".U-UU" },
        { "ULLLUUUULLL", ".U-U-ULLL" }, { "LLLULLLULL", ".L-U-ULL" }, { "LULL", ".LULL" },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        static const struct event begins[] = { ONE_THREAD_BEGINS, STRING(3, "/usr/lib/python3.15/json/decoder.py"),
                                               STRING(4, "/home/u/a.py"), STRING(5, "<task ask>") };
        struct world world = { 0 };
        struct fault why = { 0 };
        struct event events[countof(begins) + 32] = { 0 };
        uint32_t frames[16], count = countof(begins);
        const uint32_t calls = (uint32_t)strlen(rows[i].calls);
        memcpy(events, begins, sizeof(begins));
        for (uint32_t j = 0; j < calls; j++) {
            const char call = rows[i].calls[j];
            const uint32_t number = 2 + j, name = call == 'T' ? 5 : 1, file = call == 'L' ? 3 : 4;
            if (call == 'T')
                events[count++] = (struct event)SYNTHETIC(number, name, KIND_TASK);
            else
                events[count++] = (struct event)FUNCTION(number, name, file, j);
            events[count++] = (struct event)FRAME(number, number, j);
            frames[j] = number;
        }
        events[count++] = (struct event){
            EVENT_SAMPLE, .sample = { .count = 1, .thread = 1, .pushed = calls, .frames = frames, .time_ns = 1 }
        };
        take(&world, events, count);
        const struct report_style style = { .tree = true, .filter = &world.filter };
        assert_true(report_begin(&world.report, &world.tables, &world.aggregate, &style, &why));
        assert_true(report_make(&world.report, &why));
        const struct report_section *section = &world.report.sections[0];
        char shown[32] = { 0 };
        for (size_t j = 0; j < section->count && j < sizeof(shown) - 1; j++)
            shown[j] = letter_of(&section->rows[j]);
        assert_string_equal(shown, rows[i].shown);
        close_world(&world);
    }
}

static void callers_and_callees_add_up(void **state)
{
    (void)state;
    assert_written((struct report_style){ .callers = "walk", .callees = "Tree.walk" }, write_text,
                   "\n"
                   "Callers of Tree.walk, by CPU time\n"
                   "  total s      %  caller  where\n"
                   "    0.250  100.0  main    a.py:1\n"
                   "\n"
                   "Called by Tree.walk, by CPU time\n"
                   "  total s     %  callee              where\n"
                   "    0.160  64.0  decode              json/decoder.py:30\n"
                   "    0.090  36.0  [Tree.walk itself]\n");
}

static bool finds(const char *wanted, const char *place, struct fault *why)
{
    struct world world = { 0 };
    struct section_calls calls;
    uint32_t entry;
    assert_true(make(&world, (struct report_style){ 0 }, why));
    assert_true(section_calls_make(&calls, &world.report, &(struct section_style){ 0 }));
    const bool found = report_find_entry(&calls.entries, "--callers", wanted, &entry, why);
    if (found) {
        struct bytes text = { 0 };
        const struct shown_code *code = entries_code(&calls.entries, entry);
        put_bytes(&text, code->name.bytes, code->name.size);
        put_bytes(&text, " ", 1);
        put_bytes(&text, code->file.bytes, code->file.size);
        put_bytes(&text, "", 1);
        assert_string_equal((const char *)text.at, place);
        bytes_free(&text);
    }
    section_calls_free(&calls);
    close_world(&world);
    return found;
}

static void functions_are_found_by_name_line_or_expression(void **state)
{
    (void)state;
    struct fault why = { 0 };
    assert_true(finds("Tree.walk", "Tree.walk a.py", &why));
    assert_true(finds("walk", "Tree.walk a.py", &why));
    assert_true(finds("a.py:11", "Tree.walk a.py", &why)); /* the function that begins last above the line */
    assert_true(finds("/home/u/a.py:1", "main a.py", &why));
    assert_true(finds("decoder.py:95", "main json/decoder.py", &why));
    assert_true(finds("^dec", "decode json/decoder.py", &why));
    assert_true(finds("main", "main a.py", &why)); /* the user's own one */
    assert_string_equal(why.text, "");
    assert_false(finds("nobody", NULL, &why));
    assert_non_null(strstr(why.text, "no such function"));
    why.text[0] = '\0';
    assert_false(finds("a.py", NULL, &why));
    assert_non_null(strstr(why.text, "--callers a.py names "));
    assert_non_null(strstr(why.text, "Tree.walk (a.py:10)"));
    why.text[0] = '\0';
    assert_false(finds("*(", NULL, &why)); /* no expression */
}

static void source_is_read_or_the_reason_is_said(void **state)
{
    (void)state;
    assert_written((struct report_style){ .annotate = "a.py" }, write_text,
                   "\n"
                   "/home/u/a.py, by CPU time\n"
                   "  self s  total s  line  source\n"
                   "            0.250     3\n"
                   "            0.250    11\n"
                   "   0.090    0.090    12\n"
                   "   0.001    0.001    51\n"
                   "No source: the file is not found here: --path-map FROM=TO says where it is.\n");
}

static void colours_are_balanced(void **state)
{
    (void)state;
    struct world world = { 0 };
    struct fault why = { 0 };
    assert_true(make(&world, (struct report_style){ 0 }, &why));
    char *text = written(&world.report, write_colours);
    size_t begun = 0, ended = 0;
    for (const char *at = text; (at = strstr(at, "\033[")); at++)
        *(at[2] == '0' ? &ended : &begun) += 1;
    assert_true(begun > 4);
    assert_int_equal(begun, ended);
    free(text);
    close_world(&world);
}

static void json_is_json(void **state)
{
    (void)state;
    struct world world = { 0 };
    struct fault why = { 0 };
    assert_true(make(&world, (struct report_style){ .every_row = true }, &why));
    char *text = written(&world.report, write_json);
    json_t *all = json_loads(text, 0, NULL);
    assert_non_null(all);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(all, "totals"), "samples")), 6);
    const json_t *sections = json_object_get(all, "sections");
    assert_int_equal(json_array_size(sections), 3); /* all samples, and each of two threads */
    double sum = 0;
    const json_t *rows = json_object_get(json_array_get(sections, 0), "rows");
    for (size_t i = 0; i < json_array_size(rows); i++)
        sum += json_number_value(json_object_get(json_array_get(rows, i), "self"));
    assert_true(sum > 0.2509 && sum < 0.2511);
    json_decref(all);
    free(text);
    close_world(&world);
}

static void code(const char *name, const char *wanted)
{
    struct bytes to = { 0 };
    report_put_code(&to, text_of(name));
    put_bytes(&to, "", 1);
    assert_string_equal((const char *)to.at, wanted);
    bytes_free(&to);
}

static void names_in_markdown_are_code(void **state)
{
    (void)state;
    code("main", "`main`");
    code("f.<locals>.<genexpr>", "`f.<locals>.<genexpr>`");
    code("a|b", "<code>a&#124;b</code>");
    code("`x`", "<code>&#96;x&#96;</code>");
    code("<b>|", "<code>&#60;b&#62;&#124;</code>");
    code("two\nlines", "<code>two&#92;x0alines</code>");
    code("", "<code></code>");
    code(" x", "<code> x</code>");
    code("$x$ |", "<code>&#36;x&#36; &#124;</code>");
}

static const struct event lock_waits[] = {
    STATUS_SAMPLE(400 * MS, 1, 0, RUNS, 90 * MS, 1),
    STATUS_SAMPLE(400 * MS, 2, 0, STATUS_RECORDED | STATUS_CPU | STATUS_GIL_WAIT, 0, 6),
};

static const struct event more_threads[] = {
    THREAD(3, 1, 4244, "Thread-1 (work)"),
    THREAD(4, 1, 4245, "Thread-2 (work)"),
    STATUS_SAMPLE(400 * MS, 3, 0, RUNS, 900 * MS, 1),
    STATUS_SAMPLE(400 * MS, 4, 0, RUNS, 900 * MS, 1),
};

/* The waiter used next to no CPU time, but all of the waits for the lock are its own. */
static void who_waits_for_the_lock_is_never_quiet(void **state)
{
    (void)state;
    for (enum aggregate_sum weight = SUM_CPU_NS; weight < SUMS; weight++) {
        struct world world = { 0 };
        struct fault why = { 0 };
        const struct report_style style = { .weighted = true, .weight = weight, .filter = &world.filter };
        add(&world, story, countof(story));
        take(&world, lock_waits, countof(lock_waits));
        assert_true(report_begin(&world.report, &world.tables, &world.aggregate, &style, &why));
        assert_int_equal(world.report.groups_count, 2);
        const struct text wanted = text_of(weight == SUM_GIL_WAIT_NS ? "waiter" : "MainThread");
        assert_true(text_equal(world.report.groups[0].name, wanted));
        assert_false(world.report.groups[0].quiet);
        close_world(&world);
    }
}

/* Nothing is known of what the threads did. */
static const struct event busy_or_not[] = {
    STANDS_SAMPLE(100 * MS, 1, 0, 3980 * MS, 1),
    STANDS_SAMPLE(100 * MS, 2, 0, 20 * MS, 7),
    TICK(100 * MS),
};

/* That a thread did something is not said of wall-clock time alone. */
static void a_small_share_is_no_work_when_waits_are_not_known(void **state)
{
    (void)state;
    struct world world = { 0 };
    struct fault why = { 0 };
    struct bytes words = { 0 };
    const struct report_style style = { .weighted = true, .weight = SUM_WALL_NS, .filter = &world.filter };
    add(&world, story, countof(story) - STORY_SAMPLES);
    take(&world, busy_or_not, countof(busy_or_not));
    assert_true(report_begin(&world.report, &world.tables, &world.aggregate, &style, &why));
    assert_int_equal(world.report.groups_count, 2);
    assert_true(world.report.groups[1].quiet && world.report.groups[1].waited < 0);
    report_put_quiet(&words, &world.report, &world.report.groups[1], true);
    put_bytes(&words, "", 1);
    assert_string_equal((const char *)words.at, "waiter had 0.020 s of 4.000 s");
    bytes_free(&words);
    close_world(&world);
}

/* Of these threads, each works, and one waits. */
static const struct event five_threads[] = {
    THREAD(3, 1, 4244, "north"),
    THREAD(4, 1, 4245, "south"),
    THREAD(5, 1, 4246, "west"),
    STATUS_SAMPLE(400 * MS, 3, 0, RUNS, 90 * MS, 1, 2),
    STATUS_SAMPLE(400 * MS, 4, 0, RUNS, 90 * MS, 1, 3),
    STATUS_SAMPLE(400 * MS, 5, 0, RUNS, 90 * MS, 1, 4),
    TICK(400 * MS),
};

/* `focus` NULL: all stacks. */
static void make_five(struct world *world, const char *focus, enum aggregate_sum weight)
{
    struct fault why = { 0 };
    const struct report_style style = { .weighted = true, .weight = weight, .filter = &world->filter };
    add(world, story, countof(story));
    take(world, five_threads, countof(five_threads));
    assert_true(!focus || patterns_add(&world->filter.focus, focus, &why));
    assert_true(report_begin(&world->report, &world->tables, &world->aggregate, &style, &why));
    assert_true(report_make(&world->report, &why));
}

static void many_that_work_have_one_table(void **state)
{
    (void)state;
    for (enum aggregate_sum weight = SUM_SAMPLES; weight <= SUM_GIL_NS; weight++) {
        struct world world = { 0 };
        make_five(&world, NULL, weight);
        const struct report *report = &world.report;
        assert_int_equal(report->sections_count, 3); /* threads, and functions by self and total */
        for (size_t i = 0; i < report->sections_count; i++)
            assert_true(report->sections[i].count > 0 && report->sections[i].note.size == 0);
        bool waits = false;
        for (size_t i = 0; i < report->sections[2].count; i++)
            waits |= text_equal(report->sections[2].rows[i].name, TEXT("wait"));
        assert_true(waits == (weight == SUM_SAMPLES || weight == SUM_CPU_NS)); /* it had 1 ms of CPU time */
        close_world(&world);
    }
}

static void focus_on_a_thread_that_waits_has_a_table(void **state)
{
    (void)state;
    struct world world = { 0 };
    make_five(&world, "^wait ", SUM_WALL_NS);
    assert_int_equal(world.report.sections_count, 3);
    assert_text(world.report.sections[0].rows[0].name, "waiter");
    assert_text(world.report.sections[1].rows[0].name, "wait");
    assert_int_equal(world.report.sections[1].whole, 300 * MS);
    close_world(&world);

    world = (struct world){ 0 };
    struct fault why = { 0 };
    assert_true(patterns_add(&world.filter.focus, "^wait ", &why));
    assert_true(make(&world, (struct report_style){ .weighted = true, .weight = SUM_WALL_NS }, &why));
    assert_int_equal(world.report.sections_count, 3);
    assert_text(world.report.sections[2].rows[0].name, "wait");
    close_world(&world);
}

/* Thread 1 waits below main > walk > decode while native threads work, and decode calls <native> there. */
static void who_waits_for_native_threads_is_a_call_that_is_shown(void **state)
{
    (void)state;
    static const struct {
        const char *hidden, *folded, *name;
    } cases[] = { { NULL, NULL, "decode" },
                  { "^decode ", NULL, "Tree.walk" },
                  { NULL, "stdlib", "<stdlib>" },
                  { "main|walk|decode", NULL, NULL } };
    static const struct event native[] = { STRING(8, "<native>"), SYNTHETIC(7, 8, KIND_NATIVE), FRAME(8, 7, 0) };
    for (size_t i = 0; i < countof(cases); i++) {
        struct world world = { 0 };
        struct fault why = { 0 };
        add(&world, story, countof(story));
        add(&world, native, countof(native));
        struct event event = STATUS_SAMPLE(400 * MS, 1, 3, IDLE | STATUS_NATIVE_WAIT, 0, 8);
        assert_true(tables_take(&world.tables, &event, &why));
        event.run.native_ns = 150 * MS;
        aggregate_add_run(&world.aggregate, &event.run);
        aggregate_sort(&world.aggregate);
        assert_true(!cases[i].hidden || patterns_add(&world.filter.hide, cases[i].hidden, &why));
        assert_true(!cases[i].folded || frame_filter_fold(&world.filter, cases[i].folded));
        const struct report_style style = { .filter = &world.filter };
        assert_true(report_begin(&world.report, &world.tables, &world.aggregate, &style, &why));
        assert_true(report_make(&world.report, &why));
        const struct report_section *last = &world.report.sections[world.report.sections_count - 1];
        assert_int_equal(strcmp(last->what, "native") == 0, cases[i].name != NULL);
        if (cases[i].name) {
            assert_int_equal(last->count, 1);
            assert_true(text_equal(last->rows[0].name, text_of(cases[i].name)));
            assert_int_equal(last->rows[0].total, 150 * MS);
            assert_int_equal(last->rows[0].waits, 100 * MS);
        }
        close_world(&world);
    }
}

static void an_empty_table_says_why(void **state)
{
    (void)state;
    struct world world = { 0 };
    make_five(&world, "^wait ", SUM_GIL_NS);
    assert_int_equal(world.report.sections[1].count, 0);
    assert_text(world.report.sections[1].note, "No sample here has time with the GIL; choose another --weight.");
    close_world(&world);
}

static void a_filter_that_leaves_nothing_is_no_report(void **state)
{
    (void)state;
    const struct report_style styles[] = {
        { 0 },
        { .tree = true },
        { .callers = "main" },
        { .annotate = "a.py" },
        { .by = BY_THREAD },
        { .by = BY_OPCODE },
    };
    for (size_t i = 0; i < countof(styles); i++) {
        struct world world = { 0 };
        struct fault why = { 0 };
        assert_true(patterns_add(&world.filter.focus, "nothing like it", &why));
        assert_false(make(&world, styles[i], &why));
        assert_string_equal(why.text, "");
        close_world(&world);
    }
}

static void an_empty_recording_has_an_empty_report(void **state)
{
    (void)state;
    static const struct event begins[] = { ONE_THREAD_BEGINS };
    const struct report_style styles[] = { { 0 }, { .tree = true }, { .by = BY_TASK }, { .by = BY_OPCODE } };
    for (size_t i = 0; i < countof(styles); i++) {
        struct world world = { 0 };
        struct fault why = { 0 };
        take(&world, begins, countof(begins));
        struct report_style style = styles[i];
        style.filter = &world.filter;
        assert_true(report_begin(&world.report, &world.tables, &world.aggregate, &style, &why));
        report_add_head(&world.report, &(struct report_origin){ .recordings = 1, .complete = true });
        assert_true(report_make(&world.report, &why));
        free(written(&world.report, write_text));
        free(written(&world.report, write_json));
        free(written(&world.report, report_markdown));
        close_world(&world);
    }
}

/* Two samples without CPU time: nobody knows whether their threads waited ... */
static const struct event unsure[] = {
    STATUS_SAMPLE(400 * MS, 1, 0, STATUS_RECORDED | STATUS_CPU_UNKNOWN, 0, 1),
    STATUS_SAMPLE(400 * MS, 2, 0, STATUS_RECORDED | STATUS_CPU_UNKNOWN, 0, 6),
};

/* ... and the same, but who holds the lock does not wait. */
static const struct event sure[] = {
    STATUS_SAMPLE(400 * MS, 1, 0, STATUS_RECORDED | STATUS_CPU_UNKNOWN | STATUS_GIL, 0, 1),
    STATUS_SAMPLE(400 * MS, 2, 0, STATUS_RECORDED | STATUS_CPU_UNKNOWN | STATUS_GIL, 0, 6),
};

static void threads_of_one_name_are_counted(void **state)
{
    (void)state;
    struct world world = { 0 };
    struct fault why = { 0 };
    const struct report_style style = { .by = BY_THREAD, .filter = &world.filter };
    add(&world, story, countof(story));
    take(&world, more_threads, countof(more_threads));
    assert_true(report_begin(&world.report, &world.tables, &world.aggregate, &style, &why));
    assert_true(report_make(&world.report, &why));
    assert_text(world.report.sections[0].rows[0].name, "Thread (work), 2 threads");
    assert_text(world.report.sections[0].rows[1].name, "MainThread");
    close_world(&world);
}

static void the_head_says_of_how_many_samples_waits_are_not_known(void **state)
{
    (void)state;
    const struct event *const ends[] = { unsure, sure };
    for (size_t i = 0; i < countof(ends); i++) {
        struct world world = { 0 };
        struct fault why = { 0 };
        const struct report_style style = { .filter = &world.filter };
        const struct report_origin origin = { .recordings = 1 };
        add(&world, story, countof(story));
        take(&world, ends[i], countof(unsure));
        assert_true(report_begin(&world.report, &world.tables, &world.aggregate, &style, &why));
        assert_true(world.report.without_waits);
        report_add_head(&world.report, &origin);
        const char *times = world.report.facts[world.report.facts_count - 1].text.bytes;
        const char *found = strstr(times, "of 25.0 % of samples nobody knows whether the thread waited");
        assert_true((found != NULL) == (i == 0));
        close_world(&world);
    }
}

TEST_FILE(report)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hottest_by_self_and_by_total),
        cmocka_unit_test(the_top_and_one_order),
        cmocka_unit_test(waits_stand_beside_the_function_that_waits),
        cmocka_unit_test(a_narrow_screen_without_utf8),
        cmocka_unit_test(the_tree),
        cmocka_unit_test(long_chains_lose_their_middle),
        cmocka_unit_test(the_users_code_stays_in_a_long_chain),
        cmocka_unit_test(callers_and_callees_add_up),
        cmocka_unit_test(functions_are_found_by_name_line_or_expression),
        cmocka_unit_test(source_is_read_or_the_reason_is_said),
        cmocka_unit_test(colours_are_balanced),
        cmocka_unit_test(json_is_json),
        cmocka_unit_test(names_in_markdown_are_code),
        cmocka_unit_test(many_that_work_have_one_table),
        cmocka_unit_test(focus_on_a_thread_that_waits_has_a_table),
        cmocka_unit_test(who_waits_for_native_threads_is_a_call_that_is_shown),
        cmocka_unit_test(an_empty_table_says_why),
        cmocka_unit_test(a_filter_that_leaves_nothing_is_no_report),
        cmocka_unit_test(an_empty_recording_has_an_empty_report),
        cmocka_unit_test(threads_of_one_name_are_counted),
        cmocka_unit_test(who_waits_for_the_lock_is_never_quiet),
        cmocka_unit_test(a_small_share_is_no_work_when_waits_are_not_known),
        cmocka_unit_test(the_head_says_of_how_many_samples_waits_are_not_known),
    };
    return run_all(tests);
}
