/* SPDX-License-Identifier: MIT */
/* Real processes, watched in each way that the kernel offers. No process goes on before the test lets it, so that no
 * test depends on time. The program runs itself once more in a user and pid namespace of its own ("inside"). */
#include "record/tree/tree.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "record/tree/connector.h"
#include "record/tree/facts.h"
#include "tests/fakes/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define GATES 4

static const struct way {
    const char *name;
    unsigned without;
} ways[] = {
    { "connector", 0 },
    { "cursor", TREE_WITHOUT_CONNECTOR },
    { "cursor, old kernel", TREE_WITHOUT_CONNECTOR | TREE_WITHOUT_INFO },
    { "cursor, very old kernel", TREE_WITHOUT_CONNECTOR | TREE_WITHOUT_INFO | TREE_WITHOUT_PIDFDS },
    { "lists of children", TREE_WITHOUT_CONNECTOR | TREE_WITHOUT_CURSOR },
    { "nothing",
      TREE_WITHOUT_CONNECTOR | TREE_WITHOUT_CURSOR | TREE_WITHOUT_LISTS | TREE_WITHOUT_INFO | TREE_WITHOUT_PIDFDS },
};

/* ---- a scene: a root that runs a function, and the events of its tree ---- */

struct scene {
    struct tree tree;
    pid_t root;
    int gates[GATES][2]; /* a process waits until the test writes a byte */
    int report[2];       /* processes tell their numbers */
    struct tree_event log[4096];
    size_t count;
};

static void wait_at(const struct scene *scene, int gate)
{
    char byte;
    ssize_t got;
    do
        got = read(scene->gates[gate][0], &byte, 1);
    while (got < 0 && errno == EINTR);
}

static void let_pass(const struct scene *scene, int gate, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(write(scene->gates[gate][1], "g", 1), 1);
}

static void tell_pid(const struct scene *scene, pid_t pid)
{
    if (write(scene->report[1], &pid, sizeof(pid)) != sizeof(pid))
        _exit(99);
}

static pid_t told_pid(const struct scene *scene)
{
    pid_t pid;
    assert_int_equal(read(scene->report[0], &pid, sizeof(pid)), sizeof(pid));
    return pid;
}

/* Starts a root that runs `play` when the test lets it pass gate 0. */
static void begin(struct scene *scene, const struct way *way, bool ours, void (*play)(const struct scene *))
{
    *scene = (struct scene){ .tree = { .without = way->without } };
    struct fault why = { 0 };
    for (int i = 0; i < GATES; i++)
        assert_int_equal(pipe2(scene->gates[i], O_CLOEXEC), 0);
    assert_int_equal(pipe2(scene->report, O_CLOEXEC), 0);
    scene->root = fork();
    if (scene->root == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        wait_at(scene, 0);
        play(scene);
        _exit(0);
    }
    assert_true(tree_open(&scene->tree, scene->root, ours, &why));
}

/* Whether this way is another than the last one here. */
static bool exists(const struct scene *scene, const struct way *way)
{
    return (way->without & TREE_WITHOUT_CONNECTOR) || scene->tree.connector >= 0;
}

/* Whether an event is about the root and what descends from it. With TREE_EVERYBODY, other processes come, too. */
static bool is_of_family(const struct scene *scene, const struct tree_event *event)
{
    bool found = event->pid == scene->root;
    for (size_t i = 0; i < scene->count; i++)
        found |= scene->log[i].pid == event->pid || scene->log[i].pid == event->parent;
    return found;
}

static void take_events(struct scene *scene)
{
    struct tree_event event;
    while (tree_next(&scene->tree, &event)) {
        if (event.pidfd >= 0)
            close(event.pidfd);
        assert_int_not_equal(event.pid, getpid());
        if (scene->tree.root == TREE_EVERYBODY && !is_of_family(scene, &event))
            continue;
        assert_in_range(scene->count, 0, countof(scene->log) - 1);
        scene->log[scene->count++] = event;
    }
}

static void look_once(struct scene *scene)
{
    tree_sleep_until(&scene->tree, clock_now_ns() + 1000000, -1);
    tree_look(&scene->tree, clock_now_ns());
    take_events(scene);
}

