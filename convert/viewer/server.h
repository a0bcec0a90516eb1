/* SPDX-License-Identifier: MIT */
/* A server for one profile, on the loopback of this machine and for one visit: it ends when the profile was fetched
 * whole, and shortly after that for a second visitor. What it answers is decided in answer.h; here are the connections,
 * which are bounded in number, in bytes and in time, because every program of this machine and every page in a browser
 * may connect. */
#ifndef PYREEL_CONVERT_VIEWER_SERVER_H
#define PYREEL_CONVERT_VIEWER_SERVER_H

#include "convert/viewer/answer.h"
#include "formats/base/fault.h"

#include <signal.h>

#define SERVER_TOKEN_SIZE ((size_t)48) /* hexadecimal digits */

/* The signals that end the server, the one that says that the browser ended, and that of a reader who is gone. */
#define SERVER_SIGNALS 5

/* How long a connection may take, in milliseconds. */
struct server_limits {
    int quiet_ms;  /* before the first byte of a request: browsers open connections in advance */
    int head_ms;   /* from the first byte of a request to its last */
    int stall_ms;  /* in which a reader takes nothing of an answer */
    int linger_ms; /* in which a reader closes the connection behind an answer */
    int grace_ms;  /* for a second visitor, when the profile was fetched */
};

struct server {
    bool open;
    struct server_limits limits; /* server_open() sets the usual ones */
    char token[SERVER_TOKEN_SIZE + 1];
    unsigned port;
    int fd;
    sigset_t mask; /* what was before server_open(): the blocked signals, and the actions */
    struct sigaction actions[SERVER_SIGNALS];
};

/* Starts to listen on a free port of 127.0.0.1, and makes the token. From now on, SIGINT, SIGTERM and SIGHUP wait for
 * server_run(), unless they are ignored. False with the reason. `server` is then closed. */
bool server_open(struct server *server, struct fault *why);

/* What happens between requests. */
struct server_hook {
    void (*child_ended)(void *self); /* a child process may have ended */
    void *self;
};

enum server_end { SERVER_FETCHED, SERVER_INTERRUPTED, SERVER_FAILED };

/* Serves the profile, the file `profile_fd`, until the profile was fetched, or a signal ends the program: *number is
 * then that of the signal. SERVER_FAILED with the reason when the server cannot wait for connections. */
enum server_end server_run(struct server *server, const struct site *site, int profile_fd,
                           const struct server_hook *hook, int *number, struct fault *why);

/* Stops listening, and lets signals do again what they did before. Safe on a closed server. */
void server_close(struct server *server);

#endif
