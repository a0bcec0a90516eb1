/* SPDX-License-Identifier: MIT */
/* The head of a request of HTTP/1.1: what the server of a profile needs of it, and no more. The bytes come from whoever
 * reaches the port, so they are not trusted; a head that breaks a rule is bad as a whole. A request with a body is
 * never served. */
#ifndef PYREEL_CONVERT_VIEWER_REQUEST_H
#define PYREEL_CONVERT_VIEWER_REQUEST_H

#include "formats/base/text.h"

#define REQUEST_MOST    ((size_t)8192) /* bytes of a head */
#define REQUEST_HEADERS 64             /* header lines of a head */

enum request_method { METHOD_OTHER, METHOD_GET, METHOD_HEAD, METHOD_OPTIONS };

/* The texts point into the bytes of the head. A header that is absent is empty. */
struct request {
    enum request_method method;
    struct text path; /* without the query */
    struct text host, origin;
    bool private_network; /* asks whether a page of the internet may reach this machine */
    bool foreign;         /* a browser says that a page of another origin asks */
    bool body;            /* a body follows */
};

enum request_state {
    REQUEST_PARTIAL, /* good so far, but without its end */
    REQUEST_WHOLE,
    REQUEST_BAD,
    REQUEST_LARGE, /* more than REQUEST_MOST bytes or REQUEST_HEADERS headers */
};

/* Reads the head at the front of `bytes`, the bytes that came so far. Fills *request when the head is whole. */
enum request_state request_parse(struct text bytes, struct request *request);

#endif
