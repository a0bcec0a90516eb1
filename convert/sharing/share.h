/* SPDX-License-Identifier: MIT */
/* Shares a profile (pyreel-gecko --upload), takes it back (--delete), and makes the link for a profile that is
 * elsewhere (--link-for). An upload says first what it shows, then sends, keeps the proof of ownership (receipt.h), and
 * prints the link on standard output. When any step fails, the store has no profile: a body that was cut is refused,
 * and a profile whose proof cannot be kept is deleted at once. */
#ifndef PYREEL_CONVERT_SHARING_SHARE_H
#define PYREEL_CONVERT_SHARING_SHARE_H

#include "convert/sharing/disclosed.h"
#include "convert/viewer/address.h"
#include "convert/viewer/links.h"
#include "formats/base/output.h"

/* The most that the Firefox Profiler's store takes. */
#define SHARE_LIMIT ((uint64_t)150 << 20)

/* The values of the options for sharing. `= {0}` with a program is good. */
struct share_wishes {
    const char *program; /* for messages */
    bool upload;
    bool sanitized;          /* private texts were taken out */
    const char *delete_link; /* the link, or the token, of a profile to delete; NULL: none */
    const char *link_for;    /* the URL of a profile to link to; NULL: none */
    const char *server;      /* URL of the store; NULL: the usual one */
    uint64_t limit_bytes;    /* most bytes of an upload; 0: SHARE_LIMIT */
    uint64_t timeout_ns;     /* give up when nothing moves for so long; 0: a minute */
    const char *viewer;      /* URL of the viewer; NULL: the usual one */
    enum view view;
    bool quiet;
};

/* Whether the URLs and links in the wishes are good. False with the reason. */
bool share_check(const struct share_wishes *wishes, struct fault *why);

/* Does what needs no recording: --delete and --link-for. Returns the exit code. For an upload it checks that one is
 * possible at all, and returns -1: go on. -1, too, when nothing is to be shared. */
int share_first(const struct share_wishes *wishes);

struct share;

/* Says what the profile shows, opens `output`, and begins to send what is written to it. NULL with the reason on
 * failure. */
struct share *share_begin(const struct share_wishes *wishes, const struct tables *tables,
                          struct disclosed_sources sources, struct output *output, struct fault *why);

/* The profile is whole: closes the output, waits for the store, and prints the link. `profile` is for the view. False
 * with the reason on failure. Frees the share. */
bool share_end(struct share *share, struct output *output, const struct link_profile *profile, struct fault *why);

/* The profile failed: the store gets no end. Frees the share. */
void share_cut(struct share *share, struct output *output);

/* Sends a finished file, a gzip'd profile. False with the reason on failure. */
bool share_file(const struct share_wishes *wishes, const struct tables *tables, struct disclosed_sources sources,
                const char *path, const struct link_profile *profile, struct fault *why);

#endif
