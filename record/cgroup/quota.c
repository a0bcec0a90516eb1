/* SPDX-License-Identifier: MIT */
#include "record/cgroup/quota.h"

#include "record/cgroup/cgroup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define US 1000u

/* Reads the number behind a name at the start of a line. */
static bool quota_number(const char *text, const char *name, uint64_t *number)
{
    const size_t size = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, size) == 0 && line[size] == ' ') {
            *number = strtoull(line + size, NULL, 10);
            return true;
        }
    return false;
}

/* ---- one cgroup ---- */

static bool quota_count(int stat, struct quota_counts *counts)
{
    char text[2048];
    uint64_t time_us;
    if (!cgroup_read(stat, text, sizeof(text)) || !quota_number(text, "nr_periods", &counts->periods) ||
        !quota_number(text, "nr_throttled", &counts->throttled))
        return false;
    if (quota_number(text, "throttled_usec", &time_us))
        counts->time_ns = time_us * US;
    else if (!quota_number(text, "throttled_time", &counts->time_ns)) /* version 1 */
        counts->time_ns = UINT64_MAX;
    return true;
}

/* Reads how much the cgroup may have: cpu.max ("20000 100000" or "max 100000", in us) or, in version 1, two files. */
static void level_read_limit(struct quota_level *level, const struct cgroup *cgroup)
{
    char text[64], *at = text;
    long quota_us = 0, period_us = 0;
    if (cgroup_read_file(cgroup, "cpu.max", text, sizeof(text))) {
        quota_us = strtol(text, &at, 10); /* 0: "max" */
        period_us = strtol(at + strcspn(at, " "), NULL, 10);
    } else if (cgroup_read_file(cgroup, "cpu.cfs_quota_us", text, sizeof(text))) {
        quota_us = strtol(text, NULL, 10); /* -1: none */
        if (cgroup_read_file(cgroup, "cpu.cfs_period_us", text, sizeof(text)))
            period_us = strtol(text, NULL, 10);
    }
    level->processors = quota_us > 0 && period_us > 0 ? (double)quota_us / (double)period_us : 0;
    level->period_ns = period_us > 0 ? (uint64_t)period_us * US : 0;
}

/* Adds a cgroup that counts periods. The root of all cgroups does not. */
static void quota_add(struct quota *quota, const struct cgroup *cgroup)
{
    struct quota_level level = { .stat = cgroup_open(cgroup, "cpu.stat") };
    if (level.stat < 0)
        return;
    if (!quota_count(level.stat, &level.before)) {
        close(level.stat);
        return;
    }
    level_read_limit(&level, cgroup);
    quota->levels[quota->count++] = level;
}

void quota_open(struct quota *quota, const char *root, pid_t pid)
{
    static const char *const controllers[] = { NULL, "cpu" };
    *quota = (struct quota){ 0 };
    for (size_t i = 0; i < 2; i++) {
        struct cgroup cgroup;
        bool found = cgroup_find(&cgroup, root, pid, controllers[i]);
        for (; found && quota->count < QUOTA_LEVELS; found = cgroup_rise(&cgroup))
            quota_add(quota, &cgroup);
    }
}

/* ---- looking ---- */

/* Returns the counts of a cgroup since quota_open(); zeros when the cgroup was made anew. */
static struct quota_counts quota_since(const struct quota_level *level)
{
    const struct quota_counts *before = &level->before;
    struct quota_counts now;
    if (!quota_count(level->stat, &now) || now.throttled < before->throttled || now.periods < before->periods)
        return (struct quota_counts){ 0 };
    const bool timed = now.time_ns != UINT64_MAX && now.time_ns >= before->time_ns;
    return (struct quota_counts){ .periods = now.periods - before->periods,
                                  .throttled = now.throttled - before->throttled,
                                  .time_ns = timed ? now.time_ns - before->time_ns : UINT64_MAX };
}

static bool was_throttled_more(const struct quota_counts *a, const struct quota_counts *b)
{
    return a->throttled > b->throttled || (a->throttled == b->throttled && a->periods > b->periods);
}

/* The quota of a period is used up at its start at the earliest, and the processors wait at the same time. */
static uint64_t lost_at_most_ns(const struct quota_counts *counts, uint64_t period_ns)
{
    const uint64_t whole_ns = counts->throttled * period_ns;
    return counts->time_ns < whole_ns ? counts->time_ns : whole_ns;
}

struct quota_hit quota_look(const struct quota *quota)
{
    struct quota_hit worst = { 0 };
    for (size_t i = 0; i < quota->count; i++) {
        const struct quota_level *level = &quota->levels[i];
        const struct quota_counts counts = quota_since(level);
        if (was_throttled_more(&counts, &worst.counts))
            worst = (struct quota_hit){ .counts = counts,
                                        .processors = level->processors,
                                        .lost_ns = lost_at_most_ns(&counts, level->period_ns) };
    }
    return worst;
}

void quota_close(struct quota *quota)
{
    for (size_t i = 0; i < quota->count; i++)
        close(quota->levels[i].stat);
    *quota = (struct quota){ 0 };
}
