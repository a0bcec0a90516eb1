/* SPDX-License-Identifier: MIT */
#include "record/tree/tree.h"

#include "formats/base/alloc.h"
#include "record/process/clock.h"
#include "record/process/ends.h"
#include "record/tree/connector.h"
#include "record/tree/facts.h"
#include "record/tree/kin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NS      1000000000u
#define MS      1000000u
#define LOOK_NS (1 * MS) /* shortest time between two looks */
#define CALL_NS                                                                                                        \
    (20u * 1000) /* a look that made one call more is followed by so much more rest: a tenth of a processor */
#define QUIET_NS     (8 * MS)  /* longest time between two looks that tree_due_ns() asks for */
#define CHECK_NS     (32 * MS) /* longest time between two checks of a process for execve() */
#define LATE_TRIES   4         /* looks at a number without a process after the first look: at 1, 5, 21 and 85 ms */
#define LATE_MOST    1024      /* such numbers; when there are more, the tree is walked */
#define NUMBERS_MOST 512       /* new numbers that are looked at one by one; when there are more, the tree is walked */
#define WALK_NS      (2000 * MS) /* time between two walks, if processes were made */
#define ASTRAY_NS    (20 * MS)   /* time between two walks when many numbers were given */
#define REAP_NS      (100 * MS)  /* time between two searches for orphans to reap */
#define REAPED_MOST  1024        /* orphans that are reaped in one search */
#define BATCHES_MOST 64          /* batches of ends or events that one look takes */
#define ENDS_BATCH   64
#define CHECKS_MOST  64         /* members that are checked in one look */
#define YOUNG_NS     (250 * MS) /* the first moments of a process: its processor time is asked ... */
#define YOUNG_GAP_NS (2 * MS)   /* ... so often, for its end may come before anybody asks */
#define CONNECTOR_ID 0          /* epoll's data of the connector; of a pidfd: the number of the process */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool goes_without(const struct tree *tree, enum tree_without what)
{
    return (tree->without & what) != 0;
}

/* ---- members ---- */

static void put_event(struct tree *tree, struct tree_event event)
{
    tree->events = alloc_grow(tree->events, &tree->events_room, tree->events_count + 1, sizeof(*tree->events));
    tree->events[tree->events_count++] = event;
}

static void unwatch(struct tree *tree, struct tree_member *member)
{
    if (member->pidfd < 0)
        return;
    epoll_ctl(tree->epoll, EPOLL_CTL_DEL, member->pidfd, NULL); /* the taker of TREE_CAME may keep it open */
    last_cpu_forget(&tree->last_cpu, member->pidfd);
    close(member->pidfd);
    member->pidfd = -1;
}

/* As pidfd_open_process(). PIDFD_FULL may leave the pidfd open. */
static enum pidfd_state open_pidfd(const struct tree *tree, pid_t pid, int *pidfd)
{
    const enum pidfd_state state = pidfd_open_process(pid, pidfd);
    return state == PIDFD_OPEN && *pidfd >= tree->pidfds_most ? PIDFD_FULL : state;
}

/* Opens and watches the pidfd of a member. False when there is no such process any more, or no room for it. */
static bool watch(struct tree *tree, struct tree_member *member)
{
    if (member->watched)
        return true;
    if (member->pidfd < 0 && !goes_without(tree, TREE_WITHOUT_PIDFDS)) {
        switch (open_pidfd(tree, member->pid, &member->pidfd)) {
        case PIDFD_OPEN:
            break;
        case PIDFD_FULL:
            tree->counters.left_out++;
            member->left_out = true;
            return false;
        case PIDFD_UNKNOWN:
            tree->without |= TREE_WITHOUT_PIDFDS;
            break;
        case PIDFD_NONE:
        case PIDFD_THREAD:
            return false;
        }
    }
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = (uint64_t)member->pid };
    member->watched = member->pidfd < 0 || epoll_ctl(tree->epoll, EPOLL_CTL_ADD, member->pidfd, &event) == 0;
    if (member->pidfd >= 0)
        last_cpu_watch(&tree->last_cpu, member->pid, member->pidfd);
    return member->watched;
}

/* Removes a member, whose children become orphans. */
static void tree_forget(struct tree *tree, struct tree_member *member)
{
    const pid_t pid = member->pid;
    for (size_t i = 0; member->has_children && i < tree->members.count; i++)
        tree->members.rows[i].orphan |= tree->members.rows[i].parent == pid;
    unwatch(tree, member);
    members_remove(&tree->members, member);
}

