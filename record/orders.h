/* SPDX-License-Identifier: MIT */
/* What the commands of --control (control.h) do to a recording. A command takes effect between two ticks:
 *
 *     enable     is answered when the processes that are there were searched for Pythons, and clocks run: all time from
 *                then on is in samples
 *     disable    is answered when the last tick before the pause was made
 *     stop       is answered when the file is complete; a command of the user runs on, as behind --duration
 *     snapshot   is answered when the file of the flight recorder is complete
 */
#ifndef PYREEL_RECORD_ORDERS_H
#define PYREEL_RECORD_ORDERS_H

#include "record/session.h"

/* Takes the commands that have come. Call this between ticks, while no look is appointed. False when the recording must
 * stop because of an error, with session->why. */
bool orders_take(struct session *session);

/* Answers enable. Call this when no process waits for a search. */
void orders_settle(struct session *session);

/* Answers a snapshot that is complete. Call this before the notice of the outlet is told. */
void orders_take_written(struct session *session);

/* Answers the rest, when the file is complete. */
void orders_end(struct session *session);

#endif
