/* SPDX-License-Identifier: MIT */
/* What the kernel says of threads that compute and that sleep. */
#include "record/process/cpu.h"

#include "record/process/clock.h"
#include "tests/fakes/testing.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define S  UINT64_C(1000000000)
#define MS UINT64_C(1000000)

/* A thread that computes until it is told to stop. */
struct busy {
    pthread_t thread;
    _Atomic pid_t tid;
    atomic_bool stop;
    struct cpu cpu;
};

static void *compute(void *data)
{
    struct busy *busy = data;
    atomic_store(&busy->tid, (pid_t)syscall(SYS_gettid));
    while (!atomic_load(&busy->stop))
        continue;
    return NULL;
}

static void begin(struct busy *busy)
{
    *busy = (struct busy){ 0 };
    assert_int_equal(pthread_create(&busy->thread, NULL, compute, busy), 0);
    while (!atomic_load(&busy->tid))
        usleep(100);
    cpu_open(&busy->cpu, getpid(), atomic_load(&busy->tid), CPU_NEW);
}

static void end(struct busy *busy)
{
    atomic_store(&busy->stop, true);
    pthread_join(busy->thread, NULL);
    cpu_close(&busy->cpu);
}

static void used_time_is_the_time_that_passed_at_most(void **state)
{
    (void)state;
    struct busy busy;
    uint64_t used_ns = 0;
    const uint64_t begin_ns = clock_now_ns();
    begin(&busy);
    for (int i = 0; i < 100; i++) {
        usleep(500);
        const struct cpu_look look = cpu_look(&busy.cpu, true, CPU_ANYBODY);
        assert_true(look.known && (look.running || look.ready));
        used_ns += look.used_ns;
    }
    assert_true(used_ns <= clock_now_ns() - begin_ns + 10 * MS); /* the kernel's note is renewed each few ms */
    end(&busy);
}

/* ---- a thread that sleeps now and then ---- */

/* A thread that computes for so long by its own clock each time it is asked to, and sleeps otherwise. */
struct sleeper {
    pthread_t thread;
    _Atomic pid_t tid;
    sem_t begin;
    uint64_t burn_ns; /* 0: it ends */
};

static uint64_t own_clock_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * S + (uint64_t)time.tv_nsec;
}

static void *compute_at_times(void *data)
{
    struct sleeper *sleeper = data;
    atomic_store(&sleeper->tid, (pid_t)syscall(SYS_gettid));
    for (;;) {
        while (sem_wait(&sleeper->begin) != 0)
            continue;
        if (sleeper->burn_ns == 0)
            return NULL;
        const uint64_t begin_ns = own_clock_ns();
        while (own_clock_ns() - begin_ns < sleeper->burn_ns)
            continue;
    }
}

/* The thread's own clock, once the thread sleeps: only then the clock stands still. */
static uint64_t clock_asleep_ns(const struct sleeper *sleeper)
{
    char path[64], text[512];
    clockid_t clock;
    struct timespec time;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)atomic_load(&sleeper->tid));
    assert_int_equal(pthread_getcpuclockid(sleeper->thread, &clock), 0);
    for (uint64_t before_ns = UINT64_MAX;;) {
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        assert_non_null(fgets(text, sizeof(text), file));
        fclose(file);
        assert_int_equal(clock_gettime(clock, &time), 0);
        const uint64_t now_ns = (uint64_t)time.tv_sec * S + (uint64_t)time.tv_nsec;
        if (!cpu_stat_runs(text) && now_ns == before_ns)
            return now_ns;
        before_ns = now_ns;
        usleep(1000);
    }
}

static void begin_sleeper(struct sleeper *sleeper)
{
    *sleeper = (struct sleeper){ 0 };
    sem_init(&sleeper->begin, 0, 0);
    assert_int_equal(pthread_create(&sleeper->thread, NULL, compute_at_times, sleeper), 0);
    while (!atomic_load(&sleeper->tid))
        usleep(100);
    clock_asleep_ns(sleeper);
}

static void burn(struct sleeper *sleeper, uint64_t burn_ns)
{
    sleeper->burn_ns = burn_ns;
    sem_post(&sleeper->begin);
}