static struct tree_member *parent_of(const struct tree *tree, const struct tree_member *member)
{
    return member->orphan ? NULL : members_find(&tree->members, member->parent);
}

static void add_member(struct tree *tree, pid_t pid, pid_t parent, int pidfd)
{
    struct tree_member *above = members_find(&tree->members, parent);
    if (tree->members.count >= TREE_MOST) {
        tree->counters.left_out++;
        if (pidfd >= 0)
            close(pidfd);
        return;
    }
    if (above)
        above->has_children = true;
    struct tree_member *member = members_add(&tree->members, pid);
    member->parent = above ? parent : 0;
    member->orphan = !above;
    member->pidfd = pidfd;
    member->since_ns = tree->changed_ns = tree->looked_ns;
    tree->fresh = alloc_grow(tree->fresh, &tree->fresh_room, tree->fresh_count + 1, sizeof(*tree->fresh));
    tree->fresh[tree->fresh_count++] = pid;
}

/* ---- ends ---- */

static int siginfo_status(const siginfo_t *info)
{
    switch (info->si_code) {
    case CLD_EXITED:
        return (info->si_status & 0xFF) << 8;
    case CLD_DUMPED:
        return info->si_status | 0x80;
    default:
        return info->si_status;
    }
}

/* Waits for an end that has happened. False when the process is not our child. */
static bool child_wait(pid_t pid, int options, int *wait_status)
{
    siginfo_t info = { 0 };
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | options) != 0 || info.si_pid != pid)
        return false;
    *wait_status = siginfo_status(&info);
    return true;
}

/* The status of a zombie, unless another process has the number already. */
static void learn_from_zombie(struct tree_member *member)
{
    struct facts facts;
    if (!facts_read(member->pid, &facts) || facts.wait_status < 0)
        return;
    if (member->pidfd >= 0 ? pidfd_unreaped(member->pidfd) : facts.start == member->start)
        member->wait_status = facts.wait_status;
}

/* Learns with which status a member has ended, and reaps an orphan. The connector may have told the status. */
static void learn_status(struct tree *tree, struct tree_member *member)
{
    const bool is_root = member->pid == tree->root;
    tree->calls += 4;
    if (tree->ours && !member->reaped && (is_root || member->orphan) &&
        child_wait(member->pid, is_root ? WNOWAIT : 0, &member->wait_status))
        return;
    const bool asks = member->pidfd >= 0 && !goes_without(tree, TREE_WITHOUT_INFO);
    if ((asks && pidfd_wait_status(member->pidfd, &member->wait_status)) || member->wait_status >= 0)
        return;
    learn_from_zombie(member);
    if (asks && member->wait_status < 0) /* reaped in between */
        pidfd_wait_status(member->pidfd, &member->wait_status);
}

static void mark_ended(struct tree *tree, struct tree_member *member)
{
    member->ended = tree->ends = true;
    tree->changed_ns = tree->looked_ns;
}

/* Returns the CPU time of a process until its end, or until the process was asked last; 0: not known. */
static uint64_t cpu_at_end(struct tree *tree, const struct tree_member *member)
{
    return larger(last_cpu_take(&tree->last_cpu, member->pid), member->cpu_ns);
}

/* Ends a member at once, since another process has its number. */
static void tree_replace(struct tree *tree, struct tree_member *member)
{
    mark_ended(tree, member);
    if (member->pidfd >= 0 && !goes_without(tree, TREE_WITHOUT_INFO))
        pidfd_wait_status(member->pidfd, &member->wait_status);
    if (member->came)
        put_event(tree, (struct tree_event){ TREE_ENDED, .pid = member->pid, .parent = member->parent, .pidfd = -1,
                                             .wait_status = member->wait_status, .cpu_ns = cpu_at_end(tree, member) });
    else
        tree->counters.passed++;
    tree_forget(tree, member);
}

/* Takes the ends that pidfds tell. Returns whether the connector has events. */
static bool take_ends(struct tree *tree)
{
    bool connector = false;
    for (int batch = 0; batch < BATCHES_MOST; batch++) {
        struct epoll_event ready[ENDS_BATCH];
        const int count = epoll_wait(tree->epoll, ready, ENDS_BATCH, 0);
        for (int i = 0; i < count; i++) {
            struct tree_member *member = members_find(&tree->members, (pid_t)ready[i].data.u64);
            if (ready[i].data.u64 == CONNECTOR_ID) {
                connector = true;
            } else if (member) {
                mark_ended(tree, member);
                epoll_ctl(tree->epoll, EPOLL_CTL_DEL, member->pidfd, NULL);
            }
        }
        if (count < ENDS_BATCH)
            break;
    }
    return connector;
}

