/* SPDX-License-Identifier: MIT */
#include "tests/fakes/fake_moves.h"

#include "tests/fakes/fake_remote.h"
#include "tests/fakes/testing.h"

#include <string.h>

struct moving moving_start(struct fake_python *p)
{
    struct moving moving = { .p = p, .attempts = 1 };
    moving.m = fake_code(p, "m", 1, 9);
    moving.f = fake_code(p, "f", 20, 9);
    moving.g = fake_code(p, "g", 30, 9);
    moving.h = fake_code(p, "h", 40, 9);
    moving.k = fake_code(p, "k", 50, 9);
    moving.gen = fake_generator(p, "gen", 60, 9);
    fake_code_words(p, moving.k, 30, 6);
    return moving;
}

void moving_show(struct moving *moving, const struct frames *frames)
{
    fake_stack(moving->p, 0, frames->frames, frames->count);
}

static void move_on(void *self, const struct piece *piece, size_t i)
{
    struct moving *moving = self;
    const uint64_t awaited = moving->piece ? moving->piece : moving->p->threads[0].chunks[0];
    (void)i;
    if (moving->first.count > 0 && !moving->begun && piece->address == moving->p->threads[0].chunks[0]) {
        moving->begun = true;
        moving_show(moving, &moving->first);
        if (moving->and_first)
            moving->and_first(moving);
        return;
    }
    if (piece->address != awaited || moving->left == 0 || --moving->left > 0)
        return;
    moving_show(moving, &moving->after);
    if (moving->and_then)
        moving->and_then(moving);
}

static void get_used_to(struct moving *moving, const struct frames *frames)
{
    struct fake_python *p = moving->p;
    const char *seen = "";
    for (int i = 0; i < 6; i++) {
        moving_show(moving, &(struct frames){ .count = 0 });
        fake_sample(p, 0);
        moving_show(moving, frames);
        seen = fake_sample(p, 0);
    }
    if (p->threads[0].state != UNWIND_DONE || p->threads[0].attempts != 1)
        fail_msg("Python %x: a stack that keeps still: '%s' after %u attempts", fake_layout(p)->version, seen,
                 p->threads[0].attempts);
}

/* Whether it is one of those between bars. */
static bool is_one_of(const char *seen, const char *wanted)
{
    const size_t size = strlen(seen);
    for (const char *at = wanted; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, seen, size) == 0 && (at[size] == '|' || at[size] == '\0'))
            return true;
    return false;
}

void moving_assert(struct moving *moving, struct frames before, struct frames after, const char *wanted)
{
    struct fake_python *p = moving->p;
    for (int anew = 0; anew < 2; anew++) {
        p->unwinder.walker.anew = anew;
        get_used_to(moving, &after);
        if (moving->first.count > 0)
            get_used_to(moving, &moving->first);
        get_used_to(moving, &before);
        if (moving->last.count > 0) {
            moving_show(moving, &moving->last);
            fake_sample(p, 0);
            moving_show(moving, &before);
        }
        moving->leaf = before.count > 0 ? fake_frame_address(p, 0, before.count - 1) : 0;
        moving->caller = before.count > 1 ? fake_frame_address(p, 0, before.count - 2) : 0;
        moving->after = after;
        moving->left = moving->time + 1;
        moving->begun = false;
        fake_remote_hook(move_on, moving);
        const char *seen = fake_sample(p, 0);
        fake_remote_hook(NULL, NULL);
        const uint32_t attempts = p->threads[0].attempts;
        if (moving->left > 0 || !is_one_of(seen, wanted) || (moving->attempts && attempts != moving->attempts))
            fail_msg("Python %x%s%s: '%s' after %u attempts, and should be '%s' after %u", fake_layout(p)->version,
                     anew ? " anew" : "", moving->left > 0 ? ", not moved" : "", seen, attempts, wanted,
                     moving->attempts);
    }
    p->unwinder.walker.anew = false;
}
