/* SPDX-License-Identifier: MIT */
/* The titles that processes gave themselves, each with its time. */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_TITLE_LIVES_H
#define PYREEL_FORMATS_GECKO_MARKERS_TITLE_LIVES_H

#include "formats/gecko/markers/marker_store.h"
#include "formats/intern/intern.h"
#include "formats/model/tables.h"

struct title_life {
    uint32_t process;
    struct text title;
    uint64_t since_ns;
};

/* `= {0}` is empty. */
struct title_lives {
    struct title_life *rows; /* in the order of their times, of each process */
    size_t count, room;
    bool *begun; /* by process: it has a life */
    size_t begun_room;
    struct intern texts;
};

/* Takes a new title of a process. The tables have taken it. */
void title_lives_take(struct title_lives *lives, const struct tables *tables, const struct change *change);

/* Adds a marker for each life. `threads`: by process, the thread on whose line its markers are; 0: none. `end_ns` is
 * that of the profile. A marker's `other` is the index of the life + 1. */
void title_lives_settle(const struct title_lives *lives, const struct tables *tables, const uint32_t *threads,
                        uint64_t end_ns, struct marker_store *store);

void title_lives_free(struct title_lives *lives);

#endif
