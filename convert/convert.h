/* SPDX-License-Identifier: MIT */
/* The main function that all converters share. It reads the options, opens the recordings, passes each event to the
 * output, shows progress, and reports lost samples. A converter is one struct: its name, its options, and the functions
 * that make its output.
 *
 *     one recording:        source → lines of C → tables → mode filter → CPU owner → span filter → converter
 *     several, or a part:   source → lines of C → tables → merge → tables → mode filter → ...
 *
 * The tables say how much wall-clock time a look stands for (model/wall.h). The CPU owner works for converters that
 * show which stack used which CPU time. */
#ifndef PYREEL_CONVERT_CONVERT_H
#define PYREEL_CONVERT_CONVERT_H

#include "convert/filters/alike.h"
#include "convert/filters/cpu_owner.h"
#include "convert/filters/mode_filter.h"
#include "convert/filters/selection.h"
#include "convert/newest.h"
#include "convert/parts.h"
#include "convert/sides.h"
#include "convert/symbols/c_lines.h"
#include "formats/base/arguments.h"
#include "formats/base/output.h"
#include "formats/frames/frame_filter.h"
#include "formats/model/outline.h"
#include "formats/model/sink.h"
#include "formats/model/source_kind.h"
#include "formats/model/tables.h"

/* What the user asked for. */
struct settings {
    const char *input; /* for messages: the recording that is being read; at the end, all of them */
    char **inputs;
    size_t inputs_count;
    size_t before; /* with TAKES_SIDES: how many of the inputs, the first ones, --before names; 0: no side is named */
    struct sides sides;      /* with TAKES_SIDES: owns `inputs` */
    struct newest newest;    /* the user named no recording: what is read instead */
    struct part_lists parts; /* of the inputs that are several files */
    struct selection selection;
    const char *output;   /* NULL: the converter's default */
    const char *receiver; /* with TAKES_RECEIVER: the URL to which the output is sent; NULL: none is named */
    bool quiet, verbose;
    bool force;          /* replace any file */
    bool strict;         /* fail when the recording is damaged */
    uint64_t max_memory; /* bytes; 0: the default */
    enum frame_detail detail;
    bool opcodes; /* show instructions */
    enum kept_mode mode;
    struct kept_span span;
    bool no_idle; /* leave out samples of threads that did not run */
    struct frame_filter frames;
    enum debug_source debug_source;
    bool debug_chosen;    /* by an option */
    struct fault problem; /* the first regular expression of `frames` that is none; empty: all are */
    char *filters;        /* the options that leave out samples, as they were given; NULL: none */
    void *wanted;         /* what the converter's own options say: a struct of the converter */
};

/* Options that several converters take. All converters take --help, --version, -q, -v, -o and --strict. */
enum option_set {
    TAKES_DETAIL = 1 << 0,
    TAKES_MODE = 1 << 1, /* which samples are kept, by what they say: --mode, --span */
    TAKES_OPCODES = 1 << 2,
    TAKES_PART = 1 << 3,
    TAKES_NO_IDLE = 1 << 4,
    TAKES_FRAMES = 1 << 5,     /* which frames are shown; ... */
    TAKES_FOCUS = 1 << 6,      /* ... the one of these options that leaves out samples */
    TAKES_COLUMNS = 1 << 7,    /* goes with TAKES_DETAIL */
    TAKES_SIDES = 1 << 8,      /* --before and --after, see sides.h */
    TAKES_DEBUG_INFO = 1 << 9, /* lines of C functions */
    TAKES_UNTIL = 1 << 10,     /* --to is a time, ... */
    TAKES_RECEIVER = 1 << 11,  /* ... or the URL of a receiver */
    TAKES_SELECTION = TAKES_PART | TAKES_UNTIL,
};

/* How a converter without a listing treats several recordings. */
enum several {
    SEVERAL_MERGED,   /* one profile */
    SEVERAL_COMPARED, /* the same, for one that compares recordings */
    SEVERAL_REFUSED,
};

#define OPTION_OWN 100 /* the options of one converter have numbers from here on */

enum packing { PACKING_NEVER, PACKING_ALWAYS, PACKING_BY_NAME /* gzip when the output's name ends in .gz */ };

/* The plan says what the options make of the conversion. All false: nothing special. */
struct converter_plan {
    bool without_input; /* the options ask for something that takes no recording; then none may be missing */
    bool splits; /* the output is many files, each for a part of the time, or is none. The converter then opens and
                  * closes conversion->output itself, a file with conversion_open() and conversion_close(), and gets no
                  * runs */
    bool keeps;  /* the output goes to a temporary file, conversion->kept_fd, for `after` to read, and not to the file
                  * of -o. The file is packed unless the converter never packs */
    bool binary; /* the output must not go to a terminal */
    bool without_status; /* the output does not depend on the status or CPU time of samples */
    bool only_counts;    /* the output counts samples, and ignores how long they stand for */
};

/* What a converter works with while it runs. */
struct conversion {
    const struct converter *converter;
    const struct inputs *inputs;
    const struct alike *alike; /* which functions of compared recordings are the same */
    int input_fd;              /* the recording that is being read */
    int refusal; /* set by the converter: the exit code, although everything was written; 0: there is nothing to refuse
                  */
    struct settings settings;
    struct converter_plan plan; /* of these settings */
    struct tables tables;
    struct cpu_owner cpu_owner;  /* used with events.places_cpu */
    struct source_report report; /* of the recording that was read last */
    bool whole;                  /* nothing was missing of the recordings before that one, when several are merged */
    struct output output;
    int kept_fd; /* the file of a converter that keeps its output; -1: there is none */
    void *list;  /* of a converter with a listing, when there are several recordings; else NULL */
};