/* Reaps orphans that are no members: nobody else would, and their numbers would stay in use. */
static void tree_reap_orphans(struct tree *tree)
{
    tree->reaped_ns = tree->looked_ns;
    tree->ends = false;
    for (int reaped = 0; reaped < REAPED_MOST; reaped++) {
        siginfo_t info = { 0 };
        int wait_status;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
            info.si_pid == tree->root || !ends_is_end(&info))
            return;
        struct tree_member *member = members_find(&tree->members, info.si_pid);
        if (!child_wait(info.si_pid, 0, &wait_status))
            return;
        if (member) {
            member->wait_status = wait_status;
            member->reaped = true;
        }
    }
}

/* ---- new processes ---- */

/* Whether a member was reaped, so that another process may have its number. */
static bool was_reaped(const struct tree_member *member)
{
    struct facts facts;
    if (member->pidfd >= 0)
        return !pidfd_unreaped(member->pidfd);
    return !facts_read(member->pid, &facts) || (member->start && facts.start != member->start);
}

/* Sets *parent to the parent of a process. False when there is no such process, or without a pidfd, a zombie. */
static bool process_find_parent(struct tree *tree, pid_t pid, int pidfd, pid_t *parent)
{
    struct facts facts;
    if (pidfd >= 0 && !goes_without(tree, TREE_WITHOUT_INFO))
        return pidfd_parent(pidfd, parent);
    if (pidfd < 0 && !facts_is_process(pid))
        return false;
    if (!facts_read(pid, &facts))
        return false;
    *parent = facts.parent;
    return pidfd >= 0 || facts.state != 'Z';
}

/* Whether a process with this number and this parent is one of the tree. The recorder has no children but the root and
 * orphans of the tree. */
static bool belongs(const struct tree *tree, pid_t pid, pid_t parent)
{
    if (tree->root == TREE_EVERYBODY)
        return pid != getpid();
    return members_find(&tree->members, parent) || (tree->ours && parent == getpid());
}

/* With TREE_EVERYBODY, threads of the kernel show as processes, too. */
static bool is_kernel_thread(const struct tree *tree, pid_t pid)
{
    struct facts facts;
    return tree->root == TREE_EVERYBODY && facts_read(pid, &facts) && facts.kernel;
}

/* Looks at the process that has a number, and adds it if it belongs to the tree. Returns whether the kernel may still
 * be making it. */
static bool examine(struct tree *tree, pid_t number)
{
    struct tree_member *known = members_find(&tree->members, number);
    int pidfd = -1;
    pid_t parent;
    if (known && !was_reaped(known))
        return false;
    if (known)
        tree_replace(tree, known);
    tree->counters.numbers++;
    tree->calls += 3;
    enum pidfd_state state = PIDFD_UNKNOWN;
    if (!goes_without(tree, TREE_WITHOUT_PIDFDS))
        state = open_pidfd(tree, number, &pidfd);
    if (state == PIDFD_NONE || state == PIDFD_THREAD)
        return state == PIDFD_NONE;
    if (state == PIDFD_UNKNOWN)
        tree->without |= TREE_WITHOUT_PIDFDS;
    const bool found = process_find_parent(tree, number, pidfd, &parent);
    const bool theirs = found && belongs(tree, number, parent) && !is_kernel_thread(tree, number);
    const bool zombie = theirs && pidfd >= 0 && pidfd_ended(pidfd); /* a member that has ended already, perhaps */
    if (theirs && !zombie && state != PIDFD_FULL) {
        add_member(tree, number, parent, pidfd);
        return false;
    }
    tree->counters.left_out += theirs && !zombie;
    if (pidfd >= 0)
        close(pidfd);
    return !found;
}

/* Looks at a number; if it has no process yet, notes to look again. */
static void examine_new(struct tree *tree, pid_t number)
{
    if (!examine(tree, number))
        return;
    if (tree->late_count == LATE_MOST) {
        tree->astray = true;
        return;
    }
    tree->late = alloc_grow(tree->late, &tree->late_room, tree->late_count + 1, sizeof(*tree->late));
    tree->late[tree->late_count++] = (struct tree_late){ number, 0, tree->looked_ns };
}

