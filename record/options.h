/* SPDX-License-Identifier: MIT */
/* The command line of pyreel-record: one table of options that also writes the help. */
#ifndef PYREEL_RECORD_OPTIONS_H
#define PYREEL_RECORD_OPTIONS_H

#include "formats/codec/stream_format.h"
#include "record/asyncio/asyncio.h"
#include "record/unwind/thread_status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct options {
    const char *output; /* NULL: NAME-PID.pyreel */
    pid_t pid;          /* 0: start a command */
    char **command;     /* NULL when attaching */
    uint64_t interval_ns;
    uint64_t duration_ns; /* 0: until it ends */
    uint64_t size_limit;  /* bytes that the file may grow to; 0: any */
    enum threads which;
    enum mode mode;
    enum async async;
    bool native;    /* mark C code between Python frames */
    bool gc;        /* mark garbage collection */
    uint32_t depth; /* frames of a stack that are kept; of a deeper one, those nearest the root and the leaf */
    bool anew;      /* take nothing from earlier samples */
    bool stats;     /* print figures at the end */
    bool force;     /* replace a file that is no recording */
    bool kill;      /* end the command when the recording ends before it */
    bool opcodes;   /* record the instruction of each frame */
    bool blocking;  /* stop the target while it is read */
    double disturb; /* the part of a processor's time that may be taken from the target; 0: never touch it */
    bool jitter;    /* draw each tick within its interval */
    bool priority;  /* raise our own */
    enum stream_codec codec;
    int level; /* 0: by need */
    bool quiet, verbose;
};

/* False when the program is to end at once with *exit_code: help or version was printed (0), or misuse was told (2). */
bool options_read(struct options *options, int argc, char **argv, int *exit_code);

/* "1000", "10k", "5khz", "0.5" → the time between two samples. False when it is no rate from 0.01 to 1,000,000. */
bool options_parse_rate(const char *text, uint64_t *interval_ns);

/* "30", "1.5s", "5m", "1h", "200ms". */
bool options_parse_duration(const char *text, uint64_t *duration_ns);

/* "20000", "500k", "1.5G" → bytes. False when it is no size from 16k on. */
bool options_parse_size(const char *text, uint64_t *bytes);

#endif
