/* SPDX-License-Identifier: MIT */
/* Which groups have sections of their own. A thread that mostly waits says so in one line, and never buries one that
 * works. */
#include "formats/report/report_internal.h"

#include "formats/base/alloc.h"
#include "formats/frames/waiting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define WAITED_MOSTLY 0.9  /* share of the time of a group that waited, ... */
#define WORK_LITTLE   0.1  /* ... and did less than this share of all work */
#define WORK_NONE     0.01 /* share of all work below which nobody looks for a group */

/* What the report knows of waits: CPU time, the states of samples, or nothing. */
enum knowledge { KNOWS_NOTHING, KNOWS_STATES, KNOWS_CPU };

static enum knowledge knowledge_of(const struct report *report)
{
    const struct aggregate *all = report->all;
    if (all->samples && aggregate_known(all, SUM_CPU_NS) == all->samples)
        return KNOWS_CPU;
    for (size_t i = 0; i < report->found.count; i++)
        if (report->found.rows[i].waits_ns)
            return KNOWS_STATES;
    return KNOWS_NOTHING;
}

/* How much of its time a group worked, as far as anybody knows. */
static uint64_t busy_of(const struct report *report, const struct group *group, enum knowledge knowledge)
{
    if (knowledge == KNOWS_CPU)
        return group->sums[SUM_CPU_NS];
    if (knowledge == KNOWS_STATES)
        return group->sums[SUM_WALL_NS] - group->waits_ns;
    return report_sum(report, group->sums);
}

static bool is_of_lock(const struct report *report)
{
    return report->weight == SUM_GIL_NS || report->weight == SUM_GIL_WAIT_NS;
}

/* What groups are compared by: their work, or what a user who asks for the lock wants to see of them. */
static uint64_t work_of(const struct report *report, const struct group *group, enum knowledge knowledge)
{
    return is_of_lock(report) ? report_sum(report, group->sums) : busy_of(report, group, knowledge);
}

struct text report_thread_name(struct report *report, const struct group *group)
{
    const struct text process = group->process, thread = group->label.size ? group->label : TEXT("unknown thread");
    char pid[16] = "";
    if (!report->found.processes)
        return thread;
    if (report->style.ids)
        snprintf(pid, sizeof(pid), " (%" PRIu32 ")", group->pid);
    return report_say(report, "%.*s%s %.*s", (int)process.size, process.bytes, pid, (int)thread.size, thread.bytes);
}

static struct text report_group_name(struct report *report, const struct group *group)
{
    const struct text thread = report_thread_name(report, group);
    const char *unit = group->task.size ? "tasks" : "threads";
    const struct text name = report_say(report, "%.*s%s%.*s", (int)thread.size, thread.bytes,
                                        group->task.size && !text_equal(group->task, TEXT("task")) ? ", task " : "",
                                        text_equal(group->task, TEXT("task")) ? 0 : (int)group->task.size,
                                        group->task.size ? group->task.bytes : "");
    if (group->threads < 2)
        return name;
    struct bytes busy = { 0 };
    groups_put_busy(&busy, report->tables, group);
    const struct text said = report_say(report, "%.*s, %zu %s%s%.*s%s", (int)name.size, name.bytes, group->threads,
                                        unit, busy.size ? " (" : "", (int)busy.size, (const char *)busy.at,
                                        busy.size ? ")" : "");
    bytes_free(&busy);
    return said;
}

static struct report_group report_group_describe(struct report *report, const struct group *group,
                                                 enum knowledge knowledge)
{
    const uint64_t wall_ns = group->sums[SUM_WALL_NS], busy = busy_of(report, group, knowledge);
    struct report_group described = { .name = report_group_name(report, group), .from = group, .waited = -1 };
    described.sum = report_sum(report, group->sums) - (report->without_waits ? group->waits_ns : 0);
    if (knowledge != KNOWS_NOTHING && wall_ns)
        described.waited = busy < wall_ns ? 1 - (double)busy / (double)wall_ns : 0;
    return described;
}

/* What the groups are sorted by. */
struct placed {
    struct report_group group;
    uint64_t work;
    bool works; /* as far as is known of its threads, one works: it is not hidden by what the others do */
};

/* Whether a group is CPU time of no thread: <not sampled>. It is named behind all others, and never has tables, which
 * would have one row. */
static bool is_of_nobody(const struct placed *placed)
{
    return placed->group.from->threads == 0;
}

static int report_group_compare(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    if (is_of_nobody(a) != is_of_nobody(b))
        return is_of_nobody(a) - is_of_nobody(b);
    if (a->work != b->work)
        return a->work < b->work ? 1 : -1;
    if (a->group.sum != b->group.sum)
        return a->group.sum < b->group.sum ? 1 : -1;
    const int order = text_compare(a->group.name, b->group.name);
    return order ? order : (a->group.from > b->group.from) - (a->group.from < b->group.from);
}

static bool is_quiet(const struct placed *placed, double all)
{
    const double share = all > 0 ? (double)placed->work / all : 0;
    if (is_of_nobody(placed))
        return true;
    if (placed->works)
        return false;
    return share < WORK_NONE || (placed->group.waited >= WAITED_MOSTLY && share < WORK_LITTLE);
}

bool report_find_groups(struct report *report)
{
    const enum knowledge knowledge = knowledge_of(report);
    const size_t count = report->found.count;
    struct placed *placed = alloc_zeroed(count + 1, sizeof(*placed));
    double work = 0;
    for (size_t i = 0; i < count; i++) {
        const struct group *group = &report->found.rows[i];
        placed[i] = (struct placed){ report_group_describe(report, group, knowledge), work_of(report, group, knowledge),
                                     knowledge == KNOWS_CPU && !is_of_lock(report) && group->busy_count > 0 };
        work += (double)placed[i].work;
    }
    if (count)
        qsort(placed, count, sizeof(*placed), report_group_compare);
    report->groups = alloc_zeroed(count + 1, sizeof(*report->groups));
    report->groups_count = count;
    for (size_t i = 0; i < count; i++) {
        report->groups[i] = placed[i].group;
        report->groups[i].quiet = i > 0 && is_quiet(&placed[i], work);
        report->whole += placed[i].group.sum;
    }
    free(placed);
    return true;
}
