/* SPDX-License-Identifier: MIT */
/* Calls that are not known: what several copies have to show before they are believed. */
#include "formats/base/alloc.h"
#include "tests/fakes/fake_moves.h"
#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <string.h>

#define COPIES (1 + NEAR_COPIES) /* of the data stack, in a call that is to show each thing more than once */

/* What the thread shows to one copy of its data stack after the other; then it stands still. */
struct showing {
    struct moving moving;
    const struct frames *shown;
    size_t count, next;
};

static void show_next(void *self, const struct piece *piece, size_t i)
{
    (void)i;
    struct showing *showing = self;
    if (piece->address != showing->moving.p->threads[0].chunks[0] || showing->next == showing->count)
        return;
    moving_show(&showing->moving, &showing->shown[showing->next++]);
}

static struct showing start(struct fake_python *p)
{
    struct showing showing = { .moving = moving_start(p) };
    const struct moving *m = &showing.moving;
    const struct frames all = FRAMES({ PLAIN, m->m, 1 }, { PLAIN, m->f, 7 }, { PLAIN, m->g, 7 });
    moving_show(&showing.moving, &all);
    for (int i = 0; i < 8; i++)
        fake_assert_seen(p, "m:2 f:27 g:37");
    return showing;
}

/* From now on so many of them are shown, one to each copy. */
static void begin_showing(struct showing *showing, const struct frames *shown, size_t count)
{
    showing->shown = shown;
    showing->count = count;
    showing->next = 0;
    fake_remote_hook(show_next, showing);
}

/* That is what is believed, and not at first sight; what `shown` says tells when. Each attempt but the first copies the
 * data stack COPIES times. */
static void assert_seen(struct showing *showing, const struct frames *shown, size_t count, const char *wanted)
{
    struct fake_python *p = showing->moving.p;
    begin_showing(showing, shown, count);
    fake_assert_seen(p, wanted);
    fake_remote_hook(NULL, NULL);
    if (p->threads[0].attempts < 2)
        fail_msg("Python %x: %s is believed at first sight", fake_layout(p)->version, wanted);
}

/* The caller is at another call in each copy, and calls the same function. */
static void show_others(struct fake_python *p)
{
    struct showing showing = start(p);
    const uint64_t m = showing.moving.m, f = showing.moving.f, g = showing.moving.g;
    const int units[1 + 3 * COPIES] = { 1, 2, 3, 2, 3, 4, 2, 3, 4, 4, 4, 4, 4 };
    struct frames shown[countof(units)];
    for (size_t i = 0; i < countof(units); i++)
        shown[i] = FRAMES({ PLAIN, m, 1 }, { PLAIN, f, units[i] }, { PLAIN, g, 1 });
    assert_seen(&showing, shown, countof(shown), "m:2 f:24 g:31");
}
EACH_VERSION(calls_do_not_vouch_for_each_other, show_others);

/* One copy more shows it, each time. */
static void show_in_a_row(struct fake_python *p)
{
    struct showing showing = start(p);
    const uint64_t m = showing.moving.m, f = showing.moving.f, g = showing.moving.g;
    const int units[1 + 2 * COPIES] = { 1, 2, 2, 3, 3, 2, 2, 3, 3 };
    struct frames shown[countof(units)];
    for (size_t i = 0; i < countof(units); i++)
        shown[i] = FRAMES({ PLAIN, m, 1 }, { PLAIN, f, units[i] }, { PLAIN, g, 1 });
    assert_seen(&showing, shown, countof(shown), "m:2 f:22 g:31");
}
EACH_VERSION(copies_in_a_row_add_up, show_in_a_row);

