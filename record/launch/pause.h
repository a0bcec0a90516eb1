/* SPDX-License-Identifier: MIT */
/* The user pauses the recorder: with --delay at the start, with --control at any time, and an attached recorder by
 * signals: SIGUSR1 begins a pause, SIGUSR2 ends it. Two signals and not one that toggles, because signals that come
 * together count as one, and a script cannot ask what the recorder does. */
#ifndef PYREEL_RECORD_LAUNCH_PAUSE_H
#define PYREEL_RECORD_LAUNCH_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

/* `= {0}`: no pause. */
struct pause_state {
    bool by_signals;       /* set by the caller: the signals are for the recorder, and mean a pause */
    uint32_t begins, ends; /* signals so far */
    bool paused;
    uint64_t until_ns; /* when the pause ends by itself (monotonic); UINT64_MAX: never */
};

/* Begins a pause, which ends by itself at `until_ns`; UINT64_MAX: never. */
void pause_begin(struct pause_state *pause, uint64_t until_ns);

/* Ends the pause, if there is one. */
void pause_end(struct pause_state *pause);

/* Whether the user wants a pause now. When both signals came since the last call, they changed nothing. */
bool pause_asked(struct pause_state *pause);

#endif
