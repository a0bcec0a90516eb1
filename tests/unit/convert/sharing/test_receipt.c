/* SPDX-License-Identifier: MIT */
#include "convert/sharing/receipt.h"
#include "formats/base/alloc.h"

#include "tests/fakes/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char state_folder[64];

static int make_state_folder(void **state)
{
    (void)state;
    strcpy(state_folder, "/tmp/pyreel-receipts-XXXXXX");
    return mkdtemp(state_folder) && setenv("XDG_STATE_HOME", state_folder, 1) == 0 ? 0 : -1;
}

static int remove_state_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", state_folder);
    return system(command);
}

static void keep(const char *server, const char *token, const char *proof)
{
    struct receipt_file file;
    struct fault why = { 0 };
    const struct receipt receipt = { .server = (char *)server,
                                     .token = (char *)token,
                                     .proof = (char *)proof,
                                     .link = (char *)"https://viewer/public/x" };
    if (!receipt_begin(&file, &why) || !receipt_end(&file, &receipt, &why))
        fail_msg("%s", why.text);
}

static void assert_found(const char *token, const char *server, const char *proof)
{
    struct receipt receipt;
    struct fault why = { 0 };
    if (!receipt_find(&receipt, token, server, &why))
        fail_msg("%s", why.text);
    assert_string_equal(receipt.proof, proof);
    assert_string_equal(receipt.link, "https://viewer/public/x");
    receipt_free(&receipt);
}

static void assert_not_found(const char *token, const char *server, const char *words)
{
    struct receipt receipt;
    struct fault why = { 0 };
    assert_false(receipt_find(&receipt, token, server, &why));
    if (!strstr(why.text, words))
        fail_msg("%s", why.text);
    assert_null(receipt.proof);
}

static void a_receipt_is_found_by_token_and_server(void **state)
{
    (void)state;
    assert_not_found("abc", NULL, "has no proof");
    keep("https://one", "abc", "a.b.c");
    keep("https://one", "abc-d", "d.e.f");
    assert_found("abc", NULL, "a.b.c");
    assert_found("abc", "https://one", "a.b.c");
    assert_found("abc-d", NULL, "d.e.f");
    assert_not_found("abc", "https://other", "to https://other");
    assert_not_found("ab", NULL, "has no proof");
    keep("https://other", "abc", "g.h.i");
    assert_not_found("abc", NULL, "--server");
    assert_found("abc", "https://one", "a.b.c");
    assert_found("abc", "https://other", "g.h.i");
    keep("https://one", "abc", "j.k.l"); /* a store gives a token twice: the later proof counts */
    assert_found("abc", "https://one", "j.k.l");

    struct receipt receipt;
    assert_true(receipt_find(&receipt, "abc", "https://one", NULL));
    assert_true(receipt_remove(&receipt, NULL));
    receipt_free(&receipt);
    assert_not_found("abc", "https://one", "has no proof");
    assert_found("abc", NULL, "g.h.i");
}

static void nobody_else_can_read(void **state)
{
    (void)state;
    char path[128];
    struct stat there;
    snprintf(path, sizeof(path), "%s/pyreel/uploads", state_folder);
    umask(0);
    keep("https://one", "abc", "a.b.c");
    struct receipt receipt;
    assert_true(receipt_find(&receipt, "abc", NULL, NULL));
    assert_int_equal(stat(receipt.path, &there), 0);
    assert_int_equal(there.st_mode & 0777, 0600);
    receipt_free(&receipt);
    assert_int_equal(chmod(path, 0755), 0); /* somebody opened the folder */
    keep("https://one", "abc", "a.b.c");
    assert_int_equal(stat(path, &there), 0);
    assert_int_equal(there.st_mode & 0777, 0700);
}

static void nothing_remains_of_an_upload_that_failed(void **state)
{
    (void)state;
    char path[128], command[200];
    struct receipt_file file;
    snprintf(path, sizeof(path), "%s/pyreel/uploads", state_folder);
    assert_true(receipt_begin(&file, NULL));
    receipt_abandon(&file);
    receipt_abandon(&file);
    snprintf(command, sizeof(command), "test -z \"$(ls -A %s)\"", path);
    assert_int_equal(system(command), 0);
}

static void a_link_in_the_place_of_the_folder_is_refused(void **state)
{
    (void)state;
    char path[128];
    struct receipt_file file;
    struct fault why = { 0 };
    snprintf(path, sizeof(path), "%s/pyreel", state_folder);
    assert_int_equal(mkdir(path, 0700), 0);
    strcat(path, "/uploads");
    assert_int_equal(symlink("/tmp", path), 0);
    assert_false(receipt_begin(&file, &why));
    assert_non_null(strstr(why.text, "cannot open the folder"));
}

TEST_FILE(receipt)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, make_state_folder, remove_state_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_receipt_is_found_by_token_and_server),
        TEST(nobody_else_can_read),
        TEST(nothing_remains_of_an_upload_that_failed),
        TEST(a_link_in_the_place_of_the_folder_is_refused),
    };
    return run_all(tests);
}
