/* SPDX-License-Identifier: MIT */
/* The main that all converters share: reads the options, opens the recordings, passes each event through the tables to
 * the output (by way of convert/filters/merge.h when there are several, or a part of one is wanted), shows progress,
 * and reports what was missing. A converter is one row: its name, what it takes, and the functions that make its
 * output. */
#ifndef PYREEL_CONVERT_CONVERT_H
#define PYREEL_CONVERT_CONVERT_H

#include "convert/filters/mode_filter.h"
#include "convert/filters/selection.h"
#include "formats/base/output.h"
#include "formats/collapsed/collapsed.h"
#include "formats/model/sink.h"
#include "formats/model/source_kind.h"
#include "formats/model/tables.h"

/* What the user asked for. */
struct settings {
    const char *input; /* the one that is being read; in the end all of them, for a message */
    char **inputs;
    size_t inputs_count;
    struct selection selection;
    const char *output; /* NULL: the converter's default */
    bool quiet, verbose;
    bool strict;       /* damage is a failure */
    bool functions;    /* leave lines out: a frame is its function */
    bool no_threads;   /* collapsed: merge the threads */
    bool full_paths;   /* collapsed: do not shorten files */
    bool opcodes;      /* show instructions */
    bool json, verify; /* info */
    enum kept_mode mode;
    enum collapsed_weight weight; /* collapsed */
};

/* Options that only some converters take; --help, --version, -q, -v, -o and --strict belong to all. */
enum option_set {
    TAKES_FUNCTIONS = 1 << 0,
    TAKES_THREADS = 1 << 1,
    TAKES_PATHS = 1 << 2,
    TAKES_INFO = 1 << 3,
    TAKES_MODE = 1 << 4,
    TAKES_WEIGHT = 1 << 5,
    TAKES_OPCODES = 1 << 6,
    TAKES_SELECTION = 1 << 7, /* and several recordings */
};

enum packing { PACK_NEVER, PACK_ALWAYS, PACK_BY_NAME /* gzip when the output's name ends in .gz */ };

/* What a converter works with while it runs. */
struct conversion {
    struct settings settings;
    struct tables tables;
    struct source_report report; /* on the recording that was read last */
    struct output output;
};

struct converter {
    const char *name;   /* of the program */
    const char *makes;  /* one line for --help */
    const char *suffix; /* of the default output's name; NULL: standard output */
    bool binary;        /* not for a terminal */
    enum packing packing;
    unsigned takes; /* option_set */
    bool runs;      /* it counts samples, and takes many at once: those with `more` */
    /* Whether it looks at the status or CPU time of samples. NULL: it does. */
    bool (*needs_status)(const struct settings *settings);
    /* Whether it only counts samples, however long they stand for. NULL: it does not. */
    bool (*only_counts)(const struct settings *settings);

    /* Makes the state of the output. It may keep `conversion`, whose tables see each event first. */
    void *(*start)(struct conversion *conversion);
    /* Takes an event that the tables have accepted and the mode keeps. Samples with stack STACK_LOST never come here.
     * NULL: not needed, and then it takes no --mode. */
    bool (*take)(void *self, struct event *event, struct fault *why);
    /* Writes what is left. False with the reason when it could not. */
    bool (*finish)(void *self, struct fault *why);
    /* Frees the state. */
    void (*drop)(void *self);
};

/* Runs a converter and returns the exit code: 0 converted, 1 failed, 2 misuse. */
int convert_main(int argc, char **argv, const struct converter *converter);

#endif