static void end_sleeper(struct sleeper *sleeper)
{
    burn(sleeper, 0);
    pthread_join(sleeper->thread, NULL);
}

/* What was used while nobody looked is told once, and is what the thread's own clock says. */
static void used_time_is_what_the_threads_own_clock_says(void **state)
{
    (void)state;
    struct sleeper sleeper;
    struct cpu cpu;
    begin_sleeper(&sleeper);
    uint64_t before_ns = clock_asleep_ns(&sleeper);
    cpu_open(&cpu, getpid(), atomic_load(&sleeper.tid), CPU_NEW);
    for (int i = 0; i < 4; i++) {
        const uint64_t burn_ns = (uint64_t)(10 * i + 5) * MS;
        burn(&sleeper, burn_ns);
        uint64_t after_ns;
        do
            after_ns = clock_asleep_ns(&sleeper);
        while (after_ns - before_ns < burn_ns);
        const struct cpu_look look = cpu_look(&cpu, true, CPU_ANYBODY);
        assert_true(look.known);
        assert_false(look.running);
        assert_int_equal(look.used_ns, after_ns - before_ns);
        assert_int_equal(cpu_look(&cpu, true, CPU_ANYBODY).used_ns, 0);
        before_ns = after_ns;
    }
    cpu_close(&cpu);
    end_sleeper(&sleeper);
}

static void a_thread_that_sleeps_does_not_run(void **state)
{
    (void)state;
    struct sleeper sleeper;
    struct cpu cpu;
    begin_sleeper(&sleeper);
    cpu_open(&cpu, getpid(), atomic_load(&sleeper.tid), CPU_NEW);
    for (int i = 0; i < 50; i++) {
        const struct cpu_look look = cpu_look(&cpu, i % 2, CPU_ANYBODY);
        assert_true(look.known);
        assert_false(look.running);
        assert_int_equal(look.used_ns, 0);
    }
    cpu_close(&cpu);
    end_sleeper(&sleeper);
}

/* Nobody ran, as the process's clock says: then no file is read. */
static void a_thread_that_sleeps_is_not_asked_when_nobody_ran(void **state)
{
    (void)state;
    struct sleeper sleeper;
    struct cpu cpu;
    begin_sleeper(&sleeper);
    cpu_open(&cpu, getpid(), atomic_load(&sleeper.tid), CPU_NEW);
    assert_false(cpu_look(&cpu, true, CPU_ANYBODY).running);
    const int note = cpu.note, closed = dup(note);
    close(closed);
    cpu.note = closed; /* what is read of it is an error */
    assert_true(cpu_look(&cpu, false, CPU_ANYBODY).known);
    assert_false(cpu_look(&cpu, true, CPU_ANYBODY).known);
    cpu.note = note;
    cpu_close(&cpu);
    end_sleeper(&sleeper);
}

/* ---- a thread of which the kernel loses count ---- */

static int made_file(void)
{
    const int file = memfd_create("made", MFD_CLOEXEC);
    assert_true(file >= 0);
    return file;
}

static void put_in(int file, const char *text)
{
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(pwrite(file, text, strlen(text), 0), strlen(text));
}

/* What the kernel says at a look: CPU time, how often the thread got and lost a processor. And whether it has one. */
struct said {
    uint64_t ran_ns, got, lost;
    bool runs;
};

static void say(struct cpu *cpu, const struct said *said)
{
    char text[128];
    snprintf(text, sizeof(text), "%" PRIu64 " 0 %" PRIu64 "\n", said->ran_ns, said->got);
    put_in(cpu->note, text);
    snprintf(text, sizeof(text),
             "a (1, #threads: 1)\nse.exec_start : 1.000000\nnr_switches : %" PRIu64 "\nnr_involuntary_switches : 0\n",
             said->lost);
    put_in(cpu->sched, text);
}

