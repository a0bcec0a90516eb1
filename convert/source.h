/* SPDX-License-Identifier: MIT */
/* Reads the events of a recording, from a file of any kind in the table of source.c. The first bytes of the file show
 * its kind. A source gives events to a sink, and at any time a report for converters and pyreel-info. No code outside
 * source.c depends on the kind of a file. */
#ifndef PYREEL_CONVERT_SOURCE_H
#define PYREEL_CONVERT_SOURCE_H

#include "formats/model/source_kind.h"

/* How to go on behind the known parts of a recording: its recorder may be writing the next one. */
struct source_following {
    void *self;
    /* The part that is being read has its end, so its file does not grow any more. */
    void (*ended)(void *self);
    /* Opens the next part, which source_close() or the end of the part closes, and sets its number. -1: there is none.
     */
    int (*open_next)(void *self, uint32_t *number);
};

/* The files of one recording that went on from file to file. */
struct source_parts {
    char **paths;      /* in the order of the parts */
    uint32_t *numbers; /* of the parts, from 1 */
    size_t count;
    const struct source_following *following; /* NULL: there are no other parts */
};

/* `= {0}` is closed. */
struct source {
    const struct source_kind *kind;
    void *reader;                /* state of the kind's reader */
    const struct damage *damage; /* damage that the reader has found; NULL: the kind has no damage */
    struct joined *joined;       /* the parts of the recording; NULL: it is one file */
    bool was_damaged;            /* an earlier part was damaged, or a part is missing */
};

/* The kind of a file that begins with `head`; NULL: none. */
const struct source_kind *source_kind_of(struct text head);

/* Starts reading from `fd`, and gives EVENT_RECORDING to the sink. The caller keeps `fd`. False with the reason when
 * the file is of no known kind, is too new, or the sink refused. The caller closes the source in both cases, before
 * `fd`. */
bool source_open(struct source *source, int fd, const struct source_options *options, const struct sink *to,
                 struct fault *why);

/* Starts reading a recording in parts, of which `fd` is the first. The sink gets the events of one recording. Later
 * parts are opened by their paths; `parts` must live as long as the source. A part that cannot be opened counts as
 * missing. */
bool source_open_parts(struct source *source, int fd, const struct source_parts *parts,
                       const struct source_options *options, const struct sink *to, struct fault *why);

/* Gives the next events to the sink. SOURCE_STOPPED with the reason if the file cannot be read or the sink refused. */
enum source_state source_read(struct source *source, const struct sink *to, struct fault *why);

/* Call this when the sink refused an event that contradicts earlier events. True: the source counts the event as
 * damage, and source_read() goes on after it. False: files of this kind cannot be damaged, so the caller gives up. */
bool source_forgive(struct source *source, const char *what);

/* Whether the file is damaged so far: then definitions may be missing. */
static inline bool source_is_damaged(const struct source *source)
{
    return source->was_damaged || (source->damage && (source->damage->bytes > 0 || source->damage->blocks > 0));
}

/* The report on the file, as far as it was read. The report stays valid after source_close(). */
struct source_report source_report(const struct source *source);

/* Frees the reader. Safe on a closed source. */
void source_close(struct source *source);

#endif
