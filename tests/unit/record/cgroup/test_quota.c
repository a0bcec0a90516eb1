/* SPDX-License-Identifier: MIT */
/* Folders in the place of /proc/self and of the cgroups, as both versions and containers have them. */
#include "record/cgroup/quota.h"

#include "formats/base/alloc.h"
#include "tests/fakes/testing.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_ROOM 512

static char root[] = "/tmp/pyreel-quota-XXXXXX";

/* Writes a file below the root, and makes its folders. */
static void put_file(const char *path, const char *text)
{
    char full[PATH_ROOM];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *slash = full + strlen(root); (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int remove_one(const char *path, const struct stat *file, int kind, struct FTW *walk)
{
    (void)file;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int begin(void **state)
{
    (void)state;
    strcpy(root, "/tmp/pyreel-quota-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char mounts_2[] = "24 1 0:22 / /proc rw - proc proc rw\n"
                               "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
static const char mounts_1[] = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
                               "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
                               "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
                               "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

static void nothing_is_known_without_files(void **state)
{
    (void)state;
    struct quota quota;
    quota_open(&quota, root, 77);
    assert_int_equal(quota.count, 0);
    assert_int_equal(quota_look(&quota).counts.throttled, 0);
    quota_close(&quota);
    quota = (struct quota){ 0 };
    assert_int_equal(quota_look(&quota).counts.throttled, 0);
}

/* The quota is that of the cgroup above: the own one has none. */
static void version_2(void **state)
{
    (void)state;
    struct quota quota;
    put_file("/proc/77/cgroup", "0::/pod/box\n");
    put_file("/proc/self/mountinfo", mounts_2);
    put_file("/sys/fs/cgroup/cpu.stat", "usage_usec 12\n"); /* the root counts no periods */
    put_file("/sys/fs/cgroup/pod/cpu.stat", "usage_usec 12\nnr_periods 50\nnr_throttled 20\nthrottled_usec 5\n");
    put_file("/sys/fs/cgroup/pod/cpu.max", "50000 100000\n");
    put_file("/sys/fs/cgroup/pod/box/cpu.stat", "usage_usec 12\nnr_periods 7\nnr_throttled 0\nthrottled_usec 0\n");
    put_file("/sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
    quota_open(&quota, root, 77);
    assert_int_equal(quota.count, 2);
    assert_int_equal(quota_look(&quota).counts.throttled, 0); /* what was before does not count */
    put_file("/sys/fs/cgroup/pod/cpu.stat", "usage_usec 12\nnr_periods 90\nnr_throttled 50\nthrottled_usec 700005\n");
    const struct quota_hit hit = quota_look(&quota);
    assert_int_equal(hit.counts.throttled, 30);
    assert_int_equal(hit.counts.periods, 40);
    assert_int_equal(hit.lost_ns, 700000000); /* as the kernel counts it: the 30 periods are 3 s */
    assert_true(hit.processors > 0.499 && hit.processors < 0.501);
    quota_close(&quota);
}

/* Version 1 has a hierarchy for each controller; version 2 is there, too, and has no quotas. */
static void version_1(void **state)
{
    (void)state;
    struct quota quota;
    put_file("/proc/77/cgroup", "9:name=systemd:/\n2:cpuacct:/else\n1:cpu:/box\n0::/\n");
    put_file("/proc/self/mountinfo", mounts_1);
    put_file("/sys/fs/cgroup/unified/cpu.stat", "usage_usec 12\n");
    put_file("/sys/fs/cgroup/cpu/box/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
    put_file("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "20000\n");
    put_file("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "50000\n");
    quota_open(&quota, root, 77);
    assert_int_equal(quota.count, 1);
    put_file("/sys/fs/cgroup/cpu/box/cpu.stat", "nr_periods 10\nnr_throttled 9\nthrottled_time 200000001\n");
    const struct quota_hit hit = quota_look(&quota);
    assert_int_equal(hit.counts.throttled, 9);
    assert_int_equal(hit.lost_ns, 200000001);
    assert_true(hit.processors > 0.399 && hit.processors < 0.401);
    quota_close(&quota);
}

/* The kernel adds up the times of all processors; the program loses no more than the periods. Where the kernel counts
 * no time, it may be all of them. */
static void no_more_is_lost_than_the_periods(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after;
        uint64_t lost_ns;
    } rows[] = {
        { "nr_throttled 0\nthrottled_usec 0\n", "nr_throttled 4\nthrottled_usec 1600000\n", 400000000 },
        { "nr_throttled 0\nthrottled_time 0\n", "nr_throttled 4\nthrottled_time 1600000000\n", 400000000 },
        { "nr_throttled 1\n", "nr_throttled 4\n", 300000000 },
        { "nr_throttled 0\nthrottled_usec 9\n", "nr_throttled 4\nthrottled_usec 3\n", 400000000 },
    };
    put_file("/proc/77/cgroup", "0::/box\n");
    put_file("/proc/self/mountinfo", mounts_2);
    put_file("/sys/fs/cgroup/box/cpu.max", "20000 100000\n");
    for (size_t i = 0; i < countof(rows); i++) {
        char text[PATH_ROOM];
        struct quota quota;
        snprintf(text, sizeof(text), "nr_periods 1\n%s", rows[i].before);
        put_file("/sys/fs/cgroup/box/cpu.stat", text);
        quota_open(&quota, root, 77);
        snprintf(text, sizeof(text), "nr_periods 9\n%s", rows[i].after);
        put_file("/sys/fs/cgroup/box/cpu.stat", text);
        assert_int_equal(quota_look(&quota).lost_ns, rows[i].lost_ns);
        quota_close(&quota);
    }
}

/* A quota that was never used up is known all the same, of the cgroup that has one. */
static void periods_are_counted_when_none_is_used_up(void **state)
{
    (void)state;
    struct quota quota;
    put_file("/proc/77/cgroup", "0::/pod/box\n");
    put_file("/proc/self/mountinfo", mounts_2);
    put_file("/sys/fs/cgroup/pod/box/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n");
    put_file("/sys/fs/cgroup/pod/cpu.stat", "nr_periods 2\nnr_throttled 1\nthrottled_usec 7\n");
    quota_open(&quota, root, 77);
    put_file("/sys/fs/cgroup/pod/cpu.stat", "nr_periods 12\nnr_throttled 1\nthrottled_usec 7\n");
    const struct quota_hit hit = quota_look(&quota);
    assert_int_equal(hit.counts.periods, 10);
    assert_int_equal(hit.counts.throttled, 0);
    assert_int_equal(hit.lost_ns, 0);
    quota_close(&quota);
}

/* A container sees its own cgroup as the root, or where the host's cgroup is mounted in its place. */
static void in_a_container(void **state)
{
    (void)state;
    static const struct {
        const char *own, *shown, *folder;
        uint64_t throttled;
    } rows[] = {
        { "0::/", "/", "", 1 },
        { "0::/docker/12ab", "/docker/12ab", "", 1 },
        { "0::/docker/12ab/in", "/docker/12ab", "/in", 1 },
        { "0::/../other", "/", "", 0 }, /* of another container: not to be seen */
        { "0::/elsewhere", "/docker/12ab", "", 0 },
        { "0::/docker/12abc", "/docker/12ab", "", 0 },
    };
    for (size_t i = 0; i < countof(rows); i++) {
        char text[PATH_ROOM];
        struct quota quota;
        put_file("/proc/77/cgroup", rows[i].own);
        snprintf(text, sizeof(text), "31 24 0:27 %s /sys/fs/cgroup ro - cgroup2 cgroup rw\n", rows[i].shown);
        put_file("/proc/self/mountinfo", text);
        snprintf(text, sizeof(text), "/sys/fs/cgroup%s/cpu.stat", rows[i].folder);
        put_file(text, "nr_periods 1\nnr_throttled 1\n");
        quota_open(&quota, root, 77);
        put_file(text, "nr_periods 3\nnr_throttled 2\n");
        if (quota_look(&quota).counts.throttled != rows[i].throttled)
            fail_msg("row %zu", i);
        quota_close(&quota);
        put_file(text, "");
    }
}

/* Files that say nonsense, and more cgroups than are looked at. */
static void nonsense_is_bounded(void **state)
{
    (void)state;
    char path[PATH_ROOM] = "/sys/fs/cgroup", own[PATH_ROOM] = "0::";
    struct quota quota;
    put_file("/proc/self/mountinfo", mounts_2);
    put_file("/proc/77/cgroup", "0\n0:\n:::::\n\n0::");
    quota_open(&quota, root, 77);
    quota_close(&quota);
    for (int i = 0; i < QUOTA_LEVELS + 10; i++) {
        char file[PATH_ROOM + 16];
        strcat(path, "/a");
        strcat(own, "/a");
        snprintf(file, sizeof(file), "%s/cpu.stat", path);
        put_file(file, "nr_periods 5\nnr_throttled 5\n");
        snprintf(file, sizeof(file), "%s/cpu.max", path);
        put_file(file, i % 2 ? "-7" : "rubbish 99999999999999999999");
    }
    put_file("/proc/77/cgroup", own);
    quota_open(&quota, root, 77);
    assert_int_equal(quota.count, QUOTA_LEVELS);
    strcat(path, "/cpu.stat");
    put_file(path, "nr_periods 2\nnr_throttled 2\n"); /* a cgroup that was made anew */
    assert_int_equal(quota_look(&quota).counts.throttled, 0);
    quota_close(&quota);
}

TEST_FILE(quota)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_known_without_files, begin, end),
        cmocka_unit_test_setup_teardown(version_2, begin, end),
        cmocka_unit_test_setup_teardown(version_1, begin, end),
        cmocka_unit_test_setup_teardown(no_more_is_lost_than_the_periods, begin, end),
        cmocka_unit_test_setup_teardown(periods_are_counted_when_none_is_used_up, begin, end),
        cmocka_unit_test_setup_teardown(in_a_container, begin, end),
        cmocka_unit_test_setup_teardown(nonsense_is_bounded, begin, end),
    };
    return run_all(tests);
}