#define look_until(scene, condition)                                                                                   \
    do {                                                                                                               \
        const time_t since = time(NULL);                                                                               \
        while (!(condition)) {                                                                                         \
            assert_true(is_patient(since));                                                                            \
            look_once(scene);                                                                                          \
        }                                                                                                              \
    } while (0)

static const struct tree_event *event_of(const struct scene *scene, pid_t pid, enum tree_change change)
{
    for (size_t i = 0; i < scene->count; i++)
        if (scene->log[i].pid == pid && scene->log[i].change == change)
            return &scene->log[i];
    return NULL;
}

static size_t count_of(const struct scene *scene, enum tree_change change)
{
    size_t count = 0;
    for (size_t i = 0; i < scene->count; i++)
        count += scene->log[i].change == change;
    return count;
}

/* Each process comes once, after its parent, and ends once; only what has come may exec. */
static void assert_order(const struct scene *scene)
{
    struct members living = { 0 };
    for (size_t i = 0; i < scene->count; i++) {
        const struct tree_event *event = &scene->log[i];
        struct tree_member *member = members_find(&living, event->pid);
        if (event->change == TREE_CAME) {
            assert_null(member);
            if (i > 0 && event->parent)
                assert_non_null(members_find(&living, event->parent));
            members_add(&living, event->pid);
        } else {
            assert_non_null(member);
        }
        if (event->change == TREE_ENDED)
            members_remove(&living, member);
    }
    members_free(&living);
}

/* Waits for the end of the root as record/launch/command.c does, and closes everything. */
static void end(struct scene *scene)
{
    int status;
    assert_int_equal(waitpid(scene->root, &status, 0), scene->root); /* the tree has not reaped the root */
    assert_order(scene);
    tree_close(&scene->tree);
    tree_close(&scene->tree);
    for (int i = 0; i < GATES; i++) {
        close(scene->gates[i][0]);
        close(scene->gates[i][1]);
    }
    close(scene->report[0]);
    close(scene->report[1]);
    assert_int_equal(waitpid(-1, &status, WNOHANG), -1); /* no child is left behind */
    assert_int_equal(errno, ECHILD);
}

/* Runs a test in each way. */
static void in_each_way(void (*test)(struct scene *, const struct way *), void (*play)(const struct scene *))
{
    static struct scene scene;
    for (size_t i = 0; i < countof(ways); i++) {
        begin(&scene, &ways[i], true, play);
        if (!exists(&scene, &ways[i])) {
            print_message("no %s here\n", ways[i].name);
            kill(scene.root, SIGKILL);
            end(&scene);
            continue;
        }
        assert_true(tree_has_left(&scene.tree));
        test(&scene, &ways[i]);
        assert_false(tree_has_left(&scene.tree));
        end(&scene);
    }
}

/* ---- fork ---- */

static void play_fork(const struct scene *scene)
{
    const pid_t child = fork();
    if (child == 0) {
        wait_at(scene, 1);
        _exit(7);
    }
    tell_pid(scene, child);
    wait_at(scene, 2); /* the child is a zombie meanwhile */
    waitpid(child, NULL, 0);
    kill(getpid(), SIGTERM);
}

static void see_fork(struct scene *scene, const struct way *way)
{
    (void)way;
    take_events(scene);
    assert_int_equal(scene->count, 1);
    assert_int_equal(scene->log[0].change, TREE_CAME);
    assert_int_equal(scene->log[0].pid, scene->root);
    assert_int_equal(scene->log[0].parent, getpid());
    let_pass(scene, 0, 1);
    const pid_t child = told_pid(scene);
    look_until(scene, event_of(scene, child, TREE_CAME));
    assert_int_equal(event_of(scene, child, TREE_CAME)->parent, scene->root);
    assert_false(event_of(scene, child, TREE_CAME)->existed);
    let_pass(scene, 1, 1);
    look_until(scene, event_of(scene, child, TREE_ENDED));
    assert_int_equal(event_of(scene, child, TREE_ENDED)->wait_status, 7 << 8);
    assert_null(event_of(scene, child, TREE_EXECED));
    assert_true(tree_has_left(&scene->tree));
    let_pass(scene, 2, 1);
    look_until(scene, event_of(scene, scene->root, TREE_ENDED));
    assert_int_equal(event_of(scene, scene->root, TREE_ENDED)->wait_status, SIGTERM);
    assert_int_equal(scene->count, 4);
}

