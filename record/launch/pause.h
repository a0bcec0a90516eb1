/* SPDX-License-Identifier: MIT */
/* The user pauses an attached recorder: SIGUSR1 begins a pause, SIGUSR2 ends it. Two signals and not one that toggles,
 * because signals that come together count as one, and a script cannot ask what the recorder does. */
#ifndef PYREEL_RECORD_LAUNCH_PAUSE_H
#define PYREEL_RECORD_LAUNCH_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

/* `= {0}`: no pause. */
struct pause_state {
    uint32_t begins, ends; /* signals so far */
    bool paused;
};

/* Whether the user wants a pause now. When both signals came since the last call, they changed nothing. */
bool pause_asked(struct pause_state *pause);

#endif
