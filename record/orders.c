/* SPDX-License-Identifier: MIT */
#include "record/orders.h"

#include "record/process/clock.h"

#include <stdio.h>

#define ORDERS_AT_ONCE 16 /* taken between two ticks */
#define WRONG_TOLD     5  /* so many lines that are no commands are told */

/* Tells of a command that has no effect. */
static void orders_refuse(struct session *session, const char *cause)
{
    struct fault text = { 0 };
    control_answer(&session->control, cause);
    if (session->wrong_orders++ >= WRONG_TOLD)
        return;
    fault(&text, "--control: %s%s", cause, session->wrong_orders == WRONG_TOLD ? " (more are not told)" : "");
    session_tell(session, text.text);
}

static bool take_snapshot(struct session *session)
{
    if (!session->options.flight_ns) {
        orders_refuse(session, "snapshot needs --flight-recorder: there is nothing else to write");
        return true;
    }
    session->incidents_before = session->outlet.incidents;
    /* In a pause, the CPU time so far is nobody's: the end of the stream must not tell it. */
    if (session->pause.paused && !sampler_pause(&session->sampler, &session->why))
        return false;
    return outlet_incident(&session->outlet, clock_now_ns(), "snapshot", &session->why);
}

/* Does what a command says. False with the reason when the recording cannot go on. */
static bool orders_obey(struct session *session, enum control_command command, const struct fault *wrong)
{
    switch (command) {
    case CONTROL_ENABLE:
        pause_end(&session->pause);
        return true;
    case CONTROL_DISABLE:
        pause_begin(&session->pause, UINT64_MAX);
        control_answer(&session->control, NULL);
        return true;
    case CONTROL_STOP:
        session->stopped = true;
        return true;
    case CONTROL_SNAPSHOT:
        return take_snapshot(session);
    case CONTROL_UNKNOWN:
        orders_refuse(session, wrong->text);
        return true;
    default:
        control_answer(&session->control, NULL);
        return true;
    }
}

bool orders_take(struct session *session)
{
    for (int i = 0; i < ORDERS_AT_ONCE; i++) {
        struct fault wrong = { 0 };
        const enum control_command command = control_next(&session->control, clock_now_ns(), &wrong);
        if (command == CONTROL_NONE)
            return true;
        if (!orders_obey(session, command, &wrong))
            return false;
    }
    return true;
}

void orders_settle(struct session *session)
{
    if (session->control.pending == CONTROL_ENABLE)
        control_answer(&session->control, NULL);
}

void orders_take_written(struct session *session)
{
    const struct outlet *outlet = &session->outlet;
    if (session->control.pending != CONTROL_SNAPSHOT || outlet_is_writing(outlet))
        return;
    const bool written = outlet->incidents != session->incidents_before;
    control_answer(&session->control, written ? NULL : outlet->notice.text);
}

void orders_end(struct session *session)
{
    control_close(&session->control);
}
