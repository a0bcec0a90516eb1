/* SPDX-License-Identifier: MIT */
/* What kept the recorder from looking in time: the cause of missed ticks, as far as the kernel tells it. A thread that
 * has to wait for a processor waits because its cgroup has used up its quota (quota.h), or because others have the
 * processors; the kernel counts the time of each wait (schedstat). What is not known is not told as a cause. */
#ifndef PYREEL_RECORD_HINDRANCE_H
#define PYREEL_RECORD_HINDRANCE_H

#include "record/cgroup/quota.h"
#include "record/process/priority.h"

#include <stdbool.h>

/* `= {0}` knows nothing. */
struct hindrance {
    struct quota quota;
    uint64_t waited_ns; /* for how long the recorder had waited for a processor before */
    enum priority priority;
    bool own_wish; /* the user wants no other priority */
    bool root;     /* pyreel-record runs as root, ... */
    bool able;     /* ... or may take any priority */
};

/* The facts of a recording from which the cause of its missed ticks follows. */
struct hindrance_facts {
    double missed; /* part of the time that was missed */
    uint64_t elapsed_ns;
    struct quota_hit quota;
    bool waited_known;
    uint64_t waited_ns;  /* for how long the recorder waited for a processor, all in all */
    uint64_t blocked_ns; /* for how long reads waited while a process changed the map of its memory */
};

/* Begins. Call this before the capabilities are given up. */
void hindrance_begin(struct hindrance *hindrance, enum priority priority, bool own_wish);

/* Asks the kernel what has happened since hindrance_begin(). `starved_ns`: for how long the first thread waited for
 * others that did not get their processors; they may have ended since. */
struct hindrance_facts hindrance_look(const struct hindrance *hindrance, double missed, uint64_t elapsed_ns,
                                      uint64_t starved_ns, uint64_t blocked_ns);

/* Writes why ticks were missed, and what can be done, without a full stop. */
void hindrance_write(const struct hindrance *hindrance, const struct hindrance_facts *facts, char *text, size_t room);

void hindrance_end(struct hindrance *hindrance);

#endif