static void examine_late(struct tree *tree)
{
    size_t kept = 0;
    for (size_t i = 0; i < tree->late_count; i++) {
        struct tree_late late = tree->late[i];
        if (late.due_ns <= tree->looked_ns) {
            if (!examine(tree, late.number) || ++late.tries == LATE_TRIES)
                continue;
            late.due_ns = tree->looked_ns + (LOOK_NS << 2 * late.tries);
        }
        tree->late[kept++] = late;
    }
    tree->late_count = kept;
}

static void take_numbers(struct tree *tree)
{
    pid_t first = 0;
    examine_late(tree);
    switch (pid_cursor_look(&tree->cursor, NUMBERS_MOST, &first)) {
    case PID_CURSOR_SAME:
        return;
    case PID_CURSOR_MOVED:
        tree->moved = true;
        for (pid_t number = first; number <= tree->cursor.last; number++)
            examine_new(tree, number);
        return;
    case PID_CURSOR_JUMPED:
    case PID_CURSOR_UNKNOWN:
        tree->astray = tree->moved = true;
    }
}

static void take_told(struct tree *tree, const struct connector_event *told)
{
    struct tree_member *member = members_find(&tree->members, told->pid);
    switch (told->change) {
    case CONNECTOR_FORK:
        if (tree->root == TREE_EVERYBODY ? is_kernel_thread(tree, told->pid)
                                         : !members_find(&tree->members, told->parent))
            return;
        if (member && !was_reaped(member))
            return;
        if (member)
            tree_replace(tree, member);
        add_member(tree, told->pid, told->parent, -1);
        return;
    case CONNECTOR_EXEC:
        if (member) {
            member->execed = true;
            member->held = false;
            member->since_ns = tree->changed_ns = tree->looked_ns;
        }
        return;
    case CONNECTOR_EXIT:
        if (!member)
            return;
        member->wait_status = told->wait_status;
        if (goes_without(tree, TREE_WITHOUT_PIDFDS))
            mark_ended(tree, member);
    }
}

static void take_connector(struct tree *tree)
{
    struct connector_event told[CONNECTOR_BATCH];
    bool lost = false;
    for (int batch = 0; batch < BATCHES_MOST; batch++) {
        const size_t count = connector_read(tree->connector, told, &lost);
        for (size_t i = 0; i < count; i++)
            take_told(tree, &told[i]);
        if (count == 0)
            break;
    }
    if (!lost)
        return;
    tree->counters.lost++;
    tree->astray = true;
    for (size_t i = 0; i < tree->members.count; i++)
        tree->members.rows[i].execed = true; /* perhaps */
}

/* ---- walks ---- */

static bool lives(const struct tree *tree, pid_t pid)
{
    const struct tree_member *member = members_find(&tree->members, pid);
    return member && !member->ended;
}

static void walk_lists(struct tree *tree)
{
    struct kin kin = { 0 };
    if (tree->ours)
        kin_add_children(&kin, getpid());
    for (size_t i = 0, next = 0; i < tree->members.count; i++) { /* grows meanwhile: children of children */
        kin_add_children(&kin, tree->members.rows[i].pid);
        tree->calls += 4;
        for (; next < kin.count; next++)
            if (!lives(tree, kin.rows[next].pid))
                examine(tree, kin.rows[next].pid);
    }
    kin_free(&kin);
}

static void walk_all(struct tree *tree)
{
    struct kin kin = { 0 };
    kin_add_all(&kin);
    tree->calls += 3 * kin.count;
    size_t before;
    do { /* until no child of a child is new */
        before = tree->members.count;
        for (size_t i = 0; i < kin.count; i++)
            if (belongs(tree, kin.rows[i].pid, kin.rows[i].parent) && !lives(tree, kin.rows[i].pid))
                examine(tree, kin.rows[i].pid);
    } while (before != tree->members.count);
    kin_free(&kin);
}

static void tree_walk(struct tree *tree)
{
    const uint64_t left_out = tree->counters.left_out;
    tree->counters.walks++;
    tree->counters.left_out = 0;
    tree->walked_ns = tree->looked_ns;
    tree->moved &= tree->astray; /* what came while this walk was made, the next finds */
    tree->astray = false;
    if (tree->has_lists)
        walk_lists(tree);
    else
        walk_all(tree);
    tree->counters.left_out = larger(left_out, tree->counters.left_out); /* the same processes, mostly */
}

