/* SPDX-License-Identifier: MIT */
/* What the server of a profile answers to a request. Everything that may be seen is below a path that begins with a
 * secret, the token:
 *
 *     /TOKEN/               a page of our own, with two ways into the viewer
 *     /TOKEN/open.js        the script of that page
 *     /TOKEN/profile.json   the profile; the viewer's pages may read it, and those of no other site
 *
 * A request that names another host than this machine (so that a foreign name leads to us), that comes from a page of
 * another site, or that is no GET, HEAD or OPTIONS, is refused. Who does not know the token learns nothing. */
#ifndef PYREEL_CONVERT_VIEWER_ANSWER_H
#define PYREEL_CONVERT_VIEWER_ANSWER_H

#include "convert/viewer/request.h"
#include "formats/base/bytes.h"

/* What is served. The texts belong to the caller. */
struct site {
    const char *token;
    unsigned port;       /* on 127.0.0.1 */
    const char *origin;  /* of the viewer */
    const char *by_url;  /* the link with which the viewer fetches the profile */
    const char *by_page; /* the link with which the viewer takes the profile from our page */
    uint64_t size;       /* bytes of the profile */
    bool gzip;           /* the profile is packed */
};

struct answer {
    struct bytes bytes; /* the head, and the body unless that is the profile. Freed by the caller */
    bool profile;       /* the profile follows */
};

/* Answers to a request. `state` is the result of request_parse(), and not REQUEST_PARTIAL; `request` counts only when
 * the request is whole. */
struct answer answer_to(const struct site *site, enum request_state state, const struct request *request);

#endif