/* The kernel may count that a thread lost a processor that it never counted as got. */
static void a_thread_runs_although_the_kernel_loses_count(void **state)
{
    (void)state;
    static const struct said looks[] = {
        { 100, 10, 9, true },   { 200, 12, 12, false },
        { 300, 13, 12, true },  { 400, 15, 16, false }, /* lost count once */
        { 500, 16, 16, true },  { 500, 16, 17, false },
        { 600, 17, 17, true },  { 700, 19, 20, false }, /* and once more, but nobody can tell ... */
        { 800, 19, 20, false }, { 900, 19, 20, true },  /* ... until the thread used CPU time without a new run */
        { 900, 19, 21, false }, { 900, 20, 21, true },
        { 950, 20, 22, false },                        /* the thread lost its processor between the two reads ... */
        { 960, 20, 22, false },                        /* ... so what it used before comes late */
        { 960, 20, 22, false }, { 970, 30, 28, true }, /* what no kernel says */
        { 980, 30, 29, false },
    };
    struct cpu cpu = { .watched = true, .note = made_file(), .sched = made_file(), .state = made_file() };
    put_in(cpu.state, "running");
    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
        say(&cpu, &looks[i]);
        const struct cpu_look look = cpu_look(&cpu, true, CPU_ANYBODY);
        assert_true(look.known);
        assert_int_equal(look.running, looks[i].runs);
        assert_int_equal(look.ready, !looks[i].runs);
    }
    cpu_close(&cpu);
}

/* ---- a thread that the recorder stops in its sleep ---- */

static pid_t begin_child(void)
{
    const pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    assert_true(child > 0);
    return child;
}

static void stop_and_release(pid_t child)
{
    assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
    assert_int_equal(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), 0);
    assert_int_equal(waitpid(child, NULL, __WALL), child);
    assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
}

/* Waits until a look sees the thread asleep. */
static struct cpu_look look_at_sleep(struct cpu *cpu)
{
    struct cpu_look look = { 0 };
    uint64_t used_ns = 0;
    do {
        usleep(1000);
        look = cpu_look(cpu, true, CPU_ANYBODY);
        assert_true(look.known);
        used_ns += look.used_ns;
    } while (look.running);
    look.used_ns = used_ns;
    return look;
}

