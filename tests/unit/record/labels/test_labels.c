/* SPDX-License-Identifier: MIT */
/* The mapping is a true one of our own, which /proc/self/maps shows; it is read as memory that lies. */
#include "record/labels/publications.h"

#include "formats/base/alloc.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define ROWS       20
#define TEXTS      4
#define ROWS_BYTES (64 + 16 * (size_t)ROWS)
#define SIZE       (ROWS_BYTES + 256 * (size_t)TEXTS)

struct scene {
    unsigned char *memory;
    struct remote remote;
    struct publications publications;
    struct emitter emitter;
    char told[512]; /* the tasks that were emitted: "1 name, 2 name" */
};

static bool hear(void *self, struct event *event, struct fault *why)
{
    struct scene *scene = self;
    (void)why;
    if (event->kind == EVENT_TASK) {
        const size_t used = strlen(scene->told);
        snprintf(scene->told + used, sizeof(scene->told) - used, "%s%u %.*s", used ? ", " : "", event->task.number,
                 (int)event->task.name.size, event->task.name.bytes);
        assert_int_equal(event->task.process, 3);
    }
    return true;
}

static void poke(const struct scene *scene, size_t at, uint64_t value)
{
    memcpy(scene->memory + at, &value, sizeof(value));
}

static void write_text(const struct scene *scene, uint64_t serial, const char *text)
{
    const size_t at = ROWS_BYTES + serial % TEXTS * 256;
    poke(scene, at, serial);
    poke(scene, at + 8, strlen(text));
    memcpy(scene->memory + at + 16, text, strlen(text) < 240 ? strlen(text) : 240);
}

static void write_row(const struct scene *scene, size_t row, uint64_t id, uint64_t serial)
{
    poke(scene, 64 + 16 * row, id);
    poke(scene, 64 + 16 * row + 8, serial);
    uint64_t used;
    memcpy(&used, scene->memory + 24, sizeof(used));
    if (used <= row)
        poke(scene, 24, row + 1);
}

/* Maps the memory, under a name and with flags of mmap(). */
static struct scene *scene_of(const char *name, int flags)
{
    struct scene *scene = alloc_zeroed(1, sizeof(*scene));
    const int fd = memfd_create(name, MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, SIZE), 0);
    scene->memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, flags, fd, 0);
    close(fd);
    assert_true(scene->memory != MAP_FAILED);
    fake_remote_reset();
    fake_remote_map((uint64_t)scene->memory, scene->memory, SIZE);
    memcpy(scene->memory, "PYRLABL1", 8);
    poke(scene, 8, ROWS);
    poke(scene, 16, TEXTS);
    scene->remote = (struct remote){ .pid = getpid(), .memory = -1 };
    scene->publications.labels.remote = &scene->remote;
    emitter_open(&scene->emitter, (struct sink){ hear, scene });
    return scene;
}

static int open_scene(void **state)
{
    *state = scene_of("pyreel-labels-1", MAP_PRIVATE);
    return 0;
}

static int close_scene(void **state)
{
    struct scene *scene = *state;
    publications_close(&scene->publications);
    emitter_close(&scene->emitter);
    munmap(scene->memory, SIZE);
    fake_remote_reset();
    free(scene);
    return 0;
}

static bool search(struct scene *scene)
{
    scene->publications.due_ns = 0;
    return publications_search(&scene->publications, 0, 1);
}

static void look(struct scene *scene)
{
    const struct piece piece = labels_plan(&scene->publications.labels);
    size_t good = 0;
    if (piece.size > 0)
        remote_read_pieces(&scene->remote, &piece, 1, &good);
    labels_take(&scene->publications.labels, good == 1);
}

static const struct label *label_at(struct scene *scene, uint32_t id)
{
    return labels_of(&scene->publications.labels, id, &scene->emitter, 3, 0);
}

static const char *name_of(struct scene *scene, uint32_t id)
{
    static char name[2048];
    const struct label *label = label_at(scene, id);
    snprintf(name, sizeof(name), "%.*s", label ? (int)label->name.size : 4, label ? label->name.bytes : "none");
    return name;
}

static void a_label_is_that_of_the_last_look(void **state)
{
    struct scene *scene = *state;
    assert_true(search(scene));
    look(scene);
    assert_string_equal(name_of(scene, 100), "none");
    write_text(scene, 1, "one");
    write_text(scene, 2, "two");
    write_row(scene, 0, 100, 1);
    write_row(scene, 1, 200, 2);
    assert_string_equal(name_of(scene, 100), "none"); /* the look was before */
    look(scene);
    assert_string_equal(name_of(scene, 100), "one");
    assert_string_equal(name_of(scene, 200), "two");
    assert_string_equal(name_of(scene, 300), "none");
    write_row(scene, 0, 100, 2);
    write_row(scene, 1, 200, 0);
    assert_string_equal(name_of(scene, 100), "one");
    look(scene);
    assert_string_equal(name_of(scene, 100), "two");
    assert_string_equal(name_of(scene, 200), "none");
    write_row(scene, 1, 300, 1); /* the row of a thread that has ended is another one's */
    look(scene);
    assert_string_equal(name_of(scene, 200), "none");
    assert_string_equal(name_of(scene, 300), "one");
    assert_string_equal(scene->told, "1 one, 2 two");
}

