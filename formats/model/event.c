/* SPDX-License-Identifier: MIT */
#include "formats/model/event.h"

#include "formats/base/alloc.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

static const char *const failure_texts[FAILURE_KINDS] = {
    [FAILURE_CHANGED] = "changed while read",         [FAILURE_MEMORY] = "memory unreadable",
    [FAILURE_CODE] = "code object unreadable",        [FAILURE_DEPTH] = "stack too deep",
    [FAILURE_THREADS] = "list of threads unreadable",
};

static const char *const end_reason_texts[END_REASONS] = {
    [END_TARGET] = "the target ended",
    [END_SIGNAL] = "stopped by a signal",
    [END_DURATION] = "the duration was over",
    [END_ERROR] = "an error",
    [END_NOT_PYTHON] = "the target became another program",
    [END_SIZE] = "the file was as large as it may be",
    [END_UNWRITTEN] = "the file could not be written any further",
    [END_CONTINUED] = "it goes on in the next file",
    [END_EXCERPT] = "the flight recorder wrote what it had",
    [END_STOPPED] = "stopped by --control",
};

const char *event_failure_text(enum failure cause)
{
    return (size_t)cause < FAILURE_KINDS && failure_texts[cause] ? failure_texts[cause] : "unknown";
}

const char *event_end_reason_text(enum end_reason reason)
{
    return (size_t)reason < END_REASONS && end_reason_texts[reason] ? end_reason_texts[reason] : "unknown";
}

const char *event_python_version_text(char *room, uint32_t version)
{
    static const char *const levels[16] = { [0xA] = "a", [0xB] = "b", [0xC] = "rc" };
    const char *level = levels[version >> 4 & 15];
    const int size = snprintf(room, 32, "%u.%u.%u", version >> 24, version >> 16 & 0xFF, version >> 8 & 0xFF);
    if (level)
        snprintf(room + size, 32 - (size_t)size, "%s%u", level, version & 15);
    return room;
}

const char *event_trace_text(char room[EVENT_TRACE_DIGITS + 1], struct span_ids ids)
{
    snprintf(room, EVENT_TRACE_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, ids.trace_high, ids.trace_low);
    return room;
}

const char *event_span_text(char room[EVENT_SPAN_DIGITS + 1], struct span_ids ids)
{
    snprintf(room, EVENT_SPAN_DIGITS + 1, "%016" PRIx64, ids.id);
    return room;
}

