/* SPDX-License-Identifier: MIT */
/* What a dump found of one process: its threads with their stacks at one moment, and its asyncio tasks. A dump is a
 * sink: it takes the events that a recording would have of one tick, and keeps the samples of the last tick. All text
 * in it comes from the process, which is not trusted. */
#ifndef PYREEL_RECORD_DUMP_DUMPED_H
#define PYREEL_RECORD_DUMP_DUMPED_H

#include "formats/model/tables.h"
#include "record/dump/locals/locals.h"
#include "record/dump/standing.h"

/* A thread or a task of the tick. */
struct dumped_row {
    uint32_t thread; /* number in the tables */
    uint32_t stack;  /* number in the tables; 0: no frames */
    uint32_t status; /* bits of enum status */
    uint32_t task;   /* the task that the thread runs, or for which the row stands; 0: none */
    uint32_t collection;
    enum failure failure; /* why there is no stack; 0: there is one */
    uint64_t ident;       /* Python's number of the thread: pthread_self(); 0: not known */
};

/* How the threads stood while they were read. */
enum moment {
    MOMENT_UNPROVED, /* the process ran: a stack may be a little older than another one */
    MOMENT_PROVEN,   /* no Python of the process ran meanwhile */
    MOMENT_FROZEN,   /* all threads were stopped */
};

struct dumped {
    pid_t pid;
    struct tables tables;
    struct dumped_row *rows; /* in the order of the threads' numbers */
    size_t count, room;
    size_t threads;   /* rows that stand for threads, which come first */
    uint64_t unix_ns; /* when the process was read */
    enum moment moment;
    struct locals locals;     /* of the threads; empty if they are not wanted */
    struct standing standing; /* what the kernel said of the process then */
    struct place place;       /* where its files are, and with whose rights they are read */
    const char *core;         /* path of the core file; NULL: the process lives */
    bool foreign;             /* the core file comes from another machine */
    bool cut;                 /* the core file is cut off */
    int signal;               /* the signal that ended the process; 0: none */
    pid_t signal_tid;         /* the thread that got it */
};

/* A sink that fills in `dumped`. */
struct sink dumped_sink(struct dumped *dumped);

/* Forgets the samples of a tick: another tick follows. */
void dumped_again(struct dumped *dumped);

/* Sorts the rows. Call this behind the last event. */
void dumped_settle(struct dumped *dumped);

/* The process that was dumped. */
const struct process *dumped_process(const struct dumped *dumped);

/* The frames of a row, root first, as numbers. Of a row that stands for a task: the frames of that task only, without
 * the tasks that await it. The caller frees them. */
uint32_t *dumped_frames(const struct dumped *dumped, const struct dumped_row *row, size_t *count);

/* Whether the row stands for a task. */
static inline bool dumped_is_task(const struct dumped *dumped, const struct dumped_row *row)
{
    return dumped->tables.threads[row->thread].thread.task != 0;
}

void dumped_free(struct dumped *dumped);

#endif
