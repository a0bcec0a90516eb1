/* SPDX-License-Identifier: MIT */
/* Finds the markers of a recording while its events come: waits for the lock, garbage collections, exceptions, gaps,
 * blocked event loops, spans of OpenTelemetry, and lives of tasks and titles. This is the door of the room; the files
 * of the room are one kind each:
 *
 *     event → markers ─┬→ lock_waits       with the holder of each tick
 *                      ├→ spans            collections and exceptions
 *                      ├→ loop_steps       callbacks of the event loop
 *                      ├→ traced           spans of OpenTelemetry
 *                      ├→ task_lives
 *                      ├→ title_lives      of a process
 *                      └→ gaps             of a process
 *                              ↓
 *                         marker_store     keeps the heaviest of each kind
 *
 * Memory grows with threads, tasks and stacks, as the tables do, and not with samples. All times are those of looks: a
 * state lasts from the first look that shows it to the next look that does not. */
#ifndef PYREEL_FORMATS_GECKO_MARKERS_MARKERS_H
#define PYREEL_FORMATS_GECKO_MARKERS_MARKERS_H

#include "formats/gecko/markers/gaps.h"
#include "formats/gecko/markers/lock_waits.h"
#include "formats/gecko/markers/loop_steps.h"
#include "formats/gecko/markers/spans.h"
#include "formats/gecko/markers/task_lives.h"
#include "formats/gecko/markers/title_lives.h"
#include "formats/gecko/markers/traced.h"

#define GIL_WAIT_LEAST_NS 5000000 /* CPython's switch interval: who waits so long waits for a thread that works */

/* What is open on a thread's line. */
struct marker_thread {
    uint64_t last_ns, width_ns; /* the latest look and how long it stands for; width_ns 0: no look yet */
    uint64_t tick;              /* the tick of that look */
    uint32_t stack, status;     /* of that look */
    uint32_t task;              /* the task that the thread ran then; 0: none */
    uint32_t process;
    bool calm; /* an equal look would say nothing new, but of the lock */
    struct lock_wait wait;
    struct spans spans;
    struct loop_step step;
    struct traced traced;
};

/* The end of a thread. */
struct marker_end {
    uint32_t thread;
    uint64_t ns;
};

/* `= {0}` is empty. */
struct markers {
    const struct tables *tables;
    uint64_t least_wait_ns;
    struct marker_store store;
    struct stack_facts facts;
    struct lock_tick lock;
    struct task_lives tasks;
    struct title_lives titles;
    struct gaps gaps;
    uint64_t gaps_ns; /* the time and the process of the latest look that `gaps` took */
    uint32_t gaps_process;
    struct marker_thread **threads; /* by number; NULL: no look, or the thread has ended */
    size_t threads_room;
    struct marker_end *ended; /* threads that ended since the last tick. Samples of the open tick may follow */
    size_t ended_count, ended_room;
    uint64_t tick;       /* number of ticks of all processes; a tick in which no thread could be read does not count */
    uint64_t *own_ticks; /* the same of ticks of a process alone, by process */
    size_t own_ticks_room;
    bool blind; /* no thread could be read in the open tick */
};

/* Prepares for the events of `tables`, which must outlive the markers. Shorter waits than `least_wait_ns` are left out.
 */
void markers_begin(struct markers *markers, const struct tables *tables, uint64_t least_wait_ns);

/* Takes a sample. `thread`: on whose line the sample is. Below: a sample of a task that waits, on the line of its
 * loop's thread. */
void markers_take_run(struct markers *markers, const struct run *run, uint32_t thread);
void markers_take_waiting(struct markers *markers, const struct run *run, uint32_t thread);

/* Takes any other event. */
void markers_take(struct markers *markers, const struct event *event);

/* Ends all that is open, and decides which markers are written. `bytes`: the size of the profile without markers. */
void markers_settle(struct markers *markers, uint64_t bytes);

/* Frees everything. */
void markers_free(struct markers *markers);

#endif
