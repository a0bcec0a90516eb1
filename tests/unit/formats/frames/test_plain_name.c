/* SPDX-License-Identifier: MIT */
#include "formats/frames/plain_name.h"

#include "tests/fakes/testing.h"

#include <string.h>

static void numbers_at_the_end_go(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        { "Thread-3 (work)", "Thread (work)" },
        { "Thread-12 (work", "Thread (work" }, /* cut by Linux */
        { "Thread-12", "Thread" },
        { "ThreadPoolExecutor-0_1", "ThreadPoolExecutor" },
        { "asyncio_0", "asyncio" },
        { "worker 12", "worker" },
        { "worker#12", "worker" },
        { "3-4_5", "3" }, /* something must remain */
        { "-5", "-5" },
        { "42", "42" },
        { "", "" },
        { "worker2", "worker2" },
        { "python3.11", "python3.11" },
        { "a-", "a-" },
        { "a-1b", "a-1b" },
        { " (x)", " (x)" },
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        struct bytes to = { 0 };
        put_plain_name(&to, (struct text){ names[i][0], strlen(names[i][0]) });
        put_bytes(&to, "", 1);
        assert_string_equal((const char *)to.at, names[i][1]);
        bytes_free(&to);
    }
}

static void titles_keep_what_the_process_is(void **state)
{
    (void)state;
    static const char *const titles[][2] = {
        { "worker [idle]", "worker" },
        { "worker [busy: 12 jobs]", "worker" },
        { "gunicorn: worker [app]", "gunicorn: worker" },
        { "dask worker [tcp://127.0.0.1:38949]", "dask worker" },
        { "pool worker-3 (2 jobs)", "pool worker" },
        { "uWSGI worker 1", "uWSGI worker" },
        { "a [b] (c)", "a" },
        { "a (b) c", "a (b) c" },
        { "worker [a long request that was c", "worker" },
        { "[celeryd: MainProcess]", "[celeryd: MainProcess]" },
        { "ray::f()", "ray::f()" },
        { "ray::IDLE", "ray::IDLE" },
        { " [x]", " [x]" },
        { "[", "[" },
        { "", "" },
    };
    for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++) {
        struct bytes to = { 0 };
        put_plain_title(&to, (struct text){ titles[i][0], strlen(titles[i][0]) });
        put_bytes(&to, "", 1);
        assert_string_equal((const char *)to.at, titles[i][1]);
        bytes_free(&to);
    }
}

TEST_FILE(plain_name)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_at_the_end_go),
        cmocka_unit_test(titles_keep_what_the_process_is),
    };
    return run_all(tests);
}