static void a_child_comes_and_ends(void **state)
{
    (void)state;
    in_each_way(see_fork, play_fork);
}

/* The taker's pidfd is that of the process, and the taker may keep it. */
static void the_taker_gets_a_pidfd(void **state)
{
    (void)state;
    static struct scene scene;
    begin(&scene, &ways[1], true, play_fork);
    struct tree_event root;
    assert_true(tree_next(&scene.tree, &root));
    if (scene.tree.without & TREE_WITHOUT_PIDFDS)
        skip();
    assert_in_range(root.pidfd, 0, 4096);
    assert_int_equal(fcntl(root.pidfd, F_GETFD), FD_CLOEXEC);
    assert_false(pidfd_ended(root.pidfd));
    kill(scene.root, SIGKILL);
    look_until(&scene, !tree_has_left(&scene.tree));
    assert_true(pidfd_ended(root.pidfd));
    for (int i = 0; i < 10; i++)
        look_once(&scene); /* the open pidfd of an ended process is no event */
    assert_int_equal(scene.count, 1);
    assert_int_equal(scene.log[0].wait_status, SIGKILL);
    close(root.pidfd);
    scene.count = 0;
    end(&scene);
}

/* ---- execve ---- */

static void become_cat(const struct scene *scene, int gate)
{
    char *arguments[] = { (char *)"cat", NULL };
    dup2(scene->gates[gate][0], STDIN_FILENO);
    execv("/bin/cat", arguments);
    _exit(98);
}

/* cat prints what it reads: the test closes the gate, or kills cat. */
static void play_exec(const struct scene *scene)
{
    const pid_t child = fork();
    if (child == 0) {
        wait_at(scene, 1);
        become_cat(scene, 3);
    }
    tell_pid(scene, child);
    waitpid(child, NULL, 0);
}

static void see_exec(struct scene *scene, const struct way *way)
{
    (void)way;
    let_pass(scene, 0, 1);
    const pid_t child = told_pid(scene);
    look_until(scene, event_of(scene, child, TREE_CAME));
    for (int i = 0; i < 20; i++)
        look_once(scene);
    assert_null(event_of(scene, child, TREE_EXECED));
    let_pass(scene, 1, 1);
    look_until(scene, event_of(scene, child, TREE_EXECED));
    kill(child, SIGKILL);
    look_until(scene, !tree_has_left(&scene->tree));
    assert_int_equal(count_of(scene, TREE_CAME), 2);
}

static void an_execve_is_seen(void **state)
{
    (void)state;
    in_each_way(see_exec, play_exec);
}

/* ---- vfork ---- */

static void play_vfork(const struct scene *scene)
{
    tell_pid(scene, getpid());
    const pid_t child = vfork();
    if (child == 0) {
        tell_pid(scene, getpid());
        wait_at(scene, 1);
        become_cat(scene, 3);
    }
    waitpid(child, NULL, 0);
}

static void see_vfork(struct scene *scene, const struct way *way)
{
    (void)way;
    let_pass(scene, 0, 1);
    const pid_t parent = told_pid(scene), child = told_pid(scene);
    if (!facts_share_memory(parent, child)) {
        print_message("no kcmp here\n");
        kill(child, SIGKILL);
        look_until(scene, !tree_has_left(&scene->tree));
        return;
    }
    for (int i = 0; i < 50; i++)
        look_once(scene);
    assert_null(event_of(scene, child, TREE_CAME)); /* its stacks are its parent's */
    let_pass(scene, 1, 1);
    look_until(scene, event_of(scene, child, TREE_CAME));
    kill(child, SIGKILL);
    look_until(scene, !tree_has_left(&scene->tree));
    assert_int_equal(count_of(scene, TREE_CAME), 2);
}

static void a_child_of_vfork_comes_with_its_own_memory(void **state)
{
    (void)state;
    in_each_way(see_vfork, play_vfork);
}

/* ---- orphans ---- */

/* The root's child makes a grandchild, and ends at once. The root ends before the grandchild. */
static void play_orphan(const struct scene *scene)
{
    const pid_t child = fork();
    if (child == 0) {
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            wait_at(scene, 2);
            _exit(5);
        }
        tell_pid(scene, grandchild);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    wait_at(scene, 1);
}

