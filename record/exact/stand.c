/* SPDX-License-Identifier: MIT */
#include "record/exact/stand.h"

#include "formats/base/alloc.h"
#include "record/native/capture.h"
#include "record/process/clock.h"
#include "record/process/cpu.h"
#include "record/process/own_thread.h"
#include "record/process/priority.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ATTEMPTS    4        /* most repetitions of work during which the post sleeps each time */
#define MOMENTS     8        /* moments that a post remembers: a power of 2, greater than MOMENTS_AHEAD + 1 */
#define SPIN_NS     80000    /* the caller spins so long before it sleeps: most work takes less */
#define STARVED_NS  50000000 /* a post that is later than this does not get its processor: the caller gives up */
#define SWITCH_NS   7000     /* estimated cost of an interrupt and two switches, besides the post's processor time */
#define STACK_SIZE  (1u << 20)
#define NS          1000000000u
#define CLAIM_NS    60000  /* how long a post that woke in vain stays for the look of another post */
#define TOGETHER_NS 300000 /* how long a post stays for the other posts of its appointment, ... */
#define WORK_NS     400000 /* ... and for the work of the last one: it may wait for what a post keeps from running */
#define WORKING     UINT32_MAX /* value of post->free while the post works */
#define UNUSED_NS   1000000000 /* a post without an appointment for so long ends */

/* Who has the work: no post yet; a post does the work; a post has done it. */
enum claim { CLAIM_OPEN, CLAIM_TAKEN, CLAIM_DONE };

/* The result of work. */
struct stood {
    bool done, waited, stayed;
    uint64_t began_ns; /* when the first attempt began (monotonic) */
    uint64_t used_ns;  /* the kernel's processor time of the thread; it mostly lags behind by the present work */
};

/* Appointments of a post have numbers, from 1. */
struct post {
    /* Set by the caller before the thread starts. Then both threads read these, and arm the timers, at any time. */
    struct stand *stand;
    uint32_t processor;
    int timers[MOMENTS_AHEAD]; /* timer of appointment n: n % MOMENTS_AHEAD */

    /* Written by the caller at any time, read by both. */
    _Atomic uint64_t moments[MOMENTS]; /* moment of appointment n: n % MOMENTS */
    _Atomic uint32_t
        last; /* the last appointment with a known moment. A futex: the post sleeps on it until it changes */
    _Atomic bool stop;

    _Atomic uint32_t free; /* the appointment at which the post may work; 0: none; WORKING. Written by both */

    /* Written by the post at any time, read by both. */
    _Atomic uint32_t passed; /* the last appointment whose moment is over */
    _Atomic uint32_t wakes;  /* number of wake-ups so far, also those without work */

    /* The post writes these. The caller reads them when the post has passed the appointment. */
    uint32_t worked;         /* the last appointment at which the post tried to work */
    struct stood stood;      /* the result of that work */
    struct capture *capture; /* the post's in this appointment, or NULL; set by the caller as `moments` are */

    struct capture *begun; /* what capture_finish() has to finish. Only the post uses this */
    _Atomic bool busy;     /* the post waits until a thread stops, to let it go. Written by the post */

    /* Only the caller uses these. */
    pthread_t thread;
    uint32_t appointed;     /* the appointment that the caller waits for */
    uint64_t used_ns;       /* when the last appointment was made (monotonic), ... */
    uint64_t turn;          /* ... and its number */
    struct post *next;      /* in stand->ending */
    uint64_t counted_ns;    /* the post's processor time that stand->taken_ns has, ... */
    uint32_t counted_wakes; /* ... and the wake-ups */
};

/* The processor time of the calling thread that some stand's taken_ns has, or that does not count, as between two
 * ticks: the recorder would use that with fewer ticks, too. A caller with several stands spends its time once. */
static _Thread_local uint64_t caller_counted_ns;
/* The processors that the calling thread had before it stepped aside last, and those that it left itself. Another stand
 * of the thread may use what it had. They count while the thread has a stand. */
static _Thread_local cpu_set_t caller_had, caller_left;
static _Thread_local unsigned caller_stands; /* number of open stands of the calling thread */