static void each_stream_defines_labels(void **state)
{
    struct scene *scene = *state;
    assert_true(search(scene));
    write_text(scene, 1, "one");
    write_row(scene, 0, 100, 1);
    look(scene);
    assert_string_equal(name_of(scene, 100), "one");
    emitter_restart(&scene->emitter);
    labels_restart(&scene->publications.labels);
    assert_string_equal(name_of(scene, 100), "one");
    assert_string_equal(scene->told, "1 one, 1 one");
}

/* There are as many threads as rows, and they come while they are looked at. */
static void threads_come(void **state)
{
    struct scene *scene = *state;
    assert_true(search(scene));
    write_text(scene, 1, "one");
    for (uint32_t row = 0; row < ROWS; row++) {
        write_row(scene, row, 100 + row, 1);
        look(scene);
        assert_string_equal(name_of(scene, 100 + row), "one");
    }
    assert_string_equal(name_of(scene, 100), "one");
}

struct writer {
    struct scene *scene;
    size_t at;
};

/* The program gives the slot to another text while it is read. */
static void write_meanwhile(void *self, const struct piece *piece, size_t i)
{
    const struct writer *writer = self;
    (void)piece;
    if (i == writer->at)
        write_text(writer->scene, 1 + TEXTS, "another");
}

static void a_text_counts_if_its_slot_is_its_own(void **state)
{
    struct scene *scene = *state;
    assert_true(search(scene));
    write_row(scene, 0, 100, 1);
    for (size_t at = 0; at < 3; at++) {
        struct writer writer = { scene, at };
        write_text(scene, 1, "one");
        look(scene);
        fake_remote_hook(write_meanwhile, &writer);
        assert_string_equal(name_of(scene, 100), "<label 1>");
        fake_remote_hook(NULL, NULL);
        scene->publications.labels.slots[1].serial = 0; /* as if it were new */
    }
    write_text(scene, 1, "one");
    assert_string_equal(name_of(scene, 100), "one");
}

/* A text that ends in a traceparent tells a span. Labels of one name are one task, whatever their spans. */
static void a_text_tells_a_span(void **state)
{
    struct scene *scene = *state;
    search(scene);
    write_text(scene, 1, "GET /items 00-0102030405060708090a0b0c0d0e0f10-1122334455667788-01");
    write_text(scene, 2, "GET /items 00-ffffffffffffffffffffffffffffffff-0000000000000009-00");
    write_text(scene, 3, "GET /items 00-0102030405060708090a0b0c0d0e0f10-112233445566778X-01");
    write_row(scene, 0, 11, 1);
    write_row(scene, 1, 12, 2);
    write_row(scene, 2, 13, 3);
    look(scene);
    const struct label *label = label_at(scene, 11);
    assert_true(
        span_ids_equal(label->span, (struct span_ids){ 0x0102030405060708, 0x090a0b0c0d0e0f10, 0x1122334455667788 }));
    assert_int_equal(label->number, 1);
    label = label_at(scene, 12);
    assert_true(span_ids_equal(label->span, (struct span_ids){ UINT64_MAX, UINT64_MAX, 9 }));
    assert_int_equal(label->number, 1);
    label = label_at(scene, 13);
    assert_true(span_ids_equal(label->span, (struct span_ids){ 0 }));
    assert_int_equal(label->number, 2);
    assert_string_equal(scene->told,
                        "1 GET /items, 2 GET /items 00-0102030405060708090a0b0c0d0e0f10-112233445566778X-01");
    labels_restart(&scene->publications.labels);
    assert_int_equal(label_at(scene, 12)->number, 3);
    assert_int_equal(label_at(scene, 11)->number, 3);
}

static void texts_are_not_trusted(void **state)
{
    struct scene *scene = *state;
    static const struct {
        uint64_t size;
        const char *bytes, *name;
    } rows[] = {
        { 240, "", NULL },
        { 241, "x", "<label 1>" },
        { 0, "x", "<label 1>" },
        { 1ull << 40, "x", "<label 1>" },
        { 2, "\xff\x01", "\\xff\x01" },
        { 3, "\xe2\x98\x83", "\xe2\x98\x83" },
    };
    assert_true(search(scene));
    write_row(scene, 0, 100, 1);
    look(scene);
    for (size_t i = 0; i < countof(rows); i++) {
        write_text(scene, 1, rows[i].bytes);
        poke(scene, ROWS_BYTES + 256 + 8, rows[i].size);
        scene->publications.labels.slots[1].serial = 0;
        const char *name = name_of(scene, 100);
        if (rows[i].name)
            assert_string_equal(name, rows[i].name);
    }
    fake_remote_hide((uint64_t)scene->memory + ROWS_BYTES, 8);
    write_row(scene, 0, 100, TEXTS);
    look(scene);
    assert_string_equal(name_of(scene, 100), "<label 4>");
}

