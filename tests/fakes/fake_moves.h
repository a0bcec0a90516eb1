/* SPDX-License-Identifier: MIT */
/* A thread that moves on while it is read: it has one stack until a piece of memory is copied, and another from then
 * on. The recorder is used to both, so it knows where everything is and who calls whom. */
#ifndef PYREEL_TESTS_FAKES_FAKE_MOVES_H
#define PYREEL_TESTS_FAKES_FAKE_MOVES_H

#include "tests/fakes/fake_python.h"

struct frames {
    struct fake_frame frames[8];
    size_t count;
};

#define FRAMES(...)                                                                                                    \
    (struct frames)                                                                                                    \
    {                                                                                                                  \
        { __VA_ARGS__ }, sizeof((struct fake_frame[]){ __VA_ARGS__ }) / sizeof(struct fake_frame)                      \
    }

struct moving {
    struct fake_python *p;
    uint64_t m, f, g, h, k, gen; /* functions: lines 1, 20, 30, 40, 50, 60 and on; frames of k are large; a generator */
    uint64_t piece; /* what moves it: the first copy of the piece that begins there; 0: of the thread's data stack */
    unsigned time;  /* not the first, but so many further on */
    void (*and_then)(struct moving *moving);
    void (*and_first)(struct moving *moving); /* see `first` */
    uint64_t leaf, caller;                    /* where those were before it moved, for and_then */
    uint32_t attempts;                        /* that it should take; 0: any */
    struct frames last;                       /* if it has frames, the sample before is of this */
    struct frames first;                      /* if it has frames, it has this one before its data stack is copied */

    struct frames after;
    unsigned left;
    bool begun;
};

struct moving moving_start(struct fake_python *p);
void moving_show(struct moving *moving, const struct frames *frames);

/* The thread has one stack, then the other: this is to be seen, or one of these: "m:2|m:2 f:22". Once as usual, once
 * without help of the last sample. */
void moving_assert(struct moving *moving, struct frames before, struct frames after, const char *wanted);

#endif
