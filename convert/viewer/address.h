/* SPDX-License-Identifier: MIT */
/* The address of a server or of a file on a server, as a user writes it: an http or https URL. The text is not trusted.
 * What passes here can be printed, and can stand in a request.
 *
 *     https://store.example:8443/profiles?x=1
 *     \______________ origin ___/\___ rest __/ */
#ifndef PYREEL_CONVERT_VIEWER_ADDRESS_H
#define PYREEL_CONVERT_VIEWER_ADDRESS_H

#include "formats/base/fault.h"

#include <stddef.h>

#define ADDRESS_MOST ((size_t)2000) /* bytes of a URL; browsers take about as much */

struct address {
    char *url;          /* the whole URL; owned */
    size_t origin_size; /* of the scheme, the host and the port, at the start of `url` */
    bool encrypted;     /* https */
    bool loopback;      /* the host is this machine */
};

/* Parses a URL. `what` names the option in the reason. False with the reason when the text is no http or https URL, or
 * holds a user name or a password. Then `address` is empty. */
bool address_parse(struct address *address, const char *text, const char *what, struct fault *why);

/* As address_parse(), for a server: the URL has no question mark and no #, and *address has no slash at its end. */
bool address_parse_server(struct address *address, const char *text, const char *what, struct fault *why);

/* Frees the URL. Safe on an empty address. */
void address_free(struct address *address);

#endif