/* A walk finds what no other way found; with the connector, nothing is missed but lost events. */
static void walk_if_due(struct tree *tree)
{
    const uint64_t since_ns = tree->looked_ns - tree->walked_ns;
    if ((tree->astray && since_ns >= (tree->has_lists ? ASTRAY_NS : REAP_NS)) || (tree->moved && since_ns >= WALK_NS))
        tree_walk(tree);
}

/* ---- execve ---- */

/* Notes which program a member runs, so that member_check() sees another. The processor time is read first: what
 * happens between both reads, member_check() sees. */
static void note_program(struct tree_member *member)
{
    struct facts facts;
    if (!facts_used(member->pid, &member->used_ns) || !facts_read(member->pid, &facts))
        return;
    member->program = facts.program;
    member->start = facts.start;
}

/* Soon after the start or an execve, the next is likely. */
static void appoint_check(struct tree *tree, struct tree_member *member)
{
    const uint64_t wait_ns = (tree->looked_ns - member->since_ns) / 2;
    member->due_ns = tree->looked_ns + larger(LOOK_NS, wait_ns < CHECK_NS ? wait_ns : CHECK_NS);
}

/* Whether a member called execve(), or without a pidfd, ended. A process that used no processor time did neither. */
static void member_check(struct tree *tree, struct tree_member *member)
{
    uint64_t used_ns;
    struct facts facts;
    tree->calls++;
    const bool used = facts_used(member->pid, &used_ns);
    if (used && used_ns == member->used_ns && member->pidfd >= 0)
        return;
    tree->counters.checks++;
    tree->calls += 3;
    const bool read = facts_read(member->pid, &facts);
    if (member->pidfd < 0 && (!read || facts.state == 'Z' || facts.state == 'X' || facts.start != member->start)) {
        mark_ended(tree, member);
        return;
    }
    member->used_ns = used ? used_ns : member->used_ns;
    if (!read || facts.program == 0 || facts.program == member->program)
        return;
    member->program = facts.program;
    member->execed = true;
    member->since_ns = tree->changed_ns = tree->looked_ns;
}

static void check_due(struct tree *tree)
{
    size_t checks = 0;
    if (tree->looked_ns < tree->checks_due_ns)
        return;
    tree->checks_due_ns = UINT64_MAX;
    for (size_t i = 0; i < tree->members.count; i++) {
        struct tree_member *member = &tree->members.rows[i];
        if (member->ended || !member->came)
            continue;
        if (member->due_ns <= tree->looked_ns && checks++ < CHECKS_MOST) {
            member_check(tree, member);
            appoint_check(tree, member);
        }
        if (member->due_ns < tree->checks_due_ns)
            tree->checks_due_ns = member->due_ns;
    }
}

/* ---- telling ---- */

static bool checks_programs(const struct tree *tree)
{
    return tree->connector < 0 || goes_without(tree, TREE_WITHOUT_PIDFDS);
}

/* Makes a new member ready to come: watched, and with memory of its own. */
static void member_prepare(struct tree *tree, struct tree_member *member)
{
    if (member->ended || (member->held && member->due_ns > tree->looked_ns))
        return;
    tree->calls += 8;
    if (!watch(tree, member)) {
        member->ended = true;
        return;
    }
    const bool own_memory = member->execed || member->orphan;
    member->held = !own_memory && facts_share_memory(member->pid, member->parent);
    if (!member->held && checks_programs(tree))
        note_program(member);
    appoint_check(tree, member);
}

/* Which new members come: those that are ready, and the ancestors of those. */
static void tree_choose(struct tree *tree)
{
    for (size_t i = tree->fresh_count; i-- > 0;) {
        struct tree_member *member = members_find(&tree->members, tree->fresh[i]);
        if (!member || member->came)
            continue;
        member->comes |= !member->ended && !member->held;
        struct tree_member *parent = parent_of(tree, member);
        if (member->comes && parent)
            parent->comes = true;
    }
}