static void see_orphan(struct scene *scene, const struct way *way)
{
    (void)way;
    let_pass(scene, 0, 1);
    const pid_t orphan = told_pid(scene);
    look_until(scene, event_of(scene, orphan, TREE_CAME));
    let_pass(scene, 1, 1);
    look_until(scene, event_of(scene, scene->root, TREE_ENDED));
    for (int i = 0; i < 20; i++)
        look_once(scene);
    assert_true(tree_has_left(&scene->tree));
    assert_null(event_of(scene, orphan, TREE_ENDED));
    let_pass(scene, 2, 1);
    look_until(scene, !tree_has_left(&scene->tree));
    assert_int_equal(event_of(scene, orphan, TREE_ENDED)->wait_status, 5 << 8); /* the tree has reaped the orphan */
}

static void orphans_are_ours(void **state)
{
    (void)state;
    in_each_way(see_orphan, play_orphan);
}

/* ---- threads ---- */

static void *do_nothing(void *unused)
{
    return unused;
}

static void play_threads(const struct scene *scene)
{
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, do_nothing, NULL) != 0)
            _exit(97);
        pthread_join(thread, NULL);
    }
    play_fork(scene);
}

static void see_threads(struct scene *scene, const struct way *way)
{
    (void)way;
    let_pass(scene, 0, 1);
    let_pass(scene, 1, 1);
    let_pass(scene, 2, 1);
    look_until(scene, !tree_has_left(&scene->tree));
    assert_in_range(count_of(scene, TREE_CAME), 1, 2); /* the child may have passed */
    assert_int_equal(count_of(scene, TREE_EXECED), 0);
}

static void threads_are_no_processes(void **state)
{
    (void)state;
    in_each_way(see_threads, play_threads);
}

/* A child that a thread made is found, too. */
static void *fork_in_thread(void *context)
{
    play_fork(context);
    return NULL;
}

static void play_fork_in_thread(const struct scene *scene)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, fork_in_thread, (void *)scene) != 0)
        _exit(97);
    pthread_join(thread, NULL);
}

static void children_of_threads_come(void **state)
{
    (void)state;
    in_each_way(see_fork, play_fork_in_thread);
}

/* ---- many ---- */

#define CHILDREN 150

static void play_many(const struct scene *scene)
{
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0) {
            wait_at(scene, 1);
            _exit(1);
        }
    tell_pid(scene, getpid());
    while (wait(NULL) > 0)
        ;
}

static void see_many(struct scene *scene, const struct way *way)
{
    (void)way;
    let_pass(scene, 0, 1);
    told_pid(scene);
    look_until(scene, count_of(scene, TREE_CAME) == 1 + CHILDREN);
    let_pass(scene, 1, CHILDREN);
    look_until(scene, !tree_has_left(&scene->tree));
    assert_int_equal(count_of(scene, TREE_ENDED), 1 + CHILDREN);
    assert_int_equal(scene->tree.counters.left_out, 0);
}

static void many_children_at_once(void **state)
{
    (void)state;
    in_each_way(see_many, play_many);
}

/* Short children, one after the other: what lives between two looks comes, the others pass, and none comes twice. */
#define SHORT 100