static void the_stop_of_a_thread_that_sleeps_is_no_time_of_the_thread(void **state)
{
    (void)state;
    const pid_t child = begin_child();
    const time_t since = time(NULL);
    for (int free = 0; free < 20;) { /* a stop that takes very long counts, and so does what is guessed meanwhile */
        struct cpu cpu;
        assert_true(is_patient(since));
        cpu_open(&cpu, child, child, CPU_NEW);
        cpu.stops = true;
        look_at_sleep(&cpu);
        const uint64_t before_ns = cpu.ran_ns;
        stop_and_release(child);
        const uint64_t used_ns = look_at_sleep(&cpu).used_ns;
        free += cpu.ran_ns > before_ns && cpu.reported_ns <= cpu.ran_ns && used_ns == 0;
        cpu_close(&cpu);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* ---- a thread that is not there ---- */

static void a_thread_that_has_ended_is_not_known(void **state)
{
    (void)state;
    struct sleeper sleeper;
    struct cpu cpu;
    struct cpu_look look = { .known = true };
    begin_sleeper(&sleeper);
    cpu_open(&cpu, getpid(), atomic_load(&sleeper.tid), CPU_NEW);
    end_sleeper(&sleeper);
    while (look.known) { /* the kernel tells of its end before it is over */
        look = cpu_look(&cpu, true, CPU_ANYBODY);
        usleep(100);
    }
    assert_false(look.running);
    assert_int_equal(look.used_ns, 0);
    cpu_close(&cpu);
    assert_false(cpu.watched);
    cpu_close(&cpu); /* and again */
}

static void a_thread_that_never_was_is_not_known(void **state)
{
    (void)state;
    struct cpu cpu;
    cpu_open(&cpu, getpid(), 0x7FFFFFFF, CPU_NEW);
    assert_false(cpu_look(&cpu, true, CPU_ANYBODY).known);
    cpu_close(&cpu);
}

/* Its number is free for another file of ours. */
static void files_are_closed(void **state)
{
    (void)state;
    struct cpu cpu;
    const int before = dup(0);
    close(before);
    for (int i = 0; i < 10; i++) {
        cpu_open(&cpu, getpid(), getpid(), CPU_NEW);
        assert_true(cpu.note >= 0 && cpu.state >= 0);
        cpu_close(&cpu);
        cpu_open(&cpu, getpid(), 0x7FFFFFFF, CPU_NEW);
        cpu_close(&cpu);
    }
    const int after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

/* ---- a process ---- */

static void note_signal(int number)
{
    (void)number;
}

static void the_process_clock_tells_whether_anybody_ran(void **state)
{
    (void)state;
    struct cpu_process process;
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGUSR1, note_signal);
        for (;;)
            pause();
    }
    cpu_process_open(&process, child);
    assert_true(process.known);
    assert_true(cpu_process_ran(&process)); /* nobody has looked before */
    while (cpu_process_ran(&process))       /* until it sleeps */
        usleep(10000);
    assert_false(cpu_process_ran(&process));
    kill(child, SIGUSR1);
    while (!cpu_process_ran(&process))
        usleep(1000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    for (int i = 0; i < 3; i++)
        assert_true(cpu_process_ran(&process)); /* not known: it may have */
}

static void a_process_without_a_clock_may_always_have_run(void **state)
{
    (void)state;
    struct cpu_process process;
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    cpu_process_open(&process, child);
    assert_false(process.known);
    for (int i = 0; i < 3; i++)
        assert_true(cpu_process_ran(&process));
}

/* ---- the text of /proc/PID/stat ---- */

static void a_state_is_behind_the_name(void **state)
{
    (void)state;
    assert_true(cpu_stat_runs("17 (python) R 1 17"));
    assert_false(cpu_stat_runs("17 (python) S 1 17"));
    assert_false(cpu_stat_runs("17 (python) D 1 17"));
    assert_true(cpu_stat_runs("17 (a) S (b)) R 1 17"));
    assert_false(cpu_stat_runs("17 (a) R (b)) S 1 17"));
    assert_false(cpu_stat_runs("17 (python)R 1 17"));
    assert_false(cpu_stat_runs("17 (python)"));
    assert_false(cpu_stat_runs("17 (python) "));
    assert_false(cpu_stat_runs("R"));
    assert_false(cpu_stat_runs(""));
}

/* A kernel without /proc/PID/task/TID/syscall says the same in another file. */
static void both_files_tell_the_state(void **state)
{
    (void)state;
    struct sleeper sleeper;
    struct busy busy;
    struct cpu cpu;
    char path[64];
    begin_sleeper(&sleeper);
    cpu_open(&cpu, getpid(), atomic_load(&sleeper.tid), CPU_NEW);
    begin(&busy);
    struct cpu *const both[] = { &cpu, &busy.cpu };
    for (size_t i = 0; i < 2; i++) {
        close(both[i]->state);
        snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
                 (int)(i == 0 ? atomic_load(&sleeper.tid) : atomic_load(&busy.tid)));
        both[i]->state = open(path, O_RDONLY | O_CLOEXEC);
        both[i]->state_is_stat = true;
        const struct cpu_look look = cpu_look(both[i], true, CPU_ANYBODY);
        assert_true(look.known);
        assert_int_equal(look.running || look.ready, i == 1);
    }
    end(&busy);
    cpu_close(&cpu);
    end_sleeper(&sleeper);
}

TEST_FILE(cpu)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(used_time_is_the_time_that_passed_at_most),
        cmocka_unit_test(used_time_is_what_the_threads_own_clock_says),
        cmocka_unit_test(a_thread_that_sleeps_does_not_run),
        cmocka_unit_test(a_thread_that_sleeps_is_not_asked_when_nobody_ran),
        cmocka_unit_test(a_thread_runs_although_the_kernel_loses_count),
        cmocka_unit_test(the_stop_of_a_thread_that_sleeps_is_no_time_of_the_thread),
        cmocka_unit_test(a_thread_that_has_ended_is_not_known),
        cmocka_unit_test(a_thread_that_never_was_is_not_known),
        cmocka_unit_test(files_are_closed),
        cmocka_unit_test(the_process_clock_tells_whether_anybody_ran),
        cmocka_unit_test(a_process_without_a_clock_may_always_have_run),
        cmocka_unit_test(a_state_is_behind_the_name),
        cmocka_unit_test(both_files_tell_the_state),
    };
    return run_all(tests);
}
