/* SPDX-License-Identifier: MIT */
#include "record/dump/dump_live.h"

#include "record/dump/dumping.h"
#include "record/process/clock.h"
#include "record/tree/python_kin.h"

#include <string.h>

#define LOOKS         12      /* the most looks for a proven moment */
#define C_LOOKS       3       /* of these, for the C functions of all threads */
#define LOOK_AHEAD_NS 300000  /* from the appointment of a look to its moment */
#define ROUND_NS      2000000 /* from one look to the next */

/* ---- finding the CPython ---- */

static enum target_state find_python(struct watched *watched, uint64_t give_up_ns, struct fault *why)
{
    watched_seek(watched);
    for (;;) {
        *why = (struct fault){ 0 };
        const enum target_state state = watched_find(watched, why);
        if (state != TARGET_NOT_YET)
            return state;
        /* A refusal is believed after a while only. */
        const bool refused = watched->search.found == TARGET_DENIED || watched->search.found == TARGET_UNSUPPORTED;
        if (clock_now_ns() >= give_up_ns && !refused)
            return watched_give_up(watched, why);
        clock_sleep_until(watched->search.find_ns);
    }
}

/* ---- looks ---- */

/* Makes one look, and emits it. Returns whether the process still runs the program. */
static bool dump_live_look(struct dumping *d, struct fault *why)
{
    struct watched *watched = &d->watched;
    const struct moments moments = { .due_ns = clock_now_ns() + LOOK_AHEAD_NS };
    dumped_again(d->dumped);
    const bool appointed = watched_appoint(watched, &moments);
    clock_sleep_until(moments.due_ns + (appointed ? STAND_LATE_NS : 0));
    cpu_process_ran(&d->ran);
    watched_look(watched, clock_now_ns());
    const bool slept = !cpu_process_ran(&d->ran);
    const uint64_t time_ns = clock_now_ns() - d->options.start_ns;
    d->dumped->unix_ns = clock_unix_ns();
    const bool proven = watched->look.one_moment && watched_moved(watched) == 0;
    d->dumped->moment = !proven && !slept ? MOMENT_UNPROVED : d->options.freezes ? MOMENT_FROZEN : MOMENT_PROVEN;
    const uint64_t c_stacks = watched->counters.native.samples;
    const bool same = watched_same_program(watched, time_ns) && watched_emit(watched, time_ns, why) && !watched->lost;
    d->c_stacks = watched->counters.native.samples - c_stacks;
    locals_number(&d->dumped->locals, watched);
    return same;
}

static bool dumping_is_whole(const struct dumping *d)
{
    bool whole = d->watched.look.state == THREAD_LIST_READ;
    for (size_t i = 0; i < d->dumped->count; i++)
        whole &= d->dumped->rows[i].failure == 0;
    return whole;
}

/* Whether each thread has its C functions, where they can be had. */
static bool has_c_functions(const struct dumping *d)
{
    uint64_t stacks = 0;
    for (size_t i = 0; i < d->dumped->count; i++)
        stacks += d->dumped->rows[i].stack != 0 && !dumped_is_task(d->dumped, &d->dumped->rows[i]);
    return !d->watched.c_frames || d->c_stacks >= stacks;
}

/* Asks where the process is. Afterwards, it must be there still. */
static void ask_before(struct dumped *dumped)
{
    place_free(&dumped->place);
    dumped->standing = standing_of(dumped->pid);
    dumped->place = place_of(dumped->pid);
}

static void ask_after(struct dumped *dumped)
{
    struct place now = place_of(dumped->pid);
    dumped->place.known = place_same(&dumped->place, &now);
    place_free(&now);
}

/* Looks until a look is one moment and has all threads, with their C functions if these are wanted. The first look
 * learns names and code, and does not count. */
static bool look_well(struct dumping *d, struct fault *why)
{
    if (!dump_live_look(d, why))
        return false;
    for (int i = 0; i < LOOKS; i++) {
        const uint64_t began_ns = clock_now_ns();
        ask_before(d->dumped);
        if (!dump_live_look(d, why))
            return false;
        ask_after(d->dumped);
        if (dumping_is_whole(d) && d->dumped->moment != MOMENT_UNPROVED && (has_c_functions(d) || i + 1 >= C_LOOKS))
            return true;
        clock_sleep_until(began_ns + ROUND_NS);
    }
    return true;
}

/* ---- results ---- */

static enum dump_result dumping_ended(struct dumping *d, struct fault *why)
{
    const struct standing standing = standing_of(d->dumped->pid);
    *why = (struct fault){ 0 };
    if (standing.state == 0)
        fault(why, "there is no process %d", (int)d->dumped->pid);
    else if (standing_is_ended(&standing))
        fault(why, "process %d has ended: it is a zombie, and its parent, process %d, has not noticed yet",
              (int)d->dumped->pid, (int)standing.parent);
    else
        fault(why, "process %d began to run another program while it was read", (int)d->dumped->pid);
    return DUMP_GONE;
}

/* Refusals are told in the words of pyreel-record, which reads processes in the same way. */
static void name_us(struct fault *why)
{
    static const char theirs[] = "pyreel-record", ours[] = "pyreel-dump";
    for (char *at = why->text; (at = strstr(at, theirs));) {
        char *end = at + sizeof(theirs) - 1;
        if (strncmp(end, " -- ", 4) == 0) { /* only pyreel-record starts commands */
            at = end;
            continue;
        }
        memcpy(at, ours, sizeof(ours) - 1);
        memmove(at + sizeof(ours) - 1, end, strlen(end) + 1);
    }
}

static enum dump_result dumping_refused(struct dumping *d, enum target_state state, const struct dump_options *options,
                                        struct fault *why)
{
    static const struct python_kin_words words = { .one = "pyreel-dump", .whole = "dump" };
    const struct standing standing = standing_of(d->dumped->pid);
    if (state == TARGET_GONE || standing_is_ended(&standing))
        return dumping_ended(d, why);
    watched_refusal(&d->watched, state, why);
    name_us(why);
    if (!options->subprocesses && (state == TARGET_NOT_YET || state == TARGET_UNSUPPORTED))
        python_kin_explain(d->dumped->pid, state == TARGET_UNSUPPORTED, &words, why);
    return state == TARGET_NOT_YET ? DUMP_NOT_PYTHON : DUMP_FAILED;
}

enum dump_result dump_live(struct dumped *dumped, pid_t pid, const struct dump_options *options, uint64_t give_up_ns,
                           struct fault *why)
{
    struct dumping d;
    *dumped = (struct dumped){ .pid = pid };
    dumping_open(&d, dumped, pid, options);
    const enum target_state state = find_python(&d.watched, give_up_ns, why);
    enum dump_result result = DUMP_DONE;
    if (state != TARGET_READY) {
        result = dumping_refused(&d, state, options, why);
    } else {
        cpu_process_open(&d.ran, pid);
        watched_attach(&d.watched);
        if (look_well(&d, why)) {
            dumping_add_idents(&d);
            dumping_tell_tasks(&d, why);
        } else
            result = dumping_ended(&d, why);
    }
    dumped_settle(dumped);
    dumping_close(&d);
    return result;
}