static void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Gives the other hardware thread of the core more resources while this thread spins. */
static void pause_a_moment(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Whether appointment a comes before appointment b. Numbers may wrap around. */
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

/* Arms a timer. A moment in the past expires at once. */
static void arm(int timer, uint64_t moment_ns)
{
    const struct itimerspec when = { .it_value = { (time_t)(moment_ns / NS), (long)(moment_ns % NS) } };
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Arms the timer of an appointment. pass_pending() may change the moment at the same time, so compares again. */
static void arm_appointment(struct post *post, uint32_t number)
{
    uint64_t moment_ns;
    do {
        moment_ns = atomic_load(&post->moments[number % MOMENTS]);
        arm(post->timers[number % MOMENTS_AHEAD], moment_ns);
    } while (atomic_load(&post->moments[number % MOMENTS]) != moment_ns);
}

/* Does the work. If the thread slept during the work, does the work again at once: the program ran while the thread
 * slept, and stands still only now. `before`: the counts when the thread came to the processor. */
static struct stood stand_do_work(const struct stand *stand, uint32_t processor, struct stay before, uint64_t now_ns)
{
    struct stood stood = { .began_ns = now_ns };
    for (int i = 0; i < ATTEMPTS; i++) {
        stood.done = stand->work(stand->data, processor, now_ns);
        const struct stay after = stand_stay_now();
        stood.used_ns = after.used_ns;
        stood.stayed = before.waits == after.waits && before.preemptions == after.preemptions;
        if (before.waits == after.waits)
            break;
        stood.waited = true;
        before = after;
        now_ns = clock_now_ns();
    }
    return stood;
}

/* Stays until another post has done the work. Returns false when the others do not come, or the work takes too long. */
static bool stay_for_work(struct stand *stand)
{
    const uint64_t begin_ns = clock_now_ns();
    uint32_t claim;
    while ((claim = atomic_load(&stand->claim)) != CLAIM_DONE &&
           clock_now_ns() < begin_ns + (claim == CLAIM_TAKEN ? TOGETHER_NS + WORK_NS : TOGETHER_NS))
        pause_a_moment();
    return claim == CLAIM_DONE;
}

/* Takes the work when all the other posts have come. Else stays until it is done, and notes whether it did so. */
static bool come_last(struct post *post)
{
    struct stand *stand = post->stand;
    const bool alone = stand->appointed_count < 2;
    const bool here = alone || sched_getcpu() == (int)post->processor; /* a changed cpuset may have moved the thread */
    const struct stay before = alone ? (struct stay){ 0 } : stand_stay_now();
    if (atomic_fetch_add(&stand->came, 1) + 1 == stand->appointed_count) {
        atomic_store(&stand->claim, CLAIM_TAKEN);
        return true;
    }
    const bool done = stay_for_work(stand);
    const struct stay after = stand_stay_now();
    post->stood.used_ns = after.used_ns;
    post->stood.stayed = here && done && before.waits == after.waits && before.preemptions == after.preemptions &&
                         sched_getcpu() == (int)post->processor;
    return false;
}

/* Asks the thread that stands on this processor to stop, if the work has proved that it stands. Until it stops, it runs
 * no code of its own. */
static void begin_capture(struct post *post)
{
    if (!post->capture || !post->stood.stayed || !capture_begin(post->capture))
        return;
    post->begun = post->capture;
    atomic_store(&post->busy, true);
}

static void do_appointed(struct post *post, uint32_t number)
{
    const uint64_t now_ns = clock_now_ns();
    post->worked = number;
    post->stood = (struct stood){ .began_ns = now_ns };
    if (!come_last(post)) {
        begin_capture(post);
        return;
    }
    post->stood = stand_do_work(post->stand, post->processor, stand_stay_now(), now_ns);
    atomic_store(&post->stand->claim, CLAIM_DONE);
    post->stood.stayed &= sched_getcpu() == (int)post->processor; /* a changed cpuset may have moved the thread */
    begin_capture(post);
}

/* Takes the appointment, if it is the post's. */
static bool take_appointment(struct post *post, uint32_t number)
{
    uint32_t expected = number;
    if (!atomic_compare_exchange_strong(&post->free, &expected, WORKING))
        return false;
    do_appointed(post, number);
    return true;
}

/* Whether the last appointment, maybe of other posts, is for the moment for which a post woke. A post that is far
 * behind has to come to later moments. */
static bool is_moment_of_look(const struct post *post, uint32_t number)
{
    const uint32_t behind = atomic_load(&post->last) - number;
    return behind <= MOMENTS_AHEAD && !atomic_load(&post->stop) &&
           atomic_load(&post->stand->look_ns) == atomic_load(&post->moments[number % MOMENTS]);
}

/* Another post may look at the moment for which this post woke in vain. Until it has done so, the program stands still
 * on this processor, too: whoever ran here is not taken for somebody who waits for a processor. Or the appointment is
 * made only now. */
static void stand_by(struct post *post, uint32_t number)
{
    const uint64_t give_up_ns = clock_now_ns() + CLAIM_NS;
    while (is_moment_of_look(post, number) && atomic_load(&post->stand->claim) != CLAIM_DONE &&
           clock_now_ns() < give_up_ns && !take_appointment(post, number))
        pause_a_moment();
}

/* Lets the thread go that begin_capture() asked to stop. The wait is one wake more. */
static void finish_capture(struct post *post)
{
    capture_finish(post->begun, &post->stop);
    atomic_fetch_add(&post->wakes, 1);
    atomic_store(&post->busy, false);
}

static void *post_main(void *data)
{
    struct post *post = data;
    bind_to(post->processor);
    if (post->stand->raise)
        priority_raise();
    for (uint32_t next = 1, armed = 0; !atomic_load(&post->stop); next++) {
        uint32_t last;
        if (is_before(atomic_load(&post->last), next))
            cpu_wakes_at(UINT64_MAX);
        while (is_before(last = atomic_load(&post->last), next) && !atomic_load(&post->stop))
            futex_wait(&post->last, last, NULL);
        if (atomic_load(&post->stop))
            break;
        for (; is_before(armed, last) && is_before(armed, next + MOMENTS_AHEAD - 1); armed++)
            arm_appointment(post, armed + 1);
        if (atomic_load(&post->stop)) /* close_post() may have armed the timer before this loop did */
            break;
        cpu_wakes_at(atomic_load(&post->moments[next % MOMENTS]));
        uint64_t expired;
        while (read(post->timers[next % MOMENTS_AHEAD], &expired, sizeof(expired)) < 0 && !atomic_load(&post->stop)) {
        }
        atomic_fetch_add(&post->wakes, 1);
        if (!take_appointment(post, next))
            stand_by(post, next);
        atomic_store(&post->passed, next);
        atomic_fetch_add(&post->stand->passes, 1);
        if (atomic_load(&post->stand->caller_sleeps))
            futex_wake(&post->stand->passes);
        if (atomic_load(&post->busy))
            finish_capture(post);
    }
    cpu_end_thread();
    return NULL;
}

static void free_post(struct post *post)
{
    for (size_t i = 0; i < MOMENTS_AHEAD; i++)
        if (post->timers[i] >= 0)
            close(post->timers[i]);
    free(post);
}

/* Starts the thread of a post. */
static bool post_start(struct post *post)
{
    sigset_t but;
    pthread_attr_t attributes;
    sigemptyset(&but);
    sigaddset(&but, SIGXCPU); /* ends a real-time thread that runs too long, see priority_raise() */
    sigaddset(&but, SIGURG);  /* ends the wait for a thread that does not stop, see post_stop() */
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    const bool good = own_thread_start(&post->thread, &attributes, &but, post_main, post);
    if (good && post->stand->raise)
        priority_lend(post->thread);
    pthread_attr_destroy(&attributes);
    return good;
}

static struct post *open_post(struct stand *stand, uint32_t processor)
{
    struct post *post = alloc_zeroed(1, sizeof(*post));
    post->stand = stand;
    post->processor = processor;
    bool good = true;
    for (size_t i = 0; i < MOMENTS_AHEAD; i++)
        good &= (post->timers[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) >= 0;
    if (good && post_start(post))
        return post;
    free_post(post);
    return NULL;
}

/* Tells the thread to end. It ends soon, when it gets its processor. */
static void post_stop(struct post *post)
{
    atomic_store(&post->stop, true);
    atomic_fetch_add(&post->last, 1);
    futex_wake(&post->last);
    for (size_t i = 0; i < MOMENTS_AHEAD; i++)
        arm(post->timers[i], 1);
}

/* Whether the thread of a post that was told to end has ended. One that waits for a thread to stop is told again: the
 * signal may have come before the wait. */
static bool has_ended(struct post *post)
{
    if (pthread_tryjoin_np(post->thread, NULL) == 0)
        return true;
    if (atomic_load(&post->busy))
        pthread_kill(post->thread, SIGURG);
    return false;
}

/* Frees the posts of stand->ending whose threads have ended; if `waits`, all of them. */
static void stand_free_ended(struct stand *stand, bool waits)
{
    static const struct timespec nap = { .tv_nsec = 200000 };
    for (struct post **link = &stand->ending, *post; (post = *link);) {
        if (!has_ended(post)) {
            if (waits)
                nanosleep(&nap, NULL);
            else
                link = &post->next;
            continue;
        }
        *link = post->next;
        free_post(post);
    }
}

/* Ends the post with this index. */
static void end_post(struct stand *stand, size_t i)
{
    struct post *post = stand->posts[i];
    post_stop(post);
    post->next = stand->ending;
    stand->ending = post;
    stand->posts[i] = stand->posts[--stand->posts_count];
}

/* ---- appointments ---- */

void stand_open(struct stand *stand, bool raise)
{
    *stand = (struct stand){ .raise = raise };
    if (sched_getaffinity(0, sizeof(stand->allowed), &stand->allowed) != 0)
        CPU_ZERO(&stand->allowed);
    else if (caller_stands > 0 && CPU_EQUAL(&stand->allowed, &caller_left))
        stand->allowed = caller_had;
    stand->count = CPU_COUNT(&stand->allowed);
    stand->open = true;
    caller_stands++;
    caller_counted_ns = stand_stay_now().used_ns;
}

bool stand_may(const struct stand *stand, uint32_t processor)
{
    return processor < STAND_PROCESSORS && CPU_ISSET(processor, &stand->allowed);
}

/* Adds the caller's sleeps since `before` to stand->waits: sleeps for a post, not for what the work reads. */
static void note_waits(struct stand *stand, const struct stay *before)
{
    stand->waits += stand_stay_now().waits - before->waits;
}

/* Moves the caller away from the processors of the appointment, because caller and post on one processor would
 * interrupt the program twice per tick. If there is no other processor, the program may lose the caller's time, too:
 * see caller_took(). */
static void step_aside(struct stand *stand, const struct posts *posts)
{
    const bool crowded = stand->crowded;
    cpu_set_t others = stand->allowed;
    const bool among = posts_have(posts, (uint32_t)sched_getcpu());
    for (size_t i = 0; i < posts->count; i++)
        CPU_CLR(posts->processors[i], &others);
    stand->crowded = among && CPU_COUNT(&others) == 0;
    if (stand->crowded && !crowded)
        caller_counted_ns = stand_stay_now().used_ns;
    if (!among || stand->crowded)
        return;
    const struct stay before = stand_stay_now();
    if (sched_setaffinity(0, sizeof(others), &others) == 0) {
        caller_had = stand->allowed;
        caller_left = others;
    }
    note_waits(stand, &before);
}

/* Announces a moment to a post. Returns the number of the appointment. */
static uint32_t announce_moment(struct post *post, uint64_t moment_ns)
{
    const uint32_t number = atomic_load(&post->last) + 1;
    post->moments[number % MOMENTS] = moment_ns;
    atomic_store(&post->last, number);
    return number;
}

/* Makes all announced moments expire at once, when they are not needed any more. Otherwise the post would wait for them
 * before the new appointment. */
static void pass_pending(struct post *post, uint32_t last)
{
    for (uint32_t number = atomic_load(&post->passed) + 1; !is_before(last, number); number++) {
        atomic_store(&post->moments[number % MOMENTS], 1);
        arm(post->timers[number % MOMENTS_AHEAD], 1);
    }
}

static struct post *find_post(const struct stand *stand, uint32_t processor)
{
    for (size_t i = 0; i < stand->posts_count; i++)
        if (stand->posts[i]->processor == processor)
            return stand->posts[i];
    return NULL;
}

static struct post *post_on(struct stand *stand, uint32_t processor)
{
    struct post *post = find_post(stand, processor);
    if (post || !(post = open_post(stand, processor)))
        return post;
    stand->posts = alloc_grow(stand->posts, &stand->posts_room, stand->posts_count + 1, sizeof(struct post *));
    return stand->posts[stand->posts_count++] = post;
}

/* The number of the announced appointment with this moment; 0: none. */
static uint32_t find_announced(const struct post *post, uint64_t moment_ns)
{
    const uint32_t last = atomic_load(&post->last);
    for (uint32_t number = last; number && last - number < MOMENTS_AHEAD; number--)
        if (post->moments[number % MOMENTS] == moment_ns)
            return number;
    return 0;
}

static void appoint_post(struct post *post, const struct moments *moments)
{
    /* stand_appoint() has set everything that the post needs, before the post can see the moment. */
    const uint32_t known = atomic_load(&post->last), announced = find_announced(post, moments->due_ns);
    if (!announced)
        pass_pending(post, known);
    atomic_store(&post->free, announced ? announced : known + 1);
    post->appointed = announced ? announced : announce_moment(post, moments->due_ns);
    for (uint32_t i = 0; i < MOMENTS_AHEAD && moments->next_ns[i]; i++)
        if (is_before(atomic_load(&post->last), post->appointed + 1 + i))
            announce_moment(post, moments->next_ns[i]);
    /* A post that has passed all moments it knew sleeps on post->last. */
    if (!is_before(atomic_load(&post->passed), known))
        futex_wake(&post->last);
}

/* Leaves out what a post has taken since its last appointment: it woke for moments at which another post looked, and of
 * several posts at one moment the one that took most counts. */
static void leave_out_passes(const struct stand *stand, struct post *post)
{
    clockid_t clock;
    struct timespec used;
    if (post->turn + 1 < stand->turns && pthread_getcpuclockid(post->thread, &clock) == 0 &&
        clock_gettime(clock, &used) == 0) {
        post->counted_ns = (uint64_t)used.tv_sec * NS + (uint64_t)used.tv_nsec;
        post->counted_wakes = atomic_load(&post->wakes);
    }
    post->turn = stand->turns;
}

bool stand_appoint(struct stand *stand, const struct posts *posts, const struct moments *moments, stand_work *work,
                   void *data)
{
    const uint32_t *processors = posts->processors;
    stand->appointed_count = 0;
    stand->busy = false;
    for (size_t i = 0; i < posts->count; i++) {
        const struct post *post = stand->count > 1 && stand_may(stand, processors[i]) ? post_on(stand, processors[i])
                                                                                      : NULL;
        stand->busy |= post && atomic_load(&post->busy);
        if (!stand_may(stand, processors[i]) || (stand->count > 1 && !post) || stand->busy)
            return false;
    }
    if (!stand->ticking && (stand->crowded || stand->count == 1))
        caller_counted_ns = stand_stay_now().used_ns;
    stand->ticking = true;
    stand->work = work;
    stand->data = data;
    stand->processor = processors[0];
    stand->moment_ns = moments->due_ns;
    if (stand->count == 1)
        return true;
    step_aside(stand, posts);
    atomic_store(&stand->claim, CLAIM_OPEN);
    atomic_store(&stand->came, 0);
    atomic_store(&stand->look_ns, moments->due_ns);
    stand->appointed_count = posts->count;
    stand->turns++;
    const uint64_t now_ns = clock_now_ns();
    for (size_t i = 0; i < posts->count; i++) {
        stand->appointed[i] = find_post(stand, processors[i]);
        stand->appointed[i]->capture = stand->captures ? &stand->captures[i] : NULL;
        leave_out_passes(stand, stand->appointed[i]);
        stand->appointed[i]->used_ns = now_ns;
        appoint_post(stand->appointed[i], moments);
    }
    return true;
}

/* ---- the caller and the posts meet ---- */

static bool has_passed(struct post *post)
{
    return !is_before(atomic_load_explicit(&post->passed, memory_order_acquire), post->appointed);
}

/* Calls off an appointment. False when the post works at it. */
static bool call_off(struct post *post)
{
    uint32_t number = post->appointed;
    return atomic_compare_exchange_strong(&post->free, &number, 0) || atomic_load(&post->free) != WORKING;
}

/* Whether all data belongs to the caller again: each post has passed the moment, or was called off. Calls off the posts
 * that have not passed it when a post has taken the work, or when the caller gives up. */
static bool is_settled(struct stand *stand, bool gives_up)
{
    const bool over = gives_up || atomic_load_explicit(&stand->claim, memory_order_acquire) >= CLAIM_TAKEN;
    bool settled = true;
    for (size_t i = 0; i < stand->appointed_count; i++)
        settled &= has_passed(stand->appointed[i]) || (over && call_off(stand->appointed[i]));
    return settled;
}

/* Whether the caller runs on the processor of a post that has not come yet: then the caller must not spin. */
static bool is_in_the_way(struct stand *stand)
{
    const int here = sched_getcpu();
    for (size_t i = 0; i < stand->appointed_count; i++)
        if ((int)stand->appointed[i]->processor == here && !has_passed(stand->appointed[i]))
            return true;
    return false;
}

/* The post that did the work; NULL: none. */
static const struct post *find_doer(const struct stand *stand)
{
    for (size_t i = 0; i < stand->appointed_count; i++) {
        struct post *post = stand->appointed[i];
        if (has_passed(post) && post->worked == post->appointed && post->stood.done)
            return post;
    }
    return NULL;
}

/* Waits for the posts of the appointment: spins first, because a sleep and a wake-up take ten times as long and also
 * cost the program time. Gives up after `patience_ns`: a post may not get its processor, for example from a thread with
 * a higher priority. */
static void wait_for_posts(struct stand *stand, uint64_t patience_ns)
{
    static const struct timespec nap = { .tv_nsec = SPIN_NS + STARVED_NS };
    const uint64_t begin_ns = clock_now_ns();
    bool settled = is_settled(stand, patience_ns == 0);
    while (!settled && clock_now_ns() < begin_ns + SPIN_NS && !is_in_the_way(stand))
        for (int i = 0; i < 32 && !(settled = is_settled(stand, false)); i++)
            pause_a_moment();
    if (settled)
        return;
    const struct stay before = stand_stay_now();
    atomic_store(&stand->caller_sleeps, true);
    for (uint32_t passes;
         passes = atomic_load(&stand->passes), !is_settled(stand, clock_now_ns() >= begin_ns + patience_ns);)
        futex_wait(&stand->passes, passes, &nap);
    atomic_store(&stand->caller_sleeps, false);
    note_waits(stand, &before);
    const struct post *doer = find_doer(stand); /* the last one to come */
    const uint64_t came_ns = doer ? doer->stood.began_ns : clock_now_ns();
    stand->starved_ns += came_ns > begin_ns ? came_ns - begin_ns : 0;
}

/* The processor time since the last call with this sum; updates the sum. */
static uint64_t newly_used(uint64_t used_ns, uint64_t *counted_ns)
{
    const uint64_t more_ns = used_ns > *counted_ns ? used_ns - *counted_ns : 0;
    *counted_ns += more_ns;
    return more_ns;
}

/* Returns the processor time that the caller has taken from the program since the last call: the caller's own time if
 * the caller runs on the processor of a post, where the program may run; else none. Where no post worked, the program
 * is as likely on each of the processors. */
static uint64_t caller_took(const struct stand *stand)
{
    const uint64_t used_ns = newly_used(stand_stay_now().used_ns, &caller_counted_ns);
    const int here = sched_getcpu();
    bool among = false;
    for (size_t i = 0; i < stand->appointed_count; i++)
        among |= here == (int)stand->appointed[i]->processor;
    return !find_doer(stand) ? used_ns / stand->appointed_count : among ? used_ns : 0;
}

/* Adds the cost of the appointment to stand->taken_ns. The posts run at the same time, so the largest cost counts. */
static void note_taken(struct stand *stand)
{
    uint64_t most_ns = 0;
    bool any = false;
    for (size_t i = 0; i < stand->appointed_count; i++) {
        struct post *post = stand->appointed[i];
        if (!has_passed(post) || post->worked != post->appointed)
            continue;
        const uint32_t wakes = atomic_load(&post->wakes);
        const uint64_t taken_ns = newly_used(post->stood.used_ns, &post->counted_ns) +
                                  (uint64_t)(wakes - post->counted_wakes) * SWITCH_NS;
        post->counted_wakes = wakes;
        most_ns = taken_ns > most_ns ? taken_ns : most_ns;
        any = true;
    }
    if (stand->crowded)
        most_ns += caller_took(stand);
    stand->taken_ns += most_ns;
    stand->works += any;
}

static void stand_note(struct stand *stand, const struct stood *stood)
{
    stand->waited = stood->waited;
    stand->stayed = stood->stayed;
    stand->began_ns = stood->began_ns;
}

/* Does the work in the caller's thread, where the recorder may use one processor only. */
static bool work_here(struct stand *stand)
{
    const struct stay before = stand_stay_now();
    clock_sleep_until(stand->moment_ns);
    note_waits(stand, &before);
    const struct stood stood = stand_do_work(stand, stand->processor, stand_stay_now(), clock_now_ns());
    stand_note(stand, &stood);
    stand->works++;
    stand->taken_ns += newly_used(stood.used_ns, &caller_counted_ns) + SWITCH_NS;
    return stood.done;
}

bool stand_meet(struct stand *stand)
{
    if (stand->appointed_count == 0)
        return work_here(stand);
    wait_for_posts(stand, SPIN_NS + STARVED_NS);
    atomic_store(&stand->claim, CLAIM_DONE); /* nobody waits for a look any more */
    note_taken(stand);
    const struct post *doer = find_doer(stand);
    if (doer)
        stand_note(stand, &doer->stood);
    for (size_t i = 0; doer && i < stand->appointed_count; i++)
        stand->stayed &= stand->appointed[i]->stood.stayed;
    return doer;
}

bool stand_stayed_on(const struct stand *stand, uint32_t processor)
{
    for (size_t i = 0; i < stand->appointed_count; i++)
        if (stand->appointed[i]->processor == processor)
            return stand->appointed[i]->stood.stayed;
    return stand->stayed;
}

void stand_cancel(struct stand *stand)
{
    stand->ticking = false;
    wait_for_posts(stand, 0);
    atomic_store(&stand->claim, CLAIM_DONE);
    stand->appointed_count = 0;
}

void stand_end_tick(struct stand *stand)
{
    if (stand->ticking && (stand->crowded || stand->count == 1))
        stand->taken_ns += newly_used(stand_stay_now().used_ns, &caller_counted_ns);
    stand->ticking = false;
}

uint64_t stand_taken_ns(const struct stand *stand)
{
    return stand->taken_ns;
}

void stand_trim(struct stand *stand, uint64_t now_ns)
{
    stand->appointed_count = 0;
    for (size_t i = stand->posts_count; i-- > 0;)
        if (now_ns > stand->posts[i]->used_ns + UNUSED_NS)
            end_post(stand, i);
    stand_free_ended(stand, false);
}

void stand_end(struct stand *stand)
{
    stand->appointed_count = 0;
    while (stand->posts_count > 0)
        end_post(stand, stand->posts_count - 1);
}

bool stand_ended(struct stand *stand)
{
    stand_free_ended(stand, false);
    return !stand->ending;
}

void stand_close(struct stand *stand)
{
    if (stand->open && --caller_stands == 0)
        CPU_ZERO(&caller_left);
    stand_end(stand);
    stand_free_ended(stand, true);
    free(stand->posts);
    *stand = (struct stand){ 0 };
}

/* ---- staying ---- */

struct stay stand_stay_now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (struct stay){ (uint64_t)usage.ru_nvcsw, (uint64_t)usage.ru_nivcsw, clock_of_usage(&usage) };
}
