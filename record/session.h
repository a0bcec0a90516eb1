/* SPDX-License-Identifier: MIT */
/* One run of pyreel-record: everything that its steps share. main.c begins and ends the recording; sampling.c takes the
 * ticks in between. */
#ifndef PYREEL_RECORD_SESSION_H
#define PYREEL_RECORD_SESSION_H

#include "formats/stream/stream_write.h"
#include "record/file/outlet.h"
#include "record/file/recording_file.h"
#include "record/hindrance.h"
#include "record/launch/afterwards.h"
#include "record/launch/command.h"
#include "record/launch/control.h"
#include "record/launch/pause.h"
#include "record/options.h"
#include "record/progress.h"
#include "record/tree/hint.h"
#include "record/tree/tree.h"
#include "record/watch/sampler.h"
#include "record/watch/sampler_counters.h"

#define UNREAD_TOLD 5 /* so many processes of a tree that cannot be read are told when they are found */

struct session {
    struct options options;
    struct command command;
    struct afterwards afterwards;
    char *output; /* as -o names it, see output_name.h; NULL: without -o */
    struct recording_file file;
    struct stream_writer writer;
    struct outlet outlet;       /* from the sampler to the writer and the file */
    struct recording recording; /* description of the recording */
    struct pause_state pause;
    struct control control;    /* with --control; sampling.c asks, orders.c does what is asked */
    bool stopped;              /* --control: stop */
    uint32_t incidents_before; /* outlet.incidents when a snapshot was asked for */
    uint32_t wrong_orders;     /* lines of --control that had no effect */
    uint32_t written_count;    /* how often SIGUSR1 had asked a flight recorder */
    struct sampler sampler;
    struct tree tree;         /* with --subprocesses: the processes of the tree, with --all: all, ... */
    struct tree_event change; /* ... and their next change, ... */
    bool has_change;          /* ... if there is one */
    struct chosen chosen;     /* with --all: which of them are recorded */
    uint32_t reloads;         /* how often SIGHUP had asked to read them again */
    struct hint hint;         /* without --subprocesses: the Pythons that are not recorded */
    enum priority priority;
    struct hindrance hindrance;
    struct quota quota;           /* of the program */
    uint64_t suspended_before_ns; /* clock_suspended_ns() at the start */
    struct progress progress;
    struct watched *program; /* the process that the user asked for; owned by the sampler. NULL: it has ended, and
                              * others of its tree are left; or --all */
    uint64_t give_up_ns;     /* when the search for a Python in `program` ends (monotonic); UINT64_MAX: never */
    uint64_t deadline_ns;    /* end of --duration (monotonic); UINT64_MAX: none */
    uint64_t quiet_ns;       /* when what waits is written, since no tick comes (monotonic); UINT64_MAX: ticks come */
    uint64_t counters_ns;    /* when the early counters are emitted next (monotonic) */
    uint32_t blocks;         /* number of blocks at the last check of the file */
    uint32_t refused;        /* how often it was noticed that a process cannot be read */
    uint32_t told;           /* processes that the user was told of as such, UNREAD_TOLD at most */
    uint64_t passed;         /* see watched_is_passed() */
    uint32_t unread;         /* processes that ended and were neither told nor ever attached */
    const char *refusal;     /* why samples were not one moment, for the user; NULL: they were */
    enum end_reason reason;
    struct fault why; /* the reason of END_ERROR */
};

/* Prints a message with --verbose. */
void session_say(const struct session *session, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints a message for the user, above the status line; nothing with --quiet. */
void session_tell(struct session *session, const char *text);

/* Shows what the outlet has to tell. */
void session_tell_notice(struct session *session);

/* The limits that the counters name. */
struct limits session_limits(const struct session *session);

/* What the status line and the summary show. */
struct progress_totals session_totals(const struct session *session);

#endif