static void tell_fresh(struct tree *tree)
{
    size_t kept = 0;
    for (size_t i = 0; i < tree->fresh_count; i++) {
        const pid_t pid = tree->fresh[i];
        struct tree_member *member = members_find(&tree->members, pid);
        if (!member || member->came)
            continue;
        if (member->comes) {
            put_event(tree, (struct tree_event){ TREE_CAME, .pid = pid, .parent = member->parent, .pidfd = -1,
                                                 .wait_status = -1 });
            tree->counters.came++;
            member->came = true;
            member->execed = false;
            if (member->due_ns < tree->checks_due_ns && checks_programs(tree))
                tree->checks_due_ns = member->due_ns;
        } else if (member->ended) {
            tree->counters.passed += !member->left_out;
            tree_forget(tree, member);
        } else {
            tree->fresh[kept++] = pid;
        }
    }
    tree->fresh_count = kept;
}

static void tell(struct tree *tree)
{
    for (size_t i = 0; i < tree->fresh_count; i++) {
        struct tree_member *member = members_find(&tree->members, tree->fresh[i]);
        if (member && !member->came)
            member_prepare(tree, member);
    }
    tree_choose(tree);
    tell_fresh(tree);
    for (size_t i = tree->members.count; i-- > 0;) {
        struct tree_member *member = &tree->members.rows[i];
        if (!member->came || (!member->ended && !member->execed))
            continue;
        struct tree_event event = { TREE_EXECED, .pid = member->pid, .parent = member->parent, .pidfd = -1,
                                    .wait_status = -1 };
        member->execed = false;
        if (member->ended) {
            learn_status(tree, member);
            event.change = TREE_ENDED;
            event.wait_status = member->wait_status;
            event.cpu_ns = cpu_at_end(tree, member);
            tree_forget(tree, member);
        }
        put_event(tree, event);
    }
}

bool tree_next(struct tree *tree, struct tree_event *event)
{
    if (tree->events_taken == tree->events_count)
        return false;
    *event = tree->events[tree->events_taken++];
    if (event->change != TREE_CAME)
        return true;
    const struct tree_member *member = members_find(&tree->members, event->pid);
    event->pidfd = member && member->pidfd >= 0 ? fcntl(member->pidfd, F_DUPFD_CLOEXEC, 0) : -1;
    return true;
}

static bool is_young(const struct tree *tree, const struct tree_member *member)
{
    return member->came && !member->ended && tree->looked_ns < member->since_ns + YOUNG_NS;
}

/* Asks young members for their processor time. */
static void ask_young(struct tree *tree)
{
    tree->young = false;
    for (size_t i = 0; tree->looked_ns < tree->changed_ns + YOUNG_NS && i < tree->members.count; i++) {
        struct tree_member *member = &tree->members.rows[i];
        if (!is_young(tree, member))
            continue;
        facts_used(member->pid, &member->cpu_ns);
        tree->young = true;
        tree->calls++;
    }
}

/* ---- the door ---- */

void tree_look(struct tree *tree, uint64_t now_ns)
{
    if (!tree->open || now_ns < tree->next_ns || tree->events_taken < tree->events_count)
        return;
    tree->events_taken = tree->events_count = 0;
    tree->looked_ns = now_ns;
    tree->counters.looks++;
    tree->calls = 0;
    const bool told = take_ends(tree);
    if (told)
        take_connector(tree);
    if (tree->connector < 0)
        take_numbers(tree);
    walk_if_due(tree);
    if (checks_programs(tree))
        check_due(tree);
    tell(tree);
    ask_young(tree);
    if (tree->ours && tree->ends && now_ns - tree->reaped_ns >= REAP_NS)
        tree_reap_orphans(tree);
    tree->next_ns = now_ns + larger(LOOK_NS, tree->calls * CALL_NS);
}

void tree_watch_existing(struct tree *tree)
{
    if (!tree->open)
        return;
    tree_walk(tree);
    tell(tree);
    for (size_t i = 0; i < tree->events_count; i++)
        tree->events[i].existed = true;
}

int tree_fd(const struct tree *tree)
{
    return tree->epoll;
}

/* The longer nothing has changed, the rarer are looks: a process that is noticed late by a sixteenth of the time since
 * the last change loses little of what is to come. */
static uint64_t gap_ns(const struct tree *tree)
{
    const uint64_t gap = (tree->looked_ns - tree->changed_ns) / 16, most = tree->young ? YOUNG_GAP_NS : QUIET_NS;
    return larger(LOOK_NS, gap < most ? gap : most);
}