const char *event_date_text(char *room, uint64_t unix_ns)
{
    const time_t seconds = (time_t)(unix_ns / 1000000000u);
    struct tm utc;
    room[0] = '\0';
    if (unix_ns == 0)
        return room;
    gmtime_r(&seconds, &utc);
    strftime(room, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return room;
}

uint64_t event_shifted(uint64_t time_ns, int64_t by_ns)
{
    const uint64_t distance_ns = by_ns < 0 ? -(uint64_t)by_ns : (uint64_t)by_ns;
    if (by_ns < 0)
        return time_ns > distance_ns ? time_ns - distance_ns : 0;
    return time_ns < UINT64_MAX - distance_ns ? time_ns + distance_ns : UINT64_MAX;
}

static void shift(uint64_t *time_ns, int64_t by_ns)
{
    *time_ns = event_shifted(*time_ns, by_ns);
}

void event_shift(struct event *event, int64_t by_ns)
{
    switch (event->kind) {
    case EVENT_PROCESS:
        shift(&event->process.start_ns, by_ns);
        break;
    case EVENT_PROCESS_END:
        shift(&event->process_end.time_ns, by_ns);
        break;
    case EVENT_THREAD:
        shift(&event->thread.start_ns, by_ns);
        break;
    case EVENT_PROCESS_TITLE:
    case EVENT_PROCESS_ATTRIBUTES:
    case EVENT_THREAD_NAME:
    case EVENT_THREAD_END:
        shift(&event->change.time_ns, by_ns);
        break;
    case EVENT_TASK:
        shift(&event->task.start_ns, by_ns);
        break;
    case EVENT_TASK_WAITER:
        shift(&event->task_waiter.time_ns, by_ns);
        break;
    case EVENT_SAMPLE:
        shift(&event->sample.time_ns, by_ns);
        if (event->sample.first_ns)
            shift(&event->sample.first_ns, by_ns);
        if (event->sample.callback_ns) {
            shift(&event->sample.callback_ns, by_ns);
            event->sample.callback_ns += event->sample.callback_ns == 0; /* 0: there is no callback */
        }
        break;
    case EVENT_FAILED:
        shift(&event->failed.time_ns, by_ns);
        break;
    case EVENT_LEFT_OUT:
        shift(&event->left_out.time_ns, by_ns);
        break;
    case EVENT_TICK:
        shift(&event->tick_ns, by_ns);
        break;
    case EVENT_MEASURE:
        shift(&event->measure.time_ns, by_ns);
        break;
    case EVENT_END:
        shift(&event->end.time_ns, by_ns);
        break;
    case EVENT_RECORDING:
    case EVENT_STRING:
    case EVENT_FUNCTION:
    case EVENT_FRAME:
    case EVENT_MODULE:
    case EVENT_MISSED:
    case EVENT_COUNTER:
    case EVENT_SERIAL:
    case EVENT_RUN: /* made behind the readers that shift times */
        break;
    }
}

/* The names of signals that end programs. */
static const char *signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        { SIGHUP, "SIGHUP" },   { SIGINT, "SIGINT" },   { SIGQUIT, "SIGQUIT" }, { SIGILL, "SIGILL" },
        { SIGABRT, "SIGABRT" }, { SIGBUS, "SIGBUS" },   { SIGFPE, "SIGFPE" },   { SIGKILL, "SIGKILL" },
        { SIGUSR1, "SIGUSR1" }, { SIGSEGV, "SIGSEGV" }, { SIGUSR2, "SIGUSR2" }, { SIGPIPE, "SIGPIPE" },
        { SIGALRM, "SIGALRM" }, { SIGTERM, "SIGTERM" }, { SIGXCPU, "SIGXCPU" },
    };
    for (size_t i = 0; i < countof(names); i++)
        if (names[i].number == number)
            return names[i].name;
    return NULL;
}

const char *event_fate_text(char *room, enum fate fate, int wait_status)
{
    static const char *const words[FATES] = { "", "ended", "exec", "runs on" };
    if (fate != FATE_EXITED || wait_status < 0)
        snprintf(room, EVENT_FATE_ROOM, "%s", words[fate < FATES ? fate : FATE_UNKNOWN]);
    else if (!WIFSIGNALED(wait_status))
        snprintf(room, EVENT_FATE_ROOM, "exit %d", WEXITSTATUS(wait_status));
    else if (signal_name(WTERMSIG(wait_status)))
        snprintf(room, EVENT_FATE_ROOM, "%s", signal_name(WTERMSIG(wait_status)));
    else
        snprintf(room, EVENT_FATE_ROOM, "signal %d", WTERMSIG(wait_status));
    return room;
}

bool process_take_attribute(struct text *lines, struct text *name, struct text *value)
{
    while (lines->size > 0) {
        const char *newline = memchr(lines->bytes, '\n', lines->size);
        const struct text line = { lines->bytes, newline ? (size_t)(newline - lines->bytes) : lines->size };
        const char *equals = line.size ? memchr(line.bytes, '=', line.size) : NULL;
        const size_t taken = line.size + (newline != NULL);
        *lines = (struct text){ lines->bytes + taken, lines->size - taken };
        if (!equals)
            continue;
        *name = (struct text){ line.bytes, (size_t)(equals - line.bytes) };
        *value = (struct text){ equals + 1, line.size - name->size - 1 };
        return true;
    }
    return false;
}
