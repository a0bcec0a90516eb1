/* SPDX-License-Identifier: MIT */
#include "record/stand.h"

#include "formats/alloc.h"
#include "record/clock.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define AHEAD      2        /* moments that a post has timers for */
#define ATTEMPTS   4        /* of work that waits each time */
#define MOMENTS    4        /* that are known of a post: a power of 2, more than AHEAD */
#define SPIN_NS    80000    /* the caller waits so long without going to sleep: work is done in less, as a rule */
#define STARVED_NS 50000000 /* a post that comes so late does not get its processor */
#define SWITCH_NS  7000     /* what an interrupt and two switches take besides the post's own time */
#define STACK_SIZE (1u << 20)
#define NS         1000000000u
#define WORKING    UINT32_MAX

/* How work went. */
struct stood {
    bool waited, stayed;
    uint64_t began_ns; /* when it was begun first */
    uint64_t used_ns;  /* processor time of the thread that did it, up to the end */
};

/* Appointments have numbers, from 1. */
struct post {
    uint32_t processor;
    pthread_t thread;
    bool raise;
    int timers[AHEAD];                 /* of appointment n: n % AHEAD */
    _Atomic uint64_t moments[MOMENTS]; /* of appointment n: n % MOMENTS */
    _Atomic uint32_t last; /* the last one whose moment is known. A futex: without more, the post sleeps on it */
    _Atomic bool stop;
    _Atomic uint32_t free;   /* the one that work may be done at */
    _Atomic uint32_t passed; /* the one whose moment was last. A futex: the caller sleeps on it */
    _Atomic bool caller_sleeps;
    stand_work *work;
    void *data;