/* The list that a converter makes of several recordings. Each recording is read by itself, and `finish` adds the
 * recording to conversion->list. */
struct listing {
    /* Makes an empty list. */
    void *(*start)(void);
    /* Adds a recording that cannot be listed, with the reason. */
    void (*add_failed)(void *list, const char *path, const char *reason);
    /* Writes the list to conversion->output. Returns the number of samples of all recordings. */
    uint64_t (*write)(void *list, struct conversion *conversion);
    /* Frees the list. */
    void (*drop)(void *list);
};

/* The options that only one converter has. */
struct converter_options {
    const struct argument *rows; /* ends in a row of zeros. NULL: none */
    size_t size; /* of settings->wanted, the struct that holds what these options say. The struct starts as zeros */
    /* Applies one of these options to settings->wanted. `value` is NULL when the option takes no value. False when the
     * option does not accept the value; the message then names the form that the row's help shows. */
    bool (*apply)(struct settings *settings, int number, const char *value);
    /* Why the options cannot be used together, or a value is wrong; NULL: they can. The function may be NULL. */
    const char *(*problem)(const struct settings *settings);
    const char *exits; /* a line for --help with exit codes that only this converter has; NULL: there are none */
};

/* The file of the output. */
struct converter_file {
    const char *suffix; /* suffix of the default output's name; NULL: standard output */
    enum packing packing;
    /* Whether a file that begins with these bytes (unpacked) may be an earlier output. -o replaces no other file
     * without --force, see formats/base/replaced.h. */
    bool (*recognises)(struct text head);
};

/* The events that the output gets. */
struct converter_events {
    bool runs;       /* the output sums up: `take` accepts a run of several samples (run.count), and runs of
                      * different threads in any order */
    bool places_cpu; /* the output shows which stack used which CPU time: the CPU owner works for the output, so events
                      * come some time later, in their order. The output then accepts runs of count 0 */
    /* Takes an event that the tables have accepted and the mode keeps. Never gets runs with stack STACK_LOST. NULL:
     * the output needs the tables only; then the converter cannot have --mode. */
    bool (*take)(void *self, struct event *event, struct fault *why);
    /* Takes the tables of one of several recordings that are merged, read to its end. Nobody needs the texts of its
     * description afterwards. `name` is unique among the recordings. NULL: the output shows nothing of single
     * recordings. */
    void (*take_recording)(void *self, struct tables *recording, struct text name);
};

/* The delivery is what a converter does besides writing its output. A function is NULL when there is nothing to do. */
struct converter_delivery {
    /* Does what the options ask for before a recording is opened, and checks what an output needs. Returns the exit
     * code, or -1 to go on with the conversion. */
    int (*before)(const struct settings *settings);
    /* The output was written to `path`, a file of so many bytes. Called before `drop`. */
    void (*closed)(void *self, const char *path, uint64_t bytes);
    /* Does the work that comes behind the written output, for as long as it takes. `path` is the finished file, NULL
     * when the converter keeps its output. Called before `drop`, behind all warnings. False with the reason on failure.
     */
    bool (*after)(void *self, const char *path, struct fault *why);
};

struct converter {
    const char *name;    /* name of the program */
    const char *makes;   /* what the program makes: one line for --help */
    const char *release; /* of the format, a line for --version with its end; NULL: none */
    unsigned takes;      /* options that converters share: bits of enum option_set */
    enum several several;
    const struct listing *listing; /* NULL: the converter makes no list of several recordings */
    struct converter_options options;
    struct converter_file file;
    struct converter_plan (*plan)(const struct settings *settings); /* NULL: nothing special */
    struct converter_events events;
    struct converter_delivery delivery;
    /* Makes the state of the output. The state may keep `conversion`, whose tables get each event before `take`. */
    void *(*start)(struct conversion *conversion);
    /* Writes the rest of the output. False with the reason on failure. */
    bool (*finish)(void *self, struct fault *why);
    /* Frees the state. */
    void (*drop)(void *self);
};

/* Returns the plan of a conversion with these settings. */
struct converter_plan converter_plan(const struct converter *converter, const struct settings *settings);

/* Opens conversion->output at `path`, with all checks of -o. False with the reason. */
bool conversion_open(struct conversion *conversion, const char *path, struct fault *why);

/* Finishes the file, reports it as written, with its number of samples, and calls delivery.closed. `self` is the
 * state of the converter. False with the reason when the file could not be written. */
bool conversion_close(struct conversion *conversion, void *self, const char *path, uint64_t samples, struct fault *why);

/* For `finish`, when the converter's own options left out all samples: says so in the words that all filters share, and
 * returns false. True when no option leaves out samples: then the recording has none. */
bool convert_nothing_left(const struct conversion *conversion, struct fault *why);

/* Runs a converter and returns the exit code: 0 converted, 1 failed, 2 misuse; the converter's own refusal. */
int convert_main(int argc, char **argv, const struct converter *converter);

#endif