uint64_t tree_due_ns(const struct tree *tree)
{
    const bool waits = tree->connector >= 0 && tree->fresh_count == 0 && !tree->astray && !checks_programs(tree) &&
                       !tree->young;
    const uint64_t due_ns = tree->looked_ns + (waits ? REAP_NS : gap_ns(tree));
    return larger(due_ns, tree->next_ns);
}

bool tree_sleep_until(const struct tree *tree, uint64_t wake_ns, int fd)
{
    const uint64_t due_ns = tree_due_ns(tree), deaf_ns = larger(tree->looked_ns + gap_ns(tree), tree->next_ns);
    wake_ns = wake_ns < due_ns ? wake_ns : due_ns;
    if (clock_sleep_or_readable(wake_ns < deaf_ns ? wake_ns : deaf_ns, fd, -1))
        return true;
    const uint64_t now_ns = clock_now_ns();
    if (wake_ns <= now_ns || now_ns < deaf_ns) /* a signal came */
        return false;
    return clock_sleep_or_readable(wake_ns, fd, tree->epoll);
}

void tree_reap(struct tree *tree)
{
    if (tree->open && tree->ours)
        tree_reap_orphans(tree);
}

bool tree_has_left(const struct tree *tree)
{
    return tree->members.count > 0;
}

/* The recorder needs two descriptors for each process. The command was started before, and keeps its own limit. Returns
 * the limit for pidfds, which leaves some for other files. */
static int raise_descriptors(void)
{
    struct rlimit limit;
    const rlim_t wanted = 2 * TREE_MOST + 1024;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return INT_MAX;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
    return (int)(limit.rlim_cur - limit.rlim_cur / 8);
}

static bool open_root(struct tree *tree, struct fault *why)
{
    add_member(tree, tree->root, 0, -1);
    struct tree_member *root = members_find(&tree->members, tree->root);
    if (!watch(tree, root))
        return fault(why, "cannot watch process %d: %s", (int)tree->root, strerror(errno));
    if (root->pidfd < 0 || !pidfd_parent(root->pidfd, &root->parent))
        tree->without |= TREE_WITHOUT_INFO;
    struct facts facts;
    if (facts_read(root->pid, &facts))
        root->parent = facts.parent;
    note_program(root);
    appoint_check(tree, root);
    root->orphan = true;
    root->comes = true;
    tell_fresh(tree);
    return true;
}

bool tree_open(struct tree *tree, pid_t root, bool ours, struct fault *why)
{
    *tree = (struct tree){ .without = tree->without,
                           .root = root,
                           .ours = ours,
                           .open = true,
                           .connector = -1,
                           .cursor = { .file = -1 },
                           .epoll = epoll_create1(EPOLL_CLOEXEC) };
    tree->looked_ns = tree->changed_ns = tree->walked_ns = tree->reaped_ns = clock_now_ns();
    if (tree->epoll < 0)
        return fault(why, "cannot watch processes: %s", strerror(errno));
    if (ours)
        prctl(PR_SET_CHILD_SUBREAPER, 1UL);
    tree->pidfds_most = raise_descriptors();
    if (!goes_without(tree, TREE_WITHOUT_CPU))
        last_cpu_open(&tree->last_cpu);
    tree->has_lists = root != TREE_EVERYBODY && !goes_without(tree, TREE_WITHOUT_LISTS) && kin_listed();
    if (!goes_without(tree, TREE_WITHOUT_CONNECTOR))
        tree->connector = connector_open();
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = CONNECTOR_ID };
    if (tree->connector >= 0)
        epoll_ctl(tree->epoll, EPOLL_CTL_ADD, tree->connector, &event);
    else if (!goes_without(tree, TREE_WITHOUT_CURSOR))
        pid_cursor_open(&tree->cursor);
    return root == TREE_EVERYBODY || open_root(tree, why);
}

void tree_close(struct tree *tree)
{
    if (!tree->open)
        return;
    for (size_t i = 0; i < tree->members.count; i++)
        unwatch(tree, &tree->members.rows[i]);
    last_cpu_close(&tree->last_cpu);
    members_free(&tree->members);
    connector_close(tree->connector);
    pid_cursor_close(&tree->cursor);
    if (tree->epoll >= 0)
        close(tree->epoll);
    if (tree->ours)
        prctl(PR_SET_CHILD_SUBREAPER, 0UL);
    free(tree->fresh);
    free(tree->events);
    free(tree->late);
    *tree = (struct tree){ .counters = tree->counters };
}
