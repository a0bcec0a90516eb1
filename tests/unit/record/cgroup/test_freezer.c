/* SPDX-License-Identifier: MIT */
/* Folders in the place of /proc and of the cgroups of both versions. */
#include "record/cgroup/freezer.h"

#include "tests/fakes/testing.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[] = "/tmp/pyreel-freezer-XXXXXX";

/* Writes a file below the root, and makes its folders. */
static void put_file(const char *path, const char *text)
{
    char full[256];
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
    strcpy(root, "/tmp/pyreel-freezer-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void both_versions(void **state)
{
    (void)state;
    struct freezer freezer;
    put_file("/proc/self/mountinfo",
             "1 1 0:1 / /cg2 rw - cgroup2 cgroup2 rw\n2 1 0:2 / /cg1 rw - cgroup cgroup rw,freezer\n");
    put_file("/proc/5/cgroup", "6:freezer:/a\n0::/b\n");
    put_file("/cg2/b/cgroup.events", "populated 1\nfrozen 0\n");
    put_file("/cg1/a/freezer.state", "THAWED\n");
    freezer_open(&freezer, root, 5);
    assert_false(freezer_is_frozen(&freezer));
    put_file("/cg2/b/cgroup.events", "populated 1\nfrozen 1\n");
    assert_true(freezer_is_frozen(&freezer));
    put_file("/cg2/b/cgroup.events", "populated 1\nfrozen 0\n");
    put_file("/cg1/a/freezer.state", "FREEZING\n"); /* some of it may run */
    assert_false(freezer_is_frozen(&freezer));
    put_file("/cg1/a/freezer.state", "FROZEN\n");
    assert_true(freezer_is_frozen(&freezer));
    freezer_close(&freezer);
    assert_false(freezer_is_frozen(&freezer));
    freezer_close(&freezer);
}

/* An escaped blank is in the name of the folder, and the hierarchy is mounted at several places, the last of which
 * shows the cgroup. */
static void a_process_that_is_moved_is_followed(void **state)
{
    (void)state;
    struct freezer freezer;
    put_file("/proc/self/mountinfo", "1 1 0:1 /else /cg/else rw - cgroup2 cgroup2 rw\n"
                                     "2 1 0:1 / /cg/hidden rw - cgroup2 cgroup2 rw\n"
                                     "3 1 0:1 /my\\040pod /cg/a\\134b\\040c rw - cgroup2 cgroup2 rw\n");
    put_file("/proc/5/cgroup", "0::/my pod/a\n");
    put_file("/cg/a\\b c/a/cgroup.events", "frozen 0\n");
    put_file("/cg/a\\b c/b/cgroup.events", "frozen 1\n");
    freezer_open(&freezer, root, 5);
    assert_false(freezer_is_frozen(&freezer));
    freezer_follow(&freezer, root);
    assert_false(freezer_is_frozen(&freezer));
    put_file("/proc/5/cgroup", "0::/my pod/b\n");
    assert_false(freezer_is_frozen(&freezer));
    freezer_follow(&freezer, root);
    assert_true(freezer_is_frozen(&freezer));
    put_file("/proc/5/cgroup", "0::/nowhere\n");
    freezer_follow(&freezer, root);
    assert_false(freezer_is_frozen(&freezer));
    freezer_close(&freezer);
    freezer_follow(&freezer, root);
    assert_false(freezer.opened);
}

static void the_root_is_never_frozen(void **state)
{
    (void)state;
    struct freezer freezer;
    put_file("/proc/self/mountinfo", "1 1 0:1 / /cg2 rw - cgroup2 cgroup2 rw\n");
    put_file("/proc/5/cgroup", "0::/\n");
    freezer_open(&freezer, root, 5);
    assert_false(freezer_is_frozen(&freezer));
    freezer_close(&freezer);
    freezer_open(&freezer, root, 6); /* there is no such process */
    assert_false(freezer_is_frozen(&freezer));
    freezer_close(&freezer);
}

TEST_FILE(freezer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_versions, begin, end),
        cmocka_unit_test_setup_teardown(a_process_that_is_moved_is_followed, begin, end),
        cmocka_unit_test_setup_teardown(the_root_is_never_frozen, begin, end),
    };
    return run_all(tests);
}