static void play_short(const struct scene *scene)
{
    wait_at(scene, 1);
    for (int i = 0; i < SHORT; i++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
}

static void see_short(struct scene *scene, const struct way *way)
{
    (void)way;
    let_pass(scene, 0, 1);
    let_pass(scene, 1, 1);
    look_until(scene, !tree_has_left(&scene->tree));
    assert_in_range(count_of(scene, TREE_CAME), 1, 1 + SHORT);
    assert_int_equal(count_of(scene, TREE_CAME), count_of(scene, TREE_ENDED));
    if (scene->tree.connector >= 0 && scene->tree.counters.lost == 0)
        assert_int_equal(scene->tree.counters.came + scene->tree.counters.passed, 1 + SHORT);
}

static void short_children_pass(void **state)
{
    (void)state;
    in_each_way(see_short, play_short);
}

/* ---- bounds ---- */

static void without_descriptors(void)
{
    static struct scene scene;
    const struct rlimit few = { 128, 128 };
    if (setrlimit(RLIMIT_NOFILE, &few) != 0)
        _exit(2);
    begin(&scene, &ways[1], true, play_many);
    let_pass(&scene, 0, 1);
    told_pid(&scene);
    look_until(&scene, scene.tree.counters.came + scene.tree.counters.left_out >= 1 + CHILDREN);
    assert_in_range(scene.tree.counters.left_out, CHILDREN - 112, CHILDREN);
    let_pass(&scene, 1, CHILDREN);
    look_until(&scene, !tree_has_left(&scene.tree));
    end(&scene);
}

/* More children than descriptors: they are left out, counted, and nobody hangs. */
static void a_fork_bomb_is_bounded(void **state)
{
    (void)state;
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    fflush(NULL);
    const pid_t child = fork(); /* the limit cannot be raised again */
    if (child == 0) {
        alarm(PATIENCE_S);
        without_descriptors();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- attaching ---- */

static void play_family(const struct scene *scene)
{
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            if (i == 1 && fork() == 0) {
                tell_pid(scene, getpid());
                wait_at(scene, 1);
                _exit(0);
            }
            tell_pid(scene, getpid());
            wait_at(scene, 1);
            while (wait(NULL) > 0)
                ;
            _exit(0);
        }
    wait_at(scene, 2);
    while (wait(NULL) > 0)
        ;
}

/* The root is our child here, but the tree does not know it: a recorder that attaches. */
static void what_exists_comes(void **state)
{
    (void)state;
    static struct scene scene;
    for (size_t i = 0; i < countof(ways); i++) {
        struct fault why = { 0 };
        begin(&scene, &ways[i], false, play_family);
        tree_close(&scene.tree);
        let_pass(&scene, 0, 1);
        for (int child = 0; child < 4; child++)
            told_pid(&scene);
        scene.tree.without = ways[i].without;
        assert_true(tree_open(&scene.tree, scene.root, false, &why));
        tree_watch_existing(&scene.tree);
        take_events(&scene);
        assert_int_equal(count_of(&scene, TREE_CAME), 5);
        for (size_t k = 0; k < scene.count; k++)
            assert_true(scene.log[k].existed);
        let_pass(&scene, 1, 4);
        let_pass(&scene, 2, 1);
        look_until(&scene, !tree_has_left(&scene.tree));
        end(&scene);
    }
}

/* The recorder itself never comes: take_events() looks. */
static void everybody_comes(void **state)
{
    (void)state;
    static struct scene scene;
    for (size_t i = 0; i < countof(ways); i++) {
        struct fault why = { 0 };
        begin(&scene, &ways[i], false, play_family);
        tree_close(&scene.tree);
        scene.tree.without = ways[i].without;
        assert_true(tree_open(&scene.tree, TREE_EVERYBODY, false, &why));
        if (exists(&scene, &ways[i])) {
            tree_watch_existing(&scene.tree);
            take_events(&scene);
            assert_int_equal(scene.count, 1);
            assert_true(scene.log[0].existed && scene.log[0].pid == scene.root);
            let_pass(&scene, 0, 1);
            pid_t children[4];
            for (int child = 0; child < 4; child++)
                children[child] = told_pid(&scene);
            look_until(&scene, count_of(&scene, TREE_CAME) == 5);
            for (int child = 0; child < 4; child++)
                assert_false(event_of(&scene, children[child], TREE_CAME)->existed);
        } else {
            let_pass(&scene, 0, 1);
        }
        let_pass(&scene, 1, 4);
        let_pass(&scene, 2, 1);
        if (exists(&scene, &ways[i]))
            look_until(&scene, count_of(&scene, TREE_ENDED) == 5);
        end(&scene);
    }
}

static void threads_of_the_kernel_are_known(void **state)
{
    (void)state;
    struct facts facts;
    const char *worker = "7 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0 0 0 0 0";
    const char *program = "7 (python) S 2 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0 0 1 1 0 0";
    assert_true(facts_parse(worker, strlen(worker), &facts));
    assert_true(facts.kernel);
    assert_true(facts_parse(program, strlen(program), &facts));
    assert_false(facts.kernel);
}

static void a_process_that_is_not_there_is_told(void **state)
{
    (void)state;
    struct tree tree = { 0 };
    struct fault why = { 0 };
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    assert_false(tree_open(&tree, child, false, &why));
    assert_non_null(strstr(why.text, "cannot watch process"));
    tree_close(&tree);
}

/* ---- numbers that are used again: inside only, where the numbers are ours ---- */

static bool set_last_pid(pid_t last)
{
    char text[16];
    const int file = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    const int size = snprintf(text, sizeof(text), "%d", (int)last);
    const bool good = file >= 0 && write(file, text, (size_t)size) == size;
    if (file >= 0)
        close(file);
    return good;
}

/* A child ends, is reaped, and the next child has its number, all between two looks. */
static void play_reuse(const struct scene *scene)
{
    const pid_t first = fork();
    if (first == 0) {
        wait_at(scene, 1);
        _exit(1);
    }
    tell_pid(scene, first);
    waitpid(first, NULL, 0);
    wait_at(scene, 2);
    const pid_t second = set_last_pid(first - 1) ? fork() : -1;
    if (second == 0) {
        wait_at(scene, 3);
        _exit(2);
    }
    tell_pid(scene, second);
    waitpid(second, NULL, 0);
}

static void see_reuse(struct scene *scene, const struct way *way)
{
    (void)way;
    let_pass(scene, 0, 1);
    const pid_t first = told_pid(scene);
    look_until(scene, event_of(scene, first, TREE_CAME));
    const pid_t fence = fork(); /* the pid cursor moves beyond the number */
    if (fence == 0)
        _exit(0);
    waitpid(fence, NULL, 0);
    look_once(scene);
    clock_sleep_until(clock_now_ns() + 50000000); /* start times are as coarse as 10 ms */
    let_pass(scene, 1, 1);
    let_pass(scene, 2, 1);
    assert_int_equal(told_pid(scene), first);
    look_until(scene, count_of(scene, TREE_CAME) == 3);
    assert_int_equal(scene->log[scene->count - 1].pid, first);
    assert_int_equal(count_of(scene, TREE_ENDED), 1);
    let_pass(scene, 3, 1);
    look_until(scene, !tree_has_left(&scene->tree));
    assert_int_equal(count_of(scene, TREE_ENDED), 3);
}

static void a_number_that_is_used_again_is_another_process(void **state)
{
    (void)state;
    if (access("/proc/sys/kernel/ns_last_pid", W_OK) != 0)
        skip();
    in_each_way(see_reuse, play_reuse);
}

/* ---- what looks cost, in system calls: inside only, where nobody else moves the pid cursor ---- */

#define MARK 12345

/* Counts the system calls of a process between two marks. */
static size_t calls_of(pid_t process)
{
    size_t stops = 0;
    int status, marks = 0;
    while (waitpid(process, &status, 0) == process && !WIFEXITED(status)) {
        assert_true(WIFSTOPPED(status));
        if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
            struct __ptrace_syscall_info info;
            assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, process, sizeof(info), &info) > 0);
            const bool entry = info.op == PTRACE_SYSCALL_INFO_ENTRY;
            const bool mark = entry && info.entry.nr == SYS_getpgid && info.entry.args[0] == MARK;
            marks += mark;
            stops += entry && marks == 1 && !mark;
        } else if (marks == 0) {
            assert_int_equal(ptrace(PTRACE_SETOPTIONS, process, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL), 0);
        }
        assert_int_equal(ptrace(PTRACE_SYSCALL, process, 0, 0), 0);
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(marks, 2);
    return stops;
}