static void heads_are_not_trusted(void **state)
{
    struct scene *scene = *state;
    static const struct {
        size_t at;
        uint64_t wrong, right;
    } rows[] = {
        { 0, 0, 0x314c42414c525950 }, { 8, 0, ROWS },          { 8, ROWS + 8 * TEXTS * 16, ROWS },
        { 8, UINT64_MAX, ROWS },      { 8, 1ull << 60, ROWS }, { 16, 0, TEXTS },
        { 16, 1ull << 56, TEXTS },    { 16, 1000, TEXTS },     { 16, UINT64_MAX, TEXTS },
        { 8, 1ull << 32, ROWS },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        poke(scene, rows[i].at, rows[i].wrong);
        assert_false(search(scene));
        poke(scene, rows[i].at, rows[i].right);
    }
    for (uint64_t used = UINT64_MAX; used > 0; used /= 3) {
        poke(scene, 24, used);
        assert_true(search(scene));
        look(scene);
        assert_in_range(labels_plan(&scene->publications.labels).size, 40, 40 + 16 * ROWS);
        assert_string_equal(name_of(scene, 7), "none");
        publications_close(&scene->publications);
    }
}

static void a_mapping_that_goes_is_searched_again(void **state)
{
    struct scene *scene = *state;
    assert_true(search(scene));
    write_text(scene, 1, "one");
    write_row(scene, 0, 100, 1);
    look(scene);
    assert_string_equal(name_of(scene, 100), "one");
    fake_remote_hide((uint64_t)scene->memory, SIZE);
    look(scene);
    assert_string_equal(name_of(scene, 100), "none");
    assert_int_equal(labels_plan(&scene->publications.labels).size, 0);
    assert_false(search(scene));
    fake_remote_hide(0, 0);
    assert_true(search(scene));
    look(scene);
    assert_string_equal(name_of(scene, 100), "one");
}

static void only_a_private_mapping_of_that_name_counts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int flags;
    } rows[] = { { "pyreel-labels-1", MAP_SHARED },
                 { "pyreel-labels-2", MAP_PRIVATE },
                 { "pyreel-labels-1x", MAP_PRIVATE } };
    for (size_t i = 0; i < countof(rows); i++) {
        void *scene = scene_of(rows[i].name, rows[i].flags);
        assert_false(search(scene));
        close_scene(&scene);
    }
}

/* A search costs nothing while the memory of the process does not grow. */
static void a_search_needs_a_reason(void **state)
{
    struct scene *scene = *state;
    memset(scene->memory, 0, 8);
    assert_false(publications_search(&scene->publications, 1000, 1)); /* it is there, and not ready */
    scene->publications.due_ns = 0;
    memcpy(scene->memory, "PYRLABL1", 8);
    assert_true(publications_search(&scene->publications, 1000, 1));
    publications_close(&scene->publications);
    scene->publications.pages = 1000;
    assert_false(publications_search(&scene->publications, 1000, 1));
    scene->publications.due_ns = 5;
    assert_false(publications_search(&scene->publications, 1001, 4));
    assert_true(publications_search(&scene->publications, 1001, 5));
}

/* The program changes any byte at any time. */
static void scribble(void *self, const struct piece *piece, size_t i)
{
    const struct scene *scene = self;
    (void)piece;
    (void)i;
    poke(scene, (size_t)rand() % (SIZE - 8), rand() % 2 ? (uint64_t)rand() % 40 : (uint64_t)rand() << 33);
}

static void nonsense_does_no_harm(void **state)
{
    struct scene *scene = *state;
    fake_remote_hook(scribble, scene);
    for (unsigned round = 0; round < soak(20000); round++) {
        search(scene);
        look(scene);
        for (uint32_t id = 0; id < 40; id++)
            name_of(scene, id);
        if (round % 64 == 0) { /* so that it is found again */
            publications_close(&scene->publications);
            memcpy(scene->memory, "PYRLABL1", 8);
            poke(scene, 8, ROWS);
            poke(scene, 16, TEXTS);
        }
        scene->told[0] = '\0';
    }
}

TEST_FILE(labels)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_label_is_that_of_the_last_look, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(each_stream_defines_labels, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(threads_come, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_text_counts_if_its_slot_is_its_own, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_text_tells_a_span, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(texts_are_not_trusted, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(heads_are_not_trusted, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(a_mapping_that_goes_is_searched_again, open_scene, close_scene),
        cmocka_unit_test(only_a_private_mapping_of_that_name_counts),
        cmocka_unit_test_setup_teardown(a_search_needs_a_reason, open_scene, close_scene),
        cmocka_unit_test_setup_teardown(nonsense_does_no_harm, open_scene, close_scene),
    };
    return run_all(tests);
}
