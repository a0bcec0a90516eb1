/* SPDX-License-Identifier: MIT */
/* A day at full speed: ticks over a CPython in fake memory, through the sampler and the writer, with threads and code
 * objects that come and go. The resident memory grows up to the limits in pyreel-record(1), and then no more.
 * PYREEL_DAY_TICKS=10000000 is a day at 100 Hz; the test makes some of it. With PYREEL_DAY_PARTS=1 the stream ends and
 * begins anew each 100,000 ticks, as with --rotate. */
#include "formats/base/alloc.h"
#include "formats/stream/stream_write.h"
#include "record/process/clock.h"
#include "record/watch/sampler.h"
#include "tests/fakes/fake_python.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TICK_NS      UINT64_C(10000000)
#define TICKS        100000u /* in the ordinary tests */
#define THREAD_TICKS 10      /* a thread lives for so long, ... */
#define CODE_TICKS   10      /* ... and a code object */
#define PART_TICKS   100000u
#define LIMITED      UINT64_C(8000000) /* after so many ticks, what has a limit has reached its limit, ... */
#define GROWTH_MOST  ((long)16 << 20)  /* ... and the memory grows by no more than this */
#define MEMORY_MOST  ((long)448 << 20) /* the memory at any time: pyreel-record(1), MEMORY */

static long resident_bytes(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &pages, &resident), 2);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

struct day {
    struct fake_python *p;
    struct sampler sampler;
    struct stream_writer writer;
    int fd;
    size_t worker;
    uint64_t code; /* of the worker */
};

static bool take(void *self, struct event *event, struct fault *why)
{
    struct day *day = self;
    return stream_write(&day->writer, event, why);
}

static void begin_stream(struct day *day)
{
    const struct event event = {
        .kind = EVENT_RECORDING,
        .recording = { .interval_ns = TICK_NS, .time_unit_ns = TICK_NS / 40, .mode = TEXT("wall") },
    };
    stream_writer_open(&day->writer, day->fd, CODEC_GROUPED);
    assert_true(stream_write(&day->writer, &event, NULL));
}

static void end_stream(struct day *day)
{
    const struct event event = { .kind = EVENT_END, .end = { .reason = END_CONTINUED, .wait_status = -1 } };
    assert_true(stream_write(&day->writer, &event, NULL));
    stream_writer_close(&day->writer);
}

static void begin(struct day *day)
{
    *day = (struct day){ .p = fake_python_start(0x030f02f0), .fd = open("/dev/null", O_WRONLY | O_CLOEXEC) };
    struct fake_python *p = day->p;
    const struct layout *l = &p->target.runtime.layout;
    p->target.pid = p->target.ns_pid = p->target.remote.pid = getpid();
    fake_poke(p, p->threads[0].address + l->thread_native_id, (uint64_t)getpid());
    const uint64_t f = fake_code(p, "f", 20, 9);
    day->code = fake_code(p, "worker_0", 20, 9);
    fake_stack(p, 0, (struct fake_frame[]){ { PLAIN, f, 1 } }, 1);
    day->worker = fake_thread(p, 1000000);
    fake_take_lock(p, day->worker);
    fake_stack(p, day->worker, (struct fake_frame[]){ { PLAIN, day->code, 1 } }, 1);
    begin_stream(day);
    day->sampler = (struct sampler){ .options = { .interval_ns = TICK_NS, .start_ns = clock_now_ns() } };
    sampler_open(&day->sampler, (struct sink){ .take = take, .self = day });
    struct watched *watched = sampler_watch(&day->sampler, getpid(), NULL);
    watched->target = p->target;
    watched_attach(watched);
}

static void end(struct day *day)
{
    day->p->target.interpreters = NULL; /* the sampler has taken over the target */
    sampler_close(&day->sampler);
    end_stream(day);
    fake_python_end(day->p);
    close(day->fd);
}

/* The program goes on to its next tick. */
static void live(struct day *day, uint64_t tick)
{
    struct fake_python *p = day->p;
    const struct layout *l = &p->target.runtime.layout;
    char name[40];
    if (tick % THREAD_TICKS == 0)
        fake_poke(p, p->threads[day->worker].address + l->thread_native_id, 1000000 + tick / THREAD_TICKS);
    if (tick % CODE_TICKS == 0) {
        snprintf(name, sizeof(name), "worker_%" PRIu64, tick / CODE_TICKS);
        const size_t used = p->used; /* the next code object has the memory of this one */
        fake_code_at(p, day->code, name, (uint32_t)(tick % 1000000), 9);
        p->used = used;
    }
    fake_take_lock(p, day->worker);
    fake_stack(p, day->worker, (struct fake_frame[]){ { PLAIN, day->code, (uint32_t)(tick % 8) } }, 1);
}

static uint64_t number_of(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : usual;
}

static void the_memory_of_a_day_is_flat(void **state)
{
    (void)state;
    struct day day;
    const uint64_t ticks = number_of("PYREEL_DAY_TICKS", soak(TICKS)), parts = number_of("PYREEL_DAY_PARTS", 0);
    long limited = 0;
    begin(&day);
    for (uint64_t tick = 0; tick < ticks; tick++) {
        struct fault why = { 0 };
        live(&day, tick);
        struct watched *watched = day.sampler.watched[0];
        if (sampler_tick(&day.sampler, watched, clock_now_ns(), 0, &why) != SAMPLER_GOING)
            fail_msg("tick %" PRIu64 ": %s", tick, why.text);
        if (parts && tick % PART_TICKS == PART_TICKS - 1) {
            sampler_flush(&day.sampler);
            end_stream(&day);
            begin_stream(&day);
            sampler_restart(&day.sampler);
        }
        if (tick == LIMITED)
            limited = resident_bytes();
        if (getenv("PYREEL_DAY_TICKS") && tick % (ticks / 20) == 0)
            fprintf(stderr, "%9" PRIu64 " ticks  %5.1f MiB  %u threads, %u functions\n", tick,
                    (double)resident_bytes() / 1048576, day.sampler.emitter.last_thread,
                    day.sampler.emitter.definitions.functions.ids.count);
    }
    const long last = resident_bytes();
    end(&day);
    if (last > MEMORY_MOST)
        fail_msg("%ld bytes of memory after %" PRIu64 " ticks", last, ticks);
    if (limited && last - limited > GROWTH_MOST)
        fail_msg("the memory grew by %ld bytes after %" PRIu64 " ticks", last - limited, (uint64_t)LIMITED);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(the_memory_of_a_day_is_flat) };
    return run_all(tests);
}