    uint32_t worked;     /* the last one that work was done at */
    struct stood stood;  /* how that went */
    uint64_t counted_ns; /* of its processor time, in stand->used_ns */
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Lets the other thread of the core go on while we spin. */
static void pause_a_moment(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Whether appointment a comes before b. */
static bool is_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

/* ---- a post ---- */

static void bind_to(uint32_t processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

/* A moment that has passed is at once. */
static void arm(int timer, uint64_t moment_ns)
{
    const struct itimerspec when = { .it_value = { (time_t)(moment_ns / NS), (long)(moment_ns % NS) } };
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* The moment may be moved meanwhile: pass_pending(). */
static void arm_appointment(struct post *post, uint32_t number)
{
    uint64_t moment_ns;
    do {
        moment_ns = atomic_load(&post->moments[number % MOMENTS]);
        arm(post->timers[number % AHEAD], moment_ns);
    } while (atomic_load(&post->moments[number % MOMENTS]) != moment_ns);
}

/* Work that has waited is done again at once: whoever had what it waited for runs on until we wake, and stands still
 * only then. */
static struct stood do_work(stand_work *work, void *data)
{
    struct stood stood = { .began_ns = clock_now_ns() };
    uint64_t now_ns = stood.began_ns;
    for (int i = 0; i < ATTEMPTS; i++) {
        const struct stay before = stay_now();
        work(data, now_ns);
        const struct stay after = stay_now();
        stood.used_ns = after.used_ns;
        stood.stayed = before.waits == after.waits && before.preemptions == after.preemptions;
        if (before.waits == after.waits)
            break;
        stood.waited = true;
        now_ns = clock_now_ns();
    }
    return stood;
}

static void do_appointed(struct post *post, uint32_t number)
{
    post->stood = do_work(post->work, post->data);
    post->stood.stayed &= sched_getcpu() == (int)post->processor; /* not where cpusets have changed since */
    post->worked = number;
}

static void *post_main(void *data)
{
    struct post *post = data;
    bind_to(post->processor);
    if (post->raise)
        priority_raise();
    for (uint32_t next = 1, armed = 0; !atomic_load(&post->stop); next++) {
        uint32_t last;
        while (is_before(last = atomic_load(&post->last), next) && !atomic_load(&post->stop))
            futex_wait(&post->last, last, NULL);
        if (atomic_load(&post->stop))
            break;
        for (; is_before(armed, last) && is_before(armed, next + AHEAD - 1); armed++)
            arm_appointment(post, armed + 1);
        if (atomic_load(&post->stop)) /* it may have come before the timer was armed */
            break;
        uint64_t expired;
        while (read(post->timers[next % AHEAD], &expired, sizeof(expired)) < 0 && !atomic_load(&post->stop)) {
        }
        uint32_t expected = next;
        if (atomic_compare_exchange_strong(&post->free, &expected, WORKING))
            do_appointed(post, next);
        atomic_store(&post->passed, next);
        if (atomic_load(&post->caller_sleeps))
            futex_wake(&post->passed);
    }
    return NULL;
}

static void free_post(struct post *post)
{
    for (size_t i = 0; i < AHEAD; i++)
        if (post->timers[i] >= 0)
            close(post->timers[i]);
    free(post);
}

/* Signals are for the caller, whose sleep they interrupt. */
static bool start(struct post *post)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    sigfillset(&all);
    sigdelset(&all, SIGXCPU); /* the watchdog of its priority */
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool good = pthread_create(&post->thread, &attributes, post_main, post) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return good;
}

static struct post *open_post(uint32_t processor, bool raise)
{
    struct post *post = alloc_zeroed(1, sizeof(*post));
    post->processor = processor;
    post->raise = raise;
    bool good = true;
    for (size_t i = 0; i < AHEAD; i++)
        good &= (post->timers[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) >= 0;
    if (good && start(post))
        return post;
    free_post(post);
    return NULL;
}

static void close_post(struct post *post)
{
    atomic_store(&post->stop, true);
    atomic_fetch_add(&post->last, 1);
    futex_wake(&post->last);
    for (size_t i = 0; i < AHEAD; i++)
        arm(post->timers[i], 1);
    pthread_join(post->thread, NULL);
    free_post(post);
}

/* ---- appointments ---- */

void stand_open(struct stand *stand, bool raise)
{
    *stand = (struct stand){ .raise = raise };
    if (sched_getaffinity(0, sizeof(stand->allowed), &stand->allowed) != 0)
        CPU_ZERO(&stand->allowed);
    stand->count = CPU_COUNT(&stand->allowed);
    stand->before_ns = stay_now().used_ns;
}

bool stand_may(const struct stand *stand, uint32_t processor)
{
    return processor < STAND_PROCESSORS && CPU_ISSET(processor, &stand->allowed);
}

/* Adds the caller's waits since then to those that are for our sake, and not for what the work reads. */
static void note_waits(struct stand *stand, const struct stay *before)
{
    stand->waits += stay_now().waits - before->waits;
}

/* Two of us on the program's processor would interrupt the program twice in a tick. */
static void step_aside(struct stand *stand, uint32_t processor)
{
    if (sched_getcpu() != (int)processor)
        return;
    cpu_set_t others = stand->allowed;
    CPU_CLR(processor, &others);
    const struct stay before = stay_now();
    sched_setaffinity(0, sizeof(others), &others);
    note_waits(stand, &before);
}

/* Makes a moment known. Returns the number of its appointment. */
static uint32_t tell_moment(struct post *post, uint64_t moment_ns)
{
    const uint32_t number = atomic_load(&post->last) + 1;
    post->moments[number % MOMENTS] = moment_ns;
    atomic_store(&post->last, number);
    return number;
}

/* Moments that the post was told of and will not be needed: they are over at once, else what is appointed now would
 * have to wait for them. */
static void pass_pending(struct post *post, uint32_t last)
{
    for (uint32_t number = atomic_load(&post->passed) + 1; !is_before(last, number); number++) {
        atomic_store(&post->moments[number % MOMENTS], 1);
        arm(post->timers[number % AHEAD], 1);
    }
}

/* The appointment at a moment, which may be known already. */
static uint32_t appoint(struct post *post, uint64_t moment_ns)
{
    const uint32_t last = atomic_load(&post->last);
    return last && post->moments[last % MOMENTS] == moment_ns ? last : tell_moment(post, moment_ns);
}

bool stand_appoint(struct stand *stand, uint32_t processor, uint64_t moment_ns, uint64_t next_ns, stand_work *work,
                   void *data)
{
    if (!stand_may(stand, processor))
        return false;
    stand->appointed = NULL;
    stand->work = work;
    stand->data = data;
    stand->moment_ns = moment_ns;
    if (stand->count == 1)
        return true;
    step_aside(stand, processor);
    struct post *post = stand->posts[processor];
    if (!post)
        post = stand->posts[processor] = open_post(processor, stand->raise);
    if (!post)
        return false;
    /* All that the post needs is there before it can see the moment. */
    const uint32_t known = atomic_load(&post->last);
    const bool told = known && post->moments[known % MOMENTS] == moment_ns;
    post->work = work;
    post->data = data;
    if (!told)
        pass_pending(post, known);
    atomic_store(&post->free, told ? known : known + 1);
    stand->sequence = appoint(post, moment_ns);
    if (next_ns)
        tell_moment(post, next_ns);
    /* It sleeps on a moment that it knew before, or on the next word of ours. */
    if (!is_before(atomic_load(&post->passed), known))
        futex_wake(&post->last);
    stand->appointed = post;
    return true;
}

static bool has_passed(struct post *post, uint32_t number)
{
    return !is_before(atomic_load_explicit(&post->passed, memory_order_acquire), number);
}

/* Calls off an appointment. False when its work has begun, or is done. */
static bool call_off(struct post *post, uint32_t number)
{
    return atomic_compare_exchange_strong(&post->free, &number, 0);
}

/* To be woken takes ten times what a few microseconds of spinning do, and costs the program as well. A post that does
 * not get its processor, as when a thread with a higher priority has that, is not waited for: the appointment is called
 * off. */
static void wait_for(struct stand *stand, struct post *post, uint32_t number)
{
    static const struct timespec patience = { .tv_nsec = STARVED_NS };
    const uint64_t give_up_ns = clock_now_ns() + SPIN_NS;
    while (!has_passed(post, number) && clock_now_ns() < give_up_ns)
        for (int i = 0; i < 32 && !has_passed(post, number); i++)
            pause_a_moment();
    if (has_passed(post, number))
        return;
    const struct stay before = stay_now();
    atomic_store(&post->caller_sleeps, true);
    bool gone = false;
    for (uint32_t passed; !gone && is_before(passed = atomic_load(&post->passed), number);) {
        futex_wait(&post->passed, passed, &patience);
        gone = !has_passed(post, number) && clock_now_ns() > give_up_ns + STARVED_NS && call_off(post, number);
    }
    atomic_store(&post->caller_sleeps, false);
    note_waits(stand, &before);
}

static void note(struct stand *stand, const struct stood *stood)
{
    stand->works++;
    stand->waited = stood->waited;
    stand->stayed = stood->stayed;
    stand->began_ns = stood->began_ns;
}

/* The caller is on the only processor, and so it stands there. */
static bool work_here(struct stand *stand)
{
    const struct stay before = stay_now();
    clock_sleep_until(stand->moment_ns);
    note_waits(stand, &before);
    const struct stood stood = do_work(stand->work, stand->data);
    note(stand, &stood);
    stand->used_ns = stood.used_ns - stand->before_ns;
    return true;
}

bool stand_meet(struct stand *stand)
{
    struct post *post = stand->appointed;
    if (!post)
        return work_here(stand);
    wait_for(stand, post, stand->sequence);
    if (post->worked != stand->sequence)
        return false;
    note(stand, &post->stood);
    stand->used_ns += post->stood.used_ns - post->counted_ns;
    post->counted_ns = post->stood.used_ns;
    return true;
}

void stand_cancel(struct stand *stand)
{
    struct post *post = stand->appointed;
    if (post && !call_off(post, stand->sequence) && atomic_load(&post->free) == WORKING)
        wait_for(stand, post, stand->sequence);
    stand->appointed = NULL;
}

uint64_t stand_taken_ns(const struct stand *stand)
{
    return stand->used_ns + stand->works * SWITCH_NS;
}

void stand_close(struct stand *stand)
{
    for (size_t i = 0; i < STAND_PROCESSORS; i++)
        if (stand->posts[i])
            close_post(stand->posts[i]);
    *stand = (struct stand){ 0 };
}

/* ---- staying ---- */

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS + (uint64_t)time.tv_usec * 1000u;
}

struct stay stay_now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (struct stay){ (uint64_t)usage.ru_nvcsw, (uint64_t)usage.ru_nivcsw,
                          ns_of(usage.ru_utime) + ns_of(usage.ru_stime) };
}
