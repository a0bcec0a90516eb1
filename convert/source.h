/* SPDX-License-Identifier: MIT */
/* Where the events of a recording come from: a file of any kind that has a row in the table of source.c, recognised by
 * its first bytes. A source gives events to a sink, and at any time a report that has all that a converter or
 * pyreel-info shows of the file. Nobody else knows which kind of file it is. */
#ifndef PYREEL_CONVERT_SOURCE_H
#define PYREEL_CONVERT_SOURCE_H

#include "formats/model/source_kind.h"

/* `= {0}` is closed. */
struct source {
    const struct source_kind *kind;
    void *reader;                /* the kind's */
    const struct damage *damage; /* of the reader; NULL: there can be none */
};

/* The kind of a file that begins with `head`; NULL: none. */
const struct source_kind *source_kind_of(struct text head);

/* Starts reading from `fd`, which stays the caller's, and gives EVENT_RECORDING to the sink. False, with the reason,
 * when the file is of no known kind, is too new, or the sink refused. Close the source in any case, and before `fd`. */
bool source_open(struct source *source, int fd, const struct source_options *options, const struct sink *to,
                 struct fault *why);

/* Gives some of the events. SOURCE_STOPPED, with the reason, when the file cannot be read or the sink refused. */
enum source_state source_read(struct source *source, const struct sink *to, struct fault *why);

/* The sink stopped because an event contradicts others. True: the source counts that as damage, and source_read() goes
 * on behind it. False: a file of this kind is good or is refused. */
bool source_forgive(struct source *source, const char *what);

/* Whether definitions may be missing in what follows. */
static inline bool source_is_damaged(const struct source *source)
{
    return source->damage && (source->damage->bytes > 0 || source->damage->blocks > 0);
}

/* What is known of the file so far. It stays valid when the source is closed. */
struct source_report source_report(const struct source *source);

/* Safe on a source that is closed. */
void source_close(struct source *source);

#endif
