/* SPDX-License-Identifier: MIT */
/* Shows a finished profile in the viewer: serves it on the loopback (server.h), starts a browser, and tells the user
 * what to do when the browser does not show it. Nothing leaves this machine but to the viewer's page in the browser. */
#ifndef PYREEL_CONVERT_VIEWER_SHOW_H
#define PYREEL_CONVERT_VIEWER_SHOW_H

#include "convert/viewer/links.h"
#include "formats/base/fault.h"

struct shown {
    const char *program; /* for messages */
    const char *viewer;  /* the address of the viewer */
    enum view view;
    struct link_profile profile;
    int fd;       /* the profile, readable, a regular file */
    bool browser; /* start one */
    bool quiet;
};

/* Serves the profile until a browser has fetched it whole. False with the reason on failure. A signal that comes before
 * ends the program as the signal does without us. */
bool show_profile(const struct shown *shown, struct fault *why);

#endif
