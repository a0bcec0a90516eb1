/* SPDX-License-Identifier: MIT */
#include "record/launch/pause.h"

#include "record/launch/signals.h"

#include <signal.h>

bool pause_asked(struct pause_state *pause)
{
    const uint32_t begins = signals_user_count(SIGUSR1), ends = signals_user_count(SIGUSR2);
    const bool began = begins != pause->begins, ended = ends != pause->ends;
    if (began != ended)
        pause->paused = began;
    pause->begins = begins;
    pause->ends = ends;
    return pause->paused;
}