static void mark(void)
{
    syscall(SYS_getpgid, MARK);
}

static pid_t start_counted(void (*run)(void))
{
    fflush(NULL);
    const pid_t process = fork();
    if (process == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0 || raise(SIGSTOP) != 0)
            _exit(1);
        run();
        _exit(0);
    }
    return process;
}

#define LOOKS 1000

/* The time is made up: a look each 2 ms, and another right after it. */
static void look_at_a_quiet_tree(void)
{
    static struct scene scene;
    begin(&scene, &ways[1], true, play_fork);
    let_pass(&scene, 0, 1);
    told_pid(&scene);
    look_until(&scene, count_of(&scene, TREE_CAME) == 2);
    uint64_t now_ns = clock_now_ns();
    for (int i = 0; i < 100; i++) {
        now_ns += 100000000;
        tree_look(&scene.tree, now_ns);
    }
    mark();
    for (int i = 0; i < LOOKS; i++) {
        now_ns += 2000000;
        tree_look(&scene.tree, now_ns);
        tree_look(&scene.tree, now_ns + 1000);
    }
    mark();
    let_pass(&scene, 1, 1);
    let_pass(&scene, 2, 1);
}

static void a_quiet_look_takes_two_calls(void **state)
{
    (void)state;
    const size_t calls = calls_of(start_counted(look_at_a_quiet_tree));
    print_message("%d looks at 2 processes: %zu system calls\n", LOOKS, calls);
    assert_in_range(calls, 2 * LOOKS, 2 * LOOKS + 2 * LOOKS / 16 + 10); /* and a clock for each process each 32 ms */
}

