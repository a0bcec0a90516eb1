/* SPDX-License-Identifier: MIT */
/* The conditions on which a flight recorder writes what it has (--when). They are about what the recording itself says,
 * so they cost nothing more: the measures of each process, ten a second, and the samples.
 *
 *     cpu>90%       a process used more than so much of one processor, over 2 seconds; 250%: of several
 *     memory>2G     a process has more resident memory than this
 *     gilwait>50%   so many of the samples, over 2 seconds, were of threads that waited for the lock
 *     still>10s     no thread has moved for so long: every stack is as it was
 *
 * A condition fires when it becomes true, and not again before it was false. */
#ifndef PYREEL_RECORD_FILE_TRIGGERS_H
#define PYREEL_RECORD_FILE_TRIGGERS_H

#include "formats/model/event.h"

enum trigger_kind { TRIGGER_CPU, TRIGGER_MEMORY, TRIGGER_GIL_WAIT, TRIGGER_STILL, TRIGGER_KINDS };

struct trigger {
    const char *text; /* as the user gave it */
    enum trigger_kind kind;
    double limit; /* a share of a processor or of samples, bytes, or nanoseconds */
    bool holds;
};

#define TRIGGERS_MOST 8

/* `= {0}` has no conditions. */
struct triggers {
    struct trigger rows[TRIGGERS_MOST];
    size_t count;
    struct trigger_process {
        uint32_t number, serial;   /* number: in the present stream */
        uint64_t since_ns, cpu_ns; /* the measure at the begin of the 2 seconds; since_ns 0: none */
    } *processes;
    size_t processes_count, processes_room;
    uint64_t window_ns;          /* begin of the 2 seconds in which samples are counted */
    uint64_t samples, waits;     /* samples in it; those that waited for the lock */
    uint64_t moved_ns;           /* when a stack changed last */
    bool anew;                   /* set by the caller when a stream begins: the next tick emits whole stacks */
    const struct trigger *fired; /* the condition that became true; the caller sets NULL */
};

/* Parses a condition, and adds it. False when the text is none, or there are too many. */
bool triggers_add(struct triggers *triggers, const char *text);

/* Looks at an event, whose times are since the start of the source. */
void triggers_take(struct triggers *triggers, const struct event *event);

void triggers_free(struct triggers *triggers);

#endif
