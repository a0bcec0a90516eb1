/* SPDX-License-Identifier: MIT */
/* Whose connection it is, by the kernel's table. */
#include "convert/viewer/peer.h"

#include "tests/fakes/testing.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char table[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0\n"
    "   1: 0200007F:C3A2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0 20 4 30 10 -1\n"
    "   2: 0100007F:1F90 0100007F:C3A2 01 00000000:00000000 00:00000000 00000000  1002        0 3 1 0 20 4 30 10 -1\n"
    "a line that is no row\n"
    "   3: 0100007F:C3A2 0100007F:1F90 01 00000000:00000000 02:00000A5B 00000000  1003        0 4 2 0 20 4 30 10 -1\n";

static bool find(unsigned peer_port, unsigned port, uid_t *user)
{
    FILE *file = fmemopen((void *)table, strlen(table), "r");
    const bool found = peer_find_user(file, peer_port, port, user);
    fclose(file);
    return found;
}

static void the_row_of_the_other_end_says_whose_it_is(void **state)
{
    (void)state;
    uid_t user;
    assert_true(find(0xC3A2, 0x1F90, &user));
    assert_int_equal(user, 1003);
    assert_false(find(0xC3A3, 0x1F90, &user));
    assert_false(find(0xC3A2, 0x1F91, &user));
}

static void an_unknown_connection_may_be_ours(void **state)
{
    (void)state;
    assert_true(peer_is_ours(1, 2));
}

TEST_FILE(peer)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_row_of_the_other_end_says_whose_it_is),
        cmocka_unit_test(an_unknown_connection_may_be_ours),
    };
    return run_all(tests);
}