/* What a child costs that lives. */

static void follow_children(void)
{
    static struct scene scene;
    begin(&scene, &ways[1], true, play_many);
    uint64_t now_ns = clock_now_ns();
    take_events(&scene);
    let_pass(&scene, 0, 1);
    told_pid(&scene);
    mark();
    for (int i = 0; i < 100; i++) { /* 2 s of made-up time: also the check for execve() each 32 ms */
        now_ns += 20000000;
        tree_look(&scene.tree, now_ns);
        struct tree_event event;
        while (tree_next(&scene.tree, &event))
            close(event.pidfd);
    }
    mark();
    if (scene.tree.counters.came != 1 + CHILDREN)
        _exit(3);
    let_pass(&scene, 1, CHILDREN);
}

static void a_child_takes_few_calls(void **state)
{
    (void)state;
    const size_t calls = calls_of(start_counted(follow_children));
    print_message("100 looks, %d children that come and wait: %zu system calls\n", CHILDREN, calls);
    assert_in_range(calls, 200 + 10 * CHILDREN, 300 + (16 + 100) * CHILDREN); /* 16 once, a clock each look */
}

/* ---- hostile texts ---- */

static void texts_of_proc_are_not_trusted(void **state)
{
    (void)state;
    struct facts facts, again;
    const char *name = "7 (a) R 1 (b\n) Z 42 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 1234 5 6 18446744073709551615 "
                       "4096 8192 140737488351232 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 1792\n";
    assert_true(facts_parse(name, strlen(name), &facts));
    assert_int_equal(facts.parent, 42);
    assert_int_equal(facts.state, 'Z');
    assert_int_equal(facts.start, 1234);
    assert_int_equal(facts.wait_status, 7 << 8);
    for (size_t size = 0; size < strlen(name); size++) {
        char *copy = alloc_copy(name, size);
        facts_parse(copy, size, &again);
        free(copy);
    }
    assert_false(facts_parse("7 (a", 4, &facts));
    assert_false(facts_parse("7 )a(", 5, &facts));
    assert_false(facts_parse("", 0, &facts));
    const char *status = "Name:\tTgid:\\n\nUmask:\t0022\nState:\tS\nTgid:\t77\nNgid:\t0\n";
    assert_int_equal(facts_parse_process(status, strlen(status)), 77);
    assert_int_equal(facts_parse_process("Tgid:\t77", 8), 0);
}

static void the_program_is_known_by_its_place(void **state)
{
    (void)state;
    struct facts a, b, c;
    const char *first = "7 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 26 27 28 0";
    const char *second = "7 (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 26 27 28 0";
    const char *third = "7 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 26 27 29 0";
    assert_true(facts_parse(first, strlen(first), &a));
    assert_true(facts_parse(second, strlen(second), &b));
    assert_true(facts_parse(third, strlen(third), &c));
    assert_true(a.program == b.program); /* a process may choose another name at any time */
    assert_true(a.program != c.program);
    const char *hidden = "7 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 1 1 0 0";
    const char *named = "7 (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 1 1 0 0";
    assert_true(facts_parse(hidden, strlen(hidden), &a));
    assert_true(facts_parse(named, strlen(named), &b));
    assert_true(a.program != b.program);
    const char *ending = "7 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 0 0 0 0";
    assert_true(facts_parse(ending, strlen(ending), &a));
    assert_int_equal(a.program, 0);
}

static void the_cursor_is_the_last_word(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        pid_t last;
    } rows[] = {
        { "0.20 0.18 0.12 1/80 11206\n", 11206 },
        { "0.00 0.00 0.00 0/0 0\n", 0 },
        { "", 0 },
        { "7", 0 },
        { "1 2147483648\n", 0 },
        { "1 99999999999999999999\n", 0 },
        { "1 -5\n", 0 },
    };
    for (size_t i = 0; i < countof(rows); i++)
        assert_int_equal(pid_cursor_parse(rows[i].text, strlen(rows[i].text)), rows[i].last);
}

