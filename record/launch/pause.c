/* SPDX-License-Identifier: MIT */
#include "record/launch/pause.h"

#include "record/launch/signals.h"
#include "record/process/clock.h"

#include <signal.h>

void pause_begin(struct pause_state *pause, uint64_t until_ns)
{
    pause->paused = true;
    pause->until_ns = until_ns;
}

void pause_end(struct pause_state *pause)
{
    pause->paused = false;
}

/* Takes the signals that came since the last call. */
static void pause_take_signals(struct pause_state *pause)
{
    const uint32_t begins = signals_user_count(SIGUSR1), ends = signals_user_count(SIGUSR2);
    const bool began = begins != pause->begins, ended = ends != pause->ends;
    if (began && !ended)
        pause_begin(pause, UINT64_MAX);
    else if (ended && !began)
        pause_end(pause);
    pause->begins = begins;
    pause->ends = ends;
}

bool pause_asked(struct pause_state *pause)
{
    if (pause->by_signals)
        pause_take_signals(pause);
    if (pause->paused && pause->until_ns != UINT64_MAX && clock_now_ns() >= pause->until_ns)
        pause_end(pause);
    return pause->paused;
}
