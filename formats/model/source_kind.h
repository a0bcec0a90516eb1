/* SPDX-License-Identifier: MIT */
/* The interface of a reader of recordings: one row of functions for each kind of file. The readers in formats/ define a
 * row each, and convert/source.c lists the rows. A reader gives events to a sink, some with each call, and at any time
 * a report on the file. Whoever converts a recording sees the events and the report, never the reader.
 *
 *     first bytes of the file  ->  recognises  ->  open  ->  read, read, ... read  ->  report  ->  close
 */
#ifndef PYREEL_FORMATS_MODEL_SOURCE_KIND_H
#define PYREEL_FORMATS_MODEL_SOURCE_KIND_H

#include "formats/model/tables.h"

enum source_state { SOURCE_MORE, SOURCE_ENDED, SOURCE_STOPPED };

/* The damage of a file. All zero in a whole file. */
struct damage {
    uint64_t bytes;      /* bytes skipped in search of a good block, ... */
    uint64_t tail;       /* ... and the part of them behind the last block of this recording */
    uint64_t blocks;     /* lost blocks: missing sequences, or broken contents */
    uint64_t duplicates; /* blocks that came twice or too late */
    bool cut;            /* the file ends inside a block */
    struct fault first;  /* the first damage */
};

/* The needs of whoever takes the events. Each option lets a reader do less; a reader may ignore all of them. */
struct source_options {
    bool runs;           /* the count of a sample may be above 1 ... */
    uint64_t run_ns;     /* ... but no run goes on behind the tick at or after a multiple of this time, at which all
                          * runs end, and with them an EVENT_TICK; 0: runs may be of any length */
    bool without_status; /* nobody asks what threads did: samples may have status 0 and no CPU time */
    bool without_stands; /* the taker only counts samples: each may stand for an interval */
    uint64_t file_bytes; /* size of the file, for a reader that reads a large file ahead; 0: a pipe, or not known */
};

/* A reader's report on its file. The report is complete when `read` has come to SOURCE_ENDED; before that, the report
 * covers the part of the file that was read. */
struct source_report {
    const char *format; /* the kind's name */
    /* Who made the recording, in words for people, when the file says neither date nor host. NULL: the file says so. */
    const char *undated_by;
    const char *ending;   /* why the recording ends where it does, in words */
    bool complete;        /* the file has all that its writer had */
    bool ended;           /* EVENT_END was given and says how many samples were recorded */
    uint64_t bytes;       /* of the file that were read */
    uint64_t blocks;      /* that are good; 0 in a file without blocks */
    uint64_t plain_bytes; /* that the samples take before compression */
    uint64_t lost_ticks;  /* that were due in lost blocks, as far as later blocks say */
    uint32_t parts;       /* number of files that were joined; 0: one file, which is no part */
    uint32_t missing;     /* number of parts between the files that are not there, ... */
    uint32_t before;      /* ... and in front of the first file; the recorder deletes old parts (--keep) */
    struct damage damage;
};

struct source_kind {
    const char *name;   /* of the format, for a report */
    size_t reader_size; /* of a reader's state, which is zeroed before `open` */

    /* Whether a file that begins with these bytes is of this kind. `head` has SOURCE_HEAD bytes, or the whole file. */
    bool (*recognises)(struct text head);
    /* Starts reading `fd`, of which `head` was read already, and gives EVENT_RECORDING. `fd` stays the caller's, and
     * may be a pipe. False with the reason when the file cannot be read, is too new, or the sink refused. */
    bool (*open)(void *reader, int fd, struct text head, const struct source_options *options, const struct sink *to,
                 struct fault *why);
    /* Gives more events. SOURCE_STOPPED, with the reason, when the file cannot be read or the sink refused. */
    enum source_state (*read)(void *reader, const struct sink *to, struct fault *why);
    /* The sink refused an event because the event contradicts others: counts that as damage, and the next `read` goes
     * on behind it. NULL: a file of this kind is good or is refused. */
    void (*forgive)(void *reader, const char *what);
    /* The damage found so far. NULL: as for `forgive`. */
    const struct damage *(*damage)(const void *reader);
    /* Fills in the report but for `format` and `damage`. */
    void (*report)(const void *reader, struct source_report *report);
    /* Frees what the reader holds, also after an `open` that failed. */
    void (*close)(void *reader);
};

#define SOURCE_HEAD 64 /* bytes by which each kind can be recognised */

#endif
