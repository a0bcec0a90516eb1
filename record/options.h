/* SPDX-License-Identifier: MIT */
/* The command line of pyreel-record: one table of options that also writes the help. */
#ifndef PYREEL_RECORD_OPTIONS_H
#define PYREEL_RECORD_OPTIONS_H

#include "formats/codec/stream_format.h"
#include "record/asyncio/asyncio.h"
#include "record/file/triggers.h"
#include "record/launch/afterwards.h"
#include "record/tree/chosen.h"
#include "record/unwind/thread_status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct options {
    const char *output;            /* as -o names it; NULL: a recording NAME-PID.pyreel */
    const struct product *product; /* what `output` is, made of the recording afterwards; NULL: the recording itself */
    pid_t pid;                     /* 0: start a command, or ... */
    bool all;                      /* ... record all processes of the machine ... */
    struct chosen_words chosen;    /* ... that fit */
    char **command;                /* NULL when attaching */
    bool no_arguments;             /* leave arguments out of command lines */
    bool subprocesses;             /* record several processes: the descendants of the process, too, or all */
    uint64_t interval_ns;
    uint64_t duration_ns;             /* 0: until it ends */
    uint64_t delay_ns;                /* the recording starts paused for so long; 0: it does not, UINT64_MAX: until
                                       * somebody ends the pause */
    const char *control;              /* "fifo:PATH[,ACK]"; NULL: none */
    uint64_t size_limit;              /* bytes that the file may grow to; 0: any */
    uint64_t rotate_bytes, rotate_ns; /* when the recording goes on in another file; 0: never */
    uint64_t flight_ns;               /* how much a flight recorder keeps; 0: it is none */
    struct triggers triggers;         /* when it writes what it has */
    uint32_t keep;                    /* most of these files that stay; 0: all */
    enum threads which;
    const char *names; /* with THREADS_NAMED: names of threads, see name_list.h */
    enum mode mode;
    enum async async;
    bool native;    /* mark C code between Python frames */
    bool gc;        /* mark garbage collection */
    uint32_t depth; /* most frames per stack. A deeper stack keeps the frames nearest the root and nearest the leaf */
    bool anew;      /* read each stack completely; reuse nothing from earlier samples */
    bool stats;     /* print counters at the end */
    bool force;     /* replace a file that is no recording */
    bool kill;      /* end the command when the recording ends before the command */
    bool opcodes;   /* record the instruction of each frame */
    bool blocking;  /* stop the target while it is read */
    double disturb; /* the part of a processor's time that may be taken from the target; 0: never touch the target */
    bool jitter;    /* draw the moments of ticks at random */
    bool priority;  /* raise the priority of the recorder */
    enum stream_codec codec;
    bool quiet, verbose;
};

/* Reads the command line. False when the program must end at once with *exit_code: 0 after printing the help or the
 * version, 2 after reporting a wrong command line. */
bool options_read(struct options *options, int argc, char **argv, int *exit_code);

/* Parses a rate: "1000", "10k", "5khz", "0.5" → the time between two samples. False when the text is no rate from 0.01
 * to 1,000,000 Hz. */
bool options_parse_rate(const char *text, uint64_t *interval_ns);

/* Parses a duration: "30", "1.5s", "1m30", "1h", "200ms" (arguments_parse_time). False when the text is no duration
 * above 0. */
bool options_parse_duration(const char *text, uint64_t *duration_ns);

/* Parses a size or a time, which needs a unit: "100M", "1h" → one of both. False when the text is neither, or too
 * small: below 16k or 100 ms. */
bool options_parse_rotation(const char *text, uint64_t *bytes, uint64_t *time_ns);

/* Parses a size: "20000", "500k", "1.5G" → bytes. False when the text is no size, or a size below 16k. */
bool options_parse_size(const char *text, uint64_t *bytes);

#endif
