/* SPDX-License-Identifier: MIT */
#include "record/hindrance.h"

#include "record/process/permission.h"
#include "record/process/procfs.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS_ASKED    2048 /* threads of the recorder: one for each processor, and some more */
#define CAP_SYS_NICE_BIT 23
#define CAUSE_PART       0.5 /* what explains so much of the missed time is its cause, ... */
#define NO_CAUSE_PART    0.1 /* ... and what explains less than this has no part in it */

/* ---- asking ---- */

/* Sets *waited_ns to the time that a thread of the recorder has waited for a processor. */
static bool thread_waited(pid_t tid, uint64_t *waited_ns)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", (int)tid);
    FILE *file = fopen(path, "re");
    const bool good = file && fscanf(file, "%*u %" SCNu64, waited_ns) == 1;
    if (file)
        fclose(file);
    return good;
}

void hindrance_begin(struct hindrance *hindrance, enum priority priority, bool own_wish)
{
    *hindrance = (struct hindrance){ .priority = priority, .own_wish = own_wish, .root = geteuid() == 0 };
    quota_open(&hindrance->quota, "", getpid());
    hindrance->able = permission_capabilities() >> CAP_SYS_NICE_BIT & 1;
    thread_waited(getpid(), &hindrance->waited_ns);
}

struct hindrance_facts hindrance_look(const struct hindrance *hindrance, double missed, uint64_t elapsed_ns,
                                      uint64_t starved_ns, uint64_t blocked_ns)
{
    struct hindrance_facts facts = { .missed = missed, .elapsed_ns = elapsed_ns, .blocked_ns = blocked_ns };
    static pid_t tids[THREADS_ASKED];
    const size_t count = procfs_threads(getpid(), tids, THREADS_ASKED);
    facts.quota = quota_look(&hindrance->quota);
    for (size_t i = 0; i < count; i++) {
        uint64_t waited_ns;
        if (!thread_waited(tids[i], &waited_ns))
            continue;
        if (tids[i] == getpid()) {
            waited_ns -= waited_ns > hindrance->waited_ns ? hindrance->waited_ns : waited_ns;
            waited_ns += starved_ns;
            facts.waited_known = true;
        }
        facts.waited_ns = waited_ns > facts.waited_ns ? waited_ns : facts.waited_ns;
    }
    return facts;
}

void hindrance_end(struct hindrance *hindrance)
{
    quota_close(&hindrance->quota);
}

/* ---- words ---- */

static double missed_time_ns(const struct hindrance_facts *facts)
{
    return facts->missed * (double)facts->elapsed_ns;
}

/* Whether so much time explains the missed part. */
static bool explains(const struct hindrance_facts *facts, uint64_t time_ns)
{
    return (double)time_ns >= CAUSE_PART * missed_time_ns(facts);
}

/* A thread with real time has no quota. */
static bool is_throttled(const struct hindrance *hindrance, const struct hindrance_facts *facts)
{
    const struct quota_hit *hit = &facts->quota;
    return hindrance->priority != PRIORITY_REAL_TIME && hit->counts.throttled > 0 && explains(facts, hit->lost_ns);
}

static void write_quota(const struct quota_hit *hit, char *text, size_t room)
{
    char part[64] = "";
    if (hit->processors > 0)
        snprintf(part, sizeof(part), " (%.3g %% of a processor)", 100 * hit->processors);
    snprintf(text, room,
             "the quota of pyreel-record's cgroup%s was used up in %" PRIu64 " of %" PRIu64
             " periods; raise the quota, take a lower --rate, or run pyreel-record outside of the container",
             part, hit->counts.throttled, hit->counts.periods);
}

/* Returns the words that say how the user gives the recorder a better priority; "" when nothing would. */
static const char *better_priority(const struct hindrance *hindrance)
{
    if (hindrance->priority == PRIORITY_REAL_TIME || hindrance->able)
        return hindrance->own_wish ? "; leave out --no-priority to get a higher priority" : "";
    return hindrance->root
               ? "; give pyreel-record the capability CAP_SYS_NICE to get a higher priority (in a container: "
                 "--cap-add=SYS_NICE)"
               : "; run as root or with CAP_SYS_NICE to get a higher priority";
}

void hindrance_write(const struct hindrance *hindrance, const struct hindrance_facts *facts, char *text, size_t room)
{
    if (is_throttled(hindrance, facts))
        write_quota(&facts->quota, text, room);
    else if (!facts->waited_known)
        snprintf(text, room, "the cause is not known; try a lower --rate");
    else if (explains(facts, facts->waited_ns))
        snprintf(text, room, "the processors were busy with the program itself or with others%s",
                 better_priority(hindrance));
    else if (explains(facts, facts->blocked_ns))
        snprintf(text, room,
                 "reads waited for %.3f s while a process changed the map of its memory, as fork and munmap do",
                 (double)facts->blocked_ns / 1e9);
    else if ((double)facts->waited_ns >= NO_CAUSE_PART * missed_time_ns(facts))
        snprintf(text, room,
                 "the recorder waited %.3f s of the %.3f s for a processor; the cause of the rest is not known",
                 (double)facts->waited_ns / 1e9, missed_time_ns(facts) / 1e9);
    else
        snprintf(text, room,
                 "the recorder did not wait for a processor: a read took longer than an interval, or the machine stood "
                 "still; try a lower --rate");
}