/* ---- members ---- */

static void members_are_found_after_others_went(void **state)
{
    (void)state;
    struct members members = { 0 };
    bool there[1000] = { false };
    uint32_t random = 1;
    for (unsigned round = 0; round < soak(20000); round++) {
        random = random * 1664525u + 1013904223u;
        const pid_t pid = (pid_t)(random >> 16) % 1000;
        struct tree_member *member = members_find(&members, pid);
        assert_int_equal(member != NULL, there[pid]);
        if (member)
            members_remove(&members, member);
        else
            assert_int_equal(members_add(&members, pid)->pid, pid);
        there[pid] = !there[pid];
    }
    for (pid_t pid = 0; pid < 1000; pid++)
        assert_int_equal(members_find(&members, pid) != NULL, there[pid]);
    members_free(&members);
}

/* ---- the tests inside ---- */

static bool write_file(const char *path, const char *text)
{
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    const bool good = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        close(file);
    return good;
}

/* The exit code where the machine permits no namespaces: skipped for a user, a failure in CI. */
static int not_permitted(void)
{
    return getenv("CI") ? 1 : 77;
}

/* Becomes the root user of namespaces of its own, whose first process it starts. */
static int run_inside(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof(users), "0 %d 1", (int)geteuid());
    snprintf(groups, sizeof(groups), "0 %d 1", (int)getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0 || !write_file("/proc/self/setgroups", "deny") ||
        !write_file("/proc/self/uid_map", users) || !write_file("/proc/self/gid_map", groups))
        return not_permitted();
    const pid_t first = fork();
    if (first == 0) {
        char *arguments[] = { (char *)"test_live", (char *)"tree", (char *)"inside", NULL };
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("proc", "/proc", "proc", 0, NULL) != 0)
            _exit(not_permitted());
        execv("/proc/self/exe", arguments);
        _exit(1);
    }
    int status;
    waitpid(first, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void the_same_in_a_namespace(void **state)
{
    (void)state;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        _exit(run_inside());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip(); /* the machine does not allow it */
    assert_int_equal(status, 0);
}

/* Inside only: numbers of the connector are those of the initial namespace. */
static void the_connector_is_not_for_namespaces(void **state)
{
    (void)state;
    assert_int_equal(connector_open(), -1);
}

TEST_FILE(tree)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_comes_and_ends),
        cmocka_unit_test(the_taker_gets_a_pidfd),
        cmocka_unit_test(an_execve_is_seen),
        cmocka_unit_test(a_child_of_vfork_comes_with_its_own_memory),
        cmocka_unit_test(orphans_are_ours),
        cmocka_unit_test(threads_are_no_processes),
        cmocka_unit_test(children_of_threads_come),
        cmocka_unit_test(many_children_at_once),
        cmocka_unit_test(short_children_pass),
        cmocka_unit_test(a_fork_bomb_is_bounded),
        cmocka_unit_test(what_exists_comes),
        cmocka_unit_test(everybody_comes),
        cmocka_unit_test(threads_of_the_kernel_are_known),
        cmocka_unit_test(a_process_that_is_not_there_is_told),
        cmocka_unit_test(texts_of_proc_are_not_trusted),
        cmocka_unit_test(the_program_is_known_by_its_place),
        cmocka_unit_test(the_cursor_is_the_last_word),
        cmocka_unit_test(members_are_found_after_others_went),
    };
    const struct CMUnitTest outside_tests[] = {
        cmocka_unit_test(the_same_in_a_namespace),
    };
    const struct CMUnitTest inside_tests[] = {
        cmocka_unit_test(a_number_that_is_used_again_is_another_process),
        cmocka_unit_test(a_quiet_look_takes_two_calls),
        cmocka_unit_test(a_child_takes_few_calls),
        cmocka_unit_test(the_connector_is_not_for_namespaces),
    };
    const bool inside = argc > 1 && strcmp(argv[1], "inside") == 0;
    alarm(3 * PATIENCE_S); /* a pipe without an answer */
    return run_all(tests) + (inside ? run_all(inside_tests) : run_all(outside_tests));
}
