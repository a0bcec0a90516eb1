/* SPDX-License-Identifier: MIT */
#include "record/file/deaths.h"

#include "formats/model/event.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

bool deaths_is_one(int wait_status)
{
    if (wait_status < 0 || !WIFSIGNALED(wait_status))
        return false;
    const int number = WTERMSIG(wait_status);
    return number != SIGINT && number != SIGTERM && number != SIGHUP;
}

void deaths_note(struct deaths *deaths, pid_t pid, int wait_status, uint64_t now_ns, uint64_t span_ns)
{
    if (!deaths_is_one(wait_status) || deaths->count++ > 0)
        return;
    const uint64_t soon_ns = now_ns + DEATHS_WAIT_NS;
    const uint64_t again_ns = deaths->written_ns ? deaths->written_ns + span_ns : 0;
    deaths->pid = pid;
    deaths->wait_status = wait_status;
    deaths->due_ns = soon_ns > again_ns ? soon_ns : again_ns;
}

bool deaths_are_due(const struct deaths *deaths, uint64_t now_ns)
{
    return deaths->count > 0 && now_ns >= deaths->due_ns;
}

const char *deaths_text(char *room, const struct deaths *deaths)
{
    char end[EVENT_FATE_ROOM];
    room[0] = '\0';
    if (deaths->count == 0)
        return room;
    event_fate_text(end, FATE_EXITED, deaths->wait_status);
    if (deaths->count == 1)
        snprintf(room, DEATHS_TEXT_ROOM, "process %d was killed by %s", (int)deaths->pid, end);
    else
        snprintf(room, DEATHS_TEXT_ROOM, "%" PRIu32 " processes were killed, first %d by %s", deaths->count,
                 (int)deaths->pid, end);
    return room;
}

void deaths_forget(struct deaths *deaths)
{
    deaths->count = 0;
}