/* Another function is called in each copy. */
static void show_less(struct fake_python *p)
{
    struct showing showing = start(p);
    const uint64_t m = showing.moving.m, f = showing.moving.f, called[] = { showing.moving.g, showing.moving.h };
    struct frames shown[1 + 2 * COPIES];
    for (size_t i = 0; i < 1 + COPIES; i++)
        shown[i] = FRAMES({ PLAIN, m, 1 }, { PLAIN, f, 1 }, { PLAIN, called[i % 2], 1 });
    for (size_t i = 1 + COPIES; i < countof(shown); i++)
        shown[i] = FRAMES({ PLAIN, m, 1 }, { PLAIN, f, 1 });
    assert_seen(&showing, shown, countof(shown), "m:2 f:21");
}
EACH_VERSION(a_call_counts_whatever_else_changes, show_less);

/* The leaf is another one in each copy, and what is above it stays. */
static void keep_busy(struct fake_python *p)
{
    struct showing showing = start(p);
    const uint64_t f = showing.moving.f, roots[] = { showing.moving.m, showing.moving.h };
    const uint64_t called[] = { showing.moving.g, showing.moving.h };
    static const char *const wanted[] = { "m:2 f:21", "h:41 f:22" };
    for (int other = 0; other < 2; other++) {
        struct frames shown[1 + 99 * COPIES]; /* more than are looked at */
        for (size_t i = 0; i < countof(shown); i++)
            shown[i] = FRAMES({ PLAIN, roots[other], 1 }, { PLAIN, f, 1 + other }, { PLAIN, called[i % 2], 1 });
        assert_seen(&showing, shown, countof(shown), wanted[other]);
        assert_true(showing.next < showing.count); /* the leaf is given up */
    }
}
EACH_VERSION(what_was_shown_is_kept, keep_busy);

/* Another root than last time, far from the leaf and next to it. */
static void change_root(struct fake_python *p)
{
    static const size_t depths[] = { 60, 3 };
    struct fake_frame frames[60];
    const uint64_t roots[] = { fake_code(p, "m", 1, 9), fake_code(p, "h", 40, 9) };
    fake_fill(frames, countof(frames), fake_code(p, "f", 20, 9), 1);
    fake_chunk(p, 0, 20);
    fake_chunk(p, 0, 40);
    for (size_t i = 0; i < 20; i++) {
        frames[0] = (struct fake_frame){ PLAIN, roots[i % 2], 1 };
        fake_stack(p, 0, frames, depths[i / 10]);
        fake_assert_depth(p, depths[i / 10]);
        assert_true(i == 0 || p->threads[0].attempts > 2); /* copies of all show it, two in a row */
    }
}
EACH_VERSION(another_root_is_shown_by_copies_of_all, change_root);

/* It is out of order for so many calls. */
struct disorder {
    struct fake_python *p;
    unsigned calls;
};

static void stay_out_of_order(void *self, const struct piece *piece, size_t i)
{
    struct disorder *disorder = self;
    struct fake_python *p = disorder->p;
    if (i > 0 || piece->address != p->threads[0].address)
        return;
    disorder->calls -= disorder->calls > 0;
    fake_poke(p, p->threads[0].chunks[0] + fake_layout(p)->chunk_previous, disorder->calls > 0 ? 64 : 0);
}

static void come_late(struct fake_python *p)
{
    struct showing showing = start(p);
    struct disorder disorder = { p, 50 };
    moving_show(&showing.moving, &FRAMES({ PLAIN, showing.moving.m, 1 }, { PLAIN, showing.moving.f, 1 }));
    fake_remote_hook(stay_out_of_order, &disorder);
    fake_assert_seen(p, "m:2 f:21");
    fake_remote_hook(NULL, NULL);
    assert_true(p->threads[0].attempts >= 50);
}
EACH_VERSION(a_call_that_comes_late_is_looked_at, come_late);

TEST_FILE(verify)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_do_not_vouch_for_each_other),      cmocka_unit_test(copies_in_a_row_add_up),
        cmocka_unit_test(a_call_counts_whatever_else_changes),    cmocka_unit_test(what_was_shown_is_kept),
        cmocka_unit_test(another_root_is_shown_by_copies_of_all), cmocka_unit_test(a_call_that_comes_late_is_looked_at),
    };
    return run_all(tests);
}
