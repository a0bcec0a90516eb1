/* SPDX-License-Identifier: MIT */
/* The quota of processor time that a process has: of its cgroup, and of each cgroup above that can be seen. When the
 * quota of a period is used up, by whomever in the cgroup, threads of the cgroup that were to run wait for the next
 * period: the cgroup is throttled. Both versions of cgroups are looked at. */
#ifndef PYREEL_RECORD_CGROUP_QUOTA_H
#define PYREEL_RECORD_CGROUP_QUOTA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define QUOTA_LEVELS 16 /* cgroups that are looked at: the process's own, and those above it */

/* The kernel's counts of one cgroup. */
struct quota_counts {
    uint64_t periods;   /* periods in which something of the cgroup ran */
    uint64_t throttled; /* those in which the quota was used up */
    uint64_t time_ns;   /* for how long its threads had to wait for that, added up over the processors; UINT64_MAX: not
                         * counted */
};

/* `= {0}` knows no cgroup. */
struct quota {
    struct quota_level {
        int stat; /* the open file cpu.stat */
        struct quota_counts before;
        double processors;  /* the quota, in processors; 0: not known */
        uint64_t period_ns; /* length of a period; 0: not known */
    } levels[QUOTA_LEVELS];
    size_t count;
};

/* Finds the cgroups, and notes what was counted so far. `root` is "", or in tests a folder that has the files. */
void quota_open(struct quota *quota, const char *root, pid_t pid);

/* The cgroup that was throttled most often since quota_open(). counts.throttled is 0 when no cgroup was throttled. */
struct quota_hit {
    struct quota_counts counts;
    double processors;
    uint64_t lost_ns; /* the most time that this took from one thread; 0: not known */
};
struct quota_hit quota_look(const struct quota *quota);

void quota_close(struct quota *quota);

#endif
